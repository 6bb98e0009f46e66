"""Pooling to an image of a given size, pooling by power means, and unpooling, as Cells."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "LPPool1d", "LPPool2d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _Adaptive(Cell):
    """A number of windows for each axis, instead of their size."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Averages of adaptive windows, one for each element of the result; see `ops.adaptive_avg_pool1d`.

    Parameters
    ----------
    output_size : int
        The length of the result.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveAvgPool1d(3)(ops.ones((1, 2, 7))).shape
    (1, 2, 3)
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Averages of adaptive windows, one for each element of the result; see `ops.adaptive_avg_pool2d`.

    Parameters
    ----------
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveAvgPool2d(3)(ops.ones((1, 2, 7, 5))).shape
    (1, 2, 3, 3)
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Averages of adaptive windows, one for each element of the result; see `ops.adaptive_avg_pool3d`.

    Parameters
    ----------
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveAvgPool3d(3)(ops.ones((1, 2, 7, 5, 4))).shape
    (1, 2, 3, 3, 3)
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """Largest elements of adaptive windows, one for each element of the result; see `ops.adaptive_max_pool1d`.

    Parameters
    ----------
    output_size : int
        The length of the result.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveMaxPool1d(3)(ops.ones((1, 2, 7))).shape
    (1, 2, 3)
    """

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(_Adaptive):
    """Largest elements of adaptive windows, one for each element of the result; see `ops.adaptive_max_pool2d`.

    Parameters
    ----------
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.
    return_indices : bool, default False
        True to return the positions of the maxima, too.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveMaxPool2d(3)(ops.ones((1, 2, 7, 5))).shape
    (1, 2, 3, 3)
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def construct(self, input: Tensor) -> Any:
        return ops.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_Adaptive):
    """Largest elements of adaptive windows, one for each element of the result; see `ops.adaptive_max_pool3d`.

    Parameters
    ----------
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.
    return_indices : bool, default False
        True to return the positions of the maxima, too.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AdaptiveMaxPool3d(3)(ops.ones((1, 2, 7, 5, 4))).shape
    (1, 2, 3, 3, 3)
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def construct(self, input: Tensor) -> Any:
        return ops.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPool(Cell):
    """The settings of pooling by power means."""

    def __init__(self, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extend_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class _MaxUnpool(Cell):
    """The settings of unpooling."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class LPPool1d(_LPPool):
    """Power mean of every window without division; see `ops.lp_pool1d`.

    Parameters
    ----------
    norm_type, kernel_size, stride, ceil_mode
        As in `ops.lp_pool1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.LPPool1d(2, 2)(ops.ones((1, 2, 6))).shape
    (1, 2, 3)
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """Power mean of every window without division; see `ops.lp_pool2d`.

    Parameters
    ----------
    norm_type, kernel_size, stride, ceil_mode
        As in `ops.lp_pool2d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.LPPool2d(2, 2)(ops.ones((1, 2, 6, 4))).shape
    (1, 2, 3, 2)
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class MaxUnpool1d(_MaxUnpool):
    """Put maxima back to their positions, with zeros elsewhere; see `ops.max_unpool1d`.

    Parameters
    ----------
    kernel_size, stride, padding
        As in `ops.max_unpool1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> largest, places = ops.max_pool1d(ops.ones((1, 2, 6)), 2, return_indices=True)
    >>> nn.MaxUnpool1d(2)(largest, places).shape
    (1, 2, 6)
    """

    def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return ops.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Put maxima back to their positions, with zeros elsewhere; see `ops.max_unpool2d`.

    Parameters
    ----------
    kernel_size, stride, padding
        As in `ops.max_unpool2d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> largest, places = ops.max_pool2d(ops.ones((1, 2, 6, 4)), 2, return_indices=True)
    >>> nn.MaxUnpool2d(2)(largest, places).shape
    (1, 2, 6, 4)
    """

    def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return ops.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Put maxima back to their positions, with zeros elsewhere; see `ops.max_unpool3d`.

    Parameters
    ----------
    kernel_size, stride, padding
        As in `ops.max_unpool3d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> largest, places = ops.max_pool3d(ops.ones((1, 2, 6, 4, 2)), 2, return_indices=True)
    >>> nn.MaxUnpool3d(2)(largest, places).shape
    (1, 2, 6, 4, 2)
    """

    def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return ops.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)
