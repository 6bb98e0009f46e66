"""Signs of zero: drops additions of zero that cannot change any result.

Design
------
A product in which zero absorbs is never -0, so it is written x * y + 0. Nearly half of the steps of a derivative are
such products, and most of them are terms of sums. A sum with a term that is not -0 does not depend on the sign of a
zero. So the addition can go if the sign of the product's zero has no effect.

Each value needs two facts. *Positive*: its zero is never -0, either for certain, or as long as its sign is seen, since
an addition of zero stays then. *Seen*: the sign of its zero reaches a stored result, a divisor or a function. A forward
pass finds the first fact, and a backward pass the second. A product is decided after all steps that read it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ._expressions import Tree
from ._steps import OPAQUE, Steps

__all__ = ["without_zeros"]

UNKNOWN, WHILE_SEEN, CERTAIN = range(3)  # degrees of "its zero is never -0"
PAUSE = 64  # steps between pauses


def without_zeros(steps: Steps, stored: Iterable[int]) -> Iterator[None]:
    """Drop additions of zero, in place. Yields after each small piece of work.

    Parameters
    ----------
    steps
        The steps of one function.
    stored
        The values that the function stores.
    """
    signs = _Signs(steps, stored)
    for value in range(len(steps.steps)):
        signs.judge(value)
        if value % PAUSE == PAUSE - 1:
            yield
    for value in reversed(range(len(steps.steps))):
        signs.decide(value)
        if value % PAUSE == 0:
            yield


def _adds_zero(tree: Tree) -> bool:
    """True if a tree is a product plus 0."""
    return tree[0] == "add" and tree[1][0] == "mul" and tree[2] == ("number", 0.0)


class _Signs:
    """Facts about the signs of zeros."""

    def __init__(self, steps: Steps, stored: Iterable[int]) -> None:
        self.steps = steps.steps
        self.positive: list[int] = []
        self.seen = [False] * len(self.steps)
        for value in stored:
            self.seen[value] = True

    def judge(self, value: int) -> None:
        """Find out if the zero of a value is positive."""
        _, _, how, operands = self.steps[value]
        if how[0] in OPAQUE:
            self.positive.append(_of_number(how[1]) if how[0] == "constant" else UNKNOWN)
        else:
            self.positive.append(WHILE_SEEN if _adds_zero(how) else self.of_tree(how, operands))

    def of_tree(self, tree: Tree, operands: Sequence[int]) -> int:
        """The degree to which the zero of a tree is positive."""
        kind = tree[0]
        if kind == "x":
            return self.positive[operands[tree[1]]]
        if kind == "number":
            return _of_number(tree[1])
        if kind == "add":
            return max(self.of_tree(part, operands) for part in tree[1:])
        if kind in ("sub", "sqrt"):
            return self.of_tree(tree[1], operands)
        return CERTAIN if kind == "fabs" or (kind == "mul" and tree[1] == tree[2]) else UNKNOWN

    def decide(self, value: int) -> None:
        """Drop an addition of zero if it has no effect, and mark the operands whose sign is seen."""
        number, element, how, operands = self.steps[value]
        if how[0] in OPAQUE:
            for operand in operands:
                self.seen[operand] = True
            return
        if _adds_zero(how) and not self.seen[value]:
            how = how[1]
            self.steps[value] = number, element, how, operands
        self.look(how, operands, self.seen[value])

    def look(self, tree: Tree, operands: Sequence[int], seen: bool) -> None:
        """Mark the operands of a tree whose sign is seen, if the sign of the tree's zero is `seen`."""
        kind = tree[0]
        if kind == "x":
            self.seen[operands[tree[1]]] |= seen
        elif kind == "add":
            self.look_at_sum(tree[1], tree[2], operands, seen)
        elif kind == "sub":
            self.look(tree[1], operands, seen)
            self.look(tree[2], operands, seen and not self.of_tree(tree[1], operands))
        elif kind == "div":
            self.look(tree[1], operands, seen)
            self.look(tree[2], operands, True)
        elif kind in ("mul", "neg", "sqrt"):
            for part in tree[1:]:
                self.look(part, operands, seen)
        elif kind == "choose":
            self.look(tree[1], operands, False)
            self.look(tree[2], operands, seen)
            self.look(tree[3], operands, seen)
        elif kind != "number":  # truths, and fabs
            for part in tree[1:]:
                self.look(part, operands, False)

    def look_at_sum(self, a: Tree, b: Tree, operands: Sequence[int], seen: bool) -> None:
        """Mark the terms of a sum. If one zero is positive, the sign of the second term's zero has no effect."""
        if self.of_tree(a, operands) < self.of_tree(b, operands):
            a, b = b, a
        self.look(a, operands, seen)
        self.look(b, operands, seen and not self.of_tree(a, operands))


def _of_number(number: float) -> int:
    return CERTAIN if number != 0 or math.copysign(1.0, number) > 0 else UNKNOWN
