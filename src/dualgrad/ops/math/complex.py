"""Complex numbers: absolute value, angle, and construction from parts; `_parts.py` takes them apart.

Analytic functions (``exp``, ``sin``, ``matmul`` ...) need nothing of this file: one rule serves real and complex
operands. The functions here are smooth in the real and imaginary part only. They are composed of three rows, `conj` and
the two views, so derivatives of every order follow; ``docs/complex.md`` states the convention for gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._dtypes import default_float
from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor
from ...tensor import Tensor
from .._arguments import OP, Primitive, expanded, floating, operand
from . import _parts
from ._parts import *  # noqa: F403
from ._parts import _part, joined

__all__ = [
    "Angle", "Complex", "ComplexAbs", "Polar", "angle", "complex", "polar", "sgn",
]  # fmt: skip
__all__ += _parts.__all__

_ABS, _ATAN2, _COS = OP["abs"], OP["atan2"], OP["cos"]
_DIV, _EQ, _HYPOT, _ISNAN, _LOGICAL_AND = OP["div"], OP["eq"], OP["hypot"], OP["isnan"], OP["logical_and"]
_LT, _SIGN, _SIN = OP["lt"], OP["sign"], OP["sin"]
_SQUARE = OP["square"]
_WHERE = OP["where"]


def _number(value: float, like: Tensor) -> Tensor:
    return _engine.convert(value, like._typenum)


def _apart_from_zero(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where z is 0, and its parts with 1 in place of 0, so that derivatives of functions of them stay finite."""
    x, y = _part(z, 0), _part(z, 1)
    zero = _engine.binary_op(_LOGICAL_AND, _engine.binary_op(_EQ, x, 0), _engine.binary_op(_EQ, y, 0))
    return zero, _engine.apply(_WHERE, None, zero, _number(1.0, x), x), y


def _magnitude(z: Tensor) -> Tensor:
    """|z|, a real tensor; every derivative is 0 at 0."""
    zero, x, y = _apart_from_zero(z)
    return _engine.apply(_WHERE, None, zero, _number(0.0, x), _engine.binary_op(_HYPOT, x, y))


def squared_magnitude(x: Tensor) -> Tensor:
    """|x|**2 of a real or complex tensor, a real tensor; smooth at 0 too."""
    if not x.dtype.is_complex:
        return _engine.unary(_SQUARE, x)
    return _engine.unary(_SQUARE, _part(x, 0)) + _engine.unary(_SQUARE, _part(x, 1))


def angle(x: Any) -> Tensor:
    """Angle of complex numbers with the positive real axis, in (-pi, pi].

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; the angle of a negative real number is pi, of the others 0.

    Returns
    -------
    Tensor
        Float32 for Complex64, Float64 for Complex128; a real `x` keeps its type, integers give Float32.

    Notes
    -----
    The gradient is ``-1j / x``, and 0 at 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.angle(dg.Tensor([1.0 + 1.0j, -1.0j])))
    [ 0.7853982 -1.5707964]
    """
    z = floating("angle", x)
    if not z.dtype.is_complex:
        side = _engine.apply(_WHERE, None, _engine.binary_op(_LT, z, 0), _number(math.pi, z), _number(0.0, z))
        return _engine.apply(_WHERE, None, _engine.unary(_ISNAN, z), z, side)
    zero, x, y = _apart_from_zero(z)
    # Signs of zeros choose the side of the cut, and the value at 0 itself; only the derivative there is set here.
    at_zero = _engine.binary_op(_ATAN2, *[_engine.stop(_part(z, k)) for k in (1, 0)])
    return _engine.apply(_WHERE, None, zero, at_zero, _engine.binary_op(_ATAN2, y, x))


def sgn(x: Any) -> Tensor:
    """Direction of complex numbers, ``x / abs(x)`` and 0 at 0; for real ones the same as `sign`.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type.

    Returns
    -------
    Tensor
        The shape and type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.sgn(dg.Tensor([3.0 + 4.0j, 0.0j, 2.0j])))
    [0.6+0.8j 0. +0.j  0. +1.j ]
    """
    return _engine.unary(_SIGN, operand("sgn", x))


def _direction(z: Tensor) -> Tensor:
    zero, x, y = _apart_from_zero(z)
    size = _engine.binary_op(_HYPOT, x, y)
    unit = complex(_engine.binary_op(_DIV, x, size), _engine.binary_op(_DIV, y, size))
    return _engine.apply(_WHERE, None, zero, _number(0.0, z), unit)


def complex(real: Any, imag: Any) -> Tensor:
    """Make complex numbers from real and imaginary parts.

    Parameters
    ----------
    real, imag : Tensor, numpy.ndarray or number
        Real, of shapes that broadcast.

    Returns
    -------
    Tensor
        Complex128 if a part is Float64, otherwise Complex64.

    Raises
    ------
    TypeError
        If a part is complex, or not a number.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.complex(dg.Tensor([1.0, 2.0]), dg.Tensor([0.5, -0.5])))
    [1.+0.5j 2.-0.5j]
    """
    common = _dtype.from_num(_engine.common_type(real, imag))
    if common.is_complex:
        raise TypeError("complex: a part is complex already; expected two real parts (ops.real, ops.imag)")
    wide = _dtype.float64 if common is _dtype.float64 else _dtype.float32 if common.is_float else default_float()
    parts = [_engine.convert(x, wide.num) for x in (real, imag)]
    try:
        shape = np.broadcast_shapes(parts[0].shape, parts[1].shape)
    except ValueError:
        raise ValueError(f"complex: parts of shapes {parts[0].shape} and {parts[1].shape} do not broadcast") from None
    return joined(*[expanded(x, shape) for x in parts])


def polar(abs: Any, angle: Any) -> Tensor:
    """Make complex numbers from absolute value and angle.

    Parameters
    ----------
    abs, angle : Tensor, numpy.ndarray or number
        Real, of shapes that broadcast; one of them a Tensor or an array.

    Returns
    -------
    Tensor
        Complex128 if one is Float64, otherwise Complex64.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.polar(dg.Tensor([2.0]), dg.Tensor([0.0])))
    [2.+0.j]
    """
    turn, abs = operand("polar", angle), number_or_tensor("polar", "abs", abs)
    return complex(abs * _engine.unary(_COS, turn), abs * _engine.unary(_SIN, turn))


_engine.COMPLEX_FORMS[_ABS] = _magnitude


_engine.COMPLEX_FORMS[_SIGN] = _direction


class Angle(Primitive):
    """Primitive class of `angle`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Angle()(dg.Tensor([1.0j])))
    [1.5707964]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return angle(x)


class Complex(Primitive, of=complex):
    __slots__ = ()

    def __call__(self, real: Any, imag: Any) -> Tensor:
        return complex(real, imag)


class ComplexAbs(Primitive):
    """Primitive class: absolute value of complex numbers, a real tensor.

    Raises
    ------
    TypeError
        If the operand is not complex.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ComplexAbs()(dg.Tensor([3.0 + 4.0j])))
    [5.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x = operand("ComplexAbs", x)
        if not x.dtype.is_complex:
            raise TypeError(f"ComplexAbs: expected a complex tensor, got type {x.dtype}; use ops.abs")
        return _magnitude(x)


class Polar(Primitive, of=polar):
    __slots__ = ()

    def __call__(self, abs: Any, angle: Any) -> Tensor:
        return polar(abs, angle)


METHODS: dict[str, Callable[..., Any]] = {
    **_parts.METHODS,
    "angle": angle,
    "sgn": sgn,
}
