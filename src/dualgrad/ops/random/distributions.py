"""Random numbers of named distributions.

Where a distribution is moved and stretched by tensors, derivatives go to these: a sample is ``mean + stddev * z``,
where z is drawn. Choices among categories are made by comparing uniform numbers, so they are part of a recorded
program; their slope is 0. Distributions that are drawn by rejection (gamma, Poisson) take their parameters as plain
numbers and refuse those that carry a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ... import dtype as _dtype
from ..._engine.primitives.execute import unrepeatable
from ..._engine.transforms import tensor as _engine
from ...dtype import DType, as_dtype
from ...leaving import stay
from ...tensor import Tensor
from .._arguments import Primitive, floating, integer, new_shape, operand, to_shape, total
from ..index.gather import gather
from ..index.sorting import topk
from ..math.elementwise import exp, log
from ..math.reductions import amax, cumsum
from .drawing import _drawn, _source, rand, randn

__all__ = [
    "Bernoulli", "Cauchy", "Gamma", "Multinomial", "Poisson", "RandomCategorical", "RandomPoisson", "RandomShuffle",
    "StandardLaplace", "StandardNormal", "TruncatedNormal", "UniformInt", "UniformReal", "bernoulli",
    "gamma", "laplace", "multinomial", "multinomial_with_replacement", "normal", "poisson", "rand_like", "randint",
    "randint_like", "randn_like", "random_categorical", "random_gamma", "random_poisson", "randperm", "shuffle",
    "standard_laplace", "standard_normal", "uniform",
]  # fmt: skip

Source: TypeAlias = "Callable[[], np.random.Generator]"  # text: numpy.random is imported when it is used
"""Where numbers come from, asked for at each draw."""


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
    """The shape of the samples: `shape`, then what the parameters broadcast to."""
    return np.broadcast_shapes(new_shape(name, shape), *[p.shape for p in parameters])


def _numbers(name: str, what: str, x: Tensor) -> np.ndarray:
    """The plain numbers of a parameter; one that carries a derivative is refused."""
    stay(x, f"{name} ({what})", instead=f"ops.stop_gradient({what}): samples of it have no derivative here")
    return x._numpy()


# ------------------------------------------------------------------------------------------- moved and stretched


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from the standard normal distribution.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    seed : int, optional
        Draw from a source of its own with this seed; without it from the one that `dualgrad.set_seed` seeds.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.standard_normal((2, 3)).shape
    (2, 3)
    """
    return randn(new_shape("standard_normal", shape), seed=seed)


def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from the Laplace distribution with mean 0 and scale 1.

    Parameters
    ----------
    shape, seed
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.standard_laplace((2, 3)).shape
    (2, 3)
    """
    return _laplace(_source(seed), new_shape("standard_laplace", shape), _dtype.float32)


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from normal distributions; derivatives go to `mean` and `stddev`.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with those of the parameters.
    mean, stddev : Tensor or number
        Mean and standard deviation.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.normal((2,), dg.Tensor([1.0, 5.0]), 0.0))
    [1. 5.]
    """
    mean, stddev = floating("normal", mean), floating("normal", stddev)
    return mean + stddev * randn(_shaped("normal", shape, mean, stddev), dtype=_type(mean, stddev), seed=seed)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from Laplace distributions; derivatives go to `mean` and `lambda_param`.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with those of the parameters.
    mean, lambda_param : Tensor or number
        Mean and scale.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.laplace((2,), dg.Tensor([1.0, 5.0]), 0.0))
    [1. 5.]
    """
    mean, scale = floating("laplace", mean), floating("laplace", lambda_param)
    return mean + scale * _laplace(_source(seed), _shaped("laplace", shape, mean, scale), _type(mean, scale))


def _type(*parameters: Tensor) -> DType:
    """The type that float parameters have together."""
    numbers = [p.dtype.numpy for p in parameters]
    return as_dtype(np.result_type(*numbers), where="the parameters")


def uniform(shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = _dtype.float32) -> Tensor:
    """Draw numbers that are uniform from `minval` to `maxval`, without the last; derivatives go to both.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with those of the limits.
    minval, maxval : Tensor or number
        The limits. For an integer type they are single numbers, and all integers between are equally likely.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default float32
        A float type, Int32 or Int64.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If an integer limit is not below the other.

    Examples
    --------
    >>> from dualgrad import ops
    >>> x = ops.uniform((100,), 2.0, 5.0)
    >>> bool(((x >= 2) & (x < 5)).all())
    True
    """
    target = as_dtype(dtype, where="uniform")
    if target.is_int:
        return _whole("uniform", _source(seed), shape, minval, maxval, target)
    target = _drawn("uniform", target)
    low, high = [floating("uniform", x).astype(target) for x in (minval, maxval)]
    u = _uniform(_source(seed), _shaped("uniform", shape, low, high), target)
    return low + (high - low) * u


def _whole(name: str, source: Source, shape: Any, low: Any, high: Any, target: DType) -> Tensor:
    limits = []
    for what, x in (("the lower limit", low), ("the upper limit", high)):
        x = x.item() if isinstance(x, Tensor) and x.size == 1 else x
        limits.append(integer(name, what, x))
    if limits[0] >= limits[1]:
        raise ValueError(f"{name}: integers from {limits[0]} up to {limits[1]}; expected more than none")
    return _integers(source, limits[0], limits[1], new_shape(name, shape), target)


def rand_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw numbers that are uniform on [0, 1), as many as another tensor has elements.

    Parameters
    ----------
    input : Tensor
        Whose shape, and type by default, the result has.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, optional
        A float type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.rand_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    x = operand("rand_like", input)
    return rand(x.shape, dtype=x.dtype if dtype is None else dtype, seed=seed)


def randn_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw standard normal numbers, as many as another tensor has elements; parameters are those of `rand_like`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.randn_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    x = operand("randn_like", input)
    return randn(x.shape, dtype=x.dtype if dtype is None else dtype, seed=seed)


def randint(low: int, high: int, size: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw integers from `low` to `high`, without the last.

    Parameters
    ----------
    low, high : int
        The limits.
    size : int or tuple of int
        The shape.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default int64
        An integer type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.randint(3, 4, (2,)))
    [3 3]
    """
    target = _dtype.int64 if dtype is None else as_dtype(dtype, where="randint")
    return _whole("randint", _source(seed), size, low, high, target)


def randint_like(input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw integers, as many as another tensor has elements.

    Parameters
    ----------
    input : Tensor
        Whose shape the result has, and its type if that is one of integers.
    low, high, seed, dtype
        As in `randint`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.randint_like(ops.ones((2,)), 3, 4))
    [3 3]
    """
    x = operand("randint_like", input)
    own = x.dtype if x.dtype.is_int else None
    return randint(low, high, x.shape, seed, dtype=own if dtype is None else dtype)


def randperm(n: int, seed: int = 0, offset: int = 0, dtype: Any = _dtype.int64) -> Tensor:
    """The numbers from 0 to n - 1 in random order.

    Parameters
    ----------
    n : int
        How many there are.
    seed, offset : int, default 0
        Draw from a source of its own with these seeds, unless both are 0.
    dtype : type, default int64
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.sort(ops.randperm(4))[0])
    [0 1 2 3]
    """
    count, target = integer("randperm", "n", n), as_dtype(dtype, where="randperm")
    if count < 0:
        raise ValueError(f"randperm: n is {n}; expected 0 or more")
    source = _source(None) if seed == offset == 0 else _own(seed, offset)
    return _engine.draw(lambda: source().permutation(count).astype(target.numpy))


def shuffle(x: Any, seed: int | None = None) -> Tensor:
    """The rows of a tensor in random order.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> float(ops.shuffle(dg.Tensor([1.0, 2.0, 4.0])).sum())
    7.0
    """
    return _shuffled("shuffle", x, _source(seed))


def _shuffled(name: str, x: Any, source: Source) -> Tensor:
    x = operand(name, x)
    if x.ndim < 1:
        raise ValueError(f"{name}: the input has no axes; expected rows")
    return gather(x, _engine.draw(lambda: source().permutation(x.shape[0])), 0)


# ------------------------------------------------------------------------------------------------------ choices


def bernoulli(input: Any, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """Draw ones with a probability, zeros else.

    Parameters
    ----------
    input : Tensor
        Whose shape and type the result has.
    p : Tensor or float, default 0.5
        The probability of a one; a shape that broadcasts to that of `input`. The slope by it is 0.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bernoulli(ops.ones((3,)), dg.Tensor([0.0, 1.0, 1.0])))
    [0. 1. 1.]
    """
    x = operand("bernoulli", input)
    return _engine.convert(_ones("bernoulli", x.shape, p, _source(seed)), x._typenum)


def _ones(name: str, shape: tuple[int, ...], p: Any, source: Source) -> Tensor:
    p = floating(name, p)
    if np.broadcast_shapes(shape, p.shape) != shape:
        raise ValueError(f"{name}: p has shape {p.shape}, which does not broadcast to {shape}")
    return _uniform(source, shape, _dtype.float64) < p.astype(_dtype.float64)


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Draw categories by their weights.

    Parameters
    ----------
    input : Tensor
        Weights of the categories along the last axis, none negative; a vector or a matrix.
    num_samples : int
        How many are drawn for each row.
    replacement : bool, default True
        Whether a category may be drawn again.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Int32, the numbers of the categories along the last axis.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multinomial(dg.Tensor([0.0, 3.0, 0.0]), 2))
    [1 1]
    """
    name = "multinomial"
    return _categories(name, input, num_samples, replacement, _source(seed)).astype(_dtype.int32)


def _categories(name: str, weights: Any, count: Any, replacement: bool, source: Source) -> Tensor:
    w = _engine.stop(floating(name, weights)).astype(_dtype.float64)
    number = integer(name, "the number of samples", count)
    if w.ndim not in (1, 2) or not w.shape[-1] or number < 1 or (not replacement and number > w.shape[-1]):
        raise ValueError(
            f"{name}: {number} samples of weights of shape {w.shape}; expected a vector or matrix of weights, and "
            "at least one sample (without replacement no more than there are categories)"
        )
    if not replacement:  # the largest of log(w) - log(-log(u)) are a draw without replacement
        u = _uniform(source, w.shape, _dtype.float64, open_end=True)
        return topk(log(w) - log(-log(u)), number)[1]
    sums = cumsum(w, -1)
    u = _uniform(source, (*w.shape[:-1], number), _dtype.float64) * sums[..., -1:]
    passed = to_shape(sums, (*w.shape[:-1], 1, w.shape[-1])) <= to_shape(u, (*u.shape, 1))
    return total(passed.astype(_dtype.int64), (w.ndim,), False)


def multinomial_with_replacement(x: Any, seed: int, offset: int, numsamples: int, replacement: bool = False) -> Tensor:
    """Draw categories by their weights, with replacement.

    Parameters
    ----------
    x : Tensor
        Weights, as `input` in `multinomial`.
    seed, offset : int
        Draw from a source of its own with these seeds, unless both are 0.
    numsamples : int
        As `num_samples` in `multinomial`.
    replacement : bool, default False
        Accepted so that ported code runs; without meaning.

    Returns
    -------
    Tensor
        Type Int64.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multinomial_with_replacement(dg.Tensor([0.0, 3.0, 0.0]), 2, 5, 2))
    [1 1]
    """
    source = _source(None) if seed == offset == 0 else _own(seed, offset)
    return _categories("multinomial_with_replacement", x, numsamples, True, source)


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: Any = _dtype.int64) -> Tensor:
    """Draw categories by logarithms of their weights.

    Parameters
    ----------
    logits : Tensor
        Logarithms of weights, shape (N, categories).
    num_sample : int
        How many are drawn for each row.
    seed : int, default 0
        Draw from a source of its own with this seed, unless it is 0.
    dtype : type, default int64
        Int32 or Int64.

    Returns
    -------
    Tensor
        Shape (N, num_sample).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.random_categorical(dg.Tensor([[0.0, 1000.0]]), 2))
    [[1 1]]
    """
    x = _engine.stop(floating("random_categorical", logits)).astype(_dtype.float64)
    if x.ndim != 2 or not x.size:
        raise ValueError(f"random_categorical: logits have shape {x.shape}; expected (N, categories)")
    weights = exp(x - amax(x, -1, True))
    source = _source(None) if seed == 0 else _own(seed, 0)
    return _categories("random_categorical", weights, num_sample, True, source).astype(dtype)


# ----------------------------------------------------------------------------------------------------- rejection


def gamma(shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from gamma distributions; derivatives go to `beta`.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape to which `alpha` and `beta` broadcast.
    alpha : Tensor or float
        The shape parameter, above 0. It may not carry a derivative.
    beta : Tensor or float
        The rate, above 0.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Raises
    ------
    LeavesDerivativeError
        If `alpha` carries a derivative.
    ValueError
        If `alpha` is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.gamma((2, 3), dg.Tensor([1.0, 2.0]), 3.0).shape
    (2, 3, 2)
    """
    a, b = floating("gamma", alpha), floating("gamma", beta)
    whole = (*new_shape("gamma", shape), *np.broadcast_shapes(a.shape, b.shape))
    return _gamma("gamma", a, whole, _type(a, b), _source(seed)) / b


def _gamma(name: str, alpha: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    a = _numbers(name, "alpha", alpha)
    if not (a > 0).all():
        raise ValueError(f"{name}: alpha is {a}; expected positive numbers")
    return _engine.draw(lambda: np.asarray(source().standard_gamma(a, shape)).astype(target.numpy))


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from gamma distributions of rate 1.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape of `alpha`.
    alpha : Tensor
        The shape parameter, above 0. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        The type of `alpha`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.random_gamma((3,), dg.Tensor([1.0, 2.0])).shape
    (3, 2)
    """
    a = floating("random_gamma", alpha)
    return _gamma("random_gamma", a, (*new_shape("random_gamma", shape), *a.shape), a.dtype, _source(seed))


def random_poisson(shape: Any, rate: Any, seed: int | None = None, dtype: Any = _dtype.float32) -> Tensor:
    """Draw numbers from Poisson distributions.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape of `rate`.
    rate : Tensor or float
        The mean, 0 or more. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default float32
        The type of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    LeavesDerivativeError
        If `rate` carries a derivative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.random_poisson((2,), 0.0))
    [0. 0.]
    """
    mean = floating("random_poisson", rate)
    target = as_dtype(dtype, where="random_poisson")
    whole = (*new_shape("random_poisson", shape), *mean.shape)
    return _poisson("random_poisson", "rate", mean, whole, target, _source(seed))


def _poisson(name: str, what: str, mean: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    rate = _numbers(name, what, mean)
    if not (rate >= 0).all():
        raise ValueError(f"{name}: {what} is {rate}; expected numbers of 0 or more")
    return _engine.draw(lambda: np.asarray(source().poisson(rate, shape)).astype(target.numpy))


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from Poisson distributions.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with that of `mean`.
    mean : Tensor
        The mean, 0 or more. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.poisson((2,), dg.Tensor([0.0])))
    [0. 0.]
    """
    mean = floating("poisson", mean)
    return _poisson("poisson", "mean", mean, _shaped("poisson", shape, mean), _dtype.float32, _source(seed))


# -------------------------------------------------------------------------------------------- primitive classes


def _own(seed: Any, seed2: Any) -> Source:
    """A source with seeds of its own, which goes on from draw to draw; a recording cannot make it anew."""
    unrepeatable("a source of random numbers with seeds of its own is made")
    numbers = [integer("random numbers", "a seed", k) for k in (seed, seed2)]
    generator = np.random.default_rng([k & (2**64 - 1) for k in numbers])
    return lambda: generator


class _Seeded(Primitive):
    """The settings of a primitive class that draws: two seeds; both 0 stand for the source of `dualgrad.set_seed`."""

    __slots__ = ("_from", "seed", "seed2")

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        self.seed, self.seed2 = seed, seed2
        self._from = _source(None) if seed == seed2 == 0 else _own(seed, seed2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self.seed}, seed2={self.seed2})"


class StandardNormal(_Seeded):
    """Standard normal numbers: ``ops.StandardNormal(seed=0, seed2=0)(shape)``.

    Parameters
    ----------
    seed, seed2 : int, default 0
        Seeds of a source of its own, which goes on from call to call; both 0 stand for the source of
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


class UniformInt(_Seeded):
    """Integers between limits: ``ops.UniformInt(seed=0, seed2=0)(shape, minval, maxval)``, without the last.

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
        self.dtype = as_dtype(dtype, where="RandomPoisson")

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
        self.dtype = as_dtype(dtype, where="Multinomial")

    def __call__(self, x: Any, num_samples: int) -> Tensor:
        return _categories("Multinomial", x, num_samples, True, self._from).astype(self.dtype)


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
        self.dtype = _drawn("TruncatedNormal", dtype)

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
        self.size = new_shape("Cauchy", size)
        self.median = median
        self.sigma = sigma

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
        self.dtype = dtype

    def __call__(self, logits: Any, num_sample: int, seed: int = 0) -> Tensor:
        return random_categorical(logits, num_sample, seed, self.dtype)


class Bernoulli(Primitive):
    """Ones with a probability; see `bernoulli`: ``ops.Bernoulli(seed=-1, offset=0)(x, p)``.

    Parameters
    ----------
    seed : int, default -1
        The seed of a source of its own, which goes on from call to call; -1 stands for that of `dualgrad.set_seed`.
    offset : int, default 0
        A second seed.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.Bernoulli()(ops.ones((2,)), 1.0))
    [1. 1.]
    """

    __slots__ = ("_from", "offset", "seed")

    def __init__(self, seed: int = -1, offset: int = 0) -> None:
        self.seed, self.offset = seed, offset
        self._from = _source(None) if seed == -1 else _own(seed, offset)

    def __call__(self, x: Any, p: Any) -> Tensor:
        x = operand("Bernoulli", x)
        return _engine.convert(_ones("Bernoulli", x.shape, p, self._from), x._typenum)

    def __repr__(self) -> str:
        return f"Bernoulli(seed={self.seed}, offset={self.offset})"


METHODS: dict[str, Callable[..., Any]] = {
    "bernoulli": bernoulli,
    "multinomial": multinomial,
    "random_categorical": random_categorical,
}
