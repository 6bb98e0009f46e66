"""Distributions of whole numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn.probability.distribution._base import Distribution, _inside, _weighed
from dualgrad.ops.random._samples import _categories, _poisson
from dualgrad.tensor import Tensor

__all__ = ["Bernoulli", "Categorical", "Geometric", "Poisson"]


class Bernoulli(Distribution):
    """One with a given probability, else zero.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Bernoulli(0.25).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("probs",)
    _PROBABILITIES = ("probs",)

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.int32,
        name: str = "Bernoulli",
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _log_prob(self, value: Tensor, p: Tensor) -> Tensor:
        return ops.where(value == 1, ops.log(p), ops.where(value == 0, ops.log1p(-p), -math.inf))

    def _cdf(self, value: Tensor, p: Tensor) -> Tensor:
        return ops.where(value < 0, 0.0, ops.where(value < 1, 1.0 - p, 1.0))

    def _mean(self, p: Tensor) -> Tensor:
        return p

    def _mode(self, p: Tensor) -> Tensor:
        return (p > 0.5).astype(p.dtype)

    def _var(self, p: Tensor) -> Tensor:
        return p * (1.0 - p)

    def _entropy(self, p: Tensor) -> Tensor:
        return -_weighed(p, p) - _weighed(1.0 - p, 1.0 - p)

    def _divergence(self, p: Tensor, q: Tensor) -> Tensor:
        return _weighed(p, p / q) + _weighed(1.0 - p, (1.0 - p) / (1.0 - q))

    def _sample(self, shape: tuple[int, ...], p: Tensor) -> Tensor:
        return self._u(shape) < p


class Geometric(Distribution):
    """The number of failures before the first success, for tries of equal probability.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Geometric(0.25).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("probs",)
    _PROBABILITIES = ("probs",)

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.int32,
        name: str = "Geometric",
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _log_prob(self, value: Tensor, p: Tensor) -> Tensor:
        whole = (value >= 0) & (value == ops.floor(value))
        return _inside(whole, ops.log(p) + ops.xlog1py(value, -p), -math.inf)

    def _cdf(self, value: Tensor, p: Tensor) -> Tensor:
        return _inside(value >= 0, -ops.expm1((ops.floor(value) + 1.0) * ops.log1p(-p)), 0.0)

    def _mean(self, p: Tensor) -> Tensor:
        return (1.0 - p) / p

    def _mode(self, p: Tensor) -> Tensor:
        return ops.zeros_like(p)

    def _var(self, p: Tensor) -> Tensor:
        return (1.0 - p) / ops.square(p)

    def _entropy(self, p: Tensor) -> Tensor:
        return -(_weighed(1.0 - p, 1.0 - p) + _weighed(p, p)) / p

    def _divergence(self, p: Tensor, q: Tensor) -> Tensor:
        return ops.log(p / q) + (1.0 - p) / p * (ops.log1p(-p) - ops.log1p(-q))

    def _sample(self, shape: tuple[int, ...], p: Tensor) -> Tensor:
        return ops.floor(ops.log(self._u(shape)) / ops.log1p(-ops.stop_gradient(p)))


class Poisson(Distribution):
    """Poisson distribution.

    Parameters
    ----------
    rate : Tensor or number, optional
        The rate; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Poisson(2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("rate",)
    _POSITIVE = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Poisson",
    ) -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        whole = (value >= 0) & (value == ops.floor(value))
        return _inside(whole, ops.xlogy(value, rate) - rate - ops.lgamma(value + 1.0), -math.inf)

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        count = ops.where(value >= 0, ops.floor(value), 0.0)
        return _inside(value >= 0, ops.igammac(count + 1.0, rate), 0.0)

    def _mean(self, rate: Tensor) -> Tensor:
        return rate

    def _mode(self, rate: Tensor) -> Tensor:
        return ops.floor(rate)

    def _var(self, rate: Tensor) -> Tensor:
        return rate

    def _divergence(self, rate: Tensor, rate_b: Tensor) -> Tensor:
        return rate * ops.log(rate / rate_b) - rate + rate_b

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return _poisson("Poisson", "rate", rate, shape, self._type, self._source)


class Categorical(Distribution):
    """One of several categories, whose probabilities are along the last axis.

    Parameters
    ----------
    probs : Tensor, optional
        The probabilities, which add up to 1; if left out they are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad import Tensor
    >>> from dualgrad.nn.probability import distribution
    >>> print(distribution.Categorical(Tensor([0.25, 0.75])).prob(Tensor([0, 1])))
    [0.25 0.75]
    """

    _names = ("probs",)
    _PROBABILITIES = ("probs",)

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = mstype.int32, name: str = "Categorical"
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})
        given = self._given["probs"]
        if given is not None and (not given.ndim or not np.allclose(given._numpy().sum(-1), 1.0, atol=1e-4)):
            raise ValueError(f"Categorical: probs is {given._numpy()}; expected probabilities that add up to 1")

    def _at(self, value: Tensor, rows: Tensor) -> Tensor:
        """The element of each row at the number of a category; 0 for numbers without a category."""
        k = rows.shape[-1]
        shape = np.broadcast_shapes(value.shape, rows.shape[:-1])
        hit = ops.reshape(ops.broadcast_to(value, shape), (*shape, 1)) == np.arange(k)
        return ops.sum(ops.where(hit, rows, 0.0), -1)

    def _log_prob(self, value: Tensor, p: Tensor) -> Tensor:
        return ops.log(self._at(value, p))

    def _cdf(self, value: Tensor, p: Tensor) -> Tensor:
        last = p.shape[-1] - 1
        sums = self._at(ops.clamp(ops.floor(value), 0.0, last), ops.cumsum(p, -1))
        return ops.where(value < 0, 0.0, ops.where(value >= last, 1.0, sums))

    def _mean(self, p: Tensor) -> Tensor:
        return ops.sum(p * np.arange(p.shape[-1], dtype=p.dtype.numpy), -1)

    def _mode(self, p: Tensor) -> Tensor:
        return ops.argmax(p, -1).astype(p.dtype)

    def _var(self, p: Tensor) -> Tensor:
        squares = ops.sum(p * np.arange(p.shape[-1], dtype=p.dtype.numpy) ** 2, -1)
        return squares - ops.square(self._mean(p))

    def _entropy(self, p: Tensor) -> Tensor:
        return -ops.sum(_weighed(p, p), -1)

    def _divergence(self, p: Tensor, q: Tensor) -> Tensor:
        return ops.sum(_weighed(p, p / q), -1)

    def sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        (p,) = self._parameters(args, kwargs)
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        rows = ops.reshape(p, (-1, p.shape[-1]))
        drawn = _categories("Categorical", rows, math.prod(size), True, self._source)
        return ops.reshape(ops.transpose(drawn, (1, 0)), (*size, *p.shape[:-1])).astype(self.dtype)
