"""Loops of many steps."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualgrad import ops


def oscillator(n, states):
    """The place of a leapfrog oscillator after n steps, by (start, stiffness)."""

    def place(x):
        start, k = x[0], x[1]

        def step(c, _):
            q, p = c
            p = p - 0.005 * k * q
            q = q + 0.01 * p
            return (q, p - 0.005 * k * q), None

        return ops.scan(step, (start, start * 0), length=n, checkpoints=states)[0][0]

    return place


def exact(n):
    """Gradient, and Hessian times (1, 2): q_n = q_0 cos(n theta), cos theta = 1 - h^2 k / 2."""
    q, k, h = 1.0, 1.3, 0.01
    c = 1 - h * h * k / 2
    s = np.sqrt(1 - c * c)
    theta = np.arccos(c)
    d1 = h * h / 2 / s  # theta by k
    d2 = -d1 * c / s * d1
    gradient = [np.cos(n * theta), -q * np.sin(n * theta) * n * d1]
    by_k = -q * (np.cos(n * theta) * (n * d1) ** 2 + np.sin(n * theta) * n * d2)
    mixed = -np.sin(n * theta) * n * d1
    return np.array(gradient), np.array([2 * mixed, mixed + 2 * by_k])


CEILING = (
    4096  # kilobytes, whatever the number of steps; an ordinary loop of 100,000 steps keeps 230,000 for its gradient
)


MEASURE = """
import resource, sys
sys.path[:0] = {tests!r}
import dualgrad as dg
from test_long_loops import oscillator
from support import f64
x, along = f64([1.0, 1.3]), f64([1.0, 2.0])
product = lambda place: dg.grad(lambda x: (dg.grad(place)(x) * along).sum())(x)
product(oscillator(50, None))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
place = oscillator({n}, {states!r})
results = dg.grad(place)(x).tolist(), product(place).tolist()
print((*results, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.parametrize("n", [3000, pytest.param(100_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("states", [12, "64 kB", None])
def test_a_long_loop_needs_little_memory(n, states):
    # In a process of its own, whose peak is that of this loop.
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            MEASURE.format(n=n, states=states, tests=[str(Path(__file__).parents[k]) for k in (0, 1)]),
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    gradient, product, kilobytes = ast.literal_eval(run.stdout)
    expected = exact(n)
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-14 * n + 1e-11)
    np.testing.assert_allclose(product, expected[1], rtol=1e-14 * n + 1e-11)
    assert kilobytes < CEILING
