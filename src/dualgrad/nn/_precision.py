"""Cells that compute in a type of their own, set by `to_float`.

Such a Cell has an attribute `construct` of its own; other Cells pay nothing. It casts the inputs, and calls the
`construct` of the class with a *view* in place of the Cell: an object that shares its attributes, and reads Parameters
and tensors among them in this type. The type belongs to this object, not to the time of the call. So code that runs
later (a checkpoint, the reverse of a loop) reads the same numbers.

Below a view, Cells are views as well, so that a parent reads the weights of a child in its own type. Calling a view
calls the Cell itself.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgrad._dtypes import DType
from dualgrad._engine.transforms.calls import CellCall
from dualgrad._engine.transforms.custom import call_custom
from dualgrad._engine.transforms.pytrees import with_leaves
from dualgrad._nests import mapped, tensors_in
from dualgrad._seen import SeenParameter, SeenTensor, cast_of, seen, stored
from dualgrad.dtype import promote
from dualgrad.nn._members import Members
from dualgrad.tensor import Tensor

if TYPE_CHECKING:
    from dualgrad.nn.cell import Cell

__all__ = ["Typed", "computing_type", "inner_construct", "kind_of_views", "own_construct", "set_inner_construct"]


class Typed:
    """The `construct` of a Cell with a type of its own; an attribute of that Cell."""

    def __init__(self, cell: Cell, dtype: DType, inner: Callable[..., Any] | None, returned: DType | None) -> None:
        self.cell = cell
        self.dtype = dtype
        self.inner = inner  # hooks, or a checkpoint
        self.returned = returned  # the type of floating results; None leaves them
        self._views: dict[int, Any] = {}  # of the Cell and the Cells below, by their ids

    def __reduce__(self) -> tuple[Any, ...]:
        return Typed, (self.cell, self.dtype, self.inner, self.returned)

    def view(self) -> Any:
        """The view that `construct` gets as its Cell: the same object at each call."""
        return _viewed(self.cell, self.dtype, self._views)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Cell's own construct on inputs of the type."""
        cell = self.cell
        given = _cast_inputs((args, kwargs), self.dtype)
        args, kwargs = given
        before = tensors_in(given)
        bprop = getattr(cell, "bprop", None)
        construct = self.inner or own_construct(cell)
        if callable(bprop) and not getattr(self.inner, "calls_bprop", False):
            bprop = functools.partial(type(cell).bprop, self.view())  # type: ignore[attr-defined]
            output = call_custom(construct, bprop, args, kwargs, name=type(cell).__name__)
        else:
            output = construct(*args, **kwargs)
        self._refuse_changes(given, before)
        return self._finished(output)

    def _refuse_changes(self, given: Any, before: list[Tensor]) -> None:
        """Raise if a list or dict among the inputs, which may be a copy, holds other tensors than before."""
        after = tensors_in(given)
        if len(after) != len(before) or any(x is not y for x, y in zip(after, before, strict=True)):
            raise RuntimeError(
                f"{type(self.cell).__name__}: construct changes a list or dict that it is given, which is a copy where "
                f"the Cell computes in {self.dtype} (to_float); expected it to return what is new"
            )

    def _finished(self, output: Any) -> Any:
        """The output with plain tensors in place of handles, in the returned type."""
        found = tensors_in(output)
        if self.returned is None and not any(isinstance(t, SeenParameter | SeenTensor) for t in found):
            return output
        wanted = self.returned
        return mapped(output, lambda t: _plain(t if wanted is None else cast_of(t, wanted)))


def _plain(t: Tensor) -> Tensor:
    return +t if isinstance(t, SeenParameter | SeenTensor) else t


def _cast_inputs(inputs: Any, dtype: DType) -> Any:
    """Convert tensors and arrays of floating types among the inputs; return the inputs themselves if there are none.

    Parameters stay assignable.
    """
    arrays = False

    def noted(leaf: Any, named: bool) -> Any:
        nonlocal arrays
        arrays = arrays or _is_array(leaf)
        return leaf

    with_leaves(inputs, noted)
    if arrays:
        inputs = with_leaves(inputs, lambda leaf, named: Tensor(leaf) if _is_array(leaf) else leaf)
    if all(not t.dtype.is_float or t.dtype is dtype for t in tensors_in(inputs)):
        return inputs
    return mapped(inputs, lambda t: seen(t, dtype) if t._is_parameter else cast_of(t, dtype))


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"


# ------------------------------------------------------------------------------------------ the place of construct


def inner_construct(cell: Cell) -> Any:
    """The replacement of the class's `construct` inside of the Cell's type; None if it has none."""
    found = cell.__dict__.get("construct")
    return found.inner if isinstance(found, Typed) else found


def set_inner_construct(cell: Cell, construct: Any) -> None:
    """Replace the class's `construct`; the type of the Cell stays around it."""
    found = cell.__dict__.get("construct")
    if isinstance(found, Typed):
        construct = Typed(cell, found.dtype, construct, found.returned)  # a new object, so that guards see it
    object.__setattr__(cell, "construct", construct)


def computing_type(cell: Cell) -> DType | None:
    """The type in which a Cell computes; None if it follows its inputs."""
    found = cell.__dict__.get("construct")
    return found.dtype if isinstance(found, Typed) else None


def own_construct(cell: Cell) -> Callable[..., Any]:
    """The `construct` of the class of a Cell; it reads attributes in the Cell's type."""
    found = cell.__dict__.get("construct")
    if not isinstance(found, Typed):
        return functools.partial(type(cell).construct, cell)
    if cell._computes_as_stored:
        return functools.partial(_as_stored, cell, found.dtype)
    return functools.partial(type(cell).construct, found.view())


def _as_stored(cell: Cell, dtype: DType, *args: Any, **kwargs: Any) -> Any:
    """Compute in the type of the Parameters, if it is wider: statistics would lose too much."""
    wanted = functools.reduce(promote, (p.dtype for p in cell._params.values() if p.dtype.is_float), dtype)
    args, kwargs = _cast_inputs((args, kwargs), wanted)
    return mapped(type(cell).construct(cell, *args, **kwargs), lambda t: cast_of(t, dtype))


# ----------------------------------------------------------------------------------------------------------- views


def _viewed(cell: Any, dtype: DType, views: dict[int, Any]) -> Any:
    """The view of a Cell among `views`; it keeps the Cell, so no other Cell gets its id."""
    found = views.get(id(cell))
    if found is None:
        kind = kind_of_views(type(cell))
        found = CellCall.__new__(kind)
        kind._view.__set__(found, (cell, dtype, views))
        views[id(cell)] = found
    if found.__dict__ is not cell.__dict__:
        object.__setattr__(found, "__dict__", cell.__dict__)
    return found


def kind_of_views(kind: Any) -> Any:
    """The class of the views of Cells of a class; the latter keeps it."""
    found = vars(kind).get("_kind_of_views")
    if found is None:
        for base in kind.__mro__[:-1]:
            if vars(base).get("__slots__") and base is not CellCall:
                raise TypeError(
                    f"{kind.__name__}.to_float: {base.__name__} has __slots__, which a view of a Cell cannot share; "
                    "expected a class without"
                )
        found = _made(kind)
        type.__setattr__(kind, "_kind_of_views", found)
    return found


def _made(kind: Any) -> Any:
    read, write = kind.__getattribute__, kind.__setattr__

    def __getattribute__(self: Any, name: str) -> Any:
        value = read(self, name)
        if name == "_cells":
            _, dtype, views = slot.__get__(self)
            return {each: _below(cell, dtype, views) for each, cell in value.items()}
        if not isinstance(value, Tensor | Members):
            return value
        cell, dtype, views = slot.__get__(self)
        if cell.__dict__.get(name) is not value and getattr(kind, name, None) is not value:
            return value  # the value of a property
        return seen(value, dtype) if isinstance(value, Tensor) else _below(value, dtype, views)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        cell, _, _ = slot.__get__(self)
        value = _behind(stored(value))
        kept = cell._buffers.get(name)
        if kept is not None and isinstance(value, Tensor):
            value = cast_of(value, kept.dtype)
        write(self, name, value)

    around = {"__slots__": ("_view",), "__module__": kind.__module__, "__class__": property(lambda self: kind)}
    made = type(kind)(kind.__name__, (kind,), around)
    slot = made._view
    for name, value in {
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__getattribute__": __getattribute__,
        "__setattr__": __setattr__,
        "__call__": lambda self, *args, **kwargs: slot.__get__(self)[0](*args, **kwargs),
        "__new__": staticmethod(lambda cls, *args, **kwargs: kind(*args, **kwargs)),  # type(self)(...) in a construct
        "__copy__": lambda self: copy.copy(slot.__get__(self)[0]),
        "__deepcopy__": lambda self, memo: copy.deepcopy(slot.__get__(self)[0], memo),
        "__reduce_ex__": lambda self, protocol: slot.__get__(self)[0].__reduce_ex__(protocol),
    }.items():
        type.__setattr__(made, name, value)
    return made


def _below(cell: Any, dtype: DType, views: dict[int, Any]) -> Any:
    """The view of a child; optimisers, which keep their types, have none."""
    return _viewed(cell, dtype, views) if cell._takes_types else cell


def _behind(x: Any) -> Any:
    """The Cell behind a view; anything else is returned unchanged."""
    slot = getattr(type(x), "_view", None) if isinstance(x, Members) else None
    return x if slot is None else slot.__get__(x)[0]
