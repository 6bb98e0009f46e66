"""Change rows and points of Parameters and other tensors in place, and rows of a copy.

The functions whose names begin with ``scatter`` change a variable, as `assign` does: new values of a Parameter are
constants, other tensors carry derivatives. Functions whose names begin with ``inplace`` return a new tensor, despite
their name, as in MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._settings import array_of
from ...tensor import Tensor
from .._arguments import Primitive, alike, converted, lengths, operand, to_shape
from ..index._indices import index_tensor
from ..index._scatter import (
    index_add,
    into_variable,
    scatter_add,
    tensor_scatter_add,
    tensor_scatter_elements,
    tensor_scatter_update,
)
from ..index.choice import where
from ..index.gather import take
from ..index.updates import (
    tensor_scatter_div,
    tensor_scatter_max,
    tensor_scatter_min,
    tensor_scatter_mul,
    tensor_scatter_sub,
)
from ..shape._repeating import broadcast_to
from ..shape.creation import zeros
from ._classes import REQUIRED, Derived

__all__ = [
    "EmbeddingLookup", "InplaceAdd", "InplaceIndexAdd", "InplaceSub", "InplaceUpdate", "InplaceUpdateV2",
    "ScatterAdd", "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul", "ScatterNdAdd", "ScatterNdDiv",
    "ScatterNdMax", "ScatterNdMin", "ScatterNdMul", "ScatterNdSub", "ScatterNdUpdate", "ScatterSub", "ScatterUpdate",
    "SparseTensorDenseMatmul", "TensorScatterElements", "inplace_add", "inplace_index_add", "inplace_sub",
    "inplace_update", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_div",
    "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul", "scatter_nd_sub", "scatter_nd_update", "scatter_sub",
    "scatter_update",
]  # fmt: skip

_CHANGES: dict[str, tuple[Callable[..., Tensor], str]] = {
    "update": (tensor_scatter_update, "replaced"),
    "add": (tensor_scatter_add, "added to"),
    "sub": (tensor_scatter_sub, "less others"),
    "mul": (tensor_scatter_mul, "multiplied"),
    "div": (tensor_scatter_div, "divided"),
    "max": (tensor_scatter_max, "replaced by larger ones"),
    "min": (tensor_scatter_min, "replaced by smaller ones"),
}
_EXAMPLE = """
    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w = dg.Parameter([1.0, 4.0, 9.0], name="w")
    >>> ops.{name}(w, dg.Tensor({indices}), dg.Tensor([2.0])).name
    'w'
    """


def _function(kind: str, points: bool) -> Callable[[Any, Any, Any], Tensor]:
    """Make the function that changes rows, or points, of a variable in one way."""
    name = f"scatter_nd_{kind}" if points else f"scatter_{kind}"
    change, words = _CHANGES[kind]

    def function(input_x: Any, indices: Any, updates: Any) -> Tensor:
        return into_variable(name, input_x, indices, updates, change, points)

    where = "at points, as `tensor_scatter_{}` says" if points else "along the first axis"
    shapes = "the shape of `indices`, then the axes of `input_x` behind the first"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Values of a Parameter, or of another tensor, {words} {where.format(kind)}.

    Parameters
    ----------
    input_x : Parameter or Tensor
        What is changed.
    indices : Tensor of int
        {"Points: an index for each of the first axes, along the last axis." if points else "Rows; of any shape."}
    updates : Tensor
        {"As in `tensor_scatter_" + kind + "`." if points else f"Shape: {shapes}."}

    Returns
    -------
    Parameter or Tensor
        `input_x` itself.

    Raises
    ------
    TypeError
        If `input_x` is no tensor, its type cannot hold the values, or indices are no integers.
    ValueError, IndexError
        If shapes do not fit, or an index is out of range.
{_EXAMPLE.format(name=name, indices="[[1]]" if points else "[1]")}"""
    return function


scatter_update, scatter_sub, scatter_mul = [_function(kind, False) for kind in ("update", "sub", "mul")]
scatter_div, scatter_max, scatter_min = [_function(kind, False) for kind in ("div", "max", "min")]
scatter_nd_update, scatter_nd_add = [_function(kind, True) for kind in ("update", "add")]
scatter_nd_sub, scatter_nd_mul = [_function(kind, True) for kind in ("sub", "mul")]
scatter_nd_div, scatter_nd_max, scatter_nd_min = [_function(kind, True) for kind in ("div", "max", "min")]


def _rows(name: str, x: Any, v: Any, indices: Any, change: Callable[..., Tensor]) -> Tensor:
    """Change some rows of a tensor; one row of values serves all of them."""
    x = operand(name, x)
    index = index_tensor(
        name, indices if isinstance(indices, Tensor) else np.atleast_1d(array_of(name, "indices", indices))
    )
    rows = converted(name, "values", v, x)
    expected = (index.size, *x.shape[1:])
    if index.ndim > 1 or rows.shape not in (expected, (1, *x.shape[1:]), x.shape[1:]):
        raise ValueError(
            f"{name}: values of shape {rows.shape} for {index.size} rows of a tensor of shape {x.shape}; expected "
            f"{expected}, or one row"
        )
    return change(x, to_shape(index, (index.size, 1)), broadcast_to(rows, expected))


def inplace_add(x: Any, v: Any, indices: Any) -> Tensor:
    """Add values to some rows; the result is a new tensor.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    v : Tensor
        A row for each index, or one row for all.
    indices : int or tuple of int
        The rows.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If the type of `x` cannot hold the values.
    IndexError
        If the row does not exist.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.inplace_add(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0]), (0, 2)))
    [1.5 2.  4. ]
    """
    return _rows("inplace_add", x, v, indices, tensor_scatter_add)


def inplace_sub(x: Any, v: Any, indices: Any) -> Tensor:
    """Subtract values from some rows; the result is a new tensor.

    Parameters, result and errors are as in `inplace_add`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.inplace_sub(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0]), (0, 2)))
    [0.5 2.  2. ]
    """
    return _rows("inplace_sub", x, v, indices, tensor_scatter_sub)


def inplace_update(x: Any, v: Any, indices: Any) -> Tensor:
    """Replace some rows; the result is a new tensor.

    Parameters, result and errors are as in `inplace_add`; if a row comes twice, the last value counts.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.inplace_update(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0]), (0, 2)))
    [0.5 2.  1. ]
    """
    return _rows("inplace_update", x, v, indices, tensor_scatter_update)


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Tensor:
    """Add slices along an axis to a Parameter or another tensor in place, as `index_add` does to a copy.

    Parameters
    ----------
    var : Parameter or Tensor
        The variable to change.
    indices : Tensor of int
        A vector: the positions of the slices.
    updates : Tensor
        The shape of `var`, but as long as `indices` along the axis.
    axis : int
        The axis.

    Returns
    -------
    Parameter or Tensor
        `var` itself.

    Raises
    ------
    TypeError
        If `var` is not a tensor or its type cannot hold the values.
    ValueError, IndexError
        If shapes do not fit, or an index is out of range.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.inplace_index_add(x, dg.Tensor([1]), dg.Tensor([[5.0], [6.0]]), 1))
    [[ 1.  7.]
     [ 3. 10.]]
    """

    def change(x: Tensor, index: Tensor, values: Any) -> Tensor:
        return index_add(x, index, values, axis)

    return into_variable("inplace_index_add", var, indices, updates, change, True)


# ------------------------------------------------------------------------------------------ primitive classes


def _class(name: str, function: Callable[..., Any], points: bool) -> type[Derived]:
    example = f"""
>>> w = dg.Parameter([1.0, 4.0, 9.0], name="w")
>>> ops.{name}()(w, dg.Tensor({"[[1]]" if points else "[1]"}), dg.Tensor([2.0])).name
'w'
"""
    return type(
        name, (Derived,), {"__slots__": (), "__module__": __name__}, function=function, ignored=("use_locking",),
        call="input_x, indices, updates", example=example, use_locking=False,
    )  # fmt: skip


ScatterUpdate = _class("ScatterUpdate", scatter_update, False)
ScatterAdd = _class("ScatterAdd", scatter_add, False)
ScatterSub = _class("ScatterSub", scatter_sub, False)
ScatterMul = _class("ScatterMul", scatter_mul, False)
ScatterDiv = _class("ScatterDiv", scatter_div, False)
ScatterMax = _class("ScatterMax", scatter_max, False)
ScatterMin = _class("ScatterMin", scatter_min, False)
ScatterNdUpdate = _class("ScatterNdUpdate", scatter_nd_update, True)
ScatterNdAdd = _class("ScatterNdAdd", scatter_nd_add, True)
ScatterNdSub = _class("ScatterNdSub", scatter_nd_sub, True)
ScatterNdMul = _class("ScatterNdMul", scatter_nd_mul, True)
ScatterNdDiv = _class("ScatterNdDiv", scatter_nd_div, True)
ScatterNdMax = _class("ScatterNdMax", scatter_nd_max, True)
ScatterNdMin = _class("ScatterNdMin", scatter_nd_min, True)


class InplaceAdd(Derived, function=inplace_add, indices=REQUIRED, call="x, v", example="""
>>> print(ops.InplaceAdd((0, 2))(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0])))
[1.5 2.  4. ]
"""):  # fmt: skip
    __slots__ = ()


class InplaceIndexAdd(Derived, function=inplace_index_add, axis=REQUIRED, call="var, indices, updates", example="""
>>> print(ops.InplaceIndexAdd(0)(dg.Tensor([1.0, 2.0]), dg.Tensor([1]), dg.Tensor([5.0])))
[1. 7.]
"""):  # fmt: skip
    __slots__ = ()


class InplaceSub(Derived, function=inplace_sub, indices=REQUIRED, call="x, v", example="""
>>> print(ops.InplaceSub((0, 2))(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0])))
[0.5 2.  2. ]
"""):  # fmt: skip
    __slots__ = ()


class InplaceUpdate(Derived, function=inplace_update, indices=REQUIRED, call="x, v", example="""
>>> print(ops.InplaceUpdate((0, 2))(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.5, 1.0])))
[0.5 2.  1. ]
"""):  # fmt: skip
    __slots__ = ()


class InplaceUpdateV2(Primitive):
    """Primitive class of `inplace_update`: ``ops.InplaceUpdateV2()(x, indices, v)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.InplaceUpdateV2()(dg.Tensor([1.0, 2.0, 3.0]), (0, 2), dg.Tensor([0.5, 1.0])))
    [0.5 2.  1. ]
    """

    __slots__ = ()

    def __call__(self, x: Any, indices: Any, v: Any) -> Tensor:
        return inplace_update(x, v, indices)


class SparseTensorDenseMatmul(Primitive):
    """Product of a sparse matrix, given by places and values, with a matrix.

    ``ops.SparseTensorDenseMatmul()(indices, values, sparse_shape, dense)``; values at one place are added.

    Parameters
    ----------
    adjoint_st, adjoint_dt : bool, default False
        True to transpose the sparse or the other matrix first; complex matrices raise an error then.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> places, values = dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0])
    >>> print(ops.SparseTensorDenseMatmul()(places, values, (2, 2), dg.Tensor([[1.0], [10.0]])))
    [[20.]
     [ 3.]]
    """

    __slots__ = ("adjoint_dt", "adjoint_st")

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        self.adjoint_st: bool = adjoint_st
        self.adjoint_dt: bool = adjoint_dt

    def __call__(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Tensor:
        name = "SparseTensorDenseMatmul"
        places = index_tensor(name, indices)
        entries, matrix = alike([operand(name, values), operand(name, dense)])
        shape = lengths(name, sparse_shape)
        if places.ndim != 2 or places.shape[1] != 2 or entries.shape != places.shape[:1]:
            raise ValueError(
                f"{name}: places of shape {places.shape} and values of shape {entries.shape}; expected (n, 2) and (n,)"
            )
        if (self.adjoint_st or self.adjoint_dt) and entries.dtype.is_complex:
            raise ValueError(f"{name}: the adjoint of a complex matrix; transpose and conjugate it first")
        across = int(self.adjoint_st)
        shape = shape[::-1] if self.adjoint_st else shape
        matrix = matrix.T if self.adjoint_dt else matrix
        if len(shape) != 2 or matrix.ndim != 2 or matrix.shape[0] != shape[1]:
            raise ValueError(f"{name}: a matrix of shape {shape} times a tensor of shape {matrix.shape}")
        rows = take(matrix, places[:, 1 - across], 0) * to_shape(entries, (entries.size, 1))
        return index_add(zeros((shape[0], matrix.shape[1]), entries.dtype), places[:, across], rows, 0)


class TensorScatterElements(
    Derived, function=tensor_scatter_elements, axis=0, reduction="none", call="data, indices, updates", example="""
>>> print(ops.TensorScatterElements(0, "add")(dg.Tensor([1.0, 2.0]), dg.Tensor([1, 1]), dg.Tensor([5.0, 6.0])))
[ 1. 13.]
"""):  # fmt: skip
    __slots__ = ()


def _rows_from(input_params: Any, input_indices: Any, offset: Any) -> Tensor:
    """Rows by numbers that begin at `offset`; a number without a row gives zeros."""
    table, index = operand("EmbeddingLookup", input_params), index_tensor("EmbeddingLookup", input_indices) - offset
    length = table.shape[0]
    there = (index >= 0) & (index < length)
    rows = take(table, where(there, index, 0), 0)
    return where(to_shape(there, (*index.shape, *(1,) * (table.ndim - 1))), rows, np.zeros((), table.dtype.numpy))


class EmbeddingLookup(Derived, function=_rows_from, call="input_params, input_indices, offset"):
    """Primitive class: ``ops.EmbeddingLookup()(input_params, input_indices, offset)`` gives rows of a table.

    Parameters
    ----------
    input_params : Tensor
        The table.
    input_indices : Tensor of int
        The numbers of the rows.
    offset : int
        The number of the first row. A number without a row gives zeros.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.EmbeddingLookup()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([5, 7]), 4))
    [[3. 4.]
     [0. 0.]]
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
