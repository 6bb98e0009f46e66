"""Linear algebra: systems, determinants, factorisations, eigenvalues, functions of matrices.

LAPACK's work is done by ``numpy.linalg``, over stacks of matrices; this package adds the derivatives. A few primitives
with exact rules (`dualgrad.extend`) carry all of it. The rules are written with the operators themselves, so there are
derivatives of any order in any mode.
"""

from __future__ import annotations

from typing import Any

from . import determinants, factorisations, functions, least_squares, products, solving, spectral
from .determinants import *
from .factorisations import *
from .functions import *
from .least_squares import *
from .products import *
from .solving import *
from .spectral import *

_MODULES = (solving, least_squares, determinants, factorisations, spectral, functions, products)

__all__ = sorted(name for module in _MODULES for name in module.__all__)

METHODS: dict[str, Any] = {name: method for module in _MODULES for name, method in module.METHODS.items()}
