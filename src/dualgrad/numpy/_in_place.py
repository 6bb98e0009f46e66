"""NumPy functions that write into their first argument: here into a tensor, whose handle gets a new value.

NumPy's own function, run on an array of element numbers, finds where each element goes. An array in place of the tensor
is refused, since it cannot hold a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.handles import one_step
from .._settings import array_of, one_of
from ..ops._arguments import expanded, one_axis, to_shape
from ..ops.index._scatter import scatter
from ..ops.index.choice import where as _where
from ..ops.index.gather import take
from ..ops.index.indexing import rewritten
from ..ops.shape.reshaping import broadcast_to, ravel, squeeze
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements, numbers

__all__: list[str] = []


def _target(name: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name}: writes into a {type(x).__name__}, which cannot hold a derivative; make a tensor of it first "
            "(dualgrad.numpy.array)"
        )
    return x


def _write(name: str, x: Tensor, values: Any, put: Callable[[np.ndarray, np.ndarray], None]) -> None:
    """Write values to the places where `put` writes their numbers."""
    new = tensor_of(values, x.dtype)
    if not new.size:
        return
    source = np.full(x.shape, -1)
    try:
        put(source, np.arange(new.size).reshape(new.shape))
    except (OverflowError, TypeError) as error:
        raise TypeError(f"{name}: the places must be integers: {error}") from None
    except (IndexError, ValueError) as error:
        raise type(error)(f"{name}: {error}; for a tensor of shape {x.shape} and values of shape {new.shape}") from None
    picked = take(ravel(new), np.maximum(source, 0), 0)
    with one_step(x):
        rewritten(name, x, _where(source >= 0, picked, x))


@implements(np.put)
def _np_put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    places = numbers(ind)
    if not one_of(mode, ("raise", "wrap", "clip")):
        raise ValueError(f"np.put: mode is {mode!r:.40}; expected 'raise', 'wrap' or 'clip'")
    _write("np.put", _target("np.put", a), v, lambda source, order: np.put(source, places, order, mode))


@implements(np.place)
def _np_place(arr: Any, mask: Any, vals: Any) -> None:
    there = array_of("np.place", "mask", numbers(mask))
    _write("np.place", _target("np.place", arr), vals, lambda source, order: np.place(source, there, order))


@implements(np.fill_diagonal)
def _np_fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    x = _target("np.fill_diagonal", a)
    _write("np.fill_diagonal", x, val, lambda source, order: np.fill_diagonal(source, order, wrap))


@implements(np.putmask)
def _np_putmask(a: Any, mask: Any, values: Any) -> None:
    x, mask = _target("np.putmask", a), tensor_of(mask)
    if mask.shape != x.shape:
        raise ValueError(f"np.putmask: a mask of shape {mask.shape} for a tensor of shape {x.shape}")
    new = ravel(tensor_of(values, x.dtype))
    if new.size:
        picked = to_shape(take(new, np.arange(x.size) % new.size, 0), x.shape)
        with one_step(x):
            rewritten("np.putmask", x, _where(mask, picked, x))


@implements(np.copyto)
def _np_copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    x, new = _target("np.copyto", dst), tensor_of(src)
    if not one_of(casting, ("no", "equiv", "safe", "same_kind", "unsafe")):
        raise ValueError(
            f"np.copyto: casting is {casting!r:.40}; expected 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'"
        )
    if not np.can_cast(new.dtype.numpy, x.dtype.numpy, casting):
        raise TypeError(f"np.copyto: {new.dtype} cannot become {x.dtype} by the rule {casting!r}")
    while new.ndim > x.ndim and new.shape[0] == 1:
        new = squeeze(new, 0)
    new = broadcast_to(new.astype(x.dtype), x.shape)
    with one_step(x):
        rewritten("np.copyto", x, new if where is True else _where(where, new, x))


@implements(np.put_along_axis)
def _np_put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    name = "np.put_along_axis"
    x, index = _target(name, arr), tensor_of(indices)
    with one_step(x):
        if axis is None:
            flat, axis = to_shape(x, (x.size,)), 0
        else:
            flat, axis = x, one_axis(name, axis, x.shape)
        index = spread_along(name, flat, index, axis)
        index = _where(index < 0, index + flat.shape[axis], index)
        new = expanded(tensor_of(values, x.dtype), index.shape)
        rewritten(name, x, to_shape(scatter(flat, axis, index, new), x.shape))


def spread_along(name: str, x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Broadcast indices along an axis to the other axes of a tensor."""
    try:
        if index.ndim != x.ndim:
            raise ValueError
        shape = tuple([index.shape[k] if k == axis else n for k, n in enumerate(x.shape)])
        return expanded(index, np.broadcast_shapes(index.shape, shape))
    except ValueError:
        raise ValueError(f"{name}: indices of shape {index.shape} for a tensor of shape {x.shape}") from None
