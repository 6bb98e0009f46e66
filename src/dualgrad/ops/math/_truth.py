"""Truth values and counts of elements over axes; derivatives do not pass."""

from __future__ import annotations

from typing import Any

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import OP, Reduction, reduced, respell

__all__ = ["ReduceAll", "ReduceAny", "all", "any", "count_nonzero"]

_ALL, _ANY, _COUNT = OP["all"], OP["any"], OP["count_nonzero"]


def all(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """True if all elements along axes are true, or not 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Bool.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.all(dg.Tensor([[True, False], [True, True]]), 1))
    [False  True]
    """
    if other:
        axis, keepdims = respell("all", other, axis=axis, keepdims=keepdims)
    return reduced("all", _ALL, x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """True if any element along axes is true, or not 0.

    Parameters, result and errors are as in `all`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.any(dg.Tensor([[True, False], [False, False]]), 1))
    [ True False]
    """
    if other:
        axis, keepdims = respell("any", other, axis=axis, keepdims=keepdims)
    return reduced("any", _ANY, x, axis, keepdims)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = _dtype.int32, **other: Any) -> Tensor:
    """Number of elements along axes that are not 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, default int32
        Type of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.count_nonzero(dg.Tensor([[1.0, 0.0], [2.0, 3.0]]), 1))
    [1 2]
    """
    if other:
        axis, keepdims = respell("count_nonzero", other, axis=axis, keepdims=keepdims)
    found = reduced("count_nonzero", _COUNT, x, axis, keepdims)
    return _engine.convert(found, as_dtype(dtype, where="count_nonzero").num)


class ReduceAll(Reduction, of=all):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return all(x, axis, self.keep_dims)


class ReduceAny(Reduction, of=any):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return any(x, axis, self.keep_dims)


METHODS: dict[str, Any] = {"all": all, "any": any, "count_nonzero": count_nonzero}
