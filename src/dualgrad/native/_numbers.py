"""Machine code for programs on single numbers: a function for each few hundred steps.

Design
------
Compile time grows faster than the length of a function, so a program is split into several. Inside a function a number
is a value; between functions it is stored where the instructions would put it. If a function meets nan, all
instructions run again from the first on. That is safe, since a program never overwrites its inputs.

Functions without a tree are called: compiled from the loop bodies for one number, or the loops themselves for one
element. Sine and cosine of one number share one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._engine.primitives.registry import has_function
from .._engine.transforms.tensor import OPCODES
from ._steps import TYPES, Steps
from ._text import BYTES, Writer
from ._zeros import without_zeros

__all__ = ["MOST_STEPS", "PART", "Calls", "parts_of"]

MOST_STEPS = 10_000
PART = 500
BLOCK = 1  # the base of numbers inside the region
MOST_OPERANDS = 4
IDENTITY, POWER = OPCODES["identity"], OPCODES["power"]
CIRCLE = (OPCODES["sin"], OPCODES["cos"])

Cell = tuple[int, int]
Step = tuple[Any, ...]


class Calls:
    """The loops that a program calls: by number, the first step that calls each, and its opcode."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.ops: list[int] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def number(self, op: int, typenum: int, step: int) -> int:
        """The number of a primitive's loop for a type."""
        found = self._numbers.setdefault((op, typenum), len(self.steps))
        if found == len(self.steps):
            self.steps.append(step)
            self.ops.append(op)
        return found


def parts_of(chunks: Iterable[list[Step]], calls: Calls) -> Iterator[tuple[str, str] | None]:
    """The (name, text) of each function of a program whose steps come in chunks; None after each chunk of work.

    Raises `NotImplementedError` for a step that has no machine code.
    """
    steps: list[Step] = []
    readers = _Readers()
    for chunk in chunks:
        for step in chunk:
            readers.take(step)
        steps += chunk
        yield None
    for first in range(0, len(steps), PART):
        part = _Part(steps[first : first + PART], first, calls, readers.last)
        for k in range(len(part.given)):
            part.take(k)
            if k % 64 == 63:
                yield None
        yield from part.written()


class _Readers:
    """For each step, the last step that reads its result, if any does."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}
        self._maker: dict[Cell, int] = {}
        self._count = 0

    def take(self, step: Step) -> None:
        """Add a step."""
        *_, ins, out = step
        for cell in ins:
            if cell in self._maker:
                self.last[self._maker[cell]] = self._count
        self._maker[out] = self._count
        self._count += 1


class _Part:
    """Consecutive steps that become one function."""

    def __init__(self, given: list[Step], first: int, calls: Calls, readers: dict[int, int]) -> None:
        self.given = given
        self.first = first
        self.calls = calls
        self.readers = readers
        self.steps = Steps()
        self.at: dict[Cell, int] = {}
        self.leaves: dict[int, list[Cell]] = {}
        self.circles: dict[tuple[int, ...], tuple[int, int]] = {}  # operand -> its sine and cosine

    def take(self, k: int) -> None:
        """Convert one step to values."""
        op, typenum, fusion, ins, out = self.given[k]
        if typenum not in TYPES:
            raise NotImplementedError(f"numbers of type {typenum}")
        operands = tuple([self._value(cell, typenum) for cell in ins])
        if op == IDENTITY:
            value: int | None = operands[0]
        elif fusion is not None:
            value = self.steps.fused(typenum, fusion, operands, None)
        else:
            value = self.steps.apply(op, typenum, operands)
            if value is None:
                value = self._called(op, typenum, operands, self.first + k)
        assert value is not None
        self.at[out] = value
        inside = self.first + len(self.given)
        if out[0] != BLOCK or self.readers.get(self.first + k, -1) >= inside:
            self.leaves.setdefault(value, []).append(out)

    def _called(self, op: int, typenum: int, operands: tuple[int, ...], step: int) -> int:
        number = self.calls.number(op, typenum, step)
        if not has_function(op, typenum):
            return self.steps.call(typenum, number, operands)
        if op not in CIRCLE:
            return self.steps.function(typenum, number, operands[0])
        if operands not in self.circles:
            self.circles[operands] = self.steps.circle(typenum, number, operands[0])
        return self.circles[operands][CIRCLE.index(op)]

    def _value(self, cell: Cell, typenum: int) -> int:
        if cell not in self.at:
            self.at[cell] = self.steps.read(typenum, cell)
        return self.at[cell]

    def written(self) -> Iterator[tuple[str, str] | None]:
        """Yield the name and text of the function; None after each piece of work."""
        yield from without_zeros(self.steps, self.leaves)
        watched: list[int] = []
        for found in self.steps.watched():
            if found is None:
                yield None
            else:
                watched.append(found)
        w = Writer()
        name = f"part{self.first // PART}"
        kinds = {how[0] for _, _, how, _ in self.steps.steps}
        bases = sorted({how[1][0] for _, _, how, _ in self.steps.steps if how[0] == "read"}
                       | {cell[0] for cells in self.leaves.values() for cell in cells})  # fmt: skip
        _open(w, bases, "call" in kinds)
        if "circle" in kinds:
            w.line("%cosine = alloca double, align 8")
        names = [f"%v{k}" for k in range(len(self.steps.types))]
        for k, (value, element, how, operands) in enumerate(self.steps.steps):
            self._write(w, names, element, how, value, operands)
            for base, offset in self.leaves.get(value, ()):
                w.line(f"store {element} {names[value]}, ptr {_address(w, base, offset)}, align {BYTES[element]}")
            if k % 32 == 31:
                yield None
        yield None
        nan = w.watch(self.steps, watched, [names])
        if nan is None:
            w.line("ret i32 0")
        else:
            w.line(f"%nan = zext i1 {nan} to i32")
            w.line("ret i32 %nan")
        head = [*sorted(w.intrinsics), f"define i32 @{name}(ptr %bases, ptr %calls) nounwind {{"]
        yield name, "\n".join([*head, *w.lines, "}", ""])

    def _write(self, w: Writer, names: list[str], element: str, how: Any, value: int, operands: Any) -> None:
        ins = [names[k] for k in operands]
        if how[0] == "read":
            base, offset = how[1]
            w.line(f"{names[value]} = load {element}, ptr {_address(w, base, offset)}, align {BYTES[element]}")
        elif how[0] == "constant":
            names[value] = w.number(element, how[1])
        elif how[0] == "call":
            _call(w, how[1], element, ins, names[value], self.calls.ops[how[1]] == POWER)
        elif how[0] == "function":
            w.line(f"{names[value]} = call {element} {_entry(w, 2 * how[1])}({element} {ins[0]})")
        elif how[0] == "circle":
            w.line(f"{names[value]} = call {element} {_entry(w, 2 * how[1])}({element} {ins[0]}, ptr %cosine)")
        elif how[0] == "cosine":
            w.line(f"{names[value]} = load {element}, ptr %cosine, align {BYTES[element]}")
        else:
            names[value] = w.tree(how, element, ins, names[value])


def _open(w: Writer, bases: list[int], called: bool) -> None:
    """Write the start of a function: the addresses of the bases, and memory for calls of loops."""
    for base in bases:
        w.line(f"%p{base} = getelementptr ptr, ptr %bases, i64 {base}")
        w.line(f"%b{base} = load ptr, ptr %p{base}, align 8")
    if called:
        w.line(f"%args = alloca [{MOST_OPERANDS} x ptr], align 8")
        w.line(f"%cells = alloca [{MOST_OPERANDS} x i64], align 8")
        w.line("%one = alloca i64, align 8")
        w.line(f"%steps = alloca [{MOST_OPERANDS} x i64], align 8")
        w.line("store i64 1, ptr %one, align 8")
        for k in range(MOST_OPERANDS):
            w.line(f"%cell{k} = getelementptr i64, ptr %cells, i64 {k}")
            w.line(f"%arg{k} = getelementptr ptr, ptr %args, i64 {k}")
            w.line(f"%step{k} = getelementptr i64, ptr %steps, i64 {k}")


def _address(w: Writer, base: int, offset: int) -> str:
    if offset == 0:
        return f"%b{base}"
    found = w.name()
    w.line(f"{found} = getelementptr i8, ptr %b{base}, i64 {offset}")
    return found


def _entry(w: Writer, index: int) -> str:
    """Write code that reads a pointer from the table of calls."""
    at, found = w.name(), w.name()
    w.line(f"{at} = getelementptr ptr, ptr %calls, i64 {index}")
    w.line(f"{found} = load ptr, ptr {at}, align 8")
    return found


def _call(w: Writer, number: int, element: str, operands: list[str], result: str, exponent: bool) -> None:
    """Write a call of a loop for one element. The loop may change its pointer arguments. An exponent has step 0."""
    for k, operand in enumerate(operands):
        w.line(f"store {element} {operand}, ptr %cell{k}, align 8")
    for k in range(len(operands) + 1):
        w.line(f"store ptr %cell{k}, ptr %arg{k}, align 8")
        w.line(f"store i64 {0 if exponent and k == 1 else BYTES[element]}, ptr %step{k}, align 8")
    loop, data = _entry(w, 2 * number), _entry(w, 2 * number + 1)
    w.line(f"call void {loop}(ptr %args, ptr %one, ptr %steps, ptr {data})")
    w.line(f"{result} = load {element}, ptr %cell{len(operands)}, align 8")
