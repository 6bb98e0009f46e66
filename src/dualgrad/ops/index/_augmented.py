"""Augmented assignments, ``t += value``: a view of an array is written into; any other tensor gives a new one."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...tensor import Tensor
from .indexing import renewed, rewritten

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
    name, new = f"t {sign}= value", _OPERATORS[sign](renewed(t), value)
    if new.shape != t.shape:
        raise ValueError(f"{name}: the result has shape {new.shape}; expected {t.shape}, that of the view t")
    if not np.can_cast(new.dtype.numpy, t.dtype.numpy, "same_kind"):
        raise TypeError(
            f"{name}: the result has type {new.dtype}, which the array of the view t, of type {t.dtype}, cannot hold; "
            "convert one of them first (astype)"
        )
    return rewritten(name, t, new.astype(t.dtype))


METHODS: dict[str, Any] = {"_changed": changed}
