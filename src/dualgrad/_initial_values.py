"""Initial values: fixed ones, and random ones drawn from the library's generator.

An initialiser is an object that fills an array. All draw in double precision and cast the result last, so a seed gives
the same weights, up to rounding, in every type.

A random layer's scale follows from the number of inputs that feed one output (*fan in*) and the number of outputs that
one input feeds (*fan out*). For a weight of shape (out, in, ...) the trailing axes count as a receptive field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._settings import one_of, real_number, room, whole_number
from .random import generator

__all__ = [
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "initial_values",
    "shape_of",
]

_BY_NAME: dict[str, type[Initializer]] = {}


def _named(*names: str) -> Callable[[type[Initializer]], type[Initializer]]:
    """Register an initialiser under its class name in lower case and under `names`."""

    def register(cls: type[Initializer]) -> type[Initializer]:
        for name in (cls.__name__.lower(), *names):
            _BY_NAME[name] = cls
        return cls

    return register


class Initializer:
    """Base of all initialisers: a call fills the given float64 array.

    To add an initialiser, write a subclass with a method ``_initialize(self, arr)``.

    Examples
    --------
    >>> from dualgrad.common.initializer import Initializer, initializer
    >>> class Ramp(Initializer):
    ...     def _initialize(self, arr):
    ...         arr.flat = range(arr.size)
    >>> print(initializer(Ramp(), (2, 2)))
    [[0. 1.]
     [2. 3.]]
    """

    _numbers = frozenset(("a", "b", "gain", "groups", "mean", "negative_slope", "scale", "sigma", "sparsity"))

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if name in self._numbers:
                real_number(type(self).__name__, name, value)
        self._kwargs = kwargs

    def __call__(self, arr: np.ndarray) -> None:
        if not isinstance(arr, np.ndarray) or arr.dtype.kind not in "fc":
            what = f"an array of {arr.dtype}" if isinstance(arr, np.ndarray) else type(arr).__name__
            raise TypeError(f"{type(self).__name__}: expected an array of floats to fill, got {what}")
        self._initialize(arr)

    def _initialize(self, arr: np.ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _initialize(self, arr)")

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({settings})"


@_named("zeros")
class Zero(Initializer):
    """Zeros everywhere."""

    def _initialize(self, arr: np.ndarray) -> None:
        arr.fill(0.0)


@_named("ones")
class One(Initializer):
    """Ones everywhere."""

    def _initialize(self, arr: np.ndarray) -> None:
        arr.fill(1.0)


class Constant(Initializer):
    """One value everywhere, or an array that broadcasts to the shape."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _initialize(self, arr: np.ndarray) -> None:
        arr[...] = self.value


@_named()
class Identity(Initializer):
    """Ones on the diagonal of a matrix, zeros elsewhere."""

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim != 2:
            raise ValueError(f"Identity: only a matrix has an identity, got shape {arr.shape}")
        arr[...] = np.eye(*arr.shape)


@_named()
class Normal(Initializer):
    """Normal distribution with standard deviation `sigma` around `mean`."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        if sigma < 0:
            raise ValueError(f"Normal: sigma must not be negative, got {sigma}")
        self.sigma = sigma
        self.mean = mean

    def _initialize(self, arr: np.ndarray) -> None:
        arr[...] = generator().normal(self.mean, self.sigma, arr.shape)


@_named()
class TruncatedNormal(Initializer):
    """Normal distribution that draws values outside ``mean + sigma * [a, b]`` again."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        if sigma < 0:
            raise ValueError(f"TruncatedNormal: sigma must not be negative, got {sigma}")
        # Drawing again ends soon only if the window holds a fair share of the distribution.
        share = 0.5 * (math.erf(b / math.sqrt(2.0)) - math.erf(a / math.sqrt(2.0)))
        if share < 1e-3:
            raise ValueError(
                f"TruncatedNormal: [a, b] must hold at least a thousandth of the distribution, got [{a}, {b}]"
            )
        self.sigma = sigma
        self.mean = mean
        self.a = a
        self.b = b

    def _initialize(self, arr: np.ndarray) -> None:
        rng = generator()
        draws = rng.standard_normal(arr.size)
        outside = np.flatnonzero((draws < self.a) | (draws > self.b))
        while outside.size:
            fresh = rng.standard_normal(outside.size)
            draws[outside] = fresh
            outside = outside[(fresh < self.a) | (fresh > self.b)]
        arr[...] = self.mean + self.sigma * draws.reshape(arr.shape)


@_named()
class Uniform(Initializer):
    """Uniform distribution on ``[-scale, scale)``."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _initialize(self, arr: np.ndarray) -> None:
        arr[...] = generator().uniform(-self.scale, self.scale, arr.shape)


def _fans(what: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return (fan in, fan out) of a weight of this shape."""
    if len(shape) < 2:
        raise ValueError(f"{what}: needs a weight of at least two axes (out, in), got shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


class _Xavier(Initializer):
    """Keeps the variance about equal in both directions: 2 gain^2 / (fan in + fan out)."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _deviation(self, shape: tuple[int, ...]) -> float:
        total = sum(_fans(type(self).__name__, shape))
        return self.gain * math.sqrt(2.0 / total) if total else 0.0


@_named("xavier_normal")
class XavierNormal(_Xavier):
    """Normal distribution with variance ``2 gain^2 / (fan_in + fan_out)``."""

    def _initialize(self, arr: np.ndarray) -> None:
        arr[...] = generator().normal(0.0, self._deviation(arr.shape), arr.shape)


@_named("xavier_uniform")
class XavierUniform(_Xavier):
    """Uniform distribution on +-``gain sqrt(6 / (fan_in + fan_out))``."""

    def _initialize(self, arr: np.ndarray) -> None:
        bound = math.sqrt(3.0) * self._deviation(arr.shape)
        arr[...] = generator().uniform(-bound, bound, arr.shape)


class _He(Initializer):
    """Keeps the variance through a rectifier: gain^2 / fan."""

    def __init__(self, negative_slope: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        what = type(self).__name__
        if not one_of(mode, ("fan_in", "fan_out")):
            raise ValueError(f"{what}: mode must be 'fan_in' or 'fan_out', got {mode!r}")
        gains = {
            "linear": 1.0,
            "sigmoid": 1.0,
            "tanh": 5.0 / 3.0,
            "relu": math.sqrt(2.0),
            "leaky_relu": math.sqrt(2.0 / (1.0 + negative_slope**2)),
        }
        if not one_of(nonlinearity, gains):
            raise ValueError(f"{what}: nonlinearity must be one of {', '.join(gains)}, got {nonlinearity!r}")
        self.negative_slope = negative_slope
        self.mode = mode
        self.nonlinearity = nonlinearity
        self._gain = gains[nonlinearity]

    def _deviation(self, shape: tuple[int, ...]) -> float:
        fan = _fans(type(self).__name__, shape)[self.mode == "fan_out"]
        return self._gain / math.sqrt(fan) if fan else 0.0


@_named("he_normal")
class HeNormal(_He):
    """Normal distribution with variance ``gain^2 / fan``."""

    def _initialize(self, arr: np.ndarray) -> None:
        arr[...] = generator().normal(0.0, self._deviation(arr.shape), arr.shape)


@_named("he_uniform")
class HeUniform(_He):
    """Uniform distribution on +-``gain sqrt(3 / fan)``."""

    def _initialize(self, arr: np.ndarray) -> None:
        bound = math.sqrt(3.0) * self._deviation(arr.shape)
        arr[...] = generator().uniform(-bound, bound, arr.shape)


@_named()
class VarianceScaling(Initializer):
    """Variance ``scale / fan``, with a choice of distribution and fan.

    `mode` is 'fan_in', 'fan_out' or 'fan_avg', the mean of both; `distribution` is 'truncated_normal' (cut at
    two of its standard deviations), 'untruncated_normal' or 'uniform'.
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if not scale > 0:
            raise ValueError(f"VarianceScaling: scale must be positive, got {scale}")
        if not one_of(mode, ("fan_in", "fan_out", "fan_avg")):
            raise ValueError(f"VarianceScaling: mode must be 'fan_in', 'fan_out' or 'fan_avg', got {mode!r}")
        if not one_of(distribution, ("truncated_normal", "untruncated_normal", "uniform")):
            raise ValueError(
                "VarianceScaling: distribution must be 'truncated_normal', 'untruncated_normal' or 'uniform', got "
                f"{distribution!r}"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def _initialize(self, arr: np.ndarray) -> None:
        into, out = _fans("VarianceScaling", arr.shape)
        fan = {"fan_in": into, "fan_out": out, "fan_avg": (into + out) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(1.0, fan))
        if self.distribution == "uniform":
            Uniform(math.sqrt(3.0) * deviation)(arr)
        elif self.distribution == "untruncated_normal":
            Normal(deviation)(arr)
        else:
            TruncatedNormal(deviation / _SPREAD_WITHIN_TWO)(arr)


# The standard deviation of a standard normal distribution cut at +-2.
_SPREAD_WITHIN_TWO = math.sqrt(1.0 - 4.0 * math.exp(-2.0) / math.sqrt(2.0 * math.pi) / math.erf(math.sqrt(2.0)))


@_named()
class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, whichever are fewer, times `gain`.

    All axes but the first count as one. All orthogonal matrices are equally likely.
    """

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim < 2:
            raise ValueError(f"Orthogonal: needs a weight of at least two axes, got shape {arr.shape}")
        rows, columns = arr.shape[0], math.prod(arr.shape[1:])
        draws = generator().standard_normal((max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(draws)
        q *= np.sign(np.diag(r))  # makes the decomposition unique, and so the distribution uniform
        arr[...] = self.gain * (q if rows >= columns else q.T).reshape(arr.shape)


class Sparse(Initializer):
    """Normal distribution for a matrix. In each column a share `sparsity` of the rows is zero."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        if not 0 <= sparsity <= 1:
            raise ValueError(f"Sparse: sparsity must be between 0 and 1, got {sparsity}")
        self.sparsity = sparsity
        self.sigma = sigma

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim != 2:
            raise ValueError(f"Sparse: needs a matrix, got shape {arr.shape}")
        rng = generator()
        arr[...] = rng.normal(0.0, self.sigma, arr.shape)
        places = rng.permuted(np.tile(np.arange(arr.shape[0])[:, None], arr.shape[1]), axis=0)
        np.put_along_axis(arr, places[: math.ceil(self.sparsity * arr.shape[0])], 0.0, axis=0)


@_named()
class Dirac(Initializer):
    """A convolution weight that passes its inputs on: 1 in the middle of the field, 0 elsewhere."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        self.groups = whole_number("Dirac", "groups", groups, 1)

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim not in (3, 4, 5) or arr.shape[0] % self.groups:
            raise ValueError(
                f"Dirac: needs a weight of 3 to 5 axes whose first is a multiple of {self.groups} groups, got shape "
                f"{arr.shape}"
            )
        arr.fill(0.0)
        middle = tuple(n // 2 for n in arr.shape[2:])
        channels = arr.shape[0] // self.groups
        for group in range(self.groups):
            for channel in range(min(channels, arr.shape[1])):
                arr[(group * channels + channel, channel, *middle)] = 1.0


def shape_of(shape: Any) -> tuple[int, ...]:
    """Read a shape given as an int or a sequence of ints."""
    axes: Sequence[Any] = (shape,) if isinstance(shape, (int, np.integer)) else shape
    if not isinstance(axes, (tuple, list)) or any(not isinstance(n, (int, np.integer)) for n in axes):
        raise TypeError(f"initializer: shape must be an int or a tuple or list of ints, got {shape!r}")
    if any(n < 0 for n in axes):
        raise ValueError(f"initializer: shape must not have negative axes, got {tuple(axes)}")
    found = tuple(int(n) for n in axes)
    room("initializer", found, 16)
    return found


def initial_values(init: Any, shape: int | Sequence[int]) -> np.ndarray:
    """An array of initial values, by a name, a number or an initialiser."""
    axes = shape_of(shape)
    if isinstance(init, (int, float, complex, np.number)):
        return np.full(axes, init)
    if isinstance(init, str):
        if init.lower() not in _BY_NAME:
            raise ValueError(f"initializer: no initialiser is named {init!r}; known: {', '.join(sorted(_BY_NAME))}")
        init = _BY_NAME[init.lower()]()
    elif not isinstance(init, Initializer):
        raise TypeError(
            f"initializer: init must be a name, a number, a Tensor or an Initializer, got {type(init).__name__}"
        )
    values = np.empty(axes)
    init(values)
    return values
