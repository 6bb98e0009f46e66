"""Dask: workers of a cluster, on this machine or on many.

Shards are results of tasks, and stay with the worker that made them. If that worker dies, Dask repeats the tasks
elsewhere, with all later tasks on the shards. A task whose workers died several times is reported. Given arrays are
part of a task, so the scheduler has a copy of them; loaded rows are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .backend import Backend, WorkerDiedError, called, checked_count, checked_threads, combined, run
from .packages import needed
from .processes import environment, processors_here

__all__ = ["OnDask", "started"]

_SMALL = 1 << 16  # most bytes of arguments sent with every task; workers pass on one copy of larger ones


def _itself(x: Any) -> Any:
    return x


class OnDask(Backend):
    """The workers of a client."""

    def __init__(self, client: Any, workers: int | None, threads_per_worker: int | None, cluster: Any = None) -> None:
        for package in ("cloudpickle", "threadpoolctl"):
            needed("connect('dask')", package)
        self.client = client
        self._cluster = cluster
        info = client.nthreads()
        if not info or (workers is not None and len(info) != checked_count("connect", "workers", workers)):
            raise ValueError(f"connect: the client of Dask has {len(info)} workers; {workers or 1} are wanted")
        hosts = [address.rpartition(":")[0] for address in info]
        most = max(hosts.count(host) for host in set(hosts))
        super().__init__("dask", len(info), checked_threads(threads_per_worker, most))

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        return self._gathered(self._submitted(task, items, shared))

    def reduce(
        self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], items: Sequence[Any], *shared: Any
    ) -> Any:
        """Workers add up in pairs, and one sum returns."""
        parts = self._submitted(task, items, shared)
        return self._gathered([combined(lambda a, b: self._submit(called, combine, a, b), parts)])[0]

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        # The scheduler gives each to the worker with the least data. A task bound to one worker waits for ever if it
        # dies.
        handles = [self._submit(called, maker) for maker in makers]
        self._waited(handles)
        return handles

    def close(self) -> None:
        if self._cluster is not None and not self.closed:
            self.client.close()
            self._cluster.close()
        super().close()

    def _sent(self, content: bytes) -> Any:
        return self._submit(_itself, content)

    def _submitted(self, task: Callable[..., Any], items: Sequence[Any], shared: tuple[Any, ...]) -> list[Any]:
        """Submit a task for each item, to the worker that has the item."""
        future = type(self)._future()
        sizeof = needed("connect('dask')", "dask.sizeof").sizeof
        given = [x if isinstance(x, future) or _size(sizeof, x) <= _SMALL else self._submit(_itself, x) for x in shared]
        return [self._submit(run, self.settings, task, item, *given) for item in items]

    def _submit(self, *call: Any) -> Any:
        dask = needed("connect('dask')", "dask")
        # Given rows may be large on purpose.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": 1 << 62}):
            return self.client.submit(*call, pure=False)

    def _waited(self, futures: list[Any]) -> None:
        distributed = needed("connect('dask')", "distributed")
        distributed.wait(futures)
        for future in futures:
            if future.status == "error":
                self._gathered([future])

    def _gathered(self, futures: list[Any]) -> list[Any]:
        distributed = needed("connect('dask')", "distributed")
        try:
            return self.client.gather(futures)
        except distributed.scheduler.KilledWorker as error:
            raise WorkerDiedError(f"{self.name}: workers died again and again at one task; {error}") from error

    @staticmethod
    def _future() -> type:
        return needed("connect('dask')", "distributed").Future


def _size(sizeof: Callable[[Any], int], x: Any) -> int:
    """The bytes of an argument, including its tensors."""
    from .._nests import tensors_in

    return sum(t.size * t.dtype.numpy.itemsize for t in tensors_in(x)) + sizeof(x)


def started(workers: int | None, threads_per_worker: int | None, options: dict[str, Any]) -> OnDask:
    """Start a cluster of processes on this machine, each with one task at a time."""
    for package in ("cloudpickle", "threadpoolctl"):
        needed("connect('dask')", package)
    distributed = needed("connect('dask')", "distributed")
    count = processors_here() if workers is None else checked_count("connect", "workers", workers)
    threads = checked_threads(threads_per_worker, count)
    settings = {
        "n_workers": count,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
        "scheduler_kwargs": {"dashboard_address": ":0"},  # also the dashboard takes a free port
        "env": environment(threads),
    } | options
    try:
        cluster = distributed.LocalCluster(**settings)
    except RuntimeError as error:
        raise RuntimeError(
            "connect('dask'): the processes of workers did not start; in a file that is run, call connect under "
            "if __name__ == '__main__', since they read the file again"
        ) from error
    try:
        client = distributed.Client(cluster)
        client.wait_for_workers(count)
        return OnDask(client, None, threads, cluster)
    except BaseException:
        cluster.close()
        raise
