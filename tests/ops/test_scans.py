"""Running sums, products, logarithms and extremes: values beside NumPy's, and high derivatives where they are hard."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64, i32, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, ops

SCANS = {
    "cumsum": (lambda x, axis: ops.cumsum(x, axis), np.cumsum),
    "cumprod": (lambda x, axis: ops.cumprod(x, dim=axis), np.cumprod),
    "logcumsumexp": (ops.logcumsumexp, np.logaddexp.accumulate),
    "cummax": (lambda x, axis: ops.cummax(x, axis)[0], np.maximum.accumulate),
    "cummin": (lambda x, axis: x.cummin(axis)[0], np.minimum.accumulate),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (8,), (3, 1, 7), (4, 6, 2), (0, 3)])
def test_values(name, shape):
    ours, numpys = SCANS[name]
    x = np.random.default_rng(0).standard_normal(shape)
    for axis in range(-len(shape), len(shape)):
        assert_close(ours(Tensor(x), axis), numpys(x, axis), scale=1.0, dtype=dg.float64)


def test_products_are_exclusive_and_reversed():
    x = f64([2.0, 3.0, 4.0])
    for exclusive, reverse, expected in [
        (False, False, [2.0, 6.0, 24.0]),
        (True, False, [1.0, 2.0, 6.0]),
        (False, True, [24.0, 12.0, 4.0]),
        (True, True, [12.0, 4.0, 1.0]),
    ]:
        assert_close(ops.CumProd(exclusive, reverse)(x, 0), expected)


def test_every_mixed_derivative_of_products_with_zeros():
    """A product has degree 1 in each factor: its mixed derivatives are the products of the other factors."""
    x, unit = np.array([0.0, 2.0, 0.0, -3.0, 0.5]), np.eye(5)
    for chosen in itertools.combinations(range(5), 3):
        f = lambda x: ops.cumprod(x, 0)
        for k in chosen:
            f = lambda x, f=f, k=k: dg.jvp(f, x, Tensor(unit[k]))[1]
        others = np.cumprod(np.where(np.isin(range(5), chosen), 1.0, x)) * (np.arange(5) >= max(chosen))
        assert_close(f(Tensor(x)), others)
        direction = Tensor(unit[list(chosen)].sum(0))
        moved = lambda t, d=direction: ops.cumprod(Tensor(x) + d * t, 0)
        assert_close(repeated_grad(moved, 3)(f64(0.0)), float(6.0 * np.sum(others)))


def test_running_logarithms_have_the_hessian_of_logsumexp():
    for x in (np.zeros(4), np.array([1.0, 1.0, -0.5, 1.0]), np.array([-40.0, 0.0, 30.0, 30.0])):
        last = lambda x: ops.logcumsumexp(x, 0)[-1]
        p = np.exp(x - x.max())
        p /= p.sum()
        assert_close(dg.grad(last)(Tensor(x)), p, 1e-13)
        for k in range(4):
            row = dg.jvp(dg.grad(last), Tensor(x), Tensor(np.eye(4)[k]))[1]
            assert_close(row, np.diag(p)[k] - p[k] * p, 1e-13, scale=1e-3)


def test_running_logarithms_of_nothing():
    x = f64([-np.inf, -np.inf, 1.0, -np.inf, 1.0])
    assert_close(ops.logcumsumexp(x, 0), [-np.inf, -np.inf, 1.0, 1.0, 1.0 + np.log(2.0)])
    ends = lambda x: ops.logcumsumexp(x, 0)[1:]
    assert_close(dg.grad(ends)(x), [0.0, 0.0, 2.5, 0.0, 0.5])
    row = dg.jvp(dg.grad(lambda x: ends(x)[3]), x, f64([1.0, 1.0, 1.0, 1.0, 0.0]))[1]
    assert_close(row, [0.0, 0.0, 0.25, 0.0, -0.25])


def test_small_terms_are_not_lost():
    assert_close(ops.logcumsumexp(f64([0.0, -40.0]), 0)[1], float(np.log1p(np.exp(-40.0))))
    assert_close(ops.logcumsumexp(f64([-800.0, -800.0, 800.0]), 0), [-800.0, -800.0 + np.log(2.0), 800.0])


@pytest.mark.parametrize(("name", "worst"), [("cummax", -9.0), ("cummin", 9.0)])
def test_running_extremes_stand_where_they_are_said_to(name, worst):
    x = np.array([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, -1.0, 2.0, np.nan]])
    values, places = getattr(ops, name)(Tensor(x), -1)
    assert places.dtype == dg.int64
    assert_close(values, np.take_along_axis(x, places.asnumpy(), 1))
    expected = {"cummax": [[0, 1, 2, 2, 4], [0, 1, 1, 3, 4]], "cummin": [[0, 0, 0, 0, 0], [0, 1, 2, 2, 4]]}[name]
    assert places.tolist() == expected
    after = getattr(ops, name)(f64([np.nan, worst, -worst]), 0)
    assert_close(after[0], [np.nan] * 3)
    assert after[1].tolist() == [0, 0, 0]


def test_derivatives_of_running_extremes_go_to_the_last_of_equals():
    weights = f64([1.0, 10.0, 100.0, 1000.0])
    slope = dg.grad(lambda x: ops.sum(ops.cummax(x, 0)[0] * weights))
    assert_close(slope(f64([2.0, 2.0, 1.0, 2.0])), [1.0, 110.0, 0.0, 1000.0])


def test_types():
    assert ops.cumprod(Tensor([True, True]), 0).dtype == dg.int64
    assert ops.cumprod(i32([2, 3]), 0, dtype=dg.float64).dtype == dg.float64
    assert ops.logcumsumexp(Tensor(np.zeros(2, np.float16)), 0).dtype == dg.float16
    assert ops.cummax(i32([1, 3, 2]), 0)[0].dtype == dg.int32


@pytest.mark.parametrize("kind", np.typecodes["AllInteger"][:-2])
def test_products_of_integers_go_beyond_their_type(kind):
    """They are of type Int64, as those of NumPy; the primitive classes keep the type."""
    x = np.array([[100, 3, 7], [90, 110, 100], [5, 120, 127]], kind)
    for axis in (0, 1):
        assert_close(ops.prod(Tensor(x), axis), np.prod(x, axis, np.int64), dtype=dg.int64)
        assert_close(ops.cumprod(Tensor(x), axis), np.cumprod(x, axis, np.int64), dtype=dg.int64)
    for found in ops.ReduceProd()(Tensor(x), 0), ops.CumProd()(Tensor(x), 0):
        assert found.dtype.numpy == kind


@pytest.mark.parametrize("name", ["cumprod", "logcumsumexp", "cummax", "cummin"])
def test_errors(name):
    f, x = getattr(ops, name), f64([1.0, 2.0])
    assert_raises(IndexError, lambda: f(x, 1), name, "axis 1", "(2,)")
    assert_raises(TypeError, lambda: f(x, 0.5), name, "int", "float")
    assert_raises(TypeError, lambda: f(x, axes=0), name, "axes", "dim")
