"""NumPy's products of operands of different types, which are converted to their common type, as in ``@``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops._arguments import alike, together
from ..ops.math import products
from ..ops.math.complex import conj
from ..ops.shape.reshaping import ravel
from ..tensor import Tensor
from ._entries import implements

__all__: list[str] = []


@implements(np.dot)
def _np_dot(a: Any, b: Any) -> Tensor:
    return products.dot(*alike(together("np.dot", a, b)))


@implements(np.inner)
def _np_inner(a: Any, b: Any) -> Tensor:
    return products.inner(*alike(together("np.inner", a, b)))


@implements(np.vdot)
def _np_vdot(a: Any, b: Any) -> Tensor:
    return _np_dot(conj(ravel(a)), ravel(b))
