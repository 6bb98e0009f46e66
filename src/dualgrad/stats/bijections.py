"""Bijections from free numbers to constrained ones, for samplers and optimisers.

A sampler moves on all of R^n; a scale is positive, probabilities sum to 1, a correlation matrix is positive definite. A
bijection has `forward` from the free numbers x to the constrained y, `inverse` back, and `log_abs_det_jacobian(x)`.
Adding that to the log-density of y gives the log-density of x:

    log p(x) = log p(y) + log abs(det dy/dx),    y = forward(x).

Where y has more numbers than x, such as a point on the simplex or a symmetric matrix, the determinant uses only the
numbers that determine the others: `coordinates(y)`. The maps follow the Stan reference manual, "Constraint transforms".
All are differentiable to any order, and work on leading axes.

Examples
--------
>>> import dualgrad as dg
>>> from dualgrad.stats import bijections, gamma
>>> scale = bijections.Exp()
>>> free = lambda x: gamma.logpdf(scale.forward(x), 2.0) + scale.log_abs_det_jacobian(x)
>>> print(dg.grad(free)(dg.Tensor(0.0, dg.float64)))
1.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..ops.linalg import cholesky
from ..tensor import Tensor
from ._logs import LOG_2
from ._operands import real, special

__all__ = [
    "Affine", "Bijection", "Chain", "CholeskyCorrelation", "CholeskyCovariance", "Exp", "Interval", "Inverse",
    "Ordered", "PositiveDefinite", "Simplex", "Softplus",
]  # fmt: skip


class Bijection:
    """The interface of all bijections.

    `event` is the number of last axes of x that are transformed together: 0 for maps of single numbers, 1 for vectors.
    `log_abs_det_jacobian` has the shape of x without these axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import bijections
    >>> ordered = bijections.Ordered()
    >>> print(ordered.inverse(ordered.forward([0.5, 1.0])), ordered.event)
    [0.5 1. ] 1
    """

    event = 0

    def forward(self, x: Any) -> Tensor:
        """Map free numbers to constrained ones."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def inverse(self, y: Any) -> Tensor:
        """Map constrained numbers to free ones."""
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        """Log of the absolute determinant of the derivative of `coordinates(forward(x))` by x."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def coordinates(self, y: Any) -> Tensor:
        """The numbers of y that determine the others; their number is the number of elements of x."""
        return self._real(y)

    def __call__(self, x: Any) -> Tensor:
        return self.forward(x)

    def _real(self, x: Any) -> Tensor:
        (x,) = real(f"bijections.{type(self).__name__}", x)
        if x.ndim < self.event:
            raise ValueError(
                f"bijections.{type(self).__name__}: shape {tuple(x.shape)}; expected at least {self.event} axes"
            )
        return x


class Exp(Bijection):
    """y = exp(x) > 0.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Exp().forward([0.0, 1.0]))
    [1.         2.71828183]
    """

    def forward(self, x: Any) -> Tensor:
        return ops.exp(self._real(x))

    def inverse(self, y: Any) -> Tensor:
        return ops.log(self._real(y))

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        return self._real(x)


class Softplus(Bijection):
    """y = log(1 + exp(x)) > 0, which grows like x.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Softplus().forward([0.0, 10.0]))
    [ 0.69314718 10.0000454 ]
    """

    def forward(self, x: Any) -> Tensor:
        return ops.softplus(self._real(x))

    def inverse(self, y: Any) -> Tensor:
        y = self._real(y)
        return y + ops.log(-ops.expm1(-y))

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        return special.log_expit(self._real(x))


class Interval(Bijection):
    """y = low + (high - low) / (1 + exp(-x)), between low and high; its inverse is a logit.

    Parameters
    ----------
    low, high : Tensor, array or number
        The ends; they broadcast.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Interval(-1.0, 3.0).forward([0.0, 100.0]))
    [1. 3.]
    """

    def __init__(self, low: Any = 0.0, high: Any = 1.0) -> None:
        self.low, self.high = low, high

    def forward(self, x: Any) -> Tensor:
        x = self._real(x)
        #         # computed from the nearer end, which keeps all digits of the distance from it
        size = self.high - self.low
        return ops.where(x < 0, self.low + size * special.expit(x), self.high - size * special.expit(-x))

    def inverse(self, y: Any) -> Tensor:
        y = self._real(y)
        return ops.log(y - self.low) - ops.log(self.high - y)

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        x = self._real(x)
        return special.log_expit(x) + special.log_expit(-x) + ops.log((self.high - self.low) + 0.0 * x)


class Affine(Bijection):
    """y = loc + scale x, elementwise, for a nonzero scale.

    Parameters
    ----------
    loc, scale : Tensor, array or number
        They broadcast.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Affine(1.0, -2.0).log_abs_det_jacobian([0.0, 1.0]))
    [0.6931472 0.6931472]
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self.loc, self.scale = loc, scale

    def forward(self, x: Any) -> Tensor:
        return self.loc + self.scale * self._real(x)

    def inverse(self, y: Any) -> Tensor:
        return (self._real(y) - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        return ops.log(ops.abs(self.scale + 0.0 * self._real(x)))


class Ordered(Bijection):
    """Increasing numbers: y_1 = x_1, y_k = y_(k-1) + exp(x_k).

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Ordered().forward([-1.0, 0.0, 0.0]))
    [-1.  0.  1.]
    """

    event = 1

    def forward(self, x: Any) -> Tensor:
        x = self._real(x)
        return ops.cumsum(ops.concat((x[..., :1], ops.exp(x[..., 1:])), -1), -1)

    def inverse(self, y: Any) -> Tensor:
        y = self._real(y)
        return ops.concat((y[..., :1], ops.log(y[..., 1:] - y[..., :-1])), -1)

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        return ops.sum(self._real(x)[..., 1:], -1)


class Simplex(Bijection):
    """K positive numbers with sum 1, from K - 1 free ones by breaking a stick: x = 0 gives equal parts.

    Part k takes the share z_k = expit(x_k - log(K - k)) of the rest that earlier parts leave. The computation uses
    logarithms, so tiny parts stay accurate.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Simplex().forward([0.0, 0.0, 0.0]))
    [0.25 0.25 0.25 0.25]
    """

    event = 1

    def _shares(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of the shares, and the logarithm of the rest before each part, (..., K)."""
        count = x.shape[-1]
        logits = x - np.log(np.arange(count, 0, -1)).astype(x.dtype.numpy)
        left = ops.cumsum(special.log_expit(-logits), -1)
        return logits, ops.concat((ops.zeros((*x.shape[:-1], 1), x.dtype), left), -1)

    def forward(self, x: Any) -> Tensor:
        logits, left = self._shares(self._real(x))
        return ops.exp(ops.concat((special.log_expit(logits) + left[..., :-1], left[..., -1:]), -1))

    def inverse(self, y: Any) -> Tensor:
        y = self._real(y)
        after = ops.flip(ops.cumsum(ops.flip(y, (-1,)), -1), (-1,))[..., 1:]
        count = y.shape[-1] - 1
        return ops.log(y[..., :-1]) - ops.log(after) + np.log(np.arange(count, 0, -1)).astype(y.dtype.numpy)

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        logits, left = self._shares(self._real(x))
        return ops.sum(special.log_expit(logits) + special.log_expit(-logits) + left[..., :-1], -1)

    def coordinates(self, y: Any) -> Tensor:
        return self._real(y)[..., :-1]


def _size(count: int, diagonal: int, name: str) -> int:
    """K from the number of entries of a triangle: K (K + 1) / 2 with its diagonal, else K (K - 1) / 2."""
    k = (math.isqrt(8 * count + 1) + 1) // 2 - diagonal
    if k * (k - 1 + 2 * diagonal) // 2 != count or k < 1:
        sign = "+" if diagonal else "-"
        raise ValueError(f"bijections.{name}: {count} numbers; expected K (K {sign} 1) / 2 for a matrix of K rows")
    return k


def _matrix(x: Tensor, k: int, diagonal: int) -> Tensor:
    """Fill the lower triangle of a matrix (..., K, K) row by row with the numbers of x, and the rest with 0."""
    rows, columns = np.tril_indices(k, diagonal - 1)
    places = np.full((k, k), x.shape[-1])
    places[rows, columns] = np.arange(x.shape[-1])
    padded = ops.concat((x, ops.zeros_like(ops.sum(x, -1, keepdims=True))), -1)
    return padded[..., places]


def _triangle(y: Tensor, diagonal: int) -> Tensor:
    rows, columns = np.tril_indices(y.shape[-1], diagonal - 1)
    return y[..., rows, columns]


class CholeskyCorrelation(Bijection):
    """The Cholesky factor L of a K x K correlation matrix L L', from K (K - 1) / 2 free numbers.

    The rows of L have length 1. With z = tanh(x) in the strict lower triangle, row by row, L_ij is z_ij times the
    product of sqrt(1 - z_ik**2) for k < j (Lewandowski, Kurowicka and Joe, 2009).

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.CholeskyCorrelation().forward([0.5]))
    [[1.         0.        ]
     [0.46211716 0.88681888]]
    """

    event = 1

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, np.ndarray]:
        """The free numbers as a matrix, their log sech, its sum before each column, and the mask of the triangle."""
        k = _size(x.shape[-1], 0, "CholeskyCorrelation")
        free = _matrix(x, k, 0)
        log_sech = LOG_2 + free - ops.softplus(2.0 * free)
        strict = np.tril(np.ones((k, k)), -1).astype(x.dtype.numpy)
        log_sech = log_sech * strict
        return free, log_sech, ops.cumsum(log_sech, -1) - log_sech, strict

    def forward(self, x: Any) -> Tensor:
        free, _, before, strict = self._parts(self._real(x))
        return (ops.tanh(free) * strict + np.eye(strict.shape[0], dtype=strict.dtype)) * ops.exp(before)

    def inverse(self, y: Any) -> Tensor:
        y = self._real(y)
        squares = y * y
        after = ops.flip(ops.cumsum(ops.flip(squares, (-1,)), -1), (-1,)) - squares  # sums over the later columns
        return ops.asinh(_triangle(y, 0) / ops.sqrt(_triangle(after, 0)))

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        _, log_sech, before, strict = self._parts(self._real(x))
        return ops.sum((2.0 * log_sech + before) * strict, (-2, -1))

    def coordinates(self, y: Any) -> Tensor:
        return _triangle(self._real(y), 0)


class CholeskyCovariance(Bijection):
    """A K x K lower triangle with a positive diagonal, from K (K + 1) / 2 free numbers, row by row.

    The diagonal is the exponential of its free numbers; the other entries equal theirs.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.CholeskyCovariance().forward([0.0, 2.0, 0.0]))
    [[1. 0.]
     [2. 1.]]
    """

    event = 1

    def _on_diagonal(self, x: Tensor) -> np.ndarray:
        """A mask of the numbers that belong to the diagonal."""
        k = _size(x.shape[-1], 1, type(self).__name__)
        rows, columns = np.tril_indices(k)
        return rows == columns

    def forward(self, x: Any) -> Tensor:
        x = self._real(x)
        on = self._on_diagonal(x)
        return _matrix(ops.where(Tensor(on), ops.exp(x), x), int(on.sum()), 1)

    def inverse(self, y: Any) -> Tensor:
        x = _triangle(self._real(y), 1)
        return ops.where(Tensor(self._on_diagonal(x)), ops.log(x), x)

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        x = self._real(x)
        return ops.sum(x * self._on_diagonal(x).astype(x.dtype.numpy), -1)

    def coordinates(self, y: Any) -> Tensor:
        return _triangle(self._real(y), 1)


class PositiveDefinite(CholeskyCovariance):
    """A symmetric positive definite matrix L L', with L from `CholeskyCovariance`.

    The determinant counts the lower triangle: with l_1 ... l_K on the diagonal of L, it is 2**K times the product of
    l_i**(K - i + 2).

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.PositiveDefinite().forward([0.0, 2.0, 0.0]))
    [[1. 2.]
     [2. 5.]]
    """

    def forward(self, x: Any) -> Tensor:
        factor = super().forward(x)
        return ops.matmul(factor, ops.swapaxes(factor, -1, -2))

    def inverse(self, y: Any) -> Tensor:
        return super().inverse(cholesky(self._real(y)))

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        x = self._real(x)
        on = self._on_diagonal(x)
        k = int(on.sum())
        powers = np.zeros(on.shape, x.dtype.numpy)
        powers[on] = np.arange(k + 1, 1, -1)
        return k * LOG_2 + ops.sum(x * powers, -1)


class Inverse(Bijection):
    """The inverse of a bijection that keeps the number of elements, such as a logit from an `Interval`.

    Parameters
    ----------
    of : Bijection
        The bijection to invert.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> print(bijections.Inverse(bijections.Exp()).forward([1.0]))
    [0.]
    """

    def __init__(self, of: Bijection) -> None:
        if type(of).coordinates is not Bijection.coordinates:
            raise TypeError(f"bijections.Inverse: {type(of).__name__} changes the number of numbers; use its inverse()")
        self.of, self.event = of, of.event

    def forward(self, x: Any) -> Tensor:
        return self.of.inverse(x)

    def inverse(self, y: Any) -> Tensor:
        return self.of.forward(y)

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        return -self.of.log_abs_det_jacobian(self.of.inverse(x))


class Chain(Bijection):
    """One bijection after the other: ``Chain(f, g).forward(x)`` is g(f(x)).

    Only the last one may change the number of elements.

    Examples
    --------
    >>> from dualgrad.stats import bijections
    >>> b = bijections
    >>> print(b.Chain(b.Affine(0.0, 2.0), b.Exp()).log_abs_det_jacobian([0.0, 1.0]))
    [0.6931472 2.6931472]
    """

    def __init__(self, *parts: Bijection) -> None:
        if not parts:
            raise ValueError("bijections.Chain: no bijections; expected at least one")
        for part in parts[:-1]:
            if type(part).coordinates not in (Bijection.coordinates, Chain.coordinates):
                raise TypeError(f"bijections.Chain: only the last one may be a {type(part).__name__}")
        self.parts, self.event = parts, max(part.event for part in parts)

    def forward(self, x: Any) -> Tensor:
        for part in self.parts:
            x = part.forward(x)
        return x

    def inverse(self, y: Any) -> Tensor:
        for part in reversed(self.parts):
            y = part.inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Any) -> Tensor:
        total: Any = 0.0
        x = self._real(x)
        for part in self.parts:
            found = part.log_abs_det_jacobian(x)
            if part.event < self.event:
                found = ops.sum(found, tuple(range(part.event - self.event, 0)))
            total, x = total + found, part.forward(x)
        return total

    def coordinates(self, y: Any) -> Tensor:
        return self.parts[-1].coordinates(y)
