"""The documented examples S1 to S18, with the imports that users write.

Each runs in both modes, inside the ``construct`` of a second Cell as in the documentation, and directly.
"""

import numpy as np
import pytest
from support import assert_prints, assert_shows, f32, printed

import dualgrad as dg
import dualgrad.context as context
import dualgrad.nn as nn
import dualgrad.ops as ops
from dualgrad import Parameter, Tensor
from dualgrad import dtype as mstype
from dualgrad.common import ParameterTuple
from dualgrad.ops import composite as C
from dualgrad.ops import functional as F
from dualgrad.ops import operations as P
from dualgrad.ops import stop_gradient

pytestmark = pytest.mark.usefixtures("mode")

XA = f32([[0.5, 0.6, 0.4], [1.2, 1.3, 1.1]])
YA = f32([[0.01, 0.3, 1.1], [0.1, 0.2, 1.3], [2.1, 1.2, 3.3]])
XB = f32([[0.8, 0.6, 0.2], [1.8, 1.3, 1.1]])
YB = f32([[0.11, 3.3, 1.1], [1.1, 0.2, 1.4], [1.1, 2.2, 0.3]])
XC = f32([[0.1, 0.6, 1.2], [0.5, 1.3, 0.1]])
YC = f32([[0.12, 2.3, 1.1], [1.3, 0.2, 2.4], [0.1, 2.2, 0.3]])
SB = f32([[0.1, 0.6, 0.2], [0.8, 1.3, 1.1]])


class ScaledProduct(nn.Cell):
    """(x * z) @ y with one weight z."""

    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()
        self.z = Parameter(Tensor(np.array([1.0], np.float32)), name="z")

    def construct(self, x, y):
        return self.matmul(x * self.z, y)


class Line(nn.Cell):
    """x * w + b; the weights keep their type, float64 too."""

    def __init__(self, w, b, detached=False):
        super().__init__()
        self.w, self.b = w, b
        self.detached = detached

    def construct(self, x):
        out = x * self.w + self.b
        return stop_gradient(out) if self.detached else out


class Gradient(nn.Cell):
    """The second Cell of the documentation: it holds the net, the operation and the other arguments."""

    def __init__(self, net, operation, weights=None, sens=None):
        super().__init__()
        self.net = net
        self.operation = operation
        self.weights = weights
        self.sens = sens

    def construct(self, *inputs):
        gradient = self.operation(self.net, self.weights)
        if self.sens is None:
            return gradient(*inputs)
        return gradient(*inputs, self.sens)


@pytest.fixture(params=["direct", "in a Cell"])
def gradient(request):
    """``gradient(operation, net, inputs, weights=None, sens=None)``, called directly or inside a Cell."""

    def direct(operation, net, inputs, weights=None, sens=None):
        inputs = inputs if sens is None else (*inputs, sens)
        return operation(net, weights)(*inputs)

    def inside(operation, net, inputs, weights=None, sens=None):
        return Gradient(net, operation, weights, sens)(*inputs)

    return direct if request.param == "direct" else inside


def test_import_forms_name_the_same_objects():
    assert P.MatMul is ops.MatMul
    assert C.GradOperation is ops.GradOperation
    assert F.stop_gradient is ops.stop_gradient is stop_gradient
    assert dg.common.dtype is mstype
    assert dg.common.ParameterTuple is dg.ParameterTuple
    assert (context.GRAPH_MODE, context.PYNATIVE_MODE) == (dg.GRAPH_MODE, dg.PYNATIVE_MODE) == (0, 1)


def test_s1_first_input(gradient):
    dx = gradient(ops.GradOperation(), ScaledProduct(), (XA, YA))
    assert_shows(dx, "[[1.4100001 1.5999999 6.6      ]\n [1.4100001 1.5999999 6.6      ]]")


def test_s2_all_inputs(gradient):
    result = gradient(ops.GradOperation(get_all=True), ScaledProduct(), (XB, YB))
    assert_prints(
        printed(result),
        "(Tensor(shape=[2, 3], dtype=Float32, value=\n"
        "[[ 4.50999975e+00,  2.70000005e+00,  3.60000014e+00],\n"
        " [ 4.50999975e+00,  2.70000005e+00,  3.60000014e+00]]),"
        " Tensor(shape=[3, 3], dtype=Float32, value=\n"
        "[[ 2.59999990e+00,  2.59999990e+00,  2.59999990e+00],\n"
        " [ 1.89999998e+00,  1.89999998e+00,  1.89999998e+00],\n"
        " [ 1.30000007e+00,  1.30000007e+00,  1.30000007e+00]]))",
    )


def test_s3_all_inputs_with_a_sensitivity(gradient):
    operation = ops.GradOperation(get_all=True, sens_param=True)
    result = gradient(operation, ScaledProduct(), (XB, YB), sens=SB)
    assert_prints(
        printed(result),
        "(Tensor(shape=[2, 3], dtype=Float32, value=\n"
        "[[ 2.21099997e+00,  5.09999990e-01,  1.49000001e+00],\n"
        " [ 5.58799982e+00,  2.68000007e+00,  4.07000017e+00]]),"
        " Tensor(shape=[3, 3], dtype=Float32, value=\n"
        "[[ 1.51999998e+00,  2.81999993e+00,  2.14000010e+00],\n"
        " [ 1.09999990e+00,  2.04999971e+00,  1.54999995e+00],\n"
        " [ 9.00000036e-01,  1.54999995e+00,  1.25000000e+00]]))",
    )


def test_s4_weights(gradient):
    net = ScaledProduct()
    weights = ParameterTuple(net.trainable_params())
    result = gradient(ops.GradOperation(get_by_list=True), net, (XB, YB), weights)
    assert_prints(printed(result), "(Tensor(shape=[1], dtype=Float32, value= [ 2.15359993e+01]),)")


def test_s5_inputs_and_weights(gradient):
    net = ScaledProduct()
    weights = ParameterTuple(net.trainable_params())
    result = gradient(ops.GradOperation(get_all=True, get_by_list=True), net, (XC, YC), weights)
    assert_prints(
        printed(result),
        "((Tensor(shape=[2, 3], dtype=Float32, value=\n"
        "[[ 3.51999998e+00,  3.90000010e+00,  2.59999990e+00],\n"
        " [ 3.51999998e+00,  3.90000010e+00,  2.59999990e+00]]),"
        " Tensor(shape=[3, 3], dtype=Float32, value=\n"
        "[[ 6.00000024e-01,  6.00000024e-01,  6.00000024e-01],\n"
        " [ 1.89999998e+00,  1.89999998e+00,  1.89999998e+00],\n"
        " [ 1.30000007e+00,  1.30000007e+00,  1.30000007e+00]])),"
        " (Tensor(shape=[1], dtype=Float32, value= [ 1.29020004e+01]),))",
    )


def test_s6_first_input_again(gradient):
    dx = gradient(ops.GradOperation(), ScaledProduct(), (XB, YB))
    assert_shows(dx, "[[4.5099998 2.7       3.6000001]\n [4.5099998 2.7       3.6000001]]")


def test_s7_first_input_with_a_sensitivity(gradient):
    dx = gradient(ops.GradOperation(sens_param=True), ScaledProduct(), (XB, YB), sens=SB)
    assert_shows(dx, "[[2.211 0.51 1.49]\n [5.588 2.68 4.07]]")


def test_s8_one_element_of_the_output(gradient):
    class OneElement(ScaledProduct):
        def construct(self, x, y):
            return super().construct(x, y)[0][0]

    dx = gradient(ops.GradOperation(), OneElement(), (XB, YB))
    assert_shows(dx, "[[0.11 1.1 1.1]\n [0. 0. 0.]]")


class TwoProducts(nn.Cell):
    def __init__(self, stop):
        super().__init__()
        self.matmul = P.MatMul()
        self.stop = stop

    def construct(self, x, y):
        out1 = self.matmul(x, y)
        out2 = self.matmul(x, y)
        return out1 + (stop_gradient(out2) if self.stop else out2)


def test_s9_stopped_part(gradient):
    dx = gradient(ops.GradOperation(), TwoProducts(stop=True), (XB, YB))
    assert_shows(dx, "[[4.51 2.7 3.6]\n [4.51 2.7 3.6]]")


def test_s10_without_the_stop(gradient):
    dx = gradient(ops.GradOperation(), TwoProducts(stop=False), (XB, YB))
    assert_shows(dx, "[[9.02 5.4 7.2]\n [9.02 5.4 7.2]]")


def wide_line(detached=False):
    w = Parameter(np.array([6.0]), name="w")
    b = Parameter(np.array([1.0]), name="b")
    return Line(w, b, detached)


def test_s11_float64_weights_and_float32_input(gradient):
    net = wide_line()
    assert net.w.dtype == mstype.float64
    dx = gradient(ops.GradOperation(), net, (Tensor([100], dtype=mstype.float32),))
    assert_shows(dx, "[6.]")
    assert dx.dtype == mstype.float32


@pytest.mark.parametrize(
    ("detached", "expected"),
    [
        pytest.param(False, "wgrad: [100.]\nbgrad: [1.]", id="S12"),
        pytest.param(True, "wgrad: [0.]\nbgrad: [0.]", id="S15"),
    ],
)
def test_s12_and_s15_weights_in_a_formatted_string(gradient, detached, expected):
    net = wide_line(detached)
    weights = ParameterTuple(net.trainable_params())
    fx = gradient(ops.GradOperation(get_by_list=True), net, (Tensor([100], dtype=mstype.float32),), weights)
    assert f"wgrad: {fx[0]}\nbgrad: {fx[1]}" == expected


def half_frozen_line():
    w = Parameter(Tensor(np.array([6], np.float32)), name="w")
    b = Parameter(Tensor(np.array([1], np.float32)), name="b", requires_grad=False)
    return Line(w, b)


def test_s13_frozen_bias(gradient):
    net = half_frozen_line()
    weights = ParameterTuple(net.trainable_params())
    result = gradient(ops.GradOperation(get_by_list=True), net, (Tensor([5], dtype=mstype.float32),), weights)
    assert_prints(printed(result), "(Tensor(shape=[1], dtype=Float32, value= [ 5.00000000e+00]),)")


def test_s14_scaled_gradient(gradient):
    sens = Tensor([0.1], dtype=mstype.float32)
    x = Tensor([6], dtype=mstype.float32)
    assert_shows(gradient(ops.GradOperation(sens_param=True), half_frozen_line(), (x,), sens=sens), "[0.6]")


class Sine(nn.Cell):
    def __init__(self):
        super().__init__()
        self.sin = ops.Sin()

    def construct(self, x):
        return self.sin(x)


class Squared(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul()

    def construct(self, x):
        return self.mul(x, x)


@pytest.mark.parametrize(
    ("net", "point", "expected"),
    [
        pytest.param(Sine, [1.0], "[-0.841471]", id="S16"),
        pytest.param(Squared, [0.1, 0.2, 0.3], "[2. 2. 2.]", id="S17"),
    ],
)
def test_s16_and_s17_second_derivative(gradient, net, point, expected):
    operation = ops.GradOperation()
    second = gradient(operation, Gradient(net(), operation), (f32(point),))
    assert_shows(second, expected)
    assert_shows(operation(operation(net()))(f32(point)), expected)


def test_s16_exact_text():
    operation = ops.GradOperation()
    second = Gradient(Gradient(Sine(), operation), operation)(Tensor(np.array([1.0], np.float32)))
    assert_prints(printed((second,)), "(Tensor(shape=[1], dtype=Float32, value= [-8.41470957e-01]),)")


class SquareTimes(nn.Cell):
    """x * x * y."""

    def __init__(self):
        super().__init__()
        self.mul = ops.Mul()

    def construct(self, x, y):
        return self.mul(self.mul(x, x), y)


def test_s18_four_second_derivatives(gradient):
    one = Tensor(np.array([1]).astype("float32"))
    zero = Tensor(np.array([0]).astype("float32"))
    inputs = (Tensor(np.array([4]).astype("float32")), Tensor(np.array([5]).astype("float32")))
    first = Gradient(SquareTimes(), ops.GradOperation(get_all=True))
    second = ops.GradOperation(get_all=True, sens_param=True)
    dxdx, dxdy = gradient(second, first, inputs, sens=(one, zero))
    dydx, dydy = gradient(second, first, inputs, sens=(zero, one))
    assert f"{dxdx} {dxdy} {dydx} {dydy}" == "[10.] [8.] [8.] [0.]"
    dxdx, dxdy = second(ops.GradOperation(get_all=True)(SquareTimes()))(*inputs, sens=(one, zero))
    assert f"{dxdx} {dxdy}" == "[10.] [8.]"


def test_s18_in_one_cell():
    class Second(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.grad = ops.GradOperation(get_all=True, sens_param=True)
            self.network = network
            self.sens1 = Tensor(np.array([1]).astype("float32"))
            self.sens2 = Tensor(np.array([0]).astype("float32"))

        def construct(self, x, y):
            dxdx, dxdy = self.grad(self.network)(x, y, (self.sens1, self.sens2))
            dydx, dydy = self.grad(self.network)(x, y, (self.sens2, self.sens1))
            return dxdx, dxdy, dydx, dydy

    net = Second(Gradient(SquareTimes(), ops.GradOperation(get_all=True)))
    result = net(Tensor(np.array([4]).astype("float32")), Tensor(np.array([5]).astype("float32")))
    assert " ".join(str(part) for part in result) == "[10.] [8.] [8.] [0.]"
