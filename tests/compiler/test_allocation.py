"""Memory of results that are no longer read is used again: of equal size, or of up to twice the size, the smallest."""

import numpy as np
import pytest

from dualgrad import Tensor, ops
from dualgrad.programs import passes

pytestmark = pytest.mark.eager("records by itself")

N, SHORTER = 20_000, 15_000
X = Tensor(np.linspace(0.0, 1.0, N))

#: bytes of numbers that are read again after a sum: those of 64 bytes are places for the sums
BYTES, SHORTER_BYTES = 8 * N, 8 * SHORTER


def used_twice(x):
    """A number for whose last sum the elements of a first pass must have been kept."""
    y = ops.exp(x)
    return ops.sin(y + y.mean()).mean()


def places(fn):
    """The offsets of results in memory that regions share, large ones: (offsets, bytes of that memory)."""
    made = passes(fn)(X)
    buffers, allocated = made["lower"].facts["orders"][0]["buffers"], made["allocate"].facts
    large = [place["offset"] for buffer, place in zip(buffers, allocated["places"], strict=True)
             if place["base"] == 0 and buffer["size"] > 1]  # fmt: skip
    return large, allocated["arena"]


@pytest.mark.parametrize(("n", "again"), [(N, True), (SHORTER, True), (N // 2, True), (N // 2 - 100, False)])
def test_a_result_lies_where_one_of_up_to_twice_its_size_lay(n, again):
    (first, second), arena = places(lambda x: used_twice(x[:n] * used_twice(x)))
    assert (first == second) == again
    assert (arena >= BYTES + 8 * n) == (not again)


@pytest.mark.parametrize(("n", "where"), [(N, 0), (SHORTER, 1), (12_000, 1), (N // 2, 1), (8000, 1), (5000, None)])
def test_of_several_places_the_smallest_that_fits_is_taken(n, where):
    def fn(x):
        short = x[:SHORTER]
        one, other = ops.cos(x), ops.exp(short)
        sums = ops.sin(ops.sin(x).mean() + one).mean() + ops.sin(ops.sin(short).mean() + other).mean()
        return used_twice(x[:n] * sums)

    found, arena = places(fn)
    assert len(set(found[:2])) == 2
    assert found[2] == found[where] if where is not None else found[2] not in found[:2]
    assert arena < BYTES + SHORTER_BYTES + (8 * n if where is None else 0) + 64 * 8
