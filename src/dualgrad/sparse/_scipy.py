"""SciPy's sparse matrices, imported on first use."""

from __future__ import annotations

from typing import Any

__all__ = ["scipy_sparse"]


def scipy_sparse(what: str, instead: str = "") -> Any:
    """Import `scipy.sparse`. Without SciPy the error names the function that needs it, and an alternative."""
    try:
        import scipy.sparse
    except ImportError:
        message = f"{what} needs SciPy; install it with pip install 'dualgrad[scipy]'{instead}"
        raise ImportError(message) from None
    return scipy.sparse
