"""Draw samples from a source that is called at each draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.primitives.execute import unrepeatable
from ..._engine.transforms import tensor as _engine
from ..._settings import truth_value
from ...dtype import DType, as_dtype
from ...random import generator as generator_of_all
from ...tensor import Tensor
from .._arguments import Primitive, floating, integer, new_shape, operand, to_shape, total
from ..index.choice import where
from ..index.gather import gather
from ..index.sorting import topk
from ..math.elementwise import log, maximum
from ..math.reductions import cumsum
from ._apart import Draw, Source, alone, apart, uniform


def _integers(source: Source, low: int, high: int, shape: tuple[int, ...], target: DType) -> Tensor:
    return _engine.draw(lambda: np.asarray(source().integers(low, high, shape)).astype(target.numpy))


def _uniform(source: Source, shape: tuple[int, ...], target: DType, open_end: bool = False) -> Tensor:
    """Uniform numbers on [0, 1), or on (0, 1) where logarithms are taken."""

    def numbers() -> np.ndarray:
        drawn = np.asarray(source().random(shape))
        if open_end:
            drawn = np.maximum(drawn, np.finfo(np.float64).tiny)
        # rounded to the type, a number may become 1, which is outside
        below = np.nextafter(target.numpy.type(1), target.numpy.type(0))
        least = np.finfo(target.numpy).tiny if open_end else 0.0
        return np.clip(drawn.astype(target.numpy), least, below)

    return _engine.draw(numbers)


def _laplace(source: Source, shape: tuple[int, ...], target: DType) -> Tensor:
    return _engine.draw(lambda: np.asarray(source().laplace(size=shape)).astype(target.numpy))


def _shaped(name: str, shape: Any, *parameters: Tensor) -> tuple[int, ...]:
    """The shape of the samples: `shape`, which broadcasts with the shapes of the parameters."""
    return new_shape(name, np.broadcast_shapes(new_shape(name, shape), *[p.shape for p in parameters]))


def _type(*parameters: Tensor) -> DType:
    """The common type of float parameters."""
    numbers = [p.dtype.numpy for p in parameters]
    return as_dtype(np.result_type(*numbers), where="the parameters")


def _whole(name: str, source: Source, shape: Any, low: Any, high: Any, target: DType) -> Tensor:
    limits = []
    for what, x in (("the lower limit", low), ("the upper limit", high)):
        x = x.item() if isinstance(x, Tensor) and x.size == 1 else x
        limits.append(integer(name, what, x))
    if limits[0] >= limits[1]:
        raise ValueError(f"{name}: integers from {limits[0]} up to {limits[1]}; expected more than none")
    return _integers(source, limits[0], limits[1], new_shape(name, shape), target)


def _shuffled(name: str, x: Any, source: Source) -> Tensor:
    x = operand(name, x)
    if x.ndim < 1:
        raise ValueError(f"{name}: the input has no axes; expected rows")
    return gather(x, _engine.draw(lambda: source().permutation(x.shape[0])), 0)


def _ones(name: str, shape: tuple[int, ...], p: Any, source: Source) -> Tensor:
    p = floating(name, p)
    if np.broadcast_shapes(shape, p.shape) != shape:
        raise ValueError(f"{name}: p has shape {p.shape}, which does not broadcast to {shape}")
    return _uniform(source, shape, _dtype.float64) < p.astype(_dtype.float64)


def _categories(name: str, weights: Any, count: Any, replacement: bool, source: Source) -> Tensor:
    w = _engine.stop(floating(name, weights)).astype(_dtype.float64)
    number = integer(name, "the number of samples", count)
    truth_value(name, "replacement", replacement)
    if w.ndim not in (1, 2) or not w.shape[-1] or number < 1 or (not replacement and number > w.shape[-1]):
        raise ValueError(
            f"{name}: {number} samples of weights of shape {w.shape}; expected a vector or matrix of weights, and "
            "at least one sample (without replacement no more than there are categories)"
        )
    w = _engine.inspect(w, lambda numbers: _check_weights(name, numbers))
    if not replacement:  # the largest of log(w) - log(-log(u)) are a draw without replacement
        u = maximum(apart(name, uniform, source, alone(w), w.shape), np.finfo(np.float64).tiny)
        return topk(log(w) - log(-log(u)), number)[1]
    sums = cumsum(w, -1)
    u = apart(name, uniform, source, alone(w), (*w.shape[:-1], number)) * sums[..., -1:]
    passed = to_shape(sums, (*w.shape[:-1], 1, w.shape[-1])) <= to_shape(u, (*u.shape, 1))
    return total(passed.astype(_dtype.int64), (w.ndim,), False)


def _by_seeds(name: str, weights: Any, seed: Any, offset: Any, count: Any, replacement: Any) -> Tensor:
    """Draw categories from a source with two seeds; -1 and 0 count as no seeds, too."""
    if not isinstance(replacement, bool):
        raise TypeError(f"{name}: replacement must be a bool, got {type(replacement).__name__}")
    numbers = [integer(name, what, k) for what, k in (("seed", seed), ("offset", offset))]
    source = generator_of_all if numbers == [-1, 0] else _again(*numbers)
    return _categories(name, weights, count, replacement, source)


def _check_weights(name: str, w: np.ndarray) -> None:
    if not (w >= 0).all() or not np.isfinite(w).all() or not w.any(-1).all():
        raise ValueError(f"{name}: the weights are {w}; expected finite numbers, none negative, not all of a row 0")


def _gamma(name: str, alpha: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    return _by_parameter(f"{name} (alpha)", _gamma_numbers, alpha, shape, source).astype(target)


def _poisson(name: str, what: str, mean: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    return _by_parameter(f"{name} ({what})", _poisson_numbers, mean, shape, source).astype(target)


def _by_parameter(name: str, draw: Draw, mean: Tensor, shape: tuple[int, ...], source: Source) -> Tensor:
    """Draw numbers of distributions with one parameter each, which broadcasts to the shape of the samples."""
    vector = to_shape(mean.astype(_dtype.float64), (mean.size,))
    return apart(name, draw, source, vector, name, (1,) * (len(shape) - mean.ndim) + mean.shape, shape)


def _gamma_numbers(
    generator: np.random.Generator, rows: np.ndarray, name: str, own: tuple[int, ...], shape: tuple[int, ...]
) -> np.ndarray:
    if not (rows > 0).all():
        raise ValueError(f"{name}: the numbers are {rows}; expected positive ones")
    return generator.standard_gamma(rows.reshape(rows.shape[:-1] + own), rows.shape[:-1] + shape)


def _poisson_numbers(
    generator: np.random.Generator, rows: np.ndarray, name: str, own: tuple[int, ...], shape: tuple[int, ...]
) -> np.ndarray:
    if not (rows >= 0).all():
        raise ValueError(f"{name}: the numbers are {rows}; expected numbers of 0 or more")
    return generator.poisson(rows.reshape(rows.shape[:-1] + own), rows.shape[:-1] + shape)


def _chosen(name: str, mask: Any, count: Any, source: Source) -> tuple[Tensor, Tensor]:
    """Places where a mask is set, in random order, and which rows are places; rows of zeros if there are too few."""
    x = operand(name, mask)
    number = integer(name, "count", count)
    if x._typenum != np.dtype(bool).num:
        raise TypeError(f"{name}: the input has type {x.dtype}; expected a mask of type Bool")
    if not 1 <= x.ndim <= 5:
        raise ValueError(f"{name}: the mask has shape {x.shape}; expected 1 to 5 axes")
    if number < 1:
        raise ValueError(f"{name}: count is {number}; expected one place at least")
    if number * x.ndim >= 2**31 - 1:
        raise RuntimeError(f"{name}: {number} places along {x.ndim} axes are more than 2**31 - 2 numbers; take fewer")
    flat = apart(name, _places, source, to_shape(x, (x.size,)), number)
    found = flat >= 0
    strides = np.array([max(math.prod(x.shape[k + 1 :]), 1) for k in range(x.ndim)])
    places = to_shape(where(found, flat, 0), (number, 1)) // strides % np.maximum(x.shape, 1)
    return places.astype(_dtype.int32), found


def _places(generator: np.random.Generator, rows: np.ndarray, count: int) -> np.ndarray:
    """Positions of some set elements of each row, in random order; then -1 if there are too few."""
    found = np.full((*rows.shape[:-1], count), -1)
    for at in np.ndindex(rows.shape[:-1]):
        chosen = generator.permutation(np.flatnonzero(rows[at]))[:count]
        found[at][: len(chosen)] = chosen
    return found


def _again(seed: Any, offset: Any) -> Source:
    """The source of a function with two seeds: for 0 and 0 the source of `dualgrad.set_seed`, else a new one."""
    numbers = [integer("random numbers", "a seed", k) & (2**64 - 1) for k in (seed, offset)]
    return (lambda: np.random.default_rng(numbers)) if any(numbers) else generator_of_all


def _own(seed: Any, seed2: Any) -> Source:
    """A source with seeds of its own, which continues from draw to draw; a replay cannot repeat it."""
    unrepeatable("a source of random numbers with seeds of its own is made")
    numbers = [integer("random numbers", "a seed", k) for k in (seed, seed2)]
    generator = np.random.default_rng([k & (2**64 - 1) for k in numbers])
    return lambda: generator


class Sourced(Primitive):
    """A primitive class that draws, from a source of its own or from the source of `dualgrad.set_seed`.

    It looks up the latter at each call and does not keep it: a guard cannot watch a function held by a user's object.
    """

    _own: Source | None

    __slots__ = ("_own",)

    @property
    def _from(self) -> Source:
        return generator_of_all if self._own is None else self._own
