"""Rows gathered into segments: sums, products and extremes of the rows with the same segment number.

The sum is a scatter, the transpose of reading. The product sorts the rows by segment and multiplies them pairwise. It
divides nothing, so derivatives are exact even where factors are zero. An extreme is found without derivatives first;
the rows that reach it share the gradient in equal parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import room
from ...tensor import Tensor
from .._arguments import OP, Primitive, integer, operand, to_shape
from ..axes._prefixes import Elements, every, prefixes
from ._indices import added, index_tensor, one_axis_pattern, read
from .choice import where
from .sorting import positions

__all__ = [
    "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentSum", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_sum",
]  # fmt: skip

_CUMSUM, _EQ, _GATHER = OP["cumsum"], OP["eq"], OP["gather"]
_MAXIMUM, _MINIMUM = OP["maximum"], OP["minimum"]
_FIRST = one_axis_pattern((), 0)


# --------------------------------------------------------------------------- rows (n, m), a segment for each row


def segment_sums(rows: Tensor, ids: Tensor, count: int) -> Tensor:
    """The sum of the rows of each segment, of shape (count, m)."""
    return added("segments", (count, *rows.shape[1:]), _FIRST, rows, ids)


def segment_products(rows: Tensor, ids: Tensor, count: int) -> Tensor:
    """The product of the rows of each segment; 1 for a segment without rows."""
    return _combined(lambda x, y: x * y, rows, ids, count, 1)


def segment_extremes(op: int, rows: Tensor, ids: Tensor, count: int, empty: Any) -> Tensor:
    """The largest or smallest row of each segment, element by element; `empty` for a segment without rows.

    The mean of the elements that reach the extreme has the right derivatives. Its rounding error is corrected by a
    constant.
    """
    extreme = _combined(lambda x, y: _engine.binary_op(op, x, y), _engine.stop(rows), ids, count, empty)
    if not rows.dtype.is_float:
        return extreme
    reaches = _engine.binary_op(_EQ, rows, read("segments", _FIRST, extreme, ids))
    ties = segment_sums(_engine.convert(reaches, ids._typenum), ids, count)
    parts = where(reaches, rows, 0) / read("segments", _FIRST, _engine.binary_op(_MAXIMUM, ties, 1), ids)
    shared = segment_sums(parts, ids, count)
    return shared + _engine.stop(where(_engine.binary_op(_EQ, shared, extreme), 0, extreme - shared))


def _combined(combine: Any, rows: Tensor, ids: Tensor, count: int, empty: Any) -> Tensor:
    """Combine the rows of each segment by an associative function.

    Sorted by segment, the rows of one segment stand side by side, and the last of their prefixes is the result.
    """
    width = rows.shape[1]
    nothing = Tensor(np.full((count, width), empty, rows.dtype.numpy))
    if not rows.shape[0] or not count:
        return nothing
    order = positions(ids, 0)
    sorted_ids = to_shape(read("segments", _FIRST, ids, order), (ids.size, 1))

    def within(a: Elements, b: Elements) -> Elements:
        (i, x), (j, y) = a, b
        return j, where(_engine.binary_op(_EQ, i, j), combine(x, y), y)

    _, results = prefixes(within, (sorted_ids, read("segments", _FIRST, rows, order)), 0)
    sizes = added("segments", (count,), _FIRST, Tensor(np.ones(ids.shape, np.int64)), ids)
    ends = _engine.apply(_CUMSUM, (0, False), sizes) - 1
    last = read("segments", _FIRST, results, _engine.binary_op(_MAXIMUM, ends, 0))
    return where(to_shape(sizes > 0, (count, 1)), last, nothing)


# ------------------------------------------------------------------------------------------- public functions


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Sums of the elements with the same segment number.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    segment_ids : Tensor of int
        A segment for each element of the first axes of `input_x`, in any order; elements with a negative segment are
        left out.
    num_segments : int
        The number of segments.

    Returns
    -------
    Tensor
        Shape (num_segments, further axes of `input_x`); 0 in segments without elements.

    Raises
    ------
    IndexError
        If the segment does not exist.
    TypeError
        If the segments are not integers.
    ValueError
        If the shape of `segment_ids` differs from the first axes of `input_x`, or `num_segments` is below 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> print(ops.unsorted_segment_sum(x, dg.Tensor([0, 2, 0]), 3))
    [[6. 8.]
     [0. 0.]
     [3. 4.]]
    """
    return _segmented("unsorted_segment_sum", None, input_x, segment_ids, num_segments)


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Largest of the elements with the same segment number; elements that tie share the gradient in equal parts.

    The errors are as in `unsorted_segment_sum`.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    segment_ids : Tensor of int
        A segment for each element of the first axes of `x`, in any order; elements with a negative segment are left
        out.
    num_segments : int
        The number of segments.

    Returns
    -------
    Tensor
        Shape (num_segments, further axes of `x`); the lowest number of the type in segments without elements.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 6.0], [3.0, 4.0], [5.0, 2.0]])
    >>> print(ops.unsorted_segment_max(x, dg.Tensor([0, 1, 0]), 2))
    [[5. 6.]
     [3. 4.]]
    """
    return _segmented("unsorted_segment_max", _MAXIMUM, x, segment_ids, num_segments)


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Smallest of the elements with the same segment number; elements that tie share the gradient in equal parts.

    The parameters are as in `unsorted_segment_max`, the errors as in `unsorted_segment_sum`.

    Returns
    -------
    Tensor
        Shape (num_segments, further axes of `x`); the highest number of the type in segments without elements.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 6.0], [3.0, 4.0], [5.0, 2.0]])
    >>> print(ops.unsorted_segment_min(x, dg.Tensor([0, 1, 0]), 2))
    [[1. 2.]
     [3. 4.]]
    """
    return _segmented("unsorted_segment_min", _MINIMUM, x, segment_ids, num_segments)


def _segmented(name: str, op: int | None, x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    x = operand(name, x)
    ids, count = index_tensor(name, segment_ids), integer(name, "num_segments", num_segments)
    shape, rest = x.shape, x.shape[ids.ndim :]
    if not ids.ndim or ids.shape != shape[: ids.ndim] or count < 1:
        raise ValueError(
            f"{name}: segments of shape {ids.shape} for a tensor of shape {shape}, num_segments {count}; expected a "
            "segment for each element of the first axes, and one segment at least"
        )
    room(name, (count + 1, *rest))
    rows = to_shape(x, (ids.size, math.prod(rest)))
    bins = _bins(name, to_shape(ids, (ids.size,)), count)
    if op is None:
        found = segment_sums(rows, bins, count + 1)
    else:
        found = segment_extremes(op, rows, bins, count + 1, _limit(name, x, op))
    return to_shape(every(found, 0, 0, count), (count, *rest))


def _bins(name: str, ids: Tensor, count: int) -> Tensor:
    """Segments, with one more behind them, for negative numbers."""
    try:
        checked = _engine.apply(_GATHER, _FIRST, Tensor(np.arange(count)), _engine.binary_op(_MAXIMUM, ids, 0))
    except IndexError as error:
        raise IndexError(f"{name}: there are {count} segments; {error}") from None
    return where(ids < 0, count, checked)


def _limit(name: str, x: Tensor, op: int) -> Any:
    """The extreme over no elements: the lowest or highest number of the type."""
    kind = x.dtype.numpy
    if x.dtype.is_float:
        numbers: Any = np.finfo(kind)
    elif x.dtype.is_int:
        numbers = np.iinfo(kind)
    else:
        raise TypeError(f"{name}: a tensor of type {x.dtype} has no order; expected integers or floats")
    return numbers.min if op == _MAXIMUM else numbers.max


# ------------------------------------------------------------------------------------------ primitive classes


class UnsortedSegmentSum(Primitive, of=unsorted_segment_sum):
    __slots__ = ()

    def __call__(self, x: Any, segment_ids: Any, num_segments: int) -> Tensor:
        return _segmented("UnsortedSegmentSum", None, x, segment_ids, num_segments)


class UnsortedSegmentMax(Primitive, of=unsorted_segment_max):
    __slots__ = ()

    def __call__(self, x: Any, segment_ids: Any, num_segments: int) -> Tensor:
        return _segmented("UnsortedSegmentMax", _MAXIMUM, x, segment_ids, num_segments)


class UnsortedSegmentMin(Primitive, of=unsorted_segment_min):
    __slots__ = ()

    def __call__(self, x: Any, segment_ids: Any, num_segments: int) -> Tensor:
        return _segmented("UnsortedSegmentMin", _MINIMUM, x, segment_ids, num_segments)


METHODS: dict[str, Any] = {
    "unsorted_segment_max": unsorted_segment_max,
    "unsorted_segment_min": unsorted_segment_min,
    "unsorted_segment_sum": unsorted_segment_sum,
}
