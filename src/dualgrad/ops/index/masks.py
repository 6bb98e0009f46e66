"""Elements selected by a mask, and the places of nonzero elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import truth_value
from ...tensor import Tensor
from .._arguments import Primitive, expanded, operand
from .indexing import getitem

__all__ = ["MaskedSelect", "masked_select", "nonzero"]


def masked_select(x: Any, mask: Any) -> Tensor:
    """The elements for which a mask holds, in one axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    mask : Tensor
        Type Bool; the shapes broadcast.

    Returns
    -------
    Tensor
        One axis, as long as the mask has true elements. Derivatives go back to the places of the elements.

    Raises
    ------
    TypeError
        If the mask is not of type Bool.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.masked_select(x, x > 1.5), ops.masked_select(x, dg.Tensor([True, False])))
    [2. 3. 4.] [1. 3.]
    """
    x, mask = operand("masked_select", x), operand("masked_select", mask)
    if not mask.dtype.is_bool:
        raise TypeError(f"masked_select: the mask has type {mask.dtype}; expected Bool, as a comparison gives")
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(
            f"masked_select: a tensor of shape {x.shape} and a mask of shape {mask.shape} do not broadcast"
        ) from None
    return getitem(expanded(x, shape), expanded(mask, shape))


def nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    as_tuple : bool, default False
        Give one vector of positions for each axis, which together are an index, in place of a matrix.

    Returns
    -------
    Tensor or tuple of Tensor
        Int64; a row for each element, in order. Derivatives do not pass.

    Raises
    ------
    ValueError
        If `x` has no axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.nonzero(dg.Tensor([[1.0, 0.0], [2.0, 3.0]])))
    [[0 0]
     [1 0]
     [1 1]]
    """
    x = operand("nonzero", x)
    if not x.ndim:
        raise ValueError("nonzero: a tensor without axes has no positions; expected at least one axis")
    places = np.nonzero(x._numpy())
    truth_value("nonzero", "as_tuple", as_tuple)
    if as_tuple:
        return tuple([Tensor(place.astype(np.int64)) for place in places])
    return Tensor(np.stack(places, 1), _dtype.int64)


class MaskedSelect(Primitive, of=masked_select):
    __slots__ = ()

    def __call__(self, x: Any, mask: Any) -> Tensor:
        return masked_select(x, mask)


METHODS: dict[str, Any] = {"masked_select": masked_select, "nonzero": nonzero}
