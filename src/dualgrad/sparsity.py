"""Sparsity patterns: which elements of a result depend on which elements of the inputs.

The function is executed once, and what reaches the arrays is written down as a flat program. For each step of it an
index set goes along with each element: the inputs it depends on. A primitive says for each operand which of its
elements an element of the result reads with a slope that is not zero by its nature; the sets of those are united.
Comparisons, rounding and argsort end a dependence; products with constants keep only what their nonzeros let through.

The pattern of a Hessian is that of the Jacobian of the gradient, and the gradient is such a program, too. A variable
that enters linearly is not in its own partial derivative, so linear and nonlinear operations need not be told apart.

The pattern holds for all values of the inputs, but for the branches that Python took at the given ones (``if x[0] > 0``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._engine.capture import array_behind, capture
from ._engine.extension import core_of
from ._engine.primitives import table
from ._engine.sets import TooDenseError, gathered, take, transposed, union
from ._engine.tensor import apply
from .tensor import Tensor

__all__ = ["Pattern", "jacobian_pattern"]

MOST = 1 << 27  # members of all sets of one array: half a gigabyte
_INPUT, _HANDLE, _CONSTANT = 0, 1, 2  # where the array of a slot comes from; see program.pyx


class Family(NamedTuple):
    """One index set for each element of an array, in compressed rows."""

    starts: np.ndarray
    members: np.ndarray


class Groups(NamedTuple):
    """What each element of a result reads of an operand, in compressed rows."""

    starts: np.ndarray
    members: np.ndarray


class Blocks(NamedTuple):
    """Groups of the elements of an operand, and for each element of a result the group it reads."""

    groups: Groups
    which: np.ndarray


@dataclass(frozen=True)
class Pattern:
    """Where the entries of a sparse matrix stand.

    Attributes
    ----------
    shape : tuple of two ints
    indptr : ndarray of int64
        Row i has the entries ``indptr[i]`` to ``indptr[i + 1]``.
    indices : ndarray of int32
        The column of each entry, ascending in each row.
    branches : bool
        Python asked for numbers that depend on the inputs, so the pattern is that of the branches taken.

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
    relied: tuple[tuple[Any, Any], ...] = ()  # (handle, its array) where indices or conditions were looked at

    def __repr__(self) -> str:
        return f"Pattern(shape={self.shape}, entries={len(self.indices)})"

    @property
    def valid(self) -> bool:
        """Whether captured tensors that it relies on (index arrays, conditions) are unchanged."""
        return all(array_behind(handle) is array for handle, array in self.relied)

    @staticmethod
    def of(given: Any) -> Pattern:
        """A pattern from a sparse matrix of SciPy or an array of bools; a Pattern is returned as it is."""
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
        starts, members, _ = transposed(self.indptr, self.indices, self.shape[1])
        return Pattern(self.shape[::-1], starts, members, self.branches, self.relied)

    def symmetric(self) -> Pattern:
        """The pattern together with its transpose."""
        other = self.transposed()
        return Pattern(self.shape, *union(*self[:2], *other[:2]), self.branches, self.relied)

    def __getitem__(self, part: slice) -> tuple[np.ndarray, ...]:
        return (self.indptr, self.indices)[part]

    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    def dense(self) -> np.ndarray:
        """As a matrix of bools."""
        matrix = np.zeros(self.shape, bool)
        matrix[self.rows(), self.indices] = True
        return matrix


def jacobian_pattern(
    fn: Callable[..., Any], *args: Any, grad_position: int | tuple[int, ...] = 0
) -> Pattern:
    """The sparsity pattern of the Jacobian of a function.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a tuple or list of them. A gradient function gives the pattern of a Hessian.
    *args
        Its arguments; those that are differentiated are floating-point tensors of any shape.
    grad_position : int or tuple of ints, default 0
        Which are differentiated.

    Returns
    -------
    Pattern
        A row for each element of the results and a column for each element of the inputs, both one after the other in
        C order. It contains every entry that is not zero, and may hold others: cancellation is not seen.

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
    tensors = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    for p in positions:
        if p not in tensors:
            raise TypeError(f"sparsity: argument {p} is differentiated, but it is no Tensor")

    def call(*given: Tensor) -> list[Tensor]:
        full = list(args)
        for i, x in zip(tensors, given, strict=True):
            full[i] = x
        return leaves(fn(*full))

    program, results, slots, branches = capture(call, tuple(args[i] for i in tensors))
    n = sum(args[p].size for p in positions)
    inputs: dict[int, Family] = {}
    before = 0
    for p in positions:
        size = args[p].size
        members = np.arange(before, before + size, dtype=np.int32)
        inputs[tensors.index(p)] = Family(np.arange(size + 1, dtype=np.int64), members)
        before += size
    fixed = {i: args[k] for i, k in enumerate(tensors) if args[k].asnumpy().dtype.kind in "biu"}
    walk = _Walk(program, inputs, fixed, n)
    try:
        found = walk.families([slot for slot in slots if slot is not None])
    except TooDenseError:
        raise ValueError(
            f"sparsity: more than {MOST} dependences; the matrix is dense, or an intermediate array depends on almost "
            f"all inputs in each of its elements; use products with vectors (jvp, vjp) instead"
        ) from None
    starts, members = [np.zeros(1, np.int64)], []
    total = 0
    for x, slot in zip(results, slots, strict=True):
        family = None if slot is None else found[slot]
        if family is None:
            starts.append(np.full(x.size, total, np.int64))
        else:
            starts.append(family.starts[1:] + total)
            members.append(family.members)
            total += len(family.members)
    joined = np.concatenate(members) if members else np.empty(0, np.int32)
    m = sum(x.size for x in results)
    return Pattern((m, n), np.concatenate(starts), joined, branches, tuple(walk.relied.items_of()))


def leaves(x: Any) -> list[Tensor]:
    """The tensors of a result."""
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in leaves(item)]
    if not isinstance(x, Tensor):
        raise TypeError(f"sparsity: the function returned a {type(x).__name__}; expected a Tensor, or a tuple of them")
    return [x]


# ------------------------------------------------------------------------------------------------------ the walk


class _Relied:
    """Handles whose numbers decided about a pattern."""

    def __init__(self) -> None:
        self.handles: dict[int, Any] = {}

    def add(self, handles: frozenset) -> None:
        for handle in handles:
            self.handles[id(handle)] = handle

    def items_of(self) -> list[tuple[Any, Any]]:
        return [(handle, array_behind(handle)) for handle in self.handles.values()]


class _Known(NamedTuple):
    """Numbers that do not depend on the inputs, and the handles they come from."""

    numbers: np.ndarray
    handles: frozenset


class _Walk:
    """Families of the slots of a program, step by step."""

    def __init__(self, program: Any, inputs: dict[int, Family], fixed: dict[int, Tensor], n: int) -> None:
        self.program = program
        self.n = n
        self.found: dict[int, Family | None] = {}
        self.known: dict[int, _Known] = {}
        self.relied = _Relied()
        self.rows = table()
        for slot, (kind, source) in enumerate(zip(program.kinds, program.sources, strict=True)):
            if kind == _INPUT and source in inputs:
                self.found[slot] = inputs[source]
            elif kind == _INPUT and source in fixed:
                self.known[slot] = _Known(fixed[source].asnumpy(), frozenset())
            elif kind == _CONSTANT:
                self.known[slot] = _Known(source.numpy(), frozenset())
            elif kind == _HANDLE:
                self.known[slot] = _Known(source.asnumpy(), frozenset([source]))

    def families(self, wanted: list[int]) -> dict[int, Family | None]:
        program, steps = self.program, self.program.steps
        last: dict[int, int] = {}
        for i, (_, _, ins, out) in enumerate(steps):
            last.update(dict.fromkeys((*ins, out), i))
        keep = set(wanted)
        dead: dict[int, list[int]] = {}
        for slot, i in last.items():
            if slot not in keep:
                dead.setdefault(i, []).append(slot)
        for i, (op, params, ins, out) in enumerate(steps):
            self.step(op, params, ins, out)
            for slot in dead.get(i, ()):
                self.found.pop(slot, None)
                self.known.pop(slot, None)
        return {slot: self.found.get(slot) for slot in wanted}

    def step(self, op: int, params: Any, ins: tuple[int, ...], out: int) -> None:
        moving = [k for k, slot in enumerate(ins) if self.found.get(slot) is not None]
        row = self.rows[op]
        if not moving:
            if ins and row.name != "inspect" and all(slot in self.known for slot in ins):
                tensors = [Tensor(self.known[slot].numbers) for slot in ins]
                handles = frozenset().union(*[self.known[slot].handles for slot in ins])
                self.known[out] = _Known(apply(op, params, *tensors).asnumpy(), handles)
            return
        if row.family == "constant" or not _inexact(self.program.typenums[out]):
            return
        step = Step(self, op, row, params, ins, out)
        rule = RULES.get(row.name, _elementwise if row.partials or row.name == "power" else _dense)
        total: Family | None = None
        for k in moving:
            part = self.read(self.found[ins[k]], rule(step, k), step.size)
            if part is not None:
                total = part if total is None else Family(*union(*total, *part))
        if total is not None and len(total.members) > MOST:
            raise TooDenseError
        self.found[out] = total

    def read(self, family: Family | None, reads: Any, size: int) -> Family | None:
        """The sets that the elements of a result inherit from an operand."""
        if family is None or reads is None:
            return None
        if reads is SAME:
            return family
        if isinstance(reads, Blocks):
            found = Family(*take(*gathered(*reads.groups, *family, self.n, MOST), reads.which, MOST))
        elif isinstance(reads, Groups):
            found = Family(*gathered(*reads, *family, self.n, MOST))
        else:
            found = Family(*take(*family, reads, MOST))
        return found if len(found.members) else None


def _inexact(typenum: int) -> bool:
    return typenum in _INEXACT


_INEXACT = {np.dtype(code).num for code in "efdFD"}


# ------------------------------------------------------------------------------------------------------- rules

SAME = "element by element"

#: What elements of the result read of an operand: None (nothing), SAME, for each the one element it reads (-1: none),
#: Groups, or Blocks.
Reads = Any


class Step:
    """One step of a program, as the rules see it."""

    def __init__(self, walk: _Walk, op: int, row: Any, params: Any, ins: tuple[int, ...], out: int) -> None:
        self.walk = walk
        self.op = op
        self.row = row
        self.params = params
        self.ins = ins
        self.shape: tuple[int, ...] = walk.program.shapes[out]
        self.size = math.prod(self.shape)

    def shape_of(self, k: int) -> tuple[int, ...]:
        return self.walk.program.shapes[self.ins[k]]

    def positions(self, k: int) -> np.ndarray:
        """The elements of an operand by number, in its shape."""
        shape = self.shape_of(k)
        return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)

    def places(self) -> np.ndarray:
        """The elements of the result by number."""
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)

    def numbers(self, k: int, constant: bool = False) -> np.ndarray | None:
        """The numbers of an operand where they do not depend on inputs; `constant`: nor on captured tensors."""
        known = self.walk.known.get(self.ins[k])
        if known is None or (constant and known.handles):
            return None
        self.walk.relied.add(known.handles)
        return known.numbers

    def moved(self, positions: np.ndarray) -> np.ndarray:
        """The primitive applied to the numbers of elements instead of their values."""
        return np.ascontiguousarray(apply(self.op, self.params, Tensor(positions)).asnumpy()).ravel()

    def reads_nonempty(self, k: int, keys: np.ndarray, sources: np.ndarray | None = None) -> Groups:
        """Groups by the element of the result that each source goes to, sources without dependence left out."""
        starts = self.walk.found[self.ins[k]].starts  # type: ignore[union-attr]
        if sources is None:
            sources = np.arange(len(keys), dtype=np.int64)
        useful = starts[sources + 1] > starts[sources]
        return grouped(keys[useful], sources[useful], self.size)


def grouped(keys: np.ndarray, sources: np.ndarray, size: int) -> Groups:
    """Sources gathered by keys below `size`."""
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=size), out=starts[1:])
    if np.any(keys[1:] < keys[:-1]):
        sources = sources[np.argsort(keys, kind="stable")]
    return Groups(starts, np.ascontiguousarray(sources, np.int64))


def _broadcast(positions: np.ndarray, shape: tuple[int, ...]) -> Reads:
    if positions.shape == shape:
        return SAME
    return np.ascontiguousarray(np.broadcast_to(positions, shape)).ravel()


def _elementwise(step: Step, k: int) -> Reads:
    if step.row.partials and step.row.partials[k] is None:
        return None
    return _broadcast(step.positions(k), step.shape)


def _product(step: Step, k: int) -> Reads:
    """A factor that is constant lets through what is not zero."""
    factor = step.numbers(1 - k, constant=True)
    reads = _elementwise(step, k)
    if factor is None or factor.all():
        return reads
    if reads is SAME:
        reads = step.positions(k).ravel()
    return np.where(np.broadcast_to(factor != 0, step.shape).ravel(), reads, -1)


def _where(step: Step, k: int) -> Reads:
    if k == 0:
        return None
    reads = _broadcast(step.positions(k), step.shape)
    condition = step.numbers(0)
    if condition is None:
        return reads
    if reads is SAME:
        reads = step.positions(k).ravel()
    taken = np.broadcast_to(condition.astype(bool), step.shape).ravel()
    return np.where(taken == (k == 1), reads, -1)


def _same(step: Step, k: int) -> Reads:
    return SAME


def _moved(step: Step, k: int) -> Reads:
    """Reshapes, permutations, slices and broadcasts move numbers as they move values."""
    return step.moved(step.positions(k))


def _cast(step: Step, k: int) -> Reads:
    return SAME if _inexact(step.walk.program.typenums[step.ins[0]]) else None


def _unslice(step: Step, k: int) -> Reads:
    reads = np.full(step.shape, -1, np.int64)
    start = [start for start, _, _ in step.params[1]]
    end = [start + length * stride for start, length, stride in step.params[1]]
    parts = [
        slice(a, b if b >= 0 else None, stride) if length else slice(0, 0)
        for a, b, (_, length, stride) in zip(start, end, step.params[1], strict=True)
    ]
    reads[tuple(parts)] = step.positions(k)
    return reads.ravel()


def _concat(step: Step, k: int) -> Reads:
    parts = [np.full(step.shape_of(i), -1, np.int64) for i in range(len(step.ins))]
    parts[k] = step.positions(k)
    return np.concatenate(parts, axis=step.params).ravel()


def _index(step: Step, pattern: tuple) -> tuple | None:
    """The index of a gather or scatter for NumPy; None where it depends on inputs."""
    found: list[Any] = []
    for part in pattern:
        if not isinstance(part, int):
            found.append(slice(*part))
            continue
        numbers = step.numbers(part + 1)
        if numbers is None:
            return None
        found.append(numbers)
    return tuple(found)


def _gather(step: Step, k: int) -> Reads:
    if k > 0:
        return None
    index = _index(step, step.params)
    return _dense(step, k) if index is None else step.positions(0)[index].ravel()


def _scatter_add(step: Step, k: int) -> Reads:
    if k > 0:
        return None
    index = _index(step, step.params[1])
    return _dense(step, k) if index is None else step.reads_nonempty(k, step.places()[index].ravel())


def _kept(step: Step) -> np.ndarray:
    """The numbers of the elements of a reduction's result, in a shape that broadcasts to the operand's."""
    axes = step.params[0]
    shape = tuple(1 if axis in axes else length for axis, length in enumerate(step.shape_of(0)))
    return step.places().reshape(shape)


def _reduction(step: Step, k: int) -> Reads:
    return step.reads_nonempty(k, np.broadcast_to(_kept(step), step.shape_of(0)).ravel())


def _sum_to(step: Step, k: int) -> Reads:
    return step.reads_nonempty(k, np.broadcast_to(step.places(), step.shape_of(0)).ravel())


def _cumsum(step: Step, k: int) -> Reads:
    axis, reverse = step.params
    length = step.shape[axis]
    if step.size * (length + 1) // 2 > MOST:
        raise TooDenseError
    earlier, later = np.tril_indices(length)[::-1]
    lines = np.moveaxis(step.places(), axis, -1).reshape(-1, length)
    if reverse:
        lines = lines[:, ::-1]
    return step.reads_nonempty(k, lines[:, later].ravel(), np.ascontiguousarray(lines[:, earlier]).ravel())


def _matmul(step: Step, k: int) -> Reads:
    """A row of the first with a column of the second; a constant factor says which of their elements meet."""
    a, b = step.shape_of(0), step.shape_of(1)
    factor = step.numbers(1 - k, constant=True)
    if factor is not None and factor.ndim == 2 and len(step.shape_of(k)) == 2 and not factor.all():
        i, j = np.nonzero(factor)
        mine, places = step.positions(k), step.places()
        if len(i) * mine.shape[k] <= MOST:  # (m, inner) @ factor, or factor @ (inner, n)
            targets = places[:, j] if k == 0 else places[i, :]
            sources = mine[:, i] if k == 0 else mine[j, :]
            return step.reads_nonempty(k, targets.ravel(), sources.ravel())
    # Without one all of a row meets all of a column, and what it depends on is gathered once.
    kept = (*a[:-1], 1) if k == 0 else (*b[:-2], 1, b[-1])
    return _blocks(step, k, kept, kept)


def _blocks(step: Step, k: int, of_operand: tuple[int, ...], of_result: tuple[int, ...]) -> Blocks:
    """Elements of the result that read whole blocks of an operand; shapes with an axis of 1 where blocks extend."""
    numbers = np.arange(math.prod(of_operand), dtype=np.int64)
    keys = np.broadcast_to(numbers.reshape(of_operand), step.shape_of(k)).ravel()
    which = np.broadcast_to(numbers.reshape(of_result), step.shape).ravel()
    groups = grouped(keys, np.arange(len(keys), dtype=np.int64), len(numbers))
    return Blocks(groups, np.ascontiguousarray(which))


def _dense(step: Step, k: int) -> Blocks:
    """Nothing is known: each element of the result reads all of the operand, of the same sample where there are some."""
    core = core_of(step.op)
    shape = step.shape_of(k)
    if core is None:
        return _blocks(step, k, (1,) * len(shape), (1,) * len(step.shape))
    stack = shape[: len(shape) - core[k]]
    outer = max(len(step.shape_of(i)) - core[i] for i in range(len(core)))
    return _blocks(step, k, (*stack, *(1,) * core[k]), (*stack, *(1,) * (len(step.shape) - outer)))


def _fourier(step: Step, k: int) -> Blocks:
    """All along the axes of the transform; the others are a stack."""
    settings = dict(step.params)
    ndim = len(step.shape)
    along = {axis % ndim for axis in settings.get("axes", (settings.get("axis"),))}
    kept = tuple(1 if axis in along else length for axis, length in enumerate(step.shape))
    return _blocks(step, k, kept, kept)


def _sparse_product(step: Step, k: int) -> Reads:
    """Row i of S(a) x: the entries of row i, and the rows of x that they stand for."""
    settings = dict(step.params)
    if math.prod(step.shape[:-2]) != 1 or math.prod(step.shape_of(0)[:-1]) != 1:
        return _dense(step, k)
    rows, columns = settings["pattern"].places
    if settings["transposed"]:
        rows, columns = columns, rows
    entries = np.arange(len(rows), dtype=np.int64)
    places = step.places().reshape(step.shape[-2:])
    if k == 1:
        numbers = step.numbers(0, constant=True)
        if numbers is not None:
            kept = np.flatnonzero(numbers)
            rows, columns = rows[kept], columns[kept]
        sources = step.positions(1).reshape(step.shape_of(1)[-2:])[columns]
    else:
        sources = np.broadcast_to(entries[:, None], (len(rows), step.shape[-1]))
    return step.reads_nonempty(k, places[rows].ravel(), np.ascontiguousarray(sources).ravel())


def _sparse_entries(step: Step, k: int) -> Reads:
    """Entry (i, j) of u v^T: row i of u and row j of v."""
    which = dict(step.params)["pattern"].places[k]
    shape = step.shape_of(k)
    if math.prod(shape[:-2]) != 1:
        return _dense(step, k)
    groups = grouped(np.repeat(np.arange(shape[-2]), shape[-1]), np.arange(math.prod(shape)), shape[-2])
    return Blocks(groups, np.broadcast_to(which, step.shape).astype(np.int64).ravel())


def _convolution(step: Step, k: int) -> Reads:
    """Element t of the full convolution reads x[i] and y[t - i]; the valid part begins where they overlap."""
    a, b = step.shape_of(0), step.shape_of(1)
    if len(a) != 1 or len(b) != 1 or a[0] * b[0] > MOST:
        return _dense(step, k)
    i, j = np.indices((a[0], b[0]))
    factor = step.numbers(1 - k, constant=True)
    meets = np.ones(i.shape, bool) if factor is None else (factor != 0)[j if k == 0 else i]
    target = i + j - (0 if step.row.name == "convolve_full" else b[0] - 1)
    meets &= (target >= 0) & (target < step.size)
    return step.reads_nonempty(k, target[meets], (i if k == 0 else j)[meets])


RULES: dict[str, Callable[[Step, int], Reads]] = {
    "mul": _product,
    "absorb_mul": _product,
    "where": _where,
    "reshape": _same,
    "identity": _same,
    "inspect": _same,
    "conj": _same,
    "transpose": _moved,
    "broadcast_to": _moved,
    "slice": _moved,
    "cast": _cast,
    "unslice": _unslice,
    "concat": _concat,
    "gather": _gather,
    "scatter_add": _scatter_add,
    "sum": _reduction,
    "reduce_max": _reduction,
    "reduce_min": _reduction,
    "sum_to": _sum_to,
    "cumsum": _cumsum,
    "matmul": _matmul,
    "view_as_real": lambda step, k: np.repeat(step.positions(0).ravel(), 2),
    "view_as_complex": lambda step, k: grouped(np.arange(2 * step.size) // 2, np.arange(2 * step.size), step.size),
    "fft": _fourier,
    "rfft": _fourier,
    "irfft": _fourier,
    "sparse_product": _sparse_product,
    "sparse_entries": _sparse_entries,
    "convolve_full": _convolution,
    "convolve_valid": _convolution,
}
