"""Rows of the elliptic integrals in Legendre's form, and of Jacobi's amplitude.

Every derivative by the parameter is a multiple of one integral,

    I_jk(phi, m) = integral from 0 to phi of sin(t)**(2j) (1 - m sin(t)**2)**(-k - 1/2) dt,

whose integrand has one sign. So nothing cancels at m = 0 or m = 1, unlike in the formulas with K and E. With tan(t) =
sinh(q) and p = 1 - m the integrand is sinh(q)**(2j) cosh(q)**(2k - 2j) (1 + p sinh(q)**2)**(-k - 1/2). It is smooth on
the scale 1 of q, and on the scale p**-1/2 near 0 if p is large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._quadrature import over_intervals
from ._rows import ORDERS, Entry, by_order, inner, special
from ._scipy import sp

_SQUARE = "(square(cos({0})) + (1 - y) * square(sin({0})))"  # 1 - y sin(x)**2, exact also near y = 1


def _integral(j: int, k: int, p: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The integral over q from 0 to an end, by Gauss-Legendre quadrature on panels that grow from 1 / sqrt(p) to 1."""
    end = np.minimum(end, 45 + np.log(2 / np.sqrt(np.minimum(p, 1))))
    end = np.where(np.isnan(end) | np.isinf(end), 0.0, end)
    total, low = np.zeros(end.shape), np.zeros(end.shape)
    first = np.minimum(1.0, 1 / np.sqrt(p))

    def integrand(q: np.ndarray) -> np.ndarray:
        h, c = np.sinh(q), np.cosh(q)
        square = 1 + p * h * h
        if k < 0:
            return np.sqrt(square) / (c * c)
        return (h / c) ** (2 * (j - k)) * (h * h / square) ** k / np.sqrt(square)

    while np.any(low < end):
        length = np.minimum(end, low + np.clip(low, first, 1.0)) - low
        total += over_intervals(integrand, low, length)
        low = low + length
    return total


@by_order
def _moment(j: int, k: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The complete integral, phi = pi / 2."""
    out = np.full(p.shape, np.nan)
    for n in np.unique(k):
        here = (k == n) & (p > 0)
        out[here] = _integral(j, int(n), p[here], np.full(p[here].shape, 1e4))
        out[(k == n) & (p == 0)] = INF
    return out


def _incomplete(j: int, k: int) -> Callable[..., np.ndarray]:
    def kernel(phi: np.ndarray, m: np.ndarray) -> np.ndarray:
        p = np.where(m < 1, 1 - m, np.nan)
        periods = np.rint(phi / np.pi)
        rest = phi - periods * np.pi
        part = np.sign(rest) * _integral(j, k, p, np.arcsinh(np.tan(np.abs(rest))))
        turns = periods != 0
        if turns.any():
            part[turns] += 2 * periods[turns] * _integral(j, k, p[turns], np.full(p[turns].shape, 1e4))
        return np.where(np.isnan(p) | ~np.isfinite(phi), np.nan, part)

    return kernel


def _incomplete_rows() -> Iterator[Entry]:
    """The integrals with j = k, which follow from F, and with j = k + 1, which follow from E."""
    for name, below in (("elliptic_f", 0), ("elliptic_e", 1)):
        for j in range(1, ORDERS + 1):
            k = j - below
            further = UNDEFINED if j == ORDERS else f"{k + 0.5} * {name}_{j + 1}(x, y)"
            yield inner(f"{name}_{j}", _incomplete(j, k),
                        f"pow(square(sin(x)), {j}) * pow({_SQUARE.format('x')}, {-k - 0.5})", further,
                        domain=((-INF, INF), (-INF, 1)), sampled=((-8, 8), (-5, 0.98)), within=400,
                        summary=f"the integral of sin(t)**{2 * j} (1 - y sin(t)**2)**{-k - 0.5}, 0 to x")  # fmt: skip


ELLIPTIC = (
    special("ellipk", sp.ellipk, "0.5 * elliptic_moment(1, 1, 1 - x)", domain=(-INF, 1), sampled=(-50, 0.9999),
            within=40,
            summary="complete elliptic integral of the first kind, of parameter x", slope_note="inf at 1, nan beyond",
            exact="mp.ellipk(x)", example=("[0.0, 0.5]", "[1.5708 1.85407]"), points=(0.0, 1e-9, 0.99999999)),
    special("ellipkm1", sp.ellipkm1, "-0.5 * elliptic_moment(1, 1, x)", domain=(0, INF),
            sampled=(1e-8, 10), within=40, summary="complete elliptic integral of the first kind, of parameter 1 - x",
            slope_note="-inf at 0, nan below", exact="mp.ellipk(1 - x)",
            example=("[1.0, 0.001]", "[1.5708 4.84113]")),
    special("ellipe", sp.ellipe, "-0.5 * elliptic_moment(1, 0, 1 - x)", domain=(-INF, 1), sampled=(-50, 0.9999),
            within=40,
            summary="complete elliptic integral of the second kind, of parameter x", slope_note="-inf at 1, nan beyond",
            exact="mp.ellipe(x)", example=("[0.0, 0.5]", "[1.5708 1.35064]"), points=(0.0, 1e-9, 0.99999999)),
    inner("elliptic_moment", _moment, UNDEFINED, UNDEFINED, "-((y + 0.5) * elliptic_moment(x + 1, y + 1, z))",
          domain=((-INF, INF), (-INF, INF), (0, INF)), orders=(1, 2), sampled=((0, 0), (0, 0), (1e-6, 50)), within=100,
          summary="the integral of sin(t)**(2x) (1 - (1 - z) sin(t)**2)**(-y - 1/2) from 0 to pi / 2"),
    special("ellipkinc", sp.ellipkinc, f"rsqrt({_SQUARE.format('x')})", "0.5 * elliptic_f_1(x, y)",
            domain=((-INF, INF), (-INF, 1)), sampled=((-8, 8), (-5, 0.98)), within=400,
            points=((0.5, 0.0), (1.5, 0.999)),
            summary="incomplete elliptic integral of the first kind, of amplitude x and parameter y",
            slope_note=f"up to order {ORDERS} by y; nan for y > 1", exact="mp.ellipf(x, y)",
            example=("[0.5, 4.0], [0.5, -1.0]", "[0.510467 3.40791]")),
    special("ellipeinc", sp.ellipeinc, f"sqrt({_SQUARE.format('x')})", "-0.5 * elliptic_e_1(x, y)",
            domain=((-INF, INF), (-INF, 1)), sampled=((-8, 8), (-5, 0.98)), within=400,
            points=((0.5, 0.0), (1.5, 0.999)),
            summary="incomplete elliptic integral of the second kind, of amplitude x and parameter y",
            slope_note=f"up to order {ORDERS} by y; nan for y > 1", exact="mp.ellipe(x, y)",
            example=("[0.5, 4.0], [0.5, -1.0]", "[0.489911 4.7627 ]")),
    *_incomplete_rows(),
    inner("jacobi_amplitude", lambda u, m: sp.ellipj(u, m)[3], f"sqrt({_SQUARE.format('out')})",
          f"-0.5 * elliptic_f_1(out, y) * sqrt({_SQUARE.format('out')})", domain=((-INF, INF), (0, 1)),
          sampled=((-10, 10), (0.02, 0.98)), within=1000, summary="Jacobi's amplitude of x for the parameter y",
          exact="mp.findroot(lambda t: mp.ellipf(t, y) - x, float(sp.ellipj(float(x), float(y))[3]))"),
)  # fmt: skip
