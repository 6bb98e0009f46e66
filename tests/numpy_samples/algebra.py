"""Products and linear algebra."""

import numpy as np
from cases import normal
from cases.linalg import definite, of_rank, regular

from numpy_samples import sample

A, B, V, STACK = normal(2, 3), normal(3, 2), normal(3), normal(2, 3, 3)
SQUARE, TALL, WIDE = regular(3, 3), normal(4, 2), normal(2, 4)
T = normal(2, 3, 6) + np.eye(6).reshape(2, 3, 6) * 3


def symmetric(a):
    """NumPy reads one triangle, the tensors' functions take the symmetric part."""
    return (a + a.swapaxes(-1, -2)) * 0.5


def both(a):
    """A complex matrix of a real one."""
    return a + 1j * a[::-1]


def invariant(m, vectors, values):
    """What does not depend on the signs of eigenvectors."""
    return [(vectors * values**3) @ m.matrix_transpose(vectors), values]


PRODUCTS = [
    sample("dot", lambda m, a, b: m.dot(a, b), A, B),
    sample("inner", lambda m, a, b: m.inner(a, b), A, V),
    sample("outer", lambda m, a, b: m.outer(a, b), A, V),
    sample("vdot", lambda m, a, b: m.vdot(a * (1 + 1j), b), A, B),
    sample("matmul", lambda m, a, b: m.matmul(a, b), STACK, B),
    sample("matvec", lambda m, a, b: m.matvec(a, b), STACK, V),
    sample("vecmat", lambda m, a, b: m.vecmat(b * (2 + 1j), a), STACK, normal(2, 3)),
    sample("vecdot", lambda m, a, b: m.vecdot(a * 1j, b, axis=0), B, normal(3, 1)),
    sample("tensordot", lambda m, a, b: m.tensordot(a, b, axes=([1], [0])), A, B),
    sample(
        "einsum",
        lambda m, a, b: m.einsum("ij,jk->ki", a, b, optimize=True, dtype="float64", casting="safe", order="K"),
        A,
        B,
    ),
    sample("kron", lambda m, a, b: m.kron(a, b), A, B),
    sample("cross", lambda m, a, b: m.cross(a, b, axisa=0, axisb=-1, axisc=1), normal(3, 2), normal(2, 3)),
    sample("cross", lambda m, a, b: m.cross(a, b, axis=0), normal(3, 2), normal(3, 2, seed=1)),
    sample("linalg.matmul", lambda m, a, b: m.linalg.matmul(a, b), A, B),
    sample("linalg.outer", lambda m, a, b: m.linalg.outer(a, b), V, normal(2)),
    sample("linalg.vecdot", lambda m, a, b: m.linalg.vecdot(a, b, axis=-1), A, V),
    sample("linalg.cross", lambda m, a, b: m.linalg.cross(a, b, axis=0), normal(3, 2), normal(3, 2, seed=1)),
    sample("linalg.tensordot", lambda m, a, b: m.linalg.tensordot(a, b, axes=1), A, B),
    sample("linalg.multi_dot", lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), A, B, A),
    sample("linalg.matrix_power", lambda m, a: m.linalg.matrix_power(a, 3), STACK),
    sample("linalg.matrix_power", lambda m, a: m.linalg.matrix_power(a, -2), SQUARE),
    sample("linalg.trace", lambda m, a: m.linalg.trace(a, offset=1, dtype="float64"), STACK),
    sample("linalg.diagonal", lambda m, a: m.linalg.diagonal(a, offset=-1), STACK),
    sample("linalg.matrix_transpose", lambda m, a: m.linalg.matrix_transpose(a) ** 2, STACK),
]

EQUATIONS = [
    sample("linalg.solve", lambda m, a, b: m.linalg.solve(a, b), SQUARE, B),
    sample("linalg.inv", lambda m, a: m.linalg.inv(a), regular(2, 3, 3)),
    sample("linalg.det", lambda m, a: m.linalg.det(a), STACK),
    sample("linalg.det", lambda m, a: m.linalg.det(a), of_rank(2, 3, 3), label="singular"),
    sample("linalg.slogdet", lambda m, a: list(m.linalg.slogdet(a)), STACK),
    sample("linalg.lstsq", lambda m, a, b: list(m.linalg.lstsq(a, b, rcond=None)), TALL, normal(4)),
    sample("linalg.lstsq", lambda m, a, b: list(m.linalg.lstsq(a, b, rcond=1e-9)), TALL, normal(4, 2)),
    sample("linalg.lstsq", lambda m, a, b: list(m.linalg.lstsq(a, b)), WIDE, normal(2)),
    sample("linalg.lstsq", lambda m, a, b: list(m.linalg.lstsq(both(a), both(b))), TALL, normal(4), label="complex"),
    sample("linalg.pinv", lambda m, a: m.linalg.pinv(a, rcond=1e-9), TALL),
    sample("linalg.pinv", lambda m, a: m.linalg.pinv(a, rtol=1e-9), normal(2, 2, 4)),
    sample("linalg.pinv", lambda m, a: m.linalg.pinv(symmetric(a), hermitian=True), SQUARE),
    sample("linalg.pinv", lambda m, a, b: m.linalg.pinv(a @ b), TALL, normal(2, 3), label="of low rank", rtol=1e-12),
    sample("linalg.tensorinv", lambda m, a: m.linalg.tensorinv(a, ind=2), T, rtol=1e-12),
    sample("linalg.tensorsolve", lambda m, a, b: m.linalg.tensorsolve(a, b), T, normal(2, 3), rtol=1e-12),
    sample(
        "linalg.tensorsolve",
        lambda m, a, b: m.linalg.tensorsolve(a, b, axes=(0,)),
        np.moveaxis(T, -1, 0),
        normal(2, 3),
        rtol=1e-12,
    ),
]

FACTORS = [
    sample("linalg.cholesky", lambda m, a: m.linalg.cholesky(symmetric(a), upper=True), definite(3, 3)),
    sample("linalg.qr", lambda m, a: list(m.linalg.qr(a, mode="reduced")), TALL),
    sample("linalg.qr", lambda m, a: m.linalg.qr(a, "r"), TALL),
    sample("linalg.eigh", lambda m, a: invariant(m, *m.linalg.eigh(symmetric(a), UPLO="U")[::-1]), SQUARE),
    sample("linalg.eigvalsh", lambda m, a: m.linalg.eigvalsh(symmetric(a), UPLO="U"), STACK),
    sample("linalg.eig", lambda m, a: list(m.linalg.eig(a)), normal(3, 3), rtol=1e-12),
    sample(
        "linalg.eig", lambda m, a: list(m.linalg.eig(a)), np.diag([3.0, 1.0, -2.0]) + 0.2 * normal(3, 3), label="real"
    ),
    sample("linalg.eig", lambda m, a: list(m.linalg.eig(both(a))), normal(2, 2), label="complex"),
    sample("linalg.eigvals", lambda m, a: m.linalg.eigvals(a), STACK, rtol=1e-12),
    sample("linalg.svd", lambda m, a: m.linalg.svd(a, compute_uv=False), TALL),
    sample(
        "linalg.svd",
        lambda m, a: list((lambda u, s, vt: [(u * s**3) @ vt, s])(*m.linalg.svd(a, full_matrices=False))),
        TALL,
    ),
    sample("linalg.svd", lambda m, a: m.linalg.svd(symmetric(a), True, True, hermitian=True)[1], SQUARE),
    sample("linalg.svdvals", lambda m, a: m.linalg.svdvals(a), STACK),
    sample("linalg.cond", lambda m, a: m.linalg.cond(a), STACK, rtol=1e-12),
    *(
        sample("linalg.cond", lambda m, a, p=p: m.linalg.cond(a, p=p), SQUARE, label=str(p))
        for p in (1, -1, 2, -2, np.inf, -np.inf, "fro")
    ),
    *(
        sample(
            "linalg.norm",
            lambda m, a, p=p: m.linalg.norm(a, ord=p, axis=(0, 2), keepdims=True),
            CUBE,
            label=f"matrix {p}",
        )
        for CUBE in (normal(3, 2, 4),)
        for p in ("fro", "nuc", np.inf, -np.inf, 1, -1, 2, -2)
    ),
    *(
        sample("linalg.norm", lambda m, a, p=p: m.linalg.norm(a, p, axis=1), A, label=f"vector {p}")
        for p in (None, np.inf, -np.inf, 1, -1, 2, -2, 3.5, 0.5)
    ),
    *(
        sample(
            "linalg.vector_norm",
            lambda m, a, p=p: m.linalg.vector_norm(a, axis=0, keepdims=True, ord=p),
            A,
            label=f"{p}",
        )
        for p in (2, 1, np.inf, 3)
    ),
    *(
        sample(
            "linalg.matrix_norm", lambda m, a, p=p: m.linalg.matrix_norm(a, keepdims=True, ord=p), STACK, label=f"{p}"
        )
        for p in ("fro", "nuc", 2, 1)
    ),
]

SAMPLES = [*PRODUCTS, *EQUATIONS, *FACTORS]
