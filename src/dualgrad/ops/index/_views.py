"""Views: what ints and slices take from an array of `dualgrad.numpy`, and an assignment to them, as in NumPy.

A value cannot change, and a tensor is a handle on one. So such a tensor knows from which other it was taken, and by
which index; an assignment to it is one to that tensor too. Tensors that were made otherwise have no views: their
slices are tensors of their own, as MindSpore's are, and so are all under the alias `mindspore`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...tensor import Tensor

__all__ = ["View", "seen", "switched", "with_views"]

#: An array is kept by its views, and by those of its views, but by no longer chains.
_LONGEST = 16


class View(NamedTuple):
    """Where elements come from: a tensor, None behind too long a chain of slices, and the index that took them."""

    source: Tensor | None
    index: Any
    steps: int


_ARRAY = View(None, None, 0)
_SETTINGS = {"views": True}


def switched(on: bool) -> None:
    """Say whether arrays that are made from now on have views."""
    _SETTINGS["views"] = on


def with_views(x: Tensor) -> Tensor:
    """A tensor that was just made, as an array whose slices are views."""
    if _SETTINGS["views"]:
        x._alias = _ARRAY
    return x


def seen(taken: Tensor, t: Tensor, index: Any) -> Tensor:
    """What ints and slices have taken from `t`, as a view if `t` has views. A single number is none, as in NumPy."""
    alias = t._alias
    if alias is not None and taken.ndim:
        steps = alias.steps + 1
        taken._alias = View(t if steps <= _LONGEST else None, index, steps)
    return taken
