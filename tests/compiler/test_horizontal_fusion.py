"""Products with the same matrix are joined: their left factors lie behind each other, as if they were more rows.

Counted are the products that the instructions do; numbers are compared with eager execution, for whole blocks and for
the part of one that is left at the end.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

RNG = np.random.default_rng(23)
WIDTH = 24


def weights(layers):
    return [RNG.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5 for _ in range(layers)]


def network(x, *w):
    for a in w:
        x = ops.tanh(ops.matmul(x, a))
    return x


def stacks(fn, args):
    """How many products each instruction for products of rows does, those of the largest region."""
    recording = recording_of(fn, tuple(args), {})
    verify(recording.program)
    region = max(recording.layout()["regions"], key=lambda region: len(region["instructions"]))
    return [i["dims"][0] for i in region["instructions"] if i["kind"] == "matmul"]


def check(fn, args, rtol=1e-13):
    expected = fn(*args)
    recorded = dg.jit(fn)
    for _ in range(3):
        for a, b in zip(recorded(*args), expected, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1000, 1024, 1025, 2047])
def test_a_tangent_goes_through_a_layer_with_its_primal(rows, dtype):
    def fn(x, t, *w):
        # the first layer's factors come from outside
        return dg.jvp(lambda x: network(x, *w), x, t)

    arrays = [RNG.normal(size=(rows, WIDTH)), RNG.normal(size=(rows, WIDTH)), *weights(4)]
    args = [Tensor(a.astype(dtype)) for a in arrays]
    assert stacks(fn, args) == [1, 1, 2, 2, 2]
    check(fn, args, 1e-12 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("rows", [1000, 1024])
def test_second_derivatives(rows):
    def fn(x, t, *w):
        return dg.jvp(lambda x: dg.jvp(lambda x: network(x, *w), x, t)[1], x, t)

    arrays = [RNG.normal(size=(rows, WIDTH)), RNG.normal(size=(rows, WIDTH)), *weights(3)]
    args = [Tensor(a) for a in arrays]
    assert max(stacks(fn, args)) == 3
    check(fn, args)


def test_as_many_as_there_are_but_not_without_end():
    def fn(x, a):
        return sum(ops.cos(ops.matmul(ops.sin(x + float(k)), a)) for k in range(9)), x[:, :1]

    args = [Tensor(RNG.normal(size=(1500, WIDTH))), Tensor(weights(1)[0])]
    assert sorted(stacks(fn, args)) == [1, 4, 4]
    check(fn, args)


def test_one_after_the_other_is_not_joined():
    def fn(x, a):
        for _ in range(3):
            x = ops.sin(ops.matmul(ops.cos(x), a))
        return x, x[:, :1]

    args = [Tensor(RNG.normal(size=(1500, WIDTH))), Tensor(weights(1)[0])]
    assert stacks(fn, args) == [1, 1, 1]
    check(fn, args)


def test_a_long_chain_through_one_matrix():
    """Hundreds of products with one factor, none of which can be joined: an unrolled recurrence and its gradient."""

    def fn(x, a):
        def total(a):
            y = x
            for _ in range(200):
                y = ops.tanh(ops.matmul(y, a))
            return ops.sum(y)

        return (dg.grad(total)(a),)

    args = [Tensor(RNG.normal(size=(200, WIDTH))), Tensor(weights(1)[0])]
    assert set(stacks(fn, args)) == {1}
    check(fn, args, 1e-11)


def test_what_others_read_stays_where_it_is():
    """A left factor that is a result, one that is used with two matrices, and the same product twice."""

    def fn(x, a, b):
        p, q = ops.sin(x), ops.cos(x)
        products = ops.matmul(p, a), ops.matmul(q, a), ops.matmul(p, b), ops.matmul(q, b), ops.matmul(p, a)
        return p, *(ops.tanh(y).sum(1, keepdims=True) for y in products)

    args = [Tensor(RNG.normal(size=(1500, WIDTH))), *(Tensor(a) for a in weights(2))]
    check(fn, args)


def test_gradients_by_the_weights_of_a_loss_with_derivatives():
    def fn(x, t, *w):
        def loss(*w):
            value, slope = dg.jvp(lambda x: network(x, *w), x, t)
            return ops.mean((value + slope) ** 2)

        return dg.grad(loss, (0, 1, 2))(*w)

    arrays = [RNG.normal(size=(1300, WIDTH)), RNG.normal(size=(1300, WIDTH)), *weights(3)]
    args = [Tensor(a) for a in arrays]
    assert max(stacks(fn, args)) >= 2
    check(fn, args, 1e-12)


def drawn(rng, steps):
    """A function that sends many arrays through few matrices, in an order drawn at random."""
    choices = [(rng.integers(3), *rng.integers(k + 1, size=2), rng.integers(2)) for k in range(steps)]

    def fn(x, *w):
        values = [x]
        for which, i, j, product in choices:
            y = values[i] * values[j] if i != j else ops.sin(values[i])
            values.append(ops.tanh(ops.matmul(y, w[which]) if product else y + 0.25))
        return sum(values[len(values) // 2 :]), x[:, :1]

    return fn


@pytest.mark.parametrize("seed", range(12))
def test_groups_that_wait_for_each_other(seed):
    """What belongs to a group is done as one: no other group may pull a part of it ahead."""
    rng = np.random.default_rng(seed)
    args = [Tensor(rng.normal(size=(1100, WIDTH))), *(Tensor(a) for a in weights(3))]
    fn = drawn(rng, 40)
    assert max(stacks(fn, args)) > 1  # which verifies the plan as well
    check(fn, args, 1e-12)
