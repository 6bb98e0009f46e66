"""Nested lists with tensors in them, as one tensor: what `Tensor([x, [y, 1.0]])` holds, derivatives included."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ._engine.transforms import tensor as _engine
from ._engine.transforms.handles import TensorBase

__all__ = ["holds_tensor", "joined"]

_CONCAT, _RESHAPE = _engine.OPCODES["concat"], _engine.OPCODES["reshape"]


def holds_tensor(data: Any) -> bool:
    """Whether a tensor is somewhere in nested lists and tuples."""
    return isinstance(data, list | tuple) and any(
        isinstance(item, TensorBase) or (isinstance(item, list | tuple) and holds_tensor(item)) for item in data
    )


def joined(where: str, data: list[Any] | tuple[Any, ...], typenum: int | None = None) -> Any:
    """Nested lists of tensors, arrays and numbers as one tensor: a single join of all that is in them.

    Parameters
    ----------
    where : str
        Who asks, for messages.
    data : list or tuple
        With a tensor in it. Entries beside each other have one shape.
    typenum : int, optional
        The type of the elements; by default the one that tensors and arrays have together, which numbers follow.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        For what is no number, array or tensor.
    ValueError
        For entries of different shapes.
    """
    leaves: list[Any] = []
    shape = _collect(where, data, leaves)
    if typenum is None:
        typenum = _engine.common_type(*leaves)
    parts = [_engine.apply(_RESHAPE, (x.size,), x) for x in _converted(leaves, typenum)]
    flat = parts[0] if len(parts) == 1 else _engine.apply(_CONCAT, 0, *parts)
    return _engine.apply(_RESHAPE, shape, flat)


def _collect(where: str, data: Any, leaves: list[Any]) -> tuple[int, ...]:
    """Append what is in a nest, in order; returns the shape."""
    if isinstance(data, list | tuple):
        shapes = [_collect(where, item, leaves) for item in data]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError(
                f"{where}: the entries of a list have different shapes, {', '.join(map(str, dict.fromkeys(shapes)))}; "
                "expected one shape"
            )
        return (len(data), *(shapes[0] if shapes else ()))
    if not isinstance(data, TensorBase | np.ndarray | bool | int | float | complex | np.generic):
        raise TypeError(
            f"{where}: expected numbers, arrays and Tensors in a list, got {type(data).__name__} {data!r:.60}"
        )
    leaves.append(data)
    return data.shape if isinstance(data, TensorBase | np.ndarray) else ()


def _converted(leaves: list[Any], typenum: int) -> list[Any]:
    """The leaves as tensors of one type, numbers that follow each other as one of them."""
    found: list[Any] = []
    dtype = next(_engine.convert(x, typenum).dtype for x in leaves if isinstance(x, TensorBase)).numpy
    for is_array, group in itertools.groupby(leaves, lambda x: isinstance(x, TensorBase | np.ndarray)):
        found += [_engine.convert(x, typenum) for x in (group if is_array else [np.array(list(group), dtype)])]
    return found
