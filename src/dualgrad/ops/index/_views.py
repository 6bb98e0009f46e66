"""Views, as NumPy has them: elements of an array under another handle.

A value cannot change, and a tensor is a handle on a value. A view is a handle that knows its root (a tensor that is not
a view) and how to take its elements from the root. Reading a view takes them anew (`take`); writing into it writes into
the root (`placed`). The engine does both together (`Alias` in `_engine/transforms/handles.pyx`).

NumPy itself decides which results are views. An array has a *layout*: a NumPy array of single bytes with the strides of
NumPy's array, whose contents are never read. A function that may return a view is called with layouts in place of the
tensors. If its result lies in a layout, its place there says which elements the view shows.

NumPy's rules hold for arrays: results of NumPy's functions and of `dualgrad.numpy`, NumPy arrays as inputs, and results
of methods and operators of arrays. All other tensors, and all under the alias `mindspore`, follow MindSpore's rules.
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
from ..._engine.transforms.handles import (
    as_array,
    as_view,
    layout_of,
    lies_in_rows,
    new_layout,
    one_step,
    refuse_writes,
    set_layout,
    use_views,
)
from ...tensor import Tensor
from .._arguments import OP, to_shape
from ._elements import plain, replaced, taken

__all__ = [
    "array",
    "arrays_of",
    "as_part",
    "axes_in_memory",
    "followed",
    "order_in_memory",
    "placed",
    "seen",
    "switched",
    "take",
    "taken_by_index",
    "writable",
]

_SETTINGS = {"views": True}
PARTS: dict[str, Callable[..., Tensor]] = {}
"""The functions real, imag and joined of complex numbers; a later module enters them."""
_WORD = 8  # bytes of an integer

_PLAIN = frozenset((int, slice, type(None), type(...)))
_READ_ONLY = "NumPy's view is read-only, too: write into the array itself, or into a copy (x.copy())"
_UNKNOWN = (
    "it depends on the order of the numbers in memory whether NumPy would return a view here: make a copy (x.copy()) "
    "before you reshape it"
)


def switched(on: bool) -> None:
    """Set whether NumPy's rules hold for arrays that are made from now on."""
    _SETTINGS["views"] = on


def array(x: Tensor) -> Tensor:
    """Mark a new tensor as an array."""
    return as_array(x) if _SETTINGS["views"] else x


# ------------------------------------------------------------------------------------------------ layouts and places


def _root(t: Tensor) -> Tensor:
    """The tensor whose elements a view shows; any other tensor itself."""
    return t if t._alias is None or t._alias.root is None else t._alias.root


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
    memory = whole.ravel("K") if whole.base is None else whole.base
    return np.ndarray(shape, whole.dtype, memory, offset + _distance(memory, whole), strides)


def _distance(memory: np.ndarray, layout: np.ndarray) -> int:
    """The bytes from the first element of one layout to the first element of another."""
    return layout.__array_interface__["data"][0] - memory.__array_interface__["data"][0] if layout.size else 0


def _places(layout: np.ndarray, root: Tensor) -> tuple[Any, ...]:
    """How to take the elements at a place in the layout of a tensor from it."""
    return "places", _distance(_layout(root), layout), layout.shape, layout.strides


def _inside(layout: np.ndarray, root: Tensor) -> bool:
    """True if a layout lies in the layout of a tensor."""
    return bool(np.may_share_memory(layout, _layout(root)))


def _c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])


@functools.lru_cache(1024)
def _plan(
    whole: tuple[int, ...], steps: tuple[int, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Any, ...]:
    """Plan how to take the elements at a place of memory from a tensor.

    ``whole`` and ``steps`` are its shape and strides. Returns ("flat", slice), ("slices", index, axes) or ("gather",
    positions). For "slices", `index` applies to its axes, which are then put into the order `axes` and reshaped.
    """
    count = math.prod(shape)
    if steps == _c_strides(whole) and (
        count <= 1 or all(n == 1 or s == c for n, s, c in zip(shape, strides, _c_strides(shape), strict=True))
    ):
        return "flat", slice(offset, offset + count)
    order = sorted([axis for axis in range(len(whole)) if whole[axis] > 1], key=lambda axis: -steps[axis])
    if any(steps[axis] <= 0 for axis in order):
        return "gather", _positions(whole, steps, offset, shape, strides)
    starts, left = [0] * len(whole), offset
    for axis in order:
        starts[axis], left = divmod(left, steps[axis])
    index = [slice(k, k + 1) for k in starts]
    axes: list[int] = []
    for n, stride in zip(shape, strides, strict=True):
        if n == 1:
            continue
        fits = [axis for axis in order if stride and stride % steps[axis] == 0]
        if not fits or fits[0] in axes:
            break
        axis, step = fits[0], stride // steps[fits[0]]
        last = starts[axis] + step * (n - 1)
        if not 0 <= last < whole[axis]:
            break
        stop = last + (1 if step > 0 else -1)
        index[axis] = slice(starts[axis], None if stop < 0 else stop, step)
        axes.append(axis)
    else:
        if count:
            return "slices", tuple(index), (*axes, *[axis for axis in range(len(whole)) if axis not in axes])
    return "gather", _positions(whole, steps, offset, shape, strides)


def _positions(
    whole: tuple[int, ...], steps: tuple[int, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray:
    """The numbers of the elements at a place of memory, counted in C order."""
    numbers = new_layout(whole, tuple([step * _WORD for step in steps]), np.int64)
    numbers[...] = np.arange(math.prod(whole)).reshape(whole)
    memory: Any = numbers.base
    start = _distance(memory, numbers) + offset * _WORD if math.prod(shape) else 0
    found = np.ndarray(shape, np.int64, memory, start, tuple([step * _WORD for step in strides]))
    return np.ascontiguousarray(found)


def _plan_of(root: Tensor, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, ...]:
    layout = root._alias.layout
    return _plan(root.shape, _c_strides(root.shape) if layout is None else layout.strides, offset, shape, strides)


# --------------------------------------------------------------------------------------------------- read and written


def take(view: Tensor) -> Tensor:
    """Return the elements that a view shows, as a tensor of their own."""
    return _taken(view._alias.root, view._alias.how)


def _taken(root: Tensor, how: tuple[Any, ...]) -> Tensor:
    kind, *rest = how
    if kind == "index":
        return taken(root, rest[0])
    if kind == "unknown":
        raise RuntimeError(
            f"a tensor of shape {rest[0]} is read after the array was written from which it was made; "
            f"{(*rest, _UNKNOWN)[1]}"
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
    """Return the value of a tensor after an assignment to a view of it."""
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


def alone(views: list[Tensor]) -> list[np.ndarray] | None:
    """The layouts of views as arrays of their own, if nothing else shows their root.

    None if they share elements, or if a layout is not known.
    """
    layouts = list(map(_layout, views))
    for k, layout in enumerate(layouts):
        if layout.dtype == np.int8 or any(_meet(layout, other) for other in layouts[:k]):
            return None
    return [_with_gaps(x) if _is_part(t) else x for t, x in zip(views, layouts, strict=True)]


def _meet(layout: np.ndarray, other: np.ndarray) -> bool:
    """True if two layouts share elements, or it is too hard to say."""
    try:
        return bool(np.shares_memory(layout, other, max_work=10**4))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


use_views(take, _layout, alone)


def writable(name: str, t: Tensor) -> None:
    """Raise an error if NumPy would refuse to write into an array, or if the changed elements cannot be known."""
    alias = t._alias
    if alias is None:
        return
    refused = alias.refused or (alias.root is not None and alias.root._alias.refused)
    if refused:
        kind = ValueError if refused is _READ_ONLY else RuntimeError
        raise kind(f"{name}: the tensor (shape {t.shape}) must not be written into; {refused}")


# -------------------------------------------------------------------------------------------------------- made as such


def seen(found: Tensor, t: Tensor, index: Any) -> Tensor:
    """Mark the result of ``t[index]``. If `t` is an array it is a view for ints and slices, else a new array.

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
    """True if a value is the view ``t[index]`` itself, so that ``t[index] = value`` changes nothing."""
    alias = value._alias if isinstance(value, Tensor) else None
    return alias is not None and alias.root is t and alias.how[0] == "index" and _equal(alias.how[1], index)


def _equal(one: Any, other: Any) -> bool:
    if type(one) is tuple:
        return type(other) is tuple and len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and bool(one == other)


def _make_view(x: Tensor, t: Tensor, layout: np.ndarray, how: tuple[Any, ...] | None = None) -> None:
    """Make a tensor a view of the elements of `t` that lie at a place in its layout."""
    if not layout.size:
        array(x)
        return
    alias, root = t._alias, _root(t)
    if root is not t and alias.how[0] == "unknown":
        as_view(x, root, ("unknown", x.shape), None, _UNKNOWN)
        return
    if root is not t or how is None:
        how = _places(layout, root)
        if root is not t and alias.how[0] == "part":
            how = ("part", alias.how[1], how)
    repeats = any(n > 1 and step == 0 for n, step in zip(layout.shape, layout.strides, strict=True))
    refused = _READ_ONLY if repeats or not layout.flags.writeable else None
    as_view(x, root, how, layout, (alias.refused if root is not t else None) or refused)


def as_part(x: Any, t: Tensor, name: str) -> Any:
    """Return the real or imaginary part of an array as a view of it."""
    if not _SETTINGS["views"] or not _has_views(t):
        return x
    if not t.dtype.is_complex:
        if name == "imag":
            return _with_layout(refuse_writes(x, _READ_ONLY), _layout(t).imag)
        _make_view(x, t, _layout(t))
        return x
    alias, layout, root = t._alias, _layout(t), _root(t)
    how = _places(layout, t) if root is t else alias.how
    return as_view(x, root, ("part", name, how), layout, alias.refused if root is not t else None)


_MAY_BE_VIEWS = frozenset(
    getattr(np, name)
    for name in """
    reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays diagonal diag flip fliplr flipud rot90
    split array_split hsplit vsplit dsplit unstack asarray asanyarray ascontiguousarray asfortranarray
    asarray_chkfinite array copy nan_to_num require from_dlpack
    """.split()
    if hasattr(np, name)
) | {np.linalg.diagonal, np.linalg.matrix_transpose}
"""NumPy's functions that may return a view or an argument."""

_TURNED = frozenset(
    (np.apply_along_axis, np.cross, np.linalg.cross, np.delete, np.geomspace, np.logspace, np.histogramdd)
    + (np.nanpercentile, np.nanquantile, np.percentile, np.quantile)
)
"""Functions whose results may not lie in C order even if their arguments do."""

_WITHOUT_AXES = frozenset(
    (np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.block, np.cov, np.cross, np.i0, np.isin, np.pad)
    + (np.roll, np.tensordot, np.where, np.linalg.tensorsolve)
)
"""Functions that return arrays without axes, and not numbers."""

_THEMSELVES = frozenset((np.diff, np.real_if_close, np.polyder, np.polyint, np.linalg.matrix_power))
"""Functions that return the argument itself where nothing has to be done."""

_PARTS = (np.real, np.imag)

_VIEW_METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np.ndarray, name)
        for name in "reshape ravel transpose squeeze swapaxes diagonal flatten copy conj conjugate".split()
    },
    "view": lambda layout, *shape: layout.reshape(*shape),
    "expand_dims": np.expand_dims,
    "broadcast_to": lambda layout, *shape: np.broadcast_to(layout, shape[0] if len(shape) == 1 else shape),
}
"""Methods that may return a view, as functions of a layout."""

_METHODS = frozenset(
    """
    adjoint all any argmax argmin argsort astype clip cumprod dot max mean min prod ptp round searchsorted std
    sum take trace var choose compress partition
    """.split()
)
"""Methods of NumPy's arrays that return new ones."""

_OTHERWISE = frozenset(("repeat", "nonzero", "cumsum"))
"""Methods that do something else in MindSpore than in NumPy."""

_REDUCTIONS = frozenset("all any max mean min prod ptp std sum var".split())
"""Methods that reduce all axes in MindSpore for ``axis=()``."""

_IN_PLACE = frozenset(("fill", "sort"))
"""Methods that change a NumPy array and return nothing. A tensor's methods return a result and leave the tensor as it
is.
"""


def _layouts(x: Any, met: list[Tensor], known: list[np.ndarray], doubtful: bool = False) -> Any:
    """Replace tensors in arguments by their layouts, and add both to lists.

    With `doubtful`, unknown layouts are taken to be in C order, and layouts of real or imaginary parts get gaps.
    """
    if isinstance(x, Tensor):
        met.append(x)
        layout = _layout(x)
        if doubtful and layout.dtype == np.int8:
            layout = _if_in_rows(x, layout)
        if doubtful and _is_part(x):
            layout = _with_gaps(layout)
        known.append(layout)
        return layout
    if type(x) in (tuple, list):
        return type(x)([_layouts(item, met, known, doubtful) for item in x])
    return x


def _if_in_rows(t: Tensor, layout: np.ndarray) -> np.ndarray:
    """The layout that a tensor would have if an unknown layout, taken to be in Fortran order, were in C order."""
    root = t if t._alias.how is None or t._alias.how[0] == "unknown" else _root(t)
    if not t.size:
        return np.empty(t.shape, layout.dtype)
    first = _distance(_layout(root), layout)
    second = [first + step * (n > 1) for n, step in zip(layout.shape, layout.strides, strict=True)]
    places = np.ravel_multi_index(np.unravel_index([first, *second], root.shape, order="F"), root.shape)
    return new_layout(t.shape, tuple((places[1:] - places[0]).tolist()), layout.dtype)


def _is_part(t: Tensor) -> bool:
    """True if a tensor is a view of real or imaginary parts: every second number in memory."""
    alias = t._alias
    return alias is not None and alias.root is not None and alias.how[0] == "part"


def _with_gaps(layout: np.ndarray) -> np.ndarray:
    """A layout of the same shape with twice the strides."""
    return new_layout(layout.shape, tuple([2 * step for step in layout.strides]), layout.dtype)


def _leaves(x: Any) -> Iterator[Any]:
    """The leaves of nested tuples and lists."""
    if isinstance(x, tuple | list):
        for item in x:
            yield from _leaves(item)
    else:
        yield x


def arrays_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    """Mark the result of a NumPy function of tensors: views where NumPy returns views, else arrays."""
    if not _SETTINGS["views"] or (isinstance(function, np.ufunc) and _engine.is_new_array(found, args)):
        return found
    tensors = [x for x in _leaves((args, list(kwargs.values()))) if isinstance(x, Tensor)]
    if function in _PARTS and len(tensors) == 1 and isinstance(found, Tensor):
        return as_part(found, tensors[0], function.__name__)
    if function is np.real_if_close and tensors and tensors[0].dtype.is_complex and not found.dtype.is_complex:
        return as_part(found, tensors[0], "real")
    if tensors and (
        function in _MAY_BE_VIEWS
        or (function is np.einsum and len(tensors) == 1)
        or (function is np.meshgrid and kwargs.get("copy") is False)
    ):
        return _with_views(function, args, kwargs, found)
    if function in _THEMSELVES and len(tensors) == 1 and _is_argument(function, args, kwargs):
        return array(tensors[0])
    return _new_arrays(function, args, kwargs, tensors, found)


def _is_argument(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    known: list[np.ndarray] = []
    try:
        made = function(*_layouts(args, [], known), **_of_layouts(kwargs, [], known))
    except Exception:  # layouts hold arbitrary numbers
        return False
    return made is known[0]


def _with_views(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    met: list[Tensor] = []
    known: list[np.ndarray] = []
    settings = {k: x for k, x in kwargs.items() if k != "dtype"}
    try:
        made = function(*_layouts(args, met, known), **_of_layouts(settings, met, known))
        sources = _sources(made, known)
        unknown = any(layout.dtype == np.int8 for layout in known)
        if unknown or any(map(_is_part, met)):
            others: list[np.ndarray] = []
            other = function(*_layouts(args, [], others, True), **_of_layouts(settings, [], others, True))
            told = _sources(other, others)
            if unknown and told != sources:
                return _unsure(found, met)
            sources = told
    except Exception:  # NumPy's function refuses arguments that ours takes
        return _unsure(found, met)
    if function is np.broadcast_arrays or function is np.meshgrid:  # NumPy warns of writes into them
        for x in _leaves(made):
            if all(x is not layout for layout in known):
                x.setflags(write=False)
    return _paired(found, made, met, iter(sources))


def _of_layouts(settings: dict[str, Any], *lists: Any) -> dict[str, Any]:
    return {k: _layouts(x, *lists) for k, x in settings.items()}


def _sources(made: Any, layouts: list[np.ndarray]) -> list[int | None]:
    """For each result the place of the layout in which it lies, or None."""
    return [
        next(
            (k for k, layout in enumerate(layouts) if isinstance(x, np.ndarray) and np.may_share_memory(x, layout)),
            None,
        )
        for x in _leaves(made)
    ]


def _paired(found: Any, made: Any, met: list[Tensor], sources: Iterator[int | None]) -> Any:
    """Mark results by comparing them with the results of the same call on layouts."""
    if isinstance(found, tuple | list):
        if isinstance(made, tuple | list) and len(made) == len(found):
            return type(found)([_paired(one, other, met, sources) for one, other in zip(found, made, strict=True)])
        return _unsure(found, met)
    k = next(sources)
    if not isinstance(found, Tensor):
        return found
    if not isinstance(made, np.ndarray) or made.shape != found.shape:
        return _unsure(found, met) if found.ndim else found
    source = None if k is None or not _has_views(met[k]) or met[k].dtype is not found.dtype else met[k]
    if any(found is t for t in met):
        if source is not None:
            return array(found)
        found = +found
    if source is None:
        return _with_layout(array(found), made)
    _make_view(found, source, made)
    return found


def _has_views(t: Tensor) -> bool:
    """True if a function may return a view of a tensor; a tensor without axes that is not an array is a number."""
    return t._is_array or t.ndim > 0


def _unsure(found: Any, met: list[Tensor]) -> Any:
    """Mark results that may be views: an error to write into them, or to read them after the array has changed."""
    if isinstance(found, tuple | list):
        return type(found)([_unsure(x, met) for x in found])
    if isinstance(found, Tensor) and found.ndim and met:
        if any(found is t for t in met):
            found = +found
        elif found._alias is not None and found._alias.root is not None:
            return found
        as_view(found, _root(met[0]), ("unknown", found.shape), None, _UNKNOWN)
    return found


def _with_layout(x: Tensor, made: np.ndarray) -> Tensor:
    """Give a new array the memory layout of another array."""
    if made.ndim > 1 and not lies_in_rows(made):
        set_layout(x, np.empty_like(made))
    elif x._alias is not None and x._alias.layout is not None:
        set_layout(x, None)
    return x


def _new_arrays(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor], found: Any) -> Any:
    """Mark results as arrays of their own."""
    if isinstance(found, tuple | list):
        new = [_new_arrays(function, args, kwargs, tensors, x) for x in found]
        if all(map(lambda one, other: one is other, new, found)):
            return found
        return type(found)(new) if type(found) in (tuple, list) else type(found)(*new)
    if not isinstance(found, Tensor):
        return found
    if any(found is t for t in tensors):
        if kwargs.get("copy") is False or function in (np.histogram, np.histogram_bin_edges):
            return array(found)  # the bins
        found = +found
    if found._alias is not None and found._alias.root is not None:
        return found
    if not found.ndim and tensors and function not in _WITHOUT_AXES:
        return found  # a number in NumPy, which cannot be written into
    array(found)
    if found.ndim > 1 and (
        function in _TURNED or not all(map(_engine.in_rows, _leaves((args, list(kwargs.values())))))
    ):
        _lay_out(function, args, found)
    return found


def _lay_out(function: Any, args: tuple[Any, ...], found: Tensor) -> None:
    """Give a new array the layout that NumPy's result would have."""
    if not isinstance(function, np.ufunc):
        _not_known(found)
    elif function.signature is None:
        _with_layout(found, _ordered(_layouts(args, [], []), found.shape))
    elif function is not np.matmul or max(map(np.ndim, args)) > 2:  # of two matrices: in C order
        _not_known(found)


def _not_known(found: Tensor) -> None:
    set_layout(found, np.empty(found.shape, np.int8, order="F"))


def _ordered(operands: tuple[Any, ...], shape: tuple[int, ...]) -> np.ndarray:
    """The layout that a ufunc allocates for its result."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    made = np.nditer(  # type: ignore[call-overload]
        [*arrays, None], ["zerosize_ok", "reduce_ok"], flags, order="K", op_dtypes=[None] * len(arrays) + [np.bool_]
    ).operands[-1]
    unknown = any(x.dtype == np.int8 for x in arrays)
    return np.empty(shape, np.int8, order="F") if unknown or made.shape != shape else made


def _operators_result(found: Tensor, operands: tuple[Any, ...]) -> None:
    if found.ndim > 1:
        _with_layout(found, _ordered(_layouts(operands, [], []), found.shape))


_engine.LAID_OUT += [_operators_result, _not_known]


def axes_in_memory(name: str, t: Tensor) -> list[int]:
    """The axes of a tensor by falling stride in memory. RuntimeError if the order is not known."""
    layout = _layout(t)
    repeated = any(n > 1 and step == 0 for n, step in zip(layout.shape, layout.strides, strict=True))
    if repeated or (layout.dtype == np.int8 and not lies_in_rows(layout)):
        raise RuntimeError(
            f"{name}: the order of a tensor of shape {t.shape} in memory is not known; copy it (x.copy())"
        )
    return sorted(range(t.ndim), key=lambda axis: -abs(layout.strides[axis]))


def order_in_memory(name: str, t: Tensor) -> str:
    """The meaning of order="A" for a tensor: "F" if its columns lie in memory one after another, else "C"."""
    axes_in_memory(name, t)
    return "F" if _layout(t).flags.fnc and not _is_part(t) else "C"


def followed(name: str, method: Any) -> Any:
    """Wrap a method of `Tensor` so that it follows NumPy's method of that name for arrays."""
    if name in _IN_PLACE:
        return _in_place_if_dropped(name, method)
    if not callable(method) or name not in _METHODS | _OTHERWISE | _VIEW_METHODS.keys():
        return method

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if self._alias is None or not self._is_array:
            return method(self, *args, **kwargs)
        if _means_otherwise(name, args, kwargs):
            if name == "reshape":
                args = (args[0] if len(args) == 1 else args,)
            return getattr(np, name)(self, *args, **kwargs)
        return _of_method(name, self, args, kwargs, method(self, *args, **kwargs))

    return call


def _means_otherwise(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True if a call of a method has another meaning in NumPy than in MindSpore, or a meaning in NumPy only."""
    if name in _OTHERWISE:
        return True
    if name in ("reshape", "ravel"):
        return bool(kwargs) or (name == "ravel" and bool(args))
    axis = kwargs.get("axis", args[0] if args else None)
    return name in _REDUCTIONS and type(axis) is tuple and not axis


def _of_method(name: str, t: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> Any:
    if name == "astype":
        if kwargs.get("copy") is False and found.dtype is t.dtype:
            return t
        return _with_layout(array(+found if found is t else found), np.empty_like(_layout(t)))
    of_layouts = _VIEW_METHODS.get(name)
    if of_layouts is None or (name in ("conj", "conjugate") and t.dtype.is_complex):
        return _new_arrays(name, (t, *args), kwargs, [t], found)
    return _with_views(of_layouts, (t, *args), kwargs, found)


def _in_place_if_dropped(name: str, method: Any) -> Any:
    """Wrap a method so that it changes an array in place, as NumPy's does, if the caller drops the result."""

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not self._is_array or not _is_dropped(sys._getframe(1)):
            return method(self, *args, **kwargs)
        with one_step(self):
            self[...] = np.sort(self, *args, **kwargs) if name == "sort" else method(self, *args, **kwargs)
        return None

    return call


def _is_dropped(frame: Any) -> bool:
    """True if the caller drops the result of the call that its frame executes."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and dis.opname[code[at]] == "CACHE":
        at += 2
    return at < len(code) and dis.opname[code[at]] == "POP_TOP"
