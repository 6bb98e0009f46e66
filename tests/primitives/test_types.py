"""The type of a result: creation, tensors of two types, Python numbers beside tensors, gradients."""

import contextlib
import itertools
import operator

import numpy as np
import pytest
from support import assert_close, f32, f64, i32

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")

# widest first
WIDTH = [dg.float64, dg.float32, dg.float16, dg.int64, dg.int32, dg.uint8, dg.bool_]
FLOATS, INTEGERS = WIDTH[:3], [dg.int64, dg.int32, dg.uint8, dg.int8]


# --------------------------------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (3, dg.int64),
        (3.0, dg.float32),
        (True, dg.bool_),
        (2 + 1j, dg.complex128),
        ([1, 2], dg.int64),
        ([1, 2.0], dg.float32),
        ([[True], [False]], dg.bool_),
        ((1.5, 2.5), dg.float32),
        ([1, 2j], dg.complex128),
        (np.float64(3.0), dg.float64),
        (np.float32(3.0), dg.float32),
        (np.int16(3), dg.int16),
        (np.bool_(True), dg.bool_),
    ],
    ids=repr,
)
def test_the_type_of_new_tensors(data, dtype):
    assert Tensor(data).dtype == dtype
    assert dg.tensor(data).dtype == dtype
    assert np.array_equal(Tensor(data).asnumpy(), np.asarray(data))


@pytest.mark.parametrize(
    "name",
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128".split(),
)
def test_arrays_keep_their_type(name):
    array = np.array([[1, 2], [3, 4]], name)
    assert Tensor(array).dtype == getattr(dg, name)
    assert Tensor(array).asnumpy().dtype == array.dtype


@pytest.mark.parametrize(
    ("data", "dtype"),
    [(1, dg.int32), (1.0, dg.float32), ([1.0], dg.float32), (np.array([6.0]), dg.float64)],
    ids=repr,
)
def test_the_type_of_new_parameters(data, dtype):
    assert Parameter(data, name="p").dtype == dtype


# ----------------------------------------------------------------------------------------- tensor with tensor


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(WIDTH, 2)), ids=str)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())], ids=str)
def test_the_wider_type_wins(first, second, shapes):
    wide, narrow = (ops.ones(shape, dtype) for shape, dtype in zip(shapes, (first, second), strict=True))
    for operation in operator.add, operator.sub, operator.mul, ops.maximum, ops.minimum:
        assert operation(wide, narrow).dtype == first
        assert operation(narrow, wide).dtype == first
    if second != dg.bool_:
        assert (wide**narrow).dtype == (narrow**wide).dtype == first


@pytest.mark.parametrize("dtype", WIDTH[:-1], ids=str)
def test_equal_types_stay(dtype):
    x = ops.ones((2,), dtype)
    for operation in operator.add, operator.sub, operator.mul, operator.pow, ops.maximum:
        assert operation(x, x).dtype == dtype


def test_signed_with_unsigned_bytes():
    a, b = Tensor([-100], dg.int8), Tensor([200], dg.uint8)
    assert_close(a + b, np.array([100]), dtype=dg.int16)
    assert_close(b * a, np.array([-20000]), dtype=dg.int16)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(WIDTH, 2)), ids=str)
def test_true_division_gives_floats(first, second):
    a, b = ops.ones((2,), first), ops.ones((), second)
    expected = first if first in FLOATS else dg.float32
    assert (a / b).dtype == (b / a).dtype == expected
    assert ops.div(a, b).dtype == expected


@pytest.mark.parametrize("dtype", [dg.int8, dg.int32, dg.int64], ids=str)
def test_floor_division_and_remainder_follow_pythons_signs(dtype):
    a, b = Tensor([7, -7, 7, -7], dtype), Tensor([2, 2, -2, -2], dtype)
    assert_close(a // b, np.array([3, -4, -4, 3]), dtype=dtype)
    assert_close(a % b, np.array([1, 1, -1, -1]), dtype=dtype)
    assert_close(a // 2, np.array([3, -4, 3, -4]), dtype=dtype)
    assert_close(a % -2, np.array([-1, -1, -1, -1]), dtype=dtype)
    assert_close(7 // b, np.array([3, 3, -4, -4]), dtype=dtype)


def test_floor_division_and_remainder_of_floats():
    a, b = f64([7.5, -7.5, 7.5, -7.5]), f64([2, 2, -2, -2])
    assert_close(a // b, [3.0, -4.0, -4.0, 3.0])
    assert_close(a % b, [1.5, 0.5, -0.5, -1.5])
    assert_close(a % 2, [1.5, 0.5, 1.5, 0.5])


@pytest.mark.parametrize(("first", "second"), list(itertools.product(WIDTH[:-1], repeat=2)), ids=str)
def test_comparisons_give_bool(first, second):
    a, b = Tensor([1, 2, 3], first), Tensor([2, 2, 2], second)
    for compare in operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne:
        expected = compare(np.array([1, 2, 3]), 2)
        assert_close(compare(a, b), expected, dtype=dg.bool_)
        assert_close(compare(a, 2), expected, dtype=dg.bool_)


# -------------------------------------------------------------------------------------- beside Python numbers


def expected_beside(dtype, number):
    """The type of a tensor of ``dtype`` with a Python number."""
    if dtype in FLOATS or (dtype in INTEGERS and not isinstance(number, float)):
        return dtype
    return dg.float32 if isinstance(number, float) else dg.int64


SCALARS = {
    int: [2, np.int64(2), np.uint8(2)],
    float: [2.0, np.float64(2), np.float32(2)],
    bool: [True, np.bool_(True)],
}
BESIDE = [
    pytest.param(dtype, scalar, expected_beside(dtype, kind(1)), id=f"{dtype} with {scalar!r}")
    for dtype in [*FLOATS, *INTEGERS, dg.bool_]
    for kind, scalars in SCALARS.items()
    for scalar in scalars
    if (dtype, kind) != (dg.bool_, bool)
]


@pytest.mark.parametrize(("dtype", "scalar", "expected"), BESIDE)
def test_a_tensor_beside_a_python_number(dtype, scalar, expected):
    x = ops.ones((2,), dtype)
    for operation, same in (operator.add, np.add), (operator.mul, np.multiply), (ops.maximum, np.maximum):
        values = same(np.ones(2), float(scalar))
        assert_close(operation(x, scalar), values, dtype=expected)
        assert_close(operation(scalar, x), values, dtype=expected)


def test_a_float_beside_float64_keeps_its_precision():
    x, c = f64([3.0]), Tensor([False])
    results = {
        "*": (x * 0.1, 3 * 0.1),
        "r*": (0.1 * x, 3 * 0.1),
        "+": (x + 0.1, 3.1),
        "r-": (0.1 - x, 0.1 - 3),
        "/": (x / 0.1, 3 / 0.1),
        "r/": (0.1 / x, 0.1 / 3),
        "**": (x**0.1, 3**0.1),
        "r**": (0.1**x, 0.1**3),
        "%": (x % 0.7, 3 % 0.7),
        "add": (ops.add(x, 0.1), 3.1),
        "pow": (ops.pow(x, 0.1), 3**0.1),
        "clamp": (ops.clamp(x, 0.0, 0.1), 0.1),
        "minimum": (ops.minimum(x, 0.1), 0.1),
        "where": (ops.where(c, x, 0.1), 0.1),
        "masked_fill": (ops.masked_fill(x, ops.logical_not(c), 0.1), 0.1),
        "full_like": (ops.full_like(x, 0.1), 0.1),
        "full": (ops.full((1,), 0.1, dtype=dg.float64), 0.1),
        "Tensor": (Tensor([0.1], dg.float64), 0.1),
        "leaky_relu": (ops.leaky_relu(-x, 0.1), -3 * 0.1),
    }
    for name, (found, expected) in results.items():
        assert found.dtype == dg.float64, name
        np.testing.assert_allclose(found.asnumpy(), [expected], rtol=1e-15, err_msg=name)


def test_a_float_beside_float64_keeps_its_precision_in_a_gradient():
    gradient = dg.grad(lambda x: 0.1 * x**0.3 + x / 0.7)(f64([2.0]))
    np.testing.assert_allclose(gradient.asnumpy(), [0.03 * 2.0**-0.7 + 1 / 0.7], rtol=1e-15)


def test_a_zero_dimensional_tensor_is_no_python_number():
    assert (f32([1.0]) * f64(2.0)).dtype == dg.float64
    assert (f32([1.0]) / f64(2.0)).dtype == dg.float64
    assert (i32([1]) + Tensor(1)).dtype == dg.int64


# ------------------------------------------------------------------------------------------- single operators


@pytest.mark.parametrize("dtype", [dg.int32, dg.int64], ids=str)
def test_sums_of_integers(dtype):
    x = Tensor([[1, 2], [3, 4]], dtype)
    assert_close(ops.sum(x), np.array(10), dtype=dg.int64)
    assert_close(x.sum(0), np.array([4, 6]), dtype=dg.int64)
    assert_close(ops.ReduceSum()(x), np.array(10), dtype=dtype)
    assert_close(x.sum(dtype=dg.float64), 10.0, dtype=dg.float64)


def test_roots_and_reciprocals_of_integers_are_float32():
    assert_close(ops.sqrt(i32([4, 9])), [2.0, 3.0], dtype=dg.float32)
    assert_close(ops.reciprocal(i32([4, 8])), [0.25, 0.125], dtype=dg.float32)


@pytest.mark.parametrize("name", ["mean", "sin", "cos", "exp", "tanh", "log"])
def test_other_functions_of_integers_are_refused_or_float32(name):
    with contextlib.suppress(TypeError):
        result = getattr(ops, name)(i32([1, 2]))
        assert_close(result, getattr(np, name)([1.0, 2.0]), dtype=dg.float32)


def test_matmul_with_an_array_takes_the_wider_type():
    x, y = f32(np.ones((2, 3))), np.full((3, 2), 2.0)
    for product in (x @ y, np.matmul(x, y), y.T @ ops.transpose(x, (1, 0))):
        assert_close(product, np.full((2, 2), 6.0), dtype=dg.float64)
    assert_close(dg.grad(lambda x: x @ y)(x), np.full((2, 3), 4.0), dtype=dg.float32)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 2)), ((5, 1, 2, 3), (4, 3, 2))],
)
def test_matmul_broadcasts_over_one_to_many_dimensions(left, right):
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=left), generator.normal(size=right)
    assert_close(ops.matmul(f64(a), f64(b)), a @ b, scale=10.0)
    assert_close(f64(a) @ f64(b), a @ b, scale=10.0)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_the_transposing_forms_of_matmul(transpose_a, transpose_b):
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(2, 4, 3)), generator.normal(size=(2, 3, 5))
    given_a = np.swapaxes(a, -1, -2) if transpose_a else a
    given_b = np.swapaxes(b, -1, -2) if transpose_b else b
    batched = ops.BatchMatMul(transpose_a, transpose_b)(f64(given_a), f64(given_b))
    assert_close(batched, a @ b, scale=10.0)
    single = ops.MatMul(transpose_a=transpose_a, transpose_b=transpose_b)(f64(given_a[0]), f64(given_b[0]))
    assert_close(single, a[0] @ b[0], scale=10.0)


# -------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("operation", [operator.mul, operator.add, operator.truediv, operator.pow, ops.maximum])
def test_each_gradient_has_the_type_of_its_input(operation):
    a, b = f32([1.5, 2.0]), f64([2.5, 3.0])
    da, db = dg.grad(lambda a, b: operation(a, b), (0, 1))(a, b)
    assert (da.dtype, db.dtype) == (dg.float32, dg.float64)
    second = dg.grad(dg.grad(lambda a, b: operation(a, b) ** 2, (0, 1)), (0, 1))(a, b)
    assert [part.dtype for part in second] == [dg.float32, dg.float64]


def test_gradients_of_a_mixed_product():
    da, db = dg.grad(lambda a, b: a * b, (0, 1))(f32([1.5, 2.0]), f64([2.5, 3.0]))
    assert_close(da, [2.5, 3.0], dtype=dg.float32)
    assert_close(db, [1.5, 2.0], dtype=dg.float64)
