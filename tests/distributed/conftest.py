"""Backends that the tests share: a process takes a second to start."""

import importlib.util
import os
from pathlib import Path

import pytest
import shard_cases

import dualgrad as dg
from dualgrad import distributed

PACKAGES = {"joblib": "joblib", "dask": "dask", "ray": "ray", "mpi": "mpi4py"}


def needs(engine):
    """Skip a test whose engine is not installed."""
    package = PACKAGES.get(engine)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.fixture(scope="package")
def paths():
    """Workers find this package and the modules of the tests."""
    folders = [str(Path(shard_cases.__file__).parent), str(Path(dg.__file__).parents[1])]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(folders + ([before] if before else []))
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="package")
def backend_of(paths):
    """The backend of an engine with so many workers; there is one of each, and of Ray one at a time."""
    made = {}

    def backend(engine, workers):
        needs(engine)
        if (engine, workers) not in made:
            for key in [key for key in made if key[0] == engine and engine in ("dask", "ray")]:
                made.pop(key).close()
            made[engine, workers] = distributed.connect(engine, workers=workers, threads_per_worker=1)
        return made[engine, workers]

    yield backend
    for each in made.values():
        each.close()
