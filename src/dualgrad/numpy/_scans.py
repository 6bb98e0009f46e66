"""Running sums and products, with the names and arguments of the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._settings import truth_value
from ..ops._arguments import one_axis
from ..ops.math.reductions import cumprod, cumsum
from ..ops.shape.reshaping import cat
from ..tensor import Tensor
from ._entries import standard
from ._operands import settled, wide

__all__: list[str] = []


def _initial(x: Tensor, scanned: Tensor, axis: int, number: int, include: bool) -> Tensor:
    """Put the initial number in front of a scan, if wanted."""
    truth_value("cumulative_sum", "include", include)
    if not include:
        return scanned
    shape = tuple([1 if k == axis else n for k, n in enumerate(scanned.shape)])
    return cat([Tensor(np.full(shape, number, scanned.dtype.numpy)), scanned], axis)


def _axis_of_scan(name: str, x: Tensor, axis: Any) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: a tensor of shape {x.shape} needs an axis; pass axis=")
        return 0
    return one_axis(name, axis, x.shape)


@standard("cumulative_sum")
def _cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running sums along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int, optional
        The axis; may be left out for a vector.
    dtype : dtype, optional
        Convert to this type first; by default integers become Int64, unsigned ones UInt64.
    include_initial : bool, default False
        Put 0 in front.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there are several axes and none is given.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.cumulative_sum(mnp.asarray([1.0, 2.0, 3.0]), include_initial=True))
    [0. 1. 3. 6.]
    """
    x = settled("cumulative_sum", x)
    place = _axis_of_scan("cumulative_sum", x, axis)
    x = wide(x) if dtype is None else x.astype(dtype)
    return _initial(x, cumsum(x, place, x.dtype), place, 0, include_initial)


@standard("cumulative_prod")
def _cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running products along an axis; derivatives are exact for zero factors, too.

    Parameters
    ----------
    x, axis, dtype
        As for `cumulative_sum`.
    include_initial : bool, default False
        Put 1 in front.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.cumulative_prod(mnp.asarray([2.0, 3.0])))
    [2. 6.]
    """
    x = settled("cumulative_prod", x)
    place = _axis_of_scan("cumulative_prod", x, axis)
    x = wide(x) if dtype is None else x.astype(dtype)
    return _initial(x, cumprod(x, place, x.dtype), place, 1, include_initial)
