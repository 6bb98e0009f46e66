"""The examples of the documentation and the recorded contenders of the benchmarks: every program is verified, and every
replay run beside the function that it stands for.
"""

import importlib
import sys
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from engine import forget_programs, known_functions
from workloads import EXAMPLES, Workload, catalogue, example, recorded_contenders, workloads

import dualgrad as dg
from dualgrad import Tensor
from dualgrad._engine.trace import replay
from dualgrad.programs import ReplayError, checked, checking, verified

pytestmark = pytest.mark.eager("records by itself")

CALLS = 5  # of which two are replays at least: the first may fill caches, so that two more are recorded
#: how each script is run briefly: its options, and how precise it has to be then
BRIEFLY = {
    "travelling_wave_pinn": (["--steps", "10"], {"ALLOWED": np.inf}),
    "force_matching": (
        ["--epochs", "10"],
        dict.fromkeys(("ALLOWED_FORCES", "ALLOWED_ENERGIES", "ALLOWED_FREQUENCIES"), np.inf),
    ),
    "newton_logistic": (["--output", "picture.png"], {}),
    "kdv_inverse": (["--quick", "--steps", "5"], {"ALLOWED": np.inf}),
} | {
    name: (["--quick", "--steps", "5"], {"ALLOWED_QUICK": np.inf})
    for name in ("biharmonic_plate", "burgers_pinn", "schrodinger")
}
BRIEFLY |= {name: (["--quick"], {}) for name in EXAMPLES if name not in BRIEFLY}


@contextmanager
def watched(graph=False):
    """Everything is verified and checked inside the block; counts the replays that are, by the name of the function."""
    forget_programs()
    before, compared = {key: dg.get_context(key) for key in ("mode", "native")}, Counter()

    def compare(name, *rest):
        compared[name] += 1
        return checking.compare(name, *rest)

    replay.compare_replays_by(compare)
    try:
        if graph:
            dg.set_context(mode=dg.GRAPH_MODE)
        with checked(), verified():
            yield compared
        assert [f"{name}: {why}" for name, why, _, _ in known_functions() if why is not None] == []
    finally:
        replay.compare_replays_by(checking.compare)
        dg.set_context(**before)  # contenders of the benchmarks set both
        forget_programs()


# Those on shards have their calls made by workers, whose programs tests/distributed compares. The others that are left
# out go to an optimum, where gradients vanish and their rounding is that of terms which cancel, take minutes (vmc), or
# run chaotic dynamics, in which rounding grows (argon).
LEFT_OUT = {"argon", "gaussian_process", "newton_vs_adam", "ode_sensitivity", "vmc"}


@pytest.mark.rotated("name")
@pytest.mark.parametrize("name", [n for n in EXAMPLES if not n.startswith("distributed_") and n not in LEFT_OUT])
def test_examples(name, monkeypatch, tmp_path):
    """Each script, with every outermost call of a Cell recorded."""
    options, precision = BRIEFLY[name]
    module = example(name)
    for limit, value in precision.items():
        monkeypatch.setattr(module, limit, value)
    monkeypatch.setattr(sys, "argv", [name, *options])
    monkeypatch.chdir(tmp_path)
    with watched(graph=True) as compared:
        module.main()
    assert compared.total() >= 8


@pytest.mark.parametrize("name", workloads(quick=True))
def test_workloads(name):
    with watched() as compared:
        call = workloads()[name]()
        for _ in range(CALLS):
            call()
    assert compared.total() >= 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "contender"), recorded_contenders(quick=False))
def test_contenders(name, contender):
    """In the sizes of the benchmarks, with the results that are known for them."""
    case = catalogue()[name]
    with watched() as compared:
        importlib.import_module("workload").prepare(case, contender)
    assert compared.total() >= 1


# ---------------------------------------------------------------------------------------- the test itself is tested


def test_what_no_guard_sees_is_found():
    """With a promise that does not hold, a replay is stale."""
    factor = [2.0]
    call = Workload(dg.jit(lambda x: x * factor[0], pure=True), (Tensor([1.0]),))
    with watched() as compared:
        for _ in range(CALLS):
            call()
        factor[0] = 3.0
        with pytest.raises(ReplayError):
            call()
    assert compared.total() == CALLS - 1
