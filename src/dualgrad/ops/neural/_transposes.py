"""Transposed convolutions: the sum of the contributions of each element of the input to the output.

The input is spread out by the stride and meets flipped kernels, which is a convolution again. The padding is cut off at
the end.
"""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, operand, permuted, to_shape
from ._correlation import correlated, grouped, operands, with_bias
from ._sliding import Windows, channels_first, image, margins, numbers, one_number, padding_of

__all__ = ["Conv3DTranspose", "conv3d_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]

_SLICE, _UNSLICE = OP["slice"], OP["unslice"]


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv1d`: `conv_transpose2d` with L in place of H and W.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L).
    weight : Tensor
        Shape (C, O / groups, K).
    bias : Tensor, optional
        Shape (O,).
    stride, padding, output_padding, groups, dilation
        As in `conv_transpose2d`.

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
    >>> print(ops.conv_transpose1d(dg.Tensor([[[1.0, 2.0]]]), ops.ones((1, 1, 3)), stride=2))
    [[[1. 1. 3. 2. 2.]]]
    """
    return _transposed("conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


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
        As in the transposed `conv2d`.
    padding : int or tuple of int, default 0
        The elements to cut off on all sides, or (above and below, left and right), or (above, below, left, right).
    output_padding : int or tuple of int, default 0
        The elements to add below and on the right, less than `stride` or `dilation`. `conv2d` gives the same shape for
        several shapes of its input, and this setting chooses among them.

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
    return _transposed("conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv3d`: `conv_transpose2d` with D, H, W in place of H and W.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    weight : Tensor
        Shape (C, O / groups, KD, KH, KW).
    bias : Tensor, optional
        Shape (O,).
    stride, padding, output_padding, groups, dilation
        As in `conv_transpose2d`, for three axes.

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
    >>> ops.conv_transpose3d(ops.ones((1, 2, 3, 3, 3)), ops.ones((2, 4, 2, 2, 2)), stride=2).shape
    (1, 4, 6, 6, 6)
    """
    return _transposed("conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


def conv3d_transpose(
    inputs: Any,
    weight: Any,
    pad_mode: str = "valid",
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
) -> Tensor:
    """The transpose of `conv3d`, with the settings of `Conv3DTranspose` as arguments.

    Parameters
    ----------
    inputs : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    weight : Tensor
        Shape (C, O / group, KD, KH, KW).
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        'valid': nothing is cut off. 'same': the output has the length of the input times the stride. 'pad': `padding`
        elements are cut off. 'valid' and 'same' end with zeros where kernels are shorter than the stride.
    padding : int or tuple of int, default 0
        The elements to cut off on all sides, or on both sides of each axis, or before and behind each axis.
    stride, dilation : int or tuple of int, default 1
        As in the transposed `conv3d`.
    group : int, default 1
        As `groups` in `conv3d`.
    output_padding : int or tuple of int, default 0
        The elements to add behind each axis; only with 'pad'.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the operands differ in type.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.conv3d_transpose(ops.ones((1, 2, 3, 3, 3)), ops.ones((2, 4, 2, 2, 2)), "same", stride=2).shape
    (1, 4, 6, 6, 6)
    """
    name = "conv3d_transpose"
    w = operand(name, weight)
    cut, extra = cut_of(name, w.shape[2:], stride, dilation, pad_mode, padding, output_padding)
    return _transposed(name, inputs, w, None, stride, cut, extra, group, dilation, 3)


def cut_of(
    name: str,
    kernel: tuple[int, ...],
    stride: Any,
    dilation: Any,
    pad_mode: Any,
    padding: Any,
    output_padding: Any = 0,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The elements that a kind of padding cuts off before and behind each axis, and the elements that it adds."""
    n = len(kernel)
    mode, ends = padding_of(name, pad_mode, padding, n)
    extra = numbers(name, "output_padding", output_padding, n, 0)
    if mode != "pad" and any(extra):
        raise ValueError(f"{name}: output_padding is for pad_mode='pad' only")
    if mode == "pad":
        return tuple([k for pair in ends for k in pair]), extra
    sizes = zip(kernel, numbers(name, "stride", stride, n), numbers(name, "dilation", dilation, n), strict=True)
    surplus = [d * (k - 1) + 1 - s for k, s, d in sizes]  # of the whole output over length times stride
    cut = [max(m, 0) // 2 if end == 0 else max(m, 0) - max(m, 0) // 2 for m in surplus for end in (0, 1)]
    return tuple(cut) if mode == "same" else (0,) * (2 * n), tuple([max(-m, 0) for m in surplus])


def _transposed(
    name: str,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
    n: int,
) -> Tensor:
    """A transposed convolution over the last n axes, with its arguments as the user gave them."""
    x, w = operands(name, input, weight, n)
    lengths = image(name, x, n)
    groups = grouped(name, groups, x, w, n, w.shape[0])
    steps, gaps = numbers(name, "stride", stride, n), numbers(name, "dilation", dilation, n)
    cut, extra = margins(name, padding, n), numbers(name, "output_padding", output_padding, n, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, gaps, strict=True)):
        raise ValueError(f"{name}: output_padding is {extra}; expected less than stride {steps} or dilation {gaps}")
    axes, spread, spec, window = [], [], [], []
    for m, k, s, d, e, (low, high) in zip(lengths, w.shape[2:], steps, gaps, extra, cut, strict=True):
        margin = d * (k - 1)
        full = max(m - 1, 0) * s + 1 + margin + e
        if full - low - high < 1:
            raise ValueError(f"{name}: padding {padding} leaves nothing of an output of length {full}")
        axes.append(Windows(k, 1, d, 0, 0, full))
        spread.append(full + margin)
        spec.append((margin, m, s))
        window.append((low, full - low - high, 1))
    lead = tuple([(0, m, 1) for m in x.shape[:-n]])
    x = _engine.apply(_UNSLICE, ((*x.shape[:-n], *spread), (*lead, *spec)), x)
    y = correlated(x, _flipped(w, groups), tuple(axes), groups)
    lead = tuple([(0, m, 1) for m in y.shape[:-n]])
    return with_bias(name, _engine.apply(_SLICE, (*lead, *window), y), bias, n)


def _flipped(w: Tensor, groups: int) -> Tensor:
    """Turn kernels (C, O / groups, ...) of a transposed convolution into (O, C / groups, ...), with reversed axes."""
    c, o, *kernel = w.shape
    spec = ((0, c, 1), (0, o, 1), *[(k - 1, k, -1) for k in kernel])
    w = to_shape(_engine.apply(_SLICE, spec, w), (groups, c // groups, o, *kernel))
    return to_shape(permuted(w, (0, 2, 1, *range(3, w.ndim))), (groups * o, c // groups, *kernel))


# ------------------------------------------------------------------------------------------ primitive classes


class Conv3DTranspose(Primitive):
    """Primitive class of `conv3d_transpose`: ``ops.Conv3DTranspose(in_channel, out_channel, ...)(dout, weight)``.

    Parameters
    ----------
    in_channel, out_channel : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        The last lengths of the weight.
    mode : int, default 1
        Only 1 is supported.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        As in `conv3d_transpose`.
    pad, stride, dilation, output_padding : int or tuple of int, default 0, 1, 1 and 0
        As `padding`, `stride`, `dilation` and `output_padding` in `conv3d_transpose`.
    group : int, default 1
        As in `conv3d_transpose`.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.Conv3DTranspose(2, 4, 2)(ops.ones((1, 2, 3, 3, 3)), ops.ones((2, 4, 2, 2, 2))).shape
    (1, 4, 4, 4, 4)
    """

    out_channel: int
    in_channel: int

    __slots__ = (
        "dilation", "group", "in_channel", "kernel_size", "out_channel", "output_padding", "pad", "pad_mode", "stride",
    )  # fmt: skip

    def __init__(
        self,
        in_channel: int,
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        output_padding: Any = 0,
        data_format: str = "NCDHW",
    ) -> None:
        name = "Conv3DTranspose"
        self.in_channel, self.out_channel = numbers(name, "in_channel, out_channel", (in_channel, out_channel), 2)
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel_size, 3)
        if not one_of(mode, (1,)):
            raise ValueError(f"{name}: mode is {mode!r}; expected 1, a convolution")
        channels_first(name, data_format, 3)
        self.group: int = one_number(name, "group", group)
        self.pad_mode: str = pad_mode
        self.pad: Any = pad
        self.stride: Any = stride
        self.dilation: Any = dilation
        self.output_padding: Any = output_padding

    def __call__(self, dout: Any, weight: Any) -> Tensor:
        w = operand("Conv3DTranspose", weight)
        expected = self.in_channel, self.out_channel // self.group, *self.kernel_size
        if w.shape != expected:
            raise ValueError(f"Conv3DTranspose: the weight has shape {w.shape}; expected {expected}")
        settings = self.pad_mode, self.pad, self.stride, self.dilation, self.group, self.output_padding
        return conv3d_transpose(dout, w, *settings)
