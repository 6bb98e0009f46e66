"""Axes and places: joining, dividing, reversing, triangles, diagonals, and parts written into a tensor."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import (
    OP,
    expanded,
    integer,
    lengths,
    one_axis,
    operand,
    operands,
    several_axes,
    to_shape,
)
from ..axes._joining import cat, hstack
from ..axes._order import moveaxis
from ..axes._turning import flip
from ..index._indices import index_tensor, many_axes_pattern, read
from ..index.choice import where
from ..index.indexing import replaced
from ..shape._repeating import meshgrid, repeat_interleave
from ._classes import REQUIRED, Derived

__all__ = [
    "MatrixBandPart", "ReverseSequence", "ReverseV2", "argwhere", "atleast_1d", "atleast_2d",
    "atleast_3d", "cartesian_prod", "column_stack", "combinations", "diag_embed", "diagflat", "diagonal_scatter",
    "dsplit", "dstack", "expand", "fliplr", "flipud", "hsplit", "matrix_band_part", "repeat_elements", "reverse",
    "reverse_sequence", "select_scatter", "sequence_mask", "slice_scatter", "tensor_split", "tril_indices",
    "triu_indices", "view_as", "vsplit",
]  # fmt: skip

_UNSLICE = OP["unslice"]


def _at_least(name: str, inputs: Any, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    if isinstance(inputs, tuple | list):
        return tuple([to_shape(x, shape(x.shape)) for x in operands(name, inputs)])
    x = operand(name, inputs)
    return to_shape(x, shape(x.shape))


def atleast_1d(inputs: Any) -> Any:
    """A number as a vector; what has axes stays as it is.

    Parameters
    ----------
    inputs : Tensor, or tuple or list of Tensor
        Any shapes.

    Returns
    -------
    Tensor or tuple of Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.atleast_1d(dg.Tensor(2.0)))
    [2.]
    """
    return _at_least("atleast_1d", inputs, lambda s: s or (1,))


def atleast_2d(inputs: Any) -> Any:
    """A number or vector as a matrix of one row; parameters and results are those of `atleast_1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.atleast_2d(dg.Tensor([2.0, 3.0])))
    [[2. 3.]]
    """
    return _at_least("atleast_2d", inputs, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(inputs: Any) -> Any:
    """At least three axes; a vector of length n gets shape (1, n, 1), a matrix a last axis of length 1.

    Parameters and results are those of `atleast_1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.atleast_3d(dg.Tensor([2.0, 3.0])).shape
    (1, 2, 1)
    """
    return _at_least("atleast_3d", inputs, lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s))


def column_stack(tensors: Any) -> Tensor:
    """Join vectors as columns, and matrices beside each other.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        Vectors of one length, or tensors with as many rows.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.column_stack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0]))))
    [[1. 3.]
     [2. 4.]]
    """
    parts = operands("column_stack", tensors)
    return hstack(tuple([to_shape(x, (x.size, 1)) if x.ndim < 2 else x for x in parts]))


def dstack(tensors: Any) -> Tensor:
    """Join tensors along their third axis, after `atleast_3d`.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        Equal shapes but for the third axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.dstack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0]))).shape
    (1, 2, 2)
    """
    return cat(atleast_3d(operands("dstack", tensors)), 2)


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Divide an axis at places, or into parts that differ by one element at most.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int, or tuple or list of int
        The number of parts, or the places where parts begin.
    axis : int, default 0
        The axis.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    ValueError
        If the number of parts is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.tensor_split(dg.Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    return _divided("tensor_split", operand("tensor_split", input), indices_or_sections, axis)


def _divided(name: str, x: Tensor, places: Any, axis: int, even: bool = False) -> tuple[Tensor, ...]:
    axis = one_axis(name, axis, x.shape)
    n = x.shape[axis]
    if isinstance(places, tuple | list):
        stops = [integer(name, "a place", k) for k in places]
        edges = [0, *[min(max(k + n if k < 0 else k, 0), n) for k in stops], n]
    else:
        parts = integer(name, "the number of parts", places)
        if parts < 1 or (even and n % parts):
            raise ValueError(f"{name}: {parts} parts of an axis of length {n}; expected a positive number that fits")
        edges = [k * (n // parts) + min(k, n % parts) for k in range(parts + 1)]
    index = (slice(None),) * axis
    return tuple([x[(*index, slice(a, max(a, b)))] for a, b in itertools.pairwise(edges)])


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Divide the second axis, or the only one; see `tensor_split`.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int, or tuple or list of int
        The number of parts, or the places where parts begin.

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.hsplit(ops.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = operand("hsplit", input)
    return _divided("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Divide the first axis; see `tensor_split`. Parameters and results are those of `hsplit`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.vsplit(ops.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _divided("vsplit", operand("vsplit", input), indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Divide the third axis; see `tensor_split`. Parameters and results are those of `hsplit`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> [part.shape for part in ops.dsplit(ops.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _divided("dsplit", operand("dsplit", input), indices_or_sections, 2)


def expand(input_x: Any, size: Any) -> Tensor:
    """Broadcast to a shape; -1 keeps a length.

    Parameters
    ----------
    input_x : Tensor
        Any shape.
    size : tuple of int or Tensor
        The new shape, of as many axes or more.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.expand(dg.Tensor([[1.0], [2.0]]), (-1, 2)))
    [[1. 1.]
     [2. 2.]]
    """
    x, size = operand("expand", input_x), lengths("expand", size)
    own = (1,) * (len(size) - x.ndim) + x.shape
    target = tuple([m if k == -1 else k for m, k in zip(own, size, strict=False)])
    lead = len(size) - x.ndim
    if lead < 0 or -1 in size[:lead] or any(m not in (1, k) for m, k in zip(own, target, strict=True)):
        raise ValueError(f"expand: a tensor of shape {x.shape} does not broadcast to {size}")
    return expanded(x, target)


def view_as(input: Any, other: Any) -> Tensor:
    """Give a tensor the shape of another one.

    Parameters
    ----------
    input, other : Tensor
        What is reshaped, and what has the shape.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the numbers of elements differ.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.view_as(ops.ones((2, 3)), ops.ones((6,))).shape
    (6,)
    """
    x, like = operand("view_as", input), operand("view_as", other)
    if x.size != like.size:
        raise ValueError(f"view_as: a tensor of shape {x.shape} cannot have shape {like.shape}")
    return to_shape(x, like.shape)


def fliplr(input: Any) -> Tensor:
    """Reverse the second axis.

    Parameters
    ----------
    input : Tensor
        At least two axes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fliplr(dg.Tensor([[1.0, 2.0]])))
    [[2. 1.]]
    """
    return flip(input, (1,))


def flipud(input: Any) -> Tensor:
    """Reverse the first axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.flipud(dg.Tensor([1.0, 2.0])))
    [2. 1.]
    """
    return flip(input, (0,))


def reverse(x: Any, axis: Any) -> Tensor:
    """Reverse axes.

    Parameters
    ----------
    x : Tensor
        Any shape.
    axis : int or tuple of int
        The axes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.reverse(dg.Tensor([[1.0, 2.0]]), [1]))
    [[2. 1.]]
    """
    x = operand("reverse", x)
    return flip(x, several_axes("reverse", axis, x.shape))


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Reverse the first elements of sequences of different length.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    seq_lengths : Tensor of int
        How many elements of each sequence are reversed.
    seq_dim, batch_dim : int
        The axis along which sequences run, and the one that counts them (default 0).

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
    >>> print(ops.reverse_sequence(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), dg.Tensor([2, 3]), 1))
    [[2. 1. 3.]
     [6. 5. 4.]]
    """
    name = "reverse_sequence"
    x, count = operand(name, x), index_tensor(name, seq_lengths)
    along, batch = one_axis(name, seq_dim, x.shape), one_axis(name, batch_dim, x.shape)
    if along == batch or count.shape != (x.shape[batch],):
        raise ValueError(
            f"{name}: seq_lengths of shape {count.shape} for a tensor of shape {x.shape}, sequences along axis "
            f"{along}, batch along axis {batch}; expected one length for each sequence"
        )
    front = moveaxis(x, (batch, along), (0, 1))
    steps, count = np.arange(x.shape[along]), to_shape(count, (count.size, 1))
    place = where(count > steps, count - 1 - steps, steps)
    found = read(name, many_axes_pattern(2), front, np.arange(count.size).reshape(-1, 1), place)
    return moveaxis(found, (0, 1), (batch, along))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """Repeat every element along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    rep : int
        How often.
    axis : int, default 0
        The axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.repeat_elements(dg.Tensor([1.0, 2.0]), 2))
    [1. 1. 2. 2.]
    """
    return repeat_interleave(x, integer("repeat_elements", "rep", rep), axis)


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Tensor:
    """Which elements of sequences are there: True for as many as each has.

    Parameters
    ----------
    lengths : Tensor of int
        Any shape.
    maxlen : int, optional
        Length of the new last axis; by default the largest length.

    Returns
    -------
    Tensor
        Type Bool.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.sequence_mask(dg.Tensor([1, 3])))
    [[ True False False]
     [ True  True  True]]
    """
    count = index_tensor("sequence_mask", lengths)
    n = int(count._numpy().max(initial=0)) if maxlen is None else integer("sequence_mask", "maxlen", maxlen)
    return to_shape(count, (*count.shape, 1)) > np.arange(n)


def argwhere(input: Any) -> Tensor:
    """The places of elements that are not 0.

    Parameters
    ----------
    input : Tensor
        Any shape and type.

    Returns
    -------
    Tensor
        Type Int64, a row for each place.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.argwhere(dg.Tensor([[0.0, 2.0], [3.0, 0.0]])))
    [[0 1]
     [1 0]]
    """
    return Tensor.from_numpy(np.argwhere(operand("argwhere", input)._numpy()))


def cartesian_prod(*inputs: Any) -> Tensor:
    """All choices of one element from each vector, as rows.

    Parameters
    ----------
    *inputs : Tensor
        Vectors.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is none, or one is no vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cartesian_prod(dg.Tensor([1, 2]), dg.Tensor([5, 6])))
    [[1 5]
     [1 6]
     [2 5]
     [2 6]]
    """
    parts = operands("cartesian_prod", inputs)
    if not parts or any(x.ndim != 1 for x in parts):
        raise ValueError(f"cartesian_prod: expected vectors, got shapes {[x.shape for x in parts]}")
    if len(parts) == 1:
        return +parts[0]
    grids = meshgrid(*parts, indexing="ij")
    return cat(tuple([to_shape(g, (g.size, 1)) for g in grids]), 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, as rows.

    Parameters
    ----------
    input : Tensor
        A vector.
    r : int, default 2
        How many elements are chosen.
    with_replacement : bool, default False
        Whether an element may be chosen again.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.combinations(dg.Tensor([1.0, 2.0, 3.0])))
    [[1. 2.]
     [1. 3.]
     [2. 3.]]
    """
    x = operand("combinations", input)
    if x.ndim != 1 or r < 0:
        raise ValueError(f"combinations: the input has shape {x.shape}, r is {r}; expected a vector and r of 0 or more")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(x.size), r)), np.int64).reshape(-1, r)
    return read("combinations", (0,), x, places)


# ------------------------------------------------------------------------------------------- diagonals, triangles


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """The places of a lower triangle: row numbers, and column numbers.

    Parameters
    ----------
    row, col : int
        The lengths of the matrix.
    offset : int, default 0
        The diagonal up to which elements belong to it.
    dtype : type, default int64
        Int32 or Int64.

    Returns
    -------
    Tensor
        Shape (2, number of elements).

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.tril_indices(2, 2))
    [[0 1 1]
     [0 0 1]]
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """The places of an upper triangle: row numbers, and column numbers.

    Parameters and results are those of `tril_indices`; elements from the diagonal `offset` on belong to it.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.triu_indices(2, 2))
    [[0 0 1]
     [0 1 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)


def _triangle(name: str, indices: Any, row: int, col: int, offset: int, dtype: Any) -> Tensor:
    if row < 0 or col < 0:
        raise ValueError(f"{name}: a matrix of shape ({row}, {col}); expected lengths of 0 or more")
    found = Tensor.from_numpy(np.stack(indices(row, offset, col)).astype(np.int64))
    return found if dtype is None else found.astype(dtype)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The elements of the last axis as diagonals of matrices.

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
    n = x.shape[-1] + abs(offset)
    # a diagonal of an n x n matrix is a stretch of its n * n elements in order, n + 1 apart
    start = offset if offset >= 0 else -offset * n
    lead = tuple([(0, k, 1) for k in x.shape[:-1]])
    spec = (*lead, (start if x.shape[-1] else 0, x.shape[-1], n + 1))
    flat = _engine.apply(_UNSLICE, ((*x.shape[:-1], n * n), spec), x)
    return moveaxis(to_shape(flat, (*x.shape[:-1], n, n)), (-2, -1), (first, second))


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """All elements as the diagonal of a matrix.

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
    """Matrices with zeros outside of a band around the diagonal.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    lower, upper : int or Tensor of int
        How many diagonals below and above the main one stay; all of them where negative.

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
        k = to_shape(t, (*t.shape, 1, 1)) if isinstance(t := limit, Tensor) else limit
        inside = inside & ((k < 0) | (distance <= k))
    return where(inside, x, np.zeros((), x.dtype.numpy))


# ------------------------------------------------------------------------------------------------ parts written


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Tensor:
    """A tensor with one place along an axis replaced.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    src : Tensor
        What is put there; the shape of `input` without the axis.
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
        x, (*(slice(None),) * axis, integer("select_scatter", "index", index)), operand("select_scatter", src)
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
        What is put there; the shape of the slice.
    axis : int, default 0
        The axis.
    start, end : int, optional
        Where the slice begins and ends; by default at the ends of the axis.
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
    return replaced(x, (*(slice(None),) * axis, slice(start, end, step)), operand("slice_scatter", src))


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A tensor with a diagonal replaced.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    src : Tensor
        What is put there; the shape of the diagonal, its elements last.
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
    x, src = operand(name, input), operand(name, src)
    axes = several_axes(name, (dim1, dim2), x.shape)
    last = moveaxis(x, axes, (-2, -1))
    rows, columns = np.nonzero(np.eye(last.shape[-2], last.shape[-1], offset, dtype=bool))
    expected = (*last.shape[:-2], len(rows))
    if src.shape != expected:
        raise ValueError(f"{name}: src has shape {src.shape}; expected {expected}")
    return moveaxis(replaced(last, (..., rows, columns), src), (-2, -1), axes)


# --------------------------------------------------------------------------------------------- primitive classes


class ReverseV2(Derived, function=reverse, axis=REQUIRED, example="""
>>> print(ops.ReverseV2(axis=[0])(dg.Tensor([1.0, 2.0])))
[2. 1.]
"""):  # fmt: skip
    __slots__ = ()


class ReverseSequence(Derived, function=reverse_sequence, seq_dim=REQUIRED, batch_dim=0, call="x, lengths", example="""
>>> print(ops.ReverseSequence(1)(dg.Tensor([[1.0, 2.0, 3.0]]), dg.Tensor([2])))
[[2. 1. 3.]]
"""):  # fmt: skip
    __slots__ = ()


class MatrixBandPart(Derived, function=matrix_band_part, call="x, lower, upper", example="""
>>> print(ops.MatrixBandPart()(ops.ones((2, 2)), 0, -1))
[[1. 1.]
 [0. 1.]]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "argwhere": argwhere,
    "diagflat": diagflat,
    "diagonal_scatter": diagonal_scatter,
    "dsplit": dsplit,
    "fliplr": fliplr,
    "flipud": flipud,
    "hsplit": hsplit,
    "reverse": reverse,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "tensor_split": tensor_split,
    "view_as": view_as,
    "vsplit": vsplit,
}
