"""Convolutions as Cells with learned kernels and bias.

Both are initially uniform on ``+-1 / sqrt(n)`` by default, where n is the number of elements under a kernel.
"""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.common.initializer import Uniform, initializer
from dualgrad.nn.cell import Cell
from dualgrad.ops.neural._sliding import channels_first, numbers, padding_of
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv2dTranspose"]


class _Convolution(Cell):
    """The settings and parameters of a convolution over two axes."""

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
        transposed: bool = False,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = numbers(name, "in_channels, out_channels", channels, 2)
        self.kernel_size = numbers(name, "kernel_size", kernel_size, 2)
        self.stride = numbers(name, "stride", stride, 2)
        self.dilation = numbers(name, "dilation", dilation, 2)
        self.group = numbers(name, "group", group, 1)[0]
        self.pad_mode = padding_of(name, pad_mode, padding, 2)[0]
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
        if transposed:
            first, second = second, first
        shape = (first, second // self.group, *self.kernel_size)
        default = Uniform(1.0 / math.sqrt(math.prod(shape[1:])))
        weight = initializer(default if weight_init is None else weight_init, shape, dtype)
        self.weight = Parameter(weight, name="weight")
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
    """Convolution over two axes, with kernels that are learned; see `ops.conv2d`.

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
        up. 'valid': none are. 'pad': as many as `padding` says.
    padding : int or tuple of int, default 0
        Zeros on all sides, or (above, below, left, right).
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    group : int, default 1
        Into how many groups the channels are divided.
    has_bias : bool, default False
        Whether there is a bias.
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
    """Convolution over one axis, with kernels that are learned; see `ops.conv1d`.

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
        sizes = [
            numbers("Conv1d", what, value, 1)[0]
            for what, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        ]
        if isinstance(weight_init, Tensor) and weight_init.ndim == 3:
            weight_init = ops.expand_dims(weight_init, 2)
        ends = padding_of("Conv1d", pad_mode, padding, 1)[1][0]
        super().__init__(
            (in_channels, out_channels), (1, sizes[0]), (1, sizes[1]), pad_mode, (0, 0, *ends), (1, sizes[2]), group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        settings = self.stride[1], self.pad_mode, self.padding[2:], self.dilation[1], self.group
        return ops.conv1d(x, ops.squeeze(self.weight, 2), self.bias, *settings)


class Conv2dTranspose(_Convolution):
    """Transposed convolution over two axes, with kernels that are learned; see `ops.conv_transpose2d`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size, stride, dilation, group, has_bias, weight_init, bias_init, dtype
        As in `Conv2d`.
    pad_mode : {'same', 'valid', 'pad'}, default 'same'
        'same': the output has the length of the input times the stride. 'valid': nothing is cut off. 'pad': as much as
        `padding` says.
    padding : int or tuple of int, default 0
        What is cut off on all sides, or (above, below, left, right).
    output_padding : int or tuple of int, default 0
        What is added below and on the right; only with 'pad'.

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
            bias_init, dtype, transposed=True,
        )  # fmt: skip
        self.output_padding = numbers("Conv2dTranspose", "output_padding", output_padding, 2, 0)
        if self.pad_mode != "pad" and any(self.output_padding):
            raise ValueError("Conv2dTranspose: output_padding is for pad_mode='pad' only")

    def construct(self, x: Tensor) -> Tensor:
        cut, extra = self.padding, self.output_padding
        if self.pad_mode == "same":
            sizes = zip(self.kernel_size, self.stride, self.dilation, strict=True)
            surplus = [d * (k - 1) + 1 - s for k, s, d in sizes]  # of the whole output over length times stride
            cut = [max(n, 0) // 2 if end == 0 else max(n, 0) - max(n, 0) // 2 for n in surplus for end in (0, 1)]
            extra = tuple([max(-n, 0) for n in surplus])
        return ops.conv_transpose2d(x, self.weight, self.bias, self.stride, cut, extra, self.group, self.dilation)
