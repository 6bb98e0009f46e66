"""Backends: what the rest asks of an engine, and the one that is this process.

Design
------
A backend runs tasks on workers. A *task* is a function of one item and of what all items share. It can be run again,
and elsewhere: it depends on its arguments alone and changes nothing. So an engine may repeat the tasks of a worker that
died. Results are kept by the number of the item; a result that comes twice replaces itself.

*Objects that stay.* `place` has objects made where they will live, and returns handles; a task is given the object of
a handle. `share` gives one object to all workers. Both are there until `close`.

There are four methods, of which an engine needs `map` at least: the defaults of the others are written with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from ..defaults import get_default_dtype, set_default_dtype
from .functions import digest_of
from .processes import BUSY, limited, set_threads, threads_for

__all__ = ["Backend", "Content", "Handle", "InProcess", "WorkerDiedError", "checked_count", "checked_threads", "run"]


class WorkerDiedError(RuntimeError):
    """A worker died, and its engine does not replace it; no result of the call was returned.

    Examples
    --------
    >>> from dualgrad.distributed import WorkerDiedError
    >>> issubclass(WorkerDiedError, RuntimeError)
    True
    """


class Handle:
    """An object that lives elsewhere; `get` finds it, in the process of a task."""

    def get(self) -> Any:
        raise NotImplementedError


class Content:
    """Bytes that all workers have, and their digest; `handle` stands for them in calls of `map`."""

    def __init__(self, digest: str, handle: Any) -> None:
        self.digest = digest
        self.handle = handle


def run(settings: tuple[int, str], task: Callable[..., Any], item: Any, *shared: Any) -> Any:
    """What a worker executes: a task, with the objects of its handles, by the settings of its backend."""
    threads, default_dtype = settings
    with BUSY:
        set_threads(threads)
        set_default_dtype(default_dtype)
        return task(found(item), *[found(x) for x in shared])


def called(function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns: a task of an engine that runs whatever it is given."""
    return function(*args)


def found(x: Any) -> Any:
    """The object of a handle; anything else is itself."""
    return x.get() if isinstance(x, Handle) else x


def checked_count(name: str, what: str, count: Any, least: int = 1) -> int:
    """A number of things, as an int."""
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"{name}: {what} is {count!r}; expected an int")
    number = int(count.__index__())
    if number < least:
        raise ValueError(f"{name}: {what} is {number}; expected {least} or more")
    return number


def checked_threads(threads: Any, processes: int) -> int:
    """The threads of each worker; by default so many that processors are not shared."""
    if threads is None:
        return threads_for(processes)
    count = checked_count("connect", "threads_per_worker", threads)
    if count > 64:
        raise ValueError(f"connect: threads_per_worker is {count}; expected 1 to 64")
    return count


class Backend:
    """Workers of an engine; `connect` makes it. A subclass may bring another engine.

    Parameters
    ----------
    name : str
        The engine, for messages.
    workers : int
        How many tasks run at once.
    threads_per_worker : int
        Threads of recorded programs and of NumPy's products in each worker.

    Attributes
    ----------
    name, workers, threads_per_worker
        As given.
    elsewhere : bool
        Whether tasks run in other processes than this one; of this class true.

    Notes
    -----
    A subclass needs `map`. An engine that can keep objects in its workers has `place` and `share` too, one that lets
    workers add up among themselves has `reduce`. After ``with`` the backend is closed.

    Examples
    --------
    >>> from dualgrad import distributed
    >>> class Plain(distributed.Backend):
    ...     def map(self, task, items, *shared):
    ...         return [task(item, *shared) for item in items]
    >>> print(distributed.map_samples(lambda x: x * x, [1.0, 2.0, 3.0], backend=Plain("plain", 1, 1)))
    [1. 4. 9.]
    """

    elsewhere = True

    def __init__(self, name: str, workers: int, threads_per_worker: int) -> None:
        self.name = name
        self.workers: int = checked_count("Backend", "workers", workers)
        self.threads_per_worker: int = checked_count("Backend", "threads_per_worker", threads_per_worker)
        self.closed: bool = False

    def __repr__(self) -> str:
        return f"<{self.name}: {self.workers} workers of {self.threads_per_worker} threads>"

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        """``[task(item, *shared) for item in items]`` by the workers, in order. Handles stand for their objects."""
        raise NotImplementedError(f"{type(self).__name__} has no map")

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        """Have each object made where it will live; return a handle of each."""
        return [maker() for maker in makers]

    def share(self, content: bytes, former: Content | None = None) -> Content:
        """Bytes for all workers. `former` is returned if it has the same ones."""
        digest = digest_of(content)
        if former is not None and former.digest == digest:
            return former
        return Content(digest, self._sent(content))

    def reduce(
        self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], items: Sequence[Any], *shared: Any
    ) -> Any:
        """``task(item, *shared)`` for each item, combined by pairs; `combine` is associative but for rounding."""
        return combined(combine, self.map(task, items, *shared))

    def agreed(self, thing: Any) -> Any:
        """An object that all go by, where several processes execute the program side by side: that of the first."""
        return thing

    @property
    def settings(self) -> tuple[int, str]:
        """What each worker sets before a task: its threads, and the default type that is chosen here."""
        return self.threads_per_worker, get_default_dtype().name

    @property
    def writes(self) -> bool:
        """Whether this process is the one that writes files and prints."""
        return True

    def close(self) -> None:
        """Give back what was placed, and stop what was started. It may be called again."""
        self.closed = True

    def _sent(self, content: bytes) -> Any:
        return content


def combined(combine: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Parts combined by pairs, level by level."""
    if not parts:
        raise ValueError("nothing to combine")
    left = list(parts)
    while len(left) > 1:
        odd = left[-1:] if len(left) % 2 else []
        left = [combine(a, b) for a, b in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0]


def ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """`count` things in at most so many runs of nearly equal length, none of them empty."""
    parts = max(1, min(parts, count))
    ends = [math.floor(k * count / parts) for k in range(parts + 1)]
    return list(itertools.pairwise(ends))


class InProcess(Backend):
    """Workers that take turns in one process: what other engines are compared with."""

    elsewhere = False

    def __init__(self, workers: int | None = None, threads_per_worker: int | None = None) -> None:
        count = 1 if workers is None else checked_count("connect", "workers", workers)
        super().__init__("local", count, checked_threads(threads_per_worker, 1))

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        with BUSY, limited(self.threads_per_worker):
            return [task(item, *shared) for item in items]
