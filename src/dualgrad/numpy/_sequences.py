"""NumPy's functions of sequences for tensors: running, sorted, padded and sampled ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops._arguments import floating, lengths, operand, permuted, reduced_axes, to_shape
from ..ops.index.gather import gather_elements
from ..ops.index.sorting import middle, sort
from ..ops.math.reductions import amax, amin, cumprod, cumsum, nansum
from ..ops.math.sampled import diff, interp, trapezoid
from ..ops.shape._padding import extended, surrounded
from ..ops.shape.reshaping import flip, ravel, rot90
from ..tensor import Tensor
from ._entries import implements, reduction, renamed

reduction(nansum, np.nansum)
renamed(cumsum, "a axis dtype", np.cumsum)
renamed(cumprod, "a axis dtype", np.cumprod)
renamed(diff, "a n axis prepend append", np.diff)
renamed(trapezoid, "y x dx axis", np.trapezoid)
renamed(interp, "x xp fp left right period", np.interp)


@implements(np.sort)
def _np_sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    return sort(ravel(a))[0] if axis is None else sort(a, axis)[0]


@implements(np.median)
def _np_median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The mean of the two elements in the middle; for an odd number of elements both are the same one."""
    a = floating("median", a)
    axes = reduced_axes("median", axis, a)
    others = tuple([k for k in range(a.ndim) if k not in axes])
    rest = tuple([a.shape[k] for k in others])
    rows = to_shape(permuted(a, others + axes), (*rest, math.prod([a.shape[k] for k in axes])))
    lower, upper = [gather_elements(rows, -1, place) for place in middle("np.median", rows, len(rest), (0, 1))]
    shape = tuple([1 if k in axes else n for k, n in enumerate(a.shape)]) if keepdims else rest
    return to_shape((lower + upper) / 2, shape)


@implements(np.ptp)
def _np_ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    return amax(a, axis, keepdims) - amin(a, axis, keepdims)


@implements(np.rot90)
def _np_rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    return rot90(m, k, tuple(axes))


@implements(np.fliplr)
def _np_fliplr(m: Any) -> Tensor:
    return flip(m, 1)


@implements(np.flipud)
def _np_flipud(m: Any) -> Tensor:
    return flip(m, 0)


@implements(np.pad)
def _np_pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Tensor:
    x = operand("np.pad", array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - x.ndim, 0)) for k in range(x.ndim)]
        pad_width = [lengths("np.pad", ends) * (2 if np.ndim(ends) == 0 else 1) for ends in pad_width]
    pairs = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    if pairs.size and (pairs.dtype.kind not in "iu" or pairs.min() < 0):
        raise ValueError(f"np.pad: pad_width is {pad_width!r}; expected whole numbers, none negative")
    widths = tuple([(int(before), int(behind)) for before, behind in pairs])
    if mode == "constant":
        if not isinstance(constant_values, Tensor) and np.ndim(constant_values):
            raise TypeError("np.pad: with Tensors constant_values is a single number; pad one axis after the other")
        return surrounded("np.pad", x, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise TypeError(
            f"np.pad: mode={mode!r} is not supported with Tensors; expected 'constant', 'edge', 'reflect', "
            "'symmetric' or 'wrap'"
        )
    return extended("np.pad", x, widths, mode)
