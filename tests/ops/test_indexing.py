"""Reading with an index, to any order of derivatives, and writing into a tensor made inside a function."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import assert_close, assert_raises, f64, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, ops

DATA = np.random.default_rng(7).normal(size=(3, 4, 5))
in_both_modes = pytest.mark.usefixtures("mode")

READS = {
    "int": 1,
    "negative int": -1,
    "numpy int": np.int64(2),
    "ints": (2, 0, 3),
    "slice": slice(1, None),
    "step": (slice(None), slice(0, 4, 2)),
    "negative step": (slice(None, None, -1), slice(3, 0, -2)),
    "empty slice": slice(2, 2),
    "ellipsis": (..., 2),
    "ellipsis in the middle": (0, ..., slice(1, 3)),
    "none": (None, 1, None, ..., None),
    "list": [2, 0, 0],
    "list and slice": (slice(None), [1, 1, 3], slice(0, 2)),
    "two lists": ([0, 1, 1], [3, 0, 0]),
    "lists apart": ([0, 2], slice(None), [4, 1]),
    "array": (np.array([[0, 1], [2, 2]]), 1),
    "negative entries": (slice(None), np.array([-1, -4])),
    "mask": DATA > 0.3,
    "mask of rows": np.array([True, False, True]),
    "mask and slice": (np.array([True, False, True]), slice(1, 3)),
    "bool list": [False, True, True],
    "nothing": (),
}


def as_tensors(index):
    """The same index with int and bool tensors in place of arrays and lists."""
    if isinstance(index, tuple):
        return tuple(as_tensors(part) for part in index)
    return Tensor(np.asarray(index)) if isinstance(index, list | np.ndarray) else index


def scattered(index, values):
    """The transpose of reading: add the values where they were read."""
    total = np.zeros_like(DATA)
    np.add.at(total, index, values)
    return total


@in_both_modes
@pytest.mark.parametrize("wrap", [lambda index: index, as_tensors], ids=["plain", "tensors"])
@pytest.mark.parametrize("index", READS.values(), ids=READS)
def test_reading_and_its_derivatives(index, wrap):
    index_used, expected = wrap(index), DATA[index]
    scale = 1.0 + np.arange(expected.size).reshape(expected.shape)
    assert_close(f64(DATA)[index_used], expected)
    first = dg.grad(lambda x: x[index_used] ** 3 * scale)
    assert_close(first(f64(DATA)), scattered(index, 3 * expected**2 * scale))
    second = dg.grad(dg.grad(lambda x: (x[index_used] * scale).sum() ** 2))
    counts = scattered(index, scale)
    assert_close(second(f64(DATA)), 2 * counts * counts.sum(), rtol=1e-11)


@in_both_modes
def test_chained_reads():
    def f(x):
        return x[1][2, 1:][-1] ** 2 + x[..., 0][0][1]

    expected = np.zeros_like(DATA)
    expected[1, 2, 4] = 2 * DATA[1, 2, 4]
    expected[0, 1, 0] = 1.0
    assert_close(dg.grad(f)(f64(DATA)), expected)


@in_both_modes
def test_an_index_that_is_computed():
    def f(x):
        return x[ops.argmax(x)] ** 2

    assert_close(dg.grad(f)(f64([1.0, 5.0, 2.0])), [0.0, 10.0, 0.0])
    assert_close(dg.grad(f)(f64([7.0, 5.0, 2.0])), [14.0, 0.0, 0.0])


@given(hnp.basic_indices(DATA.shape, allow_newaxis=True, allow_ellipsis=True))
def test_any_basic_index(index):
    expected = DATA[index]
    assert_close(f64(DATA)[index], expected)
    found = dg.grad(lambda x: x[index] * 2.0)(f64(DATA))
    assert_close(found, scattered(index, np.full(expected.shape, 2.0)))


@given(
    hnp.integer_array_indices(DATA.shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4)),
    st.booleans(),
)
def test_any_integer_index(index, tensors):
    used = as_tensors(index) if tensors else index
    assert_close(f64(DATA)[used], DATA[index])
    found = dg.grad(lambda x: x[used] ** 2)(f64(DATA))
    assert_close(found, scattered(index, 2 * DATA[index]))


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, 0, 0, 0), (slice(None), [0, 9]), np.ones((2, 4), bool)], ids=str)
def test_an_index_out_of_range(index):
    with pytest.raises(IndexError, match=r"3, 4, 5"):
        f64(DATA)[index]


@pytest.mark.parametrize("index", ["a", 1.5, (0, 2.0), object()], ids=["str", "float", "float inside", "object"])
def test_an_index_of_a_wrong_kind(index):
    with pytest.raises((IndexError, TypeError), match=r"(?i)index|indices"):
        f64(DATA)[index]


# ---------------------------------------------------------------------------------------------------- writing

WRITES = {
    "int": 1,
    "last": -1,
    "slice": slice(1, 3),
    "step": slice(None, None, 2),
    "negative step": slice(None, None, -1),
    "list": [0, 3],
    "mask": np.array([True, False, True, False]),
    "everything": ...,
}


@in_both_modes
@pytest.mark.parametrize("index", WRITES.values(), ids=WRITES)
def test_written_places_pass_the_gradient_to_the_value(index):
    x, y = np.array([1.5, -2.0, 3.0, 0.5]), np.array([2.0, 5.0, -1.0, 4.0])

    def f(x, y):
        t = x * x
        t[index] = y[index] ** 3
        return t * t

    written = np.zeros(4, bool)
    written[index] = True
    expected = (np.where(written, 0.0, 4 * x**3), np.where(written, 6 * y**5, 0.0))
    assert_close(dg.grad(f, (0, 1))(f64(x), f64(y)), expected)
    second = (np.where(written, 0.0, 12 * x**2), np.where(written, 30 * y**4, 0.0))
    assert_close(dg.grad(dg.grad(f, (0, 1)), (0, 1))(f64(x), f64(y)), second)


@in_both_modes
def test_writing_numbers_arrays_and_tensors():
    def f(x):
        t = ops.zeros((3, 2), dg.float64)
        t[0] = x
        t[1, :] = np.array([3.0, 4.0])
        t[2, 0] = x[1] * 2.0
        t[2, 1] = 5.0
        return t

    assert_close(f(f64([1.0, 2.0])), [[1.0, 2.0], [3.0, 4.0], [4.0, 5.0]])
    assert_close(dg.grad(lambda x: f(x) ** 2)(f64([1.0, 2.0])), [2.0, 4.0 + 16.0])


@in_both_modes
def test_a_broadcast_value_sums_its_gradient():
    def f(x):
        t = ops.ones((3, 2), dg.float64)
        t[1:] = x
        return t * f64([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    assert_close(dg.grad(f)(f64([7.0, 8.0])), [8.0, 10.0])
    assert_close(dg.grad(f)(f64([[7.0]])), [[18.0]])


@in_both_modes
def test_a_place_written_twice_keeps_the_last_value():
    def f(x):
        t = ops.zeros((2,), dg.float64)
        t[0] = x**2
        t[0] = x**3
        return t

    assert_close(dg.grad(f)(f64(2.0)), 12.0)


@in_both_modes
def test_augmented_writes_in_a_loop():
    def f(x):
        t = ops.zeros((4,), dg.float64)
        for k in range(4):
            t[k] = x**k
            t[k] += 1.0
        t[1:] *= 2.0
        return t

    x = f64(1.5)
    assert_close(f(x), [2.0, 5.0, 6.5, 8.75])
    for order, expected in (1, 2 + 4 * 1.5 + 6 * 1.5**2), (2, 4 + 12 * 1.5), (3, 12.0), (4, 0.0):
        assert_close(repeated_grad(f, order)(x), expected)


@in_both_modes
def test_what_was_computed_before_a_write_keeps_the_old_value():
    def f(x):
        t = x * 1.0
        before = t * t
        t[0] = 10.0
        return before + t

    assert_close(dg.value_and_grad(f)(f64([2.0, 3.0])), ([14.0, 12.0], [4.0, 7.0]))


@in_both_modes
def test_two_names_of_one_tensor_see_the_same_write():
    def f(x):
        t = x * 1.0
        other = t
        other[0] = x[1] ** 2
        return t

    assert_close(dg.value_and_grad(f)(f64([2.0, 3.0])), ([9.0, 3.0], [0.0, 7.0]))


def test_a_write_outside_of_gradients():
    x = f64([[1.0, 2.0], [3.0, 4.0]])
    x[0, 1] = 7.0
    x[1] = [8.0, 9.0]
    x[x > 8.5] = 0.0
    assert_close(x, [[1.0, 7.0], [8.0, 0.0]])
    integers = Tensor([1, 2, 3])
    integers[1:] = 5
    assert_close(integers, np.array([1, 5, 5]), dtype=dg.int64)


@pytest.mark.parametrize("value", [np.ones(3), [1.0, 2.0, 3.0], np.ones((2, 2))], ids=["array", "list", "rank"])
def test_a_value_that_does_not_fit(value):
    x = f64([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        x[:2] = value
    assert_close(x, [1.0, 2.0, 3.0, 4.0])


def test_a_differentiated_value_does_not_go_into_a_tensor_from_outside():
    outside = f64([1.0, 2.0])

    def f(x):
        outside[0] = x[0] * 2.0
        return outside * x

    with pytest.raises(RuntimeError, match=r"(?i)outside|inside|copy"):
        dg.grad(f)(f64([3.0, 4.0]))
    assert_close(outside, [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ windows

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def by_masks(begin, end, strides, masks):
    """The index that masks of `strided_slice` say."""
    for k, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        begin_free, end_free, *special = (mask >> k & 1 for mask in masks)
        kinds = [kind for kind, at in zip((..., None, first), special, strict=True) if at]
        yield kinds[0] if kinds else slice(None if begin_free else first, None if end_free else last, step)


@pytest.mark.parametrize("strides", [(1, 1), (2, -1)])
def test_every_mask_of_strided_slices(strides):
    x, begin, end = np.arange(60.0).reshape(3, 4, 5), (1, -1), (3, -4) if strides == (2, -1) else (3, 9)
    for masks in itertools.product(range(4), repeat=5):
        if masks[2] == 3:
            continue  # an index has one ellipsis
        expected = x[tuple(by_masks(begin, end, strides, masks))]
        for found in (
            ops.strided_slice(f64(x), begin, end, strides, *masks),
            ops.StridedSlice(**dict(zip(MASKS, masks, strict=True)))(f64(x), begin, end, strides),
        ):
            assert np.array_equal(found.asnumpy(), expected), masks


@pytest.mark.parametrize("n", [1, 2, 4])
def test_windows_have_a_number_for_each_axis(n):
    x = f64(np.ones((2, 2, 2)))
    assert_raises(ValueError, lambda: ops.slice(x, (0,) * n, (1,) * 3), "slice", "each axis")
    assert_raises(ValueError, lambda: ops.slice(x, (0,) * 3, (1,) * n), "slice", "each axis")
    for k in range(3):
        numbers = [(1,) * 3] * 3
        numbers[k] = (1,) * n
        assert_raises(ValueError, lambda numbers=numbers: ops.strided_slice(x, *numbers), "strided_slice", "equally")
    assert_raises(ValueError, lambda: ops.strided_slice(x, (0, 0), (1, 1), (1, 0)), "strided_slice", "step 0")


@pytest.mark.parametrize(("begin", "size"), [(-1, 1), (2, 2), (1, 3), (4, 0), (2, -2), (4, -1)])
def test_windows_stay_inside(begin, size):
    """A size of -1 is all that is left; nothing else counts from the end."""
    x = f64(np.arange(6.0).reshape(2, 3))
    assert_raises(ValueError, lambda: ops.slice(x, (0, begin), (2, size)), "slice", "leaves the shape")
    assert ops.slice(x, (0, 3), (2, -1)).shape == ops.slice(x, (0, 3), (2, 0)).shape == (2, 0)
    assert_close(ops.slice(x, (0, 1), (1, -1)), [[1.0, 2.0]])
