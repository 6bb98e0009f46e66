"""Images as Cells: interpolation, pixels moved between channels and places, patches."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import operand, permuted, to_shape
from dualgrad.ops.neural._sliding import laid, numbers, windows
from dualgrad.tensor import Tensor

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample"]


class Upsample(Cell):
    """Resize the last axes of an image; see `ops.interpolate`.

    Parameters
    ----------
    size, scale_factor, mode, align_corners, recompute_scale_factor
        As in `ops.interpolate`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Upsample(size=4, mode="linear", align_corners=True)(Tensor([[[0.0, 3.0]]])))
    [[[0. 1. 2. 3.]]]
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def construct(self, x: Tensor) -> Tensor:
        settings = self.mode, self.align_corners, self.recompute_scale_factor
        return ops.interpolate(x, self.size, self.scale_factor, *settings)

    def extend_repr(self) -> str:
        return f"size={self.size}, scale_factor={self.scale_factor}, mode={self.mode}"


class PixelShuffle(Cell):
    """Move channels to places; see `ops.pixel_shuffle`.

    Parameters
    ----------
    upscale_factor : int
        The factor by which the last lengths grow.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.PixelShuffle(2)(ops.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """Move places to channels; see `ops.pixel_unshuffle`.

    Parameters
    ----------
    downscale_factor : int
        The factor by which the last lengths shrink.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.PixelUnshuffle(2)(ops.ones((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """Take the channels of groups in turn; see `ops.channel_shuffle`.

    Parameters
    ----------
    groups : int
        The number of groups.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ChannelShuffle(2)(ops.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def construct(self, x: Tensor) -> Tensor:
        return ops.channel_shuffle(x, self.groups)


class Unfold(Cell):
    """The elements of every window of an image as channels.

    `ops.unfold` gives them as columns.

    Parameters
    ----------
    ksizes, strides, rates : tuple of int
        The size of a window, the step between windows, and the step between elements: ``(1, rows, columns, 1)``.
    padding : {'valid', 'same'}, default 'valid'
        'valid': only windows inside. 'same': zeros are added around, so that there is a window for every stride begun.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 2, 2, 1])(ops.ones((1, 3, 6, 6))).shape
    (1, 12, 2, 2)
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        self._settings = []
        for what, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            given = numbers("Unfold", what, value, 4)
            if given[0] != 1 or given[3] != 1:
                raise ValueError(f"Unfold: {what} is {value}; expected (1, rows, columns, 1)")
            self._settings.append(given[1:3])
        self.padding: str = padding.lower() if isinstance(padding, str) else ""
        if self.padding not in ("valid", "same"):
            raise ValueError(f"Unfold: padding is {padding!r}; expected 'valid' or 'same'")

    def construct(self, input_x: Tensor) -> Tensor:
        x = operand("Unfold", input_x)
        if x.ndim != 4:
            raise ValueError(f"Unfold: the input has shape {x.shape}; expected (N, C, H, W)")
        kernel, strides, rates = self._settings
        axes = laid("Unfold", x.shape[2:], kernel, strides, rates, self.padding, 0)
        met = permuted(windows(x, axes), (0, 2, 3, 1, 4, 5))  # elements of a window first, then channels
        return to_shape(met, (x.shape[0], kernel[0] * kernel[1] * x.shape[1], *met.shape[-2:]))
