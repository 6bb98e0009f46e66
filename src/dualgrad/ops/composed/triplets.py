"""Sparse tensors given by places, values and a shape: primitive classes that compute with them.

Places are a matrix of integers, one row for each value. Values have derivatives, places have none. If the number of
places of a result depends on places, they are read, so such a class is not recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import Primitive, alike, lengths, operand, to_shape
from ..index._indices import added, columns, index_tensor, many_axes_pattern
from ..index._scatter import scatter_nd
from ..index.gather import gather, gather_nd
from ..index.segments import unsorted_segment_sum
from ..math.elementwise import maximum, minimum
from ..shape._repeating import broadcast_to
from .rows import SparseTensorDenseMatmul

__all__ = [
    "SparseAdd", "SparseAddmm", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseReorder",
    "SparseReshape", "SparseSegmentMean", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN",
    "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumWithNumSegments", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseToDense", "sparse_segment_mean",
]  # fmt: skip


def _triplet(name: str, indices: Any, values: Any, shape: Any) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Check places (N, R), values (N,) and a shape of R lengths."""
    places, entries, sizes = index_tensor(name, indices), operand(name, values), lengths(name, shape)
    if places.ndim != 2 or entries.shape != places.shape[:1] or len(sizes) != places.shape[1]:
        raise ValueError(
            f"{name}: places of shape {places.shape}, values of shape {entries.shape} and a tensor of shape {sizes}; "
            "expected (N, R), (N,) and R lengths"
        )
    return places, entries, sizes


def _numbers(name: str, places: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """Number the places in row order; this reads them."""
    found = places._numpy()
    outside = (found < 0) | (found >= np.array(shape))
    if outside.any():
        row = int(np.flatnonzero(outside.any(1))[0])
        raise IndexError(f"{name}: place {row} is {found[row].tolist()}; expected one inside of the shape {shape}")
    return np.ravel_multi_index(tuple(found.T), shape) if len(shape) else np.zeros(len(found), np.int64)


def _united(
    name: str, first: tuple[Tensor, Tensor, tuple[int, ...]], second: tuple[Tensor, Tensor, tuple[int, ...]]
) -> tuple[np.ndarray, Tensor, Tensor]:
    """The union of the places of two sparse tensors, in row order, and the values of each there, else 0."""
    if first[2] != second[2]:
        raise ValueError(f"{name}: tensors of shapes {first[2]} and {second[2]}; expected equal shapes")
    if first[1]._typenum != second[1]._typenum:
        raise TypeError(f"{name}: values of types {first[1].dtype} and {second[1].dtype}; expected equal types")
    numbers = [_numbers(name, places, shape) for places, _, shape in (first, second)]
    every, at = np.unique(np.concatenate(numbers), return_inverse=True)
    places = np.stack(np.unravel_index(every, first[2]), 1).astype(np.int64)
    split = np.split(at.reshape(-1), [len(numbers[0])])
    found = [
        scatter_nd(where.reshape(-1, 1), values, (len(every),))
        for where, (_, values, _) in zip(split, (first, second), strict=True)
    ]
    return places, found[0], found[1]


class SparseToDense(Primitive):
    """The dense tensor of places and values: ``ops.SparseToDense()(indices, values, sparse_shape)``.

    Places (N, R), values (N,) and R lengths give a tensor of this shape, 0 at all other places; values at one place are
    added. Places of shape (N,) are for a vector.

    Raises
    ------
    ValueError
        If shapes do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SparseToDense()(dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0]), (2, 2)))
    [[0. 2.]
     [3. 0.]]
    """

    __slots__ = ()

    def __call__(self, indices: Any, values: Any, sparse_shape: Any) -> Tensor:
        places = index_tensor("SparseToDense", indices)
        if places.ndim == 1:
            places = to_shape(places, (*places.shape, 1))
        places, entries, sizes = _triplet("SparseToDense", places, values, sparse_shape)
        points = columns("SparseToDense", sizes, places)
        return added("SparseToDense", sizes, many_axes_pattern(len(sizes)), entries, *points)


class SparseAdd(Primitive):
    """The sum of two sparse tensors: ``ops.SparseAdd()(indices, values, shape, indices, values, shape, thresh)``.

    Returns
    -------
    tuple of Tensor
        Places in the order of rows, values, and the shape. Values whose magnitude is below `thresh` are left out.

    Raises
    ------
    TypeError
        If the values have different types.
    ValueError
        If shapes do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a, b = (
    ...     (dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0]), (2, 2)),
    ...     (dg.Tensor([[1, 0]]), dg.Tensor([-3.0]), (2, 2)),
    ... )
    >>> places, values, shape = ops.SparseAdd()(*a, *b, 0.5)
    >>> print(places, values, shape)
    [[0 1]] [2.] [2 2]
    """

    __slots__ = ()

    def __call__(
        self,
        x1_indices: Any,
        x1_values: Any,
        x1_shape: Any,
        x2_indices: Any,
        x2_values: Any,
        x2_shape: Any,
        thresh: Any,
    ) -> tuple[Tensor, Tensor, Tensor]:
        name = "SparseAdd"
        first = _triplet(name, x1_indices, x1_values, x1_shape)
        places, one, other = _united(name, first, _triplet(name, x2_indices, x2_values, x2_shape))
        total = one + other
        kept = np.flatnonzero(np.abs(_engine.stop(total)._numpy()) >= operand(name, thresh)._numpy())
        return Tensor._owning(places[kept]), gather(total, kept, 0), _as_tensor(first[2])


def _as_tensor(shape: tuple[int, ...]) -> Tensor:
    return Tensor._owning(np.array(shape, np.int64))


class SparseAddmm(Primitive):
    """Product of a sparse matrix with a matrix, plus another matrix.

    ``ops.SparseAddmm()(indices, values, shape, x2, x3, alpha, beta)`` is ``alpha * (x1 @ x2) + beta * x3``.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a = dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0]), (2, 2)
    >>> print(ops.SparseAddmm()(*a, ops.ones((2, 1)), ops.ones((2, 1)), 10.0, 1.0))
    [[21.]
     [31.]]
    """

    __slots__ = ()

    def __call__(
        self, x1_indices: Any, x1_values: Any, x1_shape: Any, x2: Any, x3: Any, alpha: Any, beta: Any
    ) -> Tensor:
        product = SparseTensorDenseMatmul()(x1_indices, x1_values, x1_shape, x2)
        product, added = alike([product, operand("SparseAddmm", x3)])
        if added.shape != product.shape:
            raise ValueError(f"SparseAddmm: x3 has shape {added.shape}; expected {product.shape}, that of the product")
        first, second = (to_shape(operand("SparseAddmm", each), ()).astype(product.dtype) for each in (alpha, beta))
        return first * product + second * added


class _Beside(Primitive):
    """Combine the values of a sparse tensor with the values of another tensor at its places."""

    __slots__ = ()
    _combine: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, x1_indices: Any, x1_values: Any, x1_shape: Any, x2: Any) -> Tensor:
        name = type(self).__name__
        places, entries, shape = _triplet(name, x1_indices, x1_values, x1_shape)
        dense = operand(name, x2)
        if dense._typenum != entries._typenum:
            raise TypeError(
                f"{name}: values of type {entries.dtype} and x2 of type {dense.dtype}; expected equal types"
            )
        ends = zip(dense.shape[::-1], shape[::-1], strict=False)
        if dense.ndim > len(shape) or any(m not in (1, n) for m, n in ends):
            raise ValueError(f"{name}: x2 has shape {dense.shape}; expected one that broadcasts to {shape}")
        return type(self)._combine(entries, gather_nd(broadcast_to(dense, shape), places))


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    if not (x.dtype.is_float or x.dtype.is_complex):
        raise TypeError(
            f"SparseDenseCwiseDiv: values of type {x.dtype}; expected floating numbers, convert with astype"
        )
    return x / y


_BESIDE = """{what}: ``ops.{name}()(x1_indices, x1_values, x1_shape, x2)``.

    Places (N, R), values (N,), R lengths, and a tensor that broadcasts to them, of the type of the values.

    Returns
    -------
    Tensor
        New values for the places, shape (N,).

    Raises
    ------
    TypeError
        If types differ.
    ValueError
        If shapes do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a = dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0]), (2, 2)
    >>> print(ops.{name}()(*a, dg.Tensor([10.0, 20.0])))
    {result}
    """


class SparseDenseCwiseAdd(_Beside):
    __doc__ = _BESIDE.format(
        what="Values of a sparse tensor plus another tensor", name="SparseDenseCwiseAdd", result="[22. 13.]"
    )
    __slots__ = ()
    _combine = staticmethod(lambda x, y: x + y)


class SparseDenseCwiseMul(_Beside):
    __doc__ = _BESIDE.format(
        what="Values of a sparse tensor times another tensor", name="SparseDenseCwiseMul", result="[40. 30.]"
    )
    __slots__ = ()
    _combine = staticmethod(lambda x, y: x * y)


class SparseDenseCwiseDiv(_Beside):
    __doc__ = _BESIDE.format(
        what="Values of a sparse tensor divided by another tensor", name="SparseDenseCwiseDiv", result="[0.1 0.3]"
    )
    __slots__ = ()
    _combine = staticmethod(_quotient)


class _United(Primitive):
    """The larger, or the smaller, values of two sparse tensors, whose other elements are 0."""

    __slots__ = ()
    _combine: Callable[[Tensor, Tensor], Tensor]

    def __call__(
        self, x1_indices: Any, x1_values: Any, x1_shape: Any, x2_indices: Any, x2_values: Any, x2_shape: Any
    ) -> tuple[Tensor, Tensor]:
        name = type(self).__name__
        first = _triplet(name, x1_indices, x1_values, x1_shape)
        places, one, other = _united(name, first, _triplet(name, x2_indices, x2_values, x2_shape))
        return Tensor._owning(places), type(self)._combine(one, other)


_UNITED = """{what} elements of two sparse tensors: ``ops.{name}()(indices, values, shape, indices, values, shape)``.

    Elements without a place are 0.

    Returns
    -------
    tuple of Tensor
        The places of both in the order of rows, and values.

    Raises
    ------
    TypeError
        If the values have different types.
    ValueError
        If shapes do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a = dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0]), (2, 2)
    >>> b = dg.Tensor([[1, 0]]), dg.Tensor([4.0]), (2, 2)
    >>> print(ops.{name}()(*a, *b)[1])
    {result}
    """


class SparseSparseMaximum(_United):
    __doc__ = _UNITED.format(what="The larger", name="SparseSparseMaximum", result="[2. 4.]")
    __slots__ = ()
    _combine = staticmethod(maximum)


class SparseSparseMinimum(_United):
    __doc__ = _UNITED.format(what="The smaller", name="SparseSparseMinimum", result="[0. 3.]")
    __slots__ = ()
    _combine = staticmethod(minimum)


class SparseReorder(Primitive):
    """Places in the order of rows, and their values: ``ops.SparseReorder()(indices, values, shape)``.

    Raises
    ------
    ValueError
        If shapes do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> places, values = ops.SparseReorder()(dg.Tensor([[1, 0], [0, 1]]), dg.Tensor([2.0, 3.0]), (2, 2))
    >>> print(places.tolist(), values)
    [[0, 1], [1, 0]] [3. 2.]
    """

    __slots__ = ()

    def __call__(self, indices: Any, values: Any, shape: Any) -> tuple[Tensor, Tensor]:
        places, entries, sizes = _triplet("SparseReorder", indices, values, shape)
        order = np.argsort(_numbers("SparseReorder", places, sizes), kind="stable")
        return gather(places, order, 0), gather(entries, order, 0)


class SparseReshape(Primitive):
    """Places of the same elements in another shape: ``ops.SparseReshape()(indices, shape, new_shape)``.

    Returns
    -------
    tuple of Tensor
        The new places, and the new shape, where a length of -1 is computed.

    Raises
    ------
    ValueError
        If the shapes have different numbers of elements, or the places do not fit.
    IndexError
        If a place is outside of the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> places, shape = ops.SparseReshape()(dg.Tensor([[1, 0], [0, 1]]), (2, 3), (3, -1))
    >>> print(places.tolist(), shape)
    [[1, 1], [0, 1]] [3 2]
    """

    __slots__ = ()

    def __call__(self, indices: Any, shape: Any, new_shape: Any) -> tuple[Tensor, Tensor]:
        name = "SparseReshape"
        places, sizes, target = index_tensor(name, indices), lengths(name, shape), list(lengths(name, new_shape))
        if places.ndim != 2 or places.shape[1] != len(sizes):
            raise ValueError(f"{name}: places of shape {places.shape} in a tensor of shape {sizes}; expected (N, R)")
        if target.count(-1) == 1 and (rest := -math.prod(target)) > 0:
            target[target.index(-1)] = math.prod(sizes) // rest
        if min(target, default=0) < 0 or math.prod(target) != math.prod(sizes):
            raise ValueError(
                f"{name}: a tensor of shape {sizes} cannot have the shape {tuple(lengths(name, new_shape))}"
            )
        found = np.unravel_index(_numbers(name, places, sizes), tuple(target))
        return Tensor._owning(np.stack(found, 1).astype(np.int64)), _as_tensor(tuple(target))


# ------------------------------------------------------------------------------------------ rows in segments


def _segments(name: str, power: float, x: Any, indices: Any, segment_ids: Any, number: Any = None) -> Tensor:
    """Sums of selected rows by segments, divided by a power of the number of rows in each segment."""
    rows, index, segments = operand(name, x), index_tensor(name, indices), index_tensor(name, segment_ids)
    if not rows.ndim or index.ndim != 1 or segments.shape != index.shape:
        raise ValueError(
            f"{name}: x of shape {rows.shape}, indices {index.shape} and segment_ids {segments.shape}; expected rows, "
            "and two vectors of one length"
        )
    numbers = segments._numpy()
    if (np.diff(numbers) < 0).any() or (numbers < 0).any():
        raise ValueError(f"{name}: segment_ids are {numbers}; expected numbers of 0 or more, none less than one before")
    count = int(numbers.max(initial=-1)) + 1
    if number is not None:
        given = int(np.asarray(operand(name, number)._numpy()).reshape(()))
        if given < count:
            raise ValueError(
                f"{name}: num_segments is {given}; expected more than the largest of segment_ids, {count - 1}"
            )
        count = given
    if not count:
        return rows[:0]
    sums = unsorted_segment_sum(gather(rows, index, 0), segments, count)
    if not power:
        return sums
    many = np.maximum(np.bincount(numbers, minlength=count), 1).reshape(-1, *(1,) * (rows.ndim - 1))
    return sums / (many**power).astype(rows.dtype.numpy)


def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Tensor:
    """Means of selected rows, by segments.

    Parameters
    ----------
    x : Tensor
        Floating numbers, at least one axis.
    indices : Tensor of int
        The numbers of the selected rows, a vector.
    segment_ids : Tensor of int
        The segment of each of them, in order; as long as `indices`.

    Returns
    -------
    Tensor
        One row for each segment up to the last; zeros for a segment without rows.

    Raises
    ------
    TypeError
        If `x` has no floating numbers.
    ValueError
        If shapes do not fit, or segments are not in order.
    IndexError
        If the row does not exist.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> print(ops.sparse_segment_mean(x, dg.Tensor([0, 2, 1]), dg.Tensor([0, 0, 1])))
    [[3. 4.]
     [3. 4.]]
    """
    return _means("sparse_segment_mean", 1.0, x, indices, segment_ids)


def _means(name: str, power: float, x: Any, *rest: Any) -> Tensor:
    x = operand(name, x)
    if power and not x.dtype.is_float:
        raise TypeError(f"{name}: x has type {x.dtype}; expected floating numbers, convert with astype")
    return _segments(name, power, x, *rest)


class _Segments(Primitive):
    """The base of primitive classes for rows in segments."""

    __slots__ = ()
    _power: float
    _numbered: bool

    def __init_subclass__(cls, what: str, power: float, numbered: bool) -> None:
        super().__init_subclass__()
        cls._power, cls._numbered = power, numbered
        number, four = (", num_segments", ", 2") if numbered else ("", "")
        also = ", and the number of rows of the result" if numbered else ""
        cls.__doc__ = f"""{what} of chosen rows by segments: ``ops.{cls.__name__}()(x, indices, segment_ids{number})``.

    Operands and errors are those of `sparse_segment_mean`{also}.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> rows, segments = dg.Tensor([0, 1, 1, 1]), dg.Tensor([0, 0, 0, 0])
    >>> ops.{cls.__name__}()(ops.ones((3, 2)), rows, segments{four}).shape
    ({2 if numbered else 1}, 2)
    """

    def __call__(self, x: Any, indices: Any, segment_ids: Any, *number: Any) -> Tensor:
        name = type(self).__name__
        if len(number) != self._numbered:
            raise TypeError(f"{name}: got {3 + len(number)} operands; expected {3 + self._numbered}")
        return _means(name, self._power, x, indices, segment_ids, *number)


class SparseSegmentSum(_Segments, what="Sums", power=0.0, numbered=False):
    __slots__ = ()


class SparseSegmentSumWithNumSegments(_Segments, what="Sums", power=0.0, numbered=True):
    __slots__ = ()


class SparseSegmentMean(_Segments, what="Means", power=1.0, numbered=False):
    __slots__ = ()


class SparseSegmentMeanWithNumSegments(_Segments, what="Means", power=1.0, numbered=True):
    __slots__ = ()


class SparseSegmentSqrtN(_Segments, what="Sums divided by the root of the number", power=0.5, numbered=False):
    __slots__ = ()


class SparseSegmentSqrtNWithNumSegments(
    _Segments, what="Sums divided by the root of the number", power=0.5, numbered=True
):
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
