"""Distributions on the whole line."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..tensor import Tensor
from ._family import INF, Continuous
from ._logs import LOG_2, LOG_2_PI, log_gammaincc, log_one_minus_exp, log_stdtr
from ._operands import special

__all__ = ["cauchy", "gennorm", "gumbel_l", "gumbel_r", "laplace", "logistic", "norm", "t", "vonmises"]

_LINE = (-INF, INF)

norm = Continuous(
    "norm", support=_LINE, symmetric=True,
    density="exp(-x**2 / 2) / sqrt(2 pi)", source="Johnson, Kotz and Balakrishnan (1994), chapter 13; DLMF 7.1",
    logpdf=lambda z: -0.5 * (z * z) - 0.5 * LOG_2_PI,
    cdf=special.ndtr, logcdf=special.log_ndtr, ppf=special.ndtri,
)  # fmt: skip


def _cauchy_ppf(q: Any) -> Tensor:
    """tan(pi (q - 1 / 2)), computed from the distance to the nearest of 0, 1 / 2 and 1, which keeps all digits."""
    right = 1.0 / ops.tan(math.pi * (1.0 - q))
    return ops.where(q < 0.25, -1.0 / ops.tan(math.pi * q), ops.where(q > 0.75, right, ops.tan(math.pi * (q - 0.5))))


cauchy = Continuous(
    "cauchy", support=_LINE, symmetric=True,
    density="1 / (pi (1 + x**2))", source="Johnson, Kotz and Balakrishnan (1994), chapter 16",
    logpdf=lambda z: -ops.log1p(z * z) - math.log(math.pi),
    cdf=lambda z: ops.atan2(ops.ones_like(z), -z) / math.pi,
    ppf=_cauchy_ppf,
)  # fmt: skip

laplace = Continuous(
    "laplace", support=_LINE, symmetric=True,
    density="exp(-abs(x)) / 2", source="Johnson, Kotz and Balakrishnan (1995), chapter 24",
    logpdf=lambda z: -ops.abs(z) - LOG_2,
    cdf=lambda z: ops.where(z < 0, 0.5 * ops.exp(z), 1.0 - 0.5 * ops.exp(-z)),
    logcdf=lambda z: ops.where(z < 0, z - LOG_2, ops.log1p(-0.5 * ops.exp(-z))),
    ppf=lambda q: ops.where(q < 0.5, ops.log(2.0 * q), -LOG_2 - ops.log1p(-q)),
)  # fmt: skip

logistic = Continuous(
    "logistic", support=_LINE, symmetric=True,
    density="exp(-x) / (1 + exp(-x))**2", source="Johnson, Kotz and Balakrishnan (1995), chapter 23",
    logpdf=lambda z: special.log_expit(z) + special.log_expit(-z),
    cdf=special.expit, logcdf=special.log_expit, ppf=special.logit,
)  # fmt: skip


def _gumbel_logsf(z: Any) -> Tensor:
    """log(1 - exp(-u)) with u = exp(-z); in the right tail, log u + log((1 - exp(-u)) / u)."""
    u = ops.exp(-z)
    return ops.where(z > 0, -z + ops.log(special.exprel(-u)), log_one_minus_exp(-u))


_EXTREMES = "Johnson, Kotz and Balakrishnan (1995), chapter 22"

gumbel_r = Continuous(
    "gumbel_r", support=_LINE, density="exp(-x - exp(-x))", source=_EXTREMES,
    logpdf=lambda z: -z - ops.exp(-z),
    cdf=lambda z: ops.exp(-ops.exp(-z)), logcdf=lambda z: -ops.exp(-z),
    sf=lambda z: -ops.expm1(-ops.exp(-z)), logsf=_gumbel_logsf,
    ppf=lambda q: -ops.log(-ops.log(q)), isf=lambda q: -ops.log(-ops.log1p(-q)),
)  # fmt: skip

gumbel_l = Continuous(
    "gumbel_l", support=_LINE, density="exp(x - exp(x))", source=_EXTREMES,
    logpdf=lambda z: z - ops.exp(z),
    cdf=lambda z: -ops.expm1(-ops.exp(z)), logcdf=lambda z: _gumbel_logsf(-z),
    sf=lambda z: ops.exp(-ops.exp(z)), logsf=lambda z: -ops.exp(z),
    ppf=lambda q: ops.log(-ops.log1p(-q)), isf=lambda q: ops.log(-ops.log(q)),
)  # fmt: skip

t = Continuous(
    "t", {"df": "positive"}, support=_LINE, symmetric=True,
    density="(1 + x**2 / df)**(-(df + 1) / 2) / (sqrt(df) B(df / 2, 1 / 2))",
    source="Johnson, Kotz and Balakrishnan (1995), chapter 28",
    logpdf=lambda z, df: -0.5 * (df + 1.0) * ops.log1p(z / df * z) - 0.5 * ops.log(df) - special.betaln(0.5 * df, 0.5),
    cdf=lambda z, df: special.stdtr(df, z), logcdf=lambda z, df: log_stdtr(df, z),
    ppf=lambda q, df: special.stdtrit(df, q),
)  # fmt: skip


def _power(z: Any, b: Any) -> Tensor:
    """abs(z)**b, for small z as a power of z**2: all derivatives at 0 are then right for even b."""
    return ops.where(z * z < 1.0, (z * z) ** (0.5 * b), ops.abs(z) ** b)


def _gennorm_log_tail(z: Any, b: Any) -> Tensor:
    far = _power(z, b) == INF  # there the tail underflows, and its logarithm is below all numbers
    return ops.where(far, -INF, log_gammaincc(1.0 / b, _power(ops.where(far, 1.0, z), b)) - LOG_2)


def _gennorm_cdf(z: Any, b: Any) -> Tensor:
    tail = 0.5 * special.gammaincc(1.0 / b, _power(z, b))
    return ops.where(z < 0, tail, 1.0 - tail)


def _gennorm_logcdf(z: Any, b: Any) -> Tensor:
    tail = _gennorm_log_tail(z, b)
    return ops.where(z < 0, tail, ops.log1p(-ops.exp(tail)))


def _gennorm_ppf(q: Any, b: Any) -> Tensor:
    left = special.gammainccinv(1.0 / b, ops.where(q < 0.5, 2.0 * q, 2.0 * (1.0 - q))) ** (1.0 / b)
    return ops.where(q < 0.5, -left, left)


gennorm = Continuous(
    "gennorm", {"beta": "positive"}, support=_LINE, symmetric=True,
    density="beta exp(-abs(x)**beta) / (2 Gamma(1 / beta))",
    source="Johnson, Kotz and Balakrishnan (1995), chapter 24 (Subbotin's distribution)",
    logpdf=lambda z, b: ops.log(0.5 * b) - special.gammaln(1.0 / b) - _power(z, b),
    cdf=_gennorm_cdf, logcdf=_gennorm_logcdf, ppf=_gennorm_ppf,
)  # fmt: skip

vonmises = Continuous(
    "vonmises", {"kappa": "not negative"}, support=_LINE,
    density="exp(kappa cos(x)) / (2 pi I0(kappa)), for every x: its integral over one period is 1",
    source="Mardia and Jupp (2000), section 3.5.4",
    logpdf=lambda z, k: -2.0 * k * ops.sin(0.5 * z) ** 2 - LOG_2_PI - ops.log(special.i0e(k)),
)  # fmt: skip
