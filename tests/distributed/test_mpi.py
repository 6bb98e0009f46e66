"""The same table by the processes of MPI, each of which executes the whole program."""

import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from shard_cases import CHUNK, OTHERS, POINT, SUMS, X, Y, arrays_of, assert_same, misfit

from dualgrad import distributed
from dualgrad.distributed import Shards, SumOfShards

PROGRAM = str(Path(__file__).parents[1] / "mpi_program.py")

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun"),
    pytest.mark.usefixtures("paths"),
]


def run(task, workers, path):
    """Run a task; the process that mpirun has ended with."""
    command = ["mpirun", "-n", str(workers), "--oversubscribe"]
    command += [sys.executable, "-m", "mpi4py", PROGRAM, task, str(path)]
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)


def result_of(task, workers, path):
    done = run(task, workers, path)
    assert done.returncode == 0, done.stderr[-3000:]
    return pickle.loads(path.read_bytes())


@pytest.mark.parametrize("workers", [*[pytest.param(k, marks=pytest.mark.exhaustive) for k in (1, 2)], 3])
def test_every_operation(workers, tmp_path):
    found = result_of("table", workers, tmp_path / "found")
    with distributed.connect("local", threads_per_worker=1) as backend:
        for name, (on, at_once) in SUMS.items():
            for deterministic in (False, True):
                assert_same(found[name, deterministic], at_once(), 1e-12, name)
            bits = [a.tobytes() for a in arrays_of(on(backend, True))]
            assert [a.tobytes() for a in found[name, True]] == bits, name
    for name, (_, at_once, error) in OTHERS.items():
        assert_same(found[name, False], at_once(), error, name)


@pytest.fixture(scope="module")
def cases(paths, tmp_path_factory):
    """What three processes have found, by case."""
    return list(zip(*result_of("cases", 3, tmp_path_factory.mktemp("mpi") / "found"), strict=True))


def test_process_0_decides(cases):
    assert len(cases[0]) == 3
    for found in cases[0]:
        assert_same(found, SUMS["gradient"][1](), 1e-12, "gradient")
        assert [a.tobytes() for a in found] == [a.tobytes() for a in cases[0][0]]


def test_an_error_of_one_process_is_raised_in_all(cases):
    assert [message for message, _ in cases[1]] == ["these rows"] * 3
    np.testing.assert_allclose([value for _, value in cases[1]], SUMS["value"][1](), rtol=1e-12)


def test_sums_of_several_types(cases):
    x, p = X.astype(np.float32).astype(np.float64), np.array([0.5, 1.0, 2.0])
    for value, slope in cases[2]:
        np.testing.assert_allclose(value, np.square(x * p).sum(), rtol=1e-12)
        np.testing.assert_allclose(slope, 2 * np.square(x).sum(0) * p, rtol=1e-12)


def test_processes_replay_what_process_0_has_computed(cases):
    for found in cases[3]:
        for name, (before, after, result) in found.items():
            assert before > 0, "else what follows would show nothing"
            assert after == 0, name
            _, at_once, *error = {**SUMS, **OTHERS}[name]
            assert_same(result, at_once(), *(error or [1e-12]), name)


def test_a_process_that_dies_ends_the_run_and_another_number_goes_on(tmp_path):
    """The run that was killed has the numbers of one that was not, bit for bit."""
    path = tmp_path / "run.ckpt"
    died = run("dying", 3, path)
    assert died.returncode != 0
    assert path.exists()
    assert not (tmp_path / "run.ckpt.result").exists()
    assert run("descend", 2, path).returncode == 0
    point = POINT
    with distributed.connect("local", threads_per_worker=1) as backend:
        total = SumOfShards(misfit, Shards(backend, X, Y, chunk=CHUNK), deterministic=True)
        for _ in range(9):
            slope = total.value_and_grad(point)[1]
            point = {name: point[name] - 0.01 * slope[name] for name in point}
    found = pickle.loads((tmp_path / "run.ckpt.result").read_bytes())
    assert [a.tobytes() for a in found] == [a.tobytes() for a in arrays_of(point)]
