"""Ways to evaluate an operator, their costs, and the choice.

Costs are counted, not timed: the channels in each linear layer of the function, and the products of arrays in each
elementwise function. A product of arrays counts as a tenth of a linear layer on one channel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .._engine.values.levels import Algebra
from .._settings import one_of
from .algebras import Scheme, apolar_scheme, quadratic_scheme
from .symbols import Index, Symbol, order_of, power_of_laplacian

__all__ = ["Plan", "Way"]

PRODUCT = 0.1  # relative to a linear layer on one channel
GROWTH = 100.0  # structure constants above which an algebra without degrees may lose two digits
MIXED = 6  # up to this many variables each second derivative has its own channel


@dataclass(frozen=True)
class Way:
    """One way to evaluate an operator."""

    name: str
    channels: int
    products: int
    what: str

    @property
    def cost(self) -> float:
        """The cost in evaluations of the function, with weighted elementwise products."""
        return self.channels + PRODUCT * self.products


@dataclass(frozen=True)
class Plan:
    """The ways to evaluate an operator, cheapest first; the first one is used.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.biharmonic(dg.ops.sin, explain=True)(dg.Tensor([[0.1, 0.2]])))
    way         channels  products   cost
    algebra            9        48   13.8  R[t]/Ann(p)
    nested            16        36   19.6  Laplacian of the Laplacian
    directions        17        40   21.0  4 directions, jets of degree 4
    """

    operator: str
    ways: tuple[Way, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.ways, tuple) or not self.ways or not all(isinstance(way, Way) for way in self.ways):
            raise TypeError("Plan: ways must be a tuple of one Way or more")

    @property
    def chosen(self) -> Way:
        """The cheapest way."""
        return self.ways[0]

    def __str__(self) -> str:
        lines = [f"{'way':<10}  {'channels':>8}  {'products':>8}  {'cost':>5}"]
        lines += [f"{w.name:<10}  {w.channels:>8}  {w.products:>8}  {w.cost:>5.1f}  {w.what}" for w in self.ways]
        return "\n".join(lines)


def products_of(algebra: Algebra) -> int:
    """The number of array products in an elementwise function of an element with all coefficients."""
    sizes, top = algebra.sizes, algebra.top
    if top <= 1:
        return algebra.channels - 1
    if algebra.graded and top > 2 and algebra.channels == top + 1:  # a jet: the function and its slope are two series
        return top * (top + 1)
    power, total = set(range(1, algebra.dim)), sum(sizes[1:])
    for m in range(2, top + 1):
        terms = [(i, j, k) for i, j, k, _ in algebra.products if i in power and not (m == 2 and i > j)]
        power = {k for _, _, k in terms}
        total += sum(sizes[i] for i, _, _ in terms) + sum(sizes[k] for k in power)
    return total


def scheme_of(symbols: Sequence[Symbol]) -> Scheme:
    """The smallest algebra for some operators.

    For a single second-order operator, the first-order channels are one array along the axes. Other directions hide the
    first derivatives, so they are used only for many variables.
    """
    if len(symbols) == 1 and order_of(symbols[0]) == 2:
        along_axes = all(sum(1 for e in a if e) <= 1 for a in symbols[0])
        if along_axes or len(next(iter(symbols[0]))) > MIXED:
            return quadratic_scheme(symbols[0])
    smallest = apolar_scheme(symbols)
    if smallest.algebra.graded or growth(smallest.algebra) <= GROWTH:
        return smallest
    #     # Without degrees, large structure constants cancel at the end: split by degree, or into single terms.
    by_degree = combined(symbols, lambda index: sum(index))
    return by_degree if growth(by_degree.algebra) <= GROWTH else combined(symbols, lambda index: index)


def growth(algebra: Algebra) -> float:
    """The largest absolute structure constant."""
    return max((abs(c) for _, _, _, c in algebra.products), default=0.0)


def combined(symbols: Sequence[Symbol], key: Callable[[Index], Any]) -> Scheme:
    """The algebra for parts of operators; terms with the same key are added up."""
    pieces: dict[Any, Symbol] = {}
    for number, symbol in enumerate(symbols):
        for index, c in symbol.items():
            pieces.setdefault((number, key(index)), {})[index] = c
    scheme = apolar_scheme(list(pieces.values()))
    reads: list[dict[int, float]] = [{} for _ in symbols]
    for (number, _), part in zip(pieces, scheme.reads, strict=True):
        for block, factor in part.items():
            reads[number][block] = reads[number].get(block, 0.0) + factor
    return replace(scheme, reads=tuple(reads))


def directions_of(symbol: Symbol, dimensions: int) -> list[tuple[float, tuple[int, ...]]] | None:
    """An operator as a short sum of derivatives along directions, (weight, direction), if one is known."""
    units = [tuple(int(k == i) for k in range(dimensions)) for i in range(dimensions)]
    if all(sum(1 for e in a if e) == 1 for a in symbol) and len({sum(a) for a in symbol}) == 1:
        return [(float(c), units[next(i for i, e in enumerate(a) if e)]) for a, c in symbol.items()]
    if symbol == power_of_laplacian(dimensions, 2):
        found = [(float(Fraction(4 - dimensions, 3)), e) for e in units] if dimensions != 4 else []
        for i in range(dimensions):
            for j in range(i):
                for sign in (1, -1):
                    found.append((1 / 6, tuple((k == j) + sign * (k == i) for k in range(dimensions))))
        return found
    return None


def plan_of(name: str, symbols: Sequence[Symbol], scheme: Scheme, dimensions: int) -> Plan:
    """The ways for some operators, cheapest first."""
    algebra = scheme.algebra
    ways = [Way("algebra", algebra.channels, products_of(algebra), algebra.name)]
    if len(symbols) == 1:
        symbol, order = symbols[0], order_of(symbols[0])
        along = directions_of(symbol, dimensions)
        if along is not None and order > 1 and len(along) > 1:  # one direction gives the same algebra
            n = len(along)
            ways.append(
                Way(
                    "directions", 1 + n * order, n * order * (order + 1) // 2, f"{n} directions, jets of degree {order}"
                )
            )
        if dimensions > 1 and symbol == power_of_laplacian(dimensions, 2):
            inner = products_of(scheme_of([power_of_laplacian(dimensions, 1)]).algebra)
            ways.append(Way("nested", (dimensions + 2) ** 2, inner**2, "Laplacian of the Laplacian"))
        if order == 2:
            n = dimensions
            ways.append(Way("gradients", 2 + 2 * n, 3 * n, f"{n} Hessian-vector products, one after the other"))
    return Plan(name, tuple(sorted(ways, key=lambda way: way.cost)))


@dataclass(frozen=True)
class Setup:
    """The algebra and plan of some operators, which do not depend on the function; cached."""

    symbols: tuple[Symbol, ...]
    plan: Plan
    scheme: Scheme


@functools.lru_cache(maxsize=256)
def _setup(name: str, key: tuple[tuple[tuple[Index, Fraction], ...], ...]) -> Setup:
    symbols = tuple(dict(items) for items in key)
    scheme = scheme_of(symbols)
    return Setup(symbols, plan_of(name, symbols, scheme, len(key[0][0][0])), scheme)


def setup_of(name: str, symbols: Sequence[Symbol]) -> Setup:
    """The setup of some operators."""
    return _setup(name, tuple(tuple(symbol.items()) for symbol in symbols))


@functools.lru_cache(maxsize=64)
def setup_of_laplacian(name: str, power: int, dimensions: int) -> Setup:
    """The setup of a power of the Laplacian. The cache key omits its symbol, which is long in many variables."""
    symbols = (power_of_laplacian(dimensions, power),)
    scheme = scheme_of(symbols)
    return Setup(symbols, plan_of(name, symbols, scheme, dimensions), scheme)


def way_named(plan: Plan, way: Any) -> Way:
    """The way with a given name, or the cheapest one for None."""
    if way is None:
        return plan.chosen
    by_name: Mapping[str, Way] = {w.name: w for w in plan.ways}
    if not one_of(way, by_name):
        raise ValueError(f"{plan.operator}: way is {way!r}; expected None or one of {list(by_name)}")
    return by_name[way]
