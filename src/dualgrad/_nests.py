"""Walks over nests of pytrees with tensors in them, for the Python layers."""

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
    """Replace each tensor of a nest by `change` of it. Other leaves stay."""
    return placed(x, [change(t) for t in flat(x)])


def refilled(x: Any, replacements: Iterable[Any]) -> Any:
    """Replace the tensors of a nest, in order."""
    rest = iter(replacements)
    return placed(x, [next(rest) for _ in flat(x)])


def arranged(x: Any, replacements: Iterable[Any]) -> Any:
    """Arrange replacements as a gradient of the nest: tuples, lists and dicts drop members without tensors."""
    rest = iter(replacements)
    return like_gradient(x, [next(rest) for _ in flat(x)])


def pruned(x: Any) -> Any:
    """The nest without members that hold no tensor: the structure of its gradients."""
    return like_gradient(x, flat(x))
