"""Piecewise polynomials."""

from __future__ import annotations

import math
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...ops._arguments import alike, beside, floating, integer, permuted, to_shape
from ...ops.index.choice import where
from ...ops.math.elementwise import floor
from ...ops.shape.reshaping import cat, stack
from ...tensor import Tensor
from ._points import at, differences, increasing, new_axes, piece_of

__all__ = ["PPoly", "continued", "placed"]


class PPoly:
    """`scipy.interpolate.PPoly`: the polynomial with coefficients c[:, i] between the knots x[i] and x[i + 1].

    Parameters
    ----------
    c : Tensor
        Coefficients, shape (k + 1, m, ...), highest power first.
    x : Tensor
        The m + 1 knots, which increase.
    extrapolate : bool or 'periodic', default True
        True continues the first and last polynomials beyond the knots; False gives nan there.
    axis : int, default 0
        The position of the axis of the places in results.

    Raises
    ------
    ValueError
        If shapes do not fit, or knots do not increase.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import PPoly
    >>> square_then_line = PPoly(dg.Tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 1.0]]), dg.Tensor([0.0, 1.0, 2.0]))
    >>> print(square_then_line(dg.Tensor([0.5, 1.5])))
    [0.25 2.  ]
    """

    def __init__(self, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        name = type(self).__name__
        c, x = alike([floating(name, c), floating(name, x)])
        if c.ndim < 2 or x.ndim != 1 or c.shape[0] < 1 or c.shape[1] != x.size - 1 or x.size < 2:
            raise ValueError(
                f"{name}: coefficients of shape {c.shape} and knots of shape {x.shape}; expected (k + 1, m, ...) and "
                "(m + 1,)"
            )
        self.c: Tensor = c
        self.x: Tensor = increasing(name, "knots", x)
        self.axis = axis
        self.extrapolate = True if extrapolate is None else extrapolate

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
        name = type(self).__name__
        nu = integer(name, "nu", nu)
        if nu < 0:
            raise ValueError(f"{name}: nu is {nu}; expected 0 or more")
        places = beside(name, x, self.x)
        knots, c, places = alike([self.x, self.c, places])
        how = self.extrapolate if extrapolate is None else extrapolate
        places, outside = continued(places, knots[0], knots[-1], how)
        piece = piece_of(knots, places, 0, knots.size - 2)
        n = c.ndim - 2
        part = new_axes(places - at(name, knots, piece), n)
        value = None
        for power, row in zip(range(c.shape[0] - 1, nu - 1, -1), c, strict=False):
            term = at(name, row, piece) * float(math.perm(power, nu))
            value = term if value is None else value * part + term
        if value is None:
            value = at(name, c[0], piece) * 0.0
        if outside is not None:
            value = where(new_axes(outside, n), math.nan, value)
        return placed(value, places.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative by the place, a piecewise polynomial. A negative order gives the antiderivative."""
        nu = integer(type(self).__name__, "nu", nu)
        if nu < 0:
            return self.antiderivative(-nu)
        degree = self.c.shape[0] - 1
        rows = [self.c[degree - power] * float(math.perm(power, nu)) for power in range(degree, nu - 1, -1)]
        return PPoly(stack(rows or [self.c[0] * 0.0]), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The integral from the first knot, taken `nu` times, a piecewise polynomial."""
        nu = integer(type(self).__name__, "nu", nu)
        if nu < 0:
            return self.derivative(-nu)
        return self._integrated().antiderivative(nu - 1) if nu else PPoly(self.c, self.x, self.extrapolate, self.axis)

    def _integrated(self) -> PPoly:
        degree = self.c.shape[0] - 1
        rows = [row * (1.0 / (power + 1)) for power, row in zip(range(degree, -1, -1), self.c, strict=True)]
        widths = new_axes(differences(self.x), self.c.ndim - 2)
        area = rows[0]
        for row in rows[1:]:
            area = area * widths + row
        area = area * widths
        start = cat((area[:1] * 0.0, area[:-1].cumsum(0)), 0)
        return PPoly(stack([*rows, start]), self.x, self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | None = None) -> Tensor:
        """The integral between two places.

        Parameters
        ----------
        a, b : Tensor or float
            The places.
        extrapolate : bool, optional
            As for the class, but 'periodic' raises.
        """
        how = self.extrapolate if extrapolate is None else extrapolate
        if how == "periodic":
            name = type(self).__name__
            raise ValueError(f"{name}.integrate: not offered beyond one period; split the range into periods")
        whole = self._integrated()
        return whole(b, extrapolate=how) - whole(a, extrapolate=how)


def continued(places: Tensor, low: Tensor, high: Tensor, extrapolate: bool | str) -> tuple[Tensor, Tensor | None]:
    """Move places into the period; returns them, and a mask of places outside that have no value."""
    if extrapolate == "periodic":
        turns = floor(_engine.stop((places - low) / (high - low)))
        return places - turns * (high - low), None
    if not isinstance(extrapolate, bool):
        raise ValueError(f"extrapolate is {extrapolate!r}; expected True, False or 'periodic'")
    return places, None if extrapolate else (places < low) | (places > high)


def placed(value: Tensor, count: int, axis: int) -> Tensor:
    """Move the axes of the places, which come first, behind `axis` other axes."""
    rest = value.ndim - count
    axis = axis % (rest + 1)
    order = [*range(count, count + axis), *range(count), *range(count + axis, value.ndim)]
    return permuted(value, tuple(order)) if axis else to_shape(value, value.shape)
