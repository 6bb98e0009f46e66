"""Every row of the table of primitives: engines that share no code agree, order by order.

The tests iterate over the rows; a new elementwise row is tested without an edit here. Points are drawn from
the domain the row declares, its ends approached but not touched.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad._engine.tensor import OPCODES, apply, convert
from dualgrad._table import BY_NAME, ROWS
from dualgrad.testing import check

SMOOTH = [row for row in extend.rows() if row.name in BY_NAME and row.family == "elementwise" and row.partials]
CONSTANT = [row for row in ROWS if row.family == "constant" and row.partials]


def t(x):
    return Tensor(np.asarray(x, np.float64))


def limits(row):
    """The domain of each operand that has a slope, cut to numbers of a moderate size."""
    return [(max(row.domain[i][0], -4.0), min(row.domain[i][1], 4.0)) for i in row.differentiable]


def samples(row, size=24):
    """Points inside the domain of each operand with a slope: a bulk, and approaches to its finite ends."""
    rng = np.random.default_rng(len(row.name) * 1009 + row.arity)
    nearness = np.array([0.01, 0.05, 0.95, 0.99])
    points = []
    for low, high in limits(row):
        bulk = rng.uniform(low, high, size - 4)
        width = high - low
        ends = low + width * (nearness + 0.003 * rng.random(4))
        points.append(rng.permutation(np.concatenate([bulk, ends])))
    return points


def inside(row, size=6):
    """Points away from the ends of each domain."""
    rng = np.random.default_rng(len(row.name))
    return [low + (high - low) * rng.uniform(0.1, 0.9, size) for low, high in limits(row)]


def primitive(row, order=None):
    """The primitive as a function of the operands that have a slope; one that has none known is a given order."""

    def call(*xs):
        given = iter(xs)
        operands = [next(given) if i in row.differentiable else convert(order, xs[0]._typenum) for i in range(row.arity)]
        return apply(OPCODES[row.name], None, *operands)

    call.__name__ = row.name
    return call


def orders(row):
    return row.orders or (None,)


def ids(rows):
    return [row.name for row in rows]


def close(got, expected, rtol):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-300) * 1e-2)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_every_way_of_differentiating_agrees(row):
    for order in orders(row):
        f = primitive(row, order)
        for point in zip(*samples(row, 24 // len(orders(row)) + 4), strict=True):  # derivatives grow towards the ends
            check(f, point, rtol=1e-12, smooth=False, batched=False, narrow=False)
        check(f, inside(row), rtol=1e-12, broadcasts=True)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_gradients_are_limits_of_differences(row):
    """By steps in proportion to the distance from the ends of the domain."""
    points = samples(row)
    for order in orders(row):
        f = primitive(row, order)
        for k, i in enumerate(row.differentiable):
            low, high = row.domain[i]
            h = 1e-6 * np.minimum(1.0, np.minimum(points[k] - low, high - points[k]))
            ends = [f(*[t(p + step if n == k else p) for n, p in enumerate(points)]).asnumpy() for step in (h, -h)]
            close((ends[0] - ends[1]) / (2 * h), dg.grad(f, k)(*map(t, points)).asnumpy(), 1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_narrow_types_stay_narrow_and_agree_with_float64(row, dtype):
    eps = np.finfo(dtype).eps
    points = [p.astype(dtype) for p in samples(row)]
    wide = [t(p.astype(np.float64)) for p in points]
    for order in orders(row):
        f = primitive(row, order)
        value, slope = f(*wide).asnumpy(), dg.grad(f)(*wide).asnumpy()
        fits = np.maximum(np.abs(value), np.abs(slope)) < np.finfo(dtype).max / 100
        assert fits.sum() >= 8
        narrow = [Tensor(p[fits]) for p in points]
        out, gradient = f(*narrow), dg.grad(f)(*narrow)
        assert out.dtype == gradient.dtype == dtype
        close(out.asnumpy().astype(np.float64), value[fits], 40 * eps)
        close(gradient.asnumpy().astype(np.float64), slope[fits], 400 * eps)


@pytest.mark.parametrize("row", CONSTANT, ids=ids(CONSTANT))
def test_constant_rows_have_slope_zero(row):
    if row.name.startswith(("bitwise", "logical")):
        operand = Tensor(np.array([True, False]))
        assert apply(OPCODES[row.name], None, *[operand] * row.arity).shape == (2,)
        return
    f, x = primitive(row), t([1.5, -2.5])
    weighted = lambda *xs: ops.sum(f(*xs).astype(dg.float64) * xs[0])
    got = dg.grad(weighted)(*[x] * row.arity).asnumpy()
    np.testing.assert_array_equal(got, f(*[x] * row.arity).asnumpy().astype(np.float64))


def test_every_row_is_complete():
    for row in ROWS:
        assert row.summary, f"{row.name} has no summary"
        if row.family == "elementwise" and row.partials:
            assert row.c or row.ufunc, f"{row.name} has no kernel"
            assert len(row.domain) == row.arity == len(row.partials)
            assert len(row.complex_partials) in (0, row.arity)
    assert len(BY_NAME) == len(ROWS) <= len(OPCODES)


def test_public_names_of_the_rows_exist():
    for row in ROWS:
        if row.function:
            assert callable(getattr(ops, row.function)), row.function
        if row.cls:
            assert callable(getattr(ops, row.cls)), row.cls
        if row.method:
            assert callable(getattr(Tensor, row.method)), row.method
