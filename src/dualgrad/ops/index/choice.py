"""Choosing between values: where, masks and limits.

A branch that is not taken adds exactly nothing to a derivative, even where its own derivative is infinite: its
cotangent is zero, and zero absorbs. Limits count as inside, so `clamp` has derivative 1 there. Therefore it is made of
`where` and not of `maximum` and `minimum`, which share a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, integer, one_axis, operand

__all__ = ["MaskedFill", "Select", "clamp", "clip", "clip_by_value", "masked_fill", "select", "where"]

_GT, _LT, _WHERE = OP["gt"], OP["lt"], OP["where"]
_BOOL = _dtype.bool_.num


def _choose(name: str, condition: Any, x: Any, y: Any) -> Tensor:
    """Choose between operands of any kind, converted to their common type."""
    if not isinstance(condition, Tensor):
        condition = operand(name, condition)
    if condition._typenum != _BOOL:
        condition = _engine.convert(condition, _BOOL)
    try:
        common = _engine.common_type(x, y)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    if not isinstance(x, Tensor) or x._typenum != common:
        x = _engine.convert(x, common)
    if not isinstance(y, Tensor) or y._typenum != common:
        y = _engine.convert(y, common)
    return _engine.apply(_WHERE, None, condition, x, y)


def where(condition: Any, x: Any, y: Any) -> Tensor:
    """Choose x where the condition holds, y elsewhere.

    Parameters
    ----------
    condition : Tensor or numpy.ndarray
        Type Bool; of another type, elements other than 0 count as true.
    x, y : Tensor, numpy.ndarray or number
        The two choices. The three shapes broadcast.

    Returns
    -------
    Tensor
        The common type of `x` and `y`.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        If an operand is something else.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([0.0, 4.0])
    >>> print(ops.where(x > 1, x, 7.0))
    [7. 4.]

    The square root has an infinite derivative at 0, but is not taken there:

    >>> print(dg.grad(lambda x: ops.where(x > 0, ops.sqrt(x), 0.0))(x))
    [0.   0.25]
    """
    return _choose("where", condition, x, y)


def select(condition: Any, x: Any, y: Any) -> Tensor:
    """Choose x where the condition holds, y elsewhere: the same as `where`.

    Parameters
    ----------
    condition : Tensor or numpy.ndarray
        Type Bool; of another type, elements other than 0 count as true.
    x, y : Tensor, numpy.ndarray or number
        The two choices. The three shapes broadcast.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.select(dg.Tensor([True, False]), dg.Tensor([1.0, 2.0]), dg.Tensor([10.0, 20.0])))
    [ 1. 20.]
    """
    return _choose("select", condition, x, y)


def masked_fill(x: Any, mask: Any, value: Any) -> Tensor:
    """Put another value where the mask holds.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any type.
    mask : Tensor or numpy.ndarray
        Type Bool, a shape that broadcasts with the shape of `x`.
    value : number or Tensor
        A number, or a tensor without axes.

    Returns
    -------
    Tensor
        The common type of `x` and `value`.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or `value` has axes.
    TypeError
        If `mask` is not of type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, -2.0, 3.0])
    >>> print(ops.masked_fill(x, x < 0, 0.0))
    [1. 0. 3.]
    """
    x, mask = operand("masked_fill", x), operand("masked_fill", mask)
    if mask._typenum != _BOOL:
        raise TypeError(f"masked_fill: the mask has type {mask.dtype}; expected Bool, as a comparison gives")
    if isinstance(value, Tensor | np.ndarray) and value.ndim:
        raise ValueError(f"masked_fill: value has shape {value.shape}; expected a single number (where takes more)")
    return _choose("masked_fill", mask, value, x)


# ----------------------------------------------------------------------------------------------------- limits


def clamp(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limit x to an interval, with derivative 1 inside and at the limits, 0 outside.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type.
    min, max : Tensor, numpy.ndarray, number or None
        The limits; None stands for no limit. Where min is above max the result is max.

    Returns
    -------
    Tensor
        The common type of all operands. nan stays nan.

    Raises
    ------
    ValueError
        If both limits are None, or the shapes do not broadcast.
    TypeError
        If an operand is something else.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([-3.0, -1.0, 0.5, 9.0])
    >>> print(ops.clamp(x, -1.0, 2.0), dg.grad(lambda x: ops.clamp(x, -1.0, 2.0))(x))
    [-1.  -1.   0.5  2. ] [0. 1. 1. 0.]
    """
    return _limited("clamp", x, min, max)


def clip(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limit x to an interval: the same as `clamp`.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type.
    min, max : Tensor, numpy.ndarray, number or None
        The limits; None stands for no limit.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.clip(dg.Tensor([-3.0, 0.5, 9.0]), max=2.0))
    [-3.   0.5  2. ]
    """
    return _limited("clip", x, min, max)


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Limit x to an interval, for one tensor or a collection of them.

    Parameters
    ----------
    x : Tensor, or tuple or list of Tensor
        Any shape and type.
    clip_value_min, clip_value_max : Tensor, numpy.ndarray, number or None
        The limits, as in `clamp`.

    Returns
    -------
    Tensor, or tuple or list of Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.clip_by_value(dg.Tensor([-3.0, 0.5, 9.0]), -1.0, 1.0))
    [-1.   0.5  1. ]
    """
    if isinstance(x, tuple | list):
        return type(x)([clip_by_value(item, clip_value_min, clip_value_max) for item in x])
    return _limited("clip_by_value", x, clip_value_min, clip_value_max)


def _limited(name: str, x: Any, low: Any, high: Any) -> Tensor:
    if low is None and high is None:
        raise ValueError(f"{name}: both limits are None, so there is nothing to do; give one of them")
    x = operand(name, x)
    if low is not None:
        x = _choose(name, _compare(name, _LT, x, low), low, x)
    if high is not None:
        x = _choose(name, _compare(name, _GT, x, high), high, x)
    return x


def _compare(name: str, op: int, x: Tensor, limit: Any) -> Tensor:
    try:
        return _engine.binary_op(op, x, limit)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


# ------------------------------------------------------------------------------------------ primitive classes


class Select(Primitive, of=select):
    __slots__ = ()

    def __call__(self, condition: Any, x: Any, y: Any) -> Tensor:
        return select(condition, x, y)


class MaskedFill(Primitive, of=masked_fill):
    __slots__ = ()

    def __call__(self, x: Any, mask: Any, value: Any) -> Tensor:
        return masked_fill(x, mask, value)


def _where_method(self: Tensor, condition: Any, y: Any) -> Tensor:
    """The tensor where the condition holds, y elsewhere."""
    return _choose("where", condition, self, y)


def _select_method(self: Tensor, condition: Any = None, y: Any = None, *, dim: Any = None, index: Any = None) -> Tensor:
    """The tensor where the condition holds, y elsewhere; or one place of an axis: ``x.select(dim, index)``."""
    if condition is None:
        condition, y = dim, index
    elif dim is not None or index is not None:
        raise TypeError("select: expected a condition and y, or dim and index, got both")
    if condition is None or y is None:
        raise TypeError("select: expected a condition and y, or dim and index")
    if isinstance(condition, int | np.integer) and not isinstance(condition, bool):
        axis = one_axis("select", int(condition), self.shape)
        return self[(*(slice(None),) * axis, integer("select", "index", y))]
    return _choose("select", condition, self, y)


METHODS: dict[str, Callable[..., Any]] = {
    "clamp": clamp,
    "clip": clip,
    "masked_fill": masked_fill,
    "select": _select_method,
    "where": _where_method,
}
