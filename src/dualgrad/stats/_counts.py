"""Distributions on whole numbers."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensor import Tensor
from ._family import INF, Discrete
from ._logs import log_gammainc, log_gammaincc, log_one_minus_exp
from ._operands import special

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]

bernoulli = Discrete(
    "bernoulli", {"p": "probability"}, support=(0.0, 1.0),
    density="p**k (1 - p)**(1 - k)", source="Johnson, Kemp and Kotz (2005), chapter 3",
    logpmf=lambda k, p: special.xlogy(k, p) + special.xlog1py(1.0 - k, -p),
    cdf=lambda k, p: 1.0 - p + 0.0 * k, sf=lambda k, p: p + 0.0 * k,
)  # fmt: skip


def _log_choose(n: Any, k: Any) -> Tensor:
    return -special.betaln(n - k + 1.0, k + 1.0) - ops.log(n + 1.0)


binom = Discrete(
    "binom", {"n": "count", "p": "probability"}, support=(0.0, lambda n, p: n),
    density="(n over k) p**k (1 - p)**(n - k)", source="Johnson, Kemp and Kotz (2005), chapter 3",
    logpmf=lambda k, n, p: _log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    cdf=lambda k, n, p: special.betaincc(k + 1.0, n - k, p), sf=lambda k, n, p: special.betainc(k + 1.0, n - k, p),
)  # fmt: skip

betabinom = Discrete(
    "betabinom", {"n": "count", "a": "positive", "b": "positive"}, support=(0.0, lambda n, a, b: n),
    density="(n over k) B(k + a, n - k + b) / B(a, b)", source="Johnson, Kemp and Kotz (2005), section 6.2.2",
    logpmf=lambda k, n, a, b: _log_choose(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b),
)  # fmt: skip

geom = Discrete(
    "geom", {"p": "positive probability"}, support=(1.0, INF),
    density="(1 - p)**(k - 1) p", source="Johnson, Kemp and Kotz (2005), section 5.2",
    logpmf=lambda k, p: special.xlog1py(k - 1.0, -p) + ops.log(p),
    cdf=lambda k, p: -ops.expm1(special.xlog1py(k, -p)), logcdf=lambda k, p: log_one_minus_exp(special.xlog1py(k, -p)),
    sf=lambda k, p: ops.exp(special.xlog1py(k, -p)), logsf=lambda k, p: special.xlog1py(k, -p),
)  # fmt: skip

nbinom = Discrete(
    "nbinom", {"n": "positive", "p": "positive probability"}, support=(0.0, INF),
    density="(k + n - 1 over n - 1) p**n (1 - p)**k", source="Johnson, Kemp and Kotz (2005), chapter 5",
    logpmf=lambda k, n, p: (
        n * ops.log(p) + special.xlog1py(k, -p) - special.betaln(n, k + 1.0) - ops.log(n + k)
    ),
    cdf=lambda k, n, p: special.betainc(n, k + 1.0, p), sf=lambda k, n, p: special.betaincc(n, k + 1.0, p),
)  # fmt: skip

poisson = Discrete(
    "poisson", {"mu": "not negative"}, support=(0.0, INF),
    density="mu**k exp(-mu) / k!", source="Johnson, Kemp and Kotz (2005), chapter 4",
    logpmf=lambda k, mu: special.xlogy(k, mu) - mu - special.gammaln(k + 1.0),
    cdf=lambda k, mu: special.gammaincc(k + 1.0, mu), logcdf=lambda k, mu: log_gammaincc(k + 1.0, mu),
    sf=lambda k, mu: special.gammainc(k + 1.0, mu), logsf=lambda k, mu: log_gammainc(k + 1.0, mu),
)  # fmt: skip
