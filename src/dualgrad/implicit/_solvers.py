"""Solvers of equations between NumPy arrays. Nothing here is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["answer", "iterated", "minimised", "newton", "scipy_root", "size"]

Array = np.ndarray[Any, Any]


def size(r: Array) -> float:
    """The largest absolute value; inf if an element is not finite."""
    return float(np.abs(r).max(initial=0.0)) if np.isfinite(r).all() else np.inf


def answer(name: str, found: Any, start: Array) -> Array:
    """The solution that a solver returned, by itself or in an object that says whether it converged."""
    if getattr(found, "success", True) is False:
        raise RuntimeError(f"{name}: the solver did not converge: {getattr(found, 'message', 'it does not say why')}")
    x = np.asarray(getattr(found, "x", found))
    if x.shape != start.shape:
        raise ValueError(f"{name}: the solver returned an array of shape {x.shape}; expected {start.shape}")
    return x


def scipy_root(name: str, method: str) -> Callable[..., Any]:
    """A method of SciPy's as a solver."""
    try:
        from scipy import optimize
    except ImportError:
        raise ImportError(f"{name}: the solver {method!r} is SciPy's; install it with pip install scipy") from None
    return lambda f, x0: optimize.root(f, x0, method=method, tol=1e-14)


def _halved(x: Array, step: Array, times: int) -> Iterator[Array]:
    """Where ever smaller steps lead, as long as they lead anywhere.

    Close to a solution a whole step leads nearer to it, unless only rounding is left; then smaller ones are no better.
    """
    least = np.finfo(x.dtype).eps ** 0.75 * size(x)
    for _ in range(times):
        after = x - step
        if np.array_equal(after, x):
            return
        yield after
        if size(step) <= least:
            return
        step = step / 2


def newton(f: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method, until nothing improves; a step that does not reduce the residual is halved."""
    r = f(x)
    for _ in range(limit):
        now = size(r)
        if now == 0.0:
            break
        try:
            step = np.linalg.solve(jac(x), r)
        except np.linalg.LinAlgError:
            break
        for after in _halved(x, step, 30):
            r_after = f(after)
            if size(r_after) < now:
                break
        else:
            break
        x, r = after, r_after
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
    """Newton's step with the absolute values of the eigenvalues, raised to a least one."""
    hessian = (hessian + hessian.T) / 2
    precision = np.sqrt(np.finfo(r.dtype).eps)
    try:
        np.linalg.cholesky(
            hessian - precision * max(float(np.linalg.norm(hessian)), 1.0) * np.eye(r.size, dtype=r.dtype)
        )
        return np.asarray(np.linalg.solve(hessian, r))  # all eigenvalues are above the least one
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(hessian)
        least = max(float(np.abs(values).max()), 1.0) * precision
        return np.asarray(vectors @ ((vectors.T @ r) / np.maximum(np.abs(values), least)))


def minimised(loss: Any, f: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method on the gradient f, downhill."""
    value = loss(x)
    for _ in range(limit):
        r = f(x)
        if size(r) in (0.0, np.inf):
            break
        step = _downhill(jac(x), r)
        for after in _halved(x, step, 40):
            value_after = loss(after)
            if value_after < value or (value_after == value and size(f(after)) < size(r)):
                break
        else:
            after = x - step  # near the minimum the loss is constant, the gradient not yet 0
            if not size(f(after)) < size(r):
                break
            value_after = loss(after)
        x, value = after, value_after
    return x
