"""Objects past what their classes make of attributes: classes with slots, which are not kept alive by what is known."""

import copy
import gc
import profile
import queue
import types
import weakref

import numpy as np
import pytest
from engine import forget_programs
from support import f64

import dualgrad as dg
from dualgrad import ops


def test_what_is_known_of_classes_is_forgotten_in_time():
    """Classes beyond the bound of the cache die when no other reference is left."""

    def made(k):
        return type(f"Made{k}", (), {"__slots__": ("scale",)})

    classes = [made(k) for k in range(4200)]
    parts = [kind() for kind in classes]
    for part in parts:
        part.scale = 1.0
    recorded = dg.jit(lambda x: x * sum(part.scale for part in parts))
    for _ in range(3):
        assert recorded(f64([1.0])).tolist() == [4200.0]
    alive = [weakref.ref(kind) for kind in classes]
    del recorded
    parts.clear(), classes.clear()
    forget_programs()
    del part
    gc.collect()
    assert not all(kind() for kind in alive)


@pytest.mark.parametrize(
    "thing", [queue.Queue(), profile.Profile.fake_code("file", 1, "name")], ids=["of a module", "of a class"]
)
def test_objects_of_library_classes_with_state_are_not_guarded(thing):
    """Wherever the library defines the class."""
    thing.k = 2.0
    recorded = dg.jit(lambda x: x * thing.k)
    name = f"{type(thing).__module__}.{type(thing).__qualname__}"
    with pytest.warns(UserWarning, match=f"a {name}, which a program cannot repeat"):
        recorded(f64([1.0]))
    for k in (2.0, 3.0):
        thing.k = k
        for _ in range(4):
            assert recorded(f64([1.0])).tolist() == [k]


LISTED, BOX = [1.0, 2.0], types.SimpleNamespace(k=2.0)
GRADIENT = dg.grad(lambda x: (x**3).sum())
RECORDED = dg.jit(lambda x: x * 2.0)
RECORDED.note = GRADIENT.note = 3.0

#: what copies, or reads attributes of functions of the package
READERS = {
    "a copy of an argument": lambda x: copy.copy(x) * 2.0,
    "a copy of a nest": lambda x: copy.deepcopy({"a": [x]})["a"][0] * 2.0,
    "a copy of a list": lambda x: x * copy.copy(LISTED)[0],
    "a copy of an object": lambda x: x * copy.deepcopy(BOX).k,
    "a copy beside solve": lambda x: dg.numpy.linalg.solve(dg.numpy.eye(2) + copy.copy(x), x),
    "a copy beside interp": lambda x: dg.numpy.interp(copy.copy(x), np.array([0.0, 1.0]), np.array([0.0, 2.0])),
    "a copy beside a module": lambda x: (lambda module: module.sin(copy.copy(x)))(np),
    "a copy beside a module of the package": lambda x: (lambda module: module.sin(copy.copy(x)))(dg.numpy),
    "a copy of a gradient function": lambda x: copy.copy(GRADIENT)(x),
    "a name": lambda x: x * len(dg.grad.__name__) + len(ops.sin.__qualname__),
    "an attribute of a gradient function": lambda x: GRADIENT(x) * GRADIENT.note,
    "an attribute of a recorded function": lambda x: RECORDED(x) * RECORDED.note * RECORDED.pure,
    "an attribute by its name": lambda x: GRADIENT(x) * getattr(GRADIENT, "note"),  # noqa: B009
    "whether there is an attribute": lambda x: x if hasattr(GRADIENT, "calls") else x * 2.0,
}


@pytest.mark.parametrize("name", READERS)
def test_copies_and_attributes_of_functions_are_recorded(name):
    f, x = READERS[name], f64([0.5, 0.7])
    expected = f(x).tolist()
    recorded = dg.jit(f)
    for _ in range(4):
        assert recorded(x).tolist() == pytest.approx(expected, rel=1e-14)
    assert dg.explain(recorded)(x).why is None


def test_what_a_copy_reads_is_guarded():
    box, recorded = types.SimpleNamespace(k=2.0), dg.jit(lambda x: x * copy.copy(box).k * copy.copy(LISTED)[0])
    for k in (2.0, 3.0):
        box.k = k
        for first in (1.0, 5.0):
            LISTED[0] = first
            for _ in range(4):
                assert recorded(f64([1.0])).tolist() == [k * first]
