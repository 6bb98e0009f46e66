"""Rows of error functions: scaled ones, Dawson's, Voigt's, and the normal distribution.

Combinations that cancel in the usual slope formulas are functions of their own here: 1 - 2 x D(x) for Dawson's integral
D is smaller than its terms by a factor x**-2. Such a function is a derivative of order x, by Cauchy's integral or by a
recurrence whose terms have one sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._quadrature import on_a_circle
from ._rows import ORDERS, Entry, by_order, inner, special
from ._scipy import sp

_POSITIVE = (0, INF)


def _radius(order: int, z: np.ndarray) -> np.ndarray:
    """The radius of a circle on which the Faddeeva function keeps its size.

    The circle meets Re z**2 < 0 below the real axis only near 0.
    """
    return np.maximum(0.6 * np.abs(z), max(0.7, (order / 2) ** 0.5))


@by_order
def _erfcx_decay(order: int, x: np.ndarray) -> np.ndarray:
    """2/sqrt(pi) times the integral of (2t)**k exp(-t*t - 2xt); D_k+1 = 2 k D_k-1 - 2 x D_k where x < 0."""
    if order == 0:
        return sp.erfcx(x)
    right = np.maximum(x, 0)
    above = (-1) ** order * on_a_circle(sp.erfcx, order, right, _radius(order, right)).real
    before, last = sp.erfcx(x), 2 / np.sqrt(np.pi) - 2 * x * sp.erfcx(x)
    for k in range(1, order):
        before, last = last, 2 * k * before - 2 * x * last
    return np.where(x < 0, last, np.where(np.isposinf(x), 0.0, above))


@by_order
def _dawsn_derivative(order: int, x: np.ndarray) -> np.ndarray:
    if order == 0:
        return sp.dawsn(x)
    found = on_a_circle(sp.dawsn, order, np.abs(x), _radius(order, x)).real
    return np.where(np.isinf(x), 0.0, np.where(x < 0, (-1) ** (order + 1) * found, found))


def _faddeeva(order: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The derivative of order k of w(z); below the real axis, where w grows, from w(z) = 2 exp(-z*z) - w(-z)."""
    z = x + 1j * y
    if order == 0:
        return sp.wofz(z)
    above = np.where(y < 0, -z, z)
    found = on_a_circle(sp.wofz, order, above, _radius(order, above))
    hermite = np.polynomial.hermite.hermval(z, [0] * order + [1])
    return np.where(y < 0, (-1) ** order * (2 * hermite * np.exp(-z * z) - found), found)


def _normal_density(x: np.ndarray) -> np.ndarray:
    """The normal density. The square of x is split into the exact square of its leading half and a rest."""
    head = x.astype(np.float32).astype(np.float64)
    head = np.where(np.isfinite(head), head, x)
    rest = np.where(np.isfinite(x), (x - head) * (x + head), 0.0)
    return np.exp(-0.5 * head * head) * np.exp(-0.5 * rest) / np.sqrt(2 * np.pi)


def _normal_hazard(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, _normal_density(x) / sp.ndtr(x), np.sqrt(2 / np.pi) / sp.erfcx(-x / np.sqrt(2)))


#: The zero of erfc nearest to the real axis: the logarithm of erfc is analytic to the right of it.
_ZERO_OF_ERFC = complex(-1.3548, 1.9915)


@by_order
def _normal_hazard_derivative(order: int, x: np.ndarray) -> np.ndarray:
    """Up to x = 1 from the logarithm of erfcx; beyond, from h' = -h (x + h), which cancels more for smaller x."""
    if order == 0:
        return _normal_hazard(x)
    t = -np.minimum(x, 1) / np.sqrt(2)
    middle = sp.erfcx(t)

    def grown(z: np.ndarray) -> np.ndarray:
        return np.where(z.real < 0, np.log(sp.erfc(z) / middle) + z * z, np.log(sp.erfcx(z) / middle))

    left = on_a_circle(grown, order + 1, t, 0.7 * np.abs(t - _ZERO_OF_ERFC)).real * (-(0.5**0.5)) ** (order + 1)
    left = np.where(np.isneginf(x), 0.0, left) - (order == 1)
    h = [_normal_hazard(np.maximum(x, 1))]
    right = np.where(np.isinf(x), 0.0, np.maximum(x, 1))
    for k in range(order):
        total = right * h[k] + (k * h[k - 1] if k else 0)
        h.append(-(total + sum(math.comb(k, i) * h[i] * h[k - i] for i in range(k + 1))))
    return np.where(x > 1, h[order], left)


#: The highest derivative of a Voigt profile by its place: two for each slope by the deviation.
_VOIGT_ORDERS = 2 * ORDERS


def _voigt(order: int, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The derivative of order k of w(u) / (y sqrt(2 pi)) by x, where u = (x + i z) / (y sqrt(2))."""
    scale = np.sqrt(2) * y
    return _faddeeva(order, x / scale, z / scale) / (scale**order * scale * np.sqrt(np.pi))


def _voigt_rows() -> Iterator[Entry]:
    """A profile spreads like heat, so its slope by y is y times the second slope by x: chains of scales cancel."""
    for k, (name, part, other) in itertools.product(
        range(1, _VOIGT_ORDERS + 1), (("real", np.real, "-voigt_imag"), ("imag", np.imag, "voigt_real"))
    ):
        next_one, second = k < _VOIGT_ORDERS, k < _VOIGT_ORDERS - 1
        yield inner(f"voigt_{name}_{k}", lambda x, y, z, k=k, part=part: part(_voigt(k, x, y, z)),
                    f"voigt_{name}_{k + 1}(x, y, z)" if next_one else UNDEFINED,
                    f"y * voigt_{name}_{k + 2}(x, y, z)" if second else UNDEFINED,
                    f"{other}_{k + 1}(x, y, z)" if next_one else UNDEFINED,
                    domain=((-INF, INF), _POSITIVE, _POSITIVE), sampled=((-50, 50), (0.1, 5), (0.05, 5)), within=400,
                    summary=f"{name} part of the derivative of order {k} by x of the analytic function of x + i z "
                    "whose real part is voigt_profile")  # fmt: skip


ERRORS = (
    special("erfcx", sp.erfcx, "-erfcx_decay(1, x)", sampled=(-20, 1e6),
            summary="exp(x*x) times the complementary error function",
            exact="mp.exp(x * x) * mp.erfc(x)", example=("[0.5, 10.0]", "[0.61569 0.056141]")),
    inner("erfcx_decay", _erfcx_decay, UNDEFINED, "-erfcx_decay(x + 1, y)", orders=(0, 1, 3),
          sampled=((0, 0), (-5, 1e3)), within=400,
          summary="up to its sign the derivative of order x of erfcx at y"),
    special("erfi", sp.erfi, "TWO_OVER_SQRT_PI * exp(square(x))", sampled=(-20, 20),
            summary="imaginary error function, -i erf(i x)", exact="mp.erfi(x)",
            example=("[0.5, 1.0]", "[0.614952 1.65043]")),
    special("dawsn", sp.dawsn, "dawsn_derivative(1, x)", sampled=(-1e3, 1e3), within=100,
            summary="Dawson's integral, exp(-x*x) times the integral of exp(t*t) from 0 to x",
            exact="mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)",
            example=("[0.5, 10.0]", "[0.424436 0.0502538]")),
    inner("dawsn_derivative", _dawsn_derivative, UNDEFINED, "dawsn_derivative(x + 1, y)", orders=(0, 1, 3),
          sampled=((0, 0), (-30, 30)), within=400, summary="derivative of order x of Dawson's integral at y"),
    special("voigt_profile", sp.voigt_profile, "voigt_real_1(x, y, z)", "y * voigt_real_2(x, y, z)",
            "-voigt_imag_1(x, y, z)",
            domain=((-INF, INF), _POSITIVE, _POSITIVE), sampled=((-50, 50), (0.1, 5), (0.05, 5)), within=100,
            summary="Voigt profile at x: a normal distribution of deviation y, folded with a Cauchy distribution of "
            "half width z", slope_note=f"nan by y for y = 0; up to order {_VOIGT_ORDERS} by x and z, and {ORDERS} by y",
            exact="mp.re(_wofz((x + 1j * z) / (mp.sqrt(2) * y))) / (y * mp.sqrt(2 * mp.pi))",
            example=("[0.5, 2.0], [1.0, 1.0], [0.5, 0.5]", "[0.256364 0.0824241]")),
    *_voigt_rows(),
    inner("wofz_real", by_order(lambda k, x, y: _faddeeva(k, x, y).real), UNDEFINED, "wofz_real(x + 1, y, z)",
          "-wofz_imag(x + 1, y, z)", orders=(0, 1), sampled=((0, 0), (-10, 10), (0.01, 10)), within=400,
          summary="real part of the derivative of order x of the Faddeeva function at y + i z"),
    inner("wofz_imag", by_order(lambda k, x, y: _faddeeva(k, x, y).imag), UNDEFINED, "wofz_imag(x + 1, y, z)",
          "wofz_real(x + 1, y, z)", orders=(0, 1), sampled=((0, 0), (-10, 10), (0.01, 10)), within=400,
          summary="imaginary part of the derivative of order x of the Faddeeva function at y + i z"),
)  # fmt: skip

NORMAL = (
    inner("normal_density", _normal_density, "-(x * out)", sampled=(-37, 37),
          summary="density of the normal distribution",
          exact="mp.npdf(x)"),
    inner("normal_hazard", _normal_hazard, "normal_hazard_derivative(1, x)", sampled=(-1e3, 30), within=100,
          summary="density of the normal distribution, divided by its distribution function",
          exact="mp.npdf(x) / mp.ncdf(x)"),
    inner("normal_hazard_derivative", _normal_hazard_derivative, UNDEFINED, "normal_hazard_derivative(x + 1, y)",
          orders=(0, 1, 3), sampled=((0, 0), (-1e3, 30)), within=100,
          summary="derivative of order x of normal_hazard at y"),
    special("ndtr", sp.ndtr, "normal_density(x)", sampled=(-37, 8), within=40,
            summary="distribution function of the normal distribution", exact="mp.ncdf(x)",
            example=("[0.0, 1.5]", "[0.5 0.933193]")),
    special("log_ndtr", sp.log_ndtr, "normal_hazard(x)", sampled=(-1e3, 30), within=100,
            summary="logarithm of the distribution function of the normal distribution",
            exact="mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x))",
            example=("[-20.0, 1.5]", "[-203.917 -0.0691435]")),
    special("owens_t", sp.owens_t, "-0.5 * normal_density(x) * erf(x * y / SQRT2)",
            "normal_density(x) * normal_density(x * y) / (1 + square(y))",
            sampled=((-4, 4), (-3, 3)), summary="Owen's T function: the probability of {X > x, 0 < Y < y X} for two "
            "independent normal variables",
            exact="_owens_t(x, y)", example=("[0.5, 1.0], [1.0, 2.0]", "[0.106671 0.0784682]")),
    special("ndtri", sp.ndtri,
            "where(x > 0.5, 1 / absorb_mul(1 - x, normal_hazard(-out)), 1 / absorb_mul(x, normal_hazard(out)))",
            domain=(0, 1), sampled=(1e-12, 0.999999), within=100,
            summary="inverse of the distribution function of the normal distribution",
            slope_note="-inf at 0 and inf at 1, nan beyond", exact="-mp.sqrt(2) * mp.erfinv(1 - 2 * x)",
            example=("[0.1, 0.975]", "[-1.28155 1.95996]")),
    special("ndtri_exp", sp.ndtri_exp,
            "where(out > 0, exp(x) / (-expm1(x) * normal_hazard(-out)), 1 / normal_hazard(out))",
            domain=(-INF, 0), sampled=(-1e4, -1e-4), within=400, summary="ndtri(exp(x))",
            exact="_ndtri_exp(x)", example=("[-50.0, -0.1]", "[-9.67483 1.30962]")),
)  # fmt: skip
