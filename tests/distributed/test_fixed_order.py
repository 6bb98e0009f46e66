"""Sums in a fixed order have equal bits whatever was called before, on any number of threads, recorded or not.

Three things add up in another order: calls that are recorded rather than replayed (of small chunks), eager calls that
defer their arrays (of larger ones), and plans that divide their rows among threads (of the largest).
"""

import itertools

import numpy as np
import pytest

from dualgrad import Tensor, distributed, ops
from dualgrad.distributed import Shards, SumOfShards

CHUNKS = 7
P = Tensor(np.array([0.3, -0.8, 0.5]))


def products(p, x):
    return ops.exp(ops.sin(x @ p)) * ops.tanh((x * p).sum(1))


def elementwise(p, x):
    return ops.exp(ops.sin(x * p[0])) * ops.tanh(x * p[1])


def eager(p, x):
    """Python reads a number, so it cannot be recorded."""
    y = elementwise(p, x)
    return y if y[0, 0].item() > -1e9 else -y


FUNCTIONS = {"products": products, "elementwise": elementwise, "eager": eager}


def rows(count):
    return np.random.default_rng(0).normal(size=(count, 3))


def bits(total):
    value, slope = total.value_and_grad(P)
    return value.asnumpy().tobytes() + slope.asnumpy().tobytes()


def found(fn, chunk, deterministic):
    """The bits of five calls for each number of workers and threads."""
    x = rows(CHUNKS * chunk - 3)
    for workers, threads in itertools.product((1, 3), (1, 2)):
        with distributed.connect("local", workers=workers, threads_per_worker=threads) as backend:
            total = SumOfShards(fn, Shards(backend, x, chunk=chunk), deterministic=deterministic)
            for _ in range(5):
                yield bits(total)


#: Small ones whose sums are recorded, eager ones that defer their arrays, plans that divide their rows.
SIZES = (35, 230, 700, 3000, 20_000, 70_000, 140_000)


@pytest.mark.rotated("chunk")
@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("chunk", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_equal(name, chunk, own_programs):
    assert len(set(found(FUNCTIONS[name], chunk, True))) == 1


@pytest.mark.eager("compares calls that are replayed with others")
@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_differ_without_a_fixed_order(name, own_programs):
    """Else the test above would show nothing. Which sizes differ depends on the processor."""
    assert any(len(set(found(FUNCTIONS[name], chunk, False))) > 1 for chunk in SIZES)
