"""Places that a factor can come from, each with the ways in which it can change.

A place is a text: a module with a function `read` that gives a factor, or with a function `f` of a tensor. A change is
a text too, run in that module; one with (V) is run for each of `VALUES`. A list of texts is run one by one. So each run
of a test has a module of its own, and eager execution can be compared on another one that is treated alike.
"""

import math
import sys
import textwrap
import types
from dataclasses import dataclass, field

from dualgrad import ops

#: other numbers, numbers that are equal and not the same, and back
VALUES = ("2.0", "1", "True", "0.0", "-0.0", "float('nan')", "1.0")

PRELUDE = """
import collections, copy, dataclasses, enum, functools, itertools, math, operator, types
import numpy as np
import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
"""

TYPES = {int: 0.25, bool: 0.5, float: 0.0}
NUMBER = 0


@dataclass
class Place:
    """A place: its source, its changes, whether it is common, and what puts back what is shared by all modules."""

    name: str
    source: str
    changes: dict[str, list[str]] = field(default_factory=dict)
    common: bool = False
    after: str = ""

    def __str__(self):
        return self.name.replace(" ", "-")


class Instance:
    """A module made of the source of a place, and the function of a tensor that reads it."""

    def __init__(self, place):
        global NUMBER
        NUMBER += 1
        self.place = place
        self.module = types.ModuleType(f"place{NUMBER}")
        self.run(PRELUDE)

    def __enter__(self):
        sys.modules[self.module.__name__] = self.module
        self.run(self.place.source)
        self.f = vars(self.module).get("f") or scaled_by(self.module.read)
        return self

    def __exit__(self, *_):
        self.run(self.place.after)
        del sys.modules[self.module.__name__]

    def run(self, text):
        exec(compile(text, self.module.__name__, "exec"), vars(self.module))


def scaled_by(read):
    return lambda x: ops.sum(x * weight(read()))


def weight(number):
    """A number that tells numbers apart that are equal and not the same."""
    if type(number) in TYPES:
        return math.copysign(1.0, number) * 0.125 + number + TYPES[type(number)] if number == number else 77.0
    return number


PLACES = {}


def place(name, source, /, *, common=False, after="", **changes):
    """Add a place to the table."""
    if name in PLACES:
        raise ValueError(f"{name}: there is such a place already")
    found = {}
    for how, texts in changes.items():
        texts = [texts] if isinstance(texts, str) else list(texts)
        parts = [textwrap.dedent(text) for text in texts]
        found[how] = [
            text if value is None else text.replace("(V)", f"({value})") for text in parts
            for value in (VALUES if "(V)" in text else (None,))
        ]  # fmt: skip
    PLACES[name] = Place(name, textwrap.dedent(source), found, common, textwrap.dedent(after))


#: a variable of an enclosing function, and functions that change it
CLOSURE = """
    def make():
        a = 1.0
        def read(): return a
        def put(value):
            nonlocal a
            a = value
        def drop():
            nonlocal a
            del a
        return read, put, drop
    read, put, drop = make()
"""
