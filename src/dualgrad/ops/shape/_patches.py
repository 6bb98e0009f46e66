"""Patches of images: split images into columns, and add them up again.

`unfold` reads every patch at index arrays for rows and columns of the image, `fold` adds at the same places. So each is
the transpose of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import room
from ...tensor import Tensor
from .._arguments import OP, lengths, operand, to_shape
from ..index._indices import added, read
from ._padding import surrounded

__all__ = ["fold", "unfold"]

_SLICE = OP["slice"]


def unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Split images into patches.

    Parameters
    ----------
    x : Tensor
        Images of shape (N, C, H, W).
    kernel_size : int or pair of int
        Height and width of a patch.
    dilation : int or pair of int, default 1
        Distance of neighbouring elements of a patch.
    padding : int or pair of int, default 0
        Zeros around the image.
    stride : int or pair of int, default 1
        Distance of neighbouring patches.

    Returns
    -------
    Tensor
        Shape (N, C * kernel height * kernel width, L) for L patches; along each axis of the image there are
        ``(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` of them.

    Raises
    ------
    ValueError
        If `x` has not four axes, a setting is not positive (for padding: is negative), or no patch fits.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
    >>> print(ops.unfold(x, 2))
    [[[1. 2.]
      [2. 3.]
      [4. 5.]
      [5. 6.]]]
    """
    x = operand("unfold", x)
    if x.ndim != 4:
        raise ValueError(f"unfold: a tensor of shape {x.shape}; expected images of shape (N, C, H, W)")
    n, c, *size = x.shape
    rows, columns, (down, right) = _places("unfold", size, kernel_size, dilation, padding, stride)
    x = surrounded("unfold", x, ((0, 0), (0, 0), (down, down), (right, right)), 0)
    found = read("unfold", ((0, n, 1), (0, c, 1), 0, 1), x, rows, columns)
    return to_shape(found, (n, c * rows.shape[0] * columns.shape[1], rows.shape[2] * columns.shape[3]))


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Add patches up to images; the transpose of `unfold`.

    Parameters
    ----------
    x : Tensor
        Patches of shape (N, C * kernel height * kernel width, L).
    output_size : pair of int, or Tensor of int
        Height and width of the images.
    kernel_size, dilation, padding, stride : int or pair of int
        As in `unfold`; elements in the padding are dropped.

    Returns
    -------
    Tensor
        Images of shape (N, C, height, width).

    Raises
    ------
    ValueError
        If the shape of `x` does not fit the settings, or these are out of range.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fold(ops.ones((1, 4, 2)), (2, 3), 2))
    [[[[1. 2. 1.]
       [1. 2. 1.]]]]
    """
    x = operand("fold", x)
    size = _pair("fold", "output_size", output_size, 1)
    room("fold", size)
    rows, columns, (down, right) = _places("fold", size, kernel_size, dilation, padding, stride)
    height, width, above, beside = rows.shape[0], columns.shape[1], rows.shape[2], columns.shape[3]
    shape = x.shape
    if len(shape) != 3 or shape[1] % (height * width) or shape[2] != above * beside:
        raise ValueError(
            f"fold: a tensor of shape {shape} does not fit {above * beside} patches of {height} x {width} elements; "
            f"expected shape (N, C * {height * width}, {above * beside})"
        )
    n, c = shape[0], shape[1] // (height * width)
    patches = to_shape(x, (n, c, height, width, above, beside))
    outer = (n, c, size[0] + 2 * down, size[1] + 2 * right)
    image = added("fold", outer, ((0, n, 1), (0, c, 1), 0, 1), patches, rows, columns)
    if down or right:
        image = _engine.apply(_SLICE, ((0, n, 1), (0, c, 1), (down, size[0], 1), (right, size[1], 1)), image)
    return image


def _places(
    name: str, size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """Rows and columns, in the padded image, of each element (first two axes) of each patch (last two); the padding."""
    kernel, gaps = _pair(name, "kernel_size", kernel_size, 1), _pair(name, "dilation", dilation, 1)
    border, steps = _pair(name, "padding", padding, 0), _pair(name, "stride", stride, 1)
    found = []
    for k in (0, 1):
        count = (size[k] + 2 * border[k] - gaps[k] * (kernel[k] - 1) - 1) // steps[k] + 1
        if count < 1:
            raise ValueError(
                f"{name}: no patch of size {kernel} with dilation {gaps} fits into an image of size {tuple(size)} with "
                f"padding {border}"
            )
        room(name, (kernel[k], count, gaps[k], steps[k]), 1)
        found.append(gaps[k] * np.arange(kernel[k])[:, None] + steps[k] * np.arange(count))
    rows, columns = found
    return rows[:, None, :, None], columns[None, :, None, :], border


def _pair(name: str, what: str, value: Any, least: int) -> tuple[int, int]:
    """A setting for both axes of an image; one number stands for both."""
    given = lengths(name, value)
    if len(given) not in (1, 2) or min(given) < least:
        raise ValueError(f"{name}: {what} is {value!r}; expected one number or two, at least {least}")
    return given[0], given[-1]


METHODS: dict[str, Any] = {"unfold": unfold, "fold": fold}
