"""Samples for every function of SciPy that takes arrays of other libraries, one module for each topic."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from ..sample import Sample

__all__ = ["samples"]


@functools.cache
def samples() -> dict[str, list[Sample]]:
    """The samples of each function, by its full name."""
    found: dict[str, list[Sample]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        for name, given in importlib.import_module(f"{__name__}.{module}").SAMPLES.items():
            if name in found:
                raise ValueError(f"samples: {name} is listed twice")
            found[name] = given
    return found
