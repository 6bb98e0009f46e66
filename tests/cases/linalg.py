"""Linear algebra: systems, determinants, factorisations, eigenvalues, functions of matrices."""

from __future__ import annotations

import numpy as np

from cases import Case, normal, positive
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
    u, s, vt = np.linalg.svd(normal(*shape, seed=seed), full_matrices=False)
    return (u[..., :rank] * np.linspace(2.0, 1.0, rank)) @ vt[..., :rank, :]


def complete_qr(a):
    """What of the complete factors does not depend on the choice of the columns that are added."""
    q, r = ops.qr(a, "complete")
    return q[:, :2], q[:, 2:] @ q[:, 2:].T, r


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

CASES = [*SOLVING, *DETERMINANTS, *FACTORISATIONS]
