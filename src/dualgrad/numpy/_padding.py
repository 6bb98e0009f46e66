"""NumPy's `pad` for tensors, in all modes except `empty` and callables.

Axes are padded one after the other, as in NumPy: padding a later axis includes the padding of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._settings import array_of, one_of
from ..ops._arguments import expanded, lengths, operand
from ..ops.axes._prefixes import every
from ..ops.composed._order_statistics import quantiles
from ..ops.index.choice import where
from ..ops.index.gather import take
from ..ops.math.reductions import amax, amin, mean
from ..ops.shape._padding import extended, surrounded
from ..ops.shape.reshaping import cat
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements

__all__: list[str] = []

_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": amax,
    "mean": mean,
    "median": lambda x, axis, keepdims: quantiles("np.pad", x, 0.5, axis, keepdims),
    "minimum": amin,
}
_MODES = ("constant", "edge", "linear_ramp", *_STATISTICS, "reflect", "symmetric", "wrap")


@implements(np.pad)
def _np_pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Tensor:
    x = operand("np.pad", array)
    widths = _widths(x, pad_width)
    if not isinstance(mode, str):
        raise TypeError(f"np.pad: mode must be one of {', '.join(_MODES)}, got {type(mode).__name__}")
    if mode == "constant":
        if not isinstance(constant_values, list | tuple) and np.ndim(constant_values) == 0:
            return surrounded("np.pad", x, widths, constant_values)
        values = _ends_of(x, constant_values)
        return _padded(x, widths, lambda x, axis, width, last: values[axis][last])
    if mode == "linear_ramp":
        values = _ends_of(x, end_values)
        return _padded(x, widths, lambda x, axis, width, last: _ramp(x, axis, width, last, values[axis][last]))
    if mode in _STATISTICS:
        counts = _pairs(x, stat_length, "stat_length")
        return _padded(x, widths, lambda x, axis, width, last: _statistic(mode, x, axis, counts[axis][last], last))
    if mode in ("reflect", "symmetric") and reflect_type == "odd":
        return _mirrored(x, widths, mode)
    if not one_of(mode, _MODES):
        raise TypeError(f"np.pad: mode={mode!r} is not supported with Tensors; expected one of {', '.join(_MODES)}")
    return extended("np.pad", x, widths, mode)


def _widths(x: Tensor, pad_width: Any) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - x.ndim, 0)) for k in range(x.ndim)]
        pad_width = [lengths("np.pad", ends) * (2 if np.ndim(ends) == 0 else 1) for ends in pad_width]
    pairs = np.broadcast_to(array_of("np.pad", "pad_width", pad_width), (x.ndim, 2))
    if pairs.size and (pairs.dtype.kind not in "iu" or pairs.min() < 0):
        raise ValueError(f"np.pad: pad_width is {pad_width!r}; expected whole numbers, none negative")
    return tuple([(int(before), int(behind)) for before, behind in pairs])


def _pairs(x: Tensor, given: Any, word: str) -> list[tuple[Any, Any]]:
    """One number for each end of each axis, or None for both if nothing is given."""
    if given is None:
        return [(None, None)] * x.ndim
    pairs = np.broadcast_to(array_of("np.pad", word, given), (x.ndim, 2))
    if pairs.size and (pairs.dtype.kind not in "iu" or pairs.min() < 1):
        raise ValueError(f"np.pad: {word} is {given!r}; expected whole numbers of 1 or more")
    return [(int(before), int(behind)) for before, behind in pairs]


def _ends_of(x: Tensor, values: Any) -> list[tuple[Tensor, Tensor]]:
    """The padding value for each end of each axis; derivatives go to it."""
    pairs = expanded(tensor_of(values).astype(x.dtype), (x.ndim, 2))
    return [(pairs[k, 0], pairs[k, 1]) for k in range(x.ndim)]


def _padded(x: Tensor, widths: tuple[tuple[int, int], ...], outside: Callable[..., Tensor]) -> Tensor:
    """Pad each end with the result of `outside`, repeated to the width."""
    for axis, pair in enumerate(widths):
        parts = [+x]
        for last, width in enumerate(pair):
            if width:
                shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
                part = expanded(outside(x, axis, width, last).astype(x.dtype), shape)
                parts = [*parts, part] if last else [part, *parts]
        x = cat(parts, axis)
    return x


def _ramp(x: Tensor, axis: int, width: int, last: int, end: Tensor) -> Tensor:
    """A straight line from the edge to `end`. It includes `end` and does not repeat the edge."""
    edge = every(x, axis, x.shape[axis] - 1 if last else 0, 1)
    share = np.arange(width) / width
    share = (share[::-1] if last else share).reshape([width if k == axis else 1 for k in range(x.ndim)])
    return end + (edge - end) * share.astype(x.dtype.numpy if x.dtype.is_float else np.float32)


def _statistic(mode: str, x: Tensor, axis: int, count: int | None, last: int) -> Tensor:
    n = x.shape[axis]
    count = n if count is None else min(count, n)
    return _STATISTICS[mode](every(x, axis, n - count if last else 0, count), axis, True)


def _mirrored(x: Tensor, widths: tuple[tuple[int, int], ...], mode: Any) -> Tensor:
    """Reflect about the edge values: each padding value is a sum of a few elements with integer factors."""
    for axis, pair in enumerate(widths):
        factors = np.pad(np.eye(x.shape[axis]), (pair, (0, 0)), mode, reflect_type="odd")
        most = int(np.count_nonzero(factors, 1).max(initial=1))
        places = np.argsort(factors == 0, 1, kind="stable")[:, :most]
        scale = np.take_along_axis(factors, places, 1)
        found: Any = None
        for k in range(most):
            column = scale[:, k].reshape([-1 if j == axis else 1 for j in range(x.ndim)])
            term = where(column != 0, take(x, places[:, k], axis) * column.astype(x.dtype.numpy), 0)
            found = term if found is None else found + term
        x = found
    return x
