"""Workers that are killed: the engine reports or replaces them, and nothing is lost or counted twice."""

import os
import signal

import pytest
from shard_cases import CHUNK, POINT, ROWS, SUMS, X, Y, arrays_of, assert_same, loaded, misfit
from worker_tasks import die_once, killer, pids, task_that_kills

from dualgrad import distributed
from dualgrad.distributed import Shards, SumOfShards, WorkerDiedError, map_samples

REPLACING = ["dask", pytest.param("ray", marks=pytest.mark.exhaustive)]
ENGINES = ["joblib", *REPLACING]


@pytest.fixture
def mark(tmp_path):
    path = tmp_path / "mark"
    path.write_text("")
    return str(path)


def bits(nest):
    return [a.tobytes() for a in arrays_of(nest)]


@pytest.fixture(scope="module")
def in_order():
    """The gradient in a fixed order, which tells whether a chunk was lost or came twice to the last bit."""
    with distributed.connect("local", threads_per_worker=1) as backend:
        return bits(SUMS["gradient"][0](backend, True))


@pytest.mark.parametrize("engine", REPLACING)
@pytest.mark.parametrize("deterministic", [False, True], ids=["any order", "fixed order"])
def test_a_worker_that_dies_at_work_is_replaced(engine, deterministic, backend_of, mark, in_order):
    shards = Shards(backend_of(engine, 2), X, Y, chunk=CHUNK)
    found = SumOfShards(killer(mark), shards, deterministic=deterministic).value_and_grad(POINT)
    assert not os.path.exists(mark), "nothing was killed"
    assert_same(found, SUMS["gradient"][1](), 1e-12, engine)
    if deterministic:
        assert bits(found) == in_order


@pytest.mark.parametrize("engine", REPLACING)
def test_tasks_are_repeated_and_stay_in_order(engine, backend_of, mark):
    backend = backend_of(engine, 2)
    assert backend.map(task_that_kills, list(range(9)), mark) == [k * k for k in range(9)]
    assert not os.path.exists(mark), "nothing was killed"


@pytest.mark.parametrize("made", ["given", "loaded"])
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_worker_that_dies_between_calls_are_there_again(engine, made, backend_of, in_order):
    backend = backend_of(engine, 2)
    shards = Shards(backend, X, Y, chunk=CHUNK) if made == "given" else Shards.load(backend, loaded, ROWS, chunk=CHUNK)
    total = SumOfShards(misfit, shards, deterministic=True)
    assert bits(total.value_and_grad(POINT)) == in_order

    def until_it_is_noticed():
        """The other worker may do what comes before."""
        while True:
            assert bits(total.value_and_grad(POINT)) == in_order

    os.kill(shards.map(pids)[0], signal.SIGKILL)
    if engine == "joblib":
        with pytest.raises(WorkerDiedError):
            until_it_is_noticed()
    assert bits(total.value_and_grad(POINT)) == in_order


def test_joblib_reports_a_worker_that_dies_at_work(backend_of, mark, in_order):
    total = SumOfShards(killer(mark), Shards(backend_of("joblib", 2), X, Y, chunk=CHUNK), deterministic=True)
    with pytest.raises(WorkerDiedError, match="joblib: a worker process died, and no result of this call"):
        total.value_and_grad(POINT)
    assert not os.path.exists(mark), "nothing was killed"
    assert bits(total.value_and_grad(POINT)) == in_order


def test_rows_that_are_mapped_are_complete_after_a_death(backend_of, mark):
    """Results of a function of rows, of which one chunk ends its process."""
    backend = backend_of("joblib", 2)

    def squares(x):
        die_once(mark)
        return x * x

    with pytest.raises(WorkerDiedError):
        map_samples(squares, X, backend=backend, chunk=CHUNK)
    found = map_samples(squares, X, backend=backend, chunk=CHUNK)
    assert not os.path.exists(mark), "nothing was killed"
    assert found.asnumpy().tobytes() == (X * X).tobytes()
