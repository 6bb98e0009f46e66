"""Machine code for one region: compiles its text and replaces its instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._engine.compiler import native as engine
from ._machine import Code, Machine
from ._numbers import MOST_STEPS, Calls, parts_of
from ._runs import LEAST, functions_of, runs_of

__all__ = ["make"]

CHUNK = 64  # instructions read at once


def make(region: Any, machine: Machine) -> Iterator[None]:
    """Make machine code for a region, if it is worth it. Yields after each small piece of work."""
    count, block = engine.form_of(region)
    if block == 0:
        if 0 < count <= MOST_STEPS:
            yield from _make_numbers(region, count, machine)
    elif count >= LEAST:
        yield from _make_runs(region, count, block, machine)


def _chunks(read: Callable[[Any, int, int], list[Any]], region: Any, count: int) -> Iterator[list[Any]]:
    for first in range(0, count, CHUNK):
        yield read(region, first, min(first + CHUNK, count))


def _make_numbers(region: Any, count: int, machine: Machine) -> Iterator[None]:
    calls, code = Calls(), Code()
    for part in parts_of(_chunks(engine.numbers_of, region, count), calls):
        if part is not None:
            machine.add(code, *part)
        yield
    engine.publish_numbers(region, list(code.addresses.values()), calls.steps, code)


def _make_runs(region: Any, count: int, block: int, machine: Machine) -> Iterator[None]:
    instructions: list[dict[str, Any]] = []
    for chunk in _chunks(engine.instructions_of, region, count):
        instructions += chunk
        yield
    code = Code()
    found = []
    for run in runs_of(instructions, block):
        yield
        if run is None:
            continue
        for part in functions_of(run, machine.bits):
            if part is not None:
                machine.add(code, *part, run.functions)
            yield
        found.append((run.first, run.count, code.addresses[run.name], run.places))
    if found:
        engine.publish_runs(region, found, code)
