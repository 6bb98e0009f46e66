"""Boxes, regions, crops and colours: operators of detectors, at points without ties."""

import itertools

import numpy as np

from cases import Case, normal, positive, spread
from dualgrad import Tensor, ops

IMAGE = normal(2, 3, 5, 6)
LAST = normal(2, 5, 6, 3)
SETTINGS = ((0.1, 0.0, 0.2, 0.0), (0.5, 2.0, 1.0, 0.3))


def boxes(*shape, seed=0):
    """Boxes of positive size with corners between 0 and 8."""
    corners = np.sort(8.0 * np.random.default_rng([seed, *shape]).random((*shape, 2, 2)), -2)
    return corners.reshape(*shape, 4)


ANCHORS, BOXES = boxes(3), boxes(3, seed=1)
ROIS = np.array([[1.0, 1.3, 2.1, 7.2, 9.3], [0.0, 0.4, -3.1, 15.0, 6.6], [1.0, *ANCHORS[0]]])
PLACES = np.array([[0.13, 0.72, 0.91, 0.24], [-0.31, 0.05, 0.6, 1.27]])
SCORED = np.concatenate([boxes(5, seed=2), spread(5, 1)], 1)


def crop(method, *args, size=(3, 2), name="crop_and_resize", **settings):
    """A crop by one of the two names; boxes that are no argument have the type that the images have."""
    numbers = Tensor([1, 0])

    def function(x, places=PLACES):
        places = places if isinstance(places, Tensor) else Tensor(places).astype(x.dtype)
        if name == "CropAndResize":
            return ops.CropAndResize(method, **settings)(x, places, numbers, size)
        return ops.crop_and_resize(x, places, numbers, size, method, **settings)

    return Case(name, f"{method}, {len(args)} arguments, {size}", function, args, narrow=("float32",))


def kept(boxes, scores, **settings):
    """What a combined suppression returns of numbers that have derivatives."""
    return ops.CombinedNonMaxSuppression(**settings)(boxes, scores, 2, 4, 0.4, -0.5)[:2]


CASES = [
    Case("bounding_box_encode", "", ops.bounding_box_encode, (ANCHORS, BOXES)),
    Case("BoundingBoxEncode", "settings", ops.BoundingBoxEncode(*SETTINGS), (ANCHORS, BOXES)),
    Case("bounding_box_decode", "", lambda a, d: ops.bounding_box_decode(a, d, (9, 10)), (ANCHORS, 0.1 * normal(3, 4))),
    Case("BoundingBoxDecode", "limits", ops.BoundingBoxDecode((5, 9), *SETTINGS, 0.4), (ANCHORS, normal(3, 4))),
    Case("iou", "", ops.iou, (ANCHORS, boxes(2, seed=3))),
    Case("iou", "over the second", lambda a, b: ops.iou(a, b, "iof"), (ANCHORS, boxes(2, seed=3))),
    Case("IOU", "", ops.IOU(), (ANCHORS, boxes(1, seed=3))),
    *[
        Case(
            "ROIAlign", f"{samples} points, mode {mode}",
            lambda x, s=samples, m=mode: ops.ROIAlign(2, 3, 0.5, s, m)(x, ROIS), (IMAGE,), order=2,
        )
        for samples, mode in itertools.product((1, 2), (0, 1))
    ],
    Case("ROIAlign", "as many points as pixels", lambda x: ops.ROIAlign(1, 1, 0.5, 0)(x, ROIS), (IMAGE,), order=2),
    Case(
        "PSROIPooling", "", lambda x: ops.PSROIPooling(0.5, 2, 3)(x, Tensor(ROIS[..., None]).astype(x.dtype)),
        (normal(2, 12, 5, 6),), order=2,
    ),
    crop("bilinear", LAST),
    crop("bilinear", LAST, PLACES),
    crop("bilinear", LAST, PLACES, size=(1, 3), name="CropAndResize", extrapolation_value=0.5),
    crop("nearest", LAST, name="CropAndResize"),
    crop("bilinear_v2", LAST),
    Case("NMSWithMask", "", lambda b: ops.NMSWithMask(0.2)(b)[0], (SCORED,)),
    Case("CombinedNonMaxSuppression", "", kept, (0.1 * boxes(2, 4, 1), spread(2, 4, 2))),
    Case(
        "CombinedNonMaxSuppression", "boxes of classes, not cut off",
        lambda b, s: kept(b, s, clip_boxes=False, pad_per_class=True), (boxes(2, 4, 2), spread(2, 4, 2)),
    ),
    Case("RGBToHSV", "", ops.RGBToHSV(), (positive(2, 4, 3),)),
    Case("HSVToRGB", "", ops.HSVToRGB(), (np.random.default_rng(4).uniform(0.02, 0.98, (1, 2, 4, 3)),)),
]  # fmt: skip
