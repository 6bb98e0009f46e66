"""Make a public function and a primitive class, with their docstrings, from a row of the table.

A function is one closure on an opcode, a class has its opcode as an attribute and is called in compiled code: nothing
of the row is read when they run. Docstrings are made from the row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._table import BY_NAME, UNDEFINED, Row
from ...tensor import Tensor

__all__ = ["ElementwisePrimitive", "class_of", "docstring", "function_of"]

_WORDS = {
    "TWO_OVER_SQRT_PI": "2 / sqrt(pi)",
    "HALF_LN2": "log(2) / 2",
    "LN2": "log(2)",
    "LOG2_E": "log2(e)",
    "LOG10_E": "log10(e)",
    " - -": " + ",
}


class ElementwisePrimitive(_engine.PrimitiveCall):
    """The base of primitive classes without settings."""

    __slots__ = ()

    def __init__(self, *settings: Any) -> None:
        if settings:
            name = type(self).__name__
            raise TypeError(
                f"{name}: expected no settings, got {len(settings)}; operands go to the object: {name}()(...)"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def function_of(row: Row, name: str, module: str) -> Callable[..., Tensor]:
    """Make the function that applies a primitive."""
    op = _engine.OPCODES[row.name]
    function = _unary(op, row.name, name) if row.arity == 1 else _binary(op)
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = docstring(row, name)
    return function


def docstring(
    row: Row, name: str, package: str = "dualgrad", home: str = "ops", table: Mapping[str, Row] = BY_NAME
) -> str:
    """The docstring of a function of one row; `home` is its module in `package`, `table` names other rows."""
    parts = (_summary(row), _operands(row), _result(row), _errors(row), _notes(row, table))
    return "\n".join([*itertools.chain(*parts), *_example(row, name, package, home)])


def _unary(op: int, primitive: str, name: str) -> Callable[..., Tensor]:
    apply = _engine.unary

    def function(x: Any) -> Tensor:
        try:
            return apply(op, x)
        except TypeError as error:
            if str(error).startswith(f"{primitive}:"):
                raise
            raise TypeError(f"{name}: {error}") from None

    return function


def _binary(op: int) -> Callable[..., Tensor]:
    apply = _engine.binary_op

    def function(x: Any, y: Any) -> Tensor:
        return apply(op, x, y)

    return function


def class_of(row: Row, name: str, function: str, module: str) -> type[ElementwisePrimitive]:
    """Make the primitive class whose instances apply a primitive, as `function` does."""
    words = f"``{name}()`` makes the primitive; called with operands it does what `{function}` does."
    members = {
        "_opcode": _engine.OPCODES[row.name],
        "_arity": row.arity,
        "__slots__": (),
        "__module__": module,
        "__doc__": "\n".join([*_summary(row), "", words, *_example(row, f"{name}()")]),
    }
    return type(name, (ElementwisePrimitive,), members)


# ----------------------------------------------------------------------------------------------- docstrings


def _section(title: str, *lines: str) -> list[str]:
    return ["", title, "-" * len(title), *lines]


def _summary(row: Row) -> list[str]:
    first = row.summary.split(" ")[0]
    text = row.summary[0].upper() + row.summary[1:] if len(first) > 1 and first.isalpha() else row.summary
    return [text + "."]


def _operands(row: Row) -> list[str]:
    any_type = row.family == "constant" or row.keeps_ints or row.takes_ints
    types = "any type" if any_type else "integers become float32"
    if row.arity == 1:
        return _section("Parameters", "x : Tensor or numpy.ndarray", f"    Any shape; {types}.")
    names = ", ".join("xyz"[: row.arity])
    return _section("Parameters", f"{names} : Tensor, numpy.ndarray or number", f"    Shapes that broadcast; {types}.")


def _result(row: Row) -> list[str]:
    if row.arity == 1:
        text = "The shape of `x`, type Bool." if row.result == "bool" else "The shape and type of `x`."
    else:
        together = "both" if row.arity == 2 else "all"
        kind = "type Bool" if row.result == "bool" else f"the type that {together} have together"
        text = f"The broadcast shape, {kind}."
    return _section("Returns", "Tensor", f"    {text}")


def _errors(row: Row) -> list[str]:
    if row.arity == 1:
        return _section("Raises", "TypeError", "    If `x` is neither a Tensor nor an array.")
    return _section(
        "Raises",
        "ValueError",
        "    If the shapes do not broadcast.",
        "TypeError",
        "    If an operand is something else, or both are numbers.",
    )


def _notes(row: Row, table: Mapping[str, Row]) -> list[str]:
    slopes = [_formula(partial) for partial in row.partials]
    if set(slopes) == {"0"}:
        lines = ["The derivative is 0 everywhere."]
    else:
        each = [f"``{slope}`` by {name}" for slope, name in zip(slopes, "xyz", strict=False) if slope != UNDEFINED]
        lines = [f"The derivative is {' and '.join(each) if row.arity > 1 else f'``{slopes[0]}``'}."]
        if any("out" in slope for slope in slopes):
            lines[0] = f"{lines[0][:-1]}, where ``out`` is the result."
    lines += [f"``{_signature(helper)}`` is {helper.summary}." for helper in _helpers(slopes, table)]
    unknown = [name for slope, name in zip(slopes, "xyz", strict=False) if slope == UNDEFINED]
    lines += [f"No formula is known for the derivative by {name}: it raises NotImplementedError." for name in unknown]
    if row.slope_note:
        lines.append(f"By convention: {row.slope_note}.")
    limits = [_interval(name, low, high) for name, (low, high) in zip("xyz", row.domain, strict=False)]
    if any(limits):
        lines.append(f"Smooth for {' and '.join(filter(None, limits))}.")
    return _section("Notes", *lines)


def _helpers(slopes: list[str], table: Mapping[str, Row]) -> list[Row]:
    """The rows that the derivatives use and that no public function shows."""
    words = "".join([c if c.isalnum() or c in "_(" else " " for slope in slopes for c in (*slope, " ")]).split()
    names = dict.fromkeys([name for word in words for name in word.split("(")[:-1]])
    rows = [table[name] for name in names if name in table]
    return [row for row in rows if row.family in ("elementwise", "constant") and row.example is None]


def _signature(row: Row) -> str:
    return f"{row.name}({', '.join('xyz'[: row.arity])})"


def _formula(partial: str | None) -> str:
    text = partial or "0"
    for name, words in _WORDS.items():
        text = text.replace(name, words)
    return text


def _interval(name: str, low: float, high: float) -> str:
    def text(end: float) -> str:
        return f"{'-' if end < 0 else ''}pi/2" if abs(end) == math.pi / 2 else f"{end:g}"

    if math.isinf(high):
        return "" if math.isinf(low) else f"{name} > {text(low)}"
    return f"{text(low)} < {name} < {text(high)}"


def _example(row: Row, call: str, package: str = "dualgrad", home: str = "ops") -> list[str]:
    if row.example is None:
        return []
    operands, printed = row.example
    wrapped = ", ".join(
        f"dg.Tensor({part})" if part.startswith("[") else part for part in operands.replace("], ", "]; ").split("; ")
    )
    return _section(
        "Examples",
        ">>> import dualgrad as dg",
        f">>> from {package} import {home}",
        f">>> print({home}.{call}({wrapped}))",
        printed,
    )
