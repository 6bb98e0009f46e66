"""Quantiles by every method of NumPy, as weighted means of two neighbours among the sorted elements.

A method gives the place, counted from 0 and possibly between two elements, of the quantile q of n elements (Hyndman and
Fan, Sample quantiles in statistical packages, 1996). Where the place moves with q, derivatives go to q as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import array_of, one_of, truth_value
from ...tensor import Tensor
from .._arguments import OP, floating, kept, operand, permuted, reduced_axes, to_shape, total
from ..index.choice import clamp, where
from ..index.gather import gather_elements
from ..index.sorting import positions
from ..math import elementwise as _rows
from ..math.arithmetic import round as _round
from ..math.reductions import any as _any
from ..math.reductions import cumsum

__all__ = ["METHODS_OF_QUANTILES", "quantiles"]

_ABSORB = OP["absorb_mul"]

# Hyndman and Fan's alpha and beta: the place is n q + alpha + q (1 - alpha - beta) - 1.
_PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_TAKING = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
"""Methods whose result is one of the elements."""

METHODS_OF_QUANTILES = (*_TAKING, "averaged_inverted_cdf", "linear", "midpoint", *_PLOTTING)


def quantiles(
    name: str,
    x: Any,
    q: Any,
    axis: Any = None,
    keepdims: bool = False,
    method: str = "linear",
    weights: Any = None,
    leave_out: bool = False,
) -> Tensor:
    """Quantiles over axes. With `leave_out` nan is left out, otherwise it makes the result nan.

    Parameters
    ----------
    name : str
        The caller, for errors.
    x : Tensor
        Real, any shape.
    q : float, Tensor or list
        The quantiles, from 0 to 1; the axes of `q` come first in the result.
    axis : int or tuple of int, optional
        The axes to reduce; None stands for all axes.
    keepdims : bool, default False
        Keep the axes with length 1.
    method : str, default 'linear'
        One of `METHODS_OF_QUANTILES`.
    weights : Tensor, optional
        For method 'inverted_cdf': the weight of each element, in the shape of `x` or of the reduced axes. Their
        derivative is 0.
    leave_out : bool, default False
        True to leave nan out.

    Raises
    ------
    ValueError
        If q is not between 0 and 1, `x` is empty along the axes, or weights are negative or all 0.
    """
    x = operand(name, x)
    x = x if x.dtype.is_int and one_of(method, _TAKING) else floating(name, x)
    if x.dtype.is_complex:
        raise TypeError(f"{name}: complex numbers have no order; take the real part, or abs")
    if not one_of(method, METHODS_OF_QUANTILES):
        raise ValueError(f"{name}: method is {method!r}; expected one of {', '.join(METHODS_OF_QUANTILES)}")
    axes = reduced_axes(name, axis, x)
    parts = _settled_quantiles(name, q)
    rest = tuple([k for k in range(x.ndim) if k not in axes])
    outer = tuple([x.shape[k] for k in rest])
    n = math.prod([x.shape[k] for k in axes])
    if not n:
        raise ValueError(f"{name}: a tensor of shape {x.shape} has no elements along the axes {axes}")
    rows = to_shape(permuted(x, rest + axes), (*outer, n))
    order = positions(rows, len(outer))
    values = gather_elements(rows, -1, order)
    flat = to_shape(parts, (parts.size,))
    missing = _rows.isnan(rows) if x.dtype.is_float else None
    if weights is None:
        count: Any = n
        if leave_out and missing is not None:
            count = n - total(missing.astype(_dtype.float64), (len(outer),), True)
        found = _by_place(values, flat, count, method)
    else:
        shares = _settled_weights(name, weights, x, axes, method)
        shares = to_shape(permuted(shares, rest + axes), (*outer, n))
        if leave_out and missing is not None:
            shares = where(missing, 0.0, shares)
        found = _by_weight(values, gather_elements(shares, -1, order), flat)
    if missing is not None and not leave_out:
        found = where(_any(missing, -1, True), math.nan, found)
    found = permuted(found, (len(outer), *range(len(outer))))  # q first
    truth_value(name, "keepdims", keepdims)
    return to_shape(found, (*parts.shape, *(kept(x.shape, axes) if keepdims else outer)))


def _settled_quantiles(name: str, q: Any) -> Tensor:
    """The quantiles in float64, checked whenever they are computed."""

    def within(parts: np.ndarray) -> None:
        if not ((parts >= 0) & (parts <= 1)).all():
            raise ValueError(f"{name}: q is {parts}; expected numbers from 0 to 1")

    if isinstance(q, Tensor):
        return _engine.inspect(_engine.convert(q, _dtype.float64.num), within)
    parts = array_of(name, "q", q)
    if parts.dtype.kind not in "biuf":
        raise TypeError(f"{name}: q is of type {parts.dtype}; expected real numbers")
    within(parts)
    return Tensor(parts.astype(np.float64))


# ------------------------------------------------------------------------------------------------ without weights


def _by_place(values: Tensor, q: Tensor, count: Any, method: str) -> Tensor:
    """Quantiles of sorted rows, of which the first `count` elements count."""
    last = count - 1
    if method in _TAKING:
        index = _taken(q, count, method)
        return gather_elements(values, -1, _place(index, last, values))
    place, weight = _between(q, count, method)
    low = _engine.stop(_rows.floor(place))
    share = place - low if weight is None else weight(_engine.stop(place))
    inside = where(place < 0, 0.0, low), where(place < 0, 0.0, low + 1.0)
    a, b = [gather_elements(values, -1, _place(end, last, values)) for end in inside]
    return _mean(a, b, _engine.convert(_spread(share, a.shape), values._typenum))


def _taken(q: Tensor, count: Any, method: str) -> Tensor:
    """The places of elements that are quantiles themselves."""
    if method == "inverted_cdf":
        return _rows.ceil(q * count - 1.0)
    if method == "closest_observation":
        place = q * count - 1.5
        low = _rows.floor(place)
        odd = low - 2.0 * _rows.floor(low / 2.0)
        return where((place == low) & (odd == 1.0), low, low + 1.0)
    rounded = {"lower": _rows.floor, "higher": _rows.ceil, "nearest": _round}[method]
    return rounded(q * (count - 1))


def _between(q: Tensor, count: Any, method: str) -> tuple[Tensor, Any]:
    """The places between elements, and the weight of the upper element if it is not its distance."""
    if method == "linear":
        return q * (count - 1), None
    if method == "midpoint":
        return q * (count - 1), lambda place: where(place == _rows.floor(place), 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        return q * count - 1.0, lambda place: where(place == _rows.floor(place), 0.5, 1.0)
    alpha, beta = _PLOTTING[method]
    return q * count + (q * (1.0 - alpha - beta) + alpha) - 1.0, None


def _place(index: Tensor, last: Any, values: Tensor) -> Tensor:
    """Convert places to indices into rows."""
    index = where(index > last, last, index)
    return _spread(clamp(_engine.stop(index), 0.0).astype(_dtype.int64), (*values.shape[:-1], index.shape[-1]))


def _spread(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return _engine.apply(OP["broadcast_to"], shape, x) if x.shape != shape else x


def _mean(a: Tensor, b: Tensor, share: Tensor) -> Tensor:
    """A (1 - share) + b share, from the nearer end; of equal infinities this infinity."""
    rise = where(_engine.stop((a == b) & _rows.isinf(a)), 0.0, b - a)
    upwards = a + _engine.binary_op(_ABSORB, share, rise)
    return where(_engine.stop(share) < 0.5, upwards, b - _engine.binary_op(_ABSORB, 1.0 - share, rise))


# --------------------------------------------------------------------------------------------------- with weights


def _settled_weights(name: str, weights: Any, x: Tensor, axes: tuple[int, ...], method: str) -> Tensor:
    """Weights in float64 and the shape of the elements, checked whenever they are computed."""
    if method != "inverted_cdf":
        raise ValueError(f"{name}: method {method!r} has no weights; expected method='inverted_cdf'")

    w = operand(name, np.asarray(weights) if isinstance(weights, list | tuple) else weights)
    over = tuple([k - x.ndim for k in axes]) if w.shape == x.shape else tuple(range(-w.ndim, 0))

    def usable(array: np.ndarray) -> None:
        if not (array >= 0).all() or not np.isfinite(array).all():
            raise ValueError(f"{name}: weights are negative, infinite or nan; expected numbers of 0 or more")
        if not array.any(over).all():
            raise ValueError(f"{name}: all weights are 0; expected some that are not")

    w = _engine.inspect(_engine.convert(_engine.stop(w), _dtype.float64.num), usable)
    if w.shape == x.shape:
        return w
    if w.shape != tuple([x.shape[k] for k in axes]):
        raise ValueError(
            f"{name}: weights of shape {w.shape} for a tensor of shape {x.shape}; expected that shape, or the lengths "
            f"of the axes {axes}"
        )
    return _spread(to_shape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)])), x.shape)


def _by_weight(values: Tensor, weights: Tensor, q: Tensor) -> Tensor:
    """The first sorted element at which the running sum of weights reaches the share q; nan if the sum is 0."""
    sums = cumsum(weights, -1)
    n = values.shape[-1]
    whole = sums[..., n - 1 :]
    shares = sums / where(whole == 0.0, 1.0, whole)
    shares = to_shape(where(shares == 0.0, -1.0, shares), (*shares.shape[:-1], 1, n))
    before = (shares < to_shape(_engine.stop(q), (q.size, 1))).astype(_dtype.int64)
    found = gather_elements(values, -1, clamp(total(before, (before.ndim - 1,), False), None, n - 1))
    return where(whole == 0.0, math.nan, found) if values.dtype.is_float else found
