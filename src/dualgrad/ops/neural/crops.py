"""Crops: boxes cut from images and resized.

A pixel of a crop lies at a place in the image. `bilinear` is linear between the centres of the image's pixels, so its
derivative by a box is the derivative within the cell around the place. At a border between cells the cell behind it
counts, at the last pixel the cell before it. The other methods take whole pixels, or places computed from whole
numbers: their derivative by a box is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, integer, operand, to_shape
from ..index._indices import as_int64, index_tensor, many_axes_pattern, read
from ..index.choice import clamp, where
from ..math.elementwise import ceil, floor, trunc
from ._numbered import images_of

__all__ = ["CropAndResize", "crop_and_resize"]

_ABSORB_MUL = OP["absorb_mul"]
_METHODS = ("bilinear", "nearest", "bilinear_v2")

Tap = tuple[Tensor, Tensor]
"""Along one axis: the pixels to read, (N, length), and their weights."""


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Cut boxes from images, and resize all to one size.

    Parameters
    ----------
    image : Tensor
        Images, shape (B, H, W, C), a real type.
    boxes : Tensor
        Boxes (y1, x1, y2, x2), shape (N, 4), type Float32 or Float64: 0 is the centre of the first pixel, 1 the centre
        of the last. If y1 is above y2 the crop is upside down, if x1 is above x2 it is mirrored.
    box_indices : Tensor of int
        The image of each box, shape (N,).
    crop_size : tuple of two int
        Height and width of the crops.
    method : {'bilinear', 'nearest', 'bilinear_v2'}, default 'bilinear'
        The weighted mean of the four pixels around a place; the nearest pixel, of two equally near pixels the second;
        or the weighted mean for a box that is made of whole pixels, whose centres count.
    extrapolation_value : float, default 0.0
        The value outside of the image; not for 'bilinear_v2', which continues the border there.

    Returns
    -------
    Tensor
        Shape (N, height, width, C), the type of the boxes.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit, for another method, or if a number in `box_indices` is out of range.
    TypeError
        If types or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> image = ops.reshape(dg.Tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), (1, 3, 3, 1))
    >>> box, number = dg.Tensor([[0.0, 0.25, 1.0, 1.0]]), dg.Tensor([0])
    >>> print(ops.crop_and_resize(image, box, number, (2, 2)).reshape((2, 2)))
    [[0.5 2. ]
     [6.5 8. ]]
    """
    name = "crop_and_resize"
    _check_settings(name, method, extrapolation_value)
    return _cropped(name, image, boxes, box_indices, crop_size, method, float(extrapolation_value))


def _check_settings(name: str, method: Any, extrapolation_value: Any) -> None:
    if not isinstance(method, str):
        raise TypeError(f"{name}: method is {method!r}; expected one of {', '.join(map(repr, _METHODS))}")
    if not one_of(method, _METHODS):
        raise ValueError(f"{name}: method is {method!r}; expected one of {', '.join(map(repr, _METHODS))}")
    if isinstance(extrapolation_value, bool) or not isinstance(extrapolation_value, int | float):
        raise TypeError(f"{name}: extrapolation_value is {extrapolation_value!r}; expected a number")


def _cropped(name: str, image: Any, boxes: Any, numbers: Any, crop_size: Any, method: str, beyond: float) -> Tensor:
    x, boxes, numbers = operand(name, image), operand(name, boxes), index_tensor(name, numbers)
    count = boxes.shape[0] if boxes.ndim else 0
    if x.ndim != 4 or not x.size or boxes.shape != (count, 4) or numbers.shape != (count,):
        raise ValueError(
            f"{name}: the image has shape {x.shape}, boxes {boxes.shape} and box_indices {numbers.shape}; expected "
            "(B, H, W, C) with no length of 0, (N, 4) and (N,)"
        )
    if not (x.dtype.is_float or x.dtype.is_int):
        raise TypeError(f"{name}: the image has type {x.dtype}; expected a real type")
    if str(boxes.dtype) not in ("Float32", "Float64"):
        raise TypeError(f"{name}: the boxes have type {boxes.dtype}; expected Float32 or Float64")
    sizes = _crop_size(name, crop_size)
    which = to_shape(images_of(name, "box", numbers, x.shape[0]), (count, 1, 1))
    x = _engine.convert(x, boxes._typenum)
    taps, outside = [], []
    for axis, (length, size) in enumerate(zip(x.shape[1:3], sizes, strict=True)):
        low, high = to_shape(boxes[:, axis], (count, 1)), to_shape(boxes[:, axis + 2], (count, 1))
        if method == "bilinear_v2":
            taps.append(_whole(_engine.stop(low), _engine.stop(high), length, size))
            continue
        place = _places(low, high, length, size)
        outside.append((place < 0) | (place > length - 1))
        place = where(outside[axis], 0.0, place)
        taps.append(_nearest(place) if method == "nearest" else _around(place, length))
    found = _met(name, x, which, taps)
    if not outside:
        return found
    height, width = sizes
    rows, columns = to_shape(outside[0], (count, height, 1, 1)), to_shape(outside[1], (count, 1, width, 1))
    return where(rows | columns, beyond, found)


def _crop_size(name: str, size: Any) -> tuple[int, int]:
    if isinstance(size, Tensor):
        size = size.tolist()
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise TypeError(f"{name}: crop_size is {size!r}; expected a tuple of two int, height and width")
    height, width = [integer(name, "a length in crop_size", n) for n in size]
    if height < 1 or width < 1:
        raise ValueError(f"{name}: crop_size is {(height, width)}; expected lengths of at least 1")
    return height, width


def _places(low: Tensor, high: Tensor, length: int, size: int) -> Tensor:
    """Positions of the pixels of a crop along one axis, in pixels of the image; a single pixel is in the middle."""
    if size == 1:
        return 0.5 * (low + high) * (length - 1)
    step = (high - low) * (length - 1) / (size - 1)
    return low * (length - 1) + step * np.arange(size).astype(low.dtype.numpy)


def _pixels(places: Tensor) -> Tensor:
    """Whole places as indices. A place of nan has weight nan."""
    return as_int64(where(places == places, places, 0.0))


def _around(place: Tensor, length: int) -> list[Tap]:
    first = clamp(floor(_engine.stop(place)), 0, max(length - 2, 0))
    part = place - first
    at = _pixels(first)
    return [(at, 1 - part), (clamp(at + 1, 0, length - 1), part)]


def _nearest(place: Tensor) -> list[Tap]:
    at = floor(_engine.stop(place) + 0.5)
    return [(_pixels(at), at * 0 + 1)]


def _whole(low: Tensor, high: Tensor, length: int, size: int) -> list[Tap]:
    """Places between the centres of the first and the last pixel of a box."""
    begin, end = trunc(low * length), trunc(high * length)
    room = clamp(end - begin + 1, 1)
    place = (np.arange(size).astype(low.dtype.numpy) + 0.5) * (room / size) - 0.5
    first, last = [clamp(bound(place), min=0.0) for bound in (floor, ceil)]
    first, last = [where(at < room, at, room - 1) for at in (first, last)]
    part = where(first == last, 0.0, place - first)
    return [(_pixels(clamp(begin + at, 0, length - 1)), weight) for at, weight in ((first, 1 - part), (last, part))]


def _met(name: str, x: Tensor, which: Tensor, taps: list[list[Tap]]) -> Tensor:
    """The weighted sums of pixels."""
    result = None
    for (row, row_weight), (column, column_weight) in itertools.product(*taps):
        (count, height), (_, width) = row.shape, column.shape
        at = (which, to_shape(row, (count, height, 1)), to_shape(column, (count, 1, width)))
        met = read(name, many_axes_pattern(3), x, *at)
        weight = to_shape(row_weight, (count, height, 1, 1)) * to_shape(column_weight, (count, 1, width, 1))
        part = _engine.binary_op(_ABSORB_MUL, weight, met)
        result = part if result is None else result + part
    assert result is not None
    return result


# ------------------------------------------------------------------------------------------ primitive classes


class CropAndResize(Primitive):
    """Primitive class of `crop_and_resize`: ``ops.CropAndResize()(x, boxes, box_index, crop_size)``.

    Parameters
    ----------
    method, extrapolation_value
        As in `crop_and_resize`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, box = ops.ones((1, 4, 4, 2)), dg.Tensor([[0.0, 0.0, 1.0, 1.0]])
    >>> ops.CropAndResize("nearest")(x, box, dg.Tensor([0]), (3, 5)).shape
    (1, 3, 5, 2)
    """

    __slots__ = ("extrapolation_value", "method")

    def __init__(self, method: str = "bilinear", extrapolation_value: float = 0.0) -> None:
        _check_settings("CropAndResize", method, extrapolation_value)
        self.method: str = method
        self.extrapolation_value: float = float(extrapolation_value)

    def __call__(self, x: Any, boxes: Any, box_index: Any, crop_size: Any) -> Tensor:
        settings = (self.method, self.extrapolation_value)
        return _cropped("CropAndResize", x, boxes, box_index, crop_size, *settings)


METHODS: dict[str, Callable[..., Any]] = {}
