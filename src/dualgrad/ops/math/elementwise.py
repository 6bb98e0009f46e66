"""The elementwise operations: every function, primitive class and method that the rows of the table name.

One row makes all three (see `_rows.py`); `elementwise.pyi` lists the names for type checkers and editors.
Operations with settings, or composed of several primitives, are written out in `arithmetic.py`, `formulas.py`
and beside them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._table import BY_NAME, ROWS
from ...tensor import Tensor
from ._rows import ElementwisePrimitive, class_of, function_of

# Names of the rows behind Python's operators, which the operators themselves reach without a function.
_FUNCTIONS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "floor_divide": "floor_divide",
    "remainder": "mod",
    "fmod": "fmod",
}
_CLASSES = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "RealDiv": "div",
    "Pow": "pow",
    "FloorDiv": "floor_divide",
    "FloorMod": "mod",
    "Inv": "reciprocal",
    "Mod": "fmod",
}
# Second names, as NumPy and MindSpore spell them.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "eq": "equal",
    "floor_div": "floor_divide",
    "floor_mod": "remainder",
    "greater": "gt",
    "greater_equal": "ge",
    "i0": "bessel_i0",
    "inv": "reciprocal",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
}

# Functions with settings, in `arithmetic.py` and `activations.py`; their rows make the classes only.
_WRITTEN_OUT = {"round", "softplus"}

METHODS: dict[str, Callable[..., Tensor]] = {}


def _make() -> dict[str, Callable[..., Tensor] | type[ElementwisePrimitive]]:
    """Everything public, by name."""
    made: dict[str, Callable[..., Tensor] | type[ElementwisePrimitive]] = {}
    functions = {row.function: row for row in ROWS if row.function and row.function not in _WRITTEN_OUT}
    functions |= {name: BY_NAME[row] for name, row in _FUNCTIONS.items()}
    for name, row in functions.items():
        made[name] = function = function_of(row, name, __name__)
        if row.method or name in _FUNCTIONS:
            METHODS[row.method or name] = function
    for alias, name in _ALIASES.items():
        made[alias] = METHODS[alias] = made[name]
    classes = {row.cls: row for row in ROWS if row.cls} | {name: BY_NAME[row] for name, row in _CLASSES.items()}
    called = {row: name for name, row in _FUNCTIONS.items()}
    for name, row in classes.items():
        made[name] = class_of(row, name, row.function or called.get(row.name, row.name), __name__)
    return made


_MADE = _make()
globals().update(_MADE)
__all__ = list(_MADE)
