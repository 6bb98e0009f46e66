"""Resize images: interpolation along each axis in turn.

An element of the result is a weighted sum of a few neighbours along an axis. Places and weights are constants, so the
map is linear; a neighbour of weight 0 adds nothing, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._settings import one_of, room, truth_value
from ...tensor import Tensor
from .._arguments import Primitive, floating, integer, operand
from ._adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from ._taps import Centres, Taps, _over_axes, cubic, linear, nearest

__all__ = [
    "ResizeBicubic", "ResizeBilinear", "ResizeBilinearV2", "ResizeLinear1D", "ResizeNearestNeighbor",
    "ResizeNearestNeighborV2", "UpsampleNearest3D", "UpsampleTrilinear3D", "interpolate", "upsample",
]  # fmt: skip

_POOLS = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}

_MODES: dict[str, tuple[tuple[int, ...], Callable[[Centres], Taps] | None]] = {
    # mode: the numbers of axes that it supports, and the function that finds neighbours
    "nearest": ((1, 2, 3), nearest),
    "nearest-exact": ((1, 2), nearest),
    "linear": ((1,), linear),
    "bilinear": ((2,), linear),
    "trilinear": ((3,), linear),
    "bicubic": ((2,), cubic),
    "area": ((1, 2, 3), None),
}


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resize the last axes of an image.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L), (N, C, H, W) or (N, C, D, H, W).
    size : int or tuple of int, optional
        The new lengths, for all axes or for each.
    scale_factor : float or tuple of float, optional
        The factors of the lengths, rounded down; either this or `size` is given.
    mode : str, default 'nearest'
        'nearest': the element in which the new element begins. 'nearest-exact': the element in which its centre is; for
        one or two axes. 'linear' (one axis), 'bilinear' (two), 'trilinear' (three): the weighted mean of the elements
        around the centre. 'bicubic' (two axes): cubic convolution with the parameter -0.5 (and
        -0.75 with `align_corners`). 'area': averages of even shares, as in
        `adaptive_avg_pool2d`.
    align_corners : bool, optional
        True if the centres of the outermost elements coincide; only for linear modes and 'bicubic'. By default the
        borders coincide.
    recompute_scale_factor : bool, optional
        True if the distance of neighbours follows from the lengths, and not from `scale_factor`.

    Returns
    -------
    Tensor
        Shape (N, C, ...).

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[0.0, 4.0]]])
    >>> print(ops.interpolate(x, 4), ops.interpolate(x, 4, mode="linear"))
    [[[0. 0. 4. 4.]]] [[[0. 1. 3. 4.]]]
    >>> print(ops.interpolate(x, 5, mode="linear", align_corners=True))
    [[[0. 1. 2. 3. 4.]]]
    """
    name = "interpolate"
    x = operand(name, input)
    n = x.ndim - 2
    if not one_of(mode, _MODES):
        raise ValueError(f"{name}: mode is {mode!r}; expected one of {', '.join(_MODES)}")
    axes, how = _MODES[mode]
    if n not in axes:
        shapes = " or ".join(f"{k + 2} axes" for k in axes)
        raise ValueError(f"{name}: mode {mode!r} is for inputs with {shapes}; the input has shape {x.shape}")
    corners = mode.endswith("linear") or mode == "bicubic"
    if align_corners is not None and not corners:
        raise ValueError(f"{name}: align_corners is for linear modes and 'bicubic' only, mode is {mode!r}")
    lengths = x.shape[-n:]
    sizes, scales = _new_lengths(name, lengths, size, scale_factor, recompute_scale_factor)
    if how is None:
        return _POOLS[n](x, sizes if n > 1 else sizes[0])
    half = corners or mode == "nearest-exact"
    settings = zip(lengths, sizes, scales, strict=True)
    centres = [Centres.of(m, k, bool(align_corners), half, scale) for m, k, scale in settings]
    return _over_axes(name, floating(name, x) if corners else x, centres, how)


def _new_lengths(
    name: str, lengths: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The new lengths, and the prescribed number of old elements for one new element, if any."""
    n = len(lengths)
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{name}: size is {size!r} and scale_factor is {scale_factor!r}; expected one of them")
    if size is not None:
        if truth_value(name, "recompute_scale_factor", recompute):
            raise ValueError(f"{name}: recompute_scale_factor has no meaning beside size")
        given = tuple(size) if isinstance(size, tuple | list) else (size,) * n
        sizes = tuple([integer(name, "size", k) for k in given])
        scales: tuple[float | None, ...] = (None,) * n
    else:
        factors = tuple(scale_factor) if isinstance(scale_factor, tuple | list) else (scale_factor,) * n
        if not all(isinstance(k, int | float) and 0 < k < 2.0**58 for k in factors):
            raise ValueError(f"{name}: scale_factor is {scale_factor!r}; expected positive numbers")
        sizes = tuple([math.floor(m * k) for m, k in zip(lengths, factors, strict=False)])
        anew = truth_value(name, "recompute_scale_factor", recompute)
        given, scales = factors, (None,) * n if anew else tuple([1.0 / k for k in factors])
    room(name, tuple([max(k, 0) for k in sizes]))
    if len(given) != n or min(sizes) < 1 or min(lengths) < 1:
        raise ValueError(
            f"{name}: size {size!r}, scale_factor {scale_factor!r} for axes of lengths {lengths}; expected one number, "
            f"or {n} of them, and lengths of at least 1"
        )
    return sizes, scales


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """The same as `interpolate`.

    Parameters, results and errors are as in `interpolate`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.upsample(dg.Tensor([[[0.0, 4.0]]]), scale_factor=2))
    [[[0. 0. 4. 4.]]]
    """
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


# ------------------------------------------------------------------------------------------ primitive classes


class _Resize(Primitive):
    """The settings of a primitive class that resizes: how corners and centres of elements lie."""

    __slots__ = ("align_corners", "half_pixel_centers")
    _axes = 2
    _how = staticmethod(linear)

    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False) -> None:
        for what, value in (("align_corners", align_corners), ("half_pixel_centers", half_pixel_centers)):
            truth_value(type(self).__name__, what, value)
        if align_corners and half_pixel_centers:
            raise ValueError(f"{type(self).__name__}: align_corners goes without half_pixel_centers")
        self.align_corners: bool = align_corners
        self.half_pixel_centers: bool = half_pixel_centers

    def _resized(self, x: Any, size: Any) -> Tensor:
        name, n = type(self).__name__, self._axes
        x = operand(name, x)
        if x.ndim != n + 2:
            raise ValueError(f"{name}: the input has shape {x.shape}; expected {n + 2} axes")
        if isinstance(size, Tensor):
            size = size.tolist()
        sizes, _ = _new_lengths(name, x.shape[-n:], size, None, None)
        if self._how is not nearest:
            x = floating(name, x)
        pairs = zip(x.shape[-n:], sizes, strict=True)
        centres = [Centres.of(m, k, self.align_corners, self.half_pixel_centers) for m, k in pairs]
        return _over_axes(name, x, centres, self._taps)

    def _taps(self, at: Centres) -> Taps:
        return nearest(at, self.align_corners) if self._how is nearest else self._how(at)


class ResizeNearestNeighbor(_Resize):
    """The nearest elements of an image (N, C, H, W): ``ops.ResizeNearestNeighbor(size)(x)``.

    Parameters
    ----------
    size : int or tuple of int
        The new lengths.
    align_corners : bool, default False
        True if the centres of the outermost elements coincide.
    half_pixel_centers : bool, default False
        True if the centre of an element counts, False if its beginning counts.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ResizeNearestNeighbor((1, 4))(dg.Tensor([[[[0.0, 4.0]]]])))
    [[[[0. 0. 4. 4.]]]]
    """

    __slots__ = ("size",)
    _how = staticmethod(nearest)

    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> None:
        super().__init__(align_corners, half_pixel_centers)
        self.size: Any = size

    def __call__(self, input_x: Any) -> Tensor:
        return self._resized(input_x, self.size)


class ResizeNearestNeighborV2(_Resize):
    """As `ResizeNearestNeighbor`, with the size as an operand: ``ops.ResizeNearestNeighborV2()(x, size)``.

    Parameters
    ----------
    align_corners, half_pixel_centers : bool, default False
        As in `ResizeNearestNeighbor`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ResizeNearestNeighborV2()(dg.Tensor([[[[0.0, 4.0]]]]), (1, 4)))
    [[[[0. 0. 4. 4.]]]]
    """

    __slots__ = ()
    _how = staticmethod(nearest)

    def __call__(self, image: Any, size: Any) -> Tensor:
        return self._resized(image, size)


class ResizeBilinear(_Resize):
    """Weighted means of neighbouring elements of an image (N, C, H, W): ``ops.ResizeBilinear(size)(x)``.

    Parameters
    ----------
    size : int or tuple of int
        The new lengths.
    align_corners, half_pixel_centers : bool, default False
        As in `ResizeNearestNeighbor`.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ResizeBilinear((1, 4))(dg.Tensor([[[[0.0, 4.0]]]])))
    [[[[0. 2. 4. 4.]]]]
    """

    __slots__ = ("size",)

    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> None:
        super().__init__(align_corners, half_pixel_centers)
        self.size: Any = size

    def __call__(self, x: Any) -> Tensor:
        return self._resized(x, self.size)


class ResizeBilinearV2(_Resize):
    """As `ResizeBilinear`, with the size as an operand: ``ops.ResizeBilinearV2()(x, size)``.

    Parameters
    ----------
    align_corners, half_pixel_centers : bool, default False
        As in `ResizeNearestNeighbor`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ResizeBilinearV2(half_pixel_centers=True)(dg.Tensor([[[[0.0, 4.0]]]]), (1, 4)))
    [[[[0. 1. 3. 4.]]]]
    """

    __slots__ = ()

    def __call__(self, image: Any, size: Any) -> Tensor:
        return self._resized(image, size)


class ResizeBicubic(_Resize):
    """Cubic convolution of an image (N, C, H, W), as in `interpolate`: ``ops.ResizeBicubic()(x, size)``.

    Parameters
    ----------
    align_corners, half_pixel_centers : bool, default False
        As in `ResizeNearestNeighbor`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.ResizeBicubic()(ops.ones((1, 2, 3, 4)), (6, 4)).shape
    (1, 2, 6, 4)
    """

    __slots__ = ()
    _how = staticmethod(cubic)

    def __call__(self, images: Any, size: Any) -> Tensor:
        return self._resized(images, size)


class ResizeLinear1D(_Resize):
    """Weighted means of neighbouring elements of an image (N, C, L): ``ops.ResizeLinear1D()(x, size)``.

    Parameters
    ----------
    coordinate_transformation_mode : {'align_corners', 'half_pixel'}, default 'align_corners'
        The centres of the outermost elements coincide, or their borders.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ResizeLinear1D()(dg.Tensor([[[0.0, 4.0]]]), (5,)))
    [[[0. 1. 2. 3. 4.]]]
    """

    __slots__ = ("coordinate_transformation_mode",)
    _axes = 1

    def __init__(self, coordinate_transformation_mode: str = "align_corners") -> None:
        modes = ("align_corners", "half_pixel")
        if not one_of(coordinate_transformation_mode, modes):
            raise ValueError(
                f"ResizeLinear1D: coordinate_transformation_mode is {coordinate_transformation_mode!r}; expected one "
                f"of {modes}"
            )
        super().__init__(*[coordinate_transformation_mode == mode for mode in modes])
        self.coordinate_transformation_mode = coordinate_transformation_mode

    def __call__(self, x: Any, size: Any) -> Tensor:
        return self._resized(x, size)


class _Upsample3D(Primitive):
    """The settings of a primitive class that resizes images (N, C, D, H, W)."""

    __slots__ = ()

    def _resized(self, mode: str, x: Any, output_size: Any, scales: Any, corners: bool | None = None) -> Tensor:
        size = None if output_size is None else tuple(output_size)
        factors = None if scales is None else tuple(scales)
        return interpolate(x, size, factors, mode, corners)


class UpsampleNearest3D(_Upsample3D):
    """Nearest elements over three axes: ``ops.UpsampleNearest3D()(x, output_size, scales)``, one of the last two None.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.UpsampleNearest3D()(ops.ones((1, 2, 2, 2, 2)), (3, 4, 5), None).shape
    (1, 2, 3, 4, 5)
    """

    __slots__ = ()

    def __call__(self, x: Any, output_size: Any, scales: Any) -> Tensor:
        return self._resized("nearest", x, output_size, scales)


class UpsampleTrilinear3D(_Upsample3D):
    """Weighted means over three axes: ``ops.UpsampleTrilinear3D()(x, output_size, scales)``, one of the last two None.

    Parameters
    ----------
    align_corners : bool, default False
        True if the centres of the outermost elements coincide.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.UpsampleTrilinear3D()(ops.ones((1, 2, 2, 2, 2)), None, (2.0, 1.0, 1.5)).shape
    (1, 2, 4, 2, 3)
    """

    __slots__ = ("align_corners",)

    def __init__(self, align_corners: bool = False) -> None:
        self.align_corners: bool = align_corners

    def __call__(self, x: Any, output_size: Any, scales: Any) -> Tensor:
        return self._resized("trilinear", x, output_size, scales, self.align_corners)


METHODS: dict[str, Callable[..., Any]] = {}
