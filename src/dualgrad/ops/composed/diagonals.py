"""Diagonals and triangles, and writing parts into a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import described, number_or_tensor
from ...tensor import Tensor
from .._arguments import OP, converted, integer, one_axis, operand, several_axes, to_shape
from ..axes._order import moveaxis
from ..index._elements import replaced
from ..index.choice import where
from ._classes import REQUIRED, Derived

__all__ = [
    "FillDiagonal", "MatrixBandPart", "diag_embed", "diagflat", "diagonal_scatter", "fill_diagonal",
    "matrix_band_part", "select_scatter", "slice_scatter",
]  # fmt: skip

_UNSLICE = OP["unslice"]


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the elements of the last axis on the diagonals of matrices.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    offset : int, default 0
        The diagonal.
    dim1, dim2 : int, default -2 and -1
        The axes of the matrices in the result.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the axes are equal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.diag_embed(dg.Tensor([1.0, 2.0]), 1))
    [[0. 1. 0.]
     [0. 0. 2.]
     [0. 0. 0.]]
    """
    x = operand("diag_embed", input)
    if x.ndim < 1:
        raise ValueError("diag_embed: the input has no axes; expected one at least")
    first, second = several_axes("diag_embed", (dim1, dim2), x.shape, 1)
    offset = integer("diag_embed", "offset", offset)
    n = x.shape[-1] + abs(offset)
    # a diagonal of an n x n matrix is a slice of its n * n elements in order, with step n + 1
    start = offset if offset >= 0 else -offset * n
    lead = tuple([(0, k, 1) for k in x.shape[:-1]])
    spec = (*lead, (start if x.shape[-1] else 0, x.shape[-1], n + 1))
    flat = _engine.apply(_UNSLICE, ((*x.shape[:-1], n * n), spec), x)
    return moveaxis(to_shape(flat, (*x.shape[:-1], n, n)), (-2, -1), (first, second))


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """Put all elements on the diagonal of a matrix.

    Parameters
    ----------
    input : Tensor
        Any shape.
    offset : int, default 0
        The diagonal.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.diagflat(dg.Tensor([[1.0, 2.0]])))
    [[1. 0.]
     [0. 2.]]
    """
    x = operand("diagflat", input)
    return diag_embed(to_shape(x, (x.size,)), offset)


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Tensor:
    """Set matrices to zero outside of a band around the diagonal.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    lower, upper : int or Tensor of int
        The number of diagonals below and above the main diagonal that stay; all of them if negative.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.matrix_band_part(ops.ones((3, 3)), 1, 0))
    [[1. 0. 0.]
     [1. 1. 0.]
     [0. 1. 1.]]
    """
    x = operand("matrix_band_part", x)
    if x.ndim < 2:
        raise ValueError(f"matrix_band_part: the input has shape {x.shape}; expected two axes at least")
    above = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    inside: Any = True
    for limit, distance in ((lower, -above), (upper, above)):
        t = number_or_tensor("matrix_band_part", "a limit", limit)
        if np.iscomplexobj(t) if not isinstance(t, Tensor) else t.dtype.is_complex:
            raise TypeError(f"matrix_band_part: a limit must be a real number or a Tensor of them, got {described(t)}")
        k = to_shape(t, (*t.shape, 1, 1)) if isinstance(t, Tensor) else t
        inside = inside & ((k < 0) | (distance <= k))
    return where(inside, x, np.zeros((), x.dtype.numpy))


# ---------------------------------------------------------------------------------------------- parts written


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Tensor:
    """A tensor with one place along an axis replaced.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    src : Tensor
        The new values; the shape of `input` without the axis.
    axis, index : int
        The axis, and the place.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.select_scatter(ops.zeros((2, 2)), ops.ones((2,)), 1, 0))
    [[1. 0.]
     [1. 0.]]
    """
    x = operand("select_scatter", input)
    axis = one_axis("select_scatter", axis, x.shape)
    return replaced(
        x,
        (*(slice(None),) * axis, integer("select_scatter", "index", index)),
        converted("select_scatter", "values", src, x),
    )


def slice_scatter(
    input: Any, src: Any, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A tensor with a slice along an axis replaced.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    src : Tensor
        The new values; the shape of the slice.
    axis : int, default 0
        The axis.
    start, end : int, optional
        The start and the end of the slice; by default the ends of the axis.
    step : int, default 1
        The step.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.slice_scatter(ops.zeros((4,)), ops.ones((2,)), 0, 1, 4, 2))
    [0. 1. 0. 1.]
    """
    x = operand("slice_scatter", input)
    axis = one_axis("slice_scatter", axis, x.shape)
    return replaced(x, (*(slice(None),) * axis, slice(start, end, step)), converted("slice_scatter", "values", src, x))


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A tensor with a diagonal replaced.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    src : Tensor
        The new values; the shape of the diagonal, its elements last.
    offset : int, default 0
        The diagonal.
    dim1, dim2 : int, default 0 and 1
        The axes of the matrices.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.diagonal_scatter(ops.zeros((2, 2)), dg.Tensor([1.0, 2.0])))
    [[1. 0.]
     [0. 2.]]
    """
    name = "diagonal_scatter"
    x = operand(name, input)
    src = converted(name, "values", src, x)
    axes = several_axes(name, (dim1, dim2), x.shape)
    last = moveaxis(x, axes, (-2, -1))
    rows, columns = np.nonzero(np.eye(last.shape[-2], last.shape[-1], integer(name, "offset", offset), dtype=bool))
    expected = (*last.shape[:-2], len(rows))
    if src.shape != expected:
        raise ValueError(f"{name}: src has shape {src.shape}; expected {expected}")
    return moveaxis(replaced(last, (..., rows, columns), src), (-2, -1), axes)


def fill_diagonal(input: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """A tensor with a number on its main diagonal.

    Parameters
    ----------
    input : Tensor
        Two axes, or more of one length.
    fill_value : float
        The number.
    wrap : bool, default False
        True to restart the diagonal of a tall matrix below its end, one row further down.

    Returns
    -------
    Tensor
        Shape and type of `input`.

    Raises
    ------
    ValueError
        If the axes do not fit.
    TypeError
        If the type of `input` cannot hold the number.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fill_diagonal(ops.zeros((2, 3)), 5.0))
    [[5. 0. 0.]
     [0. 5. 0.]]
    """
    x = operand("fill_diagonal", input)
    if isinstance(fill_value, float) and fill_value.is_integer() and not x.dtype.is_float:
        fill_value = int(fill_value)
    mask = np.zeros(x.shape, bool)
    try:
        np.fill_diagonal(mask, True, wrap)
    except ValueError:
        raise ValueError(
            f"fill_diagonal: the tensor has shape {x.shape}; expected two axes, or more of one length"
        ) from None
    return where(mask, converted("fill_diagonal", "a value", fill_value, x), x)


# ------------------------------------------------------------------------------------------ primitive classes


class FillDiagonal(Derived, function=fill_diagonal, fill_value=REQUIRED, wrap=False, call="input_x", example="""
>>> print(ops.FillDiagonal(5.0)(ops.zeros((2, 2))))
[[5. 0.]
 [0. 5.]]
"""):  # fmt: skip
    __slots__ = ()


class MatrixBandPart(Derived, function=matrix_band_part, call="x, lower, upper", example="""
>>> print(ops.MatrixBandPart()(ops.ones((2, 2)), 0, -1))
[[1. 1.]
 [0. 1.]]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "diagflat": diagflat,
    "fill_diagonal": fill_diagonal,
    "diagonal_scatter": diagonal_scatter,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
