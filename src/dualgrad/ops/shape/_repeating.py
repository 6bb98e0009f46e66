"""Repeat elements: along axes of length 1, as a whole, one by one, as grids.

Repetition is a broadcast along an axis of length 1 that a reshape then folds in, so its transpose is a plain
sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._settings import one_of, room
from ...tensor import Tensor
from .._arguments import (
    Primitive,
    expanded,
    lengths,
    one_axis,
    operand,
    operands,
    respell,
    to_shape,
    unpacked,
)
from ..index.gather import gather

__all__ = ["BroadcastTo", "Meshgrid", "Tile", "broadcast_to", "expand_as", "meshgrid", "repeat_interleave", "tile"]


def broadcast_to(x: Any, shape: Any) -> Tensor:
    """Repeat axes of length 1, and add axes in front, up to a shape.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    shape : tuple of int
        The new shape; -1 keeps the length of that axis.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape of `x` does not broadcast to it.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.broadcast_to(dg.Tensor([1.0, 2.0]), (2, -1)))
    [[1. 2.]
     [1. 2.]]
    """
    return _broadcast("broadcast_to", operand("broadcast_to", x), lengths("broadcast_to", shape))


def _broadcast(name: str, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    old = x.shape
    lead = len(shape) - len(old)
    target = tuple([old[k - lead] if n == -1 and k >= lead else n for k, n in enumerate(shape)])
    if lead < 0 or any(n < 0 for n in target) or any(m not in (1, n) for m, n in zip(old, target[lead:], strict=True)):
        raise ValueError(
            f"{name}: a tensor of shape {old} does not broadcast to {shape}; its axes, counted from the "
            "last, must have that length or length 1"
        )
    return expanded(x, target)


def expand_as(x: Any, other: Any) -> Tensor:
    """Broadcast to the shape of another tensor.

    Parameters
    ----------
    x, other : Tensor
        The shape of `x` must broadcast to the shape of `other`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape of `x` does not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.expand_as(ops.ones((1, 3)), ops.ones((2, 3))).shape
    (2, 3)
    """
    return _broadcast("expand_as", operand("expand_as", x), operand("expand_as", other).shape)


def tile(x: Any, reps: Any) -> Tensor:
    """Repeat the whole tensor along its axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    reps : int or tuple of int
        How many times, for each axis counted from the last. Further numbers add axes in front.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tile(dg.Tensor([[1.0, 2.0]]), (2, 2)))
    [[1. 2. 1. 2.]
     [1. 2. 1. 2.]]
    """
    x = operand("tile", x)
    times = lengths("tile", reps)
    if any(r < 0 for r in times):
        raise ValueError(f"tile: reps {times} has a negative number")
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    split, repeated = [], []
    for r, n in zip(times, shape, strict=True):
        if r != 1:
            split.append(1)
            repeated.append(r)
        split.append(n)
        repeated.append(n)
    result = tuple([r * n for r, n in zip(times, shape, strict=True)])
    return to_shape(expanded(to_shape(x, tuple(split)), tuple(repeated)), result)


def _tile_method(x: Tensor, *reps: Any) -> Tensor:
    return tile(x, unpacked(reps))


def repeat_interleave(x: Any, repeats: Any, axis: Any = None, **other: Any) -> Tensor:
    """Repeat each element along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    repeats : int, or tuple, list or Tensor of int
        How many times: one number for all, or one for each element along the axis.
    axis : int, optional
        The axis; None stands for all elements in one axis. Also spelled `dim`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the numbers are negative or do not fit the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0])
    >>> print(ops.repeat_interleave(x, 2), ops.repeat_interleave(x, (1, 3), 0))
    [1. 1. 2. 2.] [1. 2. 2. 2.]
    """
    if other:
        axis = respell("repeat_interleave", other, axis=axis)
    x = operand("repeat_interleave", x)
    if axis is None:
        x, axis = to_shape(x, (x.size,)), 0
    axis = one_axis("repeat_interleave", axis, x.shape)
    shape = x.shape
    times = lengths("repeat_interleave", repeats)
    if any(r < 0 for r in times) or len(times) not in (1, shape[axis]):
        raise ValueError(
            f"repeat_interleave: repeats {times} does not fit axis {axis} of shape {shape}; expected one "
            f"number, or {shape[axis]} of them, none negative"
        )
    if len(times) == 1:
        column = to_shape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        column = expanded(column, (*shape[: axis + 1], times[0], *shape[axis + 1 :]))
        return to_shape(column, (*shape[:axis], shape[axis] * times[0], *shape[axis + 1 :]))
    room("repeat_interleave", (sum(times),))
    return gather(x, np.repeat(np.arange(shape[axis]), times), axis)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Make grids of coordinates from vectors.

    Parameters
    ----------
    *inputs : Tensor
        Vectors or numbers, one for each coordinate; or a single tuple of them.
    indexing : {"xy", "ij"}, default "xy"
        "ij": axis k of the grids belongs to input k. "xy": the first two axes are exchanged.

    Returns
    -------
    tuple of Tensor
        One grid for each input, all of one shape.

    Raises
    ------
    ValueError
        If an input has more than one axis, or `indexing` is neither "xy" nor "ij".

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, y = ops.meshgrid(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([4.0, 5.0]))
    >>> print(x)
    [[1. 2. 3.]
     [1. 2. 3.]]
    """
    if len(inputs) == 1 and isinstance(inputs[0], tuple | list):
        inputs = tuple(inputs[0])
    if not one_of(indexing, ("xy", "ij")):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = operands("meshgrid", inputs)
    for v in vectors:
        if v.ndim > 1:
            raise ValueError(f"meshgrid: expected vectors, got a tensor of shape {v.shape}")
    place = list(range(len(vectors)))
    if indexing == "xy" and len(place) > 1:
        place[:2] = 1, 0
    shape = [0] * len(place)
    for k, v in zip(place, vectors, strict=True):
        shape[k] = v.size
    grids = []
    for k, v in zip(place, vectors, strict=True):
        column = to_shape(v, tuple([v.size if j == k else 1 for j in range(len(place))]))
        grids.append(expanded(column, tuple(shape)))
    return tuple(grids)


class BroadcastTo(Primitive):
    """Axes of length 1 repeated; see `broadcast_to`.

    Parameters
    ----------
    shape : tuple of int
        The new shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.BroadcastTo((2, 3))(ops.ones((3,))).shape
    (2, 3)
    """

    __slots__ = ("shape",)

    def __init__(self, shape: Any) -> None:
        self.shape: tuple[int, ...] = lengths("BroadcastTo", shape)

    def __call__(self, x: Any) -> Tensor:
        return _broadcast("BroadcastTo", operand("BroadcastTo", x), self.shape)


class Meshgrid(Primitive):
    """Primitive class of `meshgrid`: ``ops.Meshgrid(indexing)(inputs)``, with a tuple of vectors.

    Parameters
    ----------
    indexing : {'xy', 'ij'}, default 'xy'
        The order of the axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> [grid.shape for grid in ops.Meshgrid("ij")((dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([4.0, 5.0])))]
    [(3, 2), (3, 2)]
    """

    __slots__ = ("indexing",)

    def __init__(self, indexing: str = "xy") -> None:
        self.indexing = indexing

    def __call__(self, inputs: Any) -> tuple[Tensor, ...]:
        return meshgrid(*inputs, indexing=self.indexing)


class Tile(Primitive, of=tile):
    __slots__ = ()

    def __call__(self, x: Any, reps: Any) -> Tensor:
        return tile(x, reps)


METHODS: dict[str, Any] = {
    "broadcast_to": broadcast_to,
    "expand_as": expand_as,
    "tile": _tile_method,
    "repeat_interleave": repeat_interleave,
}
