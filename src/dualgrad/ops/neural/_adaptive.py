"""Adaptive pooling: as many windows as the result has elements, spread evenly over the image.

Window i of n along an axis of length m goes from ``floor(i m / n)`` to ``ceil((i + 1) m / n)``, so neighbours may share
an element. One gather reads windows of unequal length; a mask covers the surplus elements of short windows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, integer, operand, permuted, to_shape, total
from ..index._indices import one_axis_pattern, read
from ..index.choice import where
from ..index.gather import gather
from ._sliding import image

__all__ = [
    "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
]  # fmt: skip

_ARGMAX, _MAX = OP["argmax"], OP["reduce_max"]


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Average over adaptive windows along one axis, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L); integers become float32.
    output_size : int
        The length of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.adaptive_avg_pool1d(dg.Tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), 2))
    [[[2. 4.]]]
    """
    return _averages("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Average over adaptive windows along two axes, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W); integers become float32.
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.adaptive_avg_pool2d(dg.Tensor([[[[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]]]]), (1, None)))
    [[[[2. 3. 7.]]]]
    """
    return _averages("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Average over adaptive windows along three axes, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W); integers become float32.
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.adaptive_avg_pool3d(ops.ones((1, 2, 5, 6, 7)), (2, 3, None)).shape
    (1, 2, 2, 3, 7)
    """
    return _averages("adaptive_avg_pool3d", input, output_size, 3)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Tensor:
    """Largest elements of adaptive windows along one axis, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L).
    output_size : int
        The length of the result.

    Returns
    -------
    Tensor
        Elements that share the maximum of a window share its gradient in equal parts.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.adaptive_max_pool1d(dg.Tensor([[[1.0, 2.0, 7.0, 4.0, 5.0]]]), 2))
    [[[7. 7.]]]
    """
    return _largest("adaptive_max_pool1d", input, output_size, False, 1)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of adaptive windows along two axes, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W).
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.
    return_indices : bool, default False
        True to return the positions of the maxima, too.

    Returns
    -------
    Tensor or tuple of Tensor
        The maxima; elements that share the maximum of a window share its gradient in equal parts. With `return_indices`
        also their positions, Int64, which count through H, W; of several maxima the first.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.adaptive_max_pool2d(dg.Tensor([[[[1.0, 2.0], [9.0, 4.0]]]]), 1, True)
    (Tensor(shape=[1, 1, 1, 1], dtype=Float32, value=
    [[[[ 9.00000000e+00]]]]), Tensor(shape=[1, 1, 1, 1], dtype=Int64, value=
    [[[[2]]]]))
    """
    return _largest("adaptive_max_pool2d", input, output_size, return_indices, 2)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of adaptive windows along three axes, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    output_size : int or tuple of int or None
        The last lengths of the result, for all axes or for each; None keeps a length.
    return_indices : bool, default False
        True to return the positions of the maxima, too.

    Returns
    -------
    Tensor or tuple of Tensor
        The maxima; elements that share the maximum of a window share its gradient in equal parts. With `return_indices`
        also their positions, Int64, which count through D, H, W; of several maxima the first.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.adaptive_max_pool3d(ops.ones((1, 2, 5, 6, 7)), (2, 3, None)).shape
    (1, 2, 2, 3, 7)
    """
    return _largest("adaptive_max_pool3d", input, output_size, return_indices, 3)


def _sizes(name: str, x: Tensor, output_size: Any, n: int) -> list[int]:
    """The last n lengths of the result."""
    lengths = image(name, x, n)
    given = tuple(output_size) if isinstance(output_size, tuple | list) else (output_size,) * n
    if len(given) != n:
        raise ValueError(
            f"{name}: output_size is {output_size!r}; expected an int or {n} of them, or None for a length"
        )
    sizes = [m if k is None else integer(name, "output_size", k) for k, m in zip(given, lengths, strict=True)]
    if min(sizes) < 1 or max(sizes) >= 1 << 56 or min(lengths) < 1:
        raise ValueError(f"{name}: output_size is {output_size!r} for an input of shape {x.shape}; expected others")
    return sizes


def _places(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of the elements of every window, shape (size, longest), and a mask of the real elements."""
    steps = np.arange(size)
    first, last = steps * length // size, -(-(steps + 1) * length // size)
    taps = np.arange((last - first).max())
    places = first[:, None] + taps
    return np.minimum(places, length - 1), places < last[:, None]


def _windows(name: str, x: Tensor, sizes: list[int], fill: float) -> tuple[Tensor, list[np.ndarray], np.ndarray]:
    """The windows as (..., *sizes, *kernel), their places along each axis, and their numbers of elements."""
    n = len(sizes)
    lead = x.ndim - n
    places: list[np.ndarray] = []
    counts: np.ndarray = np.ones((), np.int64)
    real: np.ndarray = np.ones((), bool)
    for k, (length, size) in enumerate(zip(x.shape[lead:], sizes, strict=True)):
        at, inside = _places(length, size)
        places.append(at)
        counts = np.multiply.outer(counts, inside.sum(1))
        real = np.logical_and.outer(real, inside)
        x = read(name, one_axis_pattern(x.shape, lead + 2 * k), x, at)
    order = [*range(lead), *range(lead, lead + 2 * n, 2), *range(lead + 1, lead + 2 * n, 2)]
    x = permuted(x, tuple(order))
    if not real.all():
        real = real.transpose([k - lead for k in order[lead:]])
        x = where(real, x, np.full((), fill, x.dtype.numpy))
    return x, places, counts


def _averages(name: str, input: Any, output_size: Any, n: int) -> Tensor:
    x = floating(name, input)
    met, _, counts = _windows(name, x, _sizes(name, x, output_size, n), 0.0)
    return total(met, ALL_AXES[met.ndim][-n:], False) / counts.astype(x.dtype.numpy)


def _largest(name: str, input: Any, output_size: Any, positions: bool, n: int) -> Any:
    x = operand(name, input)
    if x.dtype.is_bool or x.dtype.is_complex:
        raise TypeError(f"{name}: the input is {x.dtype}, which has no order; expected real numbers")
    sizes = _sizes(name, x, output_size, n)
    met, places, _ = _windows(name, x, sizes, -math.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).min)
    largest = _engine.apply(_MAX, (ALL_AXES[met.ndim][-n:], False), met)
    truth_value(name, "positions", positions)
    if not positions:
        return largest
    width = math.prod(met.shape[-n:])
    tap = _engine.apply(_ARGMAX, (met.ndim - n, False), to_shape(_engine.stop(met), (*met.shape[:-n], width)))
    position = np.zeros((), np.int64)
    for at, length in zip(places, x.shape[-n:], strict=True):
        position = position[..., None, None] * length + at
    # position has axes (size, tap) for each axis in turn
    table = position.transpose([*range(0, 2 * n, 2), *range(1, 2 * n, 2)]).reshape(-1)
    start = np.arange(math.prod(sizes)).reshape(sizes) * width
    return largest, gather(Tensor._owning(np.ascontiguousarray(table)), tap + start, 0)


# ------------------------------------------------------------------------------------------ primitive classes


class _Adaptive(Primitive):
    """The base of primitive classes of adaptive pooling."""

    __slots__ = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        self.output_size: Any = output_size


class AdaptiveAvgPool2D(_Adaptive):
    """Primitive class of `adaptive_avg_pool2d`: ``ops.AdaptiveAvgPool2D(output_size)(x)``.

    Parameters
    ----------
    output_size : int or tuple of int or None
        As in `adaptive_avg_pool2d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.AdaptiveAvgPool2D((2, None))(ops.ones((1, 2, 5, 7))).shape
    (1, 2, 2, 7)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _averages("AdaptiveAvgPool2D", x, self.output_size, 2)


class AdaptiveAvgPool3D(_Adaptive):
    """Primitive class of `adaptive_avg_pool3d`: ``ops.AdaptiveAvgPool3D(output_size)(x)``.

    Parameters
    ----------
    output_size : int or tuple of int or None
        As in `adaptive_avg_pool3d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.AdaptiveAvgPool3D(2)(ops.ones((1, 2, 5, 7, 4))).shape
    (1, 2, 2, 2, 2)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _averages("AdaptiveAvgPool3D", x, self.output_size, 3)


class AdaptiveMaxPool2D(_Adaptive):
    """Primitive class of `adaptive_max_pool2d`: ``ops.AdaptiveMaxPool2D(output_size)(x)``.

    It returns the maxima and their positions.

    Parameters
    ----------
    output_size : int or tuple of int or None
        As in `adaptive_max_pool2d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.AdaptiveMaxPool2D((2, None))(ops.ones((1, 2, 5, 7)))[1].shape
    (1, 2, 2, 7)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Any:
        return _largest("AdaptiveMaxPool2D", x, self.output_size, True, 2)


class AdaptiveMaxPool3D(_Adaptive):
    """Primitive class of `adaptive_max_pool3d`: ``ops.AdaptiveMaxPool3D(output_size)(x)``.

    It returns the maxima and their positions.

    Parameters
    ----------
    output_size : int or tuple of int or None
        As in `adaptive_max_pool3d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.AdaptiveMaxPool3D(2)(ops.ones((1, 2, 5, 7, 4)))[0].shape
    (1, 2, 2, 2, 2)
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Any:
        return _largest("AdaptiveMaxPool3D", x, self.output_size, True, 3)
