"""Sweeps over random programs: how many, what is counted, and how large the derivatives of a program are."""

import math
import os
from collections import Counter

import numpy as np
from engine import jets, run_forward
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from random_lines import ENGINE

from dualgrad import Tensor

EXHAUSTIVE = int(os.environ.get("DUALGRAD_PROGRAMS", "5000"))
SEED = os.environ.get("DUALGRAD_SEED")  # other programs than those of every run
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
ALWAYS_THE_SAME = {"derandomize": SEED is None, "database": None, "phases": (Phase.generate, Phase.shrink)}
WILD = 1e5  # programs with larger derivatives are not compared
TALLY = Counter()  # of what a sweep has seen


def leaves(nest):
    if isinstance(nest, tuple):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest]


def directions(program):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(x.shape) for x in program.points]


def series(program, order, dtype=np.float64):
    """Derivatives along the directions, orders 0 to `order`, of every result."""
    f = program.compiled(ENGINE, program.parameters(dtype))
    along = [
        [Tensor(x.astype(dtype)), Tensor(d.astype(dtype))] + [None] * (order - 1)
        for x, d in zip(program.points, directions(program), strict=True)
    ]
    found = run_forward("series", jets(order), lambda *xs: tuple(leaves(f(*xs))), along)
    return [
        [0.0 if c is None else c.asnumpy() * math.factorial(k) for k, c in enumerate(coefficients)]
        for coefficients in found
    ]


def size_of(program, order):
    """The largest derivative of any value on the way. What comes after can cancel, so errors are relative to it."""
    sizes = [np.abs(c).max(initial=0.0) for value in series(program.watched, order) for c in value]
    return max(1.0, *sizes)


def sweep(examples, strategy, examine, *settings_of_examine):
    """Examine so many random programs, and make sure that so many have really been compared."""
    TALLY.clear()

    @settings(max_examples=examples, **ALWAYS_THE_SAME, **COMMON)
    @given(strategy)
    def run(program):
        assume(examine(program, *settings_of_examine))
        TALLY["compared"] += 1

    (run if SEED is None else seed(int(SEED))(run))()
    print(", ".join(f"{what}: {count}" for what, count in TALLY.items()))
    rejected = TALLY["rejected, too ill-conditioned"]
    assert rejected < 0.01 * (TALLY["compared"] + rejected), f"{rejected} programs are too ill-conditioned"
    assert TALLY["compared"] >= examples, f"only {TALLY['compared']} of {examples} programs were compared"
