"""grad, value_and_grad and get_grad: every row of positions by weights, auxiliary outputs, identifiers.

The errors are in ``test_errors.py``.
"""

import numpy as np
import pytest
from support import Curve, assert_close, f64, i32

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, ops

pytestmark = pytest.mark.usefixtures("mode")

X, Y, SENS = f64([1.5, -0.5, 2.0]), f64([3.0, 4.0, -1.0]), f64([0.5, 2.0, -3.0])


@pytest.fixture
def net():
    return Curve()


def named(parts, gradients):
    """Replace the names x, y, w, b in a nesting of tuples by the gradients, and nothing else."""
    if isinstance(parts, tuple):
        return tuple(named(part, gradients) for part in parts)
    return gradients.get(parts, parts)


# What the result looks like for a position, without weights, with the collection (w, b) and with w alone.
FORMS = [
    (0, "x", ("x", ("w", "b")), ("x", "w")),
    (1, "y", ("y", ("w", "b")), ("y", "w")),
    ((0,), "x", ("x", ("w", "b")), ("x", "w")),
    ((1,), "y", ("y", ("w", "b")), ("y", "w")),
    ((0, 1), ("x", "y"), (("x", "y"), ("w", "b")), (("x", "y"), "w")),
    ((1, 0), ("y", "x"), (("y", "x"), ("w", "b")), (("y", "x"), "w")),
    (None, None, ("w", "b"), "w"),
]

CASES = [
    pytest.param(position, weights, form, id=f"{position} with {label}")
    for position, *forms in FORMS
    for (label, weights), form in zip(
        [
            ("no weights", lambda net: None),
            ("a ParameterTuple", lambda net: ParameterTuple([net.w, net.b])),
            ("one parameter", lambda net: net.w),
        ],
        forms,
        strict=True,
    )
    if form is not None
]


@pytest.mark.parametrize(("position", "weights", "form"), CASES)
def test_the_form_of_the_result(net, position, weights, form):
    expected = named(form, net.gradients(X, Y))
    value = net(X, Y).asnumpy()
    assert_close(dg.grad(net, position, weights(net))(X, Y), expected)
    assert_close(dg.value_and_grad(net, position, weights(net))(X, Y), (value, expected))


@pytest.mark.parametrize(("position", "weights", "form"), CASES)
def test_sens_param_scales_the_same_form(net, position, weights, form):
    expected = named(form, net.gradients(X, Y, SENS.asnumpy()))
    gradient = dg.grad(net, position, weights(net), sens_param=True)
    assert_close(gradient(X, Y, SENS), expected)
    assert_close(gradient(X, Y, sens=SENS), expected)
    both = dg.value_and_grad(net, position, weights(net), sens_param=True)(X, Y, SENS)
    assert_close(both, (net(X, Y).asnumpy(), expected))


@pytest.mark.parametrize("collection", [tuple, list, ParameterTuple])
def test_any_collection_of_weights(net, collection):
    expected = net.gradients(X, Y)
    assert_close(dg.grad(net, None, collection([net.b, net.w]))(X, Y), named(("b", "w"), expected))
    assert_close(dg.grad(net, None, collection([net.w]))(X, Y), named(("w",), expected))
    assert_close(dg.grad(net, 0, collection([net.w]))(X, Y), named(("x", ("w",)), expected))


def test_an_empty_list_of_weights_gives_an_empty_tuple(net):
    assert dg.grad(net, None, [])(X, Y) == ()
    assert_close(dg.grad(net, 0, [])(X, Y), (net.gradients(X, Y)["x"], ()))


@pytest.mark.parametrize("position", [False, True, (True, False)])
def test_a_bool_is_no_position(net, position):
    with pytest.raises(TypeError, match=r"expected (an int|ints)"):
        dg.grad(net, position)


def test_the_same_functions_in_ops():
    assert_close(ops.grad(ops.sin)(X), np.cos(X.asnumpy()))
    assert_close(ops.value_and_grad(ops.sin)(X), (np.sin(X.asnumpy()), np.cos(X.asnumpy())))


@pytest.mark.parametrize(
    ("outputs", "expected", "factor"),
    [
        (lambda x: (x, 2.0 * x), lambda x: (x, 2 * x), 3.0),
        (lambda x: [x, (x, 4.0 * x)], lambda x: [x, (x, 4 * x)], 6.0),
        (lambda x: {"a": x, "b": [x]}, lambda x: {"a": x, "b": [x]}, 2.0),
        (lambda x: (x, 3, None, "text"), lambda x: (x, 3, None, "text"), 1.0),
    ],
)
def test_the_value_keeps_its_nesting_and_all_outputs_contribute(outputs, expected, factor):
    x = X.asnumpy()
    assert_close(dg.value_and_grad(outputs)(X), (expected(x), np.full(3, factor)))
    assert_close(dg.grad(outputs)(X), np.full(3, factor))


def test_a_python_float_stays_in_the_value():
    value, _gradient = dg.value_and_grad(lambda x: (x, 2.5))(X)
    assert type(value[1]) is float
    assert value[1] == 2.5


# ------------------------------------------------------------------------------------------ auxiliary outputs


def with_aux(x, y):
    return x * x * y, ops.sin(x), x * y


@pytest.mark.parametrize("outputs", [with_aux, lambda x, y: list(with_aux(x, y))])
def test_only_the_first_output_is_differentiated_with_has_aux(outputs):
    x, y = X.asnumpy(), Y.asnumpy()
    expected = ((2 * x * y, x * x), (np.sin(x), x * y))
    assert_close(dg.grad(outputs, (0, 1), has_aux=True)(X, Y), expected)
    both = dg.value_and_grad(outputs, (0, 1), has_aux=True)(X, Y)
    assert_close(both, ((x * x * y, np.sin(x), x * y), expected[0]))


def test_one_extra_output_of_grad_is_a_tuple_of_one():
    gradient, others = dg.grad(lambda x: (x * x, ops.sin(x)), has_aux=True)(X)
    assert_close((gradient, others), (2 * X.asnumpy(), (np.sin(X.asnumpy()),)))


def test_extra_outputs_may_be_anything():
    def f(x):
        return x * x, 3, None, "text", {"a": x}, i32([7])

    x = X.asnumpy()
    others = (3, None, "text", {"a": x}, np.array([7]))
    assert_close(dg.grad(f, has_aux=True)(X), (2 * x, others))
    assert_close(dg.value_and_grad(f, has_aux=True)(X), ((x * x, *others), 2 * x))


def test_aux_with_weights(net):
    def f(x, y):
        out = net(x, y)
        return out, x - y

    expected = net.gradients(X, Y)
    result = dg.grad(f, 1, [net.w, net.b], has_aux=True)(X, Y)
    difference = X.asnumpy() - Y.asnumpy()
    assert_close(result, (named(("y", ("w", "b")), expected), (difference,)))


def test_aux_with_a_sensitivity_of_the_first_output():
    result = dg.grad(lambda x: (x**3, ops.cos(x)), has_aux=True, sens_param=True)(X, SENS)
    x, s = X.asnumpy(), SENS.asnumpy()
    assert_close(result, (3 * x * x * s, (np.cos(x),)))


def test_extra_outputs_take_no_part_in_the_gradient_but_can_be_differentiated():
    def cubed_and_sine(x):
        return x**3, ops.sin(x)

    x = X.asnumpy()
    gradient_only = dg.grad(lambda x: dg.grad(cubed_and_sine, has_aux=True)(x)[0])(X)
    assert_close(gradient_only, 6 * x)
    extra_only = dg.grad(lambda x: dg.grad(cubed_and_sine, has_aux=True)(x)[1])(X)
    assert_close(extra_only, np.cos(x))
    assert_close(dg.grad(dg.grad(cubed_and_sine, has_aux=True))(X), 6 * x + np.cos(x))
    (_first, extra), slope = dg.value_and_grad(dg.grad(cubed_and_sine, has_aux=True), has_aux=True)(X)
    assert_close((extra, slope), ((np.sin(x),), 6 * x))


# ------------------------------------------------------------------------------------------------ identifiers


@pytest.mark.parametrize(
    ("position", "weights", "form"),
    [
        (0, "none", (0, "x")),
        (1, "none", (1, "y")),
        ((0,), "none", (0, "x")),
        ((0, 1), "none", ((0, "x"), (1, "y"))),
        ((1, 0), "none", ((1, "y"), (0, "x"))),
        (None, "both", (("w:", "w"), ("b:", "b"))),
        (None, "one", ("w:", "w")),
        (0, "both", ((0, "x"), (("w:", "w"), ("b:", "b")))),
        ((0, 1), "both", (((0, "x"), (1, "y")), (("w:", "w"), ("b:", "b")))),
        (0, "one", ((0, "x"), ("w:", "w"))),
        ((0, 1), "one", (((0, "x"), (1, "y")), ("w:", "w"))),
    ],
)
def test_return_ids_pairs_every_gradient(net, position, weights, form):
    chosen = {"none": None, "both": ParameterTuple([net.w, net.b]), "one": net.w}[weights]
    names = {"w:": net.w.name, "b:": net.b.name}
    assert names == {"w:": "w", "b:": "b"}
    expected = named(form, {**net.gradients(X, Y), **names})
    assert_close(dg.grad(net, position, chosen, return_ids=True)(X, Y), expected)
    both = dg.value_and_grad(net, position, chosen, return_ids=True)(X, Y)
    assert_close(both, (net(X, Y).asnumpy(), expected))


def test_return_ids_with_aux(net):
    result = dg.grad(lambda x, y: (net(x, y), x), (0, 1), has_aux=True, return_ids=True)(X, Y)
    expected = net.gradients(X, Y)
    assert_close(result, (((0, expected["x"]), (1, expected["y"])), (X.asnumpy(),)))


@pytest.mark.parametrize("get_grad", [dg.get_grad, ops.get_grad], ids=["dualgrad", "ops"])
@pytest.mark.parametrize("single", [False, True], ids=["collection", "one parameter"])
@pytest.mark.parametrize("position", [None, 0, (1, 0)], ids=str)
def test_get_grad_finds_positions_and_parameters(net, get_grad, single, position):
    weights = net.w if single else ParameterTuple([net.w, net.b])
    result = dg.grad(net, position, weights, return_ids=True)(X, Y)
    expected = net.gradients(X, Y)
    assert_close(get_grad(result, net.w), expected["w"])
    if not single:
        assert_close(get_grad(result, net.b), expected["b"])
    if position is not None:
        assert_close(get_grad(result, 0), expected["x"])
    if position == (1, 0):
        assert_close(get_grad(result, 1), expected["y"])


def test_get_grad_of_a_position_alone(net):
    assert_close(dg.get_grad(dg.grad(net, 1, return_ids=True)(X, Y), 1), net.gradients(X, Y)["y"])


def test_ids_of_weights_in_cells_are_their_full_names():
    class Outer(dg.nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Curve()
            self.scale = Parameter(np.array([5.0]))

        def construct(self, x):
            return self.scale * self.inner(x, x)

    net = Outer()
    result = dg.grad(net, None, net.trainable_params(), return_ids=True)(X)
    assert [name for name, _gradient in result] == ["scale", "inner.w", "inner.b"]


def test_vjp_of_a_dict():
    x = f64([1.0, 2.0])
    _, pull = dg.vjp(lambda x: {"a": x * x, "b": [x]}, x)
    np.testing.assert_array_equal(pull({"a": x, "b": [x]})[0].asnumpy(), [3.0, 10.0])
    with pytest.raises(ValueError, match="keys"):
        pull({"a": x})
