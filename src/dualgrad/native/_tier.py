"""The switch for machine code, and the thread that compiles.

Design
------
The engine reports a region that has run for some time. The region goes to a queue, and one thread makes its machine
code while the interpreter runs it; the change is a single step. An error is counted, and the region stays as it is.
Between small pieces of work the thread releases Python's lock; the compiler itself runs without it.
"""

from __future__ import annotations

import os
import threading
import time
from queue import SimpleQueue
from typing import Any, Literal

from .._engine.compiler.native import watch_regions
from . import _machine
from ._making import make

__all__ = ["Setting", "join", "status", "switch"]

Setting = bool | Literal["force"]

PATIENCE = 0.02  # seconds of running, about, after which a region is worth a compilation
PAUSE = 1e-4  # seconds between pieces of work

_setting: Setting = False
_queue: SimpleQueue[Any] = SimpleQueue()
_thread: threading.Thread | None = None
_pending = 0
_counts = {"asked": 0, "made": 0, "failed": 0}
_last_error: str | None = None
_idle = threading.Condition()


def switch(setting: Setting) -> None:
    """Switch machine code on (True: in the background; "force": at once, for everything) or off.

    `set_context(native=...)` calls this, and checks its argument. Programs that already have machine code keep it.

    Parameters
    ----------
    setting : bool or "force"
        The new setting.

    Raises
    ------
    ImportError
        If llvmlite is missing.
    RuntimeError
        In a fork of a process that had machine code switched on.

    Warns
    -----
    RuntimeWarning
        Once, if others may write to the folder of machine code or to a folder on its path; nothing is then kept on
        disk.

    Examples
    --------
    >>> from dualgrad import native
    >>> native.switch(False)
    """
    global _setting
    if setting and _machine.forked():
        raise RuntimeError(
            "native: this process was forked from one that uses machine code, and llvmlite does not survive a fork. "
            "Expected a process that was started by itself: choose the start method 'spawn', or switch native on in "
            "the children only."
        )
    if setting:
        try:
            compiler = _machine.machine()
        except ImportError as error:
            raise ImportError(
                "native: machine code needs llvmlite, which is not installed. Install it by: pip install "
                "'dualgrad[native]'"
            ) from error
        compiler.cache.is_usable()  # so that its warning points at the line that switches machine code on
    _setting = setting
    watch_regions(_ask if setting else None, 0.0 if setting == "force" else PATIENCE)


def status() -> dict[str, Any]:
    """Return the state of the compiler.

    Returns
    -------
    dict
        ``setting``; ``asked``, ``made`` and ``failed``, numbers of regions of programs; ``pending``, the number of
        waiting ones; ``compiled`` and ``loaded``, numbers of functions that were compiled or came from the disk;
        ``last_error``, text or None.

    Examples
    --------
    >>> from dualgrad import native
    >>> native.status()["pending"]
    0
    """
    made = {"compiled": 0, "loaded": 0}
    if _setting:
        compiler = _machine.machine()
        made = {"compiled": compiler.compiled, "loaded": compiler.loaded}
    return {"setting": _setting, **_counts, "pending": _pending, **made, "last_error": _last_error}


def join(timeout: float = 60.0) -> bool:
    """Wait until all queued regions are done.

    Parameters
    ----------
    timeout : float, optional
        The longest wait in seconds.

    Returns
    -------
    bool
        True if nothing is pending.

    Examples
    --------
    >>> from dualgrad import native
    >>> native.join()
    True
    """
    with _idle:
        return _idle.wait_for(lambda: _pending == 0, timeout)


def _ask(region: Any) -> None:
    """Queue a region that has run for some time."""
    global _thread, _pending
    _count("asked")
    if _setting == "force":
        _make(region, pause=False)
        return
    with _idle:
        _pending += 1
        if _thread is None:
            _thread = threading.Thread(target=_work, name="dualgrad-native", daemon=True)
            _thread.start()
    _queue.put(region)


def _count(what: str) -> None:
    with _idle:  # with "force", several threads may count at once
        _counts[what] += 1


def _work() -> None:
    global _pending
    while True:
        _make(_queue.get(), pause=True)
        with _idle:
            _pending -= 1
            _idle.notify_all()


def _make(region: Any, *, pause: bool) -> None:
    global _last_error
    try:
        for _ in make(region, _machine.machine()):
            if pause:
                time.sleep(PAUSE)
        _count("made")
    except Exception as error:  # the interpreter goes on with the region
        _count("failed")
        _last_error = f"{type(error).__name__}: {error}"


def _in_child() -> None:
    """Reset everything in a forked process: the thread and its locks do not exist there."""
    global _setting, _thread, _pending, _queue, _idle
    _setting, _thread, _pending = False, None, 0
    _queue, _idle = SimpleQueue(), threading.Condition()
    watch_regions(None, 0.0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
