"""Systems with a narrow band: as LAPACK and exact arithmetic solve them, and refused where LAPACK refuses them."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from support import assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.solvers.banded import solve_definite, solve_narrow
from dualgrad.implicit._solvers import condition

NARROW = 8
SIZES = [8, 9, 16, 33, 64]
BANDS = [(low, up) for low in range(5) for up in range(5)]


def banded(n, lower, upper, dtype=np.float64, seed=0):
    """Random numbers in a band. The diagonal is hardly larger than the rest, so rows change places."""
    a = np.random.default_rng([seed, n, lower, upper]).normal(size=(n, n))
    i, j = np.indices((n, n))
    a[(i - j > lower) | (j - i > upper)] = 0
    return (a + 2 * np.eye(n)).astype(dtype)


def is_narrow(n, lower, upper):
    return NARROW * (lower + upper) <= n


def residual(a, x, b):
    """The backward error of a solution, in units of the precision."""
    a, x, b = (y.astype(np.longdouble) for y in (a, x, b))
    scale = np.abs(a).sum(1).max() * np.abs(x).max(0) + np.abs(b).max(0)
    return float((np.abs(a @ x - b).max(0) / scale).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "band"), list(itertools.product(SIZES, BANDS)))
def test_as_exact_as_lapack(n, band, dtype):
    a = banded(n, *band, dtype)
    right = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    for b, matrix in itertools.product((right, right[:, :1], np.asfortranarray(right), right[:, :0]),
                                       (a, np.asfortranarray(a))):  # fmt: skip
        x = solve_narrow(matrix, b)
        assert (x is not None) == is_narrow(n, *band)
        if x is not None and b.size:
            assert x.shape == b.shape
            assert x.dtype == dtype
            assert x.flags.c_contiguous
            least = max(residual(a, np.linalg.solve(a, b), b), float(np.finfo(dtype).eps))
            assert residual(a, x, b) <= 4 * least


@pytest.mark.parametrize("band", [band for band in BANDS if is_narrow(40, *band)])
def test_exact_solution(band):
    a, b = banded(40, *band), np.ones((40, 1))
    with mp.workdps(60):
        exact = np.array([float(x) for x in mp.lu_solve(mp.matrix(a.tolist()), mp.matrix(b.tolist()))])
    np.testing.assert_allclose(solve_narrow(a, b)[:, 0], exact, rtol=1e-14 * np.linalg.cond(a))


def test_the_band_is_found_wherever_it_is_widest():
    """One element away from the diagonal, at each place: in a narrow band it counts, elsewhere the matrix is dense."""
    n = 24
    b = np.arange(1.0, n + 1)[:, None]
    for i, j, number in itertools.product(range(n), range(n), (1e-300, -0.5)):
        a = 2 * np.eye(n)
        a[i, j] += number
        x = solve_narrow(a, b)
        assert (x is not None) == is_narrow(n, max(i - j, 0), max(j - i, 0))
        if x is not None:
            np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-15)


def test_zeros_have_no_sign():
    a = banded(16, 1, 1)
    signed = np.where(a == 0, -0.0, a)
    np.testing.assert_array_equal(solve_narrow(signed, np.eye(16)), solve_narrow(a, np.eye(16)))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_left_to_lapack(number):
    """Anywhere: they meet the zeros of the other equations."""
    b = np.ones((16, 1))
    for i, j in itertools.product(range(16), repeat=2):
        a = banded(16, 1, 1)
        a[i, j] = number
        assert solve_narrow(a, b) is None
        assert solve_narrow(np.asfortranarray(a), b) is None


def test_what_is_not_looked_at():
    a, b = banded(16, 1, 1), np.ones((16, 1))
    assert solve_narrow(a.astype(np.complex128), b.astype(np.complex128)) is None
    assert solve_narrow(a, b.astype(np.float32)) is None
    assert solve_narrow(a[::2, ::2], b[::2]) is None  # neither by rows nor by columns
    assert solve_narrow(a, b[:8]) is None
    assert solve_narrow(a[None], b[None]) is None
    assert solve_narrow(a[:4, :4].copy(), b[:4]) is None


def neumann(n):
    """Minus second differences between insulated ends: constants are solutions."""
    a = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    a[0, 0] = a[-1, -1] = 1.0
    return a


def without(n, row=None, column=None):
    a = banded(n, 1, 1)
    if row is not None:
        a[row] = 0
    if column is not None:
        a[:, column] = 0
    return a


SINGULAR = {
    "zero": np.zeros((16, 16)),
    "insulated": neumann(16),
    **{f"row {i}": without(16, row=i) for i in range(16)},
    **{f"column {i}": without(16, column=i) for i in range(16)},
    "a path of odd length": np.eye(17, k=1) + np.eye(17, k=-1),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices_are_refused(name):
    a = SINGULAR[name]
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(a, np.ones((len(a), 1)))
    ones, stack = f64(np.ones((len(a), 1))), np.stack([np.eye(len(a)), a])
    assert_raises(np.linalg.LinAlgError, lambda: ops.solve(f64(a), ones), "solve: the matrix is singular")
    assert_raises(
        np.linalg.LinAlgError, lambda: ops.solve(f64(stack), ops.stack([ones, ones])), "at [1]", "is singular"
    )
    assert np.isinf(condition(a))


def test_stacks_are_solved_in_bands_only_if_all_are_narrow():
    narrow, dense = banded(16, 1, 1), banded(16, 15, 15)
    for kinds in itertools.product((narrow, dense), repeat=3):
        a, b = np.stack(kinds), np.random.default_rng(1).normal(size=(3, 16, 2))
        np.testing.assert_allclose(ops.solve(f64(a), f64(b)).asnumpy(), np.linalg.solve(a, b), rtol=1e-9)


@pytest.mark.parametrize("n", [8, 16, 40])
def test_derivatives_of_a_solution_in_a_band(n):
    """The gradient by the matrix is dense: against the system that is made dense by a rotation of its unknowns."""
    a, b = f64(banded(n, 1, 1 if n > 8 else 0) + 4 * np.eye(n)), f64(np.linspace(-1.0, 1.0, n))
    turn = f64(np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0])
    inside = lambda a, b: ops.exp(ops.solve(a, b)).sum()
    turned = lambda a, b: ops.exp(turn @ ops.solve(a @ turn, b)).sum()
    for f in (dg.grad(inside, (0, 1)), dg.jit(dg.grad(inside, (0, 1)))):
        for found, expected in zip(f(a, b), dg.grad(turned, (0, 1))(a, b), strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-11, atol=1e-13)
    second = lambda f: dg.grad(lambda b: dg.jvp(lambda b: f(a, b), b, b)[1])(b).asnumpy()
    np.testing.assert_allclose(second(inside), second(turned), rtol=1e-11, atol=1e-13)


def heated(n):
    """A rod that cools by the third power; `turn` mixes the unknowns, so that the Jacobian is dense."""

    def balance(u, a):
        wide = ops.cat([0.0 * u[:1], u, 0.0 * u[:1]])
        return (2.0 * u - wide[:-2] - wide[2:]) * (n + 1) ** 2 + u * u * u - a

    return balance


@pytest.mark.parametrize("n", [16, 60])
def test_roots_of_equations_on_a_line(n):
    balance = heated(n)
    turn = f64(np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0])
    a = f64(100 * np.sin(np.linspace(0.1, 3.0, n)))
    start = Tensor(np.zeros(n))
    narrow = lambda a: (dg.root(balance, start, a) ** 2).mean()
    dense = lambda a: ((turn @ dg.root(lambda v, a: balance(turn @ v, a), start, a)) ** 2).mean()
    expected = dg.grad(dense)(a).asnumpy()
    for f in (dg.grad(narrow), dg.jit(dg.grad(narrow))):
        for _ in range(3):
            np.testing.assert_allclose(f(a).asnumpy(), expected, rtol=1e-10, atol=1e-14)


def test_conditions_are_those_of_numpy():
    """From good to hopeless, narrow and dense: within the rounding of an inverse."""
    for n, lower, upper in [(16, 1, 1), (16, 0, 2), (64, 3, 4), (12, 11, 11)]:
        for worst in 10.0 ** np.arange(0, 17, 2):
            a = banded(n, lower, upper) + 3 * np.eye(n)
            a[n // 2] /= worst
            a[n // 2 - 1] = a[n // 2] + a[n // 2 - 1] / worst
            expected, found = np.linalg.cond(a, 1), condition(a)
            assert abs(found / expected - 1) <= 100 * np.finfo(float).eps * expected or min(found, expected) > 1e15
    several = np.stack([neumann(16), np.eye(16)])
    assert not (condition(several) < 1e12).all()
    np.testing.assert_allclose(condition(np.stack([2 * np.eye(16), np.eye(16)])), 1.0)


@pytest.mark.parametrize("n", [16, 40])
def test_a_singular_jacobian_in_a_band_is_refused(n):
    """Insulated ends: a whole line of steady states."""

    def balance(u, a):
        wide = ops.cat([u[:1], u, u[-1:]])
        return 2.0 * u - wide[:-2] - wide[2:] - (a - a.mean())

    inverse = np.linalg.pinv(neumann(n), rcond=1e-10)  # far above the rounding of the eigenvalue that is zero
    f = lambda a: dg.root(balance, Tensor(np.zeros(n)), a, solver=lambda f, x: inverse @ -f(x)).sum()
    assert_raises(np.linalg.LinAlgError, lambda: dg.grad(f)(f64(np.arange(float(n)))), "root", "singular")


def definite(n, band, dtype=np.float64, least=1.0):
    """A symmetric matrix with a band, whose least eigenvalue is known to rounding."""
    half = np.tril(banded(n, band, 0))
    a = half + half.T
    return (a + (least - np.linalg.eigvalsh(a)[0]) * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 5, 30, 64, 65, 100])
@pytest.mark.parametrize("band", [0, 1, 3, 6, 200])
def test_definite_systems(n, band, dtype):
    """Small ones, and large ones with a narrow band; only if all eigenvalues are above a least one."""
    band = min(band, n - 1)
    a = definite(n, band, dtype)
    b = np.random.default_rng(n).normal(size=(n, 2)).astype(dtype)
    taken = n <= 64 or is_narrow(n, band, band)
    for right in (b, b[:, :1], np.asfortranarray(b)):
        x = solve_definite(a, right, 0.9)
        assert (x is not None) == taken
        if taken:
            assert x.dtype == dtype
            least = max(residual(a, np.linalg.solve(a, right), right), float(np.finfo(dtype).eps))
            assert residual(a, x, right) <= 4 * least
    if taken:
        for matrix, limit in ((a, 1.1), (-a, 0.0), (definite(n, band, dtype, least=-0.1), 0.0), (0 * a, 0.0)):
            with pytest.raises(np.linalg.LinAlgError):
                solve_definite(matrix, b, limit)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_no_definite_system_holds_numbers_that_are_not_finite(number):
    for i, j in itertools.product(range(9), repeat=2):
        a = definite(9, 1)
        a[i, j] = a[j, i] = number
        if i == j and number == np.inf:
            continue  # an unknown that is zero
        with pytest.raises(np.linalg.LinAlgError):
            solve_definite(a, np.ones((9, 1)), 0.0)


def in_bowl(n):
    """Energies of a chain: `x` minimises; the Hessian has three diagonals."""
    return lambda x, a: ops.cosh(x[1:] - x[:-1]).sum() + (ops.exp(x) - a * x).sum()


@pytest.mark.parametrize("n", [3, 20, 90])
def test_minimisers_of_a_chain(n):
    """With a Hessian that has a band, and with one that is dense, since the unknowns are mixed."""
    turn = f64(np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0])
    a, start = f64(np.linspace(0.5, 2.0, n)), Tensor(np.zeros(n))
    narrow = lambda a: (dg.argmin(in_bowl(n), start, a) ** 2).mean()
    dense = lambda a: ((turn @ dg.argmin(lambda v, a: in_bowl(n)(turn @ v, a), start, a)) ** 2).mean()
    expected = dg.grad(dense)(a).asnumpy()
    for f in (dg.grad(narrow), dg.jit(dg.grad(narrow))):
        for _ in range(3):
            np.testing.assert_allclose(f(a).asnumpy(), expected, rtol=1e-9, atol=1e-13)
