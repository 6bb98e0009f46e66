"""Every rewrite of the compiler's passes is reached: for each of them a program that needs it.

    python tests/compiler/test_rewrites.py

prints how often each of them is done for these programs.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import passes, rewrites, specified

pytestmark = pytest.mark.eager("records by itself")

RNG = np.random.default_rng(29)


def table(*shape, dtype=np.float64):
    return Tensor(RNG.normal(size=shape).astype(dtype))


def chain(x, y):
    """Sums within sums that wait for their negation, too many of them."""
    z = -x
    for _ in range(12):
        z = z - y
    return ops.exp(z.sum())


def merged(x, w):
    """Rows of a stack, contiguous along other axes than those merged."""
    return ops.matmul(ops.reshape(ops.transpose(ops.sin(x), (1, 0, 2)), (-1, x.shape[2])), w)


def layers(x, *w):
    for a in w:
        x = ops.tanh(ops.matmul(x, a))
    return x


def twice(x, y, w, f):
    return ops.matmul(x + y, w), ops.matmul(f * x + f * y, w)


def between_zeros(c, w):
    zeros, unit = np.zeros((7, 1)), np.zeros((7, 3))
    unit[:, 1] = 1
    return ops.matmul(Tensor(unit), w), ops.matmul(ops.cat((Tensor(zeros), c, Tensor(zeros)), 1), w)


def neighbours(x):
    return ops.sum(ops.sin(x[2:]) * x[:-2] + ops.exp(x[1:-1]) * ops.tanh(x[:-2] * x[2:]))


def directions(x, t):
    """Rows behind directions: work on the samples of all directions can run together."""
    return ops.sum(ops.exp(ops.sin(x) * t), 0) * ops.cos(x)


def waves(x, y):
    return [ops.sin(x * k + y) for k in range(1, 9)]


def read_in_order(x, y):
    """Results of which each is needed late; depth first from the end there are few at a time."""
    first, *others = waves(x, y)
    for a in others:
        first = a - ops.exp(first)
    return first


def read_backwards(x, y):
    """Results of which each is needed late; depth first from the end all would be there at once."""
    *others, last = waves(x, y)
    for a in reversed(others):
        last = ops.exp(last) - a
    return last


def slopes(x):
    return ops.exp(ops.sin(x)[1:]) - ops.sin(x)[:-1]


X, Y, SMALL, TALL, NUMBER = table(7, 3), table(7, 3), table(3), table(20_000), table()
W, ROWS, LARGE = table(3, 4), table(7, 1), table(20_000, 4)
STACK, FLAGS = table(100, 90, 6), Tensor(RNG.normal(size=(7, 3)) > 0)
INDEX = Tensor(RNG.integers(0, 7, size=11))

#: rewrite -> (function, arguments)
PROGRAMS = {
    "equal_step": (lambda x, y: (ops.sin((-x) * y), ops.cos(x * y)), X, Y),
    "step_dropped": (lambda x: (x * 3.0) * 2.0, X),
    "negation_passed_on": (lambda x: ops.exp((-x).sum()), X),
    "negation_done": (lambda x: ops.exp(-x), X),
    "negation_in_constant": (lambda x: ops.exp(x * -3.0), X),
    "negation_of_operands": (lambda x: ops.exp((-x).sum()), X),
    "negation_too_deep": (chain, X, Y),
    "negations_cancel": (lambda x, y: ops.exp(-((-x) * y)), X, Y),
    "sum_of_negatives": (lambda x, y: ops.exp((-x) - y), X, Y),
    "sign_in_sum": (lambda x, y: x + (-y), X, Y),
    "square_as_product": (ops.square, X),
    "absolute_of_negative": (lambda x: ops.abs(-x), X),
    "division_as_product": (lambda x: x / 4.0, X),
    "constants_multiplied": (lambda x: (x * 3.0) * 2.0, X),
    "factor_one": (lambda x: (x * 2.0) * 0.5, X),
    "product_distributed": (lambda x: (ops.sin(x * 2.0), ops.cos((3.0 - x) * 2.0)), X),
    "column_of_zeros": (between_zeros, ROWS, W),
    "factor_of_rows": (twice, X, Y, W, ROWS),
    "factor_through_matmul": (twice, X, Y, W, ROWS),
    "factor_through_sum": (twice, X, Y, W, ROWS),
    "factor_through_product": (lambda x, y, w, f: (ops.matmul(x * y, w), ops.matmul((x * f) * y, w)), X, Y, W, ROWS),
    "number_reshaped": (lambda x: ops.reshape(ops.sin(x), (1, 1)), NUMBER),
    "number_fused": (lambda x: x * x + ops.sin(x), NUMBER),
    "number_reuses_cell": (lambda x: ops.exp(ops.cos(ops.sin(ops.tanh(x)))), NUMBER),
    "order_of_axes": (directions, table(2000, 4), table(3, 2000, 4)),
    "order_chosen": (directions, table(2000, 4), table(3, 2000, 4)),
    "constant_as_number": (lambda x: ops.sin(x) + Tensor(np.full((7, 3), 2.5)), X),
    "lowered_loop": (ops.sin, X),
    "lowered_select": (ops.where, FLAGS, X, Y),
    "lowered_cast": (lambda x: ops.sin(x).astype(dg.float32), X),
    "lowered_matmul": (ops.matmul, X, W),
    "lowered_sum": (lambda x: ops.sum(ops.sin(x), 1), X),
    "lowered_copies": (lambda x, y: ops.concat((ops.sin(x), y), 1), X, Y),
    "lowered_gather": (lambda x, i: x[i], X, INDEX),
    "lowered_scatter": (dg.grad(lambda x, i: ops.sum(ops.sin(x[i]))), X, INDEX),
    "lowered_generic": (lambda x: ops.sort(x)[0], X),
    "merge_put_off": (merged, STACK, table(6, 6)),
    "merge_done": (lambda x: ops.sin(ops.reshape(ops.transpose(ops.sin(x), (1, 0, 2)), (-1, 6))), STACK),
    "lowered_contract": (dg.grad(lambda w, x: ops.sum(ops.sin(merged(x, w)))), table(6, 6), STACK),
    "small_first": (lambda x, y: ops.sin(x) * ops.exp(y).sum(), TALL, SMALL),
    "row_by_row": (ops.sin, TALL),
    "added_up": (lambda x: ops.sin(x).sum(), TALL),
    "looks_beside": (slopes, TALL),
    "scaled": (lambda x, y: (x + y) * 3.0, X, Y),
    "fused_left": (lambda x, y: x * y + ops.sin(x), X, Y),
    "fused_right": (lambda x, y: ops.sin(x) - x * y, X, Y),
    "fused_both": (lambda x, y: x * y + ops.sin(x) * ops.sin(y), X, Y),
    "depth_first": (read_in_order, TALL, table(20_000)),
    "greedy": (read_backwards, TALL, table(20_000)),
    "made_within": (dg.grad(neighbours), TALL),
    "halo_rows": (dg.grad(neighbours), TALL),
    "joined": (lambda x, t, *w: dg.jvp(lambda x: layers(x, *w), x, t), table(1000, 24), table(1000, 24),
               *(table(24, 24) for _ in range(4))),
    "arena_reused": (lambda x: ops.sin(ops.sin(ops.sin(x).mean() + ops.cos(x)).mean() + ops.exp(x)).mean() * x, TALL),
    "block_reused": (lambda x: ops.exp(ops.cos(ops.sin(ops.tanh(x)))), TALL),
    "copied_once": (lambda x, y: ops.sin(x) * y, table(5000, 3), SMALL),
    "periods": (lambda x, y: ops.sin(x) * y, table(5000, 3), SMALL),
    "axes_merged": (lambda x: ops.sin(ops.transpose(x, (2, 0, 1))), STACK),
    "copy_split": (lambda x: ops.sin(ops.transpose(x, (6, 5, 4, 3, 2, 1, 0))), table(2, 3, 2, 3, 2, 3, 2)),
    "gathered_factor": (lambda x, w: ops.matmul(x[:, ::2], w), table(5000, 8), table(4, 4)),
    "kept_factor": (lambda x, w: ops.matmul(x, w[::2, ::2]), table(5000, 4), table(8, 8)),
    "sum_by_loop": (lambda x: ops.sin(x).sum(), TALL),
    "sum_by_rows": (lambda x: ops.sum(ops.sin(x), 0), table(5000, 40)),
    "sum_by_product": (lambda x: ops.sum(ops.sin(x), 1), table(50, 40)),
    "scalar_form": (lambda x: x * x + ops.sin(x), NUMBER),
    "several_threads": (lambda x: ops.exp(ops.cos(ops.sin(ops.tanh(x)))), table(300_000)),
    "shorter_blocks": (layers, table(2000, 24), *(table(24, 24) for _ in range(6))),
    "streams": (lambda x: ops.exp(x), table(800_000)),
}  # fmt: skip


def done(name):
    """How often a program does each rewrite when it is compiled."""
    fn, *args = PROGRAMS[name]
    made = passes(fn)
    made(*args)
    before = rewrites()
    made(*args)
    return {name: n - before[name] for name, n in rewrites().items()}


@pytest.mark.parametrize("name", rewrites())
def test_each_rewrite_is_reached(name):
    with specified():
        assert done(name)[name] > 0


@pytest.mark.parametrize(
    "shifted",
    [lambda x: 3.0 - x, lambda x: x - 3.0, lambda x: 3.0 + x, lambda x: x + 3.0],
    ids=["3 - x", "x - 3", "3 + x", "x + 3"],
)
def test_products_are_distributed_over_either_operand(shifted):
    """Twice x is there: twice the sum needs no product of its own, wherever the constant stands."""
    made = passes(lambda x: (ops.sin(x * 2.0), ops.cos(shifted(x) * 2.0)))
    before = rewrites()["product_distributed"]
    made(X)
    assert rewrites()["product_distributed"] > before


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_rewritten_gives_the_same_numbers(name):
    fn, *args = PROGRAMS[name]
    expected = fn(*args)
    recorded = dg.jit(fn)
    for _ in range(3):
        found = recorded(*args)
    expected, found = (x if isinstance(x, tuple) else (x,) for x in (expected, found))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-12, atol=1e-12)


def test_rewrites_are_counted_when_programs_are_planned_and_not_when_they_run():
    recorded = dg.jit(lambda x: x * x + ops.sin(x))
    for _ in range(3):
        recorded(X)
    before = rewrites()
    recorded(X)
    assert rewrites() == before


if __name__ == "__main__":
    total = dict.fromkeys(rewrites(), 0)
    for program in PROGRAMS:
        for name, n in done(program).items():
            total[name] += n
    print("\n".join(f"{n:6}  {name}" for name, n in total.items()))
