"""Checks of settings: choices, numbers, integers and truth values that functions take in addition to operands.

Python's own errors do not name the argument: an array has no truth value, a list no hash, a dict no order. The errors
of these checks name the function and the setting.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = [
    "array_of", "described", "number_or_tensor", "one_of", "real_number", "room", "sequence", "truth_value",
    "whole_number",
]  # fmt: skip

_PLAIN = (str, int, float, complex, np.generic, type(None))
_MOST = 2**63 - 1


def one_of(value: Any, choices: Any) -> bool:
    """True if a text, a number or None is one of the choices. False for all other objects."""
    return isinstance(value, _PLAIN) and value in choices


def real_number(name: str, what: str, value: Any) -> Any:
    """Check that a value is a real number, or an array or tensor of one. Raises TypeError."""
    if isinstance(value, int | float):
        return value
    if _kind(value) in tuple("biuf") and math.prod(value.shape) == 1:
        return value
    raise TypeError(f"{name}: {what} must be a number, got {described(value)}")


def number_or_tensor(name: str, what: str, value: Any) -> Any:
    """Check that a value is a number, or an array or tensor of numbers. Raises TypeError."""
    if isinstance(value, int | float | complex) or _kind(value) in tuple("biufc"):
        return value
    raise TypeError(f"{name}: {what} must be a number or a Tensor, got {described(value)}")


def _kind(value: Any) -> str:
    """NumPy's code for the kind of the elements of an array or tensor; "" for any other object, also a type."""
    dtype = getattr(value, "dtype", None) if hasattr(value, "shape") else None
    return getattr(getattr(dtype, "numpy", dtype), "kind", "")


def whole_number(name: str, what: str, value: Any, least: int = 0) -> int:
    """Check that a value is an int from `least` to the largest index."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {what} must be an int, got {described(value)}") from None
    if not least <= found <= _MOST:
        raise ValueError(f"{name}: {what} is {found}; expected an int from {least} to {_MOST}")
    return found


def room(name: str, shape: tuple[int, ...], itemsize: int = 8) -> None:
    """Raise ValueError for a shape that no memory holds and that NumPy cannot count."""
    if math.prod([max(n, 1) for n in shape]) * itemsize > _MOST:
        raise ValueError(f"{name}: an array of shape {shape} is larger than any memory")


def truth_value(name: str, what: str, value: Any) -> bool:
    """Convert a value to a bool. Raises TypeError for an array of several elements."""
    if isinstance(value, int):
        return bool(value)
    if isinstance(value, np.ndarray) and value.size != 1:
        raise TypeError(f"{name}: {what} must be a bool, got {described(value)}")
    return bool(value)


def array_of(name: str, what: str, value: Any) -> np.ndarray:
    """Convert nested lists to an array. Raises ValueError where rows have different lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: the rows of {what} have several lengths: {value!r:.60}") from None


def sequence(name: str, arrays: Any) -> list[Any]:
    """Arrays one after the other, as a list."""
    if not isinstance(arrays, Iterable) or isinstance(arrays, str | bytes | Mapping) or getattr(arrays, "ndim", 1) == 0:
        raise TypeError(f"{name}: expected a list or tuple of arrays, got {described(arrays)}")
    return [*arrays]


def described(value: Any) -> str:
    """The type of an object, with the shape of an array or tensor."""
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{kind} of shape {shape}" if isinstance(shape, tuple) else kind
