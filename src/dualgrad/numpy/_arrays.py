"""NumPy's functions of arrays: reductions, shapes, joining and splitting, choices.

Each is ours, or a short function that turns NumPy's arguments into those of ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._device import on_cpu
from ..ops._arguments import integer, one_axis, operand, to_shape
from ..ops.index.choice import clip, where
from ..ops.index.gather import gather_elements, take
from ..ops.linalg.norms import norm
from ..ops.math._einsum import contracted
from ..ops.math.arithmetic import round as _round
from ..ops.math.complex import angle, complex, imag, real
from ..ops.math.products import outer, tensor_dot
from ..ops.math.reductions import all as _all
from ..ops.math.reductions import amax, amin, argmax, argmin, count_nonzero, mean, prod, std, var
from ..ops.math.reductions import any as _any
from ..ops.math.reductions import sum as _sum
from ..ops.shape.creation import full_like, ones_like, zeros_like
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
from ._entries import FUNCTIONS, implements, numbers, reduction, renamed

_SAME_ARGUMENTS: tuple[tuple[Any, Any], ...] = (
    (np.swapaxes, swapaxes), (np.moveaxis, moveaxis), (np.broadcast_to, broadcast_to), (np.hstack, hstack),
    (np.vstack, vstack), (np.meshgrid, meshgrid), (np.real, real), (np.imag, imag),
)  # fmt: skip
"""Functions whose arguments are called alike, or come by position."""

FUNCTIONS.update(_SAME_ARGUMENTS)


for _ours, _names, *_functions in (
    (diag, "v k", np.diag),
    (diagonal, "a offset axis1 axis2", np.diagonal),
    (expand_dims, "a axis", np.expand_dims),
    (norm, "x ord axis keepdims", np.linalg.norm),
    (repeat_interleave, "a repeats axis", np.repeat),
    (tile, "A reps", np.tile),
    (trace, "a offset axis1 axis2 dtype", np.trace),
    (transpose, "a axes", np.transpose),
    (tril, "m k", np.tril),
    (triu, "m k", np.triu),
):
    renamed(_ours, _names, *_functions)


def _choice(ours: Callable[..., Any], *functions: Any) -> None:
    """A reduction without a type argument."""

    @implements(*functions)
    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        if axis == ():
            a = operand(functions[0].__name__, a)
            return ours(to_shape(a, (*a.shape, 1)), -1)
        return ours(a, axis, keepdims)


reduction(_sum, np.sum, adds=True)
reduction(mean, np.mean)
reduction(prod, np.prod, adds=True)
_choice(amax, np.max, np.amax)
_choice(amin, np.min, np.amin)
_choice(_all, np.all)
_choice(_any, np.any)
_choice(argmax, np.argmax)
_choice(argmin, np.argmin)


def _degrees_of_freedom(name: str, ddof: Any, correction: Any) -> Any:
    """What is taken off the number of elements: the array API standard calls it correction."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError(f"np.{name}: ddof and correction are two names of one number; got {ddof} and {correction}")
    return correction


@implements(np.std)
def _np_std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, correction: Any = None
) -> Tensor:
    less = _degrees_of_freedom("std", ddof, correction)
    a = operand("std", a) if dtype is None else operand("std", a).astype(dtype)
    return std(to_shape(a, (*a.shape, 1)), -1, less) if axis == () else std(a, axis, less, keepdims)


@implements(np.var)
def _np_var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, correction: Any = None
) -> Tensor:
    less = _degrees_of_freedom("var", ddof, correction)
    a = operand("var", a) if dtype is None else operand("var", a).astype(dtype)
    return var(to_shape(a, (*a.shape, 1)), -1, less) if axis == () else var(a, axis, less, keepdims)


@implements(np.count_nonzero)
def _np_count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    return count_nonzero(a, axis, keepdims, np.int64)


@implements(np.concatenate)
def _np_concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None) -> Tensor:
    parts = [operand("concatenate", x) for x in arrays]
    joined = cat([ravel(x) for x in parts], 0) if axis is None else cat(parts, axis)
    return joined if dtype is None else joined.astype(dtype)


@implements(np.stack)
def _np_stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Tensor:
    joined = stack(arrays, axis)
    return joined if dtype is None else joined.astype(dtype)


@implements(np.split)
def _np_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    ary, axis, sections = _to_cut("np.split", ary, axis, indices_or_sections)
    if isinstance(sections, int) and ary.shape[axis] % sections:
        raise ValueError(f"np.split: axis {axis} of shape {ary.shape} cannot be cut into {sections} equal pieces")
    return _np_array_split(ary, sections, axis)


def _to_cut(name: str, ary: Any, axis: Any, sections: Any) -> tuple[Tensor, int, int | list[int]]:
    """What is to be cut, along which axis, and into how many pieces or at which places."""
    x = operand(name, ary)
    axis = one_axis(name, axis, x.shape)
    if isinstance(sections, Tensor | np.ndarray) and sections.ndim:
        sections = sections.tolist()
    if isinstance(sections, tuple | list | range):
        return x, axis, [integer(name, "a place to cut at", cut) for cut in sections]
    count = integer(name, "indices_or_sections", sections)
    if count < 1:
        raise ValueError(f"{name}: expected 1 piece or more, got {count}")
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
    if order not in ("C", "A", "K"):
        raise TypeError(f"np.{name}: order={order!r} is not supported with Tensors; transpose first")


@implements(np.round, np.around)
def _np_round(a: Any, decimals: int = 0) -> Tensor:
    a = operand("np.round", a)
    if a.dtype.is_complex:  # both parts by themselves
        return complex(_round(real(a), decimals), _round(imag(a), decimals))
    return _round(a, decimals)


@implements(np.squeeze)
def _np_squeeze(a: Any, axis: Any = None) -> Tensor:
    return +operand("np.squeeze", a) if axis == () else squeeze(a, axis)


@implements(np.reshape)
def _np_reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Tensor:
    _c_order("reshape", order)
    return reshape(a, shape)


@implements(np.ravel)
def _np_ravel(a: Any, order: str = "C") -> Tensor:
    _c_order("ravel", order)
    return ravel(a)


@implements(np.flip)
def _np_flip(m: Any, axis: Any = None) -> Tensor:
    m = operand("np.flip", m)
    return flip(m, tuple(range(m.ndim)) if axis is None else axis)


@implements(np.roll)
def _np_roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    if axis is not None and isinstance(shift, tuple | list) != isinstance(axis, tuple | list):
        raise TypeError(f"np.roll: shift={shift!r} and axis={axis!r}; with Tensors both are ints, or both tuples")
    return roll(a, shift, axis)


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
    return angle(z) * (180.0 / np.pi) if deg else angle(z)


@implements(np.outer)
def _np_outer(a: Any, b: Any) -> Tensor:
    return outer(ravel(a), ravel(b))


@implements(np.tensordot)
def _np_tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    return tensor_dot(a, b, axes)


@implements(np.einsum)
def _np_einsum(subscripts: Any, *operands: Any, dtype: Any = None, optimize: Any = False) -> Tensor:
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
    return gather_elements(ravel(arr), 0, indices) if axis is None else gather_elements(arr, axis, indices)


@implements(np.zeros_like)
def _np_zeros_like(a: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("zeros_like", device)
    return zeros_like(a, dtype=dtype)


@implements(np.ones_like)
def _np_ones_like(a: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("ones_like", device)
    return ones_like(a, dtype=dtype)


@implements(np.full_like)
def _np_full_like(a: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    on_cpu("full_like", device)
    return full_like(a, fill_value, dtype=dtype)


@implements(np.copy)
def _np_copy(a: Any, order: str = "K") -> Tensor:
    return +a
