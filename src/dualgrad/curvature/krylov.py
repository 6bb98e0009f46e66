"""The Lanczos process with full re-orthogonalisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._engine.transforms.inputs import as_input
from ..operators.estimators import random_signs
from ..ops import linalg
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._checks import nonzero
from ._linear import SymmetricOperator, symmetric_operator
from .probes import checked_count

__all__ = ["Tridiagonal", "lanczos"]


class Tridiagonal(NamedTuple):
    """A projection V A V^T on a Krylov space: a symmetric tridiagonal matrix T of m rows, and the basis V.

    Attributes
    ----------
    diagonal : Tensor of shape (m,)
    off_diagonal : Tensor of shape (m - 1,)
    basis : Tensor of shape (m, n)
        Orthonormal rows.
    residual : Tensor of shape ()
        The next off-diagonal entry; zero if the space is invariant.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> found = dg.curvature.lanczos(dg.Tensor(np.diag([1.0, 2.0, 4.0])), 3)
    >>> print(found.ritz_values().round(10))
    [1. 2. 4.]
    >>> values, vectors, bounds = found.ritz_pairs()
    >>> print(abs(vectors).round(10))
    [[1. 0. 0.]
     [0. 1. 0.]
     [0. 0. 1.]]
    """

    diagonal: Tensor
    off_diagonal: Tensor
    basis: Tensor
    residual: Tensor

    def matrix(self) -> Tensor:
        """The matrix T, of shape (m, m)."""
        if len(self.diagonal) == 1:
            return self.diagonal.reshape((1, 1))
        beside = ops.diag(self.off_diagonal, 1)
        return ops.diag(self.diagonal) + beside + beside.T

    def ritz_values(self) -> Tensor:
        """The eigenvalues of T, ascending: (m,)."""
        return linalg.eigh(self.matrix())[0]

    def ritz_pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Ritz values (m,), Ritz vectors (m, n) as rows, and bounds (m,).

        The interval around a Ritz value with its bound as half-width holds an eigenvalue of A.
        """
        values, vectors = linalg.eigh(self.matrix())
        return values, vectors.T @ self.basis, ops.abs(self.residual * vectors[-1])


def lanczos(A: Any, steps: int, start: Any = None, *, like: Any = None) -> Tridiagonal:
    """Run the Lanczos process with full re-orthogonalisation.

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.
    steps : int
        The number m of products, at most the number n of variables.
    start : Tensor or array of shape (n,), or pytree in the structure of a gradient, optional
        The first direction, not necessarily normalised. By default random signs.

    Returns
    -------
    Tridiagonal

    Raises
    ------
    TypeError, ValueError
        If `A` is not an operator, `steps` is not an int from 1 to n, or `start` does not fit or is zero.

    Notes
    -----
    Lanczos (1950). Each new vector is made orthogonal to all earlier ones three times. So rounding repeats no Ritz
    value, and with m = n the Ritz values are the eigenvalues. Extreme eigenvalues are found first (Golub, Van Loan,
    "Matrix computations", 10.1). If the Krylov space becomes invariant before m steps, the off-diagonal entry is zero
    and the process continues with a new direction: T splits into blocks, and the Ritz values of each are eigenvalues.
    The number of operations is fixed, so it can be recorded, batched (over `start`) and differentiated; it costs m
    products and O(m^2 n).

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> f = lambda x: (x[1:] * x[:-1]).sum() + 10.0 * (x**2)[0]
    >>> A = dg.curvature.hessian_operator(f)(np.ones(100))
    >>> print(dg.curvature.lanczos(A, 20).ritz_values()[-1].round(6))
    20.05
    """
    A = symmetric_operator(A, like)
    count = checked_count("lanczos", "steps", steps)
    if count > A.size:
        raise ValueError(f"lanczos: {count} steps for {A.size} variables; expected no more than those")
    if start is None:
        return process(A, count, random_signs((A.size,), A.dtype))
    start = as_input("lanczos", "start", start)
    if isinstance(start, Tensor) and start.shape == (A.size,):
        return process(A, count, nonzero(start.astype(A.dtype)))
    return process(A, count, nonzero(A.space.vector(A.space.flattened(start, "start"))))


def process(A: SymmetricOperator, steps: int, start: Tensor) -> Tridiagonal:
    """Run the process from a flat vector; `steps` is not checked."""
    tiny = float(np.finfo(A.dtype.numpy).eps) * A.size**0.5 * 10.0
    place = Tensor(np.arange(A.size), A.dtype)
    alphas: list[Tensor] = []
    betas: list[Tensor] = []
    vectors = [start / _norm(start)]
    scale = None
    for j in range(steps):
        basis = ops.stack(vectors)
        w = A.along(vectors[-1])
        size = _norm(stop_gradient(w))
        scale = size if scale is None else ops.maximum(scale, size)
        alphas.append((w * vectors[-1]).sum())
        w = _orthogonal(basis, w)
        ended = _norm(stop_gradient(w)) <= tiny * scale
        beta = ops.where(ended, 0.0, _norm(ops.where(ended, 1.0, w))).astype(A.dtype)
        betas.append(beta)
        if j + 1 < steps:
            #             # A new direction if the space is invariant; these are linearly independent for all j.
            w = ops.where(ended, ops.cos(place * (j + 1.0)), w / ops.where(ended, 1.0, beta)).astype(A.dtype)
            w = _orthogonal(basis, _orthogonal(basis, w))
            vectors.append(w / _norm(w))
    off = ops.stack(betas[:-1]) if steps > 1 else ops.zeros((0,), A.dtype)
    return Tridiagonal(ops.stack(alphas), off, ops.stack(vectors), betas[-1])


def _norm(w: Tensor) -> Tensor:
    """The length of a vector. Dividing by the largest number keeps squares from overflow and underflow."""
    largest = stop_gradient(ops.abs(w).max())
    largest = ops.where(largest > 0, largest, 1.0).astype(w.dtype)
    scaled = w / largest
    return largest * ops.sqrt((scaled * scaled).sum())


def _orthogonal(basis: Tensor, w: Tensor) -> Tensor:
    """Project a vector onto the complement of orthonormal rows."""
    return w - (basis @ w) @ basis
