"""Convolutions and pooling over one to three axes against sums over windows that are written out here."""

import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(17)
LENGTHS = {1: (7,), 2: (5, 6), 3: (4, 5, 3)}


def block(n, channels=4):
    return RNG.standard_normal((2, channels, *LENGTHS[n]))


def window(x, place, kernel, stride, dilation, n):
    """The elements of one window as an array (..., *kernel)."""
    cut = [slice(i * s, i * s + d * (k - 1) + 1, d) for i, k, s, d in zip(place, kernel, stride, dilation, strict=True)]
    return x[(..., *cut)]


def counted(x, kernel, stride, dilation, n):
    return [(m - d * (k - 1) - 1) // s + 1 for m, k, s, d in zip(x.shape[-n:], kernel, stride, dilation, strict=True)]


def reduced(f, x, kernel, stride, dilation, n):
    """F of every window of a padded image, over its last n axes."""
    counts = counted(x, kernel, stride, dilation, n)
    result = np.empty((*x.shape[:-n], *counts))
    for place in np.ndindex(*counts):
        part = window(x, place, kernel, stride, dilation, n)
        result[(..., *place)] = f(part.reshape(*x.shape[:-n], -1), -1)
    return result


def convolved(x, w, stride, padding, dilation, groups, n):
    x = np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * n))
    kernel = w.shape[2:]
    counts = counted(x, kernel, stride, dilation, n)
    result = np.zeros((x.shape[0], w.shape[0], *counts))
    inside, outside = x.shape[1] // groups, w.shape[0] // groups
    for g, place in itertools.product(range(groups), np.ndindex(*counts)):
        part = window(x[:, g * inside : (g + 1) * inside], place, kernel, stride, dilation, n)
        kernels = w[g * outside : (g + 1) * outside]
        met = np.tensordot(part.reshape(len(x), -1), kernels.reshape(outside, -1), (1, 1))
        result[(slice(None), slice(g * outside, (g + 1) * outside), *place)] = met
    return result


SETTINGS = [*itertools.product([1, 2], [0, 1], [1, 2], [1, 2])]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
def test_convolutions_are_sums_over_windows(n, stride, padding, dilation, groups):
    x, w, b = block(n), RNG.standard_normal((6, 4 // groups, *(2,) * n)), RNG.standard_normal(6)
    expected = convolved(x, w, (stride,) * n, padding, (dilation,) * n, groups, n) + b.reshape(-1, *(1,) * n)
    settings = stride, "pad", padding, dilation, groups
    assert_close(getattr(ops, f"conv{n}d")(f64(x), f64(w), f64(b), *settings), expected, scale=1.0)
    assert_close(getattr(ops, f"conv{n}d")(f64(x[0]), f64(w), f64(b), *settings), expected[0], scale=1.0)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), SETTINGS)
def test_transposed_convolutions_are_the_transposes(n, stride, padding, dilation, groups):
    """Both are linear: the gradient of the one is the other."""
    w, y = RNG.standard_normal((4, 6 // groups, *(3, 2, 2)[:n])), RNG.standard_normal((2, 4, *(4, 3, 2)[:n]))
    transposed, forward = getattr(ops, f"conv_transpose{n}d"), getattr(ops, f"conv{n}d")
    x = transposed(f64(y), f64(w), None, stride, padding, 0, groups, dilation)
    loss = lambda x: ops.sum(forward(x, f64(w), None, stride, "pad", padding, dilation, groups) * f64(y))
    assert_close(x, dg.grad(loss)(x).asnumpy(), scale=1.0)


CELLS = [*itertools.product([1, 2, 3], [1, 2, 3], ["valid", "same", "pad"])]


@pytest.mark.parametrize(("n", "stride", "mode"), CELLS)
def test_cells_of_convolutions_call_the_functions(n, stride, mode):
    padding = 1 if mode == "pad" else 0
    layer = getattr(nn, f"Conv{n}d")(4, 6, 3, stride, mode, padding, group=2, has_bias=True, dtype=dg.float64)
    w = layer.weight.asnumpy()
    assert w.shape == (6, 2, *((1, 3) if n == 1 else (3,) * n))
    w = w[:, :, 0] if n == 1 else w
    x = f64(block(n))
    result = getattr(ops, f"conv{n}d")(x, f64(w), layer.bias, stride, mode, padding, 1, 2)
    assert_close(layer(x), result.asnumpy())
    if mode == "same":
        assert result.shape[2:] == tuple(-(-m // stride) for m in LENGTHS[n])


@pytest.mark.parametrize(("n", "stride", "mode"), CELLS)
def test_cells_of_transposed_convolutions_are_the_transposes(n, stride, mode):
    """Of the convolution with the same settings, wherever that gives the length back."""
    padding = 1 if mode == "pad" else 0
    layer = getattr(nn, f"Conv{n}dTranspose")(4, 6, 3, stride, mode, padding, group=2, dtype=dg.float64)
    w = layer.weight.asnumpy()
    w = f64(w[:, :, 0] if n == 1 else w)
    y = f64(block(n))
    x = layer(y)
    if mode == "same":
        assert x.shape[2:] == tuple(m * stride for m in LENGTHS[n])
    forward = lambda x: getattr(ops, f"conv{n}d")(x, w, None, stride, mode, padding, 1, 2)
    assert forward(x).shape == y.shape
    assert_close(x, dg.grad(lambda x: ops.sum(forward(x) * y))(x).asnumpy(), scale=1.0)


SHORT = [*itertools.product([1, 2, 3], [1, 2], [3, 4], ["same", "valid"])]


@pytest.mark.parametrize(("n", "kernel", "stride", "mode"), SHORT)
def test_what_is_added_beyond_a_short_kernel_is_the_bias(n, kernel, stride, mode):
    layer = getattr(nn, f"Conv{n}dTranspose")(4, 2, kernel, stride, mode, has_bias=True, dtype=dg.float64)
    x = layer(f64(block(n))).asnumpy() - layer.bias.asnumpy().reshape(-1, *(1,) * n)
    assert x.shape[2:] == tuple(stride * m for m in LENGTHS[n])
    beyond = np.any(np.indices(x.shape[2:]) % stride >= kernel, 0)
    assert np.abs(x[:, :, ~beyond]).min() > 1e-9
    assert np.abs(x[:, :, beyond]).max() < 1e-15


# ----------------------------------------------------------------------------------------------------- pooling

POOLS = [*itertools.product([1, 2, 3], [None, 1, 2], [0, 1])]


@pytest.mark.parametrize(("n", "stride", "padding"), POOLS)
def test_pooling_is_the_maximum_and_the_mean_of_windows(n, stride, padding):
    x, kernel = block(n), (2, 3, 2)[:n]
    steps = kernel if stride is None else (stride,) * n

    def met(f, fill):
        padded = np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * n), constant_values=fill)
        return reduced(f, padded, kernel, steps, (1,) * n, n)

    largest = getattr(ops, f"max_pool{n}d")(f64(x), kernel, stride, padding)
    assert_close(largest, met(np.max, -np.inf))
    averages = getattr(ops, f"avg_pool{n}d")
    assert_close(averages(f64(x), kernel, stride, padding), met(np.mean, 0.0), scale=1.0)
    inside = averages(f64(x), kernel, stride, padding, count_include_pad=False)
    assert_close(inside, met(np.nanmean, np.nan), scale=1.0)
    settings = {"stride": steps, "pad_mode": "pad", "padding": padding}
    assert_close(getattr(nn, f"MaxPool{n}d")(kernel, **settings)(f64(x)), largest.asnumpy())
    assert_close(getattr(nn, f"AvgPool{n}d")(kernel, count_include_pad=False, **settings)(f64(x)), inside.asnumpy())


@pytest.mark.parametrize(("n", "stride", "padding"), POOLS)
def test_positions_are_where_the_maxima_are_and_lead_back(n, stride, padding):
    x, kernel = block(n), (2, 3, 2)[:n]
    function = getattr(ops, f"max_pool{n}d")
    largest, places = function(f64(x), kernel, stride, padding, return_indices=True)
    flat = x.reshape(2, 4, -1)
    found = np.take_along_axis(flat, places.asnumpy().reshape(2, 4, -1), 2)
    assert_close(largest, found.reshape(largest.shape))
    back = getattr(ops, f"max_unpool{n}d")(largest, places, kernel, stride, padding, LENGTHS[n])
    expected = np.zeros_like(flat)
    np.put_along_axis(expected, places.asnumpy().reshape(2, 4, -1), found, 2)
    assert_close(back, expected.reshape(x.shape))
    assert_close(getattr(nn, f"MaxUnpool{n}d")(kernel, stride, padding)(largest, places, LENGTHS[n]), back.asnumpy())


@pytest.mark.parametrize("kind", ["Max", "Avg"])
@pytest.mark.parametrize(("n", "kernel", "stride"), [*itertools.product([1, 2, 3], [1, 2, 3], [1, 2])])
def test_same_has_a_window_for_every_stride_begun(kind, n, kernel, stride):
    x = block(n)
    counts = [-(-m // stride) for m in LENGTHS[n]]
    missing = [max((c - 1) * stride + kernel - m, 0) for c, m in zip(counts, LENGTHS[n], strict=True)]
    padded = np.pad(x, ((0, 0), (0, 0), *[(k // 2, k - k // 2) for k in missing]), constant_values=np.nan)
    if kind == "Avg" and n == 3:  # the one kind of pooling that counts what is added
        padded = np.nan_to_num(padded)
    f = np.nanmax if kind == "Max" else np.nanmean
    expected = reduced(f, padded, (kernel,) * n, (stride,) * n, (1,) * n, n)[(..., *[slice(c) for c in counts])]
    assert_close(getattr(nn, f"{kind}Pool{n}d")(kernel, stride, "same")(f64(x)), expected, scale=1.0)


def shares(length, size):
    return [slice(i * length // size, -((i + 1) * length // -size)) for i in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, None])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pooling_divides_the_image_evenly(n, size):
    if size is None and n == 1:
        size = 5
    x = block(n)
    parts = [shares(m, m if size is None else size) for m in LENGTHS[n]]
    expected = {}
    for name, f in (("avg", np.mean), ("max", np.max)):
        expected[name] = np.empty((2, 4, *map(len, parts)))
        for place in np.ndindex(*map(len, parts)):
            cut = tuple(part[i] for part, i in zip(parts, place, strict=True))
            expected[name][(..., *place)] = f(x[(..., *cut)].reshape(2, 4, -1), -1)
        result = getattr(ops, f"adaptive_{name}_pool{n}d")(f64(x), size)
        assert_close(result, expected[name], scale=1.0)
        assert_close(getattr(nn, f"Adaptive{name.title()}Pool{n}d")(size)(f64(x)), result.asnumpy())
    if n > 1:
        largest, places = getattr(ops, f"adaptive_max_pool{n}d")(f64(x), size, True)
        found = np.take_along_axis(x.reshape(2, 4, -1), places.asnumpy().reshape(2, 4, -1), 2)
        assert_close(largest, found.reshape(largest.shape))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("power", [1, 2, 3.5, -1])
def test_power_means_without_division(n, power):
    x = np.abs(block(n)) + 0.1
    expected = reduced(lambda part, axis: (part**power).sum(axis) ** (1 / power), x, (2,) * n, (2,) * n, (1,) * n, n)
    assert_close(getattr(ops, f"lp_pool{n}d")(f64(x), power, 2), expected, scale=1.0)
    assert_close(getattr(nn, f"LPPool{n}d")(power, 2)(f64(x)), expected, scale=1.0)


def test_a_window_of_zeros_has_slope_zero():
    assert_close(dg.grad(lambda x: ops.lp_pool1d(x, 2, 2))(f64([[0.0, 0.0, 3.0, 4.0]])), [[0.0, 0.0, 0.6, 0.8]])


@pytest.mark.parametrize("layer", [nn.Conv3d, nn.Conv3dTranspose, nn.Conv1dTranspose])
def test_initial_kernels_are_uniform_within_the_inverse_root_of_their_size(layer):
    made = layer(16, 16, 3, has_bias=True)
    bound = 1 / math.sqrt(math.prod(made.weight.shape[1:]))
    values = made.weight.asnumpy()
    assert isinstance(made.weight, Parameter)
    assert 0.95 * bound < np.abs(values).max() <= bound
    assert abs(values.mean()) < 0.1 * bound


REFUSED = {
    "channels of the weight": (lambda: ops.conv3d(f64(block(3)), f64(np.ones((2, 3, 1, 1, 1)))), ("4 channels",)),
    "axes of the input": (lambda: ops.conv3d(f64(block(2)[0]), f64(np.ones((2, 4, 1, 1, 1)))), ("(N, C, D, H, W)",)),
    "order of the axes": (lambda: nn.Conv3d(1, 1, 1, data_format="NCHW"), ("NCDHW",)),
    "no such size": (lambda: ops.adaptive_avg_pool2d(f64(block(2)), 0), ("output_size is 0",)),
    "too many sizes": (lambda: ops.adaptive_max_pool2d(f64(block(2)), (1, 2, 3)), ("2 of them",)),
    "output size": (lambda: ops.max_unpool1d(f64(block(1)), np.zeros((2, 4, 7), int), 2, None, 0, (20,)), ("(14,)",)),
    "positions of another shape": (
        lambda: ops.max_unpool1d(f64(block(1)), np.zeros((2, 4, 6), int), 2),
        ("(2, 4, 7)",),
    ),
    "exponent": (lambda: ops.lp_pool1d(f64(block(1)), 0, 2), ("norm_type",)),
    "padding beside valid": (lambda: nn.Conv3dTranspose(1, 1, 1, output_padding=1), ("pad_mode='pad'",)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(call):
    assert_raises(ValueError, call[0], *call[1])
