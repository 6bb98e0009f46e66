"""Operators of detectors against loops that are written out here, counted pixels, and the standard library."""

import colorsys
import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(7)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers():
    """A test draws the same numbers whatever ran before it."""
    RNG.bit_generator.state = START


def boxes(n, size=12):
    """Boxes with whole corners, the first one before the last one."""
    corners = np.sort(RNG.integers(0, size, (n, 2, 2)), 1)
    return corners.reshape(n, 4).astype(np.float64)


def sides(box):
    return box[2] - box[0] + 1, box[3] - box[1] + 1


# --------------------------------------------------------------------------------------------------------- boxes


@pytest.mark.parametrize(("means", "stds"), [((0.0,) * 4, (1.0,) * 4), ((0.1, -0.2, 0.3, 0.0), (2.0, 0.5, 1.5, 3.0))])
def test_offsets_are_shifts_and_ratios_and_lead_back(means, stds):
    anchors, there = boxes(6), boxes(6)
    expected = []
    for a, b in zip(anchors, there, strict=True):
        (w, h), (v, g) = sides(a), sides(b)
        shift = (b[0] + b[2] - a[0] - a[2]) / 2 / w, (b[1] + b[3] - a[1] - a[3]) / 2 / h
        raw = (*shift, math.log(v / w), math.log(g / h))
        expected.append([(r - m) / s for r, m, s in zip(raw, means, stds, strict=True)])
    found = ops.bounding_box_encode(f64(anchors), f64(there), means, stds)
    assert_close(found, np.array(expected))
    assert_close(ops.BoundingBoxEncode(means, stds)(f64(anchors), f64(there)), found.asnumpy())
    back = ops.bounding_box_decode(f64(anchors), found, (12, 12), means, stds)
    assert_close(back, there, scale=1.0)
    assert_close(ops.BoundingBoxDecode((12, 12), means, stds)(f64(anchors), found), back.asnumpy())


def test_limits_hold_and_have_slope_zero():
    anchors = f64([[2.0, 3.0, 5.0, 4.0]])
    for deltas, free in (
        ([0.0, 0.0, 9.0, 0.0], {0, 1, 3}),
        ([5.0, -5.0, 0.0, 0.0], set()),
        ([0.1, 0.1, 0.1, 0.1], {0, 1, 2, 3}),
    ):
        limited = dg.jacrev(lambda d: ops.bounding_box_decode(anchors, d, (9, 11), wh_ratio_clip=0.5)[0])
        slope = limited(f64([deltas])).asnumpy()[:, 0]
        assert {k for k in range(4) if slope[:, k].any()} == free
    wide = ops.bounding_box_decode(anchors, f64([[0.0, 0.0, 9.0, -9.0]]), (90, 90), wh_ratio_clip=0.5)
    assert_close(wide, np.array([[0.0, 3.5, 7.0, 3.5]]), scale=1.0)  # from 4 by 2 to 8 by 1
    assert_close(
        ops.bounding_box_decode(anchors, f64([[9.0, 9.0, 0.0, 0.0]]), (9, 11)), np.array([[11.0, 9.0, 11.0, 9.0]])
    )


def pixels(box):
    x0, y0, x1, y1 = box.astype(int)
    return {*itertools.product(range(x0, x1 + 1), range(y0, y1 + 1))}


def test_overlaps_are_shares_of_pixels():
    ours, theirs = boxes(5, 6), boxes(4, 6)
    for mode in ("iou", "iof"):
        expected = [
            [len(pixels(a) & pixels(b)) / len(pixels(b) | (pixels(a) if mode == "iou" else set())) for a in ours]
            for b in theirs
        ]
        found = ops.iou(f64(ours), f64(theirs), mode)
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=2e-10)
        assert_close(ops.IOU(mode)(f64(ours), f64(theirs)), found.asnumpy())
        assert ops.iou(f32(ours), f32(theirs), mode).dtype == dg.float32


def test_overlap_serves_as_a_loss():
    """Descent moves a box onto another one."""
    target, box = f64([[2.0, 3.0, 8.0, 9.0]]), f64([[0.0, 1.0, 7.0, 12.0]])
    step = dg.value_and_grad(lambda b: -ops.iou(b, target).sum())
    for _ in range(400):
        loss, slope = step(box)
        box = box - 0.5 * slope
    assert loss.item() < -0.95


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64"])
def test_boxes_in_an_image(dtype):
    rows, height, width, ratio = boxes(40).astype(dtype), 5, 4, 2
    rows = rows - np.array([1, 1, 0, 0], dtype) if dtype != "uint8" else rows
    expected = [a >= 0 and b >= 0 and c < width * ratio and d < height * ratio for a, b, c, d in rows.tolist()]
    assert 0 < sum(expected) < 40
    for check in (ops.check_valid, ops.CheckValid()):
        assert check(Tensor(rows), Tensor(np.array([height, width, ratio], dtype))).asnumpy().tolist() == expected


# ------------------------------------------------------------------------------------------------------- regions


def hat(t):
    return max(1 - abs(t), 0.0)


def between(image, y, x):
    """An image (H, W), linear between its pixels."""
    return sum(image[i, j] * hat(y - i) * hat(x - j) for i, j in np.ndindex(image.shape))


def aligned(image, roi, bins, scale, samples, mode):
    """The means over points, one by one."""
    x0, y0, x1, y1 = roi
    begin, ends = (y0 * scale, x0 * scale), ((y1 + mode) * scale, (x1 + mode) * scale)
    lengths = [e - b if mode else max(e - b, 1.0) for b, e in zip(begin, ends, strict=True)]
    steps = [length / n for length, n in zip(lengths, bins, strict=True)]
    counts = [samples if samples > 0 else math.floor(step) for step in steps]
    height, width = image.shape
    found = np.zeros(bins)
    for i, j in np.ndindex(bins):
        for p, q in np.ndindex(*counts):
            y = begin[0] + steps[0] * (i + (p + 0.5) / counts[0])
            x = begin[1] + steps[1] * (j + (q + 0.5) / counts[1])
            if -1 <= y <= height and -1 <= x <= width:
                found[i, j] += between(image, min(max(y, 0), height - 1), min(max(x, 0), width - 1))
    return found / math.prod(counts)


ROIS = np.array(
    [[1, 1.0, 2.0, 9.0, 10.5], [0, -9.0, -3.5, 24.0, 40.0], [1, 0.5, 20.0, 6.5, 30.0], [0, 3.0, 3.0, 3.0, 3.0]]
)


@pytest.mark.parametrize("samples", [1, 2, 3, 0])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("bins", [(1, 1), (2, 3)])
def test_regions_are_means_of_points(samples, mode, bins):
    x, scale = RNG.standard_normal((2, 3, 7, 9)), 0.5
    rois = ROIS if samples else ROIS[:3]
    op = ops.ROIAlign(*bins, scale, samples, mode)
    expected = [[aligned(channel, roi[1:], bins, scale, samples, mode) for channel in x[int(roi[0])]] for roi in rois]
    assert_close(op(f64(x), f64(rois)), np.array(expected), scale=1.0)
    assert op(f32(x), f32(rois)).dtype == dg.float32


def test_regions_of_a_plane_are_its_centres():
    """An image that is linear has the value at the centre of a bin as its mean there, with any number of points."""
    image = 0.5 + 2.0 * np.arange(9)[:, None] - np.arange(8)
    roi = np.array([[0, 2.0, 1.0, 10.0, 12.0]])
    centres = [
        [0.5 + 2.0 * (0.5 + 6.0 * (i + 0.5) / 2) - (1.0 + 4.5 * (j + 0.5) / 3) for j in range(3)] for i in range(2)
    ]
    for samples in (1, 2, 5):
        found = ops.ROIAlign(2, 3, 0.5, samples)(f64(image[None, None]), f64(roi))
        assert_close(found[0, 0], np.array(centres))


def test_batches_of_regions_are_their_samples():
    """Where the number of points follows from values there is none."""
    x = f64(RNG.standard_normal((2, 3, 7, 9)))
    many = np.stack([ROIS[:3], ROIS[:3] + [0, 0.5, -0.5, 1.0, 2.0]])
    align, by_place = ops.ROIAlign(1, 2, 0.5), ops.PSROIPooling(0.5, 1, 3)
    for pooled in (lambda rois: align(x, rois), lambda rois: by_place(x, rois.T[None])):
        assert_close(dg.vmap(pooled)(f64(many)), np.stack([pooled(f64(rois)).asnumpy() for rois in many]))
    assert_raises(ValueError, lambda: dg.vmap(lambda r: ops.ROIAlign(1, 2, 0.5, 0)(x, r))(f64(many)), "vmap")


def test_padded_regions_are_zero_and_regions_are_constants():
    x, rois = f64(RNG.standard_normal((1, 2, 4, 4))), f64([[0, 0.0005, 1.0, -0.0005, 3.0], [0, 0.0, 1.0, 2.0, 3.0]])
    found = ops.ROIAlign(2, 2, 1.0)(x, rois)
    assert not found[0].asnumpy().any()
    assert found[1].asnumpy().all()
    for op, at in ((ops.ROIAlign(2, 2, 1.0), rois), (ops.PSROIPooling(1.0, 1, 2), rois.T[None])):
        slopes = dg.grad(lambda *args, op=op: op(*args).sum(), (0, 1))(x, at)
        assert slopes[0].asnumpy().any()
        assert not slopes[1].asnumpy().any()


def by_position(x, roi, group, dim, scale):
    """The pixels of every bin of a region: (channel of the result, row, column) and a list of (channel, i, j)."""
    x0, y0, x1, y1 = [math.floor(abs(v * scale) + 0.5) * (1 if v > 0 else -1) for v in roi]
    height, width = x.shape[1:]
    for d, i, j in np.ndindex(dim, group, group):
        ranges = []
        for k, low, high, length in ((i, y0, y1, height), (j, x0, x1, width)):
            step = max(high - low, 0.1) / group
            ends = math.floor(k * step) + low, math.ceil((k + 1) * step) + low
            ranges.append(range(*[min(max(end, 0), length - 1) for end in ends]))
        yield (d, i, j), [((d * group + i) * group + j, p, q) for p, q in itertools.product(*ranges)]


@pytest.mark.parametrize(("group", "dim"), [(1, 3), (2, 2), (3, 1)])
def test_position_sensitive_means_and_their_gradient(group, dim):
    """Several regions in each of two lists; the gradient gives each pixel its share."""
    x, scale = RNG.standard_normal((2, dim * group**2, 8, 7)), 0.25
    low = RNG.uniform(-6.0, 16.0, (2, 3, 2))
    lists = np.concatenate([RNG.integers(0, 2, (2, 3, 1)), low, low + RNG.uniform(0.0, 24.0, (2, 3, 2))], 2)
    expected, share = np.zeros((6, dim, group, group)), np.zeros_like(x)
    sens = RNG.standard_normal(expected.shape)
    for n, (number, *roi) in enumerate(lists.reshape(6, 5)):
        for place, many in by_position(x[int(number)], roi, group, dim, scale):
            for pixel in many:
                expected[n][place] += x[int(number)][pixel] / len(many)
                share[int(number)][pixel] += sens[n][place] / len(many)
    op, rois = ops.PSROIPooling(scale, group, dim), f64(lists.transpose(0, 2, 1))
    assert_close(op(f64(x), rois), expected, scale=1.0)
    assert_close(dg.ops.GradOperation(sens_param=True)(op)(f64(x), rois, f64(sens)), share, scale=1.0)


def test_what_a_region_does_not_meet_is_not_read():
    x = np.full((1, 4, 6, 6), np.nan)
    x[..., :4, :4] = 1.0
    rois = f64([[0.0, 0.0, 0.0, 3.0, 3.0]])
    assert_close(ops.PSROIPooling(1.0, 2, 1)(f64(x), rois.T[None]), np.ones((1, 1, 2, 2)))
    assert_close(ops.ROIAlign(2, 2, 1.0, roi_end_mode=0)(f64(x), rois), np.ones((1, 4, 2, 2)))


# --------------------------------------------------------------------------------------------------------- crops

PLACES = np.array([[0.1, 0.9, 0.8, 0.0], [-0.2, 0.3, 0.7, 1.4], [0.0, 0.0, 1.0, 1.0], [0.6, 0.3, 0.6, 0.3]])
NUMBERS = np.array([1, 0, 1, 0])


def cropped(image, box, size, method, beyond):
    height, width, channels = image.shape
    found = np.zeros((*size, channels))
    for i, j in np.ndindex(size):
        at = []
        for k, n, low, high, length in ((i, size[0], box[0], box[2], height), (j, size[1], box[1], box[3], width)):
            part = k / (n - 1) if n > 1 else 0.5
            at.append((low + (high - low) * part) * (length - 1))
        y, x = [round(v, 9) for v in at]  # places that rounding has moved off a pixel, or off a border of two
        if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
            found[i, j] = beyond
        elif method == "nearest":
            found[i, j] = image[math.floor(y + 0.5), math.floor(x + 0.5)]
        else:
            found[i, j] = [between(image[..., c], *at) for c in range(channels)]
    return found


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(1, 1), (3, 4), (5, 6)])
def test_crops(method, size):
    x = RNG.standard_normal((2, 5, 6, 2))
    expected = [cropped(x[n], box, size, method, 0.25) for n, box in zip(NUMBERS, PLACES, strict=True)]
    found = ops.crop_and_resize(f64(x), f64(PLACES), NUMBERS, size, method, 0.25)
    assert_close(found, np.array(expected), scale=1.0)
    again = ops.CropAndResize(method, 0.25)(f64(x), f64(PLACES), NUMBERS, size)
    assert_close(again, found.asnumpy())


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (7, 8)])
def test_crops_of_whole_pixels(size):
    """The pixels from the one in which a box begins to that in which it ends, resized about their centres."""
    x = RNG.standard_normal((2, 5, 6, 2))
    places = np.array([[0.1, 0.0, 0.7, 0.9], [0.4, 0.5, 0.4, 0.2], [0.0, 0.0, 1.0, 1.0], [-0.5, 0.3, 0.3, 1.6]])
    numbers = np.array([1, 0, 1, 0])
    found = ops.crop_and_resize(f64(x), f64(places), numbers, size, "bilinear_v2")
    wide = np.pad(x, ((0, 0), (9, 9), (9, 9), (0, 0)), mode="edge")
    for k, (number, box) in enumerate(zip(numbers, places, strict=True)):
        low, high = [[int(box[axis + end] * x.shape[axis + 1]) + 9 for axis in (0, 1)] for end in (0, 2)]
        high = [max(a, b) for a, b in zip(low, high, strict=True)]
        part = wide[number, low[0] : high[0] + 1, low[1] : high[1] + 1]
        resized = ops.ResizeBilinearV2(half_pixel_centers=True)(f64(part.transpose(2, 0, 1)[None]), size)
        assert_close(found[k], resized.asnumpy()[0].transpose(1, 2, 0), scale=1.0)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"]
)
def test_crops_of_any_image_have_the_type_of_the_boxes(dtype):
    x = Tensor(np.arange(24).reshape(1, 4, 6, 1).astype(dtype))
    for make, kind in ((f32, dg.float32), (f64, dg.float64)):
        found = ops.CropAndResize()(x, make([[0.5, 0.0, 0.5, 1.0]]), Tensor(np.array([0], np.int32)), (1, 3))
        assert found.dtype == kind
        assert_close(found[0, 0, :, 0].astype(dg.float64), np.array([9.0, 11.5, 14.0]))


def test_the_slope_at_a_pixel_is_that_of_the_cell_behind_it():
    """The last pixel has the cell before it; a box that fits the pixels has the slopes of its corners."""
    x = f64(np.array([0.0, 1.0, 4.0, 9.0]).reshape(1, 1, 4, 1))
    crop = lambda box: ops.crop_and_resize(x, box[None], [0], (1, 4))[0, 0, :, 0]
    slopes = dg.jacrev(crop)(f64([0.0, 0.0, 0.0, 1.0])).asnumpy()
    parts = np.arange(4) / 3
    cells = 3.0 * np.array([1.0, 3.0, 5.0, 5.0])
    assert_close(Tensor(slopes[:, 1]), cells * (1 - parts), scale=1.0)
    assert_close(Tensor(slopes[:, 3]), cells * parts, scale=1.0)
    assert not slopes[:, ::2].any()


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bilinear_v2"])
def test_a_box_that_is_no_number_gives_none(method):
    x = f64(RNG.standard_normal((1, 4, 4, 1)))
    found = ops.crop_and_resize(x, f64([[0.0, np.nan, 1.0, 1.0], [0.0, 0.0, 0.9, 0.9]]), [0, 0], (2, 2), method)
    assert np.isnan(found[0].asnumpy()).all()
    assert np.isfinite(found[1].asnumpy()).all()
    assert np.isnan(
        ops.ROIAlign(1, 1, 1.0)(x.transpose((0, 3, 1, 2)), f64([[0.0, 0.5, np.nan, 2.0, 2.0]])).asnumpy()
    ).all()


# --------------------------------------------------------------------------------------------------- suppression


def overlap(a, b):
    width, height = [max(min(a[k + 2], b[k + 2]) - max(a[k], b[k]), 0) for k in (0, 1)]
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return width * height / (sum(areas) - width * height) if all(areas) else 0.0


def kept(rows, scores, threshold):
    """Numbers of the rows that are kept, by falling scores."""
    found = []
    for n in sorted(range(len(rows)), key=lambda n: -scores[n]):
        if all(overlap(rows[n], rows[m]) <= threshold for m in found):
            found.append(n)
    return found


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9])
def test_boxes_are_sorted_and_masked(threshold):
    rows = np.concatenate([boxes(30), RNG.permutation(30)[:, None] / 30], 1)
    found, numbers, mask = ops.NMSWithMask(threshold)(f64(rows))
    order = np.argsort(-rows[:, 4])
    assert_close(found, rows[order])
    assert [numbers.dtype, mask.dtype] == [dg.int32, dg.bool_]
    assert numbers.asnumpy().tolist() == [*range(30)]
    chosen = kept(rows, rows[:, 4], threshold)
    assert [n for n, m in zip(order, mask.asnumpy(), strict=True) if m] == chosen
    assert 0 < len(chosen) <= 30


def chosen_of(rows, scores, each, least, threshold):
    """(box, class) of an image by falling scores."""
    found = []
    for c in range(scores.shape[1]):
        own = np.sort(rows[:, c if rows.shape[1] > 1 else 0].reshape(-1, 2, 2), 1).reshape(-1, 4)
        many = [n for n in range(len(own)) if scores[n, c] > least]
        found += [(many[n], c) for n in kept(own[many], scores[many, c], threshold)[:each]]
    return sorted(found, key=lambda pair: -scores[pair])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("clip", "pad"), [*itertools.product((True, False), repeat=2)])
@pytest.mark.parametrize(("each", "total"), [(1, 2), (3, 20), (20, 5)])
def test_the_best_boxes_of_all_classes(shared, clip, pad, each, total):
    rows = RNG.uniform(-0.3, 1.3, (2, 9, 1 if shared else 3, 4))
    scores = (RNG.permutation(54).reshape(2, 9, 3) / 54.0).astype(np.float64)
    operands = f64(rows), f64(scores), Tensor(np.array(each, np.int32)), total, Tensor(0.2), 0.3
    found = ops.CombinedNonMaxSuppression(clip, pad)(*operands)
    length = min(total, 3 * each) if pad else total
    assert [t.shape for t in found] == [(2, length, 4), (2, length), (2, length), (2,)]
    assert [t.dtype for t in found] == [dg.float64, dg.float64, dg.float64, dg.int32]
    for k in range(2):
        pairs = chosen_of(rows[k], scores[k], each, 0.3, 0.2)[:length]
        expected = [np.zeros(t.shape[1:]) for t in found[:3]]
        for place, (n, c) in enumerate(pairs):
            box = rows[k, n, 0 if shared else c]
            expected[0][place] = np.clip(box, 0, 1) if clip else box
            expected[1][place], expected[2][place] = scores[k, n, c], c
        assert found[3][k].item() == len(pairs) > 0
        for ours, theirs in zip(found, expected, strict=False):
            assert_close(ours[k], theirs)


def test_masks_of_batches_and_recordings_are_those_of_samples():
    rows = np.stack([np.concatenate([boxes(8), RNG.permutation(8)[:, None] / 8], 1) for _ in range(5)])
    op = ops.NMSWithMask(0.3)
    masks = [op(f64(each))[2].asnumpy() for each in rows]
    assert len({tuple(mask) for mask in masks}) > 1
    assert (dg.vmap(op)(f64(rows))[2].asnumpy() == masks).all()
    recorded = dg.jit(lambda x: op(x)[2])
    assert all((recorded(f64(each)).asnumpy() == mask).all() for each, mask in zip(rows, masks, strict=True))


def test_empty_boxes_are_kept():
    rows = f32([[0, 0, 0, 0, 0.6], [0, 0, 0, 0, 0.1], [7, 7, 4, 8, 0.5]])
    assert ops.NMSWithMask(0.5)(rows)[2].asnumpy().all()


# ------------------------------------------------------------------------------------------------------- colours


def test_colours_are_those_of_the_standard_library():
    """At corners too: grey, black, and colours of which two are equal."""
    corners = [*itertools.product((0.0, 0.5, 1.0), repeat=3)]
    colours = np.concatenate([corners, RNG.random((200, 3))])
    expected = np.array([colorsys.rgb_to_hsv(*c) for c in colours])
    assert_close(ops.RGBToHSV()(f64(colours)), expected, scale=1.0)
    back = np.array([colorsys.hsv_to_rgb(*c) for c in colours])
    assert_close(ops.HSVToRGB()(f64(colours[None, None])), back[None, None], scale=1.0)
    assert_close(ops.HSVToRGB()(f64(expected[None, None])), colours[None, None], scale=1.0)
    for dtype in (np.float16, np.float32):
        narrow = colours.astype(dtype)
        found = ops.RGBToHSV()(Tensor(narrow))
        exact = ops.RGBToHSV()(f64(narrow.astype(np.float64))).asnumpy()
        assert found.asnumpy().dtype == dtype
        np.testing.assert_allclose(found.asnumpy(), exact, atol=2 * np.finfo(dtype).eps)


def test_hues_outside_are_red_and_slopes_are_finite_at_grey():
    hues = np.array([-0.1, 1.0, 1.7, np.nan])
    found = ops.HSVToRGB()(f64([[[[h, 0.5, 0.8] for h in hues]]])).asnumpy()[0, 0]
    assert_close(Tensor(found[:3]), np.array([[0.8, 0.4, 0.4]] * 3))
    assert np.isnan(found[3]).all()
    greys = f64([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.2]])
    assert np.isfinite(dg.grad(lambda x: ops.RGBToHSV()(x).sum())(greys).asnumpy()).all()


# -------------------------------------------------------------------------------------------------------- errors

BOX, IMAGE, MANY = np.zeros((2, 4)), np.zeros((1, 2, 3, 4)), np.zeros((1, 5, 1, 4))
SCORES = np.zeros((1, 5, 2))
CROP = (IMAGE, f32(BOX), np.array([0, 0]), (2, 2))


def combined(*args):
    return ops.CombinedNonMaxSuppression()(*args)


REFUSED = {
    "shape of anchors": (
        ValueError,
        lambda: ops.bounding_box_encode(f64(BOX[0]), f64(BOX)),
        ("anchor_box", "(4,)", "(N, 4)"),
    ),
    "two shapes": (ValueError, lambda: ops.BoundingBoxDecode((1, 1))(f64(BOX), f64(BOX[:1])), ("(1, 4)", "one shape")),
    "two types": (TypeError, lambda: ops.bounding_box_encode(f64(BOX), f32(BOX)), ("Float64", "Float32", "one type")),
    "whole boxes": (TypeError, lambda: ops.iou(BOX.astype(int), f64(BOX)), ("iou", "Int64", "Float16")),
    "means": (TypeError, lambda: ops.BoundingBoxEncode((0.0, 0.0)), ("BoundingBoxEncode", "means", "four numbers")),
    "stds": (TypeError, lambda: ops.bounding_box_encode(BOX, BOX, stds=1.0), ("stds", "1.0", "four numbers")),
    "size of an image": (TypeError, lambda: ops.BoundingBoxDecode(5), ("max_shape", "5", "height and width")),
    "type of a ratio": (TypeError, lambda: ops.BoundingBoxDecode((1, 1), wh_ratio_clip="a"), ("wh_ratio_clip", "'a'")),
    "ratio": (ValueError, lambda: ops.BoundingBoxDecode((1, 1), wh_ratio_clip=0.0), ("wh_ratio_clip", "positive")),
    "mode": (ValueError, lambda: ops.IOU("giou"), ("IOU", "'giou'", "'iof'")),
    "size to lie in": (ValueError, lambda: ops.check_valid(f64(BOX), f64([1.0, 1.0])), ("check_valid", "(2,)", "(3,)")),
    "boxes of truth": (TypeError, lambda: ops.CheckValid()(BOX > 1, np.zeros(3)), ("CheckValid", "Bool")),
    "bins": (ValueError, lambda: ops.ROIAlign(0, 1, 1.0), ("ROIAlign", "pooled_height", "0")),
    "type of bins": (TypeError, lambda: ops.ROIAlign(1, 1.5, 1.0), ("ROIAlign", "pooled_width", "1.5")),
    "scale": (ValueError, lambda: ops.ROIAlign(1, 1, -1.0), ("spatial_scale", "-1.0", "positive")),
    "type of a scale": (TypeError, lambda: ops.PSROIPooling("a", 1, 1), ("PSROIPooling", "spatial_scale", "'a'")),
    "end mode": (ValueError, lambda: ops.ROIAlign(1, 1, 1.0, 2, 2), ("roi_end_mode", "2", "0 or 1")),
    "groups": (ValueError, lambda: ops.PSROIPooling(1.0, -1, 1), ("PSROIPooling", "group_size", "-1")),
    "channels": (TypeError, lambda: ops.PSROIPooling(1.0, 1, 2.0), ("PSROIPooling", "output_dim", "2.0")),
    "features": (ValueError, lambda: ops.ROIAlign(1, 1, 1.0)(f64(BOX), f64(BOX)), ("(2, 4)", "(B, C, H, W)")),
    "no features": (TypeError, lambda: ops.ROIAlign(1, 1, 1.0)(1.0, f64(BOX)), ("features", "float")),
    "no regions": (TypeError, lambda: ops.PSROIPooling(1.0, 1, 2)(f64(IMAGE), 1.0), ("rois", "float")),
    "whole features": (TypeError, lambda: ops.ROIAlign(1, 1, 1.0)(IMAGE.astype(int), f64(ROIS)), ("features", "Int64")),
    "regions": (ValueError, lambda: ops.ROIAlign(1, 1, 1.0)(f64(IMAGE), f64(BOX)), ("(2, 4)", "(N, 5)")),
    "number of channels": (
        ValueError,
        lambda: ops.PSROIPooling(1.0, 2, 1)(f64(IMAGE), f64(ROIS.T[None])),
        ("(B, 4, H, W)",),
    ),
    "types of regions": (TypeError, lambda: ops.PSROIPooling(1.0, 1, 2)(f32(IMAGE), f64(ROIS.T[None])), ("one type",)),
    "image of a region": (
        ValueError,
        lambda: ops.ROIAlign(1, 1, 1.0)(f64(IMAGE), f64(ROIS)),
        ("region 0", "1.0", "0 to 0"),
    ),
    "no image": (
        ValueError,
        lambda: ops.ROIAlign(1, 1, 1.0)(f64(IMAGE), f64([[-1.0, 0, 0, 1, 1]])),
        ("region 0", "-1.0"),
    ),
    "small region": (
        ValueError,
        lambda: ops.ROIAlign(4, 4, 1.0, 0)(f64(IMAGE), f64([[0, 0, 0, 2, 2]])),
        ("region 0", "3", "4 bins"),
    ),
    "method": (ValueError, lambda: ops.CropAndResize("cubic"), ("CropAndResize", "'cubic'", "'bilinear_v2'")),
    "type of a method": (TypeError, lambda: ops.crop_and_resize(*CROP, 1), ("crop_and_resize", "method", "1")),
    "value outside": (TypeError, lambda: ops.CropAndResize("nearest", "a"), ("extrapolation_value", "'a'")),
    "image to crop": (ValueError, lambda: ops.CropAndResize()(IMAGE[0], *CROP[1:]), ("(2, 3, 4)", "(B, H, W, C)")),
    "truth to crop": (TypeError, lambda: ops.CropAndResize()(IMAGE > 0, *CROP[1:]), ("image", "Bool", "real")),
    "boxes to crop": (TypeError, lambda: ops.CropAndResize()(IMAGE, BOX.astype("e"), *CROP[2:]), ("boxes", "Float16")),
    "numbers of images": (
        TypeError,
        lambda: ops.CropAndResize()(*CROP[:2], np.zeros(2), (2, 2)),
        ("CropAndResize", "integers", "Float64"),
    ),
    "image of a box": (
        ValueError,
        lambda: ops.CropAndResize()(*CROP[:2], np.array([0, 1]), (2, 2)),
        ("box 1", "image 1"),
    ),
    "size of a crop": (ValueError, lambda: ops.CropAndResize()(*CROP[:3], (0, 2)), ("crop_size", "(0, 2)")),
    "sizes of a crop": (TypeError, lambda: ops.CropAndResize()(*CROP[:3], 2), ("crop_size", "2", "height and width")),
    "threshold": (TypeError, lambda: ops.NMSWithMask("a"), ("NMSWithMask", "iou_threshold", "'a'")),
    "rows": (ValueError, lambda: ops.NMSWithMask()(f64(BOX)), ("NMSWithMask", "(2, 4)", "(N, 5)")),
    "no rows": (ValueError, lambda: ops.NMSWithMask()(np.zeros((0, 5))), ("(0, 5)", "at least 1")),
    "whole rows": (TypeError, lambda: ops.NMSWithMask()(np.zeros((2, 5), int)), ("NMSWithMask", "Int64")),
    "flag": (TypeError, lambda: ops.CombinedNonMaxSuppression(1), ("clip_boxes", "1", "bool")),
    "boxes and scores": (
        ValueError,
        lambda: combined(MANY, SCORES[:, :4], 1, 1, 0.5, 0.5),
        ("(1, 4, 2)", "(B, N, Q, 4)"),
    ),
    "classes": (ValueError, lambda: combined(np.zeros((1, 5, 3, 4)), SCORES, 1, 1, 0.5, 0.5), ("(1, 5, 3, 4)", "Q 1")),
    "types": (TypeError, lambda: combined(f32(MANY), f64(SCORES), 1, 1, 0.5, 0.5), ("Float32", "Float64")),
    "boxes of a class": (
        ValueError,
        lambda: combined(MANY, SCORES, 0, 1, 0.5, 0.5),
        ("max_output_size_per_class", "0"),
    ),
    "boxes in all": (TypeError, lambda: combined(MANY, SCORES, 1, 1.5, 0.5, 0.5), ("max_total_size", "float")),
    "overlap": (ValueError, lambda: combined(MANY, SCORES, 1, 1, 1.5, 0.5), ("iou_threshold", "1.5", "0 to 1")),
    "thresholds": (ValueError, lambda: combined(MANY, SCORES, 1, 1, 0.5, np.zeros(2)), ("score_threshold", "(2,)")),
    "colours": (ValueError, lambda: ops.RGBToHSV()(f64(BOX)), ("RGBToHSV", "(2, 4)", "(..., 3)")),
    "axes of colours": (
        ValueError,
        lambda: ops.HSVToRGB()(f64(np.zeros((2, 3)))),
        ("HSVToRGB", "(2, 3)", "(N, H, W, 3)"),
    ),
    "whole colours": (TypeError, lambda: ops.RGBToHSV()(np.zeros((2, 3), int)), ("RGBToHSV", "Int64")),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(refused):
    kind, call, words = refused
    assert_raises(kind, call, *words)
