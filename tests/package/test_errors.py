"""Errors of the transforms: the type, and a message that names the call, the argument and a remedy.

Each is raised in both modes, at the line that causes it.
"""

import re
import traceback

import numpy as np
import pytest
from support import Curve, assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

X = f64([1.0, 2.0])
TRANSFORMS = pytest.mark.parametrize("transform", [dg.grad, dg.value_and_grad], ids=["grad", "value_and_grad"])


def square(x):
    return x * x


def shown(value):
    """The names that a message may use for a value: its type or its repr."""
    return type(value).__name__, repr(value)


BOOL = "bool", "True or False"


# ----------------------------------------------------------------------------------------------- construction


@pytest.mark.parametrize("flag", ["get_all", "get_by_list", "sens_param"])
@pytest.mark.parametrize("value", [1, 0, None, "True"], ids=repr)
def test_flags_of_grad_operation_are_bools(flag, value):
    assert_raises(TypeError, lambda: ops.GradOperation(**{flag: value}), flag, BOOL, shown(value))


@TRANSFORMS
def test_a_position_or_weights_are_needed(transform):
    assert_raises(ValueError, lambda: transform(square, None, None), "grad_position", "weights")


@TRANSFORMS
@pytest.mark.parametrize(
    ("position", "culprit"),
    [
        ("a", "a"),
        (1.5, 1.5),
        ([0], [0]),
        ((0, "a"), "a"),
        ((0, 1.0), 1.0),
        ((None,), None),
        (True, True),
        ((True, 1), True),
    ],
    ids=repr,
)
def test_positions_are_ints(transform, position, culprit):
    assert_raises(TypeError, lambda: transform(square, position), "grad_position", "int", shown(culprit))


@TRANSFORMS
@pytest.mark.parametrize(
    ("position", "word"),
    [(-1, "-1"), ((0, -2), "-2"), ((1, 1), ("twice", "duplicate", "more than once")), ((), "empty")],
    ids=repr,
)  # fmt: skip
def test_positions_are_different_and_not_negative(transform, position, word):
    assert_raises(ValueError, lambda: transform(square, position), "grad_position", word)


@TRANSFORMS
@pytest.mark.parametrize("flag", ["has_aux", "return_ids", "sens_param"])
@pytest.mark.parametrize("value", [1, 0, None], ids=repr)
def test_flags_of_grad_are_bools(transform, flag, value):
    assert_raises(TypeError, lambda: transform(square, **{flag: value}), flag, BOOL, shown(value))


# ------------------------------------------------------------------------------------------------------ calls


@TRANSFORMS
@pytest.mark.parametrize("position", [1, 7, (0, 5)], ids=repr)
def test_a_position_beyond_the_inputs_is_two_kinds_of_error(transform, position):
    number = str(position if isinstance(position, int) else position[-1])
    for kind in IndexError, RuntimeError:
        assert_raises(kind, lambda: transform(square, position)(X), "grad_position", number, "input")


@TRANSFORMS
@pytest.mark.parametrize("other", [3, True, None, "text", np.array([1, 2])], ids=lambda x: type(x).__name__)
def test_a_position_that_names_no_tensor(transform, other):
    call = transform(lambda other, x: x * x, (0, 1))
    assert_raises(TypeError, lambda: call(other, X), "grad_position", type(other).__name__, "Tensor")


@pytest.mark.parametrize("thing", [3, "text", None, X], ids=["int", "str", "None", "tensor"])
def test_only_what_can_be_called_is_differentiated(thing):
    words = ("call", "function"), type(thing).__name__
    assert_raises(TypeError, lambda: dg.grad(thing)(X), *words)
    assert_raises(TypeError, lambda: dg.value_and_grad(thing)(X), *words)
    assert_raises(TypeError, lambda: ops.GradOperation()(thing)(X), *words)


@pytest.mark.parametrize("inputs", [(), (X, X), (X, X, X)], ids=len)
def test_a_wrong_number_of_arguments(inputs):
    class Net(nn.Cell):
        def construct(self, x):
            return x * x

    for function in square, Net():
        assert_raises(TypeError, lambda function=function: ops.GradOperation()(function)(*inputs), "argument")
        if inputs:  # else a position is beyond the inputs
            assert_raises(TypeError, lambda function=function: dg.grad(function)(*inputs), "argument")
    assert_raises(TypeError, lambda: Net()(*inputs), "argument")


def test_unknown_keywords():
    assert_raises(TypeError, lambda: dg.grad(square)(X, colour=X), "colour")
    assert_raises(TypeError, lambda: ops.GradOperation()(square)(X, sens=X), "sens")


@TRANSFORMS
@pytest.mark.parametrize("f", [square, lambda x: (x,), lambda x: [x], lambda x: {"a": x, "b": x}])
def test_has_aux_needs_two_outputs(transform, f):
    assert_raises(ValueError, lambda: transform(f, has_aux=True)(X), "has_aux", ("two", "2"))


@pytest.mark.parametrize(
    ("weights", "culprit"),
    [
        (3, "int"),
        ("w", "str"),
        (X, "Tensor"),
        ([X], "Tensor"),
        ([Parameter(1.0, name="w"), None], "NoneType"),
    ],
    ids=["int", "str", "tensor", "list of tensors", "None inside"],
)
def test_weights_are_parameters(weights, culprit):
    words = "weights", "Parameter", culprit
    assert_raises(TypeError, lambda: dg.grad(square, 0, weights)(X), *words)
    assert_raises(TypeError, lambda: dg.value_and_grad(square, None, weights)(X), *words)
    assert_raises(TypeError, lambda: ops.GradOperation(get_by_list=True)(square, weights)(X), *words)


# ---------------------------------------------------------------------------------------------- sensitivities


@pytest.mark.parametrize("shape", [(1,), (), (3,), (1, 2), (2, 1)], ids=str)
def test_the_sensitivity_has_the_shape_of_the_output(shape):
    sens = f64(np.ones(shape))
    for function in ops.GradOperation(sens_param=True)(square), dg.grad(square, sens_param=True):
        assert_raises(ValueError, lambda function=function: function(X, sens), "sens", str(shape), "(2,)")


@pytest.mark.parametrize("dtype", [dg.float32, dg.float16, dg.int64, dg.bool_], ids=str)
def test_the_sensitivity_has_the_type_of_the_output(dtype):
    sens = Tensor([1, 1], dtype)
    for function in ops.GradOperation(sens_param=True)(square), dg.grad(square, sens_param=True):
        assert_raises(TypeError, lambda function=function: function(X, sens), "sens", str(dtype), "float64")


@pytest.mark.parametrize("sens", [1.0, 1, None, "one", True], ids=repr)
def test_the_sensitivity_is_a_tensor(sens):
    function = ops.GradOperation(sens_param=True)(square)
    words = "sens", "Tensor", type(sens).__name__
    assert_raises(TypeError, lambda: function(X, sens), *words)
    assert_raises(TypeError, lambda: function(X, sens=sens), *words)


@pytest.mark.parametrize("sens", [X, (X,), (X, X, X), (X, X), (X, (X, X, X))], ids=["bare", "1", "3", "flat", "deep"])
def test_the_sensitivity_has_the_nesting_of_the_output(sens):
    function = ops.GradOperation(sens_param=True)(lambda x: (x, (x * 2, x * 3)))
    assert_raises(ValueError, lambda: function(X, sens), "sens")
    assert_close(function(X, (X, (X, X))), [6.0, 12.0])


def test_a_tuple_for_a_single_output():
    assert_raises(ValueError, lambda: ops.GradOperation(sens_param=True)(square)(X, (X,)), "sens")


def test_a_missing_sensitivity():
    assert_raises(TypeError, lambda: ops.GradOperation(sens_param=True)(square)(X), "argument")
    assert_raises(TypeError, lambda: ops.GradOperation(sens_param=True)(square)(), ("argument", "sens"))


# ----------------------------------------------------------------------------------------- get_grad, jvp, vjp


def test_get_grad():
    net = Curve()
    with_ids = dg.grad(net, 0, net.w, return_ids=True)(X, X)
    plain = dg.grad(net, (0, 1))(X, X)
    assert_raises(RuntimeError, lambda: dg.get_grad(with_ids, 1), "1", ("not found", "no gradient"))
    assert_raises(RuntimeError, lambda: dg.get_grad(with_ids, net.b), "b", ("not found", "no gradient"))
    for key in "w", 1.0, None:
        words = ("int", "position"), "Parameter", shown(key)
        assert_raises(TypeError, lambda key=key: dg.get_grad(with_ids, key), *words)
    assert_raises(ValueError, lambda: dg.get_grad(plain, 0), "return_ids")
    assert_raises(ValueError, lambda: dg.get_grad(plain[0], 0), "return_ids")


def test_jvp():
    def f(x, y):
        return x * y

    assert_raises(ValueError, lambda: dg.jvp(f, (X, X), (X,)), "jvp", "2", "1")
    assert_raises(ValueError, lambda: dg.jvp(f, (X, X), (X, f64([1.0]))), "jvp", "(2,)", "(1,)")
    assert_raises(TypeError, lambda: dg.jvp(square, X, f32([1.0, 1.0])), "jvp", "float64", "float32")
    assert_raises(TypeError, lambda: dg.jvp(3, X, X), ("call", "function"), "int")


def test_vjp():
    _outputs, pull = dg.vjp(square, X)
    assert_raises(ValueError, lambda: pull(f64([1.0])), "(2,)", "(1,)")
    assert_raises(TypeError, lambda: pull(f32([1.0, 1.0])), "float64", "float32")
    assert_close(pull(X), ([2.0, 8.0],))


# ------------------------------------------------------------------------------------- where and what remains


def test_an_error_comes_at_the_line_that_causes_it():
    class Net(nn.Cell):
        def construct(self, x):
            y = x * 2.0
            z = ops.matmul(y, f64(np.ones((5, 5))))  # the culprit
            return z + 1.0

    for call in lambda: Net()(X), lambda: dg.grad(Net())(X), lambda: dg.grad(dg.grad(Net()))(X):
        with pytest.raises(ValueError, match=r"\(5, 5\)") as caught:
            call()
        own = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
        assert "the culprit" in own[-1].line


class Deliberate(Exception):
    """Raised by functions that are to fail."""


def failing_at(depth):
    """A function that differentiates to the given depth and then raises, with values of all levels in use."""

    def innermost(x):
        raise Deliberate

    function = innermost
    for _ in range(depth):
        function = (lambda inner: lambda x: x * dg.grad(lambda y: inner(y) * x)(x * x))(function)
    return function


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5])
def test_a_thousand_errors_leave_no_level_open(depth):
    failing = dg.grad(failing_at(depth))
    for _ in range(1000):
        with pytest.raises(Deliberate):
            failing(X)
    assert_close(dg.grad(lambda x: x**3)(X), [3.0, 12.0])
    assert_close(dg.grad(lambda x: x * dg.grad(lambda y: x * y)(x))(X), [2.0, 4.0])
    assert_close(X * 1.0, [1.0, 2.0])


@pytest.mark.parametrize(
    "failing",
    [
        lambda: dg.value_and_grad(failing_at(1), has_aux=True)(X),
        lambda: ops.GradOperation(get_all=True)(failing_at(2))(X),
        lambda: dg.grad(square, 4)(X),
        lambda: dg.grad(lambda x: (x,), has_aux=True)(X),
        lambda: ops.GradOperation(sens_param=True)(square)(X, f64([1.0])),
        lambda: dg.grad(lambda x: x @ f64(np.ones((3, 3))))(X),
        lambda: dg.grad(lambda x: x[7])(X),
        lambda: dg.grad(dg.grad(lambda x, y: x))(X),
        lambda: dg.jvp(failing_at(1), X, X),
        lambda: dg.vjp(failing_at(1), X),
    ],
)
def test_errors_of_every_kind_leave_no_level_open(failing):
    for _ in range(50):
        with pytest.raises((Deliberate, ValueError, TypeError, IndexError)):
            failing()
    assert_close(dg.grad(dg.grad(lambda x: x**3))(X), [6.0, 12.0])


def test_an_error_caught_inside_a_differentiated_function():
    def f(x):
        try:
            dg.grad(failing_at(2))(x)
        except Deliberate:
            return x**3
        return x

    assert_close(dg.grad(f)(X), [3.0, 12.0])
    assert_close(dg.grad(dg.grad(f))(X), [6.0, 12.0])


def test_messages_do_not_show_the_inside():
    inside = re.compile(r"0x[0-9a-f]{6,}|\.pyx|_engine|cython", re.IGNORECASE)
    for call in (
        lambda: X + f64([1.0, 2.0, 3.0]),
        lambda: ops.matmul(X, f64([1.0, 2.0, 3.0])),
        lambda: ops.sin("text"),
        lambda: dg.grad(square, 3)(X),
        lambda: ops.GradOperation(get_all=1),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)) as caught:
            call()
        assert not inside.search(str(caught.value))
