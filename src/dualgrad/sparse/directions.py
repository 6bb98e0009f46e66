"""Reduction of a step on a batch of directions to a step on one direction.

A transform pushes many directions at once: each array that depends on them has a batch axis, and every step treats all
directions alike. Such a step is a step on arrays without that axis, applied to a batch. `without_directions` finds that
step, or returns None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Batched", "without_directions"]

Shape = tuple[int, ...]


class Batched(NamedTuple):
    """A step on a batch.

    Attributes
    ----------
    params, shapes, out
        Its parameters, the shapes of its operands, and the shape of its result.
    axes
        The batch axis of each operand; None where it has none.
    directions
        The number of directions.
    """

    params: Any
    shapes: Sequence[Shape]
    axes: Sequence[int | None]
    out: Shape
    directions: int


#: The parameters of the step on one direction, and the batch axis of the result.
Single = tuple[Any, int]


def _dropped(items: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*items[:axis], *items[axis + 1 :])


def _elementwise(step: Batched) -> Single | None:
    """Broadcasting aligns axes at the last one: all batch axes must align, and no other operand may extend there."""
    places = {axis - len(shape) for axis, shape in zip(step.axes, step.shapes, strict=True) if axis is not None}
    if len(places) > 1:
        return None
    (place,) = places
    for axis, shape in zip(step.axes, step.shapes, strict=True):
        if axis is None and len(shape) >= -place and shape[place] != 1:
            return None
    return step.params, len(step.out) + place


def _reshape(step: Batched) -> Single | None:
    axis, shape = step.axes[0], step.shapes[0]
    before = math.prod(shape[:axis])
    for k, extent in enumerate(step.params):
        if extent == step.directions and math.prod(step.params[:k]) == before:
            return _dropped(step.params, k), k
    return None


def _transpose(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    order = [k - (k > axis) for k in step.params if k != axis]
    return tuple(order), step.params.index(axis)


def _broadcast(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    place = axis - len(step.shapes[0]) + len(step.params)
    return _dropped(step.params, place), place


def _slice(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    return (_dropped(step.params, axis), axis) if step.params[axis] == (0, step.directions, 1) else None


def _unslice(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    shape, box = step.params
    whole = shape[axis] == step.directions and box[axis] == (0, step.directions, 1)
    return ((_dropped(shape, axis), _dropped(box, axis)), axis) if whole else None


def _concat(step: Batched) -> Single | None:
    (axis, *others) = {axis for axis in step.axes if axis is not None}
    if others or step.params == axis:
        return None
    return step.params - (step.params > axis), axis


def _sum(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    axes, keepdims = step.params
    if axis in axes:
        return None
    place = axis if keepdims else axis - sum(k < axis for k in axes)
    return (tuple(k - (k > axis) for k in axes), keepdims), place


def _sum_to(step: Batched) -> Single | None:
    axis = step.axes[0]
    assert axis is not None
    place = axis - len(step.shapes[0]) + len(step.params)
    if place < 0 or step.params[place] != step.directions:
        return None
    return _dropped(step.params, place), place


def _in_front(pattern: tuple[Any, ...], axis: int | None, count: int) -> bool:
    """True if an axis comes before all indices of a pattern, which takes it as a whole."""
    assert axis is not None
    return (
        axis < len(pattern)
        and not any(isinstance(part, int) for part in pattern[: axis + 1])
        and slice(*pattern[axis]).indices(count) == (0, count, 1)
    )


def _gather(step: Batched) -> Single | None:
    axis, indexed = step.axes[0], step.axes[1:]
    if any(other is not None for other in indexed) or not _in_front(step.params, axis, step.directions):
        return None
    assert axis is not None
    return (_dropped(step.params, axis), axis) if _together(step.params) else None


def _scatter_add(step: Batched) -> Single | None:
    axis, indexed = step.axes[0], step.axes[1:]
    shape, pattern = step.params
    if any(other is not None for other in indexed) or not _in_front(pattern, axis, step.directions):
        return None
    assert axis is not None
    if shape[axis] != step.directions or not _together(pattern):
        return None
    return (_dropped(shape, axis), _dropped(pattern, axis)), axis


def _together(pattern: tuple[Any, ...]) -> bool:
    """True if the indices of a pattern are adjacent, so that the gathered axes stay in their place."""
    places = [k for k, part in enumerate(pattern) if isinstance(part, int)]
    return bool(places) and places[-1] - places[0] == len(places) - 1


_RULES: dict[str, Callable[[Batched], Single | None]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast_to": _broadcast,
    "slice": _slice,
    "unslice": _unslice,
    "concat": _concat,
    "sum": _sum,
    "sum_to": _sum_to,
    "gather": _gather,
    "scatter_add": _scatter_add,
}
_RULES |= dict.fromkeys(("identity", "cast", "neg", "add", "sub", "mul", "div", "absorb_mul", "where"), _elementwise)


def without_directions(name: str, step: Batched) -> Single | None:
    """The step on one direction that a step applies to a batch; None if no rule finds one."""
    rule = _RULES.get(name)
    found = None if rule is None else rule(step)
    if found is None or found[1] < 0 or step.out[found[1]] != step.directions:
        return None
    return found
