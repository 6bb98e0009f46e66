"""NumPy functions without a counterpart in `dualgrad.ops`, composed of other functions.

They take NumPy's arguments and are registered like the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._engine.transforms import tensor as _engine
from .._settings import number_or_tensor, one_of, sequence, truth_value
from ..dtype import float64
from ..ops._arguments import floating, one_axis, operand, several_axes, to_shape, together
from ..ops.index.choice import where
from ..ops.math._truth import all as _all
from ..ops.math.elementwise import abs as absolute
from ..ops.math.elementwise import isfinite, isnan, logical_not, trunc
from ..ops.math.reductions import any as _any
from ..ops.math.reductions import mean
from ..ops.math.reductions import sum as _sum
from ..ops.math.statistics import correlation, covariance, observations
from ..ops.shape.creation import ones_like
from ..ops.shape.reshaping import broadcast_to, cat, diag, expand_dims, moveaxis, narrow, ravel
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import FUNCTIONS, implements

__all__: list[str] = []


# Properties of every tensor. A tensor of many samples has them, too, although its numbers cannot be read.


@implements(np.shape)
def _np_shape(a: Any) -> tuple[int, ...]:
    return tensor_of(a).shape


@implements(np.ndim)
def _np_ndim(a: Any) -> int:
    return tensor_of(a).ndim


@implements(np.size)
def _np_size(a: Any, axis: int | None = None) -> int:
    a = tensor_of(a)
    return a.size if axis is None else a.shape[one_axis("size", axis, a.shape)]


def _tensors(arrays: Any) -> list[Tensor]:
    return [tensor_of(x) for x in sequence("np.column_stack, np.dstack", arrays)]


# ---------------------------------------------------------------------------------------- joining and cutting


@implements(np.append)
def _np_append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    return FUNCTIONS[np.concatenate]((tensor_of(arr), tensor_of(values)), axis)


@implements(np.column_stack)
def _np_column_stack(tup: Any) -> Tensor:
    return cat([to_shape(x, (x.size, 1)) if x.ndim < 2 else x for x in _tensors(tup)], 1)


@implements(np.dstack)
def _np_dstack(tup: Any) -> Tensor:
    return cat([_np_atleast_3d(x) for x in _tensors(tup)], 2)


@implements(np.atleast_3d)
def _np_atleast_3d(*arys: Any) -> Any:
    def lifted(x: Any) -> Tensor:
        x = operand("atleast_3d", x)
        # NumPy puts a vector in the middle and a matrix in front
        shape = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}.get(x.ndim, x.shape)
        return to_shape(x, shape)

    found = tuple([lifted(x) for x in arys])
    return found[0] if len(found) == 1 else found


def _splits(function: Any, axis: int, fewest: int) -> None:
    @implements(function)
    def cut(ary: Any, indices_or_sections: Any) -> list[Tensor]:
        ary = operand(function.__name__, ary)
        if ary.ndim < fewest:
            raise ValueError(
                f"np.{function.__name__}: a tensor of shape {ary.shape} has too few axes; expected {fewest}"
            )
        return FUNCTIONS[np.split](ary, indices_or_sections, 0 if ary.ndim == 1 else axis)


_splits(np.hsplit, 1, 1)
_splits(np.vsplit, 0, 2)
_splits(np.dsplit, 2, 3)


@implements(np.broadcast_arrays)
def _np_broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Broadcast arrays. None and texts become arrays of objects, as in NumPy, since plotting code passes them."""
    ready = [np.asarray(x, object) if x is None or isinstance(x, str) else tensor_of(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in ready])
    return tuple([np.broadcast_to(x, shape) if isinstance(x, np.ndarray) else broadcast_to(x, shape) for x in ready])


@implements(np.rollaxis)
def _np_rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    a = operand("rollaxis", a)
    axis = one_axis("rollaxis", axis, a.shape)
    start = one_axis("rollaxis", start, a.shape, extra=1)
    return moveaxis(a, axis, start - 1 if axis < start else start)


@implements(np.diagflat)
def _np_diagflat(v: Any, k: int = 0) -> Tensor:
    return diag(ravel(v), k)


# ------------------------------------------------------------------------------------------------ reductions


@implements(np.average)
def _np_average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    a = floating("average", a)
    if weights is None:
        found = mean(a, axis, keepdims)
        truth_value("average", "returned", returned)
        return (found, ones_like(found) * (a.size / max(found.size, 1))) if returned else found
    weights = tensor_of(weights)
    if weights.shape != a.shape:
        places = () if axis is None else several_axes("np.average", axis, a.shape)
        if axis is None or weights.shape != tuple([a.shape[k] for k in places]):
            raise ValueError(
                f"np.average: weights of shape {weights.shape} do not fit a tensor of shape {a.shape} along axis {axis}"
            )
        weights = weights.transpose(tuple(np.argsort(places).tolist()))
        weights = broadcast_to(
            to_shape(weights, tuple([n if k in places else 1 for k, n in enumerate(a.shape)])), a.shape
        )
    total = _sum(weights, axis, keepdims)
    found = _sum(a * weights, axis, keepdims) / total
    return (found, total) if returned else found


@implements(np.cov)
def _np_cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    x = cat([observations("np.cov", variables, rowvar) for variables in ((m,) if y is None else (m, y))], 0)
    truth_value("cov", "bias", bias)
    found = covariance("np.cov", x, (0 if bias else 1) if ddof is None else ddof, fweights, aweights)
    return found if dtype is None else found.astype(dtype)


@implements(np.corrcoef)
def _np_corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    return correlation(_np_cov(x, y, rowvar, dtype=dtype))


# --------------------------------------------------------------------------------- differences and integrals


@implements(np.ediff1d)
def _np_ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    parts = [FUNCTIONS[np.diff](ravel(ary))]
    if to_begin is not None:
        parts.insert(0, ravel(tensor_of(to_begin)).astype(parts[0].dtype))
    if to_end is not None:
        parts.append(ravel(tensor_of(to_end)).astype(parts[0].dtype))
    return cat(parts, 0)


@implements(np.gradient)
def _np_gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = floating("gradient", f)
    axes = tuple(range(f.ndim)) if axis is None else several_axes("gradient", axis, f.shape)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"np.gradient: got {len(varargs)} spacings for {len(axes)} axes; expected 1 or {len(axes)}")
    if not one_of(edge_order, (1, 2)):
        raise ValueError(f"np.gradient: edge_order is {edge_order}; expected 1 or 2")
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    found = [_slope(f, spacing, k, edge_order) for spacing, k in zip(spacings, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(f: Tensor, spacing: Any, axis: int, edge_order: int) -> Tensor:
    """Second-order differences along an axis, one-sided at both ends."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(f"np.gradient: axis {axis} of shape {f.shape} is too short; expected {edge_order + 1} or more")

    if np.ndim(spacing) == 0:
        steps: Any = broadcast_to(to_shape(_engine.convert(spacing, f._typenum), (1,)), (n - 1,))
    else:
        steps = FUNCTIONS[np.diff](tensor_of(spacing).astype(f.dtype))
        if steps.shape != (n - 1,):
            raise ValueError(
                f"np.gradient: the coordinates of axis {axis} have shape {np.shape(spacing)}; expected ({n},)"
            )
    h = to_shape(steps, (n - 1,) + (1,) * (f.ndim - 1 - axis))
    slopes = (narrow(f, axis, 1, n - 1) - narrow(f, axis, 0, n - 1)) / h  # slopes on the intervals
    if n == 2:
        return cat([slopes, slopes], axis)
    before, after = narrow(h, 0, 0, n - 2), narrow(h, 0, 1, n - 2)
    left, right = narrow(slopes, axis, 0, n - 2), narrow(slopes, axis, 1, n - 2)
    inside = (after * left + before * right) / (before + after)
    first, last = narrow(slopes, axis, 0, 1), narrow(slopes, axis, n - 2, 1)
    if edge_order == 2:
        # at both ends, the slope of the parabola through the three outermost points
        first = _outer(h, slopes, axis, 0, 1)
        last = _outer(h, slopes, axis, n - 2, n - 3)
    return cat([first, inside, last], axis)


def _outer(h: Tensor, slopes: Tensor, axis: int, end: int, next_one: int) -> Tensor:
    """The outer-end slope of the parabola on interval `end` that also passes through interval `next_one`."""
    near, far = narrow(h, 0, end, 1), narrow(h, 0, next_one, 1)
    here, there = narrow(slopes, axis, end, 1), narrow(slopes, axis, next_one, 1)
    return here + (here - there) * near / (near + far)


# ---------------------------------------------------------------------------------------- choices


@implements(np.select)
def _np_select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"np.select: got {len(condlist)} conditions and {len(choicelist)} choices; expected as many of both"
        )
    found = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist)), strict=True):
        found = where(condition, choice, found)
    return found


@implements(np.isposinf)
def _np_isposinf(x: Any) -> Tensor:
    return operand("isposinf", x) == np.inf


@implements(np.isneginf)
def _np_isneginf(x: Any) -> Tensor:
    return operand("isneginf", x) == -np.inf


@implements(np.isclose)
def _np_isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Tensor:
    """Compare elements within tolerances. Integers are compared in float64, as in NumPy."""
    x, y = together("np.isclose", _wide(a), _wide(b))
    truth_value("np.isclose", "equal_nan", equal_nan)
    rtol, atol = _margin("rtol", rtol), _margin("atol", atol)
    found = (x == y) | (isfinite(y) & (absolute(x - y) <= atol + rtol * absolute(y)))
    return found | (isnan(x) & isnan(y)) if equal_nan else found


def _margin(what: str, value: Any) -> Any:
    value = tensor_of(value) if isinstance(value, list | tuple) else value
    return number_or_tensor("np.isclose", what, value)


def _wide(x: Any) -> Any:
    """Convert integers and bools of an array to float64. A Python number takes the type beside it."""
    if isinstance(x, int | float | complex) and not isinstance(x, bool):
        return float(x) if isinstance(x, int) else x
    x = tensor_of(x)
    return x.astype(float64) if x.dtype.is_int or x.dtype.is_bool else x


@implements(np.allclose)
def _np_allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Tensor:
    return _all(_np_isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def _np_array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    try:
        x, y = tensor_of(a1), tensor_of(a2)
    except (TypeError, ValueError):  # not numbers, or ragged
        return Tensor(False)
    return _same(x, y, equal_nan) if x.shape == y.shape else Tensor(False)


@implements(np.array_equiv)
def _np_array_equiv(a1: Any, a2: Any) -> Tensor:
    try:
        x, y = tensor_of(a1), tensor_of(a2)
        np.broadcast_shapes(x.shape, y.shape)
    except (TypeError, ValueError):
        return Tensor(False)
    return _same(x, y, False)


def _same(x: Tensor, y: Tensor, equal_nan: bool) -> Tensor:
    """True if all elements are equal. An integer and a float are compared in float64."""
    if x.dtype.is_int != y.dtype.is_int:
        x, y = _wide(x), _wide(y)
    found = x == y
    truth_value("np.array_equal", "equal_nan", equal_nan)
    return _all(found | (isnan(x) & isnan(y)) if equal_nan else found)


@implements(np.isin)
def _np_isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Tensor:
    if not one_of(kind, (None, "sort", "table")):
        raise ValueError(f"np.isin: kind is {kind!r}; expected None, 'sort' or 'table', which give the same result")
    found = _any(expand_dims(tensor_of(element), -1) == ravel(tensor_of(test_elements)), -1)
    truth_value("isin", "invert", invert)
    return logical_not(found) if invert else found


FUNCTIONS[np.fix] = trunc
