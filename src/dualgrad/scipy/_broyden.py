"""A self-scaling quasi-Newton method with a dense inverse Hessian, for smooth functions of a few thousand variables.

It keeps the curvature of all steps, where L-BFGS forgets old steps. So losses of physics-informed networks, whose
Hessians have condition numbers beyond 1e10, fall further by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["InverseHessian", "minimize_broyden", "wolfe"]

DECREASE, CURVATURE = 1e-4, 0.9  # Wolfe's conditions


class InverseHessian:
    """The estimate H = scale * matrix of the inverse Hessian; BLAS keeps its lower triangle up to date.

    `update` is Broyden's family with self-scaling: M. Al-Baali, Comput. Optim. Appl. 9 (1998), as J. F. Urbán,
    P. Stefanou and J. A. Pons use it (J. Comput. Phys. 523, 2025).
    """

    def __init__(self, size: int) -> None:
        from scipy.linalg import blas

        self.blas = blas
        self.matrix: np.ndarray = np.eye(size, order="F")
        self.scale = 1.0

    def times(self, v: np.ndarray) -> np.ndarray:
        return self.blas.dsymv(self.scale, self.matrix, v, lower=1)

    def update(self, s: np.ndarray, y: np.ndarray, sbs: float) -> None:
        """Update H by a step s, the change y of the gradient along it, and s B s, where B is the inverse of H."""
        h = self.times(y)
        ys, yhy = float(y @ s), float(y @ h)
        tau, phi = self_scaling(sbs / ys, yhy / ys, s.size)
        # H <- (H - h h' / yhy + phi yhy v v') / tau + s s' / ys with v = s / ys - h / yhy; the scale takes 1 / tau
        f = 1.0 / self.scale
        self.scale /= tau
        crossed = (0.5 * (phi * yhy / ys**2 + tau / ys)) * s - (phi / ys) * h
        self.matrix = self.blas.dsyr2(f, s, crossed, lower=1, a=self.matrix, overwrite_a=1)
        if phi != 1.0:
            self.matrix = self.blas.dsyr(f * (phi - 1.0) / yhy, h, lower=1, a=self.matrix, overwrite_a=1)


def self_scaling(b: float, h: float, size: int) -> tuple[float, float]:
    """The scale tau and the parameter phi of Broyden's family, from b = s B s / y s and h = y H y / y s."""
    a = max(b * h - 1.0, 1e-15)  # not negative, by Cauchy and Schwarz
    low = min(1.0, h / ((1.0 + a) * (1.0 + np.sqrt(a / (1.0 + a)))))  # h (1 - sqrt(a / (1 + a))), exact for large a
    theta = max((low - 1.0) / a, min(1.0 / low, (1.0 - b) / b))
    sigma = 1.0 + a * theta
    power = sigma ** (-1.0 / max(size - 1, 1))
    first = min(1.0, 1.0 / b)
    tau = min(first * power, sigma) if theta <= 0.0 else first * min(power, 1.0 / theta)
    return tau, (1.0 - theta) / sigma


def minimize_broyden(
    fun: Callable[[np.ndarray], float],
    x0: np.ndarray,
    args: tuple[Any, ...] = (),
    *,
    jac: Callable[[np.ndarray], np.ndarray],
    callback: Callable[..., Any] | None = None,
    maxiter: int | None = None,
    gtol: float = 1e-5,
    ftol: float = 0.0,
    **other: Any,
) -> Any:
    """Minimise, as a ``method`` of ``scipy.optimize.minimize``; `dualgrad.scipy.fit` describes the options."""
    from scipy.optimize import OptimizeResult

    unknown = sorted(name for name, value in other.items() if value is not None and value != ())
    if unknown:
        raise TypeError(
            f"SSBroyden: got {', '.join(unknown)}; expected the options maxiter, gtol and ftol, and no bounds"
        )

    def both(x: np.ndarray) -> tuple[float, np.ndarray]:
        found.nfev += 1
        return float(fun(x, *args)), np.asarray(jac(x, *args))

    found = OptimizeResult(x=np.array(x0, np.float64), nit=0, nfev=0, success=False)
    found.fun, found.jac = both(found.x)
    limit = 20 * found.x.size if maxiter is None else maxiter
    estimate: InverseHessian | None = None
    while True:
        if np.abs(found.jac).max() <= gtol:
            found.status, found.message, found.success = 0, "the gradient is as small as gtol asks", True
            break
        if found.nit >= limit:
            found.status, found.message = 1, "maxiter is reached"
            break
        fresh = estimate is None
        estimate = estimate or InverseHessian(found.x.size)
        # Before any curvature is known, the first trial step has length one at most.
        length = min(1.0, 1.0 / float(np.linalg.norm(found.jac))) if fresh else 1.0
        direction = -estimate.times(found.jac)
        step = wolfe(both, found.x, found.fun, found.jac, direction, length)
        if step is None and not fresh:
            estimate = None  # rounding has spoilt the estimate: restart along the gradient
            continue
        if step is None:
            found.status, found.message = 2, "no step along the gradient is better: rounding ends the descent"
            break
        at, value, gradient, length = step
        s, y = at - found.x, gradient - found.jac
        if fresh:
            estimate.scale = float(y @ s) / float(y @ y)
            sbs = float(s @ s) / estimate.scale
        else:
            sbs = -length * float(s @ found.jac)
        estimate.update(s, y, sbs)
        gain = found.fun - value
        found.x, found.fun, found.jac = at, value, gradient
        found.nit += 1
        if callback is not None:
            callback(OptimizeResult(x=found.x, fun=found.fun, nit=found.nit))
        if ftol > 0.0 and gain <= ftol * max(abs(value), abs(value + gain)):
            found.status, found.message, found.success = 3, "the value falls by no more than ftol", True
            break
    found.njev = found.nfev
    return found


def wolfe(
    both: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    length: float,
) -> tuple[np.ndarray, float, np.ndarray, float] | None:
    """The next point, its value, its gradient and the length of the step; None if no better point is found.

    Wolfe's weak conditions ensure the positive curvature along the step. The length doubles until a bracket is found;
    then each trial is the minimum of a parabola or the middle of the bracket.
    """
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    low, high = (0.0, value, slope), np.inf
    for _ in range(40):
        at = x + length * direction
        trial, there = both(at)
        climb = float(there @ direction)
        if not (trial <= value + DECREASE * length * slope and np.isfinite(climb)):
            high = length
            width, (_, bottom, fall) = length - low[0], low
            bend = trial - bottom - fall * width
            part = -0.5 * fall * width / bend if np.isfinite(bend) and bend > 0.0 else 0.0
            length = low[0] + width * min(max(part, 0.1), 0.5)
        elif climb < CURVATURE * slope:
            low = (length, trial, climb)
            length = 2.0 * length if high == np.inf else 0.5 * (length + high)
        elif np.array_equal(at, x):
            return None
        else:
            return at, trial, there, length
    return None
