"""Pooling as Cells: the largest element or the average of every window."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad._settings import real_number
from dualgrad.nn.cell import Cell
from dualgrad.ops.neural._sliding import channels_first, numbers, padding_of
from dualgrad.tensor import Tensor

__all__ = [
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxPool1d", "MaxPool2d",
    "MaxPool3d",
]  # fmt: skip


class _Pool(Cell):
    """The settings of pooling over n axes."""

    n = 2

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any) -> None:
        super().__init__()
        name = type(self).__name__
        self._kernel = numbers(name, "kernel_size", kernel_size, self.n)
        self._stride = numbers(name, "stride", stride, self.n)
        mode, ends = padding_of(name, pad_mode, padding, self.n)
        self._padding = tuple([k for pair in ends for k in pair])
        self.kernel_size = kernel_size
        self.stride = stride
        self.pad_mode: str = mode.upper()
        self.padding = padding

    def _same(self, two: Any, three: Any, x: Tensor) -> Tensor:
        """Pool as many windows as there are strides; a single axis is the last of two."""
        if self.n == 3:
            return three(self._kernel, self._stride, "same")(x)
        if self.n == 2:
            return two(self._kernel, self._stride, "same")(x)
        return ops.squeeze(two((1, *self._kernel), (1, *self._stride), "same")(ops.expand_dims(x, -2)), -2)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


_MAX_POOLS = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: ops.max_pool3d}


_AVG_POOLS = {2: ops.avg_pool2d, 3: ops.avg_pool3d}


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding)
        name = type(self).__name__
        self._dilation = numbers(name, "dilation", dilation, self.n)
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode
        if self.pad_mode == "SAME" and (max(self._dilation) > 1 or return_indices or ceil_mode):
            raise ValueError(f"{name}: pad_mode 'same' goes without dilation, return_indices and ceil_mode; use 'pad'")

    def construct(self, x: Tensor) -> Any:
        if self.pad_mode == "SAME":
            return self._same(ops.MaxPool, ops.MaxPool3D, x)
        settings = self._padding, self._dilation
        which = {"return_indices": self.return_indices, "ceil_mode": self.ceil_mode}
        return _MAX_POOLS[self.n](x, self._kernel, self._stride, *settings, **which)


class MaxPool2d(_MaxPool):
    """Largest element of every window over two axes; see `ops.max_pool2d`.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int, default 1
        The size of a window, and the step from window to window.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        'valid': only windows inside. 'same': the output has the length of the input divided by the stride, rounded up.
        'pad': windows reach out of the image by `padding`.
    padding : int or tuple of int, default 0
        On all sides, or (above and below, left and right); at most half a window.
    dilation : int or tuple of int, default 1
        The step from element to element of a window.
    return_indices : bool, default False
        True to return the positions of the maxima, too.
    ceil_mode : bool, default False
        True to allow a last window that does not end in the image.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MaxPool2d(2, 2)(Tensor([[[[1.0, 2.0, 0.0, 5.0], [3.0, 0.0, 4.0, 0.0]]]])))
    [[[[3. 5.]]]]
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        channels_first("MaxPool2d", data_format)
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


class MaxPool1d(_MaxPool):
    """Largest element of every window over one axis: `MaxPool2d` for inputs (N, C, L) or (C, L).

    Parameters
    ----------
    kernel_size, stride, padding, dilation : int
        As in `MaxPool2d`.
    pad_mode, return_indices, ceil_mode
        As in `MaxPool2d`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MaxPool1d(2, 2)(Tensor([[[1.0, 2.0, 0.0, 5.0]]])))
    [[[2. 5.]]]
    """

    n = 1


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override
        name = type(self).__name__
        if divisor_override is not None:
            real_number(name, "divisor_override", divisor_override)
        if divisor_override is not None and divisor_override <= 0:
            raise ValueError(f"{name}: divisor_override is {divisor_override}; expected a positive number, or None")
        if self.pad_mode == "SAME" and (ceil_mode or divisor_override):
            raise ValueError(f"{name}: pad_mode 'same' goes without ceil_mode and divisor_override; use 'pad'")

    def construct(self, x: Tensor) -> Tensor:
        if self.pad_mode == "SAME":
            if self.n == 3:
                included = self.count_include_pad
                return ops.AvgPool3D(self._kernel, self._stride, "same", count_include_pad=included)(x)
            return self._same(ops.AvgPool, None, x)
        kernel, stride, padding = self._kernel, self._stride, self._padding
        if self.n == 1:  # the function over one axis has no divisor
            x, kernel, stride, padding = ops.expand_dims(x, -2), (1, *kernel), (1, *stride), (0, 0, *padding)
        settings = padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        y = _AVG_POOLS[max(self.n, 2)](x, kernel, stride, *settings)
        return ops.squeeze(y, -2) if self.n == 1 else y


class AvgPool2d(_AvgPool):
    """Average of every window over two axes; see `ops.avg_pool2d`.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int, default 1
        The size of a window, and the step from window to window.
    pad_mode : {'valid', 'same', 'pad'}, default 'valid'
        'valid': only windows inside. 'same': the output has the length of the input divided by the stride, rounded up;
        padding does not count. 'pad': `padding` zeros are added.
    padding : int or tuple of int, default 0
        On all sides, or (above and below, left and right); at most half a window.
    ceil_mode : bool, default False
        True to allow a last window that does not end in the image.
    count_include_pad : bool, default True
        True if the zeros of `padding` count as elements of the window.
    divisor_override : int, optional
        The divisor of sums instead of the number of elements.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    ValueError
        If settings do not fit together, or the shape of an input does not fit them.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.AvgPool2d(2, 2)(Tensor([[[[1.0, 2.0, 0.0, 5.0], [3.0, 0.0, 4.0, 0.0]]]])))
    [[[[1.5  2.25]]]]
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        channels_first("AvgPool2d", data_format)
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override)


class AvgPool1d(_AvgPool):
    """Average of every window over one axis: `AvgPool2d` for inputs (N, C, L) or (C, L).

    Parameters
    ----------
    kernel_size, stride, padding : int
        As in `AvgPool2d`.
    pad_mode, ceil_mode, count_include_pad, divisor_override
        As in `AvgPool2d`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.AvgPool1d(2, 2)(Tensor([[[1.0, 2.0, 0.0, 5.0]]])))
    [[[1.5 2.5]]]
    """

    n = 1


class MaxPool3d(_MaxPool):
    """Largest element of every window over three axes: `MaxPool2d` for inputs (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        As in `MaxPool2d`, for three axes.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.MaxPool3d(2, 2)(ops.ones((1, 2, 4, 4, 6))).shape
    (1, 2, 2, 2, 3)
    """

    n = 3


class AvgPool3d(_AvgPool):
    """Average of every window over three axes: `AvgPool2d` for inputs (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override
        As in `AvgPool2d`, for three axes. With 'same' zeros are added, and `count_include_pad` decides if they count.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.AvgPool3d(2, 2)(ops.ones((1, 2, 4, 4, 6))).shape
    (1, 2, 2, 2, 3)
    """

    n = 3


class _FractionalMaxPool(Cell):
    """The settings of fractional pooling over n axes."""

    n = 2

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{name}: output_size is {output_size} and output_ratio is {output_ratio}; expected one of them"
            )
        self.kernel_size = numbers(name, "kernel_size", kernel_size, self.n)
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self._random_samples = _random_samples

    def construct(self, input: Tensor) -> Any:
        sizes = self.kernel_size, self.output_size, self.output_ratio
        return _FRACTIONAL[self.n](input, *sizes, self.return_indices, self._random_samples)

    def extend_repr(self) -> str:
        size = "ratio" if self.output_size is None else "size"
        return f"kernel_size={self.kernel_size}, output_{size}={getattr(self, f'output_{size}')}"


_FRACTIONAL = {2: ops.fractional_max_pool2d, 3: ops.fractional_max_pool3d}


class FractionalMaxPool2d(_FractionalMaxPool):
    """Largest elements of windows at random places, over two axes; see `ops.fractional_max_pool2d`.

    Parameters
    ----------
    kernel_size : int or tuple of int
        The size of a window.
    output_size : int or tuple of int, optional
        The last lengths of the result.
    output_ratio : float or tuple of float, optional
        The same as parts of the lengths of the input, in place of `output_size`.
    return_indices : bool, default False
        True to return the positions of the maxima, too.
    _random_samples : Tensor, optional
        The numbers that place the windows, shape (N, C, 2) or (1, C, 2). They are drawn at each call by default.

    Raises
    ------
    TypeError, ValueError
        If settings do not fit together, or an input does not fit them.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.FractionalMaxPool2d(2, output_ratio=0.6)(ops.ones((1, 2, 5, 6))).shape
    (1, 2, 3, 3)
    """


class FractionalMaxPool3d(_FractionalMaxPool):
    """Largest elements of windows at random places, over three axes; see `ops.fractional_max_pool3d`.

    Parameters
    ----------
    kernel_size, output_size, output_ratio, return_indices
        As in `FractionalMaxPool2d`, for three axes.
    _random_samples : Tensor, optional
        As in `FractionalMaxPool2d`, shape (N, C, 3) or (1, C, 3).

    Raises
    ------
    TypeError, ValueError
        If settings do not fit together, or an input does not fit them.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.FractionalMaxPool3d(2, output_size=3)(ops.ones((1, 2, 5, 6, 7))).shape
    (1, 2, 3, 3, 3)
    """

    n = 3
