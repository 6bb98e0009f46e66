"""The elementwise operations: every function, primitive class and method that the rows of the table name.

One row makes all three (see `_rows.py`). From the same rows the build writes `elementwise.pyi`, which lists the names
for type checkers and editors. Operations with settings, or composed of several primitives, are written out in
`arithmetic.py`, `formulas.py` and similar files.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._table import ROWS
from ...tensor import Tensor
from ._rows import ElementwisePrimitive, class_of, function_of

METHODS: dict[str, Callable[..., Tensor]] = {}


def _make() -> dict[str, Callable[..., Tensor] | type[ElementwisePrimitive]]:
    """Make all functions and classes, by name."""
    made: dict[str, Callable[..., Tensor] | type[ElementwisePrimitive]] = {}
    for row in ROWS:
        if row.functions:
            function = function_of(row, row.functions[0], __name__)
            made |= dict.fromkeys(row.functions, function)
            METHODS.update(dict.fromkeys(row.methods, function))
        for name in row.classes:
            made[name] = class_of(row, name, row.function or row.name, __name__)
    return made


_MADE = _make()
globals().update(_MADE)
__all__ = list(_MADE)
