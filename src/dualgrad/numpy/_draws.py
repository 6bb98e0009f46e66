"""Random functions whose arguments differ from NumPy's."""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.tensor import Tensor

from .._settings import real_number

__all__ = ["randint"]


def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = mstype.int32) -> Tensor:
    """Draw integers from `minval` up to but not including `maxval`; with one limit, from 0 up to it.

    Parameters
    ----------
    minval : int
        The lowest number, or the limit if `maxval` is missing.
    maxval : int, optional
        The limit, which is never drawn.
    shape : int or tuple of int, default (1,)
        The shape of the result.
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
