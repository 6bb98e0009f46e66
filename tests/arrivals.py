"""Tasks with functions that have arrived: whether their Python runs, and what they return."""

import math
import sys
import uuid
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

from shard_cases import CHUNK, X

import dualgrad as dg
from dualgrad.distributed import functions
from dualgrad.distributed.functions import digest_of, unpacked
from dualgrad.distributed.samples import OfRows

__all__ = ["ROWS", "arrived", "calls_of_python", "numbers", "watched"]

ROWS = X[:CHUNK]
SENT = ("shard_cases", "test_replays")  # modules whose functions are sent by value


def arrived(content):
    """The recorded function of some bytes, as a worker has it."""
    return unpacked(content, digest_of(content), OfRows).call("rows")


@contextmanager
def calls_of(wanted):
    """The list of the codes that run inside of the block, in frames that are wanted."""
    codes = []

    def hook(frame, event, argument):
        if event == "call" and wanted(frame):
            codes.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        yield codes
    finally:
        sys.setprofile(before)


def calls_of_python(item, content):
    """How often the first call where a function arrives runs its Python, and what it returns."""
    fn = arrived(content)
    with calls_of(lambda frame: frame.f_code is fn.__wrapped__.__code__) as codes:
        found = fn(dg.Tensor(ROWS))
    return len(codes), numbers(found)


@contextmanager
def watched(backend, folder, **changes):
    """Tasks of a backend are `Watched` inside of the block; a function tells how often they ran Python until then."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for name in ("map", "reduce"):
            plain = getattr(backend, name)
            call = partial(_watched, plain, str(folder), changes)
            stack.enter_context(mock.patch.object(backend, name, call))
        yield lambda: sum(int(path.read_text()) for path in folder.iterdir())


def _watched(plain, folder, changes, task, *rest):
    return plain(Watched(task, folder, **changes), *rest)


class Watched:
    """A task where no function has arrived before. It writes down how often it runs Python of those that were sent.

    Parameters
    ----------
    task : callable
        The task.
    folder : path
        Each call of the task writes a file into it.
    tau : float, optional
        What ``math.tau`` is meanwhile.
    """

    def __init__(self, task, folder, tau=math.tau):
        self.task, self.folder, self.tau = task, folder, tau

    def __call__(self, *args):
        with (
            mock.patch.dict(functions._functions, clear=True),
            mock.patch.object(math, "tau", self.tau),
            calls_of(lambda frame: frame.f_globals.get("__name__", "").rpartition(".")[2] in SENT) as codes,
        ):
            found = self.task(*args)
        Path(self.folder, uuid.uuid4().hex).write_text(str(len(codes)))
        return found


def numbers(nest):
    """The bits of results."""
    if isinstance(nest, dict):
        return {name: numbers(x) for name, x in nest.items()}
    return [numbers(x) for x in nest] if isinstance(nest, list | tuple) else nest.asnumpy().tobytes()
