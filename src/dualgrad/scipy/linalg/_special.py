"""Matrices made of vectors: each element of the matrix is an element of a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops._arguments import alike, operand
from ...ops.index.gather import take
from ...ops.shape.reshaping import cat
from ...tensor import Tensor

__all__ = ["circulant", "hankel", "toeplitz"]


def _vector(name: str, x: Any) -> Tensor:
    x = operand(name, x)
    if x.ndim != 1:
        raise ValueError(f"{name}: a tensor of shape {x.shape}; expected a vector")
    return x


def toeplitz(c: Any, r: Any = None) -> Tensor:
    """The matrix with constant diagonals whose first column is `c` and whose first row is `r`.

    Parameters
    ----------
    c : Tensor
        A vector.
    r : Tensor, optional
        A vector, whose first element is not used; by default the conjugate of `c`.

    Returns
    -------
    Tensor
        Shape (len(c), len(r)).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.toeplitz(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([1.0, 4.0])))
    [[1. 4.]
     [2. 1.]
     [3. 2.]]
    """
    c = _vector("toeplitz", c)
    row = c.conj() if r is None and c.dtype.is_complex else c if r is None else _vector("toeplitz", r)
    c, row = alike([c, row])
    m, n = c.size, row.size
    apart = np.arange(m)[:, None] - np.arange(n)[None, :]
    return take(cat([c, row], 0), np.where(apart >= 0, apart, m - apart), 0)


def hankel(c: Any, r: Any = None) -> Tensor:
    """The matrix with constant antidiagonals whose first column is `c` and whose last row is `r`.

    Parameters
    ----------
    c : Tensor
        A vector.
    r : Tensor, optional
        A vector, whose first element is not used; by default zeros.

    Returns
    -------
    Tensor
        Shape (len(c), len(r)).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.hankel(dg.Tensor([1.0, 2.0])))
    [[1. 2.]
     [2. 0.]]
    """
    c = _vector("hankel", c)
    c, row = alike([c, c * 0 if r is None else _vector("hankel", r)])
    m, n = c.size, row.size
    place = np.arange(m)[:, None] + np.arange(n)[None, :]
    return take(cat([c, row], 0), np.where(place < m, place, place + 1), 0)


def circulant(c: Any) -> Tensor:
    """The matrix whose columns are the vector `c`, each rotated by one element more.

    Parameters
    ----------
    c : Tensor
        A vector.

    Returns
    -------
    Tensor
        Shape (len(c), len(c)).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.circulant(dg.Tensor([1.0, 2.0, 3.0])))
    [[1. 3. 2.]
     [2. 1. 3.]
     [3. 2. 1.]]
    """
    c = _vector("circulant", c)
    return take(c, (np.arange(c.size)[:, None] - np.arange(c.size)[None, :]) % max(c.size, 1), 0)
