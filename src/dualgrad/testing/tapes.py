"""Reports on tapes, and the choice of the method for nested gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._engine.tape.tape import observers
from .._engine.trace.cache import forget_programs
from .._engine.transforms.gradient import tape_backward

__all__ = ["tape_reports", "taped_backward"]


@contextmanager
def tape_reports() -> Iterator[list[dict[str, Any]]]:
    """Collect a report of every reverse tape that closes inside the block.

    Each report is a dict with `transform` (the name of the transform that opened the tape), `level` (later levels have
    larger numbers), `leaves`, `instructions`, `by_primitive` (instructions counted by primitive; a transform inside the
    transform is one `subtape`) and `bytes` (of the distinct arrays it kept).

    Returns
    -------
    context manager
        It yields the list, which fills as tapes close.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.testing import tape_reports
    >>> with tape_reports() as reports:
    ...     _ = dg.grad(dg.grad(lambda x: x * x * x))(dg.Tensor([2.0]))
    >>> [(r["leaves"], r["by_primitive"]) for r in reports]
    [(1, {'mul': 2}), (1, {'subtape': 1})]
    """
    reports: list[dict[str, Any]] = []
    observers.append(reports.append)
    try:
        yield reports
    finally:
        observers.remove(reports.append)


@contextmanager
def taped_backward() -> Iterator[None]:
    """Inside the block, a gradient inside a gradient is differentiated by recording its backward pass.

    Custom rules always use this method, since they need not be the transpose of a derivative. Forced for all, it is an
    independent check of the composite gradient node, and shows the savings of that node.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.testing import taped_backward
    >>> with taped_backward():
    ...     print(dg.grad(dg.grad(lambda x: x * x * x))(dg.Tensor([2.0])))
    [12.]
    """
    former = tape_backward(True)
    forget_programs()  # they were recorded with the other method
    try:
        yield
    finally:
        tape_backward(former)
        forget_programs()
