"""Operators that are short compositions of others, under the names that ported code uses."""

from . import methods, networks, numbers, scalars, shapes

MODULES = (
    scalars,
    shapes,
    numbers,
    networks,
    methods,
)
