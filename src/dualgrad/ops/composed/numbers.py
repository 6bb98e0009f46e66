"""Elementwise formulas, comparisons, and statistics over axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    OP,
    alike,
    dropped,
    floating,
    integer,
    kept,
    one_axis,
    operand,
    permuted,
    to_shape,
    together,
    total,
)
from ..index._indices import index_tensor, one_axis_pattern, read
from ..index.choice import clamp, where
from ..index.gather import gather_elements
from ..index.segments import unsorted_segment_sum
from ..index.sorting import sort, topk
from ..linalg.norms import norm, vector_norm
from ..math import elementwise as _rows
from ..math._contractions import outer
from ..math._truth import all as every
from ..math.arithmetic import pow
from ..math.formulas import addn
from ..math.products import matmul
from ..math.reductions import (
    amax,
    amin,
    count_nonzero,
    max,
    mean,
    min,
    nansum,
    std,
    sum,
)
from ._classes import REQUIRED, Derived

__all__ = [
    "AccumulateNV2", "ApproximateEqual", "ArgMaxWithValue", "ArgMinWithValue", "CountNonZero", "EuclideanNorm",
    "InTopK", "IsClose", "L2Loss", "Logit", "ReduceStd", "Renorm", "SquareSumAll", "TruncateDiv", "TruncateMod",
    "accumulate_n", "addbmm", "addr", "allclose", "approximate_equal", "argmax_with_value", "argmin_with_value",
    "batch_dot", "bincount", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bucketize", "dist", "histc", "intopk", "invert", "is_nonzero", "isclose",
    "isneginf", "isposinf", "isreal", "logit", "logspace", "matrix_norm", "msort", "nanmean", "nanmedian",
    "nanquantile", "pdist", "ptp", "quantile", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "renorm",
    "signbit", "top_k", "truncate_div", "truncate_mod", "unique", "vecdot",
]  # fmt: skip


# -------------------------------------------------------------------------------------------------- comparisons


def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether elements are equal but for a small error: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast.
    rtol, atol : float, default 1e-5 and 1e-8
        The relative and the absolute error.
    equal_nan : bool, default False
        Whether nan is equal to nan.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isclose(dg.Tensor([1.0, 1.0]), dg.Tensor([1.0000001, 1.1])))
    [ True False]
    """
    x, y = alike(together("isclose", input, other))
    exact = x == y
    if x.dtype.is_float:
        near = _rows.isfinite(y) & (_rows.abs(x - y) <= atol + rtol * _rows.abs(y))
        exact = exact | near
        if equal_nan:
            exact = exact | (_rows.isnan(x) & _rows.isnan(y))
        return exact
    wide = [t.astype(_dtype.float64) for t in (x, y)]
    return exact | (_rows.abs(wide[0] - wide[1]) <= atol + rtol * _rows.abs(wide[1]))


def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all elements are equal but for a small error; parameters are those of `isclose`.

    Returns
    -------
    Tensor
        Type Bool, without axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.allclose(dg.Tensor([1.0]), dg.Tensor([1.0000001])))
    True
    """
    return every(isclose(input, other, rtol, atol, equal_nan))


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Tensor:
    """Whether elements differ by less than a number.

    Parameters
    ----------
    x, y : Tensor
        Shapes that broadcast.
    tolerance : float, default 1e-5
        The number.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.approximate_equal(dg.Tensor([1.0, 2.0]), dg.Tensor([1.5, 4.0]), 1.0))
    [ True False]
    """
    if tolerance < 0:
        raise ValueError(f"approximate_equal: tolerance is {tolerance}; expected 0 or more")
    x, y = together("approximate_equal", x, y)
    return _rows.abs(x - y) < tolerance


def isneginf(input: Any) -> Tensor:
    """Whether elements are -inf.

    Parameters
    ----------
    input : Tensor
        Any shape and type.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isneginf(dg.Tensor([1.0, float("-inf")])), ops.isposinf(dg.Tensor([1.0, float("-inf")])))
    [False  True] [False False]
    """
    return operand("isneginf", input) == -math.inf


def isposinf(input: Any) -> Tensor:
    """Whether elements are inf; the parameters are those of `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isposinf(dg.Tensor([1.0, float("inf")])))
    [False  True]
    """
    return operand("isposinf", input) == math.inf


def isreal(input: Any) -> Tensor:
    """Whether elements have no imaginary part; the parameters are those of `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isreal(dg.Tensor([1.0 + 1j, 2.0])))
    [False  True]
    """
    x = operand("isreal", input)
    return x.imag() == 0 if x.dtype.is_complex else x == x if not x.dtype.is_float else (x == x) | _rows.isnan(x)


def signbit(input: Any) -> Tensor:
    """Whether elements have a minus sign, -0.0 included; the parameters are those of `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.signbit(dg.Tensor([1.0, -0.0, -2.0])))
    [False  True  True]
    """
    x = operand("signbit", input)
    return _rows.copysign(np.ones((), x.dtype.numpy), x) < 0 if x.dtype.is_float else x < 0


def is_nonzero(input: Any) -> bool:
    """Whether the only element of a tensor is not 0.

    Parameters
    ----------
    input : Tensor
        One element.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_nonzero(dg.Tensor([0.5]))
    True
    """
    x = operand("is_nonzero", input)
    if x.size != 1:
        raise ValueError(f"is_nonzero: a tensor of shape {x.shape} has {x.size} elements; expected one")
    return bool(x._numpy().item())


# ------------------------------------------------------------------------------------------------------ formulas


def logit(input: Any, eps: float | None = None) -> Tensor:
    """Logarithm of the odds: ``log(x / (1 - x))``.

    Parameters
    ----------
    input : Tensor
        Probabilities.
    eps : float, optional
        Limit probabilities to ``eps`` and ``1 - eps`` before; None, or a negative number, leaves them.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logit(dg.Tensor([0.5, 0.75])))
    [0.        1.0986123]
    """
    x = floating("logit", input)
    if eps is not None and eps >= 0:
        x = clamp(x, eps, 1.0 - eps)
    return _rows.log(x) - _rows.log1p(-x)


def truncate_div(x: Any, y: Any) -> Tensor:
    """Quotient rounded towards 0; the slope is 0.

    Parameters
    ----------
    x, y : Tensor or number
        Shapes that broadcast.

    Returns
    -------
    Tensor
        The type that both have together.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.truncate_div(dg.Tensor([7, -7]), 2), ops.truncate_mod(dg.Tensor([7, -7]), 2))
    [ 3 -3] [ 1 -1]
    """
    x, y = alike(together("truncate_div", x, y))
    if x.dtype.is_float:
        return _rows.trunc(x / y)
    down = _rows.floor_divide(x, y)
    return down + ((down < 0) & (down * y != x)).astype(x.dtype)


def truncate_mod(x: Any, y: Any) -> Tensor:
    """What `truncate_div` leaves over: it has the sign of `x`. The parameters are those of `truncate_div`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.truncate_mod(dg.Tensor([7.0, -7.0]), 2.0))
    [ 1. -1.]
    """
    return _rows.fmod(*alike(together("truncate_mod", x, y)))


def logspace(start: Any, end: Any, steps: int, base: Any = 10, *, dtype: Any = _dtype.float32) -> Tensor:
    """Powers of a base whose exponents are evenly spaced; derivatives go to the ends.

    Parameters
    ----------
    start, end : Tensor or number
        First and last exponent.
    steps : int
        How many powers.
    base : number, default 10
        The base.
    dtype : type, default float32
        Type of the result.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.logspace(0, 2, 3))
    [  1.  10. 100.]
    """
    n = integer("logspace", "steps", steps)
    if n < 0:
        raise ValueError(f"logspace: steps is {n}; expected 0 or more")
    start, end = [floating("logspace", x).astype(_dtype.float64) for x in (start, end)]
    part = np.linspace(0.0, 1.0, n)
    return pow(base, start * (1 - part) + end * part).astype(dtype)


def _logical(name: str, op: int) -> Callable[[Any, Any], Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        x, y = together(name, input, other)
        if x.dtype.is_float or y.dtype.is_float:
            raise TypeError(f"{name}: operands of types {x.dtype} and {y.dtype}; expected integers or truth values")
        return _engine.binary_op(op, x, y)

    sign = {"and": "&", "or": "|", "xor": "^"}[name.rpartition("_")[2]]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Bits of two integers combined: ``input {sign} other``.

    Parameters
    ----------
    input, other : Tensor or int
        Integers or truth values, shapes that broadcast.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If an operand holds no integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.{name}(dg.Tensor([12]), dg.Tensor([10])))
    [{eval(f"12 {sign} 10")}]
    """
    return function


bitwise_and = _logical("bitwise_and", OP["bitwise_and"])
bitwise_or = _logical("bitwise_or", OP["bitwise_or"])
bitwise_xor = _logical("bitwise_xor", OP["bitwise_xor"])


def bitwise_not(input: Any) -> Tensor:
    """All bits of integers turned over.

    Parameters
    ----------
    input : Tensor
        Integers or truth values.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the operand holds no integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_not(dg.Tensor([0, 5])))
    [-1 -6]
    """
    x = operand("bitwise_not", input)
    if x.dtype.is_float:
        raise TypeError(f"bitwise_not: an operand of type {x.dtype}; expected integers or truth values")
    return ~x


invert = bitwise_not


def _shifted(name: str, input: Any, other: Any) -> tuple[Tensor, Tensor]:
    x, y = together(name, input, other)
    if not (x.dtype.is_int and y.dtype.is_int):
        raise TypeError(f"{name}: operands of types {x.dtype} and {y.dtype}; expected integers")
    x, y = alike([x, y])
    return x, pow(np.asarray(2, x.dtype.numpy), y)


def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """Bits moved to the left: ``input * 2**other``.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast; `other` from 0 to less than the number of bits.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_left_shift(dg.Tensor([3]), 2), ops.bitwise_right_shift(dg.Tensor([13]), 2))
    [12] [3]
    """
    x, power = _shifted("bitwise_left_shift", input, other)
    return x * power


def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """Bits moved to the right: ``input / 2**other``, rounded down.

    The parameters are those of `bitwise_left_shift`; `other` leaves out the last bit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_right_shift(dg.Tensor([-13]), 2))
    [-4]
    """
    return _rows.floor_divide(*_shifted("bitwise_right_shift", input, other))


# ---------------------------------------------------------------------------------------------- sums and products


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
        Shape (n, p), or one that broadcasts to it.
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
    flat = to_shape(permuted(a, (1, 0, 2)), (a.shape[1], a.shape[0] * a.shape[2]))
    return operand("addbmm", input) * beta + matmul(flat, to_shape(b, (b.shape[0] * b.shape[1], b.shape[2]))) * alpha


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * x`` plus `alpha` times the outer product of two vectors.

    Parameters
    ----------
    x : Tensor
        Shape (n, m), or one that broadcasts to it.
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
    return operand("addr", x) * beta + outer(vec1, vec2) * alpha


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Tensor:
    """Scalar products of vectors along an axis; of complex ones the first is conjugated.

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
        At least two axes; the first counts the samples.
    axes : int or pair of int, optional
        The axes that are summed over, for both or for each; by default the last of `x1`, and of `x2` the second
        last (the last of a matrix).

    Returns
    -------
    Tensor
        The axes of `x1` without its own, then those of `x2` without sample and its own; at least two.

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
    return vector_norm(floating("dist", difference), p, ALL_AXES[difference.ndim], False)


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
    return vector_norm(difference, p, (x.ndim - 1,), False)


def renorm(input: Any, p: Any, axis: int, maxnorm: Any) -> Tensor:
    """Parts along an axis shortened to a norm, if they are longer.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    p : number
        The order of the norm.
    axis : int
        The axis that counts the parts.
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
    length = vector_norm(x, p, others, True)
    return where(length > maxnorm, x * (maxnorm / clamp(length, maxnorm)), x)


def matrix_norm(A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norms of matrices; see `norm`.

    Parameters
    ----------
    A : Tensor
        At least two axes.
    ord : {'fro', 'nuc', inf, -inf, 1, -1, 2, -2}, default 'fro'
        Which norm.
    axis : pair of int, default (-2, -1)
        The axes of the matrices.
    keepdims : bool, default False
        Keep these axes with length 1.
    dtype : type, optional
        Convert to this type before.

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
    return norm(A, ord, tuple(axis), keepdims, dtype=dtype)


# ----------------------------------------------------------------------------------------------------- statistics


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over axes that leaves nan out.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    axis : int or tuple of int, optional
        What is reduced; None stands for all axes.
    keepdims : bool, default False
        Keep the axes with length 1.
    dtype : type, optional
        Convert to this type before.

    Returns
    -------
    Tensor
        nan where there is nothing but nan.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nanmean(dg.Tensor([1.0, float("nan"), 4.0])))
    2.5
    """
    x = floating("nanmean", input if dtype is None else operand("nanmean", input).astype(dtype))
    there = (~_rows.isnan(x)).astype(x.dtype)
    return nansum(x, axis, keepdims) / sum(there, axis, keepdims)


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Median along an axis that leaves nan out, and where it is; of two middle elements the lower one.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int, default -1
        The axis.
    keepdims : bool, default False
        Keep the axis with length 1.

    Returns
    -------
    tuple of Tensor
        The medians, and their positions along the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> value, place = ops.nanmedian(dg.Tensor([1.0, float("nan"), 4.0, 3.0]))
    >>> print(value, place)
    3.0 3
    """
    x = operand("nanmedian", input)
    axis = one_axis("nanmedian", axis, x.shape)
    values, places = sort(x, axis)  # nan is last
    count = sum((~_rows.isnan(x)).astype(_dtype.int64), axis, True) if x.dtype.is_float else None
    middle = np.full(kept(x.shape, (axis,)), (x.shape[axis] - 1) // 2) if count is None else clamp((count - 1) // 2, 0)
    found = [gather_elements(part, axis, middle) for part in (values, places)]
    if not keepdims:
        found = [to_shape(part, dropped(x.shape, (axis,))) for part in found]
    return found[0], found[1].astype(_dtype.int64)


def quantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Quantiles, linear between neighbours; nan where there is nan.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    q : float, or Tensor or list of float
        Which quantiles, from 0 to 1. Derivatives go to the elements of `input` only.
    axis : int, optional
        The axis; None stands for all elements.
    keepdims : bool, default False
        Keep the axis with length 1.

    Returns
    -------
    Tensor
        With a vector `q` its axis comes first.

    Raises
    ------
    ValueError
        If a quantile is not between 0 and 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.quantile(dg.Tensor([1.0, 2.0, 4.0]), 0.75))
    3.0
    """
    return _quantiles("quantile", input, q, axis, keepdims, False)


def nanquantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Quantiles that leave nan out; parameters and results are those of `quantile`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nanquantile(dg.Tensor([1.0, float("nan"), 4.0, 2.0]), 0.75))
    3.0
    """
    return _quantiles("nanquantile", input, q, axis, keepdims, True)


def _quantiles(name: str, input: Any, q: Any, axis: Any, keepdims: bool, leave_out: bool) -> Tensor:
    x = floating(name, input)
    parts = np.asarray(operand(name, q)._numpy() if isinstance(q, Tensor) else q, np.float64)
    if parts.ndim > 1 or not ((parts >= 0) & (parts <= 1)).all() or not x.size:
        raise ValueError(
            f"{name}: q is {parts} for a tensor of shape {x.shape}; expected numbers from 0 to 1, and elements"
        )
    shape = x.shape
    result = kept(shape, tuple(range(x.ndim))) if axis is None else kept(shape, (one_axis(name, axis, shape),))
    if axis is None:
        flat = to_shape(x, (1, x.size))
    else:
        k = one_axis(name, axis, shape)
        flat = permuted(x, (*[j for j in range(x.ndim) if j != k], k))
        flat = to_shape(flat, (x.size // shape[k], shape[k]))
    values, missing = sort(flat, -1)[0], _rows.isnan(flat)
    n = flat.shape[1]
    last = (
        (n - 1) - sum(missing.astype(_dtype.int64), -1, True)
        if leave_out
        else Tensor(np.full((flat.shape[0], 1), n - 1))
    )
    place = clamp(last, 0).astype(_dtype.float64) * parts.reshape(1, -1)
    low = _rows.floor(place)
    weight = (place - low).astype(x.dtype)
    first = low.astype(_dtype.int64)
    a = gather_elements(values, 1, first)
    b = gather_elements(values, 1, clamp(first + 1, None, n - 1))
    found = where(weight == 0, a, a + (b - a) * weight)
    if not leave_out:
        found = where(to_shape((sum(missing.astype(_dtype.int64), -1) > 0), (flat.shape[0], 1)), math.nan, found)
    found = permuted(found, (1, 0))
    size = result if keepdims else (() if axis is None else dropped(shape, (one_axis(name, axis, shape),)))
    return to_shape(found, ((parts.size, *size) if parts.ndim else size))


def ptp(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest, over axes.

    Parameters
    ----------
    input : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What is reduced; None stands for all axes.
    keepdims : bool, default False
        Keep the axes with length 1.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ptp(dg.Tensor([1.0, 5.0, 3.0])))
    4.0
    """
    return amax(input, axis, keepdims) - amin(input, axis, keepdims)


def msort(input: Any) -> Tensor:
    """Elements sorted along the first axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.msort(dg.Tensor([3.0, 1.0, 2.0])))
    [1. 2. 3.]
    """
    return sort(input, 0)[0]


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The largest elements along the last axis, and where they are; see `topk`.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    k : int
        How many.
    sorted : bool, default True
        Whether they are in order.

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.top_k(dg.Tensor([1.0, 3.0, 2.0]), 2)[0])
    [3. 2.]
    """
    return topk(input_x, k, None, True, sorted)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, 2 ... is there, or the sums of weights of each.

    Parameters
    ----------
    input : Tensor of int
        A vector, no element negative.
    weights : Tensor, optional
        A weight for each element; derivatives go to them.
    minlength : int, default 0
        The least length of the result.

    Returns
    -------
    Tensor
        A vector, as long as the largest element and one more.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bincount(dg.Tensor([0, 1, 1, 3])))
    [1 2 0 1]
    """
    x = index_tensor("bincount", input)
    if x.ndim != 1 or (x.size and int(x._numpy().min()) < 0):
        raise ValueError(f"bincount: the input has shape {x.shape}; expected a vector of integers of 0 or more")
    n = builtins.max(int(x._numpy().max(initial=-1)) + 1, integer("bincount", "minlength", minlength), 1)
    each = Tensor.from_numpy(np.ones(x.shape, np.int64)) if weights is None else operand("bincount", weights)
    return unsorted_segment_sum(each, x, n)


def histc(input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements lie in each of several intervals of equal length.

    Parameters
    ----------
    input : Tensor
        Any shape.
    bins : int, default 100
        The number of intervals.
    min, max : float, default 0.0
        Where they begin and end; with equal numbers at the smallest and the largest element.

    Returns
    -------
    Tensor
        The type of `input`; slope 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.histc(dg.Tensor([1.0, 2.0, 1.0]), 4, 0.0, 3.0))
    [0. 2. 1. 0.]
    """
    x = operand("histc", input)
    if integer("histc", "bins", bins) < 1 or min > max:
        raise ValueError(f"histc: {bins} intervals from {min} to {max}; expected one at least, and min up to max")
    values = x._numpy()
    if min == max:
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        low, high = (low - 1, high + 1) if low == high else (low, high)
    else:
        low, high = min, max
    counts = np.histogram(values[(values >= low) & (values <= high)], bins, (low, high))[0]
    return Tensor.from_numpy(counts.astype(x.dtype.numpy))


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """In which interval each element lies.

    Parameters
    ----------
    input : Tensor
        Any shape.
    boundaries : list or tuple of number, or Tensor
        Where intervals end, ascending.
    right : bool, default False
        Whether an element that is equal to a boundary lies behind it.

    Returns
    -------
    Tensor
        Type Int32: the number of boundaries before.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bucketize(dg.Tensor([0.0, 2.0, 9.0]), [1, 2, 3]))
    [0 1 3]
    """
    x = operand("bucketize", input)
    edges = np.asarray(boundaries._numpy() if isinstance(boundaries, Tensor) else boundaries)
    column = to_shape(x, (*x.shape, 1))
    passed = column >= edges if right else column > edges
    return total(passed.astype(_dtype.int32), (x.ndim,), False)


def intopk(x1: Any, x2: Any, k: int) -> Tensor:
    """Whether the predictions of targets are among the k largest.

    Parameters
    ----------
    x1 : Tensor
        Predictions, shape (N, classes).
    x2 : Tensor of int
        Targets, shape (N,).
    k : int
        How many count.

    Returns
    -------
    Tensor
        Type Bool, shape (N,).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.intopk(dg.Tensor([[0.1, 0.7, 0.2]]), dg.Tensor([2]), 2))
    [ True]
    """
    x, target = operand("intopk", x1), index_tensor("intopk", x2)
    if x.ndim != 2 or target.shape != x.shape[:1]:
        raise ValueError(f"intopk: shapes {x.shape} and {target.shape}; expected (N, classes) and (N,)")
    own = gather_elements(x, 1, to_shape(target, (target.size, 1)))
    return total((x > own).astype(_dtype.int64), (1,), False) < k


def unique(input: Any) -> tuple[Tensor, Tensor]:
    """The different elements, in the order in which they come first, and which of them each element is.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    tuple of Tensor
        The elements; derivatives go to the first one of equals. Their numbers, of the shape of `input`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, numbers = ops.unique(dg.Tensor([5, 2, 5]))
    >>> print(values, numbers)
    [5 2] [0 1 0]
    """
    x = operand("unique", input)
    flat = to_shape(x, (x.size,))
    _, first, which = np.unique(flat._numpy(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return read("unique", (0,), flat, first[order]), Tensor.from_numpy(place[which].reshape(x.shape).astype(np.int64))


def argmax_with_value(input: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Where the largest element along an axis is, and what it is.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int, default 0
        The axis.
    keep_dims : bool, default False
        Keep the axis with length 1.

    Returns
    -------
    tuple of Tensor
        The positions, of several the first, and the elements.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> place, value = ops.argmax_with_value(dg.Tensor([1.0, 5.0, 3.0]))
    >>> print(place, value)
    1 5.0
    """
    value, place = max(input, axis, keep_dims)
    return place, value


def argmin_with_value(input: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Where the smallest element along an axis is, and what it is; parameters are those of `argmax_with_value`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> place, value = ops.argmin_with_value(dg.Tensor([1.0, 5.0, 3.0]))
    >>> print(place, value)
    0 1.0
    """
    value, place = min(input, axis, keep_dims)
    return place, value


def _reduced(name: str, what: str, function: Callable[..., Tensor], result: str) -> Callable[..., Tensor]:
    def reduction(x: Any, axis: Any = ()) -> Tensor:
        x = operand(name, x)
        return function(x, axis, dtype=x.dtype) if function is sum and not x.dtype.is_bool else function(x, axis)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"""{what} over axes, in the type of the operand; see `{function.__name__}`.

    Parameters
    ----------
    x : Tensor
        Any shape.
    axis : int or tuple of int, default ()
        What is reduced; () stands for all axes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.{name}(dg.Tensor([[1.0, 2.0], [3.0, 6.0]]), 1))
    {result}
    """
    return reduction


reduce_sum = _reduced("reduce_sum", "Sum", sum, "[3. 9.]")
reduce_mean = _reduced("reduce_mean", "Mean", mean, "[1.5 4.5]")
reduce_max = _reduced("reduce_max", "Largest element", amax, "[2. 6.]")
reduce_min = _reduced("reduce_min", "Smallest element", amin, "[1. 3.]")


# --------------------------------------------------------------------------------------------- primitive classes


def _halved(x: Any) -> Tensor:
    x = floating("L2Loss", x)
    return sum(_rows.square(x)) / 2


def _two_sums(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    return sum(_rows.square(operand("SquareSumAll", x))), sum(_rows.square(operand("SquareSumAll", y)))


def _euclidean(x: Any, axes: Any = (), keepdims: bool = False) -> Tensor:
    return _rows.sqrt(sum(_rows.square(operand("EuclideanNorm", x)), axes, keepdims))


def _spread(x: Any, axis: Any = (), unbiased: bool = True, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    axis = tuple(axis) if isinstance(axis, tuple | list) else axis
    return std(x, axis, int(unbiased), keepdims), mean(x, axis, keepdims)


class AccumulateNV2(Derived, function=accumulate_n, example="""
>>> print(ops.AccumulateNV2()((dg.Tensor([1.0]), dg.Tensor([2.0]))))
[3.]
"""):  # fmt: skip
    __slots__ = ()


class ApproximateEqual(Derived, function=approximate_equal, tolerance=1e-5, call="x, y", example="""
>>> print(ops.ApproximateEqual(1.0)(dg.Tensor([1.0, 2.0]), dg.Tensor([1.5, 4.0])))
[ True False]
"""):  # fmt: skip
    __slots__ = ()


class ArgMaxWithValue(Derived, function=argmax_with_value, axis=0, keep_dims=False, example="""
>>> print(ops.ArgMaxWithValue()(dg.Tensor([1.0, 5.0, 3.0]))[1])
5.0
"""):  # fmt: skip
    __slots__ = ()


class ArgMinWithValue(Derived, function=argmin_with_value, axis=0, keep_dims=False, example="""
>>> print(ops.ArgMinWithValue()(dg.Tensor([1.0, 5.0, 3.0]))[1])
1.0
"""):  # fmt: skip
    __slots__ = ()


class CountNonZero(Derived, function=count_nonzero, renamed={"dims": "axis"}, dims=None, example="""
>>> print(ops.CountNonZero()(dg.Tensor([1.0, 0.0, 3.0])))
2
"""):  # fmt: skip
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


class InTopK(Derived, function=intopk, k=REQUIRED, call="x1, x2", example="""
>>> print(ops.InTopK(2)(dg.Tensor([[0.1, 0.7, 0.2]]), dg.Tensor([2])))
[ True]
"""):  # fmt: skip
    __slots__ = ()


class IsClose(Derived, function=isclose, rtol=1e-5, atol=1e-8, equal_nan=False, call="input, other", example="""
>>> print(ops.IsClose()(dg.Tensor([1.0, 1.0]), dg.Tensor([1.0000001, 1.1])))
[ True False]
"""):  # fmt: skip
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


class Logit(Derived, function=logit, eps=-1.0, example="""
>>> print(ops.Logit()(dg.Tensor([0.5])))
[0.]
"""):  # fmt: skip
    __slots__ = ()


class ReduceStd(Derived, function=_spread, renamed={"keep_dims": "keepdims"}, axis=(), unbiased=True, keep_dims=False):
    """Standard deviation and mean over axes: ``ops.ReduceStd(axis=(), unbiased=True, keep_dims=False)(x)``; see `std`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> spread, mean = ops.ReduceStd(unbiased=False)(dg.Tensor([1.0, 3.0]))
    >>> print(spread, mean)
    1.0 2.0
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


class TruncateDiv(Derived, function=truncate_div, call="x, y", example="""
>>> print(ops.TruncateDiv()(dg.Tensor([7, -7]), 2))
[ 3 -3]
"""):  # fmt: skip
    __slots__ = ()


class TruncateMod(Derived, function=truncate_mod, call="x, y", example="""
>>> print(ops.TruncateMod()(dg.Tensor([7, -7]), 2))
[ 1 -1]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "addbmm": addbmm,
    "addr": addr,
    "allclose": allclose,
    "approximate_equal": approximate_equal,
    "argmax_with_value": argmax_with_value,
    "argmin_with_value": argmin_with_value,
    "bincount": bincount,
    "bitwise_and": bitwise_and,
    "bitwise_left_shift": bitwise_left_shift,
    "bitwise_not": bitwise_not,
    "bitwise_or": bitwise_or,
    "bitwise_right_shift": bitwise_right_shift,
    "bitwise_xor": bitwise_xor,
    "histc": histc,
    "invert": bitwise_not,
    "isclose": isclose,
    "isneginf": isneginf,
    "isposinf": isposinf,
    "isreal": isreal,
    "logit": logit,
    "msort": msort,
    "nanmean": nanmean,
    "nanmedian": nanmedian,
    "nanquantile": nanquantile,
    "ptp": ptp,
    "quantile": quantile,
    "renorm": renorm,
    "signbit": signbit,
    "top_k": top_k,
    "unique": unique,
}
