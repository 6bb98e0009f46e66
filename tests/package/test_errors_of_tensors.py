"""Errors of operators, tensors, parameters, Cells, losses and the context: type, and words of the message."""

import operator

import numpy as np
import pytest
from support import assert_raises, f32, f64, i32

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

WIDE, TALL = f64(np.ones((2, 3))), f64(np.ones((4, 5)))
SHAPES = "(2, 3)", "(4, 5)"

# -------------------------------------------------------------------------------------------------- operators

BROADCASTING = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "maximum": ops.maximum,
    "minimum": ops.minimum,
    "atan2": ops.atan2,
    "greater": operator.gt,
    "equal": operator.eq,
    "where": lambda a, b: ops.where(a > 0, a, b),
}
ALIASES = {
    "sub": ("sub", "-"),
    "div": ("div", "/"),
    "pow": ("pow", "**"),
    "greater": ("greater", "gt", ">"),
    "equal": ("eq", "=="),
    "where": ("where", "select"),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", BROADCASTING)
def test_shapes_that_do_not_broadcast(name):
    function, words = BROADCASTING[name], (ALIASES.get(name, name), *SHAPES, "broadcast")
    assert_raises(ValueError, lambda: function(WIDE, TALL), *words)
    assert_raises(ValueError, lambda: dg.grad(function)(WIDE, TALL), *words)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(
    "function",
    [operator.matmul, ops.matmul, ops.mm, ops.MatMul(), ops.BatchMatMul(), np.matmul],
    ids=["@", "matmul", "mm", "MatMul", "BatchMatMul", "np.matmul"],
)
def test_matrices_that_do_not_fit(function):
    name = "mm" if function is ops.mm else "matmul"
    assert_raises(ValueError, lambda: function(WIDE, TALL), (name, "matmul"), *SHAPES)
    assert_raises(ValueError, lambda: dg.grad(function)(WIDE, TALL), (name, "matmul"), *SHAPES)


@pytest.mark.parametrize(
    ("left", "right"),
    [((), (3,)), ((3,), ()), ((2, 3), (2,)), ((5, 2, 3), (4, 3, 2))],
    ids=str,
)
def test_matmul_of_other_shapes(left, right):
    a, b = f64(np.ones(left)), f64(np.ones(right))
    assert_raises(ValueError, lambda: ops.matmul(a, b), "matmul", str(left), str(right))


@pytest.mark.parametrize("function", [ops.matmul, ops.MatMul(), ops.BatchMatMul()])
def test_matrices_of_two_types(function):
    a, b = f32(np.ones((2, 2))), f64(np.ones((2, 2)))
    assert_raises(TypeError, lambda: function(a, b), "matmul", "float32", "float64", ("cast", "astype"))
    assert_raises(TypeError, lambda: function(a, i32(np.ones((2, 2)))), "matmul", "float32", "int32")


@pytest.mark.parametrize("shape", [(2,), (1, 2, 2)], ids=str)
def test_the_primitive_matmul_takes_matrices_only(shape):
    square, other = f64(np.ones((2, 2))), f64(np.ones(shape))
    two = "2-d", "2d", "two dimensions", "2 dimensions", "two-dimensional", "matrices"
    assert_raises(ValueError, lambda: ops.MatMul()(square, other), "MatMul", str(shape), two)
    assert_raises(ValueError, lambda: ops.MatMul()(other, square), "MatMul", str(shape), two)


REJECTED_SHAPES = {
    "reshape": (lambda: ops.reshape(WIDE, (4, 2)), ("reshape", "(2, 3)", "(4, 2)")),
    "reshape with two -1": (lambda: ops.reshape(WIDE, (-1, -1)), ("reshape", "-1")),
    "reshape with a rest": (lambda: ops.reshape(WIDE, (-1, 4)), ("reshape", "(2, 3)", "(-1, 4)")),
    "transpose": (lambda: ops.transpose(WIDE, (0, 0)), ("transpose", "(0, 0)")),
    "transpose of too few": (lambda: ops.transpose(WIDE, (0,)), ("transpose", "(0,)", "(2, 3)")),
    "broadcast_to": (lambda: ops.broadcast_to(WIDE, (4, 3)), ("broadcast_to", "(2, 3)", "(4, 3)")),
    "squeeze": (lambda: ops.squeeze(WIDE, 0), ("squeeze", "(2, 3)", "0")),
    "cat": (lambda: ops.cat((WIDE, TALL), 0), (("cat", "concat"), *SHAPES)),
    "cat of nothing": (lambda: ops.cat((), 0), (("cat", "concat"), ("empty", "at least one", "one or more"))),
    "stack": (lambda: ops.stack((WIDE, TALL), 0), ("stack", *SHAPES)),
    "bmm": (lambda: ops.bmm(WIDE, TALL), ("bmm", "(2, 3)")),
    "outer": (lambda: ops.outer(WIDE, TALL), ("outer", "(2, 3)")),
    "split": (lambda: ops.Split(1, 2)(WIDE), ("split", "(2, 3)", "2")),
    "trace": (lambda: ops.trace(f64([1.0])), ("trace", "(1,)")),
    "mse_loss": (lambda: ops.mse_loss(WIDE, TALL), (("mse_loss", "broadcast"), *SHAPES)),
}


@pytest.mark.parametrize("name", REJECTED_SHAPES)
def test_shapes_that_an_operator_cannot_take(name):
    call, words = REJECTED_SHAPES[name]
    assert_raises(ValueError, call, *words)


AXES = {
    "sum": lambda: ops.sum(WIDE, 2),
    "mean": lambda: ops.mean(WIDE, -3),
    "max": lambda: ops.max(WIDE, 5),
    "prod": lambda: ops.prod(WIDE, 2),
    "argmax": lambda: ops.argmax(WIDE, 2),
    "cumsum": lambda: ops.cumsum(WIDE, 3),
    "softmax": lambda: ops.softmax(WIDE, axis=2),
    "logsumexp": lambda: ops.logsumexp(WIDE, 2),
    "expand_dims": lambda: ops.expand_dims(WIDE, 4),
    "concat": lambda: ops.Concat(2)((WIDE, WIDE)),
    "stack": lambda: ops.stack((WIDE, WIDE), 4),
    "gather": lambda: ops.gather(WIDE, i32([0]), 2),
    "flip": lambda: ops.flip(WIDE, (2,)),
    "swapaxes": lambda: WIDE.swapaxes(0, 2),
}


@pytest.mark.parametrize("name", AXES)
def test_an_axis_that_is_not_there(name):
    name_or_alias = {"concat": ("concat", "cat"), "sum": ("sum", "reduce")}.get(name, name)
    # numpy.exceptions.AxisError is both a ValueError and an IndexError
    assert_raises((ValueError, IndexError), AXES[name], name_or_alias, ("axis", "dim"), ("2", "(2, 3)"))


@pytest.mark.parametrize("other", ["text", None, object(), {}], ids=["str", "None", "object", "dict"])
@pytest.mark.parametrize("name", ["sin", "sqrt", "matmul", "add", "maximum", "sum", "reshape"])
def test_operators_take_tensors_and_numbers(name, other):
    more = {"matmul": (WIDE,), "add": (WIDE,), "maximum": (WIDE,), "reshape": ((3, 2),)}.get(name, ())
    assert_raises(TypeError, lambda: getattr(ops, name)(other, *more), name, type(other).__name__)


@pytest.mark.parametrize("other", ["text", None, object(), {}], ids=["str", "None", "object", "dict"])
def test_python_operators_with_strangers(other):
    for op in operator.add, operator.mul, operator.truediv, operator.pow, operator.matmul, operator.lt:
        # Python raises its own error when a string is multiplied.
        words = () if op is operator.mul and other == "text" else (type(other).__name__,)
        assert_raises(TypeError, lambda op=op: op(WIDE, other), *words)
        assert_raises(TypeError, lambda op=op: op(other, WIDE), *words)


# ---------------------------------------------------------------------------------------------------- tensors


@pytest.mark.parametrize(
    "data", ["a", object(), lambda: 1, ["a", "b"], [None], np.array(["a"]), np.array([object()])],
    ids=["str", "object", "function", "strings", "None inside", "array of text", "array of objects"],
)  # fmt: skip
def test_a_tensor_is_made_of_numbers(data):
    assert_raises(TypeError, lambda: Tensor(data), "Tensor")


def test_a_tensor_of_none_or_nothing():
    assert_raises(TypeError, lambda: Tensor(None), "Tensor", ("None", "input_data", "shape"))
    assert_raises((TypeError, ValueError), lambda: Tensor(), "Tensor", ("input_data", "shape"))


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1, [2, 3]], [[1.0], 2.0]], ids=repr)
def test_ragged_lists(data):
    assert_raises((TypeError, ValueError), lambda: Tensor(data), ("ragged", "shape", "length", "inhomogeneous"))


@pytest.mark.parametrize("dtype", ["float33", "text", 3, object, np.dtype("U3")], ids=repr)
def test_types_that_are_none(dtype):
    assert_raises((TypeError, ValueError), lambda: Tensor([1.0], dtype), ("dtype", "type"))
    assert_raises((TypeError, ValueError), lambda: WIDE.astype(dtype), ("dtype", "type"))


def test_the_truth_of_many_elements():
    assert_raises(ValueError, lambda: bool(f64([1.0, 2.0])), ("any", "all"), ("(2,)", "2 elements", "one element"))
    assert_raises(ValueError, lambda: bool(ops.zeros((0,), dg.float32)), ("any", "all", "empty"))


# --------------------------------------------------------------------------------------- parameters and Cells


def test_parameter_tuples():
    w = Parameter(1.0, name="w")
    assert_raises(TypeError, lambda: ParameterTuple([w, f64(1.0)]), "ParameterTuple", "Tensor")
    assert_raises(TypeError, lambda: ParameterTuple([w, None]), "ParameterTuple", "NoneType")
    assert_raises(TypeError, lambda: ParameterTuple(3), "ParameterTuple", "int")
    assert_raises(TypeError, lambda: ParameterTuple(w), "ParameterTuple")
    assert_raises(ValueError, lambda: ParameterTuple([w, Parameter(2.0, name="w")]), "ParameterTuple", "w", "name")


def test_new_values_of_a_parameter_have_its_shape():
    parameter = Parameter(f64([1.0, 2.0]), name="weight")
    assert_raises(ValueError, lambda: parameter.set_data(f64([1.0])), "weight", "(2,)", "(1,)")
    assert parameter.asnumpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("value", [lambda: Parameter(1.0, name="w"), lambda: nn.Dense(1, 1)], ids=["Parameter", "Cell"])
def test_attributes_before_init(value):
    class Early(nn.Cell):
        def __init__(self):
            self.part = value()
            super().__init__()

    assert_raises(AttributeError, Early, "super().__init__()", "part")


@pytest.mark.usefixtures("mode")
def test_a_cell_without_construct():
    class Empty(nn.Cell):
        pass

    assert_raises(AttributeError, lambda: Empty()(WIDE), "construct", "Empty")
    assert_raises(AttributeError, lambda: dg.grad(Empty())(WIDE), "construct", "Empty")


def test_an_attribute_that_is_not_there():
    assert_raises(AttributeError, lambda: nn.Dense(1, 1).wieght, "Dense", "wieght")


@pytest.mark.usefixtures("mode")
def test_dense_with_inputs_of_another_width():
    assert_raises(ValueError, lambda: nn.Dense(3, 2)(f32(np.ones((4, 5)))), "(4, 5)", ("3", "(2, 3)"))


@pytest.mark.parametrize("loss", [nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss])
@pytest.mark.parametrize("reduction", ["average", "MEAN ", "", None, 3], ids=repr)
def test_unknown_reductions(loss, reduction):
    words = "reduction", "mean", "sum", "none", str(reduction)
    assert_raises(ValueError, lambda: loss(reduction=reduction), *words)


@pytest.mark.parametrize("function", [ops.mse_loss, ops.l1_loss])
def test_unknown_reductions_of_functions(function):
    words = function.__name__, "reduction", "mean", "sum", "none", "average"
    assert_raises(ValueError, lambda: function(WIDE, WIDE, reduction="average"), *words)


@pytest.mark.parametrize("make", [nn.SGD, lambda p: nn.Momentum(p, 0.1, 0.9), nn.Adam], ids=["SGD", "Momentum", "Adam"])
def test_parameters_of_an_optimiser(make):
    assert_raises(TypeError, lambda: make(3), "param", "int")
    assert_raises(TypeError, lambda: make([f64(1.0)]), "Parameter", "Tensor")
    assert_raises(ValueError, lambda: make([]), "param", ("empty", "none", "no "))
    opt = make([Parameter(f64([1.0]), name="w"), Parameter(f64([1.0]), name="b")])
    assert_raises(ValueError, lambda: opt((f64([1.0]),)), "gradient", "2", "1")
    assert_raises(ValueError, lambda: opt((f64([1.0]), f64([1.0, 2.0]))), "(1,)", "(2,)", "b")


# ------------------------------------------------------------------------------------------------ the context


def test_set_context():
    before = dg.get_context("mode")
    assert_raises(ValueError, lambda: dg.set_context(mood=1), "mood")
    for mode in 2, -1, "graph":
        assert_raises(ValueError, lambda mode=mode: dg.set_context(mode=mode), "mode", str(mode))
    assert_raises(ValueError, lambda: dg.set_context(device_target="TPU"), "device_target", "TPU", "CPU")
    assert dg.get_context("mode") == before
