"""Windows reduced to their largest element or average, and primitive classes of pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number, truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, operand, to_shape, total
from ..index.gather import gather
from ._sliding import Windows, channels_first, image, laid, margins, numbers, padding_of, windows

__all__ = ["AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D"]

_ARGMAX, _MAX = OP["argmax"], OP["reduce_max"]


def _largest(x: Tensor, axes: tuple[Windows, ...], positions: bool) -> Any:
    """The largest element of every window, and its position in the image."""
    if x.dtype.is_bool or x.dtype.is_complex:
        raise TypeError(f"max_pool: the input is {x.dtype}, which has no order; expected real numbers")
    places = ALL_AXES[x.ndim][-len(axes) :]
    least = -math.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).min
    met = windows(x, axes, least)
    largest = _engine.apply(_MAX, (places, False), met)
    truth_value("max_pool", "positions", positions)
    if not positions:
        return largest
    kernel, counts = [a.kernel for a in axes], [a.number for a in axes]
    column = to_shape(_engine.stop(met), (*x.shape[: places[0]], math.prod(kernel), *counts))
    tap = _engine.apply(_ARGMAX, (places[0], False), column)
    # the position of element `tap` of a window: of its first element, plus the distance of the tap from it
    first = steps = np.zeros((), np.int64)
    for a, length in zip(axes, x.shape[-len(axes) :], strict=True):
        at = a.positions()
        first = first[..., None] * length + at[0]
        steps = steps[..., None] * length + (at[:, 0] - at[0, 0])
    return largest, gather(Tensor._owning(steps.ravel()), tap, 0) + first


def _averages(x: Tensor, axes: tuple[Windows, ...], count_padding: bool, divisor: Any = None) -> Tensor:
    """The sum of every window, divided by a number or by its number of elements."""
    sums = total(windows(x, axes), ALL_AXES[x.ndim][-len(axes) :], False)
    if divisor is not None and real_number("avg_pool", "divisor_override", divisor):
        return sums / divisor
    counts = np.ones((), np.int64)
    for a, length in zip(axes, x.shape[-len(axes) :], strict=True):
        low, high = (a.low, a.high) if count_padding else (0, 0)
        at = a.positions()
        counts = np.multiply.outer(counts, ((at >= -low) & (at < length + high)).sum(0))
    return sums / counts.astype(x.dtype.numpy)


def _at_most_half(name: str, padding: Any, kernel: tuple[int, ...]) -> None:
    if any(2 * max(pair) > k for pair, k in zip(margins(name, padding, len(kernel)), kernel, strict=True)):
        raise ValueError(f"{name}: padding is {padding}; expected at most half of the kernel of size {kernel}")


# ------------------------------------------------------------------------------------------ primitive classes


class _Pool(Primitive):
    """The base of primitive classes of pooling."""

    __slots__ = ("kernel_size", "pad_mode", "strides")

    def __init__(
        self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
    ) -> None:
        name = type(self).__name__
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel_size, 2)
        self.strides: tuple[int, ...] = numbers(name, "strides", strides, 2)
        if not isinstance(pad_mode, str) or pad_mode.lower() not in ("valid", "same"):
            raise ValueError(f"{name}: pad_mode is {pad_mode!r}; expected 'valid' or 'same'")
        self.pad_mode: str = pad_mode.lower()
        channels_first(name, data_format)

    def _laid(self, x: Tensor) -> tuple[Windows, ...]:
        name = type(self).__name__
        return laid(name, image(name, x, 2), self.kernel_size, self.strides, 1, self.pad_mode, 0)


class MaxPool(_Pool):
    """Largest element of every window, as in `max_pool2d`: ``ops.MaxPool(kernel_size=1, strides=1)(x)``.

    Parameters
    ----------
    kernel_size, strides : int or tuple of int, default 1
        The size of a window, and the step from window to window.
    pad_mode : {'valid', 'same'}, default 'valid'
        'valid': only windows inside. 'same': the output has the length of the input divided by the stride, rounded up.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MaxPool(2, 2, "same")(dg.Tensor([[[[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]]]])))
    [[[[3. 4.]]]]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x = operand("MaxPool", x)
        return _largest(x, self._laid(x), False)


class AvgPool(_Pool):
    """Average of every window, as in `avg_pool2d`: ``ops.AvgPool(kernel_size=1, strides=1)(x)``.

    Parameters
    ----------
    kernel_size, strides : int or tuple of int, default 1
        The size of a window, and the step from window to window.
    pad_mode : {'valid', 'same'}, default 'valid'
        'valid': only windows inside. 'same': the output has the length of the input divided by the stride, rounded up;
        elements outside of the image do not count.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.AvgPool(2, 2, "same")(dg.Tensor([[[[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]]]])))
    [[[[1.5 2. ]]]]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x = floating("AvgPool", x)
        return _averages(x, self._laid(x), False)


class _Pool3D(Primitive):
    """The base of primitive classes of pooling over three axes."""

    __slots__ = ("ceil_mode", "kernel_size", "pad", "pad_mode", "strides")

    def _set(self, kernel_size: Any, strides: Any, pad_mode: Any, pad: Any, ceil_mode: Any, data_format: Any) -> None:
        name = type(self).__name__
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel_size, 3)
        self.strides: tuple[int, ...] = numbers(name, "strides", strides, 3)
        self.pad_mode: str = padding_of(name, pad_mode, pad, 3)[0]
        self.pad: Any = pad
        self.ceil_mode: bool = truth_value(name, "ceil_mode", ceil_mode)
        if self.pad_mode == "pad":
            _at_most_half(name, pad, self.kernel_size)
        elif self.ceil_mode and self.pad_mode == "same":
            raise ValueError(f"{name}: pad_mode 'same' goes without ceil_mode; use 'pad'")
        channels_first(name, data_format, 3)

    def _laid(self, x: Tensor) -> tuple[Windows, ...]:
        name = type(self).__name__
        settings = self.kernel_size, self.strides, 1, self.pad_mode, self.pad, self.ceil_mode
        return laid(name, image(name, x, 3), *settings)


class MaxPool3D(_Pool3D):
    """Largest element of every window over three axes: ``ops.MaxPool3D(kernel_size=1, strides=1)(x)``.

    Parameters
    ----------
    kernel_size, strides : int or tuple of int, default 1
        The size of a window, and the step from window to window.
    pad_mode : {'valid', 'same', 'pad'}, default 'VALID'
        In small or capital letters. 'valid': only windows inside. 'same': the output has the length of the input
        divided by the stride, rounded up. 'pad': windows reach out of the image by `pad_list`.
    pad_list : int or tuple of int, default 0
        On all sides, or on both sides of each axis, or before and behind each axis; at most half a window.
    ceil_mode : bool, optional
        True to allow a last window that does not end in the image.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.MaxPool3D(2, 2, "same")(ops.ones((1, 2, 3, 4, 5))).shape
    (1, 2, 2, 2, 3)
    """

    __slots__ = ()

    def __init__(
        self,
        kernel_size: Any = 1,
        strides: Any = 1,
        pad_mode: str = "VALID",
        pad_list: Any = 0,
        ceil_mode: bool | None = None,
        data_format: str = "NCDHW",
    ) -> None:
        self._set(kernel_size, strides, pad_mode, pad_list, ceil_mode, data_format)

    def __call__(self, x: Any) -> Tensor:
        x = operand("MaxPool3D", x)
        return _largest(x, self._laid(x), False)


class AvgPool3D(_Pool3D):
    """Average of every window over three axes: ``ops.AvgPool3D(kernel_size=1, strides=1)(x)``.

    Parameters
    ----------
    kernel_size, strides, data_format
        As in `MaxPool3D`.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        As in `MaxPool3D`; zeros are added for 'same', too.
    pad : int or tuple of int, default 0
        Zeros added with 'pad'; as `pad_list` in `MaxPool3D`.
    ceil_mode : bool, default False
        As in `MaxPool3D`.
    count_include_pad : bool, default True
        True if added zeros count as elements of the window.
    divisor_override : int, default 0
        The divisor of sums instead of the number of elements; 0 stands for the latter.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.AvgPool3D(2, 2)(ops.ones((1, 2, 4, 4, 6))).shape
    (1, 2, 2, 2, 3)
    """

    __slots__ = ("count_include_pad", "divisor_override")

    def __init__(
        self,
        kernel_size: Any = 1,
        strides: Any = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = 0,
        data_format: str = "NCDHW",
    ) -> None:
        self._set(kernel_size, strides, pad_mode, pad, ceil_mode, data_format)
        self.count_include_pad: bool = truth_value(type(self).__name__, "count_include_pad", count_include_pad)
        self.divisor_override: int = divisor_override

    def __call__(self, x: Any) -> Tensor:
        x = floating("AvgPool3D", x)
        return _averages(x, self._laid(x), self.count_include_pad, self.divisor_override)
