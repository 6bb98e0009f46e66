"""Optional packages: each is imported when it is needed, and named when it is missing."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["needed"]

#: package -> (what `pip install` is told, what else it needs)
_INSTALLED_BY = {
    "cloudpickle": ("'dualgrad[joblib]'", ""),
    "threadpoolctl": ("'dualgrad[joblib]'", ""),
    "joblib": ("'dualgrad[joblib]'", ""),
    "dask": ("'dualgrad[dask]'", ""),
    "distributed": ("'dualgrad[dask]'", ""),
    "ray": ("'dualgrad[ray]'", ""),
    "mpi4py": (
        "'dualgrad[mpi]'",
        "; it needs an MPI library beside it (on Debian: apt-get install libopenmpi-dev openmpi-bin)",
    ),
    "scipy": ("'dualgrad[scipy]'", ""),
}


def needed(purpose: str, module: str) -> Any:
    """The module; an ImportError says what needs it and how it is installed.

    Parameters
    ----------
    purpose : str
        What needs the package, for the message.
    module : str
        The module, with dots.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If the package is missing, or does not find a library that it needs.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, RuntimeError) as error:  # mpi4py raises the latter where no MPI library is found
        target, more = _INSTALLED_BY[package]
        raise ImportError(
            f"dualgrad.distributed: {purpose} needs {package}; install it with pip install {target}{more} ({error})"
        ) from error
