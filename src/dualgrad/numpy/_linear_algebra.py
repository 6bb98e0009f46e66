"""The linear algebra extension of the array API standard, where it differs from NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtype as _dtype
from .. import ops
from .._engine.transforms import tensor as _engine
from .._settings import number_or_tensor, real_number
from ..ops._arguments import floating, one_axis, reduced_axes
from ..ops.linalg import eig, eigvals, svd
from ..ops.linalg.norms import norm, vector_norm
from ..ops.linalg.products import cross
from ..ops.math.products import outer, tensor_dot
from ..ops.shape.reshaping import diagonal
from ..tensor import Tensor
from ._entries import standard
from ._matrices import EigResult
from ._operands import settled, settled_together, wide

__all__: list[str] = []


def _matrices(name: str, x: Any) -> Tensor:
    x = settled(name, x)
    if x.ndim < 2:
        raise ValueError(f"{name}: expected a matrix or a stack of matrices, got a tensor of shape {x.shape}")
    return x


@standard("linalg.cross")
def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors with three elements along an axis.

    Parameters
    ----------
    x1, x2 : Tensor
        Shapes that broadcast, with length 3 along the axis.
    axis : int, default -1
        The axis.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If a length is not 3.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.cross(mnp.asarray([1.0, 0.0, 0.0]), mnp.asarray([0.0, 1.0, 0.0])))
    [0. 0. 1.]
    """
    x1, x2 = settled_together("cross", x1, x2)
    for x in (x1, x2):
        if x.shape[one_axis("cross", axis, x.shape)] != 3:
            raise ValueError(f"cross: shapes {x1.shape} and {x2.shape}; expected length 3 along axis {axis}")
    return cross(x1, x2, axis)


@standard("linalg.diagonal")
def _diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """Diagonals of matrices, as the last axis.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n).
    offset : int, default 0
        The distance above the main diagonal.

    Returns
    -------
    Tensor
        Shape (..., k).

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.diagonal(mnp.asarray([[1, 2], [3, 4]])))
    [1 4]
    """
    return diagonal(_matrices("diagonal", x), offset, -2, -1)


@standard("linalg.eig")
def _eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of general square matrices, both complex.

    Parameters
    ----------
    x : Tensor
        Shape (..., n, n).

    Returns
    -------
    EigResult
        `eigenvalues` of shape (..., n), and `eigenvectors`, the columns of matrices.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative, also if eigenvalues are equal.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.eig(mnp.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues)
    [0.+1.j 0.-1.j]
    """
    return EigResult(*eig(settled("eig", x)))


@standard("linalg.eigvals")
def _eigvals(x: Any, /) -> Tensor:
    """Eigenvalues of general square matrices, complex; see `eig`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.eigvals(mnp.asarray([[2.0, 1.0], [0.0, 3.0]])))
    [2.+0.j 3.+0.j]
    """
    return eigvals(settled("eigvals", x))


@standard("matmul", "linalg.matmul")
def _matmul(x1: Any, x2: Any, /) -> Tensor:
    """Matrix products, also of stacks; a vector counts as a row on the left and as a column on the right.

    Parameters
    ----------
    x1, x2 : Tensor
        At least one axis each.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the inner dimensions differ.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.matmul(mnp.asarray([[1, 2], [3, 4]]), mnp.asarray([1, 1])))
    [3 7]
    """
    return _engine.matmul_op(*settled_together("matmul", x1, x2))


@standard("linalg.matrix_norm")
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of matrices.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n), floating.
    keepdims : bool, default False
        Keep the last two axes with length 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}, default 'fro'
        The norm, as in ``numpy.linalg.norm``.

    Returns
    -------
    Tensor
        Real.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.matrix_norm(mnp.asarray([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    return norm(_matrices("matrix_norm", x), "fro" if ord is None else ord, (-2, -1), keepdims)


@standard("linalg.matrix_rank")
def _matrix_rank(x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """Ranks of matrices: the numbers of singular values above a fraction of the largest. Derivatives do not pass.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n), floating.
    tol : number or Tensor, optional
        An absolute limit: singular values up to it count as 0.
    hermitian : bool, default False
        Accepted without effect, since the method works for every matrix.
    rtol : number or Tensor, optional
        The fraction, for each matrix; by default ``max(m, n)`` times the rounding unit.

    Returns
    -------
    Tensor
        Int64, shape (...).

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.matrix_rank(mnp.ones((3, 2))))
    1
    """
    x = settled("matrix_rank", x)
    if x.ndim < 2:
        return ops.any(x != 0).astype(_dtype.int64)
    s = ops.stop_gradient(svd(x, compute_uv=False))
    if tol is not None:
        tol = number_or_tensor("matrix_rank", "tol", tol)
        limit = tol[..., None] if isinstance(tol, Tensor | np.ndarray) and tol.ndim else tol
        return ops.sum((s > limit).astype(_dtype.int64), -1)
    part = _part("matrix_rank", x, rtol)
    largest = s[..., :1] if s.shape[-1] else ops.zeros((*s.shape[:-1], 1), s.dtype)
    return ops.sum((s > largest * part).astype(_dtype.int64), -1)


def _part(name: str, x: Tensor, rtol: Any) -> Any:
    """The fraction of the largest singular value that counts as 0, as a column beside the singular values."""
    if rtol is None:
        return max(x.shape[-2:]) * float(np.finfo(x.dtype.numpy if not x.dtype.is_int else np.float32).eps)
    rtol = number_or_tensor(name, "rtol", rtol)
    return rtol[..., None] if isinstance(rtol, Tensor | np.ndarray) and rtol.ndim else rtol


@standard("linalg.outer")
def _outer(x1: Any, x2: Any, /) -> Tensor:
    """Products of all pairs of elements of two vectors.

    Parameters
    ----------
    x1, x2 : Tensor
        One axis each.

    Returns
    -------
    Tensor
        Shape (len(x1), len(x2)).

    Raises
    ------
    ValueError
        If one of them is not a vector.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.outer(mnp.asarray([1, 2]), mnp.asarray([3, 4])))
    [[3 4]
     [6 8]]
    """
    x1, x2 = settled_together("outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: shapes {x1.shape} and {x2.shape}; expected two vectors")
    return outer(x1, x2)


@standard("linalg.svdvals")
def _svdvals(x: Any, /) -> Tensor:
    """Singular values of matrices, descending.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n), floating.

    Returns
    -------
    Tensor
        Real, shape (..., min(m, n)).

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.svdvals(mnp.asarray([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """
    found: Tensor = svd(settled("svdvals", x), compute_uv=False)
    return found


@standard("tensordot", "linalg.tensordot")
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over axes of both operands.

    Parameters
    ----------
    a, b : Tensor
        Any shapes.
    axes : int or pair of sequences of int, default 2
        The number of last axes of `a` and first axes of `b` to sum over; or the axes of each.

    Returns
    -------
    Tensor
        The remaining axes, first of `a`, then of `b`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.tensordot(mnp.ones((2, 3)), mnp.ones((2, 3)), axes=((0, 1), (0, 1))))
    6.0
    """
    a, b = settled_together("tensordot", a, b)
    return tensor_dot(a, b, axes)


@standard("linalg.trace")
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Sums of the diagonals of matrices.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n).
    offset : int, default 0
        The distance above the main diagonal.
    dtype : dtype, optional
        Convert to this type first; by default integers become Int64, unsigned ones UInt64.

    Returns
    -------
    Tensor
        Shape (...).

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.trace(mnp.asarray([[1, 2], [3, 4]])))
    5
    """
    x = _matrices("trace", x)
    x = wide(x) if dtype is None else x.astype(dtype)
    return ops.sum(diagonal(x, offset, -2, -1), -1, dtype=x.dtype)


@standard("linalg.vector_norm")
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Norms of vectors, over one or several axes; the slope is 0 where a norm is 0.

    Parameters
    ----------
    x : Tensor
        Floating, any shape.
    axis : int or tuple of int, optional
        The axes of the vectors; None means all.
    keepdims : bool, default False
        Keep them with length 1.
    ord : number, default 2
        The order p of sum(abs(x)**p)**(1/p); inf and -inf give the largest and smallest absolute value, 0 the number of
        nonzero elements.

    Returns
    -------
    Tensor
        Real.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.linalg.vector_norm(mnp.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1))
    [ 5. 10.]
    """
    x = floating("vector_norm", settled("vector_norm", x))
    return vector_norm(
        x,
        float(real_number("vector_norm", "ord", ord)),
        () if isinstance(axis, tuple) and not axis else reduced_axes("vector_norm", axis, x),
        keepdims,
    )
