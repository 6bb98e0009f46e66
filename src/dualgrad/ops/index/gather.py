"""Take elements by index tensors: gather and its kin.

One primitive reads at index arrays; its transpose adds into zeros there (`_scatter.py`). Index tensors are operands, so
a computed index is part of the program like any other value. Negative indices count from the end. Indices are checked
where they are used: an index out of range raises an IndexError that names it and the length of the axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, room
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, integer, one_axis, operand, permuted, respell, to_shape
from . import _augmented, _scatter, _windows
from ._indices import along, columns, index_tensor, many_axes_pattern, one_axis_pattern, read
from ._scatter import *  # noqa: F403
from ._windows import *  # noqa: F403

__all__ = [
    "Gather", "GatherD", "GatherNd", "OneHot", "gather", "gather_d", "gather_elements", "gather_nd",
    "index_select", "one_hot", "take",
]  # fmt: skip
__all__ += _scatter.__all__
__all__ += _windows.__all__

_EQ, _MAXIMUM, _MINIMUM, _MOD, _WHERE = OP["eq"], OP["maximum"], OP["minimum"], OP["mod"], OP["where"]


def gather(x: Any, indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    """Elements along an axis at the positions that an index tensor gives.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor of int
        Any shape.
    axis : int
        The axis of `x`.
    batch_dims : int, default 0
        The number of leading axes that `x` and `indices` share.

    Returns
    -------
    Tensor
        The shape of `x` with the axis replaced by the axes of `indices`.

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> print(ops.gather(x, dg.Tensor([2, 0]), 1))
    [[3. 1.]
     [6. 4.]]
    """
    return _gathered("gather", x, indices, axis, batch_dims)


def _gathered(name: str, x: Any, indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    x = operand(name, x)
    index = index_tensor(name, indices)
    axis, batch_dims = one_axis(name, axis, x.shape), integer(name, "batch_dims", batch_dims)
    if batch_dims:
        return _gathered_in_batches(name, x, index, axis, batch_dims)
    return read(name, one_axis_pattern(x.shape, axis), x, index)


def _gathered_in_batches(name: str, x: Tensor, index: Tensor, axis: int, batch: int) -> Tensor:
    """Gather where `x` and the indices share leading axes, which get index arrays of their own."""
    if batch < 0:
        batch += index.ndim
    shared = x.shape[:batch]
    if not 0 <= batch <= axis or index.shape[:batch] != shared:
        raise ValueError(
            f"{name}: batch_dims {batch} does not fit axis {axis} of shape {x.shape} with indices of shape "
            f"{index.shape}; so many leading lengths must be equal, and the axis must stand behind them"
        )
    between = tuple(range(batch, axis))
    behind = tuple(range(axis + 1, x.ndim))
    first = permuted(x, (*range(batch), axis, *between, *behind))  # the axis right behind the shared axes
    inner = index.ndim - batch
    rulers = [np.arange(n).reshape([n if j == k else 1 for j in range(index.ndim)]) for k, n in enumerate(shared)]
    found = read(name, many_axes_pattern(batch + 1), first, *rulers, index)
    # found: shared axes, inner axes of the index, then `between` and `behind`
    place = batch + inner
    middle = tuple(range(place, place + len(between)))
    return permuted(found, (*range(batch), *middle, *range(batch, place), *range(place + len(between), found.ndim)))


def gather_elements(x: Any, dim: Any = None, index: Any = None, **other: Any) -> Tensor:
    """Elements of `x` along an axis, one for each element of an index tensor of as many axes.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    dim : int
        The axis. Also spelled `axis`.
    index : Tensor of int
        As many axes as `x`; only `dim` may be longer than in `x`.

    Returns
    -------
    Tensor
        Shape of `index`: for a matrix and dim 1, element (i, j) is x[i, index[i, j]].

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.gather_elements(x, 1, dg.Tensor([[0, 0], [1, 0]])))
    [[1. 1.]
     [4. 3.]]
    """
    if "axis" in other and dim is None:
        dim = other.pop("axis")
    if other or dim is None or index is None:
        raise TypeError(f"gather_elements: expected (x, dim, index), got dim={dim!r}, index={index!r}, {other}")
    return _gathered_elements("gather_elements", x, dim, index)


def gather_d(x: Any, dim: int, index: Any) -> Tensor:
    """Elements along an axis, one for each element of an index tensor; the same as `gather_elements`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.gather_d(dg.Tensor([1.0, 2.0]), 0, dg.Tensor([1, 1, 0])))
    [2. 2. 1.]
    """
    return _gathered_elements("gather_d", x, dim, index)


def _gathered_elements(name: str, x: Any, dim: Any, index: Any) -> Tensor:
    x = operand(name, x)
    axis = one_axis(name, dim, x.shape)
    indices = along(name, x, axis, index_tensor(name, index))
    return read(name, many_axes_pattern(x.ndim), x, *indices)


def gather_nd(x: Any, indices: Any) -> Tensor:
    """Elements or slices of `x` at points.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor of int
        The last axis holds a point: an index for each of the first axes of `x`.

    Returns
    -------
    Tensor
        The shape of `indices` without its last axis, then the axes of `x` that are not indexed.

    Raises
    ------
    IndexError
        If an index is out of range.
    TypeError
        If the indices are not integers.
    ValueError
        If a point has more indices than `x` has axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.gather_nd(x, dg.Tensor([[0, 1], [1, 1]])), ops.gather_nd(x, dg.Tensor([[1]])))
    [2. 4.] [[3. 4.]]
    """
    x = operand("gather_nd", x)
    points = columns("gather_nd", x.shape, index_tensor("gather_nd", indices))
    return read("gather_nd", many_axes_pattern(len(points)), x, *points)


def index_select(x: Any, axis: Any = None, index: Any = None, **other: Any) -> Tensor:
    """Elements along an axis at the positions that a vector of indices gives.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int
        The axis. Also spelled `dim`.
    index : Tensor of int
        A vector.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers.
    ValueError
        If `index` is not a vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.index_select(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0, dg.Tensor([1, 1])))
    [[3. 4.]
     [3. 4.]]
    """
    if other:
        axis = respell("index_select", other, axis=axis)
    if axis is None or index is None:
        raise TypeError(f"index_select: expected (x, axis, index), got axis={axis!r}, index={index!r}")
    vector = index_tensor("index_select", index)
    if vector.ndim > 1:
        raise ValueError(f"index_select: expected a vector of indices, got a tensor of shape {vector.shape}")
    return _gathered("index_select", x, to_shape(vector, (vector.size,)), axis)


def take(x: Any, indices: Any, axis: int | None = None, mode: str = "raise", **other: Any) -> Tensor:
    """Elements at positions along an axis, or in the flat tensor.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    indices : Tensor of int
        Any shape.
    axis : int, optional
        The axis; None stands for all elements in order. Also spelled `dim`.
    mode : {"raise", "wrap", "clip"}, default "raise"
        Effect of indices out of range: an error, a restart from the first element, or a stop at the ends ("clip", where
        negative indices stop at 0).

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers.
    ValueError
        If the mode is not one of the three.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.take(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([3, 0])))
    [4. 1.]
    """
    if other:
        axis = respell("take", other, axis=axis)
    x = operand("take", x)
    index = index_tensor("take", indices)
    if axis is None:
        x, axis = to_shape(x, (x.size,)), 0
    n = x.shape[one_axis("take", axis, x.shape)]
    if not one_of(mode, ("raise", "wrap", "clip")):
        raise ValueError(f"take: mode is {mode!r}; expected 'raise', 'wrap' or 'clip'")
    if mode == "wrap":
        index = _engine.binary_op(_MOD, index, n)
    elif mode == "clip":
        index = _engine.binary_op(_MINIMUM, _engine.binary_op(_MAXIMUM, index, 0), n - 1)
    elif mode != "raise":
        raise ValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    return _gathered("take", x, index, axis)


def one_hot(indices: Any, depth: int = -1, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """Vectors that are `on_value` at one place and `off_value` elsewhere.

    Parameters
    ----------
    indices : Tensor of int
        The places. A place out of range gives a vector without `on_value`.
    depth : int, default -1
        Length of the vectors; -1 stands for the largest index plus 1.
    on_value, off_value : Tensor or number
        The two values; derivatives go to them.
    axis : int, default -1
        Where the vectors stand in the result.

    Returns
    -------
    Tensor
        The common type of the two values.

    Raises
    ------
    TypeError
        If the indices are not integers.
    ValueError
        If the depth is negative and not -1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.one_hot(dg.Tensor([2, 0]), 3))
    [[0 0 1]
     [1 0 0]]
    """
    index = index_tensor("one_hot", indices)
    n = integer("one_hot", "depth", depth)
    if n == -1:
        n = int(index._numpy().max(initial=-1)) + 1
    if n < 0:
        raise ValueError(f"one_hot: depth must not be negative, got {depth}")
    room("one_hot", (*index.shape, n))
    shape = index.shape
    place = one_axis("one_hot", axis, shape, 1)
    column = to_shape(index, (*shape[:place], 1, *shape[place:]))
    ruler = np.arange(n).reshape([n if k == place else 1 for k in ALL_AXES[len(shape) + 1]])
    typenum = _engine.common_type(on_value, off_value)
    on, off = _engine.convert(on_value, typenum), _engine.convert(off_value, typenum)
    return _engine.apply(_WHERE, None, _engine.binary_op(_EQ, column, ruler), on, off)


# ------------------------------------------------------------------------------------------ primitive classes


class Gather(Primitive):
    """Elements along an axis; see `gather`.

    Parameters
    ----------
    batch_dims : int, default 0
        The number of leading axes that operand and indices share.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Gather()(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([2, 0]), 0))
    [3. 1.]
    """

    __slots__ = ("batch_dims",)

    def __init__(self, batch_dims: int = 0) -> None:
        self.batch_dims: int = integer("Gather", "batch_dims", batch_dims)

    def __call__(self, x: Any, indices: Any, axis: Any) -> Tensor:
        return _gathered("Gather", x, indices, axis, self.batch_dims)


class GatherD(Primitive, of=gather_elements):
    __slots__ = ()

    def __call__(self, x: Any, dim: Any, index: Any) -> Tensor:
        return _gathered_elements("GatherD", x, dim, index)


class GatherNd(Primitive, of=gather_nd):
    __slots__ = ()

    def __call__(self, x: Any, indices: Any) -> Tensor:
        return gather_nd(x, indices)


class OneHot(Primitive):
    """Vectors with one value at one place and another elsewhere; see `one_hot`.

    Parameters
    ----------
    axis : int, default -1
        Where the vectors stand in the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.OneHot()(dg.Tensor([1]), 3, dg.Tensor(1.0), dg.Tensor(0.0)))
    [[0. 1. 0.]]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = integer("OneHot", "axis", axis)

    def __call__(self, indices: Any, depth: int, on_value: Any, off_value: Any) -> Tensor:
        return one_hot(indices, depth, on_value, off_value, self.axis)


def _gather_method(x: Tensor, first: Any, second: Any, batch_dims: int = 0) -> Tensor:
    """``x.gather(indices, axis)``, or ``x.gather(dim, index)`` where the index comes last."""
    if isinstance(first, int) and not isinstance(second, int):
        return _gathered_elements("gather", x, first, second)
    return _gathered("gather", x, first, second, batch_dims)


METHODS: dict[str, Any] = {
    "gather": _gather_method,
    "gather_elements": gather_elements,
    "gather_nd": gather_nd,
    "index_select": index_select,
    "take": take,
    **_augmented.METHODS,
    **_scatter.METHODS,
}
