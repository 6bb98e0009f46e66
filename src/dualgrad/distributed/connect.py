"""`connect`: make a backend from a name, or from an object of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .backend import Backend, InProcess

__all__ = ["connect", "connected"]

ENGINES = ("local", "joblib", "dask", "ray", "mpi")


def connect(
    engine: Any = "local", workers: int | None = None, threads_per_worker: int | None = None, **options: Any
) -> Backend:
    """Connect to the workers of an engine, and start them if there are none.

    Parameters
    ----------
    engine : str, or an object of an engine
        ``"local"`` (this process), ``"joblib"`` (processes of loky on this machine), ``"dask"`` (a cluster of processes
        on this machine), ``"ray"`` (the running Ray instance, or a new one), ``"mpi"`` (the processes that ``mpirun``
        started); a ``distributed.Client`` of Dask, or a communicator of mpi4py.
    workers : int, optional
        Their number; by default the number of processors of this machine. A client, a running Ray instance or MPI fixes
        the number.
    threads_per_worker : int, optional
        Threads of recorded programs and of NumPy's products in each worker. By default processors divided by workers,
        so that no processor serves two threads.
    **options
        Further options of the engine: for Dask of ``LocalCluster``, for Ray of ``ray.init``.

    Returns
    -------
    Backend
        Use it in a ``with`` statement, or close it.

    Raises
    ------
    ImportError
        If the package is missing; the message says how to install it.
    ValueError
        If the name is unknown, a number is below 1, or `workers` differs from the engine's number.
    TypeError
        If it is neither a name nor an object of an engine, or the engine does not take an option.

    Examples
    --------
    >>> from dualgrad import distributed
    >>> with distributed.connect("local", workers=3, threads_per_worker=1) as backend:
    ...     backend
    <local: 3 workers of 1 threads>
    """
    if isinstance(engine, Backend):
        if workers is not None or threads_per_worker is not None or options:
            raise TypeError("connect: a Backend has its workers and threads; give no further arguments")
        return engine
    if isinstance(engine, str):
        return _by_name(engine, workers, threads_per_worker, options)
    package = type(engine).__module__.partition(".")[0]
    if package == "distributed":
        from .on_dask import OnDask

        _none("a client of Dask", options)
        return OnDask(engine, workers, threads_per_worker)
    if package == "mpi4py":
        from .on_mpi import OnMPI

        _none("a communicator", options)
        return OnMPI(engine, workers, threads_per_worker)
    raise TypeError(
        f"connect: got {type(engine).__name__}; expected one of {', '.join(ENGINES)}, a client of Dask, or a "
        "communicator of mpi4py"
    )


def _by_name(name: str, workers: int | None, threads: int | None, options: dict[str, Any]) -> Backend:
    if name == "dask":
        from .on_dask import started

        return started(workers, threads, options)
    if name == "ray":
        from .on_ray import OnRay

        return OnRay(workers, threads, options)
    if name not in ENGINES:
        raise ValueError(f"connect: there is no engine {name!r}; expected one of {', '.join(ENGINES)}")
    _none(name, options)
    if name == "joblib":
        from .on_joblib import OnJoblib

        return OnJoblib(workers, threads)
    if name == "mpi":
        from .on_mpi import OnMPI

        return OnMPI(None, workers, threads)
    return InProcess(workers, threads)


def _none(engine: str, options: dict[str, Any]) -> None:
    if options:
        raise TypeError(f"connect: {engine} takes no {', '.join(options)}")


@contextmanager
def connected(name: str, backend: Any) -> Iterator[Backend]:
    """The backend for one call. A given backend stays open; a new one is closed after the call."""
    if backend is None:
        raise TypeError(f"{name}: backend is missing; give what connect returns, or one of {', '.join(ENGINES)}")
    if isinstance(backend, Backend):
        yield backend
        return
    with connect(backend) as made:
        yield made
