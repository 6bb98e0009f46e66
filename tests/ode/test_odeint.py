"""Differential equations: derivatives of every order, beside closed forms, in every mode."""

import contextlib
import itertools
import sys
import types

import numpy as np
import pytest
from support import assert_leaves_nothing, f32, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.ode import odeint

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
METHODS = ("dopri5", "rodas5p")
ADJOINTS = ("discrete", "continuous")
START, MATRIX, TIMES = f64([1.0, 0.5]), f64([[0.1, -1.2], [0.9, -0.3]]), f64([0.2, 1.7])
W = f64([0.3, 0.8])


def linear(y, t, matrix):
    return matrix @ y


def solved(**settings):
    return lambda y0, matrix, t: odeint(linear, y0, t, matrix, **TIGHT, **settings)[-1]


def closed(y0, matrix, t):
    return ops.matrix_exp(matrix * (t[1] - t[0])) @ y0


def loss(g):
    """A number with all its derivatives."""
    return lambda *x: (W * g(*x)).sum() + (g(*x) ** 2).sum()


def again(g, position):
    """A number that has the gradient of another in it."""
    return lambda *x: (dg.grad(g, position)(*x) ** 2).sum()


# name: what is made of a function of (y0, matrix, t)
MODES = {
    "jacfwd": lambda g, i: dg.jacfwd(g, i),
    "jacrev": lambda g, i: dg.jacrev(g, i),
    "forward in reverse": lambda g, i: dg.hessian(loss(g), i),
    "forward twice": lambda g, i: dg.jacfwd(dg.jacfwd(loss(g), i), i),
    "reverse three times": lambda g, i: dg.grad(again(again(loss(g), i), i), i),
}
CASES = [
    *itertools.product(MODES, range(3), ["dopri5"], ADJOINTS),
    *itertools.product(["jacrev"], range(3), ["rodas5p"], ["discrete"]),
    ("reverse three times", 0, "rodas5p", "discrete"),
]


@pytest.mark.rotated("position")
@pytest.mark.parametrize(("mode", "position", "method", "adjoint"), CASES)
def test_linear_systems_to_order_three(mode, position, method, adjoint):
    transform = MODES[mode]
    found = transform(solved(method=method, adjoint=adjoint), position)(START, MATRIX, TIMES).asnumpy()
    expected = transform(closed, position)(START, MATRIX, TIMES).asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_forward_and_discrete_reverse_agree_up_to_rounding():
    for method in METHODS:
        g = lambda *x, method=method: odeint(linear, x[0], x[2], x[1], method=method, rtol=1e-4)[-1]
        for i in range(2):
            forward, reverse = dg.jacfwd(g, i)(START, MATRIX, TIMES), dg.jacrev(g, i)(START, MATRIX, TIMES)
            np.testing.assert_allclose(forward.asnumpy(), reverse.asnumpy(), rtol=1e-12, atol=1e-13)
        hessian = dg.hessian(loss(g))(START, MATRIX, TIMES).asnumpy()
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)


def test_steps_by_sensitivities():
    """Where the state stands still and its tangent does not, the tangent has to choose the steps."""
    still = lambda y, t, a: ops.sin(20 * t) * y * a
    f = lambda s: lambda y: odeint(still, y, [0.0, 3.0], f64(5.0), rtol=1e-8, sensitivities=s)[-1]
    expected = np.exp(5.0 * (1 - np.cos(60.0)) / 20)
    wrong = [float(dg.jvp(f(s), f64(0.0), f64(1.0))[1]) / expected - 1 for s in (False, True)]
    assert abs(wrong[1]) < 1e-6 < abs(wrong[0])


def test_pytrees_captured_tensors_and_constants():
    stiffness = Parameter(f64(1.3), name="stiffness")

    def swing(y, t, settings):
        return {"p": -stiffness * y["q"] * settings["scale"], "q": y["p"] + settings["force"] * ops.sin(t)}

    def last(force, y0):
        return odeint(swing, y0, [0.0, 0.3, 2.0], {"force": force, "scale": 2.0}, **TIGHT)["q"][-1].sum()

    y0, force = {"p": f64([0.1, 0.2]), "q": f64([0.5, -0.4])}, f64(0.7)
    of_force, of_stiffness = dg.grad(last, 0, stiffness)(force, y0)
    of_start = dg.grad(last, 1)(force, y0)
    h = 1e-5
    difference = (last(force + h, y0) - last(force - h, y0)) / (2 * h)
    assert float(of_force) == pytest.approx(float(difference), rel=1e-6)
    omega = np.sqrt(2.6)
    np.testing.assert_allclose(of_start["q"].asnumpy(), np.cos(2 * omega), rtol=1e-7)
    np.testing.assert_allclose(of_start["p"].asnumpy(), np.sin(2 * omega) / omega, rtol=1e-7)
    assert float(of_stiffness) != 0.0
    alone = lambda y0: odeint(swing, y0, f64([0.0]), {"force": force, "scale": 2.0})["q"]
    assert alone(y0).shape == (1, 2)
    np.testing.assert_array_equal(dg.grad(lambda y0: alone(y0).sum())(y0)["q"].asnumpy(), [1.0, 1.0])


@pytest.mark.rotated("method")
@pytest.mark.parametrize("method", METHODS)
def test_vmap_and_jit_take_steps_of_each_sample(method):
    f = lambda k: odeint(lambda y, t: -k * y * (1 + ops.sin(t)), f64(1.0), f64([0.0, 1.0, 3.0]), method=method)[-1]
    ks = f64([0.1, 9.0])
    for transform in (lambda g: g, dg.grad, lambda g: dg.grad(dg.grad(g))):
        one_by_one = [float(transform(f)(k)) for k in ks]
        rounding = {"rtol": 1e-10, "atol": 1e-16}  # the solution begins with 1
        np.testing.assert_allclose(dg.vmap(transform(f))(ks).asnumpy(), one_by_one, **rounding)
        recorded = dg.jit(transform(f))
        for _ in range(9):  # from the fifth solution on there are several steps in one call
            np.testing.assert_allclose([float(recorded(k)) for k in ks], one_by_one, **rounding)


def test_backwards_and_equal_times():
    grow = lambda y, t: y * t
    exact = lambda t, s: np.exp((t * t - s * s) / 2)
    found = odeint(grow, f64(2.0), [1.0, 1.0, 0.5, -1.0, -1.0], **TIGHT).asnumpy()
    np.testing.assert_allclose(found, [2.0 * exact(t, 1.0) for t in (1.0, 1.0, 0.5, -1.0, -1.0)], rtol=1e-8)
    assert found[0] == found[1] == 2.0
    assert found[3] == found[4]
    t = f64([1.0, 1.0, 0.0])
    jacobian = dg.jacrev(lambda t: odeint(grow, f64(2.0), t, **TIGHT))(t).asnumpy()
    np.testing.assert_allclose(
        jacobian, dg.jacfwd(lambda t: odeint(grow, f64(2.0), t, **TIGHT))(t).asnumpy(), atol=1e-8
    )
    np.testing.assert_allclose(jacobian[1], [-2.0, 2.0, 0.0], atol=1e-12)


def test_single_precision():
    f = lambda k: odeint(lambda y, t, k: -k * y, f32(1.0), [0.0, 1.0], k)[-1]
    assert f(f32(0.5)).dtype == dg.grad(f)(f32(0.5)).dtype == dg.float32
    assert float(dg.grad(f)(f32(0.5))) == pytest.approx(-np.exp(-0.5), rel=1e-3)


@pytest.mark.eager("counts objects")
def test_nothing_is_left_behind():
    f = lambda k: odeint(lambda y, t, k: -k * y, f64(1.0), f64([0.0, 1.0]), k)[-1]
    assert_leaves_nothing(lambda: dg.grad(dg.grad(f))(Tensor(0.5, dg.float64)))


class Settings:
    k = 0.0


def decays(kind):
    """Makes f of y' = -k y and a function that sets k, which f reads from outside."""
    settings, items, array = Settings(), [0.0], np.zeros(1)

    def put(value):
        settings.k = items[0] = array[0] = value

    rates = {
        "attribute": lambda y, t: -settings.k * y,
        "item": lambda y, t: -items[0] * y,
        "array": lambda y, t: -float(array[0]) * y,
    }
    return rates[kind], put


@pytest.mark.rotated("kind")
@pytest.mark.eager("changes what f reads")
@pytest.mark.parametrize("kind", ["attribute", "item", "array"])
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_another_f_on_the_way_back_is_refused(kind, adjoint):
    """A pullback runs f again; by then it must be what it was."""

    def total(y, several=False):
        f, put = decays(kind)
        result = 0.0
        for k in (1.0, 2.0, 3.0):
            if several:
                f, put = decays(kind)
            put(k)
            result = result + odeint(f, y, [0.0, 1.0], rtol=1e-10, adjoint=adjoint)[-1]
        return result

    y, right = f64(1.0), pytest.approx(np.exp([-1.0, -2.0, -3.0]).sum(), rel=1e-8)
    assert float(dg.jvp(total, y, y)[1]) == right
    assert float(dg.grad(lambda y: total(y, several=True))(y)) == right
    for gradient in (dg.grad(total), dg.jit(dg.grad(total)), dg.hessian(total)):
        with pytest.raises(RuntimeError, match="odeint"):
            gradient(y)


@pytest.mark.eager("counts bars")
@pytest.mark.parametrize("jit", [False, True])
def test_a_bar(monkeypatch, jit):
    """Bars of tqdm go through the time once forwards and once backwards; without tqdm there are none."""

    class Bar(contextlib.nullcontext):
        def __init__(self, desc, total, **_):
            super().__init__()
            bars.append([desc, total, 0.0])

        def update(self, h):
            bars[-1][2] += h

    bars, auto = [], types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    gradient = dg.grad(lambda k, t: odeint(lambda y, t, k: -k * y, 1.0, t, k, progress=True)[-1])
    (dg.jit(gradient) if jit else gradient)(f64(0.5), f64([1.0, 0.2]))
    assert [name for name, *_ in bars] == ["odeint", "odeint backwards"]
    np.testing.assert_allclose([spans for _, *spans in bars], 0.8, rtol=1e-12)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    gradient(f64(0.5), f64([1.0, 0.2]))
    assert len(bars) == 2
