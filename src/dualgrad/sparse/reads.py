"""Rules for which operand elements an element of a result reads with a slope that can be nonzero.

Every structural primitive has its own rule (`Primitive.reads`), built from methods of `Step`. An elementwise row reads
the element at the same place if the table has a partial for the operand. For an unknown primitive, every element of the
result reads all elements. The rules of primitives defined in Python are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._engine.primitives.registry import primitive
from .._engine.transforms.functions import READS
from .._engine.transforms.tensor import apply
from ..tensor import Tensor

__all__ = ["INEXACT", "MOST", "SAME", "Blocks", "Groups", "Step", "reads_of"]

MOST = 1 << 27  # members of all sets of one array: half a gigabyte
INEXACT = {np.dtype(code).num for code in "efdFD"}


class Groups(NamedTuple):
    """The elements of an operand that each element of a result reads, in compressed rows."""

    starts: np.ndarray
    members: np.ndarray


class Blocks(NamedTuple):
    """Groups of operand elements, and for each element of a result the number of the group it reads."""

    groups: Groups
    which: np.ndarray


SAME = "element by element"

#: The operand elements that a result reads: None (none), SAME, one element for each element of the result (-1: none),
#: Groups, or Blocks. A rule without an answer returns NotImplemented.
Reads = Any


@dataclass(frozen=True)
class Step:
    """One step of a program, as the rules read it.

    Attributes
    ----------
    op, row, params
        The primitive and its parameters.
    shape, shapes, typenum
        Shape of the result, shapes of the operands, type number of the first.
    known
        The numbers of an operand, or None if they depend on inputs. With ``constant``, also None for the numbers of a
        captured tensor.
    starts
        For each operand, the starts of its elements' index sets.
    """

    op: int
    row: Any
    params: Any
    shape: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    typenum: int
    known: Callable[[int, bool], np.ndarray | None]
    starts: Callable[[int], np.ndarray]
    same: ClassVar[str] = SAME
    most: ClassVar[int] = MOST

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def positions(self, k: int) -> np.ndarray:
        """The element numbers of an operand, in its shape."""
        shape = self.shapes[k]
        return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)

    def places(self) -> np.ndarray:
        """The element numbers of the result, in its shape."""
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)

    def numbers(self, k: int, constant: bool = False) -> np.ndarray | None:
        """The numbers of an operand, if a pattern may rely on them."""
        return self.known(k, constant)

    def moved(self, positions: np.ndarray) -> np.ndarray:
        """Apply the primitive to element numbers instead of values."""
        return np.ascontiguousarray(apply(self.op, self.params, Tensor(positions)).asnumpy()).ravel()

    def reads_nonempty(self, k: int, keys: np.ndarray, sources: np.ndarray | None = None) -> Groups:
        """Group sources by the element of the result they go to. Drops sources with empty sets."""
        starts = self.starts(k)
        if sources is None:
            sources = np.arange(len(keys), dtype=np.int64)
        useful = starts[sources + 1] > starts[sources]
        return grouped(keys[useful], sources[useful], self.size)

    def grouped(self, keys: np.ndarray, sources: np.ndarray) -> Groups:
        """Group sources by the element of the result they go to."""
        return grouped(keys, sources, self.size)

    def broadcast(self, k: int) -> Reads:
        """Each element reads the operand element at the same place after broadcasting."""
        positions = self.positions(k)
        if positions.shape == self.shape:
            return SAME
        return np.ascontiguousarray(np.broadcast_to(positions, self.shape)).ravel()

    def elementwise(self, k: int) -> Reads:
        """`broadcast`, or None if the row has no partial for the operand."""
        return None if self.row.partials[k] is None else self.broadcast(k)

    def index(self, pattern: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Build NumPy's index of a gather or scatter; None if it depends on inputs."""
        found: list[Any] = []
        for part in pattern:
            if not isinstance(part, int):
                found.append(slice(*part))
                continue
            numbers = self.numbers(part + 1)
            if numbers is None:
                return None
            found.append(numbers)
        return tuple(found)

    def gathered_along_axes(self, k: int) -> Groups:
        """Each element reads all operand elements along the reduced axes."""
        axes = self.params[0]
        kept = tuple(1 if axis in axes else length for axis, length in enumerate(self.shapes[0]))
        return self.reads_nonempty(k, np.broadcast_to(self.places().reshape(kept), self.shapes[0]).ravel())

    def blocks(self, k: int, of_operand: tuple[int, ...], of_result: tuple[int, ...]) -> Blocks:
        """Each element reads a whole group of an operand. The shapes have length 1 on axes that a group spans."""
        numbers = np.arange(math.prod(of_operand), dtype=np.int64)
        keys = np.broadcast_to(numbers.reshape(of_operand), self.shapes[k]).ravel()
        which = np.broadcast_to(numbers.reshape(of_result), self.shape).ravel()
        groups = grouped(keys, np.arange(len(keys), dtype=np.int64), len(numbers))
        return Blocks(groups, np.ascontiguousarray(which))

    def dense(self, k: int, core: tuple[int, ...] | None = None) -> Blocks:
        """Read everything: all of the operand or, if the last `core` axes form one sample, all of the same sample."""
        shape = self.shapes[k]
        if core is None:
            return self.blocks(k, (1,) * len(shape), (1,) * len(self.shape))
        stack = shape[: len(shape) - core[k]]
        outer = max(len(self.shapes[i]) - core[i] for i in range(len(core)))
        return self.blocks(k, (*stack, *(1,) * core[k]), (*stack, *(1,) * (len(self.shape) - outer)))


def grouped(keys: np.ndarray, sources: np.ndarray, size: int) -> Groups:
    """Sort sources into groups by keys below `size`."""
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=size), out=starts[1:])
    if np.any(keys[1:] < keys[:-1]):
        sources = sources[np.argsort(keys, kind="stable")]
    return Groups(starts, np.ascontiguousarray(sources, np.int64))


def reads_of(step: Step, k: int) -> Reads:
    """The operand elements that the elements of a step's result read from operand k."""
    structural = primitive(step.op)
    if structural is not None:
        return structural.reads(step, k)
    return _product(step, k) if step.row.name in ("mul", "absorb_mul") else step.elementwise(k)


def _product(step: Step, k: int) -> Reads:
    """Read a product: elements with a constant zero factor are not read."""
    factor = step.numbers(1 - k, constant=True)
    reads = step.elementwise(k)
    if factor is None or factor.all():
        return reads
    if reads is SAME:
        reads = step.positions(k).ravel()
    return np.where(np.broadcast_to(factor != 0, step.shape).ravel(), reads, -1)


# ------------------------------------------------------------------------- primitives that are defined in Python


def _fourier(step: Step, k: int) -> Reads:
    """Each element reads all elements along the axes of the transform; the other axes are a stack."""
    settings = dict(step.params)
    ndim = len(step.shape)
    along = {axis % ndim for axis in settings.get("axes", (settings.get("axis"),))}
    kept = tuple(1 if axis in along else length for axis, length in enumerate(step.shape))
    return step.blocks(k, kept, kept)


def _sparse_product(step: Step, k: int) -> Reads:
    """Row i of S(a) x reads the entries of row i, and the rows of x in their columns."""
    settings = dict(step.params)
    if math.prod(step.shape[:-2]) != 1 or math.prod(step.shapes[0][:-1]) != 1:
        return NotImplemented
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
    """Entry (i, j) of u v^T reads row i of u and row j of v."""
    which = dict(step.params)["pattern"].places[k]
    shape = step.shapes[k]
    if math.prod(shape[:-2]) != 1:
        return NotImplemented
    groups = grouped(np.repeat(np.arange(shape[-2]), shape[-1]), np.arange(math.prod(shape)), shape[-2])
    return Blocks(groups, np.broadcast_to(which, step.shape).astype(np.int64).ravel())


def _convolution(step: Step, k: int) -> Reads:
    """Element t of the full convolution reads x[i] and y[t - i]; the valid part starts at full overlap."""
    a, b = step.shapes[0], step.shapes[1]
    if len(a) != 1 or len(b) != 1 or a[0] * b[0] > MOST:
        return NotImplemented
    i, j = np.indices((a[0], b[0]))
    factor = step.numbers(1 - k, constant=True)
    meets = np.ones(i.shape, bool) if factor is None else (factor != 0)[j if k == 0 else i]
    target = i + j - (0 if step.row.name == "convolve_full" else b[0] - 1)
    meets &= (target >= 0) & (target < step.size)
    return step.reads_nonempty(k, target[meets], (i if k == 0 else j)[meets])


READS.update(
    fft=_fourier,
    rfft=_fourier,
    irfft=_fourier,
    sparse_product=_sparse_product,
    sparse_entries=_sparse_entries,
    convolve_full=_convolution,
    convolve_valid=_convolution,
)
