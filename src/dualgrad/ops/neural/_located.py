"""Primitive classes of max pooling that also return the positions of the maxima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import Primitive, operand
from ._pools import _at_most_half, _largest, _Pool
from ._sliding import channels_first, image, laid, numbers

__all__ = ["MaxPool3DWithArgmax", "MaxPoolWithArgmax", "MaxPoolWithArgmaxV2"]


class MaxPoolWithArgmax(_Pool):
    """Largest element of every window and its position, which counts channels too.

    ``ops.MaxPoolWithArgmax(kernel_size=1, strides=1)(x)`` gives the maxima of `MaxPool`, and Int32 positions
    ``(c * H + i) * W + j`` in an image of several channels; of several maxima the first position.

    Parameters
    ----------
    kernel_size, strides, pad_mode, data_format
        As in `MaxPool`.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0], [3.0, 0.0]], [[5.0, 4.0], [3.0, 0.0]]]])
    >>> largest, places = ops.MaxPoolWithArgmax(2)(x)
    >>> print(largest.reshape(-1), places.reshape(-1))
    [3. 5.] [2 4]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        x = operand("MaxPoolWithArgmax", x)
        largest, places = _largest(x, self._laid(x), True)
        before = np.arange(x.shape[-3]).reshape(-1, 1, 1) * math.prod(x.shape[-2:])
        return largest, _engine.convert(places + before, _dtype.int32.numpy.num)


class _Located(Primitive):
    """The settings of max pooling with windows that reach out of the image, and the type of positions."""

    __slots__ = ("argmax_type", "ceil_mode", "dilation", "kernel_size", "pads", "strides")
    _axes = 2

    def _set(self, kernel: Any, strides: Any, pads: Any, dilation: Any, ceil_mode: Any, argmax_type: Any) -> None:
        name, n = type(self).__name__, self._axes
        self.kernel_size: tuple[int, ...] = numbers(name, "kernel_size", kernel, n)
        self.strides: tuple[int, ...] = self.kernel_size if strides is None else numbers(name, "strides", strides, n)
        self.pads: tuple[int, ...] = numbers(name, "pads", pads, n, 0)
        self.dilation: tuple[int, ...] = numbers(name, "dilation", dilation, n)
        self.ceil_mode: bool = truth_value(name, "ceil_mode", ceil_mode)
        self.argmax_type = as_dtype(argmax_type, where=name)
        if self.argmax_type not in (_dtype.int32, _dtype.int64):
            raise TypeError(f"{name}: argmax_type is {self.argmax_type}; expected Int32 or Int64")
        _at_most_half(name, self.pads, self.kernel_size)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        name = type(self).__name__
        x = operand(name, x)
        settings = self.kernel_size, self.strides, self.dilation, "pad", self.pads, self.ceil_mode
        largest, places = _largest(x, laid(name, image(name, x, self._axes), *settings), True)
        return largest, _engine.convert(places, self.argmax_type.numpy.num)


class MaxPoolWithArgmaxV2(_Located):
    """Primitive class of `max_pool2d` with positions: ``ops.MaxPoolWithArgmaxV2(kernel_size)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        The size of a window, for both axes or for each.
    strides : int or tuple of int, optional
        The step from window to window; `kernel_size` by default.
    pads : int or tuple of int, default 0
        How far windows reach out of the image; at most half a window.
    dilation : int or tuple of int, default (1, 1)
        The step from element to element of a window.
    ceil_mode : bool, default False
        True to allow a last window that begins in the image but does not end in it.
    argmax_type : {int32, int64}, default int64
        The type of the positions ``i * W + j``.

    Raises
    ------
    TypeError
        For another type of positions.
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 0.0, 5.0], [3.0, 0.0, 4.0, 0.0]]]])
    >>> largest, places = ops.MaxPoolWithArgmaxV2(2)(x)
    >>> print(largest, places)
    [[[[3. 5.]]]] [[[[4 3]]]]
    """

    __slots__ = ()

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = None,
        pads: Any = 0,
        dilation: Any = (1, 1),
        ceil_mode: bool = False,
        argmax_type: Any = _dtype.int64,
    ) -> None:
        self._set(kernel_size, strides, pads, dilation, ceil_mode, argmax_type)


class MaxPool3DWithArgmax(_Located):
    """Primitive class of `max_pool3d` with positions: ``ops.MaxPool3DWithArgmax(ksize, strides, pads)(x)``.

    Parameters
    ----------
    ksize, strides, pads, dilation, ceil_mode, argmax_type
        As `kernel_size` and so on in `MaxPoolWithArgmaxV2`, for three axes.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Raises
    ------
    TypeError
        For another type of positions.
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> largest, places = ops.MaxPool3DWithArgmax(2, 2, 0)(dg.Tensor(np.arange(8.0).reshape(1, 1, 2, 2, 2)))
    >>> print(largest, places)
    [[[[[7.]]]]] [[[[[7]]]]]
    """

    __slots__ = ()
    _axes = 3

    def __init__(
        self,
        ksize: Any,
        strides: Any,
        pads: Any,
        dilation: Any = (1, 1, 1),
        ceil_mode: bool = False,
        data_format: str = "NCDHW",
        argmax_type: Any = _dtype.int64,
    ) -> None:
        channels_first("MaxPool3DWithArgmax", data_format, 3)
        self._set(ksize, strides, pads, dilation, ceil_mode, argmax_type)
