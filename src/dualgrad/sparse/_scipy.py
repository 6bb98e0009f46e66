"""SciPy's sparse matrices, which are asked for when one is needed."""

from __future__ import annotations

from typing import Any

__all__ = ["scipy_sparse"]


def scipy_sparse(what: str, instead: str = "") -> Any:
    """The module; an error says what needs it where it is not installed, and what to do instead."""
    try:
        import scipy.sparse
    except ImportError:
        message = f"{what} needs SciPy; install it with pip install 'dualgrad[scipy]'{instead}"
        raise ImportError(message) from None
    return scipy.sparse
