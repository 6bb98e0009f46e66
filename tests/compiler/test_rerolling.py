"""Rerolling: loops in Python become loops of programs again, under every transform."""

import numpy as np
import pytest
from mixed_loops import W
from nested_transforms import TRANSFORMS
from support import f64, numbers
from ways import programs_run

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import passes, specified, verified

N = 40  # iterations
XS = f64(np.linspace(0.2, 0.9, N))
TABLE = np.linspace(0.1, 0.4, 2 * N).reshape(N, 2)
MATRIX = f64([[0.3, -0.2], [0.1, 0.4]])


def oscillator(x, w):
    """One carry of two numbers, by a method of four stages."""
    slope = lambda y: ops.stack([y[1], -w * ops.sin(y[0]) * W])
    y, h = ops.stack([x, w]), 0.05
    for _ in range(N):
        a = slope(y)
        b = slope(y + a * (h / 2))
        c = slope(y + b * (h / 2))
        y = y + (a + 2 * (b + c) + slope(y + c * h)) * (h / 6)
    return y.sum()


def with_entries(x, w):
    """Constants that differ, and entries of tensors, in each iteration."""
    y, total = ops.stack([x, w]), 0.0
    for i in range(N):
        y = ops.tanh(MATRIX @ y + Tensor(TABLE[i]) * x + 0.01 * i) * 0.9 + XS[i] * 0.1
        total = total + (y * y).sum() * 0.1
    return total + y[0]


def with_results(x, w):
    """What each iteration makes is read afterwards, one by one and together."""
    y, seen = ops.stack([x, w]), []
    for _ in range(N):
        y = ops.sin(y * 1.1 + w * 0.1) + 0.1 * ops.cos(MATRIX @ y)
        seen.append(y)
    return ops.stack(seen).mean() + seen[3][0] * seen[N // 2][1] + sum((s * s).sum() for s in seen[::-1]) * 0.1


def one_after_the_other(x, w):
    """Two loops; the second one goes through what the first one has made, from the last to the first."""
    y, seen = ops.stack([x, w]), []
    for _ in range(N):
        y = ops.sin(y * 1.1 + x) + 0.1 * ops.cos(MATRIX @ y) * w
        seen.append(y)
    z = ops.stack([w, x])
    for s in reversed(seen):
        z = ops.tanh(z * s + MATRIX @ z) + 0.1 * ops.exp(-s * w)
    return (z * y).sum()


def in_each_other(x, w):
    """A loop of two iterations in each iteration."""
    y = ops.stack([x, w])
    for _ in range(N):
        for _ in range(2):
            y = ops.sin(MATRIX @ y + x) + 0.5 * y * w
        y = y / (1.0 + (y * y).sum())
    return y[0] + 2.0 * y[1]


def two_before(x, w):
    """Each iteration reads what the last but one has made: two of them are a step."""
    y, z = ops.stack([x, w]), ops.stack([w, x])
    for _ in range(N):
        y, z = z, ops.sin(y + MATRIX @ z * w) + 0.1 * ops.cos(y * z + x)
    return (y * z).sum()


LOOPS = {
    f.__name__: f for f in (oscillator, with_entries, with_results, one_after_the_other, in_each_other, two_before)
}

POINTS = [(0.4, 0.9), (0.7, 0.6), (0.5, 0.8)]


def assert_recorded(f):
    recorded = dg.jit(lambda x, w: f(x, w))
    for x, w in POINTS:
        expected = numbers(f(f64(x), f64(w)))
        for a, b in zip(numbers(recorded(f64(x), f64(w))), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def loops_of(f):
    made = passes(dg.jit(lambda x, w: f(x, w)), last="reroll")(f64(0.4), f64(0.9))
    return str(made["reroll"]).count(" loop(") if "reroll" in made else 0


@pytest.mark.rotated("name")
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform(name, transform):
    assert_recorded(TRANSFORMS[transform][0](LOOPS[name]))


@pytest.mark.rotated("name")
@pytest.mark.parametrize("name", LOOPS)
def test_plans_are_sound(name):
    for f in (LOOPS[name], dg.grad(LOOPS[name]), TRANSFORMS["hessian"][0](LOOPS[name])):
        with specified(), verified():
            assert_recorded(f)
        with programs_run("deferred"):
            assert_recorded(f)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_found(name):
    """On the way there one for each loop, and on the way back."""
    loops = loops_of(LOOPS[name])
    assert loops == {"with_results": 3, "one_after_the_other": 2}.get(name, 1)
    assert loops_of(dg.grad(LOOPS[name])) >= {"two_before": 1, "one_after_the_other": 4}.get(name, 2)


# ------------------------------------------------------------------------------------------------ orders of entries

LONG = 30  # entries
ROWS = np.random.default_rng(7).normal(size=(LONG, 2))
ORDERS = {
    "forward": range(LONG),
    "backward": range(LONG)[::-1],
    "inside": range(2, LONG - 3),
    "inside, backward": range(2, LONG - 3)[::-1],
    "from the first": range(LONG - 5),
    "every other": range(0, LONG, 2),
    "every other, backward": range(0, LONG, 2)[::-1],
}


def made_by_a_loop(c, order):
    y, seen = c * 0.5, [None] * LONG
    for i in order:
        y = seen[i] = ops.sin(y * 1.1) + WEIGHTS[i]
    return seen


WEIGHTS = Tensor(ROWS[::-1] * 0.7)
SOURCES = {
    "numbers": lambda x, c: [Tensor(row) for row in ROWS],
    "rows of a constant": lambda x, c: WEIGHTS,
    "rows of an input": lambda x, c: x,
    "results of a loop": lambda x, c: made_by_a_loop(c, range(LONG)),
    "results of a loop backwards": lambda x, c: made_by_a_loop(c, range(LONG)[::-1]),
}


def in_orders(orders):
    """A loop whose iterations take an entry of each source, in the order of the source; some results are read."""

    def loop(x, c):
        entries = [(SOURCES[source](x, c), ORDERS[order]) for source, order in orders.items()]
        y, seen = c * 0.1, []
        for k in range(min(len(order) for _, order in entries)):
            for entry, order in entries:
                y = ops.tanh(y * 0.9 + entry[order[k]] * c)
            seen.append(y * 1.1 + c)
            y = seen[-1] - ops.cos(y)
        return (y * seen[2] + seen[-3] * seen[1]).sum()

    return loop


def assert_recorded_at(f):
    x, c = f64(ROWS * 0.8), f64([0.4, -0.7])
    recorded = dg.jit(lambda x, c: f(x, c))
    results = [recorded(x, c).asnumpy() for _ in range(3)]
    np.testing.assert_allclose(results[-1], f(x, c).asnumpy(), rtol=1e-11, atol=1e-13)


TURNS = ["forward", "backward"], ["backward", "forward"], ["inside", "inside, backward"], ["inside, backward", "inside"]


@pytest.mark.parametrize("turn", [*([order] for order in list(ORDERS)[:4]), *TURNS], ids=" then ".join)
def test_entries_of_all_sources(turn):
    """The iterations are numbered backwards if one source is: those of the others then count down."""
    orders = {source: turn[k % len(turn)] for k, source in enumerate(SOURCES)}
    assert_recorded_at(dg.grad(in_orders(orders), 1))


@pytest.mark.rotated("source", "order", "beside")
@pytest.mark.parametrize("beside", [None, "forward", "backward", "inside"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("source", SOURCES)
def test_entries_in_every_order(source, order, beside):
    orders = {source: order} | ({} if beside is None else {"rows of a constant": beside})
    for f in (in_orders(orders), dg.grad(in_orders(orders)), dg.grad(in_orders(orders), 1)):
        assert_recorded_at(f)
