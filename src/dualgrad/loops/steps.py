"""The inputs and results of the steps of a loop, and checks of the carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._engine.transforms.pytrees import beside, in_words, is_leaf, with_leaves
from .._engine.transforms.rematerialisation import drawn, filled, kept, template_of, tensors_of
from .._nests import matched
from ..ops.axes._joining import concat, stack
from ..ops.axes._turning import flip
from ..ops.index.choice import where
from ..ops.shape.creation import zeros
from ..random import get_state
from ..tensor import Tensor

__all__ = [
    "Counted", "Given", "Listed", "Results", "Stacked", "as_tensors", "check_same", "chosen", "described", "in_order",
    "mapped", "same_rest", "state_of",
]  # fmt: skip

CHUNK = 1024  # most results joined at a time
_COMPARED = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Given:
    """The steps get only the carry. Base of the other sources of inputs."""

    def __init__(self, nest: Any = None) -> None:
        self.tensors: list[Tensor] = tensors_of(nest)
        self.template: Any = None  # template of the input of a step

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors for step k, from the tensors of the loop."""
        return []

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """The input of step k."""
        return None

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from the cotangents of each step's."""
        yield from ()


class Counted(Given):
    """The steps get a number that counts up."""

    def __init__(self, lower: int) -> None:
        super().__init__()
        self.lower = lower

    def nest(self, leaves: list[Tensor], k: int) -> int:
        """The input of step k."""
        return self.lower + k


class Stacked(Given):
    """The steps get slices of each tensor of a nest, along the first axis."""

    def __init__(self, nest: Any) -> None:
        super().__init__(nest)
        self.template: Any = template_of(nest)

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors for step k, from the tensors of the loop."""
        return [t[k] for t in tensors]

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """The input of step k."""
        return filled(self.template, leaves)

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from the cotangents of each step's."""
        for j, t in enumerate(self.tensors):
            found = [terms[k][j] if k in terms else None for k in range(n)]
            if all(term is None for term in found):
                yield None
            else:
                zero = zeros(t.shape[1:], t.dtype)
                yield stacked([zero if term is None else term for term in found])


class Listed(Given):
    """The steps get entries of a list."""

    def __init__(self, entries: list[Any]) -> None:
        super().__init__(entries)
        self.templates: list[Any] = [template_of(entry) for entry in entries]
        self.starts: list[int] = [0]
        for entry in entries:
            self.starts.append(self.starts[-1] + len(tensors_of(entry)))

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors for step k, from the tensors of the loop."""
        return tensors[self.starts[k] : self.starts[k + 1]]

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """The input of step k."""
        return filled(self.templates[k], leaves)

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from the cotangents of each step's."""
        for k in range(n):
            yield from terms.get(k, [None] * (self.starts[k + 1] - self.starts[k]))


def stacked(tensors: list[Tensor]) -> Tensor:
    """Stack many tensors, a chunk at a time."""
    if len(tensors) <= CHUNK:
        return stack(tensors)
    return concat([stack(tensors[i : i + CHUNK]) for i in range(0, len(tensors), CHUNK)])


class Results:
    """The results y of the steps: stacked, or in a list."""

    def __init__(self, name: str, listed: bool) -> None:
        self.name = name
        self.listed = listed
        self.template: Any = None
        self.fields: list[Any] = []
        self.chunks: list[list[Tensor]] = []
        self.recent: list[list[Tensor]] = []
        self.entries: list[Any] = []

    def add(self, y: Any) -> None:
        """Add the results of the next step."""
        if self.listed:
            self.entries.append(y)
            return
        fields: list[Any] = []
        y = as_tensors(y, fields)
        leaves = tensors_of(y)
        if self.template is None:
            self.fields = fields
            self.template = template_of(y)
            self.recent = [[] for _ in leaves]
            self.chunks = [[] for _ in leaves]
        elif len(leaves) != len(self.recent):
            raise ValueError(
                f"{self.name}: a step returned {len(leaves)} tensors to be stacked, the first step {len(self.recent)}; "
                f"expected results of one nesting"
            )
        if len(fields) != len(self.fields) or not all(map(_equal, fields, self.fields)):
            raise ValueError(
                f"{self.name}: a field that holds no Tensor is {fields} in the result of a step, {self.fields} in that "
                f"of the first; expected the same in all steps, return a Tensor to have it stacked"
            )
        for recent, chunks, leaf in zip(self.recent, self.chunks, leaves, strict=True):
            recent.append(leaf)
            if len(recent) == CHUNK:
                chunks.append(stack(recent))
                recent.clear()

    def finished(self, reverse: bool) -> Any:
        """All results, in the order of the inputs."""
        if self.listed:
            return self.entries[::-1] if reverse else self.entries
        joined = []
        for recent, chunks in zip(self.recent, self.chunks, strict=True):
            parts = [*chunks, stack(recent)] if recent else chunks
            whole_of = parts[0] if len(parts) == 1 else concat(parts)
            joined.append(flip(whole_of, (0,)) if reverse else whole_of)
        return filled(self.template, joined)


def as_tensors(y: Any, fields: list[Any] | None = None) -> Any:
    """Convert numbers in a nest to tensors. Fields keep their values, which are appended to `fields`."""

    def change(leaf: Any, named: bool) -> Any:
        if named and fields is not None:
            fields.append(leaf)
        return leaf if named or leaf is None else Tensor(leaf)

    return with_leaves(y, change)


def check_arrays(name: str, xs: Any, steps: int | None) -> None:
    """Refuse an array that would need an entry for each step, or, without tensors (None), any other object."""

    def check(leaf: Any, named: bool) -> Any:
        entries = leaf.shape[0] if isinstance(leaf, np.ndarray) and leaf.ndim else -1
        if entries == steps or (steps is None and not named and leaf is not None):
            raise TypeError(
                f"{name}: xs holds {in_words(leaf)}; expected Tensors, whose first axis has the steps: wrap an array "
                "or a list of numbers, Tensor(xs)"
            )
        return leaf

    with_leaves(xs, check)


def _equal(a: Any, b: Any) -> bool:
    """True if two fields hold the same number or text. Other objects are not compared."""
    if not isinstance(a, _COMPARED) and not isinstance(b, _COMPARED):
        return True
    return type(a) is type(b) and np.array_equal(a, b, equal_nan=isinstance(a, float | complex))


def mapped(fn: Callable[[Tensor], Tensor], nest: Any) -> Any:
    """Apply a function to the tensors of a nest."""
    return filled(template_of(nest), [fn(t) for t in tensors_of(nest)])


def state_of(carry: Any) -> tuple[Any, Any]:
    """The carry and the random state before a step, to run it again."""
    return mapped(kept, carry), get_state() if drawn() else None


def chosen(truth: Any, x: Any, y: Any) -> Any:
    """Take the tensors of x where a truth value holds, and of y elsewhere; y is nested like x."""
    pairs = zip(tensors_of(x), matched("where", x, y, "the other nest"), strict=True)
    return filled(template_of(x), [where(truth, a, b) for a, b in pairs])


def described(x: Any) -> str:
    """Describe a value for a message."""
    return f"a tensor of shape {x.shape} and type {x.dtype}" if isinstance(x, Tensor) else in_words(x)


def check_same(name: str, was: Any, now: Any, what: str) -> bool:
    """Check that the carry keeps its nesting, shapes and types. True if dicts also keep the order of their keys."""
    if isinstance(was, Tensor):
        if isinstance(now, Tensor) and now._typenum == was._typenum and now.shape == was.shape:
            return True
    elif is_leaf(was):
        if is_leaf(now) and not isinstance(now, Tensor):
            return True
    elif isinstance(now, dict if isinstance(was, dict) else type(was)):
        children = beside(was, now)
        if children is not None:
            kept = [check_same(name, a, b, f"{what}{label}") for label, a, b in children]
            return all(kept) and not (isinstance(was, dict) and list(was) != list(now))
    remedy = ""
    if isinstance(was, int | float | np.ndarray | np.generic) and isinstance(now, Tensor):
        remedy = f"; start with a Tensor instead of {'an array' if np.ndim(was) else 'a number'}: Tensor(x)"
    raise ValueError(f"{name}: {what} is {described(was)} before a step and {described(now)} after it{remedy}")


def in_order(name: str, like: Any, nest: Any) -> Any:
    """Order the keys of a nest's dicts like those in another nest of the same structure."""
    others = iter([leaf for leaf in leaves_beside(like, nest) if not isinstance(leaf, Tensor)])
    found = with_leaves(like, lambda leaf, named: next(others))
    return filled(template_of(found), matched(name, like, nest, "the carry"))


def leaves_beside(like: Any, nest: Any) -> Iterator[Any]:
    """The leaves of a nest, in the order of another nest."""
    if is_leaf(like):
        yield nest
        return
    for _, a, b in beside(like, nest) or ():
        yield from leaves_beside(a, b)


def same_rest(was: Any, now: Any) -> bool:
    """True if two nests of the same structure have equal leaves, apart from tensors."""
    if isinstance(was, Tensor):
        return True
    if is_leaf(was):
        return was is now or (isinstance(was, _COMPARED) and _equal(was, now))
    return all(same_rest(a, b) for _, a, b in beside(was, now) or ())
