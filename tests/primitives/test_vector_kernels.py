"""Kernels for vector instructions: errors in units of the last place against mpmath, special values, shapes of loops.

They exist for three instruction sets and are tested for all of them: on the highest that this machine has, and, in
processes of their own, on the lower ones that ``DUALGRAD_KERNELS`` chooses.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mp

import dualgrad as dg
from dualgrad import Tensor
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad._table import ROWS

pytestmark = pytest.mark.eager("calls kernels without tensors")

LEVELS = ("highest", "x86-64-v3", "baseline")
COUNT = 150
INF, NAN = np.inf, np.nan
BIG = np.finfo(np.float64).max
TINY = 5e-324


def evaluate(name, x):
    return apply(OPCODES[name], None, Tensor(x)).asnumpy()


# ---------------------------------------------------------------------------------------------------- samples


def uniform(low, high):
    return lambda rng: rng.uniform(low, high, COUNT)


def spread(low, high):
    """Both signs, all magnitudes alike."""
    return lambda rng: np.exp(rng.uniform(np.log(low), np.log(high), COUNT)) * rng.choice([-1.0, 1.0], COUNT)


def positive(low, high):
    return lambda rng: np.abs(spread(low, high)(rng))


def multiples(step, top):
    """The numbers next to multiples of pi/4, where sine, cosine and tangent are 0, 1 or infinite."""

    def draw(rng):
        counts = np.concatenate([np.arange(1, 40), rng.integers(1, int(top / step), COUNT)])
        with mp.workprec(1200):
            near = np.array([float(int(k) * mp.pi * step / mpmath.pi) for k in counts])
        return np.concatenate([near, np.nextafter(near, 0), -np.nextafter(near, INF)])

    return draw


def powers_of_two(rng):
    return np.exp2(np.arange(-1074.0, 1024.0, 7.0))


SMALL = (spread(1e-323, 1e-300), spread(1e-300, 1e-8), spread(1e-8, 1.0))
QUARTER = np.pi / 4
CIRCLE = (*SMALL, uniform(-10, 10), uniform(-9.9e4, 9.9e4), spread(9e4, 1e12), spread(1e12, 1e300))
CIRCLE += (multiples(QUARTER, 1e5), multiples(QUARTER, 1e9))
LOGARITHM = (positive(1e-323, 1e-300), positive(1e-300, BIG), uniform(0.5, 2.0), lambda r: 1 + spread(1e-16, 0.3)(r))

#: the function in mpmath, the largest error in units of the last place, and where samples are drawn
KERNELS = {
    "exp": (mpmath.exp, 1.1, (*SMALL, uniform(-2, 2), uniform(-708, 709), uniform(-745.2, -707), uniform(709, 709.78))),
    "exp2": (lambda x: mpmath.power(2, x), 1.1, (*SMALL, uniform(-1022, 1024), uniform(-1075, -1021))),
    "expm1": (mpmath.expm1, 2.0, (*SMALL, uniform(-2, 2), uniform(-45, 709), uniform(709, 709.78))),
    "sinh": (mpmath.sinh, 1.9, (*SMALL, uniform(-2, 2), uniform(-710, 710), uniform(709.7, 710.475))),
    "cosh": (mpmath.cosh, 1.5, (*SMALL, uniform(-2, 2), uniform(-710, 710), uniform(709.7, 710.475))),
    "tanh": (mpmath.tanh, 1.7, (*SMALL, uniform(-2, 2), uniform(-25, 25), spread(1.0, BIG))),
    "sigmoid": (
        lambda x: 1 / (1 + mpmath.exp(-x)),
        2.2,
        (*SMALL, uniform(-2, 2), uniform(-708, 40), uniform(-745, -700)),
    ),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), 2.0, (*SMALL, uniform(-2, 2), uniform(-745, 750))),
    "sech2": (lambda x: mp.sech(x) ** 2, 3.0, (*SMALL, uniform(-2, 2), uniform(-25, 25), uniform(-372, 372))),
    "log": (mpmath.log, 1.0, LOGARITHM),
    "log2": (lambda x: mpmath.log(x) / mp.ln2, 1.2, (*LOGARITHM, powers_of_two)),
    "log10": (lambda x: mpmath.log(x) / mp.ln10, 1.1, LOGARITHM),
    "log1p": (mpmath.log1p, 1.0, (*SMALL, uniform(-0.5, 1), lambda r: positive(1e-16, 1)(r) - 1, positive(1.0, BIG))),
    "sin": (mpmath.sin, 0.9, CIRCLE),
    "cos": (mpmath.cos, 0.9, CIRCLE),
    "tan": (mpmath.tan, 2.1, CIRCLE),
    "atan": (mpmath.atan, 1.8, (*SMALL, uniform(0.3, 0.7), uniform(-4, 4), spread(1.0, BIG))),
    "gauss": (lambda x: mp.exp(-x * x), 1.3, (*SMALL, uniform(-2, 2), uniform(-27.2, 27.2), uniform(26, 27.2))),
    "erf": (mpmath.erf, 1.6, (*SMALL, uniform(-2, 2), uniform(0.9, 1.1), uniform(-7, 7), spread(1.0, BIG))),
    "erfc": (mpmath.erfc, 2.5, (*SMALL, uniform(0.4, 0.7), uniform(-7, 7), uniform(0, 27.3), uniform(26, 27.3))),
}
NEAR = (uniform(-2, 2), spread(1e-44, 1.0))
CIRCLE_F = (
    uniform(-10, 10),
    uniform(-9.9e4, 9.9e4),
    spread(9e4, 3e38),
    multiples(QUARTER, 1e5),
    multiples(QUARTER, 1e9),
)
#: the same for float32
NARROW = {
    "exp": (1.1, uniform(-104, 89), uniform(-87, 88), *NEAR),
    "log": (1.0, positive(1e-45, 1e-37), positive(1e-37, 3e38), uniform(0.5, 2.0)),
    "sin": (0.9, *CIRCLE_F, *NEAR),
    "cos": (0.9, *CIRCLE_F, *NEAR),
    "sigmoid": (2.3, uniform(-104, 20), *NEAR),
    "softplus": (2.0, uniform(-104, 100), *NEAR),
    "tanh": (1.6, uniform(-12, 12), *NEAR),
    "sech2": (3.0, uniform(-52, 52), *NEAR),
    "gauss": (1.0, uniform(-10.2, 10.2), *NEAR),
    "erf": (2.0, uniform(-5, 5), *NEAR),
    "erfc": (0.6, uniform(-5, 10.1), *NEAR),
}


def seed(name):
    return np.random.default_rng(sum(map(ord, name)))


def wide_sample(name):
    rng = seed(name)
    return np.concatenate([draw(rng) for draw in KERNELS[name][2]])


def narrow_sample(name):
    rng = seed(name)
    x = np.concatenate([draw(rng) for draw in NARROW[name][1:]])
    return x.astype(np.float32)


def results():
    """All kernels on their samples, by name and type."""
    wide = {f"{name} f64": evaluate(name, wide_sample(name)) for name in KERNELS}
    return wide | {f"{name} f32": evaluate(name, narrow_sample(name)) for name in NARROW}


@pytest.fixture(scope="module", params=LEVELS)
def computed(request, tmp_path_factory):
    """The results on a level of instructions."""
    if request.param == "highest":
        return results()
    path = tmp_path_factory.mktemp("kernels") / "results.npz"
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parents[1]), "DUALGRAD_KERNELS": request.param}
    subprocess.run([sys.executable, __file__, str(path)], check=True, env=environment, timeout=300)
    with np.load(path) as file:
        return dict(file)


# ----------------------------------------------------------------------------------------------------- errors


@functools.cache
def exact(name, dtype):
    """The exact values on the samples, and the last place of each in the type."""
    x = wide_sample(name) if dtype == np.float64 else narrow_sample(name)
    info = np.finfo(dtype)
    least = float(info.smallest_subnormal)
    values, places = [], []
    with mp.workprec(160):
        for number in x.tolist():
            value = KERNELS[name][0](mpmath.mpf(number))
            place = mpmath.ldexp(1, mpmath.frexp(value)[1] - (info.nmant + 1)) if value else mpmath.mpf(least)
            values.append(value)
            places.append(max(place, mpmath.mpf(least)))
    return values, places


def errors(got, name, dtype):
    """Distances to the exact values, in units of their last places."""
    values, places = exact(name, dtype)
    with mp.workprec(160):
        return np.array(
            [float(abs(mpmath.mpf(g) - v) / p) for g, v, p in zip(got.tolist(), values, places, strict=True)]
        )


@pytest.mark.parametrize("name", KERNELS)
def test_errors(name, computed):
    bound = KERNELS[name][1]
    found = errors(computed[f"{name} f64"], name, np.float64)
    worst = np.argmax(found)
    assert found[worst] <= bound, f"{found[worst]:.2f} units at x = {wide_sample(name)[worst]!r}"


@pytest.mark.parametrize("name", NARROW)
def test_errors_in_float32(name, computed):
    bound = NARROW[name][0]
    found = errors(computed[f"{name} f32"], name, np.float32)
    worst = np.argmax(found)
    assert found[worst] <= bound, f"{found[worst]:.2f} units at x = {narrow_sample(name)[worst]!r}"


def test_every_vector_kernel_is_tested():
    assert {row.name for row in ROWS if "f64" in row.vector} == set(KERNELS)
    assert {row.name for row in ROWS if "f32" in row.vector} == set(NARROW)


# --------------------------------------------------------------------------------------------- special values

#: what a kernel makes of numbers, in pairs (a dict would not tell the zeros apart)
ODD = ((0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY), (2.5e-308, 2.5e-308), (-2.5e-308, -2.5e-308))
ONE_AT_0 = ((0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (-TINY, 1.0))
LOG = ((0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-TINY, NAN), (-INF, NAN))
RISING = ((INF, INF), (BIG, INF))
SPECIAL = {
    "exp": (*ONE_AT_0, *RISING, (709.79, INF), (-INF, 0.0), (-BIG, 0.0), (-745.2, 0.0), (-745.1, TINY)),
    "exp2": (*ONE_AT_0, *RISING, (1024.0, INF), (1023.0, 2.0**1023), (-INF, 0.0), (-1075.0, 0.0), (-1074.0, TINY)),
    "expm1": (*ODD, *RISING, (709.79, INF), (-INF, -1.0), (-BIG, -1.0), (-40.0, -1.0)),
    "sinh": (*ODD, *RISING, (710.48, INF), (-710.48, -INF), (-INF, -INF)),
    "cosh": (*ONE_AT_0, *RISING, (710.48, INF), (-710.48, INF), (-INF, INF)),
    "tanh": (*ODD, (INF, 1.0), (-INF, -1.0), (BIG, 1.0), (19.1, 1.0)),
    "sigmoid": ((0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (BIG, 1.0), (-BIG, 0.0), (-745.1, TINY)),
    "softplus": ((INF, INF), (-INF, 0.0), (BIG, BIG), (-BIG, 0.0), (40.0, 40.0), (-745.1, TINY)),
    "sech2": (*ONE_AT_0, (INF, 0.0), (-INF, 0.0), (BIG, 0.0), (373.5, 0.0)),
    "log": LOG,
    "log2": (*LOG, (8.0, 3.0), (0.125, -3.0), (TINY, -1074.0)),
    "log10": (*LOG, (10.0, 1.0), (1e3, 3.0), (1e15, 15.0), (1e22, 22.0)),
    "log1p": (*ODD, (-1.0, -INF), (INF, INF), (-1.5, NAN), (-INF, NAN)),
    "sin": (*ODD, (INF, NAN), (-INF, NAN)),
    "cos": (*ONE_AT_0, (INF, NAN), (-INF, NAN)),
    "tan": (*ODD, (INF, NAN), (-INF, NAN)),
    "atan": (*ODD, (INF, np.pi / 2), (-INF, -np.pi / 2), (BIG, np.pi / 2), (1.0, np.pi / 4), (-1.0, -np.pi / 4)),
    "gauss": (*ONE_AT_0, (INF, 0.0), (-INF, 0.0), (BIG, 0.0), (27.3, 0.0), (-27.28, TINY)),
    "erf": ((0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY), (INF, 1.0), (-INF, -1.0), (6.0, 1.0), (BIG, 1.0)),
    "erfc": (*ONE_AT_0, (INF, 0.0), (-INF, 2.0), (27.3, 0.0), (BIG, 0.0), (-BIG, 2.0), (-6.0, 2.0)),
}


def same(got, expected):
    """Equal numbers, zeros of equal signs, or nan both."""
    return (np.isnan(got) & np.isnan(expected)) | ((got == expected) & (np.signbit(got) == np.signbit(expected)))


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    for x, expected in (*SPECIAL[name], (NAN, NAN)):
        for copies in (1, 9):  # element by element, and as a vector
            got = evaluate(name, np.repeat(x, copies))
            assert same(got, expected).all(), f"{name}({x!r}) is {got}, expected {expected!r}"


@pytest.mark.parametrize("name", NARROW)
def test_special_values_in_float32(name):
    x = np.array([0.0, -0.0, 1e-45, -1e-45, INF, -INF, NAN, 3e38, -3e38], np.float32)
    with np.errstate(over="ignore"):
        expected = evaluate(name, x.astype(np.float64)).astype(np.float32)
    assert same(evaluate(name, x), expected).all()
    assert same(evaluate(name, np.tile(x, 5)), np.tile(expected, 5)).all()


# ------------------------------------------------------------------------------------------ shapes of the loops

LENGTHS = (*range(1, 20), 63, 64, 65, 255, 256, 257, 511, 700)


def bits(x):
    """For comparison bit by bit; nan is nan whatever its bits."""
    x = np.ascontiguousarray(np.where(np.isnan(x), np.asarray(NAN, x.dtype), x))
    return x.view(np.uint64 if x.dtype == np.float64 else np.uint32)


@pytest.mark.parametrize(("name", "dtype"), [(n, np.float64) for n in KERNELS] + [(n, np.float32) for n in NARROW])
def test_an_element_has_one_value_in_arrays_of_any_shape(name, dtype):
    rng = seed(name)
    sample = wide_sample(name) if dtype == np.float64 else narrow_sample(name)
    x = rng.permutation(np.resize(np.concatenate([[0.0, -0.0, INF, -INF, NAN], sample]), 720)).astype(dtype)
    alone = np.concatenate([evaluate(name, x[k : k + 1]) for k in range(x.size)])
    for n in LENGTHS:
        assert np.array_equal(bits(evaluate(name, x[:n])), bits(alone[:n])), n
    code = OPCODES[name]
    whole = Tensor(x)
    for view in (slice(None, None, 2), slice(5, None, 3), slice(None, None, -1), slice(7, 0, -1), slice(3, 11, 4)):
        assert np.array_equal(bits(apply(code, None, whole[view]).asnumpy()), bits(alone[view])), view
    table = apply(code, None, Tensor(x.reshape(30, 24)).T[2:, ::2]).asnumpy()
    assert np.array_equal(bits(table), bits(alone.reshape(30, 24).T[2:, ::2]))


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())
