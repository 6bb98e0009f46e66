"""Reductions: sums, means, products and running sums over axes.

`axis` is None or () for all axes, an int, or a tuple of ints. Sums, extremes and truth values are primitives;
the rest is composed of them, so it has derivatives of any order without a rule of its own. Some compositions
are chosen for their derivatives:

* `prod` multiplies halves pairwise. Nothing is divided, so zeros among the factors give exact derivatives of
  every order.
* `logsumexp` shifts by the maximum as a constant. The result does not depend on the shift, so neither do
  derivatives.
* `std` is a root. Where the variance is 0 its slope is 0 too, and zero absorbs: the slope is 0 there, not
  nan.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._engine import tensor as _engine
from ..dtype import as_dtype
from ..tensor import Tensor
from . import _extremes, _norms, _truth
from ._arguments import (
    IS_FLOAT,
    OP,
    Primitive,
    Reduction,
    dropped,
    floating,
    kept,
    one_axis,
    operand,
    permuted,
    reduced_axes,
    respell,
    to_shape,
    total,
)
from ._extremes import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._truth import *  # noqa: F403

__all__ = [
    "CumSum", "ReduceMean", "ReduceProd", "ReduceSum", "cumsum", "logsumexp", "mean", "prod", "std", "sum",
    "var",
]  # fmt: skip
__all__ += _extremes.__all__
__all__ += _norms.__all__
__all__ += _truth.__all__

_CUMSUM, _MAX = OP["cumsum"], OP["reduce_max"]
_SLICE, _UNSLICE, _WHERE = OP["slice"], OP["unslice"], OP["where"]
_DIV, _EXP, _ISFINITE, _LOG = OP["div"], OP["exp"], OP["isfinite"], OP["log"]
_SQRT, _SQUARE = OP["sqrt"], OP["square"]


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    if len(axes) == x.ndim:
        return x.size
    shape = x.shape
    return math.prod([shape[k] for k in axes])


# ------------------------------------------------------------------------------------------ sums and averages


def sum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Sum over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to sum over; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type before summing.

    Returns
    -------
    Tensor
        Type of `x`; Int64 for integers and bools.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis (an error that is both a ValueError and an IndexError).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.sum(x), ops.sum(x, 0), ops.sum(x, dim=1, keepdim=True).shape)
    10.0 [4. 6.] (2, 1)
    """
    if other:
        axis, keepdims = respell("sum", other, axis=axis, keepdims=keepdims)
    x = operand("sum", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="sum").num)
    elif x._typenum not in IS_FLOAT:
        x = _engine.convert(x, _dtype.int64.num)
    return total(x, reduced_axes("sum", axis, x), keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Arithmetic mean over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to average over; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type before summing.

    Returns
    -------
    Tensor
        Type of `x`; Float32 for integers and bools. nan where there is nothing to average.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 5.0]])
    >>> print(ops.mean(x), ops.mean(x, 0))
    2.75 [2.  3.5]
    """
    if other:
        axis, keepdims = respell("mean", other, axis=axis, keepdims=keepdims)
    x = operand("mean", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="mean").num)
    x = floating("mean", x)
    return _average(x, reduced_axes("mean", axis, x), keepdims)


def _average(x: Tensor, axes: tuple[int, ...], keepdims: bool, less: float = 0) -> Tensor:
    """The sum over axes divided by the number of elements, or by `less` less than it."""
    if x._typenum == _dtype.float16.num:  # neither the sum nor the count need fit into float16 where the mean does
        wide = _average(_engine.convert(x, _dtype.float32.num), axes, keepdims, less)
        return _engine.convert(wide, _dtype.float16.num)
    return _engine.binary_op(_DIV, total(x, axes, keepdims), float(builtins.max(_count(x, axes) - less, 0)))


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Variance over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    ddof : int, default 0
        The sum of squared deviations is divided by the number of elements less this.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

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
    >>> x = dg.Tensor([[1.0, 3.0], [2.0, 8.0]])
    >>> print(ops.var(x, 1), ops.var(x, 1, ddof=1))
    [1. 9.] [ 2. 18.]
    """
    if other:
        axis, keepdims = respell("var", other, axis=axis, keepdims=keepdims)
    x = floating("var", x)
    return _variance(x, reduced_axes("var", axis, x), ddof, keepdims)


def _variance(x: Tensor, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Tensor:
    deviation = x - _average(x, axes, True)
    return _average(_engine.unary(_SQUARE, deviation), axes, keepdims, ddof)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Standard deviation over axes: the square root of `var`, with slope 0 where it is 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    ddof : int, default 0
        The sum of squared deviations is divided by the number of elements less this.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

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
    >>> print(ops.std(dg.Tensor([[1.0, 3.0], [2.0, 8.0]]), 1))
    [1. 3.]
    """
    if other:
        axis, keepdims = respell("std", other, axis=axis, keepdims=keepdims)
    x = floating("std", x)
    return _engine.unary(_SQRT, _variance(x, reduced_axes("std", axis, x), ddof, keepdims))


def prod(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Product over axes; derivatives are exact where factors are 0, too.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to multiply; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Type of `x`; Int64 for bools.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Notes
    -----
    The factors are multiplied as a balanced tree of log2(n) elementwise products.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.prod(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
    [ 2. 12.]
    >>> print(dg.grad(ops.prod)(dg.Tensor([0.0, 2.0, 3.0])))
    [6. 0. 0.]
    """
    if other:
        axis, keepdims = respell("prod", other, axis=axis, keepdims=keepdims)
    x = operand("prod", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="prod").num)
    elif x.dtype.is_bool:
        x = _engine.convert(x, _dtype.int64.num)
    return _product(x, reduced_axes("prod", axis, x), keepdims)


def _product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    shape = x.shape
    result = kept(shape, axes) if keepdims else dropped(shape, axes)
    n = _count(x, axes)
    if n == 0:
        return Tensor(np.ones(result, x.dtype.numpy))
    rest = dropped(shape, axes)
    x = to_shape(permuted(x, axes + tuple([k for k in range(len(shape)) if k not in axes])), (n,) + rest)
    whole = tuple([(0, length, 1) for length in rest])
    odd = None  # factors left over where a half does not come out even
    while n > 1:
        if n % 2:
            last = _engine.apply(_SLICE, ((n - 1, 1, 1),) + whole, x)
            odd = last if odd is None else odd * last
        n //= 2
        x = _engine.apply(_SLICE, ((0, n, 1),) + whole, x) * _engine.apply(_SLICE, ((n, n, 1),) + whole, x)
    return to_shape(x if odd is None else x * odd, result)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Logarithm of the sum of exponentials, without overflow.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there is nothing to reduce.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logsumexp(dg.Tensor([1000.0, 1000.0]), 0))
    1000.6932
    """
    if other:
        axis, keepdims = respell("logsumexp", other, axis=axis, keepdims=keepdims)
    x = floating("logsumexp", x)
    axes = reduced_axes("logsumexp", axis, x)
    largest = _engine.apply(_MAX, (axes, True), _engine.stop(x))
    finite = _engine.unary(_ISFINITE, largest)  # inf - inf would be nan
    shift = _engine.apply(_WHERE, None, finite, largest, np.zeros((), x.dtype.numpy))
    result = _engine.unary(_LOG, total(_engine.unary(_EXP, x - shift), axes, True)) + shift
    return result if keepdims else to_shape(result, dropped(x.shape, axes))


# ------------------------------------------------------------------------------------------ running sums


def cumsum(x: Any, axis: Any = None, dtype: Any = None, **other: Any) -> Tensor:
    """Running sums along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int, optional
        The axis to sum along; None stands for all elements in order. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Shape of `x` (one axis where `axis` is None) and type of `x` (Int64 for bools).

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cumsum(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 1))
    [[ 1.  3.  6.]
     [ 4.  9. 15.]]
    """
    if other:
        axis = respell("cumsum", other, axis=axis)
    x = operand("cumsum", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="cumsum").num)
    return _running_sum(x, axis, False)


def _running_sum(x: Tensor, axis: Any, reverse: bool) -> Tensor:
    if x.dtype.is_bool:
        x = _engine.convert(x, _dtype.int64.num)
    if axis is None:
        axis, x = 0, to_shape(x, (x.size,))
    return _engine.apply(_CUMSUM, (one_axis("cumsum", axis, x.shape), builtins.bool(reverse)), x)


# ------------------------------------------------------------------------------------------ primitive classes


class ReduceSum(Reduction):
    """Sum over axes, in the type of the operand.

    Parameters
    ----------
    keep_dims : bool, default False
        Keep the axes with length 1.
    skip_mode : bool, default False
        With True, an empty tuple of axes reduces nothing instead of everything.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceSum(keep_dims=True)(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
    [[3.]
     [7.]]
    """

    __slots__ = ("skip_mode",)

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None:
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x)
        if self.skip_mode and isinstance(axis, tuple | list) and not axis:
            return +x
        if x.dtype.is_bool:
            x = _engine.convert(x, _dtype.int64.num)
        return total(x, reduced_axes("ReduceSum", axis, x), self.keep_dims)


class ReduceMean(Reduction):
    """Mean over axes; see `mean`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceMean()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [2. 3.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return mean(x, axis, self.keep_dims)


class ReduceProd(Reduction):
    """Product over axes; see `prod`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceProd()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [3. 8.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return prod(x, axis, self.keep_dims)


class CumSum(Primitive):
    """Running sums along an axis.

    Parameters
    ----------
    exclusive : bool, default False
        Leave the element itself out of its sum, so that the first sum is 0.
    reverse : bool, default False
        Sum from the end.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> print(ops.CumSum()(x, 0), ops.CumSum(exclusive=True)(x, 0), ops.CumSum(reverse=True)(x, 0))
    [1. 3. 6.] [0. 1. 3.] [6. 5. 3.]
    """

    __slots__ = ("exclusive", "reverse")

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        self.exclusive = exclusive
        self.reverse = reverse

    def __call__(self, x: Any, axis: Any) -> Tensor:
        x = operand("CumSum", x)
        axis = one_axis("CumSum", axis, x.shape)
        sums = _running_sum(x, axis, self.reverse)
        n = x.shape[axis]
        if not self.exclusive or n == 0:
            return sums
        # the sums move by one place, a 0 comes in: nothing is subtracted, so nothing cancels
        whole = [(0, length, 1) for length in x.shape]
        first, rest = list(whole), list(whole)
        first[axis], rest[axis] = (0, n - 1, 1), (1, n - 1, 1)
        taken, placed = (rest, first) if self.reverse else (first, rest)
        return _engine.apply(_UNSLICE, (x.shape, tuple(placed)), _engine.apply(_SLICE, tuple(taken), sums))


def _sum_method(x: Tensor, axis: Any = None, dtype: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    if isinstance(dtype, bool):  # x.sum(axis, keepdim), the order of the function
        dtype, keepdims = None, dtype
    return sum(x, axis, keepdims, dtype=dtype, **other)


METHODS: dict[str, Any] = {
    "sum": _sum_method,
    "mean": mean,
    "prod": prod,
    "std": std,
    "var": var,
    "logsumexp": logsumexp,
    "cumsum": cumsum,
    **_extremes.METHODS,
    **_norms.METHODS,
    **_truth.METHODS,
}
