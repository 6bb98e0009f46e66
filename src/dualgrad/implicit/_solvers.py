"""Solvers of equations between NumPy arrays. Nothing here is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._engine.solvers.banded import solve_definite
from .._engine.solvers.newton import is_last, moved, size, symmetric_part
from ..ops.linalg._matrices import solution

__all__ = ["answer", "condition", "is_definite", "iterated", "minimised", "newton", "scipy_root", "solved"]

Array = np.ndarray[Any, Any]

ROOT_OF_EPS = {np.dtype(t): float(np.sqrt(np.finfo(t).eps)) for t in (np.float32, np.float64)}


def solved(matrix: Array, r: Array) -> Array:
    """Solve a linear system with one right-hand side."""
    return solution(matrix, r[:, None])[:, 0]


def condition(matrix: Array) -> Any:
    """The condition number of matrices in the column-sum norm; inf if one is singular."""
    try:
        inverse = solution(matrix, np.eye(matrix.shape[-1], dtype=matrix.dtype))
    except np.linalg.LinAlgError:
        return np.array(np.inf)
    with np.errstate(all="ignore"):
        return np.abs(matrix).sum(-2).max(-1) * np.abs(inverse).sum(-2).max(-1)


def is_definite(matrix: Array, least: float) -> bool:
    """True if an elimination proves that x^T A x >= least x^T x, so that no singular value is smaller.

    It proves nothing if numbers overflow or become subnormal, since `least` does not cover that rounding.
    """
    if matrix.ndim != 2 or matrix.dtype not in ROOT_OF_EPS or least < np.finfo(matrix.dtype).tiny:
        return False
    mean = symmetric_part(matrix)
    if size(mean) == np.inf:
        return False
    try:
        found = solve_definite(mean, np.empty((len(mean), 0), mean.dtype), least)
    except np.linalg.LinAlgError:
        return False
    return found is not None


def answer(name: str, found: Any, start: Array) -> Array:
    """The solution from a solver's result, an array or an object with a flag `success`."""
    if getattr(found, "success", True) is False:
        raise RuntimeError(f"{name}: the solver did not converge: {getattr(found, 'message', 'it does not say why')}")
    x = np.asarray(getattr(found, "x", found))
    if x.shape != start.shape:
        raise ValueError(f"{name}: the solver returned an array of shape {x.shape}; expected {start.shape}")
    return x


def scipy_root(name: str, method: str) -> Callable[..., Any]:
    """Make a solver of a SciPy method."""
    try:
        from scipy import optimize
    except ImportError:
        raise ImportError(f"{name}: the solver {method!r} is SciPy's; install it with pip install scipy") from None
    return lambda f, x0: optimize.root(f, x0, method=method, tol=1e-14)


def _halved(x: Array, step: Array, times: int) -> Iterator[Array]:
    """Yield the points after smaller and smaller steps, while they still move.

    Near a solution a whole step improves it, unless only rounding is left; then smaller steps do not help either.
    """
    for _ in range(times):
        after = moved(x, step)
        if after is None:
            return
        yield after
        if size(step) <= np.finfo(x.dtype).eps ** 0.75 * size(x):
            return
        step = step / 2


def newton(f: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method, until nothing improves; a step that does not reduce the residual is halved."""
    r, before = f(x), 0.0
    for _ in range(limit):
        now = size(r)
        if now == 0.0:
            break
        try:
            step = solved(jac(x), r).astype(x.dtype, copy=False)  # the function may compute in another type
        except np.linalg.LinAlgError:
            break
        if is_last(x, step, before):
            return x - step
        for after in _halved(x, step, 30):
            r_after = f(after)
            if size(r_after) < now:
                break
        else:
            break
        x, r, before = after, r_after, size(after - x)
    return x


def iterated(f: Any, x: Array, limit: int) -> Array:
    """Iterate x <- T(x), with f(x) = x - T(x), until x is constant to the last digits."""
    eps, best, stale = np.finfo(x.dtype).eps, np.inf, 0
    for _ in range(limit):
        r = f(x)
        now = size(r)
        if now == np.inf:
            break
        x = x - r
        stale = 0 if now < best else stale + 1
        best = min(best, now)
        if now <= eps * size(x) or (stale >= 3 and now <= np.sqrt(eps) * max(1.0, size(x))):
            break
    return x


def _downhill(hessian: Array, r: Array) -> Array:
    """Newton's step with the absolute values of the eigenvalues, raised to a lower bound.

    The bound is a fraction of the largest element, so it scales with the loss. For a Hessian of zeros the fraction is
    of 1.
    """
    hessian = symmetric_part(hessian)
    least = ROOT_OF_EPS[r.dtype] * (size(hessian) or 1.0)
    try:
        return _above(hessian, r, least)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(hessian)
        return np.asarray(vectors @ ((vectors.T @ r) / np.maximum(np.abs(values), least)))


def _above(hessian: Array, r: Array, least: float) -> Array:
    """Newton's step. Raises LinAlgError unless all eigenvalues are above the lower bound."""
    found = solve_definite(hessian, r[:, None], least)
    if found is not None:
        return found[:, 0]
    np.linalg.cholesky(hessian - least * np.eye(r.size, dtype=r.dtype))
    return solved(hessian, r)


def minimised(judged: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method on the gradient, downhill; `judged` returns the loss and its gradient."""
    (value, r), before = judged(x), 0.0
    for _ in range(limit):
        if size(r) in (0.0, np.inf):
            break
        step = _downhill(jac(x), r)
        if is_last(x, step, before):
            return x - step
        for after in _halved(x, step, 40):
            value_after, r_after = judged(after)
            if value_after < value or (value_after == value and size(r_after) < size(r)):
                break
        else:
            after = x - step  # near the minimum the loss is constant while the gradient is not yet 0
            value_after, r_after = judged(after)
            if not size(r_after) < size(r):
                break
        x, value, r, before = after, value_after, r_after, size(after - x)
    return x
