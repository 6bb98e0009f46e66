"""Linear algebra: systems, determinants, factorisations, eigenvalues, functions of matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cases import Case, normal
from cases.complex import case
from dualgrad import ops


def regular(*shape: int, seed: int = 0) -> np.ndarray:
    """Well-conditioned square matrices."""
    return normal(*shape, seed=seed) + 3.0 * np.eye(shape[-1])


def definite(*shape: int, seed: int = 0) -> np.ndarray:
    """Symmetric positive definite matrices."""
    a = normal(*shape, seed=seed)
    return a @ np.swapaxes(a, -1, -2) + 2.0 * np.eye(shape[-1])


def of_rank(rank: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Matrices of a rank."""
    u, _, vt = np.linalg.svd(normal(*shape, seed=seed), full_matrices=False)
    return (u[..., :rank] * np.linspace(2.0, 1.0, rank)) @ vt[..., :rank, :]


def complete_qr(a):
    """What of the complete factors does not depend on the choice of the columns that are added."""
    q, r = ops.qr(a, "complete")
    return q[:, :2], q[:, 2:] @ q[:, 2:].T, r


def svd(full, vectors):
    """A decomposition; of vectors that are added what does not depend on their choice."""

    def call(a):
        found = ops.svd(a, full, vectors)
        if not full:
            return found
        s, u, v = found
        p = s.shape[-1]
        parts = [s]
        for w in (u, v):
            parts += [w[..., :p], w[..., p:] @ ops.swapaxes(w[..., p:], -1, -2)]
        return parts

    return call


A, B, STACK = regular(3, 3), normal(3, 2), regular(2, 3, 3)
ONE_OF_TWO = np.stack([regular(3, 3), of_rank(1, 3, 3)])

SOLVING = [
    Case("inverse", "", ops.inverse, (A,)),
    Case("inverse", "of a stack", ops.inverse, (STACK,)),
    Case("MatrixInverse", "adjoint", ops.MatrixInverse(True), (A,)),
    Case("solve", "vector", ops.solve, (A, normal(3))),
    Case("solve", "stack with one right-hand side", ops.solve, (STACK, B)),
    Case("solve", "one matrix with a stack", ops.solve, (A, normal(2, 3, 2))),
    Case("MatrixSolve", "adjoint", ops.MatrixSolve(True), (A, B)),
    Case("matrix_solve", "", ops.matrix_solve, (STACK, normal(2, 3, 2))),
    *(
        Case(
            "solve_triangular",
            f"trans {trans} lower {lower} unit {unit}",
            lambda a, b, s=(trans, lower, unit): ops.solve_triangular(a, b, *s),
            (STACK, B),
        )
        for trans in (0, 1)
        for lower in (False, True)
        for unit in (False, True)
    ),
    *(Case("cholesky_solve", f"upper {u}", lambda b, l, u=u: ops.cholesky_solve(b, l, u), (B, A)) for u in (0, 1)),
    *(Case("cholesky_inverse", f"upper {u}", lambda l, u=u: ops.cholesky_inverse(l, u), (STACK,)) for u in (0, 1)),
]

DETERMINANTS = [
    Case("det", "", ops.det, (A,)),
    Case("det", "one of a stack singular", ops.det, (ONE_OF_TWO,)),
    *(Case("det", f"rank {rank} of 4", ops.det, (of_rank(rank, 4, 4),)) for rank in (3, 2, 1)),
    Case("det", "zeros", ops.det, (np.zeros((3, 3)),)),
    Case("det", "1 by 1", ops.det, (np.zeros((1, 1)),)),
    Case("slogdet", "", lambda a: ops.slogdet(a)[1], (STACK,)),
    Case("slogdet", "negative", lambda a: ops.slogdet(a)[1], (A[[1, 0, 2]],)),
    Case("logdet", "", ops.logdet, (A,)),
]

FACTORISATIONS = [
    Case("cholesky", "", ops.cholesky, (definite(3, 3),)),
    Case("cholesky", "upper, of a stack", lambda a: ops.cholesky(a, True), (definite(2, 3, 3),)),
    Case("qr", "tall", ops.qr, (normal(4, 2),)),
    Case("qr", "square stack", ops.qr, (STACK,)),
    Case("qr", "wide", ops.qr, (normal(2, 4),)),
    Case("qr", "complete", complete_qr, (normal(4, 2),)),
]

LEAST_SQUARES = [
    Case("pinv", "tall", ops.pinv, (normal(4, 2),)),
    Case("pinv", "wide stack", ops.pinv, (normal(2, 2, 3),)),
    Case("pinv", "rank 2 of 3", lambda a, b: ops.pinv(a @ b), (normal(4, 2), normal(2, 3))),
    Case("lstsq", "rank 2 of 3", lambda a, b, c: ops.lstsq(a @ b, c), (normal(4, 2), normal(2, 3), normal(4))),
    Case("pinv", "hermitian", lambda a: ops.pinv(a, hermitian=True), (A,)),
    Case("lstsq", "tall", ops.lstsq, (normal(4, 2), normal(4))),
    Case("lstsq", "wide", ops.lstsq, (normal(2, 4), normal(2, 3))),
]

SPECTRAL = [
    Case("eigvalsh", "", ops.eigvalsh, (A,)),
    Case("eigvalsh", "stack", ops.eigvalsh, (STACK,)),
    Case("eigh", "", ops.eigh, (A,)),
    Case("eigh", "stack", ops.eigh, (STACK,)),
    *(
        Case("svd", f"{name}, {'values' if not vectors else 'full' if full else 'thin'}", svd(full, vectors), (a,))
        for name, a in (("square", A), ("tall", normal(4, 3)), ("wide", normal(2, 2, 3)), ("long", normal(9, 2)))
        for full, vectors in ((False, False), (False, True), (True, True))
    ),
    *(Case("norm", f"{p} of matrices", lambda a, p=p: ops.norm(a, p, (0, 1)), (normal(3, 4),)) for p in ("nuc", 2, -2)),
    Case("norm", "nuc of a stack", lambda a: ops.norm(a, "nuc", (2, 0), keepdims=True), (normal(3, 2, 2),)),
    *(Case("cond", str(p), lambda a, p=p: ops.cond(a, p), (STACK,)) for p in (None, -2, "fro", 1)),
]

FUNCTIONS = [
    *(
        Case("matrix_power", str(n), lambda a, n=n: ops.matrix_power(a, n), (0.5 * STACK,))
        for n in (0, 1, 2, 5, -1, -3)
    ),
    Case("matrix_exp", "", ops.matrix_exp, (normal(3, 3),)),
    Case("matrix_exp", "zeros", ops.matrix_exp, (np.zeros((3, 3)),)),
    Case("matrix_exp", "stack of large and small", ops.matrix_exp, (normal(2, 3, 3) * np.array([[[3.0]], [[0.1]]]),)),
]

PRODUCTS = [
    Case("kron", "", ops.kron, (normal(2, 3), normal(3, 2))),
    Case("kron", "different numbers of axes", ops.kron, (normal(2), normal(2, 1, 3))),
    Case("vander", "with zeros", ops.vander, (np.array([0.0, 1.0, -2.0]),)),
    Case("vander", "more columns", lambda x: ops.vander(x, 4), (normal(2),)),
    Case("cross", "", ops.cross, (normal(3), normal(3))),
    Case("cross", "broadcast", lambda x, y: ops.cross(x, y, -1), (normal(2, 3), normal(3))),
    Case("cross", "first axis of length 3", ops.cross, (normal(2, 3, 3), normal(2, 3, 3))),
    *(
        Case("cdist", f"p {p}", lambda x, y, p=p: ops.cdist(x, y, p), (normal(3, 2), normal(4, 2)))
        for p in (1, 2, 3.5, np.inf)
    ),
    Case("cdist", "stacks", ops.cdist, (normal(2, 3, 2), normal(4, 2))),
    *(
        Case("cdist", f"equal points, p {p}", lambda x, p=p: ops.cdist(x, x, p), (normal(3, 2),), smooth=False)
        for p in (1, 2, 3.5, np.inf)
    ),
]

LAPACK = [*SOLVING, *DETERMINANTS, *FACTORISATIONS, *LEAST_SQUARES, *SPECTRAL, *FUNCTIONS]


def shifted(a):
    """Matrices that are far from singular ones."""
    return a + np.asarray(3.0 * np.eye(3), a.dtype.numpy)


def spectral(f):
    """A function of eigenvectors that does not depend on their phases: v f(w) v^-1."""

    def call(w, v):
        return (v * f(w)) @ ops.inverse(v)

    return call


def turned(u, s, v):
    """A function of singular vectors that does not depend on their phases."""
    return (u[..., : s.shape[-1]] * s**3) @ ops.adjoint(v[..., : s.shape[-1]])


def by_singular_vectors(full):
    def call(a):
        s, u, v = ops.svd(a, full)
        rest = [w[..., s.shape[-1] :] for w in (u, v)]
        return turned(u, s, v), s, *[ops.abs(r @ ops.adjoint(r)) for r in rest]

    return call


def flat(f):
    """The parts of all results in one real tensor."""

    def call(*args):
        found = f(*args)
        parts = found if isinstance(found, tuple) else (found,)
        return ops.cat(
            [ops.ravel(ops.view_as_real(x) if x.dtype.is_complex else x) for x in parts],
            0,
        )

    return call


COMPLEX = [
    case(operator, flat(f), f"complex, {label}" if label else "complex", 1, shape)
    for operator, label, f, shape in (
        ("inverse", "stack", lambda a: ops.inverse(shifted(a)), (2, 3, 3)),
        ("solve", "", lambda a: ops.solve(shifted(a), a[:, :2]), (3, 3)),
        ("det", "", ops.det, (3, 3)),
        # a determinant that is 0 at every order, beside numbers that say what is small
        ("det", "of rank 1", lambda a: ops.det(a[:, :1] @ a[:1]) + ops.sum(ops.exp(a)), (3, 3)),
        ("slogdet", "", lambda a: ops.slogdet(shifted(a)), (3, 3)),
        ("matrix_power", "-2", lambda a: ops.matrix_power(shifted(a), -2), (3, 3)),
        ("matrix_exp", "", lambda a: ops.matrix_exp(a), (2, 3, 3)),
        ("cholesky", "", lambda a: ops.cholesky(shifted(a @ ops.adjoint(a))), (3, 3)),
        ("qr", "square", ops.qr, (3, 3)),
        ("qr", "tall", ops.qr, (4, 2)),
        ("qr", "wide", ops.qr, (2, 3)),
        ("eigvalsh", "", ops.eigvalsh, (3, 3)),
        ("eigh", "", lambda a: spectral(ops.sin)(*ops.eigh(a)), (3, 3)),
        ("eig", "", lambda a: ops.eig(a), (3, 3)),
        ("eig", "of the parts", lambda a: spectral(ops.exp)(*ops.eig(a)), (3, 3)),
        ("eigvals", "", ops.eigvals, (3, 3)),
        ("svd", "square", by_singular_vectors(False), (3, 3)),
        ("svd", "tall", by_singular_vectors(True), (4, 2)),
        ("svd", "wide", by_singular_vectors(True), (2, 3)),
        ("svd", "values", lambda a: ops.svd(a, compute_uv=False), (2, 3)),
        ("pinv", "tall", ops.pinv, (4, 2)),
        ("pinv", "wide", ops.pinv, (2, 3)),
        ("norm", "nuc", lambda a: ops.norm(a, "nuc", (0, 1)), (3, 2)),
    )
]
COMPLEX += [
    Case("eig", "of a real matrix", flat(ops.eig), (normal(3, 3),), narrow=("float32",)),
    Case("eigvals", "of a real stack", flat(ops.eigvals), (normal(2, 2, 2),), narrow=("float32",)),
]

CASES = [*(replace(one, narrow=("float32",)) for one in LAPACK), *COMPLEX, *PRODUCTS]  # LAPACK has no float16
