"""Progress bars of solvers that may take long, if tqdm is installed."""

from __future__ import annotations

from typing import Any

__all__ = ["bar_of"]


def bar_of(what: str, **settings: Any) -> Any:
    """A progress bar of tqdm, or None without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc=what, **settings)
