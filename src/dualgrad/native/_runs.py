"""Machine code for runs of elementwise instructions in a region: a loop over the elements of a tile.

Design
------
A run is a sequence of arithmetic instructions; other instructions keep their places in the executor's list. Inside a
run a result is a value in a register, and is stored only if later instructions read it. Functions such as exp are
compiled from the loop bodies and called with a vector. In short runs one iteration takes two vectors, so that one
computes while the other waits. An iteration stores nothing before it has checked for nan: it completes or does nothing,
and the instructions do the rest of the tile. So places of a run may be equal but must not overlap otherwise. The last,
partial iteration reads and writes single lanes where the processor can do that for free; otherwise the instructions do
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._engine.primitives.registry import wide_by_address, wide_bytes, wide_function
from .._table import ROWS
from ._expressions import tree_of
from ._places import BLOCK, Instruction, Later, Place, conflict, places_of, rows_of
from ._steps import TYPES, Steps
from ._text import BYTES, Writer
from ._zeros import without_zeros

__all__ = ["LEAST", "Run", "functions_of", "runs_of"]

LEAST = 3  # fewest instructions that are worth a function
MOST = 500  # most instructions of a function: compile time grows faster
MOST_PLACES = 256  # DG_NATIVE_ARGS
MOST_PAIRED = 250  # most steps with two vectors in an iteration: more need too many registers
LEAST_MASKED = 256  # vector bits from which a processor reads and writes single lanes


class Run:
    """Consecutive instructions that become one function.

    Attributes
    ----------
    first, count
        The instructions' range in the region.
    arguments
        The number of each place that the function reads or writes.
    places
        (base, offset, row, local) of each argument of the function.
    functions
        The addresses of the functions that it calls, by name.
    """

    def __init__(self, first: int, typenum: int, rows: tuple[int, ...], block: int) -> None:
        self.first = first
        self.typenum = typenum
        self.rows = rows
        self.block = block
        self.item = BYTES[TYPES[typenum]]
        self.count = 0
        self.steps = Steps()
        self.at: dict[Place, int] = {}
        self.known: set[Place] = set()
        self.arguments: dict[Place, int] = {}
        self.written: set[Place] = set()
        self.stores: list[tuple[Place, int]] = []
        self.functions: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"run{self.first}"

    @property
    def places(self) -> list[tuple[int, int, int, int]]:
        """See the class."""
        return [place[:4] for place in self.arguments]

    def takes(self, i: Instruction) -> bool:
        """True if an instruction can extend the run."""
        if self.count >= MOST or i["typenum"] != self.typenum or rows_of(i) != self.rows:
            return False
        places = places_of(i)
        new = {*places} - self.known
        if len(self.known) + len(new) > MOST_PLACES:
            return False
        out = places[-1]
        pairs = [(place, other) for place in new for other in (*self.written, out)]
        if out not in self.written:
            pairs += [(out, other) for other in self.known]
        return not any(a.base == b.base and conflict(a, b, self.rows, self.block, self.item) for a, b in pairs)

    def take(self, i: Instruction) -> None:
        """Add an instruction."""
        *ins, out = places_of(i)
        self.known.update(ins, (out,))
        operands = tuple([self._value(place) for place in ins])
        if i["fused"] is None:
            value = self.steps.apply(i["op"], self.typenum, operands)
            if value is None:
                value = self.steps.wide(self.typenum, self._function(i["op"]), *operands)
        else:
            *fusion, factor = i["fused"]
            number = None if factor is None else float(factor.numpy().reshape(()))
            value = self.steps.fused(self.typenum, tuple(fusion), operands, number)
        self.at[out] = value
        self.written.add(out)
        self.count += 1

    def _function(self, op: int) -> str:
        name = f"{ROWS[op].name}_{TYPES[self.typenum]}"
        self.functions[name] = wide_function(op, self.typenum)
        return name

    def _value(self, place: Place) -> int:
        if place not in self.at:
            self.at[place] = self.steps.read(self.typenum, place)
        return self.at[place]

    def finish(self, later: Later) -> None:
        """Find the results that later instructions need stored, and number the remaining places."""
        behind = self.first + self.count
        for place, value in self.at.items():
            if place in self.written and (place.base != BLOCK or later.reads(place, self.rows, self.item, behind)):
                self.stores.append((place, value))
        read = [how[1] for _, _, how, _ in self.steps.steps if how[0] == "read"]
        for place in [*read, *[place for place, _ in self.stores]]:
            self.arguments.setdefault(place, len(self.arguments))


def is_arithmetic(i: Instruction) -> bool:
    """True if an instruction can be part of a run."""
    if i["kind"] != "loop" or i["once"] or i["period"] or i["typenum"] not in TYPES:
        return False
    item = BYTES[TYPES[i["typenum"]]]
    *ins, out = places_of(i)
    if i["item"] != item or out.step != item or any(place.step not in (0, item) for place in ins):
        return False
    if any(place.step == 0 and (place.row or place.local) for place in ins):
        return False
    if i["fused"] is not None or tree_of(i["op"], i["typenum"]) is not None:
        return True
    return wide_function(i["op"], i["typenum"]) != 0


def runs_of(instructions: list[Instruction], block: int) -> Iterator[Run | None]:
    """The runs of a region that are worth a function; None after each piece of work."""
    run: Run | None = None
    later = Later(instructions, block)
    for k, i in enumerate([*instructions, None]):
        fits = i is not None and is_arithmetic(i)
        if run is not None and (i is None or not fits or not run.takes(i)):
            if run.count >= LEAST:
                run.finish(later)
                yield run
            run = None
        if i is not None and fits:
            run = run or Run(k, i["typenum"], rows_of(i), block)
            if run.takes(i):
                run.take(i)
            else:  # its result overlaps an operand
                run = None
        yield None


def functions_of(run: Run, bits: int) -> Iterator[tuple[str, str] | None]:
    """The (name, text) of the function of a run; None after each piece of work."""
    yield from without_zeros(run.steps, [value for _, value in run.stores])
    element = TYPES[run.typenum]
    lanes = bits // 8 // run.item
    w = Writer(lanes)
    total = len(run.steps.types)
    letters = "vw" if total <= MOST_PAIRED else "v"
    names = [[f"%{letter}{k}" for k in range(total)] for letter in letters]
    body = _Body(w, run, element, "ij"[: len(letters)], masked=bits >= LEAST_MASKED)
    body.open(names)
    for k, (value, _, how, operands) in enumerate(run.steps.steps):
        body.step(names, value, how, operands)
        if k % 16 == 15:
            yield None
    watched = [value for value in run.steps.watched() if value is not None]
    yield None
    body.close(names, w.watch(run.steps, watched, names, body.masks))
    attributes = f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
    head = [*sorted(w.intrinsics), f"define i64 @{run.name}(ptr %args, i64 %n) {attributes} {{"]
    yield run.name, "\n".join([*head, *w.lines, "}", ""])


class _Body:
    """Writes the loop of a run."""

    def __init__(self, w: Writer, run: Run, element: str, indices: str, *, masked: bool) -> None:
        self.masked = masked
        self.masks = tuple([f"%mask{index}" for index in indices]) if masked else None
        self.w = w
        self.run = run
        self.element = element
        self.lanes = w.lanes
        self.indices = indices
        self.turn = len(indices) * w.lanes

    def open(self, names: list[list[str]]) -> None:
        """Write the addresses of arguments, the numbers that all elements share, and the start of the loop."""
        w, element = self.w, self.element
        if self.run.functions and wide_by_address():
            w.line(f"%operand = alloca [{wide_bytes()} x i8], align {wide_bytes()}")
        for k in range(len(self.run.arguments)):
            w.line(f"%p{k} = getelementptr ptr, ptr %args, i64 {k}")
            w.line(f"%a{k} = load ptr, ptr %p{k}, align 8")
        w.line(f"%stop = {'add' if self.masked else 'and'} i64 %n, {0 if self.masked else -self.turn}")
        w.line("%some = icmp ne i64 %stop, 0")
        w.line("br i1 %some, label %before, label %none")
        w.lines += ["none:", "  ret i64 0", "before:"]
        for value, _, how, _ in self.run.steps.steps:
            if how[0] == "read" and how[1].step == 0:
                self._spread(value, how[1])
                names[-1][value] = names[0][value]
            elif how[0] == "constant":
                names[0][value] = names[-1][value] = w.number(element, how[1])
        w.line("br label %turn")
        w.lines.append("turn:")
        w.line("%i = phi i64 [ 0, %before ], [ %next, %store ]")
        w.line(f"%j = add i64 %i, {self.lanes}")
        if self.masked:
            self._masks()

    def _masks(self) -> None:
        """Write the masks of the lanes that hold elements."""
        w, turn, whole = self.w, self.turn, self.w.type("i32")
        w.line("%ahead = sub i64 %n, %i")
        w.line(f"%last = icmp slt i64 %ahead, {turn}")
        w.line(f"%few = select i1 %last, i64 %ahead, i64 {turn}")
        w.line("%count = trunc i64 %few to i32")
        w.line(f"%counts = insertelement {whole} poison, i32 %count, i64 0")
        w.line(f"%limit = shufflevector {whole} %counts, {whole} poison, {whole} zeroinitializer")
        for k, name in enumerate(self.indices):
            lanes = ", ".join(f"i32 {k * self.lanes + lane}" for lane in range(self.lanes))
            w.line(f"%mask{name} = icmp slt {whole} <{lanes}>, %limit")

    def _spread(self, value: int, place: Place) -> None:
        w, wide = self.w, self.w.type(self.element)
        one, first = w.name(), w.name()
        w.line(f"{one} = load {self.element}, ptr %a{self.run.arguments[place]}, align {self.run.item}")
        w.line(f"{first} = insertelement {wide} poison, {self.element} {one}, i64 0")
        w.line(f"%v{value} = shufflevector {wide} {first}, {wide} poison, <{self.lanes} x i32> zeroinitializer")

    def step(self, names: list[list[str]], value: int, how: Any, operands: tuple[int, ...]) -> None:
        """Write one step, for each vector."""
        if how[0] == "constant" or (how[0] == "read" and how[1].step == 0):
            return
        for name, index in zip(names, self.indices, strict=True):
            if how[0] == "read":
                self._load(name[value], self._at(how[1], index), index)
            elif how[0] == "wide":
                self._call(name[value], how[1], name[operands[0]])
            else:
                name[value] = self.w.tree(how, self.element, [name[k] for k in operands], name[value])

    def _call(self, result: str, function: str, operand: str) -> None:
        wide = passed = self.w.type(self.element)
        if wide_by_address():
            self.w.line(f"store {wide} {operand}, ptr %operand, align {self.run.item}")
            passed, operand = "ptr", "%operand"
        self.w.intrinsics.add(f"declare {wide} @{function}({passed})")
        self.w.line(f"{result} = call {wide} @{function}({passed} {operand})")

    def close(self, names: list[list[str]], nan: str | None) -> None:
        """Write the exit for nan, the stores, and the end of the loop."""
        w = self.w
        w.line("br label %store" if nan is None else f"br i1 {nan}, label %left, label %store")
        if nan is not None:
            w.lines += ["left:", "  ret i64 %i"]
        w.lines.append("store:")
        for place, value in self.run.stores:
            for name, index in zip(names, self.indices, strict=True):
                self._store(name[value], self._at(place, index), index)
        w.line(f"%next = add i64 %i, {self.turn}")
        w.line("%more = icmp ult i64 %next, %stop")
        w.line("br i1 %more, label %turn, label %done")
        w.lines += ["done:", "  ret i64 %stop"]

    def _at(self, place: Place, index: str) -> str:
        found = self.w.name()
        self.w.line(f"{found} = getelementptr {self.element}, ptr %a{self.run.arguments[place]}, i64 %{index}")
        return found

    def _load(self, name: str, at: str, index: str) -> None:
        w, wide, item = self.w, self.w.type(self.element), self.run.item
        if not self.masked:
            w.line(f"{name} = load {wide}, ptr {at}, align {item}")
            return
        function, truths = f"@llvm.masked.load.v{self.lanes}f{8 * item}.p0", w.type("i1")
        w.intrinsics.add(f"declare {wide} {function}(ptr, i32, {truths}, {wide})")
        w.line(f"{name} = call {wide} {function}(ptr {at}, i32 {item}, {truths} %mask{index}, {wide} zeroinitializer)")

    def _store(self, name: str, at: str, index: str) -> None:
        w, wide, item = self.w, self.w.type(self.element), self.run.item
        if not self.masked:
            w.line(f"store {wide} {name}, ptr {at}, align {item}")
            return
        function, truths = f"@llvm.masked.store.v{self.lanes}f{8 * item}.p0", w.type("i1")
        w.intrinsics.add(f"declare void {function}({wide}, ptr, i32, {truths})")
        w.line(f"call void {function}({wide} {name}, ptr {at}, i32 {item}, {truths} %mask{index})")
