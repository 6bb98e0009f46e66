"""The three sweeps over a tape, for every elementwise row: they agree with each other, and with differences.

A pullback keeps its tape. Calling it is the sweep of cotangents, `push` is the sweep of tangents, and the gradient of
a gradient is the sweep of tangents of cotangents.
"""

import numpy as np
import pytest
from engine import OPCODES, apply
from support import f64

import dualgrad as dg
from dualgrad import extend, ops
from dualgrad._engine.transforms.pullback import run_vjp
from dualgrad._table import BY_NAME

pytestmark = pytest.mark.eager("looks at tapes")

ROWS = [row for row in extend.rows() if row.name in BY_NAME and row.family == "elementwise" and row.partials]
SIZE = 5


def inputs(row):
    """Points inside the domains of the operands that have slopes, and the others."""
    rng = np.random.default_rng(len(row.name))
    moving, held = [], {}
    for i, (low, high) in enumerate(row.domain):
        low, high = max(low, -4.0), min(high, 4.0)
        if i in row.differentiable:
            moving.append(low + (high - low) * rng.uniform(0.2, 0.8, SIZE))
        else:
            held[i] = row.orders[0]
    return moving, held


def function(row, held):
    """The row between other instructions: each operand is a sum, so cotangents are added up, and so is the result."""

    def f(*xs):
        given = iter(xs)
        operands = []
        for i in range(row.arity):
            x = f64(held[i]) if i in held else next(given)
            operands.append(x if i in held else x * 0.5 + x * 0.5)
        y = apply(OPCODES[row.name], None, *operands)
        return y + y * 0.25

    return f


def case(row):
    """The function, its inputs, directions in which they move, and a cotangent."""
    moving, held = inputs(row)
    rng = np.random.default_rng(7)
    return function(row, held), moving, [rng.normal(size=SIZE) for _ in moving], rng.normal(size=SIZE)


def pullback(f, xs):
    return run_vjp("vjp", f, tuple(map(f64, xs)), [], False, lambda gradients, weights: gradients)[:2]


def close(got, expected, rtol):
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * max(np.abs(expected).max(), 1e-300))


def cotangents(f, xs, ct):
    """By the sweep of cotangents."""
    return [g.asnumpy() for g in pullback(f, xs)[1].pulled(f64(ct))]


each_row = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


@each_row
def test_cotangents_are_dual_to_tangents(row):
    """<ct, J dx> = <J^T ct, dx>, element by element: the rows are elementwise."""
    f, xs, directions, ct = case(row)
    tangent = pullback(f, xs)[1].push(tuple(map(f64, directions))).asnumpy()
    pulled = cotangents(f, xs, ct)
    close(sum(g * dx for g, dx in zip(pulled, directions, strict=True)), ct * tangent, 1e-12)


@each_row
def test_tangents_are_those_of_forward_mode(row):
    """A sweep over a tape, and dual numbers without one."""
    f, xs, directions, _ = case(row)
    swept = pullback(f, xs)[1].push(tuple(map(f64, directions))).asnumpy()
    forward = dg.jvp(f, tuple(map(f64, xs)), tuple(map(f64, directions)))[1].asnumpy()
    close(swept, forward, 1e-12)


@each_row
def test_tangents_are_limits_of_differences(row):
    f, xs, directions, _ = case(row)
    swept = pullback(f, xs)[1].push(tuple(map(f64, directions))).asnumpy()
    h = 1e-6
    ends = [f(*[f64(x + sign * h * dx) for x, dx in zip(xs, directions, strict=True)]).asnumpy() for sign in (1, -1)]
    close(swept, (ends[0] - ends[1]) / (2 * h), 2e-6)


def moved(f, xs, directions, ct):
    """The tangents of the cotangents: the gradient of <J^T ct, dx>, by the sweep in dual numbers."""

    def along(*xs):
        gradients = dg.grad(lambda *ys: (f(*ys) * f64(ct)).sum(), tuple(range(len(xs))))(*xs)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return sum((g * f64(dx)).sum() for g, dx in zip(gradients, directions, strict=True))

    found = dg.grad(along, tuple(range(len(xs))))(*map(f64, xs))
    return [g.asnumpy() for g in (found if isinstance(found, tuple) else (found,))]


@each_row
def test_tangents_of_cotangents_are_those_of_a_sweep_over_duals(row):
    """The new part alone, and the sweep of cotangents over a tape whose primals are dual numbers."""
    f, xs, directions, ct = case(row)

    def pulled(*xs):
        return dg.vjp(f, *xs)[1](f64(ct))

    forward = dg.jvp(pulled, tuple(map(f64, xs)), tuple(map(f64, directions)))[1]
    forward = forward if isinstance(forward, tuple) else (forward,)
    for swept, expected in zip(moved(f, xs, directions, ct), forward, strict=True):
        close(swept, expected.asnumpy(), 1e-11)


@each_row
def test_tangents_of_cotangents_are_limits_of_differences(row):
    f, xs, directions, ct = case(row)
    h = 1e-6
    ends = [cotangents(f, [x + sign * h * dx for x, dx in zip(xs, directions, strict=True)], ct) for sign in (1, -1)]
    for swept, after, before in zip(moved(f, xs, directions, ct), *ends, strict=True):
        scale = np.abs(np.concatenate([after, before])).max()
        np.testing.assert_allclose(swept, (after - before) / (2 * h), rtol=1e-5, atol=1e-8 * max(scale, 1.0))


# ------------------------------------------------------------------------------------------------------------ the watch


# Two instructions whose slopes are infinite at 0, in the order in which they are executed.
ORDERS = {
    "sqrt, power": lambda x: ops.sqrt(x) + x**0.5,
    "power, sqrt": lambda x: x**0.5 + ops.sqrt(x),
}
WATCHED = {
    "cotangents": (lambda f, x: dg.grad(lambda x: f(x).sum())(x), "order 1 (reverse)", -1),
    "tangents": (lambda f, x: pullback_of_tensor(f, x).push((ops.ones_like(x),)), "order 1 (forward)", 0),
}


def pullback_of_tensor(f, x):
    return run_vjp("vjp", f, (x,), [], False, lambda gradients, weights: gradients)[1]


@pytest.mark.parametrize("sweep", WATCHED)
@pytest.mark.parametrize("order", ORDERS)
def test_the_watch_names_what_the_sweep_meets_first(order, sweep):
    """Backwards that is the instruction that was executed last."""
    call, what, at = WATCHED[sweep]
    with pytest.raises(FloatingPointError) as caught, dg.check_finite():
        call(ORDERS[order], f64([1.0, 0.0]))
    assert str(caught.value).startswith(f"{order.split(', ')[at]}: its derivative of {what} is inf at (1,)")


@pytest.mark.parametrize("first", [1.5, 4 / 3])
def test_the_watch_names_second_derivatives(first):
    """A slope of 0 and an infinite second derivative at 0, which the third sweep meets; the square has neither."""

    def f(x):
        return (x**first + ops.square(x)).sum()

    with pytest.raises(FloatingPointError) as caught, dg.check_finite():
        dg.grad(lambda x: dg.grad(f)(x).sum())(f64([1.0, 0.0]))
    assert str(caught.value).startswith("power: its derivative of order 2 (reverse over reverse) is inf at (1,)")
