"""Comparisons, and tests for kinds of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import number_or_tensor, real_number, truth_value
from ...tensor import Tensor
from .._arguments import alike, operand, together
from ..math import elementwise as _rows
from ..math._truth import all as every
from ._classes import Derived

__all__ = [
    "ApproximateEqual", "IsClose", "allclose", "approximate_equal", "is_nonzero", "isclose", "isneginf",
    "isposinf", "isreal", "signbit",
]  # fmt: skip


def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """True where elements are equal up to a small error: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast.
    rtol, atol : float, default 1e-5 and 1e-8
        The relative and the absolute error.
    equal_nan : bool, default False
        True if nan equals nan.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isclose(dg.Tensor([1.0, 1.0]), dg.Tensor([1.0000001, 1.1])))
    [ True False]
    """
    x, y = alike(together("isclose", input, other))
    equal_nan = truth_value("isclose", "equal_nan", equal_nan)
    atol, rtol = number_or_tensor("isclose", "atol", atol), number_or_tensor("isclose", "rtol", rtol)
    exact = x == y
    if x.dtype.is_float or x.dtype.is_complex:
        near = _rows.isfinite(y) & (_rows.abs(x - y) <= atol + rtol * _rows.abs(y))
        exact = exact | near
        if equal_nan:
            exact = exact | (_rows.isnan(x) & _rows.isnan(y))
        return exact
    wide = [t.astype(_dtype.float64) for t in (x, y)]
    return exact | (_rows.abs(wide[0] - wide[1]) <= atol + rtol * _rows.abs(wide[1]))


def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """True if all elements are equal up to a small error; parameters are as in `isclose`.

    Returns
    -------
    Tensor
        Type Bool, without axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.allclose(dg.Tensor([1.0]), dg.Tensor([1.0000001])))
    True
    """
    return every(isclose(input, other, rtol, atol, equal_nan))


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Tensor:
    """True where elements differ by less than a number.

    Parameters
    ----------
    x, y : Tensor
        Shapes that broadcast.
    tolerance : float, default 1e-5
        The number.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.approximate_equal(dg.Tensor([1.0, 2.0]), dg.Tensor([1.5, 4.0]), 1.0))
    [ True False]
    """
    if real_number("approximate_equal", "tolerance", tolerance) < 0:
        raise ValueError(f"approximate_equal: tolerance is {tolerance}; expected 0 or more")
    x, y = alike(together("approximate_equal", x, y))
    if x.dtype.is_int:  # the difference of integers may not fit their type
        return _rows.maximum(x, y).astype(_dtype.float64) - _rows.minimum(x, y).astype(_dtype.float64) < tolerance
    return _rows.abs(x - y) < tolerance


def isneginf(input: Any) -> Tensor:
    """True where elements are -inf.

    Parameters
    ----------
    input : Tensor
        Any shape and type.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isneginf(dg.Tensor([1.0, float("-inf")])), ops.isposinf(dg.Tensor([1.0, float("-inf")])))
    [False  True] [False False]
    """
    return operand("isneginf", input) == -math.inf


def isposinf(input: Any) -> Tensor:
    """True where elements are inf; the parameters are as in `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isposinf(dg.Tensor([1.0, float("inf")])))
    [False  True]
    """
    return operand("isposinf", input) == math.inf


def isreal(input: Any) -> Tensor:
    """True where elements have no imaginary part; the parameters are as in `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.isreal(dg.Tensor([1.0 + 1j, 2.0])))
    [False  True]
    """
    x = operand("isreal", input)
    return x.imag() == 0 if x.dtype.is_complex else x == x if not x.dtype.is_float else (x == x) | _rows.isnan(x)


def signbit(input: Any) -> Tensor:
    """True where elements have a minus sign, -0.0 included; the parameters are as in `isneginf`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.signbit(dg.Tensor([1.0, -0.0, -2.0])))
    [False  True  True]
    """
    x = operand("signbit", input)
    return _rows.copysign(np.ones((), x.dtype.numpy), x) < 0 if x.dtype.is_float else x < 0


def is_nonzero(input: Any) -> bool:
    """True if the only element of a tensor is not 0.

    Parameters
    ----------
    input : Tensor
        One element.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_nonzero(dg.Tensor([0.5]))
    True
    """
    x = operand("is_nonzero", input)
    if x.size != 1:
        raise ValueError(f"is_nonzero: a tensor of shape {x.shape} has {x.size} elements; expected one")
    return bool(x._numpy().item())


# ------------------------------------------------------------------------------------------ primitive classes


class ApproximateEqual(Derived, function=approximate_equal, tolerance=1e-5, call="x, y", example="""
>>> print(ops.ApproximateEqual(1.0)(dg.Tensor([1.0, 2.0]), dg.Tensor([1.5, 4.0])))
[ True False]
"""):  # fmt: skip
    __slots__ = ()


class IsClose(Derived, function=isclose, rtol=1e-5, atol=1e-8, equal_nan=False, call="input, other", example="""
>>> print(ops.IsClose()(dg.Tensor([1.0, 1.0]), dg.Tensor([1.0000001, 1.1])))
[ True False]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "allclose": allclose,
    "approximate_equal": approximate_equal,
    "isclose": isclose,
    "isneginf": isneginf,
    "isposinf": isposinf,
    "isreal": isreal,
    "signbit": signbit,
}
