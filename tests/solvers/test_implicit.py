"""Implicit functions: against closed forms, against unrolled solvers, in every mode; and where there is no answer."""

import sys
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from nested_transforms import every_batch, every_mode
from support import assert_leaves_nothing, assert_raises, f64, numbers

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

W = Parameter(f64([0.3, 0.5]), name="w")
X = f64([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
Y = f64([1.0, 2.0, 3.0])
START = f64(1.0)
SIDES = {"p": START, "q": f64(2.0)}


def lambert(a):
    """X exp(x) = a, captured."""
    return dg.root(lambda x: x * ops.exp(x) - a, START)


# name: (function, the function in mpmath, place)
CLOSED = {
    "cube root": (lambda a: dg.root(lambda x, a: x**3 - a, START, a), mp.cbrt, 8.3),
    "Lambert's W": (lambert, mp.lambertw, 0.7),
    "Kepler's equation, as a fixed point": (
        lambda e: dg.fixed_point(lambda x, e: 1.0 + e * ops.sin(x), START, e),
        lambda e: mp.findroot(lambda x: x - e * mp.sin(x) - 1, 1.2),
        0.3,
    ),
    "a minimum": (
        lambda a: dg.argmin(lambda x, a: ops.cosh(x) - ops.sin(a) * x, START, a),
        lambda a: mp.asinh(mp.sin(a)),
        0.6,
    ),
    "a linear system": (
        lambda k: dg.linear_solve(lambda x: {"p": x["p"] * k + x["q"], "q": x["q"] + x["p"] * k * k}, SIDES)["q"],
        lambda k: 1 - 1 / (k - 1),
        1.7,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_to_order_four(name):
    f, exact, x = CLOSED[name]
    g = f
    for order in range(5):
        with mp.workdps(40):
            expected = float(mp.re(mp.diff(exact, mp.mpf(x), order)))
        assert float(g(f64(x)).reshape(())) == pytest.approx(expected, rel=2e-12, abs=1e-11)
        g = dg.grad(g)


def system(x, a):
    return {"u": x["u"] * 3 + ops.sin(x["v"] * W) - a, "v": x["v"] * 2 + x["u"] * x["u"] * 0.1 - W}


ZEROS = {"u": f64([0.0, 0.0]), "v": f64([0.0, 0.0])}


def by_root(a, **options):
    x = dg.root(system, ZEROS, a, **options)
    return (x["u"] * x["v"]).sum()


def by_newton(a):
    """Newton's method, written out and differentiated step by step."""
    u, v = ZEROS["u"], ZEROS["v"]
    for _ in range(9):
        r = system({"u": u, "v": v}, a)
        b, c = ops.cos(v * W) * W, 0.2 * u
        det = 6.0 - b * c
        u, v = u - (2.0 * r["u"] - b * r["v"]) / det, v - (3.0 * r["v"] - c * r["u"]) / det
    return (u * v).sum()


def ridge(penalty):
    loss = lambda w, penalty: ((X @ w - Y * W[0]) ** 2).sum() + (penalty * w * w).sum()
    w = dg.argmin(loss, f64([0.0, 0.0]), penalty)
    return (w * ops.exp(w)).sum()


def ridge_solved(penalty):
    matrix = X.swapaxes(0, 1) @ X + ops.diag(penalty)
    w = ops.matrix_solve(matrix, (X.swapaxes(0, 1) @ (Y * W[0])).reshape((2, 1))).reshape((2,))
    return (w * ops.exp(w)).sum()


def conjugate_gradients(matvec, b):
    """A user's solver, of symmetric systems."""
    x, r = np.zeros_like(b), b.copy()
    p, rr = r, r @ r
    for _ in range(20):
        if rr < 1e-30:
            break
        q = matvec(p)
        x = x + rr / (p @ q) * p
        r = r - rr / (p @ q) * q
        p, rr = r + (r @ r) / rr * p, r @ r
    return x


def by_product(a):
    x = dg.linear_solve(lambda x: x * ops.exp(a * W) + a * (a * x).sum(), ops.sin(a), conjugate_gradients)
    return (x * x * W).sum()


def by_matrix(a):
    matrix = ops.diag(ops.exp(a * W)) + a.reshape((2, 1)) * a
    x = ops.matrix_solve(matrix, ops.sin(a).reshape((2, 1))).reshape((2,))
    return (x * x * W).sum()


PAIRS = {
    "root": (by_root, by_newton),
    "root, a solver": (lambda a: by_root(a, solver=lambda f, x: levenberg(f, x)), by_newton),
    "argmin": (ridge, ridge_solved),
    "linear_solve": (by_product, by_matrix),
    "linear_solve, default": (
        lambda a: (dg.linear_solve(lambda x: x * ops.exp(a * W) + a * (a * x).sum(), ops.sin(a)) ** 2 * W).sum(),
        by_matrix,
    ),
    "linear_solve, a matrix": (
        lambda a: (dg.linear_solve(ops.diag(ops.exp(a * W)) + a.reshape((2, 1)) * a, ops.sin(a)) ** 2 * W).sum(),
        by_matrix,
    ),
}


def levenberg(f, x):
    """A user's solver: what it does with NumPy is not differentiated."""
    for _ in range(60):
        r = f(x)
        jac = np.stack([(f(x + 1e-7 * e) - r) / 1e-7 for e in np.eye(len(x))], 1)
        x = x - np.linalg.solve(jac, r)
    return x


def nests(f):
    a = f64([0.7, 1.1])
    yield from every_mode(f, a, f64([1.0, -0.4]), W)
    yield from every_batch(f, ops.stack([a, a * a, a + 0.5]), W)


@pytest.mark.parametrize("name", PAIRS)
def test_as_differentiated_directly(name):
    implicit, direct = PAIRS[name]
    for found, expected in zip(nests(implicit), nests(direct), strict=True):
        for x, y in zip(numbers(found), numbers(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_bilevel():
    """A problem whose loss contains the solution of another one."""
    inner = lambda a: dg.root(lambda x: x**3 + x - a, START)
    outer = lambda p: dg.argmin(lambda a: (inner(a) - p) ** 2 + 0.1 * a * a, START)
    closed = lambda p: dg.root(lambda a: 2 * (inner(a) - p) / (3 * inner(a) ** 2 + 1) + 0.2 * a, START)
    p = f64(0.9)
    for _ in range(4):
        assert float(outer(p)) == pytest.approx(float(closed(p)), rel=1e-9)
        outer, closed = dg.grad(outer), dg.grad(closed)


@pytest.mark.eager("counts calls")
def test_iterations_are_not_differentiated():
    calls = 0

    def T(x, a):
        nonlocal calls
        calls += 1
        return 0.99 * ops.cos(a * x)

    f = lambda a: dg.fixed_point(T, f64(0.5), a)
    a = f64(0.9)
    f(a)
    forward, calls = calls, 0
    dg.grad(f)(a)
    assert forward > 50
    assert calls <= forward + 4


def test_recorded():
    """The solver is one step of a program, whose operands are read at each run."""
    w = Parameter(f64(0.5), name="w")
    run = lambda a: dg.grad(lambda a: dg.root(lambda x: x**3 * w + x - 2 * a, START))(a)
    recorded = dg.jit(lambda a: run(a * 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(5):
            w.set_data(f64(0.5 + 0.1 * i))
            assert float(recorded(f64(1.0 + i))) == pytest.approx(float(run(f64(1.0 + i))), rel=1e-13)


def test_scipy():
    pytest.importorskip("scipy")
    from scipy import optimize

    f = lambda a, solver: dg.root(lambda x, a: x**3 - a, f64([1.0, 2.0]), a, solver=solver)
    a = f64([8.0, 27.0])
    for solver in ("hybr", lambda f, x0: optimize.root(f, x0, tol=1e-14)):
        np.testing.assert_allclose(f(a, solver), [2.0, 3.0], rtol=1e-13)
        np.testing.assert_allclose(dg.grad(lambda a, s=solver: f(a, s).sum())(a), [1 / 12, 1 / 27], rtol=1e-12)


def test_scipy_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert_raises(ImportError, lambda: dg.root(lambda x: x - 1, f64(0.0), solver="hybr"), "pip install scipy")


def test_single_precision():
    f = lambda a: dg.root(lambda x, a: x * x - a, Tensor(1.0), a)
    a = Tensor(2.0)
    assert f(a).dtype == dg.grad(f)(a).dtype == dg.float32
    assert float(dg.grad(f)(a)) == pytest.approx(0.5 / np.sqrt(2), rel=1e-6)


@dataclass
class Weights:
    scale: float
    of: Tensor


@pytest.mark.parametrize("wrapped", [lambda c, k: (c, k), lambda c, k: ({"c": c}, [k]), Weights])
def test_constants_tell_problems_apart(wrapped):
    """Two roots in one recorded function, which differ in a number that is no tensor."""

    def f(x, given):
        if isinstance(given, Weights):
            return x * x - given.scale * given.of
        c, k = given
        return x * x - (c["c"] * k[0] if isinstance(c, dict) else c * k)

    both = dg.jit(lambda k: ops.stack([dg.root(f, START, wrapped(c, k)) for c in (2.0, 3.0)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (2.0, 2.0, 2.0, 5.0):
            np.testing.assert_allclose(both(f64(k)).asnumpy(), np.sqrt([2.0 * k, 3.0 * k]))


def changing(x):
    W.set_data(W * 1.0)
    return x


ERRORS = {
    "no root": (lambda: dg.root(lambda x: x * x + 1, START), RuntimeError, "no solution was found", "residual is 1"),
    "no convergence": (lambda: dg.fixed_point(lambda x: 2 * x + 1, START), RuntimeError, "fixed_point", "no solution"),
    "no minimum": (lambda: dg.argmin(lambda x: x * 2.0, START), RuntimeError, "argmin", "residual is 2"),
    "double root": (
        lambda: dg.grad(lambda a: dg.root(lambda x: (x - a) ** 3, START))(f64(1.0)),
        np.linalg.LinAlgError,
        "Jacobian",
        "singular",
    ),
    "singular matrix": (
        lambda: dg.linear_solve(lambda x: x.sum() + x * 0, f64([1.0, 2.0])),
        np.linalg.LinAlgError,
        "linear_solve",
        "singular",
    ),
    "wrong answer": (lambda: dg.linear_solve(lambda x: 2 * x, Y, lambda f, b: b), RuntimeError, "residual is 3"),
    "solver says no": (
        lambda: dg.root(lambda x: x, START, solver=lambda f, x: SimpleNamespace(success=False, x=x, message="m")),
        RuntimeError,
        "did not converge: m",
    ),
    "shape of the answer": (lambda: dg.root(lambda x: x, Y, solver=lambda f, x: x[1:]), ValueError, "(2,)"),
    "a number": (lambda: dg.root(lambda x: x, 1), TypeError, "make it a float"),
    "a text": (lambda: dg.root(lambda x: x, "1.0"), TypeError, "one float type"),
    "integers": (lambda: dg.root(lambda x: x, Tensor([1, 2])), TypeError, "Int64"),
    "equations": (lambda: dg.root(lambda x: x.sum(), Y), ValueError, "[(3,)]"),
    "no function": (lambda: dg.fixed_point(3, Y), TypeError, "int"),
    "other keys": (lambda: dg.root(lambda x: {"b": x["a"] - 1}, {"a": Y}), ValueError, "keys ['a']", "keys ['b']"),
    "another nest": (lambda: dg.fixed_point(lambda x: {"a": x[0], "b": x[1]}, (Y, Y)), ValueError, "tuple of 2"),
    "loss": (lambda: dg.argmin(lambda x: x, Y), ValueError, "one number"),
    "no matrix": (lambda: dg.linear_solve("A", Y), TypeError, "str"),
    "effects": (lambda: dg.root(changing, Y), RuntimeError, "new value", "'w'"),
    "random": (lambda: dg.root(lambda x: x - ops.rand(3, dtype=dg.float64), Y), RuntimeError, "random"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, *words = ERRORS[name]
    assert_raises(error, call, *words)


@pytest.mark.eager("counts objects")
def test_nothing_is_left_behind():
    def f(a):
        b = ops.sin(a)
        return dg.root(lambda x: x * b - a, START)

    assert_leaves_nothing(lambda: dg.grad(dg.grad(dg.grad(f)))(f64(0.5)))
