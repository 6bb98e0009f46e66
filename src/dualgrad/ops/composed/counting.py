"""Sorting, counting and bins."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import array_of, real_number, room, truth_value, whole_number
from ...tensor import Tensor
from .._arguments import Primitive, integer, operand, to_shape, total
from ..index._indices import index_tensor, read
from ..index.choice import where
from ..index.gather import gather_elements, take
from ..index.segments import unsorted_segment_sum
from ..index.sorting import searchsorted, sort, topk
from ..math import elementwise as _rows
from ..shape._padding import pad
from ._classes import REQUIRED, Derived

__all__ = [
    "EqualCount", "InTopK", "ListDiff", "SearchSorted", "Unique", "UniqueWithPad", "bincount", "bucketize",
    "equal_count", "histc", "intopk", "msort", "top_k", "unique",
]  # fmt: skip


def msort(input: Any) -> Tensor:
    """Sort elements along the first axis.

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
    >>> print(ops.msort(dg.Tensor([3.0, 1.0, 2.0])))
    [1. 2. 3.]
    """
    return sort(input, 0)[0]


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The largest elements along the last axis, and their positions; see `topk`.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    k : int
        The number of elements.
    sorted : bool, default True
        True to return them in order.

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.top_k(dg.Tensor([1.0, 3.0, 2.0]), 2)[0])
    [3. 2.]
    """
    return topk(input_x, k, None, True, sorted)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """Count each of the numbers 0, 1, 2 ..., or sum the weights of each.

    Parameters
    ----------
    input : Tensor of int
        A vector without negative elements.
    weights : Tensor, optional
        A weight for each element; derivatives go to them.
    minlength : int, default 0
        The least length of the result.

    Returns
    -------
    Tensor
        A vector whose length is the largest element plus 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bincount(dg.Tensor([0, 1, 1, 3])))
    [1 2 0 1]
    """
    x = index_tensor("bincount", input)
    if x.ndim != 1 or (x.size and int(x._numpy().min()) < 0):
        raise ValueError(f"bincount: the input has shape {x.shape}; expected a vector of integers of 0 or more")
    n = builtins.max(int(x._numpy().max(initial=-1)) + 1, integer("bincount", "minlength", minlength))
    each = Tensor._owning(np.ones(x.shape, np.int64)) if weights is None else operand("bincount", weights)
    return unsorted_segment_sum(each, x, n) if n else +each


def histc(input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """Count the elements in each of several intervals of equal length.

    Parameters
    ----------
    input : Tensor
        Any shape.
    bins : int, default 100
        The number of intervals.
    min, max : float, default 0.0
        The start and the end of the intervals; equal numbers stand for the smallest and the largest element.

    Returns
    -------
    Tensor
        The type of `input`; derivative 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.histc(dg.Tensor([1.0, 2.0, 1.0]), 4, 0.0, 3.0))
    [0. 2. 1. 0.]
    """
    x = operand("histc", input)
    real_number("histc", "max", max)
    real_number("histc", "min", min)
    if integer("histc", "bins", bins) < 1 or min > max:
        raise ValueError(f"histc: {bins} intervals from {min} to {max}; expected one at least, and min up to max")
    bins = whole_number("histc", "bins", bins)
    room("histc", (bins,))
    min, max = float(min), float(max)
    values = x._numpy()
    if min == max:
        if not np.isfinite(values).all():
            raise ValueError(f"histc: elements that are not finite, and min and max are {min}; expected a range")
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        low, high = (low - 1, high + 1) if low == high else (low, high)
    else:
        low, high = min, max
    counts = np.histogram(values[(values >= low) & (values <= high)], bins, (low, high))[0]
    return Tensor._owning(counts.astype(x.dtype.numpy))


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """The interval in which each element lies.

    Parameters
    ----------
    input : Tensor
        Any shape.
    boundaries : list or tuple of number, or Tensor
        The ends of the intervals, ascending.
    right : bool, default False
        True if an element equal to a boundary lies behind it.

    Returns
    -------
    Tensor
        Type Int32: the number of boundaries before each element.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bucketize(dg.Tensor([0.0, 2.0, 9.0]), [1, 2, 3]))
    [0 1 3]
    """
    x = operand("bucketize", input)
    edges = array_of("bucketize", "boundaries", boundaries._numpy() if isinstance(boundaries, Tensor) else boundaries)
    if edges.dtype.kind not in "biuf":
        raise TypeError(f"bucketize: boundaries must be numbers in a row, got {boundaries!r:.60}")
    right = truth_value("bucketize", "right", right)
    column = to_shape(x, (*x.shape, 1))
    passed = column >= edges if right else column > edges
    return total(passed.astype(_dtype.int32), (x.ndim,), False)


def intopk(x1: Any, x2: Any, k: int) -> Tensor:
    """True where the prediction of the target is among the k largest; False where it is not finite, or for no class.

    Parameters
    ----------
    x1 : Tensor
        Predictions, shape (N, classes).
    x2 : Tensor of int
        Targets, shape (N,).
    k : int
        The number of predictions that count.

    Returns
    -------
    Tensor
        Type Bool, shape (N,).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.intopk(dg.Tensor([[0.1, 0.7, 0.2]]), dg.Tensor([2]), 2))
    [ True]
    """
    x, target = operand("intopk", x1), index_tensor("intopk", x2)
    if x.ndim != 2 or target.shape != x.shape[:1]:
        raise ValueError(f"intopk: shapes {x.shape} and {target.shape}; expected (N, classes) and (N,)")
    k = integer("intopk", "k", k)
    there = (target >= 0) & (target < x.shape[1])
    if not x.shape[1]:
        return there
    own = gather_elements(x, 1, to_shape(where(there, target, 0), (target.size, 1)))
    there = there & _rows.isfinite(to_shape(own, target.shape))
    return there & (total((x > own).astype(_dtype.int64), (1,), False) < k)


def unique(input: Any) -> tuple[Tensor, Tensor]:
    """The different elements, in the order of their first occurrence, and the number of each element among them.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    tuple of Tensor
        The elements; derivatives go to the first of equal elements. Their numbers, of the shape of `input`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, numbers = ops.unique(dg.Tensor([5, 2, 5]))
    >>> print(values, numbers)
    [5 2] [0 1 0]
    """
    x = operand("unique", input)
    flat = to_shape(x, (x.size,))
    _, first, which = np.unique(flat._numpy(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return read("unique", (0,), flat, first[order]), Tensor._owning(place[which].reshape(x.shape).astype(np.int64))


def equal_count(x: Any, y: Any) -> Tensor:
    """Count the equal elements of two tensors.

    Parameters
    ----------
    x, y : Tensor
        Of one type and shape.

    Returns
    -------
    Tensor
        Shape (1,), the type of `x`.

    Raises
    ------
    ValueError
        If types or shapes differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.equal_count(dg.Tensor([5, 2, 5]), dg.Tensor([5, 3, 5])))
    [2]
    """
    x, y = operand("equal_count", x), operand("equal_count", y)
    if x.shape != y.shape or x.dtype is not y.dtype:
        raise ValueError(
            f"equal_count: got {x.dtype} {x.shape} and {y.dtype} {y.shape}; expected one type and one shape"
        )
    return to_shape((x == y).sum(), (1,)).astype(x.dtype)


# ------------------------------------------------------------------------------------------ primitive classes


class Unique(Derived, function=unique, call="x", example="""
>>> print(*ops.Unique()(dg.Tensor([5, 2, 5])))
[5 2] [0 1 0]
"""):  # fmt: skip
    __slots__ = ()


class UniqueWithPad(Primitive):
    """Primitive class of `unique` with a result as long as the tensor: ``ops.UniqueWithPad()(x, pad_num)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.UniqueWithPad()(dg.Tensor([5, 2, 5]), 0))
    [5 2 0] [0 1 0]
    """

    __slots__ = ()

    def __call__(self, x: Any, pad_num: Any) -> tuple[Tensor, Tensor]:
        found, which = unique(x)
        return pad(found, (0, which.size - found.size), value=pad_num), which


class ListDiff(Primitive):
    """The elements of one vector that are not in another: ``ops.ListDiff(out_idx=int32)(x, y)``.

    It gives the elements, in their order, and their positions in `x`.

    Parameters
    ----------
    out_idx : {int32, int64}, default int32
        The type of the positions.

    Raises
    ------
    TypeError
        For another type of positions, or vectors of different types.
    ValueError
        If the operands are not vectors.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.ListDiff()(dg.Tensor([5, 2, 5, 7]), dg.Tensor([2])))
    [5 5 7] [0 2 3]
    """

    __slots__ = ("out_idx",)

    def __init__(self, out_idx: Any = _dtype.int32) -> None:
        self.out_idx = _dtype.as_dtype(out_idx, where="ListDiff")
        if self.out_idx not in (_dtype.int32, _dtype.int64):
            raise TypeError(f"ListDiff: out_idx is {self.out_idx}; expected int32 or int64")

    def __call__(self, x: Any, y: Any) -> tuple[Tensor, Tensor]:
        x, y = operand("ListDiff", x), operand("ListDiff", y)
        if x.ndim != 1 or y.ndim != 1:
            raise ValueError(f"ListDiff: operands of shapes {x.shape} and {y.shape}; expected vectors")
        if x._typenum != y._typenum:
            raise TypeError(f"ListDiff: operands of types {x.dtype} and {y.dtype}; expected equal types")
        places = np.flatnonzero(~np.isin(x._numpy(), y._numpy()))
        return take(x, places, 0), Tensor._owning(places.astype(self.out_idx.numpy))


class EqualCount(Derived, function=equal_count, call="x, y", example="""
>>> print(ops.EqualCount()(dg.Tensor([5, 2, 5]), dg.Tensor([5, 3, 5])))
[2]
"""):  # fmt: skip
    __slots__ = ()


class InTopK(Derived, function=intopk, k=REQUIRED, call="x1, x2", example="""
>>> print(ops.InTopK(2)(dg.Tensor([[0.1, 0.7, 0.2]]), dg.Tensor([2])))
[ True]
"""):  # fmt: skip
    __slots__ = ()


def _places(sequence: Any, values: Any, dtype: Any, right: bool) -> Tensor:
    found = searchsorted(sequence, values, right=right)
    if dtype not in (_dtype.int32, _dtype.int64):
        raise TypeError(f"SearchSorted: dtype is {dtype}; expected int32 or int64")
    return found.astype(dtype)


class SearchSorted(Derived, function=_places, dtype=_dtype.int64, right=False):
    """Primitive class of `searchsorted`: ``ops.SearchSorted(dtype=int64, right=False)(sorted_sequence, values)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SearchSorted(right=True)(dg.Tensor([1.0, 3.0, 5.0]), dg.Tensor([3.0, 4.0])))
    [2 2]
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "bincount": bincount,
    "histc": histc,
    "msort": msort,
    "top_k": top_k,
    "unique": unique,
}
