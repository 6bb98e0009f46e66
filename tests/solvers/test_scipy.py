"""What SciPy's solvers ask for: the numbers, and that the solvers find known solutions with them."""

import sys

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.integrate import solve_ivp
from support import f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.testing import Calls

adapt = dg.scipy


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def brown_almost_linear(x):
    """BROWNAL: n - 1 nearly linear residuals and a product."""
    n = x.size
    return ((x[:-1] + x.sum() - (n + 1)) ** 2).sum() + (x.prod() - 1) ** 2


def wood(x):
    """WOODS: sums over quadruples of variables."""
    a, b, c, d = x[0::4], x[1::4], x[2::4], x[3::4]
    valleys = 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (d - c**2) ** 2 + (1 - c) ** 2
    return (valleys + 10 * (b + d - 2) ** 2 + 0.1 * (b - d) ** 2).sum()


def arrowhead(x):
    """ARWHEAD: every variable meets the last one."""
    return ((x[:-1] ** 2 + x[-1] ** 2) ** 2 - 4 * x[:-1] + 3).sum()


def cragg_levy(x):
    """CRAGGLVY: exponentials, tangents and high powers of overlapping quadruples."""
    a, b, c, d = x[0:-2:2], x[1:-2:2], x[2::2], x[3::2]
    return ((ops.exp(a) - b) ** 4 + 100 * (b - c) ** 6 + (ops.tan(c - d) + c - d) ** 4 + a**8 + (d - 1) ** 2).sum()


WOOD_START = np.tile([-3.0, -1.0], 10)
CRAGG_START = np.r_[1.0, np.full(49, 2.0)]

#: Function, start, optimum (SIF files of the CUTEst collection give those of the last four).
PROBLEMS = {
    "ROSENBROCK": (rosenbrock, np.tile([1.3, 0.7], 5), 0.0),
    "BROWNAL": (brown_almost_linear, np.full(10, 0.5), 0.0),
    "WOODS": (wood, WOOD_START, 0.0),
    "ARWHEAD": (arrowhead, np.ones(100), 0.0),
    "CRAGGLVY": (cragg_levy, CRAGG_START, 15.37),
}
SOLVERS = {
    "trust-exact": ("dense", lambda f: {"hess": f.hess}),
    "trust-ncg": ("product", lambda f: {"hessp": f.hessp}),
    "trust-krylov": ("product", lambda f: {"hessp": f.hessp}),
    "Newton-CG": ("product", lambda f: {"hessp": f.hessp}),
    "trust-constr": ("sparse", lambda f: {"hess": f.hess}),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", SOLVERS)
def test_minimisers_find_the_known_optimum(problem, method):
    fn, start, optimum = PROBLEMS[problem]
    hess, options = SOLVERS[method]
    f = adapt.objective(fn, start, hess=hess)
    tolerances = {"maxiter": 5000} | ({"xtol": 1e-12} if method == "Newton-CG" else {})
    found = optimize.minimize(f.fun, f.x0, jac=f.jac, method=method, options=tolerances, **options(f))
    assert abs(found.fun - optimum) <= 1e-8 + 1e-3 * optimum
    assert np.abs(f.jac(found.x)).max() < 1e-3
    if problem in ("ROSENBROCK", "WOODS"):
        np.testing.assert_allclose(found.x, np.ones(start.size), atol=1e-4)


#: Solvers that take other forms of the Hessian, too.
OTHERS = [("trust-ncg", "dense"), ("Newton-CG", "dense"), ("trust-constr", "dense"), ("trust-constr", "product")]


@pytest.mark.parametrize(("method", "hess"), OTHERS)
def test_minimisers_take_other_forms(method, hess):
    fn, start, _ = PROBLEMS["ROSENBROCK"]
    f = adapt.objective(fn, start, hess=hess)
    tolerances = {"xtol": 1e-12} if method == "Newton-CG" else {}
    found = optimize.minimize(f.fun, f.x0, jac=f.jac, hess=f.hess, method=method, options=tolerances)
    np.testing.assert_allclose(found.x, np.ones(start.size), atol=1e-4)


@pytest.mark.parametrize("hess", ["dense", "product", "sparse"])
def test_the_hessians_are_the_same(hess):
    fn, x, _ = PROBLEMS["CRAGGLVY"]
    f = adapt.objective(fn, x, hess=hess)
    columns = np.stack([f.hessp(x, e) for e in np.eye(x.size)], 1)
    found = f.hess(x)
    if hess == "sparse":
        assert isinstance(found, sparse.csr_array)
        found = found.toarray()
    if hess == "product":
        np.testing.assert_array_equal(found.rmatvec(x), found @ x)
        found = found @ np.eye(x.size)
    np.testing.assert_allclose(found, columns, rtol=1e-13, atol=1e-12 * np.abs(columns).max())
    gradient = optimize.approx_fprime(x, f.fun)
    np.testing.assert_allclose(f.jac(x), gradient, rtol=1e-4, atol=1e-2)


def test_a_value_and_its_gradient_are_computed_together():
    """From the second call on, which has shown that the function does not change what it depends on."""
    runs = Calls()
    f = adapt.objective(lambda x: (x**3).sum(), np.ones(2))
    f._latest.compute = runs.counted(f._latest.compute)
    f.fun(f.x0), f.fun(f.x0)
    assert len(runs) == 2
    x = np.array([1.0, 2.0])
    assert f.fun(x) == 9.0
    np.testing.assert_array_equal(f.jac(x), [3.0, 12.0])
    assert len(runs) == 3
    f.jac(x)[0] = 7.0  # a copy
    np.testing.assert_array_equal(f.jac(x), [3.0, 12.0])
    x[0] = 2.0  # solvers change vectors in place
    assert f.fun(x) == 16.0
    assert len(runs) == 4


def test_nests_of_variables():
    scale = Tensor(np.array([1.0, 2.0]))
    fn = lambda z, c: (c * z["w"][0] * scale).sum() ** 2 + (z["w"][1] ** 2).sum() + z["b"] ** 4
    start = {"w": (np.array([1.0, -1.0]), Tensor(np.ones((2, 2), np.float32))), "b": 0.5}
    f = adapt.objective(fn, start, 3.0, hess="dense")
    assert f.x0.tolist() == [1, -1, 1, 1, 1, 1, 0.5]
    np.testing.assert_allclose(f.jac(f.x0), [-18, -36, 2, 2, 2, 2, 0.5])
    expected = np.diag([18.0, 72, 2, 2, 2, 2, 3])
    expected[0, 1] = expected[1, 0] = 36
    np.testing.assert_allclose(f.hess(f.x0), expected)
    assert f.unpack(f.x0)["w"][1].shape == (2, 2)


def test_lists_of_numbers_are_arrays():
    f = adapt.objective(lambda z: (z["w"] ** 2).sum() * z["b"], {"w": [1.0, 2], "b": 3.0})
    assert f.fun(f.x0) == 15.0
    assert f.unpack(f.x0)["w"].tolist() == [1.0, 2.0]


class Fit(nn.Cell):
    def __init__(self, xs, ys):
        super().__init__()
        self.dense = nn.Dense(1, 3, dtype=dg.float64)
        self.out = nn.Dense(3, 1, dtype=dg.float64)
        self.xs, self.ys = xs, ys

    def construct(self):
        return ((self.out(ops.tanh(self.dense(self.xs))) - self.ys) ** 2).mean()


def test_weights_of_a_cell():
    dg.set_seed(1)
    xs = np.linspace(-1, 1, 20)[:, None]
    cell = Fit(Tensor(xs), Tensor(np.sin(2 * xs)))
    f = adapt.objective(cell, weights=cell.trainable_params(), hess="dense")
    H = f.hess(f.x0)
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    step = 1e-6
    e = np.eye(f.x0.size)
    numerical = np.stack([(f.jac(f.x0 + step * d) - f.jac(f.x0 - step * d)) / (2 * step) for d in e], 1)
    np.testing.assert_allclose(H, numerical, atol=1e-7)
    np.testing.assert_allclose(np.stack([f.hessp(f.x0, d) for d in e], 1), H, atol=1e-13)
    found = optimize.minimize(f.fun, f.x0, jac=f.jac, hess=f.hess, method="trust-exact", options={"gtol": 1e-5})
    assert found.fun < 1e-4
    f.assign(found.x)
    assert float(cell()) == pytest.approx(found.fun)
    np.testing.assert_array_equal(f.unpack(found.x)["dense.weight"], cell.dense.weight.asnumpy())


@pytest.mark.parametrize("jac", ["dense", "sparse", "product"])
def test_least_squares(jac):
    """A smoothed signal: residuals of neighbours, and a known solution."""
    n = 60
    seen = np.sin(np.linspace(0, 3, n))
    fn = lambda x: (x - seen, 2.0 * (x[1:] - x[:-1]))
    r = adapt.residuals(fn, np.zeros(n), jac=jac)
    found = optimize.least_squares(r.fun, r.x0, jac=r.jac, xtol=1e-14, gtol=1e-14, ftol=1e-14)
    d = np.diff(np.eye(n), axis=0)
    np.testing.assert_allclose(found.x, np.linalg.solve(np.eye(n) + 4 * d.T @ d, seen), atol=1e-6)
    assert sparse.issparse(r.jac(r.x0)) == (jac == "sparse")


def test_least_squares_that_are_not_linear():
    times = np.linspace(0, 4, 50)
    seen = 2.5 * np.exp(-0.7 * times) * np.cos(3 * times)
    model = lambda p: p["a"] * ops.exp(-p["k"] * Tensor(times)) * ops.cos(p["w"] * Tensor(times)) - seen
    r = adapt.residuals(model, {"a": 1.0, "k": 0.3, "w": 2.8})
    found = r.unpack(optimize.least_squares(r.fun, r.x0, jac=r.jac).x)
    assert {name: round(float(x), 6) for name, x in found.items()} == {"a": 2.5, "k": 0.7, "w": 3.0}


def test_roots():
    """A discrete boundary value problem: u'' = exp(u) with u = 0 at both ends."""
    n, h = 30, 1 / 31

    def fn(u):
        inner = ops.concat((Tensor(np.zeros(1)), u, Tensor(np.zeros(1))))
        return (inner[2:] - 2 * u + inner[:-2]) / h**2 - ops.exp(u)

    f = adapt.system(fn, np.zeros(n))
    for method in ("hybr", "lm"):
        found = optimize.root(f.fun, f.x0, jac=f.jac, method=method)
        assert found.success
        assert np.abs(f.fun(found.x)).max() < 1e-9
    banded = adapt.system(fn, np.zeros(n), jac="sparse").jac(found.x)
    assert banded.nnz == 3 * n - 2
    np.testing.assert_allclose(banded.toarray(), f.jac(found.x), rtol=1e-13)


@pytest.mark.parametrize("form", ["dense", "sparse", "product"])
def test_constraints(form):
    """HS71: the least of x0 x3 (x0 + x1 + x2) + x2 with a product of 25 at least and squares that add up to 40."""
    f = adapt.objective(lambda x: x[0] * x[3] * x[:3].sum() + x[2], np.array([1.0, 5.0, 5.0, 1.0]), hess=form)
    c = adapt.system(lambda x: (x.prod(), (x * x).sum()), f.x0, jac="dense" if form == "product" else form)
    limits = optimize.NonlinearConstraint(c.fun, [25, 40], [np.inf, 40], jac=c.jac, hess=c.hess)
    found = optimize.minimize(
        *(f.fun, f.x0),
        jac=f.jac,
        hess=f.hess,
        method="trust-constr",
        bounds=[(1, 5)] * 4,
        constraints=limits,
        options={"gtol": 0.0, "xtol": 1e-12, "barrier_tol": 1e-10},
    )
    assert found.fun == pytest.approx(17.0140173, abs=1e-5)
    v = np.array([2.0, 3.0])
    H = c.hess(f.x0, v)
    step = 1e-6
    dense = lambda x: np.asarray(c.jac(x).toarray() if form == "sparse" else c.jac(x)).T @ v
    numerical = [(dense(f.x0 + step * e) - dense(f.x0 - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(H.toarray() if form == "sparse" else H, numerical, atol=1e-7)


def test_narrow_variables():
    fn = lambda x: (x[:1] * x[1:]).sum(0, keepdims=True) + x[0]
    r = adapt.residuals(fn, Tensor(np.array([1.0, 2.0, 3.0], np.float32)))
    assert r.fun(r.x0).dtype == np.float64
    np.testing.assert_allclose(r.jac(r.x0), [[6, 1, 1]])


@pytest.mark.parametrize("jac", ["dense", "sparse"])
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_stiff_equations(method, jac):
    """Van der Pol with mu = 1000; the reference is the tightest run of another method."""
    f = adapt.rhs(
        lambda t, y, mu: ops.stack((y[1], mu * ((1 - y[0] ** 2) * y[1]) - y[0])), np.array([2.0, 0.0]), 1e3, jac=jac
    )
    asked = []
    found = solve_ivp(
        f.fun, (0, 500), f.y0, method=method, jac=lambda t, y: asked.append(t) or f.jac(t, y), rtol=1e-8, atol=1e-10
    )
    assert found.success
    assert asked
    by_hand = lambda t, y: [y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]]
    reference = solve_ivp(by_hand, (0, 500), f.y0, method="LSODA", rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.y[:, -1], reference.y[:, -1], rtol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_a_stiff_field(method):
    """The Brusselator with diffusion in one dimension; both forms of the Jacobian lead to the same solution."""
    n = 30
    places = np.linspace(0, 1, n + 2)[1:-1]
    y0 = np.stack([1 + np.sin(2 * np.pi * places), np.full(n, 3.0)])

    def fn(t, y):
        spread = [ops.concat((Tensor([edge], dtype=dg.float64), part, Tensor([edge], dtype=dg.float64)))
                  for part, edge in zip(y, (1.0, 3.0), strict=True)]  # fmt: skip
        u, v = y[0], y[1]
        du, dv = ((part[2:] - 2 * part[1:-1] + part[:-2]) * (0.02 * (n + 1) ** 2) for part in spread)
        return ops.stack((1 + u * u * v - 4 * u + du, 3 * u - u * u * v + dv))

    forms = {form: adapt.rhs(fn, y0, jac=form) for form in ("dense", "sparse")}
    banded, full = (forms[form].jac(0.0, forms[form].y0) for form in ("sparse", "dense"))
    assert banded.nnz == 2 * (3 * n - 2) + 2 * n
    np.testing.assert_allclose(banded.toarray(), full, rtol=1e-13, atol=1e-13)
    ends = [
        solve_ivp(f.fun, (0, 5), f.y0, method=method, jac=f.jac, rtol=1e-7, atol=1e-9).y[:, -1] for f in forms.values()
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)
    reference = solve_ivp(forms["dense"].fun, (0, 5), y0.ravel(), method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(ends[0], reference, rtol=1e-4)


def test_a_state_in_parts():
    fn = lambda t, state: {"x": state["v"], "v": -state["x"] * ops.cos(t)}
    f = adapt.rhs(fn, {"x": np.array([1.0, 2.0]), "v": np.zeros(2)})
    np.testing.assert_allclose(f.fun(0.0, f.y0), [0, 0, -1, -2])
    np.testing.assert_allclose(
        f.jac(0.0, f.y0), np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    )
    assert f.unpack(f.y0)["x"].tolist() == [1.0, 2.0]


def test_without_scipy(monkeypatch):
    f = adapt.objective(rosenbrock, np.ones(3))
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    np.testing.assert_array_equal(f.hessp(f.x0, [1.0, 0.0, 0.0]), [802, -400, 0])
    with pytest.raises(ImportError, match=r"dualgrad\[scipy\]"):
        f.hess(f.x0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: adapt.objective(3, np.ones(2)), TypeError, "expected a function"),
        (lambda: adapt.objective(rosenbrock), TypeError, "starting point"),
        (lambda: adapt.objective(rosenbrock, np.ones(2), hess="full"), ValueError, "hess is 'full'"),
        (lambda: adapt.objective(rosenbrock, weights=[]), TypeError, "weights"),
        (lambda: adapt.objective(rosenbrock, np.ones(3)).fun(np.ones(4)), ValueError, r"expected \(3,\)"),
        (lambda: adapt.objective(lambda x: x, np.ones(3)).fun(np.ones(3)), ValueError, "one element"),
        (lambda: adapt.objective(rosenbrock, Tensor([1, 2])), TypeError, "expected floats"),
        (
            lambda: adapt.objective(rosenbrock, np.ones(3))._latest(f64([1.0])),
            TypeError,
            "vector of numbers, got one te",
        ),
        (lambda: adapt.residuals(lambda x: 3, np.ones(3)).fun(np.ones(3)), TypeError, "expected a Tensor"),
        (lambda: adapt.system(rosenbrock, np.ones(3), jac="banded"), ValueError, "jac is 'banded'"),
        (lambda: adapt.rhs(lambda t, y: y[1:], np.ones(3)).fun(0.0, np.ones(3)), ValueError, "2 numbers"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
