"""Segments, scatters with repetitions, masks: values by NumPy's unbuffered functions, ties, zeros and errors."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f64, i32

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(0)
IDS = RNG.integers(-2, 6, 40)
LOWEST = np.finfo(float).min


@pytest.mark.parametrize("shape", [(40,), (40, 3), (40, 2, 2)])
def test_segments(shape):
    x = RNG.standard_normal(shape)
    inside = IDS >= 0
    for name, at, start in [
        ("sum", np.add.at, 0.0),
        ("max", np.maximum.at, LOWEST),
        ("min", np.minimum.at, -LOWEST),
    ]:
        expected = np.full((8, *shape[1:]), start)
        at(expected, IDS[inside], x[inside])
        for ids, data in ((IDS, x), (IDS.reshape(8, 5), x.reshape(8, 5, *shape[1:]))):
            found = getattr(ops, f"unsorted_segment_{name}")(Tensor(data), Tensor(ids), 8)
            assert_close(found, expected, scale=1.0)


def test_extremes_of_segments_share_their_slope():
    x, ids = f64([3.0, 1.0, 3.0, 7.0, 3.0]), i32([1, 0, 1, 0, 1])
    for f, sign in ((ops.unsorted_segment_max, 1.0), (ops.unsorted_segment_min, -1.0)):
        slope = dg.grad(lambda x, f=f: f(x, ids, 2) ** 2)(x * sign)
        assert_close(slope, [2.0 * sign, 0.0, 2.0 * sign, 14.0 * sign, 2.0 * sign])


def test_extremes_of_segments_are_exact():
    x = np.array([0.1, 0.1, 0.1, np.inf, np.inf, 1.0, -np.inf, np.nan, 2.0])
    ids = i32([0, 0, 0, 1, 1, 1, 2, 3, 3])
    assert ops.unsorted_segment_max(Tensor(x), ids, 4).tolist()[:3] == [0.1, np.inf, -np.inf]
    assert_close(ops.unsorted_segment_max(Tensor(x), ids, 5), [0.1, np.inf, -np.inf, np.nan, LOWEST])
    assert_close(ops.unsorted_segment_min(Tensor(x), ids, 5), [0.1, 1.0, -np.inf, np.nan, -LOWEST])
    whole = ops.unsorted_segment_max(i32([3, 1, 2]), i32([0, 0, 2]), 3)
    assert whole.tolist() == [3, np.iinfo(np.int32).min, 2]
    assert whole.dtype == dg.int32


@pytest.mark.parametrize("shape", [(4,), (4, 5), (4, 5, 2)])
def test_updates_at_points(shape):
    x = RNG.standard_normal(shape)
    depth = min(len(shape), 2)
    points = np.stack([RNG.integers(-n, n, 30) for n in shape[:depth]], 1)
    updates = RNG.standard_normal((30, *shape[depth:]))
    for name, at in [
        ("sub", np.subtract.at),
        ("mul", np.multiply.at),
        ("max", np.maximum.at),
        ("min", np.minimum.at),
    ]:
        expected = x.copy()
        at(expected, tuple(points.T), updates)
        for f in (getattr(ops, f"tensor_scatter_{name}"), getattr(ops, f"TensorScatter{name.title()}")()):
            assert_close(f(Tensor(x), Tensor(points), Tensor(updates)), expected, scale=1.0)


def test_products_at_points_with_zeros():
    """x0 u0 u1 u2 at one place: every mixed derivative is the product of the other factors."""
    point = i32([[1], [1], [1]])
    f = lambda x, u: ops.tensor_scatter_mul(x, point, u)[1]
    x, u = f64([5.0, 2.0]), f64([0.0, 3.0, 0.0])
    assert_close(dg.grad(f, (0, 1))(x, u), (np.zeros(2), np.zeros(3)))
    second = dg.grad(lambda x, u: dg.jvp(lambda u: f(x, u), u, f64([1.0, 0.0, 0.0]))[1], (0, 1))(x, u)
    assert_close(second, (np.zeros(2), np.array([0.0, 0.0, 6.0])))


def test_ties_at_points_are_shared_by_all():
    x, updates = f64([2.0, 1.0]), f64([2.0, 0.0, 2.0])
    f = lambda x, u: ops.tensor_scatter_max(x, i32([[0], [0], [0]]), u)
    third = 1.0 / 3.0
    assert_close(dg.grad(f, (0, 1))(x, updates), (np.array([third, 1.0]), np.array([third, 0.0, third])))


def test_masks():
    x, mask = f64([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor([True, False, True])
    assert_close(x.masked_select(mask), [1.0, 3.0, 4.0, 6.0])
    assert_close(ops.masked_select(f64([1.0, 2.0]), Tensor([[True, False], [True, True]])), [1.0, 1.0, 2.0])
    assert_close(dg.grad(lambda x: ops.masked_select(x, x > 2.5) ** 2)(x), [[0.0, 0.0, 6.0], [8.0, 10.0, 12.0]])
    rows, columns = ops.nonzero(x - 4.0, as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 0, 1, 1], [0, 1, 2, 1, 2])
    assert f64([0.0, np.nan, -1.0]).nonzero().tolist() == [[1], [2]]
    assert_close(ops.index_fill(x, 1, i32([-1, 0, -1]), 9), [[9.0, 2.0, 9.0], [9.0, 5.0, 9.0]])
    assert_close(dg.grad(lambda v: ops.index_fill(x, 0, 1, v))(f64(0.0)), 3.0)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_quotients_of_integers(kind):
    """Each division drops what is behind the point, in the order of the updates; samples have their own."""
    rng = np.random.default_rng(2)
    low = 0 if kind is np.uint8 else -100
    x = rng.integers(low, 100, (2, 3, 4)).astype(kind)
    divisors = rng.integers(1, 6, (2, 5, 4)).astype(kind)
    if low:
        divisors *= rng.choice(np.array([-1, 1], kind), divisors.shape)
    rows = rng.integers(0, 3, (2, 5, 1))
    expected = x.copy()
    for sample, (places, each) in enumerate(zip(rows[..., 0], divisors, strict=True)):
        for place, divisor in zip(places, each, strict=True):
            expected[sample, place] = np.trunc(expected[sample, place] / divisor.astype(float)).astype(kind)
    found = ops.tensor_scatter_div(Tensor(x[0]), Tensor(rows[0]), Tensor(divisors[0]))
    assert_close(found, expected[0])
    assert_close(dg.vmap(ops.tensor_scatter_div)(Tensor(x), Tensor(rows), Tensor(divisors)), expected)
    assert_close(Tensor(x[1]).scatter_div(Tensor(rows[1]), Tensor(divisors[1])), expected[1])


ERRORS = {
    "segment": (lambda: ops.unsorted_segment_sum(f64([1.0]), i32([5]), 3), IndexError, ("segment_sum", "3", "5")),
    "shape": (lambda: ops.unsorted_segment_max(f64([1.0]), i32([0, 0]), 3), ValueError, ("segment_max", "(2,)")),
    "none": (lambda: ops.unsorted_segment_min(f64([1.0]), i32([-1]), 0), ValueError, ("num_segments", "0")),
    "order": (lambda: ops.unsorted_segment_max(Tensor([True]), i32([0]), 1), TypeError, ("Bool", "order")),
    "floats": (lambda: ops.unsorted_segment_sum(f64([1.0]), f64([0.0]), 1), TypeError, ("integers", "Float64")),
    "range": (lambda: ops.tensor_scatter_mul(f64([1.0]), i32([[1]]), f64([1.0])), IndexError, ("mul", "index 1")),
    "divisor": (lambda: ops.tensor_scatter_div(i32([1]), i32([[0]]), f64([1.0])), TypeError, ("div", "Int32", "float")),
    "dividend": (
        lambda: ops.tensor_scatter_div(Tensor([True]), i32([[0]]), Tensor([True])),
        TypeError,
        ("div", "Bool"),
    ),
    "zero": (lambda: ops.TensorScatterDiv()(i32([1]), i32([[0]]), i32([0])), ZeroDivisionError, ("ScatterDiv", "0")),
    "least": (
        lambda: ops.tensor_scatter_div(i32([-(2**31)]), i32([[0]]), i32([-1])),
        OverflowError,
        ("scatter_div", "-1"),
    ),
    "updates": (lambda: ops.tensor_scatter_max(f64([1.0]), i32([[0]]), f64([1.0, 2.0])), ValueError, ("max", "(2,)")),
    "fill": (lambda: ops.index_fill(f64([1.0]), 0, i32([1]), 1.0), IndexError, ("index_fill", "index 1")),
    "filling": (lambda: ops.index_fill(f64([1.0]), 0, i32([0]), f64([1.0])), ValueError, ("index_fill", "(1,)")),
    "mask": (lambda: ops.masked_select(f64([1.0]), i32([1])), TypeError, ("masked_select", "Int32", "Bool")),
    "masked": (lambda: ops.masked_select(f64([1.0, 2.0]), Tensor([True] * 3)), ValueError, ("(2,)", "(3,)")),
    "number": (lambda: ops.nonzero(f64(1.0)), ValueError, ("nonzero", "axis")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, words = ERRORS[name]
    assert_raises(kind, call, *words)
