"""What is differentiable and what is not: kinds of inputs, outputs without a slope, casts, stop_gradient."""

import numpy as np
import pytest
from support import Curve, assert_close, f32, f64, i32, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")

X, Y = f64([1.5, -0.5, 2.0]), f64([3.0, 4.0, -1.0])
all_inputs = ops.GradOperation(get_all=True)
first_input = ops.GradOperation()


# -------------------------------------------------------------------------------------------- tensors by type


@pytest.mark.parametrize("dtype", [dg.float16, dg.float32, dg.float64])
def test_a_gradient_has_the_type_and_shape_of_its_input(dtype):
    x = Tensor([[1.5, 2.0]], dtype)
    assert_close(dg.grad(lambda x: x * x)(x), [[3.0, 4.0]], dtype=dtype)


@pytest.mark.parametrize("dtype", [dg.int32, dg.int64])
def test_integers_are_differentiated_formally(dtype):
    x, w, b = Tensor([2, -3], dtype), Tensor([5, 7], dtype), Tensor([1, 1], dtype)
    expected = (np.array([5, 7]), np.array([2, -3]), np.array([1, 1]))
    assert_close(all_inputs(lambda x, w, b: w * x + b)(x, w, b), expected, dtype=dtype)
    assert_close(dg.grad(lambda x: x - x * x)(x), np.array([-3, 7]), dtype=dtype)
    assert_close(dg.grad(ops.square)(x), np.array([4, -6]), dtype=dtype)
    assert_close(dg.grad(dg.grad(lambda x: x * x * x))(x), np.array([12, -18]), dtype=dtype)


def test_integers_through_shape_operators():
    def f(n):
        column = ops.reshape(n, (3, 1))
        return ops.cat((column, ops.tile(column, (2, 1))), 0)[1:] * 2

    assert_close(dg.grad(f)(i32([1, 2, 3])), np.array([4, 6, 6]), dtype=dg.int32)


def test_an_integer_that_only_selects_has_a_zero_gradient():
    index = i32([0, 2])
    dx, dindex = all_inputs(lambda x, index: x[index] * ops.gather(x, index, 0))(X, index)
    assert_close(dx, [3.0, 0.0, 4.0])
    assert_close(dindex, np.array([0, 0]), dtype=dg.int32)


def test_an_integer_behind_an_operator_without_slope_has_a_zero_gradient():
    n = i32([3, -4, 5])
    dn, dx = all_inputs(lambda n, x: ops.where(n > 0, x, 2.0 * x) * ops.argmax(n))(n, X)
    assert_close(dn, np.array([0, 0, 0]), dtype=dg.int32)
    assert_close(dx, [2.0, 4.0, 2.0])


def test_a_bool_tensor_has_a_gradient_of_bool_zeros():
    mask = Tensor([True, False, True])
    dmask, dx = all_inputs(lambda mask, x: ops.where(mask, x * x, x))(mask, X)
    assert_close(dmask, np.array([False, False, False]), dtype=dg.bool_)
    assert_close(dx, [3.0, 1.0, 4.0])


# --------------------------------------------------------------------------------- inputs that are no tensors


@pytest.mark.parametrize(
    "other",
    [3, 2.5, True, None, "text", object(), np.array([1.0, 2.0, 3.0])],
    ids=["int", "float", "bool", "None", "str", "object", "array"],
)
def test_what_is_no_tensor_is_left_out_of_the_result(other):
    expected = 2 * X.asnumpy()
    assert_close(all_inputs(lambda other, x: x * x)(other, X), (expected,))
    assert_close(all_inputs(lambda x, other: x * x)(X, other), (expected,))
    assert_close(first_input(lambda other, x: x * x)(other, X), expected)


def test_python_numbers_take_part_in_the_computation():
    assert_close(all_inputs(lambda n, x, a: a * x**n)(3, X, 0.5), (1.5 * X.asnumpy() ** 2,))


def test_a_numpy_input_is_a_constant():
    array = np.array([2.0, 3.0, 4.0])
    assert_close(all_inputs(lambda a, x: a * x * x)(array, X), (2 * array * X.asnumpy(),))


@pytest.mark.parametrize(
    ("wrap", "result"),
    [
        (lambda x, y: (x, y), lambda dx, dy: (dx, dy)),
        (lambda x, y: [x, y], lambda dx, dy: [dx, dy]),
        (lambda x, y: {"x": x, "y": y}, lambda dx, dy: {"x": dx, "y": dy}),
        (lambda x, y: (x, [{"deep": y}]), lambda dx, dy: (dx, [{"deep": dy}])),
    ],
    ids=["tuple", "list", "dict", "nested"],
)
def test_a_container_of_tensors_gives_the_same_nesting(wrap, result):
    def leaves(tree):
        if isinstance(tree, Tensor):
            return [tree]
        return [leaf for part in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves(part)]

    def f(tree, z):
        x, y = leaves(tree)
        return x * x * y * z

    x, y, z = X.asnumpy(), Y.asnumpy(), np.array([2.0, 3.0, 4.0])
    expected = result(2 * x * y * z, x * x * z)
    tree = wrap(X, Y)
    assert_close(all_inputs(f)(tree, Tensor(z)), (expected, x * x * y))
    assert_close(first_input(f)(tree, Tensor(z)), expected)
    assert_close(dg.grad(f, (1, 0))(dg.mutable(tree), Tensor(z)), (x * x * y, expected))


# --------------------------------------------------------------------------------------- parameters as inputs


def test_a_parameter_can_be_an_input():
    p = Parameter(np.array([2.0, 3.0]), name="p")
    assert_close(dg.grad(lambda p: p * p)(p), [4.0, 6.0])
    assert_close(p * 1.0, [2.0, 3.0])


def test_a_parameter_that_is_input_and_weight_has_two_separate_gradients():
    w = Parameter(np.array([3.0]), name="w")
    both = ops.GradOperation(get_all=True, get_by_list=True)
    assert_close(both(lambda x: x * x * w, [w])(w), (([18.0],), ([9.0],)))
    assert_close(dg.grad(lambda x: x * x * w, 0, w)(w), ([18.0], [9.0]))


def test_the_same_tensor_at_two_positions_has_two_separate_gradients():
    x = X.asnumpy()
    assert_close(all_inputs(lambda a, b: a * a * b)(X, X), (2 * x * x, x * x))
    assert_close(dg.grad(lambda a, b: a * a * b, 1)(X, X), x * x)


def test_the_same_tensor_as_input_and_in_the_closure():
    assert_close(dg.grad(lambda a: a * X)(X), X.asnumpy())


def test_a_frozen_parameter_has_a_zero_gradient():
    net = Curve()
    net.b.requires_grad = False
    expected = net.gradients(X, Y)
    weights = ParameterTuple([net.w, net.b])
    assert_close(dg.grad(net, None, weights)(X, Y), (expected["w"], [0.0]))
    assert_close(dg.grad(net, None, net.b)(X, Y), [0.0])
    frozen = Parameter(np.array([1.0, 2.0, 3.0]), name="frozen", requires_grad=False)
    assert_close(all_inputs(lambda p, x: p * p * x)(frozen, X), ([0.0, 0.0, 0.0], [1.0, 4.0, 9.0]))


def test_set_grad_and_set_train_return_the_net():
    net = Curve()
    assert net.set_grad() is net
    assert net.set_grad(flag=False) is net
    assert net.set_train() is net
    assert net.set_train(False) is net
    assert_close(dg.grad(net)(X, Y), net.gradients(X, Y)["x"])


# ------------------------------------------------------------------------------------ no dependence, no slope


def test_unused_inputs_and_weights_have_zero_gradients():
    unused = Parameter(np.ones((2, 2), np.float32), name="unused")
    both = ops.GradOperation(get_all=True, get_by_list=True)
    result = both(lambda x, y: x * x, [unused])(X, f32([[1.0], [2.0]]))
    assert_close(result, ((2 * X.asnumpy(), [[0.0], [0.0]]), (np.zeros((2, 2)),)))
    assert [part.dtype for part in (*result[0], *result[1])] == [dg.float64, dg.float32, dg.float32]


@pytest.mark.parametrize(
    "constant",
    [lambda x: x > 0, lambda x: Y, lambda x: (3.0, x > 0), lambda x: ("text", [2, Y])],
    ids=["bool tensor", "other tensor", "bool tensor beside a number", "other tensor in a nest"],
)
def test_an_output_that_depends_on_nothing_gives_zeros(constant):
    weight = Parameter(np.array([1.0, 2.0]), name="weight")
    assert_close(dg.grad(constant, 0, weight)(X), (np.zeros(3), np.zeros(2)))
    assert_close(dg.grad(dg.grad(constant))(X), np.zeros(3))


NO_SLOPE = {
    "sign": ops.sign,
    "floor": ops.floor,
    "ceil": ops.ceil,
    "round": ops.round,
    "trunc": ops.trunc,
    "greater": lambda x: (x > 0.5).astype(dg.float64),
    "equal": lambda x: (x == 2.0).astype(dg.float64),
    "argmax": lambda x: ops.argmax(x).astype(dg.float64),
    "isfinite": lambda x: ops.isfinite(x).astype(dg.float64),
    "floor division": lambda x: x // 0.75,
}


@pytest.mark.parametrize("f", NO_SLOPE.values(), ids=NO_SLOPE)
def test_piecewise_constant_operators_have_slope_zero(f):
    assert_close(dg.grad(f)(X), np.zeros(3))
    value = f(X).asnumpy()
    assert_close(dg.grad(lambda x: x * f(x))(X), value + np.zeros(3), scale=1.0)


# ------------------------------------------------------------------------------------------------------ casts


@pytest.mark.parametrize("inner", [dg.float16, dg.float32, dg.float64])
@pytest.mark.parametrize("outer", [dg.float32, dg.float64])
def test_a_gradient_comes_back_through_a_cast_in_the_type_of_the_input(inner, outer):
    x = Tensor([1.5, -0.5], outer)
    assert_close(dg.grad(lambda x: ops.cast(x, inner) * x)(x), [3.0, -1.0], dtype=outer)
    assert_close(dg.grad(lambda x: (x.astype(inner) ** 2).astype(outer))(x), [3.0, -1.0], dtype=outer)
    assert_close(dg.grad(dg.grad(lambda x: ops.Cast()(x, inner) ** 3))(x), [9.0, -3.0], dtype=outer)


@pytest.mark.parametrize("integer", [dg.int32, dg.int64, dg.uint8, dg.bool_])
def test_a_cast_to_integers_has_slope_zero(integer):
    x = f32([1.5, 2.5])
    assert_close(dg.grad(lambda x: ops.cast(x, integer))(x), [0.0, 0.0], dtype=dg.float32)
    truncated = x.astype(integer).astype(dg.float32).asnumpy()
    assert_close(dg.grad(lambda x: x.astype(integer).astype(dg.float32) * x)(x), truncated)


# ---------------------------------------------------------------------------------------------- stop_gradient


def test_stop_gradient_keeps_the_value_and_the_nesting():
    x = X.asnumpy()
    assert_close(ops.stop_gradient(X), x)
    assert_close(ops.stop_gradient((X, Y)), (x, Y.asnumpy()))
    assert_close(ops.stop_gradient([X, Y]), [x, Y.asnumpy()])


@pytest.mark.parametrize("other", [3.0, 2, None, "text", True])
def test_stop_gradient_returns_anything_else_as_it_is(other):
    assert ops.stop_gradient(other) is other


def test_a_stopped_factor_is_a_constant_for_every_level():
    a = X.asnumpy()
    assert_close(dg.grad(lambda a: a * ops.stop_gradient(a))(X), a)
    assert_close(repeated_grad(lambda a: a * ops.stop_gradient(a), 2)(X), np.zeros(3))
    assert_close(repeated_grad(lambda a: a * a * ops.stop_gradient(a), 2)(X), 2 * a)
    assert_close(repeated_grad(lambda a: a**3 * ops.stop_gradient(a * a), 3)(X), 6 * a * a)


def test_a_stopped_tuple_is_constant():
    def f(a):
        b, c = ops.stop_gradient((a * a, [ops.sin(a)]))
        return a * b * c[0]

    a = X.asnumpy()
    assert_close(dg.grad(f)(X), a * a * np.sin(a))


def test_a_stopped_gradient_inside_a_function():
    a = X.asnumpy()
    assert_close(dg.grad(lambda a: a * ops.stop_gradient(dg.grad(ops.sin)(a)))(X), np.cos(a))
    live = dg.grad(lambda a: a * dg.grad(ops.sin)(a))(X)
    assert_close(live, np.cos(a) - a * np.sin(a), scale=1.0)


def test_a_stopped_parameter_has_a_zero_gradient():
    net = Curve()

    def f(x, y):
        return net(x, y) * ops.stop_gradient(net.w)

    expected = net.gradients(X, Y, 2.0)
    assert_close(dg.grad(f, None, [net.w, net.b])(X, Y), (expected["w"], expected["b"]))
    assert_close(dg.grad(lambda x: x * ops.stop_gradient(net.w), None, net.w)(X), [0.0])
