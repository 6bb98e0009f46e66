"""The process of a worker: its threads, its processor, and settings that make sums reproducible."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..context import get_context, set_context
from ..threads import get_num_threads, set_num_threads
from .packages import needed

__all__ = [
    "BUSY",
    "environment",
    "limited",
    "processor",
    "processors_here",
    "reproducible",
    "set_threads",
    "threads_for",
]

#: A process runs one task at a time; its threads serve the loops inside the task.
BUSY = threading.RLock()

_chosen: int | None = None  # the last argument of `set_threads`
_limits: Any = None  # keeps the setting of threadpoolctl alive
_found: Any = None  # (number of imported modules, controller of the libraries among them)


def processors_here() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(processes: int) -> int:
    """Threads for each of `processes` processes on this machine: together at most as many as processors."""
    return max(1, min(64, processors_here() // max(1, processes)))


def environment(threads: int) -> dict[str, str]:
    """Environment variables that limit the threads of linear algebra libraries from the start of a process."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    return dict.fromkeys(names, str(threads))


def set_threads(count: int) -> None:
    """Set the threads of recorded programs and of NumPy's products in this process, until the next call."""
    global _chosen, _limits
    if count != _chosen:
        set_num_threads(count)
        _limits = needed("threads_per_worker", "threadpoolctl").threadpool_limits(limits=count)
        _chosen = count


def _libraries() -> Any:
    """The controller of threads in the loaded libraries.

    Looking for libraries takes a millisecond or two, so it is repeated only after modules were imported.
    """
    global _found
    modules = len(sys.modules)
    if _found is None or _found[0] != modules:
        controller = needed("threads_per_worker", "threadpoolctl").ThreadpoolController()
        _found = len(sys.modules), controller
    return _found[1]


@contextmanager
def limited(count: int) -> Iterator[None]:
    """Inside the block recorded programs and NumPy's products run on `count` threads."""
    former = get_num_threads()
    with _libraries().limit(limits=count):
        set_num_threads(count)
        try:
            yield
        finally:
            set_num_threads(former)


@contextmanager
def reproducible() -> Iterator[None]:
    """Inside the block, add up each chunk in one fixed order.

    It uses one thread, since the number of threads decides about the parts of a sum. Without a recording it computes
    each array at once, since earlier calls decide whether deferred arrays are planned.
    """
    before = bool(get_context("pynative_synchronize"))
    with limited(1):
        set_context(pynative_synchronize=True)
        try:
            yield
        finally:
            set_context(pynative_synchronize=before)


def processor() -> dict[str, str]:
    """The factors that decide about the last digits of a result: the processor, and each library of kernels.

    A library that the program needs is loaded wherever it ran; other libraries may differ between processes.

    Examples
    --------
    >>> from dualgrad.distributed.processes import processor
    >>> processor() == processor()
    True
    """
    features = getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {})
    own = [platform.machine(), os.environ.get("DUALGRAD_KERNELS", ""), np.__version__]
    found = {"processor": " ".join([*own, *sorted(name for name, there in features.items() if there)])}
    for library in needed("deterministic=True", "threadpoolctl").threadpool_info():
        if library.get("user_api") == "blas":
            kind = library.get("internal_api")
            name = f"{kind} of {_owner(library.get('filepath', ''))}"
            found[name] = f"{kind} {library.get('version')} {library.get('architecture')}"
    return found


def _owner(path: str) -> str:
    """The package that contains a library: wheels bring libraries of their own."""
    folders = [part.partition(".")[0] for part in Path(path).parts[:-1]]
    return next((name for name in reversed(folders) if name in ("numpy", "scipy")), "the system")
