"""Deformable convolution: every element of every window is read at a given offset from its place.

Between the centres of elements the image is linear along each axis, as in `grid_sample`; outside of it is zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, operand, permuted, to_shape
from ..index._indices import many_axes_pattern, read
from ..math.elementwise import floor
from ._sliding import Windows, numbers, one_number
from .convolution import conv2d
from .grids import _index

__all__ = ["DeformableOffsets", "deformable_conv2d"]

_ABSORB_MUL = OP["absorb_mul"]
_FLOAT16 = _dtype.float16.numpy.num


def deformable_conv2d(
    x: Any,
    weight: Any,
    offsets: Any,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    bias: Any = None,
    dilations: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """Convolution whose windows read each element at an offset of its own, times a factor of its own.

    Parameters
    ----------
    x : Tensor
        The image, shape (N, C, H, W).
    weight : Tensor
        The filters, shape (K, C / groups, h, w).
    offsets : Tensor
        Shape (N, 3 * deformable_groups * h * w, H', W') for H' and W' windows along the axes: the shift of each element
        along W, its shift along H, and its factor.
    kernel_size : tuple of int
        The lengths (h, w) of a window.
    strides : tuple of int
        The step from window to window, as (1, 1, step along H, step along W).
    padding : tuple of int
        How far windows reach out of the image: (above, below, left, right).
    bias : Tensor, optional
        Added to each channel of the result, shape (K,).
    dilations : tuple of int, default (1, 1, 1, 1)
        The step from element to element of a window, as `strides`.
    groups : int, default 1
        The groups of channels, which are independent, as in `conv2d`.
    deformable_groups : int, default 1
        The groups of channels with offsets of their own.
    modulated : bool, default True
        True if `offsets` has factors; False is an error.

    Returns
    -------
    Tensor
        Shape (N, K, H', W').

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, weight = dg.Tensor([[[[0.0, 4.0, 6.0]]]]), dg.Tensor([[[[10.0]]]])
    >>> offsets = dg.Tensor([[[[0.5, 0.5, 0.5]], [[0.0, 0.0, 0.0]], [[1.0, 1.0, 2.0]]]])
    >>> print(ops.deformable_conv2d(x, weight, offsets, (1, 1), (1, 1, 1, 1), (0, 0, 0, 0)))
    [[[[20. 50. 60.]]]]
    """
    read_at = DeformableOffsets(strides, padding, kernel_size, dilations, "NCHW", deformable_groups, modulated)
    weight = operand("deformable_conv2d", weight)
    if weight.shape[2:] != read_at.ksize:
        raise ValueError(
            f"deformable_conv2d: the weight has shape {weight.shape} and kernel_size is {kernel_size}; expected a "
            f"weight (K, C / groups, {', '.join(map(str, read_at.ksize))})"
        )
    return conv2d(read_at(x, offsets), weight, bias, read_at.ksize, "valid", 0, 1, groups)


class DeformableOffsets(Primitive):
    """The elements that `deformable_conv2d` multiplies by its filters, windows side by side.

    ``ops.DeformableOffsets(strides, pads, ksize)(x, offsets)`` has the shape (N, C, H' h, W' w): element (p, q) of
    window (i, j) is at ``(i h + p, j w + q)``.

    Parameters
    ----------
    strides, dilations : tuple of int
        Four numbers, as in `deformable_conv2d`; 1 for images and channels.
    pads : tuple of int
        As `padding` in `deformable_conv2d`.
    ksize : tuple of int
        The lengths (h, w) of a window.
    data_format : {'NCHW', 'NHWC'}, default 'NCHW'
        The order of the axes of all operands and of the result.
    deformable_groups, modulated
        As in `deformable_conv2d`.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> read_at = ops.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (3, 2))
    >>> read_at(ops.ones((1, 2, 5, 5)), ops.ones((1, 18, 3, 4))).shape
    (1, 2, 9, 8)
    """

    __slots__ = ("deformable_groups", "dilations", "format", "ksize", "modulated", "pads", "strides")

    def __init__(
        self,
        strides: Any,
        pads: Any,
        ksize: Any,
        dilations: Any = (1, 1, 1, 1),
        data_format: str = "NCHW",
        deformable_groups: int = 1,
        modulated: bool = True,
    ) -> None:
        name = "deformable_conv2d"
        if not one_of(data_format, ("NCHW", "NHWC")):
            raise ValueError(f"{name}: data_format is {data_format!r}; expected 'NCHW' or 'NHWC'")
        if modulated is not True:
            raise ValueError(f"{name}: modulated is {modulated!r}; expected True, with factors of 1 in the offsets")
        self.format: str = data_format
        self.modulated: bool = True
        self.strides: tuple[int, int] = self._of_image("strides", strides)
        self.dilations: tuple[int, int] = self._of_image("dilations", dilations)
        self.ksize: tuple[int, ...] = numbers(name, "kernel_size", ksize, 2)
        self.pads: tuple[int, ...] = numbers(name, "padding", pads, 4, 0)
        self.deformable_groups: int = one_number(name, "deformable_groups", deformable_groups)

    def _of_image(self, what: str, value: Any) -> tuple[int, int]:
        """The two numbers of four that belong to the axes of the image."""
        four = numbers("deformable_conv2d", what, value, 4)
        first = self.format.index("H")
        rest = four[:first] + four[first + 2 :]
        if rest != (1, 1):
            raise ValueError(f"deformable_conv2d: {what} is {value}; expected 1 for images and channels")
        return four[first], four[first + 1]

    def __call__(self, x: Any, offsets: Any) -> Tensor:
        name = "deformable_conv2d"
        x, shifts = floating(name, x), floating(name, offsets)
        if x.ndim != 4 or shifts.ndim != 4:
            raise ValueError(f"{name}: x has shape {x.shape} and offsets {shifts.shape}; expected four axes each")
        lengths, counts = self._lengths(x), self._lengths(shifts)
        pads = self.pads[:2], self.pads[2:]
        expected = tuple(
            [
                (length + sum(around) - step * (size - 1) - 1) // stride + 1
                for length, around, size, step, stride in zip(
                    lengths, pads, self.ksize, self.dilations, self.strides, strict=True
                )
            ]
        )
        if counts != expected:
            raise ValueError(
                f"{name}: the offsets have shape {shifts.shape}, for {counts} windows; expected {expected} windows, "
                f"for x of shape {x.shape}"
            )
        return self._read(x, shifts)

    def _lengths(self, x: Tensor) -> tuple[int, ...]:
        first = self.format.index("H")
        return x.shape[first : first + 2]

    def _read(self, x: Tensor, shifts: Tensor) -> Tensor:
        """Read the elements of all windows; products of Float16 numbers are computed in Float32."""
        if x._typenum == _FLOAT16:
            wide = _dtype.float32.numpy.num
            return _engine.convert(self._read(_engine.convert(x, wide), _engine.convert(shifts, wide)), _FLOAT16)
        if self.format == "NHWC":
            found = self._read_channels_first(permuted(x, (0, 3, 1, 2)), permuted(shifts, (0, 3, 1, 2)))
            return permuted(found, (0, 2, 3, 1))
        return self._read_channels_first(x, shifts)

    def _read_channels_first(self, x: Tensor, shifts: Tensor) -> Tensor:
        n, c, *lengths = x.shape
        groups, (h, w) = self.deformable_groups, self.ksize
        rows, columns = shifts.shape[2:]
        if c % groups or shifts.shape[:2] != (n, 3 * groups * h * w) or not x.size:
            raise ValueError(
                f"deformable_conv2d: x has shape {x.shape} and offsets {shifts.shape}; expected elements, a multiple "
                f"of {groups} channels, and offsets ({n}, {3 * groups * h * w}, H', W')"
            )
        parts = to_shape(shifts, (n, 3, groups, h, w, rows, columns))
        sides = []
        for axis, count in enumerate((rows, columns)):
            low = self.pads[2 * axis]
            along = Windows(self.ksize[axis], self.strides[axis], self.dilations[axis], low, 0, count)
            shape = (h, 1, rows, 1) if axis == 0 else (1, w, 1, columns)
            sides.append(_beside(along.positions().reshape(shape), parts[:, 1 - axis], lengths[axis]))
        # channels last, so that points index the axes before them
        grouped = permuted(to_shape(x, (n, groups, c // groups, *lengths)), (0, 1, 3, 4, 2))
        lead = np.arange(n).reshape(n, *(1,) * 5), np.arange(groups).reshape(groups, *(1,) * 4)
        result: Any = 0.0
        for choice in itertools.product(*sides):
            weight = parts[:, 2]
            for _, part in choice:
                weight = weight * part
            met = read("deformable_conv2d", many_axes_pattern(4), grouped, *lead, *[at for at, _ in choice])
            result = result + _engine.binary_op(_ABSORB_MUL, to_shape(weight, (*weight.shape, 1)), met)
        return to_shape(permuted(result, (0, 1, 6, 4, 2, 5, 3)), (n, c, rows * h, columns * w))


def _beside(places: np.ndarray, shift: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """The two elements around shifted places: their numbers, and their weights, 0 outside of the axis.

    Shifts are split into a whole number and a part before places are added, since a short type would round the sum.
    """
    first = floor(_engine.stop(shift))
    part = shift - first
    found = []
    for number, weight in ((places, 1 - part), (places + 1, part)):
        at, inside = _index(_engine.convert(first, _dtype.float64.numpy.num) + number, length)
        found.append((at, weight * _engine.convert(inside, shift._typenum)))
    return found


METHODS: dict[str, Callable[..., Any]] = {}
