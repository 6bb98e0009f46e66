"""Eager calls whose large arrays are deferred have the numbers of eager calls that compute every array at once."""

import threading

import numpy as np
import pytest
from engine import defer_from, synchronize

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad._engine.primitives.execute import is_written_down

pytestmark = pytest.mark.eager("compares ways of eager execution")

RNG = np.random.default_rng(16)
X, Y, W = Tensor(RNG.normal(size=(60, 40))), Tensor(RNG.normal(size=(60, 1))), Tensor(RNG.normal(size=(40, 8)) / 6)


@pytest.fixture(params=[1, 1 << 12], ids=["all", "large"])
def deferring(request):
    """Arrays of so many bytes are deferred."""
    former = defer_from(request.param), synchronize(False)
    yield
    defer_from(former[0])
    synchronize(former[1])


def at_once(f, *args):
    former = synchronize(True)
    try:
        return f(*args)
    finally:
        synchronize(former)


def layers(x, y, w):
    return ops.mean((ops.tanh(ops.matmul(ops.sin(x) * y, w)) - y) ** 2)


def reads(x, y, w):
    """Python reads a number on the way, which decides what follows."""
    z = ops.exp(-x * x) + y
    return ops.sum(z * z) if float(z.sum().asnumpy()) > 0 else ops.sum(ops.cos(z))


def gathers(x, y, w):
    """What is computed at once reads what is deferred."""
    z = ops.sin(x) * y
    return ops.sum(z[[3, 1, 1]] ** 3) + ops.sum(ops.sort(z, 1)[0] * z)


def drops(x, y, w):
    dg.set_seed(5)
    return ops.sum(ops.dropout(ops.sin(x), 0.3, training=True) * y)


def turns(x, y, w):
    """Axes that are permuted before anything is deferred: of matrices, of stacks, and of rows that are left out."""
    stack = x.reshape((3, 20, 40)).transpose(2, 0, 1)
    z = ops.sin(x) * y
    products = ops.matmul(x.T, z).sum() + (ops.cos(w.T) * ops.matmul(w.T, x.T)[:, :40]).sum()
    return products + (stack * stack.sum(0)).sum() + (x.T[::2] * z.T[::2]).sum() + (x[::-1].T * z.T).sum()


FUNCTIONS = [layers, reads, gathers, drops, turns]
WAYS = {
    "gradient": lambda f: dg.grad(f, (0, 1, 2)),
    "value and gradient": lambda f: dg.value_and_grad(f, (0, 2)),
    "GradOperation": lambda f: ops.GradOperation(get_all=True)(f),
    "second": lambda f: dg.grad(lambda *a: sum(ops.sum(g * g) for g in dg.grad(f, (0, 1, 2))(*a)), (0, 2)),
    "jvp": lambda f: lambda *a: dg.jvp(f, a, tuple(ops.cos(x) for x in a)),
    "vjp": lambda f: lambda *a: dg.vjp(f, *a)[1](Tensor(np.float64(2.0))),
    "hvp": lambda f: lambda *a: dg.hvp(lambda w: f(a[0], a[1], w))(a[2], ops.sin(a[2])),
    "pushed through a map": lambda f: lambda *a: dg.vmap(lambda w: f(a[0], a[1], w))(ops.stack((a[2], -a[2]))),
}


@pytest.mark.usefixtures("deferring")
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_those_of_computing_at_once(f, way):
    call = WAYS[way](f)
    expected = leaves(at_once(call, X, Y, W))
    for _ in range(3):
        for a, b in zip(leaves(call(X, Y, W)), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("deferring")
def test_another_thread_may_read_a_number_of_a_call_that_runs():
    seen = []

    def f(x):
        y = ops.sin(x) * 2.0
        z = ops.stop_gradient(y)
        reader = threading.Thread(target=lambda: seen.append(z.asnumpy()))
        reader.start()
        reader.join()
        return ops.sum(y * y)

    found = dg.grad(f)(X)
    np.testing.assert_allclose(seen[0], 2.0 * np.sin(X.asnumpy()), rtol=1e-15)
    np.testing.assert_allclose(found.asnumpy(), at_once(dg.grad(f), X).asnumpy(), rtol=1e-12)


ELSEWHERE = {
    "eager": lambda y: ops.sum(ops.sin(y)),
    "a view": lambda y: ops.sum(ops.sin(y.T)[1:]),
    "product": lambda y: ops.sum(y.T @ y),
    "gradient": lambda y: ops.sum(dg.grad(lambda x: ops.sum(ops.sin(x)))(y)),
    "map": lambda y: ops.sum(dg.vmap(ops.sin)(y)),
    "call that defers": lambda y: Squares()(y),
    "recorded": dg.jit(lambda y: ops.sum(ops.sin(y))),
    "recorded, captured": lambda y: dg.jit(lambda: ops.sum(ops.cos(y)))(),
}


class Squares(nn.Cell):
    def construct(self, y):
        return ops.sum(ops.exp(y) * ops.exp(y))


class Giver(nn.Cell):
    """Gives what it has deferred to another thread, or to several at once."""

    def __init__(self, taker, threads):
        super().__init__()
        self._taker, self._threads = taker, threads

    def construct(self, x):
        y = ops.sin(x) * 2.0
        found = []
        takers = [threading.Thread(target=lambda: found.append(self._taker(y).asnumpy())) for _ in range(self._threads)]
        for t in takers:
            t.start()
        z = ops.cumsum(y, 0)  # needs the numbers too
        for t in takers:
            t.join()
        return ops.sum(z), found


@pytest.mark.usefixtures("deferring")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("what", ELSEWHERE)
def test_another_thread_computes_with_what_a_call_has_deferred(what, threads):
    use = ELSEWHERE[what]
    for _ in range(3):
        use(2.0 * ops.cos(X))  # what is recorded is replayed there
    expected = at_once(use, 2.0 * ops.sin(X)).asnumpy()
    total, found = Giver(use, threads)(X)
    np.testing.assert_allclose(total.asnumpy(), np.cumsum(2.0 * np.sin(X.asnumpy()), 0).sum(), rtol=1e-11)
    assert len(found) == threads
    for value in found:
        np.testing.assert_allclose(value, expected, rtol=1e-11)


@pytest.mark.usefixtures("deferring")
def test_errors_are_raised_at_the_line_of_the_user():
    with pytest.raises(ValueError, match="shape"):
        dg.grad(lambda x: ops.sum(ops.sin(x) + ops.ones((7,), dg.float64)))(X)


@pytest.mark.usefixtures("deferring")
def test_weights_that_change_between_calls_are_read_again():
    net = nn.Dense(40, 30)
    loss = dg.value_and_grad(lambda x: ops.sum(net(x) ** 2), None, net.trainable_params())
    x = X.astype(dg.float32)
    for scale in (1.0, -2.0, 0.5, 3.0):
        net.weight.set_data(Tensor(RNG.normal(size=net.weight.shape).astype(np.float32) * scale))
        for a, b in zip(leaves(loss(x)), leaves(at_once(loss, x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-4)


def rows_of(x):
    """A Hessian in whose program few results are large."""
    return lambda w: ops.mean(ops.tanh(ops.matmul(x, w)))


def long_rows(x):
    """The same, with many."""

    def f(w):
        y = ops.matmul(x, w)
        for _ in range(6):
            y = ops.sin(y) * ops.tanh(y)
        return ops.mean(y)

    return f


@pytest.mark.parametrize(
    ("made", "samples", "expected"),
    [
        (rows_of, 600, [True, False, False]),  # 6 arrays of 240 kB: they stay in cache
        (rows_of, 6000, [True, True, True]),  # of 2.4 MB: they do not
        (long_rows, 600, [True, True, True]),
    ],
)
def test_calls_that_save_nothing_are_deferred_once(made, samples, expected):
    """Writing steps down takes time too. A call that was not worth it still is for larger arrays."""
    noted = []
    former = synchronize(False)
    try:
        hessian = dg.hessian(lambda w, x: noted_of(made(x)(w)))

        def noted_of(y):
            noted.append(is_written_down())
            return y

        w = Tensor(RNG.normal(size=50))
        for size in (samples, samples, samples, 20_000):
            x = Tensor(RNG.normal(size=(size, 50)) / 7)
            found = hessian(w, x).asnumpy()
            expected_numbers = at_once(dg.hessian(lambda w, x=x: made(x)(w)), w).asnumpy()
            np.testing.assert_allclose(found, expected_numbers, rtol=1e-9, atol=1e-12)
    finally:
        synchronize(former)
    assert noted == [*expected, True]


FILLED = {"one number": lambda k: np.full((60, 40), float(k)), "many": lambda k: RNG.normal(size=(60, 40))}
VIEWS = {
    "itself": lambda t: t,
    "a view": lambda t: t.reshape((40, 60)).reshape((60, 40)),
    "a row": lambda t: t[3],
    "turned": lambda t: t.reshape((40, 60)).T,
}


@pytest.mark.usefixtures("deferring")
@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("changed", ["between calls", "between uses"])
def test_memory_that_python_writes_is_read_at_each_use(filled, view, changed):
    """A tensor that shares the memory of a NumPy array has the numbers that are there when it is used."""
    memory, used = np.empty((60, 40)), []
    shared = Tensor.from_numpy(memory)

    def read():
        used.append(VIEWS[view](memory.copy()))
        return VIEWS[view](shared)

    def f(x):
        y = ops.sin(x) * read()
        if changed == "between uses":
            memory[...] = memory[::-1] * 2.0 + 1.0
        return ops.sum(y * read())

    for k in (2, 3, 4, 2):
        memory[...] = FILLED[filled](k)
        value, slope = leaves(dg.value_and_grad(f)(X))
        x, factor = X.asnumpy(), used[-2] * used[-1]
        np.testing.assert_allclose(value, np.sum(np.sin(x) * factor), rtol=1e-11)
        np.testing.assert_allclose(slope, np.cos(x) * factor, rtol=1e-11)


def leaves(nest):
    if isinstance(nest, Tensor):
        return [nest.asnumpy()]
    return [leaf for each in nest for leaf in leaves(each)]
