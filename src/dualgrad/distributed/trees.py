"""Sums in a fixed order: a binary tree over numbered blocks.

A sum of floating numbers depends on the order of its additions. Here the order follows only from the numbers of the
blocks: node i of level l + 1 is the sum of the nodes 2 i and 2 i + 1 of level l, and level 0 holds the blocks. It does
not matter which worker computes a node. A worker sums the complete nodes inside its own range, and sends the nodes that
it cannot complete: at most two for each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["Arrays", "Tree", "added"]

#: The summands: arrays, matched by position.
Arrays = list[np.ndarray]


def added(a: Arrays, b: Arrays) -> Arrays:
    """Add arrays at the same positions."""
    return [np.asarray(x + y) for x, y in zip(a, b, strict=True)]


class Tree:
    """An unfinished sum of numbered blocks.

    Parameters
    ----------
    count : int
        The number of all blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.distributed.trees import Tree
    >>> left, right = Tree(3), Tree(3)
    >>> left.add(0, [np.float64(1.0)])
    >>> right.add(2, [np.float64(3.0)])
    >>> right.add(1, [np.float64(2.0)])
    >>> left.merged(right).total()
    [array(6.)]
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.nodes: dict[tuple[int, int], Arrays] = {}  # (level, place) -> the sum of its blocks

    def add(self, block: int, arrays: Sequence[np.ndarray]) -> None:
        """Add a block; each may come only once."""
        if not 0 <= block < self.count:
            raise ValueError(f"a sum of {self.count} blocks has no block {block}")
        self._put(0, block, [np.asarray(a) for a in arrays])

    def merged(self, other: Tree) -> Tree:
        """A new sum with the blocks of two others, which stay unchanged, since an engine may repeat the call."""
        if other.count != self.count:
            raise ValueError(f"sums of {self.count} and of {other.count} blocks are not parts of one sum")
        both = Tree(self.count)
        both.nodes = dict(self.nodes)
        for (level, place), arrays in other.nodes.items():
            both._put(level, place, arrays)
        return both

    def total(self) -> Arrays:
        """The sum of all blocks.

        Raises
        ------
        RuntimeError
            If a block is missing.
        """
        if len(self.nodes) != 1 or next(iter(self.nodes))[0] != self._height():
            raise RuntimeError(f"a sum of {self.count} blocks is not complete: it has the nodes {sorted(self.nodes)}")
        return next(iter(self.nodes.values()))

    def _height(self) -> int:
        return max(self.count - 1, 0).bit_length()

    def _put(self, level: int, place: int, arrays: Arrays) -> None:
        """Add a node, and every complete node above it."""
        while True:
            if self._has(level, place):
                raise RuntimeError(f"node {place} of level {level} came twice in a sum of {self.count} blocks")
            if level == self._height():
                break
            beside = place ^ 1
            if (beside << level) < self.count:  # without a sibling the node moves up unchanged
                other = self.nodes.pop((level, beside), None)
                if other is None:
                    break
                arrays = added(other, arrays) if beside < place else added(arrays, other)
            level, place = level + 1, place >> 1
        self.nodes[level, place] = arrays

    def _has(self, level: int, place: int) -> bool:
        """True if a node, or a part of it, is already here."""
        above = any((upper, place >> (upper - level)) in self.nodes for upper in range(level, self._height() + 1))
        return above or any(low < level and at >> (level - low) == place for low, at in self.nodes)
