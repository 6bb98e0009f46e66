"""MindSpore's functions for graphs that make tuples, lists, dicts and slices.

Each does the same as the expression in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__: list[str] = []  # for ported code: they are found, and listed nowhere
METHODS: dict[str, Any] = {}


def _replaced(sequence: Any, index: int, value: Any) -> Any:
    """Replace an entry of a tuple or list."""
    entries = list(sequence)
    entries[index] = value
    return type(sequence)(entries)


def _with_entry(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    return {**mapping, key: value}


# By name: the function, and an equal expression.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "tuple_setitem": (_replaced, "a tuple like x, with x[index] = value"),
    "list_setitem": (_replaced, "a list like x, with x[index] = value"),
    "dict_setitem": (_with_entry, "{**x, key: value}"),
    "tuple_reversed": (lambda x: x[::-1], "x[::-1]"),
    "make_range": (lambda *bounds: tuple(range(*bounds)), "tuple(range(start, stop, step))"),
    "make_tuple": (lambda *entries: entries, "(a, b, ...)"),
    "make_list": (lambda *entries: list(entries), "[a, b, ...]"),
    "make_dict": (lambda keys, values: dict(zip(keys, values, strict=True)), "dict(zip(keys, values))"),
    "make_slice": (slice, "slice(start, stop, step)"),
}


def _named(name: str, function: Callable[..., Any], expression: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{expression}``."
    return call


globals().update({name: _named(name, *entry) for name, entry in _FUNCTIONS.items()})
