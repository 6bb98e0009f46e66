"""Sorting, medians, places in sequences, functions given by samples: values beside NumPy's, ties and errors."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, i32

import dualgrad as dg
from dualgrad import Tensor, ops

TIED = np.random.default_rng(0).integers(0, 4, (3, 5, 4)).astype(float)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting_is_stable_both_ways(axis):
    values, places = ops.sort(Tensor(TIED), axis)
    assert_close(values, np.sort(TIED, axis))
    assert places.tolist() == np.argsort(TIED, axis, kind="stable").tolist()
    values, places = Tensor(TIED).sort(axis, descending=True)
    assert_close(values, -np.sort(-TIED, axis))
    assert places.tolist() == np.argsort(-TIED, axis, kind="stable").tolist()
    assert ops.argsort(Tensor(TIED), axis, True).tolist() == places.tolist()
    for largest in (True, False):
        best, where = ops.topk(Tensor(TIED), 2, axis, largest)
        ordered = np.argsort(-TIED if largest else TIED, axis, kind="stable").take([0, 1], axis)
        assert where.tolist() == ordered.tolist()
        assert_close(best, np.take_along_axis(TIED, ordered, axis))


def test_nan_is_the_largest_of_all():
    x = f64([2.0, np.nan, 1.0, np.inf])
    assert ops.argsort(x).tolist() == [2, 0, 3, 1]
    assert ops.argsort(x, descending=True).tolist() == [1, 3, 0, 2]
    assert ops.topk(x, 1)[1].tolist() == [1]
    assert ops.median(x)[1].tolist() == 1


def test_classes_give_int32_positions():
    x = f32([2.0, 3.0, 1.0])
    assert_close(ops.Sort()(x), (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1])))
    assert ops.Sort()(x)[1].dtype == ops.TopK()(x, 2)[1].dtype == dg.int32
    assert ops.sort(x)[1].dtype == ops.topk(x, 2)[1].dtype == dg.int64
    assert ops.sort(i32([2, 1]))[0].dtype == dg.int32


def test_medians():
    assert_close(ops.median(f64([4.0, 1.0, 3.0, 2.0])), (2.0, np.array(3)))
    assert_close(ops.median(f64([1.0, 2.0, 2.0, 2.0, 3.0])), (2.0, np.array(2)))
    assert_close(f64([[4.0, 1.0], [3.0, 2.0]]).median(), (np.array([1.0, 2.0]), np.array([1, 1])))
    assert_close(ops.median(Tensor(TIED), dim=0, keepdim=True)[0], np.median(TIED, 0, keepdims=True))
    assert_close(ops.median(Tensor(TIED), None, True)[0], np.sort(TIED.ravel())[29].reshape(1, 1, 1))
    x = np.array([[3.0, 1.0, 2.0, 7.0], [5.0, np.nan, 1.0, 0.0]])
    for axis in (None, 0, 1, (0, 1)):
        assert_close(np.median(Tensor(x), axis), np.median(x, axis))
    assert_close(dg.grad(np.median)(Tensor(x[0])), [0.5, 0.0, 0.5, 0.0])


def test_slopes_go_to_where_values_came_from():
    x, weights = f64([3.0, 1.0, 3.0, 2.0]), f64([1.0, 10.0, 100.0, 1000.0])
    for f, expected in [
        (lambda x: ops.sum(ops.sort(x)[0] * weights), [100.0, 1.0, 1000.0, 10.0]),
        (lambda x: ops.sum(ops.sort(x, descending=True)[0] * weights), [1.0, 1000.0, 10.0, 100.0]),
        (lambda x: ops.topk(x, 1)[0], [1.0, 0.0, 0.0, 0.0]),
        (lambda x: ops.median(x)[0], [0.0, 0.0, 0.0, 1.0]),
    ]:
        assert_close(dg.grad(f)(x), expected)
    hessian = [dg.jvp(dg.grad(lambda x: ops.sum(ops.sort(x)[0] ** 3)), x, Tensor(e))[1] for e in np.eye(4)]
    assert_close(ops.stack(hessian), np.diag([18.0, 6.0, 18.0, 12.0]))


def test_places_in_sequences():
    sequence = np.sort(np.random.default_rng(1).integers(0, 5, 9)).astype(float)
    for values in (np.arange(-1.0, 7.0, 0.5).reshape(4, 4), np.array(2.0), np.array([np.nan, np.inf, -np.inf])):
        for side in ("left", "right"):
            expected = np.searchsorted(sequence, values, side)
            assert ops.searchsorted(Tensor(sequence), Tensor(values), side=side).tolist() == expected.tolist()
    shuffled = Tensor(np.random.default_rng(2).permutation(sequence))
    found = shuffled.searchsorted(f64([1.0, 3.5]), sorter=ops.argsort(shuffled))
    assert found.tolist() == np.searchsorted(sequence, [1.0, 3.5]).tolist()
    rows = ops.searchsorted(f64([[1.0, 2.0, 3.0], [1.0, 5.0, 8.0]]), f64([[2.0, 2.5], [0.0, 9.0]]), right=True)
    assert rows.tolist() == [[2, 2], [0, 3]]
    assert ops.searchsorted(f64([0.1, 0.2]), 0.1).tolist() == 0
    assert ops.searchsorted(i32([1, 2, 3]), 2.5, out_int32=True).dtype == dg.int32


POINTS, VALUES = np.array([0.0, 1.0, 3.0, 3.5]), np.array([1.0, 2.0, -1.0, 5.0])
QUERY = np.array([[-1.0, 0.0, 0.5], [1.0, 2.2, 3.0], [3.5, 4.0, np.nan]])


@pytest.mark.parametrize("settings", [{}, {"left": 9.0, "right": -9.0}, {"period": 4.5}, {"period": -4.5}], ids=str)
def test_interpolation(settings):
    expected = np.interp(QUERY, POINTS, VALUES, **settings)
    assert_close(ops.interp(Tensor(QUERY), POINTS, VALUES, **settings), expected, scale=1.0)
    assert_close(ops.interp(Tensor(QUERY), POINTS[::-1], VALUES[::-1], **settings), expected, scale=1.0)
    assert_close(np.interp(Tensor(QUERY), POINTS.tolist(), VALUES.tolist(), **settings), expected, scale=1.0)


def test_interpolation_passes_through_its_points_exactly():
    x, y = np.random.default_rng(0).standard_normal((2, 50))
    assert ops.interp(Tensor(x), x, y).tolist() == y.tolist()
    step = ops.interp(f64([0.5, 1.0, 1.5, 2.0]), f64([0.0, 1.0, 1.0, 2.0, 2.0]), f64([0.0, 0.0, 4.0, 4.0, 6.0]))
    assert_close(step, [0.0, 4.0, 4.0, 6.0])
    assert_close(ops.interp(f64([0.0, 2.0]), f64([1.0]), f64([7.0]), left=3.0), [3.0, 7.0])


def test_slopes_of_interpolation():
    slope = dg.grad(lambda x: ops.interp(x, POINTS, VALUES))
    assert_close(slope(Tensor(QUERY[:2])), [[0.0, 1.0, 1.0], [-1.5, -1.5, 12.0]])
    assert_close(slope(f64([3.5, 9.0])), [12.0, 0.0])
    outside = dg.grad(lambda p, v: ops.interp(f64([-1.0, 9.0]), p, v), (0, 1))(Tensor(POINTS), Tensor(VALUES))
    assert_close(outside, (np.zeros(4), np.array([1.0, 0.0, 0.0, 1.0])))


def test_differences_and_integrals():
    x = np.random.default_rng(3).standard_normal((3, 5))
    for n in range(4):
        for axis in (0, 1):
            assert_close(ops.diff(Tensor(x), n, axis), np.diff(x, n, axis), scale=1.0)
    assert ops.diff(Tensor(x), 2**62).shape == (3, 0)
    ends = {"prepend": x[:, :2], "append": 0.0}
    assert_close(Tensor(x).diff(2, **ends), np.diff(x, 2, **ends), scale=1.0)
    assert ops.diff(Tensor([True, False, False])).tolist() == [True, False]
    for axis, points in ((0, x[:, 0]), (1, x[0]), (1, x)):
        assert_close(ops.trapz(Tensor(x), Tensor(points), dim=axis), np.trapezoid(x, points, axis=axis), scale=1.0)
    assert_close(ops.trapezoid(Tensor(x), dx=0.5, axis=0), np.trapezoid(x, dx=0.5, axis=0), scale=1.0)
    assert_close(ops.trapz(f64([[3.0]])), [0.0])


ERRORS = {
    "axis": (lambda: ops.sort(f64([1.0]), 1), ValueError, ("sort", "axis 1")),
    "list": (lambda: ops.sort([1.0]), TypeError, ("sort", "list")),
    "too many": (lambda: ops.topk(f64([1.0, 2.0]), 3), ValueError, ("topk", "k is 3", "2 elements")),
    "half": (lambda: ops.topk(f64([1.0, 2.0]), 1.5), TypeError, ("topk", "int", "float")),
    "keyword": (lambda: ops.topk(f64([1.0]), 1, dims=0), TypeError, ("topk", "dims")),
    "nothing": (lambda: ops.median(f64([])), ValueError, ("median", "no elements")),
    "side": (lambda: ops.searchsorted(f64([1.0]), 1.0, side="up"), ValueError, ("searchsorted", "'up'", "left")),
    "contradiction": (lambda: ops.searchsorted(f64([1.0]), 1.0, side="left", right=True), ValueError, ("right",)),
    "rows": (lambda: ops.searchsorted(f64([[1.0]]), f64([[1.0], [2.0]])), ValueError, ("(1, 1)", "(2, 1)")),
    "a number": (lambda: ops.searchsorted(f64(1.0), 1.0), ValueError, ("searchsorted", "axis")),
    "text": (lambda: ops.searchsorted(f64([1.0]), "a"), TypeError, ("searchsorted", "str")),
    "order": (lambda: ops.diff(f64([1.0]), -1), ValueError, ("diff", "-1")),
    "points": (lambda: ops.trapz(f64([1.0, 2.0]), f64([1.0])), ValueError, ("trapz", "(1,)", "(2,)")),
    "lengths": (lambda: ops.interp(0.0, f64([1.0]), f64([1.0, 2.0])), ValueError, ("interp", "(1,)", "(2,)")),
    "period": (lambda: ops.interp(0.0, f64([1.0]), f64([1.0]), period=0), ValueError, ("interp", "period")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, words = ERRORS[name]
    assert_raises(kind, call, *words)
