"""Nests of pytrees with tensors in them, as the Python faces walk them: with the engine's walks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._engine.transforms.pytrees import flat, like_gradient, matched, placed
from .tensor import Tensor

__all__ = ["arranged", "mapped", "matched", "pruned", "refilled", "tensors_in"]


def tensors_in(x: Any) -> list[Tensor]:
    """The tensors of a nest, in order."""
    return flat(x)


def mapped(x: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same nest with something else for each tensor; what is no tensor stays."""
    return placed(x, [change(t) for t in flat(x)])


def refilled(x: Any, replacements: Iterable[Any]) -> Any:
    """The same nest with its tensors replaced, in order."""
    rest = iter(replacements)
    return placed(x, [next(rest) for _ in flat(x)])


def arranged(x: Any, replacements: Iterable[Any]) -> Any:
    """The same as a gradient of the nest is arranged: tuples, lists and dicts leave out what holds no tensor."""
    rest = iter(replacements)
    return like_gradient(x, [next(rest) for _ in flat(x)])


def pruned(x: Any) -> Any:
    """The nest without what holds no tensor: the shape of its gradients."""
    return like_gradient(x, flat(x))
