"""Shared by functions with index tensors: their checks, and indices in the form that the primitives take."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._joined import holds_tensor
from ..._settings import array_of
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, to_shape

_GATHER, _SCATTER_ADD, _SLICE = OP["gather"], OP["scatter_add"], OP["slice"]
_CLIP_INDEX, _MINIMUM = OP["clip_index"], OP["minimum"]
_INT64, _UINT64 = np.dtype(np.int64).num, np.dtype(np.uint64).num
_LARGEST = np.iinfo(np.int64).max


def index_tensor(name: str, indices: Any) -> Tensor:
    """Indices (a tensor, array, list or int) as an Int64 tensor."""
    if isinstance(indices, Tensor):
        found = indices
    else:
        found = Tensor(indices if holds_tensor(indices) else array_of(name, "the indices", indices))
    if not found.dtype.is_int:
        raise TypeError(f"{name}: the indices must be integers, got {found.dtype}; convert them with astype")
    return as_int64(found)


def as_int64(x: Tensor) -> Tensor:
    """Convert integers to Int64. Integers beyond its range become its largest number and do not wrap."""
    if x._typenum == _INT64:
        return x
    if x._typenum == _UINT64:
        x = _engine.binary_op(_MINIMUM, x, _LARGEST)
    return _engine.convert(x, _INT64)


def clipped(x: Tensor, length: int) -> Tensor:
    """Convert real numbers to indices of an axis. Numbers beyond its ends become its ends, and nan becomes 0."""
    return _engine.apply(_CLIP_INDEX, length, x)


def along(name: str, x: Tensor, axis: int, index: Tensor) -> list[Any]:
    """Index arrays for all axes of `x`: `index` along one axis, the place itself along all others."""
    shape = index.shape
    if len(shape) != x.ndim or any(m > n for k, (m, n) in enumerate(zip(shape, x.shape, strict=True)) if k != axis):
        raise ValueError(
            f"{name}: indices of shape {shape} do not fit a tensor of shape {x.shape}; expected as many "
            f"axes, none longer but for axis {axis}"
        )
    found: list[Any] = []
    for k, n in enumerate(shape):
        ruler = np.arange(n).reshape([n if j == k else 1 for j in range(len(shape))])
        found.append(index if k == axis else ruler)
    return found


def columns(name: str, x_shape: tuple[int, ...], indices: Tensor) -> list[Tensor]:
    """Split an index tensor along its last axis: one tensor for each leading axis that is indexed."""
    shape = indices.shape
    if not shape or shape[-1] > len(x_shape):
        raise ValueError(
            f"{name}: indices of shape {shape} do not fit a tensor of shape {x_shape}; the last axis holds "
            "one index for each of the first axes of the tensor"
        )
    outer = tuple([(0, n, 1) for n in shape[:-1]])
    return [to_shape(_engine.apply(_SLICE, (*outer, (k, 1, 1)), indices), shape[:-1]) for k in range(shape[-1])]


def points_for(name: str, shape: tuple[int, ...], indices: Any, updates: Tensor) -> list[Tensor]:
    """The index tensors of points in a shape, checked to be as many as the updates."""
    index = index_tensor(name, indices)
    points = columns(name, shape, index)
    expected = index.shape[:-1] + shape[len(points) :]
    if updates.shape != expected:
        raise ValueError(
            f"{name}: updates of shape {updates.shape} do not fit indices of shape {index.shape} into shape "
            f"{shape}; expected shape {expected}"
        )
    return points


def placed(error: IndexError, shape: tuple[int, ...]) -> IndexError:
    """Add to an error of a primitive, which names the shape of its operand, the shape that the user knows."""
    told = str(error).endswith(f"the tensor has shape {shape}")
    return error if told else IndexError(f"{error}, made from one of shape {shape}")


def read(name: str, pattern: tuple[Any, ...], x: Tensor, *indices: Any) -> Tensor:
    """The gather primitive, with errors that name the function."""
    try:
        return _engine.apply(_GATHER, pattern, x, *indices)
    except IndexError as error:
        raise IndexError(f"{name}: {placed(error, x.shape)}") from None


def added(name: str, shape: tuple[int, ...], pattern: tuple[Any, ...], updates: Tensor, *indices: Any) -> Tensor:
    """The scatter_add primitive, with errors that name the function."""
    try:
        return _engine.apply(_SCATTER_ADD, (shape, pattern), updates, *indices)
    except IndexError as error:
        raise IndexError(f"{name}: {placed(error, shape)}") from None


def one_axis_pattern(shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """The pattern of a single index array along an axis."""
    return (*[(0, n, 1) for n in shape[:axis]], 0)


def many_axes_pattern(count: int) -> tuple[int, ...]:
    """The pattern of index arrays for the first axes."""
    return ALL_AXES[count]
