"""How samples are drawn, from a source that is asked for at each draw."""

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
from .._arguments import floating, integer, new_shape, operand, to_shape, total
from ..index.gather import gather
from ..index.sorting import topk
from ..math.elementwise import log
from ..math.reductions import cumsum

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


def _type(*parameters: Tensor) -> DType:
    """The type that float parameters have together."""
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


def _gamma(name: str, alpha: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    a = _numbers(name, "alpha", alpha)
    if not (a > 0).all():
        raise ValueError(f"{name}: alpha is {a}; expected positive numbers")
    return _engine.draw(lambda: np.asarray(source().standard_gamma(a, shape)).astype(target.numpy))


def _poisson(name: str, what: str, mean: Tensor, shape: tuple[int, ...], target: DType, source: Source) -> Tensor:
    rate = _numbers(name, what, mean)
    if not (rate >= 0).all():
        raise ValueError(f"{name}: {what} is {rate}; expected numbers of 0 or more")
    return _engine.draw(lambda: np.asarray(source().poisson(rate, shape)).astype(target.numpy))


def _own(seed: Any, seed2: Any) -> Source:
    """A source with seeds of its own, which goes on from draw to draw; a recording cannot make it anew."""
    unrepeatable("a source of random numbers with seeds of its own is made")
    numbers = [integer("random numbers", "a seed", k) for k in (seed, seed2)]
    generator = np.random.default_rng([k & (2**64 - 1) for k in numbers])
    return lambda: generator
