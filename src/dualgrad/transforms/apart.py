"""Computations apart from the derivatives that surround them."""

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
    """A function of arrays that is called where no derivative is being taken: in a thread of its own, if one is here.

    Levels of derivatives belong to a thread. A kernel calls f thousands of times on plain arrays: apart from all levels
    these calls are recorded and replayed, ten times faster. Nothing is open where a program is replayed.
    """

    @functools.wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        if is_alone() and sys.getprofile() is None:
            return kernel(*args, **kwargs)
        result: list[Any] = []
        error: list[BaseException] = []
        context = contextvars.copy_context()  # NumPy's errstate is there

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
                error.clear()  # no cycle through the traceback
        return result[0]

    return run
