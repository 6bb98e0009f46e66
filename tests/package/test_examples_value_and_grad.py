"""The documented examples S19 to S26: values beside gradients, a regression net, the context, the errors."""

import numpy as np
import pytest
from support import assert_close, assert_prints, assert_shows, f32, printed

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")


def test_s19_value_and_gradient():
    class Product(nn.Cell):
        def construct(self, x, y, z):
            return x * y * z

    value, gradient = dg.value_and_grad(Product(), grad_position=1)(f32([1, 2]), f32([-2, 3]), f32([0, 3]))
    assert printed(value) == "[-0. 18.]"
    assert printed(gradient) == "[0. 6.]"


def test_s20_auxiliary_output():
    def fn(x, y, z):
        return x * ops.exp(y) * ops.pow(z, 2), z

    function = dg.value_and_grad(fn, grad_position=(1, 2), weights=None, has_aux=True)
    result = function(f32([3, 3]), f32([0, 0]), f32([5, 5]))
    assert_close(result, (([75.0, 75.0], [5.0, 5.0]), ([75.0, 75.0], [30.0, 30.0])))
    assert_prints(
        printed(result[0]),
        "(Tensor(shape=[2], dtype=Float32, value= [ 7.50000000e+01,  7.50000000e+01]),"
        " Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e+00,  5.00000000e+00]))",
    )


@pytest.fixture
def regression():
    """A Dense net with its loss, the inputs, and the results of S21 to S23 from NumPy in float64."""
    generator = np.random.default_rng(11)
    inputs, labels = generator.normal(size=(16, 10)), generator.normal(size=(16, 1))
    net, loss_fn = nn.Dense(10, 1), nn.MSELoss()

    def forward(inputs, labels):
        logits = net(inputs)
        return loss_fn(logits, labels), logits

    inputs, labels = f32(inputs), f32(labels)
    x, y = inputs.asnumpy().astype(float), labels.asnumpy().astype(float)
    w, b = net.weight.asnumpy().astype(float), net.bias.asnumpy().astype(float)
    logits = x @ w.T + b
    slope = 2 * (logits - y) / 16
    expected = {
        "value": (np.mean((logits - y) ** 2), logits),
        "loss": (slope @ w, (slope.T @ x, slope.sum(0))),
        "both": ((slope + 1) @ w, ((slope + 1).T @ x, (slope + 1).sum(0))),
    }
    return net, forward, (inputs, labels), expected


def test_s21_gradient_of_the_inputs(regression):
    _net, forward, batch, expected = regression
    (loss, logits), dx = dg.value_and_grad(forward, 0, None, has_aux=True)(*batch)
    assert logits.shape == (16, 1)
    assert dx.shape == (16, 10)
    assert_close((loss, logits), expected["value"], rtol=1e-5, scale=1.0)
    assert_close(dx, expected["loss"][0], rtol=1e-5, scale=1.0)


def test_s22_gradient_of_the_weights(regression):
    net, forward, batch, expected = regression
    function = dg.value_and_grad(forward, None, weights=net.trainable_params(), has_aux=True)
    (loss, logits), gradients = function(*batch)
    assert [gradient.shape for gradient in gradients] == [(1, 10), (1,)]
    assert_close((loss, logits), expected["value"], rtol=1e-5, scale=1.0)
    assert_close(gradients, expected["loss"][1], rtol=1e-5, scale=1.0)


def test_s23_both_outputs_contribute(regression):
    net, forward, batch, expected = regression
    function = dg.value_and_grad(forward, 0, weights=net.trainable_params(), has_aux=False)
    value, gradients = function(*batch)
    assert_close(value, expected["value"], rtol=1e-5, scale=1.0)
    assert_close(gradients, expected["both"], rtol=1e-5, scale=1.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_s24_graph_mode_on_a_gpu():
    x = f32([[0.8, 0.6, 0.2], [1.8, 1.3, 1.1]])
    y = f32([[0.11, 3.3, 1.1], [1.1, 0.2, 1.4], [1.1, 2.2, 0.3]])
    try:
        dg.context.set_context(mode=dg.context.GRAPH_MODE, device_target="GPU")
        assert dg.get_context("mode") == dg.GRAPH_MODE
        dx = ops.GradOperation()(ops.MatMul())(x, y)
    finally:
        dg.set_context(device_target="CPU")
    assert_shows(dx, "[[4.5099998 2.7       3.6000001]\n [4.5099998 2.7       3.6000001]]")


def test_s25_flags_are_bools():
    with pytest.raises(TypeError, match="get_all"):
        ops.GradOperation(get_all=1)


def test_s26_something_must_be_differentiated():
    with pytest.raises(ValueError, match="grad_position"):
        dg.value_and_grad(nn.Dense(2, 1), None, None)
