"""NumPy's functions of sequences for tensors: running, interpolated and rotated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._settings import array_of
from ..ops._arguments import operand
from ..ops.math.reductions import cumprod, cumsum
from ..ops.math.sampled import diff, interp, trapezoid
from ..ops.shape.reshaping import flip, rot90
from ..tensor import Tensor
from ._entries import implements, renamed


def running_sum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """The running sum; NumPy adds integers of few bits up in 64 bits."""
    a = operand("np.cumsum", a)
    if dtype is None and (a.dtype.is_int or a.dtype.is_bool):
        dtype = np.cumsum(np.zeros(1, a.dtype.numpy)).dtype
    return cumsum(a, axis, dtype)


renamed(running_sum, "a axis dtype", np.cumsum)
renamed(cumprod, "a axis dtype", np.cumprod)
renamed(diff, "a n axis prepend append", np.diff)
renamed(trapezoid, "y x dx axis", np.trapezoid)
renamed(interp, "x xp fp left right period", np.interp)


@implements(np.rot90)
def _np_rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    if not isinstance(axes, tuple | list | np.ndarray) or array_of("np.rot90", "axes", axes).shape != (2,):
        raise ValueError(f"np.rot90: axes is {axes!r:.60}; expected a pair of axes")
    return rot90(m, k, tuple(axes))


@implements(np.fliplr)
def _np_fliplr(m: Any) -> Tensor:
    return flip(m, 1)


@implements(np.flipud)
def _np_flipud(m: Any) -> Tensor:
    return flip(m, 0)
