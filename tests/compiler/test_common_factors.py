"""Products of multiples are multiplications where the product without the factor is there, and nowhere else.

What a factor for each row may be carried through, and what it may not, is seen by counting products; the numbers are
compared with eager execution, which does every product.
"""

import itertools

import numpy as np
import pytest
from counted_products import check, products

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.compiler.passes import stages
from dualgrad.programs._listing import recording_of

RNG = np.random.default_rng(17)
N, K, M = 7, 3, 4
X, Y = RNG.normal(size=(2, N, K))
W, V = RNG.normal(size=(K, M)), RNG.normal(size=(M, K))
ROWS, COLUMNS = RNG.normal(size=(N, 1)), RNG.normal(size=(1, K))
NUMBER = RNG.normal(size=())

#: a factor f of x, and whether it is one for each row
FACTORS = {
    "rows": (ROWS, True),
    "a number": (NUMBER, True),
    "a number with axes": (NUMBER.reshape(1, 1), True),
    "columns": (COLUMNS, False),
    "elements": (RNG.normal(size=(N, K)), False),
}

#: what becomes of x on the way to the product; given x, its factor or None, and y
WAYS = {
    "at once": lambda x, f, y: x if f is None else f * x,
    "after a product": lambda x, f, y: x * y if f is None else (x * f) * y,
    "after a product, turned": lambda x, f, y: y * x if f is None else y * (f * x),
    "after a sum": lambda x, f, y: x + y if f is None else f * x + y * f,
    "after a difference": lambda x, f, y: x - y if f is None else f * x - f * y,
}

#: and what may not be carried through
STOPS = {
    "a sum with something else": lambda x, f, y: x + y if f is None else f * x + y,
    "two factors": lambda x, f, y: x + y if f is None else f * x + (2 + f) * y,
    "a function": lambda x, f, y: ops.sin(x) if f is None else ops.sin(f * x),
}


def twice(way):
    """Two products of which the second is that of a multiple."""

    def fn(x, y, w, f):
        return ops.matmul(way(x, None, y), w), ops.matmul(way(x, f, y), w)

    return fn


@pytest.mark.parametrize("columns", [M, K], ids=["wide", "square"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("what", "way"), list(itertools.product(FACTORS, [*WAYS, *STOPS])))
def test_a_factor_for_each_row_goes_through_linear_operations(what, way, dtype, columns):
    """Behind a square matrix a factor has the right shape whatever it is a factor of."""
    factor, by_row = FACTORS[what]
    fn = twice((WAYS | STOPS)[way])
    arrays = [np.asarray(a, dtype) for a in (X, Y, W[:, :columns], factor)]
    assert products(fn, *arrays) == (1 if by_row and way in WAYS else 2)
    check(fn, *arrays, rtol=1e-12 if dtype == np.float64 else 2e-5)


def test_through_several_layers():
    def fn(x, y, w, v, f):
        def layers(z):
            return ops.matmul(ops.matmul(z, w) * ops.matmul(y, w), v)

        return layers(x), layers(f * x)

    assert products(fn, X, Y, W, V, ROWS) == 3
    check(fn, X, Y, W, V, ROWS)


def test_a_column_between_zeros_is_a_multiple_of_a_unit_vector():
    zeros, unit = np.zeros((N, 1)), np.zeros((N, K))
    unit[:, 1] = 1

    def fn(c, w):
        return ops.matmul(Tensor(unit), w), ops.matmul(ops.cat((Tensor(zeros), c, Tensor(zeros)), 1), w)

    def other_column(c, w):
        return ops.matmul(Tensor(unit), w), ops.matmul(ops.cat((c, Tensor(zeros), Tensor(zeros)), 1), w)

    def beside_ones(c, w):
        return ops.matmul(Tensor(unit), w), ops.matmul(ops.cat((Tensor(zeros), c, Tensor(zeros + 1)), 1), w)

    def beside_others(row):
        others = unit.copy()
        others[row] = [0.5, 1, 0]
        return lambda c, w: (ops.matmul(Tensor(others), w), fn(c, w)[1])

    assert products(fn, ROWS, W) == 1
    for row in range(N):
        assert products(beside_others(row), ROWS, W) == 2
        check(beside_others(row), ROWS, W)
    assert products(other_column, ROWS, W) == products(beside_ones, ROWS, W) == 2
    for f in (fn, other_column, beside_ones):
        check(f, ROWS, W)


@pytest.mark.parametrize("shapes", [((2, N, K), (K, M), (2, N, 1)), ((2, N, K), (2, K, M), (N, 1)),
                                    ((N, K), (2, K, M), (N, 1)), ((2, N, K), (K, M), (2, 1, 1)),
                                    ((N, K), (2, K, M), (2, N, 1)), ((K,), (K, M), (1,)), ((N, K), (K,), (N, 1)),
                                    ((1, K), (K, M), (N, 1))])  # fmt: skip
def test_stacks(shapes):
    x, w, f = (RNG.normal(size=shape) for shape in shapes)
    check(lambda x, w, f: (ops.matmul(x, w), ops.matmul(f * x, w)), x, w, f)


def test_what_a_zero_cotangent_meets_does_not_matter():
    """Products that overflow, times zero: the derivative rules' products give zero there, and so does the multiple."""
    x = np.array([[1e200, 1.0], [1.0, 2.0]])

    def loss(x, w, f):
        return ops.sum(f * ops.matmul(x * x, w))

    def fn(x, w, f):
        return dg.grad(loss, 0)(x, w, f), ops.matmul(x * x, w), ops.matmul(f * (x * x), w)

    args = [Tensor(a) for a in (x, np.eye(2), np.array([[1.0], [0.0]]))]
    expected, recorded = fn(*args), dg.jit(fn)
    for _ in range(3):
        for found, e in zip(recorded(*args), expected, strict=True):
            np.testing.assert_array_equal(found.asnumpy(), e.asnumpy())


def test_equal_constants_are_one():
    """Unit vectors made anew at each use are the same vectors."""

    def fn(x, w):
        return [ops.matmul(x * Tensor(np.tile([0.0, 1.0, 0.0], (N, 1))), w) for _ in range(3)]

    assert products(fn, X, W) == 1
    check(fn, X, W)


def test_the_directions_of_a_loss_with_second_derivatives_are_sent_through_once():
    """u_xx in a loss: the direction of x, with and without its cotangent, at each of two wide layers."""
    wide = 16
    weights = [RNG.normal(size=s) / 4 for s in ((2, wide), (wide, wide), (wide, wide), (wide, 1))]

    def u(x, t, *w):
        z = ops.cat((x, t), 1)
        for a in w[:-1]:
            z = ops.tanh(ops.matmul(z, a))
        return ops.matmul(z, w[-1])

    def loss(x, t, *w):
        u_x, u_t = dg.grad(u, (0, 1))(x, t, *w)
        u_xx = dg.grad(dg.grad(u))(x, t, *w)
        return ops.mean((u_t + u(x, t, *w) * u_x - 0.01 * u_xx) ** 2)

    step = dg.grad(loss, (2, 3, 4, 5))
    arrays = [RNG.normal(size=(40, 1)), RNG.normal(size=(40, 1)), *weights]
    made = stages(recording_of(step, tuple(Tensor(a) for a in arrays), {}).program, "share")
    recorded, shared = (sum(s["name"] == "matmul" for s in made[name]["steps"]) for name in ("record", "share"))
    assert recorded - shared == 7  # up through three layers, down again through two; gradients by two matrices
    check(step, *arrays, rtol=1e-11)
