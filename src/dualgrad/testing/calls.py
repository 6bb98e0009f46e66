"""`Calls`: a counter for the runs of a function's Python code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Calls"]


class Calls:
    """Counts the runs of a function's Python code.

    A function that changes an outside container or variable runs eagerly under `dualgrad.jit`. This counter is exempt,
    so it distinguishes calls that ran the function from calls that replayed its program.

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

    _outside_of_programs = True  # exempt from guards

    def __init__(self) -> None:
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def note(self) -> None:
        """Add one to the count."""
        self._count += 1

    def clear(self) -> None:
        """Reset the count to zero."""
        self._count = 0

    def counted(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that each run of its Python code is counted."""

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.note()
            return fn(*args, **kwargs)

        return counting
