"""Distinct elements of a tensor, with the names and results of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..ops._arguments import to_shape
from ..ops.index.gather import take
from ..tensor import Tensor
from ._entries import standard
from ._operands import settled

__all__ = ["UniqueAll", "UniqueCounts", "UniqueInverse"]


class UniqueAll(NamedTuple):
    """Result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


def _unique(name: str, x: Any) -> UniqueAll:
    """The distinct elements, read at their first occurrence: derivatives go there. Each nan is distinct."""
    x = settled(name, x)
    flat = to_shape(x, (x.size,))
    _, first, inverse, counts = np.unique(
        flat._numpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    indices = Tensor(first.astype(np.int64))
    inverse = inverse.reshape(x.shape).astype(np.int64)
    return UniqueAll(take(flat, indices, 0), indices, Tensor(inverse), Tensor(counts.astype(np.int64)))


@standard("unique_all")
def _unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, their first positions, the index of each element in them, and the counts.

    Parameters
    ----------
    x : Tensor
        Any shape. Each nan is distinct.

    Returns
    -------
    UniqueAll
        `values` (derivatives go to the first of equal elements), `indices`, `inverse_indices` of the shape of `x`,
        and `counts`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> found = mnp.unique_all(mnp.asarray([3, 1, 3]))
    >>> print(found.values, found.indices, found.inverse_indices, found.counts)
    [1 3] [1 0] [1 0 1] [1 2]
    """
    return _unique("unique_all", x)


@standard("unique_counts")
def _unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, and their counts; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.unique_counts(mnp.asarray([3, 1, 3])))
    [1 3] [1 2]
    """
    found = _unique("unique_counts", x)
    return UniqueCounts(found.values, found.counts)


@standard("unique_inverse")
def _unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, and the index of each element in them; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.unique_inverse(mnp.asarray([3, 1, 3])))
    [1 3] [1 0 1]
    """
    found = _unique("unique_inverse", x)
    return UniqueInverse(found.values, found.inverse_indices)


@standard("unique_values")
def _unique_values(x: Any, /) -> Tensor:
    """The distinct elements, in ascending order; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.unique_values(mnp.asarray([3, 1, 3])))
    [1 3]
    """
    return _unique("unique_values", x).values
