"""Threads for large regions of recorded programs."""

from __future__ import annotations

import os

from ._engine.compiler import workers

__all__ = ["get_num_threads", "set_num_threads"]


def _available() -> int:
    """The processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Set the largest number of threads for large regions of recorded programs.

    Parameters
    ----------
    n : int
        1 to 64. The initial number is the number of processors that this process may run on.

    Raises
    ------
    TypeError
        If `n` is not an int.
    ValueError
        If `n` is less than 1 or more than 64.

    Notes
    -----
    The number of threads alone decides which thread computes which rows, so results do not depend on timing. With
    another number of threads, sums over rows may differ in the last digits. Matrix products are NumPy's and follow its
    own settings.

    Examples
    --------
    >>> import dualgrad as dg
    >>> before = dg.get_num_threads()
    >>> dg.set_num_threads(1)
    >>> dg.get_num_threads()
    1
    >>> dg.set_num_threads(before)
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"set_num_threads: expected an int, got {type(n).__name__}")
    if not 1 <= n <= 64:  # the engine reads an int of C
        raise ValueError(f"set_num_threads: got {n}; expected 1 to 64")
    workers.set_num_threads(n)


def get_num_threads() -> int:
    """Return the largest number of threads for large regions of recorded programs.

    Returns
    -------
    int

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.get_num_threads() >= 1
    True
    """
    return workers.get_num_threads()


workers.set_num_threads(min(_available(), 64))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers.forget_runs)
