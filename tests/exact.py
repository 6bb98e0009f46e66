"""Derivatives of ordinary code to more than 15 digits, by central differences in 80-digit arithmetic.

This is the reference for derivatives without a short closed form. It shares nothing with the engine: a
function is written on NumPy arrays of ``mpmath`` numbers and is only ever *evaluated*, at the 2**k corners
around the point. With a step of 1e-12 the truncation error is some 1e-24, and 80 digits leave room for five
derivatives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

STEP = mpmath.mpf(10) ** -12
DIGITS = 80

Function = Callable[[np.ndarray], Any]


def _elementwise(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    return np.vectorize(function, otypes=[object])


sin, cos, tan = map(_elementwise, (mpmath.sin, mpmath.cos, mpmath.tan))
exp, log, sqrt, tanh = map(_elementwise, (mpmath.exp, mpmath.log, mpmath.sqrt, mpmath.tanh))
erf = _elementwise(mpmath.erf)


def derivative_along(f: Function, x: np.ndarray, directions: Sequence[np.ndarray]) -> mpmath.mpf:
    """Mixed derivative of ``sum(f(x))``, one differentiation along each of the directions."""
    with mpmath.workdps(DIGITS):
        point = _elementwise(mpmath.mpf)(x)
        total = mpmath.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(directions)):
            shift = sum(sign * STEP * direction for sign, direction in zip(signs, directions, strict=True))
            total += int(np.prod(signs)) * np.sum(f(point + shift))
        return total / (2 * STEP) ** len(directions)


def repeated_gradient(f: Function, x: np.ndarray, order: int) -> np.ndarray:
    """What ``grad`` applied ``order`` times gives: each time the gradient of the sum of the one before."""
    x = np.asarray(x, np.float64)
    ones = [np.ones(x.shape, int).astype(object)] * (order - 1)
    return np.array(
        [float(derivative_along(f, x, [_unit(index, x.shape), *ones])) for index in np.ndindex(x.shape)]
    ).reshape(x.shape)


def _unit(index: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    unit = np.zeros(shape, int).astype(object)
    unit[index] = 1
    return unit
