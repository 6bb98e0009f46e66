"""Tasks with recorded functions that have arrived: whether their Python runs, and what they return."""

import sys

from shard_cases import CHUNK, X

import dualgrad as dg
from dualgrad.distributed.functions import digest_of, recorded, unpacked

__all__ = ["ROWS", "arrived", "calls_of_python", "numbers"]

ROWS = X[:CHUNK]


def arrived(content):
    """The recorded function of some bytes, as a worker has it."""
    return unpacked(content, digest_of(content), recorded)


def calls_of_python(item, content):
    """How often the first call where a function arrives runs its Python, and what it returns."""
    fn = arrived(content)
    codes = []

    def hook(frame, event, argument):
        if event == "call" and frame.f_code is fn.__wrapped__.__code__:
            codes.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        found = fn(dg.Tensor(ROWS))
    finally:
        sys.setprofile(before)
    return len(codes), numbers(found)


def numbers(nest):
    """The bits of results."""
    if isinstance(nest, dict):
        return {name: numbers(x) for name, x in nest.items()}
    return [numbers(x) for x in nest] if isinstance(nest, list | tuple) else nest.asnumpy().tobytes()
