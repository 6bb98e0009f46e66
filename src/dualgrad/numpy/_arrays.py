"""NumPy's array functions: reductions, shapes, joining and splitting, choices.

Each is a function of this library, or a short function that translates NumPy's arguments.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._device import on_cpu
from .._settings import array_of, one_of, sequence, truth_value
from ..dtype import as_dtype
from ..ops._arguments import expanded, floating, integer, new_shape, one_axis, operand, to_shape
from ..ops.index._elements import refuse_complex
from ..ops.index._views import axes_in_memory, order_in_memory
from ..ops.index.choice import clip, where
from ..ops.index.gather import gather_elements, take
from ..ops.linalg.norms import norm
from ..ops.math._einsum import contracted
from ..ops.math.arithmetic import round as _round
from ..ops.math.complex import angle, complex, imag, real
from ..ops.math.products import outer, tensor_dot
from ..ops.math.reductions import count_nonzero
from ..ops.shape.creation import full_like, ones_like, zeros, zeros_like
from ..ops.shape.reshaping import (
    broadcast_to,
    cat,
    diag,
    diagonal,
    expand_dims,
    flip,
    hstack,
    meshgrid,
    moveaxis,
    narrow,
    ravel,
    repeat_interleave,
    reshape,
    roll,
    split,
    squeeze,
    stack,
    swapaxes,
    tile,
    trace,
    transpose,
    tril,
    triu,
    vstack,
)
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements, numbers, renamed
from ._in_place import spread_along

for _ours, _names, *_functions in (
    (broadcast_to, "array shape", np.broadcast_to),
    (diag, "v k", np.diag),
    (diagonal, "a offset axis1 axis2", np.diagonal),
    (expand_dims, "a axis", np.expand_dims),
    (imag, "val", np.imag),
    (moveaxis, "a source destination", np.moveaxis),
    (norm, "x ord axis keepdims", np.linalg.norm),
    (repeat_interleave, "a repeats axis", np.repeat),
    (real, "val", np.real),
    (swapaxes, "a axis1 axis2", np.swapaxes),
    (tile, "A reps", np.tile),
    (transpose, "a axes", np.transpose),
    (tril, "m k", np.tril),
    (triu, "m k", np.triu),
):
    renamed(_ours, _names, *_functions)


@implements(np.count_nonzero)
def _np_count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    return count_nonzero(a, axis, keepdims, np.int64)


def _cast(name: str, found: Tensor, parts: Any, dtype: Any, casting: str) -> Tensor:
    """Cast a result to the requested type, if the casting rule allows it for all parts."""
    if dtype is None:
        return found
    target = as_dtype(dtype, where=name)
    for x in parts:
        if not np.can_cast(operand(name, x).dtype.numpy, target.numpy, casting):  # type: ignore[arg-type]
            raise TypeError(f"{name}: {operand(name, x).dtype} cannot become {target} by the rule {casting!r}")
    return found.astype(target)


@implements(np.concatenate)
def _np_concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    parts = [operand("concatenate", x) for x in sequence("np.concatenate", arrays)]
    joined = cat([ravel(x) for x in parts], 0) if axis is None else cat(parts, axis)
    return _cast("np.concatenate", joined, parts, dtype, casting)


@implements(np.stack)
def _np_stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    return _cast("np.stack", stack(sequence("np.stack", arrays), axis), arrays, dtype, casting)


@implements(np.hstack)
def _np_hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    return _cast("np.hstack", hstack(sequence("np.hstack", tup)), tup, dtype, casting)


@implements(np.vstack)
def _np_vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    return _cast("np.vstack", vstack(sequence("np.vstack", tup)), tup, dtype, casting)


@implements(np.meshgrid)
def _np_meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    truth_value("meshgrid", "sparse", sparse)
    if not sparse:
        return meshgrid(*xi, indexing=indexing)
    vectors = [ravel(operand("meshgrid", x)) for x in xi]
    if not one_of(indexing, ("xy", "ij")):
        raise ValueError(f"np.meshgrid: indexing is {indexing!r}; expected 'xy' or 'ij'")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    return tuple(
        [
            to_shape(x, tuple([x.size if k == place else 1 for k in range(len(vectors))]))
            for x, place in zip(vectors, places, strict=True)
        ]
    )


@implements(np.split)
def _np_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    ary, axis, sections = _to_cut("np.split", ary, axis, indices_or_sections)
    if isinstance(sections, int) and ary.shape[axis] % sections:
        raise ValueError(f"np.split: axis {axis} of shape {ary.shape} cannot be cut into {sections} equal pieces")
    return _np_array_split(ary, sections, axis)


def _to_cut(name: str, ary: Any, axis: Any, sections: Any) -> tuple[Tensor, int, int | list[int]]:
    """The tensor to cut, the axis, and the number of pieces or the places of the cuts."""
    x = operand(name, ary)
    axis = one_axis(name, axis, x.shape)
    if isinstance(sections, Tensor | np.ndarray) and sections.ndim:
        sections = sections.tolist()
    if isinstance(sections, tuple | list | range):
        return x, axis, [integer(name, "a place to cut at", cut) for cut in sections]
    count = integer(name, "indices_or_sections", sections)
    if not 1 <= count < 1 << 32:
        raise ValueError(f"{name}: expected 1 piece or more, up to 2**32, got {count}")
    return x, axis, count


@implements(np.array_split)
def _np_array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    x, axis, sections = _to_cut("np.array_split", ary, axis, indices_or_sections)
    n = x.shape[axis]
    if isinstance(sections, int):
        size, longer = divmod(n, sections)
        sizes = [size + 1] * longer + [size] * (sections - longer)
        return list(split(x, sizes, axis))
    cuts = [0, *[slice(None, cut).indices(n)[1] for cut in sections], n]
    return [narrow(x, axis, start, max(stop - start, 0)) for start, stop in itertools.pairwise(cuts)]


def _c_order(name: str, order: str) -> None:
    if not one_of(order, ("C", "A", "K")):
        raise TypeError(f"np.{name}: order={order!r} is not supported with Tensors; transpose first")


@implements(np.round, np.around)
def _np_round(a: Any, decimals: int = 0) -> Tensor:
    a = operand("np.round", a)
    if a.dtype.is_complex:  # round both parts separately
        return complex(_round(real(a), decimals), _round(imag(a), decimals))
    return _round(a, decimals)


@implements(np.squeeze)
def _np_squeeze(a: Any, axis: Any = None) -> Tensor:
    return +operand("np.squeeze", a) if isinstance(axis, tuple) and not axis else squeeze(a, axis)


@implements(np.reshape)
def _np_reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Tensor:
    a = operand("np.reshape", a)
    if not one_of(order, ("C", "F", "A")):
        raise ValueError(f"np.reshape: order is {order!r}; expected 'C', 'F' or 'A'")
    if order == "C" or (order == "A" and order_in_memory("np.reshape", a) == "C"):
        return reshape(a, shape)
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    return transpose(reshape(transpose(a), tuple(lengths)[::-1]))


@implements(np.ravel)
def _np_ravel(a: Any, order: str = "C") -> Tensor:
    a = operand("np.ravel", a)
    if not one_of(order, ("C", "F", "A", "K")):
        raise ValueError(f"np.ravel: order is {order!r}; expected 'C', 'F', 'A' or 'K'")
    if order == "K":
        return ravel(transpose(a, tuple(axes_in_memory("np.ravel", a))))
    if order == "A":
        order = order_in_memory("np.ravel", a)
    return ravel(a if order == "C" else transpose(a))


@implements(np.flip)
def _np_flip(m: Any, axis: Any = None) -> Tensor:
    m = operand("np.flip", m)
    return flip(m, tuple(range(m.ndim)) if axis is None else axis)


@implements(np.roll)
def _np_roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    if axis is None:
        return roll(a, shift, None)
    pairs = np.broadcast(array_of("np.roll", "shift", numbers(shift)), array_of("np.roll", "axis", axis))
    found = +operand("np.roll", a)
    for count, place in pairs:
        found = roll(found, int(count), int(place))
    return found


@implements(np.atleast_1d)
def _np_atleast_1d(*arys: Any) -> Any:
    found = tuple([reshape(x, (1,)) if np.ndim(x) == 0 else +operand("atleast_1d", x) for x in arys])
    return found[0] if len(found) == 1 else found


@implements(np.atleast_2d)
def _np_atleast_2d(*arys: Any) -> Any:
    found = tuple([reshape(x, (1, -1)) if np.ndim(x) < 2 else +operand("atleast_2d", x) for x in arys])
    return found[0] if len(found) == 1 else found


@implements(np.angle)
def _np_angle(z: Any, deg: bool = False) -> Tensor:
    truth_value("angle", "deg", deg)
    z = floating("np.angle", z)
    if not z.dtype.is_complex:  # the sign of zero counts
        z = complex(z, zeros_like(z))
    return angle(z) * (180.0 / np.pi) if deg else angle(z)


@implements(np.trace)
def _np_trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of a diagonal; truth values are counted."""
    a = operand("np.trace", a)
    return trace(a.astype(np.int64) if a.dtype.is_bool and dtype is None else a, offset, axis1, axis2, dtype)


@implements(np.outer)
def _np_outer(a: Any, b: Any) -> Tensor:
    return outer(ravel(a), ravel(b))


@implements(np.tensordot)
def _np_tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    return tensor_dot(a, b, axes)


@implements(np.einsum)
def _np_einsum(
    subscripts: Any,
    *operands: Any,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
    optimize: Any = False,
) -> Tensor:
    _c_order("einsum", order)
    if dtype is not None:
        subscripts, *operands = [  # type: ignore[assignment]
            operand("einsum", x).astype(dtype) if isinstance(x, Tensor | np.ndarray) else x
            for x in (subscripts, *operands)
        ]
    return contracted(subscripts, tuple(operands), optimize)


@implements(np.where)
def _np_where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return np.nonzero(numbers(condition))
    return where(condition, x, y)


@implements(np.clip)
def _np_clip(a: Any, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Tensor:
    low, high = a_min if min is None else min, a_max if max is None else max
    return +operand("np.clip", a) if low is None and high is None else clip(a, low, high)


@implements(np.take)
def _np_take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Tensor:
    return take(a, indices, axis, mode)


@implements(np.take_along_axis)
def _np_take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Tensor:
    x = ravel(arr) if axis is None else operand("np.take_along_axis", arr)
    place = one_axis("np.take_along_axis", 0 if axis is None else axis, x.shape)
    index = spread_along("np.take_along_axis", x, tensor_of(indices), place)
    shape = tuple([x.shape[k] if k == place else n for k, n in enumerate(index.shape)])
    return gather_elements(expanded(x, shape), place, index)


@implements(np.zeros_like)
def _np_zeros_like(a: Any, dtype: Any = None, order: str = "K", shape: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("zeros_like", device)
    _c_order("zeros_like", order)
    return zeros_like(_shaped_like("zeros_like", a, shape), dtype=dtype)


@implements(np.ones_like)
def _np_ones_like(a: Any, dtype: Any = None, order: str = "K", shape: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("ones_like", device)
    _c_order("ones_like", order)
    return ones_like(_shaped_like("ones_like", a, shape), dtype=dtype)


@implements(np.full_like)
def _np_full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", shape: Any = None, *, device: Any = None
) -> Tensor:
    on_cpu("full_like", device)
    _c_order("full_like", order)
    like = _shaped_like("full_like", a, shape)
    refuse_complex(
        "np.full_like", fill_value, (like.dtype if dtype is None else as_dtype(dtype, where="full_like")).num
    )
    return full_like(like, fill_value, dtype=dtype)


def _shaped_like(name: str, a: Any, shape: Any) -> Any:
    """What gives its shape and type to another tensor."""
    like = operand(name, a)
    return like if shape is None else zeros(new_shape(f"np.{name}", shape), like.dtype)


@implements(np.copy)
def _np_copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    return +operand("np.copy", a)


def _as_it_lies(function: Any) -> None:
    """Register a function that returns its argument, since tensors have no memory order."""

    @implements(function)
    def handler(a: Any, dtype: Any = None) -> Tensor:
        x = operand(f"np.{function.__name__}", a)
        x = x if x.ndim else to_shape(x, (1,))
        return +x if dtype is None else x.astype(dtype)


_as_it_lies(np.ascontiguousarray)
_as_it_lies(np.asfortranarray)
