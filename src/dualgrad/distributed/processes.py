"""The process of a worker: its threads, its processor, and the settings by which sums are the same everywhere."""

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

#: One task at a time in a process: threads are for the loops inside of it.
BUSY = threading.RLock()

_chosen: int | None = None  # what `set_threads` was told last
_limits: Any = None  # keeps the setting of threadpoolctl alive
_found: Any = None  # (number of imported modules, controller of the libraries among them)


def processors_here() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(processes: int) -> int:
    """Threads for each of so many processes on this machine, so that there are no more than processors."""
    return max(1, min(64, processors_here() // max(1, processes)))


def environment(threads: int) -> dict[str, str]:
    """The variables by which libraries for products have so many threads from the start of a process."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    return dict.fromkeys(names, str(threads))


def set_threads(count: int) -> None:
    """Set the threads of recorded programs and of NumPy's products in this process, until they are set again."""
    global _chosen, _limits
    if count != _chosen:
        set_num_threads(count)
        _limits = needed("threads_per_worker", "threadpoolctl").threadpool_limits(limits=count)
        _chosen = count


def _libraries() -> Any:
    """What sets the threads of the libraries that are loaded.

    To look for them takes a millisecond or two, so that is done again only where modules were imported.
    """
    global _found
    modules = len(sys.modules)
    if _found is None or _found[0] != modules:
        controller = needed("threads_per_worker", "threadpoolctl").ThreadpoolController()
        _found = len(sys.modules), controller
    return _found[1]


@contextmanager
def limited(count: int) -> Iterator[None]:
    """Inside the block recorded programs and NumPy's products run on so many threads."""
    former = get_num_threads()
    with _libraries().limit(limits=count):
        set_num_threads(count)
        try:
            yield
        finally:
            set_num_threads(former)


@contextmanager
def reproducible() -> Iterator[None]:
    """Inside the block sums inside of a block of rows are added in one order.

    One thread, since the parts of a sum follow from the number of threads; and what is not recorded computes each array
    at once, since deferred arrays are planned or not by what was called before.
    """
    before = bool(get_context("pynative_synchronize"))
    with limited(1):
        set_context(pynative_synchronize=True)
        try:
            yield
        finally:
            set_context(pynative_synchronize=before)


def processor() -> dict[str, str]:
    """What the last digits of a result depend on besides the program: the processor, and each library of kernels.

    A library that the program needs is loaded wherever it ran; what other programs have loaded may differ.

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
    """The package that brings a library along: a wheel has libraries of its own."""
    folders = [part.partition(".")[0] for part in Path(path).parts[:-1]]
    return next((name for name in reversed(folders) if name in ("numpy", "scipy")), "the system")
