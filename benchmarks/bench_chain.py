"""Forces in a chain of a million anharmonic oscillators, float64: first order, and memory passed over once.

The model of Fermi, Pasta, Ulam and Tsingou (1955): the sum over neighbours of d^2/2 + d^3/12 + d^4/8, d the difference
of their places, and of x^2/2 over all.
"""

from typing import Any

import numpy as np
import styles
from workload import Case, Run

LENGTH = 1_000_000


def energy(x: Any) -> Any:
    d = x[1:] - x[:-1]
    square = d * d
    return (square / 2 + square * d / 12 + square * square / 8).sum() + (x * x).sum() / 2


def by_hand(x: np.ndarray) -> list[np.ndarray]:
    d = x[1:] - x[:-1]
    slope = d + d * d / 4 + d * d * d / 2
    forces = -x
    forces[:-1] += slope
    forces[1:] -= slope
    return [forces]


def places() -> list[np.ndarray]:
    return [np.random.default_rng(13).normal(size=LENGTH)]


def program(package: Any, *arrays: np.ndarray) -> tuple:
    gradient = package.grad(energy)
    return lambda x: -gradient(x), [package.Tensor(a) for a in arrays]


def jax_jit(*arrays: np.ndarray) -> Run:
    import jax

    return styles.jax_jit(lambda x: -jax.grad(energy)(x), *arrays)


def torch_eager(*arrays: np.ndarray) -> Run:
    import torch

    (x,) = styles.torch_tensors(*arrays)
    x.requires_grad_()
    return Run(lambda: -torch.autograd.grad(energy(x), x)[0])


def torch_compile(*arrays: np.ndarray) -> Run:
    import torch

    return styles.torch_compile(lambda x: -torch.func.grad(energy)(x), *arrays)


RIVALS = {
    "jax jit": jax_jit,
    "torch": torch_eager,
    "torch compile": torch_compile,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

CASES = [
    Case(
        name=f"chain/{LENGTH}",
        reference=lambda: by_hand(*places()),
        dtype="float64",
        tolerance=1e-13,
        contenders=styles.contenders(program, RIVALS, places, {"mindspore graph": None}),
        slow=("torch compile",),
    )
]


def test_chain(benchmark, run):
    benchmark(run.call)
