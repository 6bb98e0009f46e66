"""Functions of Python values that MindSpore has for graphs: lengths, entries, tuples, comparisons.

Each does what the expression does that its docstring shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__: list[str] = []  # for ported code: they are found, and listed nowhere
METHODS: dict[str, Any] = {}


def _replaced(sequence: Any, index: int, value: Any) -> Any:
    """A tuple or list with another entry."""
    entries = list(sequence)
    entries[index] = value
    return type(sequence)(entries)


def _with_entry(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    return {**mapping, key: value}


# By name: the function, and the expression that says what it does.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "tuple_len": (len, "len(x)"),
    "list_len": (len, "len(x)"),
    "tuple_getitem": (operator.getitem, "x[index]"),
    "list_getitem": (operator.getitem, "x[index]"),
    "dict_getitem": (operator.getitem, "x[key]"),
    "tuple_setitem": (_replaced, "a tuple like x, with x[index] = value"),
    "list_setitem": (_replaced, "a list like x, with x[index] = value"),
    "dict_setitem": (_with_entry, "{**x, key: value}"),
    "tuple_reversed": (lambda x: x[::-1], "x[::-1]"),
    "make_range": (lambda *bounds: tuple(range(*bounds)), "tuple(range(start, stop, step))"),
    "make_tuple": (lambda *entries: entries, "(a, b, ...)"),
    "make_list": (lambda *entries: list(entries), "[a, b, ...]"),
    "make_dict": (lambda keys, values: dict(zip(keys, values, strict=True)), "dict(zip(keys, values))"),
    "make_slice": (slice, "slice(start, stop, step)"),
    "tuple_equal": (operator.eq, "x == y"),
    "list_equal": (operator.eq, "x == y"),
    "string_eq": (operator.eq, "x == y"),
    "string_concat": (operator.add, "x + y"),
    "bool_not": (operator.not_, "not x"),
    "bool_or": (lambda x, y: x or y, "x or y"),
    "bool_and": (lambda x, y: x and y, "x and y"),
    "bool_eq": (operator.eq, "x == y"),
    "is_": (operator.is_, "x is y"),
    "is_not": (operator.is_not, "x is not y"),
    "in_dict": (lambda key, x: key in x, "key in x"),
    "not_in_dict": (lambda key, x: key not in x, "key not in x"),
}


def _named(name: str, function: Callable[..., Any], expression: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{expression}``."
    return call


globals().update({name: _named(name, *entry) for name, entry in _FUNCTIONS.items()})
