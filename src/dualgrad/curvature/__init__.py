"""Curvature: Hessian, Gauss-Newton and Fisher matrices as operators, and results computed from products alone.

===================  ======================================================================
operators            `hessian_operator`, `gauss_newton_operator`, `fisher_operator`, `empirical_fisher_operator`,
                     `symmetric_operator`; `as_linear_operator` for SciPy
products             `hvp`, `gauss_newton_product`, `fisher_product`, `empirical_fisher_product`
diagonals, traces    `hessian_diagonal`, `diagonal`, `trace`
spectra              `lanczos`, `spectral_density`, `logdet`
samples              `per_sample_gradients`, `per_sample_diagonals`
posteriors           `laplace`
===================  ======================================================================

All take a function and positions, or a Cell's Parameters, as `grad` does; all can be recorded (`dualgrad.jit`).
"""

from __future__ import annotations

from ._linear import SymmetricOperator, as_linear_operator, symmetric_operator
from .diagonals import hessian_diagonal
from .estimates import Estimate, diagonal, trace
from .krylov import Tridiagonal, lanczos
from .posterior import Posterior, laplace
from .products import (
    empirical_fisher_operator,
    empirical_fisher_product,
    fisher_operator,
    fisher_product,
    gauss_newton_operator,
    gauss_newton_product,
    hessian_operator,
    hvp,
)
from .samples import per_sample_diagonals, per_sample_gradients
from .spectra import Spectrum, logdet, spectral_density

__all__ = [
    "Estimate",
    "Posterior",
    "Spectrum",
    "SymmetricOperator",
    "Tridiagonal",
    "as_linear_operator",
    "diagonal",
    "empirical_fisher_operator",
    "empirical_fisher_product",
    "fisher_operator",
    "fisher_product",
    "gauss_newton_operator",
    "gauss_newton_product",
    "hessian_diagonal",
    "hessian_operator",
    "hvp",
    "lanczos",
    "laplace",
    "logdet",
    "per_sample_diagonals",
    "per_sample_gradients",
    "spectral_density",
    "symmetric_operator",
    "trace",
]
