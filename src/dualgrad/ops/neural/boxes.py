"""Boxes of detectors: their offsets from anchors, their overlaps, and a check that they lie in an image.

A box is a row (x0, y0, x1, y1): the columns and rows of its first and its last pixel. It is x1 - x0 + 1 pixels wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import dtype as _dtype
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import Primitive, operand, to_shape
from ..axes._joining import stack
from ..index.choice import clamp
from ..math.elementwise import exp, log, maximum, minimum

__all__ = [
    "IOU", "BoundingBoxDecode", "BoundingBoxEncode", "CheckValid", "bounding_box_decode", "bounding_box_encode",
    "check_valid", "iou",
]  # fmt: skip

Four = tuple[float, float, float, float]
_ZEROS, _ONES = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)


def bounding_box_encode(anchor_box: Any, groundtruth_box: Any, means: Any = _ZEROS, stds: Any = _ONES) -> Tensor:
    """Offsets of boxes from anchors: shifts in sizes of the anchor, and logarithms of the ratios of sizes.

    For an anchor with centre (x, y), width w and height h, and a box with x', y', w', h', these are
    ((x' - x) / w, (y' - y) / h, log(w' / w), log(h' / h)), less `means` and divided by `stds` (R. Girshick et al.,
    Rich feature hierarchies for accurate object detection, 2014, appendix C).

    Parameters
    ----------
    anchor_box : Tensor
        Anchors (x0, y0, x1, y1), shape (N, 4), a float type.
    groundtruth_box : Tensor
        Boxes, of the shape and type of the anchors.
    means, stds : tuple of four float
        The numbers to subtract from the offsets, and then the divisors.

    Returns
    -------
    Tensor
        Offsets, of the shape and type of the anchors.

    Raises
    ------
    ValueError
        If the shapes differ or are not (N, 4).
    TypeError
        If the types differ or are not float types, or `means` or `stds` are not four numbers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> anchors, boxes = dg.Tensor([[2.0, 2.0, 2.0, 3.0]]), dg.Tensor([[1.0, 2.0, 1.0, 4.0]])
    >>> print(ops.bounding_box_encode(anchors, boxes))
    [[-1.         0.25       0.         0.4054651]]
    """
    name = "bounding_box_encode"
    return _encoded(name, anchor_box, groundtruth_box, _four(name, "means", means), _four(name, "stds", stds))


def bounding_box_decode(
    anchor_box: Any,
    deltas: Any,
    max_shape: Any,
    means: Any = _ZEROS,
    stds: Any = _ONES,
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """The boxes at given offsets from anchors, cut off at the borders of the image; see `bounding_box_encode`.

    Parameters
    ----------
    anchor_box : Tensor
        Anchors (x0, y0, x1, y1), shape (N, 4), a float type.
    deltas : Tensor
        Offsets, of the shape and type of the anchors.
    max_shape : tuple of two int
        Height and width of the image: columns are limited to 0 to the width, rows to 0 to the height.
    means, stds : tuple of four float
        Offsets are multiplied by `stds`, then `means` are added.
    wh_ratio_clip : float, default 0.016
        A box is at least `wh_ratio_clip` times as wide and as high as its anchor, and at most ``1 / wh_ratio_clip``
        times.

    Returns
    -------
    Tensor
        Boxes, of the shape and type of the anchors. Where a limit holds the derivative is 0.

    Raises
    ------
    ValueError
        If the shapes differ or are not (N, 4), or `wh_ratio_clip` is not positive.
    TypeError
        If the types differ or are not float types, or a setting does not have the stated number of entries.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> anchors, deltas = dg.Tensor([[2.0, 2.0, 2.0, 3.0]]), dg.Tensor([[-1.0, 0.25, 0.0, 0.405465108]])
    >>> print(ops.bounding_box_decode(anchors, deltas, (768, 1280)))
    [[1. 2. 1. 4.]]
    """
    name = "bounding_box_decode"
    settings = _decoding(name, max_shape, means, stds, wh_ratio_clip)
    return _decoded(name, anchor_box, deltas, *settings)


def check_valid(bboxes: Any, img_metas: Any) -> Tensor:
    """True for each box that lies in an image.

    Parameters
    ----------
    bboxes : Tensor
        Boxes (x0, y0, x1, y1), shape (N, 4), a real type.
    img_metas : Tensor
        Height, width and ratio, shape (3,): the image has height times ratio rows, width times ratio columns.

    Returns
    -------
    Tensor
        Type Bool, shape (N,): False where x0 or y0 is negative, or x1 or y1 is beyond the last pixel.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If a type is Bool or complex.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> boxes = dg.Tensor([[0.0, 0.0, 3.0, 1.0], [-1.0, 0.0, 3.0, 1.0], [0.0, 0.0, 4.0, 1.0]])
    >>> print(ops.check_valid(boxes, dg.Tensor([2.0, 4.0, 1.0])))
    [ True False False]
    """
    return _valid("check_valid", bboxes, img_metas)


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Tensor:
    """Overlap of each two boxes: intersection over union, or over foreground.

    Parameters
    ----------
    anchor_boxes : Tensor
        Boxes (x0, y0, x1, y1), shape (N, 4), a float type.
    gt_boxes : Tensor
        Boxes, shape (M, 4), of the same type.
    mode : {'iou', 'iof'}, default 'iou'
        The area of the intersection is divided by the area of the union, or by the area of the box of `gt_boxes`; 1e-10
        is added to both divisors.

    Returns
    -------
    Tensor
        Shape (M, N). Where two boxes do not meet the derivative is 0.

    Raises
    ------
    ValueError
        If the shapes do not fit, or for another mode.
    TypeError
        If the types differ or are not float types.

    Notes
    -----
    The derivative is exact, so the function serves as a loss. In MindSpore the derivative is 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ours, theirs = dg.Tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 3.0, 1.0]]), dg.Tensor([[0.0, 0.0, 1.0, 1.0]])
    >>> print(ops.iou(ours, theirs))
    [[1.  0.5]]
    """
    return _overlaps("iou", anchor_boxes, gt_boxes, mode)


# --------------------------------------------------------------------------------------- settings and operands


def _four(name: str, what: str, values: Any) -> Four:
    """A setting of four numbers."""
    if not isinstance(values, tuple | list) or len(values) != 4 or not all(_is_number(v) for v in values):
        raise TypeError(f"{name}: {what} is {values!r}; expected a tuple of four numbers")
    a, b, c, d = [float(v) for v in values]
    return a, b, c, d


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decoding(
    name: str, max_shape: Any, means: Any, stds: Any, wh_ratio_clip: Any
) -> tuple[tuple[float, float], Four, Four, float]:
    """The settings of `bounding_box_decode`."""
    if not isinstance(max_shape, tuple | list) or len(max_shape) != 2 or not all(_is_number(n) for n in max_shape):
        raise TypeError(f"{name}: max_shape is {max_shape!r}; expected a tuple of two numbers, height and width")
    if not _is_number(wh_ratio_clip):
        raise TypeError(f"{name}: wh_ratio_clip is {wh_ratio_clip!r}; expected a number")
    if wh_ratio_clip <= 0:
        raise ValueError(f"{name}: wh_ratio_clip is {wh_ratio_clip!r}; expected a positive number")
    height, width = max_shape
    return (height, width), _four(name, "means", means), _four(name, "stds", stds), float(wh_ratio_clip)


def _boxes(name: str, what: str, x: Any) -> Tensor:
    """Boxes of a float type."""
    x = operand(name, x)
    if x.ndim != 2 or x.shape[1] != 4:
        raise ValueError(f"{name}: {what} has shape {x.shape}; expected (N, 4)")
    if not x.dtype.is_float:
        raise TypeError(f"{name}: {what} has type {x.dtype}; expected Float16, Float32 or Float64")
    return x


def _pairs(name: str, what: str, x: Any, other: str, y: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of boxes, of one type."""
    x, y = _boxes(name, what, x), _boxes(name, other, y)
    if x.dtype is not y.dtype:
        raise TypeError(f"{name}: {what} has type {x.dtype} and {other} {y.dtype}; expected one type")
    return x, y


def _rows(name: str, what: str, x: Any, other: str, y: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of boxes, of one type and shape."""
    x, y = _pairs(name, what, x, other, y)
    if x.shape != y.shape:
        raise ValueError(f"{name}: {what} has shape {x.shape} and {other} {y.shape}; expected one shape")
    return x, y


# ------------------------------------------------------------------------------------------------- computations


def _centred(boxes: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Centres and lengths of boxes along both axes."""
    low, high = (boxes[:, 0], boxes[:, 1]), (boxes[:, 2], boxes[:, 3])
    centres = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]))
    return centres, (high[0] - low[0] + 1.0, high[1] - low[1] + 1.0)


def _encoded(name: str, anchors: Any, boxes: Any, means: Four, stds: Four) -> Tensor:
    anchors, boxes = _rows(name, "anchor_box", anchors, "groundtruth_box", boxes)
    (from_x, from_y), (from_w, from_h) = _centred(anchors)
    (to_x, to_y), (to_w, to_h) = _centred(boxes)
    offsets = ((to_x - from_x) / from_w, (to_y - from_y) / from_h, log(to_w / from_w), log(to_h / from_h))
    return stack([(offset - mean) / std for offset, mean, std in zip(offsets, means, stds, strict=True)], 1)


def _decoded(
    name: str, anchors: Any, deltas: Any, shape: tuple[float, float], means: Four, stds: Four, clip: float
) -> Tensor:
    anchors, deltas = _rows(name, "anchor_box", anchors, "deltas", deltas)
    dx, dy, dw, dh = [deltas[:, k] * stds[k] + means[k] for k in range(4)]
    (x, y), (w, h) = _centred(anchors)
    most = abs(math.log(clip))
    centres = (x + w * dx, y + h * dy)
    halves = (0.5 * w * exp(clamp(dw, -most, most)), 0.5 * h * exp(clamp(dh, -most, most)))
    first = [centre - half + 0.5 for centre, half in zip(centres, halves, strict=True)]
    last = [centre + half - 0.5 for centre, half in zip(centres, halves, strict=True)]
    height, width = shape
    limits = (width, height, width, height)
    return stack([clamp(place, 0.0, limit) for place, limit in zip(first + last, limits, strict=True)], 1)


def _valid(name: str, boxes: Any, metas: Any) -> Tensor:
    boxes, metas = operand(name, boxes), operand(name, metas)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or metas.shape != (3,):
        raise ValueError(
            f"{name}: the boxes have shape {boxes.shape} and img_metas {metas.shape}; expected (N, 4) and (3,), for "
            "height, width and ratio"
        )
    for what, x in (("the boxes", boxes), ("img_metas", metas)):
        if not (x.dtype.is_float or x.dtype.is_int):
            raise TypeError(f"{name}: {what} have type {x.dtype}; expected a real type")
    exact, size = boxes.astype(_dtype.float64), metas.astype(_dtype.float64)  # small integers would overflow
    height, width = size[0] * size[2] - 1.0, size[1] * size[2] - 1.0
    return ~((exact[:, 0] < 0) | (exact[:, 1] < 0) | (exact[:, 2] > width) | (exact[:, 3] > height))


def _overlaps(name: str, ours: Any, theirs: Any, mode: str) -> Tensor:
    _check_mode(name, mode)
    ours, theirs = _pairs(name, "anchor_boxes", ours, "gt_boxes", theirs)
    a = [to_shape(ours[:, k], (1, ours.shape[0])) for k in range(4)]
    b = [to_shape(theirs[:, k], (theirs.shape[0], 1)) for k in range(4)]
    width, height = [clamp(minimum(a[k + 2], b[k + 2]) - maximum(a[k], b[k]) + 1.0, min=0.0) for k in range(2)]
    common = width * height
    area = _area(b)
    return common / ((area if mode == "iof" else _area(a) + area - common) + 1e-10)


def _area(sides: list[Tensor]) -> Tensor:
    return (sides[2] - sides[0] + 1.0) * (sides[3] - sides[1] + 1.0)


def _check_mode(name: str, mode: Any) -> None:
    if not one_of(mode, ("iou", "iof")):
        raise ValueError(f"{name}: mode is {mode!r}; expected 'iou' or 'iof'")


# ------------------------------------------------------------------------------------------ primitive classes


class BoundingBoxEncode(Primitive):
    """Primitive class of `bounding_box_encode`: ``ops.BoundingBoxEncode(means, stds)(anchor_box, groundtruth_box)``.

    Parameters
    ----------
    means, stds : tuple of four float
        As in `bounding_box_encode`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> anchors, boxes = dg.Tensor([[2.0, 2.0, 2.0, 3.0]]), dg.Tensor([[1.0, 2.0, 1.0, 3.0]])
    >>> print(ops.BoundingBoxEncode(stds=(0.1, 0.1, 0.2, 0.2))(anchors, boxes))
    [[-10.   0.   0.   0.]]
    """

    __slots__ = ("means", "stds")

    def __init__(self, means: Any = _ZEROS, stds: Any = _ONES) -> None:
        self.means: Four = _four("BoundingBoxEncode", "means", means)
        self.stds: Four = _four("BoundingBoxEncode", "stds", stds)

    def __call__(self, anchor_box: Any, groundtruth_box: Any) -> Tensor:
        return _encoded("BoundingBoxEncode", anchor_box, groundtruth_box, self.means, self.stds)


class BoundingBoxDecode(Primitive):
    """Primitive class of `bounding_box_decode`: ``ops.BoundingBoxDecode(max_shape)(anchor_box, deltas)``.

    Parameters
    ----------
    max_shape : tuple of two int
        Height and width of the image.
    means, stds, wh_ratio_clip
        As in `bounding_box_decode`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> anchors, deltas = dg.Tensor([[4.0, 1.0, 6.0, 9.0]]), dg.Tensor([[1.0, 0.0, 0.0, 0.0]])
    >>> print(ops.BoundingBoxDecode((768, 8))(anchors, deltas))
    [[7. 1. 8. 9.]]
    """

    __slots__ = ("max_shape", "means", "stds", "wh_ratio_clip")

    def __init__(self, max_shape: Any, means: Any = _ZEROS, stds: Any = _ONES, wh_ratio_clip: float = 0.016) -> None:
        settings = _decoding("BoundingBoxDecode", max_shape, means, stds, wh_ratio_clip)
        self.max_shape, self.means, self.stds, self.wh_ratio_clip = settings

    def __call__(self, anchor_box: Any, deltas: Any) -> Tensor:
        settings = (self.max_shape, self.means, self.stds, self.wh_ratio_clip)
        return _decoded("BoundingBoxDecode", anchor_box, deltas, *settings)


class CheckValid(Primitive, of=check_valid):
    __slots__ = ()

    def __call__(self, bboxes: Any, img_metas: Any) -> Tensor:
        return _valid("CheckValid", bboxes, img_metas)


class IOU(Primitive):
    """Primitive class of `iou`: ``ops.IOU(mode='iou')(anchor_boxes, gt_boxes)``.

    Parameters
    ----------
    mode : {'iou', 'iof'}, default 'iou'
        As in `iou`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ours, theirs = dg.Tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 3.0, 1.0]]), dg.Tensor([[0.0, 0.0, 1.0, 1.0]])
    >>> print(ops.IOU("iof")(ours, theirs))
    [[1. 1.]]
    """

    __slots__ = ("mode",)

    def __init__(self, mode: str = "iou") -> None:
        _check_mode("IOU", mode)
        self.mode: str = mode

    def __call__(self, anchor_boxes: Any, gt_boxes: Any) -> Tensor:
        return _overlaps("IOU", anchor_boxes, gt_boxes, self.mode)


METHODS: dict[str, Callable[..., Any]] = {}
