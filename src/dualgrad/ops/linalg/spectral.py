"""Eigenvalues of symmetric matrices, singular values, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from .._arguments import Primitive
from ._matrices import matrices, square, symmetric
from ._perturbation import eigenpairs, eigenvalues, pairs_of
from ._singular import factors, factors_of, values
from .norms import norm
from .solving import inverted

__all__ = ["Svd", "cond", "eigh", "eigvalsh", "svd"]


# ------------------------------------------------------------------------------------------------- eigenvalues


def eigvalsh(A: Any) -> Tensor:
    """Eigenvalues of symmetric matrices.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n). The eigenvalues are those of the symmetric part (a + a^T)/2, so gradients are symmetric.

    Returns
    -------
    Tensor
        Shape (..., n), ascending.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative: where it does not exist, see below.
    TypeError
        If the type is float16 or complex.
    ValueError
        If the matrices are not square.

    Notes
    -----
    For distinct eigenvalues there are derivatives of every order. Where some are equal, single eigenvalues have no
    derivative, but symmetric functions of them (a sum of squares, a partition function) do: their gradients are right,
    and so are derivatives of these gradients along a direction, that is Hessians. Beyond that there is an error. Of
    functions that are not smooth there, like the largest eigenvalue, equal eigenvalues share the gradient equally.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.eigvalsh(dg.Tensor([[2.0, 0.0], [0.0, 1.0]])))
    [1. 2.]
    >>> print(dg.grad(lambda a: (ops.eigvalsh(a) ** 2).sum())(ops.eye(2)))
    [[2. 0.]
     [0. 2.]]
    """
    return eigenvalues(symmetric("eigvalsh", A), caller="eigvalsh")


def eigh(A: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n). The symmetric part (a + a^T)/2 is taken, so gradients are symmetric.

    Returns
    -------
    tuple of Tensor
        The eigenvalues, shape (..., n), ascending, and the orthonormal eigenvectors, the columns of a matrix of
        shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative: where eigenvalues are equal and the derivative would depend on the
        choice of eigenvectors.
    TypeError
        If the type is float16 or complex.
    ValueError
        If the matrices are not square.

    See Also
    --------
    eigvalsh : For functions of the eigenvalues alone, also where some are equal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w, v = ops.eigh(dg.Tensor([[2.0, 1.0], [1.0, 2.0]], dg.float64))
    >>> print(w.round(6), ((v * w) @ v.T).round(6))
    [1. 3.] [[2. 1.]
     [1. 2.]]
    """
    a = symmetric("eigh", A)
    return pairs_of(eigenpairs(a, np.zeros(a.shape, a.dtype.numpy), caller="eigh"))


# --------------------------------------------------------------------------------------------- singular values


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular value decomposition a = u diag(s) v^T.

    Parameters
    ----------
    input : Tensor
        Shape (..., m, n); integers become float32. Let p be the smaller of m and n.
    full_matrices : bool, default False
        All m left and n right singular vectors, rather than p of both.
    compute_uv : bool, default True
        Whether to return vectors, too.

    Returns
    -------
    Tensor or tuple of Tensor
        s of shape (..., p), descending; or s, u of shape (..., m, p), and v (not transposed) of shape (..., n, p);
        with `full_matrices` (..., m, m) and (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative of vectors: where singular values are equal or 0 and the derivative
        would depend on the choice of the vectors.
    TypeError
        If the type is float16 or complex.
    ValueError
        If `input` has fewer than two axes.

    Notes
    -----
    For functions of the singular values alone set ``compute_uv=False``: equal and vanishing singular values are then
    treated as `eigvalsh` treats equal eigenvalues. The slope of the sum of the singular values is 0 in the null space.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a = dg.Tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    >>> s, u, v = ops.svd(a)
    >>> print(s, (u * s @ v.T).round(4))
    [4. 3.] [[3. 0.]
     [0. 4.]
     [0. 0.]]
    """
    return _svd("svd", input, full_matrices, compute_uv)


def _svd(name: str, a: Any, full: bool, vectors: bool) -> Any:
    a = matrices(name, a)
    if not vectors:
        return values(a, caller=name)
    return factors_of(factors(a, full=bool(full), caller=name), a.shape[-2], a.shape[-1], bool(full))


def cond(A: Any, p: Any = None) -> Tensor:
    """Condition number of matrices: the norm times the norm of the inverse.

    Parameters
    ----------
    A : Tensor
        Shape (..., m, n); square unless `p` is None, 2 or -2.
    p : number or str, optional
        Which norm of matrices, see `norm`. None and 2: the largest singular value by the smallest; -2: the inverse of
        that.

    Returns
    -------
    Tensor
        Shape (...).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular, for other norms than these.
    TypeError
        If the type is float16 or complex.
    ValueError
        If `p` is no norm of matrices, or matrices are not square for other norms.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cond(dg.Tensor([[8.0, 0.0], [0.0, 2.0]])))
    4.0
    """
    a = matrices("cond", A)
    if p in (None, 2, -2):
        s = values(a, caller="cond")
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    axes = (a.ndim - 2, a.ndim - 1)
    return norm(a, p, axes) * norm(inverted(square("cond", a), caller="cond"), p, axes)


class Svd(Primitive):
    """Primitive class of `svd`.

    Parameters
    ----------
    full_matrices : bool, default False
        All singular vectors.
    compute_uv : bool, default True
        Whether to return vectors, too.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Svd(compute_uv=False)(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """

    __slots__ = ("compute_uv", "full_matrices")

    def __init__(self, full_matrices: bool = False, compute_uv: bool = True) -> None:
        self.full_matrices = full_matrices
        self.compute_uv = compute_uv

    def __call__(self, input: Any) -> Any:
        return _svd("Svd", input, self.full_matrices, self.compute_uv)


METHODS: dict[str, Any] = {"svd": svd}
