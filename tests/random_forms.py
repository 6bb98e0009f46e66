"""Random programs in several forms: their values, gradients, tangents, and many samples; and how two runs compare."""

from dataclasses import replace

import numpy as np
from random_lines import ENGINE
from random_surroundings import Surrounded
from random_sweep import TALLY, leaves
from rounding import FINER, MARGIN, allowed, largest

import dualgrad as dg
from dualgrad import Tensor, ops

ROWS = [70, 300, 1500]  # samples, or tangents
MOST = 60_000  # elements of a value, for all samples or tangents
# a Cell that is made while it is recorded cannot be recorded
NAMES = ENGINE | {"cell": lambda fn, *weights: fn}


def value(f, weights, n):
    return f


def gradient(f, weights, n):
    return lambda *xs: dg.value_and_grad(f, tuple(range(n)), weights)(*xs)


def tangent(f, weights, n):
    return lambda *xs: dg.jvp(f, xs[:n], xs[n:])


def tangents(f, weights, n):
    """Directional derivatives of the gradient, for many directions at once."""
    slope = dg.grad(f, tuple(range(n)))
    return lambda *xs: dg.vmap(lambda *vs: dg.jvp(slope, xs[:n], vs)[1])(*xs[n:])


def samples(f, weights, n):
    """The gradient of a sum over samples: weights are read by each."""
    return lambda *xs: dg.value_and_grad(dg.vmap(f), tuple(range(n)), weights)(*xs)


FORMS = {"value": value, "gradient": gradient, "tangent": tangent, "tangents": tangents, "samples": samples}


def arguments(program, form, rng, most=MOST, rows=ROWS):
    """Where a form of a program is recorded, or replayed."""
    points = [x + 0.1 * rng.standard_normal(x.shape) for x in program.points]
    if form == "tangent":
        return points + [rng.standard_normal(x.shape) for x in points]
    count = min(rows[len(program.text) % len(rows)], most // program.widest)
    many = [rng.standard_normal((max(2, count), *x.shape)) for x in points]
    if form == "samples":
        return [x + m for x, m in zip(points, many, strict=True)]
    return points + (many if form == "tangents" else [])


def converting(f, dtype, narrow):
    return lambda *xs: f(*[ops.cast(x, dtype) if k in narrow else x for k, x in enumerate(xs)])


class Form:
    """A program in one form, with weights and arguments of one type, and how to call it.

    Arguments for the inputs in `narrow`, a set of their places, are float32, and converted before anything else.
    """

    def __init__(self, program, form, dtype=np.float64, narrow=(), names=NAMES):
        self.places = None
        self.narrow = narrow
        if isinstance(program, Surrounded):
            program, around = program.program, program
            self.weights = program.parameters(dtype)
            function, self.places = around.compiled(names, self.weights, dtype)
        else:
            self.weights = program.parameters(dtype)
            function = program.compiled(names, self.weights)
        if narrow:
            function = converting(function, dtype, narrow)
        self.dtype = dtype
        self.inputs = len(program.points)
        self.call = FORMS[form](function, list(self.weights.values()), len(program.points))

    def type_of(self, k):
        return np.float32 if k % self.inputs in self.narrow else self.dtype

    def recorded(self):
        self.call = dg.jit(self.call)
        return self

    def __call__(self, points, weights, numbers=None):
        """All results, by name; `numbers`: what the places around it hold."""
        if numbers is not None:
            self.places.put(numbers)
        for name, w in weights.items():
            self.weights[name].set_data(Tensor(w.astype(self.dtype)))
        out = self.call(*[Tensor(x.astype(self.type_of(k))) for k, x in enumerate(points)])
        return {f"result {k}": leaf.asnumpy() for k, leaf in enumerate(leaves(out))}


def judge(where, found, expected, size, run, points, dtype=np.float64):
    """Whether results are those expected, but for rounding; `run` gives them for another type or other points.

    What is float32 may be off by as many units in the last place as what is float64.
    """
    rounding = None
    for name, b in expected.items():
        a = found[name]
        assert a.shape == b.shape, f"{where}, {name}: {a.shape} instead of {b.shape}"
        assert a.dtype == b.dtype, f"{where}, {name}: {a.dtype} instead of {b.dtype}"
        finite = np.isfinite(b)
        assert np.array_equal(a[~finite], b[~finite], equal_nan=True), f"{where}, {name}: {a} instead of {b}"
        error = np.abs(a[finite] - b[finite]).max(initial=0.0)
        coarse = 1.0 / FINER if b.dtype == np.float32 else 1.0
        if not error <= 1e-12 * coarse * max(size, largest(b)):
            rounding = rounding or allowed(run, points, dtype)
            assert error <= rounding[name], (
                f"{where}, {name}: {a} instead of {b}, off by {error:.1e}; rounding gives {rounding[name]:.1e}"
            )
            TALLY["ill-conditioned"] += 1


def shaken(program, rng):
    """The program with every value on the way off by a few units in its last place; and what that needs as a name."""

    def shake(made):
        if isinstance(made, tuple):
            return tuple(map(shake, made))
        if not isinstance(made, Tensor):
            return made
        dtype = made.dtype.numpy
        return made * Tensor((1.0 + 4.0 * np.finfo(dtype).eps * rng.standard_normal(made.shape)).astype(dtype))

    def some(lines):
        return tuple(
            replace(line, body=some(line.body)) if line.body
            else replace(line, code=f"shake({line.code})") if line.results
            else line
            for line in lines
        )  # fmt: skip

    return replace(program, lines=some(program.lines)), {"shake": shake}


def is_unstable(program, form, dtype, points, weights, found, expected):
    """Whether rounding on the way explains how far apart results are: such a program can't be compared."""
    far = {name: largest(found[name] - b) for name, b in expected.items()}
    moved = dict.fromkeys(far, 0.0)
    for seed in range(32):  # rounding that is amplified a lot has a wide distribution
        other, names = shaken(program, np.random.default_rng(seed))
        there = Form(other, form, dtype, names=NAMES | names)(points, weights)
        moved = {name: max(m, MARGIN * largest(there[name] - expected[name])) for name, m in moved.items()}
        if all(far[name] <= moved[name] for name in far if far[name] > 0.0):
            return True
    return False
