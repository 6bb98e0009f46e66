"""Candidate samplers: they draw classes to compare with the true ones, for losses over very many classes.

With each class comes its expected count, by which a loss corrects for the choice (sampled softmax). Let p be the
probability of the class in one draw, and t the number of draws until there were n candidates. The count is t p if
classes may come again, and q = 1 - (1 - p)^t if not. For a fixed t these are the mean number of times, and the
probability, that the class is drawn. But t is a stopping time, and then

* E[t p] is still the mean number of times that the class is drawn (Wald's identity); t = n unless hits are removed;
* E[1 / (1 - q) where the class is not drawn, else 0] = 1, provided that there are n candidates beside the class. The
  left side is the mass of the law of the draws, given that the class never comes, for (1 - p)^-k is the density of this
  law after k draws without the class.

Where t = n, candidates that do not come again have the count n p, as in MindSpore.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import room, whole_number
from ...tensor import Tensor
from .._arguments import Primitive, expanded, integer, operand, to_shape
from ..index.choice import where
from ..index.masks import nonzero
from ..math.elementwise import expm1, log1p
from ..shape.creation import full
from ._apart import Source, alone, apart
from ._samples import Sourced, _again, _own

__all__ = [
    "ComputeAccidentalHits", "LogUniformCandidateSampler", "UniformCandidateSampler", "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]  # fmt: skip

_ROWS = "(batch, num_true)"


# ----------------------------------------------------------------------------------------------------- functions


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw classes that are all equally likely, with their expected counts and the counts of the true classes.

    Parameters
    ----------
    true_classes : Tensor
        The true classes, Int32 or Int64, shape (batch, num_true).
    num_true : int
        The number of true classes in each row.
    num_sampled : int
        n, the number of classes to draw.
    unique : bool
        True if no class comes twice.
    range_max : int
        Classes are 0 to ``range_max - 1``, each with the probability p = 1 / range_max.
    seed : int, default 0
        Draw from a source of its own with this seed; 0 stands for the source of `dualgrad.set_seed`.
    remove_accidental_hits : bool, default False
        Draw again where a true class is drawn.

    Returns
    -------
    sampled_candidates : Tensor
        The classes, of the type of `true_classes`, shape (num_sampled,).
    true_expected_count : Tensor
        The expected count of each true class, Float32, shape (batch, num_true).
    sampled_expected_count : Tensor
        The expected count of each candidate, Float32, shape (num_sampled,).

        In t draws, including rejected draws, a class is expected t p times, or with ``unique`` (unless t = n) with the
        probability 1 - (1 - p)^t. True classes beyond the range, which are never drawn, have the same.

    Raises
    ------
    TypeError
        If `true_classes` are not integers, or a setting is not an int or not a bool.
    ValueError
        If shapes or settings do not fit, or there are too few classes to draw from.

    Notes
    -----
    The samples of `vmap` draw candidates of their own. Where classes may come again, the mean of the expected counts is
    the mean of the counts of the draws (Wald's identity), including rejected hits.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> true = dg.Tensor([[1], [3]])
    >>> candidates, true_count, count = ops.uniform_candidate_sampler(true, 1, 2, True, 4, 0, True)
    >>> sorted(candidates.tolist()), true_count.shape, count.shape
    ([0, 2], (2, 1), (2,))
    >>> print(ops.uniform_candidate_sampler(true, 1, 3, False, 4)[2])
    [0.75 0.75 0.75]
    """
    name = "uniform_candidate_sampler"
    settings = _settings(name, num_true, num_sampled, unique, range_max, seed)
    return _uniform(name, true_classes, settings, _bool(name, "remove_accidental_hits", remove_accidental_hits),
                    _again(seed, 0))  # fmt: skip


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw classes k with the probability log((k + 2) / (k + 1)) / log(range_max + 1): nearly Zipf's law.

    Parameters
    ----------
    true_classes : Tensor
        The true classes, Int32 or Int64, none negative, shape (batch, num_true).
    num_true : int, default 1
        The number of true classes in each row.
    num_sampled : int, default 5
        The number of classes to draw.
    unique : bool, default True
        True if no class comes twice.
    range_max : int, default 5
        Classes are 0 to ``range_max - 1``.
    seed : int, default 0
        As in `uniform_candidate_sampler`.

    Returns
    -------
    sampled_candidates, true_expected_count, sampled_expected_count : Tensor
        As in `uniform_candidate_sampler`, with the probability p of each class. True classes beyond the range, which
        are never drawn, have counts by the same formula.

    Raises
    ------
    TypeError
        If `true_classes` are not integers, or a setting is not an int or not a bool.
    ValueError
        If shapes or settings do not fit, or a class is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> candidates, true_count, count = ops.log_uniform_candidate_sampler(dg.Tensor([[1, 0]]), 2, 4, False, 3)
    >>> candidates.shape, true_count.dtype
    ((4,), dualgrad.float32)
    >>> print(true_count)
    [[1.169925 2.      ]]
    """
    name = "log_uniform_candidate_sampler"
    settings = _settings(name, num_true, num_sampled, unique, range_max, seed)
    return _log_uniform(name, true_classes, settings, _again(seed, 0))


# ------------------------------------------------------------------------------------------------------- classes


class UniformCandidateSampler(Sourced):
    """Classes that are all equally likely; see `uniform_candidate_sampler`.

    Parameters
    ----------
    num_true, num_sampled, unique, range_max
        As in `uniform_candidate_sampler`.
    seed : int, default 0
        The seed of a source of its own, which continues from call to call; 0 stands for the source of
        `dualgrad.set_seed`.
    remove_accidental_hits : bool, default False
        Draw again where a true class is drawn.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> candidates, true_count, count = ops.UniformCandidateSampler(1, 4, True, 4)(dg.Tensor([[1]]))
    >>> sorted(candidates.tolist())
    [0, 1, 2, 3]
    """

    __slots__ = ("num_sampled", "num_true", "range_max", "remove_accidental_hits", "seed", "unique")

    def __init__(
        self,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int = 0,
        remove_accidental_hits: bool = False,
    ) -> None:
        settings = _settings("UniformCandidateSampler", num_true, num_sampled, unique, range_max, seed)
        self.num_true, self.num_sampled, self.unique, self.range_max = settings
        self.seed: int = seed
        self.remove_accidental_hits: bool = _bool(
            "UniformCandidateSampler", "remove_accidental_hits", remove_accidental_hits
        )
        self._own = None if seed == 0 else _own(seed, 0)

    def __call__(self, true_classes: Any) -> tuple[Tensor, Tensor, Tensor]:
        settings = self.num_true, self.num_sampled, self.unique, self.range_max
        return _uniform("UniformCandidateSampler", true_classes, settings, self.remove_accidental_hits, self._from)

    def __repr__(self) -> str:
        return (
            f"UniformCandidateSampler(num_true={self.num_true}, num_sampled={self.num_sampled}, unique={self.unique}, "
            f"range_max={self.range_max}, seed={self.seed}, remove_accidental_hits={self.remove_accidental_hits})"
        )


class LogUniformCandidateSampler(Sourced):
    """Classes by Zipf's law, nearly; see `log_uniform_candidate_sampler`.

    Parameters
    ----------
    num_true, num_sampled, unique, range_max
        As in `log_uniform_candidate_sampler`.
    seed : int, default 0
        As in `UniformCandidateSampler`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> candidates, true_count, count = ops.LogUniformCandidateSampler(2, 5, True, 5)(dg.Tensor([[1, 3]]))
    >>> sorted(candidates.tolist()), true_count.shape
    ([0, 1, 2, 3, 4], (1, 2))
    """

    __slots__ = ("num_sampled", "num_true", "range_max", "seed", "unique")

    def __init__(
        self, num_true: int = 1, num_sampled: int = 5, unique: bool = True, range_max: int = 5, seed: int = 0
    ) -> None:
        settings = _settings("LogUniformCandidateSampler", num_true, num_sampled, unique, range_max, seed)
        self.num_true, self.num_sampled, self.unique, self.range_max = settings
        self.seed: int = seed
        self._own = None if seed == 0 else _own(seed, 0)

    def __call__(self, true_classes: Any) -> tuple[Tensor, Tensor, Tensor]:
        settings = self.num_true, self.num_sampled, self.unique, self.range_max
        return _log_uniform("LogUniformCandidateSampler", true_classes, settings, self._from)

    def __repr__(self) -> str:
        return (
            f"LogUniformCandidateSampler(num_true={self.num_true}, num_sampled={self.num_sampled}, "
            f"unique={self.unique}, range_max={self.range_max}, seed={self.seed})"
        )


class ComputeAccidentalHits(Primitive):
    """Where candidates are true classes: ``ops.ComputeAccidentalHits(num_true)(true_classes, sampled_candidates)``.

    Returns three tensors with an element for each hit, in the order of the true classes and then of the candidates.
    They are the rows of the true classes (Int32), the places of the candidates (Int64), and the weights that a loss
    adds to the logits there, the least number of type Float32. A candidate that comes twice gives two hits.

    Parameters
    ----------
    num_true : int, default 1
        The number of true classes in each row.

    Raises
    ------
    TypeError
        If the classes are not integers.
    ValueError
        If their shapes are not (batch, num_true) and (candidates,).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> rows, places, weights = ops.ComputeAccidentalHits(2)(dg.Tensor([[1, 2], [0, 4], [3, 3]]), dg.Tensor([0, 3]))
    >>> print(rows, places, weights)
    [1 2 2] [0 1 1] [-3.4028235e+38 -3.4028235e+38 -3.4028235e+38]
    """

    __slots__ = ("num_true",)

    def __init__(self, num_true: int = 1) -> None:
        self.num_true: int = _count("ComputeAccidentalHits", "num_true", num_true)

    def __call__(self, true_classes: Any, sampled_candidates: Any) -> tuple[Tensor, Tensor, Tensor]:
        name = "ComputeAccidentalHits"
        true = _classes(name, true_classes, self.num_true)
        sampled = operand(name, sampled_candidates)
        if not sampled.dtype.is_int:
            raise TypeError(f"{name}: the candidates have type {sampled.dtype}; expected integers")
        if sampled.ndim != 1:
            raise ValueError(f"{name}: the candidates have shape {sampled.shape}; expected (candidates,)")
        hits = nonzero(to_shape(true, (true.size, 1)) == to_shape(sampled, (1, sampled.size)))
        rows = hits[:, 0] // self.num_true
        weights = full(rows.shape, float(np.finfo(np.float32).min), dtype=_dtype.float32)
        return rows.astype(_dtype.int32), hits[:, 1], weights


# ------------------------------------------------------------------------------------------------ draws and counts

Settings = tuple[int, int, bool, int]
"""num_true, num_sampled, unique, range_max."""


def _uniform(
    name: str, true_classes: Any, settings: Settings, remove: bool, source: Source
) -> tuple[Tensor, Tensor, Tensor]:
    true = _classes(name, true_classes, settings[0])
    _, count, unique, most = settings
    vector = to_shape(true.astype(_dtype.int64), (true.size,)) if remove else alone(true)
    drawn = apart(name, _candidates, source, vector, name, _equally_likely, count, unique, most, remove)
    found = _expected(Tensor(1 / most, _dtype.float64), count, unique, drawn[count])
    return _typed(name, drawn[:count], true, most), expanded(found, true.shape), expanded(found, (count,))


def _log_uniform(name: str, true_classes: Any, settings: Settings, source: Source) -> tuple[Tensor, Tensor, Tensor]:
    true = _classes(name, true_classes, settings[0])
    _, count, unique, most = settings
    true = _engine.inspect(true, lambda classes: _check_classes(name, classes))
    drawn = apart(name, _candidates, source, alone(true), name, _by_zipf, count, unique, most, False)
    counts = [
        _expected(log1p(1 / (classes.astype(_dtype.float64) + 1)) / math.log1p(most), count, unique, drawn[count])
        for classes in (true, drawn[:count])
    ]
    return _typed(name, drawn[:count], true, most), counts[0], counts[1]


def _expected(p: Any, count: int, unique: bool, draws: Tensor) -> Tensor:
    """The expected count of classes with probability p in `draws` draws; with `unique` the probability of a draw."""
    draws = draws.astype(_dtype.float64)
    found = where(draws == count, count * p, -expm1(draws * log1p(-p))) if unique else draws * p
    return found.astype(_dtype.float32)


def _equally_likely(generator: np.random.Generator, size: int, most: int) -> np.ndarray:
    return generator.integers(most, size=size)


def _by_zipf(generator: np.random.Generator, size: int, most: int) -> np.ndarray:
    """The whole part of a number from 1 on whose logarithm is uniform, minus 1."""
    return np.minimum(np.exp(generator.random(size) * math.log1p(most)).astype(np.int64) - 1, most - 1)


def _candidates(
    generator: np.random.Generator,
    rows: np.ndarray,
    name: str,
    draw: Callable[..., np.ndarray],
    count: int,
    unique: bool,
    most: int,
    remove: bool,
) -> np.ndarray:
    """Candidates for each row, and behind them the number of draws."""
    found = np.empty((*rows.shape[:-1], count + 1), np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        hits = np.unique(rows[at]) if remove else np.empty(0, np.int64)
        hits = hits[(hits >= 0) & (hits < most)]
        if most - len(hits) < (count if unique else 1):
            raise ValueError(
                f"{name}: {count} candidates of {most} classes, {len(hits)} of which are true ones and are not drawn; "
                "there are too few; draw fewer, or leave accidental hits in and mask them (ComputeAccidentalHits)"
            )
        found[at] = _until(lambda size: draw(generator, size, most), count, unique, hits)
    return found


def _until(draw: Callable[[int], np.ndarray], count: int, unique: bool, hits: np.ndarray) -> np.ndarray:
    """The first `count` numbers that are not hits (with `unique`, without repetition), and the number of draws."""
    found, draws = np.empty(0, np.int64), 0
    while True:
        block = draw(count if not len(hits) and not unique else max(2 * count, 64))
        good = np.flatnonzero(~np.isin(block, hits)) if len(hits) else np.arange(len(block))
        if unique:
            first = np.unique(np.concatenate([found, block[good]]), return_index=True)[1] - len(found)
            good = good[np.sort(first[first >= 0])]
        good = good[: count - len(found)]
        found = np.concatenate([found, block[good]])
        if len(found) == count:
            return np.append(found, draws + good[-1] + 1)
        draws += len(block)


# ----------------------------------------------------------------------------------------------------- arguments


def _settings(name: str, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any) -> Settings:
    counts = [
        _count(name, what, value)
        for what, value in (("num_true", num_true), ("num_sampled", num_sampled), ("range_max", range_max))
    ]
    if integer(name, "seed", seed) < 0:
        raise ValueError(f"{name}: seed is {seed}; expected 0 or more")
    if _bool(name, "unique", unique) and counts[1] > counts[2]:
        raise ValueError(
            f"{name}: num_sampled is {counts[1]} and range_max {counts[2]}; expected no more candidates than classes "
            "where none comes twice (unique=True)"
        )
    room(name, (counts[1] + 1,))
    return counts[0], counts[1], unique, counts[2]


def _count(name: str, what: str, value: Any) -> int:
    found = integer(name, what, value)
    if found < 1:
        raise ValueError(f"{name}: {what} is {found}; expected one at least")
    return whole_number(name, what, found)


def _bool(name: str, what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {what} must be a bool, got {type(value).__name__}")
    return value


def _classes(name: str, true_classes: Any, num_true: int) -> Tensor:
    x = operand(name, true_classes)
    if x.dtype not in (_dtype.int32, _dtype.int64):
        raise TypeError(f"{name}: the true classes have type {x.dtype}; expected Int32 or Int64")
    if x.ndim != 2 or x.shape[1] != num_true:
        raise ValueError(f"{name}: the true classes have shape {x.shape}; expected {_ROWS} with num_true={num_true}")
    return x


def _check_classes(name: str, classes: np.ndarray) -> None:
    if (classes < 0).any():
        raise ValueError(f"{name}: the true classes are {classes}; expected none below 0")


def _typed(name: str, candidates: Tensor, true: Tensor, most: int) -> Tensor:
    """Candidates in the type of the true classes."""
    if most - 1 > np.iinfo(true.dtype.numpy).max:
        raise ValueError(
            f"{name}: range_max is {most}, but true classes of type {true.dtype} cannot hold so many; convert them to "
            "Int64"
        )
    return candidates.astype(true.dtype)


METHODS: dict[str, Callable[..., Any]] = {}
