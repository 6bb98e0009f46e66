"""Growth of the tape: the gradient of a long chain of scalars, from the first operation to the last release.

``x = x * a + b`` in a Python loop is two nodes per step, and next to no arithmetic, so the time per node is
the price of putting an operation on the tape, sweeping over it and letting it go. ``a`` and ``b`` are
differentiated too: they are read at every step, inputs with as many uses as the chain has steps. The time per
node should not depend on the length, and a chain of a million nodes must be released as uneventfully as one
of ten.
"""

from functools import partial
from typing import Any

import numpy as np
import styles
from workload import Case, Run

START, FACTOR, SHIFT = 1.5, 1.0 - 1e-6, 1e-6


def reference(steps: int) -> list[np.ndarray]:
    """Derivatives of the last x in closed form, as sums over the steps."""
    powers = FACTOR ** np.arange(steps + 1)
    sums = np.concatenate([[0.0], np.cumsum(powers[:-1])])  # 1 + a + ... + a^(k-1)
    x = powers * START + SHIFT * sums  # x before step k
    return [powers[-1], np.dot(x[:-1], powers[steps - 1 :: -1]), sums[-1]]


def loop(x: Any, a: Any, b: Any, steps: int) -> Any:
    for _ in range(steps):
        x = x * a + b
    return x


def program(package: Any, steps: int) -> tuple:
    """Against MindSpore's API, on 0-d tensors."""

    def function(x, a, b):
        return loop(x, a, b, steps)

    return package.grad(function, (0, 1, 2)), [package.Tensor(np.array(v)) for v in (START, FACTOR, SHIFT)]


def torch_eager(steps: int) -> Run:
    """The loop on 0-d tensors."""
    import torch

    x, a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (START, FACTOR, SHIFT))
    return Run(lambda: torch.autograd.grad(loop(x, a, b, steps), (x, a, b)))


def jax_eager(steps: int) -> Run:
    """The loop traced anew at every call, which is what Python control flow costs without jit."""
    import jax

    gradient = jax.grad(partial(loop, steps=steps), argnums=(0, 1, 2))
    return styles.jax_eager(gradient, *(np.array(v) for v in (START, FACTOR, SHIFT)))


def autograd(steps: int) -> Run:
    """The loop on Python floats."""
    from autograd import grad

    gradient = grad(lambda x, a, b: loop(x, a, b, steps), (0, 1, 2))
    return Run(lambda: gradient(START, FACTOR, SHIFT))


def hand(steps: int) -> Run:
    """Forward and backward written out over a list of Python floats: the floor for a loop in Python."""

    def call():
        x, a, b = START, FACTOR, SHIFT
        tape = []
        for _ in range(steps):
            tape.append(x)
            x = x * a + b
        dx, da, db = 1.0, 0.0, 0.0
        while tape:
            db += dx
            da += dx * tape.pop()
            dx *= a
        return dx, da, db

    return Run(call)


def case(nodes: int) -> Case:
    """A chain of ``nodes`` nodes; libraries that would take minutes for it are left out."""
    steps = nodes // 2
    limits = {"torch": 1_000_000, "jax eager": 1_000, "autograd": 100_000, "hand": nodes}
    factories = {"torch": torch_eager, "jax eager": jax_eager, "autograd": autograd, "hand": hand}
    short = program if nodes <= 1_000 else None
    return Case(
        name=f"tape/{nodes}",
        reference=partial(reference, steps),
        dtype="float64",
        tolerance=1e-10,  # rounding errors of millions of steps, all in one direction at worst
        contenders=styles.contenders(
            program,
            {name: factory for name, factory in factories.items() if nodes <= limits[name]},
            lambda: (steps,),
            {"dualgrad jit": short, "dualgrad native": short, "mindspore": short, "mindspore graph": None},
        ),
        count=nodes,
        unit="node",
    )


CASES = [case(nodes) for nodes in (1_000, 10_000, 100_000, 1_000_000, 5_000_000)]


def test_tape(benchmark, run):
    benchmark(run.call)
