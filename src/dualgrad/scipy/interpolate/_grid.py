"""Values on a grid of n axes: products of interpolants along each axis."""

from __future__ import annotations

import math
from typing import Any

from ..._settings import one_of, truth_value
from ...ops._arguments import alike, floating
from ...ops.index.choice import where
from ...ops.shape.reshaping import stack
from ...tensor import Tensor
from .._bsplines import contracted
from ._bspline import make_interp_spline, taps_at
from ._points import at, increasing, new_axes, piece_of, within

__all__ = ["RegularGridInterpolator", "interpn"]

_DEGREES = {"linear": 1, "slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """`scipy.interpolate.RegularGridInterpolator`: an interpolant of values on a grid of n axes.

    Parameters
    ----------
    points : tuple of Tensor
        The places of the grid along each axis, increasing or decreasing.
    values : Tensor
        Shape (m1, ..., mn, ...).
    method : {'linear', 'nearest', 'slinear', 'cubic', 'quintic'}, default 'linear'
        Splines of degree 1, 3 or 5 along each axis, or the nearest value, which has slope 0.
    bounds_error : bool, default True
        If True, places outside the grid raise.
    fill_value : float, Tensor or None, default nan
        Otherwise the value outside; None continues the outermost pieces.

    Raises
    ------
    ValueError
        If shapes do not fit, places are outside, points are not in order or too few, or the method is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import RegularGridInterpolator
    >>> x, y = dg.Tensor([0.0, 1.0, 2.0]), dg.Tensor([0.0, 2.0])
    >>> plane = RegularGridInterpolator((x, y), x.reshape(3, 1) + 10.0 * y)
    >>> print(plane(dg.Tensor([[0.5, 1.0], [1.5, 0.25]])))
    [10.5  4. ]
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = math.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        values = floating(name, values)
        if not isinstance(points, tuple | list):
            raise TypeError(f"{name}: points must be a tuple of the points of each axis, got {type(points).__name__}")
        axes = [floating(name, p) for p in points]
        shapes = [p.shape for p in axes]
        if not axes or shapes != [(m,) for m in values.shape[: len(axes)]]:
            raise ValueError(
                f"{name}: points of shapes {shapes} and values of shape {values.shape}; expected "
                "a vector for each of the first axes of the values, as long as that is"
            )
        self._check(name, method)
        values, *axes = alike([values, *axes])
        for k, p in enumerate(axes):
            ascending = p if p.size < 2 or bool(p[0] < p[-1]) else p[::-1]
            if ascending is not p:
                values = values[(slice(None),) * k + (slice(None, None, -1),)]
            axes[k] = increasing(name, f"points of axis {k}", ascending)
        self.grid: tuple[Tensor, ...] = tuple(axes)
        self.values: Tensor = values
        self.method = method
        self.bounds_error = truth_value(name, "bounds_error", bounds_error)
        self.fill_value = fill_value

    @staticmethod
    def _check(name: str, method: Any) -> None:
        if not one_of(method, ("nearest", *_DEGREES)):
            raise ValueError(f"{name}: method is {method!r}; expected one of nearest, {', '.join(_DEGREES)}")

    def __call__(self, xi: Any, method: str | None = None) -> Tensor:
        """The values at places.

        Parameters
        ----------
        xi : Tensor, or tuple of n of them
            Shape (..., n), or the coordinates along each axis, which are broadcast.
        method : str, optional
            As for the class.

        Returns
        -------
        Tensor
            The shape of the places, then the other axes of the values.
        """
        name = "RegularGridInterpolator"
        method = self.method if method is None else method
        self._check(name, method)
        places = _places(name, xi, len(self.grid))
        *grid, values = [*self.grid, self.values]
        common = alike([*grid, values, *places])
        n = len(grid)
        grid, values, places = common[:n], common[n], common[n + 1 :]
        if self.bounds_error:
            places = [within(name, x, knots) for knots, x in zip(grid, places, strict=True)]
        taps, weights = [], []
        for axis, (knots, x) in enumerate(zip(grid, places, strict=True)):
            if method == "nearest":
                taps.append([_nearest(name, knots, x)])
                weights.append([x * 0.0 + 1.0])
                continue
            # Solved at each call, since the type depends on the places, too, and the method on the call.
            spline = make_interp_spline(knots, values, _DEGREES[method], axis=axis)
            values = spline.c
            tap, weight = taps_at(spline.t, spline.k, x)
            taps.append(tap)
            weights.append(weight)
        value = contracted(name, values, taps, weights)
        if self.bounds_error or self.fill_value is None:
            return value
        outside = (places[0] < grid[0][0]) | (places[0] > grid[0][-1])
        for knots, x in zip(grid[1:], places[1:], strict=True):
            outside = outside | (x < knots[0]) | (x > knots[-1])
        return where(new_axes(outside, value.ndim - places[0].ndim), self.fill_value, value)


def _places(name: str, xi: Any, n: int) -> list[Tensor]:
    if isinstance(xi, tuple):
        parts = [floating(name, x) for x in xi]
        xi = stack([p + sum(q * 0.0 for q in parts) for p in parts], -1) if len(parts) > 1 else stack(parts, -1)
    xi = floating(name, xi)
    if n == 1 and xi.ndim < 2:
        xi = xi.reshape(-1, 1)
    if not xi.ndim or xi.shape[-1] != n:
        raise ValueError(f"{name}: places of shape {xi.shape} for a grid of {n} axes; expected (..., {n})")
    return [xi[..., k] for k in range(n)]


def _nearest(name: str, knots: Tensor, x: Tensor) -> Tensor:
    if knots.size == 1:
        return piece_of(knots, x, 0, 0)
    piece = piece_of(knots, x, 0, knots.size - 2)
    middle = (at(name, knots, piece) + at(name, knots, piece + 1)) * 0.5
    return where(x > middle, piece + 1, piece)


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan
) -> Tensor:
    """`scipy.interpolate.interpn`: one call of a `RegularGridInterpolator`, with the same arguments and errors.

    Parameters
    ----------
    points, values, method, bounds_error, fill_value
        As for the class.
    xi : Tensor, or tuple of n of them
        The places, shape (..., n), or the coordinates along each axis, which are broadcast.

    Returns
    -------
    Tensor
        The shape of the places, then the other axes of the values.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.interpolate import interpn
    >>> x = dg.Tensor([0.0, 1.0, 2.0])
    >>> print(interpn((x,), x**2, dg.Tensor([[0.5], [1.5]])))
    [0.5 2.5]
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
