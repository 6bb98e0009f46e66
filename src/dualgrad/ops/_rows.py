"""From a row of the table to a public function and a primitive class, with their docstrings.

A function is one closure on an opcode, a class has its opcode as an attribute and is called in compiled code:
nothing of the row is looked at when they run. Docstrings say what the row says; only the examples are written
here, as numbers that do not come from this library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._engine import tensor as _engine
from .._table import Row
from ..tensor import Tensor

__all__ = ["ElementwisePrimitive", "class_of", "function_of"]

# Row: operands and printed result. Results to six digits, by hand and from the C library.
_EXAMPLES = {
    "add": ("[1.0, 2.0], [10.0, 20.0]", "[11. 22.]"),
    "sub": ("[1.0, 2.0], [10.0, 30.0]", "[ -9. -28.]"),
    "mul": ("[1.0, 2.0], [10.0, 20.0]", "[10. 40.]"),
    "div": ("[1.0, 3.0], [4.0, 2.0]", "[0.25 1.5 ]"),
    "neg": ("[1.0, -2.0]", "[-1.  2.]"),
    "square": ("[3.0, -0.5]", "[9.   0.25]"),
    "reciprocal": ("[4.0, -0.5]", "[ 0.25 -2.  ]"),
    "sqrt": ("[4.0, 6.25]", "[2.  2.5]"),
    "rsqrt": ("[4.0, 0.25]", "[0.5 2. ]"),
    "pow": ("[2.0, 4.0], [3.0, 0.5]", "[8. 2.]"),
    "abs": ("[-1.5, 2.0]", "[1.5 2. ]"),
    "sign": ("[-1.5, 0.0, 2.0]", "[-1.  0.  1.]"),
    "maximum": ("[1.0, 5.0], [3.0, 2.0]", "[3. 5.]"),
    "minimum": ("[1.0, 5.0], [3.0, 2.0]", "[1. 2.]"),
    "mod": ("[7.0, -7.0], [4.0, 4.0]", "[3. 1.]"),
    "fmod": ("[7.0, -7.0], [4.0, 4.0]", "[ 3. -3.]"),
    "floor_divide": ("[7.0, -7.0], [4.0, 4.0]", "[ 1. -2.]"),
    "exp": ("[0.0, 1.0]", "[1. 2.71828]"),
    "expm1": ("[0.0, 1.0]", "[0. 1.71828]"),
    "exp2": ("[3.0, -1.0]", "[8.  0.5]"),
    "log": ("[1.0, 2.0]", "[0. 0.693147]"),
    "log1p": ("[0.0, 1.0]", "[0. 0.693147]"),
    "log2": ("[8.0, 0.5]", "[ 3. -1.]"),
    "log10": ("[10.0, 1000.0]", "[1. 3.]"),
    "sigmoid": ("[0.0, 1.0]", "[0.5       0.731059]"),
    "softplus": ("[0.0, 1.0]", "[0.693147 1.31326]"),
    "relu": ("[-1.0, 2.0]", "[0. 2.]"),
    "sin": ("[0.0, 1.0]", "[0. 0.841471]"),
    "cos": ("[0.0, 1.0]", "[1. 0.540302]"),
    "tan": ("[0.0, 1.0]", "[0. 1.55741]"),
    "sinh": ("[0.0, 1.0]", "[0. 1.1752]"),
    "cosh": ("[0.0, 1.0]", "[1. 1.54308]"),
    "tanh": ("[0.0, 1.0]", "[0. 0.761594]"),
    "asin": ("[0.0, 0.5]", "[0. 0.523599]"),
    "acos": ("[1.0, 0.5]", "[0. 1.0472]"),
    "atan": ("[0.0, 1.0]", "[0. 0.785398]"),
    "atan2": ("[1.0, 0.0], [1.0, -1.0]", "[0.785398 3.14159]"),
    "asinh": ("[0.0, 1.0]", "[0. 0.881374]"),
    "acosh": ("[1.0, 2.0]", "[0. 1.31696]"),
    "atanh": ("[0.0, 0.5]", "[0. 0.549306]"),
    "hypot": ("[3.0, 5.0], [4.0, 12.0]", "[ 5. 13.]"),
    "erf": ("[0.0, 1.0]", "[0. 0.842701]"),
    "erfc": ("[0.0, 1.0]", "[1. 0.157299]"),
    "floor": ("[1.5, -1.5]", "[ 1. -2.]"),
    "ceil": ("[1.5, -1.5]", "[ 2. -1.]"),
    "trunc": ("[1.5, -1.5]", "[ 1. -1.]"),
    "round": ("[0.5, 1.5, -1.6]", "[ 0.  2. -2.]"),
    "gt": ("[1.0, 2.0, 3.0], 2.0", "[False False  True]"),
    "ge": ("[1.0, 2.0, 3.0], 2.0", "[False  True  True]"),
    "lt": ("[1.0, 2.0, 3.0], 2.0", "[ True False False]"),
    "le": ("[1.0, 2.0, 3.0], 2.0", "[ True  True False]"),
    "eq": ("[1.0, 2.0, 3.0], 2.0", "[False  True False]"),
    "ne": ("[1.0, 2.0, 3.0], 2.0", "[ True False  True]"),
    "logical_and": ("[True, True, False], [True, False, False]", "[ True False False]"),
    "logical_or": ("[True, True, False], [True, False, False]", "[ True  True False]"),
    "logical_xor": ("[True, True, False], [True, False, False]", "[False  True False]"),
    "logical_not": ("[True, False]", "[False  True]"),
    "isnan": ('[1.0, float("nan"), float("inf")]', "[False  True False]"),
    "isinf": ('[1.0, float("nan"), float("inf")]', "[False False  True]"),
    "isfinite": ('[1.0, float("nan"), float("inf")]', "[ True False False]"),
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
    """The function that applies a primitive."""
    op = _engine.OPCODES[row.name]
    function = _unary(op, row.name, name) if row.arity == 1 else _binary(op)
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = "\n".join(
        _summary(row) + _operands(row) + _result(row) + _errors(row) + _notes(row) + _example(row, name)
    )
    return function


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
    """The primitive class whose instances apply a primitive, as `function` does."""
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
    return _section("Parameters", "x, y : Tensor, numpy.ndarray or number", f"    Shapes that broadcast; {types}.")


def _result(row: Row) -> list[str]:
    if row.arity == 1:
        text = "The shape of `x`, type Bool." if row.result == "bool" else "The shape and type of `x`."
    else:
        kind = "type Bool" if row.result == "bool" else "the type that both have together"
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


def _notes(row: Row) -> list[str]:
    slopes = [_formula(partial) for partial in row.partials]
    if set(slopes) == {"0"}:
        lines = ["The derivative is 0 everywhere."]
    else:
        each = [f"``{slope}`` by {name}" for slope, name in zip(slopes, "xyz", strict=False)]
        lines = [f"The derivative is {' and '.join(each) if row.arity > 1 else f'``{slopes[0]}``'}."]
        if any("out" in slope for slope in slopes):
            lines[0] = f"{lines[0][:-1]}, where ``out`` is the result."
    if row.slope_note:
        lines.append(f"By convention: {row.slope_note}.")
    limits = [_interval(name, low, high) for name, (low, high) in zip("xyz", row.domain, strict=False)]
    if any(limits):
        lines.append(f"Smooth for {' and '.join(filter(None, limits))}.")
    return _section("Notes", *lines)


def _formula(partial: str | None) -> str:
    text = partial or "0"
    for name, words in ("TWO_OVER_SQRT_PI", "2 / sqrt(pi)"), ("LN2", "log(2)"), ("LN10", "log(10)"), (" - -", " + "):
        text = text.replace(name, words)
    return text


def _interval(name: str, low: float, high: float) -> str:
    def text(end: float) -> str:
        return f"{'-' if end < 0 else ''}pi/2" if abs(end) == math.pi / 2 else f"{end:g}"

    if math.isinf(high):
        return "" if math.isinf(low) else f"{name} > {text(low)}"
    return f"{text(low)} < {name} < {text(high)}"


def _example(row: Row, call: str) -> list[str]:
    if row.name not in _EXAMPLES:
        return []
    operands, printed = _EXAMPLES[row.name]
    wrapped = ", ".join(
        f"dg.Tensor({part})" if part.startswith("[") else part for part in operands.replace("], ", "]; ").split("; ")
    )
    return _section(
        "Examples",
        ">>> import dualgrad as dg",
        ">>> from dualgrad import ops",
        f">>> print(ops.{call}({wrapped}))",
        printed,
    )
