"""Distributions on an interval."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..tensor import Tensor
from ._family import INF, Continuous
from ._logs import LOG_2, LOG_2_PI, log_of_part, log_one_minus_exp
from ._operands import special

__all__ = ["beta", "truncnorm", "uniform", "wrapcauchy"]

_ROOT_2 = math.sqrt(2.0)

uniform = Continuous(
    "uniform", support=(0.0, 1.0), density="1", source="Johnson, Kotz and Balakrishnan (1995), chapter 26",
    logpdf=lambda z: 0.0 * z,
    cdf=lambda z: z, sf=lambda z: 1.0 - z,
    ppf=lambda q: q, isf=lambda q: 1.0 - q,
)  # fmt: skip

beta = Continuous(
    "beta", {"a": "positive", "b": "positive"}, support=(0.0, 1.0),
    density="x**(a - 1) (1 - x)**(b - 1) / B(a, b)",
    source="Johnson, Kotz and Balakrishnan (1995), chapter 25; DLMF 8.17",
    logpdf=lambda z, a, b: special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b),
    cdf=lambda z, a, b: special.betainc(a, b, z), sf=lambda z, a, b: special.betaincc(a, b, z),
    ppf=lambda q, a, b: special.betaincinv(a, b, q), isf=lambda q, a, b: special.betainccinv(a, b, q),
)  # fmt: skip


def _log_difference(more: Any, less: Any) -> Tensor:
    """log(exp(more) - exp(less))."""
    return more + log_one_minus_exp(less - more)


def _log_mass(a: Any, b: Any) -> Tensor:
    """Log of the probability of [a, b] under the normal distribution: by a tail, or near 0 by `erf`."""
    left = _log_difference(special.log_ndtr(b), special.log_ndtr(a))
    right = _log_difference(special.log_ndtr(-a), special.log_ndtr(-b))
    outside = special.ndtr(a) + special.ndtr(-b)
    inside = 0.5 * (ops.erf(b / _ROOT_2) - ops.erf(a / _ROOT_2))  # no cancellation near 0
    middle = log_of_part(inside, outside)
    return ops.where(b < -0.5, left, ops.where(a > 0.5, right, middle))


def _log_share(part: Any, rest: Any, whole: Any) -> Tensor:
    """Log of a part's share, from the logs of the part, the rest and the whole: computed by the smaller share."""
    share, other = part - whole, rest - whole
    by_other = (share > -LOG_2) & (other > -INF)
    return ops.where(by_other, log_one_minus_exp(ops.where(by_other, other, -1.0)), share)


def _truncated_ppf(q: Any, a: Any, b: Any) -> Tensor:
    mass = _log_mass(a, b)
    left = special.ndtri_exp(ops.logaddexp(special.log_ndtr(a), ops.log(q) + mass))
    right = -special.ndtri_exp(ops.logaddexp(special.log_ndtr(-b), ops.log1p(-q) + mass))
    return ops.where(a < 0, left, right)


truncnorm = Continuous(
    "truncnorm", {"a": "any", "b": "any"}, support=(lambda a, b: a, lambda a, b: b), also=lambda a, b: a < b,
    density="exp(-x**2 / 2) / (sqrt(2 pi) (Phi(b) - Phi(a))) for a <= x <= b",
    source="Johnson, Kotz and Balakrishnan (1994), chapter 13",
    logpdf=lambda z, a, b: -0.5 * (z * z) - 0.5 * LOG_2_PI - _log_mass(a, b),
    logcdf=lambda z, a, b: _log_share(_log_mass(a, z), _log_mass(z, b), _log_mass(a, b)),
    logsf=lambda z, a, b: _log_share(_log_mass(z, b), _log_mass(a, z), _log_mass(a, b)),
    ppf=_truncated_ppf,
    isf=lambda q, a, b: -_truncated_ppf(q, -b, -a),
)  # fmt: skip


def _angle(q: Any, c: Any, sign: float) -> Tensor:
    """The quantile of q, or, with a sign of -1, the quantile of 1 - q."""
    return 2.0 * ops.atan2((1.0 - c) * ops.sin(math.pi * q), sign * (1.0 + c) * ops.cos(math.pi * q))


def _wrapped(z: Any, c: Any, sign: float) -> Tensor:
    return ops.atan2((1.0 + c) * ops.sin(0.5 * z), sign * (1.0 - c) * ops.cos(0.5 * z)) / math.pi


wrapcauchy = Continuous(
    "wrapcauchy", {"c": "between 0 and 1"}, support=(0.0, 2 * math.pi),
    density="(1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x))) for 0 <= x <= 2 pi",
    source="Mardia and Jupp (2000), section 3.5.7",
    logpdf=lambda z, c: ops.log1p(-c * c) - LOG_2_PI - ops.log((1.0 - c) ** 2 + 4.0 * c * ops.sin(0.5 * z) ** 2),
    cdf=lambda z, c: _wrapped(z, c, 1.0), sf=lambda z, c: _wrapped(z, c, -1.0),
    ppf=lambda q, c: _angle(q, c, 1.0), isf=lambda q, c: _angle(q, c, -1.0),
)  # fmt: skip
