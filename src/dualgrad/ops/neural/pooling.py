"""Pooling: the largest element or the average of every window.

Elements that share the maximum of a window share its gradient in equal parts. Padding is never a maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._settings import truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, floating, operand, total
from . import _adaptive, _located, _pools, _unpooling
from ._adaptive import *  # noqa: F403
from ._located import *  # noqa: F403
from ._pools import *  # noqa: F403
from ._pools import _at_most_half, _averages, _largest
from ._sliding import image, laid, numbers, windows
from ._unpooling import *  # noqa: F403

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "max_pool1d", "max_pool2d", "max_pool3d"]
__all__ += _adaptive.__all__
__all__ += _located.__all__
__all__ += _pools.__all__
__all__ += _unpooling.__all__


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
        The elements by which windows reach out of the image: on all sides, (above and below, left and right), or
        (above, below, left, right); at most half a window. They are never the largest.
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    return_indices : bool, default False
        True to return the positions of the maxima, too.
    ceil_mode : bool, default False
        True to allow a last window that begins in the image but does not end in it.

    Returns
    -------
    Tensor or tuple of Tensor
        The maxima, shape (N, C, H', W') or (C, H', W'). With `return_indices` also their positions ``i * W + j``,
        Int64; of several maxima the first.

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
    return _max_pool("max_pool2d", x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, 2)


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """Largest element of every window over one axis: `max_pool2d` for inputs (N, C, L) or (C, L).

    Parameters
    ----------
    x : Tensor
        Shape (N, C, L) or (C, L).
    kernel_size, stride, padding, dilation, return_indices, ceil_mode
        As in `max_pool2d`, for one axis.

    Returns
    -------
    Tensor or tuple of Tensor
        As in `max_pool2d`.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.max_pool1d(dg.Tensor([[[1.0, 2.0, 0.0, 5.0]]]), 2))
    [[[2. 5.]]]
    """
    return _max_pool("max_pool1d", x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, 1)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of every window over three axes: `max_pool2d` for inputs (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    x : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    kernel_size, stride, padding, dilation, ceil_mode, return_indices
        As in `max_pool2d`, for three axes; note the order.

    Returns
    -------
    Tensor or tuple of Tensor
        As in `max_pool2d`; positions count through D, H and W.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.max_pool3d(dg.Tensor(np.arange(8.0).reshape(1, 1, 2, 2, 2)), 2))
    [[[[[7.]]]]]
    """
    return _max_pool("max_pool3d", x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, 3)


def _max_pool(
    name: str,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    return_indices: bool,
    ceil_mode: bool,
    n: int,
) -> Any:
    kernel = numbers(name, "kernel_size", kernel_size, n)
    x = operand(name, x)
    lengths = image(name, x, n)
    _at_most_half(name, padding, kernel)
    step = kernel if stride is None else stride
    axes = laid(name, lengths, kernel, step, dilation, "pad", padding, ceil_mode)
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
        True to allow a last window that begins in the image but does not end in it.
    count_include_pad : bool, default True
        True if the zeros of `padding` count as elements of the window.
    divisor_override : int, optional
        The divisor of sums instead of the number of elements; None and 0 stand for the latter.

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
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return _avg_pool("avg_pool2d", input_x, *settings, 2)


def avg_pool1d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Average of every window over one axis: `avg_pool2d` for inputs (N, C, L) or (C, L).

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, L) or (C, L); integers become float32.
    kernel_size, stride, padding, ceil_mode, count_include_pad
        As in `avg_pool2d`, for one axis.

    Returns
    -------
    Tensor
        Shape (N, C, L') or (C, L').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.avg_pool1d(dg.Tensor([[[1.0, 2.0, 0.0, 5.0]]]), 2, 2))
    [[[1.5 2.5]]]
    """
    return _avg_pool("avg_pool1d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool3d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
) -> Tensor:
    """Average of every window over three axes: `avg_pool2d` for inputs (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W); integers become float32.
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        As in `avg_pool2d`, for three axes.

    Returns
    -------
    Tensor
        Shape (N, C, D', H', W') or (C, D', H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.avg_pool3d(dg.Tensor(np.arange(8.0).reshape(1, 1, 2, 2, 2)), 2))
    [[[[[3.5]]]]]
    """
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return _avg_pool("avg_pool3d", input_x, *settings, 3)


def _avg_pool(
    name: str,
    input_x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    n: int,
) -> Tensor:
    kernel = numbers(name, "kernel_size", kernel_size, n)
    x = floating(name, input_x)
    lengths = image(name, x, n)
    _at_most_half(name, padding, kernel)
    step = kernel if stride is None else stride
    axes = laid(name, lengths, kernel, step, 1, "pad", padding, ceil_mode)
    return _averages(x, axes, truth_value(name, "count_include_pad", count_include_pad), divisor_override)


def lp_pool1d(x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Power mean of every window without division, over one axis: ``sum(x**p)**(1/p)``.

    Parameters
    ----------
    x : Tensor
        Shape (N, C, L) or (C, L); integers become float32.
    norm_type : number
        The exponent p, not 0.
    kernel_size : int
        The size of a window.
    stride : int, optional
        The step from window to window; `kernel_size` by default.
    ceil_mode : bool, default False
        True to allow a last window that does not end in the image.

    Returns
    -------
    Tensor
        Shape (N, C, L') or (C, L').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.lp_pool1d(dg.Tensor([[[3.0, 4.0, 6.0, 8.0]]]), 2, 2))
    [[[ 5. 10.]]]
    """
    return _lp_pool("lp_pool1d", x, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Power mean of every window without division, over two axes; see `lp_pool1d`.

    Parameters
    ----------
    x : Tensor
        Shape (N, C, H, W) or (C, H, W); integers become float32.
    norm_type, ceil_mode
        As in `lp_pool1d`.
    kernel_size, stride : int or tuple of int
        As in `lp_pool1d`, for both axes or for each.

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
    >>> print(ops.lp_pool2d(dg.Tensor([[[[3.0, 4.0]]]]), 2, (1, 2)))
    [[[[5.]]]]
    """
    return _lp_pool("lp_pool2d", x, norm_type, kernel_size, stride, ceil_mode, 2)


def _lp_pool(name: str, x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool, n: int) -> Tensor:
    if isinstance(norm_type, bool) or not isinstance(norm_type, int | float) or norm_type == 0:
        raise ValueError(f"{name}: norm_type is {norm_type!r}; expected a number other than 0")
    kernel = numbers(name, "kernel_size", kernel_size, n)
    x = floating(name, x)
    step = kernel if stride is None else stride
    axes = laid(name, image(name, x, n), kernel, step, 1, "pad", 0, ceil_mode)
    # padding must add 0 to the sum, also for a negative exponent: powers first, then windows
    return total(windows(x**norm_type, axes), ALL_AXES[x.ndim][-n:], False) ** (1.0 / norm_type)


METHODS: dict[str, Callable[..., Any]] = {}
