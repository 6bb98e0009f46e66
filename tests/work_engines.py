"""The engines of `dualgrad.distributed`: which are installed, and in which process their tests run."""

import importlib.util

import pytest

__all__ = ["OF_DASK", "needs"]

#: Set in the process that has the tests with a cluster of Dask.
OF_DASK = "DUALGRAD_TESTS_OF_DASK"

_PACKAGES = {"joblib": "joblib", "dask": "dask", "ray": "ray", "mpi": "mpi4py"}


def needs(engine):
    """Skip a test whose engine is not installed."""
    package = _PACKAGES.get(engine)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
