"""Elements at an index: taken from a tensor, and given other values in a new one.

An index is settled in two steps, which are NumPy's rules written as primitives:

* ints, slices, Ellipsis and None become one slice with an entry for each axis and one reshape, both views;
* if there are arrays, a gather over the axes they stand at follows. Ints beside arrays count as arrays then,
  and a mask is the arrays of its places.

A tensor of ints stays an operand of the gather, so an index that was computed is part of the program like any
other value; a mask is read, since it decides about shapes.
"""

from __future__ import annotations

import math
import operator
from typing import Any, TypeAlias

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._engine.transforms.weak import WeakNumber
from ..._joined import holds_tensor
from ...tensor import Tensor
from .._arguments import IS_COMPLEX, OP, expanded, pythons, to_shape
from ..axes._joining import stack
from ._indices import as_int64, placed

__all__ = ["plain", "refuse_complex", "replaced", "taken"]

_SLICE, _UNSLICE, _RESHAPE = OP["slice"], OP["unslice"], OP["reshape"]
_GATHER, _WHERE = OP["gather"], OP["where"]
_FULL = slice(None)
_PLAIN = (slice, int)

Spec: TypeAlias = tuple[tuple[int, int, int], ...]
"""For each axis the first element, the number of elements and the step."""


def taken(t: Tensor, index: Any) -> Tensor:
    """Elements at an index as a tensor of their own: no view."""
    shape = t.shape
    if type(index) is int and shape:  # the most frequent index of all
        n = shape[0]
        k = index if index >= 0 else index + n
        if not 0 <= k < n:
            raise _out_of_range(index, 0, shape)
        if len(shape) == 1:
            return _engine.apply(_RESHAPE, (), _engine.apply(_SLICE, ((k, 1, 1),), t))
        rest = shape[1:]
        row = _engine.apply(_SLICE, ((k, 1, 1), *[(0, m, 1) for m in rest]), t)
        return _engine.apply(_RESHAPE, rest, row)
    parts = index if isinstance(index, tuple) else (index,)
    basic = _basic(shape, parts)
    if basic is not None:
        spec, result = basic
        part = +t if spec is None else _engine.apply(_SLICE, spec, t)
        return part if result is None else _engine.apply(_RESHAPE, result, part)
    spec, result, pattern, indices, extra = _advanced(shape, _entries(shape, parts))
    try:
        found = _engine.apply(_GATHER, pattern, to_shape(_sliced(t, spec, shape), result), *indices)
    except IndexError as error:
        raise placed(error, shape) from None
    return found if extra is None else to_shape(found, found.shape[:extra] + found.shape[extra + 1 :])


def _basic(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[Spec | None, tuple[int, ...] | None] | None:
    """The slice that an index takes, and the shape to give to what it takes; None for an index with arrays.

    Either is None where it would change nothing.
    """
    spec: list[tuple[int, int, int]] = []
    result: list[int] = []
    whole = same = True
    ndim = len(shape)
    for place, part in enumerate(parts):
        axis = len(spec)
        kind = type(part)
        if part is None:
            result.append(1)
            same = False
            continue
        if part is Ellipsis:
            behind = [p for p in parts[place + 1 :] if p is not None]
            if not all(type(p) in _PLAIN or isinstance(p, np.integer) for p in behind):
                return None  # arrays, or a second ellipsis
            for n in shape[axis : ndim - len(behind)]:
                spec.append((0, n, 1))
                result.append(n)
            continue
        if kind is not slice and kind is not int:
            if not isinstance(part, np.integer):
                return None
            part = int(part)
        if axis >= ndim:
            raise _too_many(shape, parts)
        if kind is slice:
            stretch = _stretch(part, shape[axis])
            whole = whole and stretch == (0, shape[axis], 1)
            spec.append(stretch)
            result.append(stretch[1])
        else:
            k = part if part >= 0 else part + shape[axis]
            if not 0 <= k < shape[axis]:
                raise _out_of_range(part, axis, shape)
            spec.append((k, 1, 1))
            whole = same = False
    for n in shape[len(spec) :]:
        spec.append((0, n, 1))
        result.append(n)
    return (None if whole else tuple(spec)), (None if same else tuple(result))


def _sliced(t: Tensor, spec: Spec, shape: tuple[int, ...]) -> Tensor:
    """Apply a slice unless it takes everything in order."""
    for (_, length, step), n in zip(spec, shape, strict=True):
        if length != n or step < 0:
            return _engine.apply(_SLICE, spec, t)
    return t


def plain(part: Any) -> Any:
    """A part of an index with numbers in place of tensors that bound a slice."""
    if type(part) is slice and any(isinstance(bound, Tensor) for bound in (part.start, part.stop, part.step)):
        return slice(pythons(part.start), pythons(part.stop), pythons(part.step))
    return part


def _stretch(part: slice, n: int) -> tuple[int, int, int]:
    """A slice of an axis of length n as first element, number of elements, step."""
    try:
        start, stop, step = plain(part).indices(n)
    except ValueError:
        raise ValueError(f"the slice {part} has the step 0; expected another int or None") from None
    except TypeError:
        raise IndexError(f"the slice {part} cannot be an index; expected ints or None in it") from None
    length = len(range(start, stop, step))
    return (start if length else 0), length, (step if length > 1 else 1)


def _out_of_range(index: int, axis: int, shape: tuple[int, ...]) -> IndexError:
    return IndexError(
        f"index {index} is out of bounds for axis {axis} with size {shape[axis]}; the tensor has shape {shape}"
    )


def _too_many(shape: tuple[int, ...], parts: tuple[Any, ...]) -> IndexError:
    return IndexError(f"too many indices in {parts!r:.80} for a tensor of shape {shape} with {len(shape)} axes")


def _entries(shape: tuple[int, ...], parts: tuple[Any, ...]) -> list[Any]:
    """The parts of an index with arrays, one for each axis or None.

    Ellipsis is written out (one that stands for no axis is left between arrays), ints are Python's, masks are
    NumPy arrays, other arrays are int64 arrays or Tensors.
    """
    entries: list[Any] = []
    used, dots = 0, -1
    for part in parts:
        if part is Ellipsis:
            if dots >= 0:
                raise IndexError("an index can have only one ellipsis ('...')")
            dots = len(entries)
            continue
        if part is not None and type(part) is not int and type(part) is not slice:
            part = _array(part)
        if part is not None:
            used += part.ndim if hasattr(part, "ndim") and part.dtype == np.bool_ else 1
        entries.append(part)
    if used > len(shape):
        raise _too_many(shape, parts)
    if dots < 0:
        dots = len(entries)
    elif used == len(shape) and _picks(entries[:dots]) and _picks(entries[dots:]):
        entries.insert(dots, Ellipsis)  # it stands for no axis, but keeps arrays apart
    entries[dots:dots] = [_FULL] * (len(shape) - used)
    return entries


def _picks(entries: list[Any]) -> bool:
    """Whether there is an array, or an int that counts as one."""
    return any(part is not None and not isinstance(part, slice) for part in entries)


def _array(part: Any) -> Any:
    """Any other part of an index than an int, a slice or None: as an int, a mask or an array of ints."""
    if type(part) is WeakNumber and isinstance(part, int):
        return part.tensor()
    if isinstance(part, Tensor):
        if part.dtype.is_bool:
            return part._numpy()
        if part.dtype.is_int:
            return as_int64(part)
        raise IndexError(f"a tensor of type {part.dtype} cannot be an index; convert it to an integer type")
    if isinstance(part, list | tuple | range):
        try:
            found = np.array([_numbers(item) for item in part])
        except ValueError:
            raise IndexError(f"the nested lists {part!r:.60} are ragged and cannot be an index") from None
        if not found.size:
            return found.astype(np.int64)
    elif isinstance(part, np.ndarray | bool | np.bool_):
        found = np.asarray(part)
    else:
        try:
            return operator.index(part)
        except TypeError:
            raise IndexError(
                f"{part!r:.60} cannot be an index; expected ints, slices, '...', None, masks, or lists, "
                "arrays and tensors of ints"
            ) from None
    if found.dtype.kind == "b":
        return found
    if found.dtype.kind not in "iu":
        raise IndexError(f"an array of type {found.dtype} cannot be an index; expected integers or bools")
    if found.dtype == np.uint64 and (found > np.iinfo(np.int64).max).any():
        raise IndexError(f"the index {found.max()} is out of bounds for every axis")
    return found.astype(np.int64, copy=False)


def _numbers(item: Any) -> Any:
    """Nested lists with tensors in them as nested lists of arrays."""
    if isinstance(item, Tensor):
        return item._numpy()
    return [_numbers(inner) for inner in item] if isinstance(item, list | tuple) else item


def _advanced(
    shape: tuple[int, ...], entries: list[Any]
) -> tuple[Spec, tuple[int, ...], tuple[Any, ...], list[Any], int | None]:
    """An index with arrays.

    Returned are the slice, the shape to give to what it takes, the gather's pattern and its indices, and
    which axis of the result is to be removed, if any: an Ellipsis that stands for no axis is one of length 1
    until then.
    """
    spec: list[tuple[int, int, int]] = []
    result: list[int] = []
    pattern: list[Any] = []
    indices: list[Any] = []
    gap: int | None = None

    def gathered(n: int, index: Any) -> None:
        result.append(n)
        pattern.append(len(indices))
        indices.append(index)

    for part in entries:
        axis = len(spec)
        if part is None or part is Ellipsis:
            if part is Ellipsis:
                gap = len(pattern) - len(indices)
            result.append(1)
            pattern.append((0, 1, 1))
        elif isinstance(part, slice):
            spec.append(_stretch(part, shape[axis]))
            result.append(spec[-1][1])
            pattern.append((0, spec[-1][1], 1))
        elif isinstance(part, int):
            if not -shape[axis] <= part < shape[axis]:
                raise _out_of_range(part, axis, shape)
            spec.append((0, shape[axis], 1))
            gathered(shape[axis], np.array(part, np.int64))
        elif part.dtype == np.bool_:
            covered = shape[axis : axis + part.ndim]
            if not _fits(part.shape, covered):
                raise IndexError(
                    f"a mask of shape {part.shape} does not fit the axes of lengths {covered} it stands at; "
                    f"the tensor has shape {shape}"
                )
            spec.extend([(0, n, 1) for n in covered])
            if covered:
                for n, places in zip(covered, np.nonzero(part), strict=True):
                    gathered(n, places)
            else:  # a bare True or False takes all of a new axis, or nothing
                gathered(1, np.zeros(int(part), np.int64))
        else:
            spec.append((0, shape[axis], 1))
            gathered(shape[axis], part)
    while isinstance(pattern[-1], tuple):
        pattern.pop()
    # arrays that are kept apart give the first axes of the result
    extra = None if gap is None else gap + max(index.ndim for index in indices)
    return tuple(spec), tuple(result), tuple(pattern), indices, extra


def _fits(mask: tuple[int, ...], covered: tuple[int, ...]) -> bool:
    """Whether a mask stands for axes of these lengths: it has their shape, or no elements along some of them."""
    return mask == covered or (
        len(mask) == len(covered) and all(m in (0, n) for m, n in zip(mask, covered, strict=True))
    )


def replaced(t: Tensor, index: Any, value: Any) -> Tensor:
    """The value of `t` after ``t[index] = value``; of elements written twice the last one counts."""
    shape = t.shape
    parts = index if isinstance(index, tuple) else (index,)
    value = _as_value(value, t._typenum)
    basic = _basic(shape, parts)
    if basic is not None:
        spec, result = basic
        counts = shape if spec is None else tuple([length for _, length, _ in spec])
        value = to_shape(_fitted(value, counts if result is None else result), counts)
        if spec is None:
            return value
        spread = _engine.apply(_UNSLICE, (shape, spec), value)
        if counts == shape:
            return spread
        mask = np.zeros(shape, bool)
        mask[parts] = True
        return _engine.apply(_WHERE, None, mask, spread, t)
    if isinstance(index, Tensor) and index.dtype.is_bool and index.shape == shape and value.ndim == 0:
        return _engine.apply(_WHERE, None, index, value, t)  # a mask that stays an operand
    entries = _entries(shape, parts)
    places = np.arange(t.size).reshape(shape)
    try:
        written = places[tuple([part._numpy() if isinstance(part, Tensor) else part for part in entries])]
    except IndexError as error:
        raise IndexError(f"{error}; the tensor has shape {shape}") from None
    value = _fitted(value, written.shape)
    source = np.full(t.size, -1)
    source[written.ravel()] = np.arange(written.size)
    if not written.size:
        return +t
    picked = _engine.apply(_GATHER, (0,), to_shape(value, (value.size,)), np.maximum(source, 0).reshape(shape))
    return _engine.apply(_WHERE, None, (source >= 0).reshape(shape), picked, t)


def _fitted(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value broadcast to the shape of the elements it is written to."""
    given = value.shape
    extra = max(len(given) - len(shape), 0)
    if math.prod(given[:extra]) == 1:
        value = to_shape(value, given[extra:]) if extra else value
        short = value.shape
        if all(m in (1, n) for m, n in zip(short, shape[len(shape) - len(short) :], strict=True)):
            return expanded(value, shape)
    raise ValueError(
        f"t[index] = value: a value of shape {given} does not broadcast to the shape {shape} of the elements "
        "it is written to"
    )


def _as_value(value: Any, typenum: int) -> Tensor:
    """What is written, as a tensor of the type it is written into."""
    if isinstance(value, list | tuple):
        if holds_tensor(value):
            return stack([_as_value(item, typenum) for item in value])
        value = np.array(value)
    if isinstance(value, Tensor | np.ndarray | bool | int | float | complex | np.generic):
        refuse_complex("t[index] = value", value, typenum)
        return _engine.convert(value, typenum)
    raise TypeError(
        f"t[index] = value: expected a Tensor, a NumPy array, a number or a list of numbers, got {type(value).__name__}"
    )


def refuse_complex(name: str, value: Any, typenum: int) -> None:
    """An error if numbers would lose their imaginary part in a tensor of another type."""
    if typenum not in IS_COMPLEX and _is_complex(value):
        raise TypeError(
            f"{name}: the value is complex, and the tensor is not, so the imaginary part would be lost; write its real "
            "part (value.real), or make the tensor complex (dtype=complex)"
        )


def _is_complex(x: Any) -> bool:
    """Whether there are complex numbers among numbers, arrays, tensors and lists of them."""
    if isinstance(x, list | tuple):
        return any(map(_is_complex, x))
    if isinstance(x, Tensor):
        return x._typenum in IS_COMPLEX
    return isinstance(x, complex | np.complexfloating) or (isinstance(x, np.ndarray) and x.dtype.kind == "c")
