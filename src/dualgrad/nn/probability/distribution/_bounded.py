"""Distributions of positive numbers, and of numbers in an interval."""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn.probability.distribution._base import _LOG_2_PI, Distribution, _inside, _log_beta
from dualgrad.ops.random._samples import _gamma
from dualgrad.tensor import Tensor

__all__ = ["Beta", "Exponential", "Gamma", "HalfNormal", "LogNormal", "Uniform"]


class Uniform(Distribution):
    """Uniform distribution from `low` to `high`.

    Parameters
    ----------
    low, high : Tensor or number, optional
        The lower end and the upper end; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Uniform(0.0, 2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("low", "high")

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Uniform",
    ) -> None:
        super().__init__(seed, dtype, name, {"low": low, "high": high})

    def _log_prob(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return _inside((value >= low) & (value <= high), -ops.log(high - low), -math.inf)

    def _cdf(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return ops.clamp((value - low) / (high - low), 0.0, 1.0)

    def _mean(self, low: Tensor, high: Tensor) -> Tensor:
        return 0.5 * (low + high)

    def _var(self, low: Tensor, high: Tensor) -> Tensor:
        return ops.square(high - low) / 12.0

    def _entropy(self, low: Tensor, high: Tensor) -> Tensor:
        return ops.log(high - low)

    def _divergence(self, low: Tensor, high: Tensor, low_b: Tensor, high_b: Tensor) -> Tensor:
        within = (low_b <= low) & (high <= high_b)
        return _inside(within, ops.log((high_b - low_b) / (high - low)), math.inf)

    def _sample(self, shape: tuple[int, ...], low: Tensor, high: Tensor) -> Tensor:
        return low + (high - low) * self._u(shape)


class Exponential(Distribution):
    """Exponential distribution.

    Parameters
    ----------
    rate : Tensor or number, optional
        The rate; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Exponential(2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("rate",)
    _POSITIVE = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Exponential",
    ) -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        return _inside(value >= 0, ops.log(rate) - rate * value, -math.inf)

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        return _inside(value >= 0, -ops.expm1(-rate * value), 0.0)

    def _survival(self, value: Tensor, rate: Tensor) -> Tensor:
        return _inside(value >= 0, ops.exp(-rate * value), 1.0)

    def _mean(self, rate: Tensor) -> Tensor:
        return 1.0 / rate

    def _mode(self, rate: Tensor) -> Tensor:
        return ops.zeros_like(rate)

    def _var(self, rate: Tensor) -> Tensor:
        return 1.0 / ops.square(rate)

    def _entropy(self, rate: Tensor) -> Tensor:
        return 1.0 - ops.log(rate)

    def _divergence(self, rate: Tensor, rate_b: Tensor) -> Tensor:
        return ops.log(rate / rate_b) + rate_b / rate - 1.0

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return -ops.log(self._u(shape)) / rate


class Gamma(Distribution):
    """Gamma distribution.

    Parameters
    ----------
    concentration, rate : Tensor or number, optional
        The shape and the rate; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Gamma(1.0, 2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("concentration", "rate")
    _POSITIVE = (
        "concentration",
        "rate",
    )

    def __init__(
        self,
        concentration: Any = None,
        rate: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Gamma",
    ) -> None:
        super().__init__(seed, dtype, name, {"concentration": concentration, "rate": rate})

    def _log_prob(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        a = concentration
        inside = a * ops.log(rate) + ops.xlogy(a - 1.0, value) - rate * value - ops.lgamma(a)
        return _inside(value >= 0, inside, -math.inf)

    def _cdf(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return _inside(value > 0, ops.igamma(concentration, ops.where(value > 0, rate * value, 1.0)), 0.0)

    def _mean(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return concentration / rate

    def _mode(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return _inside(concentration >= 1, (concentration - 1.0) / rate, math.nan)

    def _var(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return concentration / ops.square(rate)

    def _entropy(self, concentration: Tensor, rate: Tensor) -> Tensor:
        a = concentration
        return a - ops.log(rate) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)

    def _divergence(self, a: Tensor, rate: Tensor, b: Tensor, rate_b: Tensor) -> Tensor:
        shapes = (a - b) * ops.digamma(a) - ops.lgamma(a) + ops.lgamma(b)
        return shapes + b * ops.log(rate / rate_b) + a * (rate_b / rate - 1.0)

    def _sample(self, shape: tuple[int, ...], concentration: Tensor, rate: Tensor) -> Tensor:
        return _gamma("Gamma", concentration, shape, self._type, self._source) / rate


class Beta(Distribution):
    """Beta distribution.

    Parameters
    ----------
    concentration1, concentration0 : Tensor or number, optional
        The first shape and the second shape; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Beta(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("concentration1", "concentration0")
    _POSITIVE = (
        "concentration1",
        "concentration0",
    )

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Beta",
    ) -> None:
        super().__init__(seed, dtype, name, {"concentration1": concentration1, "concentration0": concentration0})

    def _log_prob(self, value: Tensor, a: Tensor, b: Tensor) -> Tensor:
        inside = ops.xlogy(a - 1.0, value) + ops.xlog1py(b - 1.0, -value) - _log_beta(a, b)
        return _inside((value >= 0) & (value <= 1), inside, -math.inf)

    def _mean(self, a: Tensor, b: Tensor) -> Tensor:
        return a / (a + b)

    def _mode(self, a: Tensor, b: Tensor) -> Tensor:
        return _inside((a > 1) & (b > 1), (a - 1.0) / (a + b - 2.0), math.nan)

    def _var(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b / (ops.square(a + b) * (a + b + 1.0))

    def _entropy(self, a: Tensor, b: Tensor) -> Tensor:
        own = (a - 1.0) * ops.digamma(a) + (b - 1.0) * ops.digamma(b)
        return _log_beta(a, b) - own + (a + b - 2.0) * ops.digamma(a + b)

    def _divergence(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        own = (a - c) * ops.digamma(a) + (b - d) * ops.digamma(b)
        return _log_beta(c, d) - _log_beta(a, b) + own + (c - a + d - b) * ops.digamma(a + b)

    def _sample(self, shape: tuple[int, ...], a: Tensor, b: Tensor) -> Tensor:
        x, y = [_gamma("Beta", part, shape, self._type, self._source) for part in (a, b)]
        return x / (x + y)


class LogNormal(Distribution):
    """Distribution whose logarithm is normal with mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    loc, scale : Tensor or number
        The location and the scale.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.LogNormal(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("loc", "scale")
    _POSITIVE = ("scale",)

    def __init__(
        self,
        loc: Any,
        scale: Any,
        seed: int | None = 0,
        dtype: Any = mstype.float32,
        name: str = "LogNormal",
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        x = ops.log(ops.where(value > 0, value, 1.0))
        inside = -0.5 * ops.square((x - loc) / scale) - ops.log(scale) - 0.5 * _LOG_2_PI - x
        return _inside(value > 0, inside, -math.inf)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        x = ops.log(ops.where(value > 0, value, 1.0))
        return _inside(value > 0, 0.5 * ops.erfc((loc - x) / (scale * math.sqrt(2.0))), 0.0)

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc + 0.5 * ops.square(scale))

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc - ops.square(scale))

    def _var(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.expm1(ops.square(scale)) * ops.exp(2.0 * loc + ops.square(scale))

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + ops.log(scale) + 0.5 * (_LOG_2_PI + 1.0)

    def _divergence(self, loc: Tensor, scale: Tensor, loc_b: Tensor, scale_b: Tensor) -> Tensor:
        ratio = scale / scale_b
        return 0.5 * (ops.square(ratio) + ops.square((loc - loc_b) / scale_b) - 1.0) - ops.log(ratio)

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc + scale * self._z(shape))


class HalfNormal(Distribution):
    """Upper half of a normal distribution: from `mean` upwards.

    Parameters
    ----------
    mean, sd : Tensor or number, optional
        The mean and the standard deviation; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.HalfNormal(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("mean", "sd")
    _POSITIVE = ("sd",)

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "HalfNormal",
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        return _inside(z >= 0, 0.5 * math.log(2.0 / math.pi) - ops.log(sd) - 0.5 * ops.square(z), -math.inf)

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        return _inside(z >= 0, ops.erf(z / math.sqrt(2.0)), 0.0)

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * math.sqrt(2.0 / math.pi)

    def _mode(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + 0.0 * sd

    def _var(self, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.square(sd) * (1.0 - 2.0 / math.pi) + 0.0 * mean

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.log(sd) + 0.5 * math.log(math.pi / 2.0) + 0.5 + 0.0 * mean

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * ops.abs(self._z(shape))
