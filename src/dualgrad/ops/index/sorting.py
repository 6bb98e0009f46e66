"""Order: sorting, largest elements, medians, and where a value belongs in a sorted sequence.

Positions are found on plain numbers, by stable sorting, and elements are read there. So the derivative goes to the
place of each value, at ties to the element at the returned position. nan counts as larger than everything.
"""

from __future__ import annotations

from typing import Any

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._joined import holds_tensor
from ..._settings import array_of, one_of, truth_value
from ...tensor import Tensor
from .._arguments import (
    OP,
    Primitive,
    alike,
    beside,
    integer,
    one_axis,
    operand,
    respell,
    respelled_axis,
    to_shape,
    total,
)
from ..axes._joining import cat
from ..axes._prefixes import every
from .choice import where
from .gather import gather_elements, take

__all__ = ["Sort", "TopK", "argsort", "median", "searchsorted", "sort", "topk"]

_ARGSORT, _ISNAN = OP["argsort"], OP["isnan"]


def positions(x: Tensor, axis: int, descending: bool = False) -> Tensor:
    """The positions of the elements in sorted order; elements that tie keep their order."""
    return _engine.apply(_ARGSORT, (axis, truth_value("sort", "descending", descending)), _engine.stop(x))


# ----------------------------------------------------------------------------------------------------- sorting


def sort(x: Any, axis: int = -1, descending: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Sort along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int, default -1
        The axis. Also spelled `dim`.
    descending : bool, default False
        Largest first.

    Returns
    -------
    values : Tensor
        Shape and type of `x`.
    indices : Tensor
        The position of each along the axis before sorting, Int64. Equal elements keep their order.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.sort(dg.Tensor([2.0, 1.0, 2.0, 0.0]))
    >>> print(values, indices)
    [0. 1. 2. 2.] [3 1 0 2]
    """
    if other:
        axis = respelled_axis("sort", other, axis, -1)
    return _sorted("sort", x, axis, descending)


def _sorted(name: str, x: Any, axis: Any, descending: bool) -> tuple[Tensor, Tensor]:
    x = operand(name, x)
    axis = one_axis(name, axis, x.shape)
    indices = positions(x, axis, descending)
    return gather_elements(x, axis, indices), indices


def argsort(x: Any, axis: int = -1, descending: bool = False, **other: Any) -> Tensor:
    """Positions of the elements in sorted order.

    Parameters and errors are as in `sort`.

    Returns
    -------
    Tensor
        Shape of `x`, Int64; derivatives do not pass.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.argsort(dg.Tensor([2.0, 1.0, 2.0, 0.0]), descending=True))
    [0 2 1 3]
    """
    if other:
        axis = respelled_axis("argsort", other, axis, -1)
    x = operand("argsort", x)
    return positions(x, one_axis("argsort", axis, x.shape), descending)


def topk(
    x: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True, **other: Any
) -> tuple[Tensor, Tensor]:
    """Return the k largest or smallest elements along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    k : int
        The number of elements.
    dim : int, optional
        The axis; None stands for the last one. Also spelled `axis`.
    largest : bool, default True
        The largest elements, in descending order; otherwise the smallest ones, in ascending order.
    sorted : bool, default True
        Accepted for compatibility: the elements are sorted always.

    Returns
    -------
    values : Tensor
        Shape of `x` with length k along the axis.
    indices : Tensor
        Positions of the elements along the axis, Int64; of equal elements the first comes first.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there are fewer than k elements, or k is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.topk(dg.Tensor([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    >>> print(values, indices)
    [5. 4.] [4 2]
    """
    if "axis" in other and dim is None:
        dim = other.pop("axis")
    if other:
        raise TypeError(f"topk: unexpected keyword arguments {', '.join(other)}; expected x, k, dim, largest, sorted")
    return _largest("topk", x, k, -1 if dim is None else dim, largest)


def _largest(name: str, x: Any, k: Any, axis: Any, largest: bool) -> tuple[Tensor, Tensor]:
    x = operand(name, x)
    axis, count = one_axis(name, axis, x.shape), integer(name, "k", k)
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"{name}: k is {count}; axis {axis} of shape {x.shape} has {x.shape[axis]} elements")
    indices = every(positions(x, axis, largest), axis, 0, count)
    return gather_elements(x, axis, indices), indices


# ----------------------------------------------------------------------------------------------------- medians


def median(x: Any, axis: Any = -1, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """The element in the middle of the sorted elements along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int, default -1
        The axis; None stands for all elements in order. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axis with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    values : Tensor
        Type of `x`. For an even number of elements it is the smaller of the two in the middle; nan where there is a
        nan.
    indices : Tensor
        Its position along the axis, Int64. The whole derivative goes there.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty along the axis.

    Notes
    -----
    NumPy's ``np.median`` of a tensor is the mean of the two elements in the middle, as for arrays.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.median(dg.Tensor([[4.0, 1.0, 3.0, 2.0], [7.0, 7.0, 9.0, 0.0]]))
    >>> print(values, indices)
    [2. 7.] [3 0]
    """
    if "dim" in other and axis == -1:
        axis = other.pop("dim")
    if other:
        keepdims = respell("median", other, keepdims=keepdims)
    x = operand("median", x)
    shape = x.shape
    if axis is None:
        x = to_shape(x, (x.size,))
    place = one_axis("median", 0 if axis is None else axis, x.shape)
    (indices,) = middle("median", x, place, (0,))
    values = gather_elements(x, place, indices)
    result = (1,) * len(shape) if axis is None else (*shape[:place], 1, *shape[place + 1 :])
    truth_value("median", "keepdims", keepdims)
    if not keepdims:
        result = () if axis is None else shape[:place] + shape[place + 1 :]
    return to_shape(values, result), to_shape(indices, result)


def middle(name: str, x: Tensor, axis: int, above: tuple[int, ...]) -> list[Tensor]:
    """Positions of the elements in the middle: the lower one for 0, the upper one for 1; nan has precedence."""
    n = x.shape[axis]
    if n == 0:
        raise ValueError(f"{name}: a tensor of shape {x.shape} has no elements along axis {axis}")
    order = positions(x, axis)
    missing = total(_engine.convert(_engine.unary(_ISNAN, _engine.stop(x)), order._typenum), (axis,), True)
    return [gather_elements(order, axis, where(missing > 0, n - missing, (n - 1 + k) // 2)) for k in above]


# ----------------------------------------------------------------------------------------- places in sequences


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """Positions at which values belong in a sequence that is sorted along its last axis.

    Parameters
    ----------
    sorted_sequence : Tensor
        A vector; or any shape, with the same leading axes as `values`.
    values : Tensor or number
        Any shape.
    out_int32 : bool, default False
        Give Int32 in place of Int64.
    right : bool, default False
        Positions behind elements that are equal to the value, not before them.
    side : {"left", "right"}, optional
        The same in words.
    sorter : Tensor of int, optional
        Positions that sort the sequence, as `argsort` gives them.

    Returns
    -------
    Tensor
        Shape of `values`; derivatives do not pass.

    Raises
    ------
    ValueError
        If the shapes do not fit, or `side` is neither or contradicts `right`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, v = dg.Tensor([1.0, 2.0, 2.0, 3.0]), dg.Tensor([2.0, 9.0])
    >>> print(ops.searchsorted(x, v), ops.searchsorted(x, v, right=True))
    [1 4] [3 4]
    """
    if not one_of(side, (None, "left", "right")) or (side == "left" and right):
        raise ValueError(f"searchsorted: side is {side!r} and right is {right}; expected 'left' or 'right'")
    sequence = operand("searchsorted", sorted_sequence)
    if not sequence.ndim:
        raise ValueError("searchsorted: the sequence is a single number; expected at least one axis")
    if sorter is not None:
        order = operand("searchsorted", sorter)
        if order.shape != sequence.shape:
            raise ValueError(
                f"searchsorted: a sorter of shape {order.shape} for a sequence of shape {sequence.shape}; expected "
                "equal shapes"
            )
        sequence = take(sequence, order) if sequence.ndim == 1 else gather_elements(sequence, -1, order)
    if isinstance(values, list | tuple):
        values = Tensor(values) if holds_tensor(values) else array_of("searchsorted", "values", values)
    values = beside("searchsorted", values, sequence)
    if sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            f"searchsorted: a sequence of shape {sequence.shape} and values of shape {values.shape}; expected a "
            "vector, or equal leading axes"
        )
    flat = values if sequence.ndim > 1 else to_shape(values, (values.size,))
    truth_value("searchsorted", "right", right)
    found = to_shape(insertions(sequence, flat, right or side == "right"), values.shape)
    truth_value("searchsorted", "out_int32", out_int32)
    return _engine.convert(found, _dtype.int32.num) if out_int32 else found


def insertions(sequence: Tensor, values: Tensor, right: bool) -> Tensor:
    """How many elements of a sequence stand before each value, along the last axis.

    Sorted together with the sequence, each value stands behind these elements and behind the values before it. Sorting
    the values alone counts the latter.
    """
    sequence, values = alike([_engine.stop(sequence), _engine.stop(values)])
    last = sequence.ndim - 1
    if values.ndim != sequence.ndim:
        raise ValueError(f"searchsorted: values of shape {values.shape} for a sequence of shape {sequence.shape}")
    n, m = sequence.shape[last], values.shape[last]
    joint = cat((sequence, values) if right else (values, sequence), last)
    return every(_ranks(joint), last, n if right else 0, m) - _ranks(values)


def _ranks(x: Tensor) -> Tensor:
    """The position of each element after sorting along the last axis."""
    return positions(positions(x, x.ndim - 1), x.ndim - 1)


# ------------------------------------------------------------------------------------------ primitive classes


class Sort(Primitive):
    """Sort elements along an axis, with their old positions, Int32; see `sort`.

    Parameters
    ----------
    axis : int, default -1
        The axis.
    descending : bool, default False
        Largest first.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.Sort(descending=True)(dg.Tensor([2.0, 1.0, 3.0]))
    >>> print(values, indices)
    [3. 2. 1.] [2 0 1]
    """

    __slots__ = ("axis", "descending")

    def __init__(self, axis: int = -1, descending: bool = False) -> None:
        self.axis: int = integer("Sort", "axis", axis)
        self.descending: bool = descending

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        values, indices = _sorted("Sort", x, self.axis, self.descending)
        return values, _engine.convert(indices, _dtype.int32.num)


class TopK(Primitive):
    """The k largest elements along the last axis, and their positions, Int32; see `topk`.

    Parameters
    ----------
    sorted : bool, default True
        Accepted for compatibility: the elements are sorted always.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.TopK()(dg.Tensor([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    >>> print(values, indices)
    [5. 4.] [4 2]
    """

    __slots__ = ("sorted",)

    def __init__(self, sorted: bool = True) -> None:
        self.sorted: bool = sorted

    def __call__(self, x: Any, k: int) -> tuple[Tensor, Tensor]:
        values, indices = _largest("TopK", x, k, -1, True)
        return values, _engine.convert(indices, _dtype.int32.num)


def _searchsorted_method(x: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    return searchsorted(x, v, side=side, sorter=sorter)


METHODS: dict[str, Any] = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "median": median,
    "searchsorted": _searchsorted_method,
}
