"""Shapes: the same elements in another shape.

Results are always new handles, even if the shape does not change: writing into them does not reach the operand. Files
of their own hold the order of axes and of elements, repetition, joining and splitting, diagonals, padding, patches and
types; all are gathered here.
"""

from __future__ import annotations

import math
from typing import Any

from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    Primitive,
    lengths,
    one_axis,
    operand,
    permuted,
    respell,
    several_axes,
    to_shape,
    unpacked,
)
from ..axes import _diagonals, _joining, _order, _turning
from ..axes._diagonals import *  # noqa: F403
from ..axes._joining import *  # noqa: F403
from ..axes._order import *  # noqa: F403
from ..axes._turning import *  # noqa: F403
from . import _padding, _patches, _repeating, _types
from ._padding import *  # noqa: F403
from ._patches import *  # noqa: F403
from ._repeating import *  # noqa: F403
from ._types import *  # noqa: F403

__all__ = [
    "ExpandDims", "Flatten", "Reshape", "Squeeze", "expand_dims", "flatten", "ravel", "reshape", "squeeze", "unsqueeze",
]  # fmt: skip
__all__ += _order.__all__
__all__ += _repeating.__all__
__all__ += _joining.__all__
__all__ += _diagonals.__all__
__all__ += _padding.__all__
__all__ += _patches.__all__
__all__ += _turning.__all__
__all__ += _types.__all__


# -------------------------------------------------------------------------------------------------- reshaping


def reshape(x: Any, shape: Any) -> Tensor:
    """Put the same elements, in the same order, into another shape.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    shape : int or tuple of int
        The new shape. One length may be -1: it follows from the others.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape holds another number of elements than `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.reshape(dg.Tensor([1.0, 2.0, 3.0, 4.0]), (2, -1)))
    [[1. 2.]
     [3. 4.]]
    """
    x = operand("reshape", x)
    return _reshaped("reshape", x, lengths("reshape", shape))


def _reshaped(name: str, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    size = x.size
    target = shape
    if -1 in shape and shape.count(-1) == 1:
        others = -math.prod(shape)
        if others > 0 and size % others == 0:
            target = tuple([size // others if n == -1 else n for n in shape])
    if math.prod(target) != size or (target and min(target) < 0):
        raise ValueError(
            f"{name}: a tensor of shape {x.shape} has {size} elements, which do not fit the shape {shape}"
            + (": only one length may be -1" if shape.count(-1) > 1 else "")
        )
    return to_shape(x, target)


def _reshape_method(x: Tensor, *shape: Any) -> Tensor:
    return _reshaped("reshape", x, lengths("reshape", unpacked(shape)))


def _view_method(x: Tensor, *shape: Any) -> Tensor:
    return _reshaped("view", x, lengths("view", unpacked(shape)))


def flatten(x: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Join neighbouring axes into one; by default all axes but the first.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    order : {"C", "F"}, default "C"
        "F": the first of the joined axes runs fastest.
    start_dim, end_dim : int
        The first and the last axis to join.

    Returns
    -------
    Tensor
        At least one axis.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If the last axis stands before the first, or the order is neither "C" nor "F".

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.ones((2, 3, 4))
    >>> ops.flatten(x).shape, ops.flatten(x, start_dim=0).shape
    ((2, 12), (24,))
    """
    x = operand("flatten", x)
    shape = x.shape
    if not one_of(order, ("C", "F")):
        raise ValueError(f"flatten: order must be 'C' or 'F', got {order!r}")
    if len(shape) < 2:
        return to_shape(x, (x.size,))
    first, last = one_axis("flatten", start_dim, shape), one_axis("flatten", end_dim, shape)
    if last < first:
        raise ValueError(f"flatten: start_dim {start_dim} stands behind end_dim {end_dim} in shape {shape}")
    if order == "F":
        axes = ALL_AXES[len(shape)]
        x = permuted(x, axes[:first] + axes[first : last + 1][::-1] + axes[last + 1 :])
    return to_shape(x, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def _flatten_method(x: Tensor, order: Any = "C", end: int = -1, *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    if isinstance(order, int):  # x.flatten(start_dim, end_dim)
        return flatten(x, start_dim=order, end_dim=end)
    return flatten(x, order, start_dim=start_dim, end_dim=end_dim)


def ravel(x: Any) -> Tensor:
    """All elements in one axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    Tensor
        Shape (size of `x`,).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ravel(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2. 3. 4.]
    """
    x = operand("ravel", x)
    return to_shape(x, (x.size,))


def expand_dims(x: Any, axis: Any) -> Tensor:
    """Insert axes of length 1.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int
        Where the new axes stand in the result.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If the result has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0])
    >>> ops.expand_dims(x, 0).shape, ops.expand_dims(x, -1).shape
    ((1, 2), (2, 1))
    """
    return _with_new_axes("expand_dims", x, axis)


def unsqueeze(x: Any, dim: Any) -> Tensor:
    """Insert an axis of length 1; the same as `expand_dims`.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    dim : int
        Where the new axis stands in the result.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.unsqueeze(dg.Tensor([1.0, 2.0]), 1).shape
    (2, 1)
    """
    return _with_new_axes("unsqueeze", x, dim)


def _with_new_axes(name: str, x: Any, axis: Any) -> Tensor:
    x = operand(name, x)
    shape = x.shape
    count = len(axis) if isinstance(axis, tuple | list) else 1
    new = several_axes(name, axis, shape, count)
    old = iter(shape)
    return to_shape(x, tuple([1 if k in new else next(old) for k in range(len(shape) + count)]))


def squeeze(x: Any, axis: Any = None, **other: Any) -> Tensor:
    """Remove axes of length 1.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to remove; None stands for all axes of length 1. Also spelled `dim`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If an axis to be removed is not of length 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = ops.ones((1, 3, 1))
    >>> ops.squeeze(x).shape, ops.squeeze(x, 0).shape
    ((3,), (3, 1))
    """
    if other:
        axis = respell("squeeze", other, axis=axis)
    x = operand("squeeze", x)
    shape = x.shape
    if axis is None or (isinstance(axis, tuple | list) and not axis):
        return to_shape(x, tuple([n for n in shape if n != 1]))
    axes = several_axes("squeeze", axis, shape)
    for k in axes:
        if shape[k] != 1:
            raise ValueError(
                f"squeeze: axis {k} of a tensor of shape {shape} has length {shape[k]}; only axes of length "
                "1 can be removed"
            )
    return to_shape(x, tuple([n for k, n in enumerate(shape) if k not in axes]))


# ------------------------------------------------------------------------------------------ primitive classes


class Reshape(Primitive, of=reshape):
    __slots__ = ()

    def __call__(self, x: Any, shape: Any) -> Tensor:
        return reshape(x, shape)


class ExpandDims(Primitive, of=expand_dims):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any) -> Tensor:
        return expand_dims(x, axis)


class Squeeze(Primitive):
    """Axes of length 1 removed; see `squeeze`.

    Parameters
    ----------
    axis : int or tuple of int, default ()
        The axes to remove; () stands for all axes of length 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Squeeze(0)(ops.ones((1, 3, 1))).shape
    (3, 1)
    """

    __slots__ = ("axis",)

    def __init__(self, axis: Any = ()) -> None:
        self.axis: Any = axis

    def __call__(self, x: Any) -> Tensor:
        return squeeze(x, self.axis)


class Flatten(Primitive):
    """All axes but the first joined; see `flatten`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Flatten()(ops.ones((2, 3, 4))).shape
    (2, 12)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return flatten(x)


METHODS: dict[str, Any] = {
    "reshape": _reshape_method,
    "view": _view_method,
    "flatten": _flatten_method,
    "ravel": ravel,
    "expand_dims": expand_dims,
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    **_types.METHODS,
    **_order.METHODS,
    **_repeating.METHODS,
    **_joining.METHODS,
    **_diagonals.METHODS,
    **_patches.METHODS,
    **_turning.METHODS,
}
