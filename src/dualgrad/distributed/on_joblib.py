"""joblib: processes of loky on this machine.

Processes of a pool are interchangeable: a task goes to any of them. So a placed object is a file. Rows are written
once, and each process maps them into its memory, where all share one copy. A process that dies breaks the pool. The
call reports that, and the next call has a new pool with the same files.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .backend import Backend, Handle, WorkerDiedError, checked_count, checked_threads, run
from .packages import needed
from .processes import environment, processors_here

__all__ = ["OnJoblib"]


class _Stored(Handle):
    """An object in a file, whose arrays are memory-mapped. A process opens it once."""

    opened: dict[str, Any] = {}  # noqa: RUF012 - of the process

    def __init__(self, path: str) -> None:
        self.path = path

    def get(self) -> Any:
        found = self.opened.get(self.path)
        if found is None:
            for path in [path for path in self.opened if not os.path.exists(path)]:
                del self.opened[path]  # its backend is closed
            found = self.opened[self.path] = needed("a worker", "joblib").load(self.path, mmap_mode="r")
        return found


class _Bytes(Handle):
    """Bytes in a file. The receiver keeps the unpickled object by digest, so they are read once or twice."""

    def __init__(self, path: str) -> None:
        self.path = path

    def get(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()


def _store(maker: Callable[[], Any], path: str) -> None:
    needed("a worker", "joblib").dump(maker(), path)


class OnJoblib(Backend):
    """Processes of loky."""

    def __init__(self, workers: int | None, threads_per_worker: int | None) -> None:
        for package in ("cloudpickle", "threadpoolctl", "joblib"):
            needed("connect('joblib')", package)
        count = processors_here() if workers is None else checked_count("connect", "workers", workers)
        super().__init__("joblib", count, checked_threads(threads_per_worker, count))
        self._pool: Any = None
        self._folder = tempfile.mkdtemp(prefix="dualgrad-")
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, True)

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        return self._run([(run, self.settings, task, item, *shared) for item in items])

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        paths = [self._path() for _ in makers]
        self._run([(_store, maker, path) for maker, path in zip(makers, paths, strict=True)])
        return [_Stored(path) for path in paths]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._remove()
        super().close()

    def _run(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        """Run calls in a pool of this backend, since joblib.Parallel starts no process for one worker."""
        loky = needed("connect('joblib')", "joblib.externals.loky")
        if self.closed:
            raise RuntimeError("connect('joblib'): the backend is closed")
        if self._pool is None:
            self._pool = loky.ProcessPoolExecutor(self.workers, env=environment(self.threads_per_worker))
        try:
            futures = [self._pool.submit(*call) for call in calls]
            return [future.result() for future in futures]
        except loky.process_executor.BrokenProcessPool as error:
            self._pool = None
            raise WorkerDiedError(
                f"{self.name}: a worker process died, and no result of this call was returned; the next call starts "
                f"new processes, and rows are there as before ({error})"
            ) from error

    def _sent(self, content: bytes) -> Any:
        path = self._path()
        with open(path, "wb") as file:
            file.write(content)
        return _Bytes(path)

    def _path(self) -> str:
        return os.path.join(self._folder, uuid.uuid4().hex)
