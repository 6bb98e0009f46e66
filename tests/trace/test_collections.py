"""The garbage collector runs in the middle of recordings; what it calls is no part of them."""

import gc
import time

import numpy as np
import pytest
from engine import programs

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]

CALLED = []


def note(phase, info):
    CALLED.append((phase, time.perf_counter()))


class Finalized:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        note("finalizer", None)


def fill(keep):
    """Many containers, so that a collection is due; without the GIL a thread tells every 512th, with it any one."""
    for k in range(1000):
        keep.append([k])


def cube(x):
    Finalized()
    kept = []
    fill(kept)
    return x * x * x * (len(kept) / 1000)


def noting(x):
    note("start", {})
    return cube(x)


@pytest.fixture(params=["first", "last"])
def collections(request):
    """Collections that are due at once and call `note`, before or after all others."""
    threshold = gc.get_threshold()
    gc.callbacks.insert(0 if request.param == "first" else len(gc.callbacks), note)
    CALLED.clear()
    gc.set_threshold(1, 0, 1)  # with 0 the collector without GIL does not ask how many objects there are
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(note)


@pytest.mark.usefixtures("collections")
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: dg.grad(dg.grad(f))], ids=["value", "second derivative"])
def test_collections_are_no_part_of_a_recording(transform):
    recorded = dg.jit(transform(cube))
    for k in (1.0, 2.0, 3.0, 4.0):
        found = recorded(Tensor([k])).item()
        assert found == transform(cube)(Tensor([k])).item()
        assert found == (k**3 if transform(cube) is cube else 6 * k)
    assert {"start", "stop", "finalizer"} <= {phase for phase, _ in CALLED}
    assert any(replayed for _, replayed, _ in programs())


@pytest.mark.usefixtures("collections")
def test_a_callback_that_the_function_calls_itself_is_part_of_it():
    recorded = dg.jit(noting)
    with pytest.warns(UserWarning, match=r"time\.perf_counter"):
        found = [recorded(Tensor([k])).item() for k in (1.0, 2.0, 3.0, 4.0)]
    assert found == [1.0, 8.0, 27.0, 64.0]
    assert not any(replayed for label, replayed, _ in programs() if "noting" in label)


def test_the_functions_that_watch_stand_at_the_ends_once():
    dg.jit(lambda x: ops.sin(x))(Tensor(np.ones(2)))
    gc.callbacks.insert(0, note)
    gc.callbacks.append(note)
    dg.jit(lambda x: ops.cos(x))(Tensor(np.ones(2)))
    names = [getattr(function, "__name__", "") for function in gc.callbacks]
    gc.callbacks.remove(note)
    gc.callbacks.remove(note)
    assert names[0] == "collection_begins"
    assert names[-1] == "collection_ends"
    assert len([name for name in names if name.startswith("collection_")]) == 2
