"""Matrix equations that are linear in the unknown.

Derivatives of every order need only the residual of the equation and solutions for other right-hand sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ...ops._arguments import alike
from ...ops.linalg import solve
from ...ops.linalg._matrices import adjoint, conjugate, identity, matrices, square, transposed
from ...tensor import Tensor
from ._compiled import each, scipy_linalg

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester"]

_SINGULAR = "has an eigenvalue that is the negative of one of the other matrix, so there is no single solution"


def _sylvester_kernel(a: np.ndarray, b: np.ndarray, q: np.ndarray, caller: str) -> np.ndarray:
    linalg = scipy_linalg(caller)

    def one(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        x = linalg.solve_sylvester(a, b, q)
        size, eps = np.linalg.norm(a) + np.linalg.norm(b), np.finfo(q.dtype).eps
        if not np.isfinite(x).all() or (size == 0 and q.size):
            return None
        with np.errstate(over="ignore"):
            found, left = np.linalg.norm(x), np.linalg.norm(a @ x + x @ b - q)
        # LAPACK separates eigenvalues that add up to 0: the solution is then unbounded, or solves nothing.
        if found * size * eps > np.linalg.norm(q) or not left <= np.sqrt(eps) * found * size:
            return None
        return x

    return each(caller, _SINGULAR, one, a, b, q)


def _sylvester_vjp(
    ct: Tensor, out: Tensor, a: Tensor, b: Tensor, q: Tensor, caller: str
) -> tuple[Tensor, Tensor, Tensor]:
    dq = sylvester(transposed(a), transposed(b), ct, caller=caller)
    return -(dq @ transposed(out)), -(transposed(out) @ dq), dq


sylvester: extend.Primitive = extend.primitive(
    "solve_sylvester",
    _sylvester_kernel,
    arity=3,
    residual=lambda out, a, b, q, caller: q - a @ out - out @ b,
    correction=lambda r, out, a, b, q, caller: sylvester(a, b, r, caller=caller),
    vjp=_sylvester_vjp,
    core=(2, 2, 2),
    summary="solution of a x + x b = q",
)


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """The solution x of ``a x + x b = q``.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, m), real or complex.
    b : Tensor
        Shape (..., n, n).
    q : Tensor
        Shape (..., m, n).

    Returns
    -------
    Tensor
        Shape (..., m, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If an eigenvalue of `a` is the negative of an eigenvalue of `b`.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The equation implies ``a dx + dx b = dq - da x - x db``: every derivative is another solution.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a, b = dg.Tensor([[2.0]], dg.float64), dg.Tensor([[1.0]], dg.float64)
    >>> print(linalg.solve_sylvester(a, b, dg.Tensor([[6.0]], dg.float64)))
    [[2.]]
    """
    return _solution("solve_sylvester", a, b, q)


def _solution(name: str, a: Any, b: Any, q: Any) -> Tensor:
    a, b, q = alike([square(name, a, True), square(name, b, True), matrices(name, q, True)])
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ValueError(f"{name}: matrices of shapes {a.shape} and {b.shape} and a right-hand side of shape {q.shape}")
    return sylvester(a, b, q, caller=name)


def solve_continuous_lyapunov(a: Any, q: Any) -> Tensor:
    """The solution x of ``a x + x a^H = q``.

    Parameters
    ----------
    a, q : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the solution is not unique; see `solve_sylvester`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[-1.0, 0.0], [0.0, -2.0]], dg.float64)
    >>> print(linalg.solve_continuous_lyapunov(a, dg.Tensor([[2.0, 3.0], [3.0, 4.0]], dg.float64)))
    [[-1. -1.]
     [-1. -1.]]
    """
    name = "solve_continuous_lyapunov"
    a = square(name, a, True)
    return _solution(name, a, adjoint(a), square(name, q, True))


def solve_discrete_lyapunov(a: Any, q: Any) -> Tensor:
    """The solution x of ``a x a^H - x + q = 0``.

    Parameters
    ----------
    a, q : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the product of two eigenvalues of `a` is 1.

    Notes
    -----
    Uses the bilinear transformation to a continuous equation (Gajic and Qureshi, Lyapunov Matrix Equation in System
    Stability and Control, 1995).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> half = dg.Tensor([[0.5]], dg.float64)
    >>> print(linalg.solve_discrete_lyapunov(half, dg.Tensor([[3.0]], dg.float64)))
    [[4.]]
    """
    name = "solve_discrete_lyapunov"
    a, q = alike([square(name, a, True), square(name, q, True)])
    if a.shape[-2:] != q.shape[-2:]:
        raise ValueError(f"{name}: matrices of shapes {a.shape} and {q.shape}; expected equal ones")
    unit = identity(a, a.shape[-1])
    less = adjoint(a) - unit
    turned = solve(less, adjoint(a) + unit)
    inner = 2.0 * solve(conjugate(transposed(less)), q) @ solve(less, Tensor(unit))
    return _solution(name, adjoint(turned), turned, -inner)
