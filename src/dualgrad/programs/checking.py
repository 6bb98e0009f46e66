"""`checked`: compare every replay with the eager call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import random
from .._engine.compiler.plan import Plan
from .._engine.trace.deferred import compare_deferred_by
from .._engine.trace.replay import check_replays, compare_replays_by
from .._engine.transforms.handles import TensorBase, watch_rebinding
from ._comparison import ROUNDING, difference, in_order, numbers

__all__ = ["ReplayError", "checked"]


class ReplayError(AssertionError):
    """A replay differs from the function itself."""


@contextmanager
def checked() -> Iterator[None]:
    """Inside the block, this thread also runs every replay eagerly, and raises at the first difference.

    It covers every kind of replay: functions under `jit`, Cells, transforms in Graph mode, functions of solvers,
    recordings from another process. Deferred operations on large arrays are also computed both ways. It compares
    results, new values of Parameters and other tensors, and errors. Numbers are compared bit for bit if the program
    keeps the order of operations, else up to rounding. Each call takes the time of both runs. The Python code of the
    function runs once for each replay, and prints again.

    Returns
    -------
    context manager

    Raises
    ------
    ReplayError
        Inside the block, if a replay differs from the eager call. It says where, and names the likeliest cause.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.programs import checked
    >>> square = dg.jit(lambda x: x * x)
    >>> with checked():
    ...     for k in range(4):
    ...         y = square(dg.Tensor([float(k)]))
    >>> print(y)
    [9.]
    """
    former = check_replays(True)
    try:
        yield
    finally:
        check_replays(former)


def compare(
    name: str,
    eager: Callable[[], Any],
    replay: Callable[[], Any],
    handles: list[TensorBase],
    plan: Plan | None,
    unfit: tuple[Any, ...],
) -> Any:
    """Compare a replay with an eager call from the same state. Returns its result; a result in `unfit` as it is."""
    before: dict[int, tuple[TensorBase, TensorBase]] = {id(h): (h, h._detached()) for h in handles}

    def note(handle: TensorBase) -> None:
        before.setdefault(id(handle), (handle, handle._detached()))

    state = random.get_state()
    watched = watch_rebinding(note)
    try:
        expected = _outcome(eager)
    finally:
        watch_rebinding(watched)
    after = [numbers(handle) for handle, _ in before.values()]
    for handle, value in before.values():
        handle._rebind(value)
    random.put_state(state)
    found = _outcome(replay)
    if any(found[0] is result for result in unfit):  # the function itself runs in place of the program
        return found[0]
    if isinstance(found[0], Exception) and not isinstance(expected[0], Exception):
        raise found[0]
    rounding = _rounding(plan)
    where = difference(found[1], expected[1], rounding)
    cause = "the function depends on something that no guard follows"
    if where is None:
        where = difference([numbers(handle) for handle, _ in before.values()], after, rounding, "a changed tensor")
        cause = "the function changes a tensor that its recordings have not changed"
    if where is not None:
        raise ReplayError(
            f"{name}: a replay differs from the function itself: {where}\nThe likeliest cause: {cause}, or the promise "
            "of jit(..., pure=True) does not hold. If neither is so, please report it"
        )
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def compare_deferred(found: np.ndarray, expected: np.ndarray, plan: Plan, operands: list[np.ndarray]) -> None:
    """Compare a deferred result with the result of its operators run at once.

    A small difference of large numbers has their absolute error, so rounding is measured by the operands, too.
    """
    scale = max([float(np.abs(x).max(initial=0.0)) for x in operands if x.dtype.kind in "fc"], default=0.0)
    where = difference(found, expected, _rounding(plan), "a deferred result", scale if np.isfinite(scale) else 0.0)
    if where is not None:
        raise ReplayError(f"{where}\nA program of deferred operators differs from the operators; please report it")


def _rounding(plan: Plan | None) -> float | None:
    """The units in the last place by which results of a plan may differ from eager execution."""
    return None if plan is None else 0.0 if in_order(plan) else ROUNDING


def _outcome(run: Callable[[], Any]) -> tuple[Any, Any]:
    """The result or error of a run, as it is and as numbers."""
    try:
        result = run()
    except Exception as error:
        return error, [type(error).__name__, str(error)]
    return result, numbers(result)


compare_replays_by(compare)
compare_deferred_by(compare_deferred)
