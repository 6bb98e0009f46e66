"""Put elements at the places that index tensors give: add them, or replace.

Adding is one primitive, the transpose of gather: values for one place are summed. Replacing takes the last of them. It
is the functional form of writing with an index (`indexing.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._engine.transforms.handles import one_step
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, converted, integer, new_shape, one_axis, operand, to_shape
from ._elements import replaced
from ._indices import added, along, index_tensor, many_axes_pattern, one_axis_pattern, points_for
from .indexing import rewritten

__all__ = [
    "IndexAdd", "ScatterNd", "TensorScatterAdd", "TensorScatterUpdate", "index_add", "scatter", "scatter_add",
    "scatter_nd", "tensor_scatter_add", "tensor_scatter_elements", "tensor_scatter_update",
]  # fmt: skip

_SLICE = OP["slice"]


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Tensor:
    """Zeros with values added at points.

    Parameters
    ----------
    indices : Tensor of int
        The last axis holds a point: an index for each of the first axes of the result.
    updates : Tensor
        The shape of `indices` without its last axis, then the axes of the result that are not indexed.
    shape : tuple of int
        The shape of the result.

    Returns
    -------
    Tensor
        Type of `updates`.

    Raises
    ------
    IndexError
        If an index is out of range.
    TypeError
        If the indices are not integers.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.scatter_nd(dg.Tensor([[1], [3], [1]]), dg.Tensor([1.0, 2.0, 4.0]), (5,)))
    [0. 5. 0. 2. 0.]
    """
    target = new_shape("scatter_nd", shape)
    return _added_at_points("scatter_nd", target, indices, operand("scatter_nd", updates))


def _added_at_points(name: str, shape: tuple[int, ...], indices: Any, updates: Tensor) -> Tensor:
    points = points_for(name, shape, indices, updates)
    return added(name, shape, many_axes_pattern(len(points)), updates, *points)


def tensor_scatter_add(x: Any, indices: Any, updates: Any) -> Tensor:
    """Add values at points.

    The errors are as in `scatter_nd`, and a TypeError if the type of `x` cannot hold the values.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor of int
        The last axis holds a point: an index for each of the first axes of `x`.
    updates : Tensor
        The shape of `indices` without its last axis, then the axes of `x` that are not indexed; converted to
        the type of `x`.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_add(ops.ones((3,)), dg.Tensor([[0], [0]]), dg.Tensor([1.0, 2.0])))
    [4. 1. 1.]
    """
    return _scatter_added("tensor_scatter_add", x, indices, updates)


def _scatter_added(name: str, x: Any, indices: Any, updates: Any) -> Tensor:
    x = operand(name, x)
    updates = converted(name, "updates", updates, x)
    return x + _added_at_points(name, x.shape, indices, updates)


def tensor_scatter_update(x: Any, indices: Any, updates: Any) -> Tensor:
    """Replace elements at points; if a point occurs twice, the last value counts.

    Parameters, result and errors are as in `tensor_scatter_add`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_update(ops.ones((3,)), dg.Tensor([[0], [2]]), dg.Tensor([5.0, 6.0])))
    [5. 1. 6.]
    """
    return _scatter_updated("tensor_scatter_update", x, indices, updates)


def _scatter_updated(name: str, x: Any, indices: Any, updates: Any) -> Tensor:
    x = operand(name, x)
    updates = converted(name, "updates", updates, x)
    return _replaced(name, x, tuple(points_for(name, x.shape, indices, updates)), updates)


def _replaced(name: str, x: Tensor, index: tuple[Any, ...], updates: Tensor) -> Tensor:
    try:
        return replaced(x, index, updates)
    except IndexError as error:
        raise IndexError(f"{name}: {error}") from None


def scatter(x: Any, axis: int, index: Any, src: Any) -> Tensor:
    """Replace elements along an axis, one for each element of an index tensor.

    If a place occurs twice, the last value counts.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int
        The axis.
    index : Tensor of int
        As many axes as `x`; only `axis` may be longer than in `x`.
    src : Tensor or number
        The new values: shape of `index`, or longer (further elements are ignored).

    Returns
    -------
    Tensor
        Shape and type of `x`: for a matrix and axis 1, x[i, index[i, j]] becomes src[i, j].

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers, or the type of `x` cannot hold the values (floats among integers).
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.zeros((2, 3))
    >>> print(ops.scatter(x, 1, dg.Tensor([[2], [0]]), dg.Tensor([[5.0], [6.0]])))
    [[0. 0. 5.]
     [6. 0. 0.]]
    """
    x, places, values = _elements("scatter", x, axis, index, src)
    return _replaced("scatter", x, tuple(places), values)


def scatter_add(x: Any, axis: Any, index: Any, src: Any = None) -> Tensor:
    """Add values along an axis, one for each element of an index tensor.

    Parameters, result and errors are as in `scatter`. With three arguments, ``scatter_add(input_x, indices,
    updates)`` as in MindSpore, rows are added to a Parameter or another tensor in place.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.scatter_add(ops.ones((3,)), 0, dg.Tensor([0, 0]), dg.Tensor([1.0, 2.0])))
    [4. 1. 1.]
    """
    if src is None:
        if isinstance(axis, int):
            raise TypeError(
                "scatter_add: src is None; expected the values, or three arguments: input_x, indices, updates"
            )
        return into_variable("scatter_add", x, axis, index, tensor_scatter_add, False)
    x, places, values = _elements("scatter_add", x, axis, index, src)
    return x + added("scatter_add", x.shape, many_axes_pattern(x.ndim), values, *places)


def into_variable(
    name: str, variable: Any, indices: Any, updates: Any, change: Callable[..., Tensor], points: bool
) -> Tensor:
    """Change rows, or points, of a Parameter or another tensor in place; values for a Parameter are constants."""
    if not isinstance(variable, Tensor):
        raise TypeError(f"{name}: input_x is a {type(variable).__name__}; expected a Parameter or another Tensor")
    index = index_tensor(name, indices)
    if not points:
        index = to_shape(index, (*index.shape, 1))
    if not variable._is_parameter:
        with one_step(variable):
            return rewritten(name, variable, change(variable, index, updates))
    given = operand(name, updates)
    return variable.set_data(change(variable._detached(), index, _engine.stop(given)))


def _elements(name: str, x: Any, axis: Any, index: Any, src: Any) -> tuple[Tensor, list[Any], Tensor]:
    """The operand, an index array for each of its axes, and the values converted to its type."""
    x = operand(name, x)
    indices = index_tensor(name, index)
    places = along(name, x, one_axis(name, axis, x.shape), indices)
    values = converted(name, "values", src, x)
    shape = indices.shape
    if values.ndim == 0:
        values = values + np.zeros(shape, x.dtype.numpy)
    if values.ndim != len(shape) or any(m < n for m, n in zip(values.shape, shape, strict=True)):
        raise ValueError(
            f"{name}: values of shape {values.shape} for indices of shape {shape}; expected that shape or longer axes"
        )
    if values.shape != shape:
        values = _engine.apply(_SLICE, tuple([(0, n, 1) for n in shape]), values)
    return x, places, values


def tensor_scatter_elements(x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Tensor:
    """Replace elements along an axis, or add to them, one for each element of an index tensor.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor of int
        As many axes as `x`; only `axis` may be longer than in `x`.
    updates : Tensor
        Shape of `indices`.
    axis : int, default 0
        The axis.
    reduction : {"none", "add"}, default "none"
        Replace or add.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers.
    ValueError
        If the shapes do not fit, or the reduction is neither.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.zeros((2, 2))
    >>> print(ops.tensor_scatter_elements(x, dg.Tensor([[1, 0]]), dg.Tensor([[5.0, 6.0]])))
    [[0. 6.]
     [5. 0.]]
    """
    if not one_of(reduction, ("none", "add")):
        raise ValueError(f"tensor_scatter_elements: reduction must be 'none' or 'add', got {reduction!r}")
    return (scatter if reduction == "none" else scatter_add)(x, axis, indices, updates)


def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Tensor:
    """Add slices along an axis.

    The errors are as in `scatter`.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor of int
        A vector: where the slices of `y` go.
    y : Tensor
        The shape of `x`, but as long as `indices` along the axis; converted to the type of `x`.
    axis : int
        The axis.
    use_lock, check_index_bound : bool
        Accepted for compatibility: indices are always checked.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.index_add(ops.ones((2, 2)), dg.Tensor([1]), dg.Tensor([[5.0, 6.0]]), 0))
    [[1. 1.]
     [6. 7.]]
    """
    x = operand("index_add", x)
    index = index_tensor("index_add", indices)
    axis = one_axis("index_add", axis, x.shape)
    updates = converted("index_add", "slices", y, x)
    expected = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    if index.ndim > 1 or updates.shape != expected:
        raise ValueError(
            f"index_add: indices of shape {index.shape} and slices of shape {updates.shape} do not fit axis "
            f"{axis} of shape {x.shape}; expected a vector, and slices of shape {expected}"
        )
    pattern = one_axis_pattern(x.shape, axis)
    return x + added("index_add", x.shape, pattern, updates, to_shape(index, (index.size,)))


# ------------------------------------------------------------------------------------------ primitive classes


class ScatterNd(Primitive, of=scatter_nd):
    __slots__ = ()

    def __call__(self, indices: Any, updates: Any, shape: Any) -> Tensor:
        return scatter_nd(indices, updates, shape)


class TensorScatterAdd(Primitive, of=tensor_scatter_add):
    __slots__ = ()

    def __call__(self, x: Any, indices: Any, updates: Any) -> Tensor:
        return _scatter_added("TensorScatterAdd", x, indices, updates)


class TensorScatterUpdate(Primitive, of=tensor_scatter_update):
    __slots__ = ()

    def __call__(self, x: Any, indices: Any, updates: Any) -> Tensor:
        return _scatter_updated("TensorScatterUpdate", x, indices, updates)


class IndexAdd(Primitive):
    """Slices added along an axis; see `index_add`.

    Parameters
    ----------
    axis : int
        The axis.
    use_lock, check_index_bound : bool
        Accepted for compatibility.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.IndexAdd(0)(ops.ones((3,)), dg.Tensor([1]), dg.Tensor([2.0])))
    [1. 3. 1.]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> None:
        self.axis: int = integer("IndexAdd", "axis", axis)

    def __call__(self, x: Any, indices: Any, y: Any) -> Tensor:
        return index_add(x, indices, y, self.axis)


METHODS: dict[str, Any] = {"scatter": scatter, "scatter_add": scatter_add, "index_add": index_add}
