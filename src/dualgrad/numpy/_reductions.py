"""NumPy's reductions for tensors, with its keywords `where` (the elements that count) and `initial` (the first value).

Elements that do not count are replaced by the neutral number: 0 in a sum, 1 in a product, the lowest number in a
maximum. Reductions that skip nan use the same way with one more condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._settings import number_or_tensor, truth_value
from ..dtype import uint64, uint_type
from ..ops._arguments import beside, expanded, floating, one_axis, operand, to_shape
from ..ops.index.choice import where as _where
from ..ops.math import elementwise as _rows
from ..ops.math.complex import conj, real
from ..ops.math.reductions import all as _all
from ..ops.math.reductions import amax, amin, argmax, argmin, cumprod, cumsum, mean, prod, std, var
from ..ops.math.reductions import any as _any
from ..ops.math.reductions import sum as _sum
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import FUNCTIONS, implements, numbers

__all__ = ["all_of", "any_of", "largest", "product", "smallest", "total"]

Reduction = Callable[..., Tensor]


def _over(reduce: Reduction, x: Tensor, axis: Any, keepdims: bool, **more: Any) -> Tensor:
    """Call a reduction of this library. An empty tuple of axes reduces nothing, as in NumPy."""
    if isinstance(axis, tuple) and not axis:
        return reduce(to_shape(x, (*x.shape, 1)), -1, **more)
    return reduce(x, axis, keepdims=keepdims, **more)


def _counting(name: str, x: Tensor, where: Any) -> Tensor | None:
    """A mask of the elements that count, in the shape of x; None means all."""
    if where is True:
        return None
    mask = tensor_of(where)
    if not mask.dtype.is_bool:
        raise TypeError(f"{name}: where is of type {mask.dtype}; expected bools")
    try:
        return expanded(mask, np.broadcast_shapes(mask.shape, x.shape))
    except ValueError:
        raise ValueError(f"{name}: where of shape {mask.shape} does not fit a tensor of shape {x.shape}") from None


def _adding(name: str, reduce: Reduction, neutral: int, join: Callable[[Any, Any], Tensor]) -> Reduction:
    """Make a sum or product. It widens integers, and unsigned ones stay unsigned."""

    def reduction(
        a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Tensor:
        a = operand(name, a)
        if dtype is None and a.dtype in uint_type:
            dtype = uint64
        mask = _counting(name, a, where)
        a = a if dtype is None else a.astype(dtype)
        a = a if mask is None else _where(mask, a, neutral)
        found = _over(reduce, a, axis, keepdims, dtype=dtype)
        return found if initial is None else join(found, number_or_tensor(name, "initial", initial))

    return reduction


total = _adding("sum", _sum, 0, lambda found, initial: found + initial)
product = _adding("prod", prod, 1, lambda found, initial: found * initial)


def _lowest(x: Tensor) -> Any:
    """The lowest number of a type."""
    if x.dtype.is_float:
        return -np.inf
    return False if x.dtype.is_bool else np.iinfo(x.dtype.numpy).min


def _highest(x: Tensor) -> Any:
    if x.dtype.is_float:
        return np.inf
    return True if x.dtype.is_bool else np.iinfo(x.dtype.numpy).max


def _extreme(name: str, reduce: Reduction, neutral: Callable[[Tensor], Any], join: Any) -> Reduction:
    def reduction(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
        a = operand(name, a)
        mask = _counting(name, a, where)
        if initial is None:
            if mask is not None:
                raise ValueError(f"{name}: where is given without initial; expected the result where no element counts")
            return _over(reduce, a, axis, keepdims)
        first = beside(name, initial, a)
        a = a if mask is None else _where(mask, a, neutral(a))
        if not a.size:
            return first + _over(_sum, a, axis, keepdims)
        return join(_over(reduce, a, axis, keepdims), first)

    return reduction


largest = _extreme("max", amax, _lowest, _rows.maximum)
smallest = _extreme("min", amin, _highest, _rows.minimum)


def _truth(name: str, reduce: Reduction, neutral: bool) -> Reduction:
    def reduction(a: Any, axis: Any = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
        a = operand(name, a)
        mask = _counting(name, a, where)
        return _over(reduce, a if mask is None else _where(mask, a != 0, neutral), axis, keepdims)

    return reduction


all_of = _truth("all", _all, True)
any_of = _truth("any", _any, False)


def _place(reduce: Reduction) -> Reduction:
    def reduction(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _over(reduce, operand("argmax", a), axis, keepdims)

    return reduction


for _handler, _functions in (
    (total, (np.sum,)),
    (product, (np.prod,)),
    (largest, (np.max, np.amax)),
    (smallest, (np.min, np.amin)),
    (all_of, (np.all,)),
    (any_of, (np.any,)),
    (_place(argmax), (np.argmax,)),
    (_place(argmin), (np.argmin,)),
):
    implements(*_functions)(_handler)


# ------------------------------------------------------------------------------------------------------ moments


def _numerous(mask: Tensor, like: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """The number of elements that count."""
    return _over(_sum, expanded(mask, like.shape).astype(real(like).dtype), axis, keepdims)


def _mean_of(a: Tensor, mask: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return _over(_sum, _where(mask, a, 0), axis, keepdims) / _numerous(mask, a, axis, keepdims)


def _variance_of(
    a: Tensor, mask: Tensor, axis: Any, keepdims: bool, ddof: Any, around: Any, nothing: float = 0.0
) -> Tensor:
    """Mean squared distance from the mean, or from `around`. `nothing` replaces a zero number of degrees of freedom."""
    middle = _mean_of(a, mask, axis, True) if around is None else tensor_of(around)
    residual = _where(mask, a - middle, 0)
    free = _numerous(mask, a, axis, keepdims) - number_or_tensor("nanvar", "ddof", ddof)
    return _over(_sum, real(residual * conj(residual)), axis, keepdims) / _where(free > 0, free, nothing)


def _degrees_of_freedom(name: str, ddof: Any, correction: Any) -> Any:
    """The number to subtract from the number of elements; the array API standard calls it correction."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError(f"np.{name}: ddof and correction are two names of one number; got {ddof} and {correction}")
    return correction


@implements(np.mean)
def _np_mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    a = operand("mean", a)
    mask = _counting("mean", a, where)
    a = a if dtype is None else a.astype(dtype)
    if mask is None:
        return _over(mean, a, axis, keepdims)
    return _mean_of(floating("mean", a), mask, axis, keepdims)


def _spread(function: Any, ours: Reduction, root: bool) -> None:
    name = function.__name__

    @implements(function)
    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Tensor:
        less = _degrees_of_freedom(name, ddof, correction)
        a = operand(name, a)
        mask = _counting(name, a, where)
        a = a if dtype is None else a.astype(dtype)
        if mask is None and mean is None:
            return _over(ours, a, axis, keepdims, ddof=less)
        a = floating(name, a)
        mask = Tensor(np.ones(a.shape, bool)) if mask is None else mask
        found = _variance_of(a, mask, axis, keepdims, less, mean)
        return _rows.sqrt(found) if root else found


_spread(np.var, var, False)
_spread(np.std, std, True)


# ------------------------------------------------------------------------------------------------- without nan


def _there(name: str, a: Tensor, where: Any) -> Tensor:
    """A mask of the elements that count and are not nan."""
    there = _rows.logical_not(_rows.isnan(a))
    mask = _counting(name, a, where)
    return there if mask is None else there & mask


@implements(np.nansum)
def _np_nansum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    a = operand("nansum", a)
    return total(_where(_rows.isnan(a), 0, a), axis, dtype, keepdims, initial, where)


@implements(np.nanprod)
def _np_nanprod(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    a = operand("nanprod", a)
    return product(_where(_rows.isnan(a), 1, a), axis, dtype, keepdims, initial, where)


def _nan_scan(function: Any, scan: Reduction, neutral: int) -> None:
    @implements(function)
    def handler(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
        a = operand(function.__name__, a)
        a = _where(_rows.isnan(a), neutral, a)
        return scan(to_shape(a, (a.size,)) if axis is None else a, 0 if axis is None else axis, dtype)


_nan_scan(np.nancumsum, cumsum, 0)
_nan_scan(np.nancumprod, cumprod, 1)


@implements(np.nanmean)
def _np_nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    a = floating("nanmean", a if dtype is None else operand("nanmean", a).astype(dtype))
    return _mean_of(a, _there("nanmean", a, where), axis, keepdims)


def _nan_spread(function: Any, root: bool) -> None:
    name = function.__name__

    @implements(function)
    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Tensor:
        less = _degrees_of_freedom(name, ddof, correction)
        a = floating(name, a if dtype is None else operand(name, a).astype(dtype))
        found = _variance_of(a, _there(name, a, where), axis, keepdims, less, mean, np.nan)
        return _rows.sqrt(found) if root else found


_nan_spread(np.nanvar, False)
_nan_spread(np.nanstd, True)


def _nan_extreme(function: Any, extreme: Reduction, worst: float) -> None:
    name = function.__name__

    @implements(function)
    def reduction(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
        a = floating(name, a)
        if where is not True and initial is None:
            raise ValueError(f"{name}: where is given without initial; expected the result where no element counts")
        there = _there(name, a, where)
        found = extreme(_where(there, a, worst), axis, keepdims, initial)
        if initial is not None:
            return found
        return _where(_numerous(there, a, axis, keepdims) == 0, np.nan, found)


_nan_extreme(np.nanmax, largest, -np.inf)
_nan_extreme(np.nanmin, smallest, np.inf)


def _nan_place(function: Any) -> None:
    @implements(function)
    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        a = tensor_of(a)
        if axis is not None:
            axis = one_axis(f"np.{function.__name__}", axis, a.shape)
        keepdims = truth_value(f"np.{function.__name__}", "keepdims", keepdims)
        return Tensor(np.asarray(function(numbers(a), axis, keepdims=keepdims)))


_nan_place(np.nanargmax)
_nan_place(np.nanargmin)


@implements(np.ptp)
def _np_ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return FUNCTIONS[np.max](a, axis, keepdims) - FUNCTIONS[np.min](a, axis, keepdims)
