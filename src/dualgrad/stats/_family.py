"""Distributions of one variable: SciPy's functions, made from a few formulas.

The formulas are for the standard distribution, with loc 0 and scale 1. This module holds the shared parts: arguments,
the support, invalid parameters, and the relations between the functions.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import ops
from ..tensor import Tensor
from ._logs import log_of_part
from ._operands import real

__all__ = ["Continuous", "Discrete"]

INF = math.inf
_NAN = math.nan

#: The condition on a parameter, by its name in a row.
_CONDITIONS: dict[str, Callable[[Tensor], Any]] = {
    "positive": lambda p: p > 0,
    "not negative": lambda p: p >= 0,
    "probability": lambda p: (p >= 0) & (p <= 1),
    "positive probability": lambda p: (p > 0) & (p <= 1),
    "between 0 and 1": lambda p: (p > 0) & (p < 1),
    "count": lambda p: (p >= 0) & (p == ops.floor(p)),
    "any": lambda p: p == p,
}

_SUMMARIES = {
    "logpdf": "Logarithm of the density at x; -inf, with slope 0, outside the support.",
    "pdf": "Density at x; 0 outside the support.",
    "logpmf": "Logarithm of the probability of k; -inf for a number outside the support, or that is not whole.",
    "pmf": "Probability of k; 0 for a number outside the support, or that is not whole.",
    "cdf": "Probability of at most {x}, with all digits also where it is small.",
    "sf": "Probability of more than {x}, with all digits also where it is small.",
    "logcdf": "Logarithm of ``cdf``, also where ``cdf`` is too small for a number if there is a formula for it.",
    "logsf": "Logarithm of ``sf``, also where ``sf`` is too small for a number if there is a formula for it.",
    "ppf": "Quantile: the inverse of ``cdf``; nan for q outside of [0, 1].",
    "isf": "The inverse of ``sf``; nan for q outside of [0, 1].",
}


class _Family:
    """The shared part of continuous and discrete distributions.

    Parameters
    ----------
    name : str
        SciPy's name of the distribution.
    shapes : dict
        The shape parameters by name, each with its condition: a key of `_CONDITIONS`.
    support : tuple
        The two ends of the support: numbers, or functions of the shapes.
    density, source : str
        For the documentation: the standard density, and its source.
    also : callable, optional
        A condition on all shapes together.
    formulas : callable
        Functions of the standard variable and the shapes, by name.
    """

    _kind = "x"
    _functions: tuple[str, ...] = ()
    _last: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        shapes: dict[str, str] | None = None,
        *,
        support: tuple[Any, Any],
        density: str,
        source: str,
        also: Callable[..., Any] | None = None,
        **formulas: Callable[..., Any],
    ) -> None:
        if not isinstance(shapes, dict | None):
            raise TypeError(f"stats.{name}: shapes must be a dict of conditions by name, got {type(shapes).__name__}")
        self.name = name
        self.__module__ = "dualgrad.stats"  # pickles find it there by its name
        self.shapes = tuple(shapes or ())
        self._conditions = tuple((shapes or {}).values())
        self._support, self._also = support, also
        self._formulas = formulas
        self.density, self.source = density, source
        self.functions = tuple([each for each in self._functions if self._has(each)])
        for each in self.functions:
            setattr(self, each, self._made(each))
        self.__doc__ = self._documentation()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...

    else:

        def __getattr__(self, name):
            if name in _SUMMARIES:
                raise AttributeError(
                    f"stats.{self.name}.{name}: there is no formula for it with derivatives; "
                    f"{self.name} has {', '.join(self.functions)}"
                )
            raise AttributeError(f"stats.{self.name} has no attribute {name!r}; it has {', '.join(self.functions)}")

    def __repr__(self) -> str:
        return f"<dualgrad.stats.{self.name}>"

    def __reduce__(self) -> str:
        return self.name

    def _has(self, function: str) -> bool:
        needed = {"pdf": ("logpdf",), "pmf": ("logpmf",), "ppf": ("ppf",), "isf": ("isf", "ppf")}
        return any(
            each in self._formulas
            for each in needed.get(function, (function, function.removeprefix("log"), f"log{function}"))
        )

    def _made(self, function: str) -> Callable[..., Tensor]:
        """Make a function with SciPy's signature from the method with its name after an underscore."""
        first = "q" if function in ("ppf", "isf") else self._kind
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in (first, *self.shapes)]
        parameters += [inspect.Parameter(name, kind, default=int(name == "scale")) for name in self._last]
        signature = inspect.Signature(parameters)
        where, method = f"stats.{self.name}.{function}", getattr(self, f"_{function}")

        expected = f"{where}{signature}"
        names, defaults = list(signature.parameters), {name: int(name == "scale") for name in self._last}

        def called(*args: Any, **kwargs: Any) -> Tensor:
            given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
            missing = [name for name in names if name not in given]
            twice_or_unknown = [name for name in kwargs if name in names[: len(args)] or name not in names]
            if missing or twice_or_unknown or len(args) > len(names):
                problem = f"no {missing[0]}" if missing else f"{len(args)} arguments, and {sorted(kwargs)} by name"
                raise TypeError(f"{where}: got {problem}; expected {expected}")
            return method(*self._settled(where, tuple([given[name] for name in names])))

        called.__name__, called.__qualname__ = function, f"{self.name}.{function}"
        called.__doc__ = _SUMMARIES[function].format(x=self._kind)
        called.__module__ = "dualgrad.stats"
        called.__signature__ = signature  # type: ignore[attr-defined]
        return called

    def _settled(self, where: str, given: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], Any, Any]:
        """Convert variable, shapes, loc and scale to tensors of one type. A default loc or scale stays a number."""
        plain = [
            i for i, name in enumerate(self._last, 1 + len(self.shapes))
            if type(given[i]) in (int, float) and given[i] == (name == "scale")
        ]  # fmt: skip
        moved = [i for i in range(len(given)) if i not in plain]
        tensors = dict(zip(moved, real(where, *[given[i] for i in moved]), strict=True))
        x, *rest = [tensors.get(i, given[i]) for i in range(len(given))]
        count = len(self.shapes)
        return x, tuple(rest[:count]), rest[count], rest[count + 1] if len(rest) > count + 1 else 1

    def _valid(self, shapes: tuple[Any, ...], scale: Any = 1) -> Any:
        """A mask of valid parameters; None if no parameter can be invalid."""
        found = None if isinstance(scale, int | float) else scale > 0
        for condition, shape in zip(self._conditions, shapes, strict=True):
            here = _CONDITIONS[condition](shape)
            found = here if found is None else found & here
        if self._also is not None:
            here = self._also(*shapes)
            found = here if found is None else found & here
        return found

    def _checked(self, value: Any, valid: Any) -> Tensor:
        return value if valid is None else ops.where(valid, value, _NAN)

    def _ends(self, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
        low, high = [end(*shapes) if callable(end) else end for end in self._support]
        return low, high

    def _documentation(self) -> str:
        shapes = ", ".join(f"{name} ({c})" for name, c in zip(self.shapes, self._conditions, strict=True))
        scale = ", ".join(self._last)
        lines = [
            f"The distribution ``{self.name}``.",
            "",
            f"Density: ``{self.density}``; {self.source}.",
            f"Parameters: {shapes + ', ' if shapes else ''}{scale}. They broadcast; nan where one is out of range.",
            f"Functions: {', '.join(self.functions)}; as those of ``scipy.stats.{self.name}``.",
        ]
        return "\n".join(lines)

    def _log_from(self, part: str, rest: str, z: Any, shapes: tuple[Any, ...]) -> Tensor:
        log = self._formulas.get(f"log{part}")
        if log is not None:
            return log(z, *shapes)
        return log_of_part(self._formula(part, z, shapes), self._formula(rest, z, shapes))

    def _formula(self, name: str, z: Any, shapes: tuple[Any, ...]) -> Tensor:
        if name in self._formulas:
            return self._formulas[name](z, *shapes)
        return ops.exp(self._formulas[f"log{name}"](z, *shapes))


class Continuous(_Family):
    """A continuous distribution: `logpdf`, `pdf`, `cdf`, `sf`, `logcdf`, `logsf`, `ppf`, `isf`, as SciPy's.

    Each function takes the variable x (or the probability q), the shapes of the distribution, `loc` and `scale`:
    tensors, arrays and numbers that broadcast. It returns a Tensor of their common float type, differentiable by all of
    them to any order that the functions in the formula allow.

    Parameters
    ----------
    symmetric : bool
        True if the standard density is even: the right tail is then the left one of -x.
    open_at_low : bool
        True if the lower end is outside the support.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import gamma
    >>> x = dg.Tensor([0.5, 2.0], dg.float64)
    >>> print(gamma.logpdf(x, 3.0, scale=0.5))
    [-1.        -1.2274113]
    >>> print(dg.grad(lambda a: gamma.logsf(100.0, a))(dg.Tensor(3.0, dg.float64)))
    3.692484
    """

    _functions = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    _last = ("loc", "scale")

    def __init__(self, *args: Any, symmetric: bool = False, open_at_low: bool = False, **rest: Any) -> None:
        self._open_at_low = open_at_low
        if symmetric:
            for left, right in (("cdf", "sf"), ("logcdf", "logsf")):
                if left in rest:
                    rest[right] = lambda z, *shapes, f=rest[left]: f(-z, *shapes)
            rest["isf"] = lambda q, *shapes, f=rest["ppf"]: -f(q, *shapes)
        super().__init__(*args, **rest)

    def _standard(self, x: Any, loc: Any, scale: Any) -> Any:
        z = x if isinstance(loc, int | float) else x - loc
        return z if isinstance(scale, int | float) else z / scale

    def _beside(self, z: Any, shapes: Any) -> tuple[Any, Any]:
        """Masks of the standard variable below and above the support; infinity is outside."""
        low, high = self._ends(shapes)
        free = isinstance(low, float) and low == -INF
        below = z <= low if self._open_at_low or free else (z < low) | (z == -INF)
        above = z >= high if isinstance(high, float) and high == INF else (z > high) | (z == INF)
        return below, above

    def _outside(self, z: Any, shapes: Any) -> Any:
        if self._support == (-INF, INF):
            return ops.isinf(z)
        below, above = self._beside(z, shapes)
        return below | above

    def _logpdf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        z = self._standard(x, loc, scale)
        value = self._formulas["logpdf"](z, *shapes)
        value = value if isinstance(scale, int | float) else value - ops.log(scale)
        return self._checked(ops.where(self._outside(z, shapes), -INF, value), self._valid(shapes, scale))

    def _pdf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return ops.exp(self._logpdf(x, shapes, loc, scale))

    def _between(self, x: Any, shapes: Any, loc: Any, scale: Any, f: Any, first: float, last: float) -> Tensor:
        """A function that is constant outside the support."""
        z = self._standard(x, loc, scale)
        below, above = self._beside(z, shapes)
        value = ops.where(below, first, ops.where(above, last, f(z)))
        return self._checked(value, self._valid(shapes, scale))

    def _cdf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._between(x, shapes, loc, scale, lambda z: self._formula("cdf", z, shapes), 0.0, 1.0)

    def _sf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._between(x, shapes, loc, scale, lambda z: self._formula("sf", z, shapes), 1.0, 0.0)

    def _logcdf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._between(x, shapes, loc, scale, lambda z: self._log_from("cdf", "sf", z, shapes), -INF, 0.0)

    def _logsf(self, x: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._between(x, shapes, loc, scale, lambda z: self._log_from("sf", "cdf", z, shapes), 0.0, -INF)

    def _quantile(self, name: str, q: Any, shapes: Any, loc: Any, scale: Any, turned: bool) -> Tensor:
        low, high = self._ends(shapes)
        if turned:
            low, high = high, low
        z = ops.where(q <= 0, low, ops.where(q >= 1, high, self._formulas[name](q, *shapes)))
        z = z if isinstance(scale, int | float) else z * scale
        z = z if isinstance(loc, int | float) else z + loc
        return self._checked(ops.where((q >= 0) & (q <= 1), z, _NAN), self._valid(shapes, scale))

    def _ppf(self, q: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._quantile("ppf", q, shapes, loc, scale, turned=False)

    def _isf(self, q: Any, shapes: Any, loc: Any, scale: Any) -> Tensor:
        return self._quantile("isf", q, shapes, loc, scale, turned=True)


class Discrete(_Family):
    """A distribution on integers: `logpmf`, `pmf` and, where a formula exists, `cdf`, `sf`, `logcdf`, `logsf`.

    Each function takes the number k, the shapes of the distribution and `loc`: tensors, arrays and numbers that
    broadcast. It returns a Tensor of their common float type, differentiable by the shapes; k and loc are integers, and
    the slope by them is 0. Cumulative functions such as `cdf` round k down.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.stats import poisson
    >>> mu = dg.Tensor(2.5, dg.float64)
    >>> print(poisson.logpmf(3, mu), dg.grad(lambda mu: poisson.logpmf(3, mu))(mu))
    -1.542887 0.2
    """

    _kind = "k"
    _functions = ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")
    _last = ("loc",)

    def _count(self, x: Any, shapes: Any, loc: Any) -> tuple[Any, Any, Any, Any]:
        """x, its floor, and masks below and above the support."""
        x = x if isinstance(loc, int | float) else x - loc
        k = ops.floor(x)
        low, high = self._ends(shapes)
        above = k >= high if isinstance(high, float) and high == INF else k > high
        return x, k, k < low, above

    def _logpmf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        x, k, below, above = self._count(x, shapes, loc)
        value = ops.where(below | above | (k < x), -INF, self._formulas["logpmf"](k, *shapes))
        return self._checked(value, self._valid(shapes))

    def _pmf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        return ops.exp(self._logpmf(x, shapes, loc, _))

    def _between(self, x: Any, shapes: Any, loc: Any, f: Any, first: float, last: float) -> Tensor:
        """A function that is constant below the support, and from its last number on."""
        x, k, below, _ = self._count(x, shapes, loc)
        value = ops.where(below, first, ops.where(k >= self._ends(shapes)[1], last, f(k)))
        return self._checked(value, self._valid(shapes))

    def _cdf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        return self._between(x, shapes, loc, lambda k: self._formula("cdf", k, shapes), 0.0, 1.0)

    def _sf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        return self._between(x, shapes, loc, lambda k: self._formula("sf", k, shapes), 1.0, 0.0)

    def _logcdf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        return self._between(x, shapes, loc, lambda k: self._log_from("cdf", "sf", k, shapes), -INF, 0.0)

    def _logsf(self, x: Any, shapes: Any, loc: Any, _: Any) -> Tensor:
        return self._between(x, shapes, loc, lambda k: self._log_from("sf", "cdf", k, shapes), 0.0, -INF)
