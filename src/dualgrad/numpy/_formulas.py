"""NumPy functions that are formulas of others: sinc, i0, windows, phases, geometric series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._settings import real_number, room, truth_value, whole_number
from ..ops._arguments import floating, integer, one_axis, together
from ..ops.index.choice import where
from ..ops.math.elementwise import bessel_i0, sinc
from ..ops.math.reductions import cumsum
from ..ops.math.sampled import diff
from ..ops.shape.reshaping import cat, moveaxis, narrow
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._creation import tensor_of
from ._entries import implements

__all__: list[str] = []


@implements(np.sinc)
def _np_sinc(x: Any) -> Tensor:
    return sinc(floating("np.sinc", tensor_of(x)))


@implements(np.i0)
def _np_i0(x: Any) -> Tensor:
    return bessel_i0(floating("np.i0", tensor_of(x)))


@implements(np.kaiser)
def _np_kaiser(M: int, beta: Any) -> Tensor:
    beta, n = floating("np.kaiser", tensor_of(beta)), integer("np.kaiser", "M", M)
    room("np.kaiser", (max(n, 0),))
    if n < 2:
        return beta * 0 + np.ones(max(n, 0), beta.dtype.numpy)
    half = (n - 1) / 2
    arch = np.sqrt(np.maximum(1 - ((np.arange(n) - half) / half) ** 2, 0.0)).astype(beta.dtype.numpy)
    return bessel_i0(beta * arch) / bessel_i0(beta)


@implements(np.unwrap)
def _np_unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Tensor:
    """Add multiples of the period to remove jumps; they have no slope."""
    x = floating("np.unwrap", tensor_of(p)) if not isinstance(period, int) else tensor_of(p)
    axis = one_axis("np.unwrap", axis, x.shape)
    period = real_number("np.unwrap", "period", period)
    discont = None if discont is None else real_number("np.unwrap", "discont", discont)
    held = stop_gradient(x)
    steps = diff(held, 1, axis)
    low = -(period // 2) if x.dtype.is_int else -period / 2
    wrapped = (steps - low) % period + low
    if not (x.dtype.is_int and period % 2):
        wrapped = where((wrapped == low) & (steps > 0), -low, wrapped)
    limit = period / 2 if discont is None else max(discont, period / 2)
    correction = cumsum(where(abs(steps) < limit, 0, wrapped - steps), axis)
    first = narrow(x, axis, 0, min(1, x.shape[axis]))
    rest = narrow(x, axis, 1, max(x.shape[axis] - 1, 0))
    return cat([first, rest + correction.astype(x.dtype)], axis)


@implements(np.geomspace)
def _np_geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Start (stop / start)^share. The last element is exactly `stop`."""
    start, stop = [floating("np.geomspace", x) for x in together("np.geomspace", start, stop)]
    count = whole_number("np.geomspace", "num", num)
    room("np.geomspace", (count,))
    shape = np.broadcast_shapes(start.shape, stop.shape)
    steps = count - truth_value("np.geomspace", "endpoint", endpoint)
    share = (np.arange(count) / max(steps, 1)).reshape(count, *[1] * len(shape))
    share = share.astype(start.dtype.numpy if not start.dtype.is_complex else start.dtype.numpy.type(0).real.dtype)
    found = start * (stop / start) ** share
    found = where(share == 1.0, stop, where(share == 0.0, start, found))
    found = moveaxis(found, 0, axis)
    return found if dtype is None else found.astype(dtype)
