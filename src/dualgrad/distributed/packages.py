"""Optional packages, imported on first use; an error names a missing one."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["needed"]

#: package -> (the argument for `pip install`, other requirements)
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
    """Import a module. An ImportError names its user and the command to install it.

    Parameters
    ----------
    purpose : str
        The user of the package, for the message.
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
    except (ImportError, RuntimeError) as error:  # mpi4py raises RuntimeError if it finds no MPI library
        target, more = _INSTALLED_BY[package]
        raise ImportError(
            f"dualgrad.distributed: {purpose} needs {package}; install it with pip install {target}{more} ({error})"
        ) from error
