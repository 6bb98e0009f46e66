"""Elements moved between channels and places: pixel shuffles, and blocks of an image moved to the batch.

All are a reshape, a transposition and a reshape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor import Tensor
from .._arguments import Primitive, operand, permuted, to_shape
from ..shape._padding import surrounded
from ._sliding import channels_first, numbers, one_number

__all__ = [
    "BatchToSpace", "BatchToSpaceND", "ChannelShuffle", "DepthToSpace", "SpaceToBatch", "SpaceToBatchND",
    "SpaceToDepth", "batch_to_space_nd", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "space_to_batch_nd",
]  # fmt: skip


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """Move channels to places: (..., C r r, H, W) becomes (..., C, H r, W r).

    Parameters
    ----------
    input : Tensor
        At least three axes; the number of channels is a multiple of the square of r.
    upscale_factor : int
        The number r.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.pixel_shuffle(dg.Tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]), 2))
    [[[1. 2.]
      [3. 4.]]]
    """
    x, r = operand("pixel_shuffle", input), one_number("pixel_shuffle", "upscale_factor", upscale_factor)
    if x.ndim < 3 or x.shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: the input has shape {x.shape}; expected (..., C, H, W) with a multiple of {r * r} channels"
        )
    *lead, c, h, w = x.shape
    k = len(lead)
    x = permuted(to_shape(x, (*lead, c // (r * r), r, r, h, w)), (*range(k + 1), k + 3, k + 1, k + 4, k + 2))
    return to_shape(x, (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """Move places to channels: (..., C, H r, W r) becomes (..., C r r, H, W); undoes `pixel_shuffle`.

    Parameters
    ----------
    input : Tensor
        At least three axes; the last lengths are multiples of r.
    downscale_factor : int
        The number r.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.pixel_unshuffle(ops.ones((1, 4, 6)), 2).shape
    (4, 2, 3)
    """
    x, r = operand("pixel_unshuffle", input), one_number("pixel_unshuffle", "downscale_factor", downscale_factor)
    if x.ndim < 3 or x.shape[-1] % r or x.shape[-2] % r:
        raise ValueError(
            f"pixel_unshuffle: the input has shape {x.shape}; expected (..., C, H, W) with multiples of {r} for H and W"
        )
    *lead, c, h, w = x.shape
    k = len(lead)
    x = permuted(to_shape(x, (*lead, c, h // r, r, w // r, r)), (*range(k + 1), k + 2, k + 4, k + 1, k + 3))
    return to_shape(x, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Tensor:
    """Take the channels of groups in turn: channel j of group i becomes channel i of group j.

    Parameters
    ----------
    x : Tensor
        Shape (N, C, ...); `groups` divides C.
    groups : int
        The number of groups.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.channel_shuffle(dg.Tensor([[[1.0], [2.0], [3.0], [4.0]]]), 2).ravel())
    [1. 3. 2. 4.]
    """
    x, g = operand("channel_shuffle", x), one_number("channel_shuffle", "groups", groups)
    if x.ndim < 2 or x.shape[1] % g:
        raise ValueError(
            f"channel_shuffle: the input has shape {x.shape}; expected (N, C, ...) with C a multiple of {g}"
        )
    n, c, *rest = x.shape
    return to_shape(permuted(to_shape(x, (n, g, c // g, *rest)), (0, 2, 1, *range(3, x.ndim + 1))), x.shape)


def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Tensor:
    """Cut an image into blocks; the elements at the same place of all blocks become a sample.

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, ...).
    block_size : int or tuple of int
        The lengths of a block, for the last axes.
    paddings : tuple of pairs of int
        The zeros to add before and behind each of these axes, so that the block divides it.

    Returns
    -------
    Tensor
        Shape (N b, C, ...) with b the number of elements of a block; lengths are divided by the lengths of the block.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> print(ops.space_to_batch_nd(x, (2, 2), ((0, 0), (0, 0))).ravel())
    [1. 2. 3. 4.]
    """
    name = "space_to_batch_nd"
    x = operand(name, input_x)
    sizes, widths = _blocks(name, x, block_size, paddings)
    n = len(sizes)
    x = surrounded(name, x, ((0, 0),) * (x.ndim - n) + widths, 0)
    if any(m % b for m, b in zip(x.shape[-n:], sizes, strict=True)):
        raise ValueError(f"{name}: blocks {sizes} do not divide the axes of {input_x.shape} with paddings {paddings}")
    lead, lengths = x.shape[:-n], x.shape[-n:]
    split = [k for m, b in zip(lengths, sizes, strict=True) for k in (m // b, b)]
    k = len(lead)
    order = (*range(k + 1, k + 2 * n, 2), *range(k), *range(k, k + 2 * n, 2))
    result = (math.prod(sizes) * lead[0], *lead[1:], *split[::2])
    return to_shape(permuted(to_shape(x, (*lead, *split)), order), result)


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Tensor:
    """Put samples that are elements of blocks together; undoes `space_to_batch_nd`.

    Parameters
    ----------
    input_x : Tensor
        Shape (N b, C, ...) with b the number of elements of a block.
    block_shape : int or tuple of int
        The lengths of a block, for the last axes.
    crops : tuple of pairs of int
        The elements to cut off before and behind each of these axes at the end.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If shapes or settings do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1, 1)
    >>> print(ops.batch_to_space_nd(x, (2, 2), ((0, 0), (0, 0)))[0, 0])
    [[1. 2.]
     [3. 4.]]
    """
    name = "batch_to_space_nd"
    x = operand(name, input_x)
    sizes, widths = _blocks(name, x, block_shape, crops)
    n, count = len(sizes), math.prod(sizes)
    if x.shape[0] % count:
        raise ValueError(f"{name}: the input has shape {x.shape}; expected a multiple of {count} samples")
    lead, lengths = (x.shape[0] // count, *x.shape[1:-n]), x.shape[-n:]
    k = len(lead)
    pairs = [j for i in range(n) for j in (n + k + i, i)]
    x = permuted(to_shape(x, (*sizes, *lead, *lengths)), (*range(n, n + k), *pairs))
    x = to_shape(x, (*lead, *[m * b for m, b in zip(lengths, sizes, strict=True)]))
    return surrounded(name, x, ((0, 0),) * k + tuple([(-before, -behind) for before, behind in widths]), 0)


def _blocks(name: str, x: Tensor, sizes: Any, ends: Any) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The lengths of blocks, and two numbers for each axis that they cut."""
    rows = ends.tolist() if isinstance(ends, Tensor | np.ndarray) else ends
    if not isinstance(rows, tuple | list):
        raise TypeError(f"{name}: expected two numbers for each axis that is cut, got {type(rows).__name__}")
    n = len(rows)
    found = numbers(name, "the lengths of blocks", sizes, n)
    if not 0 < n <= x.ndim - 1:
        raise ValueError(f"{name}: {n} pairs of numbers for an input of shape {x.shape}; expected (N, C, ...)")
    return found, tuple([(before, behind) for before, behind in (numbers(name, "a pair", row, 2, 0) for row in rows)])


# ------------------------------------------------------------------------------------------ primitive classes


class ChannelShuffle(Primitive):
    """Primitive class of `channel_shuffle`: ``ops.ChannelShuffle(group)(x)``.

    Parameters
    ----------
    group : int
        The number of groups.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.ChannelShuffle(2)(ops.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    __slots__ = ("group",)

    def __init__(self, group: int) -> None:
        self.group: int = one_number("ChannelShuffle", "group", group)

    def __call__(self, x: Any) -> Tensor:
        return channel_shuffle(x, self.group)


class _Blocks(Primitive):
    """The settings of a primitive class that moves blocks between places and channels."""

    __slots__ = ("block_size",)

    def __init__(self, block_size: int, data_format: str = "NCHW") -> None:
        self.block_size: int = one_number(type(self).__name__, "block_size", block_size, 2)
        channels_first(type(self).__name__, data_format)

    def _image(self, x: Any) -> Tensor:
        x = operand(type(self).__name__, x)
        if x.ndim != 4:
            raise ValueError(f"{type(self).__name__}: the input has shape {x.shape}; expected (N, C, H, W)")
        return x


class SpaceToDepth(_Blocks):
    """Elements of blocks as channels, the channels of one place together: ``ops.SpaceToDepth(block_size)(x)``.

    Parameters
    ----------
    block_size : int
        The length of a block along both axes, at least 2.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SpaceToDepth(2)(dg.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).ravel())
    [1. 2. 3. 4.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x, b = self._image(x), self.block_size
        n, c, h, w = x.shape
        if h % b or w % b:
            raise ValueError(f"SpaceToDepth: the input has shape {x.shape}; expected multiples of {b} for H and W")
        x = permuted(to_shape(x, (n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
        return to_shape(x, (n, c * b * b, h // b, w // b))


class DepthToSpace(_Blocks):
    """Channels as the elements of blocks; undoes `SpaceToDepth`: ``ops.DepthToSpace(block_size)(x)``.

    Parameters
    ----------
    block_size, data_format
        As in `SpaceToDepth`.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.DepthToSpace(2)(ops.ones((1, 12, 1, 3))).shape
    (1, 3, 2, 6)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        x, b = self._image(x), self.block_size
        n, c, h, w = x.shape
        if c % (b * b):
            raise ValueError(f"DepthToSpace: the input has shape {x.shape}; expected a multiple of {b * b} channels")
        x = permuted(to_shape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
        return to_shape(x, (n, c // (b * b), h * b, w * b))


class SpaceToBatchND(Primitive):
    """Primitive class of `space_to_batch_nd`: ``ops.SpaceToBatchND(block_shape, paddings)(x)``.

    Parameters
    ----------
    block_shape, paddings
        As `block_size` and `paddings` in `space_to_batch_nd`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.SpaceToBatchND((2, 1), ((0, 0), (0, 0)))(ops.ones((1, 3, 4, 5))).shape
    (2, 3, 2, 5)
    """

    __slots__ = ("block_shape", "paddings")

    def __init__(self, block_shape: Any, paddings: Any) -> None:
        self.block_shape: Any = block_shape
        self.paddings: Any = paddings

    def __call__(self, input_x: Any) -> Tensor:
        return space_to_batch_nd(input_x, self.block_shape, self.paddings)


class BatchToSpaceND(Primitive):
    """Primitive class of `batch_to_space_nd`: ``ops.BatchToSpaceND(block_shape, crops)(x)``.

    Parameters
    ----------
    block_shape, crops
        As in `batch_to_space_nd`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.BatchToSpaceND((2, 1), ((0, 0), (0, 0)))(ops.ones((2, 3, 2, 5))).shape
    (1, 3, 4, 5)
    """

    __slots__ = ("block_shape", "crops")

    def __init__(self, block_shape: Any, crops: Any) -> None:
        self.block_shape: Any = block_shape
        self.crops: Any = crops

    def __call__(self, input_x: Any) -> Tensor:
        return batch_to_space_nd(input_x, self.block_shape, self.crops)


class SpaceToBatch(Primitive):
    """`space_to_batch_nd` with square blocks of images (N, C, H, W): ``ops.SpaceToBatch(block_size, paddings)(x)``.

    Parameters
    ----------
    block_size : int
        The length of a block along both axes.
    paddings
        As in `space_to_batch_nd`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.SpaceToBatch(2, ((0, 0), (0, 0)))(ops.ones((1, 3, 4, 6))).shape
    (4, 3, 2, 3)
    """

    __slots__ = ("block_size", "paddings")

    def __init__(self, block_size: int, paddings: Any) -> None:
        self.block_size: int = one_number("SpaceToBatch", "block_size", block_size, 2)
        self.paddings: Any = paddings

    def __call__(self, input_x: Any) -> Tensor:
        return space_to_batch_nd(input_x, (self.block_size,) * 2, self.paddings)


class BatchToSpace(Primitive):
    """`batch_to_space_nd` with square blocks of images (N, C, H, W): ``ops.BatchToSpace(block_size, crops)(x)``.

    Parameters
    ----------
    block_size : int
        The length of a block along both axes.
    crops
        As in `batch_to_space_nd`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.BatchToSpace(2, ((0, 0), (0, 0)))(ops.ones((4, 3, 2, 3))).shape
    (1, 3, 4, 6)
    """

    __slots__ = ("block_size", "crops")

    def __init__(self, block_size: int, crops: Any) -> None:
        self.block_size: int = one_number("BatchToSpace", "block_size", block_size, 2)
        self.crops: Any = crops

    def __call__(self, input_x: Any) -> Tensor:
        return batch_to_space_nd(input_x, (self.block_size,) * 2, self.crops)


METHODS: dict[str, Callable[..., Any]] = {}
