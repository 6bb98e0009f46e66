"""Reductions over axes: sums, products, logarithms of sums.

`axis` is None or () for all axes, an int, or a tuple of ints. Sums, extremes and truth values are primitives;
the rest is composed of them, so it has derivatives of any order without a rule of its own. Some compositions
are chosen for their derivatives:

* `prod` multiplies halves pairwise. Nothing is divided, so zeros among the factors give exact derivatives of
  every order.
* `logsumexp` keeps derivatives from cancelling as `_exponentials.py` says.

Means and variances, extremes, truth values and running sums have files of their own and are gathered here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    IS_FLOAT,
    OP,
    Reduction,
    dropped,
    floating,
    kept,
    operand,
    permuted,
    reduced_axes,
    reduced_count,
    respell,
    to_shape,
    total,
)
from . import _extremes, _moments, _scans, _truth
from ._exponentials import Exponentials
from ._extremes import *  # noqa: F403
from ._moments import *  # noqa: F403
from ._scans import *  # noqa: F403
from ._truth import *  # noqa: F403

__all__ = ["ReduceProd", "ReduceSum", "logsumexp", "nansum", "prod", "sum"]
__all__ += _extremes.__all__
__all__ += _moments.__all__
__all__ += _scans.__all__
__all__ += _truth.__all__

_ISNAN, _SLICE, _WHERE = OP["isnan"], OP["slice"], OP["where"]


# ------------------------------------------------------------------------------------------ sums and products


def sum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Sum over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to sum over; None and () stand for all axes. Also spelled `dim`.
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


def nansum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Sum over axes that leaves nan out; elements left out have derivative 0.

    Parameters, results and errors are as in `sum`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, float("nan")], [3.0, 4.0]])
    >>> print(ops.nansum(x), ops.nansum(x, 0))
    8.0 [4. 4.]
    """
    x = operand("nansum", x)
    if x._typenum in IS_FLOAT:
        x = _engine.apply(_WHERE, None, _engine.unary(_ISNAN, x), np.zeros((), x.dtype.numpy), x)
    return sum(x, axis, keepdims, dtype=dtype, **other)


def prod(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Product over axes; derivatives are exact where factors are 0, too.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to multiply; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Type of `x`; Int64 for integers and bools.

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
    elif x._typenum not in IS_FLOAT:
        x = _engine.convert(x, _dtype.int64.num)
    return _product(x, reduced_axes("prod", axis, x), keepdims)


def _product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    shape = x.shape
    truth_value("prod", "keepdims", keepdims)
    result = kept(shape, axes) if keepdims else dropped(shape, axes)
    n = reduced_count(x, axes)
    if n == 0:
        return Tensor(np.ones(result, x.dtype.numpy))
    rest = dropped(shape, axes)
    x = to_shape(permuted(x, axes + tuple([k for k in range(len(shape)) if k not in axes])), (n,) + rest)
    whole = tuple([(0, length, 1) for length in rest])
    odd = None  # factors left over by odd halves
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
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Notes
    -----
    The logarithm of an empty sum is log(0), -inf.

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
    if x.size:
        exponentials = Exponentials.of(x, axes)
        result = exponentials.log_sum() + exponentials.shift
    else:  # no maximum to shift by
        result = _engine.unary(OP["log"], total(_engine.unary(OP["exp"], x), axes, True))
    truth_value("logsumexp", "keepdims", keepdims)
    return result if keepdims else to_shape(result, dropped(x.shape, axes))


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
        self.skip_mode: bool = skip_mode

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x)
        if self.skip_mode and isinstance(axis, tuple | list) and not axis:
            return +x
        if x.dtype.is_bool:
            x = _engine.convert(x, _dtype.int64.num)
        return total(x, reduced_axes("ReduceSum", axis, x), self.keep_dims)


class ReduceProd(Reduction, of=prod):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceProd", x)
        return prod(x, axis, self.keep_dims, dtype=None if x.dtype.is_bool else x.dtype)


def _sum_method(x: Tensor, axis: Any = None, dtype: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    if isinstance(dtype, bool):  # x.sum(axis, keepdim), the order of the function
        dtype, keepdims = None, dtype
    return sum(x, axis, keepdims, dtype=dtype, **other)


METHODS: dict[str, Any] = {
    "sum": _sum_method,
    "nansum": nansum,
    "prod": prod,
    "logsumexp": logsumexp,
    **_extremes.METHODS,
    **_moments.METHODS,
    **_scans.METHODS,
    **_truth.METHODS,
}
