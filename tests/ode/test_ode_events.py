"""Events: their times and states beside closed forms, and what is refused."""

import mpmath as mp
import numpy as np
import pytest
from support import assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.ode import odeint, odeint_event

TIGHT = {"rtol": 1e-11, "atol": 1e-12}
G = 9.81


def pendulum(y, t):
    return ops.stack([y[1], -ops.sin(y[0])])


def period(angle):
    return 4.0 * odeint_event(pendulum, ops.stack([angle, angle * 0]), 0.0, lambda y, t: y[0], t_max=20.0, **TIGHT)[0]


def exact_period(angle):
    return 4 * mp.ellipk(mp.sin(angle / 2) ** 2)


# name: what is made of the period as a function of the angle, and the order of derivative that it is
WAYS = {
    "value": (lambda f: f, 0),
    "reverse": (dg.grad, 1),
    "forward": (lambda f: lambda x: dg.jvp(f, x, f64(1.0))[1], 1),
    "reverse twice": (lambda f: dg.grad(dg.grad(f)), 2),
    "forward in reverse": (dg.hessian, 2),
    "forward twice": (lambda f: dg.jacfwd(dg.jacfwd(f)), 2),
    "reverse three times": (lambda f: dg.grad(dg.grad(dg.grad(f))), 3),
}


@pytest.mark.rotated("angle")
@pytest.mark.parametrize("angle", [0.5, 2.0])
@pytest.mark.parametrize("name", WAYS)
def test_period_of_a_pendulum(name, angle):
    transform, order = WAYS[name]
    expected = float(mp.diff(exact_period, angle, order))
    assert float(transform(period)(f64(angle))) == pytest.approx(expected, rel=1e-8)


def test_period_under_vmap_and_jit():
    angles = f64([0.4, 1.1])
    expected = [float(mp.diff(exact_period, float(a))) for a in angles]
    np.testing.assert_allclose(dg.vmap(dg.grad(period))(angles).asnumpy(), expected, rtol=1e-8)
    recorded = dg.jit(dg.grad(period))
    for _ in range(3):
        np.testing.assert_allclose([float(recorded(a)) for a in angles], expected, rtol=1e-8)


def bounced(x):
    """Time and state when a ball that starts at height x[0] lands for the third time; x[1] is the restitution."""
    fall = lambda y, t: ops.stack([y[1], y[1] * 0 - G])
    t, y = f64(0.0), ops.stack([x[0], x[0] * 0])
    for _ in range(3):
        t, y = odeint_event(fall, y, t, lambda y, t: y[0], t_max=t + 50.0, direction=-1)
        y = ops.stack([y[0], -x[1] * y[1]])
    return ops.stack([t, y[1]])


def landed(x):
    """The same in closed form."""
    speed = ops.sqrt(2.0 * G * x[0])
    return ops.stack([speed / G * (1.0 + 2.0 * x[1] + 2.0 * x[1] ** 2), x[1] ** 3 * speed])


@pytest.mark.parametrize(
    "transform", [lambda f: f, dg.jacfwd, dg.jacrev, lambda f: dg.hessian(lambda x: (f(x) ** 2).sum())]
)
def test_bouncing_ball(transform):
    x = f64([2.0, 0.8])
    np.testing.assert_allclose(transform(bounced)(x).asnumpy(), transform(landed)(x).asnumpy(), rtol=1e-10, atol=1e-10)


def test_state_at_the_event_and_time_of_the_start():
    """The solution of y' = a y meets y = 2 t at a time that depends on a, on the start and on its time."""
    f = lambda y, t, a: a * y

    def met(x):
        t, y = odeint_event(f, x[0], x[1], lambda y, t, a: y - 2.0 * t, x[2], t_max=3.0, **TIGHT)
        return ops.stack([t, y])

    def exact(x):
        t = dg.root(lambda t, x: x[0] * ops.exp(x[2] * (t - x[1])) - 2.0 * t, Tensor(0.7, dg.float64), x)
        return ops.stack([t, 2.0 * t])

    x = f64([1.0, 0.1, 0.5])
    for transform in (dg.jacfwd, dg.jacrev, lambda f: dg.hessian(lambda x: (f(x) ** 2).sum())):
        np.testing.assert_allclose(transform(met)(x).asnumpy(), transform(exact)(x).asnumpy(), rtol=1e-7, atol=1e-9)


grow = lambda y, t: y * 1.0
Y = f64([1.0, 2.0])
UP = lambda y, t: y - 2.0


def late(y, t):
    return ops.where(t < 1.0, y, y * np.nan)


# name: (call, error, words of the message)
ERRORS = {
    "blows up": (lambda: odeint(lambda y, t: y * y, 1.0, [0, 2]), RuntimeError, "step size underflows", "t = 1,"),
    "nan at the start": (lambda: odeint(lambda y, t: ops.log(-y), 1.0, [0, 2]), ValueError, "nan", "t = 0"),
    "nan later": (lambda: odeint(late, 1.0, [0, 2]), RuntimeError, "not finite", "t = 1"),
    "steps": (
        lambda: odeint(lambda y, t: -1e6 * y, 1.0, [0, 2], max_steps=50),
        RuntimeError,
        "50 steps",
        "max_steps",
        "rodas5p",
    ),
    "shape": (lambda: odeint(lambda y, t: y[0], Y, [0, 1]), ValueError, "f returned", "[(2,)]"),
    "list": (lambda: odeint(lambda y, t: [y[0], y[1]], Y, [0, 1]), ValueError, "[(), ()]", "ops.stack"),
    "array": (lambda: odeint(lambda y, t: np.array([1.0, 2.0]), Y, [0, 1]), ValueError, "ndarray without Tensors"),
    "other keys": (lambda: odeint(lambda y, t: {"b": y["a"]}, {"a": Y}, [0, 1]), ValueError, "['a']", "['b']"),
    "another nest": (lambda: odeint(lambda y, t: {"a": y[0], "b": y[1]}, (Y, Y), [0, 1]), ValueError, "tuple of 2"),
    "type": (lambda: odeint(lambda y, t: y.astype(dg.float32), Y, [0, 1]), TypeError, "Float32", "Float64"),
    "turning times": (lambda: odeint(grow, 1.0, [0, 2, 1]), ValueError, "monotone", "t[1] = 2"),
    "infinite time": (lambda: odeint(grow, 1.0, [0, np.inf]), ValueError, "t[1] is inf"),
    "axes of times": (lambda: odeint(grow, 1.0, 3.0), ValueError, "one axis"),
    "complex times": (lambda: odeint(grow, 1.0, np.array([0, 1j])), TypeError, "t is", "one axis"),
    "list of Tensors": (lambda: odeint(grow, 1.0, [f64(0.0), f64(1.0)]), TypeError, "ops.stack"),
    "int state": (lambda: odeint(grow, 1, [0, 1]), TypeError, "y0 is 1", "float"),
    "int tensor": (lambda: odeint(grow, Tensor([1, 2]), [0, 1]), TypeError, "Int64"),
    "int times": (lambda: odeint(grow, 1.0, Tensor([0, 1])), TypeError, "t holds Int64"),
    "empty": (lambda: odeint(grow, f64([]), [0, 1]), ValueError, "no elements"),
    "method": (lambda: odeint(grow, 1.0, [0, 1], method="euler"), ValueError, "euler", "rodas5p"),
    "adjoint": (lambda: odeint(grow, 1.0, [0, 1], adjoint=True), ValueError, "continuous"),
    "rtol": (lambda: odeint(grow, 1.0, [0, 1], rtol=1e-17), ValueError, "rtol", "digits"),
    "atol": (lambda: odeint(grow, Y, [0, 1], atol=[1.0, 2.0, 3.0]), ValueError, "as many as the state"),
    "first step": (lambda: odeint(grow, Y, [0, 1], first_step=-1.0), ValueError, "first_step"),
    "no function": (lambda: odeint(3, Y, [0, 1]), TypeError, "f is a int"),
    "random": (lambda: odeint(lambda y, t: y * ops.rand(2, dtype=dg.float64), Y, [0, 1]), RuntimeError, "random"),
    "Taylor coefficients": (
        lambda: dg.derivative(lambda y: odeint(grow, y, [0, 1])[-1], f64(1.0), 2),
        NotImplementedError,
        "nest grad or jvp",
    ),
    "no way back": (
        lambda: dg.grad(lambda y: odeint(lambda y, t: -60.0 * y, y, [0, 1], adjoint="continuous")[-1])(f64(1.0)),
        RuntimeError,
        "adjoint='discrete'",
    ),
    "no event": (lambda: odeint_event(grow, 1.0, 0.0, UP, t_max=0.5), RuntimeError, "no event", "raise t_max"),
    "direction": (lambda: odeint_event(grow, 1.0, 0.0, UP, t_max=1.0, direction=-1), RuntimeError, "direction -1"),
    "no time": (lambda: odeint_event(grow, 1.0, 0.0, UP, t_max=0.0), RuntimeError, "t_max is t0"),
    "two events": (lambda: odeint_event(grow, Y, 0.0, UP, t_max=1.0), ValueError, "one float"),
    "two starts": (lambda: odeint_event(grow, 1.0, Y, UP, t_max=1.0), TypeError, "t0", "one float"),
    "no event function": (lambda: odeint_event(grow, 1.0, 0.0, 3, t_max=1.0), TypeError, "event is a int"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, *words = ERRORS[name]
    assert_raises(error, call, *words)
