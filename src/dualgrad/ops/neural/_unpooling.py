"""Unpooling: put maxima back to their places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._settings import room
from ...tensor import Tensor
from .._arguments import floating, to_shape
from .._arguments import lengths as shape_of
from ..index._indices import added, index_tensor, many_axes_pattern
from ..math.elementwise import maximum
from ._sliding import image, numbers

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def max_unpool1d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back to their positions, with zeros elsewhere: undoes `max_pool1d` with positions.

    Parameters
    ----------
    x : Tensor
        The maxima, shape (N, C, L) or (C, L).
    indices : Tensor of int
        Their positions, as `max_pool1d` returns them; the shape of `x`.
    kernel_size : int or tuple of int
        The size of a window.
    stride : int or tuple of int, optional
        The step from window to window; `kernel_size` by default.
    padding : int or tuple of int, default 0
        How far windows reached out of the image.
    output_size : tuple of int, optional
        The shape of the result, or its last lengths. By default the smallest image that has such windows.

    Returns
    -------
    Tensor
        Where several maxima have one position, it holds their mean.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    IndexError
        If a position is outside of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.max_unpool1d(dg.Tensor([[[2.0, 5.0]]]), dg.Tensor([[[1, 3]]]), 2))
    [[[0. 2. 0. 5.]]]
    """
    return _unpooled("max_unpool1d", x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back to their positions, with zeros elsewhere: undoes `max_pool2d` with positions.

    Parameters
    ----------
    x : Tensor
        The maxima, shape (N, C, H, W) or (C, H, W).
    indices : Tensor of int
        Their positions, as `max_pool2d` returns them; the shape of `x`.
    kernel_size : int or tuple of int
        The size of a window.
    stride : int or tuple of int, optional
        The step from window to window; `kernel_size` by default.
    padding : int or tuple of int, default 0
        How far windows reached out of the image.
    output_size : tuple of int, optional
        The shape of the result, or its last lengths. By default the smallest image that has such windows.

    Returns
    -------
    Tensor
        Where several maxima have one position, it holds their mean.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    IndexError
        If a position is outside of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.max_unpool2d(dg.Tensor([[[[2.0, 5.0]]]]), dg.Tensor([[[[0, 7]]]]), 2))
    [[[[2. 0. 0. 0.]
       [0. 0. 0. 5.]]]]
    """
    return _unpooled("max_unpool2d", x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back to their positions, with zeros elsewhere: undoes `max_pool3d` with positions.

    Parameters
    ----------
    x : Tensor
        The maxima, shape (N, C, D, H, W) or (C, D, H, W).
    indices : Tensor of int
        Their positions, as `max_pool3d` returns them; the shape of `x`.
    kernel_size : int or tuple of int
        The size of a window.
    stride : int or tuple of int, optional
        The step from window to window; `kernel_size` by default.
    padding : int or tuple of int, default 0
        How far windows reached out of the image.
    output_size : tuple of int, optional
        The shape of the result, or its last lengths. By default the smallest image that has such windows.

    Returns
    -------
    Tensor
        Where several maxima have one position, it holds their mean.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    IndexError
        If a position is outside of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.max_unpool3d(dg.Tensor([[[[[2.0]]]]]), dg.Tensor([[[[[7]]]]]), 2).shape
    (1, 1, 2, 2, 2)
    """
    return _unpooled("max_unpool3d", x, indices, kernel_size, stride, padding, output_size, 3)


def _unpooled(
    name: str, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any, n: int
) -> Tensor:
    x, index = floating(name, x), index_tensor(name, indices)
    lengths = image(name, x, n)
    if index.shape != x.shape:
        raise ValueError(f"{name}: the indices have shape {index.shape}; expected that of the input, {x.shape}")
    kernel = numbers(name, "kernel_size", kernel_size, n)
    steps = kernel if stride is None else numbers(name, "stride", stride, n)
    around = numbers(name, "padding", padding, n, 0)
    least = [(m - 1) * s - 2 * p + k for m, s, p, k in zip(lengths, steps, around, kernel, strict=True)]
    sizes = tuple(least)
    if min(least) < 0:
        raise ValueError(f"{name}: padding is {around}; it cuts off more than the {n} lengths of the result have")
    given = () if output_size is None else shape_of(name, output_size)
    if given:
        if len(given) == x.ndim and given[:-n] == x.shape[:-n]:
            given = given[-n:]
        if len(given) != n or any(not m - s < k < m + s for k, m, s in zip(given, least, steps, strict=True)):
            raise ValueError(
                f"{name}: output_size is {given}; expected lengths within less than the stride {steps} of {sizes}"
            )
        sizes = given
    room(name, (*x.shape[:-n], *sizes))
    lead, places, size = math.prod(x.shape[:-n]), math.prod(lengths), math.prod(sizes)
    pattern, rows, index = many_axes_pattern(2), np.arange(lead).reshape(lead, 1), to_shape(index, (lead, places))
    filled = added(name, (lead, size), pattern, to_shape(x, (lead, places)), rows, index)
    ones = Tensor._owning(np.ones((lead, places), x.dtype.numpy))
    counts = added(name, (lead, size), pattern, ones, rows, index)
    return to_shape(filled / maximum(counts, 1), (*x.shape[:-n], *sizes))
