"""Operators that are short compositions of others, under the names that ported code uses."""

from . import numbers, scalars, shapes

MODULES = (
    scalars,
    shapes,
    numbers,
)
