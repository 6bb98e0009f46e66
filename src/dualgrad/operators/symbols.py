"""Symbols: linear differential operators with constant coefficients, as polynomials.

The operator sum c_a d^a has the symbol p(xi) = sum c_a xi^a. Here it is a mapping from multi-indices to exact
fractions. Floats are fractions, too, so algebras are built without rounding.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

__all__: list[str] = []

Index = tuple[int, ...]
Symbol = dict[Index, Fraction]


def checked_index(name: str, index: Any, dimensions: int | None = None) -> Index:
    """Check a multi-index: one int of at least 0 for each variable. Returns a tuple."""
    if not isinstance(index, tuple | list) or not all(
        isinstance(k, numbers.Integral) and not isinstance(k, bool) for k in index
    ):
        raise TypeError(
            f"{name}: expected a multi-index, a tuple with the order in each variable such as (2, 0); got {index!r}"
        )
    found = tuple(int(k) for k in index)
    if not found or min(found) < 0:
        raise ValueError(f"{name}: the multi-index {index!r} needs an order of 0 or more for each variable")
    if dimensions is not None and len(found) != dimensions:
        raise ValueError(
            f"{name}: the multi-index {index!r} has {len(found)} entries, but there are {dimensions} variables (the "
            f"last axis of x); expected one order for each"
        )
    return found


def exact(name: str, index: Index, c: Any) -> Fraction:
    """Convert a coefficient to a fraction."""
    if isinstance(c, bool) or not isinstance(c, numbers.Real) or not math.isfinite(c):
        raise TypeError(f"{name}: the coefficient of {index} is {c!r}; expected a finite number or a Tensor")
    return Fraction(c) if isinstance(c, numbers.Rational) else Fraction(float(c))


def order_of(symbol: Mapping[Index, Any]) -> int:
    """The order of an operator: the highest total degree of its symbol."""
    return max((sum(index) for index in symbol), default=0)


def unit(dimensions: int, i: int, order: int = 1) -> Index:
    """The multi-index of a power of one variable."""
    return tuple(order if k == i else 0 for k in range(dimensions))


def power_of_laplacian(dimensions: int, power: int) -> Symbol:
    """|xi|^(2 power), for a power of 1 or 2."""
    if power == 1:
        return {unit(dimensions, i, 2): Fraction(1) for i in range(dimensions)}
    symbol = {unit(dimensions, i, 4): Fraction(1) for i in range(dimensions)}
    for i, j in combinations(range(dimensions), 2):
        symbol[tuple(2 if k in (i, j) else 0 for k in range(dimensions))] = Fraction(2)
    return symbol
