"""Which elements of its operands an element of a primitive's result reads, with a slope that is not zero by its nature.

There is a rule for every primitive: elementwise ones read the element at the same place where the row of the table has
a partial; what moves elements is applied to their numbers; reductions and products gather groups. Of a primitive about
which nothing is known every element of the result reads all elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._engine.sparse.index_sets import TooDenseError
from .._engine.transforms.extension import core_of
from .._engine.transforms.tensor import apply
from ..tensor import Tensor

__all__ = ["INEXACT", "MOST", "SAME", "Blocks", "Groups", "Step", "reads_of"]

MOST = 1 << 27  # members of all sets of one array: half a gigabyte
INEXACT = {np.dtype(code).num for code in "efdFD"}


class Groups(NamedTuple):
    """What each element of a result reads of an operand, in compressed rows."""

    starts: np.ndarray
    members: np.ndarray


class Blocks(NamedTuple):
    """Groups of the elements of an operand, and for each element of a result the group it reads."""

    groups: Groups
    which: np.ndarray


SAME = "element by element"

#: What elements of the result read of an operand: None (nothing), SAME, for each the one element it reads (-1: none),
#: Groups, or Blocks.
Reads = Any


@dataclass(frozen=True)
class Step:
    """One step of a program, as the rules see it.

    Attributes
    ----------
    op, row, params
        The primitive and its parameters.
    shape, shapes, typenum
        Shape of the result, shapes of the operands, type of the first.
    known
        The numbers of an operand, or None where they depend on inputs; asked for ``constant`` ones, also where they
        are those of a captured tensor.
    starts
        For each operand where the index sets of its elements begin.
    """

    op: int
    row: Any
    params: Any
    shape: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    typenum: int
    known: Callable[[int, bool], np.ndarray | None]
    starts: Callable[[int], np.ndarray]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def positions(self, k: int) -> np.ndarray:
        """The elements of an operand by number, in its shape."""
        shape = self.shapes[k]
        return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)

    def places(self) -> np.ndarray:
        """The elements of the result by number."""
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)

    def numbers(self, k: int, constant: bool = False) -> np.ndarray | None:
        """The numbers of an operand, if a pattern may rely on them."""
        return self.known(k, constant)

    def moved(self, positions: np.ndarray) -> np.ndarray:
        """The primitive applied to the numbers of elements instead of their values."""
        return np.ascontiguousarray(apply(self.op, self.params, Tensor(positions)).asnumpy()).ravel()

    def reads_nonempty(self, k: int, keys: np.ndarray, sources: np.ndarray | None = None) -> Groups:
        """Groups by the element of the result that each source goes to, sources without dependence left out."""
        starts = self.starts(k)
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


def reads_of(step: Step, k: int) -> Reads:
    """What the elements of a step's result read of operand k."""
    rule = RULES.get(step.row.name, _elementwise if step.row.partials or step.row.name == "power" else _dense)
    return rule(step, k)


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
    return SAME if step.typenum in INEXACT else None


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
    parts = [np.full(step.shapes[i], -1, np.int64) for i in range(len(step.shapes))]
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
    shape = tuple(1 if axis in axes else length for axis, length in enumerate(step.shapes[0]))
    return step.places().reshape(shape)


def _reduction(step: Step, k: int) -> Reads:
    return step.reads_nonempty(k, np.broadcast_to(_kept(step), step.shapes[0]).ravel())


def _sum_to(step: Step, k: int) -> Reads:
    return step.reads_nonempty(k, np.broadcast_to(step.places(), step.shapes[0]).ravel())


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
    a, b = step.shapes[0], step.shapes[1]
    factor = step.numbers(1 - k, constant=True)
    if factor is not None and factor.ndim == 2 and len(step.shapes[k]) == 2 and not factor.all():
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
    keys = np.broadcast_to(numbers.reshape(of_operand), step.shapes[k]).ravel()
    which = np.broadcast_to(numbers.reshape(of_result), step.shape).ravel()
    groups = grouped(keys, np.arange(len(keys), dtype=np.int64), len(numbers))
    return Blocks(groups, np.ascontiguousarray(which))


def _dense(step: Step, k: int) -> Blocks:
    """Nothing is known: an element of the result reads all of the operand, of the same sample where there are some."""
    core = core_of(step.op)
    shape = step.shapes[k]
    if core is None:
        return _blocks(step, k, (1,) * len(shape), (1,) * len(step.shape))
    stack = shape[: len(shape) - core[k]]
    outer = max(len(step.shapes[i]) - core[i] for i in range(len(core)))
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
    if math.prod(step.shape[:-2]) != 1 or math.prod(step.shapes[0][:-1]) != 1:
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
        sources = step.positions(1).reshape(step.shapes[1][-2:])[columns]
    else:
        sources = np.broadcast_to(entries[:, None], (len(rows), step.shape[-1]))
    return step.reads_nonempty(k, places[rows].ravel(), np.ascontiguousarray(sources).ravel())


def _sparse_entries(step: Step, k: int) -> Reads:
    """Entry (i, j) of u v^T: row i of u and row j of v."""
    which = dict(step.params)["pattern"].places[k]
    shape = step.shapes[k]
    if math.prod(shape[:-2]) != 1:
        return _dense(step, k)
    groups = grouped(np.repeat(np.arange(shape[-2]), shape[-1]), np.arange(math.prod(shape)), shape[-2])
    return Blocks(groups, np.broadcast_to(which, step.shape).astype(np.int64).ravel())


def _convolution(step: Step, k: int) -> Reads:
    """Element t of the full convolution reads x[i] and y[t - i]; the valid part begins where they overlap."""
    a, b = step.shapes[0], step.shapes[1]
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
