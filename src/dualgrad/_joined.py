"""Nested lists with tensors in them, joined to one tensor: `Tensor([x, [y, 1.0]])` keeps derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ._engine.transforms import tensor as _engine
from ._engine.transforms.handles import TensorBase

__all__ = ["holds_tensor", "joined"]

_CONCAT, _RESHAPE = _engine.OPCODES["concat"], _engine.OPCODES["reshape"]


def holds_tensor(data: Any) -> bool:
    """True if nested lists and tuples hold a tensor."""
    return isinstance(data, list | tuple) and any(
        isinstance(item, TensorBase) or (isinstance(item, list | tuple) and holds_tensor(item)) for item in data
    )


def joined(where: str, data: list[Any] | tuple[Any, ...], typenum: int | None = None) -> Any:
    """Join nested lists of tensors, arrays and numbers to one tensor, in a single concatenation.

    Parameters
    ----------
    where : str
        The function that error messages name.
    data : list or tuple
        Nested entries with at least one tensor. Entries of one list have the same shape.
    typenum : int, optional
        The type of the elements. By default the common type of the tensors and arrays, which numbers follow.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        For an entry that is not a number, array or tensor.
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
    """Append the leaves of a nest in order. Returns the shape."""
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
    """Convert the leaves to tensors of one type. Numbers that follow each other become one tensor."""
    found: list[Any] = []
    dtype = next(_engine.convert(x, typenum).dtype for x in leaves if isinstance(x, TensorBase)).numpy
    for is_array, group in itertools.groupby(leaves, lambda x: isinstance(x, TensorBase | np.ndarray)):
        found += [_engine.convert(x, typenum) for x in (group if is_array else [np.array(list(group), dtype)])]
    return found
