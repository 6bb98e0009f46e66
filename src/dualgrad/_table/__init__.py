"""The table of primitives: each primitive is one row, and its opcode is the row's position."""

from __future__ import annotations

from .complex import COMPLEX, REAL_ONLY
from .elementwise import ELEMENTWISE
from .row import CONSTANTS, UNDEFINED, Row
from .structural import STRUCTURAL

__all__ = ["BY_NAME", "CONSTANTS", "REAL_ONLY", "ROWS", "UNDEFINED", "Row"]

ROWS: tuple[Row, ...] = (*ELEMENTWISE, *STRUCTURAL, *COMPLEX)
BY_NAME: dict[str, Row] = {row.name: row for row in ROWS}

if len(BY_NAME) != len(ROWS):
    raise ValueError("two rows of the table share a name")
