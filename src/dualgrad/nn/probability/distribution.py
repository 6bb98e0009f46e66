"""Distributions as Cells: densities, distribution functions, moments, entropies, divergences and samples.

Parameters are given when a distribution is made, or left out and given to each call, after the value. Densities are
formulas of differentiable operators, so derivatives of every order go to values and parameters; those of the gamma
family's samples, and of Poisson's, do not go to what is drawn by rejection, which is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._engine.transforms import tensor as _engine
from dualgrad.dtype import as_dtype
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import operand
from dualgrad.ops.random.distributions import _categories, _gamma, _laplace, _own, _poisson, _uniform
from dualgrad.ops.random.drawing import _source
from dualgrad.tensor import Tensor

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "Uniform",
]  # fmt: skip

_EULER = float(np.euler_gamma)
_LOG_2_PI = math.log(2 * math.pi)


class Distribution(Cell):
    """Base of the distributions.

    Each has ``prob``, ``log_prob``, ``cdf``, ``log_cdf``, ``survival_function`` and ``log_survival`` of a value;
    ``mean``, ``sd``, ``var``, ``mode`` and ``entropy``; ``kl_loss`` and ``cross_entropy`` with another one of its kind;
    ``sample``. Called as ``dist(name, ...)``, it calls the method of this name.

    Parameters
    ----------
    seed : int or None
        Draw from a source of its own with this seed; None and 0 stand for that of `dualgrad.set_seed`.
    dtype : type
        Type of parameters, values and samples. With an integer type parameters are Float32.
    name : str
        A name.
    param : dict
        The parameters by name; those that are None are given to each call.

    Raises
    ------
    NotImplementedError
        If there is no formula for what is asked.

    Examples
    --------
    >>> from dualgrad import Tensor
    >>> from dualgrad.nn.probability import distribution
    >>> normal = distribution.Normal(0.0, 2.0)
    >>> print(normal.log_prob(Tensor([0.0])), normal.sd(), normal("entropy"))
    [-1.6120857] 2.0 2.1120858
    """

    _names: tuple[str, ...] = ()

    def __init__(self, seed: int | None, dtype: Any, name: str, param: dict[str, Any]) -> None:
        super().__init__()
        self.seed = seed
        self.name = name
        self.dtype = as_dtype(dtype, where=name)
        self._source = _source(None) if not seed else _own(seed, 0)
        self._type = self.dtype if self.dtype.is_float else mstype.float32
        self._given = {key: None if value is None else self._parameter(key, value) for key, value in param.items()}
        for key in self._POSITIVE:
            self._check(key, self._given.get(key), lambda v: v > 0, "positive")
        for key in self._PROBABILITIES:
            self._check(key, self._given.get(key), lambda v: (v >= 0) & (v <= 1), "probabilities")

    _POSITIVE: tuple[str, ...] = ()
    _PROBABILITIES: tuple[str, ...] = ()

    def _parameter(self, key: str, value: Any) -> Tensor:
        return ops.cast(operand(f"{self.name} ({key})", value), self._type)

    def _check(self, key: str, value: Tensor | None, holds: Callable[[np.ndarray], np.ndarray], what: str) -> None:
        if value is not None and not holds(value._numpy()).all():
            raise ValueError(f"{type(self).__name__}: {key} is {value._numpy()}; expected {what} numbers")

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any], suffix: str = "") -> tuple[Tensor, ...]:
        """The parameters: those given to the call, by place or by name, else those of the distribution."""
        own = type(self).__name__
        if len(args) > len(self._names):
            raise TypeError(f"{own}: {len(args)} parameters are given; expected {', '.join(self._names)}")
        found = {**self._given, **dict(zip(self._names, args, strict=False))}
        for key, value in kwargs.items():
            if key.removesuffix(suffix) not in self._names:
                raise TypeError(f"{own}: there is no parameter {key!r}; expected {', '.join(self._names)}")
            found[key.removesuffix(suffix)] = value
        missing = [key for key in self._names if found.get(key) is None]
        if missing:
            raise ValueError(f"{own}: {', '.join(missing)} given neither to the distribution nor to the call")
        return tuple([self._parameter(key, found[key]) for key in self._names])

    def _asked(self, what: str) -> Callable[..., Tensor]:
        formula = getattr(self, f"_{what}", None)
        if formula is None:
            raise NotImplementedError(f"{type(self).__name__}: there is no formula for {what}")
        return formula

    def _value(self, value: Any) -> Tensor:
        return ops.cast(operand(type(self).__name__, value), self._type)

    # What is asked of a distribution.

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of the density, or of the probability."""
        return self._asked("log_prob")(self._value(value), *self._parameters(args, kwargs))

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The density, or the probability."""
        return ops.exp(self.log_prob(value, *args, **kwargs))

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of a sample up to the value."""
        return self._asked("cdf")(self._value(value), *self._parameters(args, kwargs))

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of a sample above the value."""
        formula = getattr(self, "_survival", None)
        if formula is None:
            return 1.0 - self.cdf(value, *args, **kwargs)
        return formula(self._value(value), *self._parameters(args, kwargs))

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of `cdf`."""
        return ops.log(self.cdf(value, *args, **kwargs))

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of `survival_function`."""
        return ops.log(self.survival_function(value, *args, **kwargs))

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean."""
        return self._asked("mean")(*self._parameters(args, kwargs))

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """Where the density is largest."""
        return self._asked("mode")(*self._parameters(args, kwargs))

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance."""
        return self._asked("var")(*self._parameters(args, kwargs))

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation."""
        return ops.sqrt(self.var(*args, **kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy, in natural units."""
        return self._asked("entropy")(*self._parameters(args, kwargs))

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The divergence from another distribution of the same kind, whose name and parameters are given.

        Parameters after those of the other one are the own ones.
        """
        return self._asked("divergence")(*self._two(dist, args, kwargs))

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """`entropy` plus `kl_loss`."""
        both = self._two(dist, args, kwargs)
        return self._asked("entropy")(*both[: len(both) // 2]) + self._asked("divergence")(*both)

    def _two(self, dist: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
        own = type(self).__name__
        if dist != own:
            raise ValueError(f"{own}: the other distribution is {dist!r}; expected {own!r}")
        n = len(self._names)
        other = {key: value for key, value in kwargs.items() if key.endswith("_b")}
        mine = {key: value for key, value in kwargs.items() if not key.endswith("_b")}
        foreign = dict(zip(self._names, args[:n], strict=False)) | {k.removesuffix("_b"): v for k, v in other.items()}
        if set(foreign) != set(self._names):
            raise ValueError(f"{own}: parameters {sorted(foreign)} of the other distribution; expected {self._names}")
        second = tuple([self._parameter(key, foreign[key]) for key in self._names])
        return (*self._parameters(args[n:], mine, "_a"), *second)

    def sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        """Draw samples: the shape, then what the parameters broadcast to."""
        parameters = self._parameters(args, kwargs)
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        whole = (*size, *np.broadcast_shapes(*[p.shape for p in parameters]))
        drawn = self._asked("sample")(whole, *parameters)
        return drawn if drawn.dtype is self.dtype else drawn.astype(self.dtype)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(self, name)(*args, **kwargs)

    def _u(self, shape: tuple[int, ...]) -> Tensor:
        """Uniform numbers on (0, 1)."""
        return _uniform(self._source, shape, self._type, open_end=True)

    def _z(self, shape: tuple[int, ...]) -> Tensor:
        """Standard normal numbers."""
        source, target = self._source, self._type.numpy
        return _engine.draw(lambda: np.asarray(source().standard_normal(shape)).astype(target))

    def extend_repr(self) -> str:
        return ", ".join(f"{key}={'' if value is None else value}" for key, value in self._given.items())


def _inside(holds: Tensor, inside: Tensor, outside: float) -> Tensor:
    return ops.where(holds, inside, outside)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


def _weighed(p: Tensor, q: Tensor) -> Tensor:
    """P log q, 0 where p is 0."""
    return ops.xlogy(p, q)


class Normal(Distribution):
    """Normal distribution.

    Parameters
    ----------
    mean, sd : Tensor or number, optional
        The mean and the standard deviation; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Normal(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "mean",
        "sd",
    )
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


class Uniform(Distribution):
    """Uniform distribution from `low` to `high`.

    Parameters
    ----------
    low, high : Tensor or number, optional
        The lower end and the upper end; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Uniform(0.0, 2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "low",
        "high",
    )

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
        The rate; what is left out is given to each call.
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
        The shape and the rate; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Gamma(1.0, 2.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "concentration",
        "rate",
    )
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
        The first shape and the second shape; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Beta(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "concentration1",
        "concentration0",
    )
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


class Bernoulli(Distribution):
    """One with a probability, zero else.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability; what is left out is given to each call.
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
    """How many failures come before the first success, each try a success with a probability.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability; what is left out is given to each call.
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
        The rate; what is left out is given to each call.
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

    _names = (
        "loc",
        "scale",
    )
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
        The mean and the standard deviation; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Laplace(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "mean",
        "sd",
    )
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

    _names = (
        "loc",
        "scale",
    )
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


class Cauchy(Distribution):
    """Cauchy distribution, which has no mean and no variance.

    Parameters
    ----------
    loc, scale : Tensor or number, optional
        The location and the scale; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Cauchy(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "loc",
        "scale",
    )
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
        The location and the scale; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.Logistic(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "loc",
        "scale",
    )
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


class HalfNormal(Distribution):
    """Upper half of a normal distribution: from `mean` upwards.

    Parameters
    ----------
    mean, sd : Tensor or number, optional
        The mean and the standard deviation; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.HalfNormal(1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "mean",
        "sd",
    )
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


class StudentT(Distribution):
    """Distribution of Student; `sd` is its scale.

    Parameters
    ----------
    df, mean, sd : Tensor or number, optional
        The degrees of freedom, the mean and the standard deviation; what is left out is given to each call.
    seed, dtype, name
        As in `Distribution`.

    Examples
    --------
    >>> from dualgrad.nn.probability import distribution
    >>> distribution.StudentT(3.0, 1.0, 1.0).sample((2, 3)).shape
    (2, 3)
    """

    _names = (
        "df",
        "mean",
        "sd",
    )
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


class Categorical(Distribution):
    """One of several categories, whose probabilities are along the last axis.

    Parameters
    ----------
    probs : Tensor, optional
        The probabilities, which add up to 1; left out they are given to each call.
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
        """The element of each row at the number of a category; 0 where there is none."""
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
