"""Distributions of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..ops.linalg import cholesky, solve_triangular
from ..tensor import Tensor
from ._logs import LOG_2_PI
from ._operands import real, special

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]

_INF, _NAN = float("inf"), float("nan")


class Dirichlet:
    """The Dirichlet distribution on the simplex.

    Density: ``Gamma(sum alpha) prod x_i**(alpha_i - 1) / prod Gamma(alpha_i)``; Kotz, Balakrishnan and Johnson (2000),
    chapter 49. If the last number of x is missing, it is 1 minus the sum of the others.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import dirichlet
    >>> alpha = dg.Tensor([2.0, 3.0, 4.0], dg.float64)
    >>> print(dirichlet.logpdf([0.2, 0.3, 0.5], alpha))
    2.022871
    """

    def logpdf(self, x: Any, alpha: Any) -> Tensor:
        """Log of the density at x, of shape (K, ...) or (K - 1, ...), for alpha of shape (K,).

        It is -inf if x is not on the simplex (numbers of at least 0 whose sum is 1 up to rounding), and nan if a number
        of alpha is not positive. Slopes by the K numbers of x are the slopes of the formula.
        """
        x, alpha = real("stats.dirichlet.logpdf", x, alpha)
        if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
            raise ValueError(
                f"stats.dirichlet.logpdf: x has shape {tuple(x.shape)} and alpha {tuple(alpha.shape)}; "
                "expected alpha of shape (K,) and x of shape (K, ...) or (K - 1, ...)"
            )
        if x.shape[0] < alpha.shape[0]:
            x = ops.cat((x, 1.0 - ops.sum(x, 0, keepdims=True)), 0)
        powers = (alpha - 1.0).reshape((-1,) + (1,) * (x.ndim - 1))
        value = ops.sum(special.xlogy(powers, x), 0) - ops.sum(special.gammaln(alpha)) + special.gammaln(ops.sum(alpha))
        close = _rounding(x) * 8 * x.shape[0]
        inside = ops.all(x >= 0, 0) & (ops.abs(ops.sum(x, 0) - 1.0) <= close)
        return ops.where(ops.all(alpha > 0), ops.where(inside, value, -_INF), _NAN)

    def pdf(self, x: Any, alpha: Any) -> Tensor:
        """The density at x: see `logpdf`."""
        return ops.exp(self.logpdf(x, alpha))


class Multinomial:
    """The multinomial distribution: the counts of K outcomes in n draws.

    Probability: ``n! prod p_i**x_i / x_i!``; Johnson, Kotz and Balakrishnan (1997), chapter 35.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import multinomial
    >>> print(multinomial.pmf([1.0, 2.0, 1.0], 4, dg.Tensor([0.25, 0.5, 0.25], dg.float64)))
    0.1875
    """

    def logpmf(self, x: Any, n: Any, p: Any) -> Tensor:
        """Log of the probability of x, of shape (..., K), for n of shape (...) and p of shape (..., K).

        It is -inf if x does not hold integers of at least 0 with the sum n. It is nan if n is not an integer of at
        least 0 or p does not hold probabilities with the sum 1 (up to rounding). Slopes by the K numbers of p are the
        slopes of the formula.
        """
        x, n, p = real("stats.multinomial.logpmf", x, n, p)
        if not x.ndim or not p.ndim or x.shape[-1] != p.shape[-1]:
            raise ValueError(
                f"stats.multinomial.logpmf: x has shape {tuple(x.shape)} and p {tuple(p.shape)}; "
                "expected the same number of outcomes on the last axis"
            )
        k = ops.floor(x)
        value = special.gammaln(n + 1.0) + ops.sum(special.xlogy(k, p) - special.gammaln(k + 1.0), -1)
        inside = ops.all((k == x) & (k >= 0), -1) & (ops.sum(k, -1) == n)
        close = _rounding(p) * 8 * p.shape[-1]
        valid = ops.all((p >= 0) & (p <= 1), -1) & (ops.abs(ops.sum(p, -1) - 1.0) <= close)
        return ops.where(valid & (n >= 0) & (n == ops.floor(n)), ops.where(inside, value, -_INF), _NAN)

    def pmf(self, x: Any, n: Any, p: Any) -> Tensor:
        """The probability of x: see `logpmf`."""
        return ops.exp(self.logpmf(x, n, p))


class MultivariateNormal:
    """The normal distribution of vectors.

    Density: ``exp(-(x - mean)' cov**-1 (x - mean) / 2) / sqrt(det(2 pi cov))``; Kotz, Balakrishnan and Johnson (2000),
    chapter 45. It is computed from the Cholesky factor of cov, and reads its lower triangle.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import multivariate_normal
    >>> cov = dg.Tensor([[2.0, 0.5], [0.5, 1.0]], dg.float64)
    >>> print(multivariate_normal.logpdf([0.5, 1.0], [0.0, 0.0], cov))
    -2.617685
    """

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1) -> Tensor:
        """Log of the density at x, of shape (..., K).

        `mean` has shape (K,) or one that broadcasts against x, and None means 0; `cov` is a number, the diagonal of a
        matrix as (K,), or matrices (..., K, K). For K = 1, x may be a number or (N,), as in SciPy, if mean and cov have
        at most one number. If both are numbers without axes, K is the length of the last axis of x (SciPy takes K = 1).

        Raises
        ------
        ValueError
            If shapes do not fit, or a matrix is not positive definite.
        """
        x, mean, cov = real("stats.multivariate_normal.logpdf", x, 0.0 if mean is None else mean, cov)
        k = max(mean.shape[-1] if mean.ndim else 1, cov.shape[-1] if cov.ndim else 1)
        if mean.ndim == 0 and cov.ndim == 0 and x.ndim:
            k = x.shape[-1]
        elif k == 1 and (x.ndim == 0 or x.shape[-1] != 1):
            x = x.reshape((*x.shape, 1))
        if x.ndim == 0:
            x = x.reshape((1,))
        if x.shape[-1] != k or (cov.ndim > 1 and cov.shape[-2] != k):
            raise ValueError(
                f"stats.multivariate_normal.logpdf: x has shape {tuple(x.shape)}, mean {tuple(mean.shape)}, cov "
                f"{tuple(cov.shape)}; expected (..., K), (K,) and (K, K)"
            )
        rest = x - mean
        if cov.ndim < 2:
            half = 0.5 * ops.sum(ops.log(cov) + 0.0 * ops.zeros_like(rest[..., :1]), -1) * (k if cov.ndim == 0 else 1)
            square = ops.sum(rest * rest / cov, -1)
            positive = ops.all(cov > 0)
            return ops.where(positive, -0.5 * square - half - 0.5 * k * LOG_2_PI, _NAN)
        factor = cholesky(cov)
        half = ops.sum(ops.log(ops.diagonal(factor, 0, -2, -1)), -1)
        white = solve_triangular(factor, rest.reshape((*rest.shape, 1)), lower=True)
        return -0.5 * ops.sum(white * white, (-2, -1)) - half - 0.5 * k * LOG_2_PI

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1) -> Tensor:
        """The density at x: see `logpdf`."""
        return ops.exp(self.logpdf(x, mean, cov))


def _rounding(x: Tensor) -> float:
    return float(np.finfo(x.dtype.numpy).eps)


dirichlet = Dirichlet()
multinomial = Multinomial()
multivariate_normal = MultivariateNormal()
