"""Operands of functions that the array API standard names, as tensors of one type."""

from __future__ import annotations

from typing import Any

from .. import dtype as _dtype
from ..ops._arguments import IS_FLOAT, alike, operand, together
from ..tensor import Tensor
from ._arguments import array_like, beside_tensors, tensors_among
from ._creation import tensor_of

__all__ = ["settled", "settled_together", "wide"]


def wide(x: Tensor) -> Tensor:
    """Integers and bools in the type in which they are added up, which is unsigned for unsigned ones."""
    if x._typenum in IS_FLOAT:
        return x
    return x.astype(_dtype.uint64 if x.dtype in _dtype.uint_type else _dtype.int64)


def settled(name: str, x: Any) -> Tensor:
    """An operand as a tensor; lists are arrays."""
    return tensor_of(x) if isinstance(x, list | tuple) else operand(name, x)


def settled_together(name: str, *many: Any) -> list[Tensor]:
    """Operands as tensors of one type; lists are arrays, numbers take the type of what is beside them."""
    plain = beside_tensors(tensors_among(many))
    return alike(together(name, *[array_like(name, x, plain) for x in many]))
