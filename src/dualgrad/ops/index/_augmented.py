"""Augmented assignments, ``t += value``: a view of an array is written into; any other tensor gives a new one."""

from __future__ import annotations

import operator
from typing import Any

from ...tensor import Tensor
from .indexing import renewed, written

__all__: list[str] = []

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def changed(t: Tensor, sign: str, value: Any) -> Tensor:
    """What the name of an array, or of a view of one, means after an augmented assignment; operators call it."""
    if not t._alias.steps:
        return _OPERATORS[sign](t, value)
    return written(f"t {sign}= value", t, _OPERATORS[sign](renewed(t), value))


METHODS: dict[str, Any] = {"_changed": changed}
