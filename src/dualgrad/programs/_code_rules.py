"""Rules for instructions and the memory that they need. See specification.py."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ._instructions import Instruction, kind_of
from ._program_rules import Predicate, Stages

HALO = 16  # rows: the farthest distance that operations of a region may read
ARENA, BLOCK, TOTALS, FIRST = range(4)  # bases of every run, and the first further one


def inside(v: dict[str, Any], buffer: dict[str, Any]) -> bool:
    if v["strides"] is None:
        return v["merges"] is not None and inside(v["merges"], buffer)
    low, high = span(v["shape"], v["strides"])
    return math.prod(v["shape"]) == 0 or (
        v["offset"] + low >= 0 and v["offset"] + high + buffer["item"] <= nbytes(buffer)
    )


def nbytes(buffer: dict[str, Any]) -> int:
    return int(math.prod(buffer["shape"])) * int(buffer["item"])


def span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The bytes from the first element to the lowest and to the highest one."""
    ways = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(way, 0) for way in ways), sum(max(way, 0) for way in ways)


def _sizes(code: dict[str, Any], region: dict[str, Any]) -> dict[int, int]:
    """The bytes of each base for a region."""
    sizes = {m["base"]: int(math.prod(m["shape"])) * m["item"] for m in code["memories"]}
    return sizes | {ARENA: code["arena"], BLOCK: region["block_bytes"], TOTALS: region["total_bytes"]}


def _blocks(region: dict[str, Any]) -> list[tuple[int, int]]:
    """The (first row, rows) of the first two tiles and of the last two; those between are like the second."""
    starts = [*range(0, region["n_rows"], region["block"])]
    return [(row0, min(region["block"], region["n_rows"] - row0)) for row0 in sorted({*starts[:2], *starts[-2:]})]


def _rows(i: Instruction, row0: int, block: int) -> tuple[int, int]:
    """The rows that an instruction covers in a tile; empty if the second is not above the first."""
    if i["once"]:
        return (0, i["high"]) if row0 == 0 else (0, 0)
    return max(row0 - i["before"], i["low"]), min(row0 + block + i["after"], i["high"])


def _reached(i: Instruction, row0: int, block: int) -> Iterator[tuple[int, int, int]]:
    """The (base, first byte, end byte) of everything that an instruction reads and writes in a tile."""
    start, stop = _rows(i, row0, block)
    period = i["period"] or max(stop - start, 1)
    kind = kind_of(i)
    for first in range(start, stop, period):
        rows = min(period, stop - first)
        for access in [*kind.reads(i, rows), *kind.writes(i, rows)]:
            base, offset, row, local = i["args"][access.arg]
            at = offset + start * row + (start - row0) * local + (first - start) * i["advance"][access.arg]
            low, high = span(access.shape, access.strides)
            if math.prod(access.shape):
                yield base, at + low, at + high + access.item


def operands_lie_inside_of_their_memory(stages: Stages, name: str) -> Iterator[str]:
    code = stages[name]
    for k, region in enumerate(code["regions"]):
        sizes = _sizes(code, region) if region["instructions"] else {}
        for n, i in enumerate(region["instructions"]):
            reached = {reach for row0, block in _blocks(region) for reach in _reached(i, row0, block)}
            for base, low, high in sorted(reached):
                if base not in sizes or not 0 <= low <= high <= sizes[base]:
                    yield (
                        f"instruction {n} ({i['kind']}) of region {k} reaches bytes {low} to {high} of base {base}, "
                        f"which has {sizes.get(base)}"
                    )


def blocks_are_of_rows(stages: Stages, name: str) -> Iterator[str]:
    for k, region in enumerate(stages[name]["regions"]):
        if region["instructions"] and not (1 <= region["block"] <= max(region["n_rows"], 1) and region["workers"] >= 1):
            yield f"region {k}: blocks of {region['block']} rows of {region['n_rows']}, {region['workers']} workers"


def memory_of_blocks_is_enough(stages: Stages, name: str) -> Iterator[str]:
    code = stages[name]
    for k, region in enumerate(code["regions"]):
        if region["instructions"] and (
            region["block_bytes"] > code["block_bytes"] or region["total_bytes"] > code["total_bytes"]
        ):
            yield f"region {k} needs {region['block_bytes']} and {region['total_bytes']} bytes"


def streams_are_in_range(stages: Stages, name: str) -> Iterator[str]:
    code = stages[name]
    for k, region in enumerate(code["regions"]):
        for base, offset, row, low, high in region["streams"]:
            size, beside = _sizes(code, region).get(base, 0), HALO * row
            inside = 0 <= low < high and -beside <= offset + low * row and offset + high * row <= size + beside
            if base in (BLOCK, TOTALS) or row <= 0 or not inside:
                where = f"from {offset} on, {row} bytes a row, rows {low} to {high}, of {size}"
                yield f"region {k} walks along base {base} {where}"


def results_are_in_memory_of_their_own(stages: Stages, name: str) -> Iterator[str]:
    memories = {m["base"]: m for m in stages[name]["memories"]}
    for result in stages[name]["results"]:
        memory = memories.get(result["base"])
        if memory is None or not inside({"merges": None, **result}, memory):
            yield f"{result} leaves the program"


#: Rules for all code.
CODE: list[tuple[str, Predicate]] = [
    ("operands lie inside of their memory, for every block", operands_lie_inside_of_their_memory),
    ("blocks are of rows that there are", blocks_are_of_rows),
    ("there is memory for a block of each region", memory_of_blocks_is_enough),
    ("streams are in range", streams_are_in_range),
    ("results are in memory of their own", results_are_in_memory_of_their_own),
]
