"""The Lorenz system by the classical Runge-Kutta method: value and gradient by the start and three parameters; float64.

A loop of many small steps. The same loop is written with the library's `scan` and, where it has none or is faster
without, in Python.
"""

from typing import Any

import numpy as np
import styles
from workload import Case, Run

STEP = 2.0**-7  # exact in binary


def slope(x: Any, y: Any, z: Any, s: Any, r: Any, b: Any) -> tuple:
    return s * (y - x), x * (r - z) - y, x * y - b * z


def stepped(state: tuple, parameters: tuple) -> tuple:
    """One step."""
    moved = lambda k, h: [a + h * d for a, d in zip(state, k, strict=True)]
    k1 = slope(*state, *parameters)
    k2 = slope(*moved(k1, STEP / 2), *parameters)
    k3 = slope(*moved(k2, STEP / 2), *parameters)
    k4 = slope(*moved(k3, STEP), *parameters)
    return tuple([a + STEP / 6 * (p + 2 * (q + r) + t) for a, p, q, r, t in zip(state, k1, k2, k3, k4, strict=True)])


def numbers() -> list[np.ndarray]:
    return [np.array(v) for v in (1.0, 1.5, 20.0, 10.0, 28.0, 8.0 / 3.0)]


def energy(state: tuple) -> Any:
    x, y, z = state
    return (x * x + y * y + z * z) * 0.5


def by_duals(steps: int) -> list[np.ndarray]:
    """The same in forward mode: arrays of a number and its six derivatives."""

    class Moved:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return Moved(self.v + o.v)

        def __sub__(self, o):
            return Moved(self.v - o.v)

        def __mul__(self, o):
            if not isinstance(o, Moved):
                return Moved(self.v * o)
            v = self.v * o.v[0] + o.v * self.v[0]
            v[0] = self.v[0] * o.v[0]
            return Moved(v)

        __rmul__ = __mul__

    given = [Moved(np.concatenate([[v], np.eye(6)[i]])) for i, v in enumerate(numbers())]
    state, parameters = tuple(given[:3]), tuple(given[3:])
    for _ in range(steps):
        state = stepped(state, parameters)
    return [np.array(v) for v in energy(state).v]


def scanned(package: Any, steps: int) -> tuple:
    def run(*args):
        state, _ = package.ops.scan(lambda c, _: (stepped(c, args[3:]), None), args[:3], length=steps)
        return energy(state)

    return package.value_and_grad(run, tuple(range(6))), [package.Tensor(a) for a in numbers()]


def written_out(package: Any, steps: int) -> tuple:
    def run(*args):
        state = args[:3]
        for _ in range(steps):
            state = stepped(state, args[3:])
        return energy(state)

    return package.value_and_grad(run, tuple(range(6))), [package.Tensor(a) for a in numbers()]


def jax_scan(steps: int) -> Run:
    import jax

    def run(*args):
        state, _ = jax.lax.scan(lambda c, _: (stepped(c, args[3:]), None), args[:3], length=steps)
        return energy(state)

    return styles.jax_jit(jax.value_and_grad(run, tuple(range(6))), *numbers())


def torch_eager(steps: int) -> Run:
    import torch

    given = [t.requires_grad_() for t in styles.torch_tensors(*numbers())]

    def call():
        state = tuple(given[:3])
        for _ in range(steps):
            state = stepped(state, tuple(given[3:]))
        value = energy(state)
        return value.detach(), torch.autograd.grad(value, given)

    return Run(call)


def casadi_c(steps: int) -> Run:
    import casadi as ca

    given = [ca.SX.sym(f"v{i}") for i in range(6)]
    state = tuple(given[:3])
    for _ in range(steps):
        state = stepped(state, tuple(given[3:]))
    value = energy(state)
    gradient = ca.gradient(value, ca.vertcat(*given))
    function = ca.Function("energy", given, [value, *ca.vertsplit(gradient)], {"cse": True})
    return styles.casadi(styles.casadi_c(function), numbers(), [()] * 7)


RIVALS = {"jax scan": jax_scan, "torch": torch_eager, "casadi c": casadi_c}


def case(steps: int) -> Case:
    return Case(
        name=f"rk4/{steps}",
        reference=lambda: by_duals(steps),
        dtype="float64",
        tolerance=1e-9,
        contenders=styles.contenders(
            scanned,
            RIVALS,
            lambda: (steps,),
            {"dualgrad jit unrolled": written_out, "dualgrad native unrolled": written_out, "mindspore graph": None},
        ),
        slow=("casadi c", "torch"),
    )


CASES = [case(500)]


def test_rk4(benchmark, run):
    benchmark(run.call)
