"""`scipy.integrate`, `differentiate`, `optimize`: integrals, derivatives by differences, roots and minima."""

from __future__ import annotations

import numpy as np

from ..sample import also, sample

__all__ = ["SAMPLES"]

X = np.array([0.31, 1.74, 0.92, 2.63, 1.13, 0.58, 3.41, 2.05, 1.4])
T = np.array([0.0, 0.5, 1.2, 1.5, 2.4, 3.0, 3.3, 4.1, 5.0])
P = np.array([0.6, 1.3, 2.1])
ENDS = "where the last step is that of a bisection, or the search stops early; dualgrad.root, dualgrad.argmin"
VIEWS = "SciPy writes into a view of an array, which tensors do not have"


def _space(x):
    import dualgrad.numpy as mnp

    return np if isinstance(x, np.ndarray | np.generic) else mnp


def _integrand(t, p):
    xp = _space(t)
    return xp.exp(-p * t) * t


def _cubature(f, c, p):
    def integrand(t):
        return _space(t).exp(-p * t[:, 0:1]) * t[:, 1:2]

    return f(integrand, c(np.zeros(2)), c(np.array([1.0, 2.0])), rtol=1e-10).estimate


def _limits(f, c, a, b):
    return f(lambda t: _space(t).exp(-(t[:, 0:1] ** 2)), a, b, rtol=1e-10).estimate


def _sum(f, c, p):
    return f(_term, c(np.zeros(3)), c(np.full(3, np.inf)), args=(p,)).sum


def _term(k, p):
    return p**2 * _space(k).exp(-p * k)


def _quasi(f, c, p):
    from scipy.stats import qmc

    return f(lambda t: _space(t).exp(-p[0] * t[0, ...]) * t[1, ...], c(np.zeros(2)), c(np.ones(2)), n_points=16,
             n_estimates=3, qrng=qmc.Halton(2, rng=np.random.default_rng(1)))  # fmt: skip


def _smooth(t, p):
    xp = _space(t)
    return xp.sin(p * t) + t**2 / 4


def _gradient(f, c, x):
    rosen = lambda x: (1 - x[0, ...]) ** 2 + 3 * (x[1, ...] - x[0, ...] ** 2) ** 2
    return f(rosen, x).ddf if f.__name__ == "hessian" else f(_field, x).df


def _field(x):
    xp = _space(x)
    return xp.stack([xp.sin(x[0, ...]) * x[1, ...], x[0, ...] ** 2 + x[1, ...] ** 3])


SAMPLES = {
    "scipy.integrate.trapezoid": [
        sample(lambda f, c, y: f(y, dx=0.5), X),
        sample(lambda f, c, y, x: f(y, x), X, T, label="by x too"),
    ],
    "scipy.integrate.cumulative_trapezoid": [
        sample(lambda f, c, y: f(y, dx=0.5), X),
        sample(lambda f, c, y, x: f(y, x), X, T, label="by x too"),
    ],
    "scipy.integrate.cumulative_simpson": [
        sample(lambda f, c, y: f(y, dx=0.5), X),
        sample(lambda f, c, y: f(y, dx=c(np.array(0.5))), X, label="a tensor as dx"),
        sample(lambda f, c, y, x: f(y, x=x), X, T, label="by x too"),
    ],
    "scipy.integrate.romb": [sample(lambda f, c, y: f(y, dx=0.5), X)],
    "scipy.integrate.cubature": [
        sample(_cubature, P), sample(_limits, [0.1], [1.3], label="by the limits"),
    ],
    "scipy.integrate.tanhsinh": [
        sample(lambda f, c, p: f(_integrand, c(np.zeros(3)), c(np.full(3, 2.0)), args=(p,)).integral, P),
        sample(lambda f, c, a, b: f(_integrand, a, b, args=(c(np.array(1.1)),)).integral, 0.4, 2.1,
               label="by the limits"),
    ],
    "scipy.integrate.nsum": [
        sample(lambda f, c, p: f(_term, c(np.zeros(3)), c(np.full(3, 30.0)), args=(p,)).sum, P),
        sample(_sum, P, label="to infinity", wrong=VIEWS),
    ],
    "scipy.integrate.qmc_quad": [sample(_quasi, [0.7])],
    "scipy.differentiate.derivative": [
        sample(lambda f, c, x: f(_smooth, x, args=(c(P),)).df, P),
        sample(lambda f, c, p: f(_smooth, c(P), args=(p,)).df, P, label="by args"),
    ],
    "scipy.differentiate.jacobian": [sample(_gradient, [0.4, 1.2])],
    "scipy.differentiate.hessian": [sample(_gradient, [0.4, 1.2])],
    **also("scipy.optimize.rosen scipy.optimize.rosen_der scipy.optimize.rosen_hess", lambda f, c, x: f(x), X[:4]),
    "scipy.optimize.rosen_hess_prod": [sample(lambda f, c, x, p: f(x, p), X[:4], X[4:8])],
    "scipy.optimize.elementwise.find_root": [
        sample(lambda f, c, p: f(lambda t, p: t**3 + t - p, (c(np.zeros(3)), c(np.full(3, 3.0))), args=(p,)).x, P),
        sample(lambda f, c, p: f(lambda t, p: t**3 + t - p, (c(0.0), c(4.0)), args=(p,)).x, 10.0, wrong=ENDS,
               label="met by bisection"),
    ],
    "scipy.optimize.elementwise.find_minimum": [
        sample(lambda f, c, p: f(lambda t, p: (t - p) ** 2 + (t - p) ** 4, tuple(c(P + x) for x in (-0.7, 0.2, 0.9)),
                                 args=(p,)).x, P, reach=0.05, wrong=ENDS),
        sample(lambda f, c, p: f(lambda t, p: (t - 1) ** 2 + p, tuple(c(np.full(3, x)) for x in (0.0, 1.5, 3.0)),
                                 args=(p,)).f_x, P, label="the value"),
    ],
    "scipy.optimize.elementwise.bracket_root": [
        sample(lambda f, c, p: f(lambda t, p: t**3 + t - p, c(np.zeros(3)), args=(p,)).f_bracket, P)
    ],
    "scipy.optimize.elementwise.bracket_minimum": [
        sample(lambda f, c, p: f(lambda t, p: (t - p) ** 2, c(np.zeros(3)), args=(p,)).f_bracket, P)
    ],
}  # fmt: skip
