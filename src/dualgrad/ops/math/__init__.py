"""Mathematics: elementwise functions, reductions, products, complex numbers, statistics."""

from . import arithmetic, complex, elementwise, formulas, products, reductions, sampled, special, statistics

MODULES = (
    elementwise,
    arithmetic,
    formulas,
    special,
    complex,
    reductions,
    products,
    statistics,
    sampled,
)
