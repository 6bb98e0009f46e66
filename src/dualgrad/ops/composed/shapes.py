"""Add, join and split axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..._settings import room
from ...tensor import Tensor
from .._arguments import expanded, integer, lengths, one_axis, operand, operands, to_shape
from ..axes._joining import cat, hstack
from ..math.complex import conj
from ..shape.reshaping import transpose
from ._classes import Derived

__all__ = [
    "ConjugateTranspose", "atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "dsplit", "dstack", "expand",
    "hsplit", "tensor_split", "view_as", "vsplit",
]  # fmt: skip


def _at_least(name: str, inputs: Any, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    if isinstance(inputs, tuple | list):
        return tuple([to_shape(x, shape(x.shape)) for x in operands(name, inputs)])
    x = operand(name, inputs)
    return to_shape(x, shape(x.shape))


def atleast_1d(inputs: Any) -> Any:
    """Make a number a vector; tensors with axes stay as they are.

    Parameters
    ----------
    inputs : Tensor, or tuple or list of Tensor
        Any shapes.

    Returns
    -------
    Tensor or tuple of Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.atleast_1d(dg.Tensor(2.0)))
    [2.]
    """
    return _at_least("atleast_1d", inputs, lambda s: s or (1,))


def atleast_2d(inputs: Any) -> Any:
    """Make a number or vector a matrix of one row; parameters and results are as in `atleast_1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.atleast_2d(dg.Tensor([2.0, 3.0])))
    [[2. 3.]]
    """
    return _at_least("atleast_2d", inputs, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(inputs: Any) -> Any:
    """Add axes up to three; a vector of length n gets shape (1, n, 1), a matrix a last axis of length 1.

    Parameters and results are as in `atleast_1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.atleast_3d(dg.Tensor([2.0, 3.0])).shape
    (1, 2, 1)
    """
    return _at_least("atleast_3d", inputs, lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s))


def column_stack(tensors: Any) -> Tensor:
    """Join vectors as columns, and matrices beside each other.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        Vectors of one length, or tensors with as many rows.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.column_stack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0]))))
    [[1. 3.]
     [2. 4.]]
    """
    parts = operands("column_stack", tensors)
    return hstack(tuple([to_shape(x, (x.size, 1)) if x.ndim < 2 else x for x in parts]))


def dstack(tensors: Any) -> Tensor:
    """Join tensors along their third axis, after `atleast_3d`.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        Equal shapes but for the third axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.dstack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0]))).shape
    (1, 2, 2)
    """
    return cat(atleast_3d(operands("dstack", tensors)), 2)


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Split an axis at places, or into parts that differ by at most one element.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int, or tuple or list of int
        The number of parts, or the places where parts begin.
    axis : int, default 0
        The axis.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    ValueError
        If the number of parts is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.tensor_split(dg.Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    return _divided("tensor_split", operand("tensor_split", input), indices_or_sections, axis)


def _divided(name: str, x: Tensor, places: Any, axis: int, even: bool = False) -> tuple[Tensor, ...]:
    axis = one_axis(name, axis, x.shape)
    n = x.shape[axis]
    if isinstance(places, tuple | list):
        stops = [integer(name, "a place", k) for k in places]
        edges = [0, *[min(max(k + n if k < 0 else k, 0), n) for k in stops], n]
    else:
        parts = integer(name, "the number of parts", places)
        if parts < 1 or (even and n % parts):
            raise ValueError(f"{name}: {parts} parts of an axis of length {n}; expected a positive number that fits")
        room(name, (parts,))
        edges = [k * (n // parts) + min(k, n % parts) for k in range(parts + 1)]
    index = (slice(None),) * axis
    return tuple([x[(*index, slice(a, max(a, b)))] for a, b in itertools.pairwise(edges)])


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split the second axis, or the only one; see `tensor_split`.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int, or tuple or list of int
        The number of parts, or the places where parts begin.

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.hsplit(ops.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = operand("hsplit", input)
    return _divided("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split the first axis; see `tensor_split`. Parameters and results are as in `hsplit`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.vsplit(ops.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _divided("vsplit", operand("vsplit", input), indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split the third axis; see `tensor_split`. Parameters and results are as in `hsplit`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.dsplit(ops.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _divided("dsplit", operand("dsplit", input), indices_or_sections, 2)


def expand(input_x: Any, size: Any) -> Tensor:
    """Broadcast to a shape; -1 keeps a length.

    Parameters
    ----------
    input_x : Tensor
        Any shape.
    size : tuple of int or Tensor
        The new shape, with at least as many axes.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.expand(dg.Tensor([[1.0], [2.0]]), (-1, 2)))
    [[1. 1.]
     [2. 2.]]
    """
    x, size = operand("expand", input_x), lengths("expand", size)
    own = (1,) * (len(size) - x.ndim) + x.shape
    target = tuple([m if k == -1 else k for m, k in zip(own, size, strict=False)])
    lead = len(size) - x.ndim
    if lead < 0 or -1 in size[:lead] or any(m not in (1, k) for m, k in zip(own, target, strict=True)):
        raise ValueError(f"expand: a tensor of shape {x.shape} does not broadcast to {size}")
    return expanded(x, target)


def view_as(input: Any, other: Any) -> Tensor:
    """Give a tensor the shape of another.

    Parameters
    ----------
    input, other : Tensor
        The tensor to reshape, and the tensor with the shape.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the numbers of elements differ.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.view_as(ops.ones((2, 3)), ops.ones((6,))).shape
    (6,)
    """
    x, like = operand("view_as", input), operand("view_as", other)
    if x.size != like.size:
        raise ValueError(f"view_as: a tensor of shape {x.shape} cannot have shape {like.shape}")
    return to_shape(x, like.shape)


class ConjugateTranspose(Derived, function=lambda x, perm: conj(transpose(x, perm)), call="x, perm"):
    """Reorder axes and conjugate numbers: ``ops.ConjugateTranspose()(x, perm)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ConjugateTranspose()(dg.Tensor([[1.0 + 2.0j, 3.0]]), (1, 0)))
    [[1.-2.j]
     [3.-0.j]]
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "dsplit": dsplit,
    "hsplit": hsplit,
    "tensor_split": tensor_split,
    "view_as": view_as,
    "vsplit": vsplit,
}
