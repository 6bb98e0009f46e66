"""Diagonals and triangles of matrices, and matrices along a diagonal.

Row i, column j of a matrix with n columns is element i*n + j of the flat matrix, so the elements of a diagonal lie
n + 1 apart. So a diagonal is a slice with that step, and a matrix with a given diagonal is the transpose of that slice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, integer, one_axis, operand, operands, permuted, to_shape, total
from ._joining import cat

__all__ = ["Trace", "Tril", "Triu", "block_diag", "diag", "diagonal", "trace", "tril", "triu"]

_SLICE, _UNSLICE, _WHERE = OP["slice"], OP["unslice"], OP["where"]


def _stride(rows: int, columns: int, offset: int) -> tuple[int, int, int]:
    """The slice of the flat matrix that is a diagonal, as (start, length, step)."""
    start = offset if offset >= 0 else -offset * columns
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    return (start if length else 0), length, columns + 1


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Diagonals of the matrices that two axes span.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    offset : int, default 0
        Which diagonal: positive above the main one, negative below.
    dim1, dim2 : int
        The axes of rows and of columns.

    Returns
    -------
    Tensor
        The two axes removed, the diagonal as last axis.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes, no such axes, or both are the same.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.diagonal(x), ops.diagonal(x, 1))
    [1. 4.] [2.]
    """
    return _diagonal("diagonal", x, offset, dim1, dim2)


def _diagonal(name: str, x: Any, offset: Any, dim1: Any, dim2: Any) -> Tensor:
    x = operand(name, x)
    shape = x.shape
    if len(shape) < 2:
        raise ValueError(f"{name}: a tensor of shape {shape} has no diagonal; expected at least two axes")
    i, j = one_axis(name, dim1, shape), one_axis(name, dim2, shape)
    if i == j:
        raise ValueError(f"{name}: rows and columns are the same axis {i} of shape {shape}")
    rest = tuple([k for k in ALL_AXES[len(shape)] if k not in (i, j)])
    outer = tuple([shape[k] for k in rest])
    rows, columns = shape[i], shape[j]
    flat = to_shape(permuted(x, (*rest, i, j)), (*outer, rows * columns))
    spec = tuple([(0, n, 1) for n in outer])
    return _engine.apply(_SLICE, (*spec, _stride(rows, columns, integer(name, "offset", offset))), flat)


def diag(x: Any, diagonal: int = 0) -> Tensor:
    """Matrix with a given diagonal, or the diagonal of a matrix.

    Parameters
    ----------
    x : Tensor
        A vector or a matrix.
    diagonal : int, default 0
        Which diagonal: positive above the main one, negative below.

    Returns
    -------
    Tensor
        A matrix that is 0 elsewhere for a vector, a vector for a matrix.

    Raises
    ------
    ValueError
        If `x` has neither one axis nor two.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.diag(dg.Tensor([1.0, 2.0]))
    >>> print(x, ops.diag(x))
    [[1. 0.]
     [0. 2.]] [1. 2.]
    """
    x = operand("diag", x)
    offset = integer("diag", "diagonal", diagonal)
    if x.ndim == 2:
        return _diagonal("diag", x, offset, 0, 1)
    if x.ndim != 1:
        raise ValueError(f"diag: expected a vector or a matrix, got a tensor of shape {x.shape}")
    n = x.shape[0] + abs(offset)
    flat = _engine.apply(_UNSLICE, ((n * n,), (_stride(n, n, offset),)), x)
    return to_shape(flat, (n, n))


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Sum of the elements on a diagonal.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    offset : int, default 0
        Which diagonal: positive above the main one, negative below.
    axis1, axis2 : int
        The axes of rows and of columns.
    dtype : type, optional
        Convert the diagonal to this type before summing.

    Returns
    -------
    Tensor
        The two axes removed.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes, no such axes, or both are the same.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.trace(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    5.0
    """
    found = _diagonal("trace", x, offset, axis1, axis2)
    if dtype is not None:
        found = _engine.convert(found, as_dtype(dtype, where="trace").num)
    return total(found, (found.ndim - 1,), False)


def tril(x: Any, diagonal: int = 0) -> Tensor:
    """Lower triangle of matrices: elements above a diagonal become 0.

    Parameters
    ----------
    x : Tensor
        At least two axes; the last two are rows and columns.
    diagonal : int, default 0
        The last diagonal that is kept.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tril(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 0.]
     [3. 4.]]
    """
    return _triangle("tril", x, diagonal)


def triu(x: Any, diagonal: int = 0) -> Tensor:
    """Upper triangle of matrices: elements below a diagonal become 0.

    Parameters
    ----------
    x : Tensor
        At least two axes; the last two are rows and columns.
    diagonal : int, default 0
        The first diagonal that is kept.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.triu(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 2.]
     [0. 4.]]
    """
    return _triangle("triu", x, diagonal)


def _triangle(name: str, x: Any, diagonal: Any) -> Tensor:
    x = operand(name, x)
    if x.ndim < 2:
        raise ValueError(f"{name}: a tensor of shape {x.shape} has no triangle; expected at least two axes")
    k = integer(name, "diagonal", diagonal)
    rows, columns = x.shape[-2:]
    k = min(max(k, -rows), columns + 1)  # nothing changes beyond, and NumPy takes small numbers only
    mask = np.tri(rows, columns, k, dtype=bool) if name == "tril" else ~np.tri(rows, columns, k - 1, dtype=bool)
    return _engine.apply(_WHERE, None, mask, x, np.zeros((), x.dtype.numpy))


def block_diag(*inputs: Any) -> Tensor:
    """A matrix with the given ones along its diagonal and 0 elsewhere.

    Parameters
    ----------
    *inputs : Tensor
        Matrices; a vector is a row, a number a matrix of one element.

    Returns
    -------
    Tensor
        In the common type of the operands.

    Raises
    ------
    ValueError
        If a tensor has more than two axes, or there is none.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.block_diag(dg.Tensor([[1.0], [2.0]]), dg.Tensor([3.0, 4.0])))
    [[1. 0. 0.]
     [2. 0. 0.]
     [0. 3. 4.]]
    """
    blocks = operands("block_diag", inputs)
    if not blocks or any(x.ndim > 2 for x in blocks):
        raise ValueError(f"block_diag: tensors of shapes {[x.shape for x in blocks]}; expected matrices, one at least")
    blocks = [to_shape(x, (1,) * (2 - x.ndim) + x.shape) for x in blocks]
    width = sum(x.shape[1] for x in blocks)
    rows, start = [], 0
    for x in blocks:
        height, length = x.shape
        place = ((0, height, 1), (start if length else 0, length, 1))
        rows.append(_engine.apply(_UNSLICE, ((height, width), place), x))
        start += length
    return cat(rows)


class Trace(Primitive, of=trace):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return trace(x)


class _Triangle(Primitive):
    """The base of `Tril` and `Triu`: one setting."""

    __slots__ = ("diagonal",)

    def __init__(self, diagonal: int = 0) -> None:
        self.diagonal: int = integer(type(self).__name__, "diagonal", diagonal)


class Tril(_Triangle):
    """Lower triangle of matrices; see `tril`.

    Parameters
    ----------
    diagonal : int, default 0
        The last diagonal that is kept.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Tril()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 0.]
     [3. 4.]]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return tril(x, self.diagonal)


class Triu(_Triangle):
    """Upper triangle of matrices; see `triu`.

    Parameters
    ----------
    diagonal : int, default 0
        The first diagonal that is kept.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Triu()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 2.]
     [0. 4.]]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return triu(x, self.diagonal)


METHODS: dict[str, Any] = {
    "diag": diag,
    "diagonal": diagonal,
    "trace": trace,
    "tril": tril,
    "triu": triu,
}
