"""Sliding windows: their layout along the axes of an image, and their elements as axes of their own.

The elements that a kernel meets are slices of the padded image, one for each place in the kernel, taken axis after
axis. Slices and their transposes are exact, so functions of the windows have derivatives of every order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import OP, integer, to_shape
from ..index.choice import where

_CONCAT, _SLICE, _UNSLICE = OP["concat"], OP["slice"], OP["unslice"]


class Windows(NamedTuple):
    """The layout of windows along one axis.

    Attributes
    ----------
    kernel, stride, dilation
        Elements of a window, the step from window to window, and from element to element.
    low, high
        Elements added to the image in front and behind.
    number
        The number of windows.
    """

    kernel: int
    stride: int
    dilation: int
    low: int
    high: int
    number: int

    @property
    def reach(self) -> int:
        """Elements from the first to the last of a window."""
        return self.dilation * (self.kernel - 1) + 1

    def positions(self) -> np.ndarray:
        """The place in the image of every element of every window, of shape (kernel, number)."""
        taps, steps = np.arange(self.kernel), np.arange(self.number)
        return taps[:, None] * self.dilation + steps * self.stride - self.low


def numbers(name: str, what: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    """Return a setting for each of n axes, given as one int for all or a tuple of n ints."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * n
    if len(given) != n:
        raise ValueError(f"{name}: {what} is {value}; expected an int or {n} of them")
    found = tuple([integer(name, what, k) for k in given])
    if n and not least <= min(found) <= max(found) < 1 << 58:
        raise ValueError(f"{name}: {what} is {value}; expected ints of at least {least} that memory can hold")
    return found


def one_number(name: str, what: str, value: Any, least: int = 1) -> int:
    """A setting that is one int, as the number of channels is."""
    return numbers(name, what, integer(name, what, value), 1, least)[0]


def margins(name: str, padding: Any, n: int) -> tuple[tuple[int, int], ...]:
    """The elements to add before and behind each of n axes, given as one int, n ints, or 2 n ints."""
    if isinstance(padding, tuple | list) and len(padding) == 2 * n:
        found = numbers(name, "padding", padding, 2 * n, 0)
        return tuple(zip(found[::2], found[1::2], strict=True))
    try:
        found = numbers(name, "padding", padding, n, 0)
    except ValueError:
        raise ValueError(
            f"{name}: padding is {padding}; expected an int, {n} of them (one for each axis) or {2 * n} (before and "
            f"behind each axis), none negative"
        ) from None
    return tuple([(k, k) for k in found])


def padding_of(name: str, pad_mode: Any, padding: Any, n: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The kind of padding, and the elements to add for 'pad'; other kinds take no number."""
    mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
    if not one_of(mode, ("valid", "same", "pad")):
        raise ValueError(f"{name}: pad_mode is {pad_mode!r}; expected 'valid', 'same' or 'pad'")
    added = margins(name, padding, n)
    if mode != "pad" and any(map(any, added)):
        raise ValueError(f"{name}: padding is {padding} although pad_mode is {pad_mode!r}; pass pad_mode='pad'")
    return mode, added


def laid(
    name: str,
    lengths: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: Any,
    dilation: Any,
    pad_mode: Any,
    padding: Any,
    ceil_mode: bool = False,
) -> tuple[Windows, ...]:
    """The windows along axes of the given lengths.

    `pad_mode` is 'valid' (nothing added), 'same' (enough for a window for every stride begun) or 'pad' (`padding`
    elements). `ceil_mode` adds a last window that begins inside but does not end there.
    """
    n, ceil_mode = len(lengths), truth_value(name, "ceil_mode", ceil_mode)
    strides, dilations = numbers(name, "stride", stride, n), numbers(name, "dilation", dilation, n)
    mode, added = padding_of(name, pad_mode, padding, n)
    found = []
    for length, k, s, d, (low, high) in zip(lengths, kernel, strides, dilations, added, strict=True):
        reach = d * (k - 1) + 1
        if mode == "same":
            count = -(-length // s)
            missing = max((count - 1) * s + reach - length, 0)
            found.append(Windows(k, s, d, missing // 2, missing - missing // 2, count))
            continue
        room = length + low + high - reach
        if room < 0:
            raise ValueError(
                f"{name}: a kernel of size {kernel} with dilation {dilations} does not fit into axes of lengths "
                f"{lengths} with padding {padding}"
            )
        count = room // s + 1
        if ceil_mode and room % s and count * s < length + low:
            count += 1
        found.append(Windows(k, s, d, low, high, count))
    return tuple(found)


def padded(x: Tensor, axes: tuple[Windows, ...], fill: float) -> Tensor:
    """Pad the last axes of an image as the windows need."""
    lead, shape = x.ndim - len(axes), list(x.shape)
    spec = [(0, m, 1) for m in shape]
    for k, a in enumerate(axes, lead):
        spec[k] = (a.low, shape[k], 1)
        shape[k] = max(shape[k] + a.low + a.high, (a.number - 1) * a.stride + a.reach)
    if tuple(shape) == x.shape:
        return x
    placed = _engine.apply(_UNSLICE, (tuple(shape), tuple(spec)), x)
    if fill == 0:
        return placed
    inside = np.zeros(shape[lead:], bool)
    inside[tuple([slice(start, start + length) for start, length, _ in spec[lead:]])] = True
    return where(inside, placed, np.full((), fill, x.dtype.numpy))


def windows(x: Tensor, axes: tuple[Windows, ...], fill: float = 0.0) -> Tensor:
    """The windows over the last axes: (..., *lengths) becomes (..., *kernel, *counts).

    So the axes of the kernel replace the axes of the image.
    """
    lead = x.ndim - len(axes)
    x = padded(x, axes, fill)
    for done, a in enumerate(axes):
        place = lead + done  # of the new axis, behind the kernel axes that are there already
        x = to_shape(x, (*x.shape[:place], 1, *x.shape[place:]))
        spec = [(0, m, 1) for m in x.shape]
        taps = []
        for tap in range(a.kernel):
            spec[place + 1 + done] = (tap * a.dilation, a.number, a.stride if a.number > 1 else 1)
            taps.append(_engine.apply(_SLICE, tuple(spec), x))
        x = taps[0] if a.kernel == 1 else _engine.apply(_CONCAT, place, *taps)
    return x


_AXES = {1: ("L", "NCL"), 2: ("H, W", "NCHW"), 3: ("D, H, W", "NCDHW")}
"""The axes of images of n dimensions by name, and the name of their order."""


def image(name: str, x: Tensor, n: int) -> tuple[int, ...]:
    """The lengths of the last n axes of an image (N, C, ...) or (C, ...)."""
    if x.ndim not in (n + 1, n + 2):
        axes = _AXES[n][0]
        raise ValueError(f"{name}: the input has shape {x.shape}; expected (N, C, {axes}) or (C, {axes})")
    return x.shape[-n:]


def channels_first(name: str, data_format: Any, n: int = 2) -> None:
    """Raise ValueError for an order of axes other than (N, C, H, W), or (N, C, D, H, W) for n = 3."""
    order = _AXES[n][1]
    if not one_of(data_format, (order,)):
        raise ValueError(
            f"{name}: data_format is {data_format!r}; expected {order!r}, move the axes with ops.transpose"
        )
