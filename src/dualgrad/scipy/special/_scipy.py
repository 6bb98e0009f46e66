"""SciPy's special functions, imported together with the table that uses them."""

from __future__ import annotations

from types import ModuleType

__all__ = ["sp"]


def _scipy() -> ModuleType:
    try:
        from scipy import special
    except ImportError as error:
        raise ImportError(
            "dualgrad.scipy.special needs SciPy, which could not be imported; pip install 'dualgrad[scipy]'"
        ) from error
    return special


sp = _scipy()
