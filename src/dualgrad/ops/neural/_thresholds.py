"""Activation functions with limits and thresholds: hard forms of the smooth ones, and shrinkage."""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating
from ..index.choice import clamp, where

__all__ = [
    "HShrink", "HSigmoid", "HSwish", "SoftShrink", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "softshrink",
]  # fmt: skip

_ABS, _GT = OP["abs"], OP["gt"]


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Limit x to an interval: `clamp` with the limits -1 and 1.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.
    min_val, max_val : float, default -1.0 and 1.0
        The limits; the derivative is 1 between them and at them.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `min_val` is not below `max_val`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hardtanh(dg.Tensor([-3.0, 0.5, 2.0])))
    [-1.   0.5  1. ]
    """
    real_number("hardtanh", "max_val", max_val)
    real_number("hardtanh", "min_val", min_val)
    if not min_val < max_val:
        raise ValueError(f"hardtanh: min_val is {min_val} and max_val {max_val}; expected min_val below max_val")
    return clamp(floating("hardtanh", input), min_val, max_val)


def hardsigmoid(input: Any) -> Tensor:
    """``clamp(x + 3, 0, 6) / 6``, a sigmoid of straight pieces.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor
        The derivative is 1/6 from -3 to 3, both included, and 0 outside.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hardsigmoid(dg.Tensor([-4.0, 0.0, 1.5])))
    [0.   0.5  0.75]
    """
    return clamp(floating("hardsigmoid", input) + 3, 0, 6) / 6


def hardswish(input: Any) -> Tensor:
    """``x * hardsigmoid(x)``, a swish of straight pieces and a parabola.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor
        The derivative at -3 and 3 is taken from the parabola, -1/2 and 3/2.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hardswish(dg.Tensor([-4.0, 0.0, 3.0])))
    [-0. 0. 3.]
    """
    x = floating("hardswish", input)
    return x * hardsigmoid(x)


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """X where ``abs(x)`` is above a threshold, else 0.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.
    lambd : float, default 0.5
        The threshold; value and derivative there are 0.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hardshrink(dg.Tensor([-2.0, 0.5, 0.75])))
    [-2.    0.    0.75]
    """
    x = floating("hardshrink", input)
    return where(_engine.binary_op(_GT, _engine.unary(_ABS, x), lambd), x, 0.0)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """X moved towards 0 by a threshold, and 0 within it: ``x - clamp(x, -lambd, lambd)``.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.
    lambd : float, default 0.5
        The threshold, not negative; the derivative there is 0.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `lambd` is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softshrink(dg.Tensor([-2.0, 0.5, 0.75])))
    [-1.5  0.   0.25]
    """
    real_number("softshrink", "lambd", lambd)
    if not lambd >= 0:
        raise ValueError(f"softshrink: lambd is {lambd}; expected a number that is not negative")
    x = floating("softshrink", input)
    return x - clamp(x, -lambd, lambd)


class HSigmoid(Primitive, of=hardsigmoid):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return hardsigmoid(x)


class HSwish(Primitive, of=hardswish):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return hardswish(x)


class HShrink(Primitive):
    """Primitive class of `hardshrink`: ``ops.HShrink(lambd=0.5)(x)``.

    Parameters
    ----------
    lambd : float, default 0.5
        Elements up to this size become 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.HShrink()(dg.Tensor([-2.0, 0.25, 3.0])))
    [-2.  0.  3.]
    """

    __slots__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd: float = lambd

    def __call__(self, x: Any) -> Tensor:
        return hardshrink(x, self.lambd)


class SoftShrink(Primitive):
    """Primitive class of `softshrink`: ``ops.SoftShrink(lambd=0.5)(x)``.

    Parameters
    ----------
    lambd : float, default 0.5
        The distance by which elements move towards 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SoftShrink()(dg.Tensor([-2.0, 0.25, 3.0])))
    [-1.5  0.   2.5]
    """

    __slots__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd: float = lambd

    def __call__(self, x: Any) -> Tensor:
        return softshrink(x, self.lambd)
