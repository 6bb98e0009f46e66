"""Sums, products and distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._settings import number_or_tensor, real_number
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    alike,
    floating,
    integer,
    one_axis,
    operand,
    permuted,
    reduced_axes,
    to_shape,
    together,
)
from ..index._indices import index_tensor, one_axis_pattern, read
from ..index.choice import clamp, where
from ..index.segments import _bins
from ..index.updates import tensor_scatter_mul
from ..linalg.norms import norm
from ..linalg.norms import vector_norm as _length
from ..math import elementwise as _rows
from ..math._contractions import outer
from ..math._einsum import einsum
from ..math.formulas import addn
from ..math.products import matmul
from ..math.reductions import sum
from ..shape.creation import ones
from ._classes import REQUIRED, Derived

__all__ = [
    "AccumulateNV2", "Einsum", "EuclideanNorm", "L2Loss", "Renorm", "SquareSumAll", "UnsortedSegmentProd",
    "accumulate_n", "addbmm", "addr", "batch_dot", "dist", "matrix_norm", "pdist", "renorm", "unsorted_segment_prod",
    "vecdot", "vector_norm",
]  # fmt: skip


def accumulate_n(x: Any) -> Tensor:
    """Sum of several tensors of one shape.

    Parameters
    ----------
    x : tuple or list of Tensor
        At least one.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.accumulate_n((dg.Tensor([1.0]), dg.Tensor([2.0]))))
    [3.]
    """
    return addn(x)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input`` plus `alpha` times the sum of the products of many matrices.

    Parameters
    ----------
    input : Tensor
        Shape (n, p), or a shape that broadcasts to it.
    batch1, batch2 : Tensor
        Shapes (b, n, m) and (b, m, p).
    beta, alpha : number, default 1
        The factors.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.addbmm(ops.ones((1, 1)), ops.ones((3, 1, 2)), ops.ones((3, 2, 1))))
    [[7.]]
    """
    a, b = operand("addbmm", batch1), operand("addbmm", batch2)
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ValueError(f"addbmm: shapes {a.shape} and {b.shape}; expected (b, n, m) and (b, m, p)")
    beta = number_or_tensor("addbmm", "beta", beta)
    alpha = number_or_tensor("addbmm", "alpha", alpha)
    flat = to_shape(permuted(a, (1, 0, 2)), (a.shape[1], a.shape[0] * a.shape[2]))
    return operand("addbmm", input) * beta + matmul(flat, to_shape(b, (b.shape[0] * b.shape[1], b.shape[2]))) * alpha


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * x`` plus `alpha` times the outer product of two vectors.

    Parameters
    ----------
    x : Tensor
        Shape (n, m), or a shape that broadcasts to it.
    vec1, vec2 : Tensor
        Vectors of lengths n and m.
    beta, alpha : number, default 1
        The factors.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addr(ops.ones((2, 1)), dg.Tensor([1.0, 2.0]), dg.Tensor([3.0])))
    [[4.]
     [7.]]
    """
    alpha, beta = number_or_tensor("addr", "alpha", alpha), number_or_tensor("addr", "beta", beta)
    return operand("addr", x) * beta + outer(vec1, vec2) * alpha


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Tensor:
    """Scalar products of vectors along an axis; the first of complex vectors is conjugated.

    Parameters
    ----------
    x, y : Tensor
        Shapes that broadcast.
    axis : int, default -1
        The axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.vecdot(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([1.0, 1.0])))
    [3. 7.]
    """
    x, y = alike(together("vecdot", x, y))
    return sum((x.conj() if x.dtype.is_complex else x) * y, axis)


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Tensor:
    """Products along one axis of each operand, sample by sample.

    Parameters
    ----------
    x1, x2 : Tensor
        At least two axes; the first is the batch axis.
    axes : int or pair of int, optional
        The axes to sum over, for both or for each; by default the last of `x1`, and of `x2` the second last (the last
        of a matrix).

    Returns
    -------
    Tensor
        The axes of `x1` without the summed one, then the axes of `x2` without batch and summed axis; at least two.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.batch_dot(ops.ones((2, 3, 4)), ops.ones((2, 4, 5))).shape
    (2, 3, 5)
    """
    a, b = operand("batch_dot", x1), operand("batch_dot", x2)
    if a.ndim < 2 or b.ndim < 2 or a.shape[0] != b.shape[0]:
        raise ValueError(f"batch_dot: shapes {a.shape} and {b.shape}; expected as many samples, and two axes at least")
    if axes is None:
        axes = (a.ndim - 1, b.ndim - 1 if b.ndim == 2 else b.ndim - 2)
    pair = tuple(axes) if isinstance(axes, tuple | list) else (axes, axes)
    if len(pair) != 2:
        raise ValueError(f"batch_dot: axes is {axes}; expected an int, or two of them")
    i, j = one_axis("batch_dot", pair[0], a.shape), one_axis("batch_dot", pair[1], b.shape)
    if i == 0 or j == 0 or a.shape[i] != b.shape[j]:
        raise ValueError(
            f"batch_dot: axes {pair} of shapes {a.shape} and {b.shape}; expected one length, not the samples"
        )
    a = permuted(a, (*[k for k in range(a.ndim) if k != i], i))
    b = permuted(b, (0, j, *[k for k in range(1, b.ndim) if k != j]))
    n, m = a.shape[0], a.shape[-1]
    rows, columns = math.prod(a.shape[1:-1]), math.prod(b.shape[2:])
    product = matmul(to_shape(a, (n, rows, m)), to_shape(b, (n, m, columns)))
    shape = (n, *a.shape[1:-1], *b.shape[2:])
    return to_shape(product, shape if len(shape) > 1 else (n, 1))


def dist(input: Any, other: Any, p: Any = 2) -> Tensor:
    """The p-norm of a difference.

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast.
    p : number, default 2
        The order of the norm.

    Returns
    -------
    Tensor
        Without axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.dist(dg.Tensor([3.0, 4.0]), dg.Tensor([0.0, 0.0])))
    5.0
    """
    x, y = together("dist", input, other)
    difference = x - y
    return _length(floating("dist", difference), p, ALL_AXES[difference.ndim], False)


def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, m).
    p : float, default 2.0
        The order of the norm.

    Returns
    -------
    Tensor
        Shape (..., n (n - 1) / 2).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.pdist(dg.Tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])))
    [5.        1.        4.2426405]
    """
    x = floating("pdist", input)
    if x.ndim < 2:
        raise ValueError(f"pdist: the input has shape {x.shape}; expected rows")
    first, second = np.triu_indices(x.shape[-2], 1)
    pattern = one_axis_pattern(x.shape, x.ndim - 2)
    difference = read("pdist", pattern, x, first) - read("pdist", pattern, x, second)
    return _length(difference, p, (x.ndim - 1,), False)


def vector_norm(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norm of all elements along axes, taken as one vector.

    Parameters
    ----------
    x : Tensor
        Any shape; integers become float32.
    ord : float, default 2
        The order: 0 counts the elements that are not zero, inf and -inf take the largest and smallest absolute value.
    axis : int or tuple of int, optional
        The axes; all by default.
    keepdims : bool, default False
        Keep the axes with length 1.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.vector_norm(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    x = operand("vector_norm", x)
    x = floating("vector_norm", x if dtype is None else x.astype(dtype))
    return _length(x, float(real_number("vector_norm", "ord", ord)), reduced_axes("vector_norm", axis, x), keepdims)


def renorm(input: Any, p: Any, axis: int, maxnorm: Any) -> Tensor:
    """Shorten parts along an axis to a norm, if they are longer.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    p : number
        The order of the norm.
    axis : int
        The axis along which the parts are numbered.
    maxnorm : number
        The norm.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.renorm(dg.Tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0))
    [[0.6 0.8]
     [0.3 0.4]]
    """
    x = floating("renorm", input)
    axis = one_axis("renorm", axis, x.shape)
    others = tuple([k for k in range(x.ndim) if k != axis])
    maxnorm = number_or_tensor("renorm", "maxnorm", maxnorm)
    length = _length(x, real_number("renorm", "p", p), others, True)
    return where(length > maxnorm, x * (maxnorm / clamp(length, maxnorm)), x)


def matrix_norm(A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norms of matrices; see `norm`.

    Parameters
    ----------
    A : Tensor
        At least two axes.
    ord : {'fro', 'nuc', inf, -inf, 1, -1, 2, -2}, default 'fro'
        The norm.
    axis : pair of int, default (-2, -1)
        The axes of the matrices.
    keepdims : bool, default False
        Keep these axes with length 1.
    dtype : type, optional
        Convert to this type first.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_norm(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    if not isinstance(axis, tuple | list) or len(axis) != 2:
        raise ValueError(f"matrix_norm: axis is {axis!r:.60}; expected a pair of axes")
    return norm(A, ord, tuple(axis), keepdims, dtype=dtype)


# ------------------------------------------------------------------------------------------ primitive classes


def _halved(x: Any) -> Tensor:
    x = floating("L2Loss", x)
    return sum(_rows.square(x)) / 2


def _two_sums(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    return sum(_rows.square(operand("SquareSumAll", x))), sum(_rows.square(operand("SquareSumAll", y)))


def _euclidean(x: Any, axes: Any = (), keepdims: bool = False) -> Tensor:
    return _rows.sqrt(sum(_rows.square(operand("EuclideanNorm", x)), axes, keepdims))


def _product(x: Any, equation: str) -> Tensor:
    return einsum(equation, *x)


class AccumulateNV2(Derived, function=accumulate_n, example="""
>>> print(ops.AccumulateNV2()((dg.Tensor([1.0]), dg.Tensor([2.0]))))
[3.]
"""):  # fmt: skip
    __slots__ = ()


class Einsum(Derived, function=_product, equation=REQUIRED):
    """Primitive class of `einsum`: ``ops.Einsum(equation)((x, y, ...))``.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.Einsum("ij,jk->ik")((ops.ones((1, 2)), ops.ones((2, 1)))))
    [[2.]]
    """

    __slots__ = ()


class EuclideanNorm(Derived, function=_euclidean, renamed={"keep_dims": "keepdims"}, keep_dims=False):
    """Root of the sum of squares over axes: ``ops.EuclideanNorm(keep_dims=False)(x, axes)``; see `norm`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.EuclideanNorm()(dg.Tensor([3.0, 4.0]), [0]))
    5.0
    """

    __slots__ = ()


class L2Loss(Derived, function=_halved):
    """Half the sum of squares: ``ops.L2Loss()(x)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.L2Loss()(dg.Tensor([1.0, 3.0])))
    5.0
    """

    __slots__ = ()


class Renorm(Derived, function=renorm, renamed={"dim": "axis"}, p=REQUIRED, dim=REQUIRED, maxnorm=REQUIRED, example="""
>>> print(ops.Renorm(2, 0, 1.0)(dg.Tensor([[3.0, 4.0]])))
[[0.6 0.8]]
"""):  # fmt: skip
    __slots__ = ()


class SquareSumAll(Derived, function=_two_sums):
    """The sums of squares of two tensors: ``ops.SquareSumAll()(x, y)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SquareSumAll()(dg.Tensor([1.0, 2.0]), dg.Tensor([3.0]))[0])
    5.0
    """

    __slots__ = ()


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Products of the elements with the same segment number. Derivatives are exact where elements are 0, too.

    Parameters
    ----------
    x : Tensor
        Shape (shape of `segment_ids`, further axes).
    segment_ids : Tensor
        Integers below `num_segments`. Elements with a number below 0 are left out.
    num_segments : int
        The number of segments.

    Returns
    -------
    Tensor
        Shape (num_segments, further axes of `x`); 1 in segments without elements.

    Raises
    ------
    ValueError
        If shapes do not fit, or `num_segments` is below 1.
    IndexError
        If a number is too large.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 6.0], [3.0, 4.0], [5.0, 2.0]])
    >>> print(ops.unsorted_segment_prod(x, dg.Tensor([0, 1, 0]), 2))
    [[ 5. 12.]
     [ 3.  4.]]
    """
    x, ids = operand("unsorted_segment_prod", x), index_tensor("unsorted_segment_prod", segment_ids)
    count = integer("unsorted_segment_prod", "num_segments", num_segments)
    if not ids.ndim or ids.shape != x.shape[: ids.ndim] or count < 1:
        raise ValueError(
            f"unsorted_segment_prod: segments of shape {ids.shape} for shape {x.shape}, num_segments {count}"
            "; expected a segment for each element of the first axes, and one segment at least"
        )
    rest = x.shape[ids.ndim :]
    start = ones((count + 1, *rest), x.dtype)  # the last row takes the elements that are left out
    bins = _bins("unsorted_segment_prod", to_shape(ids, (ids.size,)), count)
    return tensor_scatter_mul(start, to_shape(bins, (ids.size, 1)), to_shape(x, (ids.size, *rest)))[:count]


class UnsortedSegmentProd(Derived, function=unsorted_segment_prod, call="x, segment_ids, num_segments", example="""
>>> print(ops.UnsortedSegmentProd()(dg.Tensor([1.0, 3.0, 5.0]), dg.Tensor([0, 1, 0]), 2))
[5. 3.]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "addbmm": addbmm,
    "addr": addr,
    "renorm": renorm,
}
