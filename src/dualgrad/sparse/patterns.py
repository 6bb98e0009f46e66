"""Sparsity patterns: which elements of a result depend on which elements of the inputs.

The function runs once, and its operations are recorded as a flat program. Each element of each array carries an index
set: the inputs it depends on. A primitive's rule names, for each operand, the elements that an element of the result
reads with a slope that can be nonzero. The set of the result is the union of their sets. Comparisons, rounding and
argsort end a dependence; products with constants pass it only where the constant is not zero.

The pattern of a Hessian is the pattern of the Jacobian of the gradient, and the gradient is also such a program. A
variable that enters linearly is absent from its own partial derivative, so linear and nonlinear operations need no
distinction.

The pattern holds for all input values, except where Python took branches at the given ones (``if x[0] > 0``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._engine.primitives.registry import table
from .._engine.sparse.index_sets import TooDenseError, take, transposed_family, union, union_of_groups
from .._engine.trace.capture import array_behind, capture
from .._engine.trace.dependence import Dependence
from .._engine.transforms.leaves import checked_result
from .._engine.transforms.tensor import apply
from .._nests import tensors_in
from ..tensor import Tensor
from .reads import INEXACT, MOST, SAME, Blocks, Groups, Step, reads_of

__all__ = ["Pattern", "jacobian_pattern"]

INPUT, HANDLE, CONSTANT = 0, 1, 2  # sources of the array in a slot; see program.pyx


class Family(NamedTuple):
    """One index set for each element of an array, in compressed rows."""

    starts: np.ndarray
    members: np.ndarray


@dataclass(frozen=True)
class Pattern:
    """The places of the entries of a sparse matrix.

    Attributes
    ----------
    shape : tuple of two ints
    indptr : ndarray of int64
        Row i has the entries ``indptr[i]`` to ``indptr[i + 1]``.
    indices : ndarray of int32
        The column of each entry, ascending in each row.
    branches : bool
        True if Python read numbers that depend on the inputs; the pattern is then valid for the branches taken.

    Examples
    --------
    >>> import dualgrad as dg
    >>> pattern = dg.sparsity.jacobian_pattern(lambda x: x[1:] * x[:-1], dg.Tensor([1.0, 2.0, 3.0]))
    >>> pattern.indices
    array([0, 1, 1, 2], dtype=int32)
    >>> pattern
    Pattern(shape=(2, 3), entries=4)
    """

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    branches: bool = False
    relied: tuple[tuple[Any, Any], ...] = ()  # (handle, its array) of tensors whose indices or conditions were read
    dependence: Dependence | None = None  # guards on everything else that the pattern depends on; None: unknown

    def __repr__(self) -> str:
        return f"Pattern(shape={self.shape}, entries={len(self.indices)})"

    def changed(self) -> str | None:
        """Name a change of anything the pattern relies on; None if nothing changed or that is unknown.

        It relies on index arrays, conditions and numbers that Python read. See `sure`.
        """
        if not all(array_behind(handle) is array for handle, array in self.relied):
            return "a captured tensor that decides about the pattern"
        return self.dependence.broken() if self.dependence is not None and self.sure else None

    def taken_over(self) -> Pattern:
        """The same places, without a claim about any function."""
        return Pattern(self.shape, self.indptr, self.indices)

    @property
    def sure(self) -> bool:
        """True if the pattern holds until `changed` reports a change."""
        return not self.branches and self.dependence is not None and self.dependence.why is None

    @staticmethod
    def of(given: Any) -> Pattern:
        """Make a pattern from a SciPy sparse matrix or an array of bools; a Pattern is returned as it is."""
        if isinstance(given, Pattern):
            return given
        coo = given.tocoo() if hasattr(given, "tocoo") else None
        if coo is None and np.ndim(given) != 2:
            raise ValueError(f"sparsity: a pattern has two axes, got {np.ndim(given)}")
        rows, columns = np.nonzero(given) if coo is None else (coo.row, coo.col)
        shape = np.shape(given) if coo is None else coo.shape
        flat = np.unique(np.asarray(rows, np.int64) * shape[1] + columns)
        counts = np.bincount(flat // max(shape[1], 1), minlength=shape[0])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return Pattern((shape[0], shape[1]), starts, (flat % max(shape[1], 1)).astype(np.int32))

    def transposed(self) -> Pattern:
        """The pattern of the transpose."""
        starts, members, _ = transposed_family(self.indptr, self.indices, self.shape[1])
        return Pattern(self.shape[::-1], starts, members, self.branches, self.relied, self.dependence)

    def symmetric(self) -> Pattern:
        """The union of the pattern and its transpose."""
        other = self.transposed()
        return Pattern(self.shape, *union(*self.sets, *other.sets), self.branches, self.relied, self.dependence)

    @property
    def sets(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays `indptr` and `indices`."""
        return self.indptr, self.indices

    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    def dense(self) -> np.ndarray:
        """The pattern as a matrix of bools."""
        matrix = np.zeros(self.shape, bool)
        matrix[self.rows(), self.indices] = True
        return matrix


def jacobian_pattern(fn: Callable[..., Any], *args: Any, grad_position: int | tuple[int, ...] = 0) -> Pattern:
    """Find the sparsity pattern of the Jacobian of a function.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a tuple or list of them. A gradient function gives the pattern of a Hessian.
    *args
        Its arguments; the differentiated ones are floating-point tensors of any shape.
    grad_position : int or tuple of ints, default 0
        The positions of the differentiated arguments.

    Returns
    -------
    Pattern
        A row for each element of the results and a column for each element of the inputs, in C order. It contains every
        nonzero entry, and may hold more: cancellation goes undetected.

    Raises
    ------
    ValueError
        If the pattern would be dense, or two calls of the function differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> energy = lambda x: ((x[1:] - x[:-1]) ** 4).sum()
    >>> x = dg.Tensor([1.0, 2.0, 4.0])
    >>> print(dg.sparsity.jacobian_pattern(dg.grad(energy), x).dense().astype(int))
    [[1 1 0]
     [1 1 1]
     [0 1 1]]
    """
    positions = (grad_position,) if isinstance(grad_position, int) else tuple(grad_position)
    for p in positions:
        if not (0 <= p < len(args) and isinstance(args[p], Tensor)):
            raise TypeError(f"sparsity: argument {p} is differentiated, but it is no Tensor")

    found_by = captured(lambda full, _: fn(*full), args)
    program, results, slots = found_by.program, found_by.results, found_by.slots
    n = sum(args[p].size for p in positions)
    inputs: dict[int, Family] = {}
    before = 0
    for p in positions:
        size = args[p].size
        members = np.arange(before, before + size, dtype=np.int32)
        inputs[found_by.tensors.index(p)] = Family(np.arange(size + 1, dtype=np.int64), members)
        before += size
    walk = _Walk(program, inputs, found_by.fixed, n)
    try:
        found = walk.families([slot for slot in slots if slot is not None])
    except TooDenseError:
        raise ValueError(
            f"sparsity: more than {MOST} dependences; the matrix is dense, or an intermediate array depends on almost "
            f"all inputs in each of its elements; use products with vectors (jvp, vjp) instead"
        ) from None
    starts, total = [np.zeros(1, np.int64)], 0
    parts: list[np.ndarray] = []
    for x, slot in zip(results, slots, strict=True):
        family = None if slot is None else found[slot]
        if family is None:
            starts.append(np.full(x.size, total, np.int64))
        else:
            starts.append(family.starts[1:] + total)
            parts.append(family.members)
            total += len(family.members)
    joined = np.concatenate(parts) if parts else np.empty(0, np.int32)
    m = sum(x.size for x in results)
    relied = (*found_by.looked, *[(handle, array_behind(handle)) for handle in walk.relied.values()])
    return Pattern((m, n), np.concatenate(starts), joined, found_by.branches, relied, found_by.dependence)


class Captured(NamedTuple):
    """A function's program at some arguments.

    Attributes
    ----------
    program, results, slots
        The program, its results, and their slots, None where they are constant.
    branches, looked
        True if Python read numbers that depend on the arguments; (handle, array) of the captured tensors that it read.
    dependence
        Guards on everything else that decides about the program.
    tensors, fixed
        The positions of the arguments that are tensors, which are the first inputs of the program; integer tensors by
        input.
    """

    program: Any
    results: list[Tensor]
    slots: list[int | None]
    branches: bool
    looked: list[tuple[Any, Any]]
    dependence: Dependence
    tensors: list[int]
    fixed: dict[int, Tensor]


def captured(fn: Callable[..., Any], args: tuple[Any, ...], more: tuple[Tensor, ...] = ()) -> Captured:
    """Record `fn`, called with the list of all arguments and a tuple of further inputs."""
    tensors = [i for i, x in enumerate(args) if isinstance(x, Tensor)]

    def call(*given: Tensor) -> list[Tensor]:
        full = list(args)
        for i, x in zip(tensors, given[: len(tensors)], strict=True):
            full[i] = x
        return leaves(fn(full, given[len(tensors) :]))

    others = tuple([x for x in args if not isinstance(x, Tensor)])
    found = capture(call, (*[args[i] for i in tensors], *more), others)
    fixed = {i: args[k] for i, k in enumerate(tensors) if args[k].dtype.is_int or args[k].dtype.is_bool}
    return Captured(*found, tensors, fixed)


def leaves(x: Any) -> list[Tensor]:
    """The tensors of a result."""
    return tensors_in(checked_result("sparsity", x))


# ------------------------------------------------------------------------------------------------------ the walk


class _Known(NamedTuple):
    """Numbers that do not depend on the inputs, and the handles they were read from."""

    numbers: np.ndarray
    handles: dict[int, Any]  # by identity: tensors compare by element


class Knowledge:
    """The numbers in a program that do not depend on the differentiated inputs, if a pattern may rely on them.

    Indices and conditions may come from captured tensors; a read of one is noted in `relied`. Captured numbers are not
    constants, since they may change.
    """

    def __init__(self, program: Any, fixed: dict[int, Tensor]) -> None:
        self.program = program
        self.known: dict[int, _Known] = {}
        self.relied: dict[int, Any] = {}
        self.rows: tuple[Any, ...] = table()
        for slot, (kind, source) in enumerate(zip(program.kinds, program.sources, strict=True)):
            if kind == INPUT and source in fixed:
                self.known[slot] = _Known(fixed[source].asnumpy(), {})
            elif kind == CONSTANT:
                self.known[slot] = _Known(source.numpy(), {})
            elif kind == HANDLE:
                self.known[slot] = _Known(source.asnumpy(), {id(source): source})

    def learned(self, slot: int, numbers: np.ndarray) -> None:
        """Declare that a slot always holds these numbers."""
        self.known[slot] = _Known(numbers, {})

    def learn(self, op: int, params: Any, ins: tuple[int, ...], out: int) -> None:
        """Compute a step whose operands do not depend on the inputs."""
        if ins and self.rows[op].name != "inspect" and all(slot in self.known for slot in ins):
            tensors = [Tensor(self.known[slot].numbers) for slot in ins]
            handles = {key: handle for slot in ins for key, handle in self.known[slot].handles.items()}
            self.known[out] = _Known(apply(op, params, *tensors).asnumpy(), handles)

    def constant(self, slot: int) -> np.ndarray | None:
        """The numbers of a slot if they never change, else None."""
        found = self.known.get(slot)
        return None if found is None or found.handles else found.numbers

    def seen(self, step: tuple[int, Any, tuple[int, ...], int], starts: Callable[[int], np.ndarray]) -> Step:
        """A step in the form that the reading rules take."""
        op, params, ins, out = step
        shapes, typenum = tuple(self.program.shapes[slot] for slot in ins), self.program.typenums[ins[0]]

        def known(k: int, constant: bool) -> np.ndarray | None:
            found = self.known.get(ins[k])
            if found is None or (constant and found.handles):
                return None
            self.relied.update(found.handles)
            return found.numbers

        return Step(op, self.rows[op], params, self.program.shapes[out], shapes, typenum, known, starts)


class _Walk(Knowledge):
    """The index sets of the slots of a program, step by step."""

    def __init__(self, program: Any, inputs: dict[int, Family], fixed: dict[int, Tensor], n: int) -> None:
        super().__init__(program, fixed)
        self.n = n
        self.found: dict[int, Family | None] = {}
        for slot, (kind, source) in enumerate(zip(program.kinds, program.sources, strict=True)):
            if kind == INPUT and source in inputs:
                self.found[slot] = inputs[source]

    def families(self, wanted: list[int]) -> dict[int, Family | None]:
        steps = self.program.steps
        last: dict[int, int] = {}
        for i, (_, _, ins, out) in enumerate(steps):
            last.update(dict.fromkeys((*ins, out), i))
        keep = set(wanted)
        dead: dict[int, list[int]] = {}
        for slot, i in last.items():
            if slot not in keep:
                dead.setdefault(i, []).append(slot)
        for i, step in enumerate(steps):
            self.step(*step)
            for slot in dead.get(i, ()):
                self.found.pop(slot, None)
                self.known.pop(slot, None)
        return {slot: self.found.get(slot) for slot in wanted}

    def step(self, op: int, params: Any, ins: tuple[int, ...], out: int) -> None:
        moving = [k for k, slot in enumerate(ins) if self.found.get(slot) is not None]
        if not moving:
            self.learn(op, params, ins, out)
            return
        if self.rows[op].family == "constant" or self.program.typenums[out] not in INEXACT:
            return

        def starts(k: int) -> np.ndarray:
            family = self.found[ins[k]]
            assert family is not None
            return family.starts

        step = self.seen((op, params, ins, out), starts)
        total: Family | None = None
        for k in moving:
            part = self.inherited(self.found[ins[k]], reads_of(step, k))
            if part is not None:
                total = part if total is None else Family(*union(*total, *part))
        if total is not None and len(total.members) > MOST:
            raise TooDenseError
        self.found[out] = total

    def inherited(self, family: Family | None, reads: Any) -> Family | None:
        """The sets that the elements of a result inherit from an operand."""
        if family is None or reads is None:
            return None
        if reads is SAME:
            return family
        if isinstance(reads, Blocks):
            found = Family(*take(*union_of_groups(*reads.groups, *family, self.n, MOST), reads.which, MOST))
        elif isinstance(reads, Groups):
            found = Family(*union_of_groups(*reads, *family, self.n, MOST))
        else:
            found = Family(*take(*family, reads, MOST))
        return found if len(found.members) else None
