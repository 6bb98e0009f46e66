"""Rows of the gamma function, its reciprocal and quotients, and of the information measures.

Slopes of quotients are differences of digamma functions. For close arguments the difference is a separate function
(``polygamma_difference``), which does not cancel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._rows import ORDERS, Entry, by_order, inner, special
from ._scipy import sp

_POSITIVE = (0, INF)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def polygamma(order: int, x: np.ndarray) -> np.ndarray:
    """The derivative of order k of digamma."""
    if order == 0:
        return np.asarray(sp.digamma(x))
    return np.asarray((-1) ** (order + 1) * math.factorial(order) * sp.zeta(order + 1, x))


def digamma_excess(x: np.ndarray) -> np.ndarray:
    """digamma(x) - log(x) for x >= 10, by the asymptotic series."""
    series = sum(-b / ((2 * n + 2) * x ** (2 * n + 2)) for n, b in enumerate(_BERNOULLI))
    return np.asarray(-0.5 / x + series)


def stirling(a: np.ndarray) -> np.ndarray:
    """The remainder of log(gamma(a)) after (a - 1/2) log(a) - a + log(2 pi) / 2."""
    series = sum(c / a ** (2 * n + 1) for n, c in enumerate(_STIRLING))
    direct = sp.gammaln(a) - ((a - 0.5) * np.log(a) - a + 0.5 * math.log(2 * math.pi))
    return np.where(a >= 12, series, direct)


@by_order
def polygamma_difference(order: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The polygamma function of order k at x + y minus its value at x.

    Uses the Taylor series for small y / x. For digamma with a large x it uses the logarithm and the asymptotic series,
    whose first term is exact; otherwise the plain difference.
    """
    direct = polygamma(order, x + y) - polygamma(order, x)
    close = (np.abs(y) <= 0.1 * x) & (x > 0)
    if order == 0:
        far = ~close & (x >= 10) & (x + y >= 10)
        direct = np.where(far, np.log1p(y / x) + digamma_excess(x + y) - digamma_excess(x), direct)
    series = np.zeros(x.shape)
    x, y = np.where(close, x, 1.0), np.where(close, y, 0.0)
    for n in range(18, 0, -1):
        series = (series + polygamma(order + n, x)) * y / n
    return np.where(close, series, direct)


def _short(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 - x / hypot(x, y)."""
    size = np.hypot(x, y)
    return (y / size) ** 2 / (1 + x / size)


def _beta_by_one(order: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The derivative by x of c / x + c / y. Here c has no poles, and log(c) has polygamma differences as slopes.

    All terms have the sign of (-1)**order.
    """
    rates = [polygamma_difference(np.full(x.shape, k), x + 1, y) for k in range(order)]
    c = [sp.beta(x, y) / (1 / x + 1 / y)]
    for k in range(order):
        c.append(-sum(math.comb(k, i) * c[i] * rates[k - i] for i in range(k + 1)))
    by_x = sum(math.comb(order, i) * c[i] * math.factorial(order - i) / (-x) ** (order - i) for i in range(order + 1))
    return np.asarray(by_x / x + c[order] / y)


def _beta_by_both(j: int, k: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The integral of t**(x - 1) (1 - t)**(y - 1) log(t)**j log(1 - t)**k, whose integrand has one sign.

    The trapezoidal rule over d = logit(t) is exact to all digits, since the Fourier transform of the integrand falls
    like a product of two gamma functions. For small t, log(1 - t)**k behaves like t**k, so no end falls slower than
    exp(-abs(d)).
    """
    a, b = x + k, y + j
    width = np.sqrt(1 / a + 1 / b)
    step = np.minimum(0.2, 0.4 * width)
    below, above = 9.5 * width + (42 + 5 * j) / a, 9.5 * width + (42 + 5 * k) / b
    total, first = np.zeros(x.shape), np.log(a / b) - below
    for i in range(int(np.nanmax((below + above) / step, initial=0)) + 2):
        log_t, log_rest = -np.logaddexp(0, -(first + i * step)), -np.logaddexp(0, first + i * step)
        total += np.exp(x * log_t + y * log_rest) * log_t**j * log_rest**k
    return np.where((x > 0) & (y > 0), step * total, np.nan)


def _beta_rows() -> Iterator[Entry]:
    for k in range(ORDERS + 1):

        def kernel(order: int, x: np.ndarray, y: np.ndarray, k: int = k) -> np.ndarray:
            if order and k:
                return _beta_by_both(order, k, x, y)
            return _beta_by_one(order, x, y) if order else _beta_by_one(k, y, x)

        yield inner(f"beta_by_{k}", by_order(kernel), UNDEFINED, f"beta_by_{k}(x + 1, y, z)",
                    f"beta_by_{k + 1}(x, y, z)" if k < ORDERS else UNDEFINED, orders=(0, 1, 2),
                    domain=((-INF, INF), _POSITIVE, _POSITIVE), sampled=((0, 0), (1e-2, 80), (1e-2, 80)), within=400,
                    summary=f"derivative of order x by y and {k} by z of the beta function at y and z")  # fmt: skip


def _betaln(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """SciPy's function, except for a large operand, where it is a difference of logarithms of gamma functions.

    There both logarithms are Stirling's, and their common parts are left out.
    """
    big, small = np.maximum(x, y), np.minimum(x, y)
    log_total, spread = np.log(big + small), np.log1p(small / big)
    of_small = np.where(
        small < 10,
        sp.gammaln(small) + small - small * log_total,
        -small * np.log1p(big / small) - 0.5 * np.log(small) + 0.5 * math.log(2 * math.pi) + stirling(small),
    )
    large = of_small - (big - 0.5) * spread + stirling(big) - stirling(big + small)
    return np.where((big >= 100) & (small > 0) & np.isfinite(big), large, sp.betaln(x, y))


GAMMA = (
    special("gamma", sp.gamma, "out * digamma(x)", sampled=(1e-3, 150), within=40, summary="gamma function",
            slope_note="nan at -1, -2, ...", exact="mp.gamma(x)", example=("[0.5, 5.0]", "[ 1.77245 24. ]"),
            points=(-0.5, -1.75, -10.3)),
    special("loggamma", sp.loggamma, "where(x > 0, digamma(x), out)", domain=_POSITIVE, sampled=(1e-3, 1e6),
            summary="logarithm of the gamma function", slope_note="value and slope are nan below 0",
            exact="mp.loggamma(x)", example=("[0.5, 5.0]", "[0.572365 3.17805]")),
    special("rgamma", sp.rgamma,
            "where(x > 0.5, -(out * digamma(x)), gamma(1 - x) * (cos(PI * x) - digamma(1 - x) * sin(PI * x) / PI))",
            sampled=(-20, 100), within=100, summary="reciprocal of the gamma function", exact="mp.rgamma(x)",
            example=("[-1.0, 5.0]", "[0. 0.0416667]"), points=(-3.0, -3.0000001, 0.0)),
    special("gammasgn", sp.gammasgn, None, summary="sign of the gamma function", exact="mp.sign(mp.gamma(x))",
            sampled=(0.1, 5), example=("[-0.5, 0.5]", "[-1. 1.]")),
    special("factorial", lambda x: np.where(x < 0, 0.0, sp.gamma(x + 1.0)), "absorb_mul(out, digamma(x + 1))",
            domain=_POSITIVE, sampled=(1e-3, 150), within=40, summary="gamma(x + 1), and 0 below 0",
            exact="mp.factorial(x)", example=("[3.0, 0.5]", "[6. 0.886227]")),
    special("beta", sp.beta, "beta_by_0(1, x, y)", "beta_by_0(1, y, x)", domain=(_POSITIVE, _POSITIVE),
            sampled=((1e-2, 80), (1e-2, 80)), within=100, summary="beta function",
            slope_note=f"of mixed derivatives up to order {ORDERS} by the operand that comes second",
            exact="mp.beta(x, y)", example=("[0.5, 2.0], [1.5, 3.0]", "[1.5708 0.0833333]")),
    *_beta_rows(),
    special("betaln", _betaln, "-polygamma_difference(0, x, y)", "-polygamma_difference(0, y, x)",
            domain=(_POSITIVE, _POSITIVE), sampled=((1e-3, 1e5), (1e-3, 1e5)), within=100,
            summary="logarithm of the absolute value of the beta function", exact="mp.log(mp.beta(x, y))",
            example=("[0.5, 2.0], [1.5, 3.0]", "[ 0.451583 -2.48491]")),
    special("binom", sp.binom, "out * polygamma_difference(0, x - y + 1, y)",
            "out * polygamma_difference(0, y + 1, x - 2 * y)", domain=(_POSITIVE, _POSITIVE),
            sampled=((1, 40), (0.1, 0.9)), within=400, summary="binomial coefficient of real x over real y",
            exact="mp.binomial(x, y)", example=("[5.0, 4.5], [2.0, 1.5]", "[10. 6.5625]")),
    special("poch", sp.poch,
            "where(1 > x, poch_over_zero(x, y) * (1 + x * polygamma_difference(0, x + 1, y - 1)),"
            " out * polygamma_difference(0, x, y))", "out * digamma(x + y)",
            domain=(_POSITIVE, _POSITIVE), sampled=((0.05, 50), (0.05, 20)), within=100,
            summary="rising factorial gamma(x + y) / gamma(x)",
            slope_note="nan where x is -1, -2, ... or x + y is 0, -1, ...", exact="mp.rf(x, y)",
            example=("[0.5, 2.0], [1.5, 3.0]", "[ 0.56419 24. ]")),
    inner("poch_over_zero", lambda x, y: sp.gamma(x + y) * sp.rgamma(x + 1),
          "out * polygamma_difference(0, x + 1, y - 1)", "out * digamma(x + y)",
          domain=(_POSITIVE, _POSITIVE), sampled=((0.05, 1), (0.05, 20)), within=100,
          summary="poch(x, y) / x: gamma(x + y) / gamma(x + 1)", exact="mp.rf(x, y) / x"),
    inner("polygamma_difference", polygamma_difference, UNDEFINED, "polygamma_difference(x + 1, y, z)",
          "polygamma(x + 1, y + z)", orders=(0, 1, 2), sampled=((0, 0), (0.05, 1e3), (1e-3, 1e3)), within=100,
          summary="polygamma(x, y + z) - polygamma(x, y)",
          exact="mp.polygamma(int(x), y + z) - mp.polygamma(int(x), y)"),
)  # fmt: skip

INFORMATION = (
    special("entr", sp.entr, "-(log(x) + 1)", domain=_POSITIVE, sampled=(1e-6, 1e3), summary="-x log(x), and 0 at 0",
            slope_note="inf at 0; below, the value is -inf and the slope nan", exact="-x * mp.log(x)",
            example=("[0.0, 0.5]", "[0. 0.346574]")),
    special("rel_entr", sp.rel_entr, "log(x / y) + 1", "where(0 > x, out - out, -(x / y))",
            domain=(_POSITIVE, _POSITIVE), sampled=((1e-3, 1e3), (1e-3, 1e3)),
            summary="x log(x / y), and 0 where x is 0", slope_note="-inf by x at x = 0",
            exact="x * mp.log(x / y)", example=("[0.0, 0.5], [0.5, 2.0]", "[ 0. -0.693147]")),
    special("kl_div", sp.kl_div, "log(x / y)", "where(0 > x, out - out, where(y > 2 * x, 1 - x / y, (y - x) / y))",
            domain=(_POSITIVE, _POSITIVE), sampled=((1e-3, 1e3), (1e-3, 1e3)), within=100,
            summary="x log(x / y) - x + y", slope_note="-inf by x at x = 0",
            exact="x * mp.log(x / y) - x + y", example=("[0.0, 0.5], [0.5, 2.0]", "[0.5 0.806853]")),
    special("huber", sp.huber, "where(abs(y) > x, abs(y) - x, 0 * y)", "where(abs(y) > x, x * sign(y), y)",
            domain=(_POSITIVE, (-INF, INF)), sampled=((0.5, 2), (3, 9)), points=((2.0, 0.5), (2.0, -7.0)),
            summary="square of y / 2 up to the size x, and linear beyond",
            exact="y * y / 2 if abs(y) <= x else x * (abs(y) - x / 2)",
            example=("[1.0, 1.0], [0.5, 3.0]", "[0.125 2.5 ]")),
    special("pseudo_huber", sp.pseudo_huber,
            "pseudo_huber_growth(x, y)", "pseudo_huber_force(x, y)",
            domain=(_POSITIVE, (-INF, INF)), sampled=((0.1, 10), (-30, 30)),
            summary="x**2 (sqrt(1 + (y / x)**2) - 1), a smooth form of huber",
            exact="x * x * (mp.sqrt(1 + (y / x) ** 2) - 1)", example=("[1.0, 1.0], [0.5, 3.0]", "[0.118034 2.16228 ]")),
    inner("pseudo_huber_growth", lambda x, y: np.hypot(x, y) * _short(x, y) ** 2, "pseudo_huber_bend(x, y)",
          "direction(y, x) * square(direction(y, x))", domain=(_POSITIVE, (-INF, INF)), sampled=((0.1, 10), (-30, 30)),
          summary="the slope of pseudo_huber by x: (hypot(x, y) - x)**2 / hypot(x, y)",
          exact="(mp.sqrt(x * x + y * y) - x) ** 2 / mp.sqrt(x * x + y * y)"),
    inner("pseudo_huber_bend", lambda x, y: -(_short(x, y) ** 2) * (2 + x / np.hypot(x, y)),
          "3 * square(square(direction(y, x))) / hypot(x, y)",
          "-(3 * direction(x, y) * direction(y, x) * square(direction(y, x)) / hypot(x, y))",
          domain=(_POSITIVE, (-INF, INF)), sampled=((0.1, 10), (-30, 30)),
          summary="the second slope by x, whose own has one term, as those after it have",
          exact="3 * x / mp.sqrt(x * x + y * y) - (x / mp.sqrt(x * x + y * y)) ** 3 - 2"),
    inner("pseudo_huber_force", lambda x, y: x * (y / np.hypot(x, y)), "direction(y, x) * square(direction(y, x))",
          "direction(x, y) * square(direction(x, y))", domain=(_POSITIVE, (-INF, INF)), sampled=((0.1, 10), (-30, 30)),
          summary="x y / hypot(x, y), whose slope by x would cancel as that of a product",
          exact="x * y / mp.sqrt(x * x + y * y)"),
)  # fmt: skip
