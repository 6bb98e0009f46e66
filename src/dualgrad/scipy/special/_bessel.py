"""Rows of Bessel, Airy and Struve functions, of real order.

A slope is the mean or difference of the two neighbours in order. That neither cancels for a small argument nor divides
by it. Derivatives by the order have a formula only for K, an integral whose integrand has one sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._quadrature import over_intervals
from ._rows import HIGHEST, ORDERS, Entry, by_order, inner, not_above, special
from ._scipy import sp

_ANY, _POSITIVE = (-INF, INF), (0, INF)


def _k_by_order(times: int) -> Callable[..., np.ndarray]:
    """Make the kernel of the derivative of K_v(x) of order j by v and order k by x, without the sign of the latter.

    It is the integral of t**j cosh(t)**k exp(-x cosh t) with cosh(v t) or sinh(v t) over t > 0. For such a function the
    trapezoidal rule is exact to all digits. Terms are divided by the largest one, at sinh(t) = v / x.
    """
    odd = times % 2 == 1

    @by_order
    def kernel(order: int, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        sign, v = np.where((v < 0) & odd, -1.0, 1.0), np.abs(v)
        width = 1 / np.sqrt(np.hypot(v, x))
        step, peak = np.minimum(0.2, 0.35 * width), np.arcsinh(v / x)
        end = peak + np.minimum(12 * width, np.arccosh(1 + 60 / x)) + np.arccosh(1 + (60 + 8 * order) / x)
        largest = v * peak - x * np.cosh(peak)
        total = np.zeros(v.shape)
        for i in range(int(np.nanmax(end / step, initial=0)) + 1):
            t = i * step
            both = -np.expm1(-2 * v * t) if odd else 1 + np.exp(-2 * v * t)
            grown = 0.5 * np.exp(v * t - x * np.cosh(t) - largest) * both
            total += (0.5 if i == 0 else 1.0) * t**times * np.cosh(t) ** order * grown
        return np.where(x > 0, sign * total * step * np.exp(largest), np.nan)

    return kernel


def _order_rows() -> Iterator[Entry]:
    for j in range(1, ORDERS + 1):
        by_v = f"kv_by_{j + 1}(x, y, z)" if j < ORDERS else UNDEFINED
        yield inner(f"kv_by_{j}", _k_by_order(j), UNDEFINED, by_v, f"-kv_by_{j}(x + 1, y, z)",
                    domain=(_ANY, _ANY, _POSITIVE), orders=(0, 1), sampled=((0, 0), (-4, 9), (0.1, 50)), within=400,
                    summary=f"up to its sign the derivative of order {j} by y and x by z of the Bessel function K "
                    "of order y, at z")  # fmt: skip


def _of_whole_order(name: str) -> Callable[..., np.ndarray]:
    f = getattr(sp, name)

    def of_order(n: int, z: np.ndarray) -> np.ndarray:
        not_above(name, "the order", n, HIGHEST)
        return f(n, z)

    return by_order(of_order)


def _falling(e: np.ndarray, count: int) -> np.ndarray:
    """The product e (e - 1) ... (e - count + 1)."""
    return math.prod([e - i for i in range(count)], start=np.ones(e.shape))


def _struve_series(order: int, v: np.ndarray, x: np.ndarray, sign: int) -> np.ndarray:
    """The power series, differentiated term by term; signs alternate for H (-1) and do not for L (1)."""
    total = np.zeros(x.shape)
    for m in range(300):
        power = 2 * m + v + 1
        factor = _falling(power, order) * sign**m * sp.rgamma(m + 1.5) * sp.rgamma(m + v + 1.5) / 2**order
        term = np.where(factor == 0, 0.0, factor * (x / 2) ** (power - order))
        total += term
        if m > 2 and np.all(np.abs(term) <= 1e-18 * np.abs(total)):
            break
    return total


def _struve_less_y(order: int, v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """H_v - Y_v, 2 (x / 2)**v / (sqrt(pi) gamma(v + 1/2)) times the integral of exp(-x t) (1 + t*t)**(v - 1/2).

    With s = x t the derivative has the powers of x in front of the integral, and a polynomial in s inside.
    """

    def inside(s: np.ndarray) -> np.ndarray:
        polynomial = sum(math.comb(order, j) * _falling(v, order - j) * (-s) ** j for j in range(order + 1))
        return np.exp(-s) * (1 + (s / x) ** 2) ** (v - 0.5) * polynomial

    scale = 1 + np.maximum(v, 0) / 40
    edges = [0, 1.5, 4, 8, 14, 22, 32, 45, 60, 80, 110, 150, 200]
    total = sum(over_intervals(inside, a * scale, (b - a) * scale) for a, b in itertools.pairwise(edges))
    return 2 * sp.rgamma(v + 0.5) / math.sqrt(math.pi) * (x / 2) ** v * x ** -(order + 1.0) * total


@by_order
def _struve_derivative(order: int, v: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The derivative of order k by y: power series for small y; beyond, Y_v plus the smooth rest."""
    x, out = np.abs(y), np.full(y.shape, np.nan)
    near, far = x < 4 + np.maximum(v, 0) + order / 2, x >= 4 + np.maximum(v, 0) + order / 2
    out[near] = _struve_series(order, v[near], x[near], -1)
    v1, x1 = v[far], x[far]
    waves = sum((-1) ** j * math.comb(order, j) * sp.yv(v1 - order + 2 * j, x1) for j in range(order + 1))
    out[far] = waves / 2**order + _struve_less_y(order, v1, x1)
    return _of_any_sign(order, v, y, out)


@by_order
def _modstruve_derivative(order: int, v: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _of_any_sign(order, v, y, _struve_series(order, v, np.abs(y), 1))


def _of_any_sign(order: int, v: np.ndarray, y: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The derivative at y from the one at abs(y). For negative y the order v must be whole, otherwise nan."""
    odd = np.where((v + 1 + order) % 2 == 0, 1.0, -1.0)
    return np.where(y < 0, np.where(v == np.floor(v), odd, np.nan) * out, out)


BESSEL = (
    special("jv", sp.jv, UNDEFINED, "0.5 * (jv(x - 1, y) - jv(x + 1, y))", orders=(0, 0.5, 1, 2.25, 7),
            domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 60)), within=400,
            summary="Bessel function of the first kind, of real order x, at y",
            slope_note="for y < 0 orders have to be whole, else value and slope are nan", exact="mp.besselj(x, y)",
            example=("[0.5, 2.0], [1.0, 3.0]", "[0.671397 0.486091]")),
    special("yv", sp.yv, UNDEFINED, "0.5 * (yv(x - 1, y) - yv(x + 1, y))", orders=(0, 0.5, 1, 2.25, 7),
            domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 60)), within=1000,
            summary="Bessel function of the second kind, of real order x, at y", slope_note="nan below y = 0",
            exact="mp.bessely(x, y)", example=("[0.5, 2.0], [1.0, 3.0]", "[-0.431099 -0.1604]")),
    special("iv", sp.iv, UNDEFINED, "0.5 * (iv(x - 1, y) + iv(x + 1, y))", orders=(0, 0.5, 1, 2.25, 7),
            domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 60)), within=400,
            summary="modified Bessel function of the first kind, of real order x, at y",
            slope_note="for y < 0 orders have to be whole, else value and slope are nan", exact="mp.besseli(x, y)",
            example=("[0.5, 2.0], [1.0, 3.0]", "[0.937675 2.24521]")),
    special("kv", sp.kv, "kv_by_1(0, x, y)", "-0.5 * (kv(x - 1, y) + kv(x + 1, y))",
            domain=(_ANY, _POSITIVE), sampled=((-4, 9), (0.1, 50)), within=400,
            summary="modified Bessel function of the second kind, of real order x, at y",
            slope_note=f"up to order {ORDERS} by x; nan below y = 0", exact="mp.besselk(x, y)",
            example=("[0.5, 2.0], [1.0, 3.0]", "[0.461069 0.0615105]")),
    *_order_rows(),
    inner("spherical_bessel_j", _of_whole_order("spherical_jn"), UNDEFINED,
          "(absorb_mul(x, spherical_bessel_j(x - 1, y)) - (x + 1) * spherical_bessel_j(x + 1, y)) / (2 * x + 1)",
          orders=(0, 1, 4), sampled=((0, 0), (0.05, 50)), within=400, points=((0.0, 0.0), (2.0, -1.5)),
          summary="spherical Bessel function of the first kind, of whole order x, at y", exact="_spherical('j', x, y)"),
    inner("spherical_bessel_y", _of_whole_order("spherical_yn"), UNDEFINED,
          "where(x == 0, -spherical_bessel_y(1, y),"
          " (x * spherical_bessel_y(abs(x - 1), y) - (x + 1) * spherical_bessel_y(x + 1, y)) / (2 * x + 1))",
          orders=(0, 1, 4), domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 50)), within=400,
          summary="spherical Bessel function of the second kind, of whole order x, at y",
          exact="_spherical('y', x, y)"),
    inner("spherical_bessel_i", _of_whole_order("spherical_in"), UNDEFINED,
          "(absorb_mul(x, spherical_bessel_i(x - 1, y)) + (x + 1) * spherical_bessel_i(x + 1, y)) / (2 * x + 1)",
          orders=(0, 1, 4), sampled=((0, 0), (0.05, 50)), within=400, points=((0.0, 0.0),),
          summary="modified spherical Bessel function of the first kind, of whole order x, at y",
          exact="_spherical('i', x, y)"),
    inner("spherical_bessel_k", _of_whole_order("spherical_kn"), UNDEFINED,
          "-((absorb_mul(x, spherical_bessel_k(abs(x - 1), y))"
          " + (x + 1) * spherical_bessel_k(x + 1, y)) / (2 * x + 1))",
          orders=(0, 1, 4), domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 50)), within=400,
          summary="modified spherical Bessel function of the second kind, of whole order x, at y",
          exact="_spherical('k', x, y)"),
    special("struve", sp.struve, UNDEFINED, "struve_derivative(1, x, y)", orders=(0, 1, 2, 0.5),
            domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 50)), within=1000,
            summary="Struve function H of real order x, at y", exact="mp.struveh(x, y)",
            example=("[0.0, 1.0], [1.0, 2.0]", "[0.568657 0.646764]")),
    inner("struve_derivative", _struve_derivative, UNDEFINED, UNDEFINED, "struve_derivative(x + 1, y, z)",
          orders=(0, 1, 2), domain=(_ANY, _ANY, _POSITIVE), sampled=((0, 0), (0, 0), (0.05, 50)), within=400,
          summary="derivative of order x by z of the Struve function H of order y, at z"),
    special("modstruve", sp.modstruve, UNDEFINED,
            "where(30 > abs(y), modstruve_derivative(1, x, y),"
            " modstruve(x + 1, y) + half_power(x, x + 1.5, y) + absorb_mul(modstruve(x, y), x / y))",
            orders=(0, 1, 2, 0.5), domain=(_ANY, _POSITIVE), sampled=((0, 0), (0.05, 40)), within=100,
            summary="modified Struve function L of real order x, at y", exact="mp.struvel(x, y)",
            example=("[0.0, 1.0], [1.0, 2.0]", "[0.710243 1.10276 ]")),
    inner("modstruve_derivative", _modstruve_derivative, UNDEFINED, UNDEFINED, "modstruve_derivative(x + 1, y, z)",
          orders=(0, 1, 2), domain=(_ANY, _ANY, _POSITIVE), sampled=((0, 0), (0, 0), (0.05, 30)), within=100,
          summary="derivative of order x by z of the modified Struve function L of order y, at z"),
    inner("half_power", lambda v, g, x: (x / 2) ** v * sp.rgamma(g) / math.sqrt(math.pi), UNDEFINED, UNDEFINED,
          "absorb_mul(0.5 * x, half_power(x - 1, y, z))", orders=(0, 1, 2, 0.5), domain=(_ANY, _ANY, _POSITIVE),
          sampled=((0, 0), (0, 0), (0.05, 50)), within=40, summary="(z / 2)**x / (sqrt(pi) gamma(y))",
          exact="(z / 2) ** x * mp.rgamma(y) / mp.sqrt(mp.pi)", points=((0.5, 2.0, 3.0),)),
)  # fmt: skip

AIRY = (
    inner("airy_ai", lambda x: sp.airy(x)[0], "airy_aip(x)", sampled=(-30, 30), within=1000, summary="Airy function Ai",
          exact="mp.airyai(x)"),
    inner("airy_aip", lambda x: sp.airy(x)[1], "x * airy_ai(x)", sampled=(-30, 30), within=1000,
          summary="derivative of the Airy function Ai", exact="mp.airyai(x, derivative=1)"),
    inner("airy_bi", lambda x: sp.airy(x)[2], "airy_bip(x)", sampled=(-30, 30), within=1000, summary="Airy function Bi",
          exact="mp.airybi(x)"),
    inner("airy_bip", lambda x: sp.airy(x)[3], "x * airy_bi(x)", sampled=(-30, 30), within=1000,
          summary="derivative of the Airy function Bi", exact="mp.airybi(x, derivative=1)"),
)  # fmt: skip
