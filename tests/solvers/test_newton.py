"""Newton's methods between NumPy arrays: where they end, and what is solved by then.

A method ends early if it sees its steps shrink quadratically. Here it is compared with itself where it never does, and
with exact solutions.
"""

import itertools

import mpmath as mp
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.solvers.newton import is_last, moved, size, symmetric_part
from dualgrad.implicit import _solvers
from dualgrad.implicit._solvers import is_definite, minimised, newton

EPS = {np.float64: 2.0**-52, np.float32: 2.0**-23}


def diagonal(slopes):
    return lambda x: np.diag(np.asarray(slopes(x), x.dtype))


#: f, its slopes element by element, a start, the root
REGULAR = {
    "cube root": (lambda x: x**3 - 2, lambda x: 3 * x**2, [1.0], [mp.cbrt(2)]),
    "a fraction": (lambda x: 1 / x - 3, lambda x: -1 / x**2, [0.3], [mp.mpf(1) / 3]),
    "an exponential": (lambda x: np.exp(x) - 5, np.exp, [1.0], [mp.log(5)]),
    "a logarithm": (lambda x: np.log(x) + 1.5, lambda x: 1 / x, [0.4], [mp.exp(-1.5)]),
    "a wave": (lambda x: np.sin(x) - 0.25, np.cos, [0.1], [mp.asin(0.25)]),
    "a large unknown beside a small one": (
        lambda x: x * x - np.array([2.0**42, 2.0**-42], x.dtype), lambda x: 2 * x, [1e6, 1e-6], [2.0**21, 2.0**-21],
    ),
    "unknowns that arrive one after the other": (
        lambda x: x * x - np.array([2.0, 2.0**-19], x.dtype), lambda x: 2 * x, [1.5, 100.0], [mp.sqrt(2), 2.0**-9.5],
    ),
    "curvature of a small scale": (
        lambda x: x + 1e-5 * np.sin(1e4 * (x - 1)) - 1, lambda x: 1 + 0.1 * np.cos(1e4 * (x - 1)), [1.0002], [1],
    ),
}  # fmt: skip
#: roots at which the slope is zero: steps shrink by a factor
MULTIPLE = {
    "double": (lambda x: (x - 1.3) ** 2, lambda x: 2 * (x - 1.3), [2.0]),
    "triple": (lambda x: (x - 1.3) ** 3, lambda x: 3 * (x - 1.3) ** 2, [2.0]),
    "triple at 0": (lambda x: x**3, lambda x: 3 * x**2, [2.0]),
    "double beside a single one": (
        lambda x: np.array([(x[0] - 1.3) ** 2, x[1] ** 2 - 2], x.dtype),
        lambda x: [2 * (x[0] - 1.3), 2 * x[1]],
        [2.0, 1.0],
    ),
}  # fmt: skip


def counted(f):
    def call(x):
        call.count += 1
        return f(x)

    call.count = 0
    return call


def solved(case, dtype, monkeypatch, to_the_end):
    f, slopes, start = case[:3]
    with monkeypatch.context() as patch:
        if to_the_end:
            patch.setattr(_solvers, "is_last", lambda *args: False)
        jac = counted(diagonal(slopes))
        return newton(f, jac, np.array(start, dtype), 200), jac.count


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", REGULAR)
def test_regular_roots_are_as_exact_as_at_the_end(name, dtype, monkeypatch):
    early, few = solved(REGULAR[name], dtype, monkeypatch, False)
    late, many = solved(REGULAR[name], dtype, monkeypatch, True)
    exact = np.array([float(x) for x in REGULAR[name][3]])
    error = lambda x: np.abs(x.astype(float) / exact - 1).max()
    assert few <= many
    assert error(early) <= max(error(late), 2 * EPS[dtype])


def test_regular_roots_take_fewer_steps(monkeypatch):
    counts = [[solved(case, np.float64, monkeypatch, end)[1] for case in REGULAR.values()] for end in (False, True)]
    assert sum(counts[0]) < sum(counts[1])


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", MULTIPLE)
def test_multiple_roots_are_followed_to_the_end(name, dtype, monkeypatch):
    """Their Jacobians become singular there and nowhere before, which a derivative needs to know."""
    early, few = solved(MULTIPLE[name], dtype, monkeypatch, False)
    late, many = solved(MULTIPLE[name], dtype, monkeypatch, True)
    assert few == many
    np.testing.assert_array_equal(early, late)


@pytest.mark.parametrize("name", ["cube root", "an exponential", "a wave"])
@pytest.mark.parametrize("away", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0])
def test_from_close_to_the_root(name, away):
    """One small step is no sign that the next one is smaller."""
    f, slopes, _, (exact,) = REGULAR[name]
    found = newton(f, diagonal(slopes), np.array([float(exact) * (1 + away)]), 100)
    assert abs(float(found[0]) / float(exact) - 1) <= 2 * EPS[np.float64]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("n", [1, 4, 80])
def test_minimisers_are_as_exact_as_at_the_end(n, dtype, monkeypatch):
    """With small Hessians and with large ones, which LAPACK factorises."""
    rng = np.random.default_rng(n)
    mix = (np.eye(n) + rng.normal(size=(n, n)) / (4 * n)).astype(dtype)
    goal = np.linspace(0.5, 2.0, n).astype(dtype)

    def judged(x):
        y = mix @ x
        return float((np.exp(y) - goal * y).sum()), mix.T @ (np.exp(y) - goal)

    hessian = lambda x: mix.T @ (np.exp(mix @ x)[:, None] * mix)
    start = np.zeros(n, dtype)
    early = minimised(judged, hessian, start, 100)
    monkeypatch.setattr(_solvers, "is_last", lambda *args: False)
    late = minimised(judged, hessian, start, 100)
    exact = np.linalg.solve(mix.astype(float), np.log(goal.astype(float)))
    error = lambda x: np.abs(x - exact).max() / np.abs(exact).max()
    assert error(early) <= max(2 * error(late), 8 * EPS[dtype])


#: convex losses with their gradients and Hessians, element by element; minimum at 2
LOSSES = {
    "a parabola": (lambda d: d**2, lambda d: 2 * d, lambda d: 2 + 0 * d),
    "a steep one": (lambda d: d**4 + d**2, lambda d: 4 * d**3 + 2 * d, lambda d: 12 * d**2 + 2),
    "a hyperbola": (
        lambda d: np.sqrt(1 + d * d), lambda d: d / np.sqrt(1 + d * d), lambda d: (1 + d * d) ** -1.5,
    ),
    "a flat minimum": (lambda d: d**4, lambda d: 4 * d**3, lambda d: 12 * d**2),
}  # fmt: skip


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**-34, 2.0**34, 2.0**80])
@pytest.mark.parametrize("n", [1, 3, 80])
@pytest.mark.parametrize("name", LOSSES)
def test_minimisers_do_not_depend_on_the_unit_of_the_loss(name, n, unit):
    """A unit that is a power of four changes no digit of any step."""
    loss, slope, curvature = LOSSES[name]
    start = np.linspace(-1.0, 5.0, n)

    def found(unit):
        judged = lambda x: (unit * float(loss(x - 2).sum()), unit * slope(x - 2))
        return minimised(judged, lambda x: unit * np.diag(curvature(x - 2)), start, 300)

    np.testing.assert_array_equal(found(unit), found(1.0))
    np.testing.assert_allclose(found(1.0), 2.0, rtol=1e-6)


#: vectors and matrices as NumPy may hand them over
FORMS = {
    "in one piece": lambda a: a,
    "by columns": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("form", FORMS)
def test_questions_about_steps_as_numpy_answers_them(form, dtype):
    """Sizes, what a step leaves, and symmetric parts, of any layout; nothing that is not finite has a size."""
    rng = np.random.default_rng(len(form))
    for n in (0, 1, 2, 7, 33):
        x, step = FORMS[form](rng.normal(size=n).astype(dtype)), rng.normal(size=n).astype(dtype)
        a = FORMS[form](rng.normal(size=(n, n)).astype(dtype))
        np.testing.assert_array_equal(symmetric_part(a), (a + a.T) / 2)
        assert size(a) == np.abs(a).max(initial=0.0)
        assert moved(x, x * 0) is None
        if n:
            np.testing.assert_array_equal(moved(x, step), x - step)
            assert moved(x, step).dtype == dtype
        for odd in (np.inf, -np.inf, np.nan):
            for k in range(n):
                broken = a.copy()
                broken[-1, k] = odd
                assert size(broken) == np.inf


def test_short_numbers_have_a_size():
    """So fixed points are found in float16, too."""
    assert size(np.array([1.0, -3.0], np.float16)) == 3.0
    found = dg.fixed_point(lambda x, a: ops.cos(a * x), Tensor(0.5, dg.float16), Tensor(1.0, dg.float16))
    assert abs(float(found) - 0.739) < 1e-3


ONES = np.ones(2)
REFUSED = [
    lambda: moved(np.ones(2, int), np.ones(2, int)),
    lambda: moved(ONES, np.ones(3)),
    lambda: moved(ONES, np.ones(2, np.float32)),
    lambda: is_last(ONES, np.ones(1), 1.0),
    lambda: symmetric_part(np.ones(3)),
    lambda: symmetric_part(np.ones((2, 3))),
]


@pytest.mark.parametrize("call", REFUSED)
def test_other_arrays_are_refused(call):
    with pytest.raises((TypeError, ValueError), match="expected"):
        call()


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("n", [1, 2, 5, 30, 64, 70])
def test_what_is_definite_has_no_small_singular_value(n, dtype):
    """For symmetric matrices, narrow ones, and those that are not symmetric; eigenvalues on both sides of the bound."""
    rng = np.random.default_rng(n)
    seen = set()
    for least, around, skew, band in itertools.product((1e-4, 1.0), (0.5, 0.99, 1.01, 2.0, -1.0), (0.0, 3.0), (1, n)):
        vectors = np.linalg.qr(rng.normal(size=(n, n)))[0] if band == n else np.eye(n)
        values = least * np.append(around, rng.uniform(1.5, 50.0, n - 1) * np.sign(around))
        other = np.triu(rng.normal(size=(n, n)) * (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < band), 1)
        a = ((vectors * values) @ vectors.T + skew * least * (other - other.T)).astype(dtype)
        found = is_definite(a, least)
        seen.add(found)
        smallest = np.linalg.svd(a.astype(float), compute_uv=False).min()
        assert not found or smallest >= least * (1 - 100 * n * EPS[dtype])
        if band == 1 or n <= 64:
            assert found == (around > 1.0), (least, around, skew, band)
    assert seen == {True, False}
    assert not is_definite(np.stack([np.eye(n, dtype=dtype)] * 2), 0.5)


#: semidefinite matrices of small integers, so their multiples by powers of two are singular, too
SINGULAR = {
    "two alike": np.array([[1, 2], [2, 4]]),
    "free springs": 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1) - np.diag([1, 0, 0, 0, 1]),
    "with a rotation": np.array([[2, 3, 0], [-1, 1, 0], [0, 0, 0]]),
    **{
        f"of rank {n - 1}": (lambda b: b @ b.T)(np.random.default_rng(n).integers(-3, 4, (n, n - 1))) for n in (4, 6, 9)
    },
}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", SINGULAR)
def test_no_unit_makes_a_singular_matrix_definite(name, dtype):
    """From numbers too small to be normal up to those whose sums leave the range; well-posed ones warn nowhere."""
    info = np.finfo(dtype)
    matrix = SINGULAR[name].astype(dtype)
    highest = int(info.maxexp - np.frexp(np.abs(matrix).max())[1])
    for exponent in range(info.minexp - info.nmant, highest + 1):
        a = np.ldexp(matrix, exponent)
        assert np.isfinite(a).all()
        assert not is_definite(a, float(len(a) * size(a) * float(info.eps) * 1e3)), exponent


def derivative_of_a_root(matrix):
    """Of the sum of the solution of a linear system, by its right-hand side."""
    a, start = Tensor(matrix), np.zeros(len(matrix), matrix.dtype)
    found = lambda b: dg.root(lambda x, b: a @ x - b, Tensor(start), b, solver=lambda f, x: x).sum()
    return dg.grad(found)(Tensor(start)).asnumpy()


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.filterwarnings("error")
def test_large_jacobians_have_derivatives(n, dtype):
    """A bound for their singular values may leave the range of their type."""
    top = np.finfo(dtype).max
    for part in (0.01, 0.3, 0.6, 0.99):
        matrix = np.eye(n, dtype=dtype) * dtype(part * float(top))
        np.testing.assert_allclose(derivative_of_a_root(matrix) * matrix[0, 0], np.ones(n), rtol=4 * EPS[dtype])


@pytest.mark.parametrize("samples", [None, 3])
def test_nothing_unknown_has_a_derivative(samples):
    """A Jacobian without rows is regular, each of several, too."""
    nothing = Tensor(np.zeros(0))
    slope = dg.grad(lambda a: dg.root(lambda x, a: x * a, nothing, a).sum())
    found = slope(Tensor(2.0)) if samples is None else dg.vmap(slope)(Tensor(np.ones(samples)))
    np.testing.assert_array_equal(found.asnumpy(), np.zeros(samples or ()))


@pytest.mark.parametrize(("unknown", "given"), [(dg.float32, dg.float64), (dg.float64, dg.float32)])
def test_a_function_may_compute_in_another_type(unknown, given):
    cube_root = lambda a: dg.root(lambda x, a: x.astype(given) ** 3 - a, Tensor(1.0, unknown), a)
    found, slope = cube_root(Tensor(2.0, given)), dg.grad(cube_root)(Tensor(2.0, given))
    assert (found.dtype, slope.dtype) == (unknown, given)
    assert abs(float(found) / float(mp.cbrt(2)) - 1) <= 2 * EPS[np.float32]
    assert abs(float(slope) * 3 * float(mp.cbrt(2)) ** 2 - 1) <= 8 * EPS[np.float32]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.int8, np.int64, np.uint8, np.bool_, np.float16])
def test_numbers_of_other_types_have_the_size_that_numpy_gives_them(dtype):
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    rows = [[0, 1], [1, 0], [0, 0]] + ([[info.min, 0], [0, info.max]] if info else [])
    if np.dtype(dtype).kind == "c":
        rows += [[3 + 4j, 0], [0, 5j], [-2, 1j]]
    for row in rows:
        assert size(np.array(row, dtype)) == np.abs(np.array(row).astype(complex)).max()
