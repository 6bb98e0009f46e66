"""Means, medians and quantiles, and reductions under the names of ported code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import truth_value
from ...tensor import Tensor
from .._arguments import dropped, floating, kept, one_axis, operand, to_shape
from ..index.choice import clamp
from ..index.gather import gather_elements
from ..index.sorting import median, sort
from ..math import elementwise as _rows
from ..math.reductions import amax, amin, count_nonzero, max, mean, min, nansum, std, sum
from ._classes import Derived
from ._order_statistics import quantiles

__all__ = [
    "ArgMaxWithValue", "ArgMinWithValue", "CountNonZero", "Median", "ReduceStd", "argmax_with_value",
    "argmin_with_value", "nanmean", "nanmedian", "nanquantile", "ptp", "quantile", "reduce_max", "reduce_mean",
    "reduce_min", "reduce_sum",
]  # fmt: skip


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over axes that leaves nan out.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    axis : int or tuple of int, optional
        The axes to reduce; None stands for all axes.
    keepdims : bool, default False
        Keep the axes with length 1.
    dtype : type, optional
        Convert to this type first.

    Returns
    -------
    Tensor
        nan if all elements are nan.

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
    """Median along an axis that leaves nan out, and its position; of two middle elements the lower one.

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
    truth_value("nanmedian", "keepdims", keepdims)
    if not keepdims:
        found = [to_shape(part, dropped(x.shape, (axis,))) for part in found]
    return found[0], found[1].astype(_dtype.int64)


def quantile(input: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Quantiles, linear between neighbours; nan if any element is nan.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    q : float, or Tensor or list of float
        The quantiles, from 0 to 1.
    axis : int or tuple of int, optional
        The axes to reduce; None stands for all axes.
    keepdims : bool, default False
        Keep the axes with length 1.

    Returns
    -------
    Tensor
        The axes of `q` come first.

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
    return quantiles("quantile", input, q, axis, keepdims)


def nanquantile(input: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Quantiles that leave nan out; parameters and results are as in `quantile`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nanquantile(dg.Tensor([1.0, float("nan"), 4.0, 2.0]), 0.75))
    3.0
    """
    return quantiles("nanquantile", input, q, axis, keepdims, leave_out=True)


def ptp(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element minus the smallest, over axes.

    Parameters
    ----------
    input : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to reduce; None stands for all axes.
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


def argmax_with_value(input: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Position and value of the largest element along an axis.

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
        The positions, of equal elements the first, and the elements.

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
    """Position and value of the smallest element along an axis; parameters are as in `argmax_with_value`.

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


reduce_sum: Callable[..., Tensor] = _reduced("reduce_sum", "Sum", sum, "[3. 9.]")


reduce_mean: Callable[..., Tensor] = _reduced("reduce_mean", "Mean", mean, "[1.5 4.5]")


reduce_max: Callable[..., Tensor] = _reduced("reduce_max", "Largest element", amax, "[2. 6.]")


reduce_min: Callable[..., Tensor] = _reduced("reduce_min", "Smallest element", amin, "[1. 3.]")


# ------------------------------------------------------------------------------------------ primitive classes


def _spread(x: Any, axis: Any = (), unbiased: bool = True, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    axis = tuple(axis) if isinstance(axis, tuple | list) else axis
    return std(x, axis, int(unbiased), keepdims), mean(x, axis, keepdims)


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


def _middle(x: Any, global_median: bool, axis: int, keep_dims: bool, ignore_nan: bool) -> tuple[Tensor, Tensor]:
    x = operand("Median", x)
    if global_median:
        x, axis, keep_dims = to_shape(x, (x.size,)), 0, False
    if x.dtype.is_float and not x.size:
        axes = (one_axis("Median", axis, x.shape),)
        shape = kept(x.shape, axes) if keep_dims else dropped(x.shape, axes)
        return Tensor._owning(np.full(shape, np.nan, x.dtype.numpy)), Tensor._owning(np.zeros(shape, np.int64))
    return nanmedian(x, axis, keep_dims) if ignore_nan and x.size else median(x, axis, keep_dims)


class Median(Derived, function=_middle, global_median=False, axis=0, keep_dims=False, ignore_nan=False, call="x"):
    """Primitive class of `median`: ``ops.Median(global_median=False, axis=0, keep_dims=False, ignore_nan=False)(x)``.

    It gives medians and their positions. `global_median` takes the median of all elements in order, and `ignore_nan`
    leaves nan out, as `nanmedian` does. The median of no floating numbers is nan.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.Median(True)(dg.Tensor([[4.0, 1.0], [3.0, 2.0]])))
    2.0 3
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "argmax_with_value": argmax_with_value,
    "argmin_with_value": argmin_with_value,
    "nanmean": nanmean,
    "nanmedian": nanmedian,
    "nanquantile": nanquantile,
    "ptp": ptp,
    "quantile": quantile,
}
