"""Normal numbers between limits.

They are drawn by rejection in standard form, on [a, b] with |a| ≤ |b| (otherwise mirrored), after C. P. Robert,
"Simulation of truncated normal variables", Statistics and Computing 5 (1995). A wide interval that begins below 1/2
takes normal numbers and keeps those inside. Any other interval takes a + s, where s has the density exp(-r s) on [0, b
- a] with the rate r = max(a, 0). It keeps the number with the probability exp(-s²/2), or exp(-(a + s)²/2) for r = 0. At
least three of ten numbers are kept, however far out the interval is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ...tensor import Tensor
from .._arguments import new_shape, operand, to_shape
from ..axes._joining import concat
from ._apart import apart
from .seeded import _Seeded

__all__ = ["ParameterizedTruncatedNormal"]

_NAME = "ParameterizedTruncatedNormal"
_PARAMETERS = ("mean", "stdevs", "min", "max")


class ParameterizedTruncatedNormal(_Seeded):
    """Normal numbers between limits: ``ops.ParameterizedTruncatedNormal(seed, seed2)(shape, mean, stdevs, min, max)``.

    The shape has at least two axes. The parameters are float tensors of one type, also the type of the result. Each is
    a single number or has an element for each along the first axis: shape (), (1,) or (shape[0],). ``stdevs`` are above
    0, ``min`` is below ``max``; both may be infinite. No parameter may carry a derivative.

    Parameters
    ----------
    seed, seed2 : int, default 0
        As in `StandardNormal`.

    Raises
    ------
    LeavesDerivativeError
        In a derivative by a parameter.
    TypeError
        If the parameters are not floats of one type.
    ValueError
        If shapes do not fit, a standard deviation is not positive, or ``min`` is not below ``max``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> mean, stdevs, low, high = dg.Tensor([0.0]), dg.Tensor([1.0]), dg.Tensor([8.0, 9.0]), dg.Tensor([9.0, 10.0])
    >>> x = ops.ParameterizedTruncatedNormal()((2, 100), mean, stdevs, low, high)
    >>> x.shape, bool(((x[0] >= 8) & (x[0] <= 9) & (x[1] >= 9) & (x[1] <= 10)).all())
    ((2, 100), True)
    """

    __slots__ = ()

    def __call__(self, shape: Any, mean: Any, stdevs: Any, min: Any, max: Any) -> Tensor:
        size = new_shape(_NAME, shape)
        if len(size) < 2 or 0 in size:
            raise ValueError(f"{_NAME}: shape is {size}; expected two axes at least, none of length 0")
        parameters = [operand(_NAME, x) for x in (mean, stdevs, min, max)]
        target = parameters[0].dtype
        for what, x in zip(_PARAMETERS, parameters, strict=True):
            if not x.dtype.is_float or x.dtype is not target:
                raise TypeError(
                    f"{_NAME}: {what} has type {x.dtype} beside mean of type {target}; expected one float type"
                )
            if x.shape not in ((), (1,), size[:1]):
                raise ValueError(f"{_NAME}: {what} has shape {x.shape}; expected (), (1,) or {size[:1]}")
        vector = concat([to_shape(x, (x.size,)).astype(_dtype.float64) for x in parameters], 0)
        counts = tuple([x.size for x in parameters])
        return apart(_NAME, _numbers, self._from, vector, counts, size, target.numpy.name).astype(target)


def _numbers(
    generator: np.random.Generator, rows: np.ndarray, counts: tuple[int, ...], shape: tuple[int, ...], target: str
) -> np.ndarray:
    """Draw numbers of a shape for each row of parameters; `counts` splits a row into the parameters."""
    parts = np.split(rows, np.cumsum(counts)[:-1], axis=-1)
    parts = [part.reshape(part.shape + (1,) * (len(shape) - 1)) for part in parts]
    mean, sigma, low, high = np.broadcast_arrays(*parts, np.empty(rows.shape[:-1] + shape))[:4]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        near = np.minimum(np.abs((low - mean) / sigma), np.abs((high - mean) / sigma))
    unlimited = np.isinf(low) & np.isinf(high)
    if not (np.isfinite(mean) & (0 < sigma) & (sigma < np.inf) & (low < high) & (np.isfinite(near) | unlimited)).all():
        raise ValueError(
            f"{_NAME}: mean, stdevs, min and max are {', '.join(str(part.squeeze()) for part in parts)}; expected "
            "finite means, positive standard deviations, and each min below its max, in floats' reach of its mean"
        )
    drawn = _between(generator, mean.ravel(), sigma.ravel(), low.ravel(), high.ravel()).reshape(mean.shape)
    return np.clip(drawn.astype(target), low, high)  # rounding may leave the interval


def _between(
    generator: np.random.Generator, mean: np.ndarray, sigma: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Draw a number in each interval."""
    a, b = (low - mean) / sigma, (high - mean) / sigma
    mirrored = np.abs(a) > np.abs(b)
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    begin, scale = np.where(mirrored, high, low), np.where(mirrored, -sigma, sigma)
    wide = (a < 0.5) & (b - a > 2)
    found = np.empty(mean.shape)
    left = np.arange(len(mean))
    while len(left):
        normal = wide[left]
        at, beside = left[normal], left[~normal]
        z = generator.standard_normal(len(at))
        inside = (z >= a[at]) & (z <= b[at])
        found[at[inside]] = (mean[at] + scale[at] * z)[inside]
        rate, width = np.maximum(a[beside], 0), b[beside] - a[beside]
        s = _exponential(generator.random(len(beside)), rate, width)
        t = np.where(rate > 0, s, a[beside] + s)
        kept = generator.random(len(beside)) < np.exp(-0.5 * t * t)
        found[beside[kept]] = (begin[beside] + scale[beside] * s)[kept]
        left = np.concatenate([at[~inside], beside[~kept]])
    return found


def _exponential(u: np.ndarray, rate: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Map uniform numbers to numbers on [0, width] with the density exp(-rate s), uniform for rate 0."""
    safe = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, -np.log1p(u * np.expm1(-safe * width)) / safe, u * np.where(rate > 0, 1.0, width))


METHODS: dict[str, Callable[..., Any]] = {}
