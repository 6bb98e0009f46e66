"""Short formulas of several operations.

All are composed of tensor operators, so types combine and derivatives of every order follow by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, operand, operands

__all__ = [
    "AddN", "Addcdiv", "Addcmul", "Lerp", "SquaredDifference", "addcdiv", "addcmul", "addn", "deg2rad", "lerp",
    "rad2deg",
]  # fmt: skip

_SQUARE, _SUB = OP["square"], OP["sub"]


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

    Parameters, result and errors are as in `addcmul`.

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
        The values for the weights 0 and 1.
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
    return x + (operand("lerp", end) - x) * (weight if isinstance(weight, int | float) else operand("lerp", weight))


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


class AddN(Primitive, of=addn):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return addn(x)


class Addcdiv(Primitive, of=addcdiv):
    __slots__ = ()

    def __call__(self, input_data: Any, x1: Any, x2: Any, value: Any) -> Tensor:
        return addcdiv(input_data, x1, x2, value)


class Addcmul(Primitive, of=addcmul):
    __slots__ = ()

    def __call__(self, input_data: Any, x1: Any, x2: Any, value: Any) -> Tensor:
        return addcmul(input_data, x1, x2, value)


class Lerp(Primitive, of=lerp):
    __slots__ = ()

    def __call__(self, start: Any, end: Any, weight: Any) -> Tensor:
        return lerp(start, end, weight)


METHODS: dict[str, Callable[..., Any]] = {
    "addcdiv": addcdiv,
    "addcmul": addcmul,
    "deg2rad": deg2rad,
    "lerp": lerp,
    "rad2deg": rad2deg,
}
