"""Krylov methods of ``scipy.sparse.linalg`` as implicit functions: a derivative is another solve by the same method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._settings import real_number, whole_number
from ...implicit import linear_solve
from ...tensor import Tensor

__all__ = ["cg", "gmres"]


def _solver(method: str, settings: dict[str, Any]) -> Callable[..., np.ndarray]:
    def solver(matvec: Callable[[np.ndarray], np.ndarray], b: np.ndarray) -> np.ndarray:
        try:
            from scipy.sparse import linalg
        except ImportError:
            raise ImportError(f"{method}: needs SciPy; pip install 'dualgrad[scipy]'") from None
        operator = linalg.LinearOperator((b.size, b.size), matvec=matvec, dtype=b.dtype)
        x, info = getattr(linalg, method)(operator, b, **settings)
        if info != 0:
            raise RuntimeError(f"{method}: no convergence after {info} iterations; raise maxiter or rtol")
        return np.asarray(x)

    return solver


def _solved(method: str, A: Any, b: Any, rtol: float, atol: float, maxiter: int | None, more: dict[str, Any]) -> Any:
    # a Krylov method stops at the residual that it tracks; the true one is off by rounding
    for what, number in (("maxiter", maxiter), ("restart", more.get("restart"))):
        if number is not None:
            whole_number(method, what, number, 1)
    settings = {"rtol": rtol, "atol": atol, "maxiter": maxiter, **more}
    rtol, atol = real_number(method, "rtol", rtol), real_number(method, "atol", atol)
    tol = max(10.0 * rtol, 1e-7) if atol == 0.0 else None
    return linear_solve(A, b, _solver(method, settings), tol=tol), 0


def cg(A: Any, b: Any, *, rtol: float = 1e-12, atol: float = 0.0, maxiter: int | None = None) -> tuple[Tensor, int]:
    """Conjugate gradients for a symmetric positive definite matrix, or a function that multiplies by it.

    Parameters
    ----------
    A : Tensor or callable
        The matrix, or a linear function of a vector. It may read tensors: derivatives go to them.
    b : Tensor
        The right-hand side, a vector.
    rtol, atol : float, default 1e-12 and 0.0
        The iteration stops when the residual is at most ``max(rtol * norm(b), atol)``. Derivatives are solved to the
        same accuracy, so the default is smaller than SciPy's.
    maxiter : int, optional
        The largest number of iterations.

    Returns
    -------
    tuple
        The solution, and 0, since a failure to converge raises.

    Raises
    ------
    RuntimeError
        If the iteration does not converge.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> b = dg.Tensor([2.0, 3.0], dg.float64)
    >>> f = lambda k: linalg.cg(lambda x: k * x, b)[0].sum()
    >>> print(dg.grad(f)(dg.Tensor(2.0, dg.float64)).round(6))
    -1.25
    """
    return _solved("cg", A, b, rtol, atol, maxiter, {})


def gmres(
    A: Any, b: Any, *, rtol: float = 1e-12, atol: float = 0.0, restart: int | None = None, maxiter: int | None = None
) -> tuple[Tensor, int]:
    """Generalised minimal residuals for an invertible matrix, or a function that multiplies by it; see `cg`.

    Parameters
    ----------
    A, b, rtol, atol, maxiter
        As for `cg`; the matrix may be any invertible one.
    restart : int, optional
        Iterations between restarts.

    Returns
    -------
    tuple
        The solution, and 0.

    Raises
    ------
    RuntimeError
        If the iteration does not converge.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[2.0, 1.0], [0.0, 1.0]], dg.float64)
    >>> print(linalg.gmres(a, dg.Tensor([3.0, 1.0], dg.float64))[0].round(6))
    [1. 1.]
    """
    return _solved("gmres", A, b, rtol, atol, maxiter, {"restart": restart})
