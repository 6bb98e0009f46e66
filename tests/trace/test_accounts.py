"""How many calls of a function are recorded, whatever the sequence of calls; and which of its calls run eagerly."""

import random
import types
import warnings

import numpy as np
import pytest
from engine import known_functions, programs, recording

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import functions
from dualgrad.testing import Calls

pytestmark = pytest.mark.eager("records by itself")

CREDIT = 64, 1024  # programs that are recorded before others have paid: in any case, and if they cost little
LEAST = 8  # eager calls that pay for a program


class Watched:
    """A recorded function, its calls, and those of them that were recorded."""

    def __init__(self, f):
        self.calls, self.recorded = calls, recorded = Calls(), Calls()

        def g(*args):
            calls.note()
            if recording():
                recorded.note()
            return f(*args)

        self.jit = dg.jit(g)

    def __call__(self, *args):
        return self.jit(*args)


def watched(f=lambda x: ops.sum(ops.sin(x) * x)):
    return Watched(f)


def tensors(n):
    return [Tensor(np.linspace(0.1, 1.0, k)) for k in range(1, n + 1)]


@pytest.mark.parametrize("n", [60, 70, 200])
def test_shapes_in_turn_are_replayed(n):
    f, xs = watched(), tensors(n)
    for _ in range(400):
        before = len(f.calls)
        for x in xs:
            f(x)
        if len(f.calls) == before:
            break
    else:
        raise AssertionError("some shape is never replayed")
    assert len(f.recorded) == 2 * n
    for x in xs:
        assert float(f(x)) == pytest.approx(float(ops.sum(ops.sin(x) * x)), rel=1e-14)
    assert len(f.recorded) == 2 * n


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1_000, 5_000])
def test_many_shapes_in_turn(n):
    """Those with a program are replayed; the others do not record for ever."""
    f, xs = watched(), tensors(n)
    for _ in range(20):
        for x in xs:
            f(x)
    before = len(f.calls)
    for x in xs:
        f(x)
    assert len(f.calls) - before <= n - CREDIT[0]
    assert len(f.recorded) <= 2 * (CREDIT[1] + 20 * n // LEAST)


SEQUENCES = {
    "shapes that come once": lambda: tensors(1_600),
    "shapes that come twice": lambda: [x for x in tensors(1_600) for _ in range(2)],
    "random shapes": lambda: [Tensor(np.ones(n)) for n in random.Random(1).sample(range(1, 10_000), 1_600)],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_what_does_not_come_again_uses_up_the_credit(name):
    f = watched()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sequence = SEQUENCES[name]()
        for x in sequence[: -len(sequence) // 4]:
            f(x)
        before = len(f.recorded)
        assert CREDIT[0] <= before <= 2 * CREDIT[1]
        for x in sequence[-len(sequence) // 4 :]:
            f(x)
    assert len(f.recorded) == before


def test_a_stream_of_shapes_leaves_those_that_come_often():
    f, hot = watched(), tensors(10)
    for x in hot * 3:
        f(x)
    for k in range(1_500):
        before = len(f.calls)
        f(hot[k % 10])
        assert len(f.calls) == before
        f(Tensor(np.ones(20 + k)))


def test_a_shape_that_comes_often_pays_when_there_is_no_credit():
    f, late = watched(), Tensor([0.5, 1.0])
    for k in range(CREDIT[1] + 50):
        f(Tensor(np.ones(20 + k)))
    for _ in range(2_000):
        before = len(f.calls)
        f(late)
        if len(f.calls) == before:
            break
    else:
        raise AssertionError("the shape is never replayed")
    assert len(f.recorded) <= CREDIT[1] + 2


def test_a_global_that_changes_every_ten_calls_is_not_recorded_for_ever():
    settings = types.SimpleNamespace(scale=0.0)
    f, x = watched(lambda x: ops.sum(x * settings.scale)), Tensor([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(13_000):
            if k % 10 == 0:
                settings.scale = float(k)
            if k == 11_000:
                before = len(f.recorded)
            assert float(f(x)) == 3.0 * settings.scale
    assert len(f.recorded) - before < 2 * 2_000 // 10  # that would be all changes


@pytest.mark.parametrize("times", [1, 2])
def test_numbers_that_come_once_or_twice_run_eagerly_and_one_that_stays_is_replayed(times):
    f, x = watched(lambda x, k: ops.sum(x * k)), Tensor([1.0, 2.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(CREDIT[1] + 100):
            for _ in range(times):
                f(x, 0.5 + k)
        before = len(f.recorded)
        for k in range(100):
            f(x, -0.5 - k)
    assert len(f.recorded) == before
    assert len(caught) <= 1
    if times == 1:
        assert "was different at each of 8 calls" in str(caught[0].message)
        assert before == 8
    for _ in range(2_000):
        calls = len(f.calls)
        f(x, 7.25)
        if len(f.calls) == calls:
            break
    else:
        raise AssertionError("the number is never replayed")


# ---------------------------------------------------------------------------------------------------- kinds of calls


class Held:
    """An object with a state that no guard can see."""

    def __init__(self):
        self.source = iter(range(100))


def looked_at(x, flag):
    return x * float(x.asnumpy()[0]) if flag else x * 2


def of_objects(x, held):
    return x * (1.0 if held is None else next(held.source))


def of_arrays(x, a):
    return x * float(a.sum())


X = [1.0, 2.0]

#: name -> (a function of a tensor and another argument, one with which it runs eagerly, one with which it is replayed)
KINDS = {
    "a flag": (looked_at, lambda: True, lambda: False),
    "an object": (of_objects, Held, lambda: None),
    "a tensor": (of_arrays, lambda: Tensor([1.0]), lambda: 3.0 * np.ones(())[()]),
    "a list": (lambda x, a: x * (float(a[0]) if len(a) > 1 else 2.0), lambda: [Tensor(1.0), 1], lambda: [Tensor(1.0)]),
    "a text": (lambda x, how: x * (float(x.asnumpy()[0]) if how == "read" else 2.0), lambda: "read", lambda: "other"),
    "a dtype": (
        lambda x, y: x * (float(y[0]) if y.dtype == dg.float64 else 2.0),
        lambda: Tensor([1.0], dg.float64),
        lambda: Tensor([1.0], dg.float32),
    ),
}


@pytest.mark.parametrize("first", ["eager", "replayed"])
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_calls_run_eagerly_by_kind(name, derivative, first):
    f, eager, other = KINDS[name]
    plain = dg.grad(lambda x, a: ops.sum(f(x, a))) if derivative else f
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls = watched(plain)
        a, b = eager(), other()
        expected = plain(Tensor(X), b).asnumpy()
        for k in range(8):
            for turn in ("eager", "replayed") if first == "eager" else ("replayed", "eager"):
                before = len(calls.calls)
                if turn == "replayed":
                    np.testing.assert_array_equal(calls(Tensor(X), b).asnumpy(), expected)
                    assert len(calls.calls) - before <= (k < 3)  # single instructions may be noted
                else:
                    calls(Tensor(X), a)
                    assert len(calls.calls) - before == 1
    assert len(caught) == 1
    assert len(calls.recorded) <= 5
    name, why, _, steps = known_functions()[-1]
    assert why is not None
    assert len(steps) == 1
    assert "calls of another kind run eagerly" in functions().splitlines()[-1]
    assert [entry[1] for entry in programs()[-2:]] == [True, False]
    assert dg.explain(calls.jit)(Tensor(X), b).why is None
    assert dg.explain(calls.jit)(Tensor(X), a).why is not None


def test_thousands_of_kinds_that_run_eagerly_keep_bounded_memory():
    """And hold few of their arguments."""
    freed = Calls()

    class Argument(np.ndarray):
        def __del__(self):
            freed.note()

    f = dg.jit(lambda x, a: ops.sum(x) * float(x[0]))
    x = Tensor(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(3_000):
            f(x, np.ones(3).view(Argument))
            f(x, k)
            f(Tensor(np.ones(k + 1)), None)
    assert len(freed) > 3_000 - 70
