"""Computation outside the surrounding derivatives."""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from .._engine.primitives.execute import is_alone

__all__ = ["apart"]


def apart(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function of arrays where no derivative is being taken: in a thread of its own if one is being taken here.

    Levels of derivatives belong to a thread. A kernel calls f thousands of times on plain arrays. Outside all levels
    these calls are recorded and replayed, ten times faster. A replay has no open levels.
    """

    @functools.wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        if is_alone() and sys.getprofile() is None:
            return kernel(*args, **kwargs)
        result: list[Any] = []
        error: list[BaseException] = []
        context = contextvars.copy_context()  # holds NumPy's errstate

        def work() -> None:
            try:
                result.append(context.run(kernel, *args, **kwargs))
            except BaseException as e:
                error.append(e)

        thread = threading.Thread(target=work, name="dualgrad-apart", daemon=True)
        thread.start()
        thread.join()
        if error:
            try:
                raise error[0]
            finally:
                error.clear()  # break the reference cycle through the traceback
        return result[0]

    return run
