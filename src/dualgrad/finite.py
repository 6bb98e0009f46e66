"""Check every result: the first nan or inf raises, and the error says where it arose."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ._engine.primitives.watch import start_watch, stop_watch

__all__ = ["check_finite"]


@contextmanager
def check_finite(*, inf: bool = True) -> Iterator[None]:
    """Inside the block, the first operator whose result or derivative is nan or inf raises.

    Parameters
    ----------
    inf : bool, default True
        If False, only nan is reported and infinite numbers are not.

    Returns
    -------
    context manager

    Raises
    ------
    TypeError
        If `inf` is not a bool.
    FloatingPointError
        Raised inside the block. The message names the operator and the line of your code that called it, even if its
        derivative is taken much later. It says whether the value or a derivative is broken, and gives the order. It
        gives the shapes of the operands and says which already held nan or inf.

    Notes
    -----
    Recorded functions and Graph mode run eagerly inside the block. A derivative is checked once it is complete: a slope
    that is infinite where nothing depends on it (`ops.where`, `ops.maximum`) is not reported. Values are reported
    wherever they arise, also in a branch that is not taken. The check covers the thread that entered the block; for
    derivatives, calls that begin inside it.

    The order counts from the function that holds the operator. Nested derivatives are named from the outermost in:
    "reverse over forward" is a gradient of a `jvp`. Outside the block nothing is checked, at no cost.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> root = lambda x: ops.sqrt(x).sum()
    >>> with dg.check_finite():
    ...     dg.grad(root)(dg.Tensor([4.0, 0.0], dg.float64))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    FloatingPointError: sqrt: its derivative of order 1 (reverse) is inf at (1,), 1 of 2 elements
      operand 1: float64 (2,), finite
    ...
    """
    if not isinstance(inf, bool):
        raise TypeError(f"check_finite: inf is {inf!r}; expected True or False")
    watch = start_watch(_report, inf)
    try:
        yield
    finally:
        stop_watch(watch)


def _report(
    name: str,
    order: int,
    sweeps: tuple[str, ...],
    found: np.ndarray,
    operands: list[np.ndarray],
    line: tuple[str, int] | None,
) -> None:
    """Raise the error for an array that holds nan or inf."""
    broken = ~np.isfinite(found)
    at = tuple(int(i) for i in np.argwhere(broken)[0])
    whose = "its value" if order == 0 else f"its derivative of order {order} ({_way(order, sweeps)})"
    where = f" at {at}, {broken.sum()} of {found.size} elements" if found.ndim else ""
    lines = [f"{name}: {whose} is {found[at]}{where}"]
    for number, operand in enumerate(operands, 1):
        lines.append(f"  operand {number}: {operand.dtype} {operand.shape}, {_state(operand)}")
    if line is not None:
        lines += [f"  {line[0]}, line {line[1]}", f"    {linecache.getline(line[0], line[1]).strip()}"]
    raise FloatingPointError("\n".join(lines).rstrip())


def _way(order: int, sweeps: tuple[str, ...]) -> str:
    """The modes of a nested derivative, outermost first. Levels beyond the sweeps are duals: forward mode."""
    return " over ".join([*sweeps, *["forward"] * (order - len(sweeps))])


def _state(operand: np.ndarray) -> str:
    if operand.dtype.kind not in "fc":
        return "no floating-point numbers"
    nans, infinite = int(np.isnan(operand).sum()), int(np.isinf(operand).sum())
    held = [f"{count} {word}" for count, word in ((nans, "nan"), (infinite, "inf")) if count]
    return f"already with {' and '.join(held)}" if held else "finite"
