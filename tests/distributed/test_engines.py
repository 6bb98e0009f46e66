"""Every operation on every engine with one, two and three workers, compared with one process that does all at once."""

import numpy as np
import pytest
from shard_cases import OTHERS, SUMS, arrays_of, assert_same
from worker_tasks import tenth

import dualgrad as dg
from dualgrad import distributed

#: The default run has the quick ones; processes take seconds to start.
QUICK = [("local", 1), ("local", 2), ("local", 3), ("joblib", 2), ("dask", 2)]
SLOW = [("joblib", 1), ("joblib", 3), ("dask", 1), ("dask", 3), ("ray", 1), ("ray", 2), ("ray", 3)]
ENGINES = [pytest.param(*pair, id="{}-{}".format(*pair)) for pair in QUICK]
ENGINES += [pytest.param(*pair, id="{}-{}".format(*pair), marks=pytest.mark.exhaustive) for pair in SLOW]


@pytest.fixture(scope="module")
def one_process():
    """The sums in a fixed order, with one worker in this process."""
    with distributed.connect("local", threads_per_worker=1) as backend:
        return {name: [a.tobytes() for a in arrays_of(on(backend, True))] for name, (on, _) in SUMS.items()}


@pytest.mark.parametrize("deterministic", [False, True], ids=["any order", "fixed order"])
@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_sums(engine, workers, deterministic, backend_of, one_process):
    backend = backend_of(engine, workers)
    for name, (on, at_once) in SUMS.items():
        found = on(backend, deterministic)
        assert_same(found, at_once(), 1e-12, name)
        if deterministic:
            assert [a.tobytes() for a in arrays_of(found)] == one_process[name], name


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_other_operations(engine, workers, backend_of):
    backend = backend_of(engine, workers)
    for name, (on, at_once, error) in OTHERS.items():
        assert_same(on(backend, False), at_once(), error, name)


def test_bits_depend_on_workers_without_a_fixed_order(backend_of):
    """Else the comparison of bits above would show nothing."""
    found = {
        np.concatenate(
            [a.ravel() for a in arrays_of(SUMS["hessian"][0](backend_of("local", workers), False))]
        ).tobytes()
        for workers in range(1, 4)
    }
    assert len(found) > 1


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_workers_take_over_the_default_type(engine, workers, backend_of):
    backend = backend_of(engine, workers)
    single = [("float32", float(np.float32(k / 10))) for k in range(4)]
    assert backend.map(tenth, range(4)) == single
    dg.set_default_dtype(dg.float64)
    try:
        assert backend.map(tenth, range(4)) == [("float64", k / 10) for k in range(4)]
    finally:
        dg.set_default_dtype(dg.float32)
    assert backend.map(tenth, range(4)) == single
