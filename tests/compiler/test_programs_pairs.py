"""Recorded programs over all pairs of a few points: what repeats along an axis, and sums over the rows."""

import itertools

import numpy as np
import pytest
from ways import computed_at_once

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import interpreted, verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.usefixtures("own_programs")

TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}
POINTS = (1, 5, 70, 130)  # one and few as a whole, more in blocks of rows
COORDINATES = (1, 2, 3, 4, 9)


def replayed(f, *args):
    recorded = dg.jit(f)
    return [recorded(*args) for _ in range(3)][-1], recorded


def energy(x, y):
    """Of each point of x beside each of y."""
    d = x.reshape((x.shape[0], 1, -1)) - y
    return ops.exp(-0.1 * (d * d).sum(-1)).sum()


@pytest.mark.eager("records by itself")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("points", "coordinates"), list(itertools.product(POINTS, COORDINATES)))
def test_forces_between_pairs(dtype, points, coordinates):
    rng = np.random.default_rng(points)
    x, y = (Tensor(rng.standard_normal((points, coordinates)).astype(dtype)) for _ in range(2))
    forces = dg.grad(energy, (0, 1))
    with computed_at_once():
        expected = forces(x, y)
    found, recorded = replayed(forces, x, y)
    verify(recorded)(x, y)
    with interpreted():
        stepwise, _ = replayed(forces, x, y)
    for ours, theirs, plain in zip(found, expected, stepwise, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(plain.asnumpy(), theirs.asnumpy())
        scale = np.abs(theirs.asnumpy()).max() + 1e-30
        np.testing.assert_allclose(ours.asnumpy() / scale, theirs.asnumpy() / scale, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.rotated("rows")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width", [31, 32, 33, 100, 1000])
@pytest.mark.parametrize("rows", [64, 301, 5000])
def test_sums_over_rows(dtype, width, rows):
    """Of wide rows they are those of NumPy, bit for bit, where one thread adds them up."""
    x = Tensor(np.random.default_rng(width).standard_normal((rows, width)).astype(dtype))
    f = lambda x: ops.sum(ops.sin(x) * x, 0)
    threads = dg.get_num_threads()
    dg.set_num_threads(1)
    try:
        found, recorded = replayed(f, x)
    finally:
        dg.set_num_threads(threads)
    verify(recorded)(x)
    if "sum_rows" in kinds(recorded, x):
        np.testing.assert_array_equal(found.asnumpy(), f(x).asnumpy())
    else:
        np.testing.assert_allclose(found.asnumpy(), f(x).asnumpy(), rtol=TOLERANCE[dtype])


def kinds(recorded, *args) -> set[str]:
    return {
        i["kind"] for region in recording_of(recorded, args, {}).layout()["regions"] for i in region["instructions"]
    }


def test_wide_rows_are_added_up_in_a_loop_of_their_own():
    recorded = replayed(lambda x: ops.sum(ops.sin(x), 0), x := Tensor(np.ones((5000, 64))))[1]
    assert "sum_rows" in kinds(recorded, x)
