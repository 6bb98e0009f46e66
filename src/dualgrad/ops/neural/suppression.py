"""Suppression of boxes that overlap better boxes.

The choice of boxes is discrete and has no derivative; the kept boxes are read by a gather, which has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ... import extend
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import Primitive, beside, integer, operand, to_shape
from ..index._indices import many_axes_pattern, one_axis_pattern, read
from ..index.choice import clamp, where
from ..index.sorting import argsort
from ..math.elementwise import maximum

__all__ = ["CombinedNonMaxSuppression", "NMSWithMask"]


def _areas(boxes: np.ndarray) -> np.ndarray:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of a box with others; nan where neither has an area."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:4], others[:, 2:4])
    sides = np.maximum(high - low, 0)
    common = sides[:, 0] * sides[:, 1]
    return common / (_areas(box[None]) + _areas(others) - common)


def _kept(boxes: np.ndarray, threshold: float) -> np.ndarray:
    """Mask of the kept boxes among boxes with falling scores; a box is dropped if it overlaps a better kept box."""
    found = np.zeros(len(boxes), bool)
    left = np.arange(len(boxes))
    with np.errstate(all="ignore"):
        while left.size:
            best, left = left[0], left[1:]
            found[best] = True
            left = left[~(_overlaps(boxes[best], boxes[left]) > boxes.dtype.type(threshold))]
    return found


_kept_boxes = extend.primitive(
    "kept_boxes", _kept, jvp=(None,), vjp=(None,), types="apart", summary="which boxes are kept"
)


class NMSWithMask(Primitive):
    """Boxes by falling scores, and a mask of the kept boxes: ``ops.NMSWithMask(iou_threshold)(bboxes)``.

    `bboxes` has shape (N, 5) and a float type: x0, y0, x1, y1 and the score of each box. The results are the boxes by
    falling scores, (N, 5); the numbers 0 to N - 1, Int32; and a mask, Bool, of the kept boxes. From the highest score
    down, a box is kept unless its overlap with a box kept before (intersection over union of the areas) is above the
    threshold. Boxes without area overlap nothing. Derivatives go to the boxes that are moved.

    Parameters
    ----------
    iou_threshold : float, default 0.5
        The overlap above which a box is not kept.

    Raises
    ------
    ValueError
        If the shape does not fit, or `bboxes` is empty.
    TypeError
        If the type is not a float type, or the threshold is not a number.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> rows = dg.Tensor([[0.0, 0.0, 4.0, 4.0, 0.5], [9.0, 0.0, 12.0, 2.0, 0.7], [0.0, 0.0, 4.0, 5.0, 0.9]])
    >>> boxes, numbers, mask = ops.NMSWithMask(0.5)(rows)
    >>> print(boxes[:, 4], numbers, mask)
    [0.9 0.7 0.5] [0 1 2] [ True  True False]
    """

    __slots__ = ("iou_threshold",)

    def __init__(self, iou_threshold: float = 0.5) -> None:
        if isinstance(iou_threshold, bool) or not isinstance(iou_threshold, int | float):
            raise TypeError(f"NMSWithMask: iou_threshold is {iou_threshold!r}; expected a number")
        self.iou_threshold: float = float(iou_threshold)

    def __call__(self, bboxes: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = operand("NMSWithMask", bboxes)
        if x.ndim != 2 or x.shape[1] != 5 or not x.size:
            raise ValueError(f"NMSWithMask: bboxes has shape {x.shape}; expected (N, 5) with N of at least 1")
        if not x.dtype.is_float:
            raise TypeError(f"NMSWithMask: bboxes has type {x.dtype}; expected Float16, Float32 or Float64")
        order = argsort(_engine.stop(x[:, 4]), 0, True)
        boxes = read("NMSWithMask", one_axis_pattern(x.shape, 0), x, order)
        mask = _kept_boxes(_engine.stop(boxes), threshold=self.iou_threshold)
        return boxes, Tensor._owning(np.arange(x.shape[0], dtype=np.int32)), mask


def _chosen(
    boxes: np.ndarray, scores: np.ndarray, overlap: np.ndarray, least: np.ndarray, each: int, length: int
) -> np.ndarray:
    """For each image the kept boxes and their classes, by falling scores, (B, length, 2); then -1."""
    if not 0 <= overlap <= 1:
        raise ValueError(f"CombinedNonMaxSuppression: iou_threshold is {overlap.item()}; expected 0 to 1")
    low, high = np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])
    boxes = np.concatenate([low, high], -1)
    found = np.full((len(boxes), length, 2), -1, np.int64)
    for image, of_classes, into in zip(boxes, scores, found, strict=True):
        rows = []
        for k, of_class in enumerate(of_classes.T):
            order = np.argsort(-of_class, kind="stable")
            order = order[of_class[order] > least]
            best = image[order, k if image.shape[1] > 1 else 0]
            kept = order[_kept(best, overlap.item())][:each]
            rows += [(-of_class[n], n, k) for n in kept]
        rows = sorted(rows, key=lambda row: row[0])[:length]
        into[: len(rows)] = np.array([row[1:] for row in rows], np.int64).reshape(-1, 2)
    return found


_chosen_boxes = extend.primitive(
    "chosen_boxes", _chosen, arity=4, jvp=(None,) * 4, vjp=(None,) * 4, types="apart", summary="which boxes are kept"
)


class CombinedNonMaxSuppression(Primitive):
    """The best boxes of each image that overlap no better box of their class.

    ``ops.CombinedNonMaxSuppression()(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold,
    score_threshold)``. `boxes` has shape (B, N, Q, 4), with the corners (y0, x0, y1, x1) in any order. Q is the number
    of classes, or 1 for boxes that all classes share; `scores` has shape (B, N, classes). Each class takes the boxes
    with scores above `score_threshold`, highest first. A box is kept unless its overlap with a box kept before
    (intersection over union) is above `iou_threshold`. At most `max_output_size_per_class` are kept in a class, and of
    all classes the best `max_total_size`. Boxes without area overlap nothing.

    The results are the kept boxes by falling scores, shape (B, D, 4), their scores (B, D), their classes (B, D), all of
    the type of `boxes`, with zeros behind the last box, and the number of boxes, Int32 of shape (B,). D is
    `max_total_size`, or with `pad_per_class` the number of classes times `max_output_size_per_class` if this is less.
    Derivatives go to the boxes and scores that are kept.

    Parameters
    ----------
    clip_boxes : bool, default True
        True to limit corners to 0 to 1.
    pad_per_class : bool, default False
        True to limit the length of the results to the number that all classes together can have.

    Raises
    ------
    ValueError
        If shapes, sizes or thresholds do not fit.
    TypeError
        If types or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> boxes = dg.Tensor([[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.1, 1.0, 1.0]], [[0.0, 0.0, 0.5, 0.5]]]])
    >>> scores = dg.Tensor([[[0.5], [0.9], [0.6]]])
    >>> found = ops.CombinedNonMaxSuppression()(boxes, scores, 3, 3, 0.5, 0.1)
    >>> print(found[1], found[3])
    [[0.9 0.6 0. ]] [2]
    """

    __slots__ = ("clip_boxes", "pad_per_class")

    def __init__(self, clip_boxes: bool = True, pad_per_class: bool = False) -> None:
        for what, value in (("clip_boxes", clip_boxes), ("pad_per_class", pad_per_class)):
            if not isinstance(value, bool):
                raise TypeError(f"CombinedNonMaxSuppression: {what} is {value!r}; expected a bool")
        self.clip_boxes: bool = clip_boxes
        self.pad_per_class: bool = pad_per_class

    def __call__(
        self,
        boxes: Any,
        scores: Any,
        max_output_size_per_class: Any,
        max_total_size: Any,
        iou_threshold: Any,
        score_threshold: Any,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        name = "CombinedNonMaxSuppression"
        x, scores = operand(name, boxes), operand(name, scores)
        if x.ndim != 4 or scores.ndim != 3 or x.shape != (*scores.shape[:2], x.shape[2], 4) or not x.size:
            raise ValueError(f"{name}: boxes have shape {x.shape} and scores {scores.shape}; {_SHAPES}")
        classes = scores.shape[2]
        if x.shape[2] not in (1, classes) or not classes:
            raise ValueError(f"{name}: boxes have shape {x.shape} and scores {scores.shape}; {_SHAPES}")
        if not x.dtype.is_float or x.dtype is not scores.dtype:
            raise TypeError(f"{name}: boxes have type {x.dtype} and scores {scores.dtype}; expected one float type")
        each = _size(name, "max_output_size_per_class", max_output_size_per_class)
        length = _size(name, "max_total_size", max_total_size)
        length = min(length, each * classes) if self.pad_per_class else length
        thresholds = (("iou_threshold", iou_threshold), ("score_threshold", score_threshold))
        limits = [_limit(name, what, value, x) for what, value in thresholds]
        chosen = _chosen_boxes(_engine.stop(x), _engine.stop(scores), *limits, each=each, length=length)
        there = chosen[..., 0] >= 0
        number, of_class = [maximum(chosen[..., k], 0) for k in range(2)]
        images = np.arange(x.shape[0]).reshape(-1, 1)
        place = of_class if x.shape[2] > 1 else of_class * 0
        kept = read(name, many_axes_pattern(3), x, images, number, place)
        if self.clip_boxes:
            kept = clamp(kept, 0.0, 1.0)
        best = read(name, many_axes_pattern(3), scores, images, number, of_class)
        return (
            where(to_shape(there, (*there.shape, 1)), kept, 0.0),
            where(there, best, 0.0),
            of_class.astype(x.dtype),
            there.astype(_dtype.int32).sum(1).astype(_dtype.int32),
        )


_SHAPES = "expected (B, N, Q, 4) and (B, N, classes), with B, N and classes of at least 1 and Q 1 or classes"


def _size(name: str, what: str, value: Any) -> int:
    """A number of boxes: an int, or a tensor of one int."""
    if isinstance(value, Tensor) and not value.ndim and value.dtype.is_int:
        value = value.item()
    value = integer(name, what, value)
    if value < 1:
        raise ValueError(f"{name}: {what} is {value}; expected 1 or more")
    return value


def _limit(name: str, what: str, value: Any, like: Tensor) -> Tensor:
    limit = _engine.stop(beside(name, value, like))
    if limit.ndim:
        raise ValueError(f"{name}: {what} has shape {limit.shape}; expected a single number")
    return limit


METHODS: dict[str, Callable[..., Any]] = {}
