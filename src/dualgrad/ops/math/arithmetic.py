"""Division, powers, rounding and replacing nan: functions with settings, on top of rows of the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import IS_FLOAT, OP, Primitive, integer, operand

__all__ = ["DivNoNan", "MulNoNan", "div", "divide", "float_power", "frac", "nan_to_num", "pow", "round", "true_divide"]

_DIV, _EQ, _FLOOR_DIVIDE, _MUL = OP["div"], OP["eq"], OP["floor_divide"], OP["mul"]
_ISFINITE, _ISNAN, _ROUND, _TRUNC, _WHERE = OP["isfinite"], OP["isnan"], OP["round"], OP["trunc"], OP["where"]


def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Quotient x / y.

    Parameters
    ----------
    x, y : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    rounding_mode : {None, 'floor', 'trunc'}, optional
        Round the quotient down, or towards 0; its derivative is 0 then.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or for another rounding mode.
    TypeError
        If an operand is something else, or both are numbers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([7.0, -7.0])
    >>> print(ops.div(x, 2.0), ops.div(x, 2.0, rounding_mode="floor"))
    [ 3.5 -3.5] [ 3. -4.]
    """
    if rounding_mode is None:
        return _engine.binary_op(_DIV, x, y)
    if not isinstance(rounding_mode, str):
        raise TypeError(f"div: rounding_mode must be 'floor', 'trunc' or None, got {type(rounding_mode).__name__}")
    if rounding_mode == "floor":
        return _engine.binary_op(_FLOOR_DIVIDE, x, y)
    if rounding_mode == "trunc":
        return _engine.unary(_TRUNC, _engine.binary_op(_DIV, x, y))
    raise ValueError(f"div: rounding_mode is {rounding_mode!r}; expected None, 'floor' or 'trunc'")


divide = div
true_divide = div


def pow(x: Any, exponent: Any) -> Tensor:
    """Power: x to the exponent.

    Parameters
    ----------
    x, exponent : Tensor, numpy.ndarray or number
        Shapes that broadcast. A number as exponent is cheaper than a tensor, and 2 is a square.

    Returns
    -------
    Tensor
        The type common to both.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or an integer is to be raised to a negative integer.
    TypeError
        If an operand is something else, or both are numbers.

    Notes
    -----
    For an exponent that is a whole number the derivatives by x are the polynomial's, also at 0.
    By the exponent the derivative is ``out * log(x)``, which counts as 0 at x = 0 and is nan below.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.pow(dg.Tensor([2.0, 3.0]), 3), ops.pow(2.0, dg.Tensor([0.0, 3.0])))
    [ 8. 27.] [1. 8.]
    """
    return _engine.power_op(x, exponent)


def float_power(x: Any, exponent: Any) -> Tensor:
    """Power in float64 (complex128): x to the exponent.

    Parameters
    ----------
    x, exponent : Tensor, numpy.ndarray or number
        Shapes that broadcast.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.float_power(dg.Tensor([4]), 0.5).dtype)
    Float64
    """
    x = operand("float_power", x)
    wide = _dtype.complex128 if x.dtype.is_complex else _dtype.float64
    return _engine.power_op(_engine.convert(x, wide.num), exponent)


class DivNoNan(Primitive):
    """Primitive class: x / y, and 0 with derivative 0 where y is 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.DivNoNan()(dg.Tensor([1.0, 2.0]), dg.Tensor([0.0, 4.0])))
    [0.  0.5]
    """

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        quotient = _engine.binary_op(_DIV, x, y)
        zero = _engine.convert(0.0, quotient._typenum)
        return _engine.apply(_WHERE, None, _engine.binary_op(_EQ, operand("DivNoNan", y), 0), zero, quotient)


class MulNoNan(Primitive):
    """Primitive class: x * y, and 0 where y is 0 even if x is infinite or nan; the derivative is 0 there.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MulNoNan()(dg.Tensor([float("inf"), 2.0]), dg.Tensor([0.0, 4.0])))
    [0. 8.]
    """

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        product = _engine.binary_op(_MUL, x, y)
        zero = _engine.convert(0, product._typenum)
        masked = _engine.binary_op(_EQ, operand("MulNoNan", y), 0)
        if product._typenum in IS_FLOAT:  # a product with a finite x is 0 by itself, with its own derivatives
            finite = _engine.unary(_ISFINITE, _engine.convert(x, product._typenum))
            masked = masked & ~finite
        return _engine.apply(_WHERE, None, masked, zero, product)


def nan_to_num(x: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace nan and infinities by numbers; the derivative is 0 there, 1 elsewhere.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type.
    nan : float, optional
        The number for nan; 0 by default.
    posinf, neginf : float, optional
        The numbers for the infinities; by default the largest and the smallest finite number of the type.

    Returns
    -------
    Tensor
        The shape and type of `x`.

    Raises
    ------
    TypeError
        If `x` is neither a Tensor nor an array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nan_to_num(dg.Tensor([float("nan"), 2.0, float("inf")]), posinf=9.0))
    [0. 2. 9.]
    """
    x = operand("nan_to_num", x)
    if x._typenum not in IS_FLOAT:
        return +x
    largest = float(np.finfo(x.dtype.numpy).max)
    for mask, number, default in (
        (_engine.unary(_ISNAN, x), nan, 0.0),
        (_engine.binary_op(_EQ, x, math.inf), posinf, largest),
        (_engine.binary_op(_EQ, x, -math.inf), neginf, -largest),
    ):
        settled = _engine.convert(default if number is None else number, x._typenum)
        x = _engine.apply(_WHERE, None, mask, settled, x)
    return x


def round(x: Any, decimals: int = 0) -> Tensor:
    """Round to a number of decimals, halves to the even side; the derivative is 0.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; integers stay as they are.
    decimals : int, default 0
        Digits after the point; negative ones count before it.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` is neither a Tensor nor an array, or `decimals` is not an int.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.round(dg.Tensor([0.5, 1.5, -1.6])), ops.round(dg.Tensor([1.26]), 1))
    [ 0.  2. -2.] [1.3]
    """
    x, decimals = operand("round", x), integer("round", "decimals", decimals)
    exact = x._typenum not in IS_FLOAT
    if exact and decimals >= 0:
        return +x
    if decimals == 0:
        return _engine.unary(_ROUND, x)
    if abs(decimals) > 308:  # beyond all digits of floating-point numbers
        return +x if decimals > 0 else x * 0
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return _engine.unary(_ROUND, x * scale) / scale
    wide = _engine.convert(x, _dtype.float64.num) if exact else x
    return _engine.convert(_engine.unary(_ROUND, wide / scale) * scale, x._typenum)


def frac(x: Any) -> Tensor:
    """Fractional part, with the sign of x: ``x - trunc(x)``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.frac(dg.Tensor([1.25, -1.25])))
    [ 0.25 -0.25]
    """
    x = operand("frac", x)
    return x - _engine.unary(_TRUNC, x)


METHODS: dict[str, Callable[..., Any]] = {
    "div": div,
    "divide": divide,
    "float_power": float_power,
    "frac": frac,
    "nan_to_num": nan_to_num,
    "pow": pow,
    "round": round,
    "true_divide": true_divide,
}
