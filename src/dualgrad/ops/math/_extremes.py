"""Largest and smallest elements, and their positions.

Elements that tie share the gradient in equal parts. Positions are integers without a derivative; where several
elements tie, the first one counts.
"""

from __future__ import annotations

import builtins
from typing import Any

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    OP,
    Primitive,
    Reduction,
    beside,
    dropped,
    kept,
    one_axis,
    operand,
    reduced_axes,
    respell,
    to_shape,
)
from ..index.choice import where

__all__ = [
    "Argmax", "Argmin", "ReduceMax", "ReduceMin", "amax", "amin", "aminmax", "argmax", "argmin", "max",
    "min",
]  # fmt: skip

_MAX, _MIN, _ARGMAX, _ARGMIN = OP["reduce_max"], OP["reduce_min"], OP["argmax"], OP["argmin"]


def amax(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Largest elements over axes; elements that tie share the gradient in equal parts.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int or tuple of int, optional
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Type of `x`; nan where there is a nan.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.amax(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1))
    [5. 7.]
    >>> print(dg.grad(ops.amax)(dg.Tensor([3.0, 1.0, 3.0])))
    [0.5 0.  0.5]
    """
    if other:
        axis, keepdims = respell("amax", other, axis=axis, keepdims=keepdims)
    return _extreme("amax", _MAX, x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Smallest elements over axes; elements that tie share the gradient in equal parts.

    Parameters, result and errors are as in `amax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.amin(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 0))
    [1. 2.]
    """
    if other:
        axis, keepdims = respell("amin", other, axis=axis, keepdims=keepdims)
    return _extreme("amin", _MIN, x, axis, keepdims)


def aminmax(x: Any, *, axis: Any = 0, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Smallest and largest elements over axes; elements that tie share the gradient in equal parts.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int or tuple of int, default 0
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    minimum, maximum : Tensor
        Type of `x`; nan where there is a nan.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> low, high = ops.aminmax(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]))
    >>> print(low, high)
    [1. 2.] [7. 5.]
    """
    if "dim" in other and axis == 0:
        axis = other.pop("dim")
    if other:
        keepdims = respell("aminmax", other, keepdims=keepdims)
    return _extreme("aminmax", _MIN, x, axis, keepdims), _extreme("aminmax", _MAX, x, axis, keepdims)


def _extreme(name: str, op: int, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = operand(name, x)
    axes, keepdims = reduced_axes(name, axis, x), truth_value(name, "keepdims", keepdims)
    if not x.size:
        shape = x.shape
        if not builtins.all(shape[k] for k in axes):
            raise ValueError(f"{name}: there is no element to choose along axes {axes} of a tensor of shape {shape}")
        return to_shape(x, kept(shape, axes) if keepdims else dropped(shape, axes))
    return _engine.apply(op, (axes, keepdims), x)


def max(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Largest elements along an axis, and their positions.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int, optional
        The axis to reduce; None stands for all elements in order. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axis with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    values : Tensor
        As `amax` gives; elements that tie share the gradient in equal parts.
    indices : Tensor
        Position of the first of them along the axis, Int64.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty.

    See Also
    --------
    amax : The values alone, over any number of axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.max(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1)
    >>> print(values, indices)
    [5. 7.] [1 0]
    """
    if other:
        axis, keepdims = respell("max", other, axis=axis, keepdims=keepdims)
    values = _extreme("max", _MAX, x, axis, keepdims)
    return values, _position("max", _ARGMAX, x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Smallest elements along an axis, and their positions.

    Parameters, results and errors are as in `max`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.min(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1)
    >>> print(values, indices)
    [1. 2.] [0 1]
    """
    if other:
        axis, keepdims = respell("min", other, axis=axis, keepdims=keepdims)
    values = _extreme("min", _MIN, x, axis, keepdims)
    return values, _position("min", _ARGMIN, x, axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Position of the first largest element along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int, optional
        The axis to search; None stands for all elements in order. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axis with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Int64; derivatives do not pass.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty along the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> print(ops.argmax(x), ops.argmax(x, 1))
    2 [1 0]
    """
    if other:
        axis, keepdims = respell("argmax", other, axis=axis, keepdims=keepdims)
    return _position("argmax", _ARGMAX, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Position of the first smallest element along an axis.

    Parameters, result and errors are as in `argmax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> print(ops.argmin(x), ops.argmin(x, 1))
    0 [0 1]
    """
    if other:
        axis, keepdims = respell("argmin", other, axis=axis, keepdims=keepdims)
    return _position("argmin", _ARGMIN, x, axis, keepdims)


def _position(name: str, op: int, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x, keepdims = operand(name, x), truth_value(name, "keepdims", keepdims)
    shape = x.shape
    if isinstance(axis, tuple | list):
        if len(axis) != 1:
            raise TypeError(
                f"{name}: axis is {axis!r}; positions need a single axis or None (use amax, amin for several)"
            )
        axis = axis[0]
    if axis is None or (not shape and one_of(axis, (0, -1))):
        place, x = 0, to_shape(x, (x.size,))
    else:
        place = one_axis(name, axis, shape)
    if x.shape[place] == 0:
        raise ValueError(f"{name}: a tensor of shape {shape} has no elements to choose from along axis {axis}")
    if axis is None:
        found = _engine.apply(op, (0, False), x)
        return to_shape(found, (1,) * len(shape)) if keepdims else found
    return _engine.apply(op, (place, builtins.bool(keepdims and shape)), x)


class ReduceMax(Reduction, of=amax):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return _extreme("ReduceMax", _MAX, x, axis, self.keep_dims)


class ReduceMin(Reduction, of=amin):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return _extreme("ReduceMin", _MIN, x, axis, self.keep_dims)


class Argmax(Primitive):
    """Position of the first largest element along an axis; see `argmax`.

    Parameters
    ----------
    axis : int, default -1
        The axis to search.
    output_type : type, default int32
        Type of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Argmax()(dg.Tensor([[1.0, 5.0], [7.0, 2.0]])))
    [1 0]
    """

    __slots__ = ("axis", "output_type")

    def __init__(self, axis: int = -1, output_type: Any = _dtype.int32) -> None:
        self.axis: int = axis
        self.output_type: _dtype.DType = as_dtype(output_type, where=type(self).__name__)

    def __call__(self, x: Any) -> Tensor:
        return _engine.convert(_position("Argmax", _ARGMAX, x, self.axis, False), self.output_type.num)


class Argmin(Argmax):
    """Position of the first smallest element along an axis; settings as `Argmax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Argmin()(dg.Tensor([[1.0, 5.0], [7.0, 2.0]])))
    [0 1]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _engine.convert(_position("Argmin", _ARGMIN, x, self.axis, False), self.output_type.num)


def _chosen(name: str, x: Tensor, other: dict[str, Any], return_indices: bool) -> tuple[Tensor, Tensor] | None:
    """The elements that count and the first value, from NumPy's keywords `where` and `initial`."""
    initial, chosen = other.pop("initial", None), other.pop("where", True)
    if initial is None:
        if chosen is True:
            return None
        raise ValueError(f"{name}: where is given without initial; expected the result where no element counts")
    if return_indices:
        raise ValueError(f"{name}: initial is given with return_indices; expected one of them, initial has no place")
    first = beside(name, initial, x)
    return (x if chosen is True else where(chosen, x, first)), first


def _max_method(
    x: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False, **other: Any
) -> Any:
    chosen = _chosen("max", x, other, return_indices)
    if return_indices:
        return max(x, axis, keepdims, **other)
    if other:
        axis, keepdims = respell("max", other, axis=axis, keepdims=keepdims)
    if chosen is None:
        return _extreme("max", _MAX, x, axis, keepdims)
    x, initial = chosen
    return _engine.binary_op(OP["maximum"], _extreme("max", _MAX, x, axis, keepdims), initial)


def _min_method(
    x: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False, **other: Any
) -> Any:
    chosen = _chosen("min", x, other, return_indices)
    if return_indices:
        return min(x, axis, keepdims, **other)
    if other:
        axis, keepdims = respell("min", other, axis=axis, keepdims=keepdims)
    if chosen is None:
        return _extreme("min", _MIN, x, axis, keepdims)
    x, initial = chosen
    return _engine.binary_op(OP["minimum"], _extreme("min", _MIN, x, axis, keepdims), initial)


METHODS: dict[str, Any] = {
    "max": _max_method,
    "min": _min_method,
    "amax": amax,
    "amin": amin,
    "aminmax": aminmax,
    "argmax": argmax,
    "argmin": argmin,
}
