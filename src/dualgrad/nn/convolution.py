"""Convolutions as Cells with trained kernels and bias.

Both are initially uniform on ``+-1 / sqrt(n)`` by default, where n is the number of elements under a kernel.
"""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.common.initializer import Uniform, initializer
from dualgrad.nn.cell import Cell
from dualgrad.ops.neural._sliding import channels_first, numbers, one_number, padding_of
from dualgrad.ops.neural._transposes import cut_of
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]


class _Convolution(Cell):
    """The settings and parameters of a convolution over n axes. A single axis is stored as the last of two."""

    out_channels: int
    in_channels: int

    n = 2
    transposed = False

    def __init__(
        self,
        channels: tuple[Any, Any],
        kernel_size: Any,
        stride: Any,
        pad_mode: str,
        padding: Any,
        dilation: Any,
        group: int,
        has_bias: bool,
        weight_init: Any,
        bias_init: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = numbers(name, "in_channels, out_channels", channels, 2)
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel_size, self.n)
        self.stride: tuple[int, ...] = numbers(name, "stride", stride, self.n)
        self.dilation: tuple[int, ...] = numbers(name, "dilation", dilation, self.n)
        self.group: int = one_number(name, "group", group)
        self.pad_mode: str = padding_of(name, pad_mode, padding, self.n)[0]
        self.padding = padding
        if self.in_channels % self.group or self.out_channels % self.group:
            raise ValueError(
                f"{name}: in_channels {self.in_channels} and out_channels {self.out_channels} for {self.group} groups; "
                f"expected numbers that {self.group} divides"
            )
        if not isinstance(has_bias, bool):
            raise TypeError(f"{name}: has_bias must be a bool, got {type(has_bias).__name__}")
        self.has_bias = has_bias
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        shape = (first, second // self.group, *self.kernel_size)
        default = Uniform(1.0 / math.sqrt(math.prod(shape[1:])))
        weight = initializer(default if weight_init is None else weight_init, shape, dtype)
        self.weight: Parameter = Parameter(weight, name="weight")
        self.bias: Parameter | None = None
        if has_bias:
            bias = initializer(default if bias_init is None else bias_init, self.out_channels, dtype)
            self.bias = Parameter(bias, name="bias")

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}"
        )


class Conv2d(_Convolution):
    """Convolution over two axes, with trained kernels; see `ops.conv2d`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        The size of a kernel, for both axes or for each.
    stride : int or tuple of int, default 1
        The step from window to window.
    pad_mode : {'same', 'valid', 'pad'}, default 'same'
        'same': zeros are added around, so that the output has the length of the input divided by the stride, rounded
        up. 'valid': no zeros. 'pad': `padding` zeros.
    padding : int or tuple of int, default 0
        Zeros on all sides, or (above, below, left, right).
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    group : int, default 1
        The number of groups of channels.
    has_bias : bool, default False
        True to add a bias.
    weight_init, bias_init : str, number, Tensor or Initializer, optional
        As in `initializer`.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.
    dtype : type, default float32
        Type of the initial values. The input must have the type of the weight.

    Attributes
    ----------
    weight : Parameter
        Shape ``(out_channels, in_channels / group, *kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> layer = nn.Conv2d(2, 4, 3, stride=2, weight_init="ones")
    >>> layer(ops.ones((1, 2, 5, 5))).shape
    (1, 4, 3, 3)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = mstype.float32,
    ) -> None:
        channels_first("Conv2d", data_format)
        super().__init__(
            (in_channels, out_channels), kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return ops.conv2d(x, self.weight, self.bias, *settings)


class Conv1d(_Convolution):
    """Convolution over one axis, with trained kernels; see `ops.conv1d`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int
        The length of a kernel.
    stride, pad_mode, dilation, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2d`; a Tensor given as `weight_init` has three axes.
    padding : int or tuple of int, default 0
        Zeros on both sides, or (before, behind).

    Attributes
    ----------
    weight : Parameter
        Shape ``(out_channels, in_channels / group, 1, kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Conv1d(2, 4, 3)(ops.ones((1, 2, 5))).shape
    (1, 4, 5)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = mstype.float32,
    ) -> None:
        sizes, ends, weight_init = _as_two_axes("Conv1d", kernel_size, stride, dilation, pad_mode, padding, weight_init)
        super().__init__(
            (in_channels, out_channels), (1, sizes[0]), (1, sizes[1]), pad_mode, (0, 0, *ends), (1, sizes[2]), group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride[1], self.pad_mode, self.padding[2:], self.dilation[1], self.group
        return ops.conv1d(x, ops.squeeze(self.weight, 2), self.bias, *settings)


class Conv3d(_Convolution):
    """Convolution over three axes, with trained kernels; see `ops.conv3d`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, pad_mode, dilation, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2d`, for three axes.
    padding : int or tuple of int, default 0
        Zeros on all sides, or before and behind each axis, six numbers.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Attributes
    ----------
    weight : Parameter
        Shape ``(out_channels, in_channels / group, *kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Conv3d(2, 4, 3, stride=2)(ops.ones((1, 2, 3, 5, 5))).shape
    (1, 4, 2, 3, 3)
    """

    n = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = mstype.float32,
    ) -> None:
        channels_first("Conv3d", data_format, 3)
        super().__init__(
            (in_channels, out_channels), kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return ops.conv3d(x, self.weight, self.bias, *settings)


class _Transposed(_Convolution):
    """A transposed convolution over n axes."""

    transposed = True

    def __init__(self, channels: tuple[Any, Any], *settings: Any, output_padding: Any = 0) -> None:
        super().__init__(channels, *settings)
        kernel_and_steps = self.kernel_size, self.stride, self.dilation
        self.output_padding: tuple[int, ...] = numbers(type(self).__name__, "output_padding", output_padding, self.n, 0)
        self._cut, self._extra = cut_of(
            type(self).__name__, *kernel_and_steps, self.pad_mode, self.padding, output_padding
        )


class Conv2dTranspose(_Transposed):
    """Transposed convolution over two axes, with trained kernels; see `ops.conv_transpose2d`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size, stride, dilation, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2d`.
    pad_mode : {'same', 'valid', 'pad'}, default 'same'
        'same': the output has the length of the input times the stride. 'valid': nothing is cut off. 'pad': `padding`
        elements are cut off. 'same' and 'valid' end with zeros where kernels are shorter than the stride.
    padding : int or tuple of int, default 0
        The elements to cut off on all sides, or (above, below, left, right).
    output_padding : int or tuple of int, default 0
        The elements to add below and on the right; only with 'pad'.

    Attributes
    ----------
    weight : Parameter
        Shape ``(in_channels, out_channels / group, *kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Conv2dTranspose(2, 4, 3, stride=2)(ops.ones((1, 2, 5, 5))).shape
    (1, 4, 10, 10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__(
            (in_channels, out_channels), kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype, output_padding=output_padding,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride, self._cut, self._extra, self.group, self.dilation
        return ops.conv_transpose2d(x, self.weight, self.bias, *settings)


class Conv1dTranspose(_Transposed):
    """Transposed convolution over one axis, with trained kernels; see `ops.conv_transpose1d`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size, stride, dilation : int
        As in `Conv1d`.
    pad_mode, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2dTranspose`; a Tensor given as `weight_init` has three axes.
    padding : int or tuple of int, default 0
        The elements to cut off on both sides, or (before, behind).

    Attributes
    ----------
    weight : Parameter
        Shape ``(in_channels, out_channels / group, 1, kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Conv1dTranspose(2, 4, 3, stride=2)(ops.ones((1, 2, 5))).shape
    (1, 4, 10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = mstype.float32,
    ) -> None:
        sizes, ends, weight_init = _as_two_axes(
            "Conv1dTranspose", kernel_size, stride, dilation, pad_mode, padding, weight_init
        )
        super().__init__(
            (in_channels, out_channels), (1, sizes[0]), (1, sizes[1]), pad_mode, (0, 0, *ends), (1, sizes[2]), group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride[1], self._cut[2:], self._extra[1:], self.group, self.dilation[1]
        return ops.conv_transpose1d(x, ops.squeeze(self.weight, 2), self.bias, *settings)


class Conv3dTranspose(_Transposed):
    """Transposed convolution over three axes, with trained kernels; see `ops.conv_transpose3d`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, pad_mode, dilation, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2dTranspose`, for three axes.
    padding : int or tuple of int, default 0
        The elements to cut off on all sides, or before and behind each axis, six numbers.
    output_padding : int or tuple of int, default 0
        The elements to add behind each axis; only with 'pad'.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Attributes
    ----------
    weight : Parameter
        Shape ``(in_channels, out_channels / group, *kernel_size)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.
    TypeError
        If the input has another type than the weight.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Conv3dTranspose(2, 4, 3, stride=2)(ops.ones((1, 2, 3, 5, 5))).shape
    (1, 4, 6, 10, 10)
    """

    n = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = mstype.float32,
    ) -> None:
        channels_first("Conv3dTranspose", data_format, 3)
        super().__init__(
            (in_channels, out_channels), kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype, output_padding=output_padding,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride, self._cut, self._extra, self.group, self.dilation
        return ops.conv_transpose3d(x, self.weight, self.bias, *settings)


def _as_two_axes(
    name: str, kernel_size: Any, stride: Any, dilation: Any, pad_mode: Any, padding: Any, weight_init: Any
) -> tuple[list[int], tuple[int, int], Any]:
    """The settings of a convolution over one axis: three numbers, the padding at both ends, the initial weight."""
    given = ("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)
    sizes = [one_number(name, what, value) for what, value in given]
    if isinstance(weight_init, Tensor) and weight_init.ndim == 3:
        weight_init = ops.expand_dims(weight_init, 2)
    return sizes, padding_of(name, pad_mode, padding, 1)[1][0], weight_init
