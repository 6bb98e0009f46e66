"""Few long sums of products run in a loop of our own: every number of rows and columns, length and layout of those.

Compared with sums of longer numbers, within the bound of sums of k rounded products (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1): |error| <= k u |a| |b|. All levels of kernels give the same bits.
"""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import rewrites, verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

FEW = range(1, 6)  # rows and columns, up to what needs more than one tile in both directions
LENGTHS = (5000, 5001, 5015, 8193)  # whole vectors of both types, and what is left of them
IMAGES = ((96, 80), (80, 96), (128, 128), (70, 65), (1400, 3), (3, 1400))
LONGER = {np.float32: np.float64, np.float64: np.longdouble}


def joined(x, y):
    """All products of two pictures, added up: (m, ...) and (n, ...) give (m, n)."""
    return ops.matmul((x * 2).reshape((x.shape[0], -1)), (y * 2).reshape((y.shape[0], -1)).T)


def apart(x, y):
    """The same where pictures are made with their channels behind them in memory."""
    return ops.matmul((ops.stack([x[k] for k in range(x.shape[0])], 0) * 2).reshape((x.shape[0], -1)),
                      (y * 2).reshape((y.shape[0], -1)).T)  # fmt: skip


def check(form, m, n, shape, dtype):
    rng = np.random.default_rng([m, n, *shape])
    x, y = rng.normal(size=(m, *shape)).astype(dtype), rng.normal(size=(n, *shape)).astype(dtype)
    args = Tensor(x), Tensor(y)
    verify(recording_of(form, args, {}).program)
    recorded = dg.jit(form)
    a, b = x.reshape(m, -1).astype(LONGER[dtype]), y.reshape(n, -1).astype(LONGER[dtype])
    bound = (a.shape[1] + 2) * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b).T)
    for _ in range(3):
        error = np.abs(recorded(*args).asnumpy() - 4 * (a @ b.T))
        assert (error <= 4 * bound).all(), (m, n, shape, (error / bound).max())


@pytest.mark.parametrize("form", [joined, apart])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_right(form, dtype):
    for m, n in itertools.product(FEW, FEW):
        for shape in [(LENGTHS[(m + n) % 4],), IMAGES[(m * 5 + n) % 6]]:
            check(form, m, n, shape, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", [joined, apart])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_all_lengths_are_right(form, dtype):
    for m, n, shape in itertools.product(FEW, FEW, [*[(k,) for k in LENGTHS], *IMAGES]):
        check(form, m, n, shape, dtype)


@pytest.mark.parametrize("shape", [(80, 96), (128, 128), (200, 70)])
def test_pictures_are_read_where_they_lie(shape):
    """Neither factor is copied before the sums: the outer axis of the pictures gives the rows."""
    args = Tensor(np.ones((2, *shape))), Tensor(np.ones((3, *shape)))
    before = rewrites()["gathered_factor"]
    recording_of(joined, args, {}).layout()
    assert rewrites()["gathered_factor"] == before


PROGRAM = """
import numpy as np
import dualgrad as dg
from dualgrad import Tensor
rng = np.random.default_rng(3)
f = dg.jit(lambda x, y: (x * 2).reshape((2, -1)) @ (y * 2).reshape((3, -1)).T)
for dtype in (np.float32, np.float64):
    args = [Tensor(rng.normal(size=(k, 90, 71)).astype(dtype)) for k in (2, 3)]
    for _ in range(3):
        found = f(*args).asnumpy()
    print(found.tobytes().hex())
"""


def test_all_levels_give_the_same_bits():
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, "DUALGRAD_KERNELS": level}, text=True, check=True,
            capture_output=True,
        ).stdout
        for level in ("highest", "x86-64-v3", "baseline")
    }  # fmt: skip
    assert len(found) == 1
