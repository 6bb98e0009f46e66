"""Conversion of a constant array that is mostly zeros to parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .boxes import Box, progression, whole
from .parts import LARGE, Part

__all__ = ["parts_of"]

SPARSE = 4  # at most one of this many elements is nonzero
FEW = 64  # the smallest array worth a look
_PARTS = 8


def parts_of(numbers: np.ndarray, fixed_slot: Callable[[np.ndarray], int]) -> list[Part] | None:
    """Split an array into parts, with columns along its first axis. None if it has few zeros or needs many parts."""
    if numbers.size < FEW or numbers.shape[0] < 2:
        return None
    count = np.count_nonzero(numbers)
    if not count or SPARSE * count > numbers.size:
        return None
    shape = numbers.shape[1:]
    table = numbers.reshape(len(numbers), -1).T  # (elements, columns), so that the entries of an element are adjacent
    elements, columns = np.nonzero(table)
    values = table[elements, columns]
    kinds, which = np.unique(values, return_inverse=True)
    few = len(kinds) <= _PARTS and bool(((1 / LARGE <= abs(kinds)) & (abs(kinds) <= LARGE)).all())
    found: list[Part] = []
    for k, value in enumerate(kinds.tolist() if few else [None]):
        those = slice(None) if value is None else np.flatnonzero(which == k)
        found += _ranked(elements[those], columns[those], value, values[those], shape, fixed_slot)
        if len(found) > _PARTS:
            return None
    return found


def _ranked(
    elements: np.ndarray,
    columns: np.ndarray,
    value: float | None,
    values: np.ndarray,
    shape: tuple[int, ...],
    fixed_slot: Callable[[np.ndarray], int],
) -> list[Part]:
    """Split entries, sorted by element, into parts with at most one entry for each element."""
    first = np.concatenate([[True], elements[1:] != elements[:-1]])
    starts = np.flatnonzero(first)
    rank = np.arange(len(elements)) - starts[np.cumsum(first) - 1]
    found = []
    for k in range(min(int(rank.max()) + 1, _PARTS + 1)):
        those = np.flatnonzero(rank == k)
        found.append(_part(elements[those], columns[those], value, values[those], shape, fixed_slot))
    return found


def _part(
    elements: np.ndarray,
    columns: np.ndarray,
    value: float | None,
    values: np.ndarray,
    shape: tuple[int, ...],
    fixed_slot: Callable[[np.ndarray], int],
) -> Part:
    size = int(np.prod(shape, dtype=np.int64))
    columns = columns.astype(np.int32)
    box = _box(elements, shape)
    if box is None and 2 * len(elements) >= size:  # store zeros at the places without an entry
        every = np.full(size, -1, np.int32)
        every[elements] = columns
        slopes = np.zeros(size, values.dtype)
        slopes[elements] = 1 if value is not None else values
        slot = fixed_slot(slopes.reshape(shape))
        return Part(whole(shape), _completed(every.reshape(shape)), 1.0 if value is None else value, slot)
    rows = elements.astype(np.int32) if box is None else box
    extents = (len(elements),) if box is None else tuple(length for _, length, _ in box)
    if value is not None:
        return Part(rows, columns.reshape(extents), value, None)
    return Part(rows, columns.reshape(extents), 1.0, fixed_slot(values.reshape(extents).copy()))


def _box(elements: np.ndarray, shape: tuple[int, ...]) -> Box | None:
    """The box that sorted elements form; None if they form none."""
    box = []
    for places in np.unravel_index(elements, shape) if shape else ():
        found = progression(np.unique(places))
        if found is None:
            return None
        box.append(found)
    return tuple(box) if np.prod([length for _, length, _ in box], dtype=np.int64) == len(elements) else None


def _completed(columns: np.ndarray) -> np.ndarray:
    """Replace each -1, by a neighbour's column along an axis of equal neighbours if there is one."""
    known = columns >= 0
    for axis in range(columns.ndim):
        beside, both = np.roll(columns, 1, axis), known & np.roll(known, 1, axis)
        if np.array_equal(columns[both], beside[both]):
            columns = np.where(known, columns, np.maximum(beside, np.roll(columns, -1, axis)))
            known = columns >= 0
    return np.maximum(columns, 0)
