"""Elements at an index: read them, and replace them in a new tensor.

An index is settled in two steps, which are NumPy's rules written as primitives:

* ints, slices, Ellipsis and None become one slice with an entry for each axis and one reshape, both views;
* if there are arrays, a gather over their axes follows. Ints beside arrays count as arrays then, and a mask is replaced
  by the arrays of its places.

A tensor of ints stays an operand of the gather, so a computed index is part of the program like any other value. A mask
is read at once, since shapes depend on it.
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
    """Return the elements at an index as a tensor of their own, not as a view."""
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
    """The slice for an index and the shape of its result; None for an index with arrays.

    The slice or the shape is None where it would change nothing.
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
    """Replace tensors that bound a slice by Python numbers."""
    if type(part) is slice and any(isinstance(bound, Tensor) for bound in (part.start, part.stop, part.step)):
        return slice(pythons(part.start), pythons(part.stop), pythons(part.step))
    return part


def _stretch(part: slice, n: int) -> tuple[int, int, int]:
    """Return a slice of an axis of length n as (first element, number of elements, step)."""
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

    Ellipsis is replaced by slices (one that stands for no axis is left between arrays), ints are Python's, masks are
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
    """True if there is an array, or an int, which counts as an array here."""
    return any(part is not None and not isinstance(part, slice) for part in entries)


def _array(part: Any) -> Any:
    """Convert any other part of an index than an int, a slice or None to an int, a mask or an array of ints."""
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
    """Convert nested lists with tensors in them to nested lists of arrays."""
    if isinstance(item, Tensor):
        return item._numpy()
    return [_numbers(inner) for inner in item] if isinstance(item, list | tuple) else item


def _advanced(
    shape: tuple[int, ...], entries: list[Any]
) -> tuple[Spec, tuple[int, ...], tuple[Any, ...], list[Any], int | None]:
    """Split an index with arrays into a slice, a reshape and a gather.

    Returns the slice, the shape of its result, the pattern and the indices of the gather, and the axis to remove from
    the result, if any. An Ellipsis that stands for no axis is an axis of length 1 until then.
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
    """True if a mask fits axes of these lengths: it has their shape, or length 0 along some of them."""
    return mask == covered or (
        len(mask) == len(covered) and all(m in (0, n) for m, n in zip(mask, covered, strict=True))
    )


def replaced(t: Tensor, index: Any, value: Any) -> Tensor:
    """Return the value of `t` after ``t[index] = value``; of values written to one element the last one counts."""
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
    """Broadcast a value to the shape of the elements that it replaces."""
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
    """Convert the value of an assignment to the type of the tensor."""
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
    """Raise a TypeError if numbers would lose their imaginary part in a tensor of another type."""
    if typenum not in IS_COMPLEX and _is_complex(value):
        raise TypeError(
            f"{name}: the value is complex, and the tensor is not, so the imaginary part would be lost; write its real "
            "part (value.real), or make the tensor complex (dtype=complex)"
        )


def _is_complex(x: Any) -> bool:
    """True if there are complex numbers among numbers, arrays, tensors and lists of them."""
    if isinstance(x, list | tuple):
        return any(map(_is_complex, x))
    if isinstance(x, Tensor):
        return x._typenum in IS_COMPLEX
    return isinstance(x, complex | np.complexfloating) or (isinstance(x, np.ndarray) and x.dtype.kind == "c")
