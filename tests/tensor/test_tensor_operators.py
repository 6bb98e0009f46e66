"""Python's operators and NumPy's functions on tensors, with numbers and arrays on either side."""

import operator

import numpy as np
import pytest
from support import assert_close, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")

A, B = np.array([[1.5, 2.5], [0.5, 3.0]]), np.array([[2.0, 0.75], [1.25, 0.5]])

# operator: (slope by the left operand, slope by the right one), both of the shape of the result
BINARY = {
    operator.add: (lambda a, b: 1 + 0 * a * b, lambda a, b: 1 + 0 * a * b),
    operator.sub: (lambda a, b: 1 + 0 * a * b, lambda a, b: -1 + 0 * a * b),
    operator.mul: (lambda a, b: b + 0 * a, lambda a, b: a + 0 * b),
    operator.truediv: (lambda a, b: 1 / b + 0 * a, lambda a, b: -a / b**2),
    operator.pow: (lambda a, b: b * a ** (b - 1), lambda a, b: a**b * np.log(a)),
    operator.floordiv: (lambda a, b: 0 * a * b, lambda a, b: 0 * a * b),
    operator.mod: (lambda a, b: 1 + 0 * a * b, lambda a, b: -(a // b)),
}
NAMES = [function.__name__ for function in BINARY]


@pytest.mark.parametrize("op", BINARY, ids=NAMES)
def test_tensor_with_tensor(op):
    assert_close(op(f64(A), f64(B)), op(A, B))
    slopes = BINARY[op]
    assert_close(dg.grad(op, (0, 1))(f64(A), f64(B)), tuple(slope(A, B) for slope in slopes))


@pytest.mark.parametrize("op", BINARY, ids=NAMES)
@pytest.mark.parametrize("number", [2.25, 3, np.float64(2.25), np.int64(3)], ids=repr)
def test_tensor_with_number(op, number):
    left, right = BINARY[op]
    assert_close(op(f64(A), number), op(A, number))
    assert_close(op(number, f64(A)), op(number, A))
    assert_close(dg.grad(lambda a: op(a, number))(f64(A)), left(A, number))
    assert_close(dg.grad(lambda a: op(number, a))(f64(A)), right(number, A))


@pytest.mark.parametrize("op", BINARY, ids=NAMES)
@pytest.mark.parametrize("array", [B, B[0], B[:, 1:], np.array(2.25)], ids=lambda array: str(array.shape))
def test_tensor_with_array(op, array):
    left, right = BINARY[op]
    assert_close(op(f64(A), array), op(A, array))
    assert_close(op(array, f64(A)), op(array, A))
    assert_close(dg.grad(lambda a: op(a, array))(f64(A)), left(A, array))
    assert_close(dg.grad(lambda a: op(array, a))(f64(A)), right(array, A))


def test_an_array_is_a_constant_of_its_own_type():
    x = f32([1.0, 2.0])
    for result in x * np.array([3.0, 4.0]), np.array([3.0, 4.0]) * x:
        assert_close(result, [3.0, 8.0], dtype=dg.float64)
    assert (x * np.array([3, 4])).dtype == dg.float32
    assert_close(dg.grad(lambda x: np.array([3.0, 4.0]) * x)(x), [3.0, 4.0], dtype=dg.float32)


def test_second_derivatives_beside_an_array():
    x = f64([1.0, 2.0])
    assert_close(dg.grad(dg.grad(lambda x: np.array([3.0, 4.0]) * x**3))(x), [18.0, 48.0])


def test_matrix_products_with_arrays():
    expected = (np.ones((2, 2)) @ B.T, A.T @ np.ones((2, 2)))
    assert_close(f64(A) @ B, A @ B)
    assert_close(A @ f64(B), A @ B)
    assert_close(dg.grad(lambda a: a @ B)(f64(A)), expected[0])
    assert_close(dg.grad(lambda b: A @ b)(f64(B)), expected[1])
    assert_close(dg.grad(operator.matmul, (0, 1))(f64(A), f64(B)), expected)


def test_unary_operators():
    x = np.array([1.5, -2.5, 0.5])
    assert_close((-f64(x), +f64(x), abs(f64(x)), round(f64(x))), (-x, x, np.abs(x), np.round(x)))
    assert_close(dg.grad(lambda x: -x)(f64(x)), [-1.0, -1.0, -1.0])
    assert_close(dg.grad(lambda x: abs(x) * 2)(f64(x)), [2.0, -2.0, 2.0])


def test_comparisons_with_numbers_and_arrays():
    for compare in operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne:
        assert_close(compare(f64(A), f64(B)), compare(A, B), dtype=dg.bool_)
        assert_close(compare(f64(A), 1.5), compare(A, 1.5), dtype=dg.bool_)
        assert_close(compare(f64(A), B), compare(A, B), dtype=dg.bool_)
        assert_close(compare(B, f64(A)), compare(B, A), dtype=dg.bool_)


def test_logic_of_bools():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    for op in operator.and_, operator.or_, operator.xor:
        assert_close(op(Tensor(a), Tensor(b)), op(a, b), dtype=dg.bool_)
    assert_close(~Tensor(a), ~a, dtype=dg.bool_)
    assert_close(ops.logical_and(Tensor(a), Tensor(b)), a & b, dtype=dg.bool_)
    assert_close(ops.logical_or(Tensor(a), Tensor(b)), a | b, dtype=dg.bool_)
    assert_close(ops.logical_not(Tensor(a)), ~a, dtype=dg.bool_)


def test_augmented_assignment_makes_a_new_value():
    x = f64([1.0, 2.0])
    y = x
    y += 1.0
    y *= 2.0
    y -= x
    y /= 2.0
    assert_close((x, y), ([1.0, 2.0], [1.5, 2.0]))


@pytest.mark.parametrize("shapes", [((2, 1), (1, 3)), ((3,), (2, 3)), ((), (2, 3)), ((4, 1, 3), (2, 1))], ids=str)
def test_gradients_of_broadcast_operands_have_their_shapes(shapes):
    generator = np.random.default_rng(0)
    a, b = (generator.normal(size=shape) for shape in shapes)
    full = np.broadcast_shapes(*shapes)

    def reduced(array, shape):
        extra = len(full) - len(shape)
        axes = tuple(range(extra)) + tuple(extra + k for k, n in enumerate(shape) if n == 1 != full[extra + k])
        return array.sum(axes).reshape(shape)

    expected = (
        reduced(np.broadcast_to(b, full), shapes[0]),
        reduced(np.broadcast_to(a, full), shapes[1]),
    )
    assert_close(dg.grad(operator.mul, (0, 1))(f64(a), f64(b)), expected, scale=10.0)


# ------------------------------------------------------------------------------------------ NumPy's functions

UNARY = {
    np.exp: np.exp,
    np.sin: np.cos,
    np.cos: lambda x: -np.sin(x),
    np.tanh: lambda x: 1 - np.tanh(x) ** 2,
    np.log: lambda x: 1 / x,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.square: lambda x: 2 * x,
    np.negative: lambda x: -np.ones_like(x),
    np.abs: np.sign,
    np.arctan: lambda x: 1 / (1 + x * x),
    np.expm1: np.exp,
    np.log1p: lambda x: 1 / (1 + x),
    np.reciprocal: lambda x: -1 / x**2,
    np.sum: np.ones_like,
    np.mean: lambda x: np.full_like(x, 1 / x.size),
    np.max: lambda x: (x == x.max()) * 1.0,
    np.prod: lambda x: np.prod(x) / x,
    np.cumsum: lambda x: np.arange(x.size, 0.0, -1).reshape(x.shape),
    np.ravel: np.ones_like,
    np.transpose: np.ones_like,
    np.squeeze: np.ones_like,
    np.trace: lambda x: np.eye(2),
    np.tril: lambda x: np.tril(np.ones((2, 2))),
}


@pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
def test_numpy_functions_of_one_tensor(function):
    assert_close(function(f64(A)), function(A))
    assert_close(dg.grad(lambda a: function(a))(f64(A)), UNARY[function](A))


@pytest.mark.parametrize("function", [np.add, np.multiply, np.divide, np.power, np.maximum, np.arctan2, np.dot])
def test_numpy_functions_of_two(function):
    for left, right in (f64(A), f64(B)), (f64(A), B), (A, f64(B)):
        assert_close(function(left, right), function(A, B))


def test_numpy_functions_of_several_tensors():
    def f(t):
        return (np.concatenate([t, A]) ** 2).sum() + (np.stack([B, t], axis=1) ** 3).sum()

    assert_close(np.concatenate([f64(A), B]), np.concatenate([A, B]))
    assert_close(np.concatenate((B, f64(A)), axis=1), np.concatenate((B, A), axis=1))
    assert_close(np.stack([f64(A), B], axis=1), np.stack([A, B], axis=1))
    assert_close(np.where(A > 1, f64(A), B), np.where(A > 1, A, B))
    assert_close(dg.grad(f)(f64(A)), 2 * A + 3 * A**2)
    assert_close(dg.grad(dg.grad(f))(f64(A)), 2 + 6 * A)


def test_numpy_functions_with_keywords():
    assert_close(np.sum(f64(A) * B, axis=0), (A * B).sum(0))
    assert_close(np.mean(f64(A), axis=1, keepdims=True), A.mean(1, keepdims=True))
    assert_close(np.reshape(f64(A), (4, 1)), A.reshape(4, 1))
    assert_close(np.clip(f64(A), 1.0, 2.0), np.clip(A, 1.0, 2.0))
    assert_close(dg.grad(lambda t: np.sum(t * B, axis=0) ** 2)(f64(A)), 2 * (A * B).sum(0) * B)


def test_a_tensor_becomes_an_array_on_request():
    assert np.array_equal(np.asarray(f64(A)), A)
    assert np.asarray(f64(A), np.float32).dtype == np.float32
    copied = np.array(f64(A), copy=True)
    copied[...] = 0.0
    assert copied.flags.writeable
