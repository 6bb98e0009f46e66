"""Switches for recording: interpret programs step by step, and verify them when they are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._engine.compiler.plan import Plan
from .._engine.compiler.program import Program
from .._engine.trace.cache import forget_programs
from .._engine.trace.recordings import check_programs, plan_programs
from .verify import verify_program

__all__ = ["interpreted", "verified"]


@contextmanager
def interpreted() -> Iterator[None]:
    """Inside the block, this thread interprets recorded programs: step by step, each with its own kernel.

    This slow executor is the reference for plans. It has no regions, tiles or memory of its own: its results equal
    eager execution bit for bit. Programs are recorded again inside the block and after it.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.programs import interpreted
    >>> recorded = dg.jit(lambda x: ops.exp(x) + x)
    >>> x = dg.Tensor([0.0, 1.0])
    >>> planned = [recorded(x) for _ in range(3)][-1]
    >>> with interpreted():
    ...     print(planned - [recorded(x) for _ in range(3)][-1])
    [0. 0.]
    """
    former = plan_programs(False)
    forget_programs()
    try:
        yield
    finally:
        plan_programs(former)
        forget_programs()


@contextmanager
def verified() -> Iterator[None]:
    """Inside the block, each program is verified when it is recorded, as by `verify`.

    Returns
    -------
    context manager

    Raises
    ------
    ProgramError
        From the call that records an invalid program.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.programs import verified
    >>> with verified():
    ...     recorded = dg.jit(lambda x: ops.exp(x) + x)
    ...     print([recorded(dg.Tensor([0.0])) for _ in range(3)][-1])
    [1.]
    """

    def check(program: Program, plan: Plan | None) -> None:
        verify_program(program, plan)
        if former is not None:
            former(program, plan)

    former = check_programs(check)
    try:
        yield
    finally:
        check_programs(former)
