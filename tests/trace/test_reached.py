"""Whatever a recorded function can reach may change between two calls: it gives what the function itself gives.

The functions are those of the documentation, of the benchmarks and of `menagerie` (`workloads`); the places are found
by a walk of its own (`reached`). Each place is changed, one after the other, and back.
"""

import random
import zlib
from collections import Counter

import numpy as np
import pytest
from engine import TensorBase, forget_programs, recorded_call
from reached import Walk, changes
from reached_values import Illegal
from workloads import workloads

import dualgrad as dg

pytestmark = [
    pytest.mark.eager("records by itself"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("own_programs"),
]

SAMPLE = 2  # changes of each function, in every run
CALLS = 3  # after a change: recorded, confirmed, replayed
TALLY = Counter()
PRECISION = {"float32": 3e-4, "float64": 1e-10}


@pytest.fixture(scope="module", autouse=True)
def _told():
    """Say at the end how much was tried."""
    TALLY.clear()
    yield
    print("\n" + ", ".join(f"{what}: {count}" for what, count in TALLY.items()))


def numbers(nest):
    """Arrays in the order of a nest, and the types of what is no array."""
    if isinstance(nest, TensorBase):
        return [nest.asnumpy()]
    if isinstance(nest, dict):
        return [*nest, *numbers(tuple(nest.values()))]
    if isinstance(nest, tuple | list):
        return [type(nest), *(leaf for part in nest for leaf in numbers(part))]
    return [np.asarray(nest)] if isinstance(nest, np.ndarray | np.generic | int | float) else [type(nest)]


def difference(found, expected):
    """Where outcomes differ by more than rounding, which is relative to the largest number; None if nowhere."""
    if len(found) != len(expected):
        return f"{found!r} instead of {expected!r}"
    arrays = [b for b in expected if isinstance(b, np.ndarray) and b.dtype.kind == "f"]
    largest = max((np.abs(b[np.isfinite(b)]).max(initial=0.0) for b in arrays), default=0.0)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(b, np.ndarray):
            if isinstance(a, np.ndarray) or a != b:
                return f"{k}: {a!r} instead of {b!r}"
        elif not isinstance(a, np.ndarray) or (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{k}: {a!r} instead of {b!r}"
        elif not np.allclose(a, b, rtol=0.0, atol=PRECISION.get(b.dtype.name, 0.0) * largest, equal_nan=True):
            return f"{k}: {a!r} instead of {b!r}, up to {np.abs(a - b).max()} off, beside numbers of {largest}"
    return None


class Subject:
    """A recorded function among all that it can reach."""

    def __init__(self, workload):
        self.workload = workload
        self.walk = Walk(workload.function)
        self.handles = self.walk.tensors  # those of now: a change may bring others
        self.base = self.outcome(workload.eager)

    def outcome(self, call):
        """What a call gives, or the kind of its error, and what it leaves in tensors; these are put back."""
        before = [(handle, handle._detached()) for handle in self.handles]
        try:
            result = call()
        except Exception as error:
            return [type(error)]
        else:
            return [*numbers(result), *(leaf for handle in self.handles for leaf in numbers(handle))]
        finally:
            for handle, value in before:
                handle._rebind(value)

    def replayed(self):
        """Whether the next call is a replay."""
        return recorded_call(self.workload.function, self.workload.arguments, {})["program"] is not None

    def settle(self):
        """Call until there is a program that is replayed."""
        for _ in range(2):
            for _ in range(CALLS):
                if self.replayed():
                    return
                self.outcome(self.workload)
            if self.replayed():
                return
            forget_programs()  # it may have run eagerly: after many changes, or for what a change has led to
        raise AssertionError(self.eager() or "no program")

    def eager(self):
        """Why the function runs eagerly."""
        return recorded_call(self.workload.function, self.workload.arguments, {})["eager"]

    def agrees(self, expected, where):
        found = self.outcome(self.workload)
        wrong = difference(found, expected)
        if wrong is not None:
            raise AssertionError(f"{where}: {wrong}")

    def examine(self, change):
        """Change a place, call, change it back and call."""
        self.settle()
        try:
            undo = change()
        except Illegal:
            TALLY["illegal"] += 1
            return
        try:
            self.handles = Walk(self.workload.function).tensors
            expected = self.outcome(self.workload.eager)
            for k in range(1 if isinstance(expected[0], type) and issubclass(expected[0], Exception) else CALLS):
                self.agrees(expected, f"{change}, call {k} after the change")
            TALLY["replayed after the change"] += self.replayed()
        finally:
            undo()
            self.handles = self.walk.tensors
        TALLY["changes"] += 1
        TALLY["changes of the result"] += difference(expected, self.base) is not None
        self.agrees(self.base, f"{change}, and changed back")


def subject(name):
    made = Subject(workloads()[name]())
    for _ in range(CALLS - 1):
        made.agrees(made.base, "recorded")
    assert made.replayed(), made.eager()
    made.agrees(made.base, "replayed")
    return made


@pytest.mark.parametrize("name", workloads(quick=True))
def test_changes_of_what_is_reached_are_seen(name):
    tried = subject(name)
    found = list(changes(tried.walk))
    for change in random.Random(zlib.crc32(name.encode())).sample(found, min(SAMPLE, len(found))):
        tried.examine(change)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", workloads())
def test_all_changes_of_what_is_reached_are_seen(name):
    tried = subject(name)
    for change in changes(tried.walk):
        tried.examine(change)


# ---------------------------------------------------------------------------------------- the test itself is tested


def test_stale_numbers_are_found():
    """Without guards most of the changes that matter are missed."""
    workload = workloads()["reference_forces"]()
    tried = Subject(workload)
    workload.recorded = dg.jit(workload.function, pure=True)
    missed = 0
    for change in changes(tried.walk):
        try:
            undo = change()
        except Illegal:
            continue
        try:
            expected = tried.outcome(workload.eager)
        finally:
            undo()
        forget_programs()
        for _ in range(CALLS):
            tried.agrees(tried.base, "recorded")
        undo = change()
        try:
            stale = difference(tried.outcome(workload), expected) is not None
        finally:
            undo()
        assert stale == (difference(expected, tried.base) is not None), change
        missed += stale
    assert missed > 20
