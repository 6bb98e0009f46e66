"""Augmented assignments, ``t += value``: an array is written into; any other tensor gives a new one."""

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
    """What the name of an array means after an augmented assignment; operators call it."""
    new = _OPERATORS[sign](t, value)
    return written(f"t {sign}= value", t, new) if t._is_array else new


METHODS: dict[str, Any] = {"_changed": changed}
