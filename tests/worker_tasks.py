"""Tasks that tell of the process they run in, or end it once: while a file is there, which they take away first."""

import contextlib
import os
import time

import numpy as np
import threadpoolctl
from shard_cases import misfit

import dualgrad as dg
from dualgrad import ops

__all__ = [
    "die_once",
    "killer",
    "pids",
    "task_that_kills",
    "tenth",
    "threads_at_work",
    "threads_of_process",
]


def tenth(k):
    """A number that is made where the task runs, and its type there."""
    t = dg.Tensor(k / 10)
    return t.dtype.name, float(t)


def die_once(mark):
    """End the process while the file `mark` is there."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(mark)  # of several processes one does it
        os._exit(9)


def killer(mark):
    """`misfit`, in a process that dies while the file `mark` is there."""

    def value(p, x, y):
        die_once(mark)
        return misfit(p, x, y)

    return value


def task_that_kills(item, mark):
    """A task whose process dies once, at item 2."""
    if item == 2:
        die_once(mark)
    return item * item


def pids(shard):
    return os.getpid()


def threads_of_process(item):
    """Threads of recorded programs, and of each library for products."""
    libraries = [a["num_threads"] for a in threadpoolctl.threadpool_info() if a["user_api"] == "blas"]
    return dg.get_num_threads(), libraries


def threads_at_work(item):
    """How many threads of this process the system has given time, during a recorded program and products of NumPy."""
    recorded = dg.jit(lambda x: ops.tanh(ops.exp(ops.sin(x)) * x).sum())
    x, matrix = dg.Tensor(np.linspace(0.0, 1.0, 1_000_000)), np.ones((600, 600))
    for _ in range(3):
        recorded(x).asnumpy()
    before = _time_of_threads()
    end = time.process_time() + 0.4  # of processors, which others may use as well
    while time.process_time() < end:
        recorded(x).asnumpy()
        matrix @ matrix
    return sum(spent - before.get(thread, 0) >= _WORK for thread, spent in _time_of_threads().items())


_WORK = 3  # ticks of the system's clock: others look after messages


def _time_of_threads():
    """Ticks that each thread of this process has had."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/self/task/{thread}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
            found[thread] = int(user) + int(system)
    return found
