"""Expression trees of table rows: the C bodies of kernels, parsed.

A tree is a tuple whose first element is its kind:

    ("x", k)                operand number k
    ("number", 1.0)
    ("add", a, b)           also sub, mul, div
    ("neg", a), ("sqrt", a), ("fabs", a)
    ("less", a, b)          also more, same, other: comparisons
    ("or", a, b), ("and", a, b)
    ("choose", c, a, b)

A body with other operations (most functions have them) has no tree; its compiled loop is called instead. Numbers must
be integers, or converted to the type of the operands, since C would compute with others in another type.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from .._table import ROWS

__all__ = ["ABSORB", "QUICK", "Tree", "keeps_nan", "tree_of"]

Tree = tuple[Any, ...]

#: The macros in bodies, as ext/include/vector/registers.h defines them.
ABSORB = "(((x == 0) | (y == 0)) ? 0 : x * y + 0)"
QUICK = "(x * y + 0)"
_MACROS = {"DG_ABSORB(x, y)": ABSORB, "DG_ABSORB_QUICK(x, y)": QUICK}

_TOKEN = re.compile(r"\s*(\(T\)|0x[0-9a-fp]+|[0-9.]+|[A-Za-z_]\w*|==|!=|[-+*/<>|&?:(),])")

# Binary operators, from the lowest precedence up.
_LEVELS = (
    {"|": "or"},
    {"&": "and"},
    {"==": "same", "!=": "other"},
    {"<": "less", ">": "more"},
    {"+": "add", "-": "sub"},
    {"*": "mul", "/": "div"},
)
_TRUTHS = {"or", "and", "same", "other", "less", "more"}
_FUNCTIONS = {"sqrt", "fabs"}
_TYPES = {11: "f32", 12: "f64"}


class _Unknown(Exception):
    """A body contains an operation that trees lack."""


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise _Unknown(text)
            self.tokens.append(match[1])
            at = match.end()
        self.tokens.reverse()

    def sees(self, *words: str) -> bool:
        return bool(self.tokens) and self.tokens[-1] in words

    def take(self, *words: str) -> str:
        if not self.tokens or (words and self.tokens[-1] not in words):
            raise _Unknown(f"{words} expected")
        return self.tokens.pop()

    def whole(self) -> Tree:
        found = self.choice()
        if self.tokens:
            raise _Unknown(f"{self.tokens[-1]} is left over")
        return found

    def choice(self) -> Tree:
        condition = self.level(0)
        if not self.sees("?"):
            return condition
        self.take("?")
        first = self.choice()
        self.take(":")
        if condition[0] not in _TRUTHS:
            raise _Unknown("a number as a condition")
        return "choose", condition, first, self.choice()

    def level(self, k: int) -> Tree:
        if k == len(_LEVELS):
            return self.prefixed()
        found = self.level(k + 1)
        while self.sees(*_LEVELS[k]):
            name = _LEVELS[k][self.take()]
            right = self.level(k + 1)
            if name in ("or", "and") and not (found[0] in _TRUTHS and right[0] in _TRUTHS):
                raise _Unknown("bits of numbers")
            found = name, found, right
        return found

    def prefixed(self) -> Tree:
        if self.sees("-"):
            self.take()
            return "neg", self.prefixed()
        if self.sees("(T)"):
            self.take()
            if self.tokens and self.tokens[-1][0].isdigit():
                return "number", _number(self.take())
            return self.prefixed()
        if self.sees("("):
            self.take()
            found = self.choice()
            self.take(")")
            return found
        return self.plain()

    def plain(self) -> Tree:
        word = self.take()
        if word in ("x", "y", "z"):
            return "x", "xyz".index(word)
        if word.isdigit():
            return "number", float(word)
        if word not in _FUNCTIONS:
            raise _Unknown(word)
        self.take("(")
        found = self.choice()
        self.take(")")
        return word, found


def _number(word: str) -> float:
    return float.fromhex(word) if word.startswith("0x") else float(word)


@functools.cache
def tree_of(op: int, typenum: int, *, quick: bool = False) -> Tree | None:
    """The tree of an opcode's kernel for a type; None if the kernel has no tree.

    `quick` selects the cheaper body of the row, which gives the same number unless it gives nan.
    """
    if op >= len(ROWS) or typenum not in _TYPES:
        return None
    row = ROWS[op]
    body = row.c_quick if quick and row.c_quick else row.c
    if body is None or row.family not in ("elementwise", "constant") or _TYPES[typenum] in row.vector:
        return None
    for macro, meaning in _MACROS.items():
        body = body.replace(macro, meaning)
    try:
        return _Parser(body).whole()
    except _Unknown:
        return None


def keeps_nan(tree: Tree) -> bool:
    """True if nan in any operand gives nan."""
    if tree[0] == "choose" or tree[0] in _TRUTHS:
        return False
    return all(keeps_nan(part) for part in tree[1:] if isinstance(part, tuple))
