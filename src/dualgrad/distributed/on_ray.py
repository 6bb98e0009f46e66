"""Ray: workers of an instance, on this machine or on many.

Shards are results of tasks in the store of the node that made them, and workers map them. If a worker dies, Ray repeats
its task, and rebuilds lost objects from the tasks that made them. After three failures the error is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .backend import Backend, Handle, WorkerDiedError, called, checked_count, checked_threads, combined, run
from .packages import needed
from .processes import environment, processors_here

__all__ = ["OnRay"]


class _Object(Handle):
    """An object in the store; a process reads it once."""

    read: dict[Any, Any] = {}  # noqa: RUF012 - of the process

    def __init__(self, ref: Any) -> None:
        self.ref = ref

    def get(self) -> Any:
        key = self.ref.hex()
        if key not in self.read:
            while len(self.read) >= _KEPT:
                del self.read[next(iter(self.read))]
            self.read[key] = needed("a worker", "ray").get(self.ref)
        return self.read[key]


_KEPT = 64  # objects that a process keeps after reading


class OnRay(Backend):
    """The workers of a Ray instance; starts one if none is running."""

    def __init__(self, workers: int | None, threads_per_worker: int | None, options: dict[str, Any]) -> None:
        for package in ("cloudpickle", "threadpoolctl"):
            needed("connect('ray')", package)
        self._ray = ray = needed("connect('ray')", "ray")
        self._started = not ray.is_initialized()
        if self._started:
            count = processors_here() if workers is None else checked_count("connect", "workers", workers)
            threads = checked_threads(threads_per_worker, count)
            variables = environment(threads)
            settings = {
                "num_cpus": count,
                "include_dashboard": False,
                "log_to_driver": False,
                "runtime_env": {"env_vars": variables},
            } | options
            ray.init(**settings)
        else:
            if options:
                raise TypeError(f"connect: Ray runs already, so it takes no {', '.join(options)}")
            there = int(ray.cluster_resources().get("CPU", 0))
            count = there if workers is None else checked_count("connect", "workers", workers)
            if count > there or not there:
                raise ValueError(f"connect: Ray has {there} processors; {count} workers are wanted")
            nodes = max(1, sum(node["Alive"] for node in ray.nodes()))
            threads = checked_threads(threads_per_worker, -(-count // nodes))
        super().__init__("ray", count, threads)
        self._remote: dict[Any, Any] = {}

    def map(self, task: Callable[..., Any], items: Sequence[Any], *shared: Any) -> list[Any]:
        return self._gathered(self._submitted(task, items, shared))

    def reduce(
        self, task: Callable[..., Any], combine: Callable[[Any, Any], Any], items: Sequence[Any], *shared: Any
    ) -> Any:
        """Workers add up in pairs, and one sum returns."""
        parts = self._submitted(task, items, shared)
        return self._gathered([combined(lambda a, b: self._task(called).remote(combine, a, b), parts)])[0]

    def place(self, makers: Sequence[Callable[[], Any]]) -> list[Any]:
        refs = [self._task(called).remote(maker) for maker in makers]
        self._gathered_any(refs)
        return [_Object(ref) for ref in refs]

    def close(self) -> None:
        if self._started and not self.closed:
            self._ray.shutdown()
        super().close()

    def _sent(self, content: bytes) -> Any:
        return _Object(self._ray.put(content))

    def _submitted(self, task: Callable[..., Any], items: Sequence[Any], shared: tuple[Any, ...]) -> list[Any]:
        given = [x if isinstance(x, Handle | str | int) else self._ray.put(x) for x in shared]  # one copy for all tasks
        remote = self._task(run)
        return [remote.remote(self.settings, task, item, *given) for item in items]

    def _task(self, function: Callable[..., Any]) -> Any:
        if function not in self._remote:
            self._remote[function] = self._ray.remote(max_retries=3)(function)
        return self._remote[function]

    def _gathered_any(self, refs: list[Any]) -> None:
        """Wait until all objects are made. Raises their errors."""
        ready, _ = self._ray.wait(refs, num_returns=len(refs), fetch_local=False)
        self._gathered([self._task(_nothing).remote(ref) for ref in ready])

    def _gathered(self, refs: list[Any]) -> list[Any]:
        ray = self._ray
        try:
            return list(ray.get(refs))
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(getattr(error, "cause", None), Exception) else error from None
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.NodeDiedError,
        ) as error:
            raise WorkerDiedError(f"{self.name}: workers died again and again at one task; {error}") from error


def _nothing(_: Any) -> None:
    return None
