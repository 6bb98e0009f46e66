"""Pools that tell where maxima are, pools at drawn places, and deformable convolution, against loops in NumPy."""

import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(5)
IMAGE, VOLUME = RNG.standard_normal((2, 3, 7, 9)), RNG.standard_normal((2, 3, 5, 6, 7))


def largest(x, windows):
    """The largest element of each window, and its position: `windows` gives for each axis lists of positions."""
    found = np.empty((*x.shape[:2], *map(len, windows)))
    places = np.empty(found.shape, np.int64)
    for n, c in np.ndindex(*x.shape[:2]):
        for which in itertools.product(*(range(len(each)) for each in windows)):
            points = [*itertools.product(*(each[k] for each, k in zip(windows, which, strict=True)))]
            best = max(points, key=lambda point: (x[(n, c, *point)], [-i for i in point]))
            found[(n, c, *which)] = x[(n, c, *best)]
            places[(n, c, *which)] = np.ravel_multi_index(best, x.shape[2:])
    return found, places


def sliding(length, kernel, stride, low, dilation, ceil):
    """The positions of the windows along an axis, those inside only."""
    room = length + 2 * low - dilation * (kernel - 1) - 1
    count = room // stride + 1
    if ceil and room % stride and count * stride < length + low:
        count += 1
    taps = [[k * stride - low + t * dilation for t in range(kernel)] for k in range(count)]
    return [[t for t in window if 0 <= t < length] for window in taps]


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("pads", [0, 1])
@pytest.mark.parametrize("stride", [None, 1, 2])
def test_max_pools_with_positions(stride, pads, dilation, ceil):
    kernel = (3, 2)
    strides = kernel if stride is None else (stride, stride)
    windows = [sliding(m, k, s, pads, dilation, ceil) for m, k, s in zip((7, 9), kernel, strides, strict=True)]
    found, places = largest(IMAGE, windows)
    assert_close(ops.MaxPoolWithArgmaxV2(kernel, stride, pads, dilation, ceil)(f64(IMAGE)), (found, places))
    kernel = (2, 3, 2)
    strides = kernel if stride is None else (stride,) * 3
    windows = [sliding(m, k, s, pads, dilation, ceil) for m, k, s in zip((5, 6, 7), kernel, strides, strict=True)]
    found, places = largest(VOLUME, windows)
    pool = ops.MaxPool3DWithArgmax(kernel, stride, pads, dilation, ceil, argmax_type=dg.int32)
    assert_close(pool(f64(VOLUME)), (found, places.astype(np.int32)))


@pytest.mark.parametrize("mode", ["valid", "same"])
@pytest.mark.parametrize("stride", [1, 2])
def test_positions_that_count_channels(stride, mode):
    found, places = ops.MaxPoolWithArgmax(3, stride, mode)(f64(IMAGE))
    assert_close(found, ops.MaxPool(3, stride, mode)(f64(IMAGE)).asnumpy())
    assert places.dtype == dg.int32
    rows = IMAGE.reshape(2, -1)
    assert_close(found, np.take_along_axis(rows, places.asnumpy().reshape(2, -1), 1).reshape(found.shape))
    assert (places.asnumpy() // 63 == np.arange(3).reshape(3, 1, 1)).all()


def test_of_equal_maxima_the_first():
    x = f64(np.ones((1, 2, 2, 4)))
    assert ops.MaxPoolWithArgmax(2, 2)(x)[1].tolist() == [[[[0, 2]], [[8, 10]]]]
    assert ops.MaxPoolWithArgmaxV2(2)(x)[1].tolist() == [[[[0, 2]], [[0, 2]]]]


def starts(u, kernel, count, length):
    """Where windows begin along an axis; see A. Paszke et al., PyTorch, whose steps these are."""
    if count == 1:
        return [length - kernel]
    step = (length - kernel) / (count - 1)
    return [math.floor((k + u) * step) - math.floor(u * step) for k in range(count - 1)] + [length - kernel]


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize(("kernel", "counts"), [((2, 3), (4, 5)), ((1, 1), (7, 9)), ((3, 2), (1, 8)), ((7, 9), (1, 1))])
def test_fractional_max_pool2d(kernel, counts, common):
    samples = RNG.random((1 if common else 2, 3, 2))
    expected, places = np.empty((2, 3, *counts)), np.empty((2, 3, *counts), np.int64)
    for n, c in np.ndindex(2, 3):
        u = samples[0 if common else n, c][::-1]  # for H and W
        lines = [
            [[*range(first, first + k)] for first in starts(*each)]
            for each, k in zip(zip(u, kernel, counts, (7, 9), strict=True), kernel, strict=True)
        ]
        one, where = largest(IMAGE[n : n + 1, c : c + 1], lines)
        expected[n, c], places[n, c] = one[0, 0], where[0, 0]
    found = ops.fractional_max_pool2d(f64(IMAGE), kernel, counts, None, True, f64(samples))
    assert_close(found, (expected, places))
    assert_close(ops.FractionalMaxPoolWithFixedKsize(kernel, counts)(f64(IMAGE), f64(samples)), (expected, places))
    cell = nn.FractionalMaxPool2d(kernel, counts, return_indices=True, _random_samples=f64(samples))
    assert_close(cell(f64(IMAGE)), (expected, places))
    if common:
        single = ops.fractional_max_pool2d(f64(IMAGE[0]), kernel, counts, None, True, f64(samples))
        assert_close(single, (expected[0], places[0]))


@pytest.mark.parametrize(("kernel", "counts"), [((2, 2, 3), (3, 4, 5)), ((1, 2, 2), (5, 1, 6))])
def test_fractional_max_pool3d(kernel, counts):
    samples = RNG.random((2, 3, 3))
    expected, places = np.empty((2, 3, *counts)), np.empty((2, 3, *counts), np.int64)
    for n, c in np.ndindex(2, 3):
        lines = [
            [[*range(first, first + k)] for first in starts(*each)]
            for each, k in zip(zip(samples[n, c], kernel, counts, (5, 6, 7), strict=True), kernel, strict=True)
        ]
        one, where = largest(VOLUME[n : n + 1, c : c + 1], lines)
        expected[n, c], places[n, c] = one[0, 0], where[0, 0]
    found = ops.fractional_max_pool3d(f64(VOLUME), kernel, counts, return_indices=True, _random_samples=f64(samples))
    assert_close(found, (expected, places))
    assert_close(ops.FractionalMaxPool3DWithFixedKsize(kernel, counts)(f64(VOLUME), f64(samples)), (expected, places))
    cell = nn.FractionalMaxPool3d(kernel, counts, _random_samples=f64(samples))
    assert_close(cell(f64(VOLUME)), expected)


def test_drawn_places():
    """Ratios are rounded down; each call draws, and a seed brings the draws back."""
    x = f64(RNG.standard_normal((1, 50, 9, 9)))
    results = []
    for _ in range(2):
        dg.set_seed(3)
        results.append([ops.fractional_max_pool2d(x, 2, output_ratio=(0.6, 0.99)).asnumpy() for _ in range(2)])
    assert results[0][0].shape == (1, 50, 5, 8)
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0][0] != results[0][1]).any()


BOUNDS = {"random": False, "pseudo-random": True}


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize(("shape", "ratio"), [((9, 8), (1.5, 1.0)), ((7, 10), (1.75, 3.0)), ((5, 4), (5.0, 2.5))])
def test_pools_between_bounds(shape, ratio, overlapping, kind):
    x = RNG.standard_normal((2, *shape, 3))
    settings = ([1.0, *ratio, 1.0], BOUNDS[kind], overlapping)
    for pool, reduce in ((ops.FractionalMaxPool, np.max), (ops.FractionalAvgPool, np.mean)):
        for seed in range(4):
            found, *bounds = pool(*settings, seed=seed + 1)(f64(x))
            rows, columns = [bound.tolist() for bound in bounds]
            for line, length, r in ((rows, shape[0], ratio[0]), (columns, shape[1], ratio[1])):
                steps, count = np.diff(line), int(length / r)
                assert line[0] == 0
                assert line[-1] == length
                assert len(steps) == count
                assert {*steps.tolist()} <= {length // count, -(-length // count)}
            expected = [
                [reduce(x[:, a : b + overlapping, c : d + overlapping], (1, 2)) for c, d in itertools.pairwise(columns)]
                for a, b in itertools.pairwise(rows)
            ]
            assert_close(found, np.transpose(expected, (2, 0, 1, 3)), rtol=1e-14, scale=1.0)


def test_bounds_are_fixed_or_drawn():
    x = f64(RNG.standard_normal((1, 40, 40, 1)))
    pool = ops.FractionalMaxPool([1.0, 1.4, 1.3, 1.0], deterministic=True, seed=2)
    assert pool(x)[1].tolist() == pool(x)[1].tolist()
    pool = ops.FractionalMaxPool([1.0, 1.4, 1.3, 1.0], seed=2)
    assert pool(x)[1].tolist() != pool(x)[1].tolist()
    pool = ops.FractionalAvgPool([1.0, 1.4, 1.3, 1.0])
    lines = []
    for _ in range(2):
        dg.set_seed(7)
        lines.append(pool(x)[2].tolist())
    assert lines[0] == lines[1] != pool(x)[2].tolist()


def test_averages_of_integers():
    x = np.array([[-3, 2], [0, -4]]).reshape(1, 2, 2, 1)
    found = ops.FractionalAvgPool([1.0, 2.0, 2.0, 1.0])(Tensor(x))[0]
    assert found.dtype == dg.int64
    assert found.item() == -1


def deformed(x, offsets, kernel, strides, pads, dilations, groups):
    """The elements that the definition reads, one after another."""
    n, c, height, width = x.shape
    h, w = kernel
    rows, columns = offsets.shape[2:]
    parts = offsets.reshape(n, 3, groups, h, w, rows, columns)
    out = np.zeros((n, c, rows * h, columns * w))
    for image, channel, i, j, p, q in np.ndindex(n, c, rows, columns, h, w):
        along, down, factor = parts[image, :, channel // (c // groups), p, q, i, j]
        y = i * strides[0] + p * dilations[0] - pads[0] + down
        at = j * strides[1] + q * dilations[1] - pads[2] + along
        value = 0.0
        for a, b in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(at), math.floor(at) + 1)):
            if 0 <= a < height and 0 <= b < width:
                value += (1 - abs(y - a)) * (1 - abs(at - b)) * x[image, channel, a, b]
        out[image, channel, i * h + p, j * w + q] = factor * value
    return out


DEFORMED = {
    "plain": ((2, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "strides": ((3, 2), (2, 3), (0, 0, 0, 0), (1, 1), 1),
    "pads": ((2, 2), (1, 2), (1, 2, 0, 3), (1, 1), 1),
    "dilations": ((2, 3), (1, 1), (1, 1, 1, 1), (3, 2), 1),
    "groups": ((1, 2), (2, 1), (0, 1, 1, 0), (1, 2), 3),
}


@pytest.mark.parametrize("name", DEFORMED)
def test_deformable_convolution(name):
    kernel, strides, pads, dilations, groups = DEFORMED[name]
    counts = [
        (m + sum(ends) - d * (k - 1) - 1) // s + 1
        for m, ends, d, k, s in zip((7, 9), (pads[:2], pads[2:]), dilations, kernel, strides, strict=True)
    ]
    offsets = RNG.uniform(-3, 3, (2, 3 * groups * math.prod(kernel), *counts))
    expected = deformed(IMAGE, offsets, *DEFORMED[name])
    settings = ((1, 1, *strides), pads, kernel, (1, 1, *dilations))
    read = ops.DeformableOffsets(*settings, deformable_groups=groups)
    assert_close(read(f64(IMAGE), f64(offsets)), expected, rtol=1e-12, scale=1.0)
    last = ops.DeformableOffsets((1, *strides, 1), pads, kernel, (1, *dilations, 1), "NHWC", groups)
    order = lambda t: f64(np.moveaxis(t, 1, -1))
    assert_close(last(order(IMAGE), order(offsets)), np.moveaxis(expected, 1, -1), rtol=1e-12, scale=1.0)
    weight, bias = RNG.standard_normal((6, 1, *kernel)), RNG.standard_normal(6)
    found = ops.deformable_conv2d(
        f64(IMAGE), f64(weight), f64(offsets), kernel, settings[0], pads, f64(bias), settings[3], 3, groups
    )
    blocks = expected.reshape(2, 3, counts[0], kernel[0], counts[1], kernel[1])
    sums = np.einsum("ngipjq,gkpq->ngkij", blocks, weight.reshape(3, 2, *kernel)).reshape(2, 6, *counts)
    assert_close(found, sums + bias.reshape(-1, 1, 1), rtol=1e-12, scale=1.0)


def test_without_offsets_it_is_convolution():
    offsets = np.concatenate([np.zeros((2, 12, 3, 4)), np.ones((2, 6, 3, 4))], 1)
    weight = RNG.standard_normal((4, 3, 2, 3))
    found = ops.deformable_conv2d(f64(IMAGE), f64(weight), f64(offsets), (2, 3), (1, 1, 2, 2), (0, 0, 0, 0))
    assert_close(found, ops.conv2d(f64(IMAGE), f64(weight), stride=2).asnumpy(), rtol=1e-12, scale=1.0)


def test_short_floats_are_rounded_once():
    """Offsets of Float16 are not added to places in Float16, and products are formed in Float32."""
    offsets = np.concatenate([RNG.uniform(-2, 2, (2, 12, 6, 7)), np.ones((2, 6, 6, 7))], 1).astype(np.float16)
    x = IMAGE.astype(np.float16)
    exact = deformed(x.astype(float), offsets.astype(float), (2, 3), (1, 1), (0,) * 4, (1, 1), 1)
    found = ops.DeformableOffsets((1, 1, 1, 1), (0,) * 4, (2, 3))(Tensor(x), Tensor(offsets))
    assert found.dtype == dg.float16
    np.testing.assert_allclose(found.asnumpy(), exact, rtol=2**-11, atol=2e-7)


X = f32(np.ones((1, 2, 4, 4)))
ERRORS = {
    "kernel of a pool": (ValueError, lambda: ops.MaxPoolWithArgmaxV2(0), "kernel_size", "0"),
    "pads of a pool": (ValueError, lambda: ops.MaxPoolWithArgmaxV2(2, pads=2), "half"),
    "type of positions": (TypeError, lambda: ops.MaxPoolWithArgmaxV2(2, argmax_type=dg.int16), "argmax_type", "Int64"),
    "shape of a pool": (ValueError, lambda: ops.MaxPoolWithArgmax(2)(X[0, 0]), "MaxPoolWithArgmax", "(4, 4)"),
    "order of axes": (ValueError, lambda: ops.MaxPool3DWithArgmax(2, 2, 0, data_format="NDHWC"), "NCDHW"),
    "no size": (ValueError, lambda: ops.fractional_max_pool2d(X, 2), "output_size", "output_ratio"),
    "ratio": (ValueError, lambda: ops.fractional_max_pool2d(X, 2, output_ratio=1.5), "between 0 and 1"),
    "both sizes": (ValueError, lambda: nn.FractionalMaxPool2d(2, 2, 0.5), "one of them"),
    "room": (ValueError, lambda: ops.fractional_max_pool2d(X, 3, 3), "lengths of at least", "(5, 5)"),
    "samples": (
        ValueError, lambda: ops.fractional_max_pool2d(X, 2, 2, _random_samples=ops.zeros((1, 1, 2))), "(1, 2, 2)"),
    "type of samples": (
        TypeError,
        lambda: ops.fractional_max_pool2d(X, 2, 2, _random_samples=Tensor(np.zeros((1, 2, 2), np.int64))), "floating"),
    "axes": (ValueError, lambda: ops.FractionalMaxPoolWithFixedKsize(2, 2)(X[0], ops.zeros((1, 2, 2))), "4 axes"),
    "ratios": (ValueError, lambda: ops.FractionalMaxPool([1.0, 0.5, 1.0, 1.0]), "pooling_ratio", "at least 1"),
    "ratio of the batch": (ValueError, lambda: ops.FractionalAvgPool([2.0, 1.5, 1.0, 1.0]), "pooling_ratio"),
    "ratio of a short axis": (ValueError, lambda: ops.FractionalAvgPool([1.0, 5.0, 1.0, 1.0])(X), "at most 2"),
    "axes of a ratio": (ValueError, lambda: ops.FractionalAvgPool([1.0, 2.0, 2.0, 1.0])(X[0]), "(N, H, W, C)"),
    "strides": (ValueError, lambda: ops.DeformableOffsets((2, 1, 1, 1), (0,) * 4, (1, 1)), "strides", "channels"),
    "order": (ValueError, lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (1, 1), data_format="CHWN"), "NHWC"),
    "modulated": (ValueError, lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (1, 1), modulated=False), "modulated"),
    "windows": (
        ValueError, lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (2, 2))(X, ops.ones((1, 12, 4, 4))), "(3, 3)"),
    "offsets": (
        ValueError, lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (2, 2))(X, ops.ones((1, 8, 3, 3))), "12"),
    "four axes": (ValueError, lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (2, 2))(X[0], X), "four axes"),
    "weight": (
        ValueError,
        lambda: ops.deformable_conv2d(X, ops.ones((1, 2, 1, 1)), X, (2, 2), (1,) * 4, (0,) * 4), "weight", "2, 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_raises(ERRORS[name][0], ERRORS[name][1], *ERRORS[name][2:])
