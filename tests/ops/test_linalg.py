"""Linear algebra: values against NumPy, derivatives at singular and degenerate matrices, errors (modes: cases)."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from cases.linalg import definite, of_rank, regular
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.testing import taped_backward

RNG = np.random.default_rng(5)
A, STACK, TALL = regular(3, 3), regular(2, 4, 3, 3), RNG.standard_normal((5, 3))
DEFINITE = definite(2, 3, 3)
LOWER, UPPER = np.linalg.cholesky(DEFINITE), np.swapaxes(np.linalg.cholesky(DEFINITE), -1, -2)
B = RNG.standard_normal((3, 2))
T = np.tril(RNG.standard_normal((130, 130))) / 20 + np.eye(130)
UNIT = np.tril(T, -1) + np.eye(130)
RIGHT = RNG.standard_normal((130, 2))
transposed = lambda x: np.swapaxes(x, -1, -2)
pairwise = lambda x, y, p: np.array([[np.linalg.norm(a - b, p) for b in y] for a in x])

VALUES = {
    "inverse": (ops.inverse, np.linalg.inv, (STACK,)),
    "MatrixInverse": (ops.MatrixInverse(True), lambda a: transposed(np.linalg.inv(a)), (STACK,)),
    "solve": (ops.solve, np.linalg.solve, (STACK, B)),
    "solve, vector": (ops.solve, np.linalg.solve, (A, B[:, 0])),
    "MatrixSolve": (ops.MatrixSolve(True), lambda a, b: np.linalg.solve(a.T, b), (A, B)),
    "solve_triangular": (ops.solve_triangular, lambda a, b: np.linalg.solve(np.triu(a), b), (T.T, RIGHT)),
    "solve_triangular, lower": (lambda a, b: ops.solve_triangular(a, b, lower=True), np.linalg.solve, (T, RIGHT)),
    "solve_triangular, samples of the matrix alone": (
        dg.vmap(lambda a, b: ops.solve_triangular(a, b, lower=True), (0, None)),
        np.linalg.solve,
        (np.stack([T, 2.0 * T]), RIGHT),
    ),
    "solve_triangular, transposed": (
        lambda a, b: ops.solve_triangular(a, b, trans="T", lower=True, unit_diagonal=True),
        lambda a, b: np.linalg.solve(UNIT.T, b),
        (T, RIGHT),
    ),
    "cholesky_solve": (ops.cholesky_solve, lambda b, l: np.linalg.solve(DEFINITE, b), (B, LOWER)),
    "CholeskySolve, upper": (ops.CholeskySolve(True), lambda b, l: np.linalg.solve(DEFINITE, b), (B, UPPER)),
    "cholesky_inverse": (ops.cholesky_inverse, lambda l: np.linalg.inv(DEFINITE), (LOWER,)),
    "CholeskyInverse": (ops.CholeskyInverse(True), lambda l: np.linalg.inv(DEFINITE), (UPPER,)),
    "det": (ops.det, np.linalg.det, (STACK,)),
    "slogdet": (ops.slogdet, lambda a: tuple(np.linalg.slogdet(a)), (STACK - 3.0,)),
    "cholesky": (ops.cholesky, np.linalg.cholesky, (DEFINITE,)),
    "cholesky, upper": (lambda a: ops.cholesky(a, True), lambda a: UPPER, (DEFINITE,)),
    "qr": (ops.qr, lambda a: tuple(np.linalg.qr(a)), (TALL,)),
    "qr, wide": (ops.qr, lambda a: tuple(np.linalg.qr(a)), (TALL.T,)),
    "Qr": (ops.Qr(True), lambda a: tuple(np.linalg.qr(a, "complete")), (TALL,)),
    "eigvalsh": (ops.eigvalsh, np.linalg.eigvalsh, (DEFINITE,)),
    "eigh": (ops.eigh, lambda a: tuple(np.linalg.eigh(a)), (DEFINITE,)),
    "svd, values": (lambda a: ops.svd(a, compute_uv=False), lambda a: np.linalg.svd(a)[1], (TALL,)),
    "pinv": (ops.pinv, np.linalg.pinv, (STACK[..., :2],)),
    "pinv, rank 1": (ops.pinv, np.linalg.pinv, (of_rank(1, 4, 3),)),
    "pinv, limit": (lambda a: ops.pinv(a, atol=2.5), lambda a: np.diag([0.2, 0.0]), (np.diag([5.0, 2.0]),)),
    "lstsq": (ops.lstsq, lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], (of_rank(2, 5, 3), RIGHT[:5])),
    "matrix_power": (lambda a: ops.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3), (STACK,)),
    "MatrixPower, 0": (ops.MatrixPower(0), lambda a: np.broadcast_to(np.eye(3), a.shape), (STACK,)),
    "cond": (ops.cond, np.linalg.cond, (STACK,)),
    "cond, 1": (lambda a: ops.cond(a, 1), lambda a: np.linalg.cond(a, 1), (STACK,)),
    "norm, nuc": (lambda a: ops.norm(a, "nuc"), lambda a: np.linalg.norm(a, "nuc"), (TALL,)),
    "norm, 2": (lambda a: ops.norm(a, 2, (0, 2)), lambda a: np.linalg.norm(a, 2, (0, 2)), (RIGHT.reshape(2, 5, 26),)),
    "norm, -2": (
        lambda a: ops.norm(a, -2, (-1, 0), keepdims=True),
        lambda a: np.linalg.norm(a, -2, (-1, 0), keepdims=True),
        (RIGHT.reshape(2, 5, 26),),
    ),
    "kron": (ops.kron, np.kron, (STACK, B)),
    "vander": (ops.vander, np.vander, (RIGHT[:4, 0],)),
    "cross": (ops.cross, lambda x, y: np.cross(x, y, axis=0), (B, B[:, ::-1])),
    "Cross": (ops.Cross(-1), np.cross, (TALL, TALL[0])),
    **{
        f"cdist, {p}": (lambda x, y, p=p: ops.cdist(x, y, p), lambda x, y, p=p: pairwise(x, y, p), (TALL, TALL[:2]))
        for p in (0, 1, 2, 3.5, math.inf)
    },
}
VALUES["logdet"] = (
    ops.logdet,
    lambda a: np.array([math.log(2), np.nan, -np.inf]),
    (np.array([np.diag([1.0, 2]), np.diag([-1.0, 2]), np.zeros((2, 2))]),),
)


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_numpy_in_both_types(name):
    ours, theirs, arrays = VALUES[name]
    with np.errstate(divide="ignore"):
        expected = theirs(*arrays)
    assert_close(ours(*map(f64, arrays)), expected, 1e-11, scale=1.0)
    for got, exact in zip(as_tuple(ours(*map(f32, arrays))), as_tuple(expected), strict=True):
        assert got.dtype == dg.float32
        np.testing.assert_allclose(got.asnumpy(), exact, rtol=1e-4, atol=1e-4)


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 3, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_a_decomposition_puts_the_matrix_together_again(shape, full):
    a = RNG.standard_normal(shape)
    s, u, v = ops.svd(f64(a), full)
    m, n = shape[-2:]
    p = min(m, n)
    assert (u.shape[-1], v.shape[-1]) == ((m, n) if full else (p, p))
    assert_close((u[..., :p] * ops.unsqueeze(s, -2)) @ ops.swapaxes(v[..., :p], -1, -2), a, 1e-13, scale=1.0)
    q, r = ops.qr(f64(a), "complete" if full else "reduced")
    assert_close(q @ r, a, 1e-13, scale=1.0)


# ------------------------------------------------------------------- derivatives against other ways to them


def along(f, a, x):
    """The function on the line a + t x."""
    return lambda t: f(f64(a) + t * f64(x))


def derivative(f, order):
    return repeated_grad(f, order)(f64(0.0))


@pytest.mark.parametrize(
    "a",
    [A, of_rank(2, 3, 3), of_rank(1, 3, 3), np.zeros((3, 3)), np.diag([1.0, 1e-3, 1e-9]), np.diag([1e100, 1e-100, 0])],
    ids=["regular", "rank 2", "rank 1", "zeros", "graded", "of any size"],
)
def test_determinants_are_differentiated_as_polynomials(a):
    x = RNG.standard_normal((3, 3))
    with mp.workdps(400):
        for order in range(4):  # the coefficient of t^k adds determinants with k rows of x among those of a
            exact = size = mp.mpf(0)
            for chosen in itertools.combinations(range(3), order):
                rows = [(x if i in chosen else a)[i].tolist() for i in range(3)]
                exact, size = exact + mp.det(mp.matrix(rows)), size + mp.fprod([mp.norm(row) for row in rows])
            got = float(derivative(along(ops.det, a, x), order))
            assert abs(got - math.factorial(order) * exact) <= 1e-13 * size
    assert derivative(along(ops.det, np.zeros((3, 3)), x), 4).item() == 0.0


def test_large_determinants_near_zero():
    x = RNG.standard_normal((12, 12))
    assert_close(derivative(along(ops.det, np.zeros((12, 12)), x), 3), 0.0, scale=1.0)
    assert_close(dg.grad(ops.det)(f64(np.diag([1.0] * 11 + [0.0]))), np.diag([0.0] * 11 + [1.0]))
    a = of_rank(11, 12, 12)
    _, s, _ = np.linalg.svd(a)
    assert_close(ops.norm(dg.grad(ops.det)(f64(a))), float(np.prod(s[:11])), 1e-11)


def test_second_derivatives_of_determinants_and_inverses_are_the_known_ones():
    x = RNG.standard_normal((3, 3))
    y = np.linalg.solve(A, x)
    trace = np.trace
    det = np.linalg.det(A)
    assert_close(derivative(along(ops.det, A, x), 2), float(det * (trace(y) ** 2 - trace(y @ y))))
    assert_close(derivative(along(lambda a: ops.slogdet(a)[1], A, x), 3), float(2 * trace(y @ y @ y)))
    assert_close(
        derivative(along(lambda a: ops.inverse(a)[0, 1], A, x), 2), float((2 * y @ y @ np.linalg.inv(A))[0, 1])
    )


def by_mpmath(f, order):
    with mp.workdps(60):
        return float(mp.diff(f, 0, order))


def line(a, x, t):
    return mp.matrix(a.tolist()) + t * mp.matrix(x.tolist())


@pytest.mark.parametrize("size", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("order", range(4))
def test_exponentials_against_mpmath(order, size):
    a, x = size * RNG.standard_normal((3, 3)), RNG.standard_normal((3, 3))
    exact = by_mpmath(lambda t: mp.expm(line(a, x, t))[0, 2], order)
    whole = max(abs(by_mpmath(lambda t, k=k: mp.expm(line(a, x, t))[k // 3, k % 3], order)) for k in range(9))
    got = float(derivative(along(lambda a: ops.matrix_exp(a)[0, 2], a, x), order))
    assert abs(got - exact) <= 1e-12 * size**0.5 * whole


def test_exponentials_of_a_stack_are_those_of_each():
    a = RNG.standard_normal((4, 3, 3)) * np.array([1e-9, 0.1, 3.0, 60.0])[:, None, None]
    for got, one in zip(ops.matrix_exp(f64(a)), a, strict=True):
        assert_close(got, ops.matrix_exp(f64(one)).asnumpy(), 1e-14)
    assert_close(ops.matrix_exp(f64([[0.0, 1.0], [0.0, 0.0]])), [[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("order", range(4))
def test_eigenvalues_and_vectors_against_mpmath(order):
    a, x = DEFINITE[0], RNG.standard_normal((3, 3))
    x = x + x.T

    def vectors(t):
        w, v = mp.eigsy(line(a, x, t))
        return w[1], v[0, 1] * v[2, 1]

    for k, f in enumerate([lambda a: ops.eigvalsh(a)[1], lambda a: (lambda v: v[0, 1] * v[2, 1])(ops.eigh(a)[1])]):
        exact = by_mpmath(lambda t, k=k: vectors(t)[k], order)
        assert_close(derivative(along(f, a, x), order), exact, 1e-11, scale=1.0)


def test_gradients_of_functions_of_symmetric_matrices_are_symmetric():
    for f in (ops.cholesky, ops.eigvalsh, lambda a: ops.eigh(a)[1], lambda a: ops.pinv(a, hermitian=True)):
        g = dg.grad(lambda a, f=f: ops.sin(f(a)).sum())(f64(DEFINITE)).asnumpy()
        np.testing.assert_allclose(g, transposed(g), rtol=1e-14, atol=1e-15)


# ------------------------------------------------------------- equal eigenvalues, vanishing singular values

Q = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
DEGENERATE = {
    "unit": np.eye(4),
    "zeros": np.zeros((4, 4)),
    "one pair": Q @ np.diag([1.0, 1, 2, 3]) @ Q.T,
    "two pairs": Q @ np.diag([1.0, 1, 2, 2]) @ Q.T,
}
SYMMETRIC = RNG.standard_normal((2, 4, 4))
SYMMETRIC = SYMMETRIC + transposed(SYMMETRIC)
SQUARES = {
    "eigvalsh": (lambda a: (ops.eigvalsh(a) ** 4).sum(), lambda a: ops.matrix_power(a, 4).trace()),
    "logsumexp": (lambda a: ops.logsumexp(ops.eigvalsh(a), 0), lambda a: ops.log(ops.matrix_exp(a).trace())),
    "svd": (lambda a: (ops.svd(a, compute_uv=False) ** 4).sum(), lambda a: ops.matrix_power(a @ a.T, 2).trace()),
}
WAYS = {
    "gradient": lambda f, x, y: lambda a: (dg.grad(f)(a) * x).sum(),
    "jvp": lambda f, x, y: lambda a: dg.jvp(f, a, x)[1],
    "gradient of gradient": lambda f, x, y: lambda a: (dg.grad(lambda a: (dg.grad(f)(a) * x).sum())(a) * y).sum(),
    "jvp of gradient": lambda f, x, y: lambda a: (dg.jvp(dg.grad(f), a, x)[1] * y).sum(),
    "gradient of jvp": lambda f, x, y: lambda a: (dg.grad(lambda a: dg.jvp(f, a, x)[1])(a) * y).sum(),
    "second along a line": lambda f, x, y: lambda a: dg.jvp(lambda a: dg.jvp(f, a, x)[1], a, x)[1],
}


@pytest.mark.eager("any eigenvectors will do, and LAPACK takes others for another layout")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", SQUARES)
@pytest.mark.parametrize("matrix", DEGENERATE)
def test_functions_of_equal_eigenvalues_have_first_and_second_derivatives(matrix, function, way):
    ours, smooth = SQUARES[function]
    a, (x, y) = f64(DEGENERATE[matrix]), map(f64, SYMMETRIC)
    assert_close(WAYS[way](ours, x, y)(a), float(WAYS[way](smooth, x, y)(a)), 1e-11, scale=10.0)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (9, 2)])
@pytest.mark.parametrize("rank", [0, 1])
def test_singular_values_that_vanish(rank, shape):
    a, x, y = of_rank(rank, *shape), *RNG.standard_normal((2, *shape))
    ours = lambda a: (ops.svd(a, compute_uv=False) ** 4).sum()
    smooth = lambda a: ((a @ a.T) ** 2).sum()
    for way in WAYS.values():
        got, expected = (way(f, f64(x), f64(y))(f64(a)) for f in (ours, smooth))
        assert_close(got, float(expected), 1e-11, scale=10.0)


def test_what_would_need_more_at_equal_eigenvalues_is_an_error_and_not_a_number():
    f = SQUARES["eigvalsh"][0]
    for matrix in DEGENERATE.values():
        a, (x, y) = f64(matrix), map(f64, SYMMETRIC)
        along_x = lambda a, x=x: dg.jvp(f, a, x)[1]
        assert_raises(
            np.linalg.LinAlgError, lambda f=along_x, a=a, y=y: dg.jvp(f, a, y), "eigvalsh", "equal eigenvalues"
        )

        def taped(a=a, x=x):
            with taped_backward():
                return dg.grad(lambda a: (dg.grad(f)(a) * x).sum())(a)

        assert_raises(np.linalg.LinAlgError, taped, "equal eigenvalues")
    ordered, reversed_ = f64(np.diag([1.0, 2.0])), f64(np.diag([2.0, 1.0]))
    crossing = lambda a: dg.jvp(f, a, ordered)[1]
    assert_raises(np.linalg.LinAlgError, lambda: dg.jvp(crossing, f64(np.eye(2)), reversed_), "equal eigenvalues")


def test_vectors_of_equal_eigenvalues_only_where_their_choice_does_not_matter():
    a, weights = f64(np.diag([1.0, 2.0, 2.0])), f64(np.arange(9.0).reshape(3, 3))
    projector = lambda a: (lambda v: v[:, 1:] @ v[:, 1:].T)(ops.eigh(a)[1])
    first = lambda a: np.eye(3) - (lambda v: v[:, :1] @ v[:, :1].T)(ops.eigh(a)[1])
    expected = dg.grad(lambda a: (first(a) * weights).sum())(a)
    assert_close(dg.grad(lambda a: (projector(a) * weights).sum())(a), expected.asnumpy())
    assert_close(dg.grad(lambda a: (ops.eigh(a)[0] ** 2).sum())(a), 2 * a.asnumpy())
    rebuilt = lambda a: (lambda w, v: ((v * w) @ v.T * weights).sum())(*ops.eigh(a))
    for matrix in (a, f64(np.zeros((3, 3)))):
        assert_raises(np.linalg.LinAlgError, lambda m=matrix: dg.grad(rebuilt)(m), "eigh", "equal", "eigvalsh")
    again = lambda a: (lambda s, u, v: ((u * s) @ v.T * weights).sum())(*ops.svd(a))
    for matrix in (a, f64(np.diag([1.0, 0.0, 0.0])), f64(np.zeros((3, 3)))):
        assert_raises(np.linalg.LinAlgError, lambda m=matrix: dg.grad(again)(m), "svd", "compute_uv=False")


def test_conventions_where_a_function_is_not_smooth():
    third = np.eye(3) / 3
    assert_close(dg.grad(lambda a: ops.eigvalsh(a)[-1])(f64(np.eye(3))), third)
    assert_close(dg.grad(lambda a: ops.norm(a, 2))(f64(np.eye(3))), third)
    assert_close(dg.grad(lambda a: ops.norm(a, "nuc"))(f64(np.zeros((2, 3)))), np.zeros((2, 3)))
    assert_close(dg.grad(lambda a: ops.norm(a, "nuc"))(f64(np.diag([2.0, 0.0]))), np.diag([1.0, 0.0]))
    x = f64([[1.0, 2.0], [1.0, 2.0]])
    for p in (1, 2, 3.5, math.inf):
        assert_close(dg.grad(lambda x, p=p: ops.cdist(x, x, p))(x), np.zeros((2, 2)))


def test_entries_that_are_not_read_have_gradient_zero():
    g = dg.grad(lambda a: ops.solve_triangular(a, f64([1.0, 3.0]), lower=True))(f64([[1.0, 7.0], [2.0, 4.0]]))
    assert g.asnumpy()[0, 1] == 0.0
    assert np.all(g.asnumpy()[[0, 1, 1], [0, 0, 1]])


# ----------------------------------------------------------------------------------------- NumPy's functions

NUMPY = (
    (np.linalg.inv, A),
    (np.linalg.det, A),
    (np.linalg.slogdet, A),
    (np.linalg.cholesky, DEFINITE),
    (np.linalg.eigh, DEFINITE),
    (np.linalg.eigvalsh, DEFINITE),
    (np.linalg.pinv, TALL),
    (np.linalg.qr, TALL),
    (np.linalg.cond, A),
    (lambda a: np.linalg.svd(a, False), TALL),
    (lambda a: np.linalg.svd(a, compute_uv=False), TALL),
    (lambda a: np.linalg.solve(a, B), A),
    (lambda a: np.linalg.matrix_power(a, 3), A),
    (lambda a: np.linalg.norm(a, "nuc"), TALL),
    (lambda a: np.linalg.multi_dot([a, B, B.T]), A),
    (lambda a: np.cross(a, TALL[0]), TALL),
    (lambda a: np.kron(a, B), TALL),
    (lambda a: np.vander(a, increasing=True), TALL[0]),
)


@pytest.mark.parametrize(("function", "a"), NUMPY)
def test_functions_of_numpy_take_tensors(function, a):
    expected = function(a)
    expected = tuple(expected) if isinstance(expected, tuple) else expected
    got = function(f64(a))
    for ours, theirs in zip(as_tuple(got), as_tuple(expected), strict=True):
        assert isinstance(ours, Tensor)
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-11, atol=1e-12)


# ------------------------------------------------------------------------------------------------- bad input

SINGULAR = np.stack([np.eye(2), np.ones((2, 2))])
NOT_FINITE = np.array([[np.nan, 0.0], [0.0, 1.0]])
LIN, TYPE, VALUE = np.linalg.LinAlgError, TypeError, ValueError
JORDAN = {
    "triangular": np.array([[1.0, 1.0], [0.0, 1.0]]),
    "full": np.array([[2.0, 1.0], [-1.0, 0.0]]),
    "of order 3": (lambda q: q @ (np.eye(3) + np.eye(3, k=1)) @ np.linalg.inv(q))(np.eye(3) + np.tri(3) / 3),
}


@pytest.mark.parametrize("name", JORDAN)
def test_matrices_without_enough_eigenvectors_have_no_derivatives_of_eigenvalues(name):
    """Rounding parts the eigenvalues of a Jordan block, and slopes would be the inverse of the rounding error."""
    a = f64(JORDAN[name])
    power = lambda a: ops.real(ops.eigvals(a) ** 3).sum()
    for derivative in (lambda: dg.grad(power)(a), lambda: dg.jvp(power, a, a), lambda: dg.grad(dg.grad(power))(a)):
        with pytest.raises(np.linalg.LinAlgError, match="fewer eigenvectors"):
            derivative()


def test_equal_eigenvalues_with_eigenvectors_have_derivatives_of_symmetric_functions():
    v = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    a = v @ np.diag([2.0, 2.0, -1.0]) @ np.linalg.inv(v)
    found = dg.grad(lambda a: ops.real(ops.eigvals(a) ** 3).sum())(f64(a))
    assert_close(found, 3 * (a @ a).T, rtol=1e-11, scale=10.0)


ERRORS = (
    (LIN, lambda: ops.inverse(f64(SINGULAR)), "inverse", "[1] of the stack", "singular"),
    (LIN, lambda: ops.matrix_power(f64(SINGULAR), -1), "matrix_power", "singular"),
    (LIN, lambda: ops.solve(f64(SINGULAR[1]), f64([1.0, 2.0])), "solve", "singular"),
    (LIN, lambda: ops.solve_triangular(f64(np.diag([1.0, 0.0])), f64([1.0, 2.0])), "solve_triangular", "zero"),
    (LIN, lambda: ops.cholesky(f64([np.eye(2), -np.eye(2)])), "cholesky", "[1]", "positive definite"),
    (LIN, lambda: dg.grad(lambda a: ops.slogdet(a)[1])(f64(SINGULAR)), "slogdet", "[1]", "singular"),
    (LIN, lambda: dg.grad(lambda a: ops.qr(a)[1])(f64(np.ones((3, 2)))), "qr", "singular"),
    *(
        (LIN, lambda f=f: f(f64(NOT_FINITE)), f.__name__, "not finite")
        for f in (ops.eigvalsh, ops.eigh, ops.svd, ops.pinv)
    ),
    (VALUE, lambda: ops.inverse(f64(TALL)), "inverse", "square", "(5, 3)"),
    (VALUE, lambda: ops.det(f64([1.0])), "det", "(1,)"),
    (VALUE, lambda: ops.solve(f64(A), f64([1.0, 2.0])), "solve", "(2,)", "3"),
    (VALUE, lambda: ops.solve(f64(STACK), f64(np.ones((3, 3, 1)))), "solve", "broadcast"),
    (VALUE, lambda: ops.solve_triangular(f64(A), f64(B), trans="X"), "solve_triangular", "'X'"),
    (VALUE, lambda: ops.qr(f64(A), "raw"), "qr", "'raw'", "reduced"),
    (VALUE, lambda: ops.norm(f64(A), 3), "norm", "3", "'nuc'"),
    (VALUE, lambda: ops.cross(f64([1.0, 2.0]), f64([1.0, 2.0])), "cross", "length 3"),
    (VALUE, lambda: ops.cdist(f64(A), f64(B)), "cdist", "(3, 2)"),
    (VALUE, lambda: ops.cdist(f64(A), f64(A), -1.0), "cdist", "-1"),
    (TYPE, lambda: ops.cdist(f64(A), f64(A), "2"), "cdist", "str"),
    (VALUE, lambda: ops.vander(f64(A)), "vander", "(3, 3)"),
    (TYPE, lambda: ops.matrix_power(f64(A), 0.5), "matrix_power", "float"),
    (TYPE, lambda: ops.lstsq(Tensor(A.astype(complex)), A[0]), "lstsq", "real"),
    (TYPE, lambda: ops.det(Tensor(A.astype(np.float16))), "det", "Float16", "astype"),
)


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[2])
def test_errors_say_what_is_wrong_and_where(case):
    kind, call, *words = case
    assert_raises(kind, call, *words)


def test_stacks_and_matrices_without_elements():
    none = f64(np.zeros((0, 2, 2)))
    for f in (ops.inverse, ops.det, ops.eigvalsh, ops.matrix_exp, ops.cholesky, lambda a: ops.svd(a)[1], ops.pinv):
        assert f(none).shape[0] == 0
        assert dg.grad(lambda a, f=f: f(a).sum())(none).shape == (0, 2, 2)
    empty = f64(np.zeros((0, 0)))
    assert_close(ops.det(empty), 1.0)
    for f in (ops.det, ops.inverse, ops.eigvalsh, ops.matrix_exp):
        assert dg.grad(lambda a, f=f: f(a).sum())(empty).shape == (0, 0)
