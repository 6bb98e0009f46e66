"""`scipy.ndimage` between the elements of an image: splines, differentiable by the values and by the places.

An image of n axes is the spline of a degree k from 0 to 5 through its elements: a sum of products of B-splines, one for
each axis, of which (k + 1)^n are nonzero at a place. The coefficients are a linear map of the elements, the prefilter,
which SciPy computes. With fixed coefficients an image is a polynomial of the place within each cell. So every
derivative is exact: by the elements for any order, by the places up to order k. A place on a knot belongs to the cell
after it.

SciPy is needed: ``pip install 'dualgrad[scipy]'``.

References
----------
M. Unser, A. Aldroubi, M. Eden, "B-spline signal processing: Part I -- theory", IEEE Transactions on Signal Processing
41 (1993), 821-833.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import extend
from .._engine.transforms import tensor as _engine
from .._settings import one_of, truth_value
from ..ops._arguments import alike, floating, integer, new_shape, one_axis, permuted, to_shape
from ..ops.index._indices import clipped, one_axis_pattern, read
from ..ops.index.choice import where
from ..ops.math.elementwise import abs as magnitude
from ..ops.math.elementwise import floor
from ..tensor import Tensor
from ._bsplines import contracted, uniform_weights

__all__ = ["affine_transform", "map_coordinates", "spline_filter", "spline_filter1d"]

_MODES = {
    # by the user's name: how the image continues beyond its ends, and how the coefficients do, for the filter and for
    # taps
    "constant": ("constant", "mirror", "mirror"),
    "nearest": ("nearest", "reflect", "nearest"),
    "mirror": ("mirror", "mirror", "mirror"),
    "reflect": ("reflect", "reflect", "reflect"),
    "grid-mirror": ("reflect", "reflect", "reflect"),
    "grid-wrap": ("grid-wrap", "grid-wrap", "grid-wrap"),
    "wrap": ("wrap", "mirror", "mirror"),
    "grid-constant": ("grid-constant", "mirror", "nearest"),
}
_MARGIN = 12  # elements to add on each side where the coefficients have no exact continuation


# ------------------------------------------------------------------------------------------------------- prefilter


def _filtered(x: np.ndarray, order: int, mode: str) -> np.ndarray:
    """SciPy's filter. It starts inexactly for 'reflect' on short axes; there the image and its mirror image repeat."""
    from scipy.ndimage import spline_filter1d

    length = x.shape[-1]
    if mode == "reflect":
        x, mode = np.concatenate([x, x[..., ::-1]], -1), "grid-wrap"
    return spline_filter1d(x.astype(np.float64), order, -1, np.float64, mode)[..., :length].astype(x.dtype)


def _filtered_transpose(ct: Tensor, x: Tensor, order: int, mode: str) -> Tensor:
    """The transpose of the filter, which solves B c = x. B is symmetric, but 'mirror' halves its end columns."""
    if mode != "mirror":
        return _filter(ct, order=order, mode=mode)
    halves = np.ones(ct.shape[-1], ct.dtype.numpy)
    halves[[0, -1]] = 0.5
    return _filter(ct / halves, order=order, mode=mode) * halves


_filter = extend.linear(
    "spline_filter", _filtered, _filtered_transpose, core=(1,), summary="coefficients of the spline through elements"
)


def spline_filter1d(input: Any, order: int = 3, axis: int = -1, mode: str = "mirror") -> Tensor:
    """`scipy.ndimage.spline_filter1d`: the coefficients of the spline through the elements, along one axis.

    Parameters
    ----------
    input : Tensor
        Real; integers become float32.
    order : int, default 3
        Degree of the spline, 0 to 5. For 0 and 1 the elements are the coefficients.
    axis : int, default -1
        The axis.
    mode : str, default 'mirror'
        The continuation of the image beyond its ends; see `map_coordinates`.

    Returns
    -------
    Tensor
        The shape and the type of the input.

    Raises
    ------
    ValueError
        For another order or mode, or if the input has no axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import ndimage
    >>> print(ndimage.spline_filter1d(dg.Tensor([0.0, 1.0, 0.0], dg.float64)).round(6))
    [-1.  2. -1.]
    """
    name = "spline_filter1d"
    x, order, (_, ends, _) = _image(name, input), _degree(name, order), _mode(name, mode)
    return _along(x, order, one_axis(name, axis, x.shape), ends)


def spline_filter(input: Any, order: int = 3, mode: str = "mirror") -> Tensor:
    """`scipy.ndimage.spline_filter`: the coefficients of the spline through the elements, along every axis.

    Takes the parameters of `spline_filter1d` except the axis; results and errors are the same.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import ndimage
    >>> ndimage.spline_filter(dg.ops.ones((3, 4))).shape
    (3, 4)
    """
    name = "spline_filter"
    x, order, (_, ends, _) = _image(name, input), _degree(name, order), _mode(name, mode)
    return _coefficients(x, order, ends)


def _coefficients(x: Tensor, order: int, ends: str) -> Tensor:
    for axis in range(x.ndim):
        x = _along(x, order, axis, ends)
    return x


def _along(x: Tensor, order: int, axis: int, ends: str) -> Tensor:
    if order < 2 or x.shape[axis] < 2:
        return x
    last = tuple([k for k in range(x.ndim) if k != axis]) + (axis,)
    return permuted(_filter(permuted(x, last), order=order, mode=ends), tuple(np.argsort(last).tolist()))


# ------------------------------------------------------------------------------------------------------ evaluation


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Tensor:
    """`scipy.ndimage.map_coordinates`: the values of an image at given places.

    Parameters
    ----------
    input : Tensor
        The image, real, of n axes, with at least one element.
    coordinates : Tensor
        The places, shape (n, ...), counted in elements along each axis.
    output : None
        Must be None: results are new tensors.
    order : int, default 3
        Degree of the spline, 0 to 5. The nearest element (0) has slope 0.
    mode : str, default 'constant'
        The continuation of a b c d beyond its ends: 'reflect' or 'grid-mirror' (c b a | a b c d | d c b), 'mirror' (d c
        b | a b c d | c b a), 'nearest' (a a a | a b c d | d d d), 'grid-wrap' (b c d | a b c d | a b c), 'wrap' (the
        same, but the last element coincides with the first), 'grid-constant' (`cval`), 'constant' (the same, but
        without interpolation between the ends and `cval`).
    cval : float or Tensor, default 0.0
        The value beyond the ends, for the two constant modes.
    prefilter : bool, default True
        True if `input` holds the elements; False if it holds coefficients from `spline_filter`.

    Returns
    -------
    Tensor
        The shape of the places, without their first axis; the common type of image and places.

    Raises
    ------
    ValueError
        If the shapes do not fit, for another order or mode, or for an output.

    Notes
    -----
    A nan place gives nan. The spline goes through the elements. SciPy's own misses them in the modes 'reflect' and
    'grid-mirror' on short axes: by up to 0.02 of their size for two elements, by rounding from 25 elements on. At a
    knot, derivatives by the place are one-sided, from the cell after it; beyond order k they are 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import ndimage
    >>> image = dg.Tensor([0.0, 1.0, 8.0, 27.0, 64.0], dg.float64)
    >>> height = lambda place: ndimage.map_coordinates(image, place.reshape(1, 1), order=1).sum()
    >>> place = dg.Tensor(2.25, dg.float64)
    >>> print(height(place), dg.grad(height)(place))
    12.75 19.0
    """
    name = "map_coordinates"
    if output is not None:
        raise ValueError(f"{name}: output is given; tensors are never written into, use what the function returns")
    image, places = alike([_image(name, input), floating(name, coordinates)])
    return _interpolated(name, image, places, _degree(name, order), mode, cval, prefilter)


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Tensor:
    """`scipy.ndimage.affine_transform`: the image whose element o is the value of the input at ``matrix @ o + offset``.

    Parameters
    ----------
    input : Tensor
        The image, real, of n axes, with at least one element.
    matrix : Tensor
        Shape (n, n), or (n,) for a diagonal one, or (n, n + 1) or (n + 1, n + 1) with the offset in the last column.
    offset : Tensor, default 0.0
        A number or shape (n,).
    output_shape : tuple of int, optional
        By default the shape of the input.
    output, order, mode, cval, prefilter
        As for `map_coordinates`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        As for `map_coordinates`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import ndimage
    >>> print(ndimage.affine_transform(dg.Tensor([0.0, 4.0, 8.0]), dg.Tensor([0.5]), order=1))
    [0. 2. 4.]
    """
    name = "affine_transform"
    if output is not None:
        raise ValueError(f"{name}: output is given; tensors are never written into, use what the function returns")
    image, m, shift = alike([_image(name, input), floating(name, matrix), floating(name, offset)])
    n = image.ndim
    if m.shape in ((n, n + 1), (n + 1, n + 1)):
        m, shift = m[:n, :n], m[:n, n]
    if m.shape not in ((n,), (n, n)) or shift.shape not in ((), (n,)):
        raise ValueError(
            f"{name}: matrix has shape {m.shape} and offset {shift.shape} for an image of {n} axes; expected matrix "
            f"({n},), ({n}, {n}), ({n}, {n + 1}) or ({n + 1}, {n + 1}), and offset () or ({n},)"
        )
    shape = image.shape if output_shape is None else new_shape(name, output_shape)
    if len(shape) != n:
        raise ValueError(f"{name}: output_shape is {shape}; expected {n} lengths, as many as the image has axes")
    elements = np.indices(shape).reshape(n, -1).astype(image.dtype.numpy)
    moved = m @ elements if m.ndim == 2 else to_shape(m, (n, 1)) * elements
    places = to_shape(moved + to_shape(shift, (n, 1) if shift.ndim else (1, 1)), (n, *shape))
    return _interpolated(name, image, places, _degree(name, order), mode, cval, prefilter)


def _interpolated(
    name: str, image: Tensor, places: Tensor, order: int, mode: str, cval: Any, prefilter: bool
) -> Tensor:
    if not image.size or not image.ndim or not places.ndim or places.shape[0] != image.ndim:
        raise ValueError(
            f"{name}: the image has shape {image.shape} and the places {places.shape}; expected an image with elements "
            "and axes, and as many rows of places as it has axes"
        )
    beyond, ends, folds = _mode(name, mode)
    truth_value(name, "prefilter", prefilter)
    outside, margin = None, 0
    if beyond == "constant":
        for axis, length in enumerate(image.shape):
            out = (places[axis] < 0) | (places[axis] > length - 1)
            outside = out if outside is None else outside | out
    if prefilter and order > 1:
        if beyond in ("nearest", "grid-constant"):
            margin = _MARGIN
            image = _with_margin(name, image, margin, beyond, cval)
        image = _coefficients(image, order, ends)
    if beyond == "grid-constant":
        margin += 1
        image = _with_margin(name, image, 1, beyond, cval)
    taps, weights = [], []
    for axis, length in enumerate(image.shape):
        place = _shifted(places[axis], margin)
        if beyond == "wrap":
            place = _turned(place, length)
        middle = floor(_shifted(_engine.stop(place), 0 if order % 2 else 0.5))
        steps = [k - order // 2 for k in range(order + 1)]
        taps.append([_folded(_shifted(middle, step), length, folds) for step in steps])
        weights.append(uniform_weights(place - middle, order))
    value = contracted(name, image, taps, weights)
    return value if outside is None else where(outside, cval, value)


def _shifted(place: Tensor, by: float) -> Tensor:
    """A place moved by a number; moving by 0 adds no step."""
    return place + by if by else place


def _with_margin(name: str, image: Tensor, count: int, beyond: str, cval: Any) -> Tensor:
    for axis, length in enumerate(image.shape):
        places = np.arange(-count, length + count)
        inner = np.clip(places, 0, length - 1)
        image = read(name, one_axis_pattern(image.shape, axis), image, inner)
        if beyond == "grid-constant":
            image = where((places == inner).reshape(-1, *(1,) * (image.ndim - 1 - axis)), image, cval)
    return image


def _turned(place: Tensor, length: int) -> Tensor:
    """Move places by whole periods into the image, whose last element coincides with its first."""
    if length == 1:
        return place * 0.0
    period = length - 1
    turns = floor(magnitude(_engine.stop(place)) / period)
    moved = where(place < 0, place + (turns + 1) * period, place - turns * period)
    return where((place >= 0) & (place <= period), place, moved)


def _folded(tap: Tensor, length: int, ends: str) -> Tensor:
    """Fold whole places beyond the ends of an axis back to indices inside; nan becomes 0."""
    if ends == "nearest" or length == 1:
        return clipped(tap, length)
    period = {"mirror": 2 * length - 2, "reflect": 2 * length, "grid-wrap": length}[ends]
    rest = tap - floor(tap / period) * period
    if ends != "grid-wrap":
        rest = where(rest < length, rest, (period if ends == "mirror" else period - 1) - rest)
    return clipped(rest, length)


# ---------------------------------------------------------------------------------------------------------- checks


def _image(name: str, input: Any) -> Tensor:
    x = floating(name, input)
    if x.dtype.is_complex:
        raise TypeError(f"{name}: expected real numbers, got type {x.dtype}; take the real and imaginary parts")
    return x


def _degree(name: str, order: Any) -> int:
    order = integer(name, "order", order)
    if not 0 <= order <= 5:
        raise ValueError(f"{name}: order is {order}; expected 0 to 5")
    return order


def _mode(name: str, mode: Any) -> tuple[str, str, str]:
    if not one_of(mode, _MODES):
        raise ValueError(f"{name}: mode is {mode!r}; expected one of {', '.join(_MODES)}")
    return _MODES[mode]
