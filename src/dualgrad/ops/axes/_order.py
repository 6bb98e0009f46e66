"""The order of axes, and stretches of them: views of the same memory."""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    OP,
    Primitive,
    integer,
    lengths,
    one_axis,
    operand,
    permuted,
    several_axes,
    unpacked,
)

__all__ = ["Transpose", "moveaxis", "narrow", "permute", "swapaxes", "t", "transpose"]

_SLICE = OP["slice"]


def transpose(x: Any, axes: Any = None) -> Tensor:
    """Reorder the axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axes : tuple of int, optional
        For each axis of the result, the axis of `x` it is; None reverses the order.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.ones((2, 3, 4))
    >>> ops.transpose(x, (0, 2, 1)).shape, ops.transpose(x).shape
    ((2, 4, 3), (4, 3, 2))
    """
    return _reordered("transpose", operand("transpose", x), axes)


def permute(x: Any, axis: Any) -> Tensor:
    """Reorder the axes; the same as `transpose` with `axes` given.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : tuple of int
        For each axis of the result, the axis of `x` it is.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.permute(ops.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _reordered("permute", operand("permute", x), axis)


def _reordered(name: str, x: Tensor, axes: Any) -> Tensor:
    ndim = x.ndim
    if axes is None or (isinstance(axes, tuple) and not axes and ndim):
        return permuted(x, ALL_AXES[ndim][::-1])
    given = lengths(name, axes)
    order = tuple([k + ndim if k < 0 else k for k in given])
    if len(order) != ndim or sorted(order) != list(ALL_AXES[ndim]):
        raise ValueError(
            f"{name}: {given} is not a permutation of the {ndim} axes of a tensor of shape {x.shape}; "
            f"expected each of {ALL_AXES[ndim]} once"
        )
    return permuted(x, order)


def _transpose_method(x: Tensor, *axes: Any) -> Tensor:
    return _reordered("transpose", x, unpacked(axes) if axes else None)


def _permute_method(x: Tensor, *axes: Any) -> Tensor:
    return _reordered("permute", x, unpacked(axes))


def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """Exchange two axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis0, axis1 : int
        The axes.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.swapaxes(ops.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = operand("swapaxes", x)
    i, j = one_axis("swapaxes", axis0, x.shape), one_axis("swapaxes", axis1, x.shape)
    order = list(ALL_AXES[x.ndim])
    order[i], order[j] = j, i
    return permuted(x, tuple(order))


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Move axes to other places; the others keep their order.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    source, destination : int or tuple of int
        Where the axes are, and where they go.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there are not as many sources as destinations, or one comes twice.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.moveaxis(ops.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = operand("moveaxis", x)
    sources = several_axes("moveaxis", source, x.shape)
    destinations = several_axes("moveaxis", destination, x.shape)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: {len(sources)} axes cannot go to {len(destinations)} places")
    order = [k for k in range(x.ndim) if k not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return permuted(x, tuple(order))


def t(x: Any) -> Tensor:
    """Transpose of a matrix; a vector or a number is returned as it is.

    Parameters
    ----------
    x : Tensor
        At most two axes.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `x` has more than two axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.t(ops.ones((2, 3))).shape
    (3, 2)
    """
    x = operand("t", x)
    if x.ndim > 2:
        raise ValueError(f"t: a tensor of shape {x.shape} has more than two axes; use swapaxes or transpose")
    return permuted(x, ALL_AXES[x.ndim][::-1])


def narrow(x: Any, axis: int, start: int, length: int) -> Tensor:
    """Take a stretch along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int
        The axis.
    start, length : int
        Where the stretch begins and how long it is.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If the stretch leaves the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.narrow(dg.Tensor([1.0, 2.0, 3.0, 4.0]), 0, 1, 2))
    [2. 3.]
    """
    x = operand("narrow", x)
    axis = one_axis("narrow", axis, x.shape)
    n = x.shape[axis]
    begin, count = integer("narrow", "start", start), integer("narrow", "length", length)
    if begin < 0:
        begin += n
    if not 0 <= begin <= begin + count <= n:
        raise ValueError(f"narrow: {count} elements from {start} on leave axis {axis} of shape {x.shape}")
    spec = [(begin, count, 1) if k == axis else (0, m, 1) for k, m in enumerate(x.shape)]
    return _engine.apply(_SLICE, tuple(spec), x)


class Transpose(Primitive):
    """Another order of axes; see `transpose`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Transpose()(ops.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """

    __slots__ = ()

    def __call__(self, x: Any, axes: Any) -> Tensor:
        return transpose(x, axes)


METHODS: dict[str, Any] = {
    "transpose": _transpose_method,
    "permute": _permute_method,
    "swapaxes": swapaxes,
    "moveaxis": moveaxis,
    "t": t,
    "narrow": narrow,
}
