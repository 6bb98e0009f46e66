"""Eigenvalues of matrices and of pairs of matrices, with SciPy's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._settings import one_of, truth_value
from ...ops._arguments import alike, integer
from ...ops.linalg import cholesky, inverse, solve
from ...ops.linalg import eig as _eig
from ...ops.linalg import eigh as _eigh
from ...ops.linalg import eigvals as _eigvals
from ...ops.linalg import eigvalsh as _eigvalsh
from ...ops.linalg._matrices import adjoint, as_row, square
from ...ops.linalg.solving import substituted
from ...ops.math import elementwise as _rows
from ...ops.math.complex import conj, real
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]


# --------------------------------------------------------------------------------------- matrices of any kind


def _pair(name: str, a: Any, b: Any) -> Tensor:
    """The matrix with the eigenvalues of the pair: b^-1 a."""
    a = square(name, a, True)
    if b is None:
        return a
    a, b = alike([a, square(name, b, True)])
    return solve(b, a)


def eig(a: Any, b: Any = None, left: bool = False, right: bool = True) -> Any:
    """Eigenvalues and eigenvectors of matrices, ``a v = w v``, or of pairs of matrices, ``a v = w b v``.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n), real or complex.
    b : Tensor, optional
        Shape (..., n, n), invertible.
    left : bool, default False
        Return left eigenvectors u, ``u^H a = w u^H b``, too.
    right : bool, default True
        Return eigenvectors.

    Returns
    -------
    tuple of Tensor, or Tensor
        w, and left and right eigenvectors if requested; complex. Vectors are columns of norm 1, with a real largest
        number.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `b` is singular; in a derivative, also if eigenvalues are equal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a, b = dg.Tensor([[6.0]], dg.float64), dg.Tensor([[2.0]], dg.float64)
    >>> print(linalg.eig(a, b, right=False))
    [3.+0.j]
    """
    w, v = _eig(_pair("eig", a, b))
    truth_value("eig", "left", left)
    if not left:
        truth_value("eig", "right", right)
        return (w, v) if right else w
    u = adjoint(inverse(v))
    if b is not None:
        u = solve(adjoint(square("eig", b, True)).astype(u.dtype), u)
    u = _normalised(u)
    return (w, u, v) if right else (w, u)


def _largest_kernel(u: np.ndarray) -> np.ndarray:
    """Mark the number with the largest absolute value of each column by 1; others are 0."""
    found = np.zeros(u.shape, u.dtype)
    if u.shape[-2]:
        np.put_along_axis(found, np.abs(u).argmax(-2)[..., None, :], 1.0, -2)
    return found


_largest = extend.primitive(
    "largest_by_column", _largest_kernel, jvp=(None,), vjp=(None,), core=(2,), summary="where columns are largest"
)


def _normalised(u: Tensor) -> Tensor:
    """Scale columns to norm 1 with a real largest number, as in LAPACK."""
    u = u / as_row(_rows.sqrt(real(u * conj(u)).sum(-2)))
    there = _largest(stop_gradient(u))
    big = (u * there).sum(-2)
    return u * as_row(conj(big) / _rows.sqrt(real(big * conj(big))))


def eigvals(a: Any, b: Any = None) -> Tensor:
    """Eigenvalues of matrices, or of pairs of matrices; see `eig`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.eigvals(dg.Tensor([[2.0, 1.0], [0.0, 3.0]])))
    [2.+0.j 3.+0.j]
    """
    return _eigvals(_pair("eigvals", a, b))


# ------------------------------------------------------------------------------------------ Hermitian matrices


def _read(name: str, x: Any, lower: bool) -> Tensor:
    """A Hermitian matrix from one triangle, as SciPy reads it."""
    x = square(name, x, True)
    strict = np.tri(x.shape[-1], k=-1, dtype=bool)
    truth_value(name, "lower", lower)
    mine = x * (strict if lower else strict.T).astype(x.dtype.numpy)
    middle = real(x) * np.eye(x.shape[-1], dtype=real(x).dtype.numpy)
    return mine + adjoint(mine) + middle.astype(x.dtype)


def _reduced(name: str, a: Any, b: Any, kind: int, lower: bool) -> tuple[Tensor, Tensor | None]:
    """The Hermitian matrix with the eigenvalues of a pair, and the Cholesky factor for its eigenvectors."""
    a = _read(name, a, lower)
    if not one_of(kind, (1, 2, 3)):
        raise ValueError(f"{name}: type is {kind!r}; expected 1, 2 or 3")
    if b is None:
        return a, None
    a, b = alike([a, _read(name, b, lower)])
    factor = cholesky(b)
    if kind != 1:  # a b v = w v, b a v = w v
        return adjoint(factor) @ a @ factor, factor
    left = substituted(factor, a, lower=True, least=0.0, caller=name)
    return adjoint(substituted(factor, adjoint(left), lower=True, least=0.0, caller=name)), factor


def eigh(
    a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, subset_by_index: Any = None, type: int = 1
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, or of pairs of matrices.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n).
    b : Tensor, optional
        Shape (..., n, n), positive definite.
    lower : bool, default True
        The triangle of `a` and `b` to read: derivatives go there.
    eigvals_only : bool, default False
        Return only the eigenvalues.
    subset_by_index : pair of int, optional
        The first and the last eigenvalue to return.
    type : {1, 2, 3}, default 1
        The equation: ``a v = w b v``, ``a b v = w v`` or ``b a v = w v``.

    Returns
    -------
    tuple of Tensor, or Tensor
        The eigenvalues, ascending, and vectors with ``v^H b v = 1`` (for type 3 ``v^H b^-1 v = 1``) as columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `b` is not positive definite; in a derivative of vectors, also if eigenvalues are equal.

    Notes
    -----
    Uses the Cholesky factor of `b`, as LAPACK does.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a, b = dg.Tensor([[6.0]], dg.float64), dg.Tensor([[2.0]], dg.float64)
    >>> print(linalg.eigh(a, b, eigvals_only=True))
    [3.]
    """
    matrix, factor = _reduced("eigh", a, b, type, lower)
    if subset_by_index is None:
        subset_by_index = 0, matrix.shape[-1] - 1
    if not isinstance(subset_by_index, tuple | list | np.ndarray) or len(subset_by_index) != 2:
        raise ValueError(f"eigh: subset_by_index is {subset_by_index!r:.60}; expected a pair (first, last)")
    first, last = [integer("eigh", "an end of subset_by_index", k) for k in subset_by_index]
    if not 0 <= first <= last < matrix.shape[-1]:
        raise ValueError(f"eigh: subset_by_index is {subset_by_index} for matrices of {matrix.shape[-1]} rows")
    truth_value("eigh", "eigvals_only", eigvals_only)
    if eigvals_only:
        return _eigvalsh(matrix)[..., first : last + 1]
    w, v = _eigh(matrix)
    w, v = w[..., first : last + 1], v[..., first : last + 1]
    if factor is None:
        return w, v
    if type == 3:
        return w, factor @ v
    return w, substituted(adjoint(factor), v, lower=False, least=0.0, caller="eigh")


def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, subset_by_index: Any = None, type: int = 1) -> Tensor:
    """Eigenvalues of Hermitian matrices, or of pairs of matrices; see `eigh`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.eigvalsh(dg.Tensor([[2.0, 0.0], [0.0, 1.0]])))
    [1. 2.]
    """
    found: Tensor = eigh(a, b, lower=lower, eigvals_only=True, subset_by_index=subset_by_index, type=type)
    return found
