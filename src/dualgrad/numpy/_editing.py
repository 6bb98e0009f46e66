"""NumPy functions that rearrange elements: insertion, deletion, blocks, choices, repetition.

NumPy's own function, run on element numbers, finds where each element goes; a gather then reads the elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms import tensor as _engine
from .._settings import array_of, real_number
from ..ops._arguments import alike, expanded, integer, one_axis, operand, to_shape
from ..ops._arguments import new_shape as shape_of
from ..ops.index.choice import where
from ..ops.index.gather import gather_elements, take
from ..ops.index.sorting import argsort, sort
from ..ops.math import elementwise as _rows
from ..ops.math.complex import imag, real
from ..ops.shape.creation import zeros
from ..ops.shape.reshaping import cat, moveaxis, ravel, stack
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements, numbers

__all__: list[str] = []


def _flat_without_axis(name: str, a: Any, axis: Any) -> tuple[Tensor, int]:
    a = operand(name, tensor_of(a))
    return (to_shape(a, (a.size,)), 0) if axis is None else (a, one_axis(name, axis, a.shape))


# ------------------------------------------------------------------------------------------ insertion, deletion


@implements(np.insert)
def _np_insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    x, axis = _flat_without_axis("np.insert", arr, axis)
    places = obj if isinstance(obj, slice) else array_of("np.insert", "obj", numbers(obj))
    n = x.shape[axis]
    new = tensor_of(values).astype(x.dtype)
    new = to_shape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    count = len(range(*places.indices(n))) if isinstance(places, slice) else _count(places)
    if not isinstance(places, slice) and places.dtype != bool and places.size == 1:
        if places.ndim == 0:
            new = moveaxis(new, 0, axis)
        count = new.shape[axis]
        places = np.full(count, places.item())
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    try:
        order = np.insert(np.arange(n), places, np.arange(n, n + count))
        new = expanded(new, np.broadcast_shapes(new.shape, shape))
    except TypeError as error:
        raise TypeError(f"np.insert: obj must be integers or a slice, got {type(obj).__name__}: {error}") from None
    except (IndexError, ValueError) as error:
        raise type(error)(f"np.insert: {error}; for a tensor of shape {x.shape}, axis {axis}") from None
    return take(cat([x, new], axis), order, axis)


def _count(places: np.ndarray) -> int:
    return int(np.count_nonzero(places)) if places.dtype == bool else places.size


@implements(np.delete)
def _np_delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    x, axis = _flat_without_axis("np.delete", arr, axis)
    try:
        order = np.delete(np.arange(x.shape[axis]), obj if isinstance(obj, slice) else np.asarray(numbers(obj)))
    except (IndexError, ValueError) as error:
        raise type(error)(f"np.delete: {error}; for a tensor of shape {x.shape}, axis {axis}") from None
    return take(x, order, axis)


@implements(np.block)
def _np_block(nest: Any) -> Tensor:
    depth = _depth(nest)
    leaves = _leaves(nest)
    if not leaves:
        raise ValueError("np.block: an empty list; expected arrays")
    ndim = max([depth, *[np.ndim(leaf) for leaf in leaves]])
    common = iter(alike([tensor_of(leaf) for leaf in leaves]))

    def assembled(part: Any, level: int) -> Tensor:
        if not isinstance(part, list):
            leaf = next(common)
            return to_shape(leaf, (1,) * (ndim - leaf.ndim) + leaf.shape)
        return cat([assembled(one, level + 1) for one in part], level - depth)

    return assembled(nest, 0)


def _depth(nest: Any) -> int:
    """The depth of nested lists, which must be the same everywhere."""
    if not isinstance(nest, list):
        return 0
    depths = {_depth(part) for part in nest}
    if len(depths) != 1:
        raise ValueError("np.block: lists of different depths, or empty ones; expected the same depth everywhere")
    return depths.pop() + 1


def _leaves(nest: Any) -> list[Any]:
    return [leaf for part in nest for leaf in _leaves(part)] if isinstance(nest, list) else [nest]


@implements(np.resize)
def _np_resize(a: Any, new_shape: Any) -> Tensor:
    flat = ravel(tensor_of(a))
    shape = shape_of("np.resize", new_shape)
    size = math.prod(shape)
    if not flat.size:
        return zeros(shape, flat.dtype)
    return to_shape(take(flat, np.arange(size) % flat.size, 0), shape)


@implements(np.trim_zeros)
def _np_trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    x = tensor_of(filt)
    if not isinstance(trim, str):
        raise TypeError(f"np.trim_zeros: trim is a {type(trim).__name__}; expected 'f', 'b' or 'fb'")
    if not set(trim.lower()) <= set("fb"):
        raise ValueError(f"np.trim_zeros: trim is {trim!r}; expected 'f', 'b' or 'fb'")
    found, index = np.nonzero(numbers(x)), [slice(None)] * x.ndim
    given = range(x.ndim) if axis is None else np.atleast_1d(array_of("np.trim_zeros", "axis", axis)).tolist()
    for k in [one_axis("np.trim_zeros", axis, x.shape) for axis in given]:
        first = int(found[k].min()) if found[k].size and "f" in trim.lower() else 0
        last = int(found[k].max()) + 1 if found[k].size and "b" in trim.lower() else x.shape[k]
        index[k] = slice(first, last if found[k].size else 0)
    return x[tuple(index)]


@implements(np.compress)
def _np_compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    x, axis = _flat_without_axis("np.compress", a, axis)
    return take(x, np.flatnonzero(np.asarray(numbers(condition))), axis)


@implements(np.extract)
def _np_extract(condition: Any, arr: Any) -> Tensor:
    return take(ravel(tensor_of(arr)), np.flatnonzero(np.asarray(numbers(condition))), 0)


# ---------------------------------------------------------------------------------------------------------- order


@implements(np.partition)
def _np_partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Tensor:
    """A full sort is a partition at every place."""
    return sort(*_parted("np.partition", a, kth, axis, order))[0]


@implements(np.argpartition)
def _np_argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Tensor:
    return argsort(*_parted("np.argpartition", a, kth, axis, order))


def _parted(name: str, a: Any, kth: Any, axis: Any, order: Any) -> tuple[Tensor, int]:
    if order is not None:
        raise TypeError(f"{name}: order={order!r} names fields, which tensors do not have; leave it out")
    x, axis = _flat_without_axis(name, a, axis)
    for k in np.atleast_1d(array_of(name, "kth", numbers(kth))).tolist():
        if not -x.shape[axis] <= integer(name, "kth", k) < x.shape[axis]:
            raise ValueError(f"{name}: kth is {k}; axis {axis} of shape {x.shape} has {x.shape[axis]} elements")
    return x, axis


@implements(np.sort_complex)
def _np_sort_complex(a: Any) -> Tensor:
    x = tensor_of(a)
    place = np.argsort(numbers(x), axis=-1, kind="stable")
    return _as_complex(gather_elements(x, -1, Tensor(place)))


def _as_complex(x: Tensor) -> Tensor:
    narrow = np.result_type(x.dtype.numpy, np.complex64) == np.complex64
    return x.astype(np.complex64 if narrow else np.complex128)


@implements(np.lexsort)
def _np_lexsort(keys: Any, axis: int = -1) -> Tensor:
    try:
        return Tensor(np.lexsort(numbers(keys), axis))
    except (TypeError, OverflowError) as error:
        raise TypeError(f"np.lexsort: {error}; got {type(keys).__name__} and axis {axis!r:.40}") from None
    except np.exceptions.AxisError as error:
        raise ValueError(f"np.lexsort: {error}, which each key is") from None


# ------------------------------------------------------------------------------------------------------- choices


@implements(np.choose)
def _np_choose(a: Any, choices: Any, mode: str = "raise") -> Tensor:
    index = tensor_of(a)
    if not index.dtype.is_int:
        raise TypeError(f"np.choose: the places are of type {index.dtype}; expected integers")
    if not isinstance(choices, list | tuple | np.ndarray | Tensor) or not len(choices):
        raise TypeError(f"np.choose: choices must be a list of one array or more, got {choices!r:.60}")
    options = list(choices) if isinstance(choices, list | tuple) else [choices[k] for k in range(len(choices))]
    n = len(options)
    if not isinstance(mode, str):
        raise TypeError(f"np.choose: mode must be 'raise', 'wrap' or 'clip', got {type(mode).__name__}")
    if mode == "wrap":
        index = index % n
    elif mode == "clip":
        index = _rows.maximum(_rows.minimum(index, n - 1), 0)
    elif mode == "raise":

        def inside(places: np.ndarray) -> None:
            if places.size and not (0 <= places.min() and places.max() < n):
                raise ValueError(f"np.choose: places from {places.min()} to {places.max()} for {n} choices")

        index = _engine.inspect(index, inside)
    else:
        raise ValueError(f"np.choose: mode is {mode!r}; expected 'raise', 'wrap' or 'clip'")
    tensors = alike([tensor_of(x) for x in options])
    shape = np.broadcast_shapes(index.shape, *[x.shape for x in tensors])
    found = expanded(tensors[0], shape)
    for k in range(1, n):
        found = where(index == k, tensors[k], found)
    return found


@implements(np.piecewise)
def _np_piecewise(x: Any, condlist: Any, funclist: Any, *rest: Any, **settings: Any) -> Tensor:
    """Apply the functions to all elements; so each function must work element by element."""
    x = tensor_of(x)
    single = isinstance(condlist, bool | np.bool_)
    if not single and (not isinstance(condlist, list | tuple | np.ndarray | Tensor) or not len(condlist)):
        raise TypeError(f"np.piecewise: condlist must be a list of one condition or more, got {condlist!r:.60}")
    if not isinstance(funclist, list | tuple):
        raise TypeError(f"np.piecewise: funclist must be a list of functions or numbers, got {type(funclist).__name__}")
    if not single and x.ndim:
        single = isinstance(condlist[0], bool) or getattr(condlist[0], "ndim", 1) == 0
    condlist = [condlist] if single else condlist
    masks = [tensor_of(mask).astype(bool) for mask in condlist]
    pieces = list(funclist)
    if len(pieces) == len(masks) + 1:
        others = masks[0]
        for mask in masks[1:]:
            others = others | mask
        masks.append(_rows.logical_not(others))
    elif len(pieces) != len(masks):
        raise ValueError(
            f"np.piecewise: {len(pieces)} functions for {len(masks)} conditions; expected as many, or 1 more"
        )
    found = Tensor(np.zeros(x.shape, x.dtype.numpy))
    for mask, piece in zip(masks, pieces, strict=True):
        value = piece(x, *rest, **settings) if callable(piece) else piece
        if callable(piece) and np.shape(value) not in ((), x.shape):
            raise ValueError(
                f"np.piecewise: a function of a tensor of shape {x.shape} returned shape {np.shape(value)}; expected "
                "a function that works element by element"
            )
        found = where(mask, tensor_of(value).astype(x.dtype), found)
    return found


@implements(np.nan_to_num)
def _np_nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    x = tensor_of(x)
    if x.dtype.is_complex:
        parts = [_np_nan_to_num(part, copy, nan, posinf, neginf) for part in (real(x), imag(x))]
        return parts[0] + parts[1] * 1j
    if not x.dtype.is_float:
        return +x
    limits = np.finfo(x.dtype.numpy)
    found = where(_rows.isnan(x), nan, x)
    found = where(x == np.inf, float(limits.max) if posinf is None else posinf, found)
    return where(x == -np.inf, float(limits.min) if neginf is None else neginf, found)


@implements(np.real_if_close)
def _np_real_if_close(a: Any, tol: Any = 100) -> Tensor:
    x = tensor_of(a)
    if not x.dtype.is_complex:
        return +x
    tol = real_number("np.real_if_close", "tol", tol)
    return real(x) if not np.iscomplexobj(np.real_if_close(numbers(x), tol)) else +x


@implements(np.iscomplex)
def _np_iscomplex(x: Any) -> Tensor:
    return imag(tensor_of(x)) != 0


@implements(np.isreal)
def _np_isreal(x: Any) -> Tensor:
    return imag(tensor_of(x)) == 0


# -------------------------------------------------------------------------------------------- functions of slices


@implements(np.apply_along_axis)
def _np_apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *rest: Any, **settings: Any) -> Tensor:
    x = tensor_of(arr)
    axis = one_axis("np.apply_along_axis", axis, x.shape)
    if not callable(func1d):
        raise TypeError(f"np.apply_along_axis: func1d must be a function, got {type(func1d).__name__}")
    outer = tuple([n for k, n in enumerate(x.shape) if k != axis])
    rows = to_shape(moveaxis(x, axis, -1), (math.prod(outer), x.shape[axis]))
    if not rows.shape[0]:
        raise ValueError(f"np.apply_along_axis: a tensor of shape {x.shape} has no slices along axis {axis}")
    each = [tensor_of(func1d(rows[k], *rest, **settings)) for k in range(rows.shape[0])]
    found = stack(alike(each), 0)
    inner = found.shape[1:]
    found = to_shape(found, outer + inner)
    return moveaxis(found, tuple(range(len(outer), found.ndim)), tuple(range(axis, axis + len(inner))))


@implements(np.apply_over_axes)
def _np_apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Tensor:
    x = tensor_of(a)
    if not callable(func):
        raise TypeError(f"np.apply_over_axes: func must be a function, got {type(func).__name__}")
    for axis in np.atleast_1d(array_of("np.apply_over_axes", "axes", numbers(axes))).tolist():
        axis = one_axis("np.apply_over_axes", axis, x.shape)
        found = func(x, axis)
        if not isinstance(found, Tensor):
            kind = type(found).__name__
            raise TypeError(f"np.apply_over_axes: the function returned {kind} over axis {axis}; expected a Tensor")
        if found.ndim != x.ndim:
            shape = tuple([1 if k == axis else n for k, n in enumerate(x.shape)])
            if found.shape != tuple([n for k, n in enumerate(x.shape) if k != axis]):
                raise ValueError(
                    f"np.apply_over_axes: the function made shape {found.shape} of {x.shape} over axis {axis}; "
                    "expected the axis gone, or as many axes"
                )
            found = to_shape(found, shape)
        x = found
    return x
