"""Steps, lines and splines through points, in one class."""

from __future__ import annotations

import math
from typing import Any

from ..._settings import one_of, truth_value
from ...ops._arguments import alike, beside, one_axis
from ...ops.index.choice import where
from ...ops.index.sorting import positions
from ...tensor import Tensor
from ._bspline import make_interp_spline
from ._pieces import placed
from ._points import at, axis_first, given, new_axes, piece_of, within

__all__ = ["interp1d"]

_STEPS = ("nearest", "nearest-up", "previous", "next")
_DEGREES = {"zero": 0, "linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d:
    """`scipy.interpolate.interp1d`: steps, lines or a spline through points.

    Parameters
    ----------
    x : Tensor
        The points, a vector without equal elements.
    y : Tensor
        The values, one for each point along `axis`.
    kind : str or int, default 'linear'
        'linear' or 'slinear'; 'nearest' (the first of two equally near points) or 'nearest-up' (the second); 'previous'
        or 'zero', 'next'; 'quadratic', 'cubic', or the degree of a spline. Steps have slope 0 by the places.
    axis : int, default -1
        The axis of the values that runs along the points.
    copy : bool, default True
        Without effect, since tensors are never written into.
    bounds_error : bool, optional
        If True, places beyond the points raise; the default is True unless `fill_value` is 'extrapolate'.
    fill_value : float, Tensor, pair or 'extrapolate', default nan
        Otherwise the value beyond the points, or one for each side; 'extrapolate' continues the first and last pieces.
    assume_sorted : bool, default False
        True if the points already increase.

    Raises
    ------
    ValueError
        If shapes do not fit, points are equal, places are beyond them, or the kind is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import interp1d
    >>> line = interp1d(dg.Tensor([0.0, 1.0, 3.0]), dg.Tensor([0.0, 10.0, 20.0]), fill_value="extrapolate")
    >>> print(line(dg.Tensor([-1.0, 0.5, 2.0])))
    [-10.   5.  15.]
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = math.nan,
        assume_sorted: bool = False,
    ) -> None:
        name = "interp1d"
        degree = _DEGREES.get(kind, kind) if isinstance(kind, str) else kind
        if not isinstance(degree, int) and not one_of(kind, _STEPS):
            known = ", ".join((*_STEPS, *_DEGREES))
            raise ValueError(f"{name}: kind is {kind!r}; expected one of {known}, or a degree")
        truth_value(name, "assume_sorted", assume_sorted)
        if not assume_sorted:
            x, y = _in_order(name, x, y, axis)
        self.x, self._y, self.axis = given(name, x, y, axis, least=1)
        self.kind = kind
        self.fill_value = fill_value
        if isinstance(fill_value, str) and fill_value != "extrapolate":
            raise ValueError(f"{name}: fill_value is {fill_value!r}; expected numbers or 'extrapolate'")
        free = isinstance(fill_value, str)
        self.bounds_error = not free if bounds_error is None else truth_value(name, "bounds_error", bounds_error)
        if self.bounds_error and free:
            raise ValueError(f"{name}: bounds_error is True and fill_value is {fill_value!r}; expected one of them")
        spline = isinstance(degree, int) and degree > 0
        self._spline = make_interp_spline(self.x, self._y, degree) if spline else None

    def __call__(self, x: Any) -> Tensor:
        """The values at places of any shape."""
        knots, y, places = alike([self.x, self._y, beside("interp1d", x, self.x)])
        if self.bounds_error:
            places = within("interp1d", places, knots)
        value = self._spline(places) if self._spline is not None else at("interp1d", y, self._step(knots, places))
        low, high = self._beyond()
        rest = y.ndim - 1
        if low is not None:
            value = where(new_axes(places < knots[0], rest), low, value)
        if high is not None:
            value = where(new_axes(places > knots[-1], rest), high, value)
        return placed(value, places.ndim, self.axis)

    def _beyond(self) -> tuple[Any, Any]:
        """The values on both sides; None where the outermost piece continues. No point is previous to the first."""
        if not isinstance(self.fill_value, str):
            pair = isinstance(self.fill_value, tuple) and len(self.fill_value) == 2
            return self.fill_value if pair else (self.fill_value, self.fill_value)
        return math.nan if self.kind == "previous" else None, math.nan if self.kind == "next" else None

    def _step(self, knots: Tensor, places: Tensor) -> Tensor:
        """The number of the point whose value holds."""
        n = knots.size
        before = piece_of(knots, places, 0, n - 1)
        if self.kind in ("previous", "zero"):
            return before
        behind = before if n == 1 else piece_of(knots, places, 0, n - 2) + 1
        here, there = at("interp1d", knots, before), at("interp1d", knots, behind)
        if self.kind == "next":
            return where(places > here, behind, before)
        middle = (here + there) * 0.5
        return where(places > middle if self.kind == "nearest" else places >= middle, behind, before)


def _in_order(name: str, x: Any, y: Any, axis: int) -> tuple[Tensor, Tensor]:
    x, y = beside(name, x, beside(name, y, Tensor(0.0))), beside(name, y, Tensor(0.0))
    if x.ndim != 1 or not y.ndim:
        return x, y
    axis = one_axis(name, axis, y.shape)
    if y.shape[axis] != x.size:
        return x, y
    order = positions(x, 0)
    return at(name, x, order), placed(at(name, axis_first(y, axis), order), 1, axis)
