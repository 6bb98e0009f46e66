"""Convolutions, pooling, normalisation, dropout, embedding: as functions against sums over windows, and as Cells."""

import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((2, 4, 7, 6))


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def windows_of(x, kernel, stride=1, padding=(0, 0, 0, 0), dilation=1, fill=0.0, ceil=False):
    """The elements of every window: shape (N, C, KH, KW, H', W'), filled up where a window leaves the image."""
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    counts, firsts = [], []
    for n, k, s, d in zip(x.shape[2:], pair(kernel), pair(stride), pair(dilation), strict=True):
        steps = (n - d * (k - 1) - 1) / s
        counts.append((math.ceil if ceil else math.floor)(steps) + 1)
        firsts.append((s, d))
    x = np.pad(x, ((0, 0), (0, 0), (0, 9), (0, 9)), constant_values=fill)
    result = np.empty((*x.shape[:2], *pair(kernel), *counts))
    for p, q, i, j in np.ndindex(*result.shape[2:]):
        (sh, dh), (sw, dw) = firsts
        result[:, :, p, q, i, j] = x[:, :, i * sh + p * dh, j * sw + q * dw]
    return result


def convolved(x, w, groups=1, **settings):
    """The sum over all windows, group by group."""
    met = windows_of(x, w.shape[2:], **settings)
    parts = zip(np.split(met, groups, 1), np.split(w, groups, 0), strict=True)
    return np.concatenate([np.einsum("ncpqij,ocpq->noij", m, k) for m, k in parts], 1)


# ------------------------------------------------------------------------------------------------ convolutions


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dilation", [1, (2, 1)])
@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (1, 1, 2, 2), (0, 1, 2, 0)])
@pytest.mark.parametrize("stride", [1, (3, 2)])
def test_conv2d_is_the_sum_over_windows(stride, padding, dilation, groups):
    w, b = RNG.standard_normal((4, 4 // groups, 3, 2)), RNG.standard_normal(4)
    expected = convolved(IMAGE, w, groups, stride=stride, padding=padding, dilation=dilation)
    settings = {"stride": stride, "pad_mode": "pad", "padding": padding, "dilation": dilation, "groups": groups}
    assert_close(ops.conv2d(f64(IMAGE), f64(w), f64(b), **settings), expected + b[:, None, None], scale=1.0)
    assert_close(ops.conv2d(f64(IMAGE[0]), f64(w), **settings), expected[0], scale=1.0)
    made = ops.Conv2D(4, (3, 2), 1, "pad", padding, stride, dilation, groups)
    assert_close(made(f64(IMAGE), f64(w)), expected, scale=1.0)


# Kernel, stride, what 'same' adds to an axis of 7 and one of 6.
SAME = [(1, 1, (0, 0, 0, 0)), (2, 1, (0, 1, 0, 1)), (3, 2, (1, 1, 0, 1)), (4, 3, (1, 2, 0, 1)), (2, 3, (0, 1, 0, 0))]


@pytest.mark.parametrize(("kernel", "stride", "padding"), SAME)
def test_same_means_a_window_for_every_stride_begun(kernel, stride, padding):
    w = RNG.standard_normal((2, 4, kernel, kernel))
    result = ops.conv2d(f64(IMAGE), f64(w), stride=stride, pad_mode="same")
    assert result.shape == (2, 2, -(-7 // stride), -(-6 // stride))
    assert_close(result, convolved(IMAGE, w, stride=stride, padding=padding), scale=1.0)


def test_conv1d_is_conv2d_of_one_row():
    x, w, b = RNG.standard_normal((2, 4, 9)), RNG.standard_normal((6, 2, 3)), RNG.standard_normal(6)
    expected = convolved(x[:, :, None], w[:, :, None], 2, stride=2, padding=(0, 0, 1, 1), dilation=2)[:, :, 0]
    result = ops.conv1d(f64(x), f64(w), f64(b), 2, "pad", 1, 2, 2)
    assert_close(result, expected + b[:, None], scale=1.0)
    same = ops.conv1d(f64(x), f64(w), pad_mode="same", groups=2)
    assert_close(same, convolved(x[:, :, None], w[:, :, None], 2, padding=(0, 0, 1, 1))[:, :, 0], scale=1.0)


TRANSPOSED = [*itertools.product([1, (2, 3)], [0, (1, 2)], [1, (2, 1)], [1, 2])]


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), TRANSPOSED)
def test_conv_transpose2d_is_the_transpose_of_conv2d(stride, padding, dilation, groups):
    """Both are linear: the gradient of the one is the other."""
    w = RNG.standard_normal((4, 6 // groups, 3, 2))
    y = RNG.standard_normal((2, 4, 4, 5))
    x = ops.conv_transpose2d(f64(y), f64(w), None, stride, padding, 0, groups, dilation)
    forward = lambda x: ops.conv2d(x, f64(w), None, stride, "pad", padding, dilation, groups)
    assert_close(x, dg.grad(lambda x: ops.sum(forward(x) * f64(y)))(x).asnumpy(), scale=1.0)


def test_output_padding_and_the_bias_of_a_transposed_convolution():
    x, w = f64(RNG.standard_normal((1, 2, 3, 3))), f64(RNG.standard_normal((2, 1, 2, 2)))
    short = ops.conv_transpose2d(x, w, f64([5.0]), 3)
    long = ops.conv_transpose2d(x, w, f64([5.0]), 3, output_padding=(2, 1))
    assert (short.shape, long.shape) == ((1, 1, 8, 8), (1, 1, 10, 9))
    expected = np.full(long.shape, 5.0)
    expected[..., :8, :8] = short.asnumpy()
    assert_close(long, expected)


# ----------------------------------------------------------------------------------------------------- pooling


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [None, 1, (3, 2)])
@pytest.mark.parametrize("kernel", [2, (3, 2)])
def test_pooling_is_the_maximum_and_the_mean_of_windows(kernel, stride, padding, ceil):
    step = kernel if stride is None else stride
    result = ops.max_pool2d(f64(IMAGE), kernel, stride, padding, ceil_mode=ceil)
    counts = result.shape[2:]  # windows_of may have one more, which would begin behind the image

    def met(x, margin):
        windows = windows_of(x, kernel, step, (margin,) * 4, fill=-np.inf, ceil=ceil)[..., : counts[0], : counts[1]]
        return windows, np.isfinite(windows)

    windows, inside = met(IMAGE, padding)
    assert_close(result, windows.max((2, 3)))
    sums = np.where(inside, windows, 0).sum((2, 3))
    _, counted = met(np.pad(IMAGE, [(0, 0), (0, 0), (padding, padding), (padding, padding)]), 0)
    average = lambda *settings: ops.avg_pool2d(f64(IMAGE), kernel, stride, padding, ceil, *settings)
    assert_close(average(False), sums / inside.sum((2, 3)), scale=1.0)
    assert_close(average(True), sums / counted.sum((2, 3)), scale=1.0)
    assert_close(average(True, 7), sums / 7, scale=1.0)


def test_positions_of_maxima():
    for settings in {"stride": 2}, {"stride": 2, "padding": 1}, {"stride": 1, "dilation": 2, "ceil_mode": True}:
        values, positions = ops.max_pool2d(f64(IMAGE), (3, 2), return_indices=True, **settings)
        assert positions.dtype == dg.int64
        flat = IMAGE.reshape(2, 4, -1)
        picked = np.take_along_axis(flat, positions.asnumpy().reshape(2, 4, -1), 2).reshape(values.shape)
        assert_close(values, picked)
    tie = ops.max_pool2d(f64([[[1.0, 3.0], [3.0, 3.0]]]), 2, return_indices=True)
    assert_close(tie[1].astype(dg.float64), [[[1.0]]])


def test_elements_that_share_a_maximum_share_its_slope():
    x = f64([[[1.0, 3.0, 0.0], [3.0, 3.0, 2.0]]])
    third = 1 / 3
    assert_close(dg.grad(lambda x: ops.max_pool2d(x, 2, 2))(x), [[[0.0, third, 0.0], [third, third, 0.0]]])
    overlapping = dg.grad(lambda x: ops.max_pool2d(x, 2, 1))(x)
    assert_close(overlapping, [[[0.0, third + 0.5, 0.0], [third, third + 0.5, 0.0]]])


def test_integers_have_maxima_too():
    x = Tensor(np.array([[[-5, -7], [-9, -6]]]))
    assert ops.max_pool2d(x, 2, 1, 1).tolist() == [[[-5, -5, -7], [-5, -5, -6], [-9, -6, -6]]]


@pytest.mark.parametrize(("kernel", "stride", "padding"), SAME)
def test_pooling_with_pad_mode_same_leaves_out_what_is_outside(kernel, stride, padding):
    met = windows_of(IMAGE, kernel, stride, padding, fill=-np.inf)
    inside = np.isfinite(met)
    assert_close(ops.MaxPool(kernel, stride, "same")(f64(IMAGE)), met.max((2, 3)))
    averages = np.where(inside, met, 0).sum((2, 3)) / inside.sum((2, 3))
    assert_close(ops.AvgPool(kernel, stride, "SAME")(f64(IMAGE)), averages, scale=1.0)


# ----------------------------------------------------------------------------------------------- normalisation

SCALE, SHIFT = np.array([1.0, 2.0, 0.5, -1.0]), np.array([0.0, 1.0, -1.0, 3.0])


def normalised(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def per_channel(y):
    column = (4,) + (1,) * (y.ndim - 2)
    return y * SCALE.reshape(column) + SHIFT.reshape(column)


@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (2, 4, 3, 2)])
def test_batch_norm_in_training_and_in_use(shape):
    x = RNG.standard_normal(shape)
    axes = (0, *range(2, len(shape)))
    mean, var = Parameter(f64(np.zeros(4)), name="mean"), Parameter(f64(np.ones(4)), name="var")
    trained = ops.batch_norm(f64(x), mean, var, f64(SCALE), f64(SHIFT), training=True, momentum=0.25)
    assert_close(trained, per_channel(normalised(x, axes)), scale=1.0)
    assert_close(mean.value(), 0.25 * x.mean(axes), scale=1.0)
    assert_close(var.value(), 0.75 + 0.25 * x.var(axes, ddof=1), scale=1.0)
    used = ops.batch_norm(f64(x), mean, var, f64(SCALE), f64(SHIFT))
    column = (4,) + (1,) * (len(shape) - 2)
    m, v = mean.asnumpy().reshape(column), var.asnumpy().reshape(column)
    assert_close(used, per_channel((x - m) / np.sqrt(v + 1e-5)), scale=1.0)


def test_the_running_statistics_move_once_for_each_call_and_are_no_part_of_derivatives():
    x = np.array([[1.0], [3.0]])
    net = nn.BatchNorm1d(1, dtype=dg.float64).set_train()
    for order in 1, 2, 3:
        gradient = net
        for _ in range(order):
            gradient = dg.grad(gradient)
        gradient(f64(x))
        assert_close(net.moving_mean.value(), [2 * (1 - 0.9**order)])
    assert [p.name for p in net.get_parameters()] == ["moving_mean", "moving_variance", "gamma", "beta"]
    assert [p.name for p in net.trainable_params()] == ["gamma", "beta"]
    before = net.moving_mean.asnumpy().copy()
    net.set_train(False)(f64(x))
    assert np.array_equal(net.moving_mean.asnumpy(), before)


def test_group_norm():
    x = RNG.standard_normal((2, 4, 3))
    expected = normalised(x.reshape(2, 2, 6), 2).reshape(x.shape)
    assert_close(ops.group_norm(f64(x), 2, f64(SCALE), f64(SHIFT)), per_channel(expected), scale=1.0)
    net = nn.GroupNorm(2, 4, gamma_init=f64(SCALE), beta_init=f64(SHIFT))
    assert_close(net(f64(x)), per_channel(expected), scale=1.0)


def test_layer_norm_cell():
    x, gamma, beta = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    net = nn.LayerNorm((3, 4), 1, 1, f64(gamma), f64(beta), 1e-5)
    assert_close(net(f64(x)), normalised(x, (1, 2)) * gamma + beta, scale=1.0)
    assert_close(nn.LayerNorm((4,), dtype=dg.float64)(f64(x)), normalised(x, 2, 1e-7), scale=1.0)


# -------------------------------------------------------------------------------------- dropout and embedding


def test_dropout_keeps_the_mean():
    dg.set_seed(1)
    y = ops.dropout(ops.ones((100, 100)), 0.2).asnumpy()
    assert sorted(set(y.ravel())) == [0.0, 1.25]
    assert abs(np.mean(y == 0) - 0.2) < 0.02  # five standard deviations
    x = f64([1.0, 2.0])
    assert_close(ops.dropout(x, 0.9, training=False), [1.0, 2.0])
    assert_close(ops.dropout(x, 1.0), [0.0, 0.0])
    assert_close(dg.grad(lambda x: ops.dropout(ops.sqrt(x), 1.0))(f64([0.0])), [0.0])


def test_what_is_dropped_follows_from_the_seed():
    x = ops.ones((50,))
    draws = [lambda: ops.dropout(x), lambda: ops.Dropout()(x)[0], nn.Dropout().set_train().__call__]
    for draw in draws:
        arguments = (x,) if draw is draws[2] else ()
        dg.set_seed(5)
        first, second = draw(*arguments).asnumpy(), draw(*arguments).asnumpy()
        dg.set_seed(5)
        assert np.array_equal(first, draw(*arguments).asnumpy())
        assert not np.array_equal(first, second)
    assert np.array_equal(ops.dropout(x, seed=3).asnumpy(), ops.dropout(x, seed=3).asnumpy())


@pytest.mark.eager("counts calls")
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_derivatives_see_the_elements_that_the_call_dropped():
    seen = []

    def f(x):
        y = ops.dropout(x, 0.5)
        seen.append(y.asnumpy() != 0)
        return y**3

    x = f64(np.linspace(1.0, 2.0, 30))
    third = dg.grad(dg.grad(dg.grad(f)))(x)
    assert len(seen) == 1
    assert_close(third, np.where(seen[0], 6 * 2.0**3, 0.0))


def test_embedding():
    table = np.arange(8.0).reshape(4, 2)
    assert_close(ops.embedding(Tensor([[0, 3], [3, -1]]), f64(table)), table[[[0, 3], [3, -1]]])
    slope = dg.grad(lambda w: ops.embedding(Tensor([0, 3, 3, -2]), w, padding_idx=2))(f64(table))
    assert_close(slope, [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [2.0, 2.0]])
    weight = Parameter(f64([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), name="w")
    short = ops.embedding(Tensor([0, 1, 0]), weight, max_norm=1.0)
    assert_close(short, [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-7)
    assert_close(weight.value(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-7)


def test_embedding_cell():
    net = nn.Embedding(5, 3, embedding_table="ones", padding_idx=1)
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("embedding_table", (5, 3))]
    assert_close(net(Tensor([[1, 4]])), [[[0.0] * 3, [1.0] * 3]])


# ------------------------------------------------------------------------------------------------------- Cells


def test_convolution_cells_are_the_functions():
    x = f64(IMAGE)
    net = nn.Conv2d(4, 6, (3, 2), (2, 1), "pad", (1, 0, 2, 1), 1, 2, has_bias=True, dtype=dg.float64)
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("weight", (6, 2, 3, 2)), ("bias", (6,))]
    expected = ops.conv2d(x, net.weight, net.bias, (2, 1), "pad", (1, 0, 2, 1), 1, 2)
    assert_close(net(x), expected.asnumpy())
    row = f64(IMAGE[:, :, 0])
    w = f64(RNG.standard_normal((2, 4, 3)))
    net = nn.Conv1d(4, 2, 3, 2, weight_init=w)
    assert net.weight.shape == (2, 4, 1, 3)
    assert_close(net(row), ops.conv1d(row, w, stride=2, pad_mode="same").asnumpy())


def test_initial_kernels_are_uniform_within_the_inverse_root_of_what_they_meet():
    net = nn.Conv2d(6, 200, (3, 2), group=2, has_bias=True)
    limit = 1 / math.sqrt(3 * 6)
    for values in net.weight.asnumpy(), net.bias.asnumpy():
        assert 0.9 * limit < np.abs(values).max() <= limit


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 2, 1), (2, 2, 1), (4, 2, 1), (1, 2, 1), (3, 1, 2)])
def test_a_transposed_convolution_cell_is_the_transpose_of_a_convolution_cell(kernel, stride, dilation):
    net = nn.Conv2d(3, 4, kernel, stride, dilation=dilation, dtype=dg.float64)
    back = nn.Conv2dTranspose(4, 3, kernel, stride, dilation=dilation, weight_init=net.weight)
    x, y = f64(RNG.standard_normal((2, 3, 8, 8))), f64(RNG.standard_normal((2, 4, 8 // stride, 8 // stride)))
    assert_close(back(y), dg.grad(lambda x: ops.sum(net(x) * y))(x).asnumpy(), scale=1.0)


def test_pooling_cells_are_the_functions():
    x, row = f64(IMAGE), f64(IMAGE[:, :, 0])
    pairs = [
        (nn.MaxPool2d(2, 2)(x), ops.max_pool2d(x, 2)),
        (nn.MaxPool2d(3, 2, "same")(x), ops.MaxPool(3, 2, "same")(x)),
        (nn.MaxPool2d(3, 2, "pad", 1, 1, False, True)(x), ops.max_pool2d(x, 3, 2, 1, 1, False, True)),
        (nn.AvgPool2d(2, 2)(x), ops.avg_pool2d(x, 2, 2)),
        (nn.AvgPool2d(3, 2, "same")(x), ops.AvgPool(3, 2, "same")(x)),
        (nn.AvgPool2d(3, 2, "pad", 1, False, False)(x), ops.avg_pool2d(x, 3, 2, 1, False, False)),
        (nn.MaxPool1d(3, 2)(row), ops.max_pool2d(row.expand_dims(2), (1, 3), (1, 2)).squeeze(2)),
        (nn.AvgPool1d(3, 2, "pad", 1)(row), ops.avg_pool2d(row.expand_dims(2), (1, 3), (1, 2), (0, 1)).squeeze(2)),
    ]
    for cell, function in pairs:
        assert_close(cell, function.asnumpy())
    values, positions = nn.MaxPool1d(2, 2, return_indices=True)(row)
    assert_close(values, np.take_along_axis(IMAGE[:, :, 0], positions.asnumpy(), 2))


def test_a_convolutional_network_has_second_derivatives_by_its_input():
    dg.set_seed(2)
    net = nn.SequentialCell(
        nn.Conv2d(1, 3, 3, has_bias=True, dtype=dg.float64),
        nn.BatchNorm2d(3, dtype=dg.float64),
        nn.Tanh(),
        nn.AvgPool2d(2, 2),
        nn.Flatten(),
        nn.Dense(12, 1, dtype=dg.float64),
    )
    x, v = f64(RNG.standard_normal((1, 1, 4, 4))), RNG.standard_normal((1, 1, 4, 4))
    slope = dg.grad(net)
    along = dg.jvp(slope, x, f64(v))[1].asnumpy()
    h = 1e-5
    rough = (slope(x + f64(h * v)).asnumpy() - slope(x - f64(h * v)).asnumpy()) / (2 * h)
    assert np.abs(along - rough).max() < 1e-8 * max(1.0, np.abs(along).max())
    assert len(dg.grad(net, None, net.trainable_params())(x)) == 6


# ------------------------------------------------------------------------------------------------------ errors


def test_arguments_that_do_not_fit():
    x, w = f64(IMAGE), f64(RNG.standard_normal((2, 4, 3, 3)))
    mean = Parameter(f64(np.zeros(4)), name="mean")
    errors = [
        (lambda: ops.conv2d(x, w, padding=1), "conv2d", "padding", "pad_mode='pad'"),
        (lambda: ops.conv2d(x, w, pad_mode="full"), "conv2d", "'full'", "'same'"),
        (lambda: ops.conv2d(x, w, stride=0), "conv2d", "stride", "at least 1"),
        (lambda: ops.conv2d(x, w, stride=(1, 1, 1)), "conv2d", "stride", "2"),
        (lambda: ops.conv2d(x, w, pad_mode="pad", padding=-1), "conv2d", "padding", "-1"),
        (lambda: ops.conv2d(x, w, groups=3), "conv2d", "3 groups"),
        (lambda: ops.conv2d(x[:, :3], w), "conv2d", "(2, 3, 7, 6)", "4 channels"),
        (lambda: ops.conv2d(x, w, f64([1.0])), "conv2d", "bias", "(1,)", "(2,)"),
        (lambda: ops.conv2d(x[0, 0], w), "conv2d", "(7, 6)", "(N, C, H, W)"),
        (lambda: ops.conv2d(x, w[0]), "conv2d", "weight", "4 axes"),
        (lambda: ops.conv2d(x, w, dilation=4), "conv2d", "does not fit"),
        (lambda: ops.conv1d(x, w[0]), "conv1d", "(N, C, L)"),
        (lambda: ops.Conv2D(2, 3)(x, w[:, :, :2]), "Conv2D", "weight", "(2, 4, 2, 3)"),
        (lambda: ops.Conv2D(2, 3, data_format="NHWC"), "Conv2D", "NHWC", "transpose"),
        (lambda: ops.conv_transpose2d(x[:, :2], w, output_padding=1), "output_padding"),
        (lambda: ops.conv_transpose2d(x[:, :2], w, padding=9), "padding 9"),
        (lambda: ops.max_pool2d(x, 2, padding=2), "max_pool2d", "half"),
        (lambda: ops.max_pool2d(x, 9), "max_pool2d", "does not fit"),
        (lambda: ops.avg_pool2d(x, 0), "avg_pool2d", "kernel_size"),
        (lambda: ops.MaxPool(2, 2, "pad"), "MaxPool", "pad_mode"),
        (lambda: nn.MaxPool2d(2, 2, "same", ceil_mode=True), "MaxPool2d", "ceil_mode"),
        (lambda: nn.AvgPool2d(divisor_override=0), "AvgPool2d", "divisor_override"),
        (lambda: nn.Conv2d(3, 4, 3, group=2), "Conv2d", "group"),
        (lambda: nn.Conv2d(3, 4, 3, padding=1), "Conv2d", "pad_mode"),
        (lambda: nn.BatchNorm2d(4)(f32(IMAGE[0])), "BatchNorm2d", "4 axes"),
        (lambda: nn.GroupNorm(3, 4), "GroupNorm", "3", "4"),
        (lambda: ops.group_norm(x, 3), "group_norm", "(2, 4, 7, 6)", "3 groups"),
        (lambda: ops.batch_norm(x, mean, f64([1.0])), "batch_norm", "running_var", "(1,)"),
        (lambda: ops.batch_norm(x[:1, :, 0, 0], mean, None, training=True), "batch_norm", "two elements"),
        (lambda: ops.dropout(x, 1.5), "dropout", "1.5"),
        (lambda: nn.Dropout(p=1.0), "Dropout", "p is 1.0"),
        (lambda: ops.embedding(Tensor([0]), x), "embedding", "(2, 4, 7, 6)"),
        (lambda: ops.embedding(Tensor([0]), x[0, 0], padding_idx=7), "embedding", "padding_idx"),
        (lambda: nn.Embedding(4, 2, padding_idx=4), "Embedding", "padding_idx"),
    ]
    for call, *words in errors:
        assert_raises(ValueError, call, *words)
    assert_raises(TypeError, lambda: ops.conv2d(x, w.astype(dg.float32)), "conv2d", "Float64", "Float32")
    assert_raises(TypeError, lambda: ops.batch_norm(x, f64(np.zeros(4)), None, training=True), "Parameter")
    assert_raises(TypeError, lambda: ops.batch_norm(x, mean, None), "batch_norm", "running_var", "training")
    assert_raises(TypeError, lambda: ops.embedding(Tensor([0]), x[0, 0], max_norm=1.0), "Parameter")
    assert_raises(IndexError, lambda: ops.embedding(Tensor([7]), x[0, 0]), "embedding", "7")
    assert_close(mean.value(), np.zeros(4))
