"""Images of another size, sampled at points, and cut into blocks, against loops that are written out here."""

import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(5)
LENGTHS = {1: (5,), 2: (5, 4), 3: (3, 4, 5)}


def image(n):
    return RNG.standard_normal((2, 3, *LENGTHS[n]))


# ------------------------------------------------------------------------------------------------- interpolation


def hat(t):
    return max(1 - abs(t), 0.0)


def keys(a):
    def kernel(t):
        t = abs(t)
        if t <= 1:
            return (a + 2) * t**3 - (a + 3) * t**2 + 1
        return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0

    return kernel


def matrix(length, size, kernel, corners, renormalised=False):
    """The map along one axis: the kernel at the distance of every element, ends repeated."""
    result = np.zeros((size, length))
    for i in range(size):
        place = i * (length - 1) / (size - 1) if corners else (i + 0.5) * length / size - 0.5
        for j in range(-3, length + 3):
            inside = 0 <= j < length
            if inside or not renormalised:
                result[i, min(max(j, 0), length - 1)] += kernel(place - j)
    return result / result.sum(1, keepdims=True) if renormalised else result


def along_axes(x, maps):
    for axis, m in enumerate(maps, 2):
        x = np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)
    return x


NAMES = {1: "linear", 2: "bilinear", 3: "trilinear"}
SIZES = {1: [(8,), (3,)], 2: [(8, 3), (5, 9)], 3: [(5, 2, 7)]}


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("n", "size"), [(n, size) for n in SIZES for size in SIZES[n]])
def test_linear_modes_are_hats_around_each_element(n, size, corners):
    x = image(n)
    maps = [matrix(m, k, hat, corners) for m, k in zip(LENGTHS[n], size, strict=True)]
    result = ops.interpolate(f64(x), size, mode=NAMES[n], align_corners=corners)
    assert_close(result, along_axes(x, maps), scale=1.0)
    assert_close(nn.Upsample(size, None, NAMES[n], corners)(f64(x)), result.asnumpy())


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", SIZES[2])
def test_bicubic_is_cubic_convolution(size, corners):
    x = image(2)
    kernel = keys(-0.75 if corners else -0.5)
    maps = [matrix(m, k, kernel, corners, not corners) for m, k in zip(LENGTHS[2], size, strict=True)]
    assert_close(ops.interpolate(f64(x), size, mode="bicubic", align_corners=corners), along_axes(x, maps), scale=1.0)


@pytest.mark.parametrize(("mode", "shift"), [("nearest", 0.0), ("nearest-exact", 0.5)])
@pytest.mark.parametrize(("n", "size"), [(n, size) for n in (1, 2) for size in SIZES[n]])
def test_nearest_takes_the_element_below(n, size, mode, shift):
    x = image(n)
    expected = x
    for axis, (m, k) in enumerate(zip(LENGTHS[n], size, strict=True), 2):
        expected = np.take(expected, [math.floor((i + shift) * m / k) for i in range(k)], axis)
    assert_close(ops.interpolate(f64(x), size, mode=mode), expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_area_is_adaptive_pooling(n):
    x = f64(image(n))
    expected = getattr(ops, f"adaptive_avg_pool{n}d")(x, 2)
    assert_close(ops.interpolate(x, 2, mode="area"), expected.asnumpy())


def test_a_factor_gives_the_distance_of_elements_unless_it_is_recomputed():
    x = f64(np.arange(5.0)[None, None])
    assert_close(ops.interpolate(x, scale_factor=1.5), np.floor(np.arange(7) / 1.5)[None, None])
    same = ops.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=True)
    assert_close(same, ops.interpolate(x, 7, mode="linear").asnumpy())


def test_a_neighbour_without_weight_adds_nothing():
    x = np.array([[[0.0, 1.0, np.inf]]])
    assert_close(ops.interpolate(f64(x), 5, mode="linear", align_corners=True), [[[0.0, 0.5, 1.0, np.inf, np.inf]]])


@pytest.mark.parametrize(("corners", "half"), [(False, False), (True, False), (False, True)])
def test_primitive_classes_place_elements_by_their_settings(corners, half):
    x, size = image(2), (8, 3)
    nearest, linear = x, x
    for axis, (m, k) in enumerate(zip(LENGTHS[2], size, strict=True), 2):
        scale = (m - 1) / (k - 1) if corners else m / k
        places = [math.floor(i * scale + 0.5) if corners else math.floor((i + 0.5 * half) * scale) for i in range(k)]
        nearest = np.take(nearest, places, axis)
        at = np.clip([(i + 0.5 * half) * scale - 0.5 * half for i in range(k)], 0, m - 1)
        weights = np.array([[hat(t - j) for j in range(m)] for t in at])
        linear = np.moveaxis(np.tensordot(weights, linear, (1, axis)), 0, axis)
    for cls, expected in ((ops.ResizeNearestNeighbor, nearest), (ops.ResizeBilinear, linear)):
        assert_close(cls(size, corners, half)(f64(x)), expected, scale=1.0)
        again = getattr(ops, f"{cls.__name__}V2")(corners, half)
        assert_close(again(f64(x), size), expected, scale=1.0)


# -------------------------------------------------------------------------------------------------------- points


def element(x, place):
    """An element, 0 outside."""
    return x[(..., *place)] if all(0 <= k < m for k, m in zip(place, x.shape[1:], strict=True)) else 0 * x.sum()


def moved(t, m, padding, corners):
    """A place counted in elements, moved inside."""
    t = (t + 1) / 2 * (m - 1) if corners else ((t + 1) * m - 1) / 2
    if padding == "reflection":
        low, high = (0.0, m - 1.0) if corners else (-0.5, m - 0.5)
        while not low <= t <= high:
            t = 2 * low - t if t < low else 2 * high - t
    return t if padding == "zeros" else min(max(t, 0.0), m - 1.0)


def sampled(x, point, mode, padding, corners):
    at = [moved(t, m, padding, corners) for t, m in zip(point[::-1], x.shape[1:], strict=True)]
    if mode == "nearest":
        return element(x, [round(t) for t in at])
    result = np.zeros(len(x))
    for corner in itertools.product((0, 1), repeat=len(at)):
        place = [math.floor(t) + c for t, c in zip(at, corner, strict=True)]
        weight = math.prod(hat(t - k) for t, k in zip(at, place, strict=True))
        result = result + weight * (element(x, place) + np.zeros(len(x)))
    return result


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("n", [2, 3])
def test_grid_sample_is_the_image_at_points(n, mode, padding, corners):
    x, points = image(n), RNG.uniform(-2.5, 2.5, (2, *(3, 2, 2)[:n], n))
    expected = np.empty((2, 3, *points.shape[1:-1]))
    for sample, *place in np.ndindex(2, *points.shape[1:-1]):
        point = points[(sample, *place)]
        expected[(sample, slice(None), *place)] = sampled(x[sample], point, mode, padding, corners)
    result = ops.grid_sample(f64(x), f64(points), mode, padding, corners)
    assert_close(result, expected, scale=1.0)
    cls = ops.GridSampler2D if n == 2 else ops.GridSampler3D
    assert_close(cls(mode, padding, corners)(f64(x), f64(points)), result.asnumpy())


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("n", [2, 3])
def test_the_identity_samples_every_element_once(n, corners):
    x = image(n)
    theta = np.broadcast_to(np.eye(n, n + 1), (2, n, n + 1))
    grid = ops.affine_grid(f64(theta), x.shape, corners)
    assert_close(ops.grid_sample(f64(x), grid, align_corners=corners), x, scale=1.0)
    assert_close(ops.AffineGrid(corners)(f64(theta), x.shape), grid.asnumpy())
    linear = RNG.standard_normal((2, n, n + 1))
    ones = np.concatenate([grid.asnumpy(), np.ones((*grid.shape[:-1], 1))], -1)
    expected = np.einsum("b...j,bij->b...i", ones, linear)
    assert_close(ops.affine_grid(f64(linear), x.shape, corners), expected, scale=1.0)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("shape", [*itertools.product([1, 2], [1, 3]), (1, 1, 1), (2, 1, 3)])
def test_points_of_the_identity_lie_symmetrically(shape, corners):
    """Between the ends of each axis, in equal steps: a single one lies in the middle."""
    n = len(shape)
    grid = ops.affine_grid(f64(np.eye(n, n + 1)[None]), (1, 1, *shape), corners).asnumpy()[0]
    for axis, m in enumerate(shape):
        along = np.moveaxis(grid[..., n - 1 - axis], axis, 0).reshape(m, -1)
        ends = (m - 1) / (m - 1 if corners and m > 1 else m)
        np.testing.assert_allclose(along[[0, -1]].T, [[-ends, ends]] * along.shape[1], atol=1e-15)
        np.testing.assert_allclose(np.diff(along, 2, axis=0), 0, atol=1e-15)


def test_points_that_are_no_numbers_give_no_number_and_read_nothing():
    points = f64([[[[np.nan, 0.0], [1e300, 0.0]]]])
    assert_close(ops.grid_sample(f64(np.ones((1, 1, 2, 2))), points), [[[[np.nan, 0.0]]]])


# -------------------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("r", [1, 2, 3])
def test_pixels_move_between_channels_and_places(r):
    x = RNG.standard_normal((2, 2 * r * r, 3, 4))
    result = ops.pixel_shuffle(f64(x), r)
    expected = np.empty((2, 2, 3 * r, 4 * r))
    for c, p, q in np.ndindex(2, r, r):
        expected[:, c, p::r, q::r] = x[:, (c * r + p) * r + q]
    assert_close(result, expected)
    assert_close(ops.pixel_unshuffle(result, r), x)
    assert_close(nn.PixelShuffle(r)(f64(x)), expected)
    assert_close(nn.PixelUnshuffle(r)(result), x)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_channels_are_dealt_out(groups):
    x = RNG.standard_normal((2, 6, 3))
    order = [i * (6 // groups) + j for j in range(6 // groups) for i in range(groups)]
    for result in (
        ops.channel_shuffle(f64(x), groups),
        nn.ChannelShuffle(groups)(f64(x)),
        ops.ChannelShuffle(groups)(f64(x)),
    ):
        assert_close(result, x[:, order])


@pytest.mark.parametrize("b", [2, 3])
def test_blocks_become_channels_and_samples(b):
    x = RNG.standard_normal((2, 3, 2 * b, 3 * b))
    parts = [x[:, :, p::b, q::b] for p, q in np.ndindex(b, b)]
    deep = ops.SpaceToDepth(b)(f64(x))
    assert_close(deep, np.concatenate(parts, 1))
    assert_close(ops.DepthToSpace(b)(deep), x)
    many = ops.SpaceToBatch(b, ((0, 0), (0, 0)))(f64(x))
    assert_close(many, np.concatenate(parts, 0))
    assert_close(ops.BatchToSpace(b, ((0, 0), (0, 0)))(many), x)


def test_blocks_of_padded_axes_come_back_when_they_are_cropped():
    x = RNG.standard_normal((2, 3, 4, 5))
    ends = ((1, 1), (0, 1))
    many = ops.space_to_batch_nd(f64(x), (2, 3), ends)
    padded = np.pad(x, ((0, 0), (0, 0), *ends))
    assert_close(many, np.concatenate([padded[:, :, p::2, q::3] for p, q in np.ndindex(2, 3)], 0))
    assert_close(ops.batch_to_space_nd(many, (2, 3), ends), x)


REFUSED = {
    "mode": (lambda: ops.interpolate(f64(image(2)), 3, mode="cubic"), ("nearest",)),
    "axes of the mode": (lambda: ops.interpolate(f64(image(1)), 3, mode="bilinear"), ("4 axes",)),
    "corners of nearest": (lambda: ops.interpolate(f64(image(1)), 3, align_corners=True), ("align_corners",)),
    "size and factor": (lambda: ops.interpolate(f64(image(1)), 3, 2.0), ("one of them",)),
    "number of sizes": (lambda: ops.interpolate(f64(image(2)), (3, 4, 5)), ("2 of them",)),
    "grid": (lambda: ops.grid_sample(f64(image(2)), f64(np.zeros((2, 1, 1, 3)))), ("(N, H', W', 2)",)),
    "padding of a grid": (
        lambda: ops.grid_sample(f64(image(2)), f64(np.zeros((2, 1, 1, 2))), "nearest", "x"),
        ("border",),
    ),
    "channels": (lambda: ops.pixel_shuffle(f64(image(2)), 2), ("multiple of 4",)),
    "blocks": (lambda: ops.SpaceToDepth(2)(f64(image(2))), ("multiples of 2",)),
    "affine map": (lambda: ops.affine_grid(f64(np.zeros((2, 2, 3))), (3, 1, 2, 2)), ("(N, 2, 3)",)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(call):
    assert_raises(ValueError, call[0], *call[1])


def test_the_slope_by_a_point_is_that_of_its_cell():
    x = f64(np.array([0.0, 1.0, 4.0, 9.0]).reshape(1, 1, 1, 4))
    points = f64(np.array([[-0.5, 0.0], [0.1, 0.0], [0.5, 0.0]]).reshape(1, 1, 3, 2))
    slope = dg.grad(lambda p: ops.grid_sample(x, p, align_corners=True).sum())(points)
    assert_close(slope[0, 0, :, 0], [1.5, 4.5, 7.5], scale=1.0)


# ------------------------------------------------------------------------------------------------------- padding

MODES = {"Constant": "constant", "Reflection": "reflect", "Replication": "edge"}


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("samples", [(), (2,)])
def test_padding_of_the_last_axes(kind, n, samples):
    x = RNG.standard_normal((*samples, 3, *LENGTHS[n]))
    ends = [(1, 2), (0, 1), (2, 1)][:n]
    value = (0.5,) if kind == "Constant" else ()
    widths = [(0, 0)] * (x.ndim - n) + ends[::-1]
    settings = {"constant_values": 0.5} if kind == "Constant" else {}
    layer = getattr(nn, f"{kind}Pad{n}d")
    made = layer(tuple(k for pair in ends for k in pair), *value)
    assert_close(made(f64(x)), np.pad(x, widths, MODES[kind], **settings))
    widths[-n:] = [(1, 1)] * n
    assert_close(layer(1, *value)(f64(x)), np.pad(x, widths, MODES[kind], **settings))


def test_zeros_and_what_is_cut_off():
    x = RNG.standard_normal((3, 4, 5))
    assert_close(nn.ZeroPad2d((1, 0, 2, -1))(f64(x)), np.pad(x[:, :-1], ((0, 0), (2, 0), (1, 0))))


@pytest.mark.parametrize(
    ("mode", "other"), [("CONSTANT", "constant"), ("REFLECT", "reflect"), ("SYMMETRIC", "symmetric")]
)
def test_padding_with_a_pair_for_every_axis(mode, other):
    x, ends = RNG.standard_normal((3, 4)), ((1, 2), (0, 3))
    assert_close(nn.Pad(ends, mode)(f64(x)), np.pad(x, ends, mode.lower()))


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_windows_become_channels(padding):
    x = np.arange(2.0 * 2 * 5 * 6).reshape(2, 2, 5, 6)
    result = nn.Unfold((1, 2, 3, 1), (1, 2, 1, 1), (1, 1, 1, 1), padding)(f64(x)).asnumpy()
    padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 1))) if padding == "same" else x
    columns = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))[:, :, ::2]
    expected = columns.transpose(0, 4, 5, 1, 2, 3).reshape(2, 12, *columns.shape[2:4])
    assert np.array_equal(result, expected)


REFUSED_PADDING = {
    "odd": lambda: nn.ReflectionPad2d((1, 2, 3)),
    "mode": lambda: nn.Pad(((0, 0),), "EDGE"),
    "axes": lambda: nn.ReplicationPad1d(1)(f64(np.ones(3))),
    "too much": lambda: nn.ReflectionPad1d(3)(f64(np.ones((1, 3)))),
    "windows": lambda: nn.Unfold((2, 2, 2, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
}


@pytest.mark.parametrize("call", REFUSED_PADDING.values(), ids=REFUSED_PADDING)
def test_padding_that_does_not_fit_is_refused(call):
    assert_raises(ValueError, call, ("expected", "there are 2 to take"))
