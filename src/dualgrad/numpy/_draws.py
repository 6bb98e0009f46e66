"""Draws with arguments that NumPy does not have."""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.tensor import Tensor

from .._settings import real_number

__all__ = ["randint"]


def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = mstype.int32) -> Tensor:
    """Draw integers from `minval` to `maxval`, without the last; with one limit from 0 to that.

    Parameters
    ----------
    minval : int
        The lowest number, or the limit if it is the only one.
    maxval : int, optional
        The limit.
    shape : int or tuple of int, default (1,)
        How many are drawn.
    dtype : type, default int32
        An integer type.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the limit is not above the lowest number.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.randint(3, 4, (2,)), mnp.randint(1))
    [3 3] [0]
    """
    low, high = (0, minval) if maxval is None else (minval, maxval)
    low, high = real_number("randint", "minval", low), real_number("randint", "maxval", high)
    if not low < high:
        raise ValueError(f"randint: there is no number from {low} below {high}; expected a limit above the lowest one")
    return ops.randint(low, high, (1,) if shape is None else shape, dtype=dtype)
