"""Augmented assignments, ``t += value``: they write into an array, and make a new tensor of any other tensor."""

from __future__ import annotations

import operator
from typing import Any

from ..._engine.transforms.handles import one_step
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
    if not t._is_array:
        return _OPERATORS[sign](t, value)
    with one_step(t):
        return written(f"t {sign}= value", t, _OPERATORS[sign](t, value))


METHODS: dict[str, Any] = {"_changed": changed}
