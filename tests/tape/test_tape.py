"""The tape: slots and operands in any number, what is freed and when, and values used where they do not belong."""

import gc
import threading

import numpy as np
import pytest
from engine import open_levels
from support import assert_close, f64

import dualgrad as dg
from dualgrad import nn, ops
from dualgrad._engine.tape.tape import Tape
from dualgrad.testing import tape_reports

pytestmark = pytest.mark.eager("looks at tapes")

X = f64([0.5, -1.25])
COUNTS = [1, 2, 8, 9, 10, 11, 16, 17, 40]  # around the places inside an object: 8 operands, 10 slots


def tapes():
    """The tapes that are alive."""
    return [x for x in gc.get_objects() if isinstance(x, Tape)]


@pytest.fixture
def collector_off():
    """Nothing is freed but by its count of references."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# --------------------------------------------------------------------------------------------------- slots and operands


@pytest.mark.parametrize("n", COUNTS)
def test_any_number_of_leaves(n):
    weights = np.arange(1.0, n + 1)
    points = [X + float(k) for k in range(n)]

    def f(*xs):
        return sum(w * x * x for w, x in zip(weights, xs, strict=True)).sum()

    with tape_reports() as reports:
        gradients = dg.grad(f, tuple(range(n)))(*points)
    assert reports[0]["leaves"] == n
    for k, gradient in enumerate([gradients] if n == 1 else gradients):
        assert_close(gradient, 2 * weights[k] * (X.asnumpy() + k))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", COUNTS)
def test_any_number_of_operands(n, order):
    """Of one instruction; in second order each has a tangent beside it."""

    def f(x):
        parts = ops.concat([x * float(k) for k in range(1, n + 1)])
        return (parts * parts * parts).sum()

    factor = sum(k**3 for k in range(1, n + 1))
    x = X.asnumpy()
    first, second = dg.grad(f), dg.grad(lambda x: dg.grad(f)(x).sum())
    assert_close(first(X) if order == 1 else second(X), factor * (3 * x * x if order == 1 else 6 * x))


@pytest.mark.parametrize("n", COUNTS)
def test_any_number_of_inner_gradients(n):
    """The tape keeps a list of the instructions that hold other tapes, for the collector of cycles."""

    def f(x):
        return sum(dg.grad(lambda y, k=k: (y * y * y * float(k)).sum())(x).sum() for k in range(n))

    with tape_reports() as reports:
        got = dg.grad(f)(X)
    assert_close(got, 6 * X.asnumpy() * sum(range(n)))
    assert reports[-1]["by_primitive"]["subtape"] == n


def test_a_value_read_twice_has_one_slot():
    with tape_reports() as reports:
        dg.grad(lambda x: dg.grad(lambda y: (y * x * x + x).sum())(x).sum())(X)
    inner = reports[0]
    assert inner["leaves"] == 2  # y, and x which the inner function reads


def test_what_has_no_slope_is_not_recorded():
    with tape_reports() as reports:
        dg.grad(lambda x: (ops.floor(x) * 2.0 + x).sum())(X)
    assert "floor" not in reports[0]["by_primitive"]


# -------------------------------------------------------------------------------------------------------------- freeing

ENDS = {
    "a gradient": lambda: dg.grad(lambda x: ops.sin(x).sum())(X),
    "a gradient of a gradient": lambda: dg.grad(lambda x: dg.grad(lambda y: ops.sin(y).sum())(x).sum())(X),
    "a forward transform inside": lambda: dg.grad(lambda x: dg.jvp(ops.sin, x, X)[1].sum())(X),
    "a vmap inside": lambda: dg.grad(lambda x: dg.vmap(ops.sin)(x).sum())(X),
    "a function that raises": lambda: failing(),
}


def failing():
    with pytest.raises(ZeroDivisionError):
        dg.grad(lambda x: ops.sin(x).sum() * (1 / 0))(X)


@pytest.mark.parametrize("name", ENDS)
def test_a_tape_is_freed_when_its_call_is_over(name, collector_off):
    before = len(tapes())
    ENDS[name]()
    assert len(tapes()) == before
    assert open_levels() == []


def test_a_pullback_keeps_its_tape(collector_off):
    before = len(tapes())
    value, pull = dg.vjp(lambda x: ops.sin(x) * x, X)
    assert len(tapes()) == before + 1
    for _ in range(2):
        assert_close(pull(value)[0], expected_pull(value))
    del pull
    assert len(tapes()) == before


def expected_pull(value):
    x = X.asnumpy()
    return value.asnumpy() * (np.cos(x) * x + np.sin(x))


def test_a_cycle_through_a_tape_is_collected():
    """A custom rule closes over a value of the tape that its instruction stands on."""

    class Keeping(nn.Cell):
        def construct(self, x):
            self.kept = x
            return x * 2.0

        def bprop(self, x, out, dout):
            return (dout * 2.0,)

    gc.collect()
    before = len(tapes())
    for _ in range(3):
        cell = Keeping()
        pull = dg.vjp(lambda x, cell=cell: cell(x) * x, X)[1]
        cell.pull = pull
    del cell, pull
    gc.collect()
    assert len(tapes()) == before


# ---------------------------------------------------------------------------------------- used where it does not belong


def test_a_value_on_another_thread_is_refused():
    raised = []

    def elsewhere(x):
        try:
            ops.sin(x)
        except RuntimeError as error:
            raised.append(str(error))

    def f(x):
        worker = threading.Thread(target=elsewhere, args=(x,))
        worker.start()
        worker.join()
        return x.sum()

    with pytest.raises(dg.LeavesDerivativeError, match="another thread"):  # though the error was caught
        dg.grad(f)(X)
    assert len(raised) == 1
    assert "another thread" in raised[0]
    assert raised[0].startswith("a value that grad is differentiating")


def test_threads_differentiate_beside_each_other():
    """Each has its own stack of levels."""
    start, found = threading.Barrier(4), {}

    def work(k):
        def f(x):
            start.wait()
            return (ops.sin(x) * float(k)).sum()

        found[k] = dg.grad(f)(X)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(4):
        assert_close(found[k], k * np.cos(X.asnumpy()))


def test_a_value_that_outlives_its_tape():
    """It is plain once no derivative can need it, and an error before."""
    kept = []

    def inner(y):
        kept.append(y * 2.0)
        return (y * y).sum()

    dg.grad(inner)(X)
    assert_close(kept[0] + 1.0, 2 * X.asnumpy() + 1)

    def outer(x):
        dg.grad(inner)(x)
        return (kept[-1] * x).sum()

    with pytest.raises(RuntimeError, match="used after that call has returned"):
        dg.grad(outer)(X)
