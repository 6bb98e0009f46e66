"""Symmetric linear operators on the space of a gradient: products, rows, and on request the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._engine.transforms.inputs import as_input
from ..dtype import DType
from ..scipy._packing import operator_of
from ..tensor import Tensor
from ..transforms.jacobians import along_unit_vectors
from ..transforms.vectorize import vmap
from ._checks import symmetric
from ._space import Space, selected, selection_of

__all__ = ["SymmetricOperator", "as_linear_operator", "symmetric_operator"]

TOGETHER = 1 << 20  # most elements of the directions in one batch


class SymmetricOperator:
    """A symmetric linear map on the space of a gradient; only `dense` forms its matrix.

    Made by `hessian_operator`, `gauss_newton_operator`, `fisher_operator`, `empirical_fisher_operator` and
    `symmetric_operator`. It belongs to one point: making it evaluates the function, and each product is a sweep over
    the kept values.

    Attributes
    ----------
    size : int
        The number n of variables.
    shape : tuple of two ints
        (n, n).
    dtype : DType
        The type of flat vectors: the widest type among the variables.

    Examples
    --------
    >>> import dualgrad as dg
    >>> A = dg.curvature.hessian_operator(lambda x, y: (x * x).sum() * y, (0, 1))(dg.Tensor([1.0, 2.0]), dg.Tensor(3.0))
    >>> print(A @ dg.Tensor([1.0, 0.0, 0.0]))
    [6. 0. 2.]
    >>> by_x, by_y = A((dg.Tensor([1.0, 0.0]), dg.Tensor(0.0)))
    >>> print(by_x, by_y)
    [6. 0.] 2.0
    >>> print(A.dense())
    [[6. 0. 2.]
     [0. 6. 4.]
     [2. 4. 0.]]
    """

    size: int
    shape: tuple[int, int]
    dtype: DType

    def __init__(self, name: str, space: Space, product: Callable[[list[Tensor]], list[Tensor]]) -> None:
        if not isinstance(space, Space):
            raise TypeError(
                f"{type(self).__name__} is made by dualgrad.curvature.hessian_operator and its like, got "
                f"{type(space).__name__}"
            )
        if not space.size:
            raise ValueError(f"{name}: the variables have no elements; expected at least one")
        self.space = space
        self.size = space.size
        self.shape = (space.size, space.size)
        self.dtype = space.dtype
        self._name = name
        self._product = product

    def __repr__(self) -> str:
        return f"<{self._name} of shape {self.shape}, {self.dtype}>"

    def __call__(self, v: Any) -> Any:
        """Multiply by a direction in the structure of a gradient. Returns the same structure."""
        v = as_input(self._name, "the direction", v)
        return self.space.arranged(self._product(self.space.flattened(v, "the direction")))

    def __matmul__(self, x: Any) -> Tensor:
        """Multiply by a flat vector (n,), or by the columns of a matrix (n, k)."""
        x = self._checked(x)
        return self.along(x) if x.ndim == 1 else self.rows(x.T).T

    def _checked(self, x: Any) -> Tensor:
        x = as_input(self._name, "the vector", x)
        if not isinstance(x, Tensor) or not x.dtype.is_float:
            what = str(x.dtype) if isinstance(x, Tensor) else type(x).__name__
            raise TypeError(f"{self._name}: multiplied by a {what}; expected a Tensor or array of real floats")
        if x.ndim not in (1, 2) or x.shape[0] != self.size:
            raise ValueError(
                f"{self._name}: multiplied by shape {x.shape}; expected ({self.size},), or ({self.size}, k)"
            )
        return x.astype(self.dtype)

    def along(self, vector: Tensor) -> Tensor:
        """Multiply by a flat vector of the operator's type."""
        return self.space.vector(self._product(self.space.pieces(vector)))

    def rows(self, vectors: Tensor) -> Tensor:
        """Multiply by each row of a matrix (k, n); in several batches if n k is large."""
        count = len(vectors)
        most = max(1, TOGETHER // self.size)
        parts = [vmap(self.along)(vectors[first : first + most]) for first in range(0, count, most)]
        return parts[0] if len(parts) == 1 else ops.concat(parts)

    def over_unit_vectors(self, read: Callable[[Tensor, Tensor], Tensor], chunk_size: int | None = None) -> Tensor:
        """The results of `read(v, A v)` for all unit vectors v, along a new first axis."""
        start = ops.zeros((self.size,), self.dtype)
        found, several = along_unit_vectors(self._name, lambda v: read(v, self.along(v)), start, chunk_size)
        return found if several else found.reshape((1, *found.shape))

    def dense(self, chunk_size: int | None = None) -> Tensor:
        """The matrix, (n, n): one product for each variable, `chunk_size` of them in one batch."""
        return self.over_unit_vectors(lambda _, product: product, chunk_size)


def symmetric_operator(A: Any, like: Any = None) -> SymmetricOperator:
    """Make an operator from a symmetric matrix, or from a function that multiplies by one.

    Parameters
    ----------
    A : SymmetricOperator, Tensor or array of shape (n, n), or callable
        The function takes a direction in the structure of `like` and returns the product in that structure. The caller
        must know that it is linear and symmetric; a matrix is compared with its transpose.
    like : Tensor, or pytree of Tensors
        A point of the space, if `A` is a function; its numbers are not read.

    Returns
    -------
    SymmetricOperator

    Raises
    ------
    TypeError, ValueError
        If `A` is of another kind, the matrix is not square and symmetric, or `like` is missing.

    Examples
    --------
    >>> import dualgrad as dg
    >>> A = dg.curvature.symmetric_operator(lambda v: 2.0 * v + v.sum(), dg.Tensor([0.0, 0.0]))
    >>> print(A.dense())
    [[3. 1.]
     [1. 3.]]
    """
    name = "symmetric_operator"
    if isinstance(A, SymmetricOperator):
        return A
    if callable(A) and not isinstance(A, Tensor):
        if like is None:
            raise TypeError(f"{name}: a function needs `like`, a Tensor or pytree of the space that it acts on")
        space = Space(selected(selection_of(name, A, 0, None), A, (like,), {}))

        def product(v: list[Tensor]) -> list[Tensor]:
            return space.flattened(A(space.arranged(v)), "the product")

        return SymmetricOperator(name, space, product)
    matrix = as_input(name, "the matrix", A)
    if not isinstance(matrix, Tensor):
        raise TypeError(f"{name}: expected an operator, a square matrix or a function, got {type(A).__name__}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: the matrix has shape {matrix.shape}; expected (n, n)")
    start = ops.zeros((matrix.shape[0],), matrix.dtype)
    space = Space(selected(selection_of(name, ops.identity, 0, None), ops.identity, (start,), {}))
    matrix = symmetric(matrix)
    return SymmetricOperator(name, space, lambda v: [matrix @ v[0]])


def as_linear_operator(A: Any, like: Any = None) -> Any:
    """Make a ``scipy.sparse.linalg.LinearOperator`` for ``eigsh``, ``cg``, ``minres`` ...

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        Of shape (n, n), with the type of `A`, on flat NumPy vectors; it is its own transpose.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    TypeError, ValueError
        As for `symmetric_operator`.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from scipy.sparse.linalg import eigsh
    >>> chain = lambda x: ((x[1:] - x[:-1]) ** 2).sum() + (x**4).sum()
    >>> A = dg.curvature.hessian_operator(chain)(np.zeros(50))
    >>> eigsh(dg.curvature.as_linear_operator(A), k=2, return_eigenvectors=False).round(6)
    array([7.968459, 7.992107])
    """
    A = symmetric_operator(A, like)

    def product(p: np.ndarray) -> np.ndarray:
        return A.along(Tensor(p, A.dtype)).asnumpy()

    return operator_of(A.shape, product, product, A.dtype.numpy)
