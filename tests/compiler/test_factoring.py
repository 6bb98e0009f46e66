"""Sums come before matrix products where that leaves fewer of them, and nowhere else.

What a sum is carried through, and what it is not, is seen by counting products; the numbers are compared with eager
execution, which does every product.
"""

import itertools

import numpy as np
import pytest
from counted_products import check, products, shapes_of_products

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

RNG = np.random.default_rng(23)
N, K, M = 7, 3, 4
X, Y, Z = RNG.normal(size=(3, N, K))
W, V = RNG.normal(size=(K, M)), RNG.normal(size=(M, K))
F = RNG.normal(size=(N, M))
ROWS = RNG.normal(size=(N, 1))

#: linear ways from (N, K) to somewhere, given w, v and a factor
WAYS = {
    "a product": lambda x, w, v, f: x @ w,
    "from the left": lambda x, w, v, f: ops.transpose(f, (1, 0)) @ x,
    "a multiple of a product": lambda x, w, v, f: (x @ w) * f,
    "its rows turned": lambda x, w, v, f: ops.transpose(f * (x @ w), (1, 0)),
    "two products": lambda x, w, v, f: ((x @ w) * f) @ v,
    "its negative": lambda x, w, v, f: -(f * (x @ w)),
    "in another shape": lambda x, w, v, f: ops.reshape(x @ w, (-1,)),
    "its sums": lambda x, w, v, f: ops.sum((x @ w) * f, axis=1),
}
#: what they are put together by, and whether that is a sum
SUMS = {
    "a sum": (lambda a, b, c: a + b, True),
    "a difference": (lambda a, b, c: a - b, True),
    "a difference of negatives": (lambda a, b, c: -a - b, True),
    "three terms": (lambda a, b, c: a - (b - c), True),
    "the same twice": (lambda a, b, c: (a + b) + (a - c), True),
    "a product of them": (lambda a, b, c: a * b, False),
    "a function between": (lambda a, b, c: ops.sin(a) + ops.sin(b), False),
}


def count_of(way):
    return 2 if way == "two products" else 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("way", "total"), list(itertools.product(WAYS, SUMS)))
def test_sums_go_through_linear_steps(way, total, dtype):
    put, is_sum = SUMS[total]
    go = WAYS[way]

    def fn(x, y, z, w, v, f):
        return (put(go(x, w, v, f), go(y, w, v, f), go(z, w, v, f)),)

    arrays = [np.asarray(a, dtype) for a in (X, Y, Z, W, V, F)]
    terms = 3 if total in ("three terms", "the same twice") else 2
    assert products(fn, *arrays) == count_of(way) * (1 if is_sum else terms)
    check(fn, *arrays, rtol=1e-12 if dtype == np.float64 else 2e-5)


#: programs whose products are not fewer for it: (function, products)
STOPS = {
    "different matrices": (lambda x, y, w, v: (x @ w + y @ (w * 2),), 2),
    "terms that are read too": (lambda x, y, w, v: (x @ w + y @ w, x @ w, y @ w), 2),
    "sums of other shapes": (lambda x, y, w, v: (x @ w + ops.sum(y @ w, axis=0),), 2),
    "one of them bent": (lambda x, y, w, v: (x @ w + ops.tanh(y @ w),), 2),
}


@pytest.mark.parametrize("name", STOPS)
def test_other_sums_stay_as_they_are(name):
    fn, expected = STOPS[name]
    assert products(fn, X, Y, W, V) == expected
    check(fn, X, Y, W, V)


def test_terms_that_are_read_elsewhere_are_computed_for_their_readers():
    """One of three products is kept, two become one."""

    def fn(x, y, z, w):
        a, b, c = x @ w, y @ w, z @ w
        return a + b + c, ops.sin(b)

    assert products(fn, X, Y, Z, W) == 2
    check(fn, X, Y, Z, W)


def test_zero_absorbs_as_in_one_function_of_both():
    """A cotangent of zero meets an infinite slope, on each way and on the one way of their sum."""
    loss = lambda x, w: sum(ops.sum((ops.sqrt(x) * 0.0) @ w) + ops.sum(k * (x * x) @ w) for k in (1.0, 2.0))
    x = np.array([[0.0, 4.0, 1.0]])
    check(lambda x, w: dg.grad(loss, (0, 1))(x, w), x, W)


def test_long_ways():
    """Layers behind each other, more of them than are looked at."""

    def fn(x, y, w):
        for _ in range(100):
            x, y = x @ w, y @ w
        return (x + y,)

    w = np.linalg.qr(RNG.normal(size=(K, K)))[0]
    assert products(fn, X, Y, w) < 200 - 60
    check(fn, X, Y, w, rtol=1e-10)


# ------------------------------------------------------------------------------------- nested derivatives of a loss


def network(d, rng):
    sizes = [(d, 32), (32, 24), (24, 1)]
    ws = [Parameter(rng.normal(size=s) / np.sqrt(s[0]), name=f"w{i}") for i, s in enumerate(sizes)]

    def u(x):
        for w in ws[:-1]:
            x = ops.tanh(x @ w)
        return (x @ ws[-1]).sum(-1)

    return u, ws


def by_gradients(u, d, n):
    gradient = dg.grad(lambda x: u(x).sum())
    return lambda x: sum(dg.grad(lambda x, k=k: gradient(x)[:, k].sum())(x)[:, k] for k in range(d))


def by_tangents(u, d, n):
    gradient = dg.grad(lambda x: u(x).sum())
    unit = lambda k: Tensor(np.eye(d)[np.full(n, k)])  # made inside of the function, so a constant
    return lambda x: sum(dg.jvp(gradient, x, unit(k))[1][:, k] for k in range(d))


def flops(fn, x):
    return sum(2 * np.prod(a) * b[-1] for a, b in shapes_of_products(fn, x))


@pytest.mark.parametrize("nested", [by_gradients, by_tangents])
@pytest.mark.parametrize("d", [2, 3, 6])
def test_nested_gradients_of_a_loss_cost_what_the_laplacian_does(d, nested):
    """Diagonal second derivatives, added up in a loss that is differentiated by the weights.

    At the first matrix, which is small, each direction is a whole array: four products for each.
    """
    n, rng = 50, np.random.default_rng(d)
    u, ws = network(d, rng)
    x = Tensor(rng.normal(size=(n, d)))
    trained = lambda f: dg.value_and_grad(lambda x: (f(x) ** 2).mean(), None, ws)
    nested, operator = trained(nested(u, d, n)), trained(dg.laplacian(u))
    value, gradient = operator(x)
    recorded = dg.jit(lambda x: nested(x))
    for _ in range(3):
        found, by_weights = recorded(x)
        np.testing.assert_allclose(found.asnumpy(), value.asnumpy(), rtol=1e-12)
        for a, b in zip(by_weights, gradient, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-9, atol=1e-12)
    first = 4 * d * 2 * n * d * 32
    assert flops(lambda x: nested(x), x) <= 1.1 * flops(lambda x: operator(x), x) + first
