"""Jacobians accumulated entry by entry, along the program of one directional derivative.

That program is linear in the direction. Instead of a direction, each of its arrays carries its own Jacobian as a few
parts. A part names rows (elements of the array), one column for each row, and the slopes there. A sum puts parts side
by side, a product with an array that does not depend on the direction scales them, and slices and reshapes move rows.
So each array is processed once for each entry in a row, and rows often have fewer entries than there are colours.
Constant factors are multiplied beforehand. At the end the entries and their places are known (sparse vector mode,
Griewank and Walther, Evaluating Derivatives, 2008, chapter 7).

Rows of structured code form boxes, so slopes are slices and not gathers. Operations that couple many elements (matrix
products, cumulative sums, transforms) raise `UnsuitedError` and are left to compressed sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.sparse.assembly import Deposits, assembled
from .._engine.trace.capture import array_behind
from .._engine.transforms.tensor import OPCODES, apply
from ..dtype import DType
from ..modes import jit
from ..tensor import Tensor
from .boxes import numbered
from .parts import FLOATS, Part, Step, UnsuitedError, Walk, needed
from .patterns import CONSTANT, HANDLE, INPUT, Captured, Pattern

__all__ = ["Accumulation", "UnsuitedError", "accumulate"]

_RESHAPE = OPCODES["reshape"]


class Accumulation:
    """The entries of a sparse derivative, as a function of the arguments.

    Attributes
    ----------
    pattern
        The places of the entries.
    dtype
        The type of the entries.
    work, of_a_sweep
        The number of elements computed for the entries, and by one directional derivative for comparison.
    """

    def __init__(self, name: str, walk: Walk, captured: Captured, shape: tuple[int, int], symmetric: bool) -> None:
        (slot,) = captured.slots
        parts = [] if slot is None else walk.parts.get(slot, [])
        of_result = captured.results[0].shape
        self._tensors = captured.tensors
        self.dtype: DType = captured.results[0].dtype
        self._dtype = self.dtype.numpy
        rows: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        sources: list[tuple[Part, np.ndarray | None]] = []

        def named(part: Part, i: np.ndarray, j: np.ndarray, kept: np.ndarray | None) -> None:
            if len(i):
                rows.append(i)
                columns.append(j)
                sources.append((part, kept))

        for part in parts:
            i, j = numbered(part.rows, of_result), part.columns.ravel()
            if not symmetric:
                named(part, i, j, None)
                continue
            # Compute only the upper triangle and copy it to the lower one.
            for inside, (a, b) in ((j >= i, (i, j)), (j > i, (j, i))):
                if inside.all():
                    named(part, a, b, None)
                else:
                    those = np.flatnonzero(inside)
                    named(part, a[those], b[those], those)
        nothing = np.empty(0, np.int32)
        starts, members, places = assembled(
            np.concatenate([nothing, *rows]), np.concatenate([nothing, *columns]), shape[0]
        )
        relied = (*captured.looked, *[(handle, array_behind(handle)) for handle in walk.relied.values()])
        self.pattern: Pattern = Pattern(shape, starts, members, False, relied, captured.dependence)
        ends = np.cumsum([len(i) for i in rows])
        targets = np.split(places, ends[:-1]) if rows else []
        self._base = np.zeros(len(members), self._dtype)
        outputs: dict[int, int] = {}
        deposits: list[tuple[int, np.ndarray | None, np.ndarray, float, bool]] = []
        for (part, kept), target in zip(sources, targets, strict=True):
            numbers = np.ones(()) if part.slot is None else walk.constant(part.slot)
            if numbers is None:
                assert part.slot is not None
                output = outputs.setdefault(part.slot, len(outputs))
                deposits.append((output, kept, target, part.scale, not walk.shapes[part.slot]))
                continue
            flat = np.broadcast_to(numbers, part.columns.shape).ravel()
            np.add.at(self._base, target, part.scale * (flat if kept is None else flat[kept]))
        self._deposits = Deposits(deposits, len(members))
        self._empty = not self._base.any()
        steps = needed(walk.steps, set(outputs))
        self.of_a_sweep: int = walk.of_a_sweep
        self.work: int = sum(walk.cost(op, out) for op, _, _, out in steps if out >= len(captured.program.shapes))
        self._slopes = jit(_slopes(name, walk, captured, steps, list(outputs))) if outputs else None

    def values(self, args: tuple[Any, ...]) -> np.ndarray:
        """The entries, in the pattern's order."""
        slopes = [] if self._slopes is None else self._slopes(*[args[i] for i in self._tensors])
        return self._deposits.filled(self._base, [np.ascontiguousarray(x._numpy()) for x in slopes], self._empty)


def _slopes(
    name: str, walk: Walk, captured: Captured, steps: list[Step], outputs: list[int]
) -> Callable[..., list[Tensor]]:
    """The steps as a function of the arguments that are tensors."""
    given: dict[int, int] = {}
    always: dict[int, Tensor] = {}
    read = {slot for _, _, ins, _ in steps for slot in ins}.union(outputs)
    for slot in read:
        kind, source = INPUT, None
        if slot < len(captured.program.kinds):
            kind, source = captured.program.kinds[slot], captured.program.sources[slot]
            if kind == INPUT:
                given[slot] = source
            elif kind == HANDLE:
                always[slot] = source
            elif kind == CONSTANT:
                always[slot] = Tensor(source.numpy())
    computed = {out for _, _, _, out in steps}
    for slot in read - computed - given.keys() - always.keys():
        numbers = walk.constant(slot)
        assert numbers is not None
        always[slot] = Tensor(numbers)

    def slopes(*tensors: Tensor) -> list[Tensor]:
        slots: dict[int, Tensor] = {slot: tensors[i] for slot, i in given.items()}
        slots |= always
        for op, params, ins, out in steps:
            slots[out] = apply(op, params, *[slots[slot] for slot in ins])
        return [apply(_RESHAPE, (slots[slot].size,), slots[slot]) for slot in outputs]

    slopes.__qualname__ = name
    return slopes


def accumulate(
    name: str,
    captured: Captured,
    directions: list[tuple[int, ...]],
    symmetric: bool,
) -> Accumulation:
    """Accumulate the entries of a derivative along its captured directional derivative.

    The last inputs of the program are the direction, arrays of the shapes `directions`. Raises UnsuitedError where
    sweeps are better.
    """
    program = captured.program
    n = sum(math.prod(shape) for shape in directions)
    m = captured.results[0].size
    if (
        captured.branches
        or captured.dependence.why is not None
        or program.effects
        or captured.results[0]._typenum not in FLOATS
    ):
        raise UnsuitedError
    inputs: dict[int, tuple[int, tuple[int, ...]]] = {}
    first = 0
    for k, shape in enumerate(directions):
        inputs[len(captured.tensors) + k] = (first, shape)
        first += math.prod(shape)
    walk = Walk(program, captured.fixed, inputs)
    wanted = {slot for slot in captured.slots if slot is not None}
    walk.walk(needed(program.steps, wanted))
    return Accumulation(name, walk, captured, (m, n), symmetric)
