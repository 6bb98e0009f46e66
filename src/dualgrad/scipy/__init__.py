"""Functions for SciPy's solvers: values, gradients, Jacobians, Hessians on flat NumPy vectors.

===============  ==========================================  =====================================
function         for                                         gives
===============  ==========================================  =====================================
`objective`      ``scipy.optimize.minimize``                 ``fun, jac, hess, hessp``
`residuals`      ``scipy.optimize.least_squares``            ``fun, jac``
`system`         ``scipy.optimize.root``, constraints        ``fun, jac, hess``
`rhs`            ``scipy.integrate.solve_ivp``               ``fun, jac``
`fit`            its minimisers and ``least_squares``        the solution itself, in the weights
===============  ==========================================  =====================================

The variables are one array, or a pytree of floats, arrays and Tensors, or the Parameters of a Cell. They are packed
into one vector of float64 and unpacked again. The computation is recorded (`dualgrad.jit`). A value and its gradient
are computed together and kept for the next call at the same point.

Counterparts of SciPy modules, with derivatives: `interpolate` and `ndimage` (splines and images between their
elements), and `fft` (cosines), `linalg`, `optimize` and `special`, each with its own import.

Only these, sparse matrices and linear operators need SciPy: ``pip install 'dualgrad[scipy]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import interpolate, ndimage
from .equations import Equations, Rhs, residuals, rhs, system
from .fitting import fit
from .objective import Objective, objective

__all__ = ["Equations", "Objective", "Rhs", "fit", "interpolate", "ndimage", "objective", "residuals", "rhs", "system"]


if not TYPE_CHECKING:  # type checkers see the names above and find misspelt ones

    def __getattr__(name: str) -> Any:
        from .._foreign import missing

        raise missing(__name__, name)
