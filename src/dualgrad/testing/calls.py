"""`Calls`: how often the Python of a function has run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Calls"]


class Calls:
    """Counts how often the Python of a function runs.

    A function that changes a container or variable from outside runs eagerly under `dualgrad.jit`. This counter is left
    out of account, so it shows which calls have run the function and which have replayed its program.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.testing import Calls
    >>> calls = Calls()
    >>> square = dg.jit(calls.counted(lambda x: x * x))
    >>> for _ in range(5):
    ...     y = square(dg.Tensor([3.0]))
    >>> len(calls)
    2
    """

    _outside_of_programs = True  # no guard looks at it

    def __init__(self) -> None:
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def note(self) -> None:
        """Count one more."""
        self._count += 1

    def clear(self) -> None:
        """Begin at zero again."""
        self._count = 0

    def counted(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each run of its Python counted."""

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.note()
            return fn(*args, **kwargs)

        return counting
