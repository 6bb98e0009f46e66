"""Pooling: the largest element or the average of every window.

Elements that share the maximum of a window share its slope in equal parts. What is added around the image never is a
maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, operand, to_shape, total
from ..index.gather import gather
from ._sliding import Windows, channels_first, image, laid, margins, numbers, windows

__all__ = ["AvgPool", "MaxPool", "avg_pool2d", "max_pool2d"]

_ARGMAX, _MAX = OP["argmax"], OP["reduce_max"]


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """Largest element of every window.

    Parameters
    ----------
    x : Tensor
        Shape (N, C, H, W) or (C, H, W).
    kernel_size : int or tuple of int
        The size of a window, for both axes or for each.
    stride : int or tuple of int, optional
        The step from window to window; `kernel_size` by default.
    padding : int or tuple of int, default 0
        How far windows reach out of the image: on all sides, (above and below, left and right), or (above, below, left,
        right); at most half a window. What is out there never is the largest.
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    return_indices : bool, default False
        Whether the positions of the maxima are returned too.
    ceil_mode : bool, default False
        Whether there may be a last window that begins in the image but does not end in it.

    Returns
    -------
    Tensor or tuple of Tensor
        The maxima, shape (N, C, H', W') or (C, H', W'). With `return_indices` also where they are, as Int64 positions
        ``i * W + j``; of several the first.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 0.0, 5.0], [3.0, 0.0, 4.0, 0.0]]]])
    >>> print(ops.max_pool2d(x, 2))
    [[[[3. 5.]]]]
    """
    kernel = numbers("max_pool2d", "kernel_size", kernel_size, 2)
    x = operand("max_pool2d", x)
    lengths = image("max_pool2d", x, 2)
    _at_most_half("max_pool2d", padding, kernel)
    step = kernel if stride is None else stride
    axes = laid("max_pool2d", lengths, kernel, step, dilation, "pad", padding, ceil_mode)
    return _largest(x, axes, return_indices)


def avg_pool2d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
) -> Tensor:
    """Average of every window.

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, H, W) or (C, H, W); integers become float32.
    kernel_size : int or tuple of int, default 1
        The size of a window, for both axes or for each.
    stride : int or tuple of int, default 1
        The step from window to window; None stands for `kernel_size`.
    padding : int or tuple of int, default 0
        Zeros added on all sides, or (above and below, left and right), or (above, below, left, right); at most half a
        window.
    ceil_mode : bool, default False
        Whether there may be a last window that begins in the image but does not end in it.
    count_include_pad : bool, default True
        Whether the zeros of `padding` count as elements of the window.
    divisor_override : int, optional
        What sums are divided by instead of the number of elements; None and 0 stand for that number.

    Returns
    -------
    Tensor
        Shape (N, C, H', W') or (C, H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 0.0, 5.0], [3.0, 0.0, 4.0, 0.0]]]])
    >>> print(ops.avg_pool2d(x, 2, 2))
    [[[[1.5  2.25]]]]
    """
    kernel = numbers("avg_pool2d", "kernel_size", kernel_size, 2)
    x = floating("avg_pool2d", input_x)
    lengths = image("avg_pool2d", x, 2)
    _at_most_half("avg_pool2d", padding, kernel)
    step = kernel if stride is None else stride
    axes = laid("avg_pool2d", lengths, kernel, step, 1, "pad", padding, ceil_mode)
    return _averages(x, axes, bool(count_include_pad), divisor_override)


def _at_most_half(name: str, padding: Any, kernel: tuple[int, ...]) -> None:
    if any(2 * max(pair) > k for pair, k in zip(margins(name, padding, len(kernel)), kernel, strict=True)):
        raise ValueError(f"{name}: padding is {padding}; expected at most half of the kernel of size {kernel}")


def _largest(x: Tensor, axes: tuple[Windows, ...], positions: bool) -> Any:
    """The largest element of every window, and where it is in the image."""
    places = ALL_AXES[x.ndim][-len(axes) :]
    least = -math.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).min
    met = windows(x, axes, least)
    largest = _engine.apply(_MAX, (places, False), met)
    if not positions:
        return largest
    kernel, counts = [a.kernel for a in axes], [a.number for a in axes]
    column = to_shape(_engine.stop(met), (*x.shape[: places[0]], math.prod(kernel), *counts))
    tap = _engine.apply(_ARGMAX, (places[0], False), column)
    # the position of element `tap` of a window: that of its first element, and how far the tap is from there
    (rows, columns), width = [a.positions() for a in axes], x.shape[-1]
    first = rows[0][:, None] * width + columns[0]
    steps = (rows[:, :1] - rows[0, 0]) * width + (columns[:, 0] - columns[0, 0])
    return largest, gather(Tensor.from_numpy(steps.ravel()), tap, 0) + first


def _averages(x: Tensor, axes: tuple[Windows, ...], count_padding: bool, divisor: Any = None) -> Tensor:
    """The sum of every window, divided by a number or by how many elements it has."""
    sums = total(windows(x, axes), ALL_AXES[x.ndim][-len(axes) :], False)
    if divisor:
        return sums / divisor
    counts = np.ones((), np.int64)
    for a, length in zip(axes, x.shape[-len(axes) :], strict=True):
        low, high = (a.low, a.high) if count_padding else (0, 0)
        at = a.positions()
        counts = np.multiply.outer(counts, ((at >= -low) & (at < length + high)).sum(0))
    return sums / counts.astype(x.dtype.numpy)


# ------------------------------------------------------------------------------------------ primitive classes


class _Pool(Primitive):
    """The base of primitive classes of pooling."""

    __slots__ = ("kernel_size", "pad_mode", "strides")

    def __init__(
        self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
    ) -> None:
        name = type(self).__name__
        self.kernel_size = numbers(name, "kernel_size", kernel_size, 2)
        self.strides = numbers(name, "strides", strides, 2)
        if not isinstance(pad_mode, str) or pad_mode.lower() not in ("valid", "same"):
            raise ValueError(f"{name}: pad_mode is {pad_mode!r}; expected 'valid' or 'same'")
        self.pad_mode = pad_mode.lower()
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
        what is outside of the image does not count.
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


METHODS: dict[str, Callable[..., Any]] = {}
