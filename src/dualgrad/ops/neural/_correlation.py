"""Shared by convolutions: checks of their operands, and the product of all windows with all kernels."""

from __future__ import annotations

import math
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import operand, to_shape
from ._sliding import Windows, image, laid, one_number, windows


def convolution(
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
    """A convolution over the last n axes, with its arguments as the user gave them."""
    x, w = operands(name, input, weight, n)
    lengths = image(name, x, n)
    groups = grouped(name, groups, x, w, n, None)
    axes = laid(name, lengths, w.shape[2:], stride, dilation, pad_mode, padding)
    return with_bias(name, correlated(x, w, axes, groups), bias, n)


def operands(name: str, input: Any, weight: Any, n: int) -> tuple[Tensor, Tensor]:
    """Input and weight as tensors of one type; the weight has n axes for the kernel."""
    x, w = operand(name, input), operand(name, weight)
    if w.ndim != n + 2 or not w.size:
        raise ValueError(f"{name}: the weight has shape {w.shape}; expected {n + 2} axes, none of length 0")
    same_type(name, x, "weight", w)
    return x, w


def same_type(name: str, x: Tensor, what: str, part: Tensor) -> None:
    """Raise TypeError for operands of different types."""
    if part._typenum != x._typenum:
        raise TypeError(
            f"{name}: the input has type {x.dtype} and the {what} {part.dtype}; expected equal types, convert one of "
            f"them with astype"
        )


def grouped(name: str, groups: Any, x: Tensor, w: Tensor, n: int, channels: int | None) -> int:
    """The number of groups, if the channels that the weight is for are those of the input and divide into them."""
    count = one_number(name, "groups", groups)
    expected = w.shape[1] * count if channels is None else channels
    if x.shape[-n - 1] != expected or w.shape[0] % count:
        raise ValueError(
            f"{name}: a weight of shape {w.shape} in {count} groups is for {expected} channels, and {count} must "
            f"divide its first axis; the input has shape {x.shape}, so {x.shape[-n - 1]} channels"
        )
    return count


def correlated(x: Tensor, w: Tensor, axes: tuple[Windows, ...], groups: int) -> Tensor:
    """Multiply all windows by all kernels: one product of (stacks of) matrices."""
    counts = tuple([a.number for a in axes])
    stack, outputs = x.shape[: -len(axes) - 1], w.shape[0]
    depth, places = math.prod(w.shape[1:]), math.prod(counts)
    group = () if groups == 1 else (groups,)
    kernels = to_shape(w, (*group, outputs // groups, depth))
    product = _engine.matmul_op(kernels, to_shape(windows(x, axes), (*stack, *group, depth, places)))
    return to_shape(product, (*stack, outputs, *counts))


def with_bias(name: str, y: Tensor, bias: Any, n: int) -> Tensor:
    """Add a number to each channel."""
    if bias is None:
        return y
    b = operand(name, bias)
    same_type(name, y, "bias", b)
    if b.shape != (y.shape[-n - 1],):
        raise ValueError(f"{name}: the bias has shape {b.shape}; expected ({y.shape[-n - 1]},)")
    return y + to_shape(b, b.shape + (1,) * n)
