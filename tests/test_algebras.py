"""Duals over algebras other than the dual numbers: jets, hyper-duals, the forward Laplacian."""

import mpmath
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.algebra import hyper_duals, jets, laplacian_algebra
from dualgrad._engine.forward import run_forward


def t(x):
    return Tensor(np.asarray(x, np.float64))


SCALAR = {
    "exp of sin": (lambda x: ops.exp(ops.sin(x)), lambda x: mpmath.exp(mpmath.sin(x))),
    "tanh over a polynomial": (lambda x: ops.tanh(x) / (1 + x * x), lambda x: mpmath.tanh(x) / (1 + x * x)),
    "sigmoid, sqrt, log": (
        lambda x: ops.sigmoid(x) * ops.sqrt(x + 1) * ops.log(2 + x),
        lambda x: mpmath.sqrt(x + 1) * mpmath.log(2 + x) / (1 + mpmath.exp(-x)),
    ),
    "inverse functions": (
        lambda x: ops.atan(x) + ops.asin(x) ** 2,
        lambda x: mpmath.atan(x) + mpmath.asin(x) ** 2,
    ),
    "a real power": (lambda x: (1 + x) ** 2.5, lambda x: (1 + x) ** mpmath.mpf("2.5")),
    "a variable power": (lambda x: (1 + x) ** x, lambda x: (1 + x) ** x),
    "erf": (lambda x: ops.erf(x), mpmath.erf),
}


@pytest.mark.parametrize("name", SCALAR)
def test_jets_of_order_eight_against_mpmath(name):
    ours, theirs = SCALAR[name]
    order, x = 8, 0.375
    jet = run_forward("jet", jets(order), ours, [[t(x), t(1.0)] + [None] * (order - 1)])
    with mpmath.workdps(50):
        expected = mpmath.taylor(theirs, mpmath.mpf(x), order)
    scale = max(abs(float(e)) for e in expected)
    for coefficient, e in zip(jet, expected, strict=True):
        np.testing.assert_allclose(float(coefficient), float(e), rtol=1e-12, atol=1e-14 * scale)


def test_hyper_duals_give_a_mixed_third_derivative():
    f = lambda x, y, z: ops.sin(x * y) * ops.exp(y * z) + x * z
    inputs = [[t(0.3)] + [None] * 7, [t(-0.7)] + [None] * 7, [t(1.1)] + [None] * 7]
    for i in range(3):
        inputs[i][1 << i] = t(1.0)
    got = run_forward("hyper", hyper_duals(3), f, inputs)[7]
    with mpmath.workdps(40):
        g = lambda x, y, z: mpmath.sin(x * y) * mpmath.exp(y * z) + x * z
        expected = mpmath.diff(g, (0.3, -0.7, 1.1), (1, 1, 1))
    np.testing.assert_allclose(float(got), float(expected), rtol=1e-13)


def test_forward_laplacian_of_a_network_against_the_trace_of_its_hessian():
    rng = np.random.default_rng(3)
    w1, w2, w3 = rng.normal(size=(4, 8)), rng.normal(size=(8, 8)) / 3, rng.normal(size=(8, 1))
    net = lambda x: ops.sum(ops.tanh(ops.tanh(x @ w1) @ w2) @ w3)
    x = rng.normal(size=(1, 4))
    parts = [t(x)] + [t(np.eye(4)[i : i + 1]) for i in range(4)] + [None]
    got = 2.0 * float(run_forward("laplacian", laplacian_algebra(4), net, [parts])[5])
    trace = 0.0
    for i in range(4):
        e = np.eye(4)[i : i + 1]
        trace += dg.grad(lambda x, e=e: ops.sum(dg.grad(net)(x) * e))(t(x)).asnumpy()[0, i]
    np.testing.assert_allclose(got, trace, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_jets_agree_with_nested_duals_through_structural_primitives(order):
    rng = np.random.default_rng(order)
    x, v = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))

    def f(x):
        y = ops.cat((x, ops.square(x)), 1)
        y = ops.where(y > 0, ops.exp(y), y) @ y.T
        return ops.sum(ops.amax(y, 1) * ops.cumsum(y, 0)[:, 1]) + ops.norm(y[::2])

    jet = run_forward("jet", jets(order), f, [[t(x), t(v)] + [None] * (order - 1)])
    g = f
    for _ in range(order):
        g = lambda x, g=g: dg.jvp(g, x, t(v))[1]
    factorial = float(mpmath.factorial(order))
    np.testing.assert_allclose(float(jet[order]) * factorial, float(g(t(x))), rtol=1e-11)
