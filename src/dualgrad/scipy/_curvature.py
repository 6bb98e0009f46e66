"""Second derivatives of a function of a vector, in the forms that SciPy's solvers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..modes import jit
from ..sparse.compressed import sparse_hessian
from ..tensor import Tensor
from ..transforms.gradient import grad, jvp
from ..transforms.vectorize import vmap
from ._packing import operator_of

__all__ = ["Curvature"]


class Curvature:
    """The Hessian of ``value(z, *others)`` by the vector z, recorded."""

    def __init__(self, value: Callable[..., Tensor]) -> None:
        gradient = grad(value)

        def along(z: Tensor, p: Tensor, *others: Tensor) -> Tensor:
            return jvp(lambda z: gradient(z, *others), z, p)[1]

        def rows(z: Tensor, basis: Tensor, *others: Tensor) -> Tensor:
            return vmap(lambda p: along(z, p, *others))(basis)

        self._along = jit(along)
        self._rows = jit(rows)
        self._coloured = sparse_hessian(value)

    def product(self, x: np.ndarray, p: np.ndarray, *others: np.ndarray) -> np.ndarray:
        """The product of the Hessian and a vector."""
        return self._along(Tensor(x), Tensor(p), *map(Tensor, others)).asnumpy()

    def matrix(self, form: str, x: np.ndarray, *others: np.ndarray) -> Any:
        """The Hessian as an array (``dense``), a ``csr_array`` (``sparse``) or a ``LinearOperator`` (``product``)."""
        if form == "dense":
            return self._rows(Tensor(x), Tensor(np.eye(x.size)), *map(Tensor, others)).asnumpy()
        if form == "sparse":
            return self._coloured(Tensor(x), *map(Tensor, others))
        held = [np.array(a) for a in (x, *others)]

        def product(p: np.ndarray) -> np.ndarray:
            return self.product(held[0], p, *held[1:])

        return operator_of((x.size, x.size), product, product)
