"""NumPy names other than functions of arrays, which code written for NumPy also uses.

Concrete scalar classes are types of this library under NumPy's name (`np.double`, `np.intp`). Abstract classes, and
names for types, settings or random numbers, are NumPy's own: ``np.issubdtype(x.dtype, np.floating)`` works, and draws
of `random` are arrays, which are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import as_dtype
from ..ops._arguments import alike, new_shape, to_shape, together
from ..ops.index._views import array
from ..ops.shape.reshaping import cat
from ..tensor import Tensor
from ._arguments import array_like, beside_tensors, tensors_among
from ._creation import tensor_of

__all__ = ["NAMES"]


def _types() -> dict[str, Any]:
    """The scalar classes: a type of this library if there is one, else NumPy's class."""
    found: dict[str, Any] = {}
    for name, value in vars(np).items():
        if name.startswith("_") or not isinstance(value, type) or not issubclass(value, np.generic):
            continue
        try:
            found[name] = as_dtype(value)
        except TypeError:
            found[name] = value
    return found


class _Grid:
    """NumPy's `mgrid` or `ogrid`, whose arrays become tensors."""

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __getitem__(self, key: Any) -> Any:
        found = self._grid[key]
        return tuple(map(_made, found)) if isinstance(found, tuple | list) else _made(found)


class _Joined:
    """NumPy's `r_` or `c_`: joins pieces in brackets along the first axis or as columns; derivatives pass."""

    def __init__(self, name: str, columns: bool) -> None:
        self._name = name
        self._columns = columns

    def __getitem__(self, key: Any) -> Tensor:
        pieces = key if isinstance(key, tuple) else (key,)
        plain = beside_tensors(tensors_among(pieces))
        joined = together(f"np.{self._name}", *[self._piece(x, plain) for x in pieces])
        return array(cat(alike([self._with_axes(x) for x in joined]), -1 if self._columns else 0))

    def _piece(self, x: Any, plain: Any) -> Any:
        if isinstance(x, str):
            raise TypeError(
                f"np.{self._name}: {x!r} is a directive, which is not supported with Tensors; concatenate, stack and "
                "column_stack say what is joined where"
            )
        return _made(np.r_[x]) if isinstance(x, slice) else array_like(f"np.{self._name}", x, plain)

    def _with_axes(self, x: Tensor) -> Tensor:
        if self._columns and x.ndim < 2:
            return to_shape(x, (x.size, 1))
        return x if x.ndim else to_shape(x, (1,))


def _made(numbers: Any) -> Any:
    """Convert new numbers to a tensor: floats get the default type, as from `linspace`."""
    return array(tensor_of(numbers, float if numbers.dtype == np.float64 else None))


class _Arrays(type):
    """The metaclass that answers `isinstance` for `ndarray`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor | np.ndarray)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Tensor | np.ndarray)


class ndarray(metaclass=_Arrays):
    """The class of arrays, for `isinstance` and annotations: Tensors and NumPy's arrays of any shape.

    A call with a shape makes a tensor of zeros.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import dualgrad.numpy as mnp
    >>> isinstance(dg.Tensor([1.0]), mnp.ndarray), isinstance(1.0, mnp.ndarray)
    (True, False)
    """

    def __new__(cls, shape: Any, dtype: Any = float) -> Any:
        return tensor_of(np.zeros(new_shape("np.ndarray", shape), as_dtype(dtype).numpy), dtype)

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


_TOOLS = (
    "ScalarType", "dtype", "errstate", "exceptions", "get_printoptions", "geterr", "index_exp", "isscalar",
    "issubdtype", "iterable", "little_endian", "ndindex", "printoptions", "random", "s_",
    "set_printoptions", "seterr", "testing", "typecodes", "ufunc",
)  # fmt: skip
"""NumPy's own names for types, settings, places and random numbers."""

NAMES: dict[str, Any] = {
    **_types(),
    **{name: getattr(np, name) for name in _TOOLS},
    "False_": False,
    "True_": True,
    "c_": _Joined("c_", True),
    "mgrid": _Grid(np.mgrid),
    "ndarray": ndarray,
    "ogrid": _Grid(np.ogrid),
    "r_": _Joined("r_", False),
}
