"""Augmented assignments, ``t += value``: they write into an array, and make a new tensor of any other tensor."""

from __future__ import annotations

import operator
from typing import Any

from ...tensor import Tensor
from .indexing import written

__all__: list[str] = []

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def changed(t: Tensor, sign: str, value: Any) -> Tensor:
    """Return the new value of the name in an augmented assignment; operators call it."""
    new = _OPERATORS[sign](t, value)
    return written(f"t {sign}= value", t, new) if t._is_array else new


METHODS: dict[str, Any] = {"_changed": changed}
