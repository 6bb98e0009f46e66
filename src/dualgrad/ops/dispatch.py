"""Functions chosen by the types of their arguments, and mapping over nests of tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._dtypes import _BY_NUM, DType
from ..parameter import Parameter
from ..tensor import Tensor

__all__ = ["HyperMap", "MultitypeFuncGraph", "Partial", "partial"]


def _number(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex | np.generic)


def _of_type(dtype: DType, x: Any) -> bool:
    if isinstance(x, np.generic) and type(x).__module__ == "numpy":
        return x.dtype.num == dtype.num
    return str(dtype) == {int: "Int64", float: "Float32", complex: "Complex128"}.get(type(x))


# Names of types: a width (the narrowest type that fits wins), and a predicate.
_TYPES: dict[str, tuple[int, Callable[[Any], bool]]] = {
    "Tensor": (0, lambda x: isinstance(x, Tensor)),
    "Bool": (0, lambda x: isinstance(x, bool | np.bool_)),
    "Int": (0, lambda x: isinstance(x, int | np.integer) and not isinstance(x, bool)),
    "Float": (0, lambda x: isinstance(x, float | np.floating)),
    "Number": (1, _number),
    "String": (0, lambda x: isinstance(x, str)),
    "None": (0, lambda x: x is None),
    "Tuple": (0, lambda x: isinstance(x, tuple)),
    "List": (0, lambda x: isinstance(x, list)),
    "Dictionary": (0, lambda x: isinstance(x, dict)),
    "Type": (0, lambda x: isinstance(x, type | DType)),
    "Function": (1, callable),
    "Any": (2, lambda x: True),
}
_TYPES |= {"NoneType": _TYPES["None"], "TypeNone": _TYPES["None"], "Dict": _TYPES["Dictionary"]}
_TYPES |= {
    "Slice": (0, lambda x: isinstance(x, slice)),
    "Ellipsis": (0, lambda x: x is ...),
    "UInt": (0, lambda x: isinstance(x, np.unsignedinteger)),
    "Parameter": (-1, lambda x: isinstance(x, Parameter)),
    "TypeType": _TYPES["Type"],
}
# Numbers by their size: Python's numbers are Int64 and Float32.
_TYPES |= {str(dtype): (-1, partial(_of_type, dtype)) for dtype in _BY_NUM.values() if str(dtype) not in _TYPES}
# Kinds of tensors that do not exist here: registering for them is allowed, but they never match.
_TYPES |= dict.fromkeys(("RowTensor", "COOTensor", "CSRTensor", "MapTensor"), (0, lambda x: False))


class MultitypeFuncGraph:
    """A function with several bodies; the types of the arguments choose one.

    Parameters
    ----------
    name : str
        The name in errors.
    read_value : bool, default False
        Accepted so that ported code runs; it has no meaning here.

    Raises
    ------
    TypeError
        When it is called with types without a body.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> double = ops.MultitypeFuncGraph("double")
    >>> @double.register("Tensor")
    ... def _(x):
    ...     return x * 2
    >>> @double.register("String")
    ... def _(x):
    ...     return x + x
    >>> print(double(dg.Tensor([1.0])), double("a"))
    [2.] aa
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self.read_value = read_value
        self._bodies: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that adds a body for these types.

        Parameters
        ----------
        *type_names : str or type
            One for each argument: "Tensor", "Parameter", "Number", "Int", "Float", "Bool", "String", "None", "Tuple",
            "List", "Dictionary", "Slice", "Ellipsis", "Type", "Function", "Any"; a number's type such as "Int64" or
            "Float32" (which Python's numbers have) or ``dualgrad.float32``; or a Python class. The narrowest that fits
            is called.

        Raises
        ------
        ValueError
            For an unknown name.
        """
        type_names = tuple(str(kind) if isinstance(kind, DType) else kind for kind in type_names)
        for kind in type_names:
            if not isinstance(kind, type) and kind not in _TYPES:
                raise ValueError(
                    f"MultitypeFuncGraph {self.name!r}: {kind!r} names no type; expected a class or one of "
                    f"{', '.join(_TYPES)}"
                )

        def add(body: Callable[..., Any]) -> Callable[..., Any]:
            self._bodies = [entry for entry in self._bodies if entry[0] != type_names]
            self._bodies.append((type_names, body))
            return body

        return add

    def find(self, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The body for these arguments, or None: the narrowest that fits, and of equals the first."""
        best: tuple[int, Callable[..., Any]] | None = None
        for kinds, body in self._bodies:
            if len(kinds) == len(arguments):
                width = _width(kinds, arguments)
                if width is not None and (best is None or width < best[0]):
                    best = width, body
        return best and best[1]

    def __call__(self, *arguments: Any) -> Any:
        body = self.find(arguments)
        if body is None:
            came = ", ".join(type(x).__name__ for x in arguments)
            known = "; ".join(", ".join(map(str, kinds)) for kinds, _ in self._bodies) or "nothing"
            raise TypeError(f"{self.name}: no body is registered for ({came}); there are bodies for: {known}")
        return body(*arguments)

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


def _width(kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> int | None:
    """The total width of the types; None if an argument does not fit."""
    total = 0
    for kind, x in zip(kinds, arguments, strict=True):
        if isinstance(kind, type):
            width, fits = 0, isinstance(x, kind)
        else:
            width, fits = _TYPES[kind][0], _TYPES[kind][1](x)
        if not fits:
            return None
        total += width
    return total


class HyperMap:
    """Maps a function over nests of tuples, lists and dicts.

    ``HyperMap(fn)(x, y)`` and ``HyperMap()(fn, x, y)`` apply `fn` to the entries of `x` and `y` at the same place, and
    return a nest like the first one. An argument that is not a nest goes to every entry.

    Parameters
    ----------
    ops : callable, optional
        The function; a `MultitypeFuncGraph` may have a body for a whole tuple or list.
    reverse : bool, default False
        Accepted so that ported code runs; the order of the calls has no meaning here.

    Raises
    ------
    ValueError
        If the nests differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> scale = ops.HyperMap(lambda x, c: x * c)
    >>> scale((dg.Tensor([1.0]), [dg.Tensor([2.0])]), 10)
    (Tensor(shape=[1], dtype=Float32, value= [ 1.00000000e+01]),
     [Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+01])])
    """

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise TypeError(f"HyperMap: expected a function, got {type(ops).__name__}")
        self.ops = ops
        self.reverse = reverse

    def __call__(self, *arguments: Any) -> Any:
        fn = self.ops
        if fn is None:
            if not arguments or not callable(arguments[0]):
                raise TypeError("HyperMap: made without a function, so the first argument must be one")
            fn, arguments = arguments[0], arguments[1:]
        if not arguments:
            raise TypeError("HyperMap: nothing to map over; expected a tuple, list or dict")
        return _mapped(fn, arguments)

    def __repr__(self) -> str:
        return "HyperMap()" if self.ops is None else f"HyperMap({self.ops!r})"


def _mapped(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    first = next((x for x in arguments if isinstance(x, tuple | list | dict)), None)
    if first is None or (isinstance(fn, MultitypeFuncGraph) and fn.find(arguments) is not None):
        return fn(*arguments)
    keys = list(first) if isinstance(first, dict) else range(len(first))
    for x in arguments:
        if not _fits(x, first):
            raise ValueError(
                f"HyperMap: a {type(first).__name__} of {len(first)} entries stands beside a "
                f"{type(x).__name__} of {len(x)}; expected nests of one structure"
            )
    entries = [
        _mapped(fn, tuple([x[key] if isinstance(x, tuple | list | dict) else x for x in arguments])) for key in keys
    ]
    if isinstance(first, dict):
        return dict(zip(keys, entries, strict=True))
    return entries if isinstance(first, list) else tuple(entries)


def _fits(x: Any, first: tuple[Any, ...] | list[Any] | dict[Any, Any]) -> bool:
    """True if an argument can be mapped over together with the first nest."""
    if isinstance(x, dict):
        return isinstance(first, dict) and x.keys() == first.keys()
    if isinstance(x, tuple | list):
        return not isinstance(first, dict) and len(x) == len(first)
    return True


class Partial:
    """Primitive class of `partial`: ``ops.Partial()(fn, *args)`` fixes the first arguments of a function.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Partial()(ops.add, 1.0)(dg.Tensor([2.0])))
    [3.]
    """

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> partial[Any]:
        return partial(fn, *args, **kwargs)

    def __repr__(self) -> str:
        return "Partial()"


METHODS: dict[str, Callable[..., Any]] = {}
