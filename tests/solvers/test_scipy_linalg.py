"""`dualgrad.scipy.linalg`: SciPy's names and values, and derivatives to the third order in every way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg as theirs
from cases import normal
from cases.linalg import definite, of_rank, regular
from derivatives import assert_derivatives_agree, assert_replays_agree, parts

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.scipy import linalg
from dualgrad.testing import check

A, B, S, V = normal(3, 3), normal(3, 2), definite(3, 3), normal(3)
FAR = regular(3, 3)
BANDS = normal(4, 5) + 4.0 * np.array([[0.0], [0.0], [1.0], [0.0]])


@dataclass(frozen=True)
class Call:
    """A call of a function, of a module and of arrays; `same` makes of a result what is compared with SciPy's."""

    name: str
    call: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    label: str = ""
    same: Callable[[Any], Any] = lambda found: found

    def __str__(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name


def both(a):
    """A complex matrix of a real one."""
    return a + 0.5j * a.swapaxes(-1, -2)


def ascending(w):
    """Eigenvalues in an order that does not depend on the algorithm."""
    w = np.asarray(w.asnumpy() if isinstance(w, Tensor) else w)
    return w[np.lexsort((w.imag.round(9), w.real.round(9)))]


def projectors(found):
    """What of eigenvalues and vectors does not depend on signs."""
    w, v = [np.asarray(x.asnumpy() if isinstance(x, Tensor) else x) for x in found]
    return [w, v[:, None, :] * v[None, :, :]]


def upper(found):
    """The triangle of a factor that is determined."""
    return np.triu(found[0].asnumpy() if isinstance(found[0], Tensor) else found[0])


CALLS = [
    Call("expm", lambda m, a: m.expm(a), (A,)),
    Call("expm", lambda m, a: m.expm(both(a)), (A,), "complex"),
    Call("logm", lambda m, a: m.logm(a), (S,)),
    Call("logm", lambda m, a: m.logm(a), (FAR,), "of a general matrix"),
    Call("logm", lambda m, a: m.logm(both(a)), (FAR,), "complex"),
    Call("sqrtm", lambda m, a: m.sqrtm(a), (S,)),
    Call("sqrtm", lambda m, a: m.sqrtm(a), (FAR,), "of a general matrix"),
    Call("sqrtm", lambda m, a: m.sqrtm(both(a)), (FAR,), "complex"),
    Call("sqrtm", lambda m, a: m.sqrtm(a), (2.0 * np.eye(3),), "of equal eigenvalues"),
    Call("solve_sylvester", lambda m, a, b, q: m.solve_sylvester(a, b, q), (FAR, regular(2, 2), B)),
    Call("solve_sylvester", lambda m, a, b, q: m.solve_sylvester(both(a), b, q), (FAR, regular(2, 2), B), "complex"),
    Call("solve_continuous_lyapunov", lambda m, a, q: m.solve_continuous_lyapunov(a, q), (FAR, A)),
    Call("solve_continuous_lyapunov", lambda m, a, q: m.solve_continuous_lyapunov(both(a), q), (FAR, A), "complex"),
    Call("solve_discrete_lyapunov", lambda m, a, q: m.solve_discrete_lyapunov(a, q), (0.3 * A, S)),
    Call("solve_discrete_lyapunov", lambda m, a, q: m.solve_discrete_lyapunov(both(a), q), (0.3 * A, S), "complex"),
    Call("lu", lambda m, a: list(m.lu(a)), (A,)),
    Call("lu", lambda m, a: list(m.lu(a, permute_l=True)), (normal(4, 2),), "tall"),
    Call("lu", lambda m, a: list(m.lu(a, p_indices=True)), (normal(2, 4),), "wide"),
    Call("lu", lambda m, a: list(m.lu(both(a))), (A,), "complex"),
    Call("lu_factor", lambda m, a: list(m.lu_factor(a)), (A,)),
    *(
        Call("lu_solve", lambda m, a, b, t=t: m.lu_solve(m.lu_factor(both(a)), b, trans=t), (A, B), f"trans {t}")
        for t in (0, 1, 2)
    ),
    Call("lu_solve", lambda m, a, b: m.lu_solve(m.lu_factor(a), b), (A, V), "vector"),
    Call("cholesky", lambda m, a: m.cholesky(a + a.T, lower=True), (S,)),
    Call("cholesky", lambda m, a: m.cholesky(a + a.T), (S,)),
    Call("cho_factor", lambda m, a: m.cho_factor(a + a.T)[:1], (S,), same=upper),
    Call("cho_solve", lambda m, a, b: m.cho_solve(m.cho_factor(a + a.T, lower=True), b), (S, B)),
    Call("cho_solve", lambda m, a, b: m.cho_solve(m.cho_factor(a + a.T), b), (S, V), "vector"),
    Call("qr", lambda m, a: list(m.qr(a, mode="economic")), (normal(4, 2),)),
    Call("qr", lambda m, a: m.qr(a, mode="r")[0], (A,)),
    Call("svd", lambda m, a: (lambda u, s, v: [(u * s**2) @ v, s])(*m.svd(a, full_matrices=False)), (normal(4, 2),)),
    Call("svdvals", lambda m, a: m.svdvals(a), (A,)),
    Call("eig", lambda m, a: list(m.eig(a)), (A,)),
    Call("eig", lambda m, a: list(m.eig(a, left=True, right=True)), (A,), "left"),
    Call("eig", lambda m, a: list(m.eig(both(a), left=True, right=False)), (A,), "left, complex"),
    Call("eig", lambda m, a, b: m.eig(a, b)[0], (A, FAR), "of a pair", ascending),
    Call("eigvals", lambda m, a: m.eigvals(a), (A,)),
    Call("eigvals", lambda m, a, b: m.eigvals(a, b), (A, FAR), "of a pair", ascending),
    *(
        Call("eigh", lambda m, a, b, t=t: list(m.eigh(a, b, type=t)), (A, S), f"type {t}", projectors)
        for t in (1, 2, 3)
    ),
    Call("eigh", lambda m, a: list(m.eigh(a, lower=False, subset_by_index=[1, 2])), (A,), "some", projectors),
    Call("eigh", lambda m, a, b: m.eigh(a, b, eigvals_only=True), (A, S)),
    Call("eigvalsh", lambda m, a, b: m.eigvalsh(a, b, lower=False), (A, S)),
    Call("inv", lambda m, a: m.inv(a), (FAR,)),
    Call("pinv", lambda m, a: m.pinv(a), (B,)),
    Call("lstsq", lambda m, a, b: m.lstsq(a, b)[0], (normal(4, 2), normal(4))),
    Call("solve", lambda m, a, b: m.solve(a, b, transposed=True), (FAR, B)),
    Call("solve", lambda m, a, b: m.solve(a, b, assume_a="pos", lower=True), (S, B), "definite"),
    *(
        Call(
            "solve_triangular",
            lambda m, a, b, s=s: m.solve_triangular(both(a), b, trans=s[0], lower=s[1], unit_diagonal=s[2]),
            (FAR, B),
            f"{s}",
        )
        for s in ((0, False, False), (1, True, True), (2, False, False), ("C", True, False))
    ),
    Call("solve_banded", lambda m, ab, b: m.solve_banded((1, 2), ab, b), (BANDS, normal(5))),
    Call("solve_banded", lambda m, ab, b: m.solve_banded((1, 2), ab * (1 + 1j), b), (BANDS, normal(5, 2)), "complex"),
    Call("solve_banded", lambda m, ab, b: m.solve_banded((2, 1), ab, b), (BANDS[[0, 2, 1, 3]], normal(5)), "lower"),
    Call("toeplitz", lambda m, c, r: m.toeplitz(c, r), (V, normal(4))),
    Call("toeplitz", lambda m, c: m.toeplitz(c * 1j), (V,), "complex"),
    Call("hankel", lambda m, c, r: m.hankel(c, r), (V, normal(4))),
    Call("hankel", lambda m, c: m.hankel(c), (V,)),
    Call("circulant", lambda m, c: m.circulant(c), (V,)),
    Call("block_diag", lambda m, a, b: m.block_diag(a, b), (A, B)),
]


def test_every_function_is_called():
    assert {one.name for one in CALLS} | {"cg", "gmres"} == set(linalg.__all__)


def assert_same(found, expected):
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    found = found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("one", CALLS, ids=str)
def test_values_are_scipys(one: Call):
    assert_same(one.same(one.call(linalg, *map(Tensor, one.args))), one.same(one.call(theirs, *one.args)))


def determined(one: Call):
    """The call; of eigenvectors of pairs what does not depend on signs."""

    def call(*args):
        found = one.call(linalg, *args)
        if one.same is not projectors:
            return parts(found)
        w, v = found
        return [w, v[:, None, :] * v[None, :, :]]

    return call


@pytest.mark.parametrize("one", CALLS, ids=str)
def test_three_derivatives_agree(one: Call):
    assert_derivatives_agree(determined(one), one.args, rtol=1e-8)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("one", CALLS, ids=str)
def test_every_way_of_differentiating_agrees(one: Call):
    check(determined(one), one.args, order=3, narrow=False, rtol=1e-9)
    assert_replays_agree(determined(one), one.args)


# ---------------------------------------------------------------------------------------------- Krylov methods


@pytest.mark.parametrize("method", ["cg", "gmres"])
@pytest.mark.parametrize("given", ["matrix", "function"])
def test_krylov_methods_have_the_derivatives_of_the_solution(method, given):
    def solved(solve):
        def call(a, b):
            a = a + a.T if method == "cg" else a
            return solve(a, b)

        return call

    def iterated(a, b):
        found, info = getattr(linalg, method)(a if given == "matrix" else lambda x: a @ x, b)
        assert info == 0
        return found

    a, b = (S if method == "cg" else FAR), V
    for order in (1, 2, 3):
        found, expected = [
            _derivative(lambda t, f=f: f(Tensor(a) + t * A, Tensor(b) * (1.0 + t)), order)
            for f in (solved(iterated), solved(linalg.solve))
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def _derivative(f, order):
    for _ in range(order):
        f = (lambda inner: lambda t: dg.jvp(inner, t, Tensor(1.0, dg.float64))[1])(f)
    return f(Tensor(0.0, dg.float64)).asnumpy()


def test_krylov_methods_say_when_they_do_not_converge():
    with pytest.raises(RuntimeError, match="cg: no convergence after 1 iterations"):
        linalg.cg(Tensor(S), Tensor(V), maxiter=1)


# ------------------------------------------------------------------------------------------------------ refusals

SINGULAR = np.linalg.LinAlgError
REFUSALS = [
    (SINGULAR, lambda: linalg.solve_sylvester(Tensor(A), Tensor(-A), Tensor(np.eye(3))), "no single solution"),
    (SINGULAR, lambda: linalg.sqrtm(Tensor(-np.eye(2))), "no square root of its type"),
    (SINGULAR, lambda: linalg.sqrtm(Tensor(np.eye(2, k=1))), "no square root"),
    (SINGULAR, lambda: linalg.logm(Tensor(np.diag([1.0, -1.0]))), "no logarithm of its type"),
    (SINGULAR, lambda: linalg.logm(Tensor(of_rank(1, 2, 2))), "no logarithm"),
    (SINGULAR, lambda: linalg.eig(Tensor(A), Tensor(np.zeros((3, 3)))), "singular"),
    (SINGULAR, lambda: linalg.eigh(Tensor(A), Tensor(-S)), "positive definite"),
    (SINGULAR, lambda: linalg.solve_banded((0, 0), Tensor([[1.0, 0.0]]), Tensor([1.0, 1.0])), "singular"),
    (SINGULAR, lambda: dg.grad(lambda a: linalg.sqrtm(a).sum())(Tensor(np.zeros((2, 2)))), "sqrtm"),
    (SINGULAR, lambda: dg.grad(lambda a: linalg.lu(a)[2].sum())(Tensor(np.zeros((2, 2)))), "lu"),
    (ValueError, lambda: linalg.solve_banded((1, 1), Tensor(A[:2]), Tensor(V)), "diagonals"),
    (ValueError, lambda: linalg.qr(Tensor(A), pivoting=True), "pivoting"),
    (AttributeError, lambda: linalg.schur, "Schur vectors are determined up to"),
    (AttributeError, lambda: linalg.nothing, "no attribute"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case[2])
def test_what_has_no_value_or_derivative_raises(case):
    kind, call, words = case
    with pytest.raises(kind, match=words):
        call()
