"""recompute: the same derivatives with fewer values kept; effects and random numbers happen once."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from nested_transforms import every_batch, every_mode
from support import assert_leaves_nothing, assert_raises, f64, numbers

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops, recompute
from dualgrad.testing import tape_reports

W = Parameter(f64([0.3, 0.7]), name="w")


def inner(x, nest):
    """Nests, a parameter, a constant, an integer, and a derivative inside."""
    y = dg.grad(lambda x: (ops.sin(x * W) ** 2).sum())(x)
    return {"a": y * nest["k"][0], "b": (x * W + nest["n"], 3)}


def outer(block):
    def f(x):
        z = ops.exp(x)
        r = block(x * z, nest={"k": [z, "text"], "n": Tensor([1, 2])})
        captured = (recompute if block is not inner else lambda f: f)(lambda y: y * z + r["a"])(x)
        assert r["b"][1] == 3
        return (ops.tanh(r["a"]) * r["b"][0] + captured).sum()

    return f


def nests(f):
    x, v = f64([0.5, 1.2]), f64([1.0, -0.3])
    yield from every_mode(f, x, v, W)
    yield from every_batch(f, ops.stack([x, v, x * v]), W)


def test_derivatives_are_the_same():
    for found, expected in zip(nests(outer(recompute(inner))), nests(outer(inner)), strict=True):
        for a, b in zip(numbers(found), numbers(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def network():
    dg.set_seed(3)
    first, last = (nn.Dense(n, m, dtype=dg.float64) for n, m in ((4, 8), (8, 2)))
    layers = first, nn.BatchNorm1d(8, dtype=dg.float64), nn.Tanh(), nn.Dropout(p=0.5), last
    return nn.SequentialCell(*layers).set_train()


def again(net):
    net.recompute()
    return net


CELLS = {
    "recompute()": lambda: again(network()),
    "a copy": lambda: copy.copy(again(network())),
    "a deep copy": lambda: copy.deepcopy(again(network())),
    "pickled": lambda: pickle.loads(pickle.dumps(again(network()))),
    "each layer": lambda: network().apply(lambda cell: cell.recompute()),
}


@pytest.mark.eager("gradients that are nothing but rounding")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", CELLS)
def test_statistics_and_random_numbers_of_a_cell(name, order):
    x = Tensor(np.random.default_rng(0).random((5, 4)))
    found = []
    for net in (CELLS[name](), network()):
        loss = lambda x, net=net: (net(x) ** 2).sum()
        f = loss if order == 1 else lambda x, loss=loss: (dg.grad(loss)(x) ** 2).sum()
        dg.set_seed(9)
        result = dg.value_and_grad(f, 0, net.trainable_params())(x)
        found.append([*numbers(result), *(p.asnumpy().copy() for p in net.get_parameters()), ops.rand(2).asnumpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=0 if order == 1 else 1e-12, atol=0 if order == 1 else 1e-10)
    assert not np.array_equal(found[0][7], np.zeros(8))


def test_new_values_are_given_once_and_differentiated():
    """A value that the block leaves in a tensor outside goes on being differentiated."""
    state, count = Parameter(f64(0.0), name="state"), Parameter(Tensor(0), name="count")

    def block(x):
        count.set_data(count + 1)
        state.set_data(state * x + x)
        return x * state

    def f(block):
        def run(x):
            state.set_data(f64(0.5))
            y = block(x) + block(x * x)
            return y * state * x

        return run

    x = f64(0.7)
    for order in range(4):
        found = []
        for wrapped in (recompute(block), block):
            g = f(wrapped)
            for _ in range(order):
                g = dg.grad(g)
            count.set_data(Tensor(0))
            found.append((float(g(x)), int(count)))
        assert found[0] == pytest.approx(found[1], rel=1e-13)
        assert found[0][1] == 2


@pytest.mark.eager("counts bytes")
def test_memory_falls():
    """A chain of blocks keeps their inputs instead of everything inside."""
    n, blocks, depth = 1000, 6, 10

    def block(x):
        for _ in range(depth):
            x = ops.sin(x)
        return x

    def kept(block):
        def f(x):
            for _ in range(blocks):
                x = block(x)
            return x.sum()

        with tape_reports() as reports:
            dg.grad(f)(ops.ones((n,), dg.float64))
        return max(report["bytes"] for report in reports)

    plain, little = kept(block), kept(recompute(block))
    assert plain >= 8 * n * blocks * depth
    assert little <= 8 * n * (blocks + depth + 3)


@pytest.mark.eager("recorded blocks run once")
def test_a_block_that_is_another_at_its_second_run():
    calls = iter(range(10))
    counting = recompute(lambda x: (x * next(calls)).sum())
    assert_raises(RuntimeError, lambda: dg.grad(counting)(f64([1.0])), "recompute", "another result", "random")
    hidden = [f64(1.0), f64(2.0)]
    changing = recompute(lambda x: x * hidden.pop())
    assert_raises(RuntimeError, lambda: dg.grad(changing)(f64(1.0)), "another result")


def test_runs_of_a_block_may_round_in_another_way():
    """Large arrays of the first run are computed by a program, those of the second one perhaps step by step."""

    def attention(x):
        a = ops.permute(x, (0, 2, 1, 3)) / 2.5
        weights = ops.softmax(ops.matmul(a, ops.swapaxes(a, 2, 3)), -1)
        return ops.permute(ops.matmul(weights, a), (0, 2, 1, 3))

    chain = lambda x: attention(attention(attention(x)))
    x = Tensor(np.random.default_rng(0).standard_normal((8, 128, 16, 32)).astype(np.float32))
    found, expected = [dg.grad(f)(x).asnumpy() for f in (recompute(chain), chain)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_values_change_between_the_runs():
    """What the second run reads is what the first one read."""
    w = Parameter(f64(2.0), name="w")
    _, pull = dg.vjp(recompute(lambda x: x * w), f64(3.0))
    w.set_data(f64(100.0))
    assert float(pull(f64(1.0))[0]) == 2.0


@pytest.mark.eager("recorded blocks run once")
def test_an_input_that_is_changed_in_place():
    def block(x):
        x[0] = 1.0
        return x * x

    assert_raises(RuntimeError, lambda: dg.grad(recompute(block))(f64([2.0, 3.0])), "in place", "copy")


@pytest.mark.eager("recorded blocks run once")
def test_a_pullback_made_outside():
    def f(x):
        _, pull = dg.vjp(ops.sin, x)
        return recompute(lambda y: pull(y)[0] * y)(x)

    assert_raises(RuntimeError, lambda: dg.grad(f)(f64(0.5)), "recompute", "pullback")


def test_in_a_recorded_function():
    f = dg.jit(lambda x: dg.grad(lambda x: recompute(lambda x: ops.sin(x * W).sum())(x * x))(x))
    net = again(network())
    g = dg.jit(lambda x: dg.grad(lambda x: (net(x) ** 2).sum())(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(4):
            x = f64([0.1 * i, 0.5])
            np.testing.assert_allclose(f(x), 2 * x * W * ops.cos(x * x * W), rtol=1e-14)
            assert g(Tensor(np.ones((3, 4)))).shape == (3, 4)


def test_called_at_once_as_in_mindspore():
    assert float(recompute(ops.sin, f64(0.5), use_reentrant=False)) == np.sin(0.5)
    assert_raises(TypeError, lambda: recompute(3, f64(0.5)), "int")


@pytest.mark.eager("counts objects")
def test_nothing_is_left_behind():
    def f(x):
        y = ops.sin(x)
        return recompute(lambda x: x * y)(x)

    assert_leaves_nothing(lambda: dg.grad(dg.grad(dg.grad(f)))(f64(0.5)))
