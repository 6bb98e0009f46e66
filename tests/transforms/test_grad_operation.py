"""GradOperation: the shape of the result, the sensitivity, the ways to call.

The errors are in ``test_errors.py``.
"""

import numpy as np
import pytest
from support import Curve, assert_close, assert_raises, f32, f64, i32

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

X, Y, SENS = f64([1.5, -0.5, 2.0]), f64([3.0, 4.0, -1.0]), f64([0.5, 2.0, -3.0])


@pytest.fixture
def net():
    return Curve()


# ------------------------------------------------------------------------------------ the shape of the result


def assert_four_forms(net, weights, inputs, expected):
    """Check the result for pairs of flags; ``expected`` names the parts, a tuple stands for a tuple."""
    for (get_all, get_by_list), parts in expected.items():
        operation = ops.GradOperation(get_all=get_all, get_by_list=get_by_list)
        scaled = ops.GradOperation(get_all=get_all, get_by_list=get_by_list, sens_param=True)
        assert_close(operation(net, weights)(*inputs), named(parts, net.gradients(*inputs)))
        with_sens = net.gradients(*inputs, SENS.asnumpy())
        assert_close(scaled(net, weights)(*inputs, SENS), named(parts, with_sens))


def named(parts, gradients):
    """Replace the names in a nesting of tuples by the gradients."""
    return gradients[parts] if isinstance(parts, str) else tuple(named(part, gradients) for part in parts)


@pytest.mark.parametrize("collection", [ParameterTuple, tuple, list])
def test_the_two_flags_choose_the_form(net, collection):
    weights = collection([net.w, net.b])
    forms = {
        (False, False): "x",
        (True, False): ("x", "y"),
        (False, True): ("w", "b"),
        (True, True): (("x", "y"), ("w", "b")),
    }
    assert_four_forms(net, weights, (X, Y), forms)


def test_weights_come_in_the_given_order(net):
    forms = {(False, True): ("b", "w"), (True, True): (("x", "y"), ("b", "w"))}
    assert_four_forms(net, ParameterTuple([net.b, net.w]), (X, Y), forms)


@pytest.mark.parametrize("collection", [ParameterTuple, tuple, list])
def test_one_weight_in_a_collection_gives_a_tuple_of_one(net, collection):
    forms = {(False, True): ("b",), (True, True): (("x", "y"), ("b",))}
    assert_four_forms(net, collection([net.b]), (X, Y), forms)


def test_a_single_parameter_gives_a_bare_tensor(net):
    assert_four_forms(net, net.w, (X, Y), {(False, True): "w", (True, True): (("x", "y"), "w")})


def test_weights_left_out_are_the_trainable_parameters_of_a_cell():
    net = Curve()
    forms = {(False, True): ("w", "b"), (True, True): (("x", "y"), ("w", "b"))}
    assert_four_forms(net, None, (X, Y), forms)
    net.w.requires_grad = False
    assert_four_forms(net, None, (X, Y), {(False, True): ("b",)})


@pytest.mark.parametrize("get_all", [False, True])
def test_weights_left_out_of_a_plain_function_are_missed(net, get_all):
    gradient = ops.GradOperation(get_all=get_all, get_by_list=True)(lambda x, y: net(x, y))
    assert_raises(TypeError, lambda: gradient(X, Y), "GradOperation", "get_by_list=True", "<lambda>", "weights")


def test_weights_are_ignored_without_get_by_list(net):
    weights = ParameterTuple([net.w, net.b])
    assert_four_forms(net, weights, (X, Y), {(False, False): "x", (True, False): ("x", "y")})


def test_get_all_of_one_input_is_a_tuple_of_one():
    assert_close(ops.GradOperation(get_all=True)(lambda x: x * x)(X), (2 * X.asnumpy(),))


def test_a_function_without_inputs_has_an_empty_input_part(net):
    def f():
        return net(X, Y)

    weights = [net.w, net.b]
    expected = net.gradients(X, Y)
    assert ops.GradOperation()(f)() == ()
    assert ops.GradOperation(get_all=True)(f)() == ()
    by_list = ops.GradOperation(get_by_list=True)(f, weights)()
    assert_close(by_list, (expected["w"], expected["b"]))
    both = ops.GradOperation(get_all=True, get_by_list=True)(f, weights)()
    assert_close(both, ((), (expected["w"], expected["b"])))


def test_results_are_new_tensors_of_the_type_and_shape_of_the_input():
    parameter = Parameter(np.array([[2.0], [3.0]], np.float32), name="p")
    dx, dp = ops.GradOperation(get_all=True)(lambda x, p: x * p)(X, parameter)
    assert (type(dx), type(dp)) == (Tensor, Tensor)
    assert (dx.shape, dp.shape) == ((3,), (2, 1))
    assert (dx.dtype, dp.dtype) == (dg.float64, dg.float32)
    identity = ops.GradOperation()(lambda x: ops.stop_gradient(x) * 0.0 + x)(X)
    assert identity is not X


# ----------------------------------------------------------------------------------------- the sum of outputs


@pytest.mark.parametrize(
    ("outputs", "factor"),
    [
        (lambda x: (x, 2.0 * x), 3.0),
        (lambda x: [x, [10.0 * x]], 11.0),
        (lambda x: {"a": x, "b": (5.0 * x, 7.0 * x)}, 13.0),
        (lambda x: (x, 3.0, None, "text", True), 1.0),
        (lambda x: (x, x > 0), 1.0),
        (lambda x: (x, (x, [{"a": x}])), 3.0),
    ],
)
def test_the_gradient_is_that_of_the_sum_of_all_outputs(outputs, factor):
    assert_close(ops.GradOperation()(outputs)(X), np.full(3, factor))


def test_an_integer_output_counts():
    dx, dn = ops.GradOperation(get_all=True)(lambda x, n: (2.0 * x, n * n))(X, i32([3, 4]))
    assert_close((dx, dn), (np.full(3, 2.0), np.array([6, 8])))
    assert dn.dtype == dg.int32


# -------------------------------------------------------------------------------------------- the sensitivity


def test_the_sensitivity_is_the_last_argument_or_a_keyword(net):
    gradient = ops.GradOperation(get_all=True, sens_param=True)(net)
    expected = net.gradients(X, Y, SENS.asnumpy())
    for result in gradient(X, Y, SENS), gradient(X, Y, sens=SENS), gradient(X, y=Y, sens=SENS):
        assert_close(result, (expected["x"], expected["y"]))


def test_a_sensitivity_with_one_one_picks_a_row_of_the_jacobian():
    def f(x):
        return ops.stack((x[0] * x[1], x[1] * x[2], ops.sin(x[0])), 0)

    a, b, c = X.asnumpy()
    jacobian = np.array([[b, a, 0], [0, c, b], [np.cos(a), 0, 0]])
    rows = [ops.GradOperation(sens_param=True)(f)(X, Tensor(unit)) for unit in np.eye(3)]
    for row, expected in zip(rows, jacobian, strict=True):
        assert_close(row, expected)


@pytest.mark.parametrize("container", [tuple, list])
def test_several_outputs_take_a_sensitivity_of_the_same_nesting(container):
    def f(x):
        return x * x, (3.0 * x[:2], ops.exp(x).sum())

    sens = container([SENS, container([f64([10.0, 20.0]), f64(2.0)])])
    x, s = X.asnumpy(), SENS.asnumpy()
    expected = 2 * x * s + [30.0, 60.0, 0.0] + 2 * np.exp(x)
    assert_close(ops.GradOperation(sens_param=True)(f)(X, sens), expected)


def test_a_keyword_called_sens_belongs_to_the_function_without_sens_param():
    assert_close(ops.GradOperation()(lambda x, sens: x * sens)(X, sens=SENS), SENS.asnumpy())


def test_the_sensitivity_can_be_differentiated():
    def pulled(s):
        return ops.GradOperation(sens_param=True)(lambda x: x**3)(X, s)

    assert_close(dg.grad(pulled)(SENS), 3 * X.asnumpy() ** 2)


# ------------------------------------------------------------------------------------------- the ways to call


def test_keyword_inputs_follow_in_the_order_of_the_call(net):
    expected = net.gradients(X, Y)
    gradient = ops.GradOperation(get_all=True)(net)
    assert_close(gradient(X, y=Y), (expected["x"], expected["y"]))
    assert_close(gradient(x=X, y=Y), (expected["x"], expected["y"]))
    assert_close(gradient(y=Y, x=X), (expected["y"], expected["x"]))


def test_defaults_left_out_are_no_inputs():
    def f(x, scale=SENS, power=2):
        return scale * x**power

    gradient = ops.GradOperation(get_all=True)(f)
    x, s = X.asnumpy(), SENS.asnumpy()
    assert_close(gradient(X), (2 * s * x,))
    assert_close(gradient(X, power=3), (3 * s * x**2,))
    assert_close(gradient(X, scale=Y), (2 * Y.asnumpy() * x, x**2))


def test_any_number_of_arguments():
    def f(*inputs, **named):
        total = named.get("offset", 0.0)
        for position, tensor in enumerate(inputs):
            total = total + (position + 1.0) * tensor * tensor
        return total

    x, y = X.asnumpy(), Y.asnumpy()
    gradient = ops.GradOperation(get_all=True)(f)
    assert_close(gradient(X, Y), (2 * x, 4 * y))
    assert_close(gradient(X, Y, X), (2 * x, 4 * y, 6 * x))
    assert_close(gradient(X, offset=Y), (2 * x, np.ones(3)))


class WithMethods(Curve):
    def energy(self, x):
        return self.w * x**3


def test_a_bound_method_is_a_function_with_weights():
    net = WithMethods()
    x, w = X.asnumpy(), net.w.asnumpy()
    dx, dw = ops.GradOperation(get_by_list=True, get_all=True)(net.energy, ParameterTuple([net.w]))(X)
    assert_close((dx, dw), ((3 * w * x**2,), (np.sum(x**3, keepdims=True),)))
    construct = ops.GradOperation()(net.construct)(X, Y)
    assert_close(construct, net.gradients(X, Y)["x"])


class Plain:
    def __init__(self, factor):
        self.factor = factor

    def scaled_square(self, x):
        return self.factor * x * x

    def __call__(self, x):
        return self.scaled_square(x)


def test_methods_and_instances_of_ordinary_classes():
    assert_close(ops.GradOperation()(Plain(4.0).scaled_square)(X), 8.0 * X.asnumpy())
    assert_close(ops.GradOperation()(Plain(5.0))(X), 10.0 * X.asnumpy())


def test_inputs_are_never_changed(net):
    def f(x, y):
        x += 1.0
        y *= x
        return x * y

    x, y = f64([1.0, 2.0]), f64([3.0, 4.0])
    assert_close(ops.GradOperation(get_all=True)(f)(x, y), ([12.0, 24.0], [4.0, 9.0]))
    assert_close((x, y), ([1.0, 2.0], [3.0, 4.0]))


def test_a_gradient_function_takes_other_shapes_and_types_at_the_next_call():
    gradient = ops.GradOperation()(lambda x: x**3)
    for point in f64([1.0, 2.0]), f32([[1.5], [2.5]]), f64(0.5), f64([1.0, 2.0]), f32([[1.5], [2.5]]):
        assert_close(gradient(point), 3 * point.asnumpy() ** 2, dtype=point.dtype)


def test_an_operation_serves_many_functions():
    operation = ops.GradOperation()
    assert_close(operation(ops.sin)(X), np.cos(X.asnumpy()))
    assert_close(operation(ops.Cos())(X), -np.sin(X.asnumpy()))
    assert_close(operation(operation(ops.exp))(X), np.exp(X.asnumpy()))


def test_weights_inside_nested_cells():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Curve()
            self.scale = Parameter(np.array([5.0]), name="scale")

        def construct(self, x, y):
            return self.scale * self.inner(x, y)

    net = Outer()
    expected = net.inner.gradients(X, Y, 5.0)
    value = net.inner(X, Y).asnumpy()
    result = ops.GradOperation(get_by_list=True)(net)(X, Y)
    assert_close(result, (np.sum(value, keepdims=True), expected["w"], expected["b"]))
