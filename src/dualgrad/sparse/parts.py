"""The Jacobian entries of each array in the program of a directional derivative; see accumulation.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._engine.primitives.registry import primitive, result_form
from .._engine.transforms.functions import ACCUMULATED
from .._engine.transforms.tensor import OPCODES, apply
from ..tensor import Tensor
from .boxes import Box, lengths, meeting, numbered, of_numpy, progression, whole
from .patterns import INPUT, Knowledge
from .reads import SAME, Blocks, Groups, reads_of

__all__ = ["FLOATS", "LARGE", "VIEWS", "Part", "Step", "UnsuitedError", "Walk", "needed"]

FLOATS = {np.dtype(np.float32).num, np.dtype(np.float64).num}
VIEWS = frozenset(OPCODES[name] for name in ("reshape", "slice", "transpose", "broadcast_to", "identity"))
_ADDED = frozenset(OPCODES[name] for name in ("add", "sub"))
_FACTORED = frozenset(OPCODES[name] for name in ("mul", "absorb_mul"))
_MUL, _DIV, _ADD, _SUB, _NEG = (OPCODES[name] for name in ("mul", "div", "add", "sub", "neg"))
_SLICE, _RESHAPE, _BROADCAST = (OPCODES[name] for name in ("slice", "reshape", "broadcast_to"))
_GATHER, _WHERE, _DRAW, _SUM = (OPCODES[name] for name in ("gather", "where", "draw", "sum"))
LARGE = 2.0**64  # largest constant to pull out of a product; larger ones could overflow where the original does not
_PARTS = 64  # most parts of one array
_SHORT = 4  # a sum over at most this many slices gives each slice a part of its own
_GATHERED = 4  # the cost of gathering one element, in elements
_ALLOWED = 32  # the most work, in sweeps

Step = tuple[int, Any, tuple[int, ...], int]  # opcode, parameters, slots of the operands, slot of the result


class UnsuitedError(Exception):
    """Sweeps cost less for this derivative, or its entries are too many or in irregular places."""


class Part(NamedTuple):
    """Entries of the Jacobian of an array, at most one in each row unless rows are listed.

    Attributes
    ----------
    rows
        A box of the array, or a list of elements by number.
    columns
        The number of an input for each row, in the shape of the box.
    scale, slot
        The slopes: a number times the array of a slot. The array has the shape of `columns` or no axes; None means
        ones.
    """

    rows: Box | np.ndarray
    columns: np.ndarray
    scale: float
    slot: int | None


def same_places(a: Part, b: Part) -> bool:
    """True if two parts name the same entries in the same order."""
    if a.columns.shape != b.columns.shape or type(a.rows) is not type(b.rows):
        return False
    if isinstance(a.rows, np.ndarray):
        if a.rows is not b.rows and not np.array_equal(a.rows, b.rows):
            return False
    elif a.rows != b.rows:
        return False
    return a.columns is b.columns or (a.columns.flat[0] == b.columns.flat[0] and np.array_equal(a.columns, b.columns))


# --------------------------------------------------------------------------------------------------- accumulation


class Walk(Knowledge):
    """The parts of each array that depends on the direction, and the steps that compute their slopes.

    A structural primitive has its own rule for parts (`Primitive.accumulated`), which calls the methods of the walk.
    The rules of elementwise rows are here.
    """

    of_a_sweep: int
    work: int

    whole: Callable[..., Box] = staticmethod(whole)
    numbered: Callable[..., np.ndarray] = staticmethod(numbered)
    meeting: Callable[..., tuple[Box, Box] | None] = staticmethod(meeting)
    of_numpy: Callable[..., tuple[slice, ...]] = staticmethod(of_numpy)

    def __init__(
        self, program: Any, fixed: dict[int, Tensor], directions: dict[int, tuple[int, tuple[int, ...]]]
    ) -> None:
        super().__init__(program, fixed)
        self.steps: list[Step] = []
        self.equal: dict[Any, int] = {}  # a step on slopes -> its slot
        self.indices: dict[int, tuple[np.ndarray, int]] = {}  # id of an index -> (the index, its slot)
        self.shapes: dict[int, tuple[int, ...]] = dict(enumerate(program.shapes))
        self.types: dict[int, np.dtype] = {}
        self.parts: dict[int, list[Part]] = {}
        self.work = 0  # elements computed by the steps on slopes
        self.of_a_sweep = 0  # elements computed by one sweep
        self.dtype: np.dtype = np.dtype(np.float64)  # the type of the current step
        self.allowed: int = 0  # the most elements of steps and of parts
        for slot, (kind, source) in enumerate(zip(program.kinds, program.sources, strict=True)):
            if kind == INPUT and source in directions:
                first, shape = directions[source]
                columns = np.arange(first, first + math.prod(shape), dtype=np.int32).reshape(shape)
                self.parts[slot] = self.filled(columns, Part(whole(shape), columns, 1.0, None))

    def walk(self, steps: list[Step]) -> None:
        depends = set(self.parts)
        for op, _, ins, out in steps:
            if not depends.isdisjoint(ins):
                depends.add(out)
                self.of_a_sweep += 0 if op in VIEWS else math.prod(self.shapes[out])
        self.allowed = _ALLOWED * (self.of_a_sweep + 1024)
        for step in steps:
            self.step(*step)

    # ------------------------------------------------------------------------------------------------- slopes

    def fixed_slot(self, numbers: np.ndarray) -> int:
        """Add a slot that holds these numbers."""
        slot = len(self.shapes)
        self.shapes[slot] = numbers.shape
        self.learned(slot, numbers)
        return slot

    def emit(self, op: int, params: Any, *ins: int) -> int:
        """Emit a step on slopes, or compute it now if all operands are constant."""
        numbers = [self.constant(slot) for slot in ins]
        if all(a is not None for a in numbers):
            return self.fixed_slot(apply(op, params, *[Tensor(a) for a in numbers]).asnumpy())
        slot = self.equal.setdefault((op, params, ins), len(self.shapes))
        if slot in self.shapes:
            return slot
        form = result_form(op, params, [(self.dtype.num, self.shapes[i]) for i in ins])
        assert form is not None
        self.shapes[slot] = form[1]
        self.steps.append((op, params, ins, slot))
        self.work += self.cost(op, slot)
        if self.work > self.allowed:
            raise UnsuitedError
        return slot

    def cost(self, op: int, slot: int) -> int:
        """The cost of a step on slopes, in elements."""
        return 0 if op in VIEWS else math.prod(self.shapes[slot]) * (_GATHERED if op == _GATHER else 1)

    def cut(self, slot: int | None, box: Box) -> int | None:
        """Slice slopes by a box."""
        if slot is None or not self.shapes[slot] or box == whole(self.shapes[slot]):
            return slot
        return self.emit(_SLICE, box, slot)

    def reshaped(self, slot: int | None, shape: tuple[int, ...]) -> int | None:
        if slot is None or not self.shapes[slot] or self.shapes[slot] == shape:
            return slot
        return self.emit(_RESHAPE, shape, slot)

    def picked(self, slot: int | None, index: np.ndarray) -> int | None:
        """Gather slopes by element number, as a list."""
        if slot is None or not self.shapes[slot]:
            return slot
        flat = self.reshaped(slot, (math.prod(self.shapes[slot]),))
        assert flat is not None
        if (found := progression(index)) is not None:
            return self.cut(flat, (found,))
        if id(index) not in self.indices:
            self.indices[id(index)] = index, self.fixed_slot(index.astype(np.int64))
        return self.emit(_GATHER, (0,), flat, self.indices[id(index)][1])

    def factor(self, slot: int, rows: Box | np.ndarray, shape: tuple[int, ...]) -> int:
        """Slice or gather the elements of an operand that belong to these rows of the result."""
        if math.prod(self.shapes[slot]) == 1:
            return slot if not self.shapes[slot] else self.emit(_RESHAPE, (), slot)
        if self.shapes[slot] != shape:
            slot = self.emit(_BROADCAST, shape, slot)
        found = self.picked(slot, rows) if isinstance(rows, np.ndarray) else self.cut(slot, rows)
        assert found is not None
        return found

    # -------------------------------------------------------------------------------------------------- parts

    def filled(self, columns: np.ndarray, part: Part) -> list[Part]:
        return [part] if columns.size else []

    def listed(self, part: Part, rows: np.ndarray, entries: np.ndarray, shape: tuple[int, ...]) -> list[Part]:
        """Move entries of a part, given by number, to new rows of an array of this shape."""
        if not len(entries):
            return []
        columns = part.columns.ravel()
        if len(entries) != len(columns) or progression(entries) != (0, len(columns), 1):
            columns = columns[entries]
            slot = self.picked(part.slot, entries)
        else:
            slot = self.reshaped(part.slot, (len(columns),))
        if len(rows) == math.prod(shape) and progression(rows) in ((0, len(rows), 1), None if shape else (0, 1, 1)):
            if progression(rows) == (0, len(rows), 1):
                return [Part(whole(shape), columns.reshape(shape), part.scale, self.reshaped(slot, shape))]
        return [Part(rows.astype(np.int32, copy=False), columns, part.scale, slot)]

    def moved(
        self, part: Part, before: tuple[int, ...], which: np.ndarray, shape: tuple[int, ...], to: Any
    ) -> list[Part]:
        """Move elements `which` of the operand (-1: none) to rows `to` of the result, None: consecutive rows."""
        rows = numbered(part.rows, before)
        size = math.prod(before)
        if len(rows) == size and progression(rows) is not None:  # all rows, in order
            kept = np.flatnonzero(which >= 0)
            entries = which[kept]
        else:
            order = np.argsort(rows, kind="stable")
            starts = np.zeros(size + 1, np.int64)
            np.cumsum(np.bincount(rows, minlength=size), out=starts[1:])
            count = np.where(which >= 0, starts[which + 1] - starts[which], 0)
            if count.sum() > self.allowed:
                raise UnsuitedError
            kept = np.repeat(np.arange(len(which)), count)
            within = np.arange(len(kept)) - np.repeat(np.cumsum(count) - count, count)
            entries = order[starts[which[kept]] + within]
        if len(kept) == len(which) and progression(kept) == (0, len(which), 1):
            return self.listed(part, np.arange(len(which)) if to is None else to, entries, shape)
        return self.listed(part, kept if to is None else to[kept], entries, shape)

    def read(self, parts: list[Part], reads: Any, before: tuple[int, ...], shape: tuple[int, ...]) -> list[Part]:
        """The parts of a result that reads elements with slope one."""
        if reads is None:
            return []
        if reads is SAME:
            return parts
        if isinstance(reads, Blocks):
            raise UnsuitedError
        to = None
        if isinstance(reads, Groups):
            to = np.repeat(np.arange(len(reads.starts) - 1), np.diff(reads.starts))
            reads = reads.members
        if len(reads) > self.allowed:
            raise UnsuitedError
        return [new for part in parts for new in self.moved(part, before, reads, shape, to)]

    def spread_out(self, parts: list[Part], before: tuple[int, ...], shape: tuple[int, ...]) -> list[Part]:
        """Broadcast parts to a shape."""
        if before == shape:
            return parts
        found: list[Part] = []
        added = len(shape) - len(before)
        for part in parts:
            if isinstance(part.rows, np.ndarray):
                places = np.arange(math.prod(before)).reshape(before)
                found += self.moved(part, before, np.broadcast_to(places, shape).ravel(), shape, None)
                continue
            box = [*whole(shape[:added])]
            for axis, length, n in zip(part.rows, before, shape[added:], strict=True):
                box.append(axis if length == n else (0, n, 1))
            inner = lengths(tuple(box))
            slot = part.slot
            if slot is not None and self.shapes[slot]:
                slot = self.emit(_BROADCAST, inner, slot)
            columns = np.ascontiguousarray(np.broadcast_to(part.columns, inner))
            found += self.filled(columns, Part(tuple(box), columns, part.scale, slot))
        return found

    def together(self, parts: list[Part]) -> list[Part]:
        """Merge parts that name the same entries."""
        found: list[Part] = []
        for part in parts:
            for i, other in enumerate(found):
                if (part.slot is None) == (other.slot is None) and same_places(part, other):
                    both = self.added(other, part)
                    found[i : i + 1] = [both] if both is not None else []
                    break
            else:
                found.append(part)
        if len(found) > _PARTS:
            raise UnsuitedError
        return found

    def added(self, a: Part, b: Part) -> Part | None:
        if a.slot == b.slot:
            scale = a.scale + b.scale
            return a._replace(scale=scale) if scale else None
        assert a.slot is not None
        assert b.slot is not None
        if abs(a.scale) == abs(b.scale):
            return a._replace(slot=self.emit(_ADD if a.scale == b.scale else _SUB, None, a.slot, b.slot))
        one, other = self.scaled(a), self.scaled(b)
        return a._replace(scale=1.0, slot=self.emit(_ADD, None, one, other))

    def scaled(self, part: Part) -> int:
        """Multiply the scale of a part into its slopes."""
        assert part.slot is not None
        if part.scale == 1:
            return part.slot
        return self.emit(_MUL, None, self.number(part.scale), part.slot)

    def number(self, x: float) -> int:
        return self.fixed_slot(np.asarray(x, self.dtype))

    # -------------------------------------------------------------------------------------------------- rules

    def step(self, op: int, params: Any, ins: tuple[int, ...], out: int) -> None:
        moving = [k for k, slot in enumerate(ins) if slot in self.parts]
        if op == _DRAW:
            raise UnsuitedError
        if not moving:
            self.learn(op, params, ins, out)
            self.steps.append((op, params, ins, out))
            return
        typenum = self.program.typenums[out]
        if typenum not in FLOATS:
            raise UnsuitedError
        self.dtype = np.dtype("f" if typenum == np.dtype(np.float32).num else "d")
        parts: list[Part] = []
        for k in moving:
            parts += self.inherited((op, params, ins, out), k, moving)
        if sum(part.columns.size for part in parts) > self.allowed:
            raise UnsuitedError
        self.parts[out] = self.together(parts)

    def inherited(self, step: Step, k: int, moving: list[int]) -> list[Part]:
        """The parts that a result inherits from operand k."""
        op, _, ins, out = step
        parts = self.parts[ins[k]]
        before, shape = self.shapes[ins[k]], self.shapes[out]
        if not parts:
            return []
        structural = primitive(op)
        if structural is not None:
            return structural.accumulated(self, step, k, parts, moving)
        if op == _NEG:
            return [part._replace(scale=-part.scale) for part in parts]
        if op in _ADDED:
            sign = -1 if op == _SUB and k == 1 else 1
            return [part._replace(scale=sign * part.scale) for part in self.spread_out(parts, before, shape)]
        if op in _FACTORED and len(moving) == 1:
            return self.multiplied(op, self.spread_out(parts, before, shape), ins[1 - k], shape)
        if op == _DIV and moving == [0]:
            return self.multiplied(op, self.spread_out(parts, before, shape), ins[1], shape)
        return self.refused()

    def generic(self, step: Step, k: int, parts: list[Part]) -> list[Part]:
        """Accumulate any operation that reads elements with slope one."""
        _, _, ins, out = step
        before = self.shapes[ins[k]]

        def starts(_: int) -> np.ndarray:
            count = np.zeros(math.prod(before), np.int64)
            for part in parts:
                count += np.bincount(numbered(part.rows, before), minlength=len(count))
            return np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])

        return self.read(parts, reads_of(self.seen(step, starts), k), before, self.shapes[out])

    def summed(self, step: Step, k: int, parts: list[Part], axes: tuple[int, ...], kept: tuple[int, ...]) -> list[Part]:
        """Sum parts along axes. The axes in `kept` stay, with length one. A box stays a box if few pieces suffice."""
        found: list[Part] = []
        for part in parts:
            pieces = None if isinstance(part.rows, np.ndarray) else self.alike(part, axes)
            if pieces is None:
                found += self.generic(step, k, [part])
            else:
                found += [self.summed_piece(piece, axes, kept) for piece in pieces]
        return found

    def alike(self, part: Part, axes: tuple[int, ...]) -> list[Part] | None:
        """Split a box into boxes with equal columns along some axes; None if that takes many."""
        columns = part.columns
        varied = [axis for axis in axes if not (columns == columns.take([0], axis)).all()]
        if not varied:
            return [part]
        if math.prod(columns.shape[axis] for axis in varied) > _SHORT:
            return None
        found = []
        for place in np.ndindex(*[columns.shape[axis] for axis in varied]):
            box, rows = list(whole(columns.shape)), list(part.rows)
            for axis, i in zip(varied, place, strict=True):
                start, _, stride = part.rows[axis]
                box[axis], rows[axis] = (i, 1, 1), (start + i * stride, 1, stride)
            piece = np.ascontiguousarray(columns[of_numpy(tuple(box))])
            found.append(Part(tuple(rows), piece, part.scale, self.cut(part.slot, tuple(box))))
        return found

    def summed_piece(self, part: Part, axes: tuple[int, ...], kept: tuple[int, ...]) -> Part:
        """Sum a box along axes on which its columns are equal."""
        shape, slot, scale = part.columns.shape, part.slot, part.scale
        count = math.prod(shape[axis] for axis in axes)
        columns = part.columns[tuple(slice(1) if axis in axes else slice(None) for axis in range(len(shape)))]
        rows = tuple(
            (0, 1, 1) if axis in axes else rows
            for axis, rows in enumerate(part.rows)
            if axis not in axes or axis in kept
        )
        if slot is None or not self.shapes[slot]:
            scale *= count
        elif count > 1:
            slot = self.emit(_SUM, (axes, False), slot)
        columns = np.ascontiguousarray(columns.reshape(lengths(rows)))
        return Part(rows, columns, scale, self.reshaped(slot, columns.shape))

    def multiplied(self, op: int, parts: list[Part], by: int, shape: tuple[int, ...]) -> list[Part]:
        """Multiply parts by, or divide them by, a factor that does not depend on the direction."""
        numbers = self.constant(by)
        if numbers is not None and numbers.size and (numbers == numbers.flat[0]).all():
            number = float(numbers.flat[0])
            if not number:
                return [] if op != _DIV else self.refused()
            scales = [part.scale / number if op == _DIV else part.scale * number for part in parts]
            if all(1 / LARGE <= abs(scale) <= LARGE for scale in scales):
                return [part._replace(scale=scale) for part, scale in zip(parts, scales, strict=True)]
        if numbers is not None and op != _DIV and not numbers.all():  # drop entries where the constant is zero
            reads = np.where(np.broadcast_to(numbers != 0, shape).ravel(), np.arange(math.prod(shape)), -1)
            parts = self.read(parts, reads, shape, shape)
        found = []
        for part in parts:
            factor = self.factor(by, part.rows, shape)
            if part.slot is not None:
                factor = self.emit(op, None, part.slot, factor)
            elif op == _DIV:
                factor = self.emit(_DIV, None, self.number(1.0), factor)
            found.append(part._replace(slot=factor))
        return found

    def refused(self) -> list[Part]:
        raise UnsuitedError

    def chosen(self, step: Step, k: int, parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
        """Keep parts where a condition holds for operand 1, or does not hold for operand 2."""
        _, _, ins, _ = step
        seen = self.seen(step, lambda _: np.empty(0))
        condition = seen.numbers(0)
        if condition is not None:
            taken = np.broadcast_to(condition.astype(bool), shape).ravel() == (k == 1)
            return self.read(parts, np.where(taken, np.arange(math.prod(shape)), -1), shape, shape)
        found = []
        for part in parts:
            mask = self.factor(ins[0], part.rows, shape)
            slopes, nothing = self.number(1.0) if part.slot is None else part.slot, self.number(0.0)
            slot = self.emit(_WHERE, None, mask, *((slopes, nothing) if k == 1 else (nothing, slopes)))
            found.append(part._replace(slot=slot))
        return found


def _sparse_product(walk: Walk, step: Step, k: int, parts: list[Part], moving: list[int]) -> list[Part]:
    """Accumulate S(a) x with one column: each entry of S reads one element of x and adds to one of the result."""
    if len(moving) > 1:
        return walk.refused()
    _, params, ins, out = step
    settings = dict(params)
    entries, vector = walk.shapes[ins[0]], walk.shapes[ins[1]]
    rows, columns = settings["pattern"].places
    if math.prod(entries) != len(rows) or math.prod(walk.shapes[out]) != walk.shapes[out][-2]:
        raise UnsuitedError
    if settings["transposed"]:
        rows, columns = columns, rows
    which = columns if k == 1 else np.arange(len(rows))
    found = []
    shape = (len(rows),)
    for part in parts:
        for one in walk.moved(part, vector if k == 1 else entries, which, shape, None):
            at = numbered(one.rows, shape)
            by = walk.picked(ins[0], at) if k == 1 else walk.picked(ins[1], columns[at])
            assert by is not None
            slot = by if one.slot is None else walk.emit(_MUL, None, one.slot, by)
            found.append(Part(rows[at].astype(np.int32), one.columns.ravel(), one.scale, slot))
    return found


ACCUMULATED["sparse_product"] = _sparse_product


def needed(steps: list[Step], wanted: set[int]) -> list[Step]:
    """The steps that these slots depend on."""
    needed, kept = set(wanted), []
    for step in reversed(steps):
        if step[3] in needed:
            needed.update(step[2])
            kept.append(step)
    return kept[::-1]
