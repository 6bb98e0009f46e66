"""Shorter tracebacks of uncaught errors: the user's lines without the lines of this package.

The error itself does not change: code that catches it, pytest, and a debugger started afterwards see every line. The
error, its causes and its contexts have shorter tracebacks only while Python prints them. So code without errors pays
nothing, and no function of this package needs a `try` for this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

__all__ = ["shorten_in", "shortened", "watch"]

SWITCH: Final = "DUALGRAD_FULL_TRACEBACK"
_PACKAGE: Final = __name__.partition(".")[0]


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_ours(entry: TracebackType) -> bool:
    """True if a traceback entry belongs to this package, compiled or not."""
    return str(entry.tb_frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE


def _of_user(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """The traceback without this package's entries, and their number. Keeps all if no other entry remains."""
    entries = list(_entries(traceback))
    kept = [entry for entry in entries if not _is_ours(entry)]
    if not kept or len(kept) == len(entries):
        return traceback, 0
    short: TracebackType | None = None
    for entry in reversed(kept):
        short = TracebackType(short, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return short, len(entries) - len(kept)


def _chain(error: BaseException) -> list[BaseException]:
    """An error, its causes and contexts, and the errors of a group, each once."""
    found: dict[int, BaseException] = {}
    rest: list[BaseException | None] = [error]
    while rest:
        each = rest.pop()
        if each is not None and id(each) not in found:
            found[id(each)] = each
            rest += [each.__cause__, each.__context__]
            rest += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
    return list(found.values())


@contextmanager
def shortened(error: BaseException) -> Iterator[BaseException]:
    """Shorten the tracebacks of an error, its causes and its contexts inside the block.

    Parameters
    ----------
    error : BaseException
        The caught error.

    Yields
    ------
    BaseException
        The same error. A note on it gives the number of lines left out. The end of the block restores everything. With
        ``DUALGRAD_FULL_TRACEBACK=1`` in the environment nothing is left out.

    Examples
    --------
    >>> from dualgrad.tracebacks import shortened
    >>> with shortened(ValueError("of which one line is wanted")) as error:
    ...     print(error)
    of which one line is wanted
    """
    if os.environ.get(SWITCH, "") not in ("", "0"):
        yield error
        return
    errors = _chain(error)
    former = [each.__traceback__ for each in errors]
    left_out = 0
    for each in errors:
        each.__traceback__, n = _of_user(each.__traceback__)
        left_out += n
    noted = bool(left_out) and not hasattr(error, "__notes__")
    if noted:
        error.add_note(f"({left_out} lines of dualgrad are left out; {SWITCH}=1 in the environment shows them)")
    try:
        yield error
    finally:
        for each, whole in zip(errors, former, strict=True):
            each.__traceback__ = whole
        if noted:
            del error.__notes__


def _shortening(show: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a hook that prints uncaught errors, so that it prints them shorter."""

    def show_shorter(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> Any:
        if error.__traceback__ is not traceback or error.__traceback__ is None:  # only a part of the traceback is shown
            return show(kind, error, traceback)
        with shortened(error):
            return show(kind, error, error.__traceback__)

    show_shorter.shows = show  # type: ignore[attr-defined]
    return show_shorter


def watch() -> None:
    """Make Python print uncaught errors without the lines of this package."""
    if not hasattr(sys.excepthook, "shows"):
        sys.excepthook = _shortening(sys.excepthook)


def shorten_in(shell: Any) -> None:
    """Make an IPython shell print errors without the lines of this package; ``%load_ext dualgrad`` calls this.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        The shell that IPython passes to its extensions.
    """

    def show(shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: Any = None) -> Any:
        with shortened(error):
            return shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), show)
