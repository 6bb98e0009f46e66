"""Sampling of images at points: grids of points, and the values of an image there.

Points are counted from -1 to 1 along every axis, last axis first. Between the centres of elements an image is linear
along each axis, so its derivative by a point is the derivative within the cell around the point. At a border between
cells the cell behind it counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, lengths, operand, permuted, to_shape
from ..index._indices import as_int64, many_axes_pattern, read
from ..index.choice import clamp, where
from ..math.elementwise import abs as magnitude
from ..math.elementwise import floor

__all__ = ["AffineGrid", "GridSampler2D", "GridSampler3D", "affine_grid", "grid_sample"]

_ABSORB_MUL = OP["absorb_mul"]


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """Map the points of a regular grid by an affine map.

    Parameters
    ----------
    theta : Tensor
        Matrices, shape (N, 2, 3) or (N, 3, 4).
    size : tuple of int
        The shape (N, C, H, W) or (N, C, D, H, W) of the sampled image.
    align_corners : bool, default False
        True if -1 and 1 are the centres of the outermost elements, False if they are the borders.

    Returns
    -------
    Tensor
        Shape (N, H, W, 2) or (N, D, H, W, 3).

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> identity = dg.Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> print(ops.affine_grid(identity, (1, 1, 1, 2), True))
    [[[[-1. -1.]
       [ 1. -1.]]]]
    """
    theta, size = floating("affine_grid", theta), lengths("affine_grid", size)
    n = len(size) - 2
    if n not in (2, 3) or theta.shape != (size[0], n, n + 1) or min(size) < 1:
        raise ValueError(
            f"affine_grid: theta has shape {theta.shape} and size is {size}; expected (N, 2, 3) with (N, C, H, W), or "
            "(N, 3, 4) with (N, C, D, H, W)"
        )
    axes = []
    truth_value("affine_grid", "align_corners", align_corners)
    for m in size[2:]:
        edge = 1.0 - 1.0 / m if not align_corners else float(m > 1)  # a single point is in the middle
        axes.append(np.linspace(-edge, edge, m))
    points = np.stack([*np.meshgrid(*axes, indexing="ij")][::-1] + [np.ones(size[2:])], -1)
    flat = Tensor._owning(points.reshape(-1, n + 1).astype(theta.dtype.numpy))
    return to_shape(_engine.matmul_op(flat, permuted(theta, (0, 2, 1))), (size[0], *size[2:], n))


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Values of an image at given points.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (N, C, D, H, W).
    grid : Tensor
        The points, shape (N, H', W', 2) or (N, D', H', W', 3), last axis of the image first; -1 and 1 are its ends. The
        type of `input`.
    mode : {'bilinear', 'nearest'}, default 'bilinear'
        The weighted mean of the elements around a point, or the nearest element (of two equally near elements the one
        with an even number), which has derivative 0.
    padding_mode : {'zeros', 'border', 'reflection'}, default 'zeros'
        The values outside of the image: zeros, its outermost elements, or its mirror image.
    align_corners : bool, optional
        True if -1 and 1 are the centres of the outermost elements; by default they are the borders.

    Returns
    -------
    Tensor
        Shape (N, C, H', W') or (N, C, D', H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the operands differ in type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, points = dg.Tensor([[[[0.0, 4.0]]]]), dg.Tensor([[[[-0.5, 0.0], [0.25, 0.0], [2.0, 0.0]]]])
    >>> print(ops.grid_sample(x, points, padding_mode="border"))
    [[[[0. 3. 4.]]]]
    """
    truth_value("grid_sample", "align_corners", align_corners)
    return _sampled("grid_sample", input, grid, mode, padding_mode, bool(align_corners))


def _sampled(name: str, input: Any, grid: Any, mode: str, padding_mode: str, corners: bool) -> Tensor:
    x, points = floating(name, input), operand(name, grid)
    n = x.ndim - 2
    if n not in (2, 3) or points.ndim != x.ndim or points.shape[0] != x.shape[0] or points.shape[-1] != n or not x.size:
        raise ValueError(
            f"{name}: the input has shape {x.shape} and the grid {points.shape}; expected (N, C, H, W) with "
            "(N, H', W', 2), or (N, C, D, H, W) with (N, D', H', W', 3)"
        )
    if points._typenum != x._typenum:
        raise TypeError(f"{name}: the input has type {x.dtype} and the grid {points.dtype}; expected equal types")
    if not one_of(mode, ("bilinear", "nearest")):
        raise ValueError(f"{name}: mode is {mode!r}; expected 'bilinear' or 'nearest'")
    if not one_of(padding_mode, ("zeros", "border", "reflection")):
        raise ValueError(f"{name}: padding_mode is {padding_mode!r}; expected 'zeros', 'border' or 'reflection'")
    sides = []
    for axis, length in enumerate(x.shape[2:]):
        place = _place(points[..., n - 1 - axis], length, corners, padding_mode)
        sides.append(_nearest(place, length) if mode == "nearest" else _around(place, length))
    image = permuted(x, (0, *range(2, n + 2), 1))  # so that points index the first axes
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * n)
    result = None
    for choice in itertools.product(*sides):
        weight = None
        for _, part, inside in choice:
            for factor in (part, inside):
                if factor is not None:
                    weight = factor if weight is None else weight * factor
        met = read(name, many_axes_pattern(n + 1), image, batch, *[at for at, _, _ in choice])
        if weight is not None:
            met = _engine.binary_op(_ABSORB_MUL, to_shape(weight, (*weight.shape, 1)), met)
        result = met if result is None else result + met
    assert result is not None
    return permuted(result, (0, n + 1, *range(1, n + 1)))


def _place(coordinate: Tensor, length: int, corners: bool, padding_mode: str) -> Tensor:
    """Points along one axis, counted in elements and moved to where the image is defined."""
    if corners:
        place = (coordinate + 1) * (0.5 * (length - 1))
    else:
        place = (coordinate + 1) * (0.5 * length) - 0.5
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, room = (0.0, length - 1.0) if corners else (-0.5, float(length))
        if room == 0:
            return place * 0.0
        distance = magnitude(place - low)
        turns = floor(_engine.stop(distance) / room)
        rest = distance - turns * room
        place = where(_engine.stop(turns) % 2 == 0, rest, room - rest) + low
    return clamp(place, 0, length - 1)


def _index(place: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Whole places as indices within the axis, and a mask of the places inside."""
    inside = (place >= 0) & (place <= length - 1)
    # nan and places far outside are not valid indices
    return as_int64(where(inside, place, 0.0)), inside


def _around(place: Tensor, length: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The two elements around a place: their numbers, their weights, and 1 if inside, else 0."""
    first = floor(_engine.stop(place))
    part = place - first
    found = []
    for number, weight in ((first, 1 - part), (first + 1, part)):
        at, inside = _index(number, length)
        found.append((at, weight, _engine.convert(inside, place._typenum)))
    return found


def _nearest(place: Tensor, length: int) -> list[tuple[Tensor, None, Tensor]]:
    at, inside = _index(_engine.stop(place).round(), length)
    return [(at, None, _engine.convert(inside, place._typenum))]


# ------------------------------------------------------------------------------------------ primitive classes


class AffineGrid(Primitive):
    """Primitive class of `affine_grid`: ``ops.AffineGrid(align_corners=False)(theta, output_size)``.

    Parameters
    ----------
    align_corners : bool, default False
        As in `affine_grid`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.AffineGrid()(dg.Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 3, 4)).shape
    (1, 3, 4, 2)
    """

    __slots__ = ("align_corners",)

    def __init__(self, align_corners: bool = False) -> None:
        self.align_corners: bool = align_corners

    def __call__(self, theta: Any, output_size: Any) -> Tensor:
        return affine_grid(theta, output_size, self.align_corners)


class _GridSampler(Primitive):
    """The settings of `grid_sample`."""

    __slots__ = ("align_corners", "interpolation_mode", "padding_mode")

    def __init__(
        self, interpolation_mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
    ) -> None:
        self.interpolation_mode: str = interpolation_mode
        self.padding_mode: str = padding_mode
        self.align_corners: bool = align_corners

    def __call__(self, input_x: Any, grid: Any) -> Tensor:
        name = type(self).__name__
        return _sampled(name, input_x, grid, self.interpolation_mode, self.padding_mode, self.align_corners)


class GridSampler2D(_GridSampler):
    """Primitive class of `grid_sample` for two axes: ``ops.GridSampler2D()(x, grid)``.

    Parameters
    ----------
    interpolation_mode, padding_mode, align_corners
        As `mode`, `padding_mode` and `align_corners` in `grid_sample`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.GridSampler2D()(ops.ones((1, 2, 3, 4)), ops.zeros((1, 5, 6, 2))).shape
    (1, 2, 5, 6)
    """

    __slots__ = ()


class GridSampler3D(_GridSampler):
    """Primitive class of `grid_sample` for three axes: ``ops.GridSampler3D()(x, grid)``.

    Parameters
    ----------
    interpolation_mode, padding_mode, align_corners
        As `mode`, `padding_mode` and `align_corners` in `grid_sample`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.GridSampler3D()(ops.ones((1, 2, 3, 4, 5)), ops.zeros((1, 2, 2, 2, 3))).shape
    (1, 2, 2, 2, 2)
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
