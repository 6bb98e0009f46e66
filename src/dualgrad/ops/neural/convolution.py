"""Convolutions, as sums of products: the windows as a matrix, times the kernels as a matrix.

What is called convolution here is a correlation, as in all of machine learning: the kernel is not flipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, operand, permuted, to_shape
from ._sliding import Windows, channels_first, image, laid, margins, numbers, windows

__all__ = ["Conv2D", "conv1d", "conv2d", "conv_transpose2d"]

_SLICE, _UNSLICE = OP["slice"], OP["unslice"]


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
    """Convolution along one axis; `conv2d` with L in place of H and W.

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
    return _convolution("conv1d", input, weight, bias, stride, pad_mode, padding, dilation, groups, 1)


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
        'valid': only windows inside. 'same': zeros are added around, the odd one behind, so that the output has the
        length of the input divided by the stride, rounded up. 'pad': `padding` zeros are added.
    padding : int or tuple of int, default 0
        Zeros added on all sides, or (above and below, left and right), or (above, below, left, right).
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    groups : int, default 1
        Input and output channels are divided into so many groups, each with kernels of its own.

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
    return _convolution("conv2d", input, weight, bias, stride, pad_mode, padding, dilation, groups, 2)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv2d`: every element of the input adds a multiple of the kernel to the output.

    ``out[n, o, stride * i + dilation * p - padding, ...]`` collects ``weight[c, o, p, q] * input[n, c, i, j]``.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W).
    weight : Tensor
        Shape (C, O / groups, KH, KW); the type of `input`.
    bias : Tensor, optional
        Shape (O,); the type of `input`.
    stride, dilation, groups
        As in the `conv2d` that it transposes.
    padding : int or tuple of int, default 0
        What is cut off on all sides, or (above and below, left and right), or (above, below, left, right).
    output_padding : int or tuple of int, default 0
        What is added below and on the right, less than `stride` or `dilation`: `conv2d` gives the same shape for
        several shapes of its input, and this chooses among them.

    Returns
    -------
    Tensor
        Shape (N, O, H', W') or (O, H', W') with
        ``H' = (H - 1) * stride - 2 * padding + dilation * (KH - 1) + output_padding + 1``.

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
    >>> x = dg.Tensor([[[[1.0, 2.0]]]])
    >>> print(ops.conv_transpose2d(x, ops.ones((1, 1, 1, 3)), stride=2))
    [[[[1. 1. 3. 2. 2.]]]]
    """
    name = "conv_transpose2d"
    x, w = _operands(name, input, weight, 2)
    lengths = image(name, x, 2)
    groups = _grouped(name, groups, x, w, 2, w.shape[0])
    steps, gaps = numbers(name, "stride", stride, 2), numbers(name, "dilation", dilation, 2)
    cut, extra = margins(name, padding, 2), numbers(name, "output_padding", output_padding, 2, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, gaps, strict=True)):
        raise ValueError(f"{name}: output_padding is {extra}; expected less than stride {steps} or dilation {gaps}")
    # The input spread out by the stride meets flipped kernels; what is cut off is easiest to cut off at the end.
    axes, spread, spec, window = [], [], [], []
    for n, k, s, d, e, (low, high) in zip(lengths, w.shape[2:], steps, gaps, extra, cut, strict=True):
        margin = d * (k - 1)
        full = max(n - 1, 0) * s + 1 + margin + e
        if full - low - high < 1:
            raise ValueError(f"{name}: padding {padding} leaves nothing of an output of length {full}")
        axes.append(Windows(k, 1, d, 0, 0, full))
        spread.append(full + margin)
        spec.append((margin, n, s))
        window.append((low, full - low - high, 1))
    lead = tuple([(0, n, 1) for n in x.shape[:-2]])
    x = _engine.apply(_UNSLICE, ((*x.shape[:-2], *spread), (*lead, *spec)), x)
    y = _correlated(x, _flipped(w, groups), tuple(axes), groups)
    lead = tuple([(0, n, 1) for n in y.shape[:-2]])
    return _with_bias(name, _engine.apply(_SLICE, (*lead, *window), y), bias, 2)


def _flipped(w: Tensor, groups: int) -> Tensor:
    """Kernels (C, O / groups, KH, KW) of a transposed convolution as (O, C / groups, KH, KW), both axes reversed."""
    c, o, *kernel = w.shape
    spec = ((0, c, 1), (0, o, 1), *[(k - 1, k, -1) for k in kernel])
    w = to_shape(_engine.apply(_SLICE, spec, w), (groups, c // groups, o, *kernel))
    return to_shape(permuted(w, (0, 2, 1, 3, 4)), (groups * o, c // groups, *kernel))


# -------------------------------------------------------------------------------------------------- the parts


def _convolution(
    name: str,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    pad_mode: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
    n: int,
) -> Tensor:
    x, w = _operands(name, input, weight, n)
    lengths = image(name, x, n)
    groups = _grouped(name, groups, x, w, n, None)
    axes = laid(name, lengths, w.shape[2:], stride, dilation, pad_mode, padding)
    return _with_bias(name, _correlated(x, w, axes, groups), bias, n)


def _operands(name: str, input: Any, weight: Any, n: int) -> tuple[Tensor, Tensor]:
    x, w = operand(name, input), operand(name, weight)
    if w.ndim != n + 2 or not w.size:
        raise ValueError(f"{name}: the weight has shape {w.shape}; expected {n + 2} axes, none of length 0")
    _same_type(name, x, "weight", w)
    return x, w


def _same_type(name: str, x: Tensor, what: str, part: Tensor) -> None:
    if part._typenum != x._typenum:
        raise TypeError(
            f"{name}: the input has type {x.dtype} and the {what} {part.dtype}; expected equal types, convert one of "
            f"them with astype"
        )


def _grouped(name: str, groups: Any, x: Tensor, w: Tensor, n: int, channels: int | None) -> int:
    """The number of groups, if the channels that the weight is for are those of the input and divide into them."""
    count = numbers(name, "groups", groups, 1)[0]
    expected = w.shape[1] * count if channels is None else channels
    if x.shape[-n - 1] != expected or w.shape[0] % count:
        raise ValueError(
            f"{name}: a weight of shape {w.shape} in {count} groups is for {expected} channels, and {count} must "
            f"divide its first axis; the input has shape {x.shape}, so {x.shape[-n - 1]} channels"
        )
    return count


def _correlated(x: Tensor, w: Tensor, axes: tuple[Windows, ...], groups: int) -> Tensor:
    """Products of all windows with all kernels: one product of (stacks of) matrices."""
    counts = tuple([a.number for a in axes])
    stack, outputs = x.shape[: -len(axes) - 1], w.shape[0]
    depth, places = math.prod(w.shape[1:]), math.prod(counts)
    group = () if groups == 1 else (groups,)
    kernels = to_shape(w, (*group, outputs // groups, depth))
    product = _engine.matmul_op(kernels, to_shape(windows(x, axes), (*stack, *group, depth, places)))
    return to_shape(product, (*stack, outputs, *counts))


def _with_bias(name: str, y: Tensor, bias: Any, n: int) -> Tensor:
    if bias is None:
        return y
    b = operand(name, bias)
    _same_type(name, y, "bias", b)
    if b.shape != (y.shape[-n - 1],):
        raise ValueError(f"{name}: the bias has shape {b.shape}; expected ({y.shape[-n - 1]},)")
    return y + to_shape(b, b.shape + (1,) * n)


# ------------------------------------------------------------------------------------------ primitive classes


class Conv2D(Primitive):
    """Primitive class of `conv2d`, without bias: ``ops.Conv2D(out_channel, kernel_size, ...)(x, weight)``.

    Parameters
    ----------
    out_channel : int
        Channels of the output; the first length of the weight.
    kernel_size : int or tuple of int
        The last lengths of the weight.
    mode : int, default 1
        Only 1 is there.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        As in `conv2d`.
    pad, stride, dilation : int or tuple of int, default 0, 1 and 1
        As `padding`, `stride` and `dilation` in `conv2d`.
    group : int, default 1
        As `groups` in `conv2d`.
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
    >>> ops.Conv2D(4, 3, pad_mode="same")(ops.ones((1, 2, 5, 5)), ops.ones((4, 2, 3, 3))).shape
    (1, 4, 5, 5)
    """

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
        data_format: str = "NCHW",
    ) -> None:
        self.out_channel = numbers("Conv2D", "out_channel", out_channel, 1)[0]
        self.kernel_size = numbers("Conv2D", "kernel_size", kernel_size, 2)
        if mode != 1:
            raise ValueError(f"Conv2D: mode is {mode!r}; expected 1, a convolution")
        channels_first("Conv2D", data_format)
        self.pad_mode = pad_mode
        self.pad = pad
        self.stride = stride
        self.dilation = dilation
        self.group = group

    def __call__(self, x: Any, weight: Any) -> Tensor:
        w = operand("Conv2D", weight)
        if w.ndim != 4 or w.shape[:1] + w.shape[2:] != (self.out_channel, *self.kernel_size):
            raise ValueError(
                f"Conv2D: the weight has shape {w.shape}; expected ({self.out_channel}, C / group, *{self.kernel_size})"
            )
        settings = self.stride, self.pad_mode, self.pad, self.dilation, self.group
        return _convolution("Conv2D", x, w, None, *settings, 2)


METHODS: dict[str, Callable[..., Any]] = {}
