"""`dualgrad.scipy.fit`: every method on weights and on arrays, against dense Newton steps and each other."""

import sys
import types

import numpy as np
import pytest
from scipy import optimize

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.scipy import _broyden, fitting
from dualgrad.testing import Calls

fit = dg.scipy.fit

MINIMISERS, SQUARES = list(fitting.MINIMISERS), list(fitting.LEAST_SQUARES)
TIGHT = {
    "L-BFGS-B": {"ftol": 1e-16, "gtol": 1e-10, "maxcor": 30, "maxiter": 5000, "maxfun": 20000},
    "BFGS": {"gtol": 1e-9},
    "CG": {"gtol": 1e-9, "maxiter": 5000},
    "SSBroyden": {"gtol": 1e-10},
    "Newton-CG": {"xtol": 1e-12},
    "trust-ncg": {"gtol": 1e-10},
    "trust-krylov": {"gtol": 1e-7},  # below, SciPy multiplies inf by zero now and then
    "trust-constr": {"gtol": 1e-10, "xtol": 1e-14},
    "trust-exact": {"gtol": 1e-10},
    "dogleg": {"gtol": 1e-10},
} | {method: {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-12} for method in SQUARES}


def network(dtype, seed=1):
    dg.set_seed(seed)
    return nn.SequentialCell(nn.Dense(1, 4, activation="tanh", dtype=dtype), nn.Dense(4, 1, dtype=dtype))


class Problem:
    """Residuals of a Cell, and their half squares with a pull to given weights, which makes the minimum strict."""

    def __init__(self, dtype=dg.float64):
        self.net = network(dtype)
        self.weights = self.net.trainable_params()
        x = np.linspace(-1.0, 1.0, 15)[:, None]
        self.x, self.y = Tensor(x, dtype), Tensor(np.sin(3.0 * x), dtype)
        rng = np.random.default_rng(5)
        self.pulls = [Tensor(rng.standard_normal(p.shape), dtype) for p in self.weights]

    def residuals(self):
        return self.net(self.x) - self.y, *[0.3 * (p - pull) for p, pull in zip(self.weights, self.pulls, strict=True)]

    def loss(self):
        return 0.5 * sum([(r * r).sum() for r in self.residuals()])

    def call(self, method):
        return self.residuals if method in SQUARES else self.loss

    def vector(self):
        return np.concatenate([p.asnumpy().ravel() for p in self.weights])

    def newton(self):
        """Dense Newton steps from here to the minimum nearby."""
        f = dg.scipy.objective(self.loss, weights=self.weights, hess="dense")
        w = self.vector()
        for _ in range(8):
            w = w - np.linalg.solve(f.hess(w), f.jac(w))
        assert np.abs(f.jac(w)).max() < 1e-13
        assert np.linalg.eigvalsh(f.hess(w)).min() > 0
        return w


@pytest.mark.rotated("method")
@pytest.mark.parametrize("method", [m for m in TIGHT if m != "dogleg"])
def test_weights_arrive_at_a_minimum(method):
    problem = Problem()
    found = fit(problem.call(method), problem.weights, method=method, options=TIGHT[method])
    at = problem.vector()
    np.testing.assert_array_equal(np.concatenate([found.x[p.name].ravel() for p in problem.weights]), at)
    np.testing.assert_allclose(found.cost if method in SQUARES else found.fun, float(problem.loss()), rtol=1e-14)
    other = dg.scipy.objective(problem.loss, weights=problem.weights)
    slopes = other.unpack(other.jac(at))
    gradient = found.grad if method in SQUARES else found.jac
    for p in problem.weights:
        np.testing.assert_allclose(gradient[p.name], slopes[p.name], atol=1e-13)
    np.testing.assert_allclose(at, problem.newton(), rtol=1e-5, atol=1e-5)


def bowl(p):
    """Convex: exponentials of sums and differences of the variables."""
    return (ops.exp(p["a"] + p["b"]) + ops.exp(p["a"] - p["b"]) + 0.5 * p["b"] ** 2).sum() - p["a"] * 3.0


def bowl_by_newton():
    f = dg.scipy.objective(bowl, {"a": 0.0, "b": np.array([0.5, -0.25])}, hess="dense")
    x = f.x0
    for _ in range(12):
        x = x - np.linalg.solve(f.hess(x), f.jac(x))
    return f.unpack(x)


@pytest.mark.parametrize("method", MINIMISERS)
def test_pytrees_arrive_at_the_minimum_of_newton(method):
    found = fit(bowl, {"a": 0.0, "b": np.array([0.5, -0.25])}, method=method, options=TIGHT[method])
    for name, expected in bowl_by_newton().items():
        np.testing.assert_allclose(found.x[name], expected, atol=1e-6)
    assert found.jac["b"].shape == (2,)


@pytest.mark.parametrize("method", SQUARES)
def test_linear_least_squares(method):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((12, 4)), rng.standard_normal(12)
    found = fit(lambda x, b: Tensor(a) @ x - b, np.zeros(4), Tensor(b), method=method, options=TIGHT[method])
    np.testing.assert_allclose(found.x, np.linalg.lstsq(a, b)[0], atol=1e-8)
    np.testing.assert_allclose(found.grad, a.T @ (a @ found.x - b), atol=1e-13)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SSBroyden", "trust-ncg", "lm", "trf"])
def test_narrow_weights(method):
    """Float32 weights stay so, and the point that is left is the best one that float32 has seen."""
    narrow, wide = Problem(dg.float32), Problem()
    for p, q in zip(narrow.weights, wide.weights, strict=True):
        q.set_data(Tensor(p.asnumpy().astype(np.float64)))
    found = fit(narrow.call(method), narrow.weights, method=method, options={})
    fit(wide.call(method), wide.weights, method=method)
    assert {p.dtype for p in narrow.weights} == {dg.float32}
    np.testing.assert_allclose(found.cost if method in SQUARES else found.fun, float(narrow.loss()), rtol=1e-6)
    np.testing.assert_allclose(float(narrow.loss()), float(wide.loss()), rtol=2e-2)


def handed(call, *args, method):
    """What `fit` hands to the solver."""
    found = []
    name = "least_squares" if method in SQUARES else "minimised"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, name, lambda optimize_, f, *rest: found.append(f) or optimize.OptimizeResult())
        with pytest.raises(ValueError, match="not finite"):  # since nothing was evaluated
            fit(call, *args, method=method)
    return found[0]


def test_products_with_the_hessian():
    """They agree with those of `objective` with weights, whose way is another one."""
    problem = Problem()
    f = handed(problem.loss, problem.weights, method="trust-ncg")
    other = dg.scipy.objective(problem.loss, weights=problem.weights, hess="dense")
    p = np.cos(np.arange(f.x0.size))
    for _ in range(3):  # the third is a replay
        np.testing.assert_allclose(f.hessp(f.x0, p), other.hess(f.x0) @ p, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(f.jac(f.x0), other.jac(f.x0), rtol=1e-12, atol=1e-14)


def test_products_with_the_jacobian():
    """They agree with the Jacobian by rows, and the transpose is one."""
    problem = Problem()
    f, whole = (handed(problem.residuals, problem.weights, method=method) for method in ("trf", "lm"))
    rows = dg.jacrev(lambda: ops.concat([r.reshape((-1,)) for r in problem.residuals()]), None, weights=problem.weights)
    by_rows = np.concatenate([block.asnumpy().reshape(block.shape[0], -1) for block in rows()], 1)
    v, u = np.cos(np.arange(by_rows.shape[1])), np.sin(np.arange(by_rows.shape[0]))
    for _ in range(3):
        operator = f.jac(f.x0)
        np.testing.assert_allclose(whole.jac(f.x0), by_rows, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(operator @ v, by_rows @ v, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(operator.rmatvec(u), by_rows.T @ u, rtol=1e-12, atol=1e-13)


@pytest.mark.eager("records by itself")
@pytest.mark.parametrize("method", ["trust-ncg", "trf", "lm"])
def test_the_function_is_run_while_it_is_recorded_only(method):
    problem, runs = Problem(), Calls()
    call = runs.counted(problem.call(method))
    f = handed(call, problem.weights, method=method)
    rng = np.random.default_rng(6)
    counts = []
    for _ in range(5):
        x, v = f.x0 + rng.standard_normal(f.x0.size), rng.standard_normal(f.x0.size)
        f.fun(x), f.jac(x) @ v if method != "lm" else f.jac(x)
        if method == "trust-ncg":
            f.hessp(x, v)
        counts.append(len(runs))
    assert counts[-1] == counts[2]


@pytest.mark.parametrize("method", ["L-BFGS-B", "SSBroyden", "trust-krylov", "trust-constr", "lm", "trf"])
def test_the_best_point_is_left(method):
    """Also when a callback ends the search, and when an error does."""

    def stop(state):
        values.append(state.fun)
        assert float(problem.loss()) == pytest.approx(state.fun, rel=1e-13)
        if state.nit == 3:
            raise error

    for error in (StopIteration, KeyError("mine")):
        problem, values = Problem(), []
        start = float(problem.loss())
        if error is StopIteration:
            found = fit(problem.call(method), problem.weights, method=method, callback=stop)
            assert found.nit == 3
        else:
            with pytest.raises(KeyError, match="mine"):
                fit(problem.call(method), problem.weights, method=method, callback=stop)
        assert values == sorted(values, reverse=True)
        assert len(values) == 3
        assert float(problem.loss()) == pytest.approx(values[-1], rel=1e-13)
        assert values[-1] < start


def test_steps_into_nan_are_not_kept():
    """A logarithm ends at zero; the first step of L-BFGS goes beyond it."""
    p = dg.Parameter(Tensor([0.01], dg.float64), name="p")
    for method in ("L-BFGS-B", "SSBroyden"):
        p.set_data(Tensor([0.01], dg.float64))
        with np.errstate(invalid="ignore"):
            found = fit(lambda: (p - ops.log(p)).sum(), p, method=method)
        assert np.isfinite(found.fun)
        assert found.x["p"] == p.asnumpy()
        if method == "SSBroyden":
            np.testing.assert_allclose(found.x["p"], [1.0], atol=1e-5)


def test_a_bar(monkeypatch):
    """A bar of tqdm counts the iterations if it is there; without it nothing is shown."""
    steps = []
    bar = types.SimpleNamespace(
        set_postfix_str=lambda *_, **__: None, update=lambda: steps.append(1), close=lambda: steps.append("closed")
    )
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = lambda **_: bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    problem = Problem()
    found = fit(problem.loss, problem.weights, progress=True, options={"maxiter": 4})
    assert steps == [1] * found.nit + ["closed"]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    fit(problem.loss, problem.weights, progress=True, options={"maxiter": 2})


# ------------------------------------------------------------------------------------- the own quasi-Newton method


@pytest.mark.parametrize(("b", "h"), [(0.3, 7.0), (1.0, 1.0), (4.0, 0.5), (0.01, 200.0), (1.5, 1.5)])
def test_updates_keep_the_secant_and_stay_definite(b, h):
    """H y = s after the update, and H is positive definite, whatever the scaling."""
    rng = np.random.default_rng(3)
    n = 5
    estimate = _broyden.InverseHessian(n)
    root = rng.standard_normal((n, n))
    dense = root @ root.T + n * np.eye(n)
    estimate.matrix[:] = np.tril(dense)
    s, y = rng.standard_normal((2, n))
    y *= np.sign(y @ s) * h
    s *= b
    sbs = float(s @ np.linalg.solve(dense, s))
    ys, yhy, hy = y @ s, y @ dense @ y, dense @ y
    tau, phi = _broyden.self_scaling(sbs / ys, yhy / ys, n)
    v = s / ys - hy / yhy
    by_formula = (dense - np.outer(hy, hy) / yhy + phi * yhy * np.outer(v, v)) / tau + np.outer(s, s) / ys
    estimate.update(s, y, sbs)
    found = np.stack([estimate.times(e) for e in np.eye(n)])
    np.testing.assert_allclose(found, by_formula, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(estimate.times(y), s, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0


def test_steps_meet_the_conditions_of_wolfe():
    rng = np.random.default_rng(4)
    both = lambda x: (float(np.sum(x**4 + np.sin(3 * x))), 4 * x**3 + 3 * np.cos(3 * x))
    for length in 10.0 ** np.arange(-6.0, 4.0):
        x = rng.standard_normal(6)
        value, slope = both(x)
        at, trial, there, taken = _broyden.wolfe(both, x, value, slope, -slope, length)
        fall = -float(slope @ slope)
        assert trial <= value + 1e-4 * taken * fall
        assert -there @ slope >= 0.9 * fall
        np.testing.assert_array_equal(at, x - taken * slope)
    assert _broyden.wolfe(both, x, value, slope, slope, 1.0) is None  # uphill


def test_badly_conditioned_squares():
    """Where L-BFGS is still on its way, the dense estimate has arrived."""
    scales = np.logspace(0, 5, 40)
    square = lambda x: (Tensor(scales) * (x - 1.0) ** 2).sum()
    found = fit(square, np.zeros(40), method="SSBroyden", options={"gtol": 1e-9, "maxiter": 200})
    assert found.success
    np.testing.assert_allclose(found.x, np.ones(40), atol=1e-9)


# ------------------------------------------------------------------------------------------------------------ errors


def frozen():
    return dg.Parameter(Tensor([1.0]), name="frozen", requires_grad=False)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p, w: fit(3, w), TypeError, "expected a function"),
        (lambda p, w: fit(p.loss, w, method="adam"), ValueError, "method is 'adam'; expected one of 'L-BFGS-B'"),
        (lambda p, w: fit(p.loss, w, method="lbfgs"), ValueError, "did you mean 'L-BFGS-B'"),
        (lambda p, w: fit(p.loss, w, method="Newton"), ValueError, "did you mean 'Newton-CG'"),
        (lambda p, w: fit(p.loss, w, method=3), ValueError, "method is 3; expected one of"),
        (lambda p, w: fit(p.residuals, w), ValueError, r"^fit: .*one element.*mean of squares.*method='lm'"),
        (lambda p, w: fit(lambda x: x, np.ones(2)), ValueError, r"^fit: .*shape \(2,\).*mean of squares.*method='lm'"),
        (lambda p, w: fit(lambda: 1.0, w), ValueError, "^fit: the function returned float; expected a Tensor"),
        (lambda p, w: fit(lambda: 1.0, w, method="lm"), TypeError, "^fit: the function returned a float"),
        (lambda p, w: fit(p.loss, w, method="lm"), ValueError, "^fit: .*1 residuals for .*not the sum.*'trf'"),
        (lambda p, w: fit(p.loss, {"a": "b"}), TypeError, "^fit: the variables hold a str"),
        (lambda p, w: fit(p.loss, nn.Dense(2, 3)), TypeError, r"a Dense; .*net\.trainable_params\(\)"),
        (lambda p, w: fit(p.loss, nn.SequentialCell(nn.Dense(2, 3))), TypeError, r"net\.trainable_params\(\)"),
        (lambda p, w: fit(p.loss, None), TypeError, r"are None; .*net\.trainable_params\(\)"),
        (lambda p, w: nn.Adam(nn.Dense(2, 3)), TypeError, r"Adam.*net\.trainable_params\(\)"),
        (lambda p, w: nn.Adam(nn.CellDict({"a": nn.Dense(2, 3)})), TypeError, r"Adam.*net\.trainable_params\(\)"),
        (lambda p, w: fit(p.loss, [*w, np.ones(2)]), TypeError, "mix Parameters"),
        (lambda p, w: fit(p.loss, [w[0], w[0]]), ValueError, "several Parameters are called"),
        (lambda p, w: fit(p.loss, []), ValueError, "no variables"),
        (lambda p, w: fit(p.loss, [frozen()]), ValueError, "frozen: it has requires_grad=False"),
        (lambda p, w: fit(lambda: p.loss() * np.nan, w), ValueError, "not finite"),
        (lambda p, w: fit(p.loss, w, method="SSBroyden", options={"maxcor": 3}), TypeError, "got maxcor; expected"),
    ],
)
def test_errors(call, error, text):
    problem = Problem()
    before = problem.vector()
    with pytest.raises(error, match=text):
        call(problem, problem.weights)
    np.testing.assert_array_equal(problem.vector(), before)


@pytest.mark.parametrize("method", TIGHT)
def test_methods_are_known_in_letters_of_any_case(method):
    call = (lambda x: x - 1.0) if method in SQUARES else lambda x: ((x - 1.0) ** 2).sum()
    for name in method.lower(), method.upper():
        np.testing.assert_array_equal(fit(call, np.zeros(2), method=name).x, fit(call, np.zeros(2), method=method).x)


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        fit(bowl, {"a": 0.0, "b": np.zeros(2)})
