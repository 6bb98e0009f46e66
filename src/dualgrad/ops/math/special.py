"""Special functions that are sums of others; the rest are rows of the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, integer, together

__all__ = ["Mvlgamma", "mvlgamma", "xlog1py"]

_ABSORB_MUL, _LGAMMA, _LOG1P = OP["absorb_mul"], OP["lgamma"], OP["log1p"]


def mvlgamma(input: Any, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p.

    ``p (p - 1) / 4 * log(pi)`` plus the sum of ``lgamma(input - i / 2)`` over i = 0, ..., p - 1.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape, every element above ``(p - 1) / 2``; below, some of the gamma functions are negative, and the
        result is the logarithm of their absolute value. Integers become float32.
    p : int
        The dimension, at least 1.

    Returns
    -------
    Tensor
        The shape of `input`.

    Raises
    ------
    ValueError
        If `p` is less than 1.
    TypeError
        If `p` is not an int.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.mvlgamma(dg.Tensor([3.0, 4.0, 5.0]), 3))
    [2.694925 5.402975  9.140645 ]
    """
    x, p = floating("mvlgamma", input), integer("mvlgamma", "p", p)
    if not 1 <= p <= 10**6:
        raise ValueError(f"mvlgamma: p is {p}; expected a dimension of at least 1, at most 1000000")
    total = _engine.unary(_LGAMMA, x)
    for i in range(1, p):
        total = total + _engine.unary(_LGAMMA, x - 0.5 * i)
    return total + 0.25 * p * (p - 1) * math.log(math.pi) if p > 1 else total


def xlog1py(x: Any, y: Any) -> Tensor:
    """``x * log(1 + y)``, exact for small y, and 0 where x is 0, whatever y is.

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
    >>> print(ops.xlog1py(dg.Tensor([0.0, 2.0]), dg.Tensor([-1.0, 1e-7])))
    [0.e+00 2.e-07]
    """
    x, y = together("xlog1py", x, y)
    return _engine.binary_op(_ABSORB_MUL, x, _engine.unary(_LOG1P, y))


class Mvlgamma(Primitive):
    """Primitive class of `mvlgamma`: ``ops.Mvlgamma(p)(x)``.

    Parameters
    ----------
    p : int
        The dimension, at least 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Mvlgamma(3)(dg.Tensor([3.0])))
    [2.694925]
    """

    __slots__ = ("p",)

    def __init__(self, p: int) -> None:
        self.p: int = integer("Mvlgamma", "p", p)

    def __call__(self, x: Any) -> Tensor:
        return mvlgamma(x, self.p)


METHODS: dict[str, Callable[..., Any]] = {"mvlgamma": mvlgamma}
