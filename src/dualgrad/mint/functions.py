"""Functions of tensors with PyTorch's signatures: `dim` and `keepdim`, reductions that return one tensor, and so on.

Most are rows: the names of arguments differ from `dualgrad.ops`, and sometimes their order or defaults. Functions that
behave differently are written out below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad import ops
from dualgrad.mint._rows import functions_of
from dualgrad.ops._arguments import operand, several_axes
from dualgrad.tensor import Tensor

from .._settings import number_or_tensor, truth_value

_UNARY = """
    abs acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not ceil cos cosh digamma
    erf erfc erfinv exp exp2 expm1 floor frac imag inverse isfinite isinf isnan isneginf log log10 log1p log2
    logical_not neg negative ravel real reciprocal relu rsqrt sigmoid sign sin sinc sinh sqrt square t tan tanh trace
    trunc
"""
_BINARY = """
    arctan2 atan2 bitwise_and bitwise_or bitwise_xor eq equal floor_divide fmod gcd ge greater greater_equal gt le less
    less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lt matmul maximum minimum mul ne not_equal
    remainder vdot xlogy
"""
_ROWS = """
    addbmm(input, batch1, batch2, *, beta=1, alpha=1)
    addcdiv(input, tensor1, tensor2, *, value=1) = addcdiv(input, tensor1, tensor2, value)
    addcmul(input, tensor1, tensor2, *, value=1) = addcmul(input, tensor1, tensor2, value)
    addmm(input, mat1, mat2, *, beta=1, alpha=1)
    addmv(input, mat, vec, *, beta=1, alpha=1)
    all(input, dim=None, keepdim=False)
    allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)
    amax(input, dim=(), keepdim=False) = amax(input, None if isinstance(dim, tuple) and not dim else dim, keepdim)
    amin(input, dim=(), keepdim=False) = amin(input, None if isinstance(dim, tuple) and not dim else dim, keepdim)
    any(input, dim=None, keepdim=False)
    arange(start=0, end=None, step=1, *, dtype=None)
    argmax(input, dim=None, keepdim=False)
    argmin(input, dim=None, keepdim=False)
    argsort(input, dim=-1, descending=False, stable=False) = argsort(input, dim, descending)
    baddbmm(input, batch1, batch2, *, beta=1, alpha=1)
    bincount(input, weights=None, minlength=0)
    bmm(input, mat2)
    broadcast_to(input, shape)
    cat(tensors, dim=0) = concat(tensors, dim)
    cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary") = cdist(x1, x2, p)
    chunk(input, chunks, dim=0)
    clamp(input, min=None, max=None)
    clip(input, min=None, max=None)
    concat(tensors, dim=0)
    count_nonzero(input, dim=None) = count_nonzero(input, dim, dtype=int)
    cross(input, other, dim=None)
    cummax(input, dim)
    cummin(input, dim)
    cumprod(input, dim, dtype=None)
    cumsum(input, dim, dtype=None)
    diag(input, diagonal=0)
    diff(input, n=1, dim=-1, prepend=None, append=None)
    div(input, other, *, rounding_mode=None)
    divide(input, other, *, rounding_mode=None) = div(input, other, rounding_mode=rounding_mode)
    dot(input, other)
    dstack(tensors)
    einsum(equation, *operands)
    eye(n, m=None, dtype=None)
    flatten(input, start_dim=0, end_dim=-1) = flatten(input, start_dim=start_dim, end_dim=end_dim)
    flip(input, dims)
    float_power(input, exponent)
    full(size, fill_value, *, dtype=None)
    full_like(input, fill_value, *, dtype=None)
    gather(input, dim, index) = gather_elements(input, dim, index)
    histc(input, bins=100, min=0, max=0)
    hstack(tensors)
    index_select(input, dim, index)
    isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)
    lerp(input, end, weight)
    linspace(start, end, steps, *, dtype=None)
    logsumexp(input, dim, keepdim=False)
    masked_fill(input, mask, value)
    masked_select(input, mask)
    mean(input, dim=None, keepdim=False, *, dtype=None)
    meshgrid(*tensors, indexing="ij")
    mm(input, mat2)
    moveaxis(input, source, destination)
    multinomial(input, num_samples, replacement=False)
    mv(input, vec)
    nan_to_num(input, nan=None, posinf=None, neginf=None)
    nansum(input, dim=None, keepdim=False, *, dtype=None)
    narrow(input, dim, start, length)
    nonzero(input, *, as_tuple=False)
    ones(size, *, dtype=None) = ones(size, dtype)
    ones_like(input, *, dtype=None)
    outer(input, vec2)
    permute(input, dims)
    polar(abs, angle)
    pow(input, exponent)
    prod(input, dim=None, keepdim=False, *, dtype=None)
    rand(*size, dtype=None)
    rand_like(input, *, dtype=None)
    randint(low, high, size, *, dtype=None)
    randint_like(input, low, high, *, dtype=None)
    randn(*size, dtype=None)
    randn_like(input, *, dtype=None)
    randperm(n, *, dtype=None)
    reshape(input, shape)
    roll(input, shifts, dims=None)
    rot90(input, k=1, dims=(0, 1))
    round(input, *, decimals=0)
    scatter(input, dim, index, src)
    scatter_add(input, dim, index, src)
    searchsorted(sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None)
    softmax(input, dim, *, dtype=None)
    sort(input, *, dim=-1, descending=False, stable=False) = sort(input, dim, descending)
    split(tensor, split_size_or_sections, dim=0)
    squeeze(input, dim=None)
    stack(tensors, dim=0)
    std(input, dim=None, *, correction=1, keepdim=False) = std(input, dim, correction, keepdim)
    std_mean(input, dim=None, *, correction=1, keepdim=False) = std_mean(input, dim, correction, keepdim)
    sum(input, dim=None, keepdim=False, *, dtype=None)
    swapaxes(input, axis0, axis1)
    take(input, index) = take(input, index)
    tile(input, dims)
    topk(input, k, dim=-1, largest=True, sorted=True)
    transpose(input, dim0, dim1) = swapaxes(input, dim0, dim1)
    tril(input, diagonal=0)
    triu(input, diagonal=0)
    unbind(input, dim=0)
    unsqueeze(input, dim)
    var(input, dim=None, *, correction=1, keepdim=False) = var(input, dim, correction, keepdim)
    var_mean(input, dim=None, *, correction=1, keepdim=False) = var_mean(input, dim, correction, keepdim)
    zeros(size, *, dtype=None) = zeros(size, dtype)
    zeros_like(input, *, dtype=None)
"""

ROWS = "\n".join(
    [*(f"{name}(input)" for name in _UNARY.split()), *(f"{n}(input, other)" for n in _BINARY.split()), _ROWS]
)

__all__ = functions_of(ROWS, ops, globals(), "dualgrad.ops")
__all__ += [
    "add", "clone", "empty", "empty_like", "index_add", "kthvalue", "max", "median", "min", "norm", "normal",
    "repeat_interleave", "select", "sub", "where",
]  # fmt: skip


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Give ``input + alpha * other``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.add(dg.Tensor([1.0]), dg.Tensor([2.0]), alpha=3))
    [7.]
    """
    return ops.add(input, other if _is_one(alpha) else ops.mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Give ``input - alpha * other``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.sub(dg.Tensor([1.0]), dg.Tensor([2.0]), alpha=3))
    [-5.]
    """
    return ops.sub(input, other if _is_one(alpha) else ops.mul(other, alpha))


def _is_one(alpha: Any) -> bool:
    return isinstance(alpha, int | float) and alpha == 1


def clone(input: Tensor) -> Tensor:
    """Give a tensor with the same values and derivatives.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.clone(dg.Tensor([1.0])))
    [1.]
    """
    return operand("clone", input).copy()


def empty(*size: Any, dtype: Any = None) -> Tensor:
    """Give a tensor whose values are to be replaced; here they are zeros.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.empty(2, 3).shape, dg.mint.empty((2, 3)).shape
    ((2, 3), (2, 3))
    """
    return ops.zeros(size[0] if len(size) == 1 else size, dtype)


def empty_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Give a tensor in the shape of another, whose values are to be replaced; here they are zeros.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.empty_like(dg.Tensor([1.0, 2.0])).shape
    (2,)
    """
    return ops.zeros_like(input, dtype=dtype)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest elements along `dim`, and their positions.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(*dg.mint.kthvalue(dg.Tensor([4.0, 1.0, 3.0]), 2))
    3.0 2
    """
    return operand("kthvalue", input).kthvalue(k, dim, keepdim)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None) -> Tensor:
    """Draw normal numbers, with a mean and a standard deviation for each or for all of them.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.normal(0.0, dg.Tensor([1.0, 2.0])).shape, dg.mint.normal(size=(2, 3)).shape
    ((2,), (2, 3))
    """
    given = [x.shape for x in (mean, std) if isinstance(x, Tensor)]
    if size is not None and given:
        raise ValueError("mint.normal: got tensors and a size; expected numbers with a size, or tensors alone")
    if size is None and not given:
        raise ValueError("mint.normal: got numbers without a size; expected a size, or a tensor of means or deviations")
    shape = np.broadcast_shapes(*given) if size is None else size
    return ops.add(mean, ops.mul(ops.randn(shape), std))


def _extreme(input: Any, dim: Any, keepdim: bool, whole: Any, along: Any, elementwise: Any) -> Any:
    if dim is None:
        return whole(input)
    return elementwise(input, dim) if isinstance(dim, Tensor) else along(input, dim, keepdim)


def max(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; with `dim` the largest along it and their positions; with a tensor the larger of each pair.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([[1.0, 5.0], [4.0, 2.0]])
    >>> print(dg.mint.max(x), *dg.mint.max(x, 1))
    5.0 [5. 4.] [1 0]
    """
    return _extreme(input, dim, keepdim, ops.amax, ops.max, ops.maximum)


def min(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; with `dim` the smallest along it and their positions; with a tensor the pairwise smaller.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([[1.0, 5.0], [4.0, 2.0]])
    >>> print(dg.mint.min(x), *dg.mint.min(x, 1))
    1.0 [1. 2.] [0 1]
    """
    return _extreme(input, dim, keepdim, ops.amin, ops.min, ops.minimum)


def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements; with `dim` the medians along it and their positions.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.median(dg.Tensor([4.0, 1.0, 3.0, 2.0])))
    2.0
    """
    if dim is None:
        return ops.median(ops.reshape(input, (-1,)), 0)[0]
    return ops.median(input, dim, keepdim)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Vector norm of order `p` along `dim`, or of all elements; with ``p="fro"`` the root of the sum of squares.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.norm(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    if isinstance(p, str):
        if p != "fro":
            raise ValueError(f"mint.norm: got p={p!r}; expected 'fro' or a number, dualgrad.ops.norm has the others")
        p = 2
    if dtype is not None:
        input = ops.cast(input, dtype)
    if dim is not None and not isinstance(dim, tuple | list):
        return ops.norm(input, p, dim, keepdim)
    size = ops.abs(input)
    axes = tuple(range(size.ndim)) if dim is None else several_axes("mint.norm", dim, size.shape)
    return _norm_of_several(size, p, axes, keepdim)


def _norm_of_several(size: Tensor, p: float, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """The vector norm over several axes, which are moved to the end and joined."""
    rest = [axis for axis in range(size.ndim) if axis not in axes]
    flat = ops.reshape(ops.permute(size, (*rest, *axes)), (*[size.shape[axis] for axis in rest], -1))
    shape = tuple([1 if axis in axes else size.shape[axis] for axis in range(size.ndim)])
    found = ops.norm(flat, p, -1)
    truth_value("mint.norm", "keepdim", keepdim)
    return ops.reshape(found, shape) if keepdim else found


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """Add the entries of `source`, times `alpha`, along `dim` at the positions in `index`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.index_add(dg.Tensor([1.0, 2.0]), 0, dg.Tensor([1, 1]), dg.Tensor([3.0, 4.0])))
    [1. 9.]
    """
    return ops.index_add(
        input, index, source if _is_one(alpha) else source * number_or_tensor("index_add", "alpha", alpha), dim
    )


def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Repeat each entry along `dim`, or of the flattened tensor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.repeat_interleave(dg.Tensor([1.0, 2.0]), 2))
    [1. 1. 2. 2.]
    """
    return ops.repeat_interleave(input, repeats, dim)


def select(input: Any, dim: int, index: int) -> Tensor:
    """The slice at one place along `dim`, without that axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.select(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1, 0))
    [1. 3.]
    """
    return operand("select", input).select(dim, index)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Choose from `input` where the condition is true, else from `other`; alone: the positions of true elements.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([1.0, -2.0])
    >>> print(dg.mint.where(x > 0, x, 0.0))
    [1. 0.]
    """
    if input is None and other is None:
        return ops.nonzero(condition, as_tuple=True)
    return ops.where(condition, input, other)
