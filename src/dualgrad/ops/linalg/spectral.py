"""Eigenvalues of symmetric matrices, singular values, and functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import Primitive
from ._hermitian import complex_factors, general_pairs, hermitian_pairs
from ._matrices import matrices, square, symmetric
from ._perturbation import eigenpairs, eigenvalues, pairs_of
from ._singular import factors, factors_of, values
from .norms import norm
from .solving import inverted

__all__ = ["Svd", "cond", "eig", "eigh", "eigvals", "eigvalsh", "svd"]


# ------------------------------------------------------------------------------------------------- eigenvalues


def eigvalsh(A: Any) -> Tensor:
    """Eigenvalues of symmetric, or complex Hermitian, matrices.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n). Only the Hermitian part (a + a^H)/2 is used, so gradients are symmetric.

    Returns
    -------
    Tensor
        Shape (..., n), ascending.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative that does not exist, see below.
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    Notes
    -----
    For distinct eigenvalues there are derivatives of every order. Where some are equal, single eigenvalues have no
    derivative, but symmetric functions of them (a sum of squares, a partition function) do. Their gradients are right,
    and so are derivatives of these gradients along a direction, that is Hessians. Further derivatives raise an error.
    In functions that are not smooth there, like the largest eigenvalue, equal eigenvalues share the gradient equally.

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
    a = symmetric("eigvalsh", A, complex=True)
    return hermitian_pairs(a, "eigvalsh")[0] if a.dtype.is_complex else eigenvalues(a, caller="eigvalsh")


def eigh(A: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric, or complex Hermitian, matrices.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n). Only the Hermitian part (a + a^H)/2 is used, so gradients are symmetric. Complex eigenvectors
        are determined up to a factor of absolute value 1; derivatives belong to the factor that turns least.

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
        If the type is float16.
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
    a = symmetric("eigh", A, complex=True)
    if a.dtype.is_complex:
        return hermitian_pairs(a, "eigh")
    return pairs_of(eigenpairs(a, np.zeros(a.shape, a.dtype.numpy), caller="eigh"))


def eig(A: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices that need not be symmetric.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    tuple of Tensor
        The complex eigenvalues, shape (..., n), in any order, and the eigenvectors, the columns of a matrix of shape
        (..., n, n): of norm 1, with a real largest number.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative: where eigenvalues are equal.
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    See Also
    --------
    eigh : For symmetric matrices: ordered, and exact where eigenvalues are equal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w, v = ops.eig(dg.Tensor([[0.0, 1.0], [-1.0, 0.0]]))
    >>> print(w)
    [0.+1.j 0.-1.j]
    """
    return general_pairs(*_as_complex("eig", A))


def eigvals(A: Any) -> Tensor:
    """Eigenvalues of square matrices that need not be symmetric; see `eig`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.eigvals(dg.Tensor([[2.0, 1.0], [0.0, 3.0]])))
    [2.+0.j 3.+0.j]
    """
    return general_pairs(*_as_complex("eigvals", A))[0]


def _as_complex(name: str, a: Any) -> tuple[Tensor, str, bool]:
    """The matrix in a complex type, the caller, and True if it was real."""
    a = square(name, a, complex=True)
    real = not a.dtype.is_complex
    wanted = a.dtype if a.dtype.is_complex else _dtype.complex128 if a.dtype is _dtype.float64 else _dtype.complex64
    return a.astype(wanted), name, real


# --------------------------------------------------------------------------------------------- singular values


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular value decomposition a = u diag(s) v^H.

    Parameters
    ----------
    input : Tensor
        Shape (..., m, n); integers become float32. Let p be the smaller of m and n.
    full_matrices : bool, default False
        All m left and n right singular vectors, instead of p of both.
    compute_uv : bool, default True
        True to return vectors, too.

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
        If the type is float16.
    ValueError
        If `input` has fewer than two axes.

    Notes
    -----
    For functions of the singular values alone set ``compute_uv=False``: equal and vanishing singular values are then
    treated as `eigvalsh` treats equal eigenvalues. The derivative of the sum of the singular values is 0 in the null
    space.

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
    a = matrices(name, a, complex=True)
    if a.dtype.is_complex:
        found = complex_factors(a, bool(full) and vectors, name)
        return found if vectors else found[0]
    truth_value(name, "vectors", vectors)
    if not vectors:
        return values(a, caller=name)
    truth_value(name, "full", full)
    return factors_of(factors(a, full=bool(full), caller=name), a.shape[-2], a.shape[-1], bool(full))


def cond(A: Any, p: Any = None) -> Tensor:
    """Condition number of matrices: the norm times the norm of the inverse.

    Parameters
    ----------
    A : Tensor
        Shape (..., m, n); square unless `p` is None, 2 or -2.
    p : number or str, optional
        The norm of matrices, see `norm`. None and 2: the largest singular value divided by the smallest; -2: the
        smallest divided by the largest.

    Returns
    -------
    Tensor
        Shape (...).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular, for other norms than these.
    TypeError
        If the type is float16.
    ValueError
        If `p` is not a norm of matrices, or matrices are not square for other norms.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cond(dg.Tensor([[8.0, 0.0], [0.0, 2.0]])))
    4.0
    """
    a = matrices("cond", A, complex=True)
    if 0 in a.shape[-2:]:
        raise np.linalg.LinAlgError(f"cond: a matrix of shape {a.shape} has no elements; expected one or more")
    if one_of(p, (None, 2, -2)):
        s = complex_factors(a, False, "cond")[0] if a.dtype.is_complex else values(a, caller="cond")
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    axes = (a.ndim - 2, a.ndim - 1)
    return norm(a, p, axes) * norm(inverted(square("cond", a, complex=True), caller="cond"), p, axes)


class Svd(Primitive):
    """Primitive class of `svd`.

    Parameters
    ----------
    full_matrices : bool, default False
        All singular vectors.
    compute_uv : bool, default True
        True to return vectors, too.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Svd(compute_uv=False)(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """

    __slots__ = ("compute_uv", "full_matrices")

    def __init__(self, full_matrices: bool = False, compute_uv: bool = True) -> None:
        self.full_matrices: bool = full_matrices
        self.compute_uv: bool = compute_uv

    def __call__(self, input: Any) -> Any:
        return _svd("Svd", input, self.full_matrices, self.compute_uv)


METHODS: dict[str, Any] = {"svd": svd}
