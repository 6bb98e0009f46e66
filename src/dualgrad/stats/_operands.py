"""Conversion of the arguments of this package to tensors."""

from __future__ import annotations

from typing import Any

from .._settings import array_of
from ..scipy import special as _special
from ..scipy.special import _rows
from ..tensor import Tensor

__all__ = ["real", "special"]

special: Any = _special  # its functions are generated from rows, which type checkers do not see


def real(where: str, *operands: Any) -> list[Tensor]:
    """Operands as tensors of the float type that they have together; lists are arrays of their numbers, as in NumPy."""
    arrays = [array_of(where, "an operand", x) if isinstance(x, list | tuple) else x for x in operands]
    try:
        return _rows.real("", *arrays)
    except TypeError as error:
        raise TypeError(f"{where}: {str(error).removeprefix('special.: ')}") from None
