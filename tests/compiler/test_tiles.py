"""Regions of many blocks: each kind of instruction, at both ends of the rows and between, with whole blocks and a rest.

Blocks away from the ends are run from what was gathered for one of them; those at the ends are not. The number of rows
decides which there are, so every program runs with numbers of rows around multiples of its block.
"""

import numpy as np
import pytest
from support import assert_close, f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import passes
from dualgrad.programs._instructions import KINDS
from dualgrad.programs._listing import recording_of

RNG = np.random.default_rng(5)
W, SMALL, TABLE = f64(RNG.standard_normal((4, 3))), f64(RNG.standard_normal(4)), f64(RNG.standard_normal((9, 4)))
FAR = 20_000  # rows from which the block of a program is read


def neighbours(x):
    """Rows beside each row, and the transposes of that: zeros at the ends, and halos."""
    return ops.sum(ops.sin(x[2:]) * x[:-2] + ops.exp(x[1:-1]) * ops.tanh(x[:-2] * x[2:]))


#: name -> function of (n,)- or (n, 4)-shaped rows, and whether it is differentiated
PROGRAMS = {
    "loops": (lambda x: ops.sin(x) * ops.exp(x) - x / (1.0 + x * x), (), False),
    "neighbours": (neighbours, (), True),
    "neighbours of neighbours": (lambda x: ops.sum(dg.grad(neighbours)(x) ** 2), (), True),
    "a constant for each column": (lambda x: ops.sin(x * SMALL) + SMALL, (4,), False),
    "products": (lambda x: ops.sum(ops.tanh(ops.tanh(x @ W) @ W.T) ** 2), (4,), True),
    "gradients of weights": (lambda x: dg.grad(lambda w: ops.sum(ops.tanh(x @ w)))(W), (4,), False),
    "sums of rows": (lambda x: ops.sum(ops.sin(x), 1), (4,), False),
    "sums over rows": (lambda x: ops.sum(ops.sin(x), 0), (4,), False),
    "sums over wide rows": (lambda x: ops.sum(ops.sin(x), 0), (40,), False),
    "sums of everything": (lambda x: ops.sum(ops.sin(x)), (), False),
    "scaled rows": (lambda x: ops.sum(ops.sin(x * x[:, :1] * x[:, 1:2]), 0), (16,), True),
    "choices": (lambda x: ops.where(x > 0.2, ops.sin(x), ops.exp(x)), (), False),
    "conversions": (lambda x: ops.sin(x).astype(dg.float32) * 2.0, (), False),
    "picks": (lambda x: ops.sin(TABLE[(x * 0.0).astype(dg.int64) + 3]), (), False),
    "picks, differentiated": (lambda x: ops.sum(ops.sin(x[:, Tensor([2, 0, 2, 1])])), (4,), True),
    "pieces side by side": (lambda x: ops.concat((ops.sin(x), ops.exp(x[:, :2])), 1) * 2.0, (4,), False),
}


def prepared(name, n):
    """A program on n rows: what it gives, what eager execution gives, and its regions."""
    f, columns, differentiated = PROGRAMS[name]
    f = dg.grad(f) if differentiated else f
    x = f64(np.random.default_rng(n).uniform(-1.0, 1.0, (n, *columns)))
    recorded = dg.jit(f)
    for _ in range(3):
        found = recorded(x)
    return found, f(x), recording_of(recorded, (x,), {}).layout()["regions"]


def blocks_of(regions):
    return [region["block"] for region in regions if region["instructions"] and region["rows"] and region["n_rows"] > 1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_blocks_and_a_rest(name):
    block = max(blocks_of(prepared(name, FAR)[2]))
    for blocks, rest in ((2, 1), (4, 0), (4, -1), (5, 1), (11, block // 2 + 3)):
        found, expected, _ = prepared(name, blocks * block + rest)
        assert_close(found, expected.asnumpy(), rtol=1e-12, scale=1e3)


def test_every_kind_of_instruction_is_there():
    kinds = set()
    for name in PROGRAMS:
        for region in prepared(name, FAR)[2]:
            if region["instructions"] and region["n_rows"] >= 4 * region["block"]:
                kinds |= {instruction["kind"] for instruction in region["instructions"]}
    assert kinds == set(KINDS)


def test_large_regions_say_what_they_walk_along():
    """What is read and what is written, each once, in the rows that do so, if it is more than stays in cache."""

    def walked(n, fn=lambda x, y: ops.sin(x) * y + x):
        x = f64(np.ones(n))
        (region,) = passes(fn)(x, f64(np.ones(n)))["generate"].facts["regions"]
        return sorted(region["streams"])

    n = 400_000
    assert walked(20_000) == []
    assert walked(n) == [(base, 0, 8, 0, n) for base in (3, 4, 5)]
    joined = walked(n, lambda x, y: ops.sin(ops.concat((x, y))))
    assert joined == [(3, 0, 8, 0, n), (4, -8 * n, 8, n, 2 * n), (5, 0, 8, 0, 2 * n)]
