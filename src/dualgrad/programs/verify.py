"""A verifier of recorded programs and their plans.

It shares no code with the compiler. It checks steps by running their kernels on small stand-ins. It executes a plan on
tokens (`_tokens.py`), instruction by instruction and tile by tile, in a copy of its memory that records the last writer
of each element. This finds an operand that was never written, a place that is reused too early, a row of another tile,
an access outside a buffer and a wrong stride. The results of the plan must equal the results of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.compiler.inspection import describe
from .._engine.compiler.plan import Plan
from .._engine.compiler.program import Program
from .._engine.primitives.registry import table
from .._engine.transforms.tensor import apply
from ..tensor import Tensor
from ._instructions import Access, Instruction, kind_of, label
from ._listing import CONSTANT, HANDLE, INPUT, STEP, Listing, recording_of
from ._tokens import ITEM, TYPES, Draws, Tokens, constant_tokens, given_tokens, name_of, operation_tokens

__all__ = ["ProgramError", "verify", "verify_layout", "verify_program", "verify_steps"]

ARENA, BLOCK, TOTALS = range(3)  # bases of memory other than buffers
ONCE = (1 << 20) - 1  # the tile number of operations that are the same for all tiles
BEFORE = 0  # writer of the initial contents


class ProgramError(RuntimeError):
    """A recorded program or its plan is invalid: a fault of dualgrad, never of the function."""


def verify(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Check the program and the plan of a recorded function.

    Parameters
    ----------
    fn : callable
        A recorded function (`dualgrad.jit`), any function or Cell, or a gradient function.

    Returns
    -------
    callable
        A function of the arguments of `fn` that returns the number of checked instructions: 0 if the function runs
        eagerly; `explain` gives the reason.

    Raises
    ------
    ProgramError
        If a check fails. That is a fault of dualgrad: please report it.

    Notes
    -----
    A call that is not recorded yet is made two or three times, with its effects. The checks: every operand is made
    before it is read, by a suitable instruction. Shapes and types equal the kernels' results. Every access
    stays inside its memory, also in the last, smaller tile. No value loses its place while it is needed. No incomplete
    region, or row of another tile, is read. The results are the elements that the recorded steps give.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.programs import verify
    >>> verify(lambda x: ops.exp(x) + x)(ops.ones(100))
    2
    """

    def call(*args: Any, **kwargs: Any) -> int:
        found = recording_of(fn, args, kwargs)
        if found.program is None:
            return 0
        verify_steps(Listing.of(found.program))
        layout = found.layout()
        verify_layout(Listing.of(layout["program"]), layout)
        return sum(max(1, len(region["instructions"])) for region in layout["regions"])

    return call


def verify_program(program: Program, plan: Plan | None) -> None:
    """Check an engine program and its plan, if it has one; recording calls this."""
    verify_steps(Listing.of(program))
    if plan is not None:
        simplified = Listing.of(plan.program)
        verify_steps(simplified)
        verify_layout(simplified, describe(plan))


# -------------------------------------------------------------------------------------------------------------- steps


def verify_steps(program: Listing) -> None:
    """Check that every step reads filled slots, and that its type and shape are its kernel's."""
    made = [kind != STEP for kind in program.kinds]
    count = len(made)
    given = sorted(source for kind, source in zip(program.kinds, program.sources, strict=True) if kind == INPUT)
    if given != list(range(len(given))):
        raise ProgramError(f"the inputs have the numbers {given}")
    for number, (op, params, operands, result) in enumerate(program.steps):
        what = f"step {number} ({name_of(op)})"
        for slot in operands:
            if not 0 <= slot < count or not made[slot]:
                raise ProgramError(f"{what} reads slot {slot}, which is not made before")
        if not 0 <= result < count or made[result]:
            raise ProgramError(f"{what} writes slot {result}, which is there already, or does not exist")
        made[result] = True
        _check_result(what, program, op, params, operands, result)
    for slot in program.leaving:
        if not 0 <= slot < count or not made[slot]:
            raise ProgramError(f"slot {slot} leaves the program, and no step makes it")
    for handle, _ in program.effects:
        if not (isinstance(handle, Tensor) or (isinstance(handle, int) and 0 <= handle < len(given))):
            raise ProgramError(f"an effect is left in {handle!r}; expected a tensor or the number of an input")


def _check_result(what: str, p: Listing, op: int, params: Any, operands: tuple[int, ...], result: int) -> None:
    """Compare the type and shape of a result with the kernel's result for such operands."""
    row = table()[op]
    found = TYPES[p.typenums[result]], tuple(p.shapes[result])
    if row.name == "draw" or (row.family == "rule" and row.c is None and row.ufunc is None):
        return  # functions of users, which may count their calls
    if row.name == "inspect":
        expected = TYPES[p.typenums[operands[0]]], tuple(p.shapes[operands[0]])
    else:
        stand_ins = [_stand_in(TYPES[p.typenums[slot]], p.shapes[slot]) for slot in operands]
        try:
            array = apply(op, params, *stand_ins).asnumpy()
        except (ValueError, TypeError, IndexError) as error:
            raise ProgramError(f"{what} cannot work on operands of the shapes it has: {error}") from error
        expected = array.dtype, array.shape
    if found != expected:
        raise ProgramError(f"{what} gives {expected[0]} of shape {expected[1]}, and {found[0]} of shape {found[1]} is "
                           f"written down")  # fmt: skip


def _stand_in(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array that kernels accept: all elements equal or, if it may be a matrix, positive definite."""
    if dtype.kind in "iu":
        return np.broadcast_to(np.zeros((), dtype), shape)
    if len(shape) > 1 and shape[-1] == shape[-2] and dtype.kind in "fc":
        return np.broadcast_to((0.5 + 4.0 * np.eye(shape[-1])).astype(dtype), shape)
    return np.broadcast_to(np.asarray(0.5, dtype), shape)


def _step_tokens(program: Listing, keep: bool = False) -> tuple[list[Tokens | None], Draws]:
    """Tokens of all slots that leave the program, or of every slot."""
    tokens: list[Any] = [None] * len(program.kinds)
    draws = Draws()
    last = {slot: i for i, step in enumerate(program.steps) for slot in step[2]}
    last.update(dict.fromkeys(program.leaving, len(program.steps)))
    for slot, kind in enumerate(program.kinds):
        if kind != STEP:
            tokens[slot] = _source_tokens(kind, program.sources[slot], program.shapes[slot])
    for i, (op, params, operands, result) in enumerate(program.steps):
        ins = [tokens[slot] for slot in operands]
        dtype = TYPES[program.typenums[result]]
        tokens[result] = operation_tokens(op, params, ins, program.shapes[result], dtype, draws)
        for slot in set(operands):
            if last[slot] == i and not keep:
                tokens[slot] = None
    return tokens, draws


def _source_tokens(kind: int, source: Any, shape: tuple[int, ...]) -> Tokens:
    if kind == CONSTANT:
        return constant_tokens(source.numpy())
    return given_tokens("input", source, shape) if kind == INPUT else given_tokens("handle", id(source), shape)


# -------------------------------------------------------------------------------------------------------------- plans


def verify_layout(program: Listing, layout: dict[str, Any], locate: bool = True) -> None:
    """Check a plan, in the form that `describe` returns, against its program.

    If a result is wrong, it searches for the first wrong instruction, unless `locate` is False.
    """
    tokens, draws = _step_tokens(program)
    leaving = program.leaving
    if len(layout["results"]) != len(leaving):
        raise ProgramError(f"{len(layout['results'])} results leave the plan, {len(leaving)} the program")
    machine = Machine(layout)
    machine.run()
    for number, (slot, view) in enumerate(zip(leaving, layout["results"], strict=True)):
        what = f"result {number}"
        if view["shape"] != tuple(program.shapes[slot]) or view["typenum"] != program.typenums[slot]:
            raise ProgramError(f"{what} has shape {view['shape']}, expected {program.shapes[slot]}")
        wrong = machine.read(view, what) != tokens[slot]
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            cause = _cause(program, layout) if locate else ""
            raise ProgramError(f"{what} is not what the program computes, first at {at}{cause}")
    if machine.draws.drawn != draws.drawn or sorted(machine.draws.checked) != sorted(draws.checked):
        raise ProgramError("draws of random numbers or checks of arguments are left out")


def _cause(program: Listing, layout: dict[str, Any]) -> str:
    """Run the plan again and find the first instruction whose result is not a value of the program."""
    tokens, _ = _step_tokens(program, keep=True)
    values = np.unique(np.concatenate([np.ravel(t) for t in tokens if t is not None] + [np.zeros(1, np.uint64)]))
    machine = Machine(layout)
    machine.values = values
    try:
        machine.run()
    except ProgramError as error:
        return f"; {error}"
    return ""


class Memory:
    """The elements of one buffer: their tokens and their last writers (-1: never written)."""

    def __init__(self, name: str, nbytes: int, grain: int) -> None:
        self.name = name
        self.nbytes = nbytes
        self.grain = grain  # bytes of a cell: the smallest element in this buffer
        cells = -(-nbytes // grain)
        self.tokens: np.ndarray = np.zeros(cells, np.uint64)
        self.writer: np.ndarray = np.full(cells, -1, np.int64)

    def views(self, offset: int, access: Access, what: str) -> tuple[Tokens, np.ndarray] | None:
        """Tokens and writers of elements, which must lie inside the buffer; their cells are the last axis. Or None."""
        low = high = offset
        for extent, stride in zip(access.shape, access.strides, strict=True):
            if extent == 0:
                return None
            low += min(0, (extent - 1) * stride)
            high += max(0, (extent - 1) * stride)
        if low < 0 or high + access.item > self.nbytes:
            raise ProgramError(f"{what} touches the bytes {low} to {high + access.item} of {self.name}, which has "
                               f"{self.nbytes}")  # fmt: skip
        if any(number % self.grain for number in (offset, access.item, *access.strides)):
            raise ProgramError(f"{what} does not meet whole elements of {self.name}")
        shape = (*access.shape, access.item // self.grain)
        strides = [*(stride // self.grain * 8 for stride in access.strides), 8]

        def seen(array: np.ndarray) -> np.ndarray:
            return np.ndarray(shape, array.dtype, array, offset // self.grain * 8, strides)

        return seen(self.tokens), seen(self.writer)


class Machine:
    """The executor on tokens."""

    def __init__(self, layout: dict[str, Any]) -> None:
        self.layout = layout
        self.draws: Draws = Draws()
        self.values: Tokens | None = None  # sorted values of the program, to find the first wrong result
        self.stamp: int = 0  # the current writer: region and tile
        items = [view["item"] for region in layout["regions"] if region["generic"] for view in _views(region)]
        items += [a.item for region in layout["regions"] for i in region["instructions"] for a in _accesses(i)]
        grain = min(items, default=8)
        self.memory: dict[int, Memory] = {
            ARENA: Memory("the arena", layout["arena"], grain),
            BLOCK: Memory("block memory", 0, grain),
            TOTALS: Memory("the totals", 0, grain),
        }
        self.fixed: set[int] = set()  # memory that instructions must not write
        self.generic: set[int] = set()
        self.grain = grain
        for buffer in layout["buffers"]:
            size = int(np.prod(buffer["shape"], dtype=np.int64))
            number = buffer["base"]
            if number in self.memory:
                raise ProgramError(f"two buffers have base {number}")
            memory = self.memory[number] = Memory(f"buffer {number}", size * buffer["item"], buffer["item"])
            if buffer["source"] in ("input", "handle", "constant"):
                kind = {"input": INPUT, "handle": HANDLE, "constant": CONSTANT}[buffer["source"]]
                memory.tokens[:] = _source_tokens(kind, buffer["which"], buffer["shape"]).ravel()
                memory.writer[:] = BEFORE
                self.fixed.add(number)
            elif buffer["source"] == "generic":
                self.generic.add(number)

    def run(self) -> None:
        for number, region in enumerate(self.layout["regions"]):
            if region["generic"] is not None:
                self.run_generic(number, region["generic"])
            else:
                self.run_region(number, region)

    # ------------------------------------------------------------------------------------------- operations as a whole

    def run_generic(self, number: int, task: dict[str, Any]) -> None:
        what = f"operation {name_of(task['op'])} (region {number})"
        out = task["out"]
        self.stamp = (number + 1) << 20
        ins = [self.read(view, what) for view in task["ins"]]
        dtype = TYPES[out["typenum"]]
        tokens = operation_tokens(task["op"], task["params"], ins, out["shape"], dtype, self.draws)
        self.check_values(what, tokens)
        if out["base"] not in self.generic:
            raise ProgramError(f"{what} writes base {out['base']}, which is not the buffer of its result")
        memory = self.memory[out["base"]]
        memory.tokens[:] = tokens.ravel()
        memory.writer[:] = self.stamp

    def read(self, view: dict[str, Any], what: str) -> Tokens:
        """The tokens of a view between regions."""
        axes = [k for k, extent in enumerate(view["shape"]) if extent != 1]  # cells need one axis more than the limit
        shape, strides = (tuple(view[key][k] for k in axes) for key in ("shape", "strides"))
        memory = self.find(view["base"], what)
        found = self.tokens_at(
            memory, view["offset"], Access(0, shape, strides, view["item"]), what, lambda writer: writer >= 0
        )
        return found.reshape(view["shape"])

    def find(self, base: int, what: str) -> Memory:
        memory = self.memory.get(base)
        if memory is None:
            raise ProgramError(f"{what} names base {base}, which does not exist")
        return memory

    def tokens_at(
        self, memory: Memory, offset: int, access: Access, what: str, complete: Callable[[np.ndarray], np.ndarray]
    ) -> Tokens:
        """Copy the tokens of some elements, all of which must be written."""
        cells = memory.views(offset, access, what)
        if cells is None:
            return np.zeros(access.shape, np.uint64)
        tokens, writer = cells
        good = complete(writer)
        if not good.all():
            at = writer[~good].flat[0]
            by = "no instruction" if at < 0 else f"region {(at >> 20) - 1}, block {at & ONCE}"
            raise ProgramError(f"{what} reads what is not ready in {memory.name}: it was last written by {by}")
        first = tokens[..., 0].copy()
        if tokens.shape[-1] > 1 and (tokens != _cells(first, tokens.shape[-1])).any():
            raise ProgramError(f"{what} reads parts of different elements in {memory.name}")
        return first

    def check_values(self, what: str, tokens: Tokens) -> None:
        if self.values is None:
            return
        flat = np.ravel(tokens)
        found = np.searchsorted(self.values, flat).clip(max=self.values.size - 1)
        if (self.values[found] != flat).any():
            raise ProgramError(f"{what} is the first whose result is no value of the program: it reads a wrong place, "
                               f"or one that has been used again")  # fmt: skip

    # ----------------------------------------------------------------------------------------------- compiled regions

    def run_region(self, number: int, region: dict[str, Any]) -> None:
        rows, block = region["n_rows"], region["block"]
        if block < 1 or region["block_bytes"] > self.layout["block_bytes"]:
            raise ProgramError(f"region {number} has blocks of {block} rows and {region['block_bytes']} bytes")
        if region["total_bytes"] > self.layout["total_bytes"]:
            raise ProgramError(f"region {number} has {region['total_bytes']} bytes of totals")
        first = (number + 1) << 20
        self.memory[BLOCK] = Memory("block memory", region["block_bytes"], self.grain)
        totals = self.memory[TOTALS] = Memory("the totals", region["total_bytes"], self.grain)
        self.stamp = first | ONCE
        for total in region["totals"]:  # the executor clears all totals; each is a whole number of items
            item = ITEM[total["typenum"]]
            access = Access(0, (total["nbytes"] // item,), (item,), item)
            self.store(totals, total["offset"], access, np.zeros(access.shape, np.uint64), f"region {number}")
        for start in range(0, rows, block):
            for place, instruction in enumerate(region["instructions"]):
                if instruction["once"] and start > 0:
                    continue
                self.stamp = first | (ONCE if instruction["once"] else start // block)
                what = f"region {number}, instruction {place} ({label(instruction)}), rows from {start}"
                self.execute(what, instruction, start, min(block, rows - start))
        self.stamp = first
        for total in region["totals"]:
            item = ITEM[total["typenum"]]
            access = Access(0, (total["nbytes"] // item,), (item,), item)
            what = f"a total of region {number}"
            tokens = self.tokens_at(totals, total["offset"], access, what, lambda writer: writer >= 0)
            self.check_values(what, tokens)
            if total["base"] in self.fixed or total["base"] in self.generic:
                raise ProgramError(f"{what} is written to base {total['base']}, which is not its own")
            self.store(self.find(total["base"], what), total["to"], access, tokens, what)

    def execute(self, what: str, instruction: Instruction, row: int, block: int) -> None:
        """Execute an instruction for the tile of rows that begins with `row`."""
        if instruction["once"]:
            start, stop = 0, instruction["high"]
            if any(per_row or local for _, _, per_row, local in instruction["args"][: instruction["n_in"] + 1]):
                raise ProgramError(f"{what} is executed for the first block only, and moves with the rows")
        else:
            start = max(instruction["low"], row - instruction["before"])
            stop = min(instruction["high"], row + block + instruction["after"])
        period = instruction.get("period", 0) or max(stop - start, 1)
        for first in range(start, stop, period):
            places = []
            for arg, (base, offset, per_row, local) in enumerate(instruction["args"]):
                if arg <= instruction["n_in"]:  # the rest is scratch memory, which does not move with the rows
                    offset += start * per_row + (start - row) * local
                    offset += (first - start) * instruction["advance"][arg] if first > start else 0
                places.append((base, offset))
            self.work(what, instruction, places, min(period, stop - first))

    def work(self, what: str, instruction: Instruction, places: list[tuple[int, int]], rows: int) -> None:
        """Execute an instruction on some rows, with operands and results at given places."""
        kind = kind_of(instruction)
        reads, writes = kind.reads(instruction, rows), kind.writes(instruction, rows)
        ins = [self.load(what, places[access.arg], access) for access in reads]
        outs = kind.tokens(instruction, ins, writes)
        for access, tokens in zip(writes, outs, strict=True):
            base, offset = places[access.arg]
            if base in self.fixed or base in self.generic:
                raise ProgramError(f"{what} writes base {base}, which is not its own")
            if instruction["once"] and base != BLOCK:
                raise ProgramError(f"{what} is executed for the first block only, and does not write block memory")
            self.check_overlap(what, places, kind.in_place, access, reads)
            memory = self.find(base, what)
            adds = kind.adds and access is writes[-1]
            if adds:
                with np.errstate(over="ignore"):
                    tokens = tokens + self.load(what, places[access.arg], access)
            else:
                self.check_values(what, tokens)
            stamp = self.stamp
            if base == TOTALS:
                if not adds:
                    raise ProgramError(f"{what} overwrites a total")
                self.stamp |= ONCE
            self.store(memory, offset, access, np.broadcast_to(tokens, access.shape), what)
            self.stamp = stamp

    def load(self, what: str, place: tuple[int, int], access: Access) -> Tokens:
        """The tokens of an operand: complete before the region, or made earlier in the same tile."""
        base, offset = place
        region = self.stamp & ~ONCE
        local = base in (BLOCK, TOTALS)

        def complete(writer: np.ndarray) -> np.ndarray:
            here = (writer == self.stamp) | (writer == (region | ONCE))
            return here if local else here | ((writer >= 0) & (writer < region))

        return self.tokens_at(self.find(base, what), offset, access, what, complete)

    def check_overlap(
        self, what: str, places: list[tuple[int, int]], in_place: bool, target: Access, reads: list[Access]
    ) -> None:
        """Check overlaps: a result may have the place of an operand if the kind allows it, else they are disjoint."""
        base, offset = places[target.arg]
        span = _span(offset, target)
        for access in reads:
            other, start = places[access.arg]
            if other != base:
                continue
            same = (start, access.shape, access.strides) == (offset, target.shape, target.strides)
            low, high = _span(start, access)
            if not (in_place and same) and low < span[1] and span[0] < high:
                raise ProgramError(f"{what} reads operand {access.arg} where it writes")

    def store(self, memory: Memory, offset: int, access: Access, tokens: Tokens, what: str) -> None:
        """Write tokens to elements, which must be disjoint."""
        reach = access.item
        for stride, extent in sorted(zip(map(abs, access.strides), access.shape, strict=True)):
            if extent > 1 and stride == 0:
                continue  # an element written twice must get the same value
            if extent > 1 and stride < reach:
                raise ProgramError(f"{what} writes elements that overlap in {memory.name}")
            reach = max(reach, stride * (extent - 1) + reach)
        cells = memory.views(offset, access, what)
        if cells is None:
            return
        target, writer = cells
        target[...] = made = _cells(tokens, target.shape[-1])
        writer[...] = self.stamp
        if 0 in access.strides and (target != made).any():
            raise ProgramError(f"{what} writes different values to one element of {memory.name}")


def _cells(tokens: Tokens, count: int) -> Tokens:
    """The tokens of the cells of elements, along a last axis."""
    return tokens[..., None] + np.arange(count, dtype=np.uint64)


def _span(offset: int, access: Access) -> tuple[int, int]:
    """The first byte of some elements, and the byte after the last."""
    if 0 in access.shape:
        return 0, 0
    reaches = [(extent - 1) * stride for extent, stride in zip(access.shape, access.strides, strict=True)]
    return offset + sum(r for r in reaches if r < 0), offset + sum(r for r in reaches if r > 0) + access.item


def _views(region: dict[str, Any]) -> list[dict[str, Any]]:
    return [*region["generic"]["ins"], region["generic"]["out"]]


def _accesses(instruction: Instruction) -> list[Access]:
    kind = kind_of(instruction)
    return kind.reads(instruction, 1) + kind.writes(instruction, 1)
