"""Activation functions: values, derivatives to many digits at any size of x, slopes where pieces meet."""

import math

import mpmath
import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")

SMOOTH = {
    "softplus": (ops.softplus, lambda x: mpmath.log1p(mpmath.exp(x))),
    "logsigmoid": (ops.logsigmoid, lambda x: -mpmath.log1p(mpmath.exp(-x))),
    "silu": (ops.silu, lambda x: x / (1 + mpmath.exp(-x))),
    "gelu": (ops.gelu, lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
    "mish": (ops.mish, lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))),
    "softsign": (ops.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (ops.tanhshrink, lambda x: x - mpmath.tanh(x)),
}
POINTS = np.array([-30.0, -9.0, -1.5, -0.7, -0.1, 0.01, 0.75, 0.9, 2.5, 12.0])


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_keep_their_digits_at_any_size(name):
    f, exact = SMOOTH[name]
    with mpmath.workdps(60):
        series = [mpmath.taylor(exact, mpmath.mpf(x), 5, chop=False) for x in POINTS]
    for order in range(6):
        expected = [float(terms[order]) * math.factorial(order) for terms in series]
        assert_close(repeated_grad(f, order)(f64(POINTS)), expected, rtol=5e-13)


def test_tanhshrink_near_zero_is_a_third_of_the_cube():
    x = f64([-1e-100, -1e-8, 0.0, 1e-5])
    assert_close(ops.tanhshrink(x), x.asnumpy() ** 3 / 3, rtol=1e-9)
    assert_close(dg.grad(ops.tanhshrink)(x), x.asnumpy() ** 2, rtol=1e-9)
    assert_close(repeated_grad(ops.tanhshrink, 3)(x), np.full(4, 2.0), rtol=1e-9)
    assert_close(ops.tanhshrink(f32([3e-3])), np.array([9e-9 - 2 * 3e-3**5 / 15]))


# Values at -4, -3, -1, -0.5, 0, 0.5, 1, 3, 6, 7; the slopes at these points.
CORNERS = np.array([-4.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 7.0])
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
BELOW = CORNERS <= 0
PIECES = {
    "relu": (ops.relu, np.maximum(CORNERS, 0), ~BELOW),
    "relu6": (ops.relu6, np.clip(CORNERS, 0, 6), (CORNERS > 0) & (CORNERS <= 6)),
    "hardtanh": (ops.hardtanh, np.clip(CORNERS, -1, 1), np.abs(CORNERS) <= 1),
    "hardsigmoid": (ops.hardsigmoid, np.clip(CORNERS + 3, 0, 6) / 6, (np.abs(CORNERS) <= 3) / 6),
    "hardswish": (
        ops.hardswish,
        CORNERS * np.clip(CORNERS + 3, 0, 6) / 6,
        np.where(np.abs(CORNERS) <= 3, CORNERS / 3 + 0.5, CORNERS > 0),
    ),
    "hardshrink": (ops.hardshrink, np.where(np.abs(CORNERS) > 0.5, CORNERS, 0), np.abs(CORNERS) > 0.5),
    "softshrink": (
        ops.softshrink,
        np.sign(CORNERS) * np.maximum(np.abs(CORNERS) - 0.5, 0),
        np.abs(CORNERS) > 0.5,
    ),
    "leaky_relu": (ops.leaky_relu, np.where(BELOW, CORNERS / 5, CORNERS), np.where(BELOW, 0.2, 1)),
    "elu": (ops.elu, np.where(BELOW, np.expm1(CORNERS), CORNERS), np.where(BELOW, np.exp(CORNERS), 1)),
    "celu": (
        lambda x: ops.celu(x, 2.0),
        np.where(BELOW, 2 * np.expm1(CORNERS / 2), CORNERS),
        np.where(BELOW, np.exp(CORNERS / 2), 1),
    ),
    "selu": (
        ops.selu,
        SCALE * np.where(BELOW, ALPHA * np.expm1(CORNERS), CORNERS),
        SCALE * np.where(BELOW, ALPHA * np.exp(CORNERS), 1),
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_values_and_slopes_of_pieces(name):
    f, values, slopes = PIECES[name]
    assert_close(f(f64(CORNERS)), values)
    assert_close(dg.grad(f)(f64(CORNERS)), slopes)


@pytest.mark.parametrize("name", PIECES)
def test_pieces_that_are_not_taken_do_not_overflow(name):
    f, far = PIECES[name][0], f64([-1e300, -1e4, 1e4, 1e300])
    for order in range(5):
        assert np.isfinite(repeated_grad(f, order)(far).asnumpy()).all()


@pytest.mark.parametrize("threshold", [-1.5, 0.5, 3.0, 20.0, 30.0])
@pytest.mark.parametrize("beta", [1, 2.0, -0.5])
def test_softplus_is_the_identity_beyond_its_threshold(beta, threshold):
    """As MindSpore and PyTorch compute it; beyond 20 the two cannot be told apart in float32."""
    x = np.linspace(-30.0, 30.0, 41)
    cut = beta * x > threshold
    f = lambda x: ops.softplus(x, beta, threshold)
    assert_close(f(f64(x)), np.where(cut, x, np.logaddexp(0, beta * x) / beta), rtol=1e-8 if threshold >= 20 else 1e-12)
    slope = np.where(cut, 1.0, 1 / (1 + np.exp(-beta * x)))
    assert_close(dg.grad(f)(f64(x)), slope, rtol=1e-8 if threshold >= 20 else 1e-12)
    if threshold >= 20:
        assert_close(f(f64(x)), np.logaddexp(0, beta * x) / beta)


def test_prelu_has_slopes_for_channels():
    x, w = np.array([[[-1.0, 2.0], [-3.0, 0.0]]]), np.array([0.25, 0.5])
    assert_close(ops.prelu(f64(x), f64(w)), [[[-0.25, 2.0], [-1.5, 0.0]]])
    assert_close(dg.grad(ops.prelu, (0, 1))(f64(x), f64(w)), ([[[0.25, 1.0], [0.5, 0.5]]], [-1.0, -3.0]))
    assert_close(ops.PReLU()(f64(x), f64([0.25])), [[[-0.25, 2.0], [-0.75, 0.0]]])
    assert_raises(ValueError, lambda: ops.prelu(f64(x), f64([1.0, 2.0, 3.0])), "prelu", "(3,)", "(1, 2, 2)")


def test_a_probability_close_to_one_and_its_slope_keep_their_digits():
    x = f64([0.0, -50.0, -90.0])
    rest = math.exp(-50) + math.exp(-90)
    assert_close(ops.log_softmax(x), [-math.log1p(rest), -50 - math.log1p(rest), -90 - math.log1p(rest)])
    assert_close(dg.grad(lambda x: ops.log_softmax(x)[0])(x), [rest, -math.exp(-50), -math.exp(-90)])
    assert_close(dg.grad(lambda x: ops.softmax(x)[0])(x), [rest, -math.exp(-50), -math.exp(-90)])
    assert_close(dg.grad(lambda x: ops.softmin(x)[0])(-x), [-rest, math.exp(-50), math.exp(-90)])


def test_softmax_of_infinities():
    inf = math.inf
    assert_close(ops.softmax(f64([0.0, -inf, 0.0])), [0.5, 0.0, 0.5])
    assert_close(ops.log_softmax(f64([0.0, -inf])), [0.0, -inf])
    assert_close(ops.softmax(f64([0.0, inf])), [0.0, 1.0])


def test_softmin_and_glu():
    x = np.array([[1.0, 2.0, 0.5, -0.5]])
    raised = np.exp(-x)
    assert_close(ops.softmin(f64(x)), raised / raised.sum())
    assert_close(ops.softmin(f64(x), dim=0), np.ones((1, 4)))
    assert_close(ops.glu(f64(x)), x[:, :2] / (1 + np.exp(-x[:, 2:])))
    assert_raises(ValueError, lambda: ops.glu(f64(x), 0), "glu", "axis 0", "(1, 4)", "even")


CLASSES = {
    ops.Mish: ops.mish,
    ops.SeLU: ops.selu,
    ops.HSigmoid: ops.hardsigmoid,
    ops.HSwish: ops.hardswish,
    ops.ReLU6: ops.relu6,
    ops.HShrink: ops.hardshrink,
    ops.SoftShrink: ops.softshrink,
    nn.Mish: ops.mish,
    nn.SeLU: ops.selu,
    nn.CELU: ops.celu,
    nn.HSigmoid: ops.hardsigmoid,
    nn.HSwish: ops.hardswish,
    nn.ReLU6: ops.relu6,
    nn.Hardtanh: ops.hardtanh,
    nn.HShrink: ops.hardshrink,
    nn.SoftShrink: ops.softshrink,
    nn.Tanhshrink: ops.tanhshrink,
    nn.Softmin: ops.softmin,
    nn.GLU: ops.glu,
}


def test_classes_and_cells_are_the_functions():
    x = f64([[-0.7, 0.3, 0.6, 2.0]])
    for made, f in CLASSES.items():
        assert_close(made()(x), f(x).asnumpy())
    assert_close(ops.HShrink(0.65)(x), [[-0.7, 0.0, 0.0, 2.0]])
    assert_close(nn.SoftShrink(0.5)(x), [[-0.2, 0.0, 0.1, 1.5]], rtol=1e-15, scale=1.0)
    assert_close(nn.CELU(0.5)(x), ops.celu(x, 0.5).asnumpy())


def test_the_slopes_of_a_prelu_cell_are_learned():
    net = nn.PReLU(2, [0.25, 0.5])
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("a", (2,))]
    slopes = dg.grad(net, None, net.trainable_params())(f32([[-1.0, -3.0], [2.0, -4.0]]))
    assert_close(slopes, ([-1.0, -7.0],))


@pytest.mark.parametrize("name", ["mish", "prelu", "relu6", "hswish", "softmin", "celu", "tanhshrink"])
def test_activations_by_name(name):
    assert type(nn.get_activation(name)).__name__.lower() == name


def test_settings_out_of_range():
    x = f64([1.0])
    assert_raises(ValueError, lambda: ops.celu(x, 0.0), "celu", "alpha")
    assert_raises(ValueError, lambda: ops.softshrink(x, -1.0), "softshrink", "lambd", "-1.0")
    assert_raises(ValueError, lambda: ops.hardtanh(x, 1.0, 1.0), "hardtanh", "min_val")
