"""Shared by all distributions: parameters, methods that apply formulas, samples."""

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
from dualgrad.ops.random._samples import _own, _uniform
from dualgrad.ops.random.drawing import _source
from dualgrad.tensor import Tensor

from ...._settings import whole_number

__all__ = ["Distribution"]
_LOG_2_PI = math.log(2 * math.pi)


class Distribution(Cell):
    """Base of the distributions.

    Each has ``prob``, ``log_prob``, ``cdf``, ``log_cdf``, ``survival_function`` and ``log_survival`` of a value;
    ``mean``, ``sd``, ``var``, ``mode`` and ``entropy``; ``kl_loss`` and ``cross_entropy`` with another of its kind; and
    ``sample``. A call ``dist(name, ...)`` calls the method of this name.

    Parameters
    ----------
    seed : int or None
        Draw from a source of its own with this seed; None and 0 stand for the source of `dualgrad.set_seed`.
    dtype : type
        Type of parameters, values and samples. With an integer type parameters are Float32.
    name : str
        A name.
    param : dict
        The parameters by name; parameters that are None are given to each call.

    Raises
    ------
    NotImplementedError
        If the distribution has no formula for the method.

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
        if not isinstance(param, dict):
            raise TypeError(f"{name}: param must be a dict of parameters by name, got {type(param).__name__}")
        seed = None if seed is None else whole_number(name, "seed", seed)
        self.seed = seed
        self.name = name
        self.dtype: mstype.DType = as_dtype(dtype, where=name)
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
        """The parameters: from the call, by position or name, else from the distribution."""
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

    # The methods of a distribution.

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
        """The place of the largest density."""
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
        """The divergence from another distribution of the same kind, given by its name and parameters.

        The other distribution's parameters come first, then optionally this one's.
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
        """Draw samples: `shape`, then the broadcast shape of the parameters."""
        parameters = self._parameters(args, kwargs)
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        whole = (*size, *np.broadcast_shapes(*[p.shape for p in parameters]))
        drawn = self._asked("sample")(whole, *parameters)
        return drawn if drawn.dtype is self.dtype else drawn.astype(self.dtype)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(name, str) or not callable(getattr(self, name, None)):
            raise ValueError(f"{type(self).__name__}: name is {name!r:.40}; expected a method, as 'log_prob'")
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
