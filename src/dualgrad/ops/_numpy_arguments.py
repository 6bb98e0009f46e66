"""Array-likes among the arguments of NumPy's functions: lists become tensors or arrays before a handler sees them.

A list with tensors in it is joined, so that derivatives pass. A list of numbers is what the caller says: an array, as
NumPy reads it, or numbers that take the type of the tensors beside them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._engine import tensor as _engine
from .._joined import holds_tensor, joined
from ..tensor import Tensor

__all__ = ["array_like", "beside_tensors", "settled_arguments", "tensors_among"]

#: parameters that take several array-likes, and those of which each one is another argument
COLLECTIONS = frozenset(("arrays", "tup", "tensors", "condlist", "choicelist"))
#: parameters that take no array-like: axes, lengths, places, or data that the handler reads itself
STATIC = frozenset(
    """axes axis axis0 axis1 axis2 constant_values destination dtype indices indices_or_sections k object order p
    pad_width repeats reps s shape shift source subscripts""".split()
)


def array_like(name: str, x: Any, plain: Callable[[list | tuple], Any]) -> Any:
    """A list as a tensor where tensors are in it, else as `plain` makes it; anything else is itself."""
    if not isinstance(x, list | tuple):
        return x
    return joined(name, x) if holds_tensor(x) else plain(x)


def tensors_among(arguments: Iterable[Any]) -> list[Tensor]:
    """The tensors in arguments, and in lists and tuples among them."""
    found: list[Tensor] = []
    for x in arguments:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, list | tuple):
            found += tensors_among(x)
    return found


def beside_tensors(tensors: list[Tensor]) -> Callable[[list | tuple], Tensor]:
    """How lists of numbers become tensors: of the type that Python's numbers have beside these tensors."""

    def plain(data: list | tuple) -> Tensor:
        array = np.asarray(data)
        if not tensors or array.dtype.kind not in "biufc":
            return Tensor(data)
        return _engine.convert(array, _engine.common_type(*tensors, array.dtype.type(0).item()))

    return plain


def settled_arguments(
    name: str, bound: inspect.BoundArguments, plain: Callable[[list | tuple], Any]
) -> inspect.BoundArguments:
    """The arguments of a function with its array-likes settled."""
    for key, value in bound.arguments.items():
        kind = bound.signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[key] = tuple(
                [array_like(name, x, _as_they_are if key == "operands" else plain) for x in value]
            )
        elif kind is inspect.Parameter.VAR_KEYWORD or not isinstance(value, list | tuple):
            continue
        elif key in COLLECTIONS:
            bound.arguments[key] = [array_like(name, x, plain) for x in value]
        elif key not in STATIC or (holds_tensor(value) and key in ("p", "subscripts")):
            bound.arguments[key] = array_like(name, value, plain)
    return bound


def _as_they_are(data: list | tuple) -> list | tuple:
    """The axes of an operand of einsum."""
    return data
