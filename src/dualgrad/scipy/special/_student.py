"""Rows of Student's t distribution, differentiable by its degrees of freedom, and of its inverse.

Let s = t / sqrt(n), and let g(n, s) = (1 + s*s)**(-(n + 1) / 2) / B(1/2, n / 2) be the density of s. Its logarithm has
simple derivatives by n: first L = (digamma((n + 1) / 2) - digamma(n / 2) - log1p(s*s)) / 2, then differences of
polygamma functions. So at fixed s

    T_k  =  d^k g / dn^k / sqrt(n)  =  the density of t times the complete Bell polynomial of L and its derivatives,
    E_k  =  d^k F / dn^k            =  sign(t) / 2^(k + 1) times the k-th slope of betainc by its parameter,

and dE_k / dt = T_k; the chain rule converts from fixed s to fixed t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._beta import betainc_derivative
from ._gamma import polygamma_difference, stirling
from ._rows import ORDERS, Entry, inner, special
from ._scipy import sp

_POSITIVE = (0, INF)
_NOTE = f"up to order {ORDERS} by x, from the second on refused for tiny ones; x times less exact for large x"


def _density(order: int) -> Callable[..., np.ndarray]:
    def kernel(n: np.ndarray, t: np.ndarray) -> np.ndarray:
        half = n / 2
        height = np.exp(half * np.log1p(1 / n) - 0.5 + stirling(half + 0.5) - stirling(half)) / math.sqrt(2 * math.pi)
        step, spread = np.full(n.shape, 0.5), np.log1p(t * t / n)
        density = height * np.exp(-(n + 1) / 2 * spread)
        rates = [polygamma_difference(np.full(n.shape, k), half, step) / 2 ** (k + 1) for k in range(order)]
        if order:
            rates[0] = rates[0] - spread / 2
        bell = [np.ones(n.shape)]
        for k in range(order):
            bell.append(sum(math.comb(k, i) * rates[i] * bell[k - i] for i in range(k + 1)))
        return np.where(density == 0, 0.0, density * bell[order])

    return kernel


def _shape(order: int) -> Callable[..., np.ndarray]:
    by_b, by_a = betainc_derivative(0, order, "stdtr"), betainc_derivative(order, 0, "stdtr")

    def kernel(n: np.ndarray, t: np.ndarray) -> np.ndarray:
        square, half = t * t, n / 2
        near = square < n  # the smaller part of 1 is computed without cancellation
        found = np.where(near, 1.0, -1.0)
        found[near] *= by_b(np.full(half[near].shape, 0.5), half[near], (square / (n + square))[near])
        far = ~near
        found[far] *= by_a(half[far], np.full(half[far].shape, 0.5), (n / (n + square))[far])
        return np.sign(t) * found / 2 ** (order + 1)

    return kernel


def _rows() -> Iterator[Entry]:
    """The rows of T_k and E_k."""
    for k in range(ORDERS + 1):
        last = k == ORDERS
        falling = f"(x + 1) * student_density_{k}(x, y)"
        by_x = f"student_density_{k + 1}(x, y) + 0.5 * (square(y) - 1) / (x + square(y)) * student_density_{k}(x, y)"
        if k:
            falling = f"({falling} + {k} * student_density_{k - 1}(x, y))"
            by_x += f" + {0.5 * k} * square(y) / (x * (x + square(y))) * student_density_{k - 1}(x, y)"
        yield inner(f"student_density_{k}", _density(k), UNDEFINED if last else by_x,
                    f"-(y / (x + square(y)) * {falling})", domain=(_POSITIVE, (-INF, INF)),
                    sampled=((0.3, 30), (-8, 8)), within=400,
                    summary=f"density of Student's t distribution, differentiated {k} times by x at a fixed "
                    "y / sqrt(x)")  # fmt: skip
        if k:
            yield inner(f"student_shape_{k}", _shape(k),
                        UNDEFINED if last
                        else f"student_shape_{k + 1}(x, y) - 0.5 * y / x * student_density_{k}(x, y)",
                        f"student_density_{k}(x, y)", domain=(_POSITIVE, (-INF, INF)),
                        sampled=((0.3, 30), (-8, 8)), within=1000,
                        summary=f"stdtr, {k} times differentiated by x at a fixed y / sqrt(x)")  # fmt: skip


STUDENT = (
    special("stdtr", sp.stdtr, "student_shape_1(x, y) - 0.5 * y / x * student_density_0(x, y)",
            "student_density_0(x, y)", domain=(_POSITIVE, (-INF, INF)), sampled=((0.3, 30), (-8, 8)), within=400,
            summary="distribution function of Student's t distribution of x degrees of freedom at y",
            slope_note=_NOTE + "; inside, y is finite", exact="_stdtr(x, y)",
            example=("[1.0, 4.5], [0.5, -2.0]", "[0.647584 0.054129]")),
    special("stdtrit", sp.stdtrit,
            "0.5 * out / x - student_shape_1(x, out) / student_density_0(x, out)", "1 / student_density_0(x, out)",
            domain=(_POSITIVE, (0, 1)), sampled=((0.5, 30), (0.02, 0.98)), within=1000,
            summary="inverse of stdtr in its last operand: the quantile at y", slope_note=_NOTE,
            exact="_stdtrit(x, y)", example=("[1.0, 4.5], [0.75, 0.05]", "[ 1. -2.06558]")),
    *_rows(),
)  # fmt: skip
