"""The space of a gradient: tensors of several shapes, and the corresponding flat vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops.axes._joining import concat
from ..tensor import Tensor
from ..transforms.selection import Selected, Selection

__all__ = ["Space", "kept", "selected", "selection_of"]


def kept(weights: Any) -> Any:
    """Weights that can be read more than once: an iterator becomes a list."""
    return list(weights) if hasattr(weights, "__next__") else weights


def selection_of(name: str, fn: Callable[..., Any], grad_position: Any, weights: Any) -> Selection:
    """The inputs and weights to differentiate by; by default the first input."""
    if grad_position is None and weights is None:
        grad_position = 0
    return Selection(name, fn, grad_position, weights, False)


def selected(selection: Selection, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Selected:
    """Select the variables of one call. Raises if none is a real float tensor."""
    call = Selected(selection, fn, args, kwargs)
    if not call.leaves:
        raise ValueError(f"{selection.name}: nothing to differentiate by; the inputs and weights hold no Tensor")
    for x in call.leaves:
        if not x.dtype.is_float:
            raise TypeError(f"{selection.name}: a Tensor of {x.dtype} is differentiated by; expected real floats")
    return call


class Space:
    """The differentiated tensors, and their concatenation in C order to one vector."""

    def __init__(self, call: Selected) -> None:
        self.call = call
        self.shapes = [x.shape for x in call.leaves]
        self.dtypes = [x.dtype for x in call.leaves]
        self.size = sum(x.size for x in call.leaves)
        self.dtype = max(self.dtypes, key=lambda dtype: dtype.numpy.itemsize)

    def vector(self, tensors: Sequence[Tensor]) -> Tensor:
        """Join tensors to a vector of shape (size,)."""
        parts = [x.reshape((x.size,)).astype(self.dtype) for x in tensors]
        return parts[0] if len(parts) == 1 else concat(parts)

    def pieces(self, vector: Tensor) -> list[Tensor]:
        """Split a vector into tensors, each with its own type."""
        found, start = [], 0
        for shape, dtype, leaf in zip(self.shapes, self.dtypes, self.call.leaves, strict=True):
            part = vector if len(self.shapes) == 1 else vector[start : start + leaf.size]
            found.append(part.reshape(shape).astype(dtype))
            start += leaf.size
        return found

    def arranged(self, tensors: list[Any]) -> Any:
        """Arrange tensors in the structure of a gradient."""
        return self.call.arranged(tensors)

    def nest(self, vector: Tensor) -> Any:
        """Convert a vector to the structure of a gradient."""
        return self.arranged(self.pieces(vector))

    def flattened(self, nest: Any, what: str) -> list[Tensor]:
        """The tensors of a pytree with the structure of a gradient. Raises for another structure."""
        name, found = self.call.selection.name, self.call.flattened(nest, what)
        for x, leaf in zip(found, self.call.leaves, strict=True):
            if not isinstance(x, Tensor):
                raise TypeError(f"{name}: {what} holds a {type(x).__name__}; expected a Tensor of shape {leaf.shape}")
            if x.shape != leaf.shape:
                raise ValueError(f"{name}: {what} holds a Tensor of shape {x.shape}; expected {leaf.shape}")
            if x.dtype != leaf.dtype:
                raise TypeError(f"{name}: {what} holds a Tensor of {x.dtype}; expected {leaf.dtype}")
        return found
