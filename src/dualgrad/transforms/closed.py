"""Copies of functions that keep their closure variables, for functions that a derivative calls again later."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

__all__ = ["closed"]


def closed(fn: Any) -> Any:
    """Copy a function with the current values of its closure variables, also in functions that it closes over.

    A derivative calls fn again later. By then a loop may have changed a variable that fn reads, and the derivative
    would be of another function. A function with `nonlocal`, and any object other than a function or a partial one, is
    returned as it is.
    """
    twins: dict[int, types.FunctionType] = {}
    try:
        return _closed(fn, twins)
    except _WritesError:
        return fn


class _WritesError(Exception):
    """A function assigns to its closure variables, which other functions must see."""


def _closed(value: Any, twins: dict[int, types.FunctionType]) -> Any:
    if type(value) is functools.partial:
        return functools.partial(_closed(value.func, twins), *value.args, **value.keywords)
    if type(value) is not types.FunctionType or value.__closure__ is None:
        return value
    if id(value) in twins:
        return twins[id(value)]
    if _writes(value.__code__, frozenset(value.__code__.co_freevars)):
        raise _WritesError
    cells = [types.CellType() if _full(cell) else cell for cell in value.__closure__]
    twin = types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, tuple(cells))
    twin.__kwdefaults__, twin.__qualname__ = value.__kwdefaults__, value.__qualname__
    twin.__dict__.update(value.__dict__)
    twins[id(value)] = twin
    for cell, held in zip(cells, value.__closure__, strict=True):
        if cell is not held:
            cell.cell_contents = _closed(held.cell_contents, twins)
    return twin


def _full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # no value yet
        return False


@functools.lru_cache(1024)
def _writes(code: types.CodeType, names: frozenset[str]) -> bool:
    """True if code, or the code of an inner function, assigns to a variable of a surrounding function."""
    return any(
        step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in names for step in dis.get_instructions(code)
    ) or any(
        _writes(part, names & frozenset(part.co_freevars))
        for part in code.co_consts
        if isinstance(part, types.CodeType)
    )
