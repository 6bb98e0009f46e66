"""Elements turned round: reversed along an axis, rolled over its ends, rotated in a plane.

Reversing is a slice with step -1 and rotating a reversal with a transpose, both views of the same memory. Only
`roll` copies, since it joins two slices.
"""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, integer, lengths, one_axis, operand, several_axes, to_shape, unpacked
from ._joining import cat
from ._order import narrow, swapaxes

__all__ = ["Roll", "flip", "roll", "rot90"]

_SLICE = OP["slice"]


def flip(x: Any, dims: Any) -> Tensor:
    """Reverse the order of the elements along axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    dims : int or tuple of int
        The axes.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.flip(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), (1,)))
    [[2. 1.]
     [4. 3.]]
    """
    x = operand("flip", x)
    axes = several_axes("flip", dims, x.shape)
    spec = [(n - 1, n, -1) if k in axes and n else (0, n, 1) for k, n in enumerate(x.shape)]
    return _engine.apply(_SLICE, tuple(spec), x)


def _flip_method(x: Tensor, *dims: Any) -> Tensor:
    return flip(x, unpacked(dims))


def roll(x: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Move the elements along axes; elements that leave at one end enter at the other.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    shifts : int or tuple of int
        How far, towards larger indices.
    dims : int or tuple of int, optional
        The axes; None rolls all elements as one axis and restores the shape.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there are not as many shifts as axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.roll(dg.Tensor([1.0, 2.0, 3.0]), 1, 0))
    [3. 1. 2.]
    """
    x = operand("roll", x)
    if dims is None:
        return to_shape(roll(to_shape(x, (x.size,)), shifts, 0), x.shape)
    by = lengths("roll", shifts)
    axes = dims if isinstance(dims, tuple | list) else (dims,)
    if len(by) != len(axes):
        raise ValueError(f"roll: {len(by)} shifts for {len(axes)} axes; expected one for each")
    for shift, axis in zip(by, axes, strict=True):
        axis = one_axis("roll", axis, x.shape)
        n = x.shape[axis]
        if n and shift % n:
            cut = n - shift % n
            x = cat((narrow(x, axis, cut, n - cut), narrow(x, axis, 0, cut)), axis)
    return +x


def rot90(x: Any, k: int, dims: Any) -> Tensor:
    """Rotate by quarter turns in the plane of two axes.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    k : int
        How many quarter turns, from the first axis towards the second; negative ones go back.
    dims : tuple of int
        The two axes.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there are not two different axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.rot90(dg.Tensor([[0.0, 1.0], [2.0, 3.0]]), 1, (0, 1)))
    [[1. 3.]
     [0. 2.]]
    """
    x = operand("rot90", x)
    turns = integer("rot90", "k", k) % 4
    axes = several_axes("rot90", dims, x.shape)
    if len(axes) != 2:
        raise ValueError(f"rot90: dims is {dims!r}; expected two axes")
    if turns == 0:
        return +x
    if turns == 2:
        return flip(x, axes)
    return swapaxes(flip(x, axes[1]), *axes) if turns == 1 else flip(swapaxes(x, *axes), axes[1])


class Roll(Primitive):
    """Move elements along axes; elements that leave at one end enter at the other; see `roll`.

    Parameters
    ----------
    shifts : int or tuple of int
        How far, towards larger indices.
    dims : int or tuple of int, optional
        The axes; None rolls all elements as one axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Roll(1, 0)(dg.Tensor([1.0, 2.0, 3.0])))
    [3. 1. 2.]
    """

    __slots__ = ("dims", "shifts")

    def __init__(self, shifts: Any, dims: Any = None) -> None:
        self.shifts: Any = shifts
        self.dims: Any = dims

    def __call__(self, x: Any) -> Tensor:
        return roll(x, self.shifts, self.dims)


METHODS: dict[str, Any] = {"flip": _flip_method, "roll": roll, "rot90": rot90}
