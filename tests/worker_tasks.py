"""Tasks that tell of the process they run in, or end it once: while a file is there, which they take away first."""

import contextlib
import os

import threadpoolctl
from shard_cases import misfit

import dualgrad as dg

__all__ = ["killer", "pids", "task_that_kills", "threads_of_process"]


def _die_once(mark):
    with contextlib.suppress(FileNotFoundError):
        os.remove(mark)  # of several processes one does it
        os._exit(9)


def killer(mark):
    """`misfit`, in a process that dies while the file `mark` is there."""

    def value(p, x, y):
        _die_once(mark)
        return misfit(p, x, y)

    return value


def task_that_kills(item, mark):
    """A task whose process dies once, at item 2."""
    if item == 2:
        _die_once(mark)
    return item * item


def pids(shard):
    return os.getpid()


def threads_of_process(item):
    """Threads of recorded programs, and of each library for products."""
    libraries = [a["num_threads"] for a in threadpoolctl.threadpool_info() if a["user_api"] == "blas"]
    return dg.get_num_threads(), libraries
