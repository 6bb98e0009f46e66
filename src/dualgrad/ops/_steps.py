"""What the steps of a loop are given and return, and what they carry along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._engine.remake import filled, template_of, tensors_of
from ..tensor import Tensor
from ._joining import concat, stack
from ._turning import flip
from .choice import where
from .creation import zeros

__all__ = [
    "Counted", "Given", "Listed", "Results", "Stacked", "as_tensors", "check_same", "chosen", "described", "mapped",
]  # fmt: skip

CHUNK = 1024  # results joined at a time


class Given:
    """Nothing but the carry; the base of what else a step may be given."""

    def __init__(self, nest: Any = None) -> None:
        self.tensors = tensors_of(nest)

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors that step k is given, from those of the loop."""
        return []

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """What step k is given."""
        return None

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from those of each step's."""
        yield from ()


class Counted(Given):
    """A number that counts up."""

    def __init__(self, lower: int) -> None:
        super().__init__()
        self.lower = lower

    def nest(self, leaves: list[Tensor], k: int) -> int:
        """What step k is given."""
        return self.lower + k


class Stacked(Given):
    """A slice of each tensor of a nest, along its first axis."""

    def __init__(self, nest: Any) -> None:
        super().__init__(nest)
        self.template = template_of(nest)

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors that step k is given, from those of the loop."""
        return [t[k] for t in tensors]

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """What step k is given."""
        return filled(self.template, leaves)

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from those of each step's."""
        for j, t in enumerate(self.tensors):
            found = [terms[k][j] if k in terms else None for k in range(n)]
            if all(term is None for term in found):
                yield None
            else:
                zero = zeros(t.shape[1:], t.dtype)
                yield stacked([zero if term is None else term for term in found])


class Listed(Given):
    """One entry of a list."""

    def __init__(self, entries: list[Any]) -> None:
        super().__init__(entries)
        self.templates = [template_of(entry) for entry in entries]
        self.starts = [0]
        for entry in entries:
            self.starts.append(self.starts[-1] + len(tensors_of(entry)))

    def leaves(self, tensors: list[Tensor], k: int) -> list[Tensor]:
        """The tensors that step k is given, from those of the loop."""
        return tensors[self.starts[k] : self.starts[k + 1]]

    def nest(self, leaves: list[Tensor], k: int) -> Any:
        """What step k is given."""
        return filled(self.templates[k], leaves)

    def spread(self, terms: dict[int, list[Any]], n: int) -> Iterator[Tensor | None]:
        """The cotangents of the loop's tensors, from those of each step's."""
        for k in range(n):
            yield from terms.get(k, [None] * (self.starts[k + 1] - self.starts[k]))


def stacked(tensors: list[Tensor]) -> Tensor:
    """One tensor of many, joined a chunk at a time."""
    if len(tensors) <= CHUNK:
        return stack(tensors)
    return concat([stack(tensors[i : i + CHUNK]) for i in range(0, len(tensors), CHUNK)])


class Results:
    """What the steps return beside the carry: stacked, or in a list."""

    def __init__(self, name: str, listed: bool) -> None:
        self.name = name
        self.listed = listed
        self.template: Any = None
        self.chunks: list[list[Tensor]] = []
        self.recent: list[list[Tensor]] = []
        self.entries: list[Any] = []

    def add(self, y: Any) -> None:
        """Take the results of the next step."""
        if self.listed:
            self.entries.append(y)
            return
        y = as_tensors(y)
        leaves = tensors_of(y)
        if not self.recent and not self.chunks:
            self.template = template_of(y)
            self.recent = [[] for _ in leaves]
            self.chunks = [[] for _ in leaves]
        elif len(leaves) != len(self.recent):
            raise ValueError(
                f"{self.name}: a step returned {len(leaves)} tensors to be stacked, the first step {len(self.recent)}; "
                f"expected results of one nesting"
            )
        for recent, chunks, leaf in zip(self.recent, self.chunks, leaves, strict=True):
            recent.append(leaf)
            if len(recent) == CHUNK:
                chunks.append(stack(recent))
                recent.clear()

    def finished(self, reverse: bool) -> Any:
        """All results, in the order of what the steps were given."""
        if self.listed:
            return self.entries[::-1] if reverse else self.entries
        joined = []
        for recent, chunks in zip(self.recent, self.chunks, strict=True):
            parts = [*chunks, stack(recent)] if recent else chunks
            whole_of = parts[0] if len(parts) == 1 else concat(parts)
            joined.append(flip(whole_of, (0,)) if reverse else whole_of)
        return filled(self.template, joined)


def as_tensors(y: Any) -> Any:
    """A nest with tensors in place of numbers."""
    if isinstance(y, tuple) and hasattr(y, "_fields"):
        return type(y)(*[as_tensors(item) for item in y])
    if isinstance(y, tuple | list):
        return type(y)([as_tensors(item) for item in y])
    if isinstance(y, dict):
        return {key: as_tensors(item) for key, item in y.items()}
    return y if isinstance(y, Tensor) or y is None else Tensor(y)


def mapped(fn: Callable[[Tensor], Tensor], nest: Any) -> Any:
    """A nest with a function applied to its tensors."""
    return filled(template_of(nest), [fn(t) for t in tensors_of(nest)])


def chosen(truth: Any, x: Any, y: Any) -> Any:
    """A nest of the tensors of x where a truth value holds, of y elsewhere."""
    pairs = zip(tensors_of(x), tensors_of(y), strict=True)
    return filled(template_of(x), [where(truth, a, b) for a, b in pairs])


def described(x: Any) -> str:
    """A value in a message."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {x.shape} and type {x.dtype}"
    if isinstance(x, tuple | list | dict):
        return f"a {type(x).__name__} of {len(x)}"
    return f"a {type(x).__name__}"


def check_same(name: str, was: Any, now: Any, what: str) -> None:
    """The carry keeps its nesting, shapes and types from step to step."""
    if isinstance(was, Tensor):
        if isinstance(now, Tensor) and now._typenum == was._typenum and now.shape == was.shape:
            return
    elif isinstance(was, tuple | list):
        if isinstance(now, type(was)) and len(now) == len(was):
            for i, (a, b) in enumerate(zip(was, now, strict=True)):
                check_same(name, a, b, f"{what}[{i}]")
            return
    elif isinstance(was, dict):
        if isinstance(now, dict) and now.keys() == was.keys():
            for key, value in was.items():
                check_same(name, value, now[key], f"{what}[{key!r}]")
            return
    elif not isinstance(now, Tensor | tuple | list | dict):
        return
    remedy = "; start with a Tensor instead of a number" if isinstance(was, int | float) else ""
    raise ValueError(f"{name}: {what} is {described(was)} before a step and {described(now)} after it{remedy}")
