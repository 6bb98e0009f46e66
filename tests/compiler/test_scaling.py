"""Rows times numbers: recorded products give the bits of eager ones, whatever the numbers are and wherever they lie.

What could differ: how many products there are, which of them absorb, where the numbers of rows lie, how long rows are
(whole vectors, a rest, fewer than a vector), zeros, infinities, nan, numbers whose products leave the range, blocks,
and the level of kernels.
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

ROWS = 300
WIDTHS = (15, 16, 17, 24, 31, 40, 67)
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-200, -1e-200, 1e200, -1e200, 5e-324, 1e-30, -1e30, 1.0, -3.0)

#: where the numbers of the rows lie -> from (a vector of numbers, the matrix and its rows) the factor
PLACES = {
    "vector": lambda d, x: d.reshape((-1, 1)),
    "made vector": lambda d, x: ops.abs(d).reshape((-1, 1)),
    "column": lambda d, x: x[:, 3:4],
    "made column": lambda d, x: ops.abs(x)[:, 2:3],
    "every second": lambda d, x: ops.concat((d, d))[::2].reshape((-1, 1)),
    "broadcast": lambda d, x: ops.broadcast_to(d.reshape((-1, 1)), x.shape),
    "one number": lambda d, x: d[7],
    "constant": lambda d, x: Tensor(-0.75, x.dtype),
}


def absorbing(x, y):
    """The product of derivative rules, in which zero absorbs."""
    return apply(OPCODES["absorb_mul"], None, x, y)


PRODUCTS = {"*": lambda x, y: x * y, "absorbing": absorbing, "* from the left": lambda x, y: y * x}


def chain(places, products):
    """Products of the rows of x with numbers of several places, one after the other."""

    def form(x, d, rest):
        found = rest * rest
        for place, product in zip(places, products, strict=True):
            found = PRODUCTS[product](found, PLACES[place](d, x))
        return found

    return form


def arrays(dtype, width, odd, seed=0):
    """Matrices and numbers of rows; zeros, infinities, nan and numbers at the ends of the range among them."""
    rng = np.random.default_rng([seed, width])
    with np.errstate(over="ignore"):
        values = np.array(ODD).astype(dtype)
    made = []
    for shape in ((ROWS, width), (ROWS,), (ROWS, width)):
        a = rng.uniform(0.5, 2.0, shape).astype(dtype) * rng.choice([-1.0, 1.0], shape).astype(dtype)
        if odd:
            a = np.where(rng.random(shape) < odd, rng.choice(values, shape), a)
        made.append(Tensor(a))
    return made


def instructions(form, args):
    layout = recording_of(form, tuple(args), {}).layout()
    return [i for region in layout["regions"] for i in region["instructions"] if i["kind"] == "scale"]


def bits(found, signed):
    """The bits of numbers, all nan alike, and both zeros unless they are to be told apart."""
    a = found.asnumpy()
    return (np.where(np.isnan(a), a.dtype.type(np.nan), a) + a.dtype.type(-0.0 if signed else 0.0)).tobytes()


def check(places, products, width, dtype, odd):
    """Whether the numbers are those of eager execution; how many of the products are those of rows with numbers.

    Where a constant absorbs, any program may give zeros another sign.
    """
    form, args, signed = chain(places, products), arrays(dtype, width, odd), "constant" not in places
    recorded = dg.jit(form)
    for _ in range(3):
        found = recorded(*args)
    assert bits(found, signed) == bits(form(*args), signed)
    return sum(i["n_in"] - 1 for i in instructions(form, args))


#: two products in a row, and five, places and products in turn
NAMES = list(PLACES)
CHAINS = [
    *itertools.product(itertools.product(PLACES, PLACES), itertools.product(PRODUCTS, PRODUCTS)),
    *((tuple(NAMES[(n + i) % 8] for i in range(5)), tuple(list(PRODUCTS)[(i + m) % 3] for i in range(5)))
      for n, m in itertools.product(range(8), range(3))),
]  # fmt: skip


@pytest.mark.parametrize("odd", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_and_products(dtype, odd):
    for k, (places, products) in enumerate(CHAINS[:: 7 if odd else 13]):
        check(places, products, WIDTHS[k % 7], dtype, odd)


@pytest.mark.exhaustive
@pytest.mark.parametrize("odd", [0.02, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_all_places_and_products(dtype, odd, width):
    for places, products in CHAINS:
        check(places, products, width, dtype, odd)


@pytest.mark.parametrize("first", PLACES)
def test_rows_are_scaled(first):
    """One number for all rows is multiplied with rows that have numbers of their own; short rows are not."""
    for second in PLACES:
        single = [place in ("one number", "constant") for place in (first, second)]
        found = check((first, second), ("*", "*"), 16, np.float64, 0.0)
        assert found == (0 if all(single) else 2 - single.index(False)), (first, second)
        assert check((first, second), ("*", "*"), 15, np.float64, 0.0) == 0


@pytest.mark.parametrize("rows", [1000, 1024, 20_000])
def test_blocks_threads_and_neighbours(rows):
    """Rows of many blocks, and rows that are read beside each other: what is made is right at every end."""

    def form(x, d):
        found = x * d.reshape((-1, 1)) * ops.sin(d).reshape((-1, 1))
        return ops.tanh(found)[2:] * found[:-2] * d[1:-1].reshape((-1, 1))

    rng = np.random.default_rng(rows)
    args = Tensor(rng.normal(size=(rows, 24))), Tensor(rng.normal(size=rows))
    verify(recording_of(form, args, {}).program)
    assert instructions(form, args)
    recorded = dg.jit(form)
    for _ in range(3):
        np.testing.assert_array_equal(recorded(*args).asnumpy(), form(*args).asnumpy())


@pytest.mark.parametrize("level", ["baseline", "x86-64-v3"])
def test_every_level_gives_the_bits_of_eager_execution(level):
    code = "from test_scaling import *\nfor k in range(0, len(CHAINS), 40): check(*CHAINS[k], 37, np.float32, 0.02)"
    env = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parents[1]), "DUALGRAD_KERNELS": level}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, cwd=Path(__file__).parent)
