"""Functions of `scipy.linalg` on tensors, with SciPy's names and arguments: ``from dualgrad.scipy import linalg``.

Values come from SciPy where its compiled routines are needed (``pip install 'dualgrad[scipy]'``). The derivatives are
rules of this library, of every order and in every mode. A function without a derivative raises.

=====================================  =====================================================================
systems                                `solve`, `solve_triangular`, `solve_banded`, `cho_factor`, `cho_solve`,
                                       `lu_factor`, `lu_solve`, `lstsq`, `inv`, `pinv`, `cg`, `gmres`
factors                                `lu`, `cholesky`, `qr`, `svd`, `svdvals`
eigenvalues                            `eig`, `eigvals`, `eigh`, `eigvalsh`
functions of matrices                  `expm`, `logm`, `sqrtm`
matrix equations                       `solve_sylvester`, `solve_continuous_lyapunov`, `solve_discrete_lyapunov`
special matrices                       `toeplitz`, `hankel`, `circulant`, `block_diag`
=====================================  =====================================================================

`schur` and `hessenberg` are refused: their vectors are determined only up to factors and the order of eigenvalues, so
they have no derivative. Use the functions above instead.
"""

from __future__ import annotations

from typing import Any

from ...ops.axes._diagonals import block_diag
from ._eigenvalues import eig, eigh, eigvals, eigvalsh
from ._equations import solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester
from ._factors import cho_factor, cho_solve, cholesky, lu, lu_factor, lu_solve, qr, svd, svdvals
from ._functions import expm, logm, sqrtm
from ._iterative import cg, gmres
from ._special import circulant, hankel, toeplitz
from ._systems import inv, lstsq, pinv, solve, solve_banded, solve_triangular

__all__ = [
    "block_diag", "cg", "cho_factor", "cho_solve", "cholesky", "circulant", "eig", "eigh", "eigvals", "eigvalsh",
    "expm", "gmres", "hankel", "inv", "logm", "lstsq", "lu", "lu_factor", "lu_solve", "pinv", "qr",
    "solve", "solve_banded", "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester",
    "solve_triangular", "sqrtm", "svd", "svdvals", "toeplitz",
]  # fmt: skip

_REFUSED = {
    "schur": "Schur vectors are determined up to factors and the order of the eigenvalues; use eig, eigh, or a "
    "function of the matrix",
    "hessenberg": "the vectors of a Hessenberg form depend on the algorithm; use eig, eigh or solve",
    "qz": "generalised Schur vectors are determined up to factors and the order of the eigenvalues; use eig(a, b)",
    "ldl": "pivots of this factorisation depend on the algorithm; use cholesky, lu or eigh",
}


def __getattr__(name: str) -> Any:
    if name in _REFUSED:
        raise AttributeError(f"dualgrad.scipy.linalg.{name} is refused: {_REFUSED[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
