"""Boxes of arrays: start, length and stride for each axis, as in the primitives `slice` and `unslice`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["Box", "lengths", "meeting", "numbered", "of_numpy", "progression", "whole"]

Box = tuple[tuple[int, int, int], ...]


def whole(shape: Sequence[int]) -> Box:
    """The box of all elements of an array."""
    return tuple((0, length, 1) for length in shape)


def lengths(box: Box) -> tuple[int, ...]:
    """The number of elements along each axis."""
    return tuple(length for _, length, _ in box)


def of_numpy(box: Box) -> tuple[slice, ...]:
    """A box as an index for NumPy."""
    ends = [start + length * stride for start, length, stride in box]
    return tuple(
        slice(start, end if end >= 0 else None, stride) if length else slice(0, 0)
        for (start, length, stride), end in zip(box, ends, strict=True)
    )


def numbered(rows: Box | np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a box, by number; a list of elements is returned as it is."""
    if isinstance(rows, np.ndarray):
        return rows
    places = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    return places[of_numpy(rows)].ravel()


def meeting(rows: Box, cut: Box, shape: tuple[int, ...]) -> tuple[Box, Box] | None:
    """Intersect a box with a slice. Returns its place in the result and in the box, or None if that is not a box."""
    inside, of_box = [], []
    for (start, length, stride), (first, count, step), n in zip(rows, cut, shape, strict=True):
        if (start, length, stride) == (0, n, 1):
            inside.append((0, count, 1))
            of_box.append((first, count, step))
        elif stride == step == 1:
            low, high = max(start, first), max(start, first, min(start + length, first + count))
            inside.append((low - first, high - low, 1))
            of_box.append((low - start, high - low, 1))
        elif count == 1:
            j, rest = divmod(first - start, stride)
            found = int(rest == 0 and 0 <= j < length)
            inside.append((0, found, 1))
            of_box.append((j if found else 0, found, 1))
        else:
            return None
    return tuple(inside), tuple(of_box)


def progression(index: np.ndarray) -> tuple[int, int, int] | None:
    """Start, length and stride of an index array, or None if a slice cannot express it."""
    if len(index) < 2:
        return (int(index[0]), 1, 1) if len(index) else None
    stride = int(index[1]) - int(index[0])
    if stride <= 0 or int(index[-1]) - int(index[0]) != stride * (len(index) - 1):
        return None
    return (int(index[0]), len(index), stride) if np.all(index[1:] - index[:-1] == stride) else None
