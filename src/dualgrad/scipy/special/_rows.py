"""Definition of special functions as rows: the value from SciPy, the slopes from other functions of the table.

A row has the form of the built-in table's rows (`dualgrad._table`). Its partial derivatives are expressions of rows,
built in or of this table, so derivatives of every order follow by closure, in every mode. Its kernel is a SciPy ufunc,
whose compiled loops are used directly, or a function of NumPy arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..._engine.transforms.extension import add_elementwise
from ..._engine.transforms.tensor import OPCODES, apply, common_type, convert
from ..._table import Row
from ..._table.row import elementwise
from ...ops.math._rows import docstring
from ...tensor import Tensor

__all__ = [
    "HIGHEST", "ORDERS", "Entry", "by_order", "inner", "not_above", "real", "registered", "row_applied", "special",
]  # fmt: skip

#: Separates these rows from primitives that users define; errors show it.
PREFIX = "special_"

#: The highest derivative by parameters that have a row for each derivative.
ORDERS = 6

_CALL = re.compile(r"\b([a-z_]\w*)\(")
_NAMED = {
    "SQRT2": 2.0**0.5,
    "ROOT_PI": float(np.sqrt(np.pi)),
    "ROOT_TWO_PI": float(np.sqrt(2 * np.pi)),
    "PI": float(np.pi),
    "DEGREE": float(np.pi / 180),
    "LN10": float(np.log(10.0)),
}


class Entry(NamedTuple):
    """A row, its kernel, the test intervals and the accuracy.

    `sampled` is an interval for each operand. Where it is smaller than the domain, values outside overflow, underflow
    or have no reference. `within` is the largest error of value and derivatives, in the unit of
    `tests/special_accuracy.py`.
    """

    row: Row
    kernel: Any
    sampled: tuple[tuple[float, float], ...]
    within: float


def special(
    name: str,
    kernel: Any,
    *partials: str | None,
    sampled: tuple[Any, ...] | None = None,
    within: float = 16.0,
    **rest: Any,
) -> Entry:
    """Define a public function."""
    return _entry(name, kernel, partials, sampled, within, function=name, **rest)


def inner(
    name: str,
    kernel: Any,
    *partials: str | None,
    sampled: tuple[Any, ...] | None = None,
    within: float = 16.0,
    **rest: Any,
) -> Entry:
    """Define a function that appears only in slopes."""
    return _entry(name, kernel, partials, sampled, within, **rest)


def _entry(name: str, kernel: Any, partials: Any, sampled: Any, within: float, **rest: Any) -> Entry:
    for constant, number in _NAMED.items():
        partials = tuple([p and re.sub(rf"\b{constant}\b", repr(number), p) for p in partials])
    row = elementwise(name, *partials, **rest)
    limits: Any = sampled or row.domain
    kernel = kernel if isinstance(kernel, np.ufunc) else _in_pieces(kernel)
    return Entry(row, kernel, limits if isinstance(limits[0], tuple) else (limits,), within)


#: The highest degree or order of functions that count up to it.
HIGHEST = 10**7

#: How many elements are computed at once, each at all nodes of a sum.
_PIECE = 8192


def _in_pieces(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Make a kernel from a function of float64 vectors. It may return inf and nan, without warnings."""

    def kernel(*operands: np.ndarray) -> np.ndarray:
        xs = np.broadcast_arrays(*[np.asarray(x, np.float64) for x in operands])
        flat = [x.ravel() for x in xs]
        out = np.empty(flat[0].shape)
        with np.errstate(all="ignore"):
            for i in range(0, out.size, _PIECE):
                out[i : i + _PIECE] = f(*[x[i : i + _PIECE] for x in flat])
        return out.reshape(xs[0].shape)

    return kernel


def not_above(name: str, what: str, values: Any, most: float) -> None:
    """Raise ValueError for a number above a limit, from which on a function takes too many steps."""
    array = np.asarray(values, np.float64)
    largest = np.max(array, initial=0.0, where=~np.isnan(array))
    if largest > most:
        raise ValueError(f"special.{name}: {what} is {largest:g}; expected at most {most:g}")


def by_order(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Make a kernel from a function of an int and arrays: the first operand is a whole number, others give nan."""

    def kernel(order: np.ndarray, *xs: np.ndarray) -> np.ndarray:
        order = np.broadcast_to(order, xs[0].shape)
        out = np.full(order.shape, np.nan)
        for k in np.unique(order[np.isfinite(order)]):
            if k >= 0 and k == int(k):
                here = order == k
                out[here] = f(int(k), *[x[here] for x in xs])
        return out

    return kernel


def registered(entries: Iterable[Entry], module: str) -> dict[str, Callable[..., Tensor]]:
    """Register every row. Returns the public functions by name."""
    entries = list(entries)
    table = {entry.row.name: entry.row for entry in entries}
    made = {}
    for entry in entries:
        row = entry.row
        partials = tuple([p and _with_prefix(p, table) for p in row.partials])
        own = Row(PREFIX + row.name, row.family, row.arity, partials=partials, domain=row.domain, summary=row.summary)
        op = add_elementwise(own, entry.kernel)
        if row.function:
            made[row.function] = _function(op, row, table, module)
    return made


def _with_prefix(text: str, table: dict[str, Row]) -> str:
    return _CALL.sub(lambda found: f"{PREFIX if found[1] in table else ''}{found[1]}(", text)


def _function(op: int, row: Row, table: dict[str, Row], module: str) -> Callable[..., Tensor]:
    name = row.function or row.name

    def settled(*operands: Any) -> Tensor:
        return apply(op, None, *real(name, *operands))

    function: Callable[..., Tensor]
    if row.arity == 1:

        def function(x: Any) -> Tensor:
            return settled(x)
    elif row.arity == 2:

        def function(x: Any, y: Any) -> Tensor:
            return settled(x, y)
    else:

        def function(x: Any, y: Any, z: Any) -> Tensor:
            return settled(x, y, z)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = docstring(row, name, "dualgrad.scipy", "special", table)
    return function


def row_applied(name: str, *operands: Tensor) -> Tensor:
    """Apply a row of the table to tensors of one type."""
    return apply(OPCODES[PREFIX + name], None, *operands)


def real(name: str, *operands: Any) -> list[Tensor]:
    """Convert operands to tensors of their common float type; integers become float32."""
    try:
        common = common_type(*operands)
    except TypeError as error:
        raise TypeError(f"special.{name}: {error}") from None
    if common in _COMPLEX:
        raise TypeError(f"special.{name}: complex operands; expected real ones, such as ops.real(x)")
    if common not in _FLOATS:
        common = _SINGLE
    return [convert(x, common) for x in operands]


_COMPLEX = {np.dtype(code).num for code in "FD"}
_FLOATS = {np.dtype(code).num for code in "efd"}
_SINGLE = np.dtype(np.float32).num
