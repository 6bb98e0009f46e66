"""Operators that are short compositions of others, under the names that ported code uses."""

from . import (
    comparisons,
    counting,
    diagonals,
    margins,
    methods,
    networks,
    numbers,
    positions,
    quantiles,
    reversals,
    scalars,
    shapes,
    sums,
    windows,
)

MODULES = (
    scalars,
    shapes,
    reversals,
    positions,
    diagonals,
    comparisons,
    numbers,
    sums,
    quantiles,
    counting,
    networks,
    margins,
    windows,
    methods,
)
