"""Positions of elements: masks, indices, pairs and combinations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._settings import one_of, room, truth_value, whole_number
from ...tensor import Tensor
from .._arguments import Primitive, integer, operand, operands, to_shape
from ..axes._joining import cat
from ..index._indices import index_tensor, one_axis_pattern, read
from ..shape._repeating import meshgrid

__all__ = [
    "DataFormatDimMap",
    "argwhere",
    "cartesian_prod",
    "combinations",
    "sequence_mask",
    "tril_indices",
    "triu_indices",
]


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Tensor:
    """Mask of the elements of sequences: the first `lengths` elements are True.

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
    room("sequence_mask", (*count.shape, max(n, 0)))
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
    return Tensor._owning(np.argwhere(operand("argwhere", input)._numpy()))


def cartesian_prod(*inputs: Any) -> Tensor:
    """All combinations of one element from each vector, as rows.

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
        If `inputs` is empty, or an input is not a vector.

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
    """All combinations of r elements of a vector, as rows.

    Parameters
    ----------
    input : Tensor
        A vector.
    r : int, default 2
        The number of elements in a combination.
    with_replacement : bool, default False
        True if an element may be taken again.

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
    x, r = operand("combinations", input), whole_number("combinations", "r", r)
    if x.ndim != 1:
        raise ValueError(f"combinations: the input has shape {x.shape}; expected a vector")
    again = truth_value("combinations", "with_replacement", with_replacement)
    number = math.comb(x.size + r - 1, r) if again and x.size else math.comb(x.size, r) if not again else int(not r)
    if number * max(r, 1) >= 1 << 58:
        raise ValueError(f"combinations: {r} of {x.size} elements are more combinations than any memory holds")
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    places = np.array(list(choose(range(x.size), r)), np.int64).reshape(number, r)
    return read("combinations", (0,), x, places)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """The places of a lower triangle: row numbers, and column numbers.

    Parameters
    ----------
    row, col : int
        The lengths of the matrix.
    offset : int, default 0
        The highest diagonal of the triangle.
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

    Parameters and results are as in `tril_indices`; `offset` is the lowest diagonal.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.triu_indices(2, 2))
    [[0 0 1]
     [0 1 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)


def _triangle(name: str, indices: Any, row: int, col: int, offset: int, dtype: Any) -> Tensor:
    row, col = whole_number(name, "row", row), whole_number(name, "col", col)
    room(name, (row, col), 16)
    offset = min(max(integer(name, "offset", offset), -row - 1), col + 1)  # nothing changes beyond
    found = Tensor._owning(np.stack(indices(row, offset, col)).astype(np.int64))
    return found if dtype is None else found.astype(dtype)


class DataFormatDimMap(Primitive):
    """Translate axes of an image to another order: ``ops.DataFormatDimMap()(input_x)``.

    Axis i of `dst_format` becomes its number in `src_format`, as `transpose` needs it.

    Parameters
    ----------
    src_format, dst_format : {'NHWC', 'NCHW'}, default 'NHWC' and 'NCHW'
        The order of the axes of the result, and of the operand.

    Raises
    ------
    TypeError
        If axes are not integers.
    ValueError
        For other orders.
    IndexError
        If the axis does not exist.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.DataFormatDimMap()(dg.Tensor([0, 1, 2, -1])))
    [0 3 1 2]
    """

    __slots__ = ("dst_format", "src_format")

    def __init__(self, src_format: str = "NHWC", dst_format: str = "NCHW") -> None:
        for order in (src_format, dst_format):
            if not one_of(order, ("NHWC", "NCHW")):
                raise ValueError(f"DataFormatDimMap: got the order {order!r}; expected 'NHWC' or 'NCHW'")
        self.src_format: str = src_format
        self.dst_format: str = dst_format

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("DataFormatDimMap", input_x)
        places = Tensor._owning(np.array([self.src_format.index(axis) for axis in self.dst_format], x.dtype.numpy))
        return read("DataFormatDimMap", one_axis_pattern((4,), 0), places, index_tensor("DataFormatDimMap", x))


METHODS: dict[str, Callable[..., Any]] = {
    "argwhere": argwhere,
}
