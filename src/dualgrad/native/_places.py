"""Memory that instructions of a region read and write: equal places, and results that later instructions read.

Byte offsets follow `ext/include/executor/native.h`. An unknown place counts as read, or as a conflict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["BLOCK", "Later", "Place", "conflict", "places_of", "rows_of"]

BLOCK = 1  # the base of the tile's memory

Instruction = dict[str, Any]

_ELEMENTWISE = ("loop", "cast", "select")
_FROM_START = ("zero", "gather", "sum_axis")  # they do not read their result


class Place(NamedTuple):
    """An operand: its start, its step for each row of the array and of the tile, and the bytes between elements."""

    base: int
    offset: int
    row: int
    local: int
    step: int


def places_of(i: Instruction) -> list[Place]:
    """The operands of an elementwise instruction, followed by its result."""
    count = i["n_in"] + 1
    return [Place._make((*arg, step)) for arg, step in zip(i["args"][:count], i["step"][:count], strict=True)]


def rows_of(i: Instruction) -> tuple[int, ...]:
    """The elements that an instruction covers in each tile."""
    return i["low"], i["high"], i["before"], i["after"], i["width"]


def extent(place: Place, rows: tuple[int, ...], block: int, item: int) -> tuple[int, int] | None:
    """The byte range from the first element of a place to the end of the last one; None if unknown."""
    low, high, before, after, width = rows
    if place.row < 0:
        return None
    if place.row == 0:
        first = last = place.offset - before * place.local
        reach = ((block + before + after) * width - 1) * place.step
    else:
        first, last = place.offset + low * place.row, place.offset + (high - 1) * place.row
        reach = (width - 1) * place.step
    return first + min(reach, 0), last + max(reach, 0) + item


def conflict(a: Place, b: Place, rows: tuple[int, ...], block: int, item: int) -> bool:
    """True if two places may overlap without being the same."""
    if a == b or a.base != b.base:
        return False
    first, second = extent(a, rows, block, item), extent(b, rows, block, item)
    if first is None or second is None or (a.row == 0) != (b.row == 0):
        return True
    return first[0] < second[1] and second[0] < first[1]


class Later:
    """The places in tile memory that the instructions of a region read, and where they overwrite them."""

    def __init__(self, instructions: list[Instruction], block: int) -> None:
        self.block = block
        self._of = [self._facts(i) for i in instructions]

    def _facts(self, i: Instruction) -> tuple[bool, list[tuple[int, int] | None], Place | None, tuple[int, ...]]:
        """True if an instruction may read anything; the bytes that it reads; the place it writes; its rows."""
        if i["kind"] == "copy":
            return False, [self._copied(i)] if i["args"][0][0] == BLOCK else [], None, ()
        if i["kind"] not in _ELEMENTWISE:
            read = i["n_in"] if i["kind"] in _FROM_START else len(i["args"])
            return any(arg[0] == BLOCK for arg in i["args"][:read]), [], None, ()
        *ins, out = places_of(i)
        rows = rows_of(i)
        return False, [extent(place, rows, self.block, 8) for place in ins if place.base == BLOCK], out, rows

    def _copied(self, i: Instruction) -> tuple[int, int] | None:
        """The bytes that a copy reads."""
        strides = i["from"][1 : i["axes"] + 1]
        if any(stride < 0 for stride in strides):
            return None
        inside = sum((n - 1) * stride for n, stride in zip(i["shape"][1:], strides, strict=False))
        source = Place._make((*i["args"][0], i["from"][0]))
        return extent(source, (*rows_of(i)[:4], 1), self.block, i["item"] + inside)

    def reads(self, place: Place, rows: tuple[int, ...], item: int, first: int) -> bool:
        """True if instructions from `first` on may read a place before they overwrite it."""
        at = extent(place, rows, self.block, item)
        assert at is not None
        for anything, read, out, its_rows in self._of[first:]:
            if anything or any(_meets(at, other) for other in read):
                return True
            if out == place and its_rows == rows:
                return False
        return False


def _meets(a: tuple[int, int], b: tuple[int, int] | None) -> bool:
    return b is None or (a[0] < b[1] and b[0] < a[1])
