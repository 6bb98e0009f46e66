"""NumPy's set functions for tensors: the numbers decide which elements to keep, and a gather reads them.

Derivatives go to the first of equal elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._settings import truth_value
from ..ops._arguments import alike, one_axis, to_shape
from ..ops.index.gather import take
from ..ops.shape.reshaping import cat, ravel
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements, numbers

__all__: list[str] = []


def _vectors(*arrays: Any) -> list[Tensor]:
    return alike([ravel(tensor_of(x)) for x in arrays])


@implements(np.unique)
def _np_unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = tensor_of(ar)
    x, place = (to_shape(x, (x.size,)), 0) if axis is None else (x, one_axis("np.unique", axis, x.shape))
    shape = np.shape(ar)
    for what, flag in (
        ("equal_nan", equal_nan), ("return_index", return_index), ("return_inverse", return_inverse),
        ("return_counts", return_counts),
    ):  # fmt: skip
        truth_value("np.unique", what, flag)
    _, first, inverse, counts = np.unique(numbers(x), True, True, True, axis=place, equal_nan=equal_nan)
    values = take(x, first, place)
    if axis is None:
        inverse = inverse.reshape(shape)
    extra = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    more = [Tensor(part) for part, wanted in extra if wanted]
    return (values, *more) if more else values


@implements(np.union1d)
def _np_union1d(ar1: Any, ar2: Any) -> Tensor:
    found: Tensor = _np_unique(cat(_vectors(ar1, ar2), 0))
    return found


@implements(np.intersect1d)
def _np_intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    truth_value("np.intersect1d", "assume_unique", assume_unique)
    a, b = _vectors(ar1, ar2)
    _, first, second = np.intersect1d(numbers(a), numbers(b), assume_unique, return_indices=True)
    values = take(a, first, 0)
    truth_value("intersect1d", "return_indices", return_indices)
    return (values, Tensor(first), Tensor(second)) if return_indices else values


@implements(np.setdiff1d)
def _np_setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    truth_value("np.setdiff1d", "assume_unique", assume_unique)
    a, b = _vectors(ar1, ar2)
    mine, other = numbers(a), numbers(b)
    first = np.arange(mine.size) if assume_unique else np.unique(mine, return_index=True)[1]
    return take(a, first[~np.isin(mine[first], other)], 0)


@implements(np.setxor1d)
def _np_setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    truth_value("np.setxor1d", "assume_unique", assume_unique)
    a, b = _vectors(ar1, ar2)
    parts = [np.arange(x.size) if assume_unique else np.unique(numbers(x), return_index=True)[1] for x in (a, b)]
    places = np.concatenate([parts[0], a.size + parts[1]])
    both = cat([a, b], 0)
    _, first, counts = np.unique(numbers(both)[places], return_index=True, return_counts=True)
    return take(both, places[first[counts == 1]], 0)
