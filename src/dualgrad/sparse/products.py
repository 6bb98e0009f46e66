"""Products with sparse matrices of SciPy, differentiable to any order.

``A @ x``, ``x @ A`` and ``A.dot(x)`` work for every SciPy sparse matrix or array A and every Tensor x; `matmul` is the
same as a function. There A is a constant. In `csr_matmul` the entries of the matrix are a Tensor, too, and can be
differentiated; their places are fixed.

Design
------
A sparse matrix is the vector of its entries and a pattern of their places. The product S(a) x is bilinear in the
entries a and in x, and its transposes need only one more map:

===================  ===========================  ==============================
map                  transposed in the first      transposed in the second
===================  ===========================  ==============================
S(a) x               entries of ct x^T            S(a)^T ct
entries of u v^T     S(ct) v                      S(ct)^T u
===================  ===========================  ==============================

"Entries of u v^T" are the entries at the places of the pattern; the rest of that product is never computed. Reading the
three arrays as compressed columns transposes a matrix in compressed rows, so nothing is sorted or copied.

SciPy is needed for these functions only: ``pip install 'dualgrad[scipy]'``.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
from typing import Any

import numpy as np

from .. import extend
from .._engine.transforms import tensor as _engine
from .._settings import array_of
from ..dtype import from_num
from ..ops._arguments import lengths, operand, permuted, to_shape
from ..tensor import Tensor
from ._scipy import scipy_sparse

__all__ = ["csr_matmul", "matmul"]

_BLOCK = 1 << 16  # the most products of elements computed at a time for entries of u v^T


class _Pattern:
    """The places of the entries of a matrix: a matrix in compressed rows whose entries are ignored."""

    def __init__(self, matrix: Any) -> None:
        self.rows_first = matrix
        self.columns_first = matrix.T

    def __eq__(self, other: object) -> bool:
        """True if two patterns have the same places. A recorded program compares the matrices of two calls so."""
        if not isinstance(other, _Pattern):
            return NotImplemented
        mine, theirs = self.rows_first, other.rows_first
        if mine.shape != theirs.shape:
            return False
        pairs = ((mine.indptr, theirs.indptr), (mine.indices, theirs.indices))
        return all(x is y or np.array_equal(x, y) for x, y in pairs)

    def __hash__(self) -> int:
        return hash((self.rows_first.shape, len(self.rows_first.indices)))

    @functools.cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and the column of each entry."""
        counts = np.diff(self.rows_first.indptr)
        return np.repeat(np.arange(len(counts)), counts), self.rows_first.indices

    def filled(self, entries: np.ndarray, transposed: bool) -> Any:
        """Make the matrix with these entries, or its transpose."""
        matrix = copy.copy(self.columns_first if transposed else self.rows_first)
        matrix.data = entries
        return matrix


# -------------------------------------------------------------------------------------------------- primitives


def _single(*arrays: np.ndarray) -> list[np.ndarray]:
    """Convert float16 to float32, since SciPy cannot multiply float16."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def _product_kernel(entries: np.ndarray, x: np.ndarray, pattern: _Pattern, transposed: bool) -> np.ndarray:
    a, b = _single(entries, x)
    stack = np.broadcast_shapes(a.shape[:-1], b.shape[:-2])
    if all(n == 1 for n in a.shape[:-1]):  # one matrix: turn a stack of operands into more columns
        columns = np.moveaxis(b, -2, 0)
        found = pattern.filled(a.ravel(), transposed) @ columns.reshape(len(columns), math.prod(columns.shape[1:]))
        found = np.moveaxis(found.reshape(len(found), *columns.shape[1:]), 0, -2)
    else:
        a = np.broadcast_to(a, stack + a.shape[-1:])
        b = np.broadcast_to(b, stack + b.shape[-2:])
        found = np.stack([pattern.filled(a[i], transposed) @ b[i] for i in np.ndindex(stack)])
    return found.reshape(stack + found.shape[-2:]).astype(entries.dtype, copy=False)


def _entries_kernel(u: np.ndarray, v: np.ndarray, pattern: _Pattern) -> np.ndarray:
    rows, columns = pattern.places
    stack = np.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    found = np.empty((*stack, len(rows)), u.dtype)
    step = max(_BLOCK // max(u.shape[-1], 1), 1)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        found[..., part] = np.einsum("...ek,...ek->...e", u[..., rows[part], :], v[..., columns[part], :])
    return found


def _entries_of_product(ct: Tensor, entries: Tensor, x: Tensor, pattern: _Pattern, transposed: bool) -> Tensor:
    return _entries(x, ct, pattern=pattern) if transposed else _entries(ct, x, pattern=pattern)


def _transposed_product(ct: Tensor, entries: Tensor, x: Tensor, pattern: _Pattern, transposed: bool) -> Tensor:
    return _product(entries, ct, pattern=pattern, transposed=not transposed)


_product = extend.bilinear(
    "sparse_product",
    _product_kernel,
    (_entries_of_product, _transposed_product),
    core=(1, 2),
    summary="a sparse matrix, given by its entries, times a matrix",
)
_entries = extend.bilinear(
    "sparse_entries",
    _entries_kernel,
    (
        lambda ct, u, v, pattern: _product(ct, v, pattern=pattern, transposed=False),
        lambda ct, u, v, pattern: _product(ct, u, pattern=pattern, transposed=True),
    ),
    core=(2, 2),
    summary="entries of a product of two matrices at the places of a sparse one",
)


# --------------------------------------------------------------------------------------------------- functions


def matmul(x: Any, y: Any) -> Tensor:
    """Multiply a constant sparse matrix and a Tensor, in either order.

    Parameters
    ----------
    x, y : scipy.sparse matrix or array, and Tensor
        One of each, in either order. The matrix has two axes and any format. It is not copied, so do not change its
        entries before derivatives are taken. CSR and CSC are multiplied directly; other formats are converted at each
        call. A Tensor on the right has shape (n,), (n, k) or (..., n, k), and on the left (n,) or (..., n).

    Returns
    -------
    Tensor
        In the wider of both types. Dense, with the shape of ``x @ y`` for dense operands.

    Raises
    ------
    TypeError
        If not exactly one operand is a sparse matrix, or both hold integers.
    ValueError
        If the shapes do not multiply.

    Examples
    --------
    The gradient of an energy x^T A x / 2 with a sparse stiffness matrix:

    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from scipy import sparse
    >>> A = sparse.diags_array([2.0 * np.ones(3), -np.ones(2), -np.ones(2)], offsets=[0, 1, -1])
    >>> x = dg.Tensor([1.0, 0.0, 3.0], dg.float64)
    >>> print(dg.grad(lambda x: 0.5 * (x * (A @ x)).sum())(x))
    [ 2. -4.  6.]
    >>> print(dg.sparse.matmul(x, A))
    [ 2. -4.  6.]
    """
    if _is_sparse(x) == _is_sparse(y):
        raise TypeError(
            f"sparse.matmul: got {type(x).__name__} and {type(y).__name__}; expected a sparse matrix of SciPy and a "
            "Tensor (two sparse matrices are multiplied by SciPy, two Tensors by ops.matmul)"
        )
    matrix, dense, on_left = (x, y, True) if _is_sparse(x) else (y, x, False)
    if matrix.ndim != 2:
        raise ValueError(f"sparse.matmul: a sparse array of shape {matrix.shape}; expected two axes, reshape it first")
    transposed = matrix.format == "csc"
    pattern = _Pattern(_as_array(matrix.T if transposed else matrix))
    return _multiplied("sparse.matmul", pattern.rows_first.data, pattern, transposed, matrix.shape, dense, on_left)


def csr_matmul(data: Any, indices: Any, indptr: Any, shape: Any, x: Any) -> Tensor:
    """Multiply a sparse matrix in compressed rows, whose entries may be differentiated, and a Tensor.

    Parameters
    ----------
    data : Tensor
        The entries, shape (m,).
    indices : array of int
        The column of each entry, shape (m,). Entries at the same place add up.
    indptr : array of int
        Row i has the entries ``indptr[i]`` to ``indptr[i + 1]``.
    shape : tuple of two ints
        The shape of the matrix.
    x : Tensor
        Shape (n,), (n, k) or (..., n, k).

    Returns
    -------
    Tensor
        In the common type of both. Derivatives go to `data` and `x`.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    TypeError
        If neither holds floats.
    ValueError
        If the arrays do not describe a matrix of that shape, or the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> data, x = dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([10.0, 100.0])
    >>> indices, indptr = [0, 1, 0], [0, 2, 2, 3]
    >>> print(dg.sparse.csr_matmul(data, indices, indptr, (3, 2), x))
    [210.   0.  30.]
    >>> print(dg.grad(lambda data: dg.sparse.csr_matmul(data, indices, indptr, (3, 2), x).sum())(data))
    [ 10. 100.  10.]
    """
    entries = operand("csr_matmul", data)
    places = [_integers("indices", indices), _integers("indptr", indptr)]
    size = lengths("csr_matmul", shape)
    if len(size) != 2 or entries.ndim != 1:
        raise ValueError(
            f"csr_matmul: entries of shape {entries.shape} for a matrix of shape {size}; expected a vector and two axes"
        )
    try:
        matrix = scipy_sparse("dualgrad.sparse: this").csr_array((np.zeros(entries.size, bool), *places), shape=size)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            f"csr_matmul: {entries.size} entries with these indices and indptr are no matrix of shape {size}: {error}"
        ) from None
    return _multiplied("csr_matmul", entries, _Pattern(matrix), False, size, x, True)


def _multiplied(
    name: str, entries: Any, pattern: _Pattern, transposed: bool, shape: tuple[int, ...], dense: Any, on_left: bool
) -> Tensor:
    """Apply the primitive: the Tensor becomes a matrix on the right, all its other axes become columns."""
    x = operand(name, dense)
    kind = _engine.common_type(entries, x)
    if not (from_num(kind).is_float or from_num(kind).is_complex):
        raise TypeError(f"{name}: both operands hold integers or bools; convert one of them to a float type")
    entries, x = _engine.convert(entries, kind), _engine.convert(x, kind)
    if x.ndim == 0:
        raise ValueError(f"{name}: the Tensor has no axes; expected one at least, multiply a number with *")
    axis = 0 if x.ndim == 1 else x.ndim - (2 if on_left else 1)
    n, result = shape[::-1] if on_left else shape
    if x.shape[axis] != n:
        pair = f"{shape} and {x.shape}" if on_left else f"{x.shape} and {shape}"
        raise ValueError(
            f"{name}: shapes {pair} do not multiply; expected {n} elements along axis {axis} of the Tensor"
        )
    order = (axis, *[k for k in range(x.ndim) if k != axis])
    others = tuple([x.shape[k] for k in order[1:]])
    columns = to_shape(permuted(x, order), (n, math.prod(others)))
    found = to_shape(_product(entries, columns, pattern=pattern, transposed=transposed == on_left), (result, *others))
    return permuted(found, tuple(sorted(range(x.ndim), key=order.__getitem__)))


def _integers(what: str, x: Any) -> np.ndarray:
    found = array_of("csr_matmul", what, x)
    if found.dtype.kind not in "iu" and found.size:
        raise TypeError(f"csr_matmul: {what} has type {found.dtype}; expected integers")
    return found.astype(np.intp, copy=False)


def _is_sparse(x: Any) -> bool:
    """True for a SciPy sparse matrix. No such matrix exists before SciPy is imported."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(x)


def _as_array(matrix: Any) -> Any:
    """Convert a matrix of any format to compressed rows; shares memory if it already has them."""
    return scipy_sparse("dualgrad.sparse: this").csr_array(matrix)


def operator(x: Any, y: Any) -> Any:
    """Compute ``@`` of a Tensor and an object that is not an array."""
    return matmul(x, y) if _is_sparse(x) or _is_sparse(y) else NotImplemented
