"""Reading and writing with an index: ``t[index]`` and ``t[index] = value``.

An index is settled in two steps, which are NumPy's rules written as primitives:

* ints, slices, Ellipsis and None become one slice with an entry for each axis and one reshape, both views;
* if there are arrays, a gather over the axes they stand at follows. Ints beside arrays count as arrays then,
  and a mask is the arrays of its places.

A tensor of ints stays an operand of the gather, so an index that was computed is part of the program like any
other value; a mask is read, since it decides about shapes.

Writing makes a new value, ``where(written, value, old)``, and points the handle at it. What was computed from
the old value keeps it, derivatives go to the new elements and to the old ones that are left, and nothing that
a derivative has yet to read can change behind its back.
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
from .._arguments import OP, expanded, operand, to_shape
from ..axes._joining import stack
from ._indices import as_int64, placed
from ._lost_writes import refuse_lost_write
from ._views import seen, with_views

__all__: list[str] = []

_SLICE, _UNSLICE, _RESHAPE = OP["slice"], OP["unslice"], OP["reshape"]
_GATHER, _WHERE = OP["gather"], OP["where"]
_FULL = slice(None)
_PLAIN = (slice, int)

Spec: TypeAlias = tuple[tuple[int, int, int], ...]
"""For each axis the first element, the number of elements and the step."""


# ---------------------------------------------------------------------------------------------------- reading


def getitem(t: Tensor, index: Any) -> Tensor:
    """Elements at an index, by NumPy's rules; derivatives go back to where they came from.

    Parameters
    ----------
    t : Tensor
        Any shape and type.
    index
        Ints, slices, Ellipsis, None, bool masks, tensors, arrays and lists of ints, or a tuple of these.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError
        If there are more indices than axes, or one is out of range or of a wrong kind.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(x[1], x[:, 0], x[x > 1.5])
    [3. 4.] [1. 3.] [2. 3. 4.]
    """
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
        return seen(_engine.apply(_RESHAPE, rest, row), t, index)
    parts = index if isinstance(index, tuple) else (index,)
    basic = _basic(shape, parts)
    if basic is not None:
        spec, result = basic
        taken = +t if spec is None else _engine.apply(_SLICE, spec, t)
        return seen(taken if result is None else _engine.apply(_RESHAPE, result, taken), t, index)
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


def _stretch(part: slice, n: int) -> tuple[int, int, int]:
    """A slice of an axis of length n as first element, number of elements, step."""
    try:
        start, stop, step = part.indices(n)
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


# ---------------------------------------------------------------------------------------------------- writing


def setitem(t: Tensor, index: Any, value: Any) -> None:
    """Write elements at an index: the handle is pointed at a new value.

    Parameters
    ----------
    t : Tensor
        Any shape and type.
    index
        As in `getitem`.
    value
        A tensor, array, number or list that broadcasts to the elements; it is converted to the type of `t`.

    Raises
    ------
    IndexError
        If the index does not fit.
    ValueError
        If the value does not broadcast to the elements at the index.
    RuntimeError
        If the value is being differentiated and `t` was made outside of the function, or is a Parameter: the
        derivative would end in a tensor that outlives it. If nothing else holds `t` (``a[0][1] = value``) and it is no
        view: the assignment would be lost. Arrays of `dualgrad.numpy` have views, other tensors have none.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> x[1:] = 0.0
    >>> print(x)
    [1. 0. 0.]
    """
    if t._alias is None:
        refuse_lost_write(t)
    renewed(t)
    rewritten("t[index] = value", t, replaced(t, index, value))


def renewed(t: Tensor) -> Tensor:
    """A tensor that is about to be written into; a view of what was changed since by another name gets that value."""
    view = t._alias
    if view is not None and view.steps:
        if view.source is None:
            raise RuntimeError(
                f"t[index] = value: t (shape {t.shape}) was taken by {view.steps} slices, one of another, and "
                "the array at their beginning is to change; expected fewer: write into that array, with one index"
            )
        t._rebind(getitem(renewed(view.source), view.index))
    return t


def rewritten(name: str, t: Tensor, new: Tensor) -> Tensor:
    """Point the handle of `t` at a new value, unless a derivative would end in a tensor that outlives it.

    What it is a view of gets the elements, too; `renewed` has made it one of the present value.
    """
    serial = new._level_serial
    if serial > 0 and (t._is_parameter or serial > t._birth):
        what = "a Parameter" if t._is_parameter else "a tensor that was made outside of the function"
        raise RuntimeError(
            f"{name}: a value that is being differentiated cannot be written into {what} (shape {t.shape}); make the "
            "tensor inside the function (a copy: t.copy()), or build the result with ops.where, ops.concat or "
            "ops.tensor_scatter_update"
        )
    t._rebind(new)
    view = t._alias
    if view is not None and view.steps:
        rewritten(name, view.source, replaced(view.source, view.index, t))
    return t


def written(name: str, x: Tensor, new: Any) -> Tensor:
    """Give a tensor a new value of its own shape and type; one of another type, but the same kind, is converted."""
    new = operand(name, new)
    if new.shape != x.shape:
        raise ValueError(f"{name}: the new value has shape {new.shape}; expected that of the tensor, {x.shape}")
    if not np.can_cast(new.dtype.numpy, x.dtype.numpy, "same_kind"):
        raise TypeError(
            f"{name}: the new value has type {new.dtype}, which the tensor, of type {x.dtype}, cannot hold; convert "
            "one of them first (astype), or give the result a name of its own"
        )
    return rewritten(name, x, new if new.dtype is x.dtype else new.astype(x.dtype))


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
        placed = _engine.apply(_UNSLICE, (shape, spec), value)
        if counts == shape:
            return placed
        mask = np.zeros(shape, bool)
        mask[parts] = True
        return _engine.apply(_WHERE, None, mask, placed, t)
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
        return _engine.convert(value, typenum)
    raise TypeError(
        f"t[index] = value: expected a Tensor, a NumPy array, a number or a list of numbers, got {type(value).__name__}"
    )


def copied(self: Tensor) -> Tensor:
    """A tensor with the same value, whose slices can be written into; derivatives go through it."""
    return with_views(+self)


METHODS: dict[str, Any] = {"__getitem__": getitem, "__setitem__": setitem, "copy": copied}
