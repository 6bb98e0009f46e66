"""Counts of the compiler's rewrites."""

from __future__ import annotations

from .._engine.compiler.rewrites import rewrites as _counted

__all__ = ["rewrites"]


def rewrites() -> dict[str, int]:
    """Return how often each rewrite of the compiler has happened so far, by name.

    Returns
    -------
    dict of str to int
        In the order of the passes. Counting happens while programs are planned, and costs nothing at run time.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.programs import rewrites
    >>> before = rewrites()["fused_left"]
    >>> recorded = dg.jit(lambda x: x * x + x)
    >>> _ = [recorded(dg.ops.ones(100)) for _ in range(3)]
    >>> rewrites()["fused_left"] > before
    True
    """
    return _counted()
