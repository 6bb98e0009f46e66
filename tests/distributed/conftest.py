"""Backends that the tests share: a process takes a second to start."""

import os
from pathlib import Path

import pytest
import shard_cases
from work_engines import OF_DASK, needs

import dualgrad as dg
from dualgrad import distributed


def pytest_collection_modifyitems(config, items):
    """Deselect the tests with a cluster of Dask where `test_dask` is to run them, in a process of their own."""
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    with_dask = [item for item in here if has_a_cluster(item)]
    if OF_DASK in os.environ:
        others = [item for item in items if item not in with_dask]
    else:
        others = with_dask if any(item.path.name == "test_dask.py" for item in here) else []
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def has_a_cluster(item):
    """Whether a test has a backend of Dask."""
    return (
        "backend_of" in item.fixturenames and hasattr(item, "callspec") and item.callspec.params.get("engine") == "dask"
    )


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
