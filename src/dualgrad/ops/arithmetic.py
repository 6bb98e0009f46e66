"""Arithmetic beyond one row of the table: divisions and powers with settings, and short formulas.

All is composed of primitives, so types combine and derivatives of every order follow by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import dtype as _dtype
from .._engine import tensor as _engine
from ..tensor import Tensor
from ._arguments import IS_FLOAT, OP, Primitive, floating, integer, operand, operands

__all__ = [
    "AddN", "DivNoNan", "Lerp", "SquaredDifference", "Xlogy", "addcdiv", "addcmul", "addn", "deg2rad", "div",
    "divide", "float_power", "frac", "lerp", "pow", "rad2deg", "round", "true_divide", "xlogy",
]  # fmt: skip

_ABSORB_MUL, _DIV, _FLOOR_DIVIDE, _LOG = OP["absorb_mul"], OP["div"], OP["floor_divide"], OP["log"]
_ROUND, _SQUARE, _SUB, _TRUNC, _WHERE = OP["round"], OP["square"], OP["sub"], OP["trunc"], OP["where"]
_EQ = OP["eq"]


# ---------------------------------------------------------------------------------------- division and powers


def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Quotient x / y.

    Parameters
    ----------
    x, y : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    rounding_mode : {None, 'floor', 'trunc'}, optional
        Round the quotient down, or towards 0; its slope is 0 then.

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
    if rounding_mode == "floor":
        return _engine.binary_op(_FLOOR_DIVIDE, x, y)
    if rounding_mode == "trunc":
        return _engine.unary(_TRUNC, _engine.binary_op(_DIV, x, y))
    raise ValueError(f"div: rounding_mode is {rounding_mode!r}; expected None, 'floor' or 'trunc'")


divide = true_divide = div


def pow(x: Any, exponent: Any) -> Tensor:
    """Power: x to the exponent.

    Parameters
    ----------
    x, exponent : Tensor, numpy.ndarray or number
        Shapes that broadcast. A number as exponent is cheaper than a tensor, and 2 is a square.

    Returns
    -------
    Tensor
        The type that both have together.

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
    """Power in float64: x to the exponent.

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
    return _engine.power_op(_engine.convert(operand("float_power", x), _dtype.float64.num), exponent)


class DivNoNan(Primitive):
    """Primitive class: x / y, and 0 where y is 0.

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


# --------------------------------------------------------------------------------------------------- formulas


def addcmul(x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """``x + value * tensor1 * tensor2``.

    Parameters
    ----------
    x, tensor1, tensor2 : Tensor or numpy.ndarray
        Shapes that broadcast.
    value : number or Tensor, default 1
        A factor.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addcmul(dg.Tensor([1.0]), dg.Tensor([2.0]), dg.Tensor([3.0]), 10))
    [61.]
    """
    product = operand("addcmul", tensor1) * operand("addcmul", tensor2)
    return operand("addcmul", x) + _scaled("addcmul", product, value)


def addcdiv(x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """``x + value * tensor1 / tensor2``.

    Parameters
    ----------
    x, tensor1, tensor2 : Tensor or numpy.ndarray
        Shapes that broadcast.
    value : number or Tensor, default 1
        A factor.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addcdiv(dg.Tensor([1.0]), dg.Tensor([3.0]), dg.Tensor([2.0]), 10))
    [16.]
    """
    quotient = operand("addcdiv", tensor1) / operand("addcdiv", tensor2)
    return operand("addcdiv", x) + _scaled("addcdiv", quotient, value)


def _scaled(name: str, x: Tensor, value: Any) -> Tensor:
    if type(value) is int and value == 1:
        return x
    return x * (value if isinstance(value, int | float) else operand(name, value))


def lerp(x: Any, end: Any, weight: Any) -> Tensor:
    """Linear interpolation ``x + weight * (end - x)``.

    Parameters
    ----------
    x, end : Tensor or numpy.ndarray
        Where it starts and ends.
    weight : Tensor or number
        0 gives `x`, 1 gives `end`. All shapes broadcast.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.lerp(dg.Tensor([1.0, 2.0]), dg.Tensor([5.0, 6.0]), 0.25))
    [2. 3.]
    """
    x = operand("lerp", x)
    return x + (operand("lerp", end) - x) * (
        weight if isinstance(weight, int | float) else operand("lerp", weight)
    )


def addn(x: Any) -> Tensor:
    """Sum of several tensors.

    Parameters
    ----------
    x : tuple or list of Tensor
        Shapes that broadcast; at least one.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there are none, or the shapes do not broadcast.
    TypeError
        If `x` is not a collection of tensors.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addn([dg.Tensor([1.0]), dg.Tensor([2.0]), dg.Tensor([3.0])]))
    [6.]
    """
    tensors = operands("addn", x)
    if not tensors:
        raise ValueError("addn: there is nothing to add; expected at least one tensor")
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total if len(tensors) > 1 else +total


def xlogy(x: Any, y: Any) -> Tensor:
    """``x * log(y)``, and 0 where x is 0, whatever y is.

    Parameters
    ----------
    x, y : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.xlogy(dg.Tensor([0.0, 2.0]), dg.Tensor([0.0, 1.0])))
    [0. 0.]
    """
    return _engine.binary_op(_ABSORB_MUL, x, _engine.unary(_LOG, operand("xlogy", y)))


def round(x: Any, decimals: int = 0) -> Tensor:
    """Round to a number of decimals, halves to the even side; the slope is 0.

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


def deg2rad(x: Any) -> Tensor:
    """Degrees as radians.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.deg2rad(dg.Tensor([0.0, 180.0])))
    [0. 3.14159]
    """
    return floating("deg2rad", x) * (math.pi / 180.0)


def rad2deg(x: Any) -> Tensor:
    """Radians as degrees.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.rad2deg(dg.Tensor([0.0, 3.1415927])))
    [  0. 180.]
    """
    return floating("rad2deg", x) * (180.0 / math.pi)


# ------------------------------------------------------------------------------------------ primitive classes


class SquaredDifference(Primitive):
    """Primitive class: ``(x - y)**2``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SquaredDifference()(dg.Tensor([1.0, 2.0]), dg.Tensor([4.0, 2.5])))
    [9.   0.25]
    """

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        return _engine.unary(_SQUARE, _engine.binary_op(_SUB, x, y))


class AddN(Primitive):
    """Primitive class of `addn`: ``ops.AddN()([x, y, z])``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.AddN()((dg.Tensor([1.0]), dg.Tensor([2.0]))))
    [3.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return addn(x)


class Lerp(Primitive):
    """Primitive class of `lerp`: ``ops.Lerp()(start, end, weight)``."""

    __slots__ = ()

    def __call__(self, start: Any, end: Any, weight: Any) -> Tensor:
        return lerp(start, end, weight)


class Xlogy(Primitive):
    """Primitive class of `xlogy`: ``ops.Xlogy()(x, y)``."""

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        return xlogy(x, y)


METHODS: dict[str, Callable[..., Any]] = {
    "addcdiv": addcdiv,
    "addcmul": addcmul,
    "deg2rad": deg2rad,
    "div": div,
    "divide": divide,
    "float_power": float_power,
    "frac": frac,
    "lerp": lerp,
    "pow": pow,
    "rad2deg": rad2deg,
    "round": round,
    "true_divide": true_divide,
    "xlogy": xlogy,
}
