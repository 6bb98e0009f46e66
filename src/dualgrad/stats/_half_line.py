"""Distributions of positive numbers."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..tensor import Tensor
from ._family import INF, Continuous
from ._logs import LOG_2, LOG_2_PI, log_gammainc, log_gammaincc, log_one_minus_exp
from ._operands import special

__all__ = ["chi2", "expon", "gamma", "halfnorm", "invgamma", "lognorm", "pareto", "weibull_min"]

_HALF = (0.0, INF)
_ROOT_2 = math.sqrt(2.0)

expon = Continuous(
    "expon", support=_HALF, density="exp(-x)", source="Johnson, Kotz and Balakrishnan (1994), chapter 19",
    logpdf=lambda z: -z,
    cdf=lambda z: -ops.expm1(-z), logcdf=lambda z: log_one_minus_exp(-z),
    sf=lambda z: ops.exp(-z), logsf=lambda z: -z,
    ppf=lambda q: -ops.log1p(-q), isf=lambda q: -ops.log(q),
)  # fmt: skip


def _halfnorm_logsf(z: Any) -> Tensor:
    return ops.where(z < 1, ops.log1p(-ops.erf(z / _ROOT_2)), LOG_2 + special.log_ndtr(-z))


halfnorm = Continuous(
    "halfnorm", support=_HALF, density="sqrt(2 / pi) exp(-x**2 / 2)",
    source="Johnson, Kotz and Balakrishnan (1994), chapter 13",
    logpdf=lambda z: LOG_2 - 0.5 * (z * z) - 0.5 * LOG_2_PI,
    cdf=lambda z: ops.erf(z / _ROOT_2),
    sf=lambda z: 2.0 * special.ndtr(-z), logsf=_halfnorm_logsf,
    ppf=lambda q: _ROOT_2 * ops.erfinv(q), isf=lambda q: -special.ndtri(0.5 * q),
)  # fmt: skip


def _gamma_logpdf(z: Any, a: Any) -> Tensor:
    return special.xlogy(a - 1.0, z) - z - special.gammaln(a)


_GAMMAS = "Johnson, Kotz and Balakrishnan (1994), chapter 17; DLMF 8.2"

gamma = Continuous(
    "gamma", {"a": "positive"}, support=_HALF, density="x**(a - 1) exp(-x) / Gamma(a)", source=_GAMMAS,
    logpdf=_gamma_logpdf,
    cdf=lambda z, a: special.gammainc(a, z), logcdf=lambda z, a: log_gammainc(a, z),
    sf=lambda z, a: special.gammaincc(a, z), logsf=lambda z, a: log_gammaincc(a, z),
    ppf=lambda q, a: special.gammaincinv(a, q), isf=lambda q, a: special.gammainccinv(a, q),
)  # fmt: skip

chi2 = Continuous(
    "chi2", {"df": "positive"}, support=_HALF,
    density="x**(df / 2 - 1) exp(-x / 2) / (2**(df / 2) Gamma(df / 2))",
    source="Johnson, Kotz and Balakrishnan (1994), chapter 18",
    logpdf=lambda z, df: _gamma_logpdf(0.5 * z, 0.5 * df) - LOG_2,
    cdf=lambda z, df: special.gammainc(0.5 * df, 0.5 * z), logcdf=lambda z, df: log_gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: special.gammaincc(0.5 * df, 0.5 * z), logsf=lambda z, df: log_gammaincc(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q), isf=lambda q, df: 2.0 * special.gammainccinv(0.5 * df, q),
)  # fmt: skip

invgamma = Continuous(
    "invgamma", {"a": "positive"}, support=_HALF, open_at_low=True,
    density="x**(-a - 1) exp(-1 / x) / Gamma(a)", source=_GAMMAS,
    logpdf=lambda z, a: -(a + 1.0) * ops.log(z) - 1.0 / z - special.gammaln(a),
    cdf=lambda z, a: special.gammaincc(a, 1.0 / z), logcdf=lambda z, a: log_gammaincc(a, 1.0 / z),
    sf=lambda z, a: special.gammainc(a, 1.0 / z), logsf=lambda z, a: log_gammainc(a, 1.0 / z),
    ppf=lambda q, a: 1.0 / special.gammainccinv(a, q), isf=lambda q, a: 1.0 / special.gammaincinv(a, q),
)  # fmt: skip

lognorm = Continuous(
    "lognorm", {"s": "positive"}, support=_HALF, open_at_low=True,
    density="exp(-log(x)**2 / (2 s**2)) / (s x sqrt(2 pi))", source="Johnson, Kotz and Balakrishnan (1994), chapter 14",
    logpdf=lambda z, s: -0.5 * (ops.log(z) / s) ** 2 - ops.log(s) - ops.log(z) - 0.5 * LOG_2_PI,
    cdf=lambda z, s: special.ndtr(ops.log(z) / s), logcdf=lambda z, s: special.log_ndtr(ops.log(z) / s),
    sf=lambda z, s: special.ndtr(-ops.log(z) / s), logsf=lambda z, s: special.log_ndtr(-ops.log(z) / s),
    ppf=lambda q, s: ops.exp(s * special.ndtri(q)), isf=lambda q, s: ops.exp(-s * special.ndtri(q)),
)  # fmt: skip

pareto = Continuous(
    "pareto", {"b": "positive"}, support=(1.0, INF), density="b / x**(b + 1)",
    source="Johnson, Kotz and Balakrishnan (1994), chapter 20",
    logpdf=lambda z, b: ops.log(b) - (b + 1.0) * ops.log(z),
    cdf=lambda z, b: -ops.expm1(-b * ops.log(z)), logcdf=lambda z, b: log_one_minus_exp(-b * ops.log(z)),
    sf=lambda z, b: ops.exp(-b * ops.log(z)), logsf=lambda z, b: -b * ops.log(z),
    ppf=lambda q, b: ops.exp(-ops.log1p(-q) / b), isf=lambda q, b: ops.exp(-ops.log(q) / b),
)  # fmt: skip

weibull_min = Continuous(
    "weibull_min", {"c": "positive"}, support=_HALF, density="c x**(c - 1) exp(-x**c)",
    source="Johnson, Kotz and Balakrishnan (1994), chapter 21",
    logpdf=lambda z, c: ops.log(c) + special.xlogy(c - 1.0, z) - z**c,
    cdf=lambda z, c: -ops.expm1(-(z**c)), logcdf=lambda z, c: log_one_minus_exp(-(z**c)),
    sf=lambda z, c: ops.exp(-(z**c)), logsf=lambda z, c: -(z**c),
    ppf=lambda q, c: (-ops.log1p(-q)) ** (1.0 / c), isf=lambda q, c: (-ops.log(q)) ** (1.0 / c),
)  # fmt: skip
