"""Shared parts of interpolators: checks of points and values, and the piece of each place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import extend
from ..._engine.transforms import tensor as _engine
from ...ops._arguments import OP, alike, beside, expanded, floating, one_axis, permuted, to_shape
from ...ops.index._indices import one_axis_pattern, read
from ...ops.index.sorting import insertions
from ...ops.shape.reshaping import cat
from ...tensor import Tensor

__all__ = [
    "at", "axis_first", "differences", "flat", "given", "in_columns", "increasing", "new_axes", "piece_of", "row_of",
    "within",
]  # fmt: skip

_MAXIMUM, _MINIMUM = OP["maximum"], OP["minimum"]


def _checked(x: np.ndarray, caller: str, strictly: bool) -> np.ndarray:
    steps = np.diff(x)
    if not (np.isfinite(x).all() and (steps > 0 if strictly else steps >= 0).all()):
        how = "increase strictly" if strictly else "increase"
        raise ValueError(f"{caller} are not finite or do not {how}; sort them first")
    return x


def _inside(x: np.ndarray, ends: np.ndarray, caller: str) -> np.ndarray:
    out = (x < ends[..., :1]) | (x > ends[..., 1:])
    if out.any():
        raise ValueError(f"{caller}: a place is {x[out].flat[0]}, outside of the points")
    return x


# Primitives, so that a replayed program checks other points, too.
_increasing = extend.primitive(
    "increasing",
    _checked,
    jvp=(lambda dx, out, x, caller, strictly: dx,),
    vjp=(lambda ct, out, x, caller, strictly: ct,),
    core=(1,),
    summary="a vector that is checked to increase",
)


_within = extend.primitive(
    "within",
    _inside,
    arity=2,
    jvp=(lambda dx, out, x, ends, caller: dx, None),
    vjp=(lambda ct, out, x, ends, caller: ct, None),
    core=(1, 1),
    summary="places that are checked to be between two ends",
)


def within(name: str, places: Tensor, knots: Tensor) -> Tensor:
    """Return the places after a check that they lie between the first and the last point."""
    ends = _engine.stop(cat((knots[:1], knots[-1:]), 0))
    return to_shape(_within(flat(places), ends, caller=name), places.shape)


def increasing(name: str, what: str, x: Tensor, strictly: bool = True) -> Tensor:
    """Return the points after a check that they increase."""
    return _increasing(x, caller=f"{name}: the {what}", strictly=strictly)


def given(name: str, x: Any, y: Any, axis: Any, least: int = 2) -> tuple[Tensor, Tensor, int]:
    """The points, and the values with their axis in front, in one type; and the axis counted from 0."""
    x, y = alike([floating(name, x), floating(name, y)])
    axis = one_axis(name, axis, y.shape)
    if x.ndim != 1 or x.dtype.is_complex or y.shape[axis] != x.size or x.size < least:
        raise ValueError(
            f"{name}: the points have shape {x.shape} and the values {y.shape}, axis {axis}; expected a vector of at "
            f"least {least} real points, and as many values along the axis"
        )
    return increasing(name, "points", x), axis_first(y, axis), axis


def axis_first(y: Tensor, axis: int) -> Tensor:
    """Move one axis of the values to the front."""
    return permuted(y, (axis, *[k for k in range(y.ndim) if k != axis]))


def piece_of(knots: Tensor, places: Tensor, first: int, last: int) -> Tensor:
    """The number of the last knot at or before each place, clamped to `first` and `last`."""
    found = insertions(knots, flat(places), True) - 1
    limited = _engine.binary_op(_MINIMUM, _engine.binary_op(_MAXIMUM, found, first), last)
    return to_shape(limited, places.shape)


def at(name: str, x: Tensor, index: Any) -> Tensor:
    """Gather elements along the first axis."""
    return read(name, one_axis_pattern(x.shape, 0), x, index)


def differences(x: Tensor) -> Tensor:
    """Differences of neighbours along the first axis."""
    return x[1:] - x[:-1]


def flat(x: Tensor) -> Tensor:
    """Reshape to a vector."""
    return to_shape(x, (x.size,))


def in_columns(y: Tensor) -> Tensor:
    """Reshape to a matrix: the first axis, and all others as one."""
    return to_shape(y, (y.shape[0], math.prod(y.shape[1:])))


def row_of(name: str, value: Any, y: Tensor) -> Tensor:
    """The value of a condition, one number or one for each column, as a row for the columns of ``y``."""
    row = beside(name, value, y)
    if row.shape not in ((), y.shape[1:]):
        raise ValueError(f"{name}: the value of a condition has shape {row.shape}; expected () or {y.shape[1:]}")
    return in_columns(to_shape(expanded(row, y.shape[1:]), (1, *y.shape[1:])))


def new_axes(x: Tensor, count: int) -> Tensor:
    """Append axes of length 1, for arithmetic with values that have more axes."""
    return to_shape(x, (*x.shape, *(1,) * count)) if count else x
