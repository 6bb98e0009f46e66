"""Shapes and types as Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtype as _dtype
from ...tensor import Tensor
from .._arguments import Primitive, operand

__all__ = [
    "DType", "Rank", "Shape", "Size", "dtype", "is_tensor", "rank", "shape", "size",
]  # fmt: skip


def shape(x: Any) -> tuple[int, ...]:
    """The shape of a tensor, as a tuple of ints.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.shape(dg.Tensor([[1.0, 2.0]]))
    (1, 2)
    """
    return operand("shape", x).shape


def rank(x: Any) -> int:
    """The number of axes of a tensor, as an int.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    int

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.rank(dg.Tensor([[1.0, 2.0]]))
    2
    """
    return operand("rank", x).ndim


def size(x: Any) -> int:
    """The number of elements of a tensor, as an int.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    int

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.size(dg.Tensor([[1.0, 2.0]]))
    2
    """
    return operand("size", x).size


def dtype(x: Any) -> _dtype.DType:
    """The type of the elements of a tensor.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    DType

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.dtype(dg.Tensor([1.0]))
    dualgrad.float32
    """
    return operand("dtype", x).dtype


def is_tensor(obj: Any) -> bool:
    """True if an object is a Tensor (a Parameter is one too).

    Parameters
    ----------
    obj
        Anything.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_tensor(dg.Tensor([1.0])), ops.is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


class Shape(Primitive, of=shape):
    __slots__ = ()

    def __call__(self, x: Any) -> tuple[int, ...]:
        return shape(x)


class Rank(Primitive, of=rank):
    __slots__ = ()

    def __call__(self, x: Any) -> int:
        return rank(x)


class Size(Primitive, of=size):
    __slots__ = ()

    def __call__(self, x: Any) -> int:
        return size(x)


class DType(Primitive, of=dtype):
    __slots__ = ()

    def __call__(self, x: Any) -> _dtype.DType:
        return dtype(x)


METHODS: dict[str, Callable[..., Any]] = {}
