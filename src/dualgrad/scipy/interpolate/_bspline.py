"""Sums of B-splines of any degree, and B-splines through points.

References
----------
C. de Boor, "A Practical Guide to Splines", Springer (1978), chapters IX, X and XIII.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._settings import described, sequence
from ...ops._arguments import alike, beside, floating, integer, one_axis, to_shape
from ...ops.index._indices import added
from ...ops.index.choice import where
from ...ops.shape.reshaping import cat, stack
from ...tensor import Tensor
from .._bsplines import basis_weights, contracted
from ..linalg._systems import banded
from ._pieces import continued, placed
from ._points import at, axis_first, differences, flat, given, in_columns, increasing, new_axes, piece_of, row_of

__all__ = ["BSpline", "make_interp_spline", "taps_at"]


class BSpline:
    """`scipy.interpolate.BSpline`: the sum of c[j] B(x; t[j], ..., t[j + k + 1]) over j.

    Parameters
    ----------
    t : Tensor
        The knots, at least n + k + 1, which do not decrease.
    c : Tensor
        The coefficients: at least n along `axis`; further ones are ignored.
    k : int
        The degree.
    extrapolate : bool or 'periodic', default True
        True continues the first and last polynomials beyond ``t[k]`` and ``t[n]``; False gives nan there.
    axis : int, default 0
        The axis of the coefficients.

    Raises
    ------
    ValueError
        If shapes do not fit, or knots decrease.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import BSpline
    >>> hat = BSpline(dg.Tensor([-1.0, 0.0, 1.0, 2.0, 3.0]), dg.Tensor([0.0, 1.0, 0.0]), 1)
    >>> print(hat(dg.Tensor([0.5, 1.0, 1.75])))
    [0.5  1.   0.25]
    """

    def __init__(self, t: Any, c: Any, k: Any, extrapolate: bool | str = True, axis: int = 0) -> None:
        name = "BSpline"
        t, c = alike([floating(name, t), floating(name, c)])
        self.k: int = integer(name, "k", k)
        self.axis: int = one_axis(name, axis, c.shape)
        if self.k < 0 or t.ndim != 1 or t.size < 2 * self.k + 2 or c.shape[self.axis] < t.size - self.k - 1:
            raise ValueError(
                f"{name}: knots of shape {t.shape}, coefficients of shape {c.shape} and degree {k}; expected a "
                "degree k of at least 0, a vector of n + k + 1 knots with n > k, and n coefficients along the axis"
            )
        self.t: Tensor = increasing(name, "knots", t, strictly=False)
        self.c: Tensor = c
        self.extrapolate = extrapolate

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Tensor:
        """The values, or the derivatives of order `nu`, at places.

        Parameters
        ----------
        x : Tensor
            Any shape.
        nu : int, default 0
            The order.
        extrapolate : bool or 'periodic', optional
            As for the class.

        Returns
        -------
        Tensor
            The other axes of the coefficients, with the axes of the places in place of their axis.
        """
        how = self.extrapolate if extrapolate is None else extrapolate
        if nu:
            return self.derivative(nu)(x, extrapolate=how)
        t, c, x = alike([self.t, self.c, beside("BSpline", x, self.t)])
        n = t.size - self.k - 1
        x, outside = continued(x, t[self.k], t[n], how)
        taps, weights = taps_at(t, self.k, x)
        value = contracted("BSpline", axis_first(c, self.axis), [taps], [weights])
        if outside is not None:
            value = where(new_axes(outside, value.ndim - x.ndim), math.nan, value)
        return placed(value, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative by the place: B-splines of a lower degree. A negative order gives the antiderivative."""
        nu = integer("BSpline", "nu", nu)
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, axis_first(self.c, self.axis)[: self.t.size - self.k - 1], self.k
        for _ in range(nu):
            if k == 0:
                c = c * 0.0
                break
            widths = t[k + 1 : -1] - t[1 : -k - 1]
            safe = where(widths > 0, widths, 1.0)
            c = differences(c) * new_axes(where(widths > 0, k / safe, 0.0), c.ndim - 1)
            t, k = t[1:-1], k - 1
        return BSpline(t, _axis_back(c, self.axis), k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The integral from ``t[k]``, taken `nu` times: B-splines of a higher degree."""
        nu = integer("BSpline", "nu", nu)
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, axis_first(self.c, self.axis)[: self.t.size - self.k - 1], self.k
        for _ in range(nu):
            shares = c * new_axes((t[k + 1 :] - t[: -k - 1]) * (1.0 / (k + 1)), c.ndim - 1)
            c = cat((c[:1] * 0.0, shares.cumsum(0)), 0)
            t, k = cat((t[:1], t, t[-1:]), 0), k + 1
        how = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline(t, _axis_back(c, self.axis), k, how, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | None = None) -> Tensor:
        """The integral between two places. `extrapolate` holds beyond the knots; 'periodic' raises."""
        how = self.extrapolate if extrapolate is None else extrapolate
        if how == "periodic":
            raise ValueError("BSpline.integrate: not offered beyond one period; split the range into periods")
        whole = self.antiderivative()
        return whole(b, extrapolate=how) - whole(a, extrapolate=how)


def _axis_back(c: Tensor, axis: int) -> Tensor:
    return placed(c, 1, axis)


def taps_at(t: Tensor, k: int, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The numbers and values of the k + 1 functions that are nonzero at each place."""
    piece = piece_of(t, x, k, t.size - k - 2)
    behind = [x - at("BSpline", t, piece - j) for j in range(k)]
    ahead = [at("BSpline", t, piece + 1 + j) - x for j in range(k)]
    return [piece - k + j for j in range(k + 1)], basis_weights(behind, ahead, x * 0.0 + 1.0)


def make_interp_spline(
    x: Any, y: Any, k: Any = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """`scipy.interpolate.make_interp_spline`: the B-spline of a degree through points.

    Parameters
    ----------
    x : Tensor
        The points: an increasing vector of more than k.
    y : Tensor
        The values, one for each point along `axis`.
    k : int, default 3
        The degree.
    t : Tensor, optional
        The knots. By default the points, or for an even degree their midpoints, without those nearest to the ends
        ('not-a-knot').
    bc_type : str or pair, optional
        For an odd degree, derivatives at the ends: (k - 1) / 2 pairs ``(order, value)`` for each end. For degree 3 also
        'clamped' (slope 0) or 'natural' (second derivative 0).
    axis : int, default 0
        The axis of the values that runs along the points.
    check_finite : bool, default True
        Without effect: a value that is not finite makes results that are not finite.

    Returns
    -------
    BSpline

    Raises
    ------
    ValueError
        If shapes do not fit, points do not increase, or conditions are unknown or too many.
    numpy.linalg.LinAlgError
        If the knots do not fit the points (each function must be nonzero at a point of its own).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import make_interp_spline
    >>> x = dg.Tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], dg.float64)
    >>> print(make_interp_spline(x, x**5, 5)(dg.Tensor(1.5, dg.float64)).round(6))
    7.59375
    """
    name = "make_interp_spline"
    k = integer(name, "k", k)
    if k < 0:
        raise ValueError(f"{name}: k is {k}; expected 0 or more")
    x, y, axis = given(name, x, y, axis, least=1)
    left, right = _conditions(name, bc_type, k)
    if t is None:
        t = _knots(name, x, k, bool(left or right))
    x, y, t = alike([x, y, floating(name, t)])
    n = x.size + len(left) + len(right)
    if t.ndim != 1 or t.size != n + k + 1 or x.size <= k - len(left) - len(right):
        raise ValueError(
            f"{name}: {x.size} points, {len(left) + len(right)} conditions and knots of shape {t.shape}; expected more "
            f"than {k} of the former together, and as many knots and {k + 1} more"
        )
    t = increasing(name, "knots", t, strictly=False)
    values = in_columns(y)
    if k == 0 and t.size == x.size + 1:
        return BSpline(t, _axis_back(y, axis), 0, axis=axis)
    rows = [_row(t, k, x[:1], order) for order, _ in left]
    rows.append(taps_at(t, k, x))
    rows += [_row(t, k, x[-1:], order) for order, _ in right]
    ends = [[row_of(name, value, y) for _, value in side] for side in (left, right)]
    target = cat((*ends[0], values, *ends[1]), 0) if n > x.size else values
    columns = [cat([taps[j] for taps, _ in rows], 0) for j in range(k + 1)]
    weights = [cat([values[j] for _, values in rows], 0) for j in range(k + 1)]
    place = stack([np.arange(n) - column for column in columns]) + k
    weight, row, column = [flat(part) for part in (stack(weights), place, stack(columns))]
    bands = added(name, (2 * k + 1, n), (0, 1), weight, row, column)
    c = to_shape(banded(bands, target, low=k, up=k, caller=name), (n, *y.shape[1:]))
    return BSpline(t, _axis_back(c, axis), k, axis=axis)


def _row(t: Tensor, k: int, x: Tensor, order: int) -> tuple[list[Tensor], list[Tensor]]:
    """Derivatives of the k + 1 functions that are nonzero at an end: differences of lower-degree weights."""
    inner = t[order:-order] if order else t
    taps, weights = taps_at(inner, k - order, x)
    piece = taps[-1] + order
    for d in range(k - order + 1, k + 1):
        found = []
        for j in range(d + 1):
            total = None
            for index, factor in ((j - 1, 1.0), (j, -1.0)):
                if 0 <= index < d:
                    start = piece - d + 1 + index
                    width = at("BSpline", t, start + d) - at("BSpline", t, start)
                    part = weights[index] * (factor * d) / width
                    total = part if total is None else total + part
            assert total is not None
            found.append(total)
        weights = found
    return [piece - k + j for j in range(k + 1)], weights


def _knots(name: str, x: Tensor, k: int, conditions: bool) -> Tensor:
    if conditions:
        return cat((*[x[:1]] * k, x, *[x[-1:]] * k), 0)
    if x.size <= k:
        raise ValueError(f"{name}: {x.size} points for degree {k}; expected more points than the degree")
    if k < 2:
        return cat((*[x[:1]] * k, x, *[x[-1:]] * max(k, 1)), 0)
    inner = x if k % 2 else (x[1:] + x[:-1]) * 0.5
    h = (k + 1) // 2 if k % 2 else k // 2
    return cat((*[x[:1]] * (k + 1), inner[h : inner.size - h], *[x[-1:]] * (k + 1)), 0)


def _conditions(name: str, bc_type: Any, k: int) -> tuple[list[Any], list[Any]]:
    """The orders and values of derivatives at both ends."""
    if not isinstance(bc_type, str | tuple | list | None):
        raise TypeError(f"{name}: bc_type must be a str or a pair, got {described(bc_type)}")
    if bc_type is None or bc_type in ("not-a-knot", (None, None)):
        return [], []
    if bc_type == "periodic":
        raise ValueError(f"{name}: bc_type 'periodic' is not offered; use CubicSpline(..., bc_type='periodic')")
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    count, found = (k - 1) // 2, []
    for end in pair:
        if isinstance(end, str) and end in ("clamped", "natural"):
            end = [(1 if end == "clamped" else 2, 0.0)]
        elif isinstance(end, str):
            raise ValueError(f"{name}: {end!r} in bc_type; expected 'clamped', 'natural', 'not-a-knot' or pairs")
        pairs = sequence(f"{name}: bc_type", end or [])
        if not all(isinstance(each, tuple | list) and len(each) == 2 for each in pairs):
            raise ValueError(f"{name}: bc_type is {bc_type!r}; expected pairs (order, value) at each end")
        found.append([(integer(name, "order", order), value) for order, value in pairs])
    if k % 2 == 0 or len(found) != 2 or any(len(end) != count for end in found):
        raise ValueError(
            f"{name}: bc_type is {bc_type!r} for degree {k}; expected an odd degree and {count} derivatives at each end"
        )
    if any(not 0 < order < k + 1 for end in found for order, _ in end):
        raise ValueError(f"{name}: bc_type is {bc_type!r}; expected orders from 1 to {k}")
    return found[0], found[1]
