"""Operators: estimates, and errors."""

import math
import re

import numpy as np
import pytest
from engine import forget_programs, open_levels, programs
from operator_models import RNG, network, scalar
from support import f64

import dualgrad as dg
from dualgrad import ops


def test_estimates_are_unbiased_and_repeatable():
    x = f64(RNG.normal(size=(2, 6)) / 2)
    f = lambda y: ops.exp((y * f64(np.linspace(-0.6, 0.8, 6))).sum(-1)) + (y**4).sum(-1)
    for operator, samples, spread in (
        (lambda n: dg.laplacian(f, samples=n), 4000, 0.03),
        (lambda n: dg.biharmonic(f, samples=n), 4000, 0.2),
        (
            lambda n: dg.linear_operator({(2, 0, 0, 0, 0, 0): 1.0, (0, 1, 0, 0, 0, 0): -2.0, (0, 0, 0, 0, 0, 0): 3.0})(
                f, samples=n
            ),
            4000,
            0.1,
        ),
    ):
        dg.set_seed(3)
        first = operator(samples)(x).asnumpy()
        dg.set_seed(3)
        np.testing.assert_array_equal(operator(samples)(x).asnumpy(), first)
        assert not np.array_equal(operator(samples)(x).asnumpy(), first)
        exact = {0.03: dg.laplacian(f), 0.2: dg.biharmonic(f)}.get(spread)
        exact = (
            dg.linear_operator({(2, 0, 0, 0, 0, 0): 1.0, (0, 1, 0, 0, 0, 0): -2.0, (0, 0, 0, 0, 0, 0): 3.0})(f)
            if exact is None
            else exact
        )
        expected = exact(x).asnumpy()
        np.testing.assert_allclose(first, expected, atol=spread * np.abs(expected).max())
    # exact for a sum of functions of one variable: v_i^2 = 1
    g = lambda y: (y**3).sum(-1)
    np.testing.assert_allclose(dg.laplacian(g, samples=1)(x).asnumpy(), dg.laplacian(g)(x).asnumpy(), rtol=1e-13)


def test_estimates_in_recorded_functions():
    """Draws are instructions of a program; terms drawn in Python keep it from being one."""
    x = f64(RNG.normal(size=(2, 3)))
    f = lambda y: ops.exp(y.sum(-1)) * y[:, 0]
    exact = dg.laplacian(f)(x).asnumpy()
    terms = {(2, 0, 0): 1.0, (0, 2, 0): 1.0, (0, 0, 2): 1.0}

    def check(recorded):
        found = [recorded(x).asnumpy() for _ in range(40)]
        assert len({a.tobytes() for a in found}) > 2
        assert np.all(np.abs(np.mean(found, 0) - exact) < 4 * np.std(found, 0) / 40**0.5 + 1e-12)

    check(dg.jit(dg.laplacian(f, samples=2)))
    with pytest.warns(UserWarning, match="terms of an operator are drawn at random"):
        check(dg.jit(dg.linear_operator(terms)(f, samples=2)))


@pytest.mark.parametrize("shape", [(100,), (1, 100), (3, 100), (70, 100)])
def test_many_variables(shape):
    """Few rows or many: channels go through a layer together or apart."""
    rng = np.random.default_rng(8)
    weights = [f64(w) for w in network(100, 6)]
    x = f64(rng.normal(size=shape) / 10)
    f = lambda y: scalar(y, *weights)
    got = dg.laplacian(f)(x).asnumpy()
    np.testing.assert_allclose(got, dg.laplacian(f, way="directions")(x).asnumpy(), rtol=1e-12)
    loss = lambda operator: lambda *w: (operator(lambda y: scalar(y, *w))(x) ** 2).sum()
    found = dg.grad(loss(dg.laplacian), tuple(range(5)))(*weights)
    expected = dg.grad(loss(lambda f: dg.laplacian(f, way="directions")), tuple(range(5)))(*weights)
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-11, atol=1e-12 * float(ops.abs(e).max()))


def test_what_is_refused():
    x = f64(np.ones((4, 2)))
    rows = lambda y: (y * y).sum(-1)
    for call, error, text in (
        (lambda: dg.laplacian(3.0), TypeError, "expected a function"),
        (lambda: dg.laplacian(rows)(np.ones((4, 2), int)), TypeError, "make it a float"),
        (lambda: dg.laplacian(rows)("x"), TypeError, "expected a Tensor"),
        (lambda: dg.laplacian(rows)(dg.Tensor([[1, 2]])), TypeError, "float32 or float64"),
        (lambda: dg.laplacian(rows)(f64(np.ones((2, 2, 2)))), ValueError, r"\(D,\)"),
        (lambda: dg.laplacian(lambda y: y.sum())(x), ValueError, "does not begin"),
        (lambda: dg.laplacian(lambda y: (y, y))(x), TypeError, "one Tensor"),
        (lambda: dg.laplacian(rows, way="magic")(x), ValueError, "way is 'magic'"),
        (lambda: dg.laplacian(rows, way="gradients", lower=True)(x), ValueError, "lower"),
        (lambda: dg.laplacian(rows, samples=0)(x), ValueError, "samples"),
        (lambda: dg.laplacian(lambda y: y, way="gradients")(x), ValueError, "one number"),
        (lambda: dg.mixed_partial(rows, (1, 1, 1))(x), ValueError, "3 entries, but there are 2"),
        (lambda: dg.mixed_partial(rows, (1, -1)), ValueError, "0 or more"),
        (lambda: dg.mixed_partial(rows, 2), TypeError, "multi-index"),
        (lambda: dg.linear_operator({}), TypeError, "mapping"),
        (lambda: dg.linear_operator({(1,): 1, (1, 0): 2}), ValueError, "entries"),
        (lambda: dg.linear_operator({(1, 0): "1"}), TypeError, "finite number"),
        (lambda: dg.linear_operator({(1, 0): np.inf}), TypeError, "finite number"),
        (lambda: dg.linear_operator({(1, 0): f64(1.0)})(rows, samples=3), ValueError, "numbers"),
        (lambda: dg.derivatives(rows, {}), TypeError, "names"),
        (lambda: dg.curl(lambda y: y)(f64(np.ones(4))), ValueError, "expected 2 or 3"),
        (lambda: dg.divergence(rows)(x), ValueError, "expected the shape of x"),
        (
            lambda: dg.laplacian(lambda y: rows(y) + y[0, 0] * y[1, 1], check=True)(f64(RNG.normal(size=(4, 2)))),
            ValueError,
            "mixes rows",
        ),
        (
            lambda: dg.laplacian(lambda y: rows(y) / rows(y).max(), check=True)(f64(RNG.normal(size=(4, 2)))),
            ValueError,
            "mixes rows",
        ),
    ):
        with pytest.raises(error, match=text):
            call()
        assert not open_levels()


def test_a_check_inside_vmap_says_why_it_cannot_be_made():
    rows = lambda y: (y * y).sum(-1)
    with pytest.raises(ValueError, match="inside vmap"):
        dg.vmap(dg.laplacian(rows, check=True))(f64(np.ones((2, 3, 2))))


def multiplications(f, *args):
    """Multiplications in the products of matrices of a recorded function, and its other instructions."""
    forget_programs()
    recorded = dg.jit(f)
    for _ in range(3):
        recorded(*args)
    ((_, _, text),) = programs()
    shapes, total, others = {}, 0, 0
    for line in text.split("\n"):
        found = re.match(r"%(\d+) = (\w+)(?:\(([%\d, ]*)\))?.*?\(([\d, ]*)\)$", line)
        if found:
            slot, op, operands, shape = found.groups()
            shapes[slot] = tuple(int(n) for n in re.findall(r"\d+", shape))
            if op == "matmul":
                total += math.prod(shapes[slot]) * shapes[re.findall(r"\d+", operands)[0]][-1]
            else:
                others += op not in ("input", "handle", "constant", "reshape", "transpose", "slice", "broadcast_to")
    return total, others


@pytest.mark.parametrize("dimensions", [10, 100])
def test_matrix_products_are_as_few_as_can_be(dimensions):
    """D + 2 channels through a hidden layer, and backwards as many for cotangents, and for weights.

    The first layer takes the directions once, for all points; the last only what is read.
    """
    rows, width = 128, 16
    weights = [f64(w) for w in network(dimensions, width)]
    x = f64(RNG.normal(size=(rows, dimensions)) / dimensions**0.5)
    value = lambda *w: dg.laplacian(lambda y: scalar(y, *w))(x)
    first = (rows + dimensions) * dimensions * width
    hidden = (dimensions + 2) * rows * width * width
    last = rows * width
    counted, instructions = multiplications(value, *weights)
    assert counted == first + hidden + last
    slopes = dg.grad(lambda *w: (value(*w) ** 2).sum(), tuple(range(5)))
    counted, more = multiplications(slopes, *weights)
    assert counted == (first + hidden + last) + (2 * last + 2 * hidden + first)
    assert (instructions, more) == kernels_in_three_dimensions()


def kernels_in_three_dimensions():
    """The number of kernels does not grow with the number of variables."""
    few = [f64(w) for w in network(3, 16)]
    x = f64(RNG.normal(size=(128, 3)))
    small = lambda *w: dg.laplacian(lambda y: scalar(y, *w))(x)
    return (
        multiplications(small, *few)[1],
        multiplications(dg.grad(lambda *w: (small(*w) ** 2).sum(), tuple(range(5))), *few)[1],
    )


def test_plans_count_products():
    plan = dg.laplacian(ops.sin, explain=True)(f64(np.zeros(10)))
    counted = {way.name: (way.channels, way.products) for way in plan.ways}
    # f'(u) times 11 channels, ten squares, f''(u) times their sum
    assert counted["algebra"] == (12, 22)
    assert plan.chosen.name == "algebra"
