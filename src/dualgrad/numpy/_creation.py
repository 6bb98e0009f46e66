"""NumPy's functions that make arrays, as functions that make tensors.

NumPy hands these over with ``like=tensor``; `dualgrad.numpy` offers them directly. Python's numbers get the
types they have everywhere here (float is Float32, int is Int64), and tensors among the data keep their
derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._engine.transforms import tensor as _engine
from ..dtype import as_dtype
from ..ops._arguments import ALL_AXES, IS_FLOAT, integer, new_shape, operand, to_shape
from ..ops.shape.creation import arange, eye, full, linspace, ones, zeros, zeros_like
from ..ops.shape.reshaping import moveaxis, tril
from ..tensor import Tensor
from ._entries import implements

__all__: list[str] = []

_MOST_AXES = len(ALL_AXES) - 1


def _c_order(name: str, order: str) -> None:
    if order not in ("C", "K", "A"):
        raise TypeError(f"np.{name}: order={order!r} is not supported with Tensors, whose rows lie one after another")


def tensor_of(data: Any, dtype: Any = None) -> Tensor:
    """Array-like data as a tensor; derivatives go to tensors among them."""
    target = None if dtype is None else as_dtype(dtype, where="np.array")
    if isinstance(data, list | tuple):
        return Tensor(data, target)
    x = operand("array", data.copy() if isinstance(data, np.ndarray) else data)
    return x if target is None else _engine.convert(x, target.num)


@implements(np.array)
def _np_array(object: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0) -> Tensor:
    _c_order("array", order)
    x = tensor_of(object, dtype)
    ndmin = integer("np.array", "ndmin", ndmin)
    if ndmin > _MOST_AXES:
        raise ValueError(f"np.array: ndmin is {ndmin}; expected at most {_MOST_AXES} axes")
    return to_shape(x, (1,) * (ndmin - x.ndim) + x.shape)


@implements(np.asarray, np.asanyarray)
def _np_asarray(a: Any, dtype: Any = None, order: str = "K", *, copy: Any = None) -> Tensor:
    _c_order("asarray", order)
    return tensor_of(a, dtype)


@implements(np.zeros, np.empty)
def _np_zeros(shape: Any, dtype: Any = None, order: str = "C") -> Tensor:
    _c_order("zeros", order)
    return zeros(shape, dtype)


@implements(np.ones)
def _np_ones(shape: Any, dtype: Any = None, order: str = "C") -> Tensor:
    _c_order("ones", order)
    return ones(shape, dtype)


@implements(np.full)
def _np_full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Tensor:
    _c_order("full", order)
    return full(shape, fill_value, dtype=dtype)


@implements(np.empty_like)
def _np_empty_like(prototype: Any, dtype: Any = None) -> Tensor:
    return zeros_like(prototype, dtype=dtype)


@implements(np.eye)
def _np_eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, order: str = "C") -> Tensor:
    _c_order("eye", order)
    if k == 0:
        return eye(N, M, dtype)
    rows, columns = new_shape("eye", (N, N if M is None else M))
    return Tensor.from_numpy(np.eye(rows, columns, k, as_dtype(dtype or _dtype.float32, where="eye").numpy))


@implements(np.identity)
def _np_identity(n: int, dtype: Any = None) -> Tensor:
    return eye(n, dtype=dtype)


@implements(np.tri)
def _np_tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    return tril(ones((N, N if M is None else M), dtype), k)


@implements(np.arange)
def _np_arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    return arange(start, stop, step, dtype=dtype)


@implements(np.linspace)
def _np_linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    start, stop = (operand("linspace", end) if isinstance(end, np.ndarray) else end for end in (start, stop))
    pieces = num - 1 if endpoint else num
    step = (stop - start) / pieces if pieces > 0 else math.nan
    if not any(np.ndim(end) for end in (start, stop)):
        # the last one of `num` is one step before the end if that is left out
        found = linspace(start, stop, num, dtype=dtype) if endpoint else _steps(start, step, num, dtype)
    else:
        start, stop = operand("linspace", start), operand("linspace", stop)
        typenum = _engine.common_type(start, stop)
        weights = np.arange(num).reshape(num, *[1] * max(start.ndim, stop.ndim)) / max(pieces, 1)
        share = _engine.convert(weights, typenum if typenum in IS_FLOAT else _dtype.float32.num)
        found = moveaxis(start * (1 - share) + stop * share, 0, axis)
        found = found if dtype is None else found.astype(dtype)
    return (found, step) if retstep else found


def _steps(start: Any, step: Any, num: int, dtype: Any) -> Tensor:
    if isinstance(start, Tensor) or isinstance(step, Tensor):
        found = start + step * np.arange(num)
        return found if dtype is None else found.astype(dtype)
    target = as_dtype(dtype or _dtype.float32, where="linspace")
    return Tensor.from_numpy((start + step * np.arange(num)).astype(target.numpy))


@implements(np.logspace)
def _np_logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Tensor:
    exponents = _np_linspace(start, stop, num, endpoint, axis=axis)
    found = base**exponents
    return found if dtype is None else found.astype(dtype)
