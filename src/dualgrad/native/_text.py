"""Text in LLVM's intermediate representation, from steps.

Design
------
One writer serves numbers and vectors: a vector of one lane is a number. It writes no flag that would let the compiler
change a result: no contraction, no reordering, no assumption that numbers are finite.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from ._expressions import Tree
from ._steps import Steps

__all__ = ["BYTES", "Writer"]

BYTES = {"double": 8, "float": 4}

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARISONS = {"less": "olt", "more": "ogt", "same": "oeq", "other": "une"}
_FUNCTIONS = {"sqrt": "sqrt", "fabs": "fabs"}


class Writer:
    """The lines of one function. Values of steps are named `%v<number>`, and `%w<number>` in the second vector."""

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self._next = 0

    def name(self) -> str:
        """A new name."""
        self._next += 1
        return f"%t{self._next}"

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"  {text}")

    def type(self, element: str, lanes: int | None = None) -> str:
        """The name of a type with `lanes` lanes, by default the writer's."""
        lanes = self.lanes if lanes is None else lanes
        return element if lanes == 1 else f"<{lanes} x {element}>"

    def number(self, element: str, number: float) -> str:
        """A constant in every lane."""
        if element == "float":
            number = struct.unpack("f", struct.pack("f", number))[0]
        text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        if self.lanes == 1:
            return text
        return f"<{', '.join([f'{element} {text}'] * self.lanes)}>"

    def tree(self, tree: Tree, element: str, operands: Sequence[str], result: str | None = None) -> str:
        """Write the computation of a tree on some values. Returns the name of the result."""
        kind = tree[0]
        if kind == "x":
            return operands[tree[1]]
        if kind == "number":
            return self.number(element, tree[1])
        if kind in _ARITHMETIC or kind == "neg" or kind in _FUNCTIONS:
            parts = [self._as_number(part, element, operands) for part in tree[1:]]
        elif kind in _COMPARISONS or kind in ("or", "and"):
            parts = [self.tree(part, element, operands) for part in tree[1:]]
        else:
            parts = [self.tree(tree[1], element, operands)]
            parts += [self._as_number(part, element, operands) for part in tree[2:]]
        result = result or self.name()
        self.line(f"{result} = {self._operation(kind, element, parts)}")
        return result

    def _operation(self, kind: str, element: str, parts: Sequence[str]) -> str:
        wide, truth = self.type(element), self.type("i1")
        if kind in _ARITHMETIC:
            return f"{_ARITHMETIC[kind]} {wide} {parts[0]}, {parts[1]}"
        if kind in _COMPARISONS:
            return f"fcmp {_COMPARISONS[kind]} {wide} {parts[0]}, {parts[1]}"
        if kind in ("or", "and"):
            return f"{kind} {truth} {parts[0]}, {parts[1]}"
        if kind == "neg":
            return f"fneg {wide} {parts[0]}"
        if kind == "choose":
            return f"select {truth} {parts[0]}, {wide} {parts[1]}, {wide} {parts[2]}"
        suffix = ("f64" if element == "double" else "f32") if self.lanes == 1 else f"v{self.lanes}f{BYTES[element] * 8}"
        function = f"@llvm.{_FUNCTIONS[kind]}.{suffix}"
        self.intrinsics.add(f"declare {wide} {function}({wide})")
        return f"call {wide} {function}({wide} {parts[0]})"

    def _as_number(self, tree: Tree, element: str, operands: Sequence[str]) -> str:
        """Write a part of an arithmetic expression. A truth value becomes 0 or 1."""
        name = self.tree(tree, element, operands)
        if tree[0] not in _COMPARISONS and tree[0] not in ("or", "and"):
            return name
        found = self.name()
        one, zero, wide = self.number(element, 1.0), self.number(element, 0.0), self.type(element)
        self.line(f"{found} = select {self.type('i1')} {name}, {wide} {one}, {wide} {zero}")
        return found

    def watch(
        self,
        steps: Steps,
        watched: Sequence[int],
        names: Sequence[Sequence[str]],
        masks: Sequence[str] | None = None,
    ) -> str | None:
        """Write one truth value: a checked value is nan in a lane of the mask. None without values to check."""
        found: str | None = None
        for k, name in enumerate(names):
            each: str | None = None
            for element in ("double", "float"):
                for first, second in _pairs([name[v] for v in watched if steps.types[v] == element]):
                    truth = self.name()
                    self.line(f"{truth} = fcmp uno {self.type(element)} {first}, {second}")
                    each = self._joined("or", each, truth)
            if each is not None and masks is not None:
                each = self._joined("and", each, masks[k])
            found = each if each is None else self._joined("or", found, each)
        if found is None or self.lanes == 1:
            return found
        bits, any_of = self.name(), self.name()
        self.line(f"{bits} = bitcast {self.type('i1')} {found} to i{self.lanes}")
        self.line(f"{any_of} = icmp ne i{self.lanes} {bits}, 0")
        return any_of

    def _joined(self, how: str, one: str | None, other: str) -> str:
        if one is None:
            return other
        found = self.name()
        self.line(f"{found} = {how} {self.type('i1')} {one}, {other}")
        return found


def _pairs(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of values; a single last one is paired with itself."""
    for k in range(0, len(values), 2):
        yield values[k], values[min(k + 1, len(values) - 1)]
