"""Logarithms that stay accurate where the argument is close to 1, or underflows."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..tensor import Tensor
from ._operands import special

__all__ = ["LOG_2", "LOG_2_PI", "log_gammainc", "log_gammaincc", "log_of_part", "log_one_minus_exp", "log_stdtr"]

LOG_2 = math.log(2.0)
LOG_2_PI = math.log(2 * math.pi)

#: Levels of the continued fraction, and terms of the series: enough for float64 where they are used.
_LEVELS = 24
_TERMS = 28


def log_of_part(part: Any, rest: Any) -> Tensor:
    """log(part), where part + rest = 1 and both are accurate to all digits."""
    return ops.where(part < 0.5, ops.log(part), ops.log1p(-rest))


def log_one_minus_exp(x: Any) -> Tensor:
    """log(1 - exp(x)) for x <= 0."""
    return ops.where(x > -LOG_2, ops.log(-ops.expm1(x)), ops.log1p(-ops.exp(x)))


def log_gammaincc(a: Any, x: Any) -> Tensor:
    """Log Q(a, x): in the far tail, where Q underflows, by Legendre's continued fraction (DLMF 8.9.2).

    There the fraction also has better derivatives: derivatives of log Q by x are differences of nearly equal terms.
    """
    t = x + (2 * _LEVELS + 1.0) - a
    for k in range(_LEVELS, 0, -1):
        t = x + (2 * k - 1.0) - a - k * (k - a) / t
    tail = a * ops.log(x) - x - special.gammaln(a) - ops.log(t)
    return ops.where(x > 2.0 * a + 20.0, tail, log_of_part(special.gammaincc(a, x), special.gammainc(a, x)))


def log_gammainc(a: Any, x: Any) -> Tensor:
    """Log P(a, x): for small x by its power series (DLMF 8.11.4)."""
    series = 1.0
    for n in range(_TERMS, 0, -1):
        series = 1.0 + x / (a + n) * series
    tail = a * ops.log(x) - x - special.gammaln(a + 1.0) + ops.log(series)
    return ops.where(4.0 * x < a, tail, log_of_part(special.gammainc(a, x), special.gammaincc(a, x)))


def log_stdtr(df: Any, t: Any) -> Tensor:
    """Log of Student's distribution function: in the left tail by the series of the incomplete beta function.

    With x = df / (df + t**2), a = df / 2 and b = 1 / 2 the function is I_x(a, b) / 2 for t < 0, and I_x(a, b) is
    x**a (1 - x)**b / (a B(a, b)) times the sum of (a + b)_n / (a + 1)_n x**n (DLMF 8.17.8).
    """
    x, a = 1.0 / (1.0 + t / df * t), 0.5 * df
    series = 1.0
    for n in range(_TERMS, 0, -1):
        series = 1.0 + (a + (n - 0.5)) / (a + n) * x * series
    power = -a * ops.log1p(t / df * t) + 0.5 * ops.log1p(-x)
    tail = power - ops.log(a) - special.betaln(a, 0.5) - LOG_2 + ops.log(series)
    far = (t < 0) & (t * t > 3.0 * df)
    return ops.where(far, tail, log_of_part(special.stdtr(df, t), special.stdtr(df, -t)))
