"""Objects past what their classes make of attributes: classes with slots, which are not kept alive by what is known."""

import gc
import profile
import queue
import weakref

import pytest
from engine import forget_programs
from support import f64

import dualgrad as dg


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
