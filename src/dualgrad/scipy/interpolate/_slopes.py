"""Cubic interpolants: each piece is the cubic with given values and slopes at its ends.

They differ in the slopes. A cubic spline solves for slopes that make the second derivative continuous; PCHIP and Akima
average the slopes of neighbouring chords.

References
----------
C. de Boor, "A Practical Guide to Splines", Springer (1978), chapter IV. F. N. Fritsch, J. Butland, "A method for
constructing local monotone piecewise cubic interpolants", SIAM J. Sci. Stat. Comput. 5 (1984), 300-304. H. Akima, "A
new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17 (1970), 589-602.
"""

from __future__ import annotations

from typing import Any

from ..._settings import one_of, truth_value
from ...ops._arguments import to_shape
from ...ops.index.choice import where
from ...ops.math.elementwise import abs as magnitude
from ...ops.math.elementwise import sign
from ...ops.shape._padding import pad
from ...ops.shape.reshaping import cat, stack
from ...tensor import Tensor
from ..linalg._systems import banded
from ._pieces import PPoly
from ._points import differences, given, in_columns, new_axes, row_of

__all__ = ["Akima1DInterpolator", "CubicSpline", "PchipInterpolator", "spline_slopes"]


class _Cubic(PPoly):
    """The piecewise cubic with the given slopes at its points."""

    def _set(self, x: Tensor, y: Tensor, slopes: Tensor, axis: int, extrapolate: Any) -> None:
        h = new_axes(differences(x), y.ndim - 1)
        chords = differences(y) / h
        bend = (slopes[:-1] + slopes[1:] - 2.0 * chords) / h
        c = stack([bend / h, (chords - slopes[:-1]) / h - bend, slopes[:-1], y[:-1]])
        super().__init__(c, x, extrapolate, axis)


class CubicSpline(_Cubic):
    """`scipy.interpolate.CubicSpline`: piecewise cubic, with two continuous derivatives.

    Parameters
    ----------
    x : Tensor
        The points, an increasing vector.
    y : Tensor
        The values, one for each point along `axis`.
    axis : int, default 0
        The axis of the values that runs along the points.
    bc_type : str or pair, default 'not-a-knot'
        The conditions at the ends: 'not-a-knot' (the first two pieces are one cubic), 'clamped' (slope 0), 'natural'
        (second derivative 0), 'periodic', or for each end one of these or ``(order, value)``, the derivative of order 1
        or 2 and its value there.
    extrapolate : bool or 'periodic', optional
        See `PPoly`; by default True, for periodic ends 'periodic'.

    Raises
    ------
    ValueError
        If shapes do not fit, points do not increase, or conditions are unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import CubicSpline
    >>> x = dg.Tensor([0.0, 1.0, 2.0, 3.0], dg.float64)
    >>> spline = CubicSpline(x, x**3)
    >>> print(dg.grad(spline)(dg.Tensor(1.5, dg.float64)))
    6.75
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: bool | str | None = None
    ) -> None:
        x, y, axis = given("CubicSpline", x, y, axis)
        ends = _ends(bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if ends == "periodic" else True
        self._set(x, y, spline_slopes(x, y, ends), axis, extrapolate)


def _ends(bc_type: Any, y: Tensor) -> Any:
    """'periodic', or for each end None (not a knot) or the order and the value of a derivative."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    if not isinstance(bc_type, tuple | list) or len(bc_type) != 2:
        raise ValueError(f"CubicSpline: bc_type is {bc_type!r}; expected a condition or a pair of them")
    if bc_type[0] == bc_type[1] == "periodic":
        return "periodic"
    found: list[tuple[int, Any] | None] = []
    for end in bc_type:
        if isinstance(end, str) and end in ("not-a-knot", "clamped", "natural"):
            found.append({"not-a-knot": None, "clamped": (1, 0.0), "natural": (2, 0.0)}[end])
        elif isinstance(end, tuple | list) and len(end) == 2 and end[0] in (1, 2):
            found.append((end[0], row_of("CubicSpline", end[1], y)))
        else:
            raise ValueError(
                f"CubicSpline: {end!r} in bc_type; expected 'not-a-knot', 'clamped', 'natural', (1, value), "
                "(2, value), or 'periodic' for both ends"
            )
    return tuple(found)


def spline_slopes(x: Tensor, y: Tensor, ends: Any) -> Tensor:
    """The slopes that make the second derivative continuous, from a tridiagonal system."""
    values = in_columns(y)
    h = differences(x)
    chords = differences(values) / new_axes(h, 1)
    if ends == "periodic":
        slopes = _periodic_slopes(h, chords)
    elif x.size == 3 and ends == (None, None):
        bend = (chords[1:] - chords[:1]) / (h[0] + h[1])  # the second derivative of the single parabola, halved
        slopes = cat((chords[:1] - h[0] * bend, chords[:1] + h[0] * bend, chords[1:] + h[1] * bend), 0)
    else:
        slopes = _free_slopes(h, chords, ends)
    return to_shape(slopes, y.shape)


def _free_slopes(h: Tensor, chords: Tensor, ends: Any) -> Tensor:
    if h.size == 1:  # two points have no knot between them
        ends = tuple([(1, chords) if end is None else end for end in ends])
    first = _condition(h, chords, ends[0])
    last = _condition(h[::-1], chords[::-1], _reversed(ends[1]))
    below, middle, above, right = _inner(h, chords)
    lower, upper = cat((below, last[1]), 0), cat((first[1], above), 0)
    return _tridiagonal(lower, cat((first[0], middle, last[0]), 0), upper, cat((first[2], right, last[2]), 0))


def _reversed(end: Any) -> Any:
    """The condition for the mirrored curve. A slope keeps its sign, since the chords do, too."""
    return end if end is None or end[0] == 1 else (2, end[1] * -1.0)


def _inner(h: Tensor, chords: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    before, behind = h[:-1], h[1:]
    right = 3.0 * (new_axes(behind, 1) * chords[:-1] + new_axes(before, 1) * chords[1:])
    return behind, 2.0 * (before + behind), before, right


def _condition(h: Tensor, chords: Tensor, end: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The first row of the system: its two entries and its right-hand side."""
    if end is None:
        both = h[:1] + h[1:2]
        right = ((h[:1] + 2.0 * both) * h[1:2] * chords[:1] + h[:1] ** 2 * chords[1:2]) / both
        return h[1:2], both, right
    order, value = end
    one = h[:1] * 0.0 + 1.0
    if order == 1:
        return one, one * 0.0, chords[:1] * 0.0 + value
    return 2.0 * one, one, 3.0 * chords[:1] - 0.5 * h[:1] * value


def _periodic_slopes(h: Tensor, chords: Tensor) -> Tensor:
    """The slopes of a periodic spline. The corners of the system are a change of rank 1 (Sherman, Morrison)."""
    n = h.size
    if n == 1:
        return cat((chords * 0.0, chords * 0.0), 0)
    around, turned = cat((h[-1:], h), 0), cat((chords[-1:], chords), 0)
    below, middle, above, right = _inner(around, turned)
    if n == 2:
        slope = right[:1] / (3.0 * (h[0] + h[1]))
        return cat((slope, slope, slope), 0)
    corner, other = below[:1], above[-1:]
    gamma = -middle[:1]
    changed = cat((middle[:1] - gamma, middle[1:-1], middle[-1:] - corner * other / gamma), 0)
    u = cat((gamma, middle[1:-1] * 0.0, other), 0)
    both = _tridiagonal(below[1:], changed, above[:-1], cat((right, new_axes(u, 1)), 1))
    solution, z = both[:, :-1], both[:, -1:]
    share = corner / gamma
    slopes = solution - z * ((solution[:1] + share * solution[-1:]) / (1.0 + z[:1] + share * z[-1:]))
    return cat((slopes, slopes[:1]), 0)


class PchipInterpolator(_Cubic):
    """`scipy.interpolate.PchipInterpolator`: piecewise cubic, monotone wherever the points are.

    The slope at a point is the weighted harmonic mean of the slopes of the two chords beside it, or 0 if their signs
    differ.

    Parameters
    ----------
    x, y, axis
        As for `CubicSpline`.
    extrapolate : bool, optional
        See `PPoly`.

    Raises
    ------
    ValueError
        If shapes do not fit, or points do not increase.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import PchipInterpolator
    >>> steps = PchipInterpolator(dg.Tensor([0.0, 1.0, 2.0, 3.0]), dg.Tensor([0.0, 0.0, 1.0, 1.0]))
    >>> print(steps(dg.Tensor([0.5, 1.5, 2.5])))
    [0.  0.5 1. ]
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool | None = None) -> None:
        x, y, axis = given("PchipInterpolator", x, y, axis)
        h = new_axes(differences(x), y.ndim - 1)
        chords = differences(y) / h
        if x.size == 2:
            return self._set(x, y, cat((chords, chords), 0), axis, extrapolate)
        before, behind = h[:-1], h[1:]
        one, other = 2.0 * behind + before, behind + 2.0 * before
        left, right = chords[:-1], chords[1:]
        same = left * right > 0
        safe = where(same, left, 1.0), where(same, right, 1.0)
        inner = where(same, (one + other) / (one / safe[0] + other / safe[1]), 0.0)
        first = _one_sided(h[:1], h[1:2], chords[:1], chords[1:2])
        last = _one_sided(h[-1:], h[-2:-1], chords[-1:], chords[-2:-1])
        return self._set(x, y, cat((first, inner, last), 0), axis, extrapolate)


def _one_sided(h: Tensor, next_h: Tensor, chord: Tensor, next_chord: Tensor) -> Tensor:
    """The slope at the first of three points of their parabola, limited to keep the shape."""
    slope = ((2.0 * h + next_h) * chord - h * next_chord) / (h + next_h)
    turns = (sign(chord) != sign(next_chord)) & (magnitude(slope) > 3.0 * magnitude(chord))
    return where(sign(slope) != sign(chord), 0.0, where(turns, 3.0 * chord, slope))


class Akima1DInterpolator(_Cubic):
    """`scipy.interpolate.Akima1DInterpolator`: piecewise cubic without waves near a jump.

    The slope at a point is a weighted mean of the slopes of the two chords beside it. The weight of a chord is the
    difference of the two chords on the other side.

    Parameters
    ----------
    x, y, axis
        As for `CubicSpline`.
    method : {'akima', 'makima'}, default 'akima'
        The weights: differences of chords, or these plus half the absolute value of the sum of the chords.
    extrapolate : bool, default False
        See `PPoly`.

    Raises
    ------
    ValueError
        If shapes do not fit, points do not increase, or for another method.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import Akima1DInterpolator
    >>> x = dg.Tensor([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> print(Akima1DInterpolator(x, dg.ops.relu(x - 2))(dg.Tensor([0.5, 3.5])))
    [0.  1.5]
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: bool | None = None
    ) -> None:
        name = "Akima1DInterpolator"
        if not one_of(method, ("akima", "makima")):
            raise ValueError(f"{name}: method is {method!r}; expected 'akima' or 'makima'")
        x, y, axis = given(name, x, y, axis)
        chords = differences(y) / new_axes(differences(x), y.ndim - 1)
        if x.size == 2:
            return self._set(x, y, cat((chords, chords), 0), axis, bool(extrapolate))
        first, last = 2.0 * chords[:1] - chords[1:2], 2.0 * chords[-1:] - chords[-2:-1]
        m = cat((2.0 * first - chords[:1], first, chords, last, 2.0 * last - chords[-1:]), 0)
        change = magnitude(differences(m))
        if method == "makima":
            change = change + 0.5 * magnitude(m[1:] + m[:-1])
        left, right = change[2:], change[:-2]
        both = left + right
        # Collinear chords on both sides give no weights: rounding must not decide.
        plain = both <= 1e-9 * both.max() if both.size else both > 0
        mean = (left * m[1:-2] + right * m[2:-1]) / where(plain, 1.0, both)
        slopes = where(plain, 0.5 * (m[1:-2] + m[2:-1]) if method == "akima" else 0.0, mean)
        truth_value(name, "extrapolate", extrapolate)
        return self._set(x, y, slopes, axis, bool(extrapolate))


def _tridiagonal(lower: Tensor, middle: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """Solve a system with three diagonals; ``right`` has a column for each right-hand side."""
    bands = stack([pad(upper, (1, 0)), middle, pad(lower, (0, 1))])
    return banded(bands, right, low=1, up=1, caller="spline")
