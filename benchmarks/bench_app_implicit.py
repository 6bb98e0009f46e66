"""Gradients through solutions: a problem inside a problem, and a steady state; float64.

`bilevel`: 30 penalties, one for each weight of a logistic regression, whose minimiser for 400 samples is judged by 400
others: that loss and its gradient by the logarithms of the penalties (Bengio, Neural Computation 12, 2000).
`steady_state`: a source at 100 points heats a rod that cools by the third power, -u'' + u^3 = a, u = 0 at the ends: the
mean square of u and its gradient by a. All start from zero, solve to the last digits and differentiate the solution,
not the solver. Reference and `hand` are Newton's method and the adjoint equation in NumPy.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import styles
from workload import Case, Run

PENALTIES, SAMPLES, POINTS = 30, 400, 100
EPS = 1e-13  # steps of Newton's method end here, relative to the solution


def by_newton(f: Callable, jacobian: Callable, x: np.ndarray) -> np.ndarray:
    """Until the steps are as small as rounding makes them."""
    for _ in range(100):
        step = np.linalg.solve(jacobian(x), f(x))
        x = x - step
        if np.abs(step).max() <= EPS * np.abs(x).max():
            return x
    raise RuntimeError("Newton's method does not arrive")


# ------------------------------------------------------------------------------------------------------- the bilevel


@functools.cache
def data() -> tuple:
    """Logarithms of the penalties, rows and labels of -1 and 1 of both sets."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(2 * SAMPLES, PENALTIES))
    w = rng.normal(size=PENALTIES) * (np.arange(PENALTIES) < 10)
    y = np.where(X @ w + rng.logistic(size=2 * SAMPLES) > 0, 1.0, -1.0)
    return rng.uniform(-4.0, -2.0, PENALTIES), X[:SAMPLES], y[:SAMPLES], X[SAMPLES:], y[SAMPLES:]


def logistic(m: Any, w: Any, X: Any, y: Any) -> Any:
    """The mean negative logarithm of the likelihood; `m` has logaddexp."""
    margin = y * (X @ w)
    return m.logaddexp(0.0 * margin, -margin).mean()


def bilevel_by_hand(theta: np.ndarray, X: np.ndarray, y: np.ndarray, V: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    chance = lambda w, X, y: 1.0 / (1.0 + np.exp(y * (X @ w)))
    slope = lambda w, X, y: -X.T @ (y * chance(w, X, y)) / len(y)
    penalty = np.exp(theta)

    def hessian(w):
        p = chance(w, X, y)
        return X.T @ ((p * (1.0 - p))[:, None] * X) / len(y) + np.diag(penalty)

    w = by_newton(lambda w: slope(w, X, y) + penalty * w, hessian, np.zeros(len(theta)))
    adjoint = np.linalg.solve(hessian(w), slope(w, V, z))
    return [np.array(logistic(np, w, V, z)), -adjoint * penalty * w]


def bilevel(package: Any, *arrays: np.ndarray) -> tuple:
    ops = package.ops

    def held_out(theta, X, y, V, z):
        def inner(w, theta):
            return logistic(ops, w, X, y) + 0.5 * (ops.exp(theta) * w * w).sum()

        w = package.argmin(inner, package.Tensor(np.zeros(PENALTIES)), theta)
        return logistic(ops, w, V, z)

    return package.value_and_grad(held_out), [package.Tensor(a) for a in arrays]


def jax_bilevel(solve: Any) -> Any:
    """`solve(loss, start, theta)` is the differentiable minimiser."""

    def factory(*arrays):
        import jax
        import jax.numpy as jnp

        def held_out(theta, X, y, V, z):
            inner = lambda w, theta: logistic(jnp, w, X, y) + 0.5 * (jnp.exp(theta) * w * w).sum()
            return logistic(jnp, solve(inner, jnp.zeros(PENALTIES), theta), V, z)

        return styles.jax_jit(jax.value_and_grad(held_out), *arrays)

    return factory


# -------------------------------------------------------------------------------------------------- the steady state


@functools.cache
def source() -> list[np.ndarray]:
    s = np.linspace(0.0, 1.0, POINTS + 2)[1:-1]
    return [100.0 * np.sin(np.pi * s) * (1.0 + 0.5 * np.sin(7.0 * s))]


def balance(cat: Any, u: Any, a: Any) -> Any:
    """Minus the second difference, plus cooling, minus the source; `cat` joins."""
    zero = 0.0 * u[:1]
    wide = cat([zero, u, zero])
    return (2.0 * u - wide[:-2] - wide[2:]) * (POINTS + 1) ** 2 + u * u * u - a


def steady_by_hand(a: np.ndarray) -> list[np.ndarray]:
    stiffness = (2.0 * np.eye(POINTS) - np.eye(POINTS, k=1) - np.eye(POINTS, k=-1)) * (POINTS + 1) ** 2
    jacobian = lambda u: stiffness + np.diag(3.0 * u**2)
    u = by_newton(lambda u: balance(np.concatenate, u, a), jacobian, np.zeros(POINTS))
    return [np.array((u * u).mean()), np.linalg.solve(jacobian(u), 2.0 * u / POINTS)]


def steady(package: Any, a: np.ndarray) -> tuple:
    def warmth(a):
        u = package.root(lambda u, a: balance(package.ops.cat, u, a), package.Tensor(np.zeros(POINTS)), a)
        return (u * u).mean()

    return package.value_and_grad(warmth), [package.Tensor(a)]


def jax_steady(solve: Any) -> Any:
    """`solve(f, start, a)` is the differentiable solver."""

    def factory(a):
        import jax
        import jax.numpy as jnp

        def warmth(a):
            u = solve(lambda u, a: balance(jnp.concatenate, u, a), jnp.zeros(POINTS), a)
            return (u * u).mean()

        return styles.jax_jit(jax.value_and_grad(warmth), a)

    return factory


# ------------------------------------------------------------------------------------------------- solvers of rivals


def jax_newton(f: Any, start: Any, a: Any) -> Any:
    """Newton's method in a loop, under `custom_root`."""
    import jax
    import jax.numpy as jnp

    def solve(g, x):
        def step(carry):
            x, _ = carry
            change = jnp.linalg.solve(jax.jacfwd(g)(x), g(x))
            return x - change, jnp.abs(change).max()

        going = lambda carry: carry[1] > EPS * jnp.abs(carry[0]).max()
        return jax.lax.while_loop(going, step, step((x, jnp.inf)))[0]

    linear = lambda g, b: jnp.linalg.solve(jax.jacfwd(g)(b), b)
    return jax.lax.custom_root(lambda x: f(x, a), start, solve, linear)


def jax_optimistix(f: Any, start: Any, a: Any) -> Any:
    import optimistix

    solver = optimistix.Newton(rtol=1e-9, atol=1e-9)  # its steps converge quadratically
    return optimistix.root_find(f, solver, start, args=a, max_steps=100).value


def of_gradient(solve: Any) -> Any:
    """A minimiser from a solver of equations."""
    import jax

    return lambda loss, start, theta: solve(jax.grad(loss), start, theta)


def jaxopt_lbfgs(loss: Any, start: Any, theta: Any) -> Any:
    import jaxopt

    precise = functools.partial(jaxopt.linear_solve.solve_cg, tol=1e-12)  # its own choice leaves an error of 1e-5
    return jaxopt.LBFGS(loss, tol=1e-12, maxiter=500, implicit_diff_solve=precise).run(start, theta).params


BILEVEL = {
    "jax newton": jax_bilevel(lambda *args: of_gradient(jax_newton)(*args)),
    "jax optimistix": jax_bilevel(lambda *args: of_gradient(jax_optimistix)(*args)),
    "jax jaxopt": jax_bilevel(jaxopt_lbfgs),
    "hand": lambda *arrays: Run(lambda: bilevel_by_hand(*arrays)),
}
STEADY = {
    "jax newton": jax_steady(jax_newton),
    "jax optimistix": jax_steady(jax_optimistix),
    "hand": lambda *arrays: Run(lambda: steady_by_hand(*arrays)),
}

CASES = [
    Case(
        name=f"application/{name}",
        reference=functools.cache(lambda by_hand=by_hand, arrays=arrays: by_hand(*arrays())),
        dtype="float64",
        tolerance=1e-8,
        contenders=styles.contenders(program, rivals, arrays, {"mindspore graph": None}),
    )
    for name, program, rivals, arrays, by_hand in (
        ("bilevel", bilevel, BILEVEL, data, bilevel_by_hand),
        ("steady_state", steady, STEADY, source, steady_by_hand),
    )
]


def test_implicit(benchmark, run):
    benchmark(run.call)
