"""Differential operators: Laplacian, biharmonic, mixed partials, any linear operator; divergence and curl.

Each is one evaluation of the function in the smallest algebra that holds the operator (`algebras`), or another method
that costs less (`planner`).
"""

from __future__ import annotations

from .fields import curl, divergence
from .linear import biharmonic, derivatives, laplacian, linear_operator, mixed_partial
from .planner import Plan, Way

__all__ = [
    "Plan",
    "Way",
    "biharmonic",
    "curl",
    "derivatives",
    "divergence",
    "laplacian",
    "linear_operator",
    "mixed_partial",
]
