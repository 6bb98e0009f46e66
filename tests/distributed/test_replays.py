"""What this process has computed as a worker is replayed by other workers: every operation by shards."""

import math

import cloudpickle
import numpy as np
import pytest
import shard_cases
from arrivals import watched
from shard_cases import CHUNK, OTHERS, POINT, SUMS, X, Y, arrays_of, assert_same, misfit, periodic
from work_engines import needs

from dualgrad import Parameter, Tensor, distributed, ops
from dualgrad.distributed import Shards, SumOfShards, functions

pytestmark = pytest.mark.usefixtures("own_programs", "by_value")

ENGINES = ["joblib", "dask", pytest.param("ray", marks=pytest.mark.exhaustive)]
#: Recordings of Cells stay; a search from many starts is a program of SciPy.
STAYING = {name for name in SUMS if name.endswith("by weights")} | {"one weight"}
CASES = {**SUMS, **{name: case[:2] for name, case in OTHERS.items() if name != "multi_start"}}


@pytest.fixture
def by_value():
    """Functions of the table go by value, as those of the main program; this process keeps none of them."""
    functions._functions.clear()
    cloudpickle.register_pickle_by_value(shard_cases)
    yield
    cloudpickle.unregister_pickle_by_value(shard_cases)
    functions._functions.clear()


def here(call):
    """Have this process compute as a worker: two calls, the second of which confirms what the first has recorded."""
    with distributed.connect("local", threads_per_worker=1) as backend:
        return [call(backend) for _ in range(2)][-1]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_workers_replay_what_was_computed_here(engine, name, backend_of, tmp_path):
    needs(engine)
    backend, (on, at_once) = backend_of(engine, 2), CASES[name]
    error = 1e-12 if name in SUMS else OTHERS[name][2]
    with watched(backend, tmp_path / "before") as count:
        on(backend, False)
        assert count() > 0, "else what follows would show nothing"
    here(lambda local: on(local, False))
    with watched(backend, tmp_path / "after") as count:
        found = on(backend, False)
        assert (count() == 0) == (name not in STAYING)
    assert_same(found, at_once(), error, name)


@pytest.mark.parametrize("engine", ENGINES)
def test_replays_in_a_fixed_order(engine, backend_of, tmp_path):
    """They give the bits that a worker has found which recorded the function itself."""
    needs(engine)
    on = SUMS["gradient"][0]
    expected = here(lambda local: on(local, True))
    with watched(backend_of(engine, 2), tmp_path) as count:
        found = on(backend_of(engine, 2), True)
        assert count() == 0
    assert [a.tobytes() for a in arrays_of(found)] == [a.tobytes() for a in arrays_of(expected)]


def value_of(fn, backend, chunk=CHUNK, **settings):
    given = () if settings else (POINT,)
    return float(SumOfShards(fn, Shards(backend, X, Y, chunk=chunk), **settings)(*given))


def periods(tau):
    return float((np.sin(tau * (X @ POINT["w"].asnumpy())) * POINT["b"].asnumpy()).sum())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_is_not_used_where_a_module_is_another_one(engine, backend_of, tmp_path):
    needs(engine)
    backend = backend_of(engine, 2)
    here(lambda local: value_of(periodic, local))
    for tau, replayed in ((math.tau, True), (3.0, False)):
        with watched(backend, tmp_path / str(tau), tau=tau) as count:
            assert value_of(periodic, backend) == pytest.approx(periods(tau), rel=1e-12)
            assert (count() == 0) == replayed


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_is_not_used_for_other_rows(engine, backend_of, tmp_path):
    needs(engine)
    backend = backend_of(engine, 2)
    here(lambda local: value_of(misfit, local))
    with watched(backend, tmp_path) as count:
        assert value_of(misfit, backend, CHUNK - 1) == pytest.approx(float(SUMS["value"][1]()), rel=1e-12)
        assert count() > 0


class Held:
    """What a function reads, and the changes of it after it was computed here."""

    def __init__(self):
        self.w, self.steps, self.shift = Parameter(np.array([0.5, -1.0, 2.0]), name="w"), [1.0, 2.0], np.array(0.5)

    def function(self):
        w, steps, shift = self.w, self.steps, self.shift
        return lambda x, y: ops.sin(x @ w) * steps[0] + Tensor(shift)

    def expected(self):
        return float((np.sin(X @ self.w.asnumpy()) * self.steps[0] + self.shift).sum())


CHANGES = {
    "nothing": lambda held: None,
    "parameter": lambda held: held.w.set_data(np.array([3.0, 2.0, 1.0])),
    "list": lambda held: held.steps.__setitem__(0, 7.0),
    "array": lambda held: held.shift.__setitem__((), -4.0),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["captured", "weight"])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_is_not_used_for_what_has_changed(engine, name, weighted, backend_of, tmp_path):
    """Numbers of weights come with each call: they may change."""
    needs(engine)
    backend, held = backend_of(engine, 2), Held()
    fn, settings = held.function(), {"weights": [held.w]} if weighted else {}
    captured = fn if weighted else lambda _, x, y: fn(x, y)
    here(lambda local: value_of(captured, local, **settings))
    CHANGES[name](held)
    with watched(backend, tmp_path) as count:
        assert value_of(captured, backend, **settings) == pytest.approx(held.expected(), rel=1e-12)
        assert (count() == 0) == (name == "nothing" or (weighted and name == "parameter"))


def test_this_process_is_sent_no_recordings(backend_of):
    """It has them already."""
    with distributed.connect("local", threads_per_worker=1) as backend:
        sizes = []
        for _ in range(3):
            sending = SumOfShards(misfit, Shards(backend, X, Y, chunk=CHUNK))
            sending(POINT)
            sizes.append(len(sending._sending._whole))
    assert len(set(sizes)) == 1
    elsewhere = SumOfShards(misfit, Shards(backend_of("joblib", 2), X, Y, chunk=CHUNK))
    assert len(elsewhere._sending._whole) > sizes[0]
