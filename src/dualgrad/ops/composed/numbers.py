"""Formulas for single elements: log odds, truncating division, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ... import extend
from ..._engine.transforms import tensor as _engine
from ..._settings import real_number, room, whole_number
from ...tensor import Tensor
from .._arguments import OP, alike, floating, operand, together
from ..index.choice import clamp, where
from ..math import elementwise as _rows
from ..math.arithmetic import pow, round
from ._classes import Derived

__all__ = [
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", "IsInf", "Logit", "NextAfter", "PopulationCount", "Rint",
    "TruncateDiv", "TruncateMod", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "logit", "logspace", "nextafter", "truncate_div", "truncate_mod",
]  # fmt: skip


_next = extend.elementwise(
    "nextafter",
    np.nextafter,
    "1",
    None,
    summary="the number next to x in the direction of y",
    slope_note="a number next to x moves as x does",
)


def nextafter(input: Any, other: Any) -> Tensor:
    """The next floating-point number from one number in the direction of another.

    Parameters
    ----------
    input, other : Tensor or number
        Of floating types; shapes that broadcast.

    Returns
    -------
    Tensor
        The derivative is 1 by `input` and 0 by `other`: the step between the numbers does not change.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nextafter(dg.Tensor([1.0]), dg.Tensor([2.0])) - 1.0 == 2.0**-23)
    [ True]
    """
    return _next(*together("nextafter", floating("nextafter", input), floating("nextafter", other)))


def logit(input: Any, eps: float | None = None) -> Tensor:
    """Logarithm of the odds: ``log(x / (1 - x))``.

    Parameters
    ----------
    input : Tensor
        Probabilities.
    eps : float, optional
        Limit probabilities to ``eps`` and ``1 - eps`` first; None, or a negative number, leaves them.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logit(dg.Tensor([0.5, 0.75])))
    [0.        1.0986123]
    """
    x = floating("logit", input)
    if eps is not None and real_number("logit", "eps", eps) >= 0:
        x = clamp(x, eps, 1.0 - eps)
    return _rows.log(x) - _rows.log1p(-x)


def truncate_div(x: Any, y: Any) -> Tensor:
    """Quotient rounded towards 0; the derivative is 0.

    Parameters
    ----------
    x, y : Tensor or number
        Shapes that broadcast.

    Returns
    -------
    Tensor
        The type common to both.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.truncate_div(dg.Tensor([7, -7]), 2), ops.truncate_mod(dg.Tensor([7, -7]), 2))
    [ 3 -3] [ 1 -1]
    """
    x, y = alike(together("truncate_div", x, y))
    if x.dtype.is_float:
        return _rows.trunc(x / y)
    down = _rows.floor_divide(x, y)
    return down + ((down < 0) & (down * y != x)).astype(x.dtype)


def truncate_mod(x: Any, y: Any) -> Tensor:
    """Remainder of `truncate_div`, with the sign of `x`. The parameters are as in `truncate_div`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.truncate_mod(dg.Tensor([7.0, -7.0]), 2.0))
    [ 1. -1.]
    """
    return _rows.fmod(*alike(together("truncate_mod", x, y)))


def logspace(start: Any, end: Any, steps: int, base: Any = 10, *, dtype: Any = _dtype.float32) -> Tensor:
    """Powers of a base whose exponents are evenly spaced; derivatives go to the ends.

    Parameters
    ----------
    start, end : Tensor or number
        First and last exponent.
    steps : int
        The number of powers.
    base : number, default 10
        The base.
    dtype : type, default float32
        Type of the result.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.logspace(0, 2, 3))
    [  1.  10. 100.]
    """
    n = whole_number("logspace", "steps", steps)
    room("logspace", (n,))
    start, end = [floating("logspace", x).astype(_dtype.float64) for x in (start, end)]
    part = np.linspace(0.0, 1.0, n)
    return pow(base, start * (1 - part) + end * part).astype(dtype)


# ------------------------------------------------------------------------------------------------------- bits


def _logical(name: str, op: int) -> Callable[[Any, Any], Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        x, y = together(name, input, other)
        if x.dtype.is_float or y.dtype.is_float:
            raise TypeError(f"{name}: operands of types {x.dtype} and {y.dtype}; expected integers or truth values")
        return _engine.binary_op(op, x, y)

    sign = {"and": "&", "or": "|", "xor": "^"}[name.rpartition("_")[2]]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Bits of two integers combined: ``input {sign} other``.

    Parameters
    ----------
    input, other : Tensor or int
        Integers or truth values, shapes that broadcast.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If an operand holds no integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.{name}(dg.Tensor([12]), dg.Tensor([10])))
    [{eval(f"12 {sign} 10")}]
    """
    return function


bitwise_and: Callable[[Any, Any], Tensor] = _logical("bitwise_and", OP["bitwise_and"])


bitwise_or: Callable[[Any, Any], Tensor] = _logical("bitwise_or", OP["bitwise_or"])


bitwise_xor: Callable[[Any, Any], Tensor] = _logical("bitwise_xor", OP["bitwise_xor"])


def bitwise_not(input: Any) -> Tensor:
    """Invert all bits of integers.

    Parameters
    ----------
    input : Tensor
        Integers or truth values.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the operand holds no integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_not(dg.Tensor([0, 5])))
    [-1 -6]
    """
    x = operand("bitwise_not", input)
    if x.dtype.is_float:
        raise TypeError(f"bitwise_not: an operand of type {x.dtype}; expected integers or truth values")
    return ~x


invert = bitwise_not


def _shifted(name: str, input: Any, other: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The integers, the distance by which bits move (0 if out of their width), and a mask of distances within it."""
    x, y = together(name, input, other)
    if not (x.dtype.is_int and y.dtype.is_int):
        raise TypeError(f"{name}: operands of types {x.dtype} and {y.dtype}; expected integers")
    x, y = alike([x, y])
    there = (y >= 0) & (y < 8 * x.dtype.numpy.itemsize)
    return x, where(there, y, 0), there


def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """Move bits to the left: ``input * 2**other``, within the width of the type.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast. If `other` is negative, or not less than the number of bits, all bits are moved
        out, as in NumPy.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_left_shift(dg.Tensor([3]), 2), ops.bitwise_right_shift(dg.Tensor([13]), 2))
    [12] [3]
    """
    x, y, there = _shifted("bitwise_left_shift", input, other)
    return where(there, x * pow(np.asarray(2, x.dtype.numpy), y), 0)


def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """Move bits to the right: ``input / 2**other``, rounded down.

    The parameters are as in `bitwise_left_shift`. If all bits are moved out, the sign is left: -1 or 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bitwise_right_shift(dg.Tensor([-13]), 2))
    [-4]
    """
    x, y, there = _shifted("bitwise_right_shift", input, other)
    two = np.asarray(2, x.dtype.numpy)
    half = y // 2  # 2**y may not fit the type; the powers of both halves do
    moved = _rows.floor_divide(_rows.floor_divide(x, pow(two, half)), pow(two, y - half))
    return where(there, moved, -(x < 0).astype(x.dtype) if x.dtype.numpy.kind == "i" else 0)


# ------------------------------------------------------------------------------------------ primitive classes


class Logit(Derived, function=logit, eps=-1.0, example="""
>>> print(ops.Logit()(dg.Tensor([0.5])))
[0.]
"""):  # fmt: skip
    __slots__ = ()


class NextAfter(Derived, function=nextafter, call="input, other", example="""
>>> print(ops.NextAfter()(dg.Tensor([1.0]), dg.Tensor([2.0])) > 1.0)
[ True]
"""):  # fmt: skip
    __slots__ = ()


class TruncateDiv(Derived, function=truncate_div, call="x, y", example="""
>>> print(ops.TruncateDiv()(dg.Tensor([7, -7]), 2))
[ 3 -3]
"""):  # fmt: skip
    __slots__ = ()


class TruncateMod(Derived, function=truncate_mod, call="x, y", example="""
>>> print(ops.TruncateMod()(dg.Tensor([7, -7]), 2))
[ 1 -1]
"""):  # fmt: skip
    __slots__ = ()


class BitwiseAnd(Derived, function=bitwise_and, call="x, y", example="""
>>> print(ops.BitwiseAnd()(dg.Tensor([12]), dg.Tensor([10])))
[8]
"""):  # fmt: skip
    __slots__ = ()


class BitwiseOr(Derived, function=bitwise_or, call="x, y", example="""
>>> print(ops.BitwiseOr()(dg.Tensor([12]), dg.Tensor([10])))
[14]
"""):  # fmt: skip
    __slots__ = ()


class BitwiseXor(Derived, function=bitwise_xor, call="x, y", example="""
>>> print(ops.BitwiseXor()(dg.Tensor([12]), dg.Tensor([10])))
[6]
"""):  # fmt: skip
    __slots__ = ()


class Invert(Derived, function=bitwise_not, example="""
>>> print(ops.Invert()(dg.Tensor([0, 12])))
[ -1 -13]
"""):  # fmt: skip
    __slots__ = ()


class IsInf(Derived, function=_rows.isinf, example="""
>>> print(ops.IsInf()(dg.Tensor([1.0, float("-inf")])))
[False  True]
"""):  # fmt: skip
    __slots__ = ()


class Rint(Derived, function=round, example="""
>>> print(ops.Rint()(dg.Tensor([0.5, 1.5, 2.4])))
[0. 2. 2.]
"""):  # fmt: skip
    __slots__ = ()


_bits = extend.primitive(
    "number_of_bits",
    lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")),
    jvp=(None,),
    vjp=(None,),
    types="apart",
    core=(0,),
    summary="how many bits of an integer are 1",
)


def _ones_among_bits(input_x: Any) -> Tensor:
    x = operand("PopulationCount", input_x)
    if not x.dtype.is_int:
        raise TypeError(f"PopulationCount: the input has type {x.dtype}; expected integers")
    return _bits(x)


class PopulationCount(Derived, function=_ones_among_bits, call="input_x"):
    """Count the 1 bits of each integer, UInt8: ``ops.PopulationCount()(input_x)``.

    Negative numbers are two's complements.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.PopulationCount()(dg.Tensor(np.array([13, 65, -1], np.int16))))
    [ 3  2 16]
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "bitwise_and": bitwise_and,
    "bitwise_left_shift": bitwise_left_shift,
    "bitwise_not": bitwise_not,
    "bitwise_or": bitwise_or,
    "bitwise_right_shift": bitwise_right_shift,
    "bitwise_xor": bitwise_xor,
    "invert": bitwise_not,
    "logit": logit,
}
