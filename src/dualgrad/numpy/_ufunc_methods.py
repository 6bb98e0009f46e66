"""Methods of NumPy's ufuncs on tensors: `reduce`, `accumulate`, `reduceat`, `outer` and `at`.

A reduction or scan of this library is used where it computes the same. Otherwise the function is applied slice by
slice, as NumPy defines it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.handles import one_step
from ..ops._arguments import beside, expanded, integer, one_axis, operand, reduced_axes, to_shape
from ..ops.index._elements import replaced
from ..ops.index._scatter import tensor_scatter_add
from ..ops.index.choice import where as _where
from ..ops.index.gather import take
from ..ops.index.indexing import rewritten
from ..ops.index.updates import (
    tensor_scatter_div,
    tensor_scatter_max,
    tensor_scatter_min,
    tensor_scatter_mul,
    tensor_scatter_sub,
)
from ..ops.math.reductions import cummax, cummin, cumprod, logcumsumexp, logsumexp
from ..ops.shape.reshaping import cat, narrow, stack
from ..tensor import Tensor
from ._arguments import alternative, array_like
from ._creation import tensor_of
from ._entries import numbers
from ._reductions import all_of, any_of, largest, product, smallest, total
from ._sequences import running_sum

__all__ = ["call_method"]

Function = Callable[..., Any]


def call_method(
    ufunc: np.ufunc, method: str, function: Function, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Answer a ufunc method that was called with a tensor; `function` is the ufunc on tensors."""
    name = f"np.{ufunc.__name__}.{method}"
    if method not in _METHODS:
        raise TypeError(f"{name}: is not supported with Tensors; {alternative(method)}")
    if method != "at" and (ufunc.nin, ufunc.nout) != (2, 1):
        raise ValueError(f"{name}: only functions of two operands with one result have this method")
    # the second operands of `at` and `reduceat` are indices
    read = (0, 2) if method in ("at", "reduceat") else (0, 1)
    inputs = tuple([array_like(name, x, np.asarray) if k in read else x for k, x in enumerate(inputs)])
    try:
        return _METHODS[method](name, ufunc, function, *inputs, **kwargs)
    except TypeError as error:
        if f"{_METHODS[method].__name__}()" not in str(error):
            raise
        raise TypeError(f"{name}: {str(error).partition('() ')[2]}") from None


# ------------------------------------------------------------------------------------------------------- reduce

_WITH_INITIAL: dict[Any, Function] = {
    np.add: total,
    np.multiply: product,
    np.maximum: largest,
    np.minimum: smallest,
}
_TRUTHS: dict[Any, Function] = {np.logical_and: all_of, np.logical_or: any_of}


def _reduce(
    name: str,
    ufunc: np.ufunc,
    function: Function,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    x = operand(name, array)
    x = x if dtype is None else x.astype(dtype)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ufunc in _WITH_INITIAL:
        return _WITH_INITIAL[ufunc](x, axis, keepdims=keepdims, initial=initial, where=where)
    if ufunc in _TRUTHS and initial is None:
        return _TRUTHS[ufunc](x, axis, keepdims, where=where)
    if ufunc is np.logaddexp and initial is None and where is True and axis != ():
        return logsumexp(x, axis, keepdims)
    axes = () if axis == () else reduced_axes(name, axis, x)
    if len(axes) != 1 and not (x.ndim == 0 and axis in (None, 0, -1)):
        return _over_several(name, ufunc, function, x, axes, keepdims, initial, where)
    if not axes:
        return x
    found = _folded(name, ufunc, function, x, axes[0], initial, where)
    return stack([found], axes[0]) if keepdims else found


def _over_several(
    name: str, ufunc: np.ufunc, function: Function, x: Tensor, axes: tuple[int, ...], keepdims: bool, *more: Any
) -> Tensor:
    """Reduce axes one after the other, for ufuncs whose result does not depend on the order."""
    if not axes:
        return _reduce(name, ufunc, function, to_shape(x, (*x.shape, 1)), -1, initial=more[0], where=more[1])
    if ufunc.identity is None:
        raise ValueError(f"{name}: the order of elements matters, so only one axis can be reduced; got axes {axes}")
    initial, where = more
    order = [k for k in range(x.ndim) if k not in axes] + list(axes)
    rest = [x.shape[k] for k in order[: x.ndim - len(axes)]]
    flat = (*rest, math.prod([x.shape[k] for k in axes]))
    if where is not True:
        mask = tensor_of(where)
        where = to_shape(expanded(mask, x.shape).transpose(order), flat)
    found = _folded(name, ufunc, function, to_shape(x.transpose(order), flat), len(rest), initial, where)
    shape = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    return to_shape(found, shape) if keepdims else found


def _folded(name: str, ufunc: np.ufunc, function: Function, x: Tensor, axis: int, initial: Any, where: Any) -> Tensor:
    """Apply the function to the result so far and the next slice, repeatedly."""
    slices = _slices(x, axis)
    masks: list[Any] = [None] * len(slices)
    if where is not True:
        mask = tensor_of(where)
        masks = list(_slices(expanded(mask, np.broadcast_shapes(mask.shape, x.shape)), axis))
    found = None if initial is None else beside(name, initial, x)
    if found is None and (where is not True or not slices):
        if ufunc.identity is None:
            raise ValueError(
                f"{name}: has no identity; pass initial=, the result where no element counts (shape {x.shape})"
            )
        found = beside(name, ufunc.identity, x)
    for part, mask in zip(slices, masks, strict=True):
        if found is None:
            found = part
        else:
            moved = function(found, part)
            found = moved if mask is None else _where(mask, moved, found)
    assert found is not None
    shape = tuple([n for k, n in enumerate(x.shape) if k != axis])
    return expanded(found, shape)


def _slices(x: Tensor, axis: int) -> tuple[Tensor, ...]:
    shape = tuple([n for k, n in enumerate(x.shape) if k != axis])
    return tuple([to_shape(narrow(x, axis, k, 1), shape) for k in range(x.shape[axis])])


# --------------------------------------------------------------------------------------- accumulate, reduceat

_SCANS: dict[Any, Function] = {
    np.add: running_sum,
    np.multiply: cumprod,
    np.logaddexp: logcumsumexp,
    np.maximum: lambda x, axis: cummax(x, axis)[0],
    np.minimum: lambda x, axis: cummin(x, axis)[0],
}
"""Ufuncs whose `accumulate` is a scan of this library."""


def _accumulate(name: str, ufunc: np.ufunc, function: Function, array: Any, axis: Any = 0, dtype: Any = None) -> Tensor:
    x = operand(name, array)
    x = x if dtype is None else x.astype(dtype)
    axis = one_axis(name, axis, x.shape)
    if ufunc in _SCANS:
        return _SCANS[ufunc](x, axis)
    slices = _slices(x, axis)
    return stack(list(itertools.accumulate(slices, function)), axis) if slices else +x


def _reduceat(
    name: str, ufunc: np.ufunc, function: Function, array: Any, indices: Any, axis: Any = 0, dtype: Any = None
) -> Tensor:
    x = operand(name, array)
    axis = one_axis(name, axis, x.shape)
    starts = [integer(name, "an index", k) for k in np.asarray(numbers(indices)).tolist()]
    n = x.shape[axis]
    for k in starts:
        if not 0 <= k < n:
            raise IndexError(f"{name}: index {k} is out of range for axis {axis} of shape {x.shape}")
    parts = []
    for start, stop in itertools.pairwise([*starts, n]):
        length = max(stop - start, 1)
        parts.append(_reduce(name, ufunc, function, narrow(x, axis, start, length), axis, dtype, keepdims=True))
    return cat(parts, axis) if parts else narrow(x, axis, 0, 0)


# -------------------------------------------------------------------------------------------------- outer, at


def _outer(name: str, ufunc: np.ufunc, function: Function, a: Any, b: Any, dtype: Any = None) -> Any:
    b = b if isinstance(b, Tensor | np.ndarray) else np.asarray(b)
    if isinstance(a, Tensor | np.ndarray):
        a = operand(name, a)
        a = to_shape(a, a.shape + (1,) * b.ndim)
    if dtype is not None:
        a, b = operand(name, a).astype(dtype), operand(name, b).astype(dtype)
    return function(a, b)


_AT: dict[Any, Function] = {
    np.add: tensor_scatter_add,
    np.subtract: tensor_scatter_sub,
    np.multiply: tensor_scatter_mul,
    np.divide: tensor_scatter_div,
    np.maximum: tensor_scatter_max,
    np.minimum: tensor_scatter_min,
}
"""Ufuncs for which one operation of this library handles repeated points."""


def _at(name: str, ufunc: np.ufunc, function: Function, a: Any, indices: Any, b: Any = None) -> None:
    """Replace elements of a tensor by the function's results, in the order of the indices."""
    if not isinstance(a, Tensor):
        raise TypeError(
            f"{name}: writes into an array, which cannot hold a derivative; make a tensor of it first "
            "(dualgrad.numpy.array)"
        )
    if (b is None) != (ufunc.nin == 1):
        raise ValueError(f"{name}: the function takes {ufunc.nin} operands")
    places = np.arange(a.size).reshape(a.shape)[numbers(indices)]
    updates = None
    if b is not None:
        updates = beside(name, b, a)
        updates = to_shape(expanded(updates, places.shape), (places.size,))
    points = np.asarray(places).ravel()
    if not points.size:
        return
    with one_step(a):
        flat = to_shape(a, (a.size,))
        if ufunc in _AT and updates is not None:
            new = _AT[ufunc](flat, points[:, None], updates)
        else:
            new = _one_round_after_the_other(function, flat, points, updates)
        rewritten(name, a, to_shape(new, a.shape))


def _one_round_after_the_other(function: Function, x: Tensor, points: np.ndarray, updates: Tensor | None) -> Tensor:
    """Apply updates in rounds without repeated points: first all first occurrences, then all second ones, and so on."""
    seen: dict[int, int] = {}
    rounds = np.empty(points.shape, int)
    for k, point in enumerate(points.tolist()):
        rounds[k] = seen[point] = seen.get(point, -1) + 1
    for turn in range(rounds.max(initial=-1) + 1):
        (which,) = np.nonzero(rounds == turn)
        there = take(x, points[which], 0)
        moved = function(there) if updates is None else function(there, take(updates, which, 0))
        x = replaced(x, points[which], moved)
    return x


_METHODS: dict[str, Function] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}
