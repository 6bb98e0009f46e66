"""The work of a plan: arithmetic operations, and bytes moved between regions and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._instructions import Instruction, kind_of

__all__ = ["Work", "work_of_instruction", "work_of_region"]

BLOCK, TOTALS = 1, 2


@dataclass(frozen=True)
class Work:
    """Operations, elements of the largest operand or result, and bytes read and written outside tile memory."""

    flops: int = 0
    elements: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.elements + other.elements,
            self.read + other.read,
            self.written + other.written,
        )


def _elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of distinct elements along some axes."""
    return int(np.prod([n for n, s in zip(shape, strides, strict=True) if s or n == 0], dtype=np.int64))


def _traffic(region: dict[str, Any], instruction: Instruction) -> list[tuple[tuple[int, int, int], int, bool]]:
    """The (place, bytes, True if written) of operands outside tile memory, over all rows."""
    kind = kind_of(instruction)
    found = []
    rows = _rows(region, instruction)
    for written, accesses in ((False, kind.reads), (True, kind.writes)):
        blocks = accesses(instruction, min(region["block"], rows))
        for whole, block in zip(accesses(instruction, rows), blocks, strict=True):
            base, offset, per_row, _ = instruction["args"][whole.arg]
            if base not in (BLOCK, TOTALS):
                access = whole if per_row else block
                nbytes = _elements(access.shape, access.strides) * access.item
                found.append(((base, offset, per_row), nbytes, written))
    return found


def _rows(region: dict[str, Any], instruction: Instruction) -> int:
    """The rows that an instruction processes; rows that tiles share count once."""
    return max(0, int(instruction["high"]) - (0 if instruction["once"] else int(instruction["low"])))


def work_of_instruction(region: dict[str, Any], instruction: Instruction) -> Work:
    """The work of one instruction over all rows."""
    kind = kind_of(instruction)
    rows = _rows(region, instruction)
    read = sum(nbytes for _, nbytes, written in _traffic(region, instruction) if not written)
    written = sum(nbytes for _, nbytes, written in _traffic(region, instruction) if written)
    accesses = [*kind.reads(instruction, rows), *kind.writes(instruction, rows)]
    elements = max(_elements(access.shape, access.strides) for access in accesses)
    return Work(kind.flops(instruction, rows), elements, read, written)


def work_of_region(region: dict[str, Any]) -> Work:
    """The work of a region. A place that several instructions read is read from memory once."""
    task = region["generic"]
    if task is not None:
        sizes = [_elements(view["shape"], view["strides"]) * view["item"] for view in task["ins"]]
        elements = int(np.prod(task["out"]["shape"], dtype=np.int64))
        return Work(0, elements, sum(sizes), elements * task["out"]["item"])
    each = [work_of_instruction(region, instruction) for instruction in region["instructions"]]
    read: dict[tuple[int, int, int], int] = {}
    written: dict[tuple[int, int, int], int] = {}
    for instruction in region["instructions"]:
        for place, nbytes, writes in _traffic(region, instruction):
            known = written if writes else read
            known[place] = max(known.get(place, 0), nbytes)
    own = {place[:2] for place in written}  # written by this region, so still in cache when read
    total = sum(each, Work())
    return Work(
        total.flops,
        total.elements,
        sum(nbytes for place, nbytes in read.items() if place[:2] not in own),
        sum(written.values()) + sum(entry["nbytes"] for entry in region["totals"]),
    )
