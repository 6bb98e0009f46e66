"""Rows of exponential, trigonometric and Fresnel integrals, of Spence's function, and of powers and their inverses.

Quotients that are analytic at 0, such as (exp(x) - 1) / x, have rows for all their derivatives: integrals over [0, 1]
whose integrands have one sign.
"""

from __future__ import annotations

import math

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._quadrature import over_the_unit_interval
from ._rows import by_order, inner, special
from ._scipy import sp

_POSITIVE = (0, INF)


@by_order
def _exprel_derivative(order: int, x: np.ndarray) -> np.ndarray:
    """The integral of s**k exp(x s) over [0, 1]; x I_k = exp(x) - k I_k-1."""
    far = np.abs(x) > 20
    last = sp.exprel(x)
    for k in range(1, order + 1):
        last = np.where(np.isinf(x), np.where(x > 0, INF, 0.0), (np.exp(x) - k * last) / x)
    near = np.where(far, 0.0, x)
    if order == 0:
        return np.asarray(last)
    return np.where(far, last, over_the_unit_interval(lambda s: s**order * np.exp(near * s), x.shape))


@by_order
def _boxcox_moment(order: int, length: np.ndarray, z: np.ndarray) -> np.ndarray:
    return length ** (order + 1) * _exprel_derivative(order, length * z)


@by_order
def _log1p_ratio(order: int, x: np.ndarray) -> np.ndarray:
    """(-1)**k k! times the integral of s**k / (1 + x s)**(k + 1) over [0, 1]; x g_k = (log1p)^(k) - k g_k-1."""
    far = (x > 10) | (x < -0.9)
    last = np.log1p(x) / x
    for k in range(1, order + 1):
        last = ((-1) ** (k - 1) * math.factorial(k - 1) / (1 + x) ** k - k * last) / x
    near = np.where(far, 0.0, x)
    whole = over_the_unit_interval(lambda s: s**order / (1 + near * s) ** (order + 1), x.shape)
    return np.where(far, last, (-1) ** order * math.factorial(order) * whole)


def _expn(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`expn`, also for orders below 1, which are exp(-x) times a polynomial in 1 / x."""
    n, x = np.where(n == np.round(n), n, np.nan), np.where(x < 0, np.nan, x)
    out = sp.expn(np.maximum(np.nan_to_num(n), 0).astype(np.int64), x)
    for m in np.unique(-n[n <= 0]):
        if m > 150:
            return np.where(n <= 0, np.nan, out)
        total = sum(math.factorial(int(m)) / math.factorial(j) * x ** (j - m - 1) for j in range(int(m) + 1))
        out = np.where(n == -m, np.exp(-x) * total, out)
    return np.where(np.isnan(n), np.nan, out)


INTEGRALS = (
    special("expi", sp.expi, "exp(x) / x", sampled=(0.5, 500), points=(-0.5, -20.0), within=100,
            summary="exponential integral Ei", slope_note="the value at 0 is -inf",
            exact="mp.ei(x)", example=("[-1.0, 1.0]", "[-0.219384 1.89512 ]")),
    special("exp1", sp.exp1, "-(exp(-x) / x)", domain=_POSITIVE, sampled=(1e-6, 500), within=100,
            summary="exponential integral E1", slope_note="value inf at 0 and nan below", exact="mp.e1(x)",
            example=("[0.5, 1.0]", "[0.559774 0.219384]")),
    special("expn", _expn, UNDEFINED, "-expn(x - 1, y)", domain=((-INF, INF), _POSITIVE), orders=(0, 1, 2, 5),
            sampled=((0, 0), (1e-3, 500)), within=100,
            summary="generalised exponential integral E of whole order x at y",
            slope_note="nan where x is not whole or y is negative", exact="mp.expint(int(x), y)",
            example=("[1.0, 3.0], [0.5, 1.0]", "[0.559774 0.109692]")),
    inner("sine_integral", lambda x: sp.sici(x)[0], "spherical_bessel_j(0, x)", sampled=(-100, 100), within=40,
          summary="sine integral", exact="mp.si(x)"),
    inner("cosine_integral", lambda x: sp.sici(x)[1], "cos(x) / x", domain=_POSITIVE, sampled=(1e-3, 100), within=100,
          summary="cosine integral", exact="mp.ci(x)"),
    inner("sinh_integral", lambda x: sp.shichi(x)[0], "spherical_bessel_i(0, x)", sampled=(-100, 100), within=40,
          summary="hyperbolic sine integral", exact="mp.shi(x)"),
    inner("cosh_integral", lambda x: sp.shichi(x)[1], "cosh(x) / x", domain=_POSITIVE, sampled=(1e-3, 100), within=100,
          summary="hyperbolic cosine integral", exact="mp.chi(x)"),
    inner("fresnel_s", lambda x: sp.fresnel(x)[0], "sin(PI * x * x / 2)", sampled=(-10, 10), within=100,
          summary="Fresnel's integral of the sine", exact="mp.fresnels(x)"),
    inner("fresnel_c", lambda x: sp.fresnel(x)[1], "cos(PI * x * x / 2)", sampled=(-10, 10), within=100,
          summary="Fresnel's integral of the cosine", exact="mp.fresnelc(x)"),
    special("spence", sp.spence, "where(x > 0.5, -log1p_ratio(0, x - 1), log(x) / (1 - x))", domain=_POSITIVE,
            sampled=(1e-6, 1e4), within=100,
            summary="Spence's function, the dilogarithm of 1 - x",
            slope_note="-inf at 0; value and slope are nan below",
            exact="mp.polylog(2, 1 - x)", example=("[0.5, 2.0]", "[ 0.582241 -0.822467 ]"), points=(1.0, 1.0000001)),
    inner("log1p_ratio", _log1p_ratio, UNDEFINED, "log1p_ratio(x + 1, y)", domain=((-INF, INF), (-1, INF)),
          orders=(0, 1, 3), sampled=((0, 0), (-0.999, 1e3)), within=100,
          summary="derivative of order x of log1p(y) / y", exact="_log1p_ratio(int(x), y)"),
)  # fmt: skip

POWERS = (
    special("exprel", sp.exprel, "exprel_derivative(1, x)", sampled=(-600, 600), within=40,
            summary="(exp(x) - 1) / x, and 1 at 0", exact="mp.expm1(x) / x if x else mp.mpf(1)",
            example=("[0.0, 1.0]", "[1. 1.71828]"), points=(1e-8, 0.0)),
    inner("exprel_derivative", _exprel_derivative, UNDEFINED, "exprel_derivative(x + 1, y)", orders=(0, 1, 3),
          sampled=((0, 0), (-100, 100)), within=100, summary="derivative of order x of (exp(y) - 1) / y",
          exact="mp.hyp1f1(x + 1, x + 2, y) / (x + 1)"),
    special("exp10", sp.exp10, "LN10 * out", sampled=(-300, 300), within=40, summary="10 to the power x",
            exact="mp.mpf(10) ** x",
            example=("[0.0, 0.5]", "[1. 3.16228]")),
    special("cosm1", sp.cosm1, "-sin(x)", sampled=(-50, 50), summary="cos(x) - 1", exact="mp.cos(x) - 1",
            example=("[0.0, 0.5]", "[ 0. -0.122417]"), points=(1e-8,)),
    special("cbrt", sp.cbrt, "out / (3 * x)", sampled=(1e-6, 1e6), points=(-2.0,), summary="cube root",
            slope_note="nan at 0", exact="mp.sign(x) * mp.cbrt(abs(x))", example=("[8.0, -0.5]", "[ 2. -0.793701]")),
    special("powm1", sp.powm1, "absorb_mul(y, pow(x, y - 1))", "pow(x, y) * log(x)", domain=(_POSITIVE, (-INF, INF)),
            sampled=((0.1, 10), (-5, 5)), within=40, summary="x**y - 1", exact="x ** y - 1",
            example=("[2.0, 1.5], [0.5, 2.0]", "[0.414214 1.25 ]")),
    special("boxcox", sp.boxcox, "pow(x, y - 1)", "boxcox_moment(1, log(x), y)",
            domain=(_POSITIVE, (-INF, INF)), sampled=((0.05, 50), (-4, 4)), within=100,
            summary="(x**y - 1) / y, and log(x) for y = 0", slope_note="nan below x = 0",
            exact="mp.powm1(x, y) / y if y else mp.log(x)", example=("[2.0, 2.0], [0.0, 0.5]", "[0.693147 0.828427]"),
            points=((2.0, 0.0), (3.0, 1e-9))),
    special("boxcox1p", sp.boxcox1p, "exp((y - 1) * log1p(x))", "boxcox_moment(1, log1p(x), y)",
            domain=((-1, INF), (-INF, INF)), sampled=((-0.9, 50), (-4, 4)), within=100,
            summary="((1 + x)**y - 1) / y, and log1p(x) for y = 0", slope_note="nan below x = -1",
            exact="mp.powm1(1 + x, y) / y if y else mp.log(1 + x)",
            example=("[1.0, 1.0], [0.0, 0.5]", "[0.693147 0.828427]"),
            points=((2.0, 0.0), (1e-5, 1e-9))),
    inner("boxcox_moment", _boxcox_moment, UNDEFINED, "absorb_mul(pow(y, x), exp(y * z))", "boxcox_moment(x + 1, y, z)",
          orders=(0, 1, 2), sampled=((0, 0), (-3, 4), (-4, 4)), within=100,
          summary="the integral of t**x exp(t z) from 0 to y",
          exact="mp.quad(lambda t: t ** x * mp.exp(t * z), [0, y])"),
    special("inv_boxcox", sp.inv_boxcox, "out / (1 + y * x)", "out * square(x) * log1p_ratio(1, x * y)",
            sampled=((0.1, 4), (0.05, 3)), within=100,
            summary="inverse of boxcox: (1 + x y)**(1 / y), and exp(x) for y = 0",
            exact="(1 + x * y) ** (1 / y) if y else mp.exp(x)", example=("[1.0, 1.0], [0.0, 0.5]", "[2.71828 2.25 ]"),
            points=((2.0, 0.0),)),
    special("inv_boxcox1p", sp.inv_boxcox1p, "(out + 1) / (1 + y * x)",
            "(out + 1) * square(x) * log1p_ratio(1, x * y)", sampled=((0.1, 4), (0.05, 3)), within=100,
            summary="inverse of boxcox1p: (1 + x y)**(1 / y) - 1, and expm1(x) for y = 0",
            exact="(1 + x * y) ** (1 / y) - 1 if y else mp.expm1(x)",
            example=("[1.0, 1.0], [0.0, 0.5]", "[1.71828 1.25 ]"),
            points=((2.0, 0.0),)),
    special("sindg", sp.sindg, "DEGREE * cosdg(x)", sampled=(-400, 400), within=40, summary="sine of x degrees",
            exact="mp.sin(mp.radians(x))", example=("[30.0, 180.0]", "[ 0.5 0. ]")),
    special("cosdg", sp.cosdg, "-DEGREE * sindg(x)", sampled=(-400, 400), within=40, summary="cosine of x degrees",
            exact="mp.cos(mp.radians(x))", example=("[60.0, 90.0]", "[ 0.5 0. ]")),
    special("tandg", sp.tandg, "DEGREE * (1 + out * out)", sampled=(-89, 89), within=40, summary="tangent of x degrees",
            exact="mp.tan(mp.radians(x))", example=("[45.0, 180.0]", "[1. 0.]")),
    special("cotdg", sp.cotdg, "-DEGREE * (1 + out * out)", sampled=(1, 179), within=40,
            summary="cotangent of x degrees",
            exact="mp.cot(mp.radians(x))", example=("[45.0, 90.0]", "[1. 0.]")),
    special("wrightomega", sp.wrightomega, "where(out > 1, 1 - 1 / (1 + out), out / (1 + out))", sampled=(-50, 1e3),
            within=40,
            summary="Wright's omega, the solution w of w + log(w) = x", exact="_wright_omega(x)",
            example=("[0.0, 1.0]", "[0.567143 1. ]")),
    inner("lambert_0", lambda x: np.where(x < -1 / math.e, np.nan, sp.lambertw(x, 0).real), "exp(-out) / (1 + out)",
          domain=(-1 / math.e, INF), sampled=(-0.36, 1e4), within=100,
          summary="principal branch of Lambert's W function", exact="mp.re(mp.lambertw(x, 0))"),
    inner("lambert_below", lambda x: np.where((x < -1 / math.e) | (x >= 0), np.nan, sp.lambertw(x, -1).real),
          "exp(-out) / (1 + out)", domain=(-1 / math.e, 0), sampled=(-0.36, -1e-6), within=100,
          summary="lower real branch of Lambert's W function", exact="mp.re(mp.lambertw(x, -1))"),
)  # fmt: skip
