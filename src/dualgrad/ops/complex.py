"""Complex numbers: their parts, absolute value and angle, and how they are put together.

Analytic functions (``exp``, ``sin``, ``matmul`` ...) need nothing of this file: one rule serves real and complex
operands. What is here is smooth in the real and imaginary part only. It is composed of three rows, `conj` and the two
views, so derivatives of every order follow; the convention for gradients is stated in ``docs/complex.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._engine.transforms import tensor as _engine
from ..tensor import Tensor
from ._arguments import OP, Primitive, expanded, floating, operand, to_shape

__all__ = [
    "Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Polar", "Real", "adjoint", "angle", "complex", "conj",
    "imag", "is_complex", "is_floating_point", "polar", "real", "sgn", "view_as_complex", "view_as_real",
]  # fmt: skip

_ABS, _ATAN2, _COS, _CONCAT, _CONJ = OP["abs"], OP["atan2"], OP["cos"], OP["concat"], OP["conj"]
_DIV, _EQ, _HYPOT, _ISNAN, _LOGICAL_AND = OP["div"], OP["eq"], OP["hypot"], OP["isnan"], OP["logical_and"]
_LT, _SIGN, _SIN, _SLICE, _TRANSPOSE = OP["lt"], OP["sign"], OP["sin"], OP["slice"], OP["transpose"]
_SQUARE = OP["square"]
_VIEW_AS_COMPLEX, _VIEW_AS_REAL, _WHERE = OP["view_as_complex"], OP["view_as_real"], OP["where"]


# ---------------------------------------------------------------------------------------------------- the parts


def is_complex(x: Any) -> bool:
    """Whether the elements of a tensor are complex numbers.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_complex(dg.Tensor([1.0 + 2.0j])), ops.is_complex(dg.Tensor([1.0]))
    (True, False)
    """
    return operand("is_complex", x).dtype.is_complex


def is_floating_point(x: Any) -> bool:
    """Whether the elements of a tensor are real floats: not integers, bools or complex numbers.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_floating_point(dg.Tensor([1.0])), ops.is_floating_point(dg.Tensor([1.0j]))
    (True, False)
    """
    return operand("is_floating_point", x).dtype.is_float


def view_as_real(x: Any) -> Tensor:
    """Real and imaginary part along a new last axis of length 2.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Complex64 or Complex128, any shape.

    Returns
    -------
    Tensor
        Float32 or Float64.

    Raises
    ------
    TypeError
        If `x` is not complex.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.view_as_real(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [[1. 2.]
     [0. 3.]]
    """
    x = operand("view_as_real", x)
    if not x.dtype.is_complex:
        raise TypeError(f"view_as_real: expected a complex tensor, got type {x.dtype}; use ops.complex(x, 0) first")
    return _engine.apply(_VIEW_AS_REAL, None, x)


def view_as_complex(x: Any) -> Tensor:
    """Complex numbers of the pairs (real, imaginary) along the last axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Float32 or Float64; the last axis has length 2.

    Returns
    -------
    Tensor
        Complex64 or Complex128, without the last axis.

    Raises
    ------
    TypeError
        If `x` has another type.
    ValueError
        If the last axis is missing or has another length.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.view_as_complex(dg.Tensor([[1.0, 2.0], [0.0, 3.0]])))
    [1.+2.j 0.+3.j]
    """
    x = operand("view_as_complex", x)
    if x.dtype not in (_dtype.float32, _dtype.float64):
        raise TypeError(f"view_as_complex: expected Float32 or Float64, got {x.dtype}; convert it with astype first")
    if not x.shape or x.shape[-1] != 2:
        raise ValueError(f"view_as_complex: expected a last axis of length 2 (real, imaginary), got shape {x.shape}")
    return _engine.apply(_VIEW_AS_COMPLEX, None, x)


def _part(z: Tensor, k: int) -> Tensor:
    """The real (k = 0) or imaginary part of a complex tensor."""
    pairs = _engine.apply(_VIEW_AS_REAL, None, z)
    where = (*[(0, n, 1) for n in z.shape], (k, 1, 1))
    return _engine.apply(OP["reshape"], z.shape, _engine.apply(_SLICE, where, pairs))


def real(x: Any) -> Tensor:
    """Real part.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; what is not complex is its own real part.

    Returns
    -------
    Tensor
        Float32 for Complex64, Float64 for Complex128, otherwise the type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.real(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [1. 0.]
    """
    x = operand("real", x)
    return _part(x, 0) if x.dtype.is_complex else +x


def imag(x: Any) -> Tensor:
    """Imaginary part.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; zeros for what is not complex.

    Returns
    -------
    Tensor
        Float32 for Complex64, Float64 for Complex128, otherwise the type of `x`.

    Notes
    -----
    The gradient of its sum is -1j: gradients of a real function are ``df/dx - 1j * df/dy`` for ``x + 1j * y``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.imag(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [2. 3.]
    """
    x = operand("imag", x)
    return _part(x, 1) if x.dtype.is_complex else _zeros(x)


def conj(x: Any) -> Tensor:
    """Complex conjugate.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; what is not complex stays as it is.

    Returns
    -------
    Tensor
        The shape and type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.conj(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [1.-2.j 0.-3.j]
    """
    x = operand("conj", x)
    return _engine.apply(_CONJ, None, x) if x.dtype.is_complex else +x


def adjoint(x: Any) -> Tensor:
    """Conjugate transpose of matrices: the last two axes exchanged, each element conjugated.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Two axes or more.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.adjoint(dg.Tensor([[1.0 + 2.0j, 3.0j]])))
    [[1.-2.j]
     [0.-3.j]]
    """
    x = operand("adjoint", x)
    if x.ndim < 2:
        raise ValueError(f"adjoint: expected two axes or more, got shape {x.shape}")
    order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return conj(_engine.apply(_TRANSPOSE, order, x))


# --------------------------------------------------------------------------------------------------- polar form


def _zeros(x: Tensor) -> Tensor:
    """Zeros of the shape of `x`, and of its type or that of its parts."""
    return Tensor.from_numpy(np.zeros(x.shape, np.zeros(0, x.dtype.numpy).real.dtype))


def _number(value: float, like: Tensor) -> Tensor:
    return _engine.convert(value, like._typenum)


def _apart_from_zero(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where z is 0, and its parts with 1 in place of 0: the slope of what is computed from them stays finite."""
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
    # Signs of zeros choose the side of the cut, and the value at 0 itself; only the slope there is ours.
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
    """Complex numbers of their real and imaginary parts.

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
        If a part is complex, or no number.
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
    wide = _dtype.float64 if common is _dtype.float64 else _dtype.float32
    parts = [_engine.convert(x, wide.num) for x in (real, imag)]
    try:
        shape = np.broadcast_shapes(parts[0].shape, parts[1].shape)
    except ValueError:
        raise ValueError(f"complex: parts of shapes {parts[0].shape} and {parts[1].shape} do not broadcast") from None
    pairs = [to_shape(expanded(x, shape), (*shape, 1)) for x in parts]
    return _engine.apply(_VIEW_AS_COMPLEX, None, _engine.apply(_CONCAT, len(shape), *pairs))


def polar(abs: Any, angle: Any) -> Tensor:
    """Complex numbers of their absolute value and angle.

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
    turn = operand("polar", angle)
    return complex(abs * _engine.unary(_COS, turn), abs * _engine.unary(_SIN, turn))


_engine.COMPLEX_FORMS[_ABS] = _magnitude
_engine.COMPLEX_FORMS[_SIGN] = _direction


# ---------------------------------------------------------------------------------------------- primitive classes


class Real(Primitive):
    """Primitive class of `real`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Real()(dg.Tensor([1.0 + 2.0j])))
    [1.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return real(x)


class Imag(Primitive):
    """Primitive class of `imag`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Imag()(dg.Tensor([1.0 + 2.0j])))
    [2.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return imag(x)


class Conj(Primitive):
    """Primitive class of `conj`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Conj()(dg.Tensor([1.0 + 2.0j])))
    [1.-2.j]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return conj(x)


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


class Complex(Primitive):
    """Primitive class of `complex`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Complex()(dg.Tensor([1.0]), dg.Tensor([2.0])))
    [1.+2.j]
    """

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


class Polar(Primitive):
    """Primitive class of `polar`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Polar()(dg.Tensor([2.0]), dg.Tensor([0.0])))
    [2.+0.j]
    """

    __slots__ = ()

    def __call__(self, abs: Any, angle: Any) -> Tensor:
        return polar(abs, angle)


METHODS: dict[str, Callable[..., Any]] = {
    "adjoint": adjoint,
    "angle": angle,
    "conj": conj,
    "imag": imag,
    "is_complex": is_complex,
    "is_floating_point": is_floating_point,
    "real": real,
    "sgn": sgn,
}
