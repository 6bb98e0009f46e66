"""Every row of the table of primitives: engines that share no code agree, order by order.

The tests iterate over the rows; a new elementwise row is tested without an edit here. Points are drawn from
the domain the row declares, its ends approached but not touched.
"""

import numpy as np
import pytest
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad._table import BY_NAME, ROWS
from dualgrad.testing import check

SMOOTH = [row for row in extend.rows() if row.name in BY_NAME and row.family == "elementwise" and row.partials]
CONSTANT = [row for row in ROWS if row.family == "constant" and row.partials]


def t(x):
    return Tensor(np.asarray(x, np.float64))


def samples(row, size=24):
    """Points inside the domain of each operand: a bulk, and approaches to its finite ends."""
    rng = np.random.default_rng(len(row.name) * 1009 + row.arity)
    nearness = np.array([0.01, 0.05, 0.95, 0.99])
    points = []
    for i, (low, high) in enumerate(row.domain):
        if i not in row.differentiable:
            points.append(rng.choice(row.orders, size))
            continue
        low, high = max(low, -4.0), min(high, 4.0)
        bulk = rng.uniform(low, high, size - 4)
        width = high - low
        ends = low + width * (nearness + 0.003 * rng.random(4))
        points.append(rng.permutation(np.concatenate([bulk, ends])))
    return points


def inside(row, size=6):
    """Points away from the ends of each domain, and one order."""
    rng = np.random.default_rng(len(row.name))
    points = []
    for i, (low, high) in enumerate(row.domain):
        low, high = max(low, -4.0), min(high, 4.0)
        steady = i not in row.differentiable
        points.append(row.orders[0] if steady else low + (high - low) * rng.uniform(0.1, 0.9, size))
    return points


def primitive(row):
    return lambda *xs: apply(OPCODES[row.name], None, *xs)


def moving(row, point):
    """The row as a function of the operands that have slopes, the others held; and those operands."""

    def call(*xs):
        given = iter(xs)
        operands = [next(given) if i in row.differentiable else Tensor(p, xs[0].dtype) for i, p in enumerate(point)]
        return apply(OPCODES[row.name], None, *operands)

    call.__name__ = row.name
    return call, [point[i] for i in row.differentiable]


def ids(rows):
    return [row.name for row in rows]


def close(got, expected, rtol):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-300) * 1e-2)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_every_way_of_differentiating_agrees(row):
    for point in zip(*samples(row), strict=True):  # one at a time: derivatives grow towards the ends of a domain
        check(*moving(row, point), rtol=1e-12, smooth=False, batched=False, narrow=False)
    check(*moving(row, inside(row)), rtol=1e-12, broadcasts=True)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_gradients_are_limits_of_differences(row):
    """By steps in proportion to the distance from the ends of the domain."""
    f, points = primitive(row), samples(row)
    for i in row.differentiable:
        low, high = row.domain[i]
        h = 1e-6 * np.minimum(1.0, np.minimum(points[i] - low, high - points[i]))
        ends = [f(*[t(p + step if k == i else p) for k, p in enumerate(points)]).asnumpy() for step in (h, -h)]
        close((ends[0] - ends[1]) / (2 * h), dg.grad(f, i)(*map(t, points)).asnumpy(), 1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_narrow_types_stay_narrow_and_agree_with_float64(row, dtype):
    f, operand, eps = primitive(row), row.differentiable[0], np.finfo(dtype).eps
    points = [p.astype(dtype) for p in samples(row)]
    wide = [t(p.astype(np.float64)) for p in points]
    value, slope = f(*wide).asnumpy(), dg.grad(f, operand)(*wide).asnumpy()
    fits = np.maximum(np.abs(value), np.abs(slope)) < np.finfo(dtype).max / 100
    assert fits.sum() >= 8
    points = [Tensor(p[fits]) for p in points]
    out, gradient = f(*points), dg.grad(f, operand)(*points)
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
            assert row.c or row.vector or row.ufunc, f"{row.name} has no kernel"
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
