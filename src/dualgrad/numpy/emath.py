"""Functions with a complex result where the real function is undefined: ``numpy.emath``, ``numpy.lib.scimath``.

If an element lies outside the domain of the real function, the whole result is complex with parts of the same
precision, as in NumPy. Otherwise it is the result of `dualgrad.numpy`. So the type depends on the values. The
derivative is of the function applied; at a branch point it does not exist.

Examples
--------
>>> import dualgrad as dg
>>> import dualgrad.numpy as mnp
>>> from dualgrad.numpy import emath
>>> x = dg.Tensor([-4.0, 9.0], dg.float64)
>>> print(emath.sqrt(x))
[0.+2.j 3.+0.j]
>>> print(dg.grad(lambda x: mnp.imag(emath.sqrt(x)).sum())(x))
[-0.25  0.  ]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualgrad.numpy as mnp

from ..dtype import complex64, complex128, float64
from ..ops._arguments import floating, together
from ..tensor import Tensor

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]


def sqrt(x: Any) -> Tensor:
    """The square root; ``i * sqrt(-x)`` for negative numbers.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        Complex if `x` is complex or has a negative element.
    """
    return _of_one("sqrt", x, _negative)


def log(x: Any) -> Tensor:
    """The natural logarithm; ``log(-x) + i pi`` for negative numbers.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        Complex if `x` is complex or has a negative element.
    """
    return _of_one("log", x, _negative)


def log2(x: Any) -> Tensor:
    """The logarithm to base 2; complex as in `log`.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        Complex if `x` is complex or has a negative element.
    """
    return _of_one("log2", x, _negative)


def log10(x: Any) -> Tensor:
    """The logarithm to base 10; complex as in `log`.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        Complex if `x` is complex or has a negative element.
    """
    return _of_one("log10", x, _negative)


def logn(n: Any, x: Any) -> Tensor:
    """The logarithm of `x` to base `n`, the quotient of their natural logarithms.

    Parameters
    ----------
    n, x : Tensor
        Shapes that broadcast, real or complex.

    Returns
    -------
    Tensor
        Complex if one of them is complex or has a negative element.
    """
    n, x = _pair("logn", n, x)
    return log(x) / log(n)


def power(x: Any, p: Any) -> Tensor:
    """`x` to the power of `p`, by the complex logarithm if an `x` is negative.

    Parameters
    ----------
    x, p : Tensor
        Shapes that broadcast, real or complex; real integers stay integers if none is negative.

    Returns
    -------
    Tensor
        Complex if one of them is complex, or `x` has a negative element.
    """
    x, p = _pair("power", x, p)
    if x.dtype.is_complex:
        return mnp.power(x, p)
    if _some(x < 0):
        x = _as_complex(floating("power", x))
    elif not (x.dtype.is_float or p.dtype.is_float or p.dtype.is_complex) and _some(p < 0):
        p = p.astype(float64)
    return mnp.power(x, p)


def arccos(x: Any) -> Tensor:
    """The angle between 0 and pi whose cosine is `x`; complex beyond 1.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        In radians. Complex if `x` is complex or has an element beyond 1 in absolute value.
    """
    return _of_one("arccos", x, _beyond_one)


def arcsin(x: Any) -> Tensor:
    """The angle between -pi/2 and pi/2 whose sine is `x`; complex beyond 1.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        In radians. Complex if `x` is complex or has an element beyond 1 in absolute value.
    """
    return _of_one("arcsin", x, _beyond_one)


def arctanh(x: Any) -> Tensor:
    """The number whose hyperbolic tangent is `x`; complex beyond 1.

    Parameters
    ----------
    x : Tensor
        Any shape, real or complex.

    Returns
    -------
    Tensor
        Complex if `x` is complex or has an element beyond 1 in absolute value.
    """
    return _of_one("arctanh", x, _beyond_one)


def _pair(name: str, *operands: Any) -> list[Tensor]:
    """Convert two operands to tensors; a number takes its type from the other operand."""
    return together(name, *[mnp.asarray(x) if isinstance(x, list | tuple) else x for x in operands])


def _of_one(name: str, x: Any, outside: Callable[[Tensor], Tensor]) -> Tensor:
    x = mnp.asarray(x)
    if not x.dtype.is_complex:
        x = floating(name, x)
        if _some(outside(x)):
            x = _as_complex(x)
    return getattr(mnp, name)(x)


def _negative(x: Tensor) -> Tensor:
    return x < 0


def _beyond_one(x: Tensor) -> Tensor:
    return mnp.abs(x) > 1


def _some(found: Tensor) -> bool:
    """True if an element is True. Reading it makes recorded functions run eagerly."""
    return bool(mnp.any(found))


def _as_complex(x: Tensor) -> Tensor:
    return x.astype(complex128 if x.dtype == float64 else complex64)
