"""The text of tensors, character by character.

The expected texts are written out. Where a text is long, it is put together from its columns: `column` writes
the column of one float by hand, without the formatting that is under test.
"""

import re

import numpy as np
import pytest

import dualgrad as dg
from dualgrad._format import format_repr, format_str
from dualgrad.dtype import all_types


def value(array, dtype_name="Float32"):
    """What stands after ``value=`` in the text of `array`."""
    text = format_repr(array, dtype_name)
    start = f"Tensor(shape={list(array.shape)}, dtype={dtype_name}, value="
    assert text.startswith(start)
    assert text.endswith(")")
    return text[len(start) : -1]


def floats(*values):
    return np.array(values, np.float32)


def column(n):
    """The 15 characters of a float that is a whole number below 100."""
    return f" {n}.00000000e+00" if n < 10 else f" {n // 10}.{n % 10}0000000e+01"


# ------------------------------------------------------------ str


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (floats(6), "[6.]"),
        (floats(-0.0, 18), "[-0. 18.]"),
        (np.array([[1, 2, 3], [4, 5, 6]], np.float32), "[[1. 2. 3.]\n [4. 5. 6.]]"),
        (np.array([True, False]), "[ True False]"),
        (np.array([1, -2]), "[ 1 -2]"),
        (np.array([1 + 2j]), "[1.+2.j]"),
        (np.array([1.5, np.nan, -np.inf]), "[ 1.5  nan -inf]"),
        (np.array(1.5, np.float32), "1.5"),
        (np.array(100.0, np.float32), "100.0"),
        (np.array(1 / 3, np.float32), "0.33333334"),
        (np.array(1 / 3), "0.3333333333333333"),
        (np.array(7), "7"),
        (np.array(True), "True"),
        (np.zeros(0), "[]"),
        (np.zeros((2, 0)), "[]"),
        (np.arange(1001.0), "[   0.    1.    2. ...  998.  999. 1000.]"),
    ],
)
def test_str_is_numpys_text(array, text):
    assert format_str(array) == text


def test_str_is_shortened_only_beyond_1000_elements():
    assert "..." not in format_str(np.arange(1000))
    assert "..." in format_str(np.arange(1001))


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"threshold": 2, "edgeitems": 1},
        {"linewidth": 20},
        {"suppress": True},
        {"nanstr": "missing", "infstr": "endless"},
        {"sign": "+"},
        {"floatmode": "fixed"},
        {"formatter": {"all": lambda x: "x"}},
        {"legacy": "1.13"},
        {"legacy": "1.25"},
    ],
    ids=lambda options: "-".join(options),
)
@pytest.mark.parametrize(
    "array",
    [
        np.array([1.0, -2.0 / 3.0, np.nan, np.inf, 1e-7]),
        np.arange(30.0).reshape(3, 10),
        np.array(2.0 / 3.0),
        np.float32([1.0, 2.0, 3.0]),
        np.arange(1001.0),
    ],
    ids=["vector", "matrix", "scalar", "float32", "large"],
)
def test_neither_text_depends_on_the_users_print_options(options, array):
    expected = format_str(array), format_repr(array, "Float64")
    with np.printoptions(**options):
        assert (format_str(array), format_repr(array, "Float64")) == expected
        # what the user has set is in force again afterwards
        current = np.get_printoptions()
        assert {key: current[key] for key in options} == options


# ------------------------------------------------------------ repr: the frame


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(1.5, np.float32), "Tensor(shape=[], dtype=Float32, value= 1.5)"),
        (floats(1, 2), "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])"),
        (
            np.array([[1, 2, 3], [4, 5, 6]], np.float32),
            "Tensor(shape=[2, 3], dtype=Float32, value=\n"
            "[[ 1.00000000e+00,  2.00000000e+00,  3.00000000e+00],\n"
            " [ 4.00000000e+00,  5.00000000e+00,  6.00000000e+00]])",
        ),
        (np.zeros(0, np.float32), "Tensor(shape=[0], dtype=Float32, value= )"),
        (np.zeros((2, 0), np.float32), "Tensor(shape=[2, 0], dtype=Float32, value=\n)"),
        (np.zeros((0, 2, 9), np.float32), "Tensor(shape=[0, 2, 9], dtype=Float32, value=\n)"),
        (floats(21.5359993), "Tensor(shape=[1], dtype=Float32, value= [ 2.15359993e+01])"),
    ],
)
def test_the_whole_text(array, text):
    assert format_repr(array, "Float32") == text


@pytest.mark.parametrize("dtype", all_types, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (2, 2), (0,), (1, 1, 7)])
def test_every_type_has_a_text(dtype, shape):
    text = format_repr(np.ones(shape, dtype.numpy), str(dtype))
    assert text.startswith(f"Tensor(shape={list(shape)}, dtype={dtype}, value={' ' if len(shape) < 2 else chr(10)}")
    assert text.count("(") == text.count(")")
    assert text.count("[") == text.count("]")


# ------------------------------------------------------------ repr: 0-d values


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        (np.float32(1.5), " 1.5"),
        (np.float32(3), " 3"),
        (np.float32(1 / 3), " 0.333333"),
        (np.float32(100), " 100"),
        (np.float32(1e6), " 1e+06"),
        (np.float32(123456), " 123456"),
        (np.float32(1e-5), " 1e-05"),
        (np.float32(-0.0), " -0"),
        (np.float32(np.nan), " nan"),
        (-np.float32(np.nan), " nan"),
        (np.float32(np.inf), " inf"),
        (np.float32(-np.inf), " -inf"),
        (np.float64(2 / 3), " 0.666667"),
        (np.float16(0.1), " 0.0999756"),
        (np.int64(3), " 3"),
        (np.int64(-1234567), " -1234567"),
        (np.uint64(2**64 - 1), " 18446744073709551615"),
        (np.bool_(True), " True"),
        (np.bool_(False), " False"),
        (np.complex64(1 + 2j), " 1+2j"),
        (np.complex128(0.5 - 1j / 3), " 0.5-0.333333j"),
    ],
)
def test_scalars(scalar, text):
    assert value(np.array(scalar)) == text


# ------------------------------------------------------------ repr: the columns


@pytest.mark.parametrize("float_type", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("x", "text"),
    [
        (1, " 1.00000000e+00"),
        (-1, "-1.00000000e+00"),
        (0.0, " 0.00000000e+00"),
        (-0.0, "-0.00000000e+00"),
        (1e-30, " 1.00000000e-30"),
        (np.nan, "            nan"),
        (-np.nan, "            nan"),
        (np.inf, "            inf"),
        (-np.inf, "           -inf"),
    ],
)
def test_floats_stand_in_15_columns(float_type, x, text):
    assert len(text) == 15
    assert value(np.array([x, 2], float_type)) == f" [{text},  2.00000000e+00]"


def test_a_number_too_wide_for_its_column_is_not_cut():
    assert value(np.array([-1e100, 1e-300])) == " [-1.00000000e+100, 1.00000000e-300]"


def test_float64_has_nine_digits_too():
    assert value(np.array([np.pi])) == " [ 3.14159265e+00]"


@pytest.mark.parametrize(
    ("x", "text"),
    [(1, " 1.0000e+00"), (-0.1, "-9.9976e-02"), (np.nan, "        nan"), (-np.inf, "       -inf")],
)
def test_float16_stands_in_11_columns(x, text):
    assert len(text) == 11
    assert value(np.array([x, 2], np.float16), "Float16") == f" [{text},  2.0000e+00]"


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1, -2]), " [ 1, -2]"),
        (np.array([[1, 20], [3, 4]]), "\n[[ 1, 20],\n [ 3,  4]]"),
        (np.array([5]), " [5]"),
        (np.array([-100, 1000, 0], np.int16), " [-100, 1000,    0]"),
        (np.array([-1000, 100, 0], np.int16), " [-1000,   100,     0]"),
        (np.array([0, 255], np.uint8), " [  0, 255]"),
        (np.array([-(2**63), 1]), " [-9223372036854775808,                    1]"),
        (np.array([2**64 - 1, 1], np.uint64), " [18446744073709551615,                    1]"),
    ],
)
def test_integers_stand_in_the_width_of_the_widest(array, text):
    assert value(array) == text


def test_only_integers_that_are_shown_count_for_the_width():
    row = np.arange(9)
    row[4] = 1_000_000
    assert value(np.array([row])) == "\n[[0, 1, 2 ... 6, 7, 8]]"


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([True, False]), " [ True, False]"),
        (np.array([True]), " [ True]"),
        (np.array([[False, True], [True, True]]), "\n[[False,  True],\n [ True,  True]]"),
    ],
)
def test_bools_stand_in_5_columns(array, text):
    assert value(array) == text


@pytest.mark.parametrize("complex_type", [np.complex64, np.complex128])
def test_complex_numbers_stand_plain(complex_type):
    assert value(np.array([1 + 2j, 3 - 1j], complex_type)) == " [1+2j, 3-1j]"
    assert value(np.array([[0j, 100 + 0.25j]], complex_type)) == "\n[[0+0j, 100+0.25j]]"
    assert value(np.array([complex(np.nan, -np.inf), 1e-7 + 0j], complex_type)) == " [nan-infj, 1e-07+0j]"


# ------------------------------------------------------------ repr: the rows


def test_blocks_follow_each_other_without_blank_lines():
    assert value(np.arange(8).reshape(2, 2, 2)) == "\n[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]"


def test_four_dimensions():
    expected = """
[[[[0],
   [1]],
  [[2],
   [3]]],
 [[[4],
   [5]],
  [[6],
   [7]]]]"""
    assert value(np.arange(8).reshape(2, 2, 2, 1)) == expected


def test_strides_and_byte_order_do_not_show():
    array = np.arange(12.0).reshape(3, 4)
    expected = format_repr(array.T.copy(), "Float64")
    assert format_repr(array.T, "Float64") == expected
    assert format_repr(array.T.astype(">f8"), "Float64") == expected
    assert format_repr(array[::-1, ::-1].T[::-1, ::-1], "Float64") == expected


# ------------------------------------------------------------ repr: shortening


def test_vectors_are_shortened_beyond_1000_elements():
    assert value(np.arange(1001, dtype=np.float32)) == (
        " [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  9.98000000e+02,  9.99000000e+02,  1.00000000e+03]"
    )
    assert value(np.arange(1001)) == " [   0,    1,    2 ...  998,  999, 1000]"
    assert value(np.arange(1001) > 2) == " [False, False, False ...  True,  True,  True]"
    assert value(np.full(1001, 2j)) == " [0+2j, 0+2j, 0+2j ... 0+2j, 0+2j, 0+2j]"


def test_vectors_of_1000_elements_are_not():
    text = value(np.arange(1000))
    assert "..." not in text
    assert text.count(",") == 999


@pytest.mark.parametrize("length", [1008, 1200])
def test_a_shortened_vector_does_not_wrap(length):
    for array in (np.zeros(length, np.float32), np.zeros(length, bool), np.zeros(length, int)):
        assert "\n" not in value(array)


def test_the_last_axis_is_shortened_beyond_6():
    assert value(np.arange(6).reshape(1, 6)) == "\n[[0, 1, 2, 3, 4, 5]]"
    assert value(np.arange(7).reshape(1, 7)) == "\n[[0, 1, 2 ... 4, 5, 6]]"
    assert value(np.arange(7, dtype=np.float32).reshape(1, 7)) == (
        f"\n[[{column(0)}, {column(1)}, {column(2)} ... {column(4)}, {column(5)}, {column(6)}]]"
    )


def test_other_axes_are_shortened_beyond_6_on_a_line_of_their_own():
    assert value(np.arange(6).reshape(6, 1)) == "\n[[0],\n [1],\n [2],\n [3],\n [4],\n [5]]"
    assert value(np.arange(7).reshape(7, 1)) == "\n[[0],\n [1],\n [2],\n ...\n [4],\n [5],\n [6]]"


def test_both_axes_are_shortened():
    expected = """
[[ 0,  1,  2 ...  5,  6,  7],
 [ 8,  9, 10 ... 13, 14, 15],
 [16, 17, 18 ... 21, 22, 23],
 ...
 [40, 41, 42 ... 45, 46, 47],
 [48, 49, 50 ... 53, 54, 55],
 [56, 57, 58 ... 61, 62, 63]]"""
    assert value(np.arange(64).reshape(8, 8)) == expected


def test_a_middle_axis_is_shortened_with_the_indent_of_its_rows():
    expected = """
[[[ 0],
  [ 1],
  [ 2],
  ...
  [ 4],
  [ 5],
  [ 6]],
 [[ 7],
  [ 8],
  [ 9],
  ...
  [11],
  [12],
  [13]]]"""
    assert value(np.arange(14).reshape(2, 7, 1)) == expected


def test_the_first_of_three_axes_is_shortened_between_blocks():
    expected = """
[[[ 0,  1],
  [ 2,  3]],
 [[ 4,  5],
  [ 6,  7]],
 [[ 8,  9],
  [10, 11]],
 ...
 [[16, 17],
  [18, 19]],
 [[20, 21],
  [22, 23]],
 [[24, 25],
  [26, 27]]]"""
    assert value(np.arange(28).reshape(7, 2, 2)) == expected


def test_a_large_array_costs_what_is_shown():
    # 10**15 elements that share one number in memory: touching them all would take days
    huge = np.broadcast_to(np.float32(1), (10**5, 10**5, 10**5))
    assert value(huge).count("1.00000000e+00") == 6**3
    vector = np.broadcast_to(np.int64(1), (10**15,))
    assert value(vector) == " [1, 1, 1 ... 1, 1, 1]"


# ------------------------------------------------------------ repr: wrapping


@pytest.mark.parametrize("length", [1, 11])
def test_short_rows_do_not_wrap(length):
    assert value(np.arange(length, dtype=np.float32)) == f" [{', '.join(map(column, range(length)))}]"


def test_floats_wrap_after_12():
    first = ", ".join(map(column, range(12)))
    second = ", ".join(map(column, range(12, 24)))
    assert value(np.arange(13, dtype=np.float32)) == f" [{first}, \n {column(12)}]"
    assert value(np.arange(25, dtype=np.float32)) == f" [{first}, \n {second}, \n {column(24)}]"


def test_a_full_last_line_of_floats_is_followed_by_a_line_break():
    first = ", ".join(map(column, range(12)))
    second = ", ".join(map(column, range(12, 24)))
    assert value(np.arange(12, dtype=np.float32)) == f" [{first}\n ]"
    assert value(np.arange(24, dtype=np.float32)) == f" [{first}, \n {second}\n ]"


@pytest.mark.parametrize("float_type", [np.float16, np.float32, np.float64])
def test_every_float_type_wraps_after_12(float_type):
    lines = value(np.ones(30, float_type)).split("\n")
    assert [line.count("e+00") for line in lines] == [12, 12, 6]


def test_bools_wrap_after_12():
    line = ", ".join([" True"] * 12)
    assert value(np.ones(14, bool)) == f" [{line}, \n  True,  True]"
    assert value(np.ones(12, bool)) == f" [{line}\n ]"


def test_integers_wrap_after_24():
    first = ", ".join(f"{i:2d}" for i in range(24))
    second = ", ".join(f"{i:2d}" for i in range(24, 48))
    assert value(np.arange(23)) == f" [{', '.join(f'{i:2d}' for i in range(23))}]"
    assert value(np.arange(24)) == f" [{first}\n ]"
    assert value(np.arange(25)) == f" [{first}, \n 24]"
    assert value(np.arange(48)) == f" [{first}, \n {second}\n ]"


def test_complex_numbers_wrap_after_24():
    line = ", ".join(["0+1j"] * 24)
    assert value(np.full(25, 1j)) == f" [{line}, \n 0+1j]"
    assert value(np.full(24, 1j)) == f" [{line}\n ]"


def test_a_vector_of_1000_floats_wraps_to_its_end():
    lines = value(np.ones(1000, np.float32)).split("\n")
    assert len(lines) == 84
    assert lines[-1] == f" {', '.join([column(1)] * 4)}]"


def test_rows_of_matrices_never_wrap():
    assert value(np.zeros((1, 24), int)) == "\n[[0, 0, 0 ... 0, 0, 0]]"


# ------------------------------------------------------------ through the tensors


@pytest.mark.parametrize(
    "array",
    [np.float32(0.1), np.arange(13.0), np.arange(24).reshape(4, 6) - 9, np.zeros((2, 0), np.float16)],
    ids=["scalar", "vector", "matrix", "empty"],
)
def test_tensors_show_these_texts(array):
    tensor = dg.Tensor(array)
    assert str(tensor) == f"{tensor}" == format_str(np.asarray(array))
    assert repr(tensor) == format_repr(np.asarray(array), str(tensor.dtype))


def test_tensors_in_tuples_show_their_repr():
    x = dg.Tensor([1.0], dg.float32)
    one = "Tensor(shape=[1], dtype=Float32, value= [ 1.00000000e+00])"
    assert str((x,)) == f"({one},)"
    assert str((x, x)) == f"({one}, {one})"
    assert str({"x": [x]}) == f"{{'x': [{one}]}}"


def test_the_text_reads_back():
    array = np.array([[1.5, -2.25e-8], [3e30, 0.0]], np.float32)
    numbers = [float(x) for x in re.findall(r"-?\d\.\d{8}e[+-]\d\d", value(array))]
    np.testing.assert_array_equal(np.array(numbers, np.float32).reshape(2, 2), array)
