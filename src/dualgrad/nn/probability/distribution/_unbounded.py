"""Distributions of all real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn.probability.distribution._base import _LOG_2_PI, Distribution, _inside
from dualgrad.ops.random._samples import _gamma, _laplace
from dualgrad.tensor import Tensor

__all__ = ["Cauchy", "Gumbel", "Laplace", "Logistic", "Normal", "StudentT"]

_EULER = float(np.euler_gamma)


class Normal(Distribution):
    """Normal distribution.

    Parameters
    ----------
    mean, sd : Tensor or number, optional
        The mean and the standard deviation; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Normal(1.0, 1.0).sample((2, 3)).shape
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
        name: str = "Normal",
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -0.5 * ops.square((value - mean) / sd) - ops.log(sd) - 0.5 * _LOG_2_PI

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 * ops.erfc((mean - value) / (sd * math.sqrt(2.0)))

    def _survival(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 * ops.erfc((value - mean) / (sd * math.sqrt(2.0)))

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + 0.0 * sd

    _mode = _mean

    def _var(self, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.square(sd) + 0.0 * mean

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.log(sd) + 0.5 * (_LOG_2_PI + 1.0) + 0.0 * mean

    def _divergence(self, mean: Tensor, sd: Tensor, mean_b: Tensor, sd_b: Tensor) -> Tensor:
        ratio = sd / sd_b
        return 0.5 * (ops.square(ratio) + ops.square((mean - mean_b) / sd_b) - 1.0) - ops.log(ratio)

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * self._z(shape)


class Gumbel(Distribution):
    """Gumbel distribution of the largest value.

    Parameters
    ----------
    loc, scale : Tensor or number
        The location and the scale.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Gumbel(1.0, 1.0).sample((2, 3)).shape
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
        name: str = "Gumbel",
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = (value - loc) / scale
        return -(z + ops.exp(-z)) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(-ops.exp((loc - value) / scale))

    def _survival(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.expm1(-ops.exp((loc - value) / scale))

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + scale * _EULER

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + 0.0 * scale

    def _var(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.square(scale) * (math.pi**2 / 6.0) + 0.0 * loc

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return 1.0 + _EULER + ops.log(scale) + 0.0 * loc

    def _divergence(self, loc: Tensor, scale: Tensor, loc_b: Tensor, scale_b: Tensor) -> Tensor:
        ratio = scale / scale_b
        rest = ops.expm1((loc_b - loc) / scale_b + ops.lgamma(ratio + 1.0))
        return -ops.log(ratio) + _EULER * (ratio - 1.0) + rest + (loc - loc_b) / scale_b

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return loc - scale * ops.log(-ops.log(self._u(shape)))


class Laplace(Distribution):
    """Laplace distribution; `sd` is its scale.

    Parameters
    ----------
    mean, sd : Tensor or number, optional
        The mean and the standard deviation; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Laplace(1.0, 1.0).sample((2, 3)).shape
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
        name: str = "Laplace",
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -ops.abs(value - mean) / sd - ops.log(2.0 * sd)

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        tail = 0.5 * ops.exp(-ops.abs(z))
        return ops.where(z < 0, tail, 1.0 - tail)

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + 0.0 * sd

    _mode = _mean

    def _var(self, mean: Tensor, sd: Tensor) -> Tensor:
        return 2.0 * ops.square(sd) + 0.0 * mean

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return 1.0 + ops.log(2.0 * sd) + 0.0 * mean

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * _laplace(self._source, shape, self._type)


class Cauchy(Distribution):
    """Cauchy distribution, which has no mean and no variance.

    Parameters
    ----------
    loc, scale : Tensor or number, optional
        The location and the scale; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Cauchy(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("loc", "scale")
    _POSITIVE = ("scale",)

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.log1p(ops.square((value - loc) / scale)) - ops.log(math.pi * scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.atan((value - loc) / scale) / math.pi + 0.5

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + 0.0 * scale

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.log(4.0 * math.pi * scale) + 0.0 * loc

    def _divergence(self, loc: Tensor, scale: Tensor, loc_b: Tensor, scale_b: Tensor) -> Tensor:
        squares = ops.square(scale + scale_b) + ops.square(loc - loc_b)
        return ops.log(squares / (4.0 * scale * scale_b))

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return loc + scale * ops.tan(math.pi * (self._u(shape) - 0.5))


class Logistic(Distribution):
    """Logistic distribution.

    Parameters
    ----------
    loc, scale : Tensor or number, optional
        The location and the scale; parameters that are left out are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Logistic(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("loc", "scale")
    _POSITIVE = ("scale",)

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "Logistic",
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = (value - loc) / scale
        return -z - 2.0 * ops.softplus(-z) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((value - loc) / scale)

    def _survival(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((loc - value) / scale)

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + 0.0 * scale

    _mode = _mean

    def _var(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.square(scale) * (math.pi**2 / 3.0) + 0.0 * loc

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.log(scale) + 2.0 + 0.0 * loc

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        u = self._u(shape)
        return loc + scale * (ops.log(u) - ops.log1p(-u))


class StudentT(Distribution):
    """Distribution of Student; `sd` is its scale.

    Parameters
    ----------
    df, mean, sd : Tensor or number, optional
        The degrees of freedom, the mean and the standard deviation; omitted parameters are given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.StudentT(3.0, 1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = ("df", "mean", "sd")
    _POSITIVE = (
        "df",
        "sd",
    )

    def __init__(
        self,
        df: Any = None,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: Any = mstype.float32,
        name: str = "StudentT",
    ) -> None:
        super().__init__(seed, dtype, name, {"df": df, "mean": mean, "sd": sd})

    def _log_prob(self, value: Tensor, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        half = 0.5 * (df + 1.0)
        constant = ops.lgamma(half) - ops.lgamma(0.5 * df) - 0.5 * ops.log(math.pi * df) - ops.log(sd)
        return constant - half * ops.log1p(ops.square(z) / df)

    def _mean(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return _inside(df > 1, mean + 0.0 * sd, math.nan)

    def _mode(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + 0.0 * (df + sd)

    def _var(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        finite = ops.square(sd) * df / ops.where(df > 2, df - 2.0, 1.0) + 0.0 * mean
        return ops.where(df > 2, finite, ops.where(df > 1, math.inf, math.nan))

    def _sample(self, shape: tuple[int, ...], df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        spread = _gamma("StudentT", 0.5 * df, shape, self._type, self._source) / (0.5 * df)
        return mean + sd * self._z(shape) / ops.sqrt(spread)
