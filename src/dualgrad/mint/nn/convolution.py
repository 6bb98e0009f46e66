"""Convolutions with PyTorch's signatures: layers of `dualgrad.nn` with another constructor."""

from __future__ import annotations

from typing import Any

from dualgrad import nn
from dualgrad.dtype import float32
from dualgrad.nn import Cell
from dualgrad.ops import conv1d
from dualgrad.parameter import Parameter

from ..._settings import one_of

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
]


def _convolution(padding: Any, padding_mode: str) -> dict[str, Any]:
    """Translate settings of a convolution to `dualgrad.nn`."""
    if not one_of(padding_mode, ("zeros",)):
        raise ValueError(f"mint.nn: got padding_mode={padding_mode!r}; expected 'zeros', pad the input for others")
    return {"pad_mode": padding} if isinstance(padding, str) else {"pad_mode": "pad", "padding": padding}


def _on_both_sides(padding: Any, axes: int) -> Any:
    """Padding of each axis, for both of its sides."""
    if isinstance(padding, tuple | list) and len(padding) == axes:
        return tuple([p for p in padding for _ in range(2)])
    return padding


class Conv1d(Cell):
    """`dualgrad.nn.Conv1d` with PyTorch's signature; the weight has shape (out_channels, in_channels / groups, k).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int or str, default 0
        Zeros on both sides, or 'valid' or 'same'.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        True to add a bias.
    padding_mode : str, default 'zeros'
        Only 'zeros'.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv1d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5))).shape
    (1, 3, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        first = nn.Conv1d(
            in_channels,
            out_channels,
            kernel_size,
            group=groups,
            has_bias=bias,
            dtype=float32 if dtype is None else dtype,
        )  # for its initial values, and its checks
        self.weight: Parameter = Parameter(first.weight[:, :, 0], name="weight")
        self.bias: Parameter | None = Parameter(first.bias, name="bias") if bias else None
        self._padding = _convolution(padding, padding_mode)
        self._steps = (stride, dilation, groups)

    def construct(self, input: Any) -> Any:
        stride, dilation, groups = self._steps
        return conv1d(input, self.weight, self.bias, stride, dilation=dilation, groups=groups, **self._padding)


class Conv2d(nn.Conv2d):
    """`dualgrad.nn.Conv2d` with PyTorch's signature.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int, two ints or str, default 0
        Zeros on both sides, for both axes or for each, or 'valid' or 'same'.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        True to add a bias.
    padding_mode : str, default 'zeros'
        Only 'zeros'.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv2d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5, 5))).shape
    (1, 3, 5, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, dilation=dilation, group=groups, has_bias=bias,
            dtype=float32 if dtype is None else dtype, **_convolution(_on_both_sides(padding, 2), padding_mode),
        )  # fmt: skip


class Conv3d(nn.Conv3d):
    """`dualgrad.nn.Conv3d` with PyTorch's signature; parameters as in `Conv2d`, for three axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv3d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5, 5, 5))).shape
    (1, 3, 5, 5, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, dilation=dilation, group=groups, has_bias=bias,
            dtype=float32 if dtype is None else dtype, **_convolution(_on_both_sides(padding, 3), padding_mode),
        )  # fmt: skip


class ConvTranspose2d(nn.Conv2dTranspose):
    """`dualgrad.nn.Conv2dTranspose` with PyTorch's signature; the weight is (in_channels, out_channels / groups, k, k).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int or two ints, default 0
        The elements to cut off on both sides, of both axes or of each.
    output_padding : int or two ints, default 0
        The elements to add behind each axis.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        True to add a bias.
    padding_mode : str, default 'zeros'
        Only 'zeros'.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.ConvTranspose2d(2, 3, 3, stride=2)(dg.ops.ones((1, 2, 5, 5))).shape
    (1, 3, 11, 11)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, output_padding=output_padding, dilation=dilation,
            group=groups, has_bias=bias, dtype=float32 if dtype is None else dtype,
            **_convolution(_on_both_sides(padding, 2), padding_mode),
        )  # fmt: skip
