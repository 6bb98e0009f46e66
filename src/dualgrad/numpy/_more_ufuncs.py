"""NumPy ufuncs without a row in the table of primitives: parts of numbers, products of stacks, integer functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..extend import elementwise
from ..ops._arguments import alike, floating, integer, one_axis, operand, to_shape, together
from ..ops.composed.comparisons import signbit
from ..ops.composed.numbers import bitwise_left_shift, bitwise_right_shift, nextafter
from ..ops.index.choice import where
from ..ops.math import elementwise as _rows
from ..ops.math.complex import conj
from ..ops.math.reductions import sum as _sum
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import numbers

__all__ = ["MORE_UFUNCS", "matvec", "vecdot", "vecmat"]

_exponent = elementwise(
    "binary_exponent",
    lambda x: np.frexp(x)[1].astype(x.dtype),
    None,
    summary="the exponent of a floating-point number, whose fraction lies between 1/2 and 1",
)
_fraction = elementwise(
    "binary_fraction",
    lambda x: np.frexp(x)[0],
    "exp2(-binary_exponent(x))",
    summary="the fraction of a floating-point number, between 1/2 and 1",
)
_spacing = elementwise("spacing", np.spacing, None, summary="the distance to the next number away from 0")


def _frexp(x: Any) -> tuple[Tensor, Tensor]:
    x = floating("np.frexp", x)
    if x.dtype.is_complex:
        raise TypeError("np.frexp: expected a real operand, such as ops.real(x), got a complex one")
    return _fraction(x), _exponent(x).astype(np.int32)


def _modf(x: Any) -> tuple[Tensor, Tensor]:
    x = floating("np.modf", x)
    whole = _rows.trunc(x)
    rest = where(_rows.isinf(x), 0.0, x - whole)
    return rest, whole


def _ldexp(x1: Any, x2: Any) -> Tensor:
    x1 = floating("np.ldexp", x1)
    x2 = tensor_of(x2)
    if not x2.dtype.is_int:
        raise TypeError(f"np.ldexp: the exponent is of type {x2.dtype}; expected integers")
    return _rows.ldexp(x1, x2.astype(x1.dtype))


def _of_integers(ufunc: np.ufunc) -> Callable[..., Tensor]:
    """Make a function of integers, which has no derivative."""

    def function(*operands: Any) -> Tensor:
        name = f"np.{ufunc.__name__}"
        if len(operands) != ufunc.nin:
            raise TypeError(f"{name}: expected {ufunc.nin} operands, got {len(operands)}")
        found = together(name, *operands)
        for x in found:
            if x.dtype.is_float or x.dtype.is_complex:
                raise TypeError(f"{name}: expected integers, got {x.dtype}")
        return Tensor(np.asarray(ufunc(*numbers(found))))

    return function


# ------------------------------------------------------------------------------------------- products of stacks


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    """Scalar products along an axis; the first vector is conjugated."""
    x1, x2 = alike(together("vecdot", x1, x2))
    axis = integer("vecdot", "axis", axis)
    place = axis - max(x1.ndim, x2.ndim) if axis >= 0 else axis
    lengths = [x.shape[one_axis("vecdot", place, x.shape)] for x in (x1, x2)]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"vecdot: shapes {x1.shape} and {x2.shape} have the lengths {lengths[0]} and {lengths[1]} along axis {axis}"
        )
    terms = conj(x1) * x2
    return _sum(terms, place, dtype=terms.dtype)


def matvec(x1: Any, x2: Any) -> Tensor:
    """Products of matrices and vectors, also of stacks."""
    a, v = operand("np.matvec", x1), operand("np.matvec", x2)
    _require("np.matvec", a, v, -1)
    found = a @ to_shape(v, (*v.shape, 1))
    return to_shape(found, found.shape[:-1])


def vecmat(x1: Any, x2: Any) -> Tensor:
    """Products of conjugated vectors and matrices, also of stacks."""
    v, a = operand("np.vecmat", x1), operand("np.vecmat", x2)
    _require("np.vecmat", a, v, -2)
    v = conj(v)
    found = to_shape(v, (*v.shape[:-1], 1, v.shape[-1])) @ a
    return to_shape(found, (*found.shape[:-2], found.shape[-1]))


def _require(name: str, a: Tensor, v: Tensor, axis: int) -> None:
    if a.ndim < 2 or v.ndim < 1 or a.shape[axis] != v.shape[-1]:
        raise ValueError(f"{name}: a matrix of shape {a.shape} and a vector of shape {v.shape} do not multiply")


MORE_UFUNCS: dict[str, Callable[..., Any]] = {
    "frexp": _frexp,
    "ldexp": _ldexp,
    "modf": _modf,
    "nextafter": nextafter,
    "signbit": signbit,
    "spacing": lambda x: _spacing(floating("np.spacing", x)),
    "gcd": _of_integers(np.gcd),
    "lcm": _of_integers(np.lcm),
    "bitwise_count": _of_integers(np.bitwise_count),
    "left_shift": bitwise_left_shift,
    "right_shift": bitwise_right_shift,
    "matvec": matvec,
    "vecdot": vecdot,
    "vecmat": vecmat,
}
"""Functions by ufunc name; some ufuncs exist only in later NumPy versions."""
