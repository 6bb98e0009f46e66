"""Products of vectors and matrices beside the matrix product, and distances between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._settings import room
from ...tensor import Tensor
from .._arguments import Primitive, alike, expanded, floating, integer, one_axis, operand, to_shape
from ..axes._joining import stack
from .norms import vector_norm

__all__ = ["Cdist", "Cross", "cdist", "cross", "kron", "vander"]


def kron(input: Any, other: Any) -> Tensor:
    """Kronecker product: every element of one tensor times all of the other tensor.

    Parameters
    ----------
    input, other : Tensor
        Any shapes; the shorter shape counts as having leading axes of length 1.

    Returns
    -------
    Tensor
        Along each axis as long as the product of both lengths.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.kron(dg.Tensor([[1.0, 2.0]]), dg.Tensor([[1.0], [10.0]])))
    [[ 1.  2.]
     [10. 20.]]
    """
    x, y = alike([operand("kron", input), operand("kron", other)])
    n = max(x.ndim, y.ndim)
    rows, columns = ((1,) * (n - t.ndim) + t.shape for t in (x, y))
    x = to_shape(x, tuple([length for k in range(n) for length in (rows[k], 1)]))
    y = to_shape(y, tuple([length for k in range(n) for length in (1, columns[k])]))
    return to_shape(x * y, tuple([rows[k] * columns[k] for k in range(n)]))


def vander(x: Any, N: int | None = None) -> Tensor:
    """Powers of the elements of a vector as columns, descending to the power 0.

    Parameters
    ----------
    x : Tensor
        A vector.
    N : int, optional
        Number of columns; the number of elements by default.

    Returns
    -------
    Tensor
        Shape (len(x), N).

    Raises
    ------
    ValueError
        If `x` is not a vector, or `N` is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.vander(dg.Tensor([2.0, 3.0]), 3))
    [[4. 2. 1.]
     [9. 3. 1.]]
    """
    x = operand("vander", x)
    if x.ndim != 1:
        raise ValueError(f"vander: expected a vector, got a tensor of shape {x.shape}")
    n = x.size if N is None else integer("vander", "N", N)
    if n < 0:
        raise ValueError(f"vander: N is {n}; expected 0 or more columns")
    room("vander", (x.size, n))
    if n == 0:
        return to_shape(x, (x.size, 1))[:, :0]
    columns = [x**0]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return stack(columns[::-1], 1)


_ANY = -65530


def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Cross product of vectors of three elements.

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast against each other.
    dim : int, optional
        The axis of the vectors; the first of length 3 by default. Also spelled `axis`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the axis does not have length 3, or the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cross(dg.Tensor([1.0, 0.0, 0.0]), dg.Tensor([0.0, 1.0, 0.0])))
    [0. 0. 1.]
    """
    return _cross("cross", input, other, dim)


def _cross(name: str, x: Any, y: Any, dim: Any) -> Tensor:
    x, y = alike([operand(name, x), operand(name, y)])
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise ValueError(f"{name}: shapes {x.shape} and {y.shape} do not broadcast against each other") from None
    if dim is None or (isinstance(dim, int) and dim == _ANY):
        if 3 not in shape:
            raise ValueError(f"{name}: no axis of shape {shape} has length 3")
        axis = shape.index(3)
    else:
        axis = one_axis(name, dim, shape)
        if shape[axis] != 3:
            raise ValueError(f"{name}: axis {axis} of shape {shape} has length {shape[axis]}; expected 3")
    before = (slice(None),) * axis
    x1, x2, x3 = (expanded(x, shape)[(*before, k)] for k in range(3))
    y1, y2, y3 = (expanded(y, shape)[(*before, k)] for k in range(3))
    return stack([x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1], axis)


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """Distances between all pairs of rows of two matrices, in a norm of order p.

    Parameters
    ----------
    x1, x2 : Tensor
        Shapes (..., r, m) and (..., k, m); leading axes broadcast.
    p : float, default 2.0
        The order: 0 (number of elements that differ) to infinity.

    Returns
    -------
    Tensor
        Shape (..., r, k).

    Raises
    ------
    TypeError
        If `p` is not a number.
    ValueError
        If `p` is negative, or the shapes do not fit.

    Notes
    -----
    The derivative is 0 between equal points.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cdist(dg.Tensor([[0.0, 0.0]]), dg.Tensor([[3.0, 4.0], [0.0, 0.0]])))
    [[5. 0.]]
    """
    return _distances("cdist", x1, x2, p)


def _distances(name: str, x: Any, y: Any, p: Any) -> Tensor:
    x, y = alike([floating(name, x), floating(name, y)])
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"{name}: shapes {x.shape} and {y.shape}; expected two matrices or stacks of them with equally many columns"
        )
    order = number(name, p)
    x = to_shape(x, (*x.shape[:-1], 1, x.shape[-1]))
    y = to_shape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    difference = x - y
    return vector_norm(difference, order, (difference.ndim - 1,), False)


def number(name: str, p: Any) -> float:
    """The order of a norm."""
    if not isinstance(p, int | float | np.number):
        raise TypeError(f"{name}: p must be a number, got {type(p).__name__}")
    if not p >= 0:
        raise ValueError(f"{name}: p is {p}; expected 0 or more")
    return float(p)


class Cross(Primitive):
    """Primitive class of `cross`.

    Parameters
    ----------
    dim : int, default -65530
        The axis of the vectors; the default stands for the first of length 3.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Cross()(dg.Tensor([1.0, 0.0, 0.0]), dg.Tensor([0.0, 1.0, 0.0])))
    [0. 0. 1.]
    """

    __slots__ = ("dim",)

    def __init__(self, dim: int = _ANY) -> None:
        self.dim: int = integer("Cross", "dim", dim)

    def __call__(self, input: Any, other: Any) -> Tensor:
        return _cross("Cross", input, other, self.dim)


class Cdist(Primitive):
    """Primitive class of `cdist`.

    Parameters
    ----------
    p : float, default 2.0
        The order.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Cdist(1.0)(dg.Tensor([[0.0, 0.0]]), dg.Tensor([[3.0, 4.0]])))
    [[7.]]
    """

    __slots__ = ("p",)

    def __init__(self, p: float = 2.0) -> None:
        self.p: float = number("Cdist", p)

    def __call__(self, input_x: Any, input_y: Any) -> Tensor:
        return _distances("Cdist", input_x, input_y, self.p)


METHODS: dict[str, Any] = {"cross": cross}
