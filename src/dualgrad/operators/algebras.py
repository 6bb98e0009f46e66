"""The smallest algebra of an operator.

Let polynomials q(t) act on a symbol p(xi) by differentiation, q(d/dxi) p. Polynomials that map p to zero form an ideal
Ann(p), and A_p = R[t] / Ann(p) is the smallest algebra in which one evaluation of f at x + t gives p(d) f(x), as l(f(x
+ t)) with l(q) = (q(d/dxi) p)(0). Its dimension is the dimension of the span of p and all its derivatives (the inverse
system of Macaulay). For several operators at once the ideals are intersected: q then acts on the tuple of all p_j.

The product table is found by linear algebra over the rationals: monomials t^b that are independent of lower-degree ones
form the basis; the others are combinations of it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from .._engine.values.algebra import quadratic_algebra
from .._engine.values.levels import Algebra
from .symbols import Index, Symbol, order_of, unit

__all__ = ["Scheme", "apolar_scheme", "gradient_scheme", "quadratic_scheme"]

Vector = dict[tuple[int, Index], Fraction]


@dataclass(frozen=True)
class Scheme:
    """An algebra, the element that x is moved by, and the extraction of derivatives from a result.

    `seeds` has the directions (size, D) of each block, or None; `reads` has for each operator the factor of each
    block's coefficient; `pure` locates single partial derivatives: (block, number in the block, factor).
    """

    algebra: Algebra
    seeds: tuple[np.ndarray | None, ...] = field(repr=False)
    reads: tuple[dict[int, float], ...] = field(repr=False)
    pure: dict[Index, tuple[int, int, float]] = field(repr=False)


# ------------------------------------------------------------------------------------------------- any operator


class _Span:
    """Independent vectors, and the coordinates of other vectors in them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, Index], tuple[Vector, dict[int, Fraction]]] = {}  # pivot -> row
        self.size = 0

    def coordinates(self, v: Vector) -> dict[int, Fraction] | None:
        """The coordinates of a vector. An independent vector is added as number `size - 1`, and None returned."""
        rest = dict(v)
        made: dict[int, Fraction] = {}
        for pivot in [p for p in self.rows if p in rest]:
            if pivot in rest:
                self._subtract(rest, made, pivot)
        while any(p in self.rows for p in rest):
            self._subtract(rest, made, next(p for p in rest if p in self.rows))
        if not rest:
            return {k: c for k, c in made.items() if c}
        pivot = next(iter(rest))
        scale = rest[pivot]
        own = {k: -c / scale for k, c in made.items()}
        own[self.size] = 1 / scale
        self.rows[pivot] = ({key: c / scale for key, c in rest.items()}, own)
        self.size += 1
        return None

    def _subtract(self, rest: Vector, made: dict[int, Fraction], pivot: tuple[int, Index]) -> None:
        row, own = self.rows[pivot]
        factor = rest[pivot]
        for key, c in row.items():
            c = rest.get(key, Fraction(0)) - factor * c
            if c:
                rest[key] = c
            else:
                rest.pop(key, None)
        for k, c in own.items():
            made[k] = made.get(k, Fraction(0)) + factor * c


def _differentiated(vector: Vector, i: int) -> Vector:
    """Differentiate polynomials by variable i."""
    return {(j, a[:i] + (a[i] - 1,) + a[i + 1 :]): c * a[i] for (j, a), c in vector.items() if a[i]}


def _quotient(symbols: Sequence[Symbol]) -> tuple[list[Index], list[Vector], list[list[dict[int, Fraction]]]]:
    """Basis monomials of R[t] / Ann, their vectors, and the product of each variable with each basis element."""
    dimensions = len(next(iter(symbols[0])))
    one = (0,) * dimensions
    span = _Span()
    vectors: list[Vector] = [{(j, a): c for j, p in enumerate(symbols) for a, c in p.items()}]
    basis = [one]
    span.coordinates(vectors[0])
    number: dict[Index, dict[int, Fraction]] = {one: {0: Fraction(1)}}
    times: list[list[dict[int, Fraction]]] = [[] for _ in range(dimensions)]
    at = 0
    while at < len(basis):
        for i in range(dimensions):
            monomial = tuple(b + (k == i) for k, b in enumerate(basis[at]))
            if monomial not in number:
                moved = _differentiated(vectors[at], i)
                found = span.coordinates(moved) if moved else {}
                if found is None:
                    found = {len(basis): Fraction(1)}
                    basis.append(monomial)
                    vectors.append(moved)
                number[monomial] = found
            times[i].append(number[monomial])
        at += 1
    return basis, vectors, times


def _weights(basis: list[Index], times: list[list[dict[int, Fraction]]]) -> tuple[int, ...] | None:
    """Degrees of the variables that make all products homogeneous; None if there are none."""
    dimensions = len(times)
    equations = []
    for i, products in enumerate(times):
        for b, found in zip(basis, products, strict=True):
            for k in found:
                row = tuple(b[m] + (m == i) - basis[k][m] for m in range(dimensions))
                if any(row) and row not in equations:
                    equations.append(row)
    for highest in range(1, 7 if dimensions <= 4 else 2):
        for weights in (
            itertools.product(range(1, highest + 1), repeat=dimensions) if highest > 1 else [(1,) * dimensions]
        ):
            if all(sum(w * e for w, e in zip(weights, row, strict=True)) == 0 for row in equations):
                return weights
    return None


def _pure(basis: list[Index], times: list[list[dict[int, Fraction]]]) -> dict[Index, tuple[int, int, float]]:
    """Basis monomials without contributions from other monomials: their coefficients are partial derivatives."""
    sources: list[list[tuple[int, int]]] = [[] for _ in basis]
    for i, products in enumerate(times):
        for b, found in enumerate(products):
            for k in found:
                sources[k].append((i, b))
    good: list[bool] = []
    for k, monomial in enumerate(basis):
        good.append(
            all(
                b < k and good[b] and tuple(e + (m == i) for m, e in enumerate(basis[b])) == monomial
                for i, b in sources[k]
            )
        )
    return {
        a: (k, 0, float(math.prod(math.factorial(e) for e in a)))
        for k, (a, fine) in enumerate(zip(basis, good, strict=True))
        if fine
    }


def apolar_scheme(symbols: Sequence[Symbol], name: str = "") -> Scheme:
    """The smallest algebra for some operators together."""
    return _apolar(tuple(tuple(sorted(p.items())) for p in symbols), name)


@functools.lru_cache(maxsize=256)
def _apolar(items: tuple[tuple[tuple[Index, Fraction], ...], ...], name: str) -> Scheme:
    symbols = [dict(p) for p in items]
    basis, vectors, times = _quotient(symbols)
    dimensions = len(times)
    products: list[tuple[int, int, int, float]] = []
    table: list[list[dict[int, Fraction]]] = []
    for monomial in basis:  # products of t^b with the basis, from a monomial of one degree less
        i = next((m for m, e in enumerate(monomial) if e), None)
        if i is None:
            table.append([{k: Fraction(1)} for k in range(len(basis))])
            continue
        lower = table[basis.index(monomial[:i] + (monomial[i] - 1,) + monomial[i + 1 :])]
        row: list[dict[int, Fraction]] = []
        for found in lower:
            total: dict[int, Fraction] = {}
            for k, c in found.items():
                for m, d in times[i][k].items():
                    total[m] = total.get(m, Fraction(0)) + c * d
            row.append({m: c for m, c in total.items() if c})
        table.append(row)
    for a in range(1, len(basis)):
        for b in range(1, len(basis)):
            products += [(a, b, k, float(c)) for k, c in sorted(table[a][b].items())]
    weights = _weights(basis, times)
    label = name or "R[t]/Ann(p)"
    if weights is not None:
        degrees = [sum(w * e for w, e in zip(weights, b, strict=True)) for b in basis]
        algebra = Algebra(label, degrees, products)
    else:
        degrees = [sum(b) for b in basis]
        algebra = Algebra(label, degrees, products, None, False, max(1, *(order_of(p) for p in symbols)))
    seeds: list[np.ndarray | None] = [None] * len(basis)
    for i in range(dimensions):
        for k, c in times[i][0].items():
            if seeds[k] is None:
                seeds[k] = np.zeros((1, dimensions))
            seeds[k][0, i] = float(c)  # type: ignore[index]
    zero = (0,) * dimensions
    reads = tuple(
        {k: float(v[j, zero]) for k, v in enumerate(vectors) if v.get((j, zero))} for j in range(len(symbols))
    )
    return Scheme(algebra, tuple(seeds), reads, _pure(basis, times))


# ------------------------------------------------------------------------------------------- with a closed form


@functools.lru_cache(maxsize=64)
def gradient_scheme(dimensions: int) -> Scheme:
    """All first derivatives: D directions in one array, whose products are zero."""
    sizes = [1, dimensions]
    algebra = Algebra(f"gradient in {dimensions} dimensions", [0, 1], [], sizes)
    pure: dict[Index, tuple[int, int, float]] = {(0,) * dimensions: (0, 0, 1.0)}
    pure |= {unit(dimensions, i): (1, i, 1.0) for i in range(dimensions)}
    return Scheme(algebra, (None, np.eye(dimensions)), ({1: 1.0},), pure)


def quadratic_scheme(symbol: Symbol) -> Scheme:
    """The algebra of a second-order operator: rank + 2 channels, with the first-order ones in one array.

    With the second-order part sum +-(L_i . d)^2, each L_i is the direction of one e_i, and e_i e_j = +-delta_ij s.
    """
    dimensions = len(next(iter(symbol)))
    plus: list[np.ndarray] = []
    minus: list[np.ndarray] = []
    pure: dict[Index, tuple[int, int, float]] = {(0,) * dimensions: (0, 0, 1.0)}
    linear = np.zeros((1, dimensions))
    matrix = np.zeros((dimensions, dimensions))
    constant = 0.0
    for a, c in symbol.items():
        where = [i for i, e in enumerate(a) for _ in range(e)]
        if len(where) == 2:
            matrix[where[0], where[1]] += float(c) / 2
            matrix[where[1], where[0]] += float(c) / 2
        elif where:
            linear[0, where[0]] = float(c) / 2
        else:
            constant = float(c)
    pairs: list[tuple[float, np.ndarray, int | None]] = []  # factor, direction, its axis
    if np.count_nonzero(matrix - np.diag(np.diag(matrix))):
        values, directions = np.linalg.eigh(matrix)
        least = abs(values).max() * dimensions * 4 * np.finfo(np.float64).eps
        pairs += [(v, directions[:, i], None) for i, v in enumerate(values) if abs(v) > least]
    else:
        pairs += [(matrix[i, i], np.eye(dimensions)[i], i) for i in range(dimensions) if matrix[i, i]]
    signs = [sign for sign in (1, -1) if any(v * sign > 0 for v, _, _ in pairs)]
    for v, direction, i in pairs:
        group = plus if v > 0 else minus
        scale = math.sqrt(abs(v))
        if i is not None:
            pure[unit(dimensions, i)] = (1 + signs.index(1 if v > 0 else -1), len(group), 1 / scale)
        group.append(direction * scale)
    algebra = quadratic_algebra(len(plus), len(minus))
    seeds = [None, *[np.array(group) for group in (plus, minus) if group], linear if linear.any() else None]
    reads = {algebra.dim - 1: 2.0}
    if constant:
        reads[0] = constant
    return Scheme(algebra, tuple(seeds), (reads,), pure)
