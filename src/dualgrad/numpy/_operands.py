"""Conversion of operands of the array API standard's functions to tensors of one type."""

from __future__ import annotations

from typing import Any

from .. import dtype as _dtype
from ..ops._arguments import IS_FLOAT, alike, operand, together
from ..tensor import Tensor
from ._arguments import array_like, beside_tensors, tensors_among
from ._creation import tensor_of

__all__ = ["settled", "settled_together", "wide"]


def wide(x: Tensor) -> Tensor:
    """Convert integers and bools to the type of their sums: UInt64 for unsigned ones, else Int64."""
    if x._typenum in IS_FLOAT:
        return x
    return x.astype(_dtype.uint64 if x.dtype in _dtype.uint_type else _dtype.int64)


def settled(name: str, x: Any) -> Tensor:
    """Convert an operand to a tensor; lists count as arrays."""
    return tensor_of(x) if isinstance(x, list | tuple) else operand(name, x)


def settled_together(name: str, *many: Any) -> list[Tensor]:
    """Convert operands to tensors of one type. Lists count as arrays; numbers take the type of the other operands."""
    plain = beside_tensors(tensors_among(many))
    return alike(together(name, *[array_like(name, x, plain) for x in many]))
