"""docs/examples/hmc.py: one leapfrog trajectory of 24 steps for 32 chains of the eight schools; float64.

Ten numbers for each chain; returned are positions, momenta and log-densities. `dualgrad` is a loop over the gradient of
the script's log-density, one recorded program with `jit`. `dualgrad script` is the script's way: NumPy between recorded
gradients, so that the number of steps may be drawn. Reference and `hand` are NumPy with the gradient written out.
"""

import functools
import math
from typing import Any

import applications
import numpy as np
import styles
from workload import Case, Run

CHAINS, STEPS, STEP = 32, 24, 0.125
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@functools.cache
def problem() -> list[np.ndarray]:
    """Positions and momenta."""
    return list(np.random.default_rng(1).normal(size=(2, CHAINS, 10)))


def leapfrog(slope: Any, x: Any, p: Any) -> tuple:
    """One step; the gradient at its start is the one at the end of the step before, which is therefore kept."""
    g = slope(x)
    for _ in range(STEPS):
        x, p, g = moved(slope, x, p, g)
    return x, p


def moved(slope: Any, x: Any, p: Any, g: Any) -> tuple:
    p = p + 0.5 * STEP * g
    x = x + STEP * p
    g = slope(x)
    return x, p + 0.5 * STEP * g, g


def log_density(m: Any, x: Any, effects: Any = EFFECTS, errors: Any = ERRORS) -> Any:
    """Of rows, with exp and log from `m`; the normalised densities of the script."""
    mu, free, eta = x[:, 0], x[:, 1], x[:, 2:]
    tau = m.exp(free)
    r = (effects - mu[:, None] - tau[:, None] * eta) / errors
    constant = -8.5 * math.log(2 * math.pi) - 2 * math.log(5.0) - math.log(math.pi) - np.log(ERRORS).sum()
    squares = (mu / 5.0) ** 2 + (eta**2).sum(1) + (r**2).sum(1)
    return constant - 0.5 * squares - m.log(1.0 + (tau / 5.0) ** 2) + free


def slope_by_hand(x: np.ndarray) -> np.ndarray:
    mu, tau, eta = x[:, :1], np.exp(x[:, 1:2]), x[:, 2:]
    r = (EFFECTS - mu - tau * eta) / ERRORS**2
    square = (tau / 5.0) ** 2
    by_free = 1.0 - 2.0 * square / (1.0 + square) + (r * tau * eta).sum(1, keepdims=True)
    return np.hstack([r.sum(1, keepdims=True) - mu / 25.0, by_free, r * tau - eta])


def by_hand(x: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
    x, p = leapfrog(slope_by_hand, x, p)
    return [x, p, log_density(np, x)]


def program(package: Any, *arrays: np.ndarray) -> tuple:
    """The whole trajectory, a scan over the script's log-density."""
    script = applications.example("hmc")

    def value_and_slope(x):
        (_, values), slope = package.value_and_grad(script.with_values, has_aux=True)(x)
        return values, slope

    def trajectory(x, p):
        def step(carry, _):
            x, p, g, _ = carry
            p = p + 0.5 * STEP * g
            x = x + STEP * p
            values, g = value_and_slope(x)
            return (x, p + 0.5 * STEP * g, g, values), None

        values, g = value_and_slope(x)
        (x, p, _, values), _ = package.ops.scan(step, (x, p, g, values), length=STEPS)
        return x, p, values

    return trajectory, [package.Tensor(a) for a in arrays]


def script_way(*arrays: np.ndarray) -> Run:
    import dualgrad as dg

    dg.set_context(mode=dg.PYNATIVE_MODE, native=False)
    evaluate = applications.example("hmc").evaluate

    def trajectory(x, p):
        _, g = evaluate(x)
        for _ in range(STEPS):
            p = p + 0.5 * STEP * g
            x = x + STEP * p
            values, g = evaluate(x)
            p = p + 0.5 * STEP * g
        return x, p, values

    return Run(lambda: trajectory(*arrays))


def jax_trajectory(loop: Any) -> Any:
    """`loop` runs a step several times."""

    def factory(*arrays):
        import jax

        def with_values(x):
            values = log_density(jax.numpy, x)
            return values.sum(), values

        value_and_grad = jax.value_and_grad(with_values, has_aux=True)

        def step(carry):
            x, p, g, _ = carry
            p = p + 0.5 * STEP * g
            x = x + STEP * p
            (_, values), g = value_and_grad(x)
            return x, p + 0.5 * STEP * g, g, values

        def trajectory(x, p):
            (_, values), g = value_and_grad(x)
            x, p, _, values = loop(step, (x, p, g, values))
            return x, p, values

        return styles.jax_jit(trajectory, *arrays)

    return factory


def lax_loop(step: Any, carry: tuple) -> tuple:
    import jax

    return jax.lax.fori_loop(0, STEPS, lambda _, carry: step(carry), carry)


def unrolled(step: Any, carry: tuple) -> tuple:
    for _ in range(STEPS):
        carry = step(carry)
    return carry


def torch_eager(*arrays: np.ndarray) -> Run:
    import torch

    x, p = styles.torch_tensors(*arrays)
    effects, errors = styles.torch_tensors(EFFECTS, ERRORS)

    def value_and_slope(x):
        x = x.requires_grad_()
        values = log_density(torch, x, effects, errors)
        return values.detach(), torch.autograd.grad(values.sum(), x)[0]

    def call():
        last = []

        def slope(x):
            values, g = value_and_slope(x.detach())
            last[:] = [values]
            return g

        return *leapfrog(slope, x, p), *last

    return Run(call)


RIVALS = {
    "dualgrad script": script_way,
    "jax loop": jax_trajectory(lax_loop),
    "jax unrolled": jax_trajectory(unrolled),
    "torch": torch_eager,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

CASES = [
    Case(
        name="application/hmc",
        reference=functools.cache(lambda: by_hand(*problem())),
        dtype="float64",
        tolerance=1e-10,
        contenders=styles.contenders(program, RIVALS, problem, {"mindspore graph": None}),
        count=STEPS,
        unit="step",
    )
]


def test_hmc(benchmark, run):
    benchmark(run.call)
