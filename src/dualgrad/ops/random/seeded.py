"""Primitive classes that draw random numbers, from sources of their own where they have seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import whole_number
from ...dtype import DType, as_dtype
from ...tensor import Tensor
from .._arguments import Primitive, floating, new_shape, operand
from ._apart import alone, apart
from ._samples import (
    Sourced,
    _by_seeds,
    _categories,
    _chosen,
    _gamma,
    _laplace,
    _ones,
    _own,
    _poisson,
    _shaped,
    _shuffled,
    _type,
    _uniform,
    _whole,
)
from .choices import random_categorical
from .drawing import _drawn, _source

__all__ = [
    "Bernoulli", "Cauchy", "Gamma", "Multinomial", "MultinomialWithReplacement", "Poisson", "RandomCategorical",
    "RandomChoiceWithMask", "RandomGamma", "RandomPoisson", "RandomShuffle", "StandardLaplace", "StandardNormal",
    "TruncatedNormal", "Uniform", "UniformInt", "UniformReal",
]  # fmt: skip


class _Seeded(Sourced):
    """The settings of a primitive class that draws: two seeds; both 0 stand for the source of `dualgrad.set_seed`."""

    seed2: int
    seed: int

    __slots__ = ("seed", "seed2")

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        name = type(self).__name__
        self.seed, self.seed2 = seed, seed2 = whole_number(name, "seed", seed), whole_number(name, "seed2", seed2)
        self._own = None if seed == seed2 == 0 else _own(seed, seed2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self.seed}, seed2={self.seed2})"


class StandardNormal(_Seeded):
    """Standard normal numbers: ``ops.StandardNormal(seed=0, seed2=0)(shape)``.

    Parameters
    ----------
    seed, seed2 : int, default 0
        Seeds of a source of its own, which continues from call to call; both 0 stand for the source of
        `dualgrad.set_seed`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.StandardNormal()((2, 3)).shape
    (2, 3)
    """

    __slots__ = ()

    def __call__(self, shape: Any) -> Tensor:
        size, source = new_shape("StandardNormal", shape), self._from
        return _engine.draw(lambda: np.asarray(source().standard_normal(size)).astype(np.float32))


class StandardLaplace(_Seeded):
    """Laplace numbers with mean 0 and scale 1: ``ops.StandardLaplace(seed=0, seed2=0)(shape)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.StandardLaplace()((2, 3)).shape
    (2, 3)
    """

    __slots__ = ()

    def __call__(self, shape: Any) -> Tensor:
        return _laplace(self._from, new_shape("StandardLaplace", shape), _dtype.float32)


class UniformReal(_Seeded):
    """Numbers that are uniform on [0, 1): ``ops.UniformReal(seed=0, seed2=0)(shape)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.UniformReal()((2, 3)).shape
    (2, 3)
    """

    __slots__ = ()

    def __call__(self, shape: Any) -> Tensor:
        return _uniform(self._from, new_shape("UniformReal", shape), _dtype.float32)


class Uniform(Sourced):
    """Uniform numbers in the shape of a tensor: ``ops.Uniform(minval=0.0, maxval=1.0, seed=0, offset=0)(x)``.

    The result has the shape and the float type of ``x``. The samples of `vmap` have numbers of their own.

    Parameters
    ----------
    minval, maxval : float, default 0.0 and 1.0
        The limits; `maxval` itself is left out; 0 or more, as in MindSpore.
    seed, offset : int, default 0
        As `seed` and `seed2` in `StandardNormal`.

    Raises
    ------
    TypeError
        If ``x`` has no float type, or a limit is not a number.
    ValueError
        If the limits are not finite, or ``0 <= minval <= maxval`` does not hold.

    Examples
    --------
    >>> from dualgrad import ops
    >>> x = ops.Uniform(1.0, 2.0)(ops.ones((2, 3)))
    >>> x.shape, bool(((x >= 1) & (x < 2)).all())
    ((2, 3), True)
    """

    __slots__ = ("maxval", "minval", "offset", "seed")

    def __init__(self, minval: float = 0.0, maxval: float = 1.0, seed: int = 0, offset: int = 0) -> None:
        for what, limit in (("minval", minval), ("maxval", maxval)):
            if isinstance(limit, bool) or not isinstance(limit, int | float | np.number):
                raise TypeError(f"Uniform: {what} must be a number, got {type(limit).__name__}")
        if not 0 <= minval <= maxval < np.inf:
            raise ValueError(f"Uniform: limits {minval} and {maxval}; expected 0 <= minval <= maxval")
        seed, offset = whole_number("Uniform", "seed", seed), whole_number("Uniform", "offset", offset)
        self.minval, self.maxval, self.seed, self.offset = float(minval), float(maxval), seed, offset
        self._own = None if seed == offset == 0 else _own(seed, offset)

    def __call__(self, x: Any) -> Tensor:
        x = operand("Uniform", x)
        if not x.dtype.is_float:
            raise TypeError(f"Uniform: x has type {x.dtype}; expected Float16, Float32 or Float64")
        limits = self.minval, self.maxval
        return apart("Uniform", _between, self._from, alone(x), x.shape, limits, x.dtype.numpy.name)

    def __repr__(self) -> str:
        return f"Uniform(minval={self.minval}, maxval={self.maxval}, seed={self.seed}, offset={self.offset})"


def _between(
    generator: np.random.Generator, rows: np.ndarray, shape: tuple[int, ...], limits: tuple[float, float], target: str
) -> np.ndarray:
    """Uniform numbers from one limit up to the other; rounding to the type must not reach the latter."""
    low, high = (np.dtype(target).type(limit) for limit in limits)
    numbers = limits[0] + (limits[1] - limits[0]) * generator.random(rows.shape[:-1] + shape)
    return np.clip(numbers.astype(target), low, max(np.nextafter(high, low), low))


class UniformInt(_Seeded):
    """Integers between limits: ``ops.UniformInt(seed=0, seed2=0)(shape, minval, maxval)``, without `maxval`.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.UniformInt()((2,), 3, 4))
    [3 3]
    """

    __slots__ = ()

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        return _whole("UniformInt", self._from, shape, minval, maxval, _dtype.int32)


class Gamma(_Seeded):
    """Gamma numbers; see `gamma`: ``ops.Gamma(seed=0, seed2=0)(shape, alpha, beta)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Gamma()((3,), dg.Tensor([1.0, 2.0]), dg.Tensor(3.0)).shape
    (3, 2)
    """

    __slots__ = ()

    def __call__(self, shape: Any, alpha: Any, beta: Any) -> Tensor:
        a, b = floating("Gamma", alpha), floating("Gamma", beta)
        whole = (*new_shape("Gamma", shape), *np.broadcast_shapes(a.shape, b.shape))
        return _gamma("Gamma", a, whole, _type(a, b), self._from) / b


class RandomGamma(_Seeded):
    """Gamma numbers of rate 1; see `random_gamma`: ``ops.RandomGamma(seed=0, seed2=0)(shape, alpha)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.RandomGamma(seed=3)((3, 1, 2), dg.Tensor([[3.0, 4.0], [5.0, 6.0]])).shape
    (3, 1, 2, 2, 2)
    """

    __slots__ = ()

    def __call__(self, shape: Any, alpha: Any) -> Tensor:
        a = floating("RandomGamma", alpha)
        return _gamma("RandomGamma", a, (*new_shape("RandomGamma", shape), *a.shape), a.dtype, self._from)


class Poisson(_Seeded):
    """Poisson numbers; see `poisson`: ``ops.Poisson(seed=0, seed2=0)(shape, mean)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Poisson()((2,), dg.Tensor([0.0])))
    [0 0]
    """

    __slots__ = ()

    def __call__(self, shape: Any, mean: Any) -> Tensor:
        mean = floating("Poisson", mean)
        return _poisson("Poisson", "mean", mean, _shaped("Poisson", shape, mean), _dtype.int32, self._from)


class RandomPoisson(_Seeded):
    """Poisson numbers; see `random_poisson`: ``ops.RandomPoisson(seed=0, seed2=0, dtype=int64)(shape, rate)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.
    dtype : type, default int64
        The type of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.RandomPoisson()((2,), dg.Tensor(0.0)))
    [0 0]
    """

    __slots__ = ("dtype",)

    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = _dtype.int64) -> None:
        super().__init__(seed, seed2)
        self.dtype: DType = as_dtype(dtype, where="RandomPoisson")

    def __call__(self, shape: Any, rate: Any) -> Tensor:
        mean = floating("RandomPoisson", rate)
        whole = (*new_shape("RandomPoisson", shape), *mean.shape)
        return _poisson("RandomPoisson", "rate", mean, whole, self.dtype, self._from)


class Multinomial(_Seeded):
    """Categories by their weights; see `multinomial`: ``ops.Multinomial(seed=0, seed2=0)(x, num_samples)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.
    dtype : type, default int32
        The type of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Multinomial()(dg.Tensor([0.0, 3.0, 0.0]), 2))
    [1 1]
    """

    __slots__ = ("dtype",)

    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = _dtype.int32) -> None:
        super().__init__(seed, seed2)
        self.dtype: DType = as_dtype(dtype, where="Multinomial")

    def __call__(self, x: Any, num_samples: int) -> Tensor:
        return _categories("Multinomial", x, num_samples, True, self._from).astype(self.dtype)


class MultinomialWithReplacement(Primitive):
    """Categories by their weights; ``ops.MultinomialWithReplacement(numsamples, replacement=False)(x, seed, offset)``.

    Parameters
    ----------
    numsamples : int
        The number of draws for each row.
    replacement : bool, default False
        As in `multinomial_with_replacement`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MultinomialWithReplacement(2, True)(dg.Tensor([[0.0, 3.0, 0.0]]), 2, 5))
    [[1 1]]
    """

    __slots__ = ("numsamples", "replacement")

    def __init__(self, numsamples: int, replacement: bool = False) -> None:
        self.numsamples: int = numsamples
        self.replacement: bool = replacement

    def __call__(self, x: Any, seed: Any, offset: Any) -> Tensor:
        return _by_seeds("MultinomialWithReplacement", x, seed, offset, self.numsamples, self.replacement)


class RandomChoiceWithMask(_Seeded):
    """Places where a mask is set; see `choice_with_mask`: ``ops.RandomChoiceWithMask(count, seed=0, seed2=0)(mask)``.

    Parameters
    ----------
    count : int, default 256
        The number of places to choose.
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> index, mask = ops.RandomChoiceWithMask(2)(dg.Tensor([False, True]))
    >>> print(index.tolist(), mask)
    [[1], [0]] [ True False]
    """

    __slots__ = ("count",)

    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0) -> None:
        super().__init__(seed, seed2)
        self.count: int = count

    def __call__(self, input_x: Any) -> tuple[Tensor, Tensor]:
        return _chosen("RandomChoiceWithMask", input_x, self.count, self._from)

    def __repr__(self) -> str:
        return f"RandomChoiceWithMask(count={self.count}, seed={self.seed}, seed2={self.seed2})"


class RandomShuffle(_Seeded):
    """The rows of a tensor in random order: ``ops.RandomShuffle(seed=0, seed2=0)(x)``.

    Parameters
    ----------
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> float(ops.RandomShuffle()(dg.Tensor([1.0, 2.0])).sum())
    3.0
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _shuffled("RandomShuffle", x, self._from)


class TruncatedNormal(_Seeded):
    """Standard normal numbers between -2 and 2: ``ops.TruncatedNormal(dtype=float32, seed=0, seed2=0)(shape)``.

    Parameters
    ----------
    dtype : type, default float32
        A float type.
    seed, seed2
        As in `StandardNormal`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> bool((ops.abs(ops.TruncatedNormal()((100,))) <= 2).all())
    True
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any = _dtype.float32, seed: int = 0, seed2: int = 0) -> None:
        super().__init__(seed, seed2)
        self.dtype: DType = _drawn("TruncatedNormal", dtype)

    def __call__(self, shape: Any) -> Tensor:
        size, source, target = new_shape("TruncatedNormal", shape), self._from, self.dtype

        def numbers() -> np.ndarray:
            drawn = np.asarray(source().standard_normal(size))
            outside = np.abs(drawn) > 2
            while outside.any():
                drawn[outside] = source().standard_normal(int(outside.sum()))
                outside = np.abs(drawn) > 2
            return drawn.astype(target.numpy)

        return _engine.draw(numbers)


class Cauchy(Primitive):
    """Cauchy numbers: ``ops.Cauchy(size, median=0.0, sigma=1.0)()``.

    Parameters
    ----------
    size : tuple of int
        The shape.
    median, sigma : float, default 0.0 and 1.0
        The median, and the scale.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.Cauchy((2, 3))().shape
    (2, 3)
    """

    __slots__ = ("median", "sigma", "size")

    def __init__(self, size: Any, median: float = 0.0, sigma: float = 1.0) -> None:
        self.size: tuple[int, ...] = new_shape("Cauchy", size)
        self.median: float = median
        self.sigma: float = sigma

    def __call__(self) -> Tensor:
        size, source = self.size, _source(None)
        drawn = _engine.draw(lambda: np.asarray(source().standard_cauchy(size)).astype(np.float32))
        return self.median + self.sigma * drawn


class RandomCategorical(Primitive):
    """Categories; see `random_categorical`: ``ops.RandomCategorical()(logits, num_sample, seed)``.

    Parameters
    ----------
    dtype : type, default int64
        The type of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.RandomCategorical()(dg.Tensor([[0.0, 1000.0]]), 2, 0))
    [[1 1]]
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any = _dtype.int64) -> None:
        self.dtype: Any = dtype

    def __call__(self, logits: Any, num_sample: int, seed: int = 0) -> Tensor:
        return random_categorical(logits, num_sample, seed, self.dtype)


class Bernoulli(Sourced):
    """Ones with a probability; see `bernoulli`: ``ops.Bernoulli(seed=-1, offset=0)(x, p)``.

    Parameters
    ----------
    seed : int, default -1
        The seed of a source of its own, which continues from call to call; -1 stands for the source of
        `dualgrad.set_seed`.
    offset : int, default 0
        A second seed.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.Bernoulli()(ops.ones((2,)), 1.0))
    [1. 1.]
    """

    seed: int
    offset: int

    __slots__ = ("offset", "seed")

    def __init__(self, seed: int = -1, offset: int = 0) -> None:
        self.seed = seed = whole_number("Bernoulli", "seed", seed, -1)
        self.offset = offset = whole_number("Bernoulli", "offset", offset)
        self._own = None if seed == -1 else _own(seed, offset)

    def __call__(self, x: Any, p: Any) -> Tensor:
        x = operand("Bernoulli", x)
        return _engine.convert(_ones("Bernoulli", x.shape, p, self._from), x._typenum)

    def __repr__(self) -> str:
        return f"Bernoulli(seed={self.seed}, offset={self.offset})"


METHODS: dict[str, Callable[..., Any]] = {}
