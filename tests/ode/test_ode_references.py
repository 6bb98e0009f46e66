"""Differential equations beside references of others: mpmath, SciPy, published values."""

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import f64

import dualgrad as dg
from dualgrad import ops
from dualgrad.ode import odeint

ADJOINTS = ("discrete", "continuous")


def volterra(y, t, p):
    return ops.stack([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])


RATES = (0.55, 0.028, 0.8, 0.024)


def by_taylor(rates):
    """u(6) by mpmath."""
    a, b, c, d = rates
    with mp.workdps(24):
        f = mp.odefun(
            lambda t, y: [(a - b * y[1]) * y[0], (d * y[0] - c) * y[1]], 0, [mp.mpf(30), mp.mpf(4)], tol=1e-18
        )
        return f(6)[0]


def test_lotka_volterra_beside_mpmath():
    h = mp.mpf("1e-3")
    middle, low, high = [by_taylor((RATES[0] + k * h, *RATES[1:])) for k in (0, -1, 1)]
    farther = [by_taylor((RATES[0] + k * h, *RATES[1:])) for k in (-2, 2)]
    first = (8 * (high - low) - (farther[1] - farther[0])) / (12 * h)
    second = (16 * (high + low) - (farther[0] + farther[1]) - 30 * middle) / (12 * h * h)
    e = f64([1.0, 0.0, 0.0, 0.0])
    for adjoint in ADJOINTS:
        f = lambda p, a=adjoint: odeint(volterra, f64([30.0, 4.0]), [0, 6], p, rtol=1e-11, atol=1e-11, adjoint=a)[-1, 0]
        p = f64(RATES)
        value, gradient = dg.value_and_grad(f)(p)
        assert float(value) == pytest.approx(float(middle), rel=1e-9)
        assert float(gradient[0]) == pytest.approx(float(first), rel=1e-8)
        assert float(dg.hvp(f)(p, e)[0]) == pytest.approx(float(second), rel=1e-7)


def van_der_pol(y, t, mu):
    return ops.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def test_stiff_van_der_pol_beside_radau():
    def by_scipy(mu):
        return solve_ivp(
            lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]],
            (0.0, 1000.0),
            [2.0, 0.0],
            method="Radau",
            rtol=1e-9,
            atol=1e-11,
            jac=lambda t, y: [[0.0, 1.0], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]],
        ).y[:, -1]

    settings = {"method": "rodas5p", "rtol": 1e-10, "atol": 1e-12}
    f = lambda mu: odeint(van_der_pol, f64([2.0, 0.0]), [0.0, 1000.0], mu, **settings)[-1]
    value, tangent = dg.jvp(f, f64(1000.0), f64(1.0))
    np.testing.assert_allclose(value.asnumpy(), by_scipy(1000.0), rtol=1e-7)
    differences = (by_scipy(1000.5) - by_scipy(999.5)).astype(float)
    np.testing.assert_allclose(tangent.asnumpy(), differences, rtol=1e-4)
    settings |= {"rtol": 1e-8}  # rounding, times the stiffness, grows with the number of steps
    for mu in (990.0, 1000.0, 1003.0):
        slope = dg.jvp(f, f64(mu), f64(1.0))[1][0]
        assert float(dg.grad(lambda mu: f(mu)[0])(f64(mu))) == pytest.approx(float(slope), rel=1e-6)


def robertson(y, t, k):
    a, b, c = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return ops.stack([b - a, a - b - c, c])


def test_robertson():
    """The values of Hairer and Wanner (Solving ODEs II, IV.10), and the sum of all species at every order."""
    settings = {"method": "rodas5p", "rtol": 1e-9, "atol": [1e-16, 1e-20, 1e-12]}
    f = lambda k: odeint(robertson, f64([1.0, 0.0, 0.0]), [0.0, 40.0, 1e11], k, **settings)
    k = f64([0.04, 1e4, 3e7])
    found = f(k).asnumpy()
    np.testing.assert_allclose(found[1], [0.7158270688, 9.185534765e-06, 0.2841637457], rtol=1e-7)
    np.testing.assert_allclose(
        found[2], [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-7
    )
    forward, reverse = dg.jacfwd(f)(k).asnumpy()[1], dg.jacrev(lambda k: f(k)[1])(k).asnumpy()
    np.testing.assert_allclose(forward, reverse, rtol=1e-7)
    np.testing.assert_allclose(forward.sum(0), 0.0, atol=1e-10)
