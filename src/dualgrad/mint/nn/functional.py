"""Functions of layers with PyTorch's signatures: most are rows over `dualgrad.ops`, as in `dualgrad.mint`."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.mint._rows import functions_of
from dualgrad.ops._arguments import operand
from dualgrad.tensor import Tensor

ROWS = """
    adaptive_avg_pool1d(input, output_size)
    adaptive_avg_pool2d(input, output_size)
    adaptive_avg_pool3d(input, output_size)
    adaptive_max_pool1d(input, output_size)
    adaptive_max_pool2d(input, output_size, return_indices=False)
    batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05)
    binary_cross_entropy(input, target, weight=None, reduction="mean")
    binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None)
        = binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)
    conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)
    cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean")
    cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0)
    dropout(input, p=0.5, training=True)
    dropout2d(input, p=0.5, training=True)
    elu(input, alpha=1.0)
    embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)
    flatten(input, start_dim=0, end_dim=-1) = flatten(input, start_dim=start_dim, end_dim=end_dim)
    fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)
    gelu(input, *, approximate="none")
    glu(input, dim=-1)
    grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None)
    group_norm(input, num_groups, weight=None, bias=None, eps=1e-05)
    hardshrink(input, lambd=0.5)
    hardsigmoid(input)
    hardswish(input)
    hardtanh(input, min_val=-1.0, max_val=1.0)
    interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None)
    kl_div(input, target, reduction="mean", log_target=False) = kl_div(input, target, reduction, log_target=log_target)
    l1_loss(input, target, reduction="mean")
    layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)
    leaky_relu(input, negative_slope=0.01)
    linear(input, weight, bias=None) = dense(input, weight, bias)
    logsigmoid(input)
    max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None)
    mish(input)
    mse_loss(input, target, reduction="mean")
    nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean")
    pad(input, pad, mode="constant", value=None)
    pixel_shuffle(input, upscale_factor)
    prelu(input, weight)
    relu(input)
    relu6(input)
    selu(input)
    sigmoid(input)
    silu(input)
    smooth_l1_loss(input, target, reduction="mean", beta=1.0) = smooth_l1_loss(input, target, beta, reduction)
    soft_margin_loss(input, target, reduction="mean")
    softplus(input, beta=1, threshold=20)
    softshrink(input, lambd=0.5)
    tanh(input)
    threshold(input, threshold, value)
    unfold(input, kernel_size, dilation=1, padding=0, stride=1)
    upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None)
"""

__all__ = functions_of(ROWS, ops, globals(), "dualgrad.ops")
__all__ += [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d", "log_softmax", "max_pool2d", "normalize",
    "one_hot", "softmax",
]  # fmt: skip


def _implied(ndim: int) -> int:
    """The default axis of a softmax: the first for tensors with 0, 1 or 3 axes, else the second."""
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Softmax along `dim`; without it along the first axis of tensors with 0, 1 or 3 axes, else along the second.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.softmax(dg.Tensor([0.0, 0.0]), dim=0))
    [0.5 0.5]
    """
    x = operand("softmax", input)
    return ops.softmax(x, _implied(x.ndim) if dim is None else dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Logarithm of `softmax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.log_softmax(dg.Tensor([0.0, 0.0]), dim=0))
    [-0.6931472 -0.6931472]
    """
    x = operand("log_softmax", input)
    return ops.log_softmax(x, _implied(x.ndim) if dim is None else dim, dtype=dtype)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along `dim`, or by `eps` if it is larger.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.normalize(dg.Tensor([[3.0, 4.0]])))
    [[0.6 0.8]]
    """
    return input / ops.clamp(ops.norm(input, p, dim, True), eps)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """Zeros, and ones at the classes, along a new last axis; -1: as many classes as occur.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.one_hot(dg.Tensor([0, 2])))
    [[1 0 0]
     [0 0 1]]
    """
    return ops.one_hot(tensor, num_classes, 1, 0, -1)


def _padded(padding: Any) -> dict[str, Any]:
    """Padding of a convolution: a name, or numbers."""
    return {"pad_mode": padding} if isinstance(padding, str) else {"pad_mode": "pad", "padding": padding}


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Convolution along one axis; `padding` is a number, or 'valid' or 'same'.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x, w = dg.Tensor([[[1.0, 2.0, 3.0]]]), dg.Tensor([[[1.0, 1.0]]])
    >>> print(dg.mint.nn.functional.conv1d(x, w))
    [[[3. 5.]]]
    """
    return ops.conv1d(input, weight, bias, stride, dilation=dilation, groups=groups, **_padded(padding))


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Convolution along two axes; `padding` is a number or two, or 'valid' or 'same'.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x, w = dg.ops.ones((1, 1, 2, 2)), dg.ops.ones((1, 1, 2, 2))
    >>> print(dg.mint.nn.functional.conv2d(x, w))
    [[[[4.]]]]
    """
    return ops.conv2d(input, weight, bias, stride, dilation=dilation, groups=groups, **_padded(padding))


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Convolution along three axes; `padding` is a number or three, or 'valid' or 'same'.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x, w = dg.ops.ones((1, 1, 2, 2, 2)), dg.ops.ones((1, 1, 2, 2, 2))
    >>> print(dg.mint.nn.functional.conv3d(x, w))
    [[[[[8.]]]]]
    """
    return ops.conv3d(input, weight, bias, stride, dilation=dilation, groups=groups, **_padded(padding))


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Mean over windows, which lie beside each other unless `stride` is given.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.avg_pool1d(dg.Tensor([[[1.0, 3.0]]]), 2))
    [[[2.]]]
    """
    steps = kernel_size if stride is None else stride
    return ops.avg_pool1d(input, kernel_size, steps, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Mean over windows, which lie beside each other unless `stride` is given.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.avg_pool3d(dg.ops.ones((1, 1, 2, 2, 2)), 2))
    [[[[[1.]]]]]
    """
    steps = kernel_size if stride is None else stride
    return ops.avg_pool3d(
        input,
        kernel_size,
        steps,
        padding,
        ceil_mode,
        count_include_pad,
        0 if divisor_override is None else divisor_override,
    )


def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Mean over windows, which lie beside each other unless `stride` is given.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.avg_pool2d(dg.ops.ones((1, 1, 2, 2)), 2))
    [[[[1.]]]]
    """
    steps = kernel_size if stride is None else stride
    return ops.avg_pool2d(
        input,
        kernel_size,
        steps,
        padding,
        ceil_mode,
        count_include_pad,
        0 if divisor_override is None else divisor_override,
    )


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest elements of windows, which lie beside each other unless `stride` is given.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.functional.max_pool2d(dg.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2))
    [[[[4.]]]]
    """
    return ops.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)
