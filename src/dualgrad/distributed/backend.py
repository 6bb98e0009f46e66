"""Backends: the interface to an engine, and the backend of this process.

Design
------
A backend runs tasks on workers. A *task* is a function of one item and of arguments that all items share. It depends on
its arguments alone and changes nothing, so it can be run again, also elsewhere. So an engine may repeat the tasks of a
dead worker. Results are stored by the number of the item; a repeated result replaces the first.

*Objects that stay.* `place` makes objects where they will live, and returns handles; a task gets the object of a
handle. `share` gives one object to all workers. Both last until `close`.

Of the four methods an engine must define `map`; the defaults of the others call it.
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
    """A worker died, and its engine does not replace it. The call returned no result.

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
    """Bytes that all workers have, and their digest. Calls of `map` take `handle` in place of the bytes."""

    def __init__(self, digest: str, handle: Any) -> None:
        self.digest = digest
        self.handle = handle


def run(settings: tuple[int, str], task: Callable[..., Any], item: Any, *shared: Any) -> Any:
    """Execute a task in a worker, with the objects of its handles and the settings of its backend."""
    threads, default_dtype = settings
    with BUSY:
        set_threads(threads)
        set_default_dtype(default_dtype)
        return task(found(item), *[found(x) for x in shared])


def called(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function: a task for engines that run any function."""
    return function(*args)


def found(x: Any) -> Any:
    """The object of a handle; any other object is returned as it is."""
    return x.get() if isinstance(x, Handle) else x


def checked_count(name: str, what: str, count: Any, least: int = 1) -> int:
    """Check a count. Returns it as an int."""
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"{name}: {what} is {count!r}; expected an int")
    number = int(count.__index__())
    if number < least:
        raise ValueError(f"{name}: {what} is {number}; expected {least} or more")
    return number


def checked_threads(threads: Any, processes: int) -> int:
    """The threads of each worker; by default few enough that workers share no processor."""
    if threads is None:
        return threads_for(processes)
    count = checked_count("connect", "threads_per_worker", threads)
    if count > 64:
        raise ValueError(f"connect: threads_per_worker is {count}; expected 1 to 64")
    return count


class Backend:
    """Workers of an engine; `connect` makes it. A subclass may support another engine.

    Parameters
    ----------
    name : str
        The engine, for messages.
    workers : int
        The number of tasks that run at once.
    threads_per_worker : int
        Threads of recorded programs and of NumPy's products in each worker.

    Attributes
    ----------
    name, workers, threads_per_worker
        As given.
    elsewhere : bool
        True if tasks run in other processes; True for this class.

    Notes
    -----
    A subclass needs `map`. An engine that can keep objects in its workers also has `place` and `share`; an engine whose
    workers can add up among themselves has `reduce`. The end of a ``with`` statement closes the backend.

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
        """Compute ``[task(item, *shared) for item in items]`` in the workers. Tasks get the objects of handles."""
        raise NotImplementedError(f"{type(self).__name__} has no map")

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make each object where it will live. Returns a handle of each."""
        return [maker() for maker in makers]

    def share(self, content: bytes, former: Content | None = None) -> Content:
        """Send bytes to all workers. Returns `former` if it has the same bytes."""
        digest = digest_of(content)
        if former is not None and former.digest == digest:
            return former
        return Content(digest, self._sent(content))

    def reduce(
        self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], items: Sequence[Any], *shared: Any
    ) -> Any:
        """Compute ``task(item, *shared)`` for each item; combine by pairs. `combine` is associative up to rounding."""
        return combined(combine, self.map(task, items, *shared))

    def agreed(self, thing: Any) -> Any:
        """The object of the first process, for all processes that run the program side by side."""
        return thing

    @property
    def settings(self) -> tuple[int, str]:
        """The settings of each worker before a task: its threads, and this process's default type."""
        return self.threads_per_worker, get_default_dtype().name

    @property
    def writes(self) -> bool:
        """True if this process writes files and prints."""
        return True

    def close(self) -> None:
        """Release placed objects, and stop started processes. It may be called again."""
        self.closed = True

    def _sent(self, content: bytes) -> Any:
        return content


def combined(combine: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Combine parts by pairs, level by level."""
    if not parts:
        raise ValueError("nothing to combine")
    left = list(parts)
    while len(left) > 1:
        odd = left[-1:] if len(left) % 2 else []
        left = [combine(a, b) for a, b in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0]


def ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """Divide `count` items into at most `parts` non-empty ranges of nearly equal length."""
    parts = max(1, min(parts, count))
    ends = [math.floor(k * count / parts) for k in range(parts + 1)]
    return list(itertools.pairwise(ends))


class InProcess(Backend):
    """Workers that take turns in this process: the reference for other engines."""

    elsewhere = False

    def __init__(self, workers: int | None = None, threads_per_worker: int | None = None) -> None:
        count = 1 if workers is None else checked_count("connect", "workers", workers)
        super().__init__("local", count, checked_threads(threads_per_worker, 1))

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        with BUSY, limited(self.threads_per_worker):
            return [task(item, *shared) for item in items]
