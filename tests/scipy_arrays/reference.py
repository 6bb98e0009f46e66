"""Derivatives that share nothing with the engine: of mpmath, and of polynomials through results of NumPy.

A function of one number is interpolated at Chebyshev nodes around 0, and the polynomial is differentiated. The tail of
its coefficients says how exact it is: rounding, noise of an iteration, and kinks show there. Of several radii the best
one is taken for each order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.polynomial import chebyshev

__all__ = ["HIGHEST", "Derivatives", "exact_derivatives", "interpolated"]

HIGHEST = 3
NODES = 15
TAIL = 3
RADII = (1.0, 0.5, 0.2, 0.08, 0.03, 0.01)


@dataclass
class Derivatives:
    """Value and derivatives by order, and for each the size of its error."""

    values: list[np.ndarray]
    errors: list[float]


@functools.cache
def _rules() -> tuple[np.ndarray, np.ndarray, list[np.ndarray], list[float]]:
    """Nodes on [-1, 1]; the matrix from values to coefficients; derivatives at 0 of each Chebyshev polynomial."""
    nodes = chebyshev.chebpts1(NODES)
    to_coefficients = np.linalg.inv(chebyshev.chebvander(nodes, NODES - 1))
    slopes = [
        np.array([chebyshev.chebval(0.0, chebyshev.chebder(row, k)) if k else chebyshev.chebval(0.0, row)
                  for row in np.eye(NODES)])
        for k in range(HIGHEST + 1)
    ]  # fmt: skip
    return nodes, to_coefficients, slopes, [float(np.abs(slope).sum()) for slope in slopes]


def interpolated(curve: Callable[[float], np.ndarray], reach: float) -> Derivatives:
    """Value and derivatives at 0 of a function of one number that returns a vector.

    Raises
    ------
    ValueError
        If the shape of the vector changes along the curve.
    """
    nodes, to_coefficients, slopes, sizes = _rules()
    at_zero = curve(0.0)
    best = Derivatives([at_zero] + [np.zeros_like(at_zero)] * HIGHEST, [0.0] + [np.inf] * HIGHEST)
    for radius in (reach * fraction for fraction in RADII):
        values = [curve(radius * t) for t in nodes]
        if any(v.shape != at_zero.shape for v in values):
            continue
        coefficients = to_coefficients @ np.array(values)
        tail = float(np.abs(coefficients[-TAIL:]).max(initial=0.0))
        tail = max(tail, float(np.abs(coefficients).max(initial=0.0)) * 2.0**-53)
        middle = float(np.abs(slopes[0] @ coefficients - at_zero).max(initial=0.0))  # a jump at 0 shows here alone
        for k in range(1, HIGHEST + 1):
            error = max(tail, middle) * sizes[k] / radius**k
            if error < best.errors[k]:
                best.values[k], best.errors[k] = slopes[k] @ coefficients / radius**k, error
    return best


def exact_derivatives(
    function: Callable[..., object], inputs: Sequence[np.ndarray], directions: Sequence[np.ndarray]
) -> Derivatives:
    """Value and derivatives along a line of a function of mpmath that works element by element."""
    points = np.broadcast_arrays(*inputs)
    along = np.broadcast_arrays(*(np.broadcast_to(v, x.shape) for x, v in zip(inputs, directions, strict=True)))
    found = np.empty((HIGHEST + 1, points[0].size))
    with mpmath.workdps(25):
        for i in range(points[0].size):
            pairs = zip(points, along, strict=True)
            line = [(mpmath.mpf(float(p.flat[i])), mpmath.mpf(float(v.flat[i]))) for p, v in pairs]
            curve = lambda t: function(*(x + v * t for x, v in line))  # noqa: B023
            found[:, i] = [float(mpmath.re(value)) for value in mpmath.diffs(curve, 0, HIGHEST)]
    return Derivatives(list(found), [float(np.abs(row).max(initial=0.0)) * 1e-12 for row in found])
