"""The distributions of one variable in `dualgrad.stats`, points of each, and derivatives at a number."""

import exact_stats
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, stats

scipy_stats = pytest.importorskip("scipy.stats")

LOC, SCALE = 0.3, 1.7
PROBABILITIES = np.array([1e-3, 0.07, 0.4, 0.62, 0.95, 0.999])
ALL = {
    name: getattr(stats, name)
    for name in stats.__all__
    if isinstance(getattr(stats, name), (stats.Continuous, stats.Discrete))
}
CONTINUOUS = [name for name, d in ALL.items() if isinstance(d, stats.Continuous)]
DISCRETE = [name for name, d in ALL.items() if isinstance(d, stats.Discrete)]
FUNCTIONS = [(name, f) for name, d in ALL.items() for f in d.functions]


def shapes_of(name):
    return (exact_stats.CONTINUOUS.get(name) or exact_stats.DISCRETE[name])[0]


def place_of(name):
    return (LOC, SCALE) if name in CONTINUOUS else (2.0,)


def points_of(name, f):
    """Points in the body of the distribution, moved and scaled; or probabilities."""
    if f in ("ppf", "isf"):
        return PROBABILITIES
    peer = getattr(scipy_stats, name)
    return np.unique(peer.ppf(PROBABILITIES, *shapes_of(name), *place_of(name)))


def by(f, given, place):
    """A function f, as one of one of its operands."""
    return lambda v: f(*given[:place], v, *given[place + 1 :])


def grads(f, x, order):
    """Value and all derivatives up to `order` at a number."""
    found = []
    for _ in range(order + 1):
        found.append(f(Tensor(x, dg.float64)).item())
        f = dg.grad(f)
    return found


LOGS = [(name, f) for name, f in FUNCTIONS if f.startswith("log") and f != "logpmf"]
