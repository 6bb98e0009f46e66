"""MPI: the processes that mpirun started, side by side.

Every process executes the whole program, and all make the same calls. Each process has the shards of its own number.
The arguments come from process 0, and every process gets the results. An error in one process is raised in all, so that
none waits for another. If a process dies, MPI ends them all. A program that must survive writes checkpoints
(`checkpointed`), and is started again with any number of processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .backend import Backend, Content, Handle, checked_count, checked_threads, combined, found
from .functions import digest_of
from .packages import needed
from .processes import BUSY, limited
from .trees import Arrays, added

__all__ = ["OnMPI"]

_BUFFERS = "fdFDlqiI"  # element types that MPI can add up


class _Own(Handle):
    """Object number k, in one of the processes."""

    def __init__(self, owner: int, thing: Any) -> None:
        self.owner = owner
        self.thing = thing  # None in other processes

    def get(self) -> Any:
        return self.thing


def _sent(error: Exception) -> bytes:
    """Pickle an error; empty bytes if it cannot be pickled or unpickled."""
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:  # an error may hold anything
        return b""
    return content


class OnMPI(Backend):
    """The processes of a communicator."""

    def __init__(self, communicator: Any, workers: int | None, threads_per_worker: int | None) -> None:
        self._mpi = mpi = needed("connect('mpi')", "mpi4py.MPI")
        self._pickle = needed("connect('mpi')", "cloudpickle")
        needed("connect('mpi')", "threadpoolctl")
        given = mpi.COMM_WORLD if communicator is None else communicator
        size = given.Get_size()
        if workers is not None and checked_count("connect", "workers", workers) != size:
            raise ValueError(
                f"connect: there are {size} processes of MPI, and {workers} workers are wanted; their number is that "
                f"of mpirun -n {workers} python -m mpi4py program.py"
            )
        beside = given.Split_type(mpi.COMM_TYPE_SHARED)
        threads = checked_threads(threads_per_worker, beside.Get_size())
        beside.Free()
        super().__init__("mpi", size, threads)
        self._world = given.Dup()  # a communicator of its own keeps messages apart from the program's
        self.number: Any = given.Get_rank()

    @property
    def writes(self) -> bool:
        return self.number == 0

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        items, shared = self._agreed(items, shared)
        own = [k for k, item in enumerate(items) if self._owner(k, item) == self.number]
        results = self._attempt(lambda: {k: task(found(items[k]), *map(found, shared)) for k in own})
        parts = [self._pickle.loads(part) for part in self._world.allgather(self._pickle.dumps(results))]
        everything = {k: result for part in parts for k, result in part.items()}
        return [everything[k] for k in range(len(items))]

    def reduce(
        self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], items: Sequence[Any], *shared: Any
    ) -> Any:
        items, shared = self._agreed(items, shared)
        own = [k for k, item in enumerate(items) if self._owner(k, item) == self.number]
        parts = self._attempt(lambda: [task(found(items[k]), *map(found, shared)) for k in own])
        part = combined(combine, parts) if parts else None
        if combine is added and part is not None and len(items) >= self.workers:
            return self._added(part)
        return self._bytes(self._reduced(combine, part))

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        count = self._world.bcast(len(makers))
        lists: list[list[bytes]] = [[] for _ in range(self.workers)]
        if self.number == 0:
            for k, maker in enumerate(makers):
                lists[k % self.workers].append(self._pickle.dumps(maker))
        mine = [self._pickle.loads(part) for part in self._world.scatter(lists if self.number == 0 else None)]
        made = iter(self._attempt(lambda: [maker() for maker in mine]))
        return [_Own(k % self.workers, next(made) if k % self.workers == self.number else None) for k in range(count)]

    def share(self, content: bytes, former: Content | None = None) -> Content:
        """The bytes of process 0, since other processes may pickle the same function differently."""
        fresh = None
        if self.number == 0:
            digest = digest_of(content)
            fresh = None if former is not None and former.digest == digest else (digest, content)
        fresh = self._world.bcast(fresh)
        if fresh is None:
            assert former is not None
            return former
        return Content(*fresh)

    def agreed(self, thing: Any) -> Any:
        return self._bytes(thing)

    def close(self) -> None:
        if not self.closed and not self._mpi.Is_finalized():
            self._world.Free()
        super().close()

    def _owner(self, k: int, item: Any) -> int:
        return item.owner if isinstance(item, _Own) else k % self.workers

    def _agreed(self, items: Sequence[Any], shared: tuple[Any, ...]) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """The items and shared arguments of process 0. Objects placed in the processes stay there."""
        here = all(isinstance(item, _Own) for item in items)
        items, shared = self._bytes((None if here else items, shared), items if here else None)
        return items, shared

    def _bytes(self, thing: Any, own: Any = None) -> Any:
        """Broadcast an object of process 0; `own` replaces its first entry."""
        content = self._world.bcast(self._pickle.dumps(thing) if self.number == 0 else None)
        received = self._pickle.loads(content) if self.number else thing
        return (own, received[1]) if own is not None else received

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """Call `work`. An error in any process is raised in all."""
        error: Exception | None = None
        result = None
        try:
            with BUSY, limited(self.threads_per_worker):
                result = work()
        except Exception as raised:  # the other processes must learn of every error
            error = raised
        if self._world.allreduce(error is not None, self._mpi.LOR):
            errors = self._world.allgather(None if error is None else (type(error).__name__, str(error), _sent(error)))
            if error is not None:
                raise error
            number, (name, message, content) = next((k, e) for k, e in enumerate(errors) if e is not None)
            raise self._pickle.loads(content) if content else RuntimeError(f"process {number}: {name}: {message}")
        return result

    def _reduced(self, combine: Callable[[Any, Any], Any], part: Any) -> Any:
        """Combine parts along a binary tree of processes; process 0 gets the result."""
        step = 1
        while step < self.workers:
            if self.number % (2 * step):
                self._world.send(self._pickle.dumps(part), self.number - step, step)
                return None
            if self.number + step < self.workers:
                other = self._pickle.loads(self._world.recv(source=self.number + step, tag=step))
                part = other if part is None else part if other is None else combine(part, other)
            step *= 2
        return part

    def _added(self, arrays: Arrays) -> Arrays:
        """Add up arrays by MPI, one message for each type. Every process gets the same bits."""
        results: list[Any] = [None] * len(arrays)
        for kind in sorted({a.dtype.char for a in arrays}):
            places = [k for k, a in enumerate(arrays) if a.dtype.char == kind]
            joined = np.concatenate([arrays[k].ravel() for k in places])
            if kind not in _BUFFERS:
                raise TypeError(f"connect('mpi'): arrays of {joined.dtype} are not added up")
            total = np.empty_like(joined)
            self._world.Reduce(joined, total if self.number == 0 else None, self._mpi.SUM)
            self._world.Bcast(total)
            at = 0
            for k in places:
                results[k] = total[at : at + arrays[k].size].reshape(arrays[k].shape)
                at += arrays[k].size
        return results
