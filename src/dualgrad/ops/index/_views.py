"""Views, as NumPy has them: elements of an array under another handle.

A value cannot change, and a tensor is a handle on one. A view is a handle that knows its root (a tensor that is no
view) and how its elements are taken from the root: reading renews them (`take`), an assignment is one to the root
(`placed`). The engine holds both together (`Alias` in `_engine/transforms/handles.pyx`).

Which results are views is NumPy's own answer. An array has a *layout*, a NumPy array of single bytes that lies in
memory as NumPy's array would and whose contents nobody reads. A function that may return a view is called with layouts
in place of the tensors; if what it returns lies in a layout, its place there says which elements it shows.

NumPy's rules hold for arrays: what NumPy's functions and `dualgrad.numpy` return, NumPy arrays as inputs, and results
of methods and operators of arrays. Other tensors follow MindSpore's rules, and so do all under the alias `mindspore`.
"""

from __future__ import annotations

import dis
import functools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._engine.transforms.handles import as_array, as_view, layout_of, refuse_writes, set_layout, use_views
from ...tensor import Tensor
from .._arguments import OP, to_shape
from ._elements import plain, replaced, taken

__all__ = [
    "array",
    "arrays_of",
    "as_part",
    "followed",
    "placed",
    "seen",
    "switched",
    "take",
    "taken_by_index",
    "writable",
]

_SETTINGS = {"views": True}
PARTS: dict[str, Callable[..., Tensor]] = {}
"""The functions real, imag and joined of complex numbers, which a later module enters."""
_as_strided = np.lib.stride_tricks.as_strided

_PLAIN = frozenset((int, slice, type(None), type(...)))
_READ_ONLY = "NumPy's view is read-only, too: write into the array itself, or into a copy (x.copy())"
_UNKNOWN = (
    "it depends on the order of the numbers in memory whether NumPy would return a view here: make a copy (x.copy()) "
    "before you reshape it"
)


def switched(on: bool) -> None:
    """Say whether NumPy's rules hold for arrays that are made from now on."""
    _SETTINGS["views"] = on


def array(x: Tensor) -> Tensor:
    """A tensor that was just made, as an array."""
    return as_array(x) if _SETTINGS["views"] else x


# ------------------------------------------------------------------------------------------------ layouts and places


def _layout(t: Tensor) -> np.ndarray:
    """The layout of a tensor."""
    alias = t._alias
    if alias is None or (alias.layout is None and alias.root is None):
        return layout_of(t)
    if alias.layout is None:
        alias.layout = _layout_of_view(alias)
    return alias.layout


def _layout_of_view(alias: Any) -> np.ndarray:
    whole = _layout(alias.root)
    kind, *how = alias.how
    while kind == "part":
        kind, *how = how[1]
    if kind == "unknown":
        return np.empty(how[0], np.int8, order="F")
    if kind == "index":
        return whole[how[0]]
    offset, shape, strides = how
    start = whole
    for axis in sorted(range(whole.ndim), key=lambda axis: -whole.strides[axis]):
        k, offset = divmod(offset, whole.strides[axis]) if whole.shape[axis] > 1 else (0, offset)
        start = start[tuple([slice(None)] * axis + [slice(k, k + 1)])]
    return _as_strided(start, shape, strides)


def _places(layout: np.ndarray, root: Tensor) -> tuple[Any, ...]:
    """How the elements at a place in the layout of a tensor are taken from it."""
    offset = layout.__array_interface__["data"][0] - _layout(root).__array_interface__["data"][0]
    return "places", offset if layout.size else 0, layout.shape, layout.strides


def _inside(layout: np.ndarray, root: Tensor) -> bool:
    """Whether a layout lies in the layout of a tensor."""
    return bool(np.may_share_memory(layout, _layout(root)))


def _c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])


@functools.lru_cache(1024)
def _plan(
    whole: tuple[int, ...], steps: tuple[int, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Any, ...]:
    """The elements at a place of memory as ("flat", slice), ("slices", index, axes) or ("gather", their positions).

    ``whole`` and ``steps`` are shape and strides of the tensor they are taken from. Slices are those of its axes; the
    axes that they leave are put in the order given, and then get the shape of the view.
    """
    size, count = math.prod(whole), math.prod(shape)
    if steps == _c_strides(whole) and (
        count <= 1 or all(n == 1 or s == c for n, s, c in zip(shape, strides, _c_strides(shape), strict=True))
    ):
        return "flat", slice(offset, offset + count)
    order = sorted([axis for axis in range(len(whole)) if whole[axis] > 1], key=lambda axis: -steps[axis])
    starts, left = [0] * len(whole), offset
    for axis in order:
        starts[axis], left = divmod(left, steps[axis])
    index = [slice(k, k + 1) for k in starts]
    axes: list[int] = []
    for n, stride in zip(shape, strides, strict=True):
        if n == 1:
            continue
        fits = [axis for axis in order if stride and stride % steps[axis] == 0]
        axis = fits[0] if fits else -1
        step = stride // steps[axis] if fits else 0
        last = starts[axis] + step * (n - 1)
        if axis < 0 or axis in axes or not 0 <= last < whole[axis]:
            break
        stop = last + (1 if step > 0 else -1)
        index[axis] = slice(starts[axis], None if stop < 0 else stop, step)
        axes.append(axis)
    else:
        if count:
            return "slices", tuple(index), (*axes, *[axis for axis in range(len(whole)) if axis not in axes])
    numbers = np.arange(size).reshape(whole).transpose(sorted(range(len(whole)), key=lambda axis: -steps[axis]))
    memory = np.ascontiguousarray(numbers).ravel()
    found = _as_strided(memory[offset:], shape, tuple([s * memory.itemsize for s in strides])) if count else memory[:0]
    return "gather", np.ascontiguousarray(found.reshape(shape))


def _plan_of(root: Tensor, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, ...]:
    layout = root._alias.layout
    return _plan(root.shape, _c_strides(root.shape) if layout is None else layout.strides, offset, shape, strides)


# --------------------------------------------------------------------------------------------------- read and written


def take(view: Tensor) -> Tensor:
    """The elements that a view shows, as a tensor of their own."""
    return _taken(view._alias.root, view._alias.how)


def _taken(root: Tensor, how: tuple[Any, ...]) -> Tensor:
    kind, *rest = how
    if kind == "index":
        return taken(root, rest[0])
    if kind == "unknown":
        raise RuntimeError(
            f"a tensor of shape {rest[0]} is read after the array was written from which it was made; {_UNKNOWN}"
        )
    if kind == "part":
        return PARTS[rest[0]](_taken(root, rest[1]))
    kind, *plan = _plan_of(root, *rest)
    shape = rest[1]
    if kind == "flat":
        return to_shape(taken(to_shape(root, (root.size,)), plan[0]), shape)
    if kind == "slices":
        found = taken(root, plan[0])
        return to_shape(_turned(found, plan[1]), shape)
    return _engine.apply(OP["gather"], (0,), to_shape(root, (root.size,)), plan[0])


def _turned(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return x if axes == tuple(range(len(axes))) else _engine.apply(OP["transpose"], axes, x)


def placed(root: Tensor, how: tuple[Any, ...], value: Tensor) -> Tensor:
    """The value of a tensor after the elements that a view shows have become others."""
    kind, *rest = how
    if kind == "index":
        return replaced(root, rest[0], value)
    if kind == "part":
        parts = {name: part(_taken(root, rest[1])) for name, part in PARTS.items() if name != "joined"}
        parts[rest[0]] = value
        return placed(root, rest[1], PARTS["joined"](parts["real"], parts["imag"]))
    kind, *plan = _plan_of(root, *rest)
    if kind == "flat":
        flat = to_shape(root, (root.size,))
        return to_shape(replaced(flat, plan[0], to_shape(value, (value.size,))), root.shape)
    if kind == "slices":
        index, axes = plan
        lengths = [len(range(*part.indices(n))) for part, n in zip(index, root.shape, strict=True)]
        back = tuple([axes.index(axis) for axis in range(len(axes))])
        return replaced(root, index, _turned(to_shape(value, tuple([lengths[axis] for axis in axes])), back))
    flat = to_shape(root, (root.size,))
    return to_shape(replaced(flat, plan[0].ravel(), to_shape(value, (value.size,))), root.shape)


use_views(take, _layout)


def writable(name: str, t: Tensor) -> None:
    """An error if NumPy would refuse to write into an array, or what it would change cannot be known."""
    alias = t._alias
    if alias is None:
        return
    refused = alias.refused or (alias.root is not None and alias.root._alias.refused)
    if refused:
        kind = ValueError if refused is _READ_ONLY else RuntimeError
        raise kind(f"{name}: the tensor (shape {t.shape}) must not be written into; {refused}")


# -------------------------------------------------------------------------------------------------------- made as such


def seen(found: Tensor, t: Tensor, index: Any) -> Tensor:
    """What an index has taken from `t`; if `t` is an array, a view for ints and slices, else an array.

    A single number is neither, as in NumPy.
    """
    alias = t._alias
    if not alias.array:
        return found
    if type(index) is int and alias.root is None:  # the most frequent index of all
        return as_view(found, t, ("index", index), None, None) if found.ndim else found
    for part in index if type(index) is tuple else (index,):
        if type(part) not in _PLAIN and not isinstance(part, np.integer):
            return array(found) if found.ndim else found
    index = tuple(map(plain, index)) if type(index) is tuple else plain(index)
    layout = _layout(t)[index]
    if type(layout) is np.ndarray:
        _make_view(found, t, layout, ("index", index))
    return found


def taken_by_index(value: Any, t: Tensor, index: Any) -> bool:
    """Whether a value is what ``t[index]`` shows, so that ``t[index] = value`` changes nothing."""
    alias = value._alias if isinstance(value, Tensor) else None
    return alias is not None and alias.root is t and alias.how[0] == "index" and _equal(alias.how[1], index)


def _equal(one: Any, other: Any) -> bool:
    if type(one) is tuple:
        return type(other) is tuple and len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and bool(one == other)


def _make_view(x: Tensor, t: Tensor, layout: np.ndarray, how: tuple[Any, ...] | None = None) -> None:
    """Make a tensor a view of the elements of `t` that lie at a place in its layout."""
    alias = t._alias
    root = t if alias is None or alias.root is None else alias.root
    if root is not t or how is None:
        how = _places(layout, root)
        if root is not t and alias.how[0] == "part":
            how = ("part", alias.how[1], how)
    repeats = any(n > 1 and step == 0 for n, step in zip(layout.shape, layout.strides, strict=True))
    refused = _READ_ONLY if repeats or not layout.flags.writeable else None
    as_view(x, root, how, layout, (alias.refused if root is not t else None) or refused)


def as_part(x: Any, t: Tensor, name: str) -> Any:
    """The real or imaginary part of an array, as a view of it."""
    if not _SETTINGS["views"] or not x.ndim:
        return x
    if not t.dtype.is_complex:
        if name == "imag":
            return refuse_writes(x, _READ_ONLY)
        _make_view(x, t, _layout(t))
        return x
    alias, layout = t._alias, _layout(t)
    root = t if alias is None or alias.root is None else alias.root
    how = _places(layout, t) if root is t else alias.how
    return as_view(x, root, ("part", name, how), layout, alias.refused if root is not t else None)


_MAY_BE_VIEWS = frozenset(
    getattr(np, name)
    for name in """
    reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays diagonal diag flip fliplr flipud rot90
    split array_split hsplit vsplit dsplit unstack asarray asanyarray ascontiguousarray asfortranarray
    asarray_chkfinite trim_zeros array copy nan_to_num require
    """.split()
    if hasattr(np, name)
) | {np.linalg.diagonal, np.linalg.matrix_transpose}
"""NumPy's functions that may return a view, or an argument."""

_PARTS = (np.real, np.imag)

_VIEW_METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np.ndarray, name)
        for name in "reshape ravel transpose squeeze swapaxes diagonal flatten copy".split()
    },
    "view": lambda layout, *shape: layout.reshape(*shape),
    "expand_dims": np.expand_dims,
    "broadcast_to": lambda layout, *shape: np.broadcast_to(layout, shape[0] if len(shape) == 1 else shape),
}
"""Methods that may return a view, as functions of a layout."""

_METHODS = frozenset(
    """
    adjoint all any argmax argmin argsort astype clip conj conjugate cumprod cumsum dot max mean min nonzero prod ptp
    repeat round searchsorted std sum take trace var choose compress partition
    """.split()
)
"""Methods of NumPy's arrays that return new ones."""

_IN_PLACE = frozenset(("fill", "sort"))
"""Methods that change a NumPy array and return nothing, where a tensor's return something and leave it as it is."""


def _layouts(x: Any, met: list[Tensor]) -> Any:
    """Arguments with layouts in place of tensors, which are added to a list."""
    if isinstance(x, Tensor):
        met.append(x)
        return _layout(x)
    if type(x) in (tuple, list):
        return type(x)([_layouts(item, met) for item in x])
    return x


def _leaves(x: Any) -> Iterator[Any]:
    """What tuples and lists hold."""
    if isinstance(x, tuple | list):
        for item in x:
            yield from _leaves(item)
    else:
        yield x


def arrays_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    """What a function of NumPy has returned for tensors: views where NumPy returns views, else arrays."""
    if not _SETTINGS["views"] or (isinstance(function, np.ufunc) and _engine.is_new_array(found, args)):
        return found
    tensors = [x for x in _leaves((args, list(kwargs.values()))) if isinstance(x, Tensor)]
    if function in _PARTS and len(tensors) == 1 and isinstance(found, Tensor):
        return as_part(found, tensors[0], function.__name__)
    if function in _MAY_BE_VIEWS and tensors:
        return _with_views(function, args, kwargs, found)
    return _new_arrays(function, args, kwargs, tensors, found)


def _with_views(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    met: list[Tensor] = []
    try:
        made = function(
            *[_layouts(x, met) for x in args], **{k: _layouts(x, met) for k, x in kwargs.items() if k != "dtype"}
        )
    except Exception:  # ours takes what NumPy's does not: there is no answer
        return _unsure(found, met)
    return _paired(found, made, met)


def _paired(found: Any, made: Any, met: list[Tensor]) -> Any:
    """Results, beside those of the same call on layouts."""
    if isinstance(found, tuple | list):
        if isinstance(made, tuple | list) and len(made) == len(found):
            for one, other in zip(found, made, strict=True):
                _paired(one, other, met)
            return found
        return _unsure(found, met)
    if not isinstance(found, Tensor):
        return found
    if any(found is t for t in met):
        return array(found)
    if not isinstance(made, np.ndarray) or made.shape != found.shape:
        return _unsure(found, met) if found.ndim else found
    for t in met:
        known = _layout(t).dtype == np.bool_
        if _inside(made, t) and made.size:
            if not known and _reordered(made, t):
                return _unsure(found, [t])
            _make_view(found, t, made)
            return found
        if not known:
            return _unsure(found, [t])
    return _with_layout(array(found), made)


def _reordered(made: np.ndarray, t: Tensor) -> bool:
    """Whether a view of an array whose order in memory is not known is more than a choice of its axes."""
    return True if made.ndim != _layout(t).ndim else sorted(made.shape) != sorted(t.shape)


def _unsure(found: Any, met: list[Tensor]) -> Any:
    """Results that may be views: nobody can write into them, or read them after the array has changed."""
    for x in _leaves(found):
        if isinstance(x, Tensor) and x._alias is None and x.ndim:
            for t in met:
                alias = t._alias
                root = t if alias is None or alias.root is None else alias.root
                as_view(x, root, ("unknown", x.shape), None, _UNKNOWN)
                break
    return found


def _with_layout(x: Tensor, made: np.ndarray) -> Tensor:
    """A new array, which lies in memory as another one does."""
    if made.ndim > 1 and not made.flags.c_contiguous:
        set_layout(x, np.empty_like(made))
    elif x._alias is not None and x._alias.layout is not None:
        set_layout(x, None)
    return x


def _in_rows(t: Any) -> bool:
    """Whether an operand lies in memory in C order."""
    if not isinstance(t, Tensor):
        return not isinstance(t, np.ndarray) or t.flags.c_contiguous
    if t._alias is None or t.ndim < 2 or (t._alias.layout is None and t._alias.root is None):
        return True
    return bool(_layout(t).flags.c_contiguous)


def _new_arrays(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor], found: Any) -> Any:
    """Results that are arrays of their own."""
    if isinstance(found, tuple | list):
        new = [_new_arrays(function, args, kwargs, tensors, x) for x in found]
        if all(map(lambda one, other: one is other, new, found)):
            return found
        return type(found)(new) if type(found) in (tuple, list) else type(found)(*new)
    if not isinstance(found, Tensor):
        return found
    if any(found is t for t in tensors):
        if kwargs.get("copy") is False:
            return array(found)
        found = +found
    if found._alias is not None and found._alias.root is not None:
        return found
    if not found.ndim and tensors:
        return found  # a number in NumPy, which cannot be written into
    array(found)
    if found.ndim > 1 and not all(map(_in_rows, _leaves((args, list(kwargs.values()))))):
        _lay_out(function, args, kwargs, found)
    return found


def _lay_out(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Tensor) -> None:
    """Give a new array the layout that NumPy's would have."""
    met: list[Tensor] = []
    if isinstance(function, np.ufunc):
        if function.signature is not None:
            return  # of matrices: in C order
        operands = [_layouts(x, met) for x in args]
        _with_layout(found, _ordered(operands, found.shape))
        return
    set_layout(found, np.empty(found.shape, np.int8, order="F"))  # not known


def _ordered(operands: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """What a ufunc allocates for its result."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    made = np.nditer(  # type: ignore[call-overload]
        [*arrays, None], ["zerosize_ok", "reduce_ok"], flags, order="K", op_dtypes=[None] * len(arrays) + [np.bool_]
    ).operands[-1]
    unknown = any(x.dtype == np.int8 for x in arrays)
    return np.empty(shape, np.int8, order="F") if unknown or made.shape != shape else made


def _operators_result(found: Tensor, operands: tuple[Any, ...]) -> None:
    if found.ndim > 1:
        _with_layout(found, _ordered([_layouts(x, []) for x in operands], found.shape))


_engine.LAID_OUT.append(_operators_result)


def followed(name: str, method: Any) -> Any:
    """A method of `Tensor`, which returns for arrays what NumPy's method of that name does."""
    if name in _IN_PLACE:
        return _in_place_if_dropped(name, method)
    if (name not in _METHODS and name not in _VIEW_METHODS) or not callable(method):
        return method

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        return found if self._alias is None or not self._is_array else _of_method(name, self, args, kwargs, found)

    return call


def _of_method(name: str, t: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    of_layouts = _VIEW_METHODS.get(name)
    if of_layouts is None:
        return _new_arrays(name, (t, *args), kwargs, [t], found)
    met: list[Tensor] = []
    if name == "ravel" and t._alias.root is not None and t._alias.how[0] == "part":
        return array(found)  # every other number in memory
    try:
        made = of_layouts(_layout(t), *[_layouts(x, met) for x in args], **kwargs)
    except Exception:
        return _unsure(found, [t])
    if found is t and not _inside(made, t):
        found = +found
    return _paired(found, made, [t])


def _in_place_if_dropped(name: str, method: Any) -> Any:
    """A method that changes an array, as NumPy's does, where nothing is done with what a tensor's returns."""

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not self._is_array or not _is_dropped(sys._getframe(1)):
            return method(self, *args, **kwargs)
        self[...] = np.sort(self, *args, **kwargs) if name == "sort" else method(self, *args, **kwargs)
        return None

    return call


def _is_dropped(frame: Any) -> bool:
    """Whether a frame drops what the call returns that it is executing."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and dis.opname[code[at]] == "CACHE":
        at += 2
    return at < len(code) and dis.opname[code[at]] == "POP_TOP"
