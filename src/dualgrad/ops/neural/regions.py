"""Regions of interest: boxes of feature maps, pooled into grids of one size.

Regions are constants, as in the papers: the result is linear in the features, and derivatives go to them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ... import extend
from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, integer, operand, permuted, to_shape, total
from ..index._indices import as_int64, many_axes_pattern, read
from ..index.choice import clamp, where
from ..math.elementwise import abs as magnitude
from ..math.elementwise import floor
from ._numbered import images_of

__all__ = ["PSROIPooling", "ROIAlign"]

_ABSORB_MUL = OP["absorb_mul"]

Array = np.ndarray


def _features(name: str, features: Any, regions: Any) -> tuple[Tensor, Tensor]:
    """Features (B, C, H, W), and regions without their derivatives."""
    for what, given in (("features", features), ("rois", regions)):
        if not isinstance(given, Tensor | np.ndarray):
            raise TypeError(f"{name}: {what} is a {type(given).__name__}; expected a Tensor or a NumPy array")
    x, regions = operand(name, features), _engine.stop(operand(name, regions))
    if x.ndim != 4 or not x.size:
        raise ValueError(f"{name}: the features have shape {x.shape}; expected (B, C, H, W) with no length of 0")
    for what, each in (("features", x), ("rois", regions)):
        if not each.dtype.is_float:
            raise TypeError(f"{name}: {what} have type {each.dtype}; expected Float16, Float32 or Float64")
    return x, regions


def _at_least_one(name: str, what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: {what} is {value!r}; expected an int")
    if value < 1:
        raise ValueError(f"{name}: {what} is {value}; expected 1 or more")
    return value


def _scale(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: spatial_scale is {value!r}; expected a number")
    if not value > 0:
        raise ValueError(f"{name}: spatial_scale is {value!r}; expected a positive number")
    return float(value)


# ------------------------------------------------------------------------------- means of points between pixels


class ROIAlign(Primitive):
    """Means of the features at regularly spaced points of each region: ``ops.ROIAlign(...)(features, rois)``.

    A region is divided into pooled_height times pooled_width bins. Each bin has points at which the features are
    interpolated linearly along both axes (K. He et al., Mask R-CNN, 2017). A point more than one pixel outside of the
    features counts as 0.

    `features` has shape (B, C, H, W). `rois` has shape (N, 5): the number of the image, and x0, y0, x1, y1 in pixels of
    the image, which are multiplied by `spatial_scale`. The result has shape (N, C, pooled_height, pooled_width) and the
    type of the features. Regions are constants and have no derivative. A region whose x0 and x1 both lie within 0.001
    of 0 is padding, and its result is 0.

    Parameters
    ----------
    pooled_height, pooled_width : int
        The numbers of bins.
    spatial_scale : float
        Pixels of the features for one pixel of the image.
    sample_num : int, default 2
        The number of points in a bin along each axis. With 0 or less it is the length of the bin in pixels, rounded
        down. It depends on values then, so a recorded function runs eagerly, and `vmap` cannot batch regions.
    roi_end_mode : {0, 1}, default 1
        0: a region ends at (x1, y1), and has at least one pixel of the features along each axis. 1: at (x1 + 1, y1 +
        1).

    Raises
    ------
    ValueError
        If shapes or settings do not fit, the number of an image is out of range, or `sample_num` is 0 or less and a
        region is smaller than one pixel for each bin, so that it has no points.
    TypeError
        If types or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> features = dg.Tensor([[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]]])
    >>> print(ops.ROIAlign(2, 2, 0.5)(features, dg.Tensor([[0.0, 0.0, 0.0, 3.0, 3.0]])))
    [[[[2. 3.]
       [5. 6.]]]]
    """

    __slots__ = ("pooled_height", "pooled_width", "roi_end_mode", "sample_num", "spatial_scale")

    def __init__(
        self, pooled_height: int, pooled_width: int, spatial_scale: float, sample_num: int = 2, roi_end_mode: int = 1
    ) -> None:
        self.pooled_height: int = _at_least_one("ROIAlign", "pooled_height", pooled_height)
        self.pooled_width: int = _at_least_one("ROIAlign", "pooled_width", pooled_width)
        self.spatial_scale: float = _scale("ROIAlign", spatial_scale)
        self.sample_num: int = integer("ROIAlign", "sample_num", sample_num)
        self.roi_end_mode: int = integer("ROIAlign", "roi_end_mode", roi_end_mode)
        if not one_of(roi_end_mode, (0, 1)):
            raise ValueError(f"ROIAlign: roi_end_mode is {roi_end_mode!r}; expected 0 or 1")

    def __call__(self, features: Any, rois: Any) -> Tensor:
        x, regions = _features("ROIAlign", features, rois)
        if regions.ndim != 2 or regions.shape[1] != 5:
            raise ValueError(
                f"ROIAlign: rois have shape {regions.shape}; expected (N, 5), a row for each region: the number of its "
                "image, x0, y0, x1, y1"
            )
        count, channels = regions.shape[0], x.shape[1]
        which = to_shape(images_of("ROIAlign", "region", regions[:, 0], x.shape[0]), (count, 1, 1))
        wide = _dtype.float64 if regions.dtype is _dtype.float64 else _dtype.float32
        used = where((magnitude(regions[:, 1]) < 0.001) & (magnitude(regions[:, 3]) < 0.001), 0.0, 1.0).astype(wide)
        regions = regions.astype(wide)
        taps, points = [], []
        for axis, bins in ((2, self.pooled_height), (1, self.pooled_width)):
            place, weight = self._points(regions[:, axis], regions[:, axis + 2], bins)
            points.append(place.shape[1] // bins)
            taps.append(_around(place, weight, x.shape[4 - axis]))
        image = permuted(x, (0, 2, 3, 1))  # so that points index the first axes
        result = None
        for (row, row_weight), (column, column_weight) in itertools.product(*taps):
            (_, high), (_, across) = row.shape, column.shape
            at = (which, to_shape(row, (count, high, 1)), to_shape(column, (count, 1, across)))
            met = read("ROIAlign", many_axes_pattern(3), image, *at)
            weight = to_shape(row_weight, (count, high, 1, 1)) * to_shape(column_weight, (count, 1, across, 1))
            weight = weight * to_shape(used, (count, 1, 1, 1))
            part = _engine.binary_op(_ABSORB_MUL, _engine.convert(weight, x._typenum), met)
            result = part if result is None else result + part
        assert result is not None
        grid = (count, self.pooled_height, points[0], self.pooled_width, points[1], channels)
        return permuted(total(to_shape(result, grid), (2, 4), False), (0, 3, 1, 2))

    def _points(self, begin: Tensor, end: Tensor, bins: int) -> tuple[Tensor, Tensor]:
        """Places along one axis, (N, bins times points), counted in pixels of the features, and their weights."""
        begin = begin * self.spatial_scale
        length = (end + float(self.roi_end_mode)) * self.spatial_scale - begin
        if self.roi_end_mode == 0:
            length = clamp(length, 1.0)
        step = length / bins
        if self.sample_num > 0:
            points, many = self.sample_num, to_shape(step * 0 + float(self.sample_num), (*step.shape, 1, 1))
        else:
            numbers = np.floor(step._numpy())
            if (wrong := np.flatnonzero(~(numbers >= 1))).size:
                raise ValueError(
                    f"ROIAlign: region {wrong[0]} is {length._numpy()[wrong[0]]:g} pixels of the features long, for "
                    f"{bins} bins, so that with sample_num={self.sample_num} it has no point; expected one pixel for "
                    "each bin at least, or a positive sample_num"
                )
            points = int(numbers.max(initial=1))
            many = Tensor._owning(numbers.reshape(-1, 1, 1))
        which_bin, which_point = np.arange(bins).reshape(-1, 1), np.arange(points) + 0.5
        kind, count = step.dtype.numpy, step.shape[0]
        begin, step = to_shape(begin, (count, 1, 1)), to_shape(step, (count, 1, 1))
        place = begin + step * which_bin.astype(kind) + step * which_point.astype(kind) / many
        weight = where(which_point.astype(kind) < many, 1.0 / many, 0.0) + place * 0
        return to_shape(place, (count, bins * points)), to_shape(weight, (count, bins * points))


def _around(place: Tensor, weight: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """The two pixels around each place, and their weights; the border continues for one pixel."""
    weight = where((place < -1) | (place > length), 0.0, weight)
    place = clamp(place, 0, length - 1)
    first = clamp(floor(place), 0, max(length - 2, 0))
    part = place - first
    at = as_int64(where(first == first, first, 0.0))  # a place of nan has weight nan
    return [(at, weight * (1 - part)), (clamp(at + 1, 0, length - 1), weight * part)]


# --------------------------------------------------------------------------------- means of position's channels


def _bins(regions: Array, shape: tuple[int, ...], scale: float, group: int) -> list[tuple[Array, Array]]:
    """Start and end of each bin of each region along rows and columns of the features, (N, group)."""
    kind = regions.dtype.type
    places = regions[:, 1:] * kind(scale)
    places = np.sign(places) * np.floor(np.abs(places) + kind(0.5))  # halves away from zero
    found = []
    for axis in (1, 0):
        begin, end = places[:, axis], places[:, axis + 2]
        step = (np.maximum(end - begin, kind(0.1)) / kind(group))[:, None]
        numbers = np.arange(group).astype(kind)
        ends = np.floor(numbers * step) + begin[:, None], np.ceil((numbers + kind(1)) * step) + begin[:, None]
        low, high = [np.clip(at, 0, shape[3 - axis] - 1).astype(np.int64) for at in ends]
        found.append((low, high))
    return found


def _parts(x: Array, regions: Array, numbers: Array, shape: tuple[int, ...], scale: float, group: int) -> Any:
    """For each bin with pixels: its region, its row and column in the grid, its channels and pixels."""
    (tops, bottoms), (lefts, rights) = _bins(regions, shape, scale, group)
    grouped = x.reshape(shape[0], -1, group, group, *shape[2:])
    for n, i, j in np.ndindex(len(regions), group, group):
        rows, columns = slice(tops[n, i], bottoms[n, i]), slice(lefts[n, j], rights[n, j])
        part = grouped[numbers[n], :, i, j, rows, columns]
        if part.size:
            yield n, i, j, part


def _pooled(x: Array, regions: Array, numbers: Array, shape: Any, scale: float, group: int) -> Array:
    found = np.zeros((len(regions), shape[1] // group**2, group, group), x.dtype)
    for n, i, j, part in _parts(x, regions, numbers, shape, scale, group):
        found[n, :, i, j] = part.mean((1, 2), dtype=np.promote_types(x.dtype, np.float32))
    return found


def _spread(x: Array, regions: Array, numbers: Array, shape: Any, scale: float, group: int) -> Array:
    """The transpose of `_pooled`."""
    found = np.zeros(shape, x.dtype)
    for n, i, j, part in _parts(found, regions, numbers, shape, scale, group):
        part += (x[n, :, i, j] / (part.shape[1] * part.shape[2]))[:, None, None]
    return found


pooled: extend.Primitive = extend.linear(
    "pooled_by_position",
    _pooled,
    lambda ct, x, regions, numbers, **settings: spread(ct, regions, numbers, **settings),
    arity=3,
    types="apart",
    summary="means of channels by position",
)
spread: extend.Primitive = extend.linear(
    "spread_by_position",
    _spread,
    lambda ct, x, regions, numbers, **settings: pooled(ct, regions, numbers, **settings),
    arity=3,
    types="apart",
    summary="shares of pixels by position",
)


class PSROIPooling(Primitive):
    """Means of the bins of regions, each from channels of its own: ``ops.PSROIPooling(...)(features, rois)``.

    A region is divided into group_size times group_size bins. Element (n, d, i, j) of the result is the mean of channel
    (d * group_size + i) * group_size + j over bin (i, j) of region n (J. Dai et al., R-FCN, 2016). It is 0 for a bin
    without pixels. Borders are rounded to whole pixels; the last row and the last column of the features are in no bin.

    `features` has shape (B, output_dim * group_size**2, H, W). `rois` has shape (K, 5, R), for K times R regions: the
    number of the image, and x0, y0, x1, y1 in pixels of the image, which are multiplied by `spatial_scale`. The result
    has shape (K * R, output_dim, group_size, group_size). Features, regions and result have one type. Regions are
    constants and have no derivative.

    Parameters
    ----------
    spatial_scale : float
        Pixels of the features for one pixel of the image.
    group_size : int
        The number of bins along each axis.
    output_dim : int
        The number of channels of the result.

    Raises
    ------
    ValueError
        If shapes or settings do not fit, or the number of an image is out of range.
    TypeError
        If types or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> features = ops.reshape(ops.arange(36.0), (1, 4, 3, 3))
    >>> rois = ops.reshape(dg.Tensor([0.0, 0.0, 0.0, 4.0, 4.0]), (1, 5, 1))
    >>> print(ops.PSROIPooling(0.5, 2, 1)(features, rois))
    [[[[ 0. 10.]
       [21. 31.]]]]
    """

    __slots__ = ("group_size", "output_dim", "spatial_scale")

    def __init__(self, spatial_scale: float, group_size: int, output_dim: int) -> None:
        self.spatial_scale: float = _scale("PSROIPooling", spatial_scale)
        self.group_size: int = _at_least_one("PSROIPooling", "group_size", group_size)
        self.output_dim: int = _at_least_one("PSROIPooling", "output_dim", output_dim)

    def __call__(self, features: Any, rois: Any) -> Tensor:
        x, regions = _features("PSROIPooling", features, rois)
        group, channels = self.group_size, self.output_dim * self.group_size**2
        if x.shape[1] != channels or regions.ndim != 3 or regions.shape[1] != 5:
            raise ValueError(
                f"PSROIPooling: the features have shape {x.shape} and rois {regions.shape}; expected "
                f"(B, {channels}, H, W), for output_dim {self.output_dim} and group_size {group}, and (K, 5, R)"
            )
        if x.dtype is not regions.dtype:
            raise TypeError(
                f"PSROIPooling: the features have type {x.dtype} and rois {regions.dtype}; expected one type"
            )
        rows = to_shape(permuted(regions, (0, 2, 1)), (regions.shape[0] * regions.shape[2], 5))
        numbers = images_of("PSROIPooling", "region", rows[:, 0], x.shape[0])
        return pooled(x, rows, numbers, shape=x.shape, scale=self.spatial_scale, group=group)


METHODS: dict[str, Callable[..., Any]] = {}
