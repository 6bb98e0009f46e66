"""Dense and the losses: values, gradients, initial weights, settings."""

import numpy as np
import pytest
from support import assert_close, f32, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops

X = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]])


# ------------------------------------------------------------------------------------------------------ Dense


def fixed_dense(**settings):
    weight, bias = f64([[1.0, 2.0], [-1.0, 0.5], [3.0, -2.0]]), f64([0.1, 0.2, 0.3])
    return nn.Dense(2, 3, weight_init=weight, bias_init=bias, dtype=dg.float64, **settings)


@pytest.mark.usefixtures("mode")
def test_dense_is_a_product_with_the_transposed_weight():
    net = fixed_dense()
    w, b = net.weight.asnumpy(), net.bias.asnumpy()
    assert (w.shape, b.shape) == ((3, 2), (3,))
    assert_close(net(f64(X)), X @ w.T + b, scale=1.0)
    assert_close(net(f64(X[0])), X[0] @ w.T + b, scale=1.0)
    assert_close(net(f64(X[None])), X[None] @ w.T + b, scale=1.0)
    dx, (dw, db) = dg.grad(net, 0, net.trainable_params())(f64(X))
    ones = np.ones((3, 3))
    assert_close((dx, dw, db), (ones @ w, ones.T @ X, np.full(3, 3.0)), scale=1.0)


def test_dense_without_a_bias():
    net = nn.Dense(2, 3, has_bias=False)
    assert [p.name for p in net.get_parameters()] == ["weight"]
    assert_close(net(f32(X)), X @ net.weight.asnumpy().T.astype(float), rtol=1e-6, scale=1.0)


def test_names_and_types_of_dense_parameters():
    net = nn.Dense(4, 3)
    assert [p.name for p in net.trainable_params()] == ["weight", "bias"]
    assert [p.dtype for p in net.trainable_params()] == [dg.float32, dg.float32]
    assert nn.Dense(4, 3, dtype=dg.float64).weight.dtype == dg.float64


def test_initial_weights_are_uniform_within_the_inverse_root_of_the_width():
    net = nn.Dense(100, 200)
    for values in net.weight.asnumpy(), net.bias.asnumpy():
        assert np.all(np.abs(values) <= 0.1)
        # 200 and more uniform values: the largest is beyond 0.09 but for one case in 10^9
        assert np.abs(values).max() > 0.09
        assert len(np.unique(values)) > 0.9 * values.size
    assert abs(net.weight.asnumpy().mean()) < 0.002
    assert np.isclose(net.weight.asnumpy().std(), 0.1 / np.sqrt(3), rtol=0.03)


def test_a_seed_repeats_the_initial_weights():
    dg.set_seed(3)
    first = nn.Dense(3, 4)
    second = nn.Dense(3, 4)
    dg.set_seed(3)
    again = nn.Dense(3, 4)
    assert np.array_equal(first.weight.asnumpy(), again.weight.asnumpy())
    assert np.array_equal(first.bias.asnumpy(), again.bias.asnumpy())
    assert not np.array_equal(first.weight.asnumpy(), second.weight.asnumpy())


@pytest.mark.parametrize(
    ("init", "expected"),
    [("zeros", 0.0), ("ones", 1.0), (0.5, 0.5), (2, 2.0), (Tensor(np.full((3, 2), 7.0, np.float32)), 7.0)],
    ids=["zeros", "ones", "float", "int", "tensor"],
)
def test_constant_initial_weights(init, expected):
    net = nn.Dense(2, 3, weight_init=init)
    assert np.array_equal(net.weight.asnumpy(), np.full((3, 2), expected, np.float32))


@pytest.mark.parametrize("init", ["normal", "uniform", "xavier_uniform", "he_uniform"])
def test_random_initial_weights_by_name(init):
    values = nn.Dense(30, 20, weight_init=init).weight.asnumpy()
    assert values.shape == (20, 30)
    assert len(np.unique(values)) > 500
    assert abs(values.mean()) < values.std() / 4


def test_initial_bias():
    assert np.array_equal(nn.Dense(2, 3, bias_init="zeros").bias.asnumpy(), np.zeros(3))
    assert np.array_equal(nn.Dense(2, 3, bias_init=f32([1, 2, 3])).bias.asnumpy(), [1.0, 2.0, 3.0])


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("activation", ["relu", nn.ReLU()], ids=["name", "Cell"])
def test_activation_of_dense(activation):
    net = fixed_dense(activation=activation)
    expected = np.maximum(X @ net.weight.asnumpy().T + net.bias.asnumpy(), 0)
    assert_close(net(f64(X)), expected, scale=1.0)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(
    ("cell", "function"),
    [
        (nn.ReLU, ops.relu),
        (nn.Tanh, ops.tanh),
        (nn.Sigmoid, ops.sigmoid),
        (nn.Softplus, ops.softplus),
        (nn.SiLU, ops.silu),
        (nn.ELU, ops.elu),
        (nn.LogSoftmax, lambda x: ops.log_softmax(x, axis=-1)),
        (nn.Softmax, lambda x: ops.softmax(x, axis=-1)),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_activation_cells_are_the_functions(cell, function):
    assert_close(cell()(f64(X)), function(f64(X)).asnumpy())
    assert_close(dg.grad(cell())(f64(X)), dg.grad(function)(f64(X)).asnumpy())


@pytest.mark.usefixtures("mode")
def test_two_forms_of_gelu():
    from math import erf

    exact = X * (1 + np.vectorize(erf)(X / np.sqrt(2))) / 2
    smooth = X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))) / 2
    assert_close(ops.gelu(f64(X)), exact)
    assert_close(nn.GELU(approximate=False)(f64(X)), exact)
    for form in nn.GELU(), nn.GELU(approximate=True), ops.GeLU():
        assert_close(form(f64(X)), smooth)
    assert_close(ops.gelu(f64(X), approximate="tanh"), smooth)


# ----------------------------------------------------------------------------------------------------- losses

LOGITS, LABELS = (
    np.array([[0.5, -2.0, 4.0], [1.0, 0.0, -1.0]]),
    np.array([[0.0, 1.0, 1.5], [1.0, 0.25, -3.0]]),
)
D = LOGITS - LABELS
SIGN = np.sign(D)


def pieces(inner, outer, limit):
    return np.where(np.abs(D) < limit, inner, outer)


LOSSES = {
    "MSE": (nn.MSELoss, "mean", {}, D**2, 2 * D),
    "L1": (nn.L1Loss, "mean", {}, np.abs(D), SIGN),
    "smooth L1": (nn.SmoothL1Loss, "none", {}, pieces(D**2 / 2, np.abs(D) - 0.5, 1), pieces(D, SIGN, 1)),
    "smooth L1 with beta": (
        nn.SmoothL1Loss,
        "none",
        {"beta": 2.0},
        pieces(D**2 / 4, np.abs(D) - 1, 2),
        pieces(D / 2, SIGN, 2),
    ),
    "Huber": (nn.HuberLoss, "mean", {}, pieces(D**2 / 2, np.abs(D) - 0.5, 1), pieces(D, SIGN, 1)),
    "Huber with delta": (
        nn.HuberLoss,
        "mean",
        {"delta": 2.0},
        pieces(D**2 / 2, 2 * (np.abs(D) - 1), 2),
        pieces(D, 2 * SIGN, 2),
    ),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("reduction", [None, "mean", "sum", "none"], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients(name, reduction):
    loss, default, settings, elements, slopes = LOSSES[name]
    chosen = {} if reduction is None else {"reduction": reduction}
    function = loss(**settings, **chosen)
    combine = {"mean": np.mean, "sum": np.sum, "none": np.array}[reduction or default]
    weight = 1 / D.size if (reduction or default) == "mean" else 1.0
    assert_close(function(f64(LOGITS), f64(LABELS)), combine(elements))
    gradients = dg.grad(function, (0, 1))(f64(LOGITS), f64(LABELS))
    assert_close(gradients, (slopes * weight, -slopes * weight))


@pytest.mark.usefixtures("mode")
def test_losses_as_functions():
    assert_close(ops.mse_loss(f64(LOGITS), f64(LABELS)), np.mean(D**2))
    assert_close(ops.mse_loss(f64(LOGITS), f64(LABELS), reduction="sum"), np.sum(D**2))
    assert_close(ops.l1_loss(f64(LOGITS), f64(LABELS)), np.mean(np.abs(D)))
    assert_close(ops.l1_loss(f64(LOGITS), f64(LABELS), reduction="none"), np.abs(D))


@pytest.mark.usefixtures("mode")
def test_the_second_derivative_of_a_loss():
    second = dg.grad(dg.grad(nn.MSELoss("sum")))(f64(LOGITS), f64(LABELS))
    assert_close(second, np.full(D.shape, 2.0))
