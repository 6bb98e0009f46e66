"""Elements at points combined with updates: differences, products, quotients, larger or smaller values.

If a point occurs more than once, all of its updates count: all are subtracted, all are factors, or the largest of all
is taken. Elements are rows here, numbered by the points (`segments.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import extend
from ...tensor import Tensor
from .._arguments import IS_FLOAT, OP, Primitive, converted, one_axis, operand, to_shape
from ..axes._joining import cat
from ._indices import added, index_tensor, many_axes_pattern, one_axis_pattern, points_for, read
from .choice import where
from .segments import segment_extremes, segment_products

__all__ = [
    "TensorScatterDiv", "TensorScatterMax", "TensorScatterMin", "TensorScatterMul", "TensorScatterSub", "index_fill",
    "tensor_scatter_div", "tensor_scatter_max", "tensor_scatter_min", "tensor_scatter_mul", "tensor_scatter_sub",
]  # fmt: skip

_MAXIMUM, _MINIMUM = OP["maximum"], OP["minimum"]


def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Subtract values at points; if a point occurs twice, both values are subtracted.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    indices : Tensor of int
        The last axis holds a point: an index for each of the first axes of `input_x`.
    updates : Tensor
        The shape of `indices` without its last axis, then the axes of `input_x` that are not indexed; converted
        to the type of `input_x`.

    Returns
    -------
    Tensor
        Shape and type of `input_x`.

    Raises
    ------
    IndexError
        If an index is out of range.
    TypeError
        If the indices are not integers, or the type of the tensor cannot hold the values (floats among integers).
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_sub(ops.ones((3,)), dg.Tensor([[0], [0]]), dg.Tensor([1.0, 2.0])))
    [-2.  1.  1.]
    """
    return _subtracted("tensor_scatter_sub", input_x, indices, updates)


def _subtracted(name: str, x: Any, indices: Any, updates: Any) -> Tensor:
    x, updates, points = _operands(name, x, indices, updates)
    return x - added(name, x.shape, many_axes_pattern(len(points)), updates, *points)


def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Multiply by values at points; if a point occurs twice, both values are factors.

    Parameters, result and errors are as in `tensor_scatter_sub`. Derivatives are exact where factors are 0,
    too.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_mul(ops.ones((3,)), dg.Tensor([[0], [0]]), dg.Tensor([5.0, 2.0])))
    [10.  1.  1.]
    """
    return _multiplied("tensor_scatter_mul", input_x, indices, updates)


def _multiplied(name: str, x: Any, indices: Any, updates: Any) -> Tensor:
    x, rows, numbers, count = _rows(name, x, indices, updates)
    return x * to_shape(segment_products(rows, numbers, count), x.shape)


def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Divide by values at points; if a point occurs twice, both values are divisors.

    Parameters, result and errors are as in `tensor_scatter_sub`. Quotients of integers are rounded towards 0 after each
    division. An integer divided by 0 raises ZeroDivisionError.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_div(ops.ones((3,)), dg.Tensor([[0], [0]]), dg.Tensor([5.0, 2.0])))
    [0.1 1.  1. ]
    """
    return _divided("tensor_scatter_div", input_x, indices, updates)


def _divided(name: str, x: Any, indices: Any, updates: Any) -> Tensor:
    x, rows, numbers, count = _rows(name, x, indices, updates)
    if not (x.dtype.is_int or x._typenum in IS_FLOAT):
        raise TypeError(f"{name}: the tensor has type {x.dtype}; expected floating numbers or integers")
    if x.dtype.is_int:
        return to_shape(_integer_quotients(to_shape(x, (count, rows.shape[1])), rows, numbers, caller=name), x.shape)
    return x / to_shape(segment_products(rows, numbers, count), x.shape)


def _quotients(x: np.ndarray, rows: np.ndarray, numbers: np.ndarray, caller: str) -> np.ndarray:
    """Divide rows of integers (n, m) by other rows, one after another."""
    if (rows == 0).any():
        raise ZeroDivisionError(f"{caller}: an integer among the updates is 0; expected divisors other than 0")
    found = x.copy()
    for number, row in zip(numbers.tolist(), rows, strict=True):
        before = found[number]
        if x.dtype.kind == "i" and ((row == -1) & (before == np.iinfo(x.dtype).min)).any():
            raise OverflowError(f"{caller}: the least integer of {x.dtype} divided by -1 has no place in its type")
        down = before // row
        found[number] = down + ((before != down * row) & ((before < 0) != (row < 0)))
    return found


_integer_quotients = extend.primitive(
    "quotients_of_integers",
    _quotients,
    arity=3,
    jvp=(None, None, None),
    vjp=(None, None, None),
    types="apart",
    summary="integers at places divided by others, one after another",
)


def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Replace elements at points by larger values; values that tie share the gradient in equal parts.

    Parameters, result and errors are as in `tensor_scatter_sub`. The largest of the element and of all values
    for its point is taken.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_max(ops.ones((3,)), dg.Tensor([[0], [0], [1]]), dg.Tensor([5.0, 2.0, 0.0])))
    [5. 1. 1.]
    """
    return _chosen("tensor_scatter_max", _MAXIMUM, input_x, indices, updates)


def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Replace elements at points by smaller values; values that tie share the gradient in equal parts.

    Parameters, result and errors are as in `tensor_scatter_sub`. The smallest of the element and of all values
    for its point is taken.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tensor_scatter_min(ops.ones((3,)), dg.Tensor([[0], [0], [1]]), dg.Tensor([-5.0, 0.0, 2.0])))
    [-5.  1.  1.]
    """
    return _chosen("tensor_scatter_min", _MINIMUM, input_x, indices, updates)


def _chosen(name: str, op: int, x: Any, indices: Any, updates: Any) -> Tensor:
    x, rows, numbers, count = _rows(name, x, indices, updates)
    itself = to_shape(x, (count, rows.shape[1]))
    everything, places = cat((itself, rows)), cat((Tensor(np.arange(count)), numbers))
    return to_shape(segment_extremes(op, everything, places, count, 0), x.shape)


def _operands(name: str, x: Any, indices: Any, updates: Any) -> tuple[Tensor, Tensor, list[Tensor]]:
    x = operand(name, x)
    updates = converted(name, "updates", updates, x)
    return x, updates, points_for(name, x.shape, indices, updates)


def _rows(name: str, x: Any, indices: Any, updates: Any) -> tuple[Tensor, Tensor, Tensor, int]:
    """The operand, the updates as rows, the number of the place of each row, and the number of places."""
    x, updates, points = _operands(name, x, indices, updates)
    outer, inner = x.shape[: len(points)], x.shape[len(points) :]
    count = math.prod(outer)
    numbers = read(name, many_axes_pattern(len(points)), Tensor(np.arange(count).reshape(outer)), *points)
    return x, to_shape(updates, (numbers.size, math.prod(inner))), to_shape(numbers, (numbers.size,)), count


def index_fill(x: Any, axis: int, index: Any, value: Any) -> Tensor:
    """Put a number at positions along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int
        The axis.
    index : Tensor of int
        The positions: a vector, or a single one.
    value : number or Tensor without axes
        The number, converted to the type of `x`; derivatives go to it.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    IndexError
        If an index is out of range, or the axis does not exist.
    TypeError
        If the indices are not integers, or the type of the tensor cannot hold the values (floats among integers).
    ValueError
        If `index` has several axes, or `value` has any.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.index_fill(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1, dg.Tensor([0]), 9.0))
    [[9. 2.]
     [9. 4.]]
    """
    x, index = operand("index_fill", x), index_tensor("index_fill", index)
    axis = one_axis("index_fill", axis, x.shape)
    if index.ndim > 1 or (isinstance(value, Tensor | np.ndarray) and value.ndim):
        raise ValueError(
            f"index_fill: indices of shape {index.shape} and a value of shape {np.shape(value)}; expected a vector "
            "and a single number"
        )
    n = x.shape[axis]
    ones = Tensor(np.ones((index.size,), np.int64))
    hits = added("index_fill", (n,), one_axis_pattern((n,), 0), ones, to_shape(index, (index.size,)))
    mask = to_shape(hits > 0, tuple([n if k == axis else 1 for k in range(x.ndim)]))
    return where(mask, converted("index_fill", "a value", value, x), x)


# ------------------------------------------------------------------------------------------ primitive classes


class TensorScatterSub(Primitive, of=tensor_scatter_sub):
    __slots__ = ()

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _subtracted("TensorScatterSub", input_x, indices, updates)


class TensorScatterMul(Primitive, of=tensor_scatter_mul):
    __slots__ = ()

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _multiplied("TensorScatterMul", input_x, indices, updates)


class TensorScatterDiv(Primitive, of=tensor_scatter_div):
    __slots__ = ()

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _divided("TensorScatterDiv", input_x, indices, updates)


class TensorScatterMax(Primitive, of=tensor_scatter_max):
    __slots__ = ()

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _chosen("TensorScatterMax", _MAXIMUM, input_x, indices, updates)


class TensorScatterMin(Primitive, of=tensor_scatter_min):
    __slots__ = ()

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _chosen("TensorScatterMin", _MINIMUM, input_x, indices, updates)


METHODS: dict[str, Any] = {"index_fill": index_fill}
