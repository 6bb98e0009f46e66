"""Colours of images: red, green and blue against hue, saturation and value.

Hue is a part of a turn, from 0 at red over 1/3 at green and 2/3 at blue to 1 at red again. Value is the largest of the
three colours. Saturation is the share of it by which it exceeds the smallest (A. R. Smith, Color gamut transform pairs,
1978).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtype as _dtype
from ...tensor import Tensor
from .._arguments import Primitive, operand
from ..axes._joining import stack
from ..index.choice import where
from ..math.elementwise import abs as magnitude
from ..math.elementwise import floor, maximum, minimum

__all__ = ["HSVToRGB", "RGBToHSV"]


def _channels(name: str, x: Any, axes: int) -> tuple[Tensor, list[Tensor]]:
    """An image, and its three channels, at least in Float32."""
    x = operand(name, x)
    if not x.dtype.is_float:
        raise TypeError(f"{name}: the image has type {x.dtype}; expected Float16, Float32 or Float64")
    if not x.ndim or x.shape[-1] != 3 or axes not in (0, x.ndim):
        expected = "(N, H, W, 3)" if axes else "(..., 3)"
        raise ValueError(f"{name}: the image has shape {x.shape}; expected {expected}, three colours last")
    wide = x.astype(_dtype.float32) if x.dtype is _dtype.float16 else x
    return x, [wide[..., k] for k in range(3)]


def _joined(channels: list[Tensor], like: Tensor) -> Tensor:
    found = stack(channels, -1)
    return found if found.dtype is like.dtype else found.astype(like.dtype)


class RGBToHSV(Primitive):
    """Hue, saturation and value of red, green and blue: ``ops.RGBToHSV()(images)``.

    Operand and result have shape (..., 3) and one float type. Where the colours are equal, the hue is 0; where the
    largest is not positive, the saturation is 0. Colours that tie share the gradient of value and saturation; the
    gradient of the hue goes to the first.

    Raises
    ------
    ValueError
        If the last axis does not have length 3.
    TypeError
        If the type is not a float type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.RGBToHSV()(dg.Tensor([0.25, 0.5, 0.5])))
    [0.5 0.5 0.5]
    """

    __slots__ = ()

    def __call__(self, images: Any) -> Tensor:
        x, (red, green, blue) = _channels("RGBToHSV", images, 0)
        value = maximum(maximum(red, blue), green)
        span = value - minimum(minimum(red, blue), green)
        # Divisors without effect are 1, so that derivatives are finite.
        saturation = where(value <= 0, 0.0, span / where(value <= 0, 1.0, value))
        sixth = 1.0 / (6.0 * where(span == 0, 1.0, span))
        from_red, from_green = sixth * (green - blue), sixth * (blue - red) + 1 / 3
        from_blue = sixth * (red - green) + 2 / 3
        hue = where(red == value, from_red, where(green == value, from_green, from_blue))
        hue = where(span == 0, 0.0, where(hue < 0, hue + 1.0, hue))
        return _joined([hue, saturation, value], x)


class HSVToRGB(Primitive):
    """Red, green and blue of hue, saturation and value: ``ops.HSVToRGB()(x)``.

    Operand and result have shape (N, H, W, 3) and one float type. A hue below 0, or of 1 and more, is red.

    Raises
    ------
    ValueError
        If the shape does not fit.
    TypeError
        If the type is not a float type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.HSVToRGB()(dg.Tensor([[[[0.5, 0.5, 0.5]]]])))
    [[[[0.25 0.5  0.5 ]]]]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x, (hue, saturation, value) = _channels("HSVToRGB", x, 4)
        chroma = saturation * value
        turned = 6.0 * hue
        sector = floor(turned)
        distance = magnitude(turned)
        middle = chroma * (1.0 - magnitude(distance - 2.0 * floor(0.5 * distance) - 1.0))
        unknown = sector != sector  # a hue of nan leaves no colour
        outside = (sector < 0) | (sector > 5)
        least = value - chroma

        def colour(full: tuple[int, int], between: tuple[int, int], else_full: bool = False) -> Tensor:
            in_full = (sector == full[0]) | (sector == full[1])
            in_between = (sector == between[0]) | (sector == between[1]) | unknown
            return least + where(in_full | outside if else_full else in_full, chroma, where(in_between, middle, 0.0))

        return _joined([colour((0, 5), (1, 4), True), colour((1, 2), (0, 3)), colour((3, 4), (2, 5))], x)


METHODS: dict[str, Callable[..., Any]] = {}
