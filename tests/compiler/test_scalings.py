"""Small factors of derivatives are multiplied with each other before they meet a large array, and nothing else is.

What is saved is seen by the shapes of the products in a planned program; the numbers are compared with eager
execution, which multiplies in the order of the rules.
"""

import itertools

import numpy as np
import pytest
from counted_products import check

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.compiler.passes import stages
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad.programs._listing import recording_of

RNG = np.random.default_rng(23)
N, M = 5, 12
X = RNG.normal(size=(N, M))

#: factors of fewer elements, and of as many
FACTORS = {
    "columns": RNG.normal(size=M),
    "a row": RNG.normal(size=(1, M)),
    "rows": RNG.normal(size=(N, 1)),
    "a number": RNG.normal(size=()),
    "elements": RNG.normal(size=(N, M)),
    "a stack": RNG.normal(size=(2, N, M)),
}


def absorbing(x, c):
    """The product of derivative rules."""
    return apply(OPCODES["absorb_mul"], None, x, c)


def products(fn, *arrays):
    """The shapes of the elementwise products in a program, as it goes on to be lowered."""
    made = stages(recording_of(fn, tuple(Tensor(a) for a in arrays), {}).program, "scale")
    last = made[list(made)[-1]]
    return sorted(
        last["slots"][step["out"]]["shape"] for step in last["steps"] if step["name"] in ("absorb_mul", "mul", "neg")
    )


def is_small(shape):
    return 4 * int(np.prod(shape, dtype=int)) <= N * M


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("turned", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize(("one", "other"), list(itertools.product(FACTORS, repeat=2)))
def test_two_factors_meet_if_both_are_small_together(one, other, turned, dtype):
    def fn(x, c, d):
        y = absorbing(c, x) if turned[0] else absorbing(x, c)
        return (absorbing(d, y) if turned[1] else absorbing(y, d),)

    c, d = FACTORS[one].astype(dtype), FACTORS[other].astype(dtype)
    shapes = [c.shape, d.shape, np.broadcast_shapes(c.shape, d.shape)]
    whole = [np.broadcast_shapes(X.shape, c.shape), np.broadcast_shapes(X.shape, c.shape, d.shape)]
    if all(map(is_small, shapes)):
        assert products(fn, X.astype(dtype), c, d) == sorted([shapes[2], (N, M)])
    else:
        assert products(fn, X.astype(dtype), c, d) == sorted(whole)
    check(fn, X.astype(dtype), c, d, rtol=1e-14 if dtype == np.float64 else 1e-6)


C, D = FACTORS["columns"], RNG.normal(size=M)
BIG = (N, M)

#: what is done with x, and the shapes of the products that are left
CHAINS = {
    "three factors": (lambda x, c, d: [absorbing(absorbing(absorbing(x, c), d), c)], [(M,), (M,), BIG]),
    "a sign": (lambda x, c, d: [absorbing(-absorbing(x, c), d)], [(M,), (M,), BIG]),
    "a number of the user's": (lambda x, c, d: [absorbing(3.0 * absorbing(x, c), d)], [(M,), (M,), BIG]),
    "one factor": (lambda x, c, d: [absorbing(x, c)], [BIG]),
    "the user's products": (lambda x, c, d: [(x * c) * d], [BIG, BIG]),
    "an array of the user's": (lambda x, c, d: [absorbing(x, c) * d], [BIG, BIG]),
    "a function between": (lambda x, c, d: [absorbing(ops.exp(absorbing(x, c)), d)], [BIG, BIG]),
    "a sum between": (lambda x, c, d: [absorbing(absorbing(x, c) + x, d)], [BIG, BIG]),
    "read in between": (lambda x, c, d: [absorbing(x, c), absorbing(absorbing(x, c), d)], [BIG, BIG]),
    "two ends": (
        lambda x, c, d: [absorbing(absorbing(x, c), d), absorbing(absorbing(x, c), c)],
        [(M,), (M,), BIG, BIG],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name):
    fn, expected = CHAINS[name]
    assert products(fn, X, C, D) == sorted(expected)
    check(fn, X, C, D, rtol=1e-14)


SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zero_absorbs_as_before(dtype):
    """All of zero, numbers, infinity and nan as array and as both factors: equal, or nan in both."""
    c, d = (factor.ravel().astype(dtype) for factor in np.meshgrid(SPECIAL, SPECIAL))
    rows = np.repeat(SPECIAL[:, None], c.size, 1).astype(dtype)
    fn = lambda x, c, d: (absorbing(absorbing(x, c), d),)
    assert products(fn, rows, c, d) == sorted([c.shape, rows.shape])
    args = [Tensor(a) for a in (rows, c, d)]
    expected, recorded = fn(*args)[0].asnumpy(), dg.jit(fn)
    for _ in range(3):
        np.testing.assert_array_equal(recorded(*args)[0].asnumpy(), expected)


#: losses of a margin, and how often samples are multiplied: once for each term of a second derivative, and their sum
LOSSES = {
    "logistic": (lambda m: ops.log(1.0 + ops.exp(-m)), 3),
    "softplus": (lambda m: ops.logaddexp(0.0 * m, -m), 1),
    "a wave": (ops.sin, 1),
    "squares of a wave": (lambda m: ops.sin(m) ** 2, 3),
    "a composition": (lambda m: ops.exp(ops.tanh(m)), 3),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_hessian_of_a_generalised_linear_model(name):
    """X^T D X, as it is written by hand."""
    of_margins, count = LOSSES[name]
    features, y = RNG.normal(size=(60, 7)), np.sign(RNG.normal(size=60))
    loss = lambda w, x, y: of_margins(y * (x @ w)).mean()
    w = RNG.normal(size=7)
    assert products(dg.hessian(loss), w, features, y).count((7, 60)) == count
    check(lambda *args: (dg.hessian(loss)(*args),), w, features, y, rtol=1e-12)
    slope = dg.grad(lambda m: of_margins(m).sum())
    curvature = dg.grad(lambda m: slope(m).sum())(Tensor(y * (features @ w))).asnumpy()
    by_hand = features.T @ (curvature[:, None] * features) / 60
    np.testing.assert_allclose(dg.jit(dg.hessian(loss))(*map(Tensor, (w, features, y))).asnumpy(), by_hand, rtol=1e-10)
