"""What is recorded in the documentation, in the benchmarks and in `menagerie`, in small: functions with arguments.

The scripts in docs/examples and the files in benchmarks are imported by their paths, as they are.
"""

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import menagerie
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, nn, ops

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.stem for path in (ROOT / "docs" / "examples").glob("*.py"))


@dataclass
class Workload:
    """A recorded function, and tensors to call it with."""

    recorded: Callable[..., Any]
    arguments: tuple[Any, ...]

    @property
    def is_cell(self) -> bool:
        return isinstance(self.recorded, nn.Cell)

    @property
    def function(self) -> Any:
        """What was recorded."""
        return self.recorded if self.is_cell else self.recorded.__wrapped__

    def __call__(self) -> Any:
        return self.recorded(*self.arguments)

    def eager(self) -> Any:
        """The same call, not recorded."""
        if not self.is_cell:
            return self.function(*self.arguments)
        self.recorded._recorded = False
        try:
            return self.recorded(*self.arguments)
        finally:
            self.recorded._recorded = True


# ---------------------------------------------------------------------------------------------------- the benchmarks


@functools.cache
def catalogue() -> dict[str, Any]:
    """All cases of the benchmarks, by name."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("catalogue").CASES
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def recorded_contenders(quick: bool) -> list[tuple[str, str]]:
    """Case and contender, for all that record; of cases that differ by numbers the first, which is the smallest.

    `quick`: of each benchmark one, and one more where the gradient is by weights.
    """
    found: dict[Any, tuple[str, str]] = {}
    for name, case in catalogue().items():
        kind = (name.partition("/")[0], name.endswith("/weights")) if quick else re.sub(r"\d+", "", name)
        for contender in case.contenders:
            if contender.startswith("dualgrad") and contender.endswith("jit"):
                found.setdefault((kind, contender), (name, contender))
    return list(found.values())


def benchmark(name: str, contender: str) -> Workload:
    """A contender with the first of its samples."""
    native = dg.get_context("native")
    run = catalogue()[name].contenders[contender]()
    dg.set_context(native=native)  # the contender has set what it is measured with
    held = inspect.getclosurevars(run.call).nonlocals
    return Workload(held["function"], fewer_samples(held["tensors"]))


def fewer_samples(tensors: Sequence[Tensor], count: int = 16) -> tuple[Tensor, ...]:
    """Tensors with the first of many rows; samples are the longest axis, first in tables or in several tensors."""
    many = max(n for t in tensors for n in (*t.shape, 0))
    rows = [t.ndim for t in tensors if t.shape[:1] == (many,)]
    if many < 200 or rows == [1]:
        return tuple(tensors)
    return tuple(t[:count] if t.shape[:1] == (many,) else t for t in tensors)


# ------------------------------------------------------------------------------------------------------ the examples


@functools.cache
def example(name: str) -> ModuleType:
    """The module of a script in docs/examples."""
    spec = spec_from_file_location(f"example_{name}", ROOT / "docs" / "examples" / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    return module


def burgers() -> Workload:
    """A step of training: third derivatives, and Adam."""
    m = example("travelling_wave_pinn")
    dg.set_seed(1)
    network = m.Network(4, 2)
    step = nn.TrainOneStepCell(m.Loss(network), nn.Adam(network.trainable_params(), 1e-2))
    return Workload(dg.jit(step), tuple(map(Tensor, m.sample(np.random.default_rng(1), 24))))


def reference_forces() -> Workload:
    m = example("force_matching")
    forces = m.Forces(m.Reference())
    return Workload(dg.jit(lambda positions: forces(positions)), (Tensor(m.geometries(np.random.default_rng(3), 5)),))


def matched_forces() -> Workload:
    """A step of training, as the script has it."""
    m = example("force_matching")
    dg.set_seed(3)
    seen = Tensor(m.geometries(np.random.default_rng(3), 5))
    potential = m.Potential(4)
    model_forces, loss_fn = m.Forces(potential), nn.MSELoss()
    optimizer = nn.Adam(potential.trainable_params(), 1e-2)
    grad_fn = ops.value_and_grad(
        lambda positions, forces: loss_fn(model_forces(positions), forces), None, optimizer.parameters
    )

    @dg.jit
    def train_step(positions, forces):
        loss, grads = grad_fn(positions, forces)
        return ops.depend(loss, optimizer(grads))

    return Workload(train_step, (seen, m.Forces(m.Reference())(seen)))


def hessian_row() -> Workload:
    m = example("newton_logistic")
    rng = np.random.default_rng(4)
    loss = m.Loss(rng.standard_normal((12, 3)), rng.integers(0, 2, 12).astype(float), 0.5)
    row = m.HessianRow(m.Gradient(loss))
    return Workload(dg.jit(row), (Tensor(rng.standard_normal(4)), Tensor(np.eye(4)[1])))


# ---------------------------------------------------------------------------------------------------- made for tests


def sort(name: str) -> Workload:
    """A function that reads objects of some sort."""
    return Workload(dg.jit(menagerie.FUNCTIONS[name]), menagerie.POINT)


SORTS = {name: functools.partial(sort, name) for name in menagerie.FUNCTIONS}
SMALL_EXAMPLES = {f.__name__: f for f in (burgers, reference_forces, matched_forces, hessian_row)}


def workloads(quick: bool = False) -> dict[str, Callable[[], Workload]]:
    """How to make each of them."""
    made = {f"{n}, {c}": functools.partial(benchmark, n, c) for n, c in recorded_contenders(quick)}
    return SMALL_EXAMPLES | made | SORTS
