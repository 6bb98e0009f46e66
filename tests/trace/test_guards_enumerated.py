"""Guards of recorded functions, enumerated: places that a factor comes from, times ways to change it, times modes.

Each run has two modules of a place, one for eager execution and one that is recorded. Both are called and changed
alike; what they give, or the type of the error that they raise, must be the same at every call.
"""

import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from engine import forget_programs, programs
from places import PLACES, Instance

import dualgrad as dg
from dualgrad import Tensor, nn

for part in ("names", "functions", "attributes", "objects", "data", "world", "disguised", "misleading"):
    import_module(f"places_{part}")  # fills the table

pytestmark = pytest.mark.eager("records by itself")

CALLS = 4  # two are recorded, two replayed
X = np.array([1.0, -2.0, 3.5])


class Calling(nn.Cell):
    def __init__(self, f):
        super().__init__()
        self.fn = f

    def construct(self, x):
        return self.fn(x)


#: name -> (the mode, what is made of a function, and the same as it runs eagerly)
MODES = {
    "jit": (dg.PYNATIVE_MODE, dg.jit, lambda f: f),
    "jit of grad": (dg.PYNATIVE_MODE, lambda f: dg.jit(dg.grad(f)), dg.grad),
    "graph grad": (dg.GRAPH_MODE, dg.grad, dg.grad),
    "graph Cell": (dg.GRAPH_MODE, Calling, Calling),
}
CASES = [(place, how) for place in PLACES.values() for how in place.changes]


@contextmanager
def mode(name):
    before = dg.get_context("mode")
    dg.set_context(mode=name)
    try:
        yield
    finally:
        dg.set_context(mode=before)


def outcome(g, x):
    """What a call gives, or the type of its error."""
    try:
        return g(x).asnumpy()
    except Exception as error:
        return type(error)


def story(place, how, make):
    """The outcomes of the calls of a module, with a change after each few; whether each few end with a replay."""
    outcomes, replayed = [], []
    x = Tensor(X)
    with Instance(place) as instance:
        g = make(instance.f)
        for change in ["", *place.changes[how]]:
            instance.run(change)
            outcomes.append((change, [outcome(g, x) for _ in range(CALLS)]))
            replayed.append(any(good for _, good, _ in programs()) or isinstance(outcomes[-1][1][-1], type))
    return outcomes, replayed


def same(a, b):
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-14, atol=0, equal_nan=True)


def compare(place, how, name):
    """Compare what is recorded with eager execution; whether it was replayed all the time, and the warnings."""
    graph, record, eager = MODES[name]
    forget_programs()
    with mode(dg.PYNATIVE_MODE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = story(place, how, eager)
    forget_programs()
    with mode(graph), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, replayed = story(place, how, record)
    said = [str(w.message) for w in caught if "runs eagerly" in str(w.message)]
    wrong = [
        f"after {change!r}, call {k}: {got} in place of {right}"
        for (change, right_ones), (_, got_ones) in zip(expected, found, strict=True)
        for k, (right, got) in enumerate(zip(right_ones, got_ones, strict=True))
        if not same(right, got)
    ]
    assert not wrong, f"{place.name}, {how}, {name}: " + "; ".join(wrong)
    assert len(said) <= 1, said
    return all(replayed) and not said, said


def check(place, how, name):
    """Compare; whether it was replayed. What is common has to be."""
    replayed, said = compare(place, how, name)
    assert replayed or not place.common, f"{place.name}, {how}, {name}: {said or 'not replayed'}"
    return replayed


def test_the_table_is_large_enough():
    assert len(PLACES) >= 500
    assert len(CASES) >= 800
    assert sum(place.common for place in PLACES.values()) >= 80


@pytest.mark.parametrize("part", range(32))
def test_places(part):
    """Every change once, in one of the modes; of a part of the places at least this many are replayed."""
    cases = CASES[part::32]
    replayed = [check(place, how, list(MODES)[(k + part) % len(MODES)]) for k, (place, how) in enumerate(cases)]
    assert sum(replayed) >= len(cases) // 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("place", [pytest.param(place, id=str(place)) for place in PLACES.values()])
def test_places_in_all_modes(place, name):
    for how in place.changes:
        check(place, how, name)
