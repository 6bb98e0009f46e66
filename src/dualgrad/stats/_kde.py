"""Kernel density estimation with normal kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .._settings import number_or_tensor, one_of
from ..ops.linalg import cholesky, solve_triangular
from ..tensor import Tensor
from ._logs import LOG_2_PI
from ._operands import real, special
from ._vectors import multivariate_normal

__all__ = ["gaussian_kde"]


class gaussian_kde:  # SciPy's name
    """A density estimated from points: the weighted mean of normal densities around the points.

    The covariance of the kernels is the covariance of the points times the square of a factor: n_eff**(-1 / (d + 4)) by
    Scott's rule, (n_eff (d + 2) / 4)**(-1 / (d + 4)) by Silverman's, where n_eff is 1 / sum(weights**2) (Scott 2015,
    chapter 6). Results are differentiable by the evaluation points, the dataset, the weights and the factor.

    Parameters
    ----------
    dataset : Tensor or array
        Shape (n,), or (d, n) for points of d dimensions.
    bw_method : {'scott', 'silverman'}, number, Tensor or callable, default 'scott'
        The factor, or a function of this object that returns it.
    weights : Tensor or array, optional
        Shape (n,), not negative; divided by their sum.

    Raises
    ------
    ValueError
        If shapes do not fit, or there are fewer than two points.
    numpy.linalg.LinAlgError
        If the covariance of the points is singular.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import gaussian_kde
    >>> kde = gaussian_kde(dg.Tensor([0.0, 1.0, 3.0], dg.float64))
    >>> print(kde.logpdf([1.0]), dg.grad(kde.logpdf)(dg.Tensor([1.0], dg.float64)))
    [-1.53760404] [-0.06317613]
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (points,) = real("stats.gaussian_kde", dataset)
        points = points.reshape((1, -1)) if points.ndim < 2 else points
        if points.ndim != 2 or points.shape[1] < 2:
            raise ValueError(
                f"stats.gaussian_kde: the dataset has shape {tuple(points.shape)}; expected (n,) or (d, n) with n > 1"
            )
        if weights is None:
            weights = ops.ones_like(points[0])
        points, weights = real("stats.gaussian_kde", points, weights)
        if tuple(weights.shape) != (points.shape[1],):
            raise ValueError(
                f"stats.gaussian_kde: weights have shape {tuple(weights.shape)}; expected {(points.shape[1],)}"
            )
        self.dataset: Tensor = points
        self.d, self.n = points.shape
        self.weights: Tensor = weights / ops.sum(weights)
        self.neff = 1.0 / ops.sum(self.weights * self.weights)
        self.factor = self._factor(bw_method)
        rest = points - ops.sum(points * self.weights, 1, keepdims=True)
        spread = ops.matmul(rest * self.weights, ops.transpose(rest, (1, 0))) / (1.0 - 1.0 / self.neff)
        self.covariance: Tensor = spread * self.factor * self.factor
        self._cholesky = cholesky(self.covariance)

    def _factor(self, method: Any) -> Any:
        if callable(method) and not isinstance(method, Tensor):
            try:
                method = method(self)
            except TypeError as error:
                raise TypeError(f"stats.gaussian_kde: bw_method does not take this object: {error}") from error
        elif isinstance(method, str) or method is None:
            if not one_of(method, (None, "scott", "silverman")):
                raise ValueError(
                    f"stats.gaussian_kde: bw_method is {method!r}; expected 'scott', 'silverman', a number, a function"
                )
            return self.silverman_factor() if method == "silverman" else self.scotts_factor()
        return number_or_tensor("stats.gaussian_kde", "bw_method", method)

    def scotts_factor(self) -> Tensor:
        """Scott's factor: n_eff**(-1 / (d + 4))."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Tensor:
        """Silverman's factor: (n_eff (d + 2) / 4)**(-1 / (d + 4))."""
        return (self.neff * ((self.d + 2) / 4.0)) ** (-1.0 / (self.d + 4))

    def logpdf(self, x: Any) -> Tensor:
        """Log of the density at points of shape (m,) for d = 1, or (d, m). Returns shape (m,)."""
        points, data, weights, factor = real("stats.gaussian_kde.logpdf", x, self.dataset, self.weights, self._cholesky)
        if points.ndim < 2:
            points = points.reshape((1, -1) if self.d == 1 else (-1, 1))
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(f"stats.gaussian_kde: points of shape {tuple(points.shape)}; expected ({self.d}, m)")
        m, n = points.shape[1], self.n
        rest = (points.reshape((self.d, m, 1)) - data.reshape((self.d, 1, n))).reshape((self.d, m * n))
        white = solve_triangular(factor, rest, lower=True)
        energy = 0.5 * ops.sum(white * white, 0).reshape((m, n))
        scale = ops.sum(ops.log(ops.diagonal(factor))) + 0.5 * self.d * LOG_2_PI
        return special.logsumexp(ops.log(weights) - energy, axis=1) - scale

    def evaluate(self, points: Any) -> Tensor:
        """The density at points of shape (m,) for d = 1, or (d, m). Returns shape (m,)."""
        return ops.exp(self.logpdf(points))

    pdf: Callable[..., Tensor] = evaluate
    __call__: Callable[..., Tensor] = evaluate

    def integrate_gaussian(self, mean: Any, cov: Any) -> Tensor:
        """The integral of the estimate times the normal density with this mean, (d,), and covariance, (d, d)."""
        mean, cov, data = real("stats.gaussian_kde.integrate_gaussian", mean, cov, self.dataset)
        mean, cov = mean.reshape((-1,)), cov.reshape((1, 1)) if cov.ndim < 2 else cov
        if tuple(mean.shape) != (self.d,) or tuple(cov.shape) != (self.d, self.d):
            raise ValueError(
                f"stats.gaussian_kde.integrate_gaussian: mean of shape {tuple(mean.shape)} and cov of shape "
                f"{tuple(cov.shape)}; expected ({self.d},) and ({self.d}, {self.d})"
            )
        densities = multivariate_normal.pdf(ops.transpose(data, (1, 0)), mean, self.covariance + cov)
        return ops.sum(self.weights * densities)

    def integrate_box_1d(self, low: Any, high: Any) -> Tensor:
        """The integral of the estimate from low to high, for d = 1."""
        if self.d != 1:
            raise ValueError(f"stats.gaussian_kde.integrate_box_1d: the points have {self.d} dimensions; expected 1")
        low, high, data = real("stats.gaussian_kde.integrate_box_1d", low, high, self.dataset)
        deviation = self._cholesky[0, 0]
        a, b = (low - data[0]) / deviation, (high - data[0]) / deviation
        #         # for two points on the right, the upper tails are the accurate ones
        mass = ops.where(a > 0, special.ndtr(-a) - special.ndtr(-b), special.ndtr(b) - special.ndtr(a))
        return ops.sum(self.weights * mass)

    def integrate_kde(self, other: gaussian_kde) -> Tensor:
        """The integral of the product of this estimate and another one of the same dimension."""
        if not isinstance(other, gaussian_kde) or other.d != self.d:
            raise ValueError(
                f"stats.gaussian_kde.integrate_kde: got {other!r}; expected a gaussian_kde of dimension {self.d}"
            )
        ours, theirs = ops.transpose(self.dataset, (1, 0)), ops.transpose(other.dataset, (1, 0))
        rest = ours.reshape((self.n, 1, self.d)) - theirs.reshape((1, other.n, self.d))
        densities = multivariate_normal.pdf(rest.reshape((-1, self.d)), None, self.covariance + other.covariance)
        return ops.sum(self.weights * ops.matmul(densities.reshape((self.n, other.n)), other.weights))
