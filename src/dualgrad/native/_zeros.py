"""Signs of zero: the steps whose addition of zero can be left out, since nobody sees the difference.

Design
------
A product that absorbs is never -0, so it is written x * y + 0. Nearly half of the steps of a derivative are such
products, and most of them are terms of sums. A sum with something that is not -0 does not depend on the sign of a zero;
neither does the product with it, if its own sign is seen by nobody.

Two facts are needed of each value. *Positive*: whether its zero is never -0; for certain, or as long as its sign is
seen, since an addition of zero stays then. *Seen*: whether the sign of its zero reaches what is stored, a divisor or a
function. The first is found forwards. The second is found backwards, and a product is decided when all that read it
are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ._expressions import Tree
from ._steps import OPAQUE, Steps

__all__ = ["without_zeros"]

UNKNOWN, WHILE_SEEN, CERTAIN = range(3)  # whether a zero is positive
PAUSE = 64  # steps that are looked at without a pause


def without_zeros(steps: Steps, stored: Iterable[int]) -> Iterator[None]:
    """Leave out additions of zero, in place; pauses after each small piece of work.

    Parameters
    ----------
    steps
        The steps of one function.
    stored
        The values that leave it.
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
    """Whether a tree is a product, plus 0."""
    return tree[0] == "add" and tree[1][0] == "mul" and tree[2] == ("number", 0.0)


class _Signs:
    """What is known of the signs of zeros."""

    def __init__(self, steps: Steps, stored: Iterable[int]) -> None:
        self.steps = steps.steps
        self.positive: list[int] = []
        self.seen = [False] * len(self.steps)
        for value in stored:
            self.seen[value] = True

    def judge(self, value: int) -> None:
        """Whether the zero of a value is positive."""
        _, _, how, operands = self.steps[value]
        if how[0] in OPAQUE:
            self.positive.append(_of_number(how[1]) if how[0] == "constant" else UNKNOWN)
        else:
            self.positive.append(WHILE_SEEN if _adds_zero(how) else self.of_tree(how, operands))

    def of_tree(self, tree: Tree, operands: Sequence[int]) -> int:
        """Whether the zero of what a tree gives is positive."""
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
        """Whether an addition of zero can go, and what is seen of the operands."""
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
        """Note what is seen of the operands of a tree, if the sign of its zero is seen or is not."""
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
        """If the zero of one of two terms is positive, the sign of the other's is not seen."""
        if self.of_tree(a, operands) < self.of_tree(b, operands):
            a, b = b, a
        self.look(a, operands, seen)
        self.look(b, operands, seen and not self.of_tree(a, operands))


def _of_number(number: float) -> int:
    return CERTAIN if number != 0 or math.copysign(1.0, number) > 0 else UNKNOWN
