"""Rewrite programs on directions that are mostly zeros, so that they compute only the nonzero entries.

A Jacobian or Hessian pushes unit vectors through the steps of a derivative. As long as few elements meet, most of each
array is zero: the tangents of x[i] - x[j] along all unit vectors have two entries each. This compiler pass starts at
constants that are mostly zeros: unit vectors, or the results of constant folding on them. It removes the batch axis of
directions from each step that reads them (directions.py), and accumulates entries (parts.py) instead. Where a step has
no such form, the entries are written into a dense array, and the program continues as recorded.

The pass looks at the program alone, so it works for every function, not only for explicit Hessians. A
step qualifies only if it keeps zeros whatever numbers the other operands hold: ``0 * inf`` is nan where a user
multiplies, but zero where a derivative does.

The cost of both programs is counted in elements. The pass rewrites the program only if the new one clearly costs less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._engine.primitives.registry import result_form
from .._engine.transforms.tensor import OPCODES
from .boxes import numbered
from .directions import Batched, without_directions
from .parts import FLOATS, VIEWS, Part, Step, UnsuitedError, Walk, needed
from .patterns import CONSTANT, HANDLE
from .seeds import parts_of

__all__ = ["Recorded", "by_entries"]

LEAST = 1 << 14  # smallest number of elements in the steps on directions for which the pass tries a rewrite
GAIN = 1.25  # the old program must compute this many times the elements of the new one
_STEP = 64  # the overhead of one step, in elements
_PLACED = 5  # the cost of writing one entry into a dense array, in elements
_MOST = 1 << 26  # entries written into one dense array
_STEP_RESULT = 3  # the kind of a slot that a step computes; see program.pyx
_ADDED = frozenset(("add", "sub", "concat", "where"))
_RESHAPE, _TRANSPOSE, _CONCAT, _SCATTER, _BROADCAST, _SUB = (
    OPCODES[name] for name in ("reshape", "transpose", "concat", "scatter_add", "broadcast_to", "sub")
)


@dataclass
class Recorded:
    """A program as lists: kind, source, type number and shape of each slot; the steps; the output slots."""

    kinds: list[int]
    sources: list[Any]
    typenums: list[int]
    shapes: list[tuple[int, ...]]
    steps: list[Step]
    outputs: list[int]


class _Source:
    """A program as a walk reads it. Captured tensors count as unknown, since their numbers may change."""

    def __init__(self, program: Recorded) -> None:
        self.kinds = [_STEP_RESULT if kind == HANDLE else kind for kind in program.kinds]
        self.sources = program.sources
        self.shapes: Any = program.shapes
        self.typenums = dict(enumerate(program.typenums))
        self.steps = program.steps


@dataclass(frozen=True)
class _Along:
    """An array of directions: its slot without the batch axis, the position of that axis, and its length."""

    slot: int
    axis: int
    count: int


class _Entries(Walk):
    """The entries of a program's arrays of directions."""

    def __init__(self, program: Recorded) -> None:
        source = _Source(program)
        super().__init__(source, {}, {})
        self.recorded = program
        self.source = source
        source.shapes = self.shapes  # of all slots
        self.along: dict[int, _Along] = {}
        self.seeds: set[int] = set()
        self.dropped: dict[tuple[int, int], int] = {}  # (slot, axis from the last one) -> its slot without that axis
        self.emitted: dict[int, list[Step]] = {}  # slot -> the steps on slopes that make it
        self.turned: dict[int, tuple[int, tuple[Any, ...]]] = {}  # slot -> (its source, the reshapes and transposes)
        self.exits: set[int] = set()  # arrays of directions that a step reads as dense ones
        self.before = 0  # elements computed by the steps on directions
        self.allowed = 1024 + sum(math.prod(program.shapes[out]) for _, _, _, out in program.steps)

    def new(self, shape: tuple[int, ...], typenum: int) -> int:
        """Add a slot for an array without directions."""
        slot = len(self.shapes)
        self.shapes[slot] = shape
        self.source.typenums[slot] = typenum
        return slot

    def begin(self) -> None:
        """Find the constants that are mostly zeros."""
        program = self.recorded
        for slot, (kind, shape) in enumerate(zip(program.kinds, program.shapes, strict=True)):
            if kind != CONSTANT or program.typenums[slot] not in FLOATS or len(shape) < 2:
                continue
            numbers = self.constant(slot)
            found = None if numbers is None else parts_of(numbers, self.fixed_slot)
            if found is not None:
                single = self.new(shape[1:], program.typenums[slot])
                self.parts[single] = found
                self.along[slot] = _Along(single, 0, shape[0])
                self.seeds.add(slot)

    def follow(self) -> None:
        """Reduce every step of the program, where possible."""
        for op, params, ins, out in self.recorded.steps:
            if not any(slot in self.along or slot in self.turned for slot in ins):
                continue
            done = len(self.steps)
            found = self.single(op, params, ins, out)
            self.emitted[out] = self.steps[done:]  # kept even if nothing is found, since later steps may read them
            if found is not None:
                self.along[out] = found
                self.before += _STEP + (0 if op in VIEWS else math.prod(self.recorded.shapes[out]))
            elif op in (_RESHAPE, _TRANSPOSE) and ins[0] not in self.seeds:
                source, how = self.turned.get(ins[0], (ins[0], ()))
                self.turned[out] = source, (*how, (op, params))
            else:
                self.leave(ins)
        self.leave(self.recorded.outputs)

    def leave(self, slots: Sequence[int]) -> None:
        """Mark slots that a step reads as dense arrays."""
        self.exits.update(slot for slot in slots if slot in self.along or slot in self.turned)

    def single(self, op: int, params: Any, ins: tuple[int, ...], out: int) -> _Along | None:
        """Reduce a step on arrays of directions to steps on their entries; None if that is impossible."""
        row, shape = self.rows[op], self.recorded.shapes[out]
        if any(slot in self.turned for slot in ins):
            return None
        along = [self.along.get(slot) for slot in ins]
        counts = {a.count for a in along if a is not None}
        if len(counts) > 1 or math.prod(shape) == 0 or not self.keeps_zeros(row.name, ins, along):
            return None
        count = counts.pop()
        axes = [None if a is None else a.axis for a in along]
        shapes = [self.recorded.shapes[slot] for slot in ins]
        found = without_directions(row.name, Batched(params, shapes, axes, shape, count))
        if found is None:
            return None
        operands = tuple(
            self.beside(row.name, slot, axis - len(shape)) if a is None else a.slot
            for slot, a in zip(ins, along, strict=True)
            for axis in (found[1],)
        )
        single = self.new((*shape[: found[1]], *shape[found[1] + 1 :]), self.recorded.typenums[out])
        try:
            self.step(op, found[0], operands, single)
        except UnsuitedError:
            return None
        return _Along(single, found[1], count)

    def added(self, a: Part, b: Part) -> Part | None:
        """Add two parts. Cancelling slopes are still subtracted, since inf - inf is nan."""
        if a.slot is not None and a.slot == b.slot and a.scale == -b.scale:
            return a._replace(slot=self.emit(_SUB, None, a.slot, b.slot))
        return super().added(a, b)

    def keeps_zeros(self, name: str, ins: tuple[int, ...], along: list[_Along | None]) -> bool:
        """True if a step keeps the zeros of its arrays of directions."""
        others = [self.constant(slot) for slot, a in zip(ins, along, strict=True) if a is None]
        if name in _ADDED:
            added = others[1:] if name == "where" else others
            return (name != "where" or along[0] is None) and all(a is not None and not a.any() for a in added)
        if name in ("mul", "div"):
            moderate = all(a is not None and bool(a.all() and np.isfinite(a).all()) for a in others)
            return moderate and (name == "mul" or along[0] is not None)
        return True

    def beside(self, name: str, slot: int, place: int) -> int:
        """Remove the batch axis from an operand that is the same for all directions."""
        shape = self.shapes[slot]
        if name in ("gather", "scatter_add") or len(shape) < -place:
            return slot
        axis = len(shape) + place
        found = self.dropped.get((slot, place))
        if found is None:
            rest = (*shape[:axis], *shape[axis + 1 :])
            found = self.dropped[slot, place] = self.new(rest, self.source.typenums[slot])
            numbers = self.constant(slot)
            if numbers is not None:  # all rows are equal: take the first
                self.learned(found, np.ascontiguousarray(numbers.take(0, axis)))
            else:
                self.step(_RESHAPE, rest, (slot,), found)
        return found

    # ------------------------------------------------------------------------------------------------ dense arrays

    def put_into_dense_arrays(self) -> None:
        """Build the dense arrays in program order: the first of several equal steps computes the shared slot."""
        self.equal = {}
        for _, _, _, out in self.recorded.steps:
            if out in self.exits and out not in self.seeds:
                self.dense(out)

    def dense(self, out: int) -> None:
        """Emit the steps that write the entries of a slot into a dense array."""
        source, how = self.turned.get(out, (out, ()))
        along = self.along[source]
        shape, typenum = self.recorded.shapes[out], self.recorded.typenums[out]
        self.dtype = np.dtype("f" if typenum == np.dtype(np.float32).num else "d")
        single = self.shapes[along.slot]
        behind = math.prod(single[along.axis :])
        done, slopes, places = len(self.steps), [], []
        for part in self.parts.get(along.slot, []):
            before, after = np.divmod(numbered(part.rows, single).astype(np.int64), behind)
            flat = (before * along.count + part.columns.ravel()) * behind + after
            places.append(_turned(flat, self.recorded.shapes[source], how))
            slopes.append(self.flat(part))
        if sum(map(len, places)) > _MOST:
            raise UnsuitedError
        if slopes:
            joined = slopes[0] if len(slopes) == 1 else self.emit(_CONCAT, 0, *slopes)
            index = self.fixed_slot(np.concatenate(places))
            filled = self.emit(_SCATTER, ((math.prod(shape),), (0,)), joined, index)
            last = (_RESHAPE, shape, (filled,), out)
        else:
            last = (_BROADCAST, shape, (self.number(0.0),), out)
        self.steps.append(last)
        self.emitted[out] += self.steps[done:]

    def flat(self, part: Part) -> int:
        """Flatten the slopes of a part."""
        size = part.columns.size
        if part.slot is None:
            return self.fixed_slot(np.full(size, part.scale, self.dtype))
        slot = self.scaled(part)
        return self.emit(_BROADCAST if not self.shapes[slot] else _RESHAPE, (size,), slot)

    def after(self) -> int:
        """The number of elements computed by the steps on entries, with the cost of dense arrays."""
        total = 0
        wanted = self.exits - self.seeds
        for op, _, ins, out in needed(self.steps, wanted):
            total += _STEP + self.cost(op, out)
            if op == _SCATTER:
                total += _PLACED * math.prod(self.shapes[ins[0]])
        return total


def _turned(places: np.ndarray, shape: tuple[int, ...], how: tuple[Any, ...]) -> np.ndarray:
    """Map element numbers through reshapes and transposes."""
    for op, params in how:
        if op == _RESHAPE:
            shape = params
        else:
            index = np.unravel_index(places, shape)
            shape = tuple(shape[axis] for axis in params)
            places = np.ravel_multi_index(tuple(index[axis] for axis in params), shape)
    return places


def by_entries(program: Recorded) -> tuple[list[tuple[int, tuple[int, ...], Any]], list[Step]] | None:
    """Rewrite a program by entries; None if that does not clearly cost less.

    Returns the slots to add, each (type number, shape, numbers or None), and all steps.
    """
    walk = _Entries(program)
    walk.begin()
    if not walk.along:
        return None
    walk.follow()
    if walk.before < LEAST:
        return None
    try:
        walk.put_into_dense_arrays()
    except UnsuitedError:
        return None
    if GAIN * walk.after() > walk.before:
        return None
    steps = list(_all_steps(program, walk))
    return _renumbered(program, walk, steps)


def _all_steps(program: Recorded, walk: _Entries) -> Iterator[Step]:
    """Yield all steps, with steps on directions replaced by steps on entries."""
    for step in program.steps:
        yield from walk.emitted.get(step[3], ())
        if step[3] not in walk.along and step[3] not in walk.turned:
            yield step


def _renumbered(
    program: Recorded, walk: _Entries, steps: list[Step]
) -> tuple[list[tuple[int, tuple[int, ...], Any]], list[Step]]:
    """Number the new slots in the order in which steps need them."""
    n = len(program.shapes)
    added: list[tuple[int, tuple[int, ...], Any]] = []
    place: dict[int, int] = {}
    typenums = dict(enumerate(program.typenums))
    wanted = {out for _, _, _, out in steps if out < n}.union(program.outputs)  # steps may have effects
    found: list[Step] = []

    def placed(slot: int, typenum: int, numbers: Any) -> int:
        place[slot] = n + len(added)
        typenums[slot] = typenum
        added.append((typenum, walk.shapes[slot], numbers))
        return place[slot]

    for op, params, ins, out in needed(steps, wanted):
        for slot in ins:
            if slot >= n and slot not in place:
                numbers = walk.constant(slot)
                assert numbers is not None
                placed(slot, numbers.dtype.num, numbers)
        operands = tuple(place.get(slot, slot) for slot in ins)
        if out < n:
            found.append((op, params, operands, out))
            continue
        form = result_form(op, params, [(typenums[slot], walk.shapes[slot]) for slot in ins])
        assert form is not None
        found.append((op, params, operands, placed(out, form[0], None)))
    return added, found
