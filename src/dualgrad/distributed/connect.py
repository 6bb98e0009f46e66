"""`connect`: the backend of a name, or of an object of an engine."""

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
    """Workers of an engine, which are started if they are not there.

    Parameters
    ----------
    engine : str, or an object of an engine
        ``"local"`` (this process), ``"joblib"`` (processes of loky on this machine), ``"dask"`` (a cluster of processes
        on this machine), ``"ray"`` (a Ray instance, or the one that was initialised), ``"mpi"`` (the processes that
        ``mpirun`` has started); a ``distributed.Client`` of Dask, or a communicator of mpi4py.
    workers : int, optional
        How many; by default the processors of this machine, or as many as the engine has. Of a client, a running Ray
        or MPI it is theirs.
    threads_per_worker : int, optional
        Threads of recorded programs and of NumPy's products in each worker. By default processors divided by workers,
        so that no processor has two of them.
    **options
        More for the engine: for Dask those of ``LocalCluster``, for Ray those of ``ray.init``.

    Returns
    -------
    Backend
        To be used in a ``with`` statement, or closed.

    Raises
    ------
    ImportError
        If the package is missing; the message says how it is installed.
    ValueError
        If the name is not known, or a number is below 1, or `workers` is not what the engine has.
    TypeError
        If it is neither a name nor an object of an engine, or there are options that the engine does not take.

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
    """A backend for one call: one that is given stays open, one that is made for the call is closed."""
    if backend is None:
        raise TypeError(f"{name}: backend is missing; give what connect returns, or one of {', '.join(ENGINES)}")
    if isinstance(backend, Backend):
        yield backend
        return
    with connect(backend) as made:
        yield made
