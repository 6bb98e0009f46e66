"""Convolutions, as sums of products: the windows as a matrix, times the kernels as a matrix.

As in all of machine learning, convolution means correlation here: the kernel is not flipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import Primitive, operand
from . import _transposes
from ._correlation import convolution
from ._sliding import channels_first, numbers, one_number
from ._transposes import *  # noqa: F403

__all__ = ["Conv2D", "Conv3D", "conv1d", "conv2d", "conv3d"]
__all__ += _transposes.__all__


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one axis; `conv2d` with L in place of H and W.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L).
    weight : Tensor
        Shape (O, C / groups, K).
    bias : Tensor, optional
        Shape (O,).
    stride, pad_mode, padding, dilation, groups
        As in `conv2d`.

    Returns
    -------
    Tensor
        Shape (N, O, L') or (O, L').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the operands differ in type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, w = dg.Tensor([[[1.0, 2.0, 4.0, 8.0]]]), dg.Tensor([[[-1.0, 1.0]]])
    >>> print(ops.conv1d(x, w))
    [[[1. 2. 4.]]]
    """
    return convolution("conv1d", input, weight, bias, stride, pad_mode, padding, dilation, groups, 1)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two axes.

    ``out[n, o, i, j]`` is the sum over c, p and q of
    ``weight[o, c, p, q] * input[n, c, stride * i + dilation * p, stride * j + dilation * q]``, plus ``bias[o]``.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W).
    weight : Tensor
        Shape (O, C / groups, KH, KW); the type of `input`.
    bias : Tensor, optional
        Shape (O,); the type of `input`.
    stride : int or tuple of int, default 1
        The step from window to window, for both axes or for each.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        'valid': only windows inside. 'same': zeros are added around, an odd zero behind, so that the output has the
        length of the input divided by the stride, rounded up. 'pad': `padding` zeros are added.
    padding : int or tuple of int, default 0
        Zeros added on all sides, or (above and below, left and right), or (above, below, left, right).
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    groups : int, default 1
        The number of groups of input and output channels, each with kernels of its own.

    Returns
    -------
    Tensor
        Shape (N, O, H', W') or (O, H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the operands differ in type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]]])
    >>> print(ops.conv2d(x, ops.ones((1, 1, 2, 2))))
    [[[[4. 3.]
       [4. 2.]]]]
    """
    return convolution("conv2d", input, weight, bias, stride, pad_mode, padding, dilation, groups, 2)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three axes; `conv2d` with D, H, W in place of H and W.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    weight : Tensor
        Shape (O, C / groups, KD, KH, KW); the type of `input`.
    bias : Tensor, optional
        Shape (O,); the type of `input`.
    stride, pad_mode, dilation, groups
        As in `conv2d`.
    padding : int or tuple of int, default 0
        Zeros added on all sides, or on both sides of each axis, or before and behind each axis.

    Returns
    -------
    Tensor
        Shape (N, O, D', H', W') or (O, D', H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the operands differ in type.

    Examples
    --------
    >>> from dualgrad import ops
    >>> y = ops.conv3d(ops.ones((1, 2, 4, 5, 6)), ops.ones((3, 2, 2, 3, 3)))
    >>> y.shape, float(y[0, 0, 0, 0, 0])
    ((1, 3, 3, 3, 4), 36.0)
    """
    return convolution("conv3d", input, weight, bias, stride, pad_mode, padding, dilation, groups, 3)


# ------------------------------------------------------------------------------------------ primitive classes


class _Convolution(Primitive):
    """The settings of a convolution over n axes."""

    _n = 2
    __slots__ = ("dilation", "group", "kernel_size", "out_channel", "pad", "pad_mode", "stride")

    def __init__(
        self,
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        data_format: str | None = None,
    ) -> None:
        name, n = type(self).__name__, self._n
        self.out_channel: int = one_number(name, "out_channel", out_channel)
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel_size, n)
        if not one_of(mode, (1,)):
            raise ValueError(f"{name}: mode is {mode!r}; expected 1, a convolution")
        if data_format is not None:
            channels_first(name, data_format, n)
        self.pad_mode: str = pad_mode
        self.pad: Any = pad
        self.stride: Any = stride
        self.dilation: Any = dilation
        self.group: int = group

    def __call__(self, x: Any, weight: Any) -> Tensor:
        name, n = type(self).__name__, self._n
        w = operand(name, weight)
        if w.ndim != n + 2 or w.shape[:1] + w.shape[2:] != (self.out_channel, *self.kernel_size):
            raise ValueError(
                f"{name}: the weight has shape {w.shape}; expected ({self.out_channel}, C / group, *{self.kernel_size})"
            )
        settings = self.stride, self.pad_mode, self.pad, self.dilation, self.group
        return convolution(name, x, w, None, *settings, n)


class Conv2D(_Convolution):
    """Primitive class of `conv2d`, without bias: ``ops.Conv2D(out_channel, kernel_size, ...)(x, weight)``.

    Parameters
    ----------
    out_channel : int
        Channels of the output; the first length of the weight.
    kernel_size : int or tuple of int
        The last lengths of the weight.
    mode : int, default 1
        Only 1 is supported.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        As in `conv2d`.
    pad, stride, dilation : int or tuple of int, default 0, 1 and 1
        As `padding`, `stride` and `dilation` in `conv2d`.
    group : int, default 1
        As `groups` in `conv2d`.
    data_format : {'NCHW'}, optional
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Conv2D(4, 3, pad_mode="same")(ops.ones((1, 2, 5, 5)), ops.ones((4, 2, 3, 3))).shape
    (1, 4, 5, 5)
    """

    __slots__ = ()


class Conv3D(_Convolution):
    """Primitive class of `conv3d`, without bias: ``ops.Conv3D(out_channel, kernel_size, ...)(x, weight)``.

    Parameters
    ----------
    out_channel, kernel_size, mode, pad_mode, pad, stride, dilation, group
        As in `Conv2D`, for three axes.
    data_format : {'NCDHW'}, optional
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.Conv3D(4, 3, pad_mode="same")(ops.ones((1, 2, 3, 5, 5)), ops.ones((4, 2, 3, 3, 3))).shape
    (1, 4, 3, 5, 5)
    """

    __slots__ = ()
    _n = 3


METHODS: dict[str, Callable[..., Any]] = {}
