"""Colours for the columns or rows of a sparse matrix, and the position of each entry in the products.

Adding up the columns of each colour leaves a matrix with one column for each colour. In it each entry stands alone at
least once. `Colouring` records the position; the algorithms are in `_engine/sparse/colouring.pyx`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._engine.sparse.colouring import colour_columns, colour_stars
from .._engine.sparse.index_sets import transposed_family
from .patterns import Pattern

__all__ = ["ORDERINGS", "Colouring", "colour_hessian", "colour_jacobian"]

ORDERINGS = ("natural", "largest_first", "smallest_last", "incidence_degree")

_MOST_WORK = 1 << 30  # above this many steps, "best" tries only one order


@dataclass(frozen=True)
class Colouring:
    """The columns (or rows) to add up, and the positions of the entries in the products.

    Attributes
    ----------
    kind
        ``columns``, ``rows`` or ``stars`` (columns of a symmetric matrix).
    colours
        The colour of each column or row; -1 where it needs none.
    count
        The number of colours.
    ordering
        The order of vertices that led to it.
    source, target, bounds
        Colour k serves the entries ``target[bounds[k]:bounds[k + 1]]``, which are the elements ``source[...]`` of its
        product.
    """

    kind: str
    colours: np.ndarray
    count: int
    ordering: str
    source: np.ndarray
    target: np.ndarray
    bounds: np.ndarray

    def seeds(self) -> Iterator[np.ndarray]:
        """Yield for each colour a mask of its columns or rows."""
        for k in range(self.count):
            yield self.colours == k


def _colouring(kind: str, ordering: str, colours: np.ndarray, of_entry: np.ndarray, source: np.ndarray) -> Colouring:
    """Sort the entries by colour. Drops colours from which no entry is read."""
    used = np.bincount(of_entry, minlength=int(colours.max(initial=-1)) + 1)
    number = np.where(used > 0, np.cumsum(used > 0) - 1, -1)
    count = int(np.count_nonzero(used))
    by_colour = np.argsort(number[of_entry].astype(np.uint16 if count < 1 << 16 else np.int64), kind="stable")
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(used[used > 0])])
    renumbered = np.where(colours >= 0, number[colours], -1) if len(number) else colours
    return Colouring(
        kind, renumbered, count, ordering, source[by_colour].astype(np.int32), by_colour.astype(np.int32), bounds
    )


def _orderings(ordering: str, work: int) -> tuple[str, ...]:
    if ordering != "best":
        return (ordering,)
    return ORDERINGS if work <= _MOST_WORK else ("natural",)


def _work(starts: np.ndarray) -> int:
    """The number of pairs of entries that share a row."""
    return int((np.diff(starts) ** 2).sum())


def _best(pattern: Pattern, other: Pattern, ordering: str) -> tuple[np.ndarray, str]:
    """Colours of the columns of a pattern by the best order; `other` is its transpose."""
    least = int(np.diff(pattern.indptr).max(initial=0))
    if least == pattern.shape[1]:  # a full row: no two columns can share a colour
        return np.arange(least, dtype=np.int64), "natural"
    found: tuple[np.ndarray, str] | None = None
    for order in _orderings(ordering, _work(pattern.indptr)):
        colours = colour_columns(*pattern.sets, *other.sets, order)
        if found is None or colours.max(initial=-1) < found[0].max(initial=-1):
            found = colours, order
        if found[0].max(initial=-1) + 1 <= least:
            break
    assert found is not None
    return found


def colour_jacobian(pattern: Pattern, kind: str = "auto", ordering: str = "best") -> Colouring:
    """Colour the columns or the rows of a Jacobian, whichever need fewer colours; columns if both need the same."""
    other = pattern.transposed()
    found: dict[str, tuple[np.ndarray, str]] = {}
    sides = {"columns": (pattern, other), "rows": (other, pattern)}
    least = {side: int(np.diff(mine.indptr).max(initial=0)) for side, (mine, _) in sides.items()}
    if kind == "auto":  # skip a side that cannot need fewer colours
        first = "rows" if least["rows"] < least["columns"] else "columns"
        second = "columns" if first == "rows" else "rows"
        found[first] = _best(*sides[first], ordering)
        if least[second] < found[first][0].max(initial=-1) + 1:
            found[second] = _best(*sides[second], ordering)
        kind = min(sorted(found), key=lambda side: found[side][0].max(initial=-1))
    else:
        found[kind] = _best(*sides[kind], ordering)
    colours, order = found[kind]
    rows, columns = pattern.rows(), pattern.indices
    if kind == "columns":
        return _colouring(kind, order, colours, colours[columns], rows)
    return _colouring(kind, order, colours, colours[rows], columns)


def colour_hessian(pattern: Pattern, ordering: str = "best") -> Colouring:
    """Colour a symmetric pattern by stars."""
    _, _, mates = transposed_family(*pattern.sets, pattern.shape[1])
    rows, columns = pattern.rows(), pattern.indices
    found: tuple[int, str, np.ndarray, np.ndarray, np.ndarray] | None = None
    for order in _orderings(ordering, 0):
        colours, at = colour_stars(*pattern.sets, mates, order)
        of_entry = colours[np.where(at == rows, columns, rows)]
        count = int(np.count_nonzero(np.bincount(of_entry, minlength=1)))
        if found is None or count < found[0]:
            found = count, order, colours, of_entry, at
        if found[0] <= 2 or len(columns) * found[0] > _MOST_WORK // 4:
            break
    assert found is not None
    _, order, colours, of_entry, at = found
    return _colouring("stars", order, colours, of_entry, at)
