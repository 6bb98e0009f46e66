"""The subscripts of Einstein's convention: their syntax, and the axis for which each stands."""

from __future__ import annotations

import functools
import string
from typing import Any, TypeAlias

from .._arguments import integer

DOTS = "..."
LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of the integers that stand for them

Shapes: TypeAlias = tuple[tuple[int, ...], ...]


def separated(equation: Any, operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and the operands, also if each operand is followed by the list of its axes."""
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], tuple | list):
            operands = tuple(operands[0])
        return equation, operands
    arguments = (equation, *operands)
    lists, rest = arguments[1::2], None
    if len(arguments) % 2:
        *arguments, rest = arguments  # type: ignore[assignment]
        lists = arguments[1::2]
    if not lists or not all(isinstance(axes, tuple | list) for axes in lists):
        raise TypeError(
            "einsum: expected an equation such as 'ij,jk->ik' and its operands, or operands that are each followed by "
            f"the list of their axes; got {', '.join(type(x).__name__ for x in (equation, *operands))}"
        )
    inputs = ",".join([_written(axes) for axes in lists])
    return inputs if rest is None else f"{inputs}->{_written(rest)}", tuple(arguments[::2])


def _written(axes: Any) -> str:
    """Write a list of axes as subscripts."""
    if not isinstance(axes, tuple | list):
        raise TypeError(f"einsum: the axes of the result are a {type(axes).__name__}; expected a list of ints")
    found = ""
    for axis in axes:
        if axis is ...:
            found += DOTS
            continue
        number = integer("einsum", "an axis in a list", axis)
        if not 0 <= number < len(LETTERS):
            raise ValueError(f"einsum: axis {number} in {list(axes)}; expected numbers from 0 to {len(LETTERS) - 1}")
        found += LETTERS[number]
    return found


@functools.lru_cache(maxsize=1024)
def read(equation: str, shapes: Shapes) -> tuple[tuple[str, ...], str, dict[str, int]]:
    """The labels of the axes of every operand and of the result, one character each, and the length of each.

    The axes that ``...`` stands for have labels that are not letters, the last one always the same.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    for term in (*terms, right):
        _check(equation, term)
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {equation!r} is for {_many(len(terms), 'operand')}, got {len(shapes)}")
    widths = []
    for k, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        named = len(term.replace(DOTS, ""))
        if named > len(shape) or (named < len(shape) and DOTS not in term):
            raise ValueError(
                f"einsum: the subscripts {term!r} in {equation!r} name {_many(named, 'axis', 'axes')}, but operand {k} "
                f"has shape {shape}"
            )
        widths.append(len(shape) - named)
    most = max(widths)
    dots = "".join([chr(0x2460 + k) for k in range(most)])
    if not arrow:
        letters = left.replace(DOTS, "").replace(",", "")
        right = (DOTS if DOTS in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    inputs = tuple([term.replace(DOTS, dots[most - width :]) for term, width in zip(terms, widths, strict=True)])
    output = right.replace(DOTS, dots)
    for c in output:
        if output.count(c) > 1:
            raise ValueError(f"einsum: the subscript {c!r} comes twice in the result of {equation!r}")
        if not any(c in labels for labels in inputs):
            raise ValueError(f"einsum: the subscript {c!r} in the result of {equation!r} is that of no operand")
    return inputs, output, _lengths(equation, inputs, shapes)


def _many(n: int, one: str, more: str = "") -> str:
    return f"{n} {one if n == 1 else more or one + 's'}"


def _check(equation: str, term: str) -> None:
    """Check that a term consists of letters and at most one ellipsis."""
    for c in term.replace(DOTS, "", 1):
        if c == ".":
            raise ValueError(f"einsum: {term!r} in {equation!r} has a '.' that is not part of a single '...'")
        if c not in LETTERS:
            raise ValueError(f"einsum: {c!r} in {equation!r} is no subscript; expected letters, '...', ',' and '->'")


def _lengths(equation: str, inputs: tuple[str, ...], shapes: Shapes) -> dict[str, int]:
    """The length of the axis of each label; axes of length 1 broadcast, but not along a diagonal."""
    lengths: dict[str, int] = {}
    first: dict[str, int] = {}
    for k, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        here: dict[str, int] = {}
        for c, n in zip(labels, shape, strict=True):
            if here.setdefault(c, n) != n:
                raise ValueError(
                    f"einsum: the subscript {c!r} in {equation!r} stands for axes of lengths {here[c]} and {n} of "
                    f"operand {k}, which has shape {shape}; expected equal lengths"
                )
        for c, n in here.items():
            if lengths.setdefault(c, n) == 1 != n:
                lengths[c] = n
            elif n not in (1, lengths[c]):
                what = f"the subscript {c!r}" if c in LETTERS else "an axis of '...'"
                raise ValueError(
                    f"einsum: {what} in {equation!r} has length {lengths[c]} in operand {first[c]} and {n} in operand "
                    f"{k}; the shapes are {', '.join(map(str, shapes))}"
                )
            if lengths[c] == n:
                first.setdefault(c, k)
    return lengths
