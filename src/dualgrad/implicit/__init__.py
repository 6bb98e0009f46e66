"""Implicit functions: roots, fixed points, linear solves and minimisers, differentiated at the solution.

If F(x, a) = 0 defines x(a), the derivative of x follows from the derivatives of F at the solution: F_x dx = -F_a da. It
does not depend on the solver, so any solver will do, and its intermediate values are not kept. The rules consist of
differentiable operators, so derivatives of every order exist, in every mode.
"""

from __future__ import annotations

from .linear import linear_solve
from .roots import argmin, fixed_point, root

__all__ = ["argmin", "fixed_point", "linear_solve", "root"]
