"""Nests of tuples, lists and dicts with tensors in them, as the Python faces walk them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .tensor import Tensor


def tensors_in(x: Any) -> list[Tensor]:
    """The tensors of a nest, in order."""
    if isinstance(x, Tensor):
        return [x]
    if isinstance(x, tuple | list):
        return [t for item in x for t in tensors_in(item)]
    if isinstance(x, dict):
        return [t for item in x.values() for t in tensors_in(item)]
    return []


def mapped(x: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same nest with something else for each tensor; what is no tensor stays."""
    if isinstance(x, Tensor):
        return change(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[mapped(item, change) for item in x])
    if isinstance(x, tuple):
        return tuple([mapped(item, change) for item in x])
    if isinstance(x, list):
        return [mapped(item, change) for item in x]
    if isinstance(x, dict):
        return {key: mapped(item, change) for key, item in x.items()}
    return x


def refilled(x: Any, replacements: Iterator[Any]) -> Any:
    """The same nest with its tensors replaced, in order."""
    return mapped(x, lambda _: next(replacements))


def pruned(x: Any) -> Any:
    """The nest without what holds no tensor: the shape of its gradients."""
    if isinstance(x, tuple | list):
        kept = [pruned(item) for item in x if tensors_in(item)]
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*kept) if len(kept) == len(x) else tuple(kept)
        return kept if isinstance(x, list) else tuple(kept)
    if isinstance(x, dict):
        return {key: pruned(item) for key, item in x.items() if tensors_in(item)}
    return x


def matched(name: str, like: Any, given: Any, what: str, where: str = "") -> list[Any]:
    """What stands in a nest where another has its tensors; it must have that nesting."""
    if isinstance(like, Tensor):
        return [given]
    if isinstance(like, dict):
        if not isinstance(given, dict) or given.keys() != like.keys():
            raise ValueError(f"{name}: {what}{where} does not have the keys {list(like)}; got {_described(given)}")
        return [x for key in like for x in matched(name, like[key], given[key], what, f"{where}[{key!r}]")]
    if not isinstance(given, tuple | list) or len(given) != len(like):
        raise ValueError(f"{name}: {what}{where} is {_described(given)}; expected {_described(like)}")
    return [x for i in range(len(like)) for x in matched(name, like[i], given[i], what, f"{where}[{i}]")]


def _described(x: Any) -> str:
    if isinstance(x, tuple | list):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, dict):
        return f"a dict of {list(x)}"
    return f"one tensor of shape {x.shape}" if isinstance(x, Tensor) else f"a {type(x).__name__}"
