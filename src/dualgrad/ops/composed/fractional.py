"""Fractional pooling: windows of nearly equal length, at random places.

There are two families. With a fixed size of windows (`fractional_max_pool2d`), window i along an axis begins at
``floor((i + u) a) - floor(u a)``, where a is the mean step and u a number in [0, 1) of each image and channel; the last
window ends with the axis. With a ratio (`FractionalMaxPool`), windows lie from bound to bound. Steps between bounds are
the ratio rounded down or up. Elements that share the maximum of a window share its gradient in equal parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, integer, operand, to_shape, total
from ..index._indices import many_axes_pattern, one_axis_pattern, read
from ..index.choice import where
from ..index.gather import gather_elements
from ..math.elementwise import floor, trunc
from ..neural._sliding import channels_first, image, numbers
from ..random._samples import Sourced, _own
from ..random.drawing import rand

__all__ = [
    "FractionalAvgPool", "FractionalMaxPool", "FractionalMaxPool3DWithFixedKsize", "FractionalMaxPoolWithFixedKsize",
    "fractional_max_pool2d", "fractional_max_pool3d",
]  # fmt: skip

_ARGMAX, _MAX = OP["argmax"], OP["reduce_max"]


# ------------------------------------------------------------------------------------------ windows of a fixed size


def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Largest elements of windows at random places, one window for each element of the result.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W).
    kernel_size : int or tuple of int
        The size of a window, for both axes or for each.
    output_size : int or tuple of int, optional
        The last lengths of the result.
    output_ratio : float or tuple of float, optional
        The last lengths of the result as parts of the last lengths of `input`, between 0 and 1, rounded down; read
        without `output_size` only.
    return_indices : bool, default False
        True to return the positions of the maxima, too.
    _random_samples : Tensor, optional
        The numbers u in [0, 1) that place the windows, for W and for H; shape (N, C, 2) or (1, C, 2). They are drawn by
        default.

    Returns
    -------
    Tensor or tuple of Tensor
        The maxima. With `return_indices` also their positions ``i * W + j``, Int64; of several maxima the first.

    Raises
    ------
    TypeError
        If sizes are not ints, or the samples are not floating numbers.
    ValueError
        If shapes or sizes do not fit, or neither `output_size` nor `output_ratio` is given.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[[[1.0, 2.0, 0.0, 5.0, 3.0]]]])
    >>> largest, places = ops.fractional_max_pool2d(x, (1, 2), (1, 2), return_indices=True)
    >>> print(largest, places)
    [[[[2. 5.]]]] [[[[1 3]]]]
    """
    name = "fractional_max_pool2d"
    return _at_samples(name, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Largest elements of windows at random places, over three axes; see `fractional_max_pool2d`.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W) or (C, D, H, W).
    kernel_size, output_size, output_ratio, return_indices
        As in `fractional_max_pool2d`, for three axes; positions count through D, H and W.
    _random_samples : Tensor, optional
        The numbers u for D, for H and for W; shape (N, C, 3) or (1, C, 3).

    Returns
    -------
    Tensor or tuple of Tensor
        As in `fractional_max_pool2d`.

    Raises
    ------
    TypeError, ValueError
        As in `fractional_max_pool2d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.fractional_max_pool3d(ops.ones((1, 2, 5, 6, 7)), 2, output_ratio=0.5).shape
    (1, 2, 2, 3, 3)
    """
    name = "fractional_max_pool3d"
    return _at_samples(name, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


def _at_samples(
    name: str, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, positions: bool, samples: Any, n: int
) -> Any:
    x = operand(name, x)
    lengths = image(name, x, n)
    if output_size is None:
        output_size = tuple([int(m * r) for m, r in zip(lengths, _ratios(name, output_ratio, n), strict=True)])
    kernel, counts = numbers(name, "kernel_size", kernel_size, n), numbers(name, "output_size", output_size, n)
    single = x.ndim == n + 1
    if single:
        x = to_shape(x, (1, *x.shape))
    if samples is None:
        samples = rand(*x.shape[:2], n, dtype=x.dtype if x.dtype.is_float else None)
    largest, places = _fixed(name, x, samples, kernel, counts)
    if single:
        largest, places = to_shape(largest, largest.shape[1:]), to_shape(places, places.shape[1:])
    return (largest, places) if truth_value(name, "return_indices", positions) else largest


def _ratios(name: str, ratio: Any, n: int) -> tuple[float, ...]:
    found = tuple(ratio) if isinstance(ratio, tuple | list) else (ratio,) * n
    if len(found) != n or any(not isinstance(r, float) or not 0 < r < 1 for r in found):
        raise ValueError(
            f"{name}: output_size is None and output_ratio is {ratio}; expected an output_size, or a float between 0 "
            f"and 1, or {n} of them"
        )
    return found


def _fixed(
    name: str, x: Tensor, samples: Any, kernel: tuple[int, ...], counts: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of a fixed size, and their positions, for numbers that place the windows."""
    n, u = len(kernel), operand(name, samples)
    lengths = x.shape[2:]
    if any(k + count - 1 > m for k, count, m in zip(kernel, counts, lengths, strict=True)):
        raise ValueError(
            f"{name}: {counts} windows of size {kernel} in axes of lengths {lengths}; expected lengths of at least "
            f"{tuple([k + count - 1 for k, count in zip(kernel, counts, strict=True)])}"
        )
    if not u.dtype.is_float:
        raise TypeError(f"{name}: the samples have type {u.dtype}; expected floating numbers")
    if u.ndim != 3 or u.shape[0] not in (1, x.shape[0]) or u.shape[1:] != (x.shape[1], n):
        raise ValueError(
            f"{name}: the samples have shape {u.shape}; expected {(x.shape[0], x.shape[1], n)}, or 1 in place of "
            f"{x.shape[0]}"
        )
    u = _engine.stop(u)
    batch, channels = np.arange(x.shape[0]), np.arange(x.shape[1])
    index: list[Any] = [batch.reshape(-1, *(1,) * (2 * n + 1)), channels.reshape(-1, *(1,) * (2 * n))]
    at: Any = 0
    for axis, (k, count, m) in enumerate(zip(kernel, counts, lengths, strict=True)):
        sample = u[..., axis if n == 3 else 1 - axis]
        first = _starts(sample, k, count, m)
        shape = [1] * (2 * n)
        shape[axis] = count
        taps = np.arange(k).reshape([k if j == n + axis else 1 for j in range(2 * n)])
        place = to_shape(first, (*first.shape[:2], *shape)) + taps
        index.append(place)
        at = at * m + place
    met = read(name, many_axes_pattern(n + 2), x, *index)
    size = math.prod(kernel)
    column = to_shape(_engine.stop(met), (*met.shape[: n + 2], size))
    tap = _engine.apply(_ARGMAX, (n + 2, True), column)
    # the samples may be common to all images
    at = to_shape(at + np.zeros(met.shape, np.int64), column.shape)
    places = gather_elements(at, n + 2, tap)
    return _engine.apply(_MAX, (ALL_AXES[2 * n + 2][n + 2 :], False), met), to_shape(places, met.shape[: n + 2])


def _starts(u: Tensor, kernel: int, count: int, length: int) -> Tensor:
    """The first elements of the windows along one axis, Int64 of shape (*, C, count)."""
    last = np.full((*u.shape, 1), length - kernel)
    if count == 1:
        return Tensor._owning(last)
    step = (length - kernel) / (count - 1)
    u = to_shape(u, (*u.shape, 1))
    first = floor((u + np.arange(count - 1, dtype=u.dtype.numpy)) * step) - floor(u * step)
    return _engine.apply(OP["concat"], 2, _engine.convert(first, _dtype.int64.numpy.num), Tensor._owning(last))


class _FixedKsize(Primitive):
    """The settings of fractional pooling with a fixed size of windows."""

    __slots__ = ("ksize", "output_shape")
    ksize: tuple[int, ...]
    output_shape: tuple[int, ...]
    _axes = 2

    def _set(self, ksize: Any, output_shape: Any, data_format: str) -> None:
        name = type(self).__name__
        channels_first(name, data_format, self._axes)
        self.ksize = numbers(name, "ksize", ksize, self._axes)
        self.output_shape = numbers(name, "output_shape", output_shape, self._axes)

    def __call__(self, input_x: Any, random_samples: Any) -> tuple[Tensor, Tensor]:
        name = type(self).__name__
        x = operand(name, input_x)
        image(name, x, self._axes)
        if x.ndim != self._axes + 2:
            raise ValueError(f"{name}: the input has shape {x.shape}; expected {self._axes + 2} axes")
        return _fixed(name, x, random_samples, self.ksize, self.output_shape)


class FractionalMaxPoolWithFixedKsize(_FixedKsize):
    """Primitive class of `fractional_max_pool2d`: ``ops.FractionalMaxPoolWithFixedKsize(ksize, output_shape)(x, u)``.

    It gives the maxima and their positions.

    Parameters
    ----------
    ksize, output_shape : int or tuple of int
        As `kernel_size` and `output_size` in `fractional_max_pool2d`.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Raises
    ------
    TypeError, ValueError
        As in `fractional_max_pool2d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> pool = ops.FractionalMaxPoolWithFixedKsize(2, (2, 3))
    >>> [y.shape for y in pool(ops.ones((1, 2, 5, 6)), ops.zeros((1, 2, 2)))]
    [(1, 2, 2, 3), (1, 2, 2, 3)]
    """

    __slots__ = ()

    def __init__(self, ksize: Any, output_shape: Any, data_format: str = "NCHW") -> None:
        self._set(ksize, output_shape, data_format)


class FractionalMaxPool3DWithFixedKsize(_FixedKsize):
    """Primitive class of `fractional_max_pool3d`: ``ops.FractionalMaxPool3DWithFixedKsize(ksize, output_shape)(x, u)``.

    It gives the maxima and their positions.

    Parameters
    ----------
    ksize, output_shape : int or tuple of int
        As `kernel_size` and `output_size` in `fractional_max_pool3d`.
    data_format : {'NCDHW'}, default 'NCDHW'
        The order of the axes.

    Raises
    ------
    TypeError, ValueError
        As in `fractional_max_pool2d`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> pool = ops.FractionalMaxPool3DWithFixedKsize(2, (2, 3, 3))
    >>> [y.shape for y in pool(ops.ones((1, 2, 5, 6, 7)), ops.zeros((1, 2, 3)))]
    [(1, 2, 2, 3, 3), (1, 2, 2, 3, 3)]
    """

    __slots__ = ()
    _axes = 3

    def __init__(self, ksize: Any, output_shape: Any, data_format: str = "NCDHW") -> None:
        self._set(ksize, output_shape, data_format)


# ------------------------------------------------------------------------------------------ windows between bounds


def _bounds(
    source: Callable[[], np.random.Generator], length: int, count: int, pseudo_random: bool
) -> Callable[[], np.ndarray]:
    """Return a function that draws ``count + 1`` bounds from 0 to the length, with the mean step rounded down or up."""
    least, more = divmod(length, count)

    def drawn() -> np.ndarray:
        if not more:
            return np.arange(count + 1) * least
        if not pseudo_random:
            steps = np.repeat([least, least + 1], [count - more, more])
            return np.concatenate([[0], np.cumsum(source().permutation(steps))])
        step = length / count
        # below this number every step is the mean step rounded up or down
        most = min((least + 2) / step - 1, (length + 1 - least) / step - (count - 1))
        places = np.floor(step * (np.arange(1, count) + source().random() * most)).astype(np.int64)
        return np.concatenate([[0], places, [length]])

    return drawn


def met_between(name: str, x: Tensor, bounds: tuple[Tensor, Tensor], overlapping: bool) -> tuple[Tensor, Tensor]:
    """The windows of an image (N, H, W, C) between bounds: (N, H', h, W', w, C), and a mask of the elements that count.

    All are as long as the longest window can be. Overlapping windows contain the element at their upper bound, too.
    """
    inside: Any = True
    for axis, bound in ((1, bounds[0]), (3, bounds[1])):
        length, count = x.shape[axis], bound.shape[0] - 1
        taps = np.arange(min(-(-length // count) + overlapping, length))
        low, high = bound[:-1], bound[1:] + int(overlapping)
        place = to_shape(low, (count, 1)) + taps
        kept = (place < to_shape(high, (count, 1))) & (place < length)
        place = where(kept, place, length - 1)
        x = read(name, one_axis_pattern(x.shape, axis), x, place)
        inside = inside & to_shape(kept, (*kept.shape, *(1,) * (4 - axis)))
    return x, inside


class _BetweenBounds(Sourced):
    """The settings of fractional pooling with a ratio."""

    __slots__ = ("deterministic", "overlapping", "pooling_ratio", "pseudo_random", "seed", "seed2")

    def __init__(
        self,
        pooling_ratio: Any,
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
    ) -> None:
        name = type(self).__name__
        ratio = pooling_ratio if isinstance(pooling_ratio, tuple | list) else ()
        if len(ratio) != 4 or ratio[0] != 1 or ratio[3] != 1 or min(ratio) < 1:
            raise ValueError(
                f"{name}: pooling_ratio is {pooling_ratio}; expected four numbers of at least 1, the first and last 1"
            )
        self.pooling_ratio: list[float] = [float(r) for r in ratio]
        self.pseudo_random: bool = truth_value(name, "pseudo_random", pseudo_random)
        self.overlapping: bool = truth_value(name, "overlapping", overlapping)
        self.deterministic: bool = truth_value(name, "deterministic", deterministic)
        self.seed: int = integer(name, "seed", seed)
        self.seed2: int = integer(name, "seed2", seed2)
        self._own = None if self.deterministic or self.seed == self.seed2 == 0 else _own(self.seed, self.seed2)

    def __repr__(self) -> str:
        names = "pooling_ratio", "pseudo_random", "overlapping", "deterministic", "seed", "seed2"
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def _drawn(self, name: str, x: Any) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The operand, and bounds of windows along its rows and columns."""
        x = operand(name, x)
        if x.ndim != 4 or not x.size:
            raise ValueError(f"{name}: the input has shape {x.shape}; expected (N, H, W, C) with elements")
        found = []
        fixed = np.random.default_rng([abs(self.seed), abs(self.seed2)]) if self.deterministic else None
        for axis in (1, 2):
            length, ratio = x.shape[axis], self.pooling_ratio[axis]
            count = int(length / ratio)
            if not count:
                raise ValueError(
                    f"{name}: a ratio of {ratio} for an axis of length {length}; expected at most {length}"
                )
            if fixed is None:
                found.append(_engine.draw(_bounds(self._from, length, count, self.pseudo_random)))
            else:
                found.append(Tensor._owning(_bounds(lambda: fixed, length, count, self.pseudo_random)()))
        return x, (found[0], found[1])


def largest_between(name: str, x: Tensor, bounds: tuple[Tensor, Tensor], overlapping: bool) -> Tensor:
    """The largest elements of windows between bounds."""
    met, inside = met_between(name, x, bounds, overlapping)
    least = np.full((), -math.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).min, x.dtype.numpy)
    return _engine.apply(_MAX, ((2, 4), False), where(inside, met, least))


def average_between(name: str, x: Tensor, bounds: tuple[Tensor, Tensor], overlapping: bool) -> Tensor:
    """The averages of windows between bounds."""
    met, inside = met_between(name, x, bounds, overlapping)
    counts = total(_engine.convert(inside, met._typenum), (1, 3), False)
    return total(where(inside, met, 0), (2, 4), False) / counts


class FractionalMaxPool(_BetweenBounds):
    """Largest elements of windows whose length is a ratio: ``ops.FractionalMaxPool(pooling_ratio)(x)``.

    For an image (N, H, W, C) it gives the maxima (N, H', W', C), and the bounds of windows along H and W, Int64.

    Parameters
    ----------
    pooling_ratio : list of float
        The mean length of a window along each axis, ``[1.0, H / H', W / W', 1.0]``, at least 1. H' and W' are rounded
        down.
    pseudo_random : bool, default False
        True if bounds are rounded multiples of the ratio, shifted by one random number; otherwise the order of long and
        short windows is random.
    overlapping : bool, default False
        True if windows share the element at the bound between them.
    deterministic : bool, default False
        True if all calls have the same bounds.
    seed, seed2 : int, default 0
        Seeds of a source of its own, which continues from call to call; if both are 0, `dualgrad.set_seed` seeds the
        bounds.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor(np.arange(16.0).reshape(1, 4, 4, 1))
    >>> largest, rows, columns = ops.FractionalMaxPool([1.0, 1.5, 1.5, 1.0])(x)
    >>> print(largest.reshape(-1), rows, columns)
    [ 5.  7. 13. 15.] [0 2 4] [0 2 4]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        name = "FractionalMaxPool"
        x, bounds = self._drawn(name, x)
        return largest_between(name, x, bounds, self.overlapping), *bounds


class FractionalAvgPool(_BetweenBounds):
    """Averages of windows whose length is a ratio: ``ops.FractionalAvgPool(pooling_ratio)(x)``.

    It gives the averages, and the bounds as `FractionalMaxPool` does. Averages of integers are integers, rounded
    towards 0.

    Parameters
    ----------
    pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2
        As in `FractionalMaxPool`.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor(np.arange(16.0).reshape(1, 4, 4, 1))
    >>> print(ops.FractionalAvgPool([1.0, 1.5, 1.5, 1.0])(x)[0].reshape(-1))
    [ 2.5  4.5 10.5 12.5]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        name = "FractionalAvgPool"
        x, bounds = self._drawn(name, x)
        return averaged(x, lambda x: average_between(name, x, bounds, self.overlapping)), *bounds


def averaged(x: Tensor, average: Callable[[Tensor], Tensor]) -> Tensor:
    """An average of floating numbers, or an average of integers rounded towards 0."""
    if x.dtype.is_float:
        return average(x)
    return _engine.convert(trunc(average(_engine.convert(x, _dtype.float64.numpy.num))), x._typenum)


METHODS: dict[str, Callable[..., Any]] = {}
