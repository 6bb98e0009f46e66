"""Rows that stay with the workers.

Rows are cut into chunks of a fixed length, and each worker has a range of chunks. Chunks do not depend on the number of
workers, so sums in a fixed order go by chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtype import as_dtype
from ..tensor import Tensor
from .backend import Backend, checked_count, ranges
from .functions import digest_of, packed, unpacked

__all__ = ["CHUNK", "Shard", "Shards", "array_of"]

CHUNK = 4096  # rows of a chunk, by default


class Shard:
    """The rows of one worker, in chunks."""

    def __init__(self, arrays: tuple[np.ndarray, ...], first: int, chunk: int) -> None:
        self.arrays = arrays
        self.first = first  # the number of the first chunk
        self.chunk = chunk

    @property
    def rows(self) -> int:
        return len(self.arrays[0])

    def chunks(self) -> Iterator[tuple[int, tuple[Tensor, ...]]]:
        """Yield the number of each chunk, and its rows as tensors."""
        for k, start in enumerate(range(0, self.rows, self.chunk)):
            yield (
                self.first + k,
                tuple([Tensor(np.ascontiguousarray(a[start : start + self.chunk])) for a in self.arrays]),
            )


class _Given:
    """Makes the shard of given arrays."""

    def __init__(self, arrays: tuple[np.ndarray, ...], first: int, chunk: int) -> None:
        self.shard = Shard(arrays, first, chunk)

    def __call__(self) -> Shard:
        return self.shard


class _Loaded:
    """Makes a shard of chunks that a function loads."""

    def __init__(self, load: bytes, start: int, stop: int, chunk: int) -> None:
        self.load = load
        self.start, self.stop, self.chunk = start, stop, chunk

    def __call__(self) -> Shard:
        load = unpacked(self.load, digest_of(self.load), _loader)
        chunks = [
            self.checked(load(at, min(at + self.chunk, self.stop)), at)
            for at in range(self.start, self.stop, self.chunk)
        ]
        kinds = {tuple([(a.dtype, a.shape[1:]) for a in arrays]) for arrays in chunks}
        if len(kinds) > 1:
            raise ValueError(f"Shards.load: chunks have different types or shapes of rows: {sorted(map(str, kinds))}")
        arrays = tuple([np.concatenate(parts) for parts in zip(*chunks, strict=True)])
        return Shard(arrays, self.start // self.chunk, self.chunk)

    def checked(self, loaded: Any, start: int) -> tuple[np.ndarray, ...]:
        arrays = tuple(
            [array_of("Shards.load", x) for x in (loaded if isinstance(loaded, tuple | list) else (loaded,))]
        )
        count = min(self.chunk, self.stop - start)
        if not arrays or any(len(a) != count for a in arrays):
            raise ValueError(
                f"Shards.load: load({start}, {start + count}) returned arrays of {[len(a) for a in arrays]} rows; "
                f"expected {count} in each"
            )
        return arrays


def _loader(load: Any, _: Any) -> Any:
    return load


def array_of(name: str, x: Any) -> np.ndarray:
    """Convert rows to a NumPy array of a type that tensors support."""
    array = x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)
    if array.dtype.kind not in "biufc" or not array.ndim:
        raise TypeError(
            f"{name}: rows are arrays of numbers with an axis of rows, got {type(x).__name__} of {array!r:.60}"
        )
    as_dtype(array.dtype, where=name)
    return array


class Shards:
    """Rows of arrays, divided among the workers.

    Parameters
    ----------
    backend : Backend
        The backend whose workers have the rows, until it is closed.
    *arrays : array_like or Tensor
        Arrays with the same number of rows; `load` makes rows in the workers instead.
    chunk : int, default 4096
        The number of rows computed at once. A function is recorded for this number, and for the length of the last
        chunk.

    Attributes
    ----------
    backend, chunk
        As given.
    rows : int
        The number of rows.
    count : int
        The number of chunks.

    Raises
    ------
    TypeError, ValueError
        If an argument is not an array of numbers, or numbers of rows differ or are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import distributed
    >>> with distributed.connect("local") as backend:
    ...     distributed.Shards(backend, np.ones((10, 2)), np.zeros(10), chunk=4)
    <10 rows in 3 chunks on local>
    """

    rows: int
    chunk: int

    def __init__(self, backend: Backend, *arrays: Any, chunk: int = CHUNK) -> None:
        if not isinstance(backend, Backend):
            raise TypeError(f"Shards: backend is a {type(backend).__name__}; expected what distributed.connect returns")
        given = tuple([array_of("Shards", x) for x in arrays])
        if not given:
            raise TypeError("Shards: no arrays; give one or more, or use Shards.load")
        counts = [len(a) for a in given]
        if len(set(counts)) > 1:
            raise ValueError(f"Shards: the arrays have {counts} rows; expected the same number in each")
        self._note(backend, counts[0], chunk)
        self._handles = backend.place(
            [
                _Given(tuple([a[start:stop] for a in given]), start // self.chunk, self.chunk)
                for start, stop in self._runs()
            ]
        )

    @classmethod
    def load(cls, backend: Backend, load: Callable[[int, int], Any], rows: int, *, chunk: int = CHUNK) -> Shards:
        """Make or read rows in the workers that will have them.

        Parameters
        ----------
        backend : Backend
            The backend whose workers have the rows.
        load : callable
            ``load(start, stop)`` returns the rows from `start` to `stop`: an array, or a tuple of arrays. Each worker
            calls it for its chunks, and a replacement of a worker calls it again. Random rows need a generator seeded
            by `start`.
        rows : int
            The number of rows.
        chunk : int, default 4096
            As for the class.

        Returns
        -------
        Shards

        Examples
        --------
        >>> import numpy as np
        >>> from dualgrad import distributed
        >>> def points(start, stop):
        ...     return np.random.default_rng(start).uniform(size=(stop - start, 2))
        >>> with distributed.connect("local", workers=2) as backend:
        ...     distributed.Shards.load(backend, points, 10_000_000, chunk=5_000_000)
        <10000000 rows in 2 chunks on local>
        """
        if not isinstance(backend, Backend):
            raise TypeError(f"Shards.load: backend is a {type(backend).__name__}; expected what connect returns")
        if not callable(load):
            raise TypeError(f"Shards.load: load is a {type(load).__name__}; expected a function of two row numbers")
        self = cls.__new__(cls)
        self._note(backend, checked_count("Shards.load", "rows", rows), chunk)
        content = packed("Shards.load", load)
        self._handles = backend.place([_Loaded(content, start, stop, self.chunk) for start, stop in self._runs()])
        return self

    def _note(self, backend: Backend, rows: int, chunk: Any) -> None:
        self.backend = backend
        self.rows, self.chunk = backend.agreed(
            (checked_count("Shards", "the number of rows", rows), checked_count("Shards", "chunk", chunk))
        )
        self.count: Any = -(-self.rows // self.chunk)

    def _runs(self) -> list[tuple[int, int]]:
        """The rows of each worker: whole chunks."""
        runs = ranges(self.count, self.backend.workers)
        return [(a * self.chunk, min(b * self.chunk, self.rows)) for a, b in runs]

    def __repr__(self) -> str:
        return f"<{self.rows} rows in {self.count} chunks on {self.backend.name}>"

    def map(self, task: Callable[..., Any], *shared: Any) -> list[Any]:
        """Compute ``task(shard, *shared)`` for the shard of each worker, in the order of rows."""
        return self.backend.map(task, self._alive(), *shared)

    def reduce(self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], *shared: Any) -> Any:
        """`map`, with the results combined by pairs."""
        return self.backend.reduce(task, combine, self._alive(), *shared)

    def _alive(self) -> list[Any]:
        if self.backend.closed:
            raise RuntimeError("Shards: the backend that has the rows is closed")
        return self._handles
