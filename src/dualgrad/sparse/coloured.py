"""Compressed sweeps: the entries of a sparse derivative from products along sums of unit vectors.

All columns (or rows) of one colour are added up, so there is one product for each colour. A recorded program computes a
few of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._engine.sparse.assembly import copy_entries, uninitialized
from ..modes import jit
from ..ops.axes._joining import concat
from ..ops.index.gather import gather
from ..tensor import Tensor
from ..transforms.vectorize import vmap
from .colour import Colouring
from .patterns import Pattern
from .sweeps import backward, forward, split, twice

__all__ = ["Sweeps", "recorded_sweeps"]

_AT_ONCE = 8  # sweeps in one program
_LONG = 4096  # arrays of this length get one operation for each sweep, shorter ones a batch
_SAMPLES = 1 << 20  # elements of a batch of sweeps


def recorded_sweeps(
    name: str,
    fn: Callable[..., Any],
    n_args: int,
    positions: tuple[int, ...],
    kind: str,
    unrolled: bool,
    recorded: bool,
) -> Callable[..., list[Tensor]]:
    """A function of the arguments and seeds that returns the products."""
    sweep = {"columns": forward, "rows": backward, "stars": twice}[kind]
    per_seed = 1 if kind == "rows" else len(positions)

    def sweeps(*given: Any) -> list[Tensor]:
        args, seeds = given[:n_args], given[n_args:]
        product = sweep(fn, args, positions)
        groups = [seeds[i : i + per_seed] for i in range(0, len(seeds), per_seed)]
        if unrolled:
            return [product(*group) for group in groups]
        return [vmap(product)(*groups[0])]

    sweeps.__qualname__ = f"{name} of {getattr(fn, '__qualname__', type(fn).__name__)}"
    return jit(sweeps) if recorded else sweeps


class Sweeps:
    """The products for all colours, and the extraction of entries from them."""

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        positions: tuple[int, ...],
        colouring: Colouring,
        pattern: Pattern,
        seed_dtype: Any,
        at_once: int | None = None,
    ) -> None:
        self.colouring = colouring
        self._shape = pattern.shape
        self._dtype = args[positions[0]].dtype.numpy
        self._seed_dtype = seed_dtype
        directions = colouring.kind != "rows"
        self._length = pattern.shape[1 if directions else 0]
        pieces = [args[p].shape for p in positions] if directions else None
        self.unrolled: bool = max(pattern.shape) >= _LONG
        self._sweep = recorded_sweeps(
            name, fn, len(args), positions, colouring.kind, self.unrolled, not pattern.branches
        )
        self.chunks: list[tuple[range, list[Tensor]]] = self._chunked(pieces, at_once)

    def _chunked(self, pieces: list[tuple[int, ...]] | None, at_once: int | None) -> list[tuple[range, list[Tensor]]]:
        """Divide the colours among runs of the program; returns the colours and seeds of each run."""
        count = self.colouring.count
        most = _AT_ONCE if self.unrolled else max(1, _SAMPLES // max(*self._shape, 1))
        most = min(most, at_once or most)
        chunks: list[tuple[range, list[Tensor]]] = []
        if not count:
            return chunks
        number = -(-count // most)
        width = -(-count // number)
        seeds = list(self.colouring.seeds())
        nothing = np.zeros(self._length, bool)
        for first in range(0, count, width):
            part = seeds[first : first + width]
            part += [nothing] * (width - len(part))  # one program serves all chunks
            colours = range(first, min(first + width, count))
            arrays: list[np.ndarray] = []
            for seed in [np.stack(part)] if not self.unrolled else part:
                arrays += split(seed.astype(self._seed_dtype), pieces)
            chunks.append((colours, [Tensor(a) for a in arrays]))
        return chunks

    def _products(self, args: tuple[Any, ...]) -> Iterator[tuple[range, list[Tensor]]]:
        """Yield the colours and products of each chunk. The products are separate vectors or the rows of one matrix."""
        for colours, seeds in self.chunks:
            yield colours, self._sweep(*args, *seeds)

    def values(self, args: tuple[Any, ...]) -> np.ndarray:
        """The entries, in the pattern's order, as a NumPy array."""
        return self.assembled(self._products(args))

    def assembled(self, products_of: Iterable[tuple[range, list[Tensor]]]) -> np.ndarray:
        """Extract the entries from the products of all chunks."""
        plan = self.colouring
        out: np.ndarray | None = None
        for colours, products in products_of:
            tables = [x._numpy() for x in products]
            columns: Any = tables if self.unrolled else tables[0]
            if out is None:
                out = uninitialized(columns[0].dtype, len(plan.target))
            for k, column in zip(colours, columns, strict=False):
                part = slice(plan.bounds[k], plan.bounds[k + 1])
                if out.dtype in (np.float32, np.float64):
                    copy_entries(np.ascontiguousarray(column), plan.source[part], plan.target[part], out)
                else:
                    out[plan.target[part]] = column[plan.source[part]]
        return np.empty(0, self._dtype) if out is None else out

    def entries(self, args: tuple[Any, ...]) -> Tensor:
        """The entries, in the pattern's order, as a Tensor that can be differentiated again."""
        plan = self.colouring
        parts = []
        for colours, products in self._products(args):
            for i, k in enumerate(colours):
                column = products[i] if self.unrolled else products[0][i]
                parts.append(gather(column, Tensor(plan.source[plan.bounds[k] : plan.bounds[k + 1]]), 0))
        if not parts:
            return Tensor(np.empty(0, self._dtype))
        return gather(concat(parts), Tensor(np.argsort(plan.target)), 0)
