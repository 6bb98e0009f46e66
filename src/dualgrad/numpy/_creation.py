"""NumPy's functions that make arrays, as functions that make tensors.

NumPy passes these calls on if they have ``like=tensor``; `dualgrad.numpy` offers them directly. Python's numbers get
the same types as everywhere here (float is Float32, int is Int64), and tensors among the data keep their derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._device import on_cpu
from .._dtypes import default_complex, default_float
from .._engine.transforms import tensor as _engine
from .._settings import number_or_tensor, one_of, room, truth_value, whole_number
from ..dtype import as_dtype
from ..ops._arguments import ALL_AXES, IS_FLOAT, integer, new_shape, operand, to_shape
from ..ops.index._elements import refuse_complex
from ..ops.shape.creation import arange, eye, full, linspace, ones, zeros, zeros_like
from ..ops.shape.reshaping import moveaxis, tril
from ..tensor import Tensor
from ._entries import implements

__all__: list[str] = []

_MOST_AXES = len(ALL_AXES) - 1


def _c_order(name: str, order: str) -> None:
    if not one_of(order, ("C", "K", "A")):
        raise TypeError(f"np.{name}: order={order!r} is not supported with Tensors, whose rows lie one after another")


def tensor_of(data: Any, dtype: Any = None) -> Tensor:
    """Convert array-like data to a tensor; derivatives go to tensors among them."""
    target = None if dtype is None else as_dtype(dtype, where="np.array")
    if target is not None:
        refuse_complex("np.array", data, target.num)
    if isinstance(data, Tensor | np.ndarray):
        x = data if isinstance(data, Tensor) else operand("array", data.copy())
        return x if target is None or x.dtype is target else _engine.convert(x, target.num)
    if isinstance(data, list | tuple | bool | int | float | complex | np.generic):
        x = Tensor(data, target)  # convert directly: 0.1 has more digits in float64 than in float32
        if target is None and x.dtype is _dtype.complex128 and of_python(data):
            return _engine.convert(x, default_complex().num)  # as wide as Python's floats
        return x
    if hasattr(data, "__dlpack__"):
        return tensor_of(np.from_dlpack(data), dtype)
    return operand("array", data)


def of_python(data: Any) -> bool:
    """True if data are Python numbers, or nested lists of nothing else."""
    if isinstance(data, list | tuple):
        return all(map(of_python, data))
    return isinstance(data, bool | int | float | complex) and not isinstance(data, np.generic)


@implements(np.array)
def _np_array(object: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0) -> Tensor:
    _c_order("array", order)
    x = tensor_of(object, dtype)
    ndmin = integer("np.array", "ndmin", ndmin)
    if ndmin > _MOST_AXES:
        raise ValueError(f"np.array: ndmin is {ndmin}; expected at most {_MOST_AXES} axes")
    x = to_shape(x, (1,) * (ndmin - x.ndim) + x.shape)
    return +x if x is object else x


@implements(np.asarray, np.asanyarray)
def _np_asarray(a: Any, dtype: Any = None, order: str = "K", *, device: Any = None, copy: Any = None) -> Tensor:
    _c_order("asarray", order)
    on_cpu("asarray", device)
    x = tensor_of(a, dtype)
    if copy is False and x is not a:
        raise ValueError("np.asarray: copy=False, but a tensor of these data is a copy of them; leave copy out")
    truth_value("asarray", "copy", copy)
    return +x if copy and x is a else x


@implements(np.empty)
def _np_empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    _c_order("empty", order)
    on_cpu("empty", device)
    return zeros(shape, dtype)


@implements(np.zeros)
def _np_zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    _c_order("zeros", order)
    on_cpu("zeros", device)
    return zeros(shape, dtype)


@implements(np.ones)
def _np_ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    _c_order("ones", order)
    on_cpu("ones", device)
    return ones(shape, dtype)


@implements(np.full)
def _np_full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    _c_order("full", order)
    on_cpu("full", device)
    if dtype is None and type(fill_value) is complex:
        dtype = default_complex()
    elif dtype is not None:
        refuse_complex("np.full", fill_value, as_dtype(dtype, where="np.full").num)
    return full(shape, fill_value, dtype=dtype)


@implements(np.empty_like)
def _np_empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", shape: Any = None, *, device: Any = None
) -> Tensor:
    on_cpu("empty_like", device)
    _c_order("empty_like", order)
    if shape is not None:
        return zeros(shape, operand("empty_like", prototype).dtype if dtype is None else dtype)
    return zeros_like(prototype, dtype=dtype)


@implements(np.eye)
def _np_eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Tensor:
    _c_order("eye", order)
    on_cpu("eye", device)
    k = integer("eye", "k", k)
    if k == 0:
        return eye(N, M, dtype)
    rows, columns = new_shape("eye", (N, N if M is None else M))
    return Tensor._owning(np.eye(rows, columns, k, as_dtype(dtype or default_float(), where="eye").numpy))


@implements(np.identity)
def _np_identity(n: int, dtype: Any = None) -> Tensor:
    return eye(n, dtype=dtype)


@implements(np.tri)
def _np_tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    return tril(ones((N, N if M is None else M), dtype), k)


@implements(np.arange)
def _np_arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("arange", device)
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
    *,
    device: Any = None,
) -> Any:
    on_cpu("linspace", device)
    start, stop = (operand("linspace", end) if isinstance(end, np.ndarray) else end for end in (start, stop))
    start, stop = number_or_tensor("linspace", "start", start), number_or_tensor("linspace", "stop", stop)
    num = whole_number("linspace", "num", num)
    room("linspace", (num,))
    pieces = num - 1 if truth_value("linspace", "endpoint", endpoint) else num
    step = (stop - start) / pieces if pieces > 0 else math.nan
    if not any(np.ndim(end) for end in (start, stop)):
        # without the endpoint, the last of `num` points is one step before it
        found = linspace(start, stop, num, dtype=dtype) if endpoint else _steps(start, step, num, dtype)
    else:
        start, stop = operand("linspace", start), operand("linspace", stop)
        typenum = _engine.common_type(start, stop)
        weights = np.arange(num).reshape(num, *[1] * max(start.ndim, stop.ndim)) / max(pieces, 1)
        share = _engine.convert(weights, typenum if typenum in IS_FLOAT else default_float().num)
        found = moveaxis(start * (1 - share) + stop * share, 0, axis)
        found = found if dtype is None else found.astype(dtype)
    truth_value("linspace", "retstep", retstep)
    return (found, step) if retstep else found


def _steps(start: Any, step: Any, num: int, dtype: Any) -> Tensor:
    if isinstance(start, Tensor) or isinstance(step, Tensor):
        found = start + step * np.arange(num)
        return found if dtype is None else found.astype(dtype)
    target = as_dtype(dtype or default_float(), where="linspace")
    return Tensor._owning((start + step * np.arange(num)).astype(target.numpy))


@implements(np.logspace)
def _np_logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Tensor:
    exponents = _np_linspace(start, stop, num, endpoint, axis=axis)
    found = number_or_tensor("logspace", "base", base) ** exponents
    return found if dtype is None else found.astype(dtype)
