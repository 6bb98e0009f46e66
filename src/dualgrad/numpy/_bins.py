"""NumPy's histogram functions for tensors: counts of elements, sums of weights, and the edges between bins.

The number of an element's bin has no slope; derivatives go to weights and edges.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._engine.transforms import tensor as _engine
from .._settings import room, truth_value
from ..ops._arguments import alike, beside, floating, integer, to_shape
from ..ops.composed.counting import bincount
from ..ops.index.choice import where
from ..ops.index.segments import unsorted_segment_sum
from ..ops.index.sorting import searchsorted
from ..ops.math.reductions import amax, amin
from ..ops.math.reductions import sum as _sum
from ..ops.math.sampled import diff
from ..ops.shape.reshaping import ravel
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._creation import tensor_of
from ._entries import implements, numbers

__all__: list[str] = []


def _is_row(x: Any) -> bool:
    """True if an object is a list, or an array with axes."""
    return isinstance(x, tuple | list) or (isinstance(x, np.ndarray | Tensor) and x.ndim > 0)


def _edges(name: str, x: Tensor, bins: Any, between: Any, weights: Any = None) -> Tensor:
    """The edges of bins: the given ones, or equidistant ones between the ends of a range."""
    if isinstance(bins, str):
        bins = len(np.histogram_bin_edges(numbers(x), bins, between, numbers(weights))) - 1
    if _is_row(bins):
        edges = tensor_of(bins)
        if edges.ndim != 1:
            raise ValueError(f"{name}: edges of shape {edges.shape}; expected a vector")

        def ascending(array: np.ndarray) -> None:
            if (np.diff(array) < 0).any():
                raise ValueError(f"{name}: the edges do not ascend")

        return _engine.inspect(edges, ascending)
    count = integer(name, "bins", bins)
    if count < 1:
        raise ValueError(f"{name}: {count} bins; expected 1 or more")
    room(name, (count + 1,))
    if between is not None and (not _is_row(between) or len(between) != 2):
        raise ValueError(f"{name}: range is {between!r:.60}; expected a pair (lowest, highest)")
    low, high = (amin(x), amax(x)) if between is None and x.size else (0.0, 1.0) if between is None else between
    low, high, _ = alike([*[floating(name, beside(name, end, x)) for end in (low, high)], x])
    same = stop_gradient(low == high)
    low, high = where(same, low - 0.5, low), where(same, high + 0.5, high)
    share = (np.arange(count + 1) / count).astype(low.dtype.numpy)
    return where(share == 1.0, high, low + (high - low) * share)


def _bin_of(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin; the last bin is closed. Elements outside get the number of bins."""
    n = edges.size - 1
    x, edges = stop_gradient(x), stop_gradient(edges)
    found = searchsorted(edges, x, right=True) - 1
    found = where(x == edges[n], n - 1, found)
    outside = (found < 0) | (found >= n) | (x != x)
    return where(outside, n, found)


def _counted(name: str, bins: Tensor, count: int, weights: Any) -> Tensor:
    """Count the elements of each bin, or sum their weights. Drops elements outside."""
    if weights is None:
        each = Tensor(np.ones(bins.shape, np.int64))
    else:
        each = ravel(tensor_of(weights))
        if each.shape != bins.shape:
            raise ValueError(f"{name}: weights of shape {np.shape(weights)} for {bins.size} elements")
    return unsorted_segment_sum(each, bins, count + 1)[:count]


@implements(np.histogram_bin_edges)
def _np_histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    edges = _edges("np.histogram_bin_edges", ravel(floating("histogram", tensor_of(a))), bins, range, weights)
    return _as_given(bins, edges)


def _as_given(bins: Any, edges: Tensor) -> Tensor:
    """The edges. Returns the given array itself if there was one, as NumPy does."""
    return bins if isinstance(bins, Tensor) and bins.shape == edges.shape else edges


@implements(np.histogram)
def _np_histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor]:
    x = ravel(floating("np.histogram", tensor_of(a)))
    edges = _edges("np.histogram", x, bins, range, weights)
    found = _counted("np.histogram", _bin_of(x, edges), edges.size - 1, weights)
    truth_value("histogram", "density", density)
    if density:
        found = found / diff(edges) / _sum(found)
    return found, _as_given(bins, edges)


@implements(np.histogramdd)
def _np_histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, list[Tensor]]:
    if isinstance(sample, list | tuple):
        columns = [ravel(floating("np.histogramdd", tensor_of(x))) for x in sample]
    else:
        points = floating("np.histogramdd", sample)
        if points.ndim not in (1, 2):
            raise ValueError(
                f"np.histogramdd: a sample of shape {points.shape}; expected (N, D), or a list of D vectors"
            )
        points = to_shape(points, (points.size, 1)) if points.ndim == 1 else points
        columns = [points[:, k] for k in np.arange(points.shape[1]).tolist()]
    return _grid("np.histogramdd", columns, bins, range, density, weights)


def _grid(
    name: str, columns: list[Tensor], bins: Any, between: Any, density: Any, weights: Any
) -> tuple[Tensor, list[Tensor]]:
    dims = len(columns)
    each = [bins] * dims if not _is_row(bins) else list(bins)
    if between is not None and not _is_row(between):
        raise TypeError(f"{name}: range must have a pair (lowest, highest) for each axis, got {type(between).__name__}")
    ends = [None] * dims if between is None else list(between)
    if len(each) != dims or len(ends) != dims:
        raise ValueError(f"{name}: {len(each)} bins and {len(ends)} ranges for {dims} axes")
    edges = [_edges(name, x, b, r) for x, b, r in zip(columns, each, ends, strict=True)]
    shape = tuple([e.size - 1 for e in edges])
    place: Any = 0
    outside: Any = False
    for x, e in zip(columns, edges, strict=True):
        found = _bin_of(x, e)
        outside = (found == e.size - 1) | outside
        place = place * (e.size - 1) + found
    total = math.prod(shape)
    counts = to_shape(_counted(name, where(outside, total, place), total, weights), shape)
    counts = counts if weights is not None else counts.astype(_dtype.float64)
    truth_value(name, "density", density)
    if density:
        whole = _sum(counts)
        for k, e in enumerate(edges):
            counts = counts / to_shape(diff(e), tuple([shape[k] if j == k else 1 for j, _ in enumerate(shape)]))
        counts = counts / whole
    return counts, edges


@implements(np.histogram2d)
def _np_histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    columns = [ravel(floating("np.histogram2d", tensor_of(part))) for part in (x, y)]
    if _is_row(bins) and len(bins) not in (1, 2):  # the edges of both
        bins = [bins, bins]
    elif _is_row(bins) and len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, (first, second) = _grid("np.histogram2d", columns, bins, range, density, weights)
    return counts, first, second


@implements(np.bincount)
def _np_bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    return bincount(tensor_of(x), None if weights is None else tensor_of(weights), minlength)


@implements(np.digitize)
def _np_digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    x, edges = floating("np.digitize", tensor_of(x)), tensor_of(bins)
    steps = np.diff(numbers(edges))
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError("np.digitize: the bins neither ascend nor descend")
    if (steps >= 0).all():
        truth_value("digitize", "right", right)
        return searchsorted(edges, x, right=not right)
    return edges.size - searchsorted(edges[::-1], x, right=bool(right))
