"""Sorting and searching, with arguments of both the array API standard and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops._arguments import one_axis, to_shape
from ..ops.index.gather import gather_elements
from ..ops.index.masks import nonzero
from ..ops.index.sorting import argsort, searchsorted
from ..ops.math.elementwise import isnan
from ..tensor import Tensor
from ._entries import implements, standard
from ._operands import settled, settled_together

__all__: list[str] = []


@implements(np.sort)
@standard("sort")
def _sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """Sort along an axis; equal elements keep their order, and nan comes last.

    Parameters
    ----------
    a : Tensor
        Any real type.
    axis : int, default -1
        The axis; None sorts all elements in one row.
    kind, stable
        Accepted; the sort is always stable.
    descending : bool, default False
        Largest first.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.sort(mnp.asarray([2.0, 3.0, 1.0]), descending=True))
    [3. 2. 1.]
    """
    x, place = _in_a_row("np.sort", a, axis)
    return gather_elements(x, place, _order(x, place, descending))


@standard("argsort")
def _argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """Positions of the elements in sorted order; equal ones keep theirs, and nan comes last. Derivatives do not pass.

    Parameters
    ----------
    a, axis, kind, stable, descending
        As for `sort`.

    Returns
    -------
    Tensor
        Int64.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.argsort(mnp.asarray([2.0, 3.0, 1.0])))
    [2 0 1]
    """
    x, place = _in_a_row("np.argsort", a, axis)
    return _order(x, place, descending)


def _order(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Positions in sorted order, with nan last. A descending sort alone would put nan first."""
    order = argsort(x, axis, descending)
    if not descending:
        return order
    return gather_elements(order, axis, argsort(isnan(gather_elements(x, axis, order)), axis))


def _in_a_row(name: str, a: Any, axis: Any) -> tuple[Tensor, int]:
    """The tensor to sort, and the axis."""
    x = settled(name, a)
    return (to_shape(x, (x.size,)), 0) if axis is None else (x, one_axis(name, axis, x.shape))


@standard("searchsorted")
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Positions at which to insert values into a sorted vector. Derivatives do not pass.

    Parameters
    ----------
    a : Tensor
        Ascending, one axis.
    v : Tensor or number
        The values, any shape.
    side : {'left', 'right'}, default 'left'
        Before or after equal elements.
    sorter : Tensor of int, optional
        Positions that sort `a`.

    Returns
    -------
    Tensor
        Int64, shape of `v`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.searchsorted(mnp.asarray([1.0, 2.0, 3.0]), mnp.asarray([0.5, 2.0]), side="right"))
    [0 2]
    """
    sequence, values = settled_together("searchsorted", a, v)
    return searchsorted(sequence, values, side=side, sorter=None if sorter is None else settled("searchsorted", sorter))


@standard("nonzero")
def _nonzero(a: Any) -> tuple[Tensor, ...]:
    """Positions of the nonzero elements: a vector for each axis. Derivatives do not pass.

    Parameters
    ----------
    a : Tensor
        At least one axis.

    Returns
    -------
    tuple of Tensor
        Int64.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.nonzero(mnp.asarray([[0, 1], [2, 0]])))
    [0 1] [1 0]
    """
    found: tuple[Tensor, ...] = nonzero(settled("np.nonzero", a), as_tuple=True)
    return found
