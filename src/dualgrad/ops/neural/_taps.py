"""The elements of an axis from which a new element is made, and their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, total
from ..index._indices import one_axis_pattern, read

_ABSORB_MUL = OP["absorb_mul"]


class Centres(NamedTuple):
    """The positions of elements of the result in an image, along one axis.

    Attributes
    ----------
    length, size
        Elements of the image and of the result.
    scale
        The number of elements of the image for one element of the result.
    shift
        The position of the centre of an element: 0.5, or 0 if first elements, or also last elements, lie on each other.
    """

    length: int
    size: int
    scale: float
    shift: float

    @staticmethod
    def of(length: int, size: int, corners: bool, half: bool, scale: float | None = None) -> Centres:
        """Make centres. If corners lie on each other, the scale follows from the distances between them."""
        if corners:
            return Centres(length, size, (length - 1) / (size - 1) if size > 1 else 0.0, 0.0)
        return Centres(length, size, length / size if scale is None else scale, 0.5 if half else 0.0)

    def places(self) -> np.ndarray:
        """The places of the elements of the result, counted in elements of the image."""
        return (np.arange(self.size) + self.shift) * self.scale - self.shift


Taps = tuple[np.ndarray, np.ndarray | None]
"""The neighbours of each element of the result, and their weights; None if there is one neighbour of weight 1."""


def nearest(at: Centres, rounded: bool = False) -> Taps:
    """The element in which a place lies; with `rounded` the element with the nearest number."""
    places = (np.arange(at.size) + at.shift) * at.scale
    found = np.floor(places + 0.5) if rounded else np.floor(places)
    return np.minimum(found, at.length - 1).astype(np.int64), None


def linear(at: Centres) -> Taps:
    """The two elements around a place; before the first centre and behind the last one element only."""
    places = np.maximum(at.places(), 0.0)
    first = np.minimum(np.floor(places).astype(np.int64), at.length - 1)
    part = np.where(first < at.length - 1, places - first, 0.0)
    return np.stack([first, np.minimum(first + 1, at.length - 1)], 1), np.stack([1.0 - part, part], 1)


def cubic(at: Centres) -> Taps:
    """The four elements around a place, with the weights of cubic convolution.

    Where centres count, the parameter of the kernel is -0.5, and elements outside of the image have weight 0, so that
    the other weights add up to 1. Elsewhere it is -0.75, and ends are repeated.
    """
    a = -0.5 if at.shift else -0.75
    places = at.places()
    first = np.floor(places)
    d = np.abs((places - first)[:, None] + np.array([1.0, 0.0, -1.0, -2.0]))
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    weights = np.where(d <= 1, near, np.where(d < 2, far, 0.0))
    taps = first[:, None] + np.arange(-1, 3)
    inside = np.clip(taps, 0, at.length - 1).astype(np.int64)
    if at.shift:
        weights = np.where(taps == inside, weights, 0.0)
        weights /= weights.sum(1, keepdims=True)
    return inside, weights


def resampled(name: str, x: Tensor, axis: int, taps: Taps) -> Tensor:
    """The weighted sums of neighbours along one axis."""
    places, weights = taps
    if weights is None:
        return read(name, one_axis_pattern(x.shape, axis), x, places)
    met = read(name, one_axis_pattern(x.shape, axis), x, places)
    weights = weights.astype(x.dtype.numpy).reshape(*weights.shape, *(1,) * (x.ndim - axis - 1))
    return total(_engine.binary_op(_ABSORB_MUL, weights, met), (axis + 1,), False)


def _over_axes(name: str, x: Tensor, centres: list[Centres], how: Callable[[Centres], Taps]) -> Tensor:
    """Resample the last axes."""
    for axis, at in enumerate(centres, x.ndim - len(centres)):
        x = resampled(name, x, axis, how(at))
    return x
