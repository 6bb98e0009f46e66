"""Several diagonals at once, against the diagonals of NumPy, one by one."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import ops

SIZES = [(3, 3), (2, 4), (4, 2), (1, 3)]
ALIGNS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def ranges(rows, columns):
    return itertools.combinations_with_replacement(range(1 - rows, columns), 2)


def band_of(matrix, low, high, align, padding):
    """The rows of a band: each diagonal of NumPy, padded on one side to the length of the longest."""
    upper, lower = align.split("_")
    diagonals = [np.diagonal(matrix, d) for d in range(high, low - 1, -1)]
    length = max(map(len, diagonals))
    rows = []
    for d, diagonal in zip(range(high, low - 1, -1), diagonals, strict=True):
        space = length - len(diagonal)
        left = (d >= 0 and upper == "LEFT") or (d <= 0 and lower == "LEFT")
        rows.append(np.pad(diagonal, (0, space) if left else (space, 0), constant_values=padding))
    return np.array(rows if low < high else rows[0])


@pytest.mark.parametrize("align", ALIGNS)
def test_the_parts_are_the_diagonals(align):
    for size in SIZES:
        x = np.random.default_rng(3).normal(size=(2, *size))
        for low, high in ranges(*size):
            found = ops.matrix_diag_part(f64(x), (low, high), -5.0, align)
            assert_close(found, np.stack([band_of(m, low, high, align, -5.0) for m in x]))


@pytest.mark.parametrize("align", ALIGNS)
def test_what_is_set_is_read_back_and_the_rest_stays(align):
    for size in SIZES:
        x, y = np.random.default_rng(4).normal(size=(2, *size))
        distance = np.arange(size[1]) - np.arange(size[0])[:, None]
        for low, high in ranges(*size):
            inside = (distance >= low) & (distance <= high)
            band = ops.matrix_diag_part(f64(y), (low, high), 0.0, align)
            assert_close(ops.matrix_set_diag(f64(x), band, (low, high), align), np.where(inside, y, x))
            made = ops.matrix_diag(band, (low, high), *size, 7.0, align)
            assert_close(made, np.where(inside, y, 7.0))


def test_the_smallest_matrices_are_made_where_no_shape_is_given():
    assert ops.matrix_diag(f64([1.0, 2.0]), 1).shape == (3, 3)
    assert ops.matrix_diag(f64([1.0, 2.0]), -1, -1, 2).shape == (3, 2)
    assert ops.matrix_diag(f64([1.0, 2.0]), 1, 2).shape == (2, 3)


@pytest.mark.usefixtures("mode")
def test_slopes_by_diagonals_and_matrices():
    """The functions are linear: a slope is the transposed map, which the other function gives."""
    x, band = f64(np.arange(12.0).reshape(3, 4)), f64(np.ones((3, 3)))
    weights = f64(np.random.default_rng(5).normal(size=(3, 4)))
    along = dg.grad(lambda b: (weights * ops.matrix_set_diag(x, b, (-1, 1))).sum())(band)
    assert_close(along, band_of(weights.asnumpy(), -1, 1, "RIGHT_LEFT", 0.0))
    across = dg.grad(lambda x: (weights * ops.matrix_set_diag(x, band, (-1, 1))).sum())(x)
    assert_close(across, (weights - ops.matrix_diag(along, (-1, 1), 3, 4)).asnumpy())


def test_what_does_not_fit_is_refused():
    x = f64(np.ones((2, 3)))
    assert_raises(ValueError, lambda: ops.matrix_diag_part(x, 3), "expected -1 to 2")
    assert_raises(ValueError, lambda: ops.matrix_diag_part(x, (1, 0)), "the lower diagonal first")
    assert_raises(TypeError, lambda: ops.matrix_diag_part(x, 0.5), "expected an int")
    assert_raises(ValueError, lambda: ops.matrix_set_diag(x, f64([1.0]), 0), "expected (2,)")
    assert_raises(ValueError, lambda: ops.matrix_diag(f64([1.0, 2.0]), 0, 4, 4), "expected (4,)")
    assert_raises(ValueError, lambda: ops.matrix_diag_part(x, 0, 0.0, "LEFT"), "expected one of RIGHT_LEFT")
