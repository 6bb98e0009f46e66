"""Steps on values: the computation of a piece of machine code, before it becomes text.

Design
------
A value is the number of one result, in the order of the steps. Superinstructions are split into single steps.

*Zero absorbs.* Nearly half of the steps of a derivative are products in which zero absorbs. They use the quicker bodies
of their rows, which are right unless they give nan; then the instructions compute the whole piece. Not every product
needs a check: if a step that passes nan on reads the value, checking that step's result suffices.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from .._engine.transforms.tensor import OPCODES
from ._expressions import Tree, keeps_nan, tree_of

__all__ = ["FUSED", "TYPES", "Steps"]

#: Types by NumPy type number.
TYPES = {11: "float", 12: "double"}

#: The operations of superinstructions, numbered as in executor/fused.h; the last swaps its operands.
FUSED = tuple(OPCODES[name] for name in ("mul", "absorb_mul", "add", "sub", "sub"))
_EXCHANGED = len(FUSED) - 1

#: Kinds of values without a tree: "cosine" is the second result of the preceding "circle".
OPAQUE = ("read", "constant", "call", "function", "circle", "cosine", "wide")


class Steps:
    """Values, and how they are computed.

    Attributes
    ----------
    steps
        (value, type, how, operands), in order. `how` is a tree, or one of `OPAQUE` with a detail.
    types
        The type of each value.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[int, str, tuple[Any, ...], tuple[int, ...]]] = []
        self.types: list[str] = []
        self._doubtful: list[int] = []

    def _add(self, typenum: int, how: tuple[Any, ...], operands: tuple[int, ...] = ()) -> int:
        value = len(self.types)
        self.types.append(TYPES[typenum])
        self.steps.append((value, TYPES[typenum], how, operands))
        return value

    def read(self, typenum: int, place: Any) -> int:
        """Add a value that is read from a place."""
        return self._add(typenum, ("read", place))

    def constant(self, typenum: int, number: float) -> int:
        """Add a constant."""
        return self._add(typenum, ("constant", number))

    def apply(self, op: int, typenum: int, operands: tuple[int, ...]) -> int | None:
        """Add the result of a primitive; None if its row has no tree."""
        exact, quick = tree_of(op, typenum), tree_of(op, typenum, quick=True)
        if exact is None or quick is None:
            return None
        value = self._add(typenum, quick, operands)
        if quick != exact:
            self._doubtful.append(value)
        return value

    def call(self, typenum: int, loop: int, operands: tuple[int, ...]) -> int:
        """Add the result of a compiled loop, by its number in the table of loops."""
        return self._add(typenum, ("call", loop), operands)

    def function(self, typenum: int, number: int, operand: int) -> int:
        """Add the result of a compiled function of one number, by its number in the table."""
        return self._add(typenum, ("function", number), (operand,))

    def wide(self, typenum: int, name: str, operand: int) -> int:
        """Add the result of a compiled function of one vector, by its name."""
        return self._add(typenum, ("wide", name), (operand,))

    def circle(self, typenum: int, number: int, operand: int) -> tuple[int, int]:
        """Add sine and cosine, by the number of the function that computes both."""
        sine = self._add(typenum, ("circle", number), (operand,))
        return sine, self._add(typenum, ("cosine",))

    def fused(self, typenum: int, fusion: tuple[Any, ...], operands: tuple[int, ...], factor: float | None) -> int:
        """Add the result of a superinstruction (inner, outer, second), times a factor."""
        inner, outer, second = fusion
        result = self._one(inner, typenum, operands[0], operands[1])
        if outer >= 0:
            right = operands[2] if second < 0 else self._one(second, typenum, operands[2], operands[3])
            result = self._one(outer, typenum, result, right)
        if factor is not None:
            result = self._one(0, typenum, result, self.constant(typenum, factor))
        return result

    def _one(self, operation: int, typenum: int, x: int, y: int) -> int:
        found = self.apply(FUSED[operation], typenum, (y, x) if operation == _EXCHANGED else (x, y))
        if found is None:
            raise NotImplementedError(f"the row of opcode {FUSED[operation]} has no tree")
        return found

    def watched(self) -> Iterator[int | None]:
        """The values to check: if none of them is nan, no absorbing product is. None after each piece of work."""
        doubtful = set(self._doubtful)
        seen: set[int] = set()  # values whose nan would reach a checked value
        for value, _, how, operands in reversed(self.steps):
            if value in doubtful and value not in seen:
                seen.add(value)
                yield value
            if value in seen and how[0] not in OPAQUE and passes_on(how):
                seen.update(operands)
            if value % 256 == 255:
                yield None


@functools.cache
def passes_on(tree: Tree) -> bool:
    """True if nan in any operand of a tree gives nan. Every operand occurs in the tree."""
    return keeps_nan(tree)
