"""jet and derivative: against mpmath, nests of gradients, the work they do."""

import gc
import itertools
import math

import mpmath
import numpy as np
import pytest
from engine import forget_programs, programs
from support import f64, work

import dualgrad as dg
from dualgrad import Tensor, nn, ops


def exp_sin(x):
    return ops.exp(ops.sin(x))


def exact(f, x, order):
    """The derivative of a function of mpmath."""
    with mpmath.workdps(60):
        return float(mpmath.taylor(f, mpmath.mpf(x), order)[order] * mpmath.factorial(order))


def exact_exp_sin(x, order):
    return exact(lambda t: mpmath.exp(mpmath.sin(t)), x, order)


@pytest.mark.parametrize("order", range(1, 13))
def test_orders_up_to_twelve(order):
    points = [0.4, -1.3, 2.0]
    expected = [exact_exp_sin(x, order) for x in points]
    value, found = ops.derivative(exp_sin, f64(points), order)
    np.testing.assert_allclose(value.asnumpy(), np.exp(np.sin(points)), rtol=1e-15)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("f", [ops.tanh, ops.sin, lambda x: x**2.5], ids=["tanh", "sin", "power"])
def test_nothing_of_a_jet_waits_for_the_collector(f):
    """Slopes name each other in a circle, which is cut when they have been read."""
    ops.derivative(f, f64([0.4]), 5)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(100):
            ops.derivative(f, f64([0.4]), 5)
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()


def test_all_orders_in_one_jet():
    points, order = [0.4, -1.3, 2.0], 12
    series = np.zeros((order, len(points)))
    series[0] = 1.0
    _, found = ops.jet(exp_sin, f64(points), f64(series))
    expected = [[exact_exp_sin(x, k) for x in points] for k in range(1, order + 1)]
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 13))
def test_as_many_nested_gradients(order):
    g = exp_sin
    for _ in range(order):
        g = dg.grad(g)
    np.testing.assert_allclose(float(g(f64(0.4))), exact_exp_sin(0.4, order), rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 11))
def test_nested_gradients_recorded(order):
    g = exp_sin
    for _ in range(order):
        g = dg.grad(g)
    recorded = dg.jit(g)
    recorded(f64(0.4))
    recorded(f64(0.4))
    for x in 0.4, -1.3:
        np.testing.assert_allclose(float(recorded(f64(x))), exact_exp_sin(x, order), rtol=1e-12)


FUNCTIONS = {
    "1 / (1 - x)": (lambda x: 1.0 / (1.0 - x), lambda x: 1 / (1 - x), (0.3, -2.0)),
    "sin of a cube": (lambda x: ops.sin(x**3), lambda x: mpmath.sin(x**3), (0.5, 1.1)),
    "tanh": (ops.tanh, mpmath.tanh, (0.0, 0.7, 5.0, 20.0)),
    "atan": (lambda x: ops.atan(10.0 * x), lambda x: mpmath.atan(10 * x), (0.01, 0.3)),
    "erf": (ops.erf, mpmath.erf, (0.2, 1.5)),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf("2.5"), (0.7, 3.0)),
    "matrix inverse": (
        lambda x: ops.inverse(ops.stack((ops.stack((x, x * x)), ops.stack((ops.ones_like(x), 3.0 + x)))))[0, 0],
        lambda x: (3 + x) / (x * (3 + x) - x**2),
        (0.4, 2.0),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_mpmath_to_order_fifteen(name):
    ours, theirs, points = FUNCTIONS[name]
    for x, order in itertools.product(points, (1, 2, 3, 5, 8, 15)):
        found = float(ops.derivative(ours, f64(x), order)[1])
        expected = exact(theirs, x, order)
        # no more digits than the terms have that cancel: r^-k k! with the distance r to the nearest pole
        scale = abs(expected) or max(abs(exact(theirs, x, k)) for k in range(order))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * scale, err_msg=f"{x}, order {order}")


def test_the_numbers_of_the_reference():
    x = Tensor([[1, 2], [3, 4]])
    series = Tensor(np.array([np.ones((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))], np.float32))
    value, derivatives = ops.jet(exp_sin, x, series)
    assert value.dtype == derivatives.dtype == dg.float32
    np.testing.assert_allclose(value.asnumpy(), [[2.319777, 2.4825778], [1.1515628, 0.4691642]], rtol=1e-6)
    expected = [
        [[1.2533808, -1.0331168], [-1.1400385, -0.3066662]],
        [[-1.2748207, -1.8274734], [0.966121, 0.55551505]],
        [[-4.0515366, 3.6724353], [0.5053504, -0.52061415]],
    ]
    np.testing.assert_allclose(derivatives.asnumpy(), expected, rtol=2e-6)
    value, third = ops.derivative(exp_sin, x, 3)
    np.testing.assert_allclose(third.asnumpy(), expected[2], rtol=2e-6)

    class Net(nn.Cell):
        def construct(self, x):
            return exp_sin(x)

    np.testing.assert_array_equal(dg.derivative(Net(), x, 3)[1].asnumpy(), third.asnumpy())
    assert ops.functional.derivative is ops.derivative is dg.derivative
    assert ops.functional.jet is ops.jet is dg.jet


def test_a_curve_and_several_inputs():
    """Derivatives of f(x(t), y(t)) with x = cos t, y = sin 2t at t = 0.3."""
    t, order = 0.3, 6
    curves = [lambda t: mpmath.cos(t), lambda t: mpmath.sin(2 * t)]
    series = [f64([exact(c, t, k) for k in range(1, order + 1)]) for c in curves]
    points = tuple([f64(exact(c, t, 0)) for c in curves])
    f = lambda x, y: {"a": ops.exp(x * y), "b": (ops.sin(y), 3, f64(1.0))}
    value, found = ops.jet(f, points, tuple(series))
    theirs = {"a": lambda t: mpmath.exp(curves[0](t) * curves[1](t)), "b": lambda t: mpmath.sin(curves[1](t))}
    np.testing.assert_allclose(float(value["a"]), exact(theirs["a"], t, 0), rtol=1e-15)
    assert value["b"][1] == found["b"][1] == 3
    for k in range(order):
        np.testing.assert_allclose(found["a"].asnumpy()[k], exact(theirs["a"], t, k + 1), rtol=1e-12)
        np.testing.assert_allclose(found["b"][0].asnumpy()[k], exact(theirs["b"], t, k + 1), rtol=1e-12)
    np.testing.assert_array_equal(found["b"][2].asnumpy(), np.zeros(order))
    # the direction of ones: (d/dx + d/dy)^2 of x^2 y
    _, second = ops.derivative(lambda x, y: x * x * y, (f64(2.0), f64(5.0)), 2)
    np.testing.assert_allclose(float(second), 2 * 5 + 4 * 2)


def test_derivatives_of_derivatives():
    f = lambda x: ops.derivative(lambda y: ops.derivative(exp_sin, y, 3)[1], x, 4)[1]
    x = f64(0.4)
    seventh, eighth = exact_exp_sin(0.4, 7), exact_exp_sin(0.4, 8)
    np.testing.assert_allclose(float(f(x)), seventh, rtol=1e-12)
    np.testing.assert_allclose(float(dg.jit(f)(x)), seventh, rtol=1e-12)
    np.testing.assert_allclose(float(dg.grad(f)(x)), eighth, rtol=1e-12)
    np.testing.assert_allclose(float(dg.jvp(f, x, f64(1.0))[1]), eighth, rtol=1e-12)
    np.testing.assert_allclose(float(ops.derivative(dg.grad(dg.grad(exp_sin)), x, 5)[1]), seventh, rtol=1e-12)
    many = f64([0.4, 0.4])
    np.testing.assert_allclose(dg.vmap(f)(many).asnumpy(), [seventh] * 2, rtol=1e-12)
    np.testing.assert_allclose(dg.jacfwd(f)(many).asnumpy(), np.eye(2) * eighth, rtol=1e-12)
    np.testing.assert_allclose(
        dg.hessian(lambda x: ops.derivative(exp_sin, x, 5)[1].sum())(many).asnumpy(), np.eye(2) * seventh, rtol=1e-12
    )


def test_the_work_grows_with_the_square_of_the_order():
    x = f64(0.4)
    counts = {k: len(work(lambda x, k=k: ops.derivative(exp_sin, x, k)[1], x)) for k in range(2, 17)}
    second = np.diff(list(counts.values()), 2)
    assert len(set(second)) == 1, counts  # a quadratic polynomial, exactly
    for k in range(4, 9):
        assert math.log2(counts[2 * k] / counts[k]) <= 2.0
    # a linear function costs as many products as there are coefficients, not their square
    matrix = f64(np.ones((3, 3)))
    assert work(lambda x: ops.derivative(lambda y: matrix @ ops.exp(y), x, 9)[1], f64(np.ones(3))).count("matmul") == 1


def test_graph_mode():
    forget_programs()
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        x = f64([0.3, 0.4])
        forwards, backwards = dg.jacfwd(dg.grad(exp_sin)), dg.jacrev(dg.grad(exp_sin))
        for _ in range(3):
            found = [
                ops.derivative(exp_sin, x, 2)[1],
                dg.hvp(lambda x: exp_sin(x).sum())(x, f64([1.0, 1.0])),
                dg.hessian(lambda x: exp_sin(x).sum())(x).sum(0),
                forwards(x).sum(1),
                backwards(x).sum(1),
            ]
        for other in found[1:]:
            np.testing.assert_allclose(other.asnumpy(), found[0].asnumpy(), rtol=1e-13)
        names = [name for name, confirmed, _ in programs() if confirmed]
        assert len(names) == len(found)
    finally:
        dg.set_context(mode=dg.PYNATIVE_MODE)


def test_errors():
    x = f64([1.0, 2.0])
    for order, error in (("2", TypeError), (2.0, TypeError), (True, TypeError), (0, ValueError), (-1, ValueError)):
        with pytest.raises(error, match="derivative: order is"):
            ops.derivative(ops.exp, x, order)
    for name, call in {
        "derivative": lambda f, x: ops.derivative(f, x, 2),
        "jet": lambda f, x: ops.jet(f, x, x),
    }.items():
        with pytest.raises(TypeError, match=f"{name}: expected a function"):
            call(3, x)
        with pytest.raises(TypeError, match=f"{name}: input 0 is 1.*make it a float"):
            call(ops.exp, 1)
    for series, words in (
        (f64(1.0), r"shape \(\)"),
        (f64([1.0, 2.0]), r"shape \(2,\); expected \(order, \*\(2,\)\)"),
        (f64(np.ones((0, 2))), r"shape \(0, 2\)"),
        (f64(np.ones((2, 3))), r"shape \(2, 3\)"),
    ):
        with pytest.raises(ValueError, match=f"jet: series 0 has {words}"):
            ops.jet(ops.exp, x, series)
    with pytest.raises(ValueError, match="jet: 1 inputs but 2 series"):
        ops.jet(ops.exp, x, (x, x))
    with pytest.raises(ValueError, match="series 1 has 2 derivatives, those before it 1"):
        ops.jet(ops.add, (x, x), (f64(np.ones((1, 2))), f64(np.ones((2, 2)))))
    with pytest.raises(TypeError, match="series 0 is a list"):
        ops.jet(ops.exp, (x,), ([1.0],))
    with pytest.raises(ValueError, match="jet: there are no inputs"):
        ops.jet(lambda: x, (), ())
    with pytest.raises(ValueError, match=r"jet: series 0 does not have the keys \['a'\]; got one tensor"):
        ops.jet(ops.exp, {"a": x}, f64(np.ones((1, 2))))
    for nothing in ("text", {"a": None}, object()):
        with pytest.raises(TypeError, match=r"derivative: input 0 is an? .*pytree of them"):
            ops.derivative(ops.exp, (nothing,), 1)
