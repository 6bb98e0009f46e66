"""`scipy.interpolate` with slopes by places, by values and by knots.

===========================  ===========================================================
`PPoly`                      piecewise polynomials, given by their coefficients
`CubicSpline`                the cubic spline through points
`PchipInterpolator`          monotone where the points are
`Akima1DInterpolator`        without the waves of a spline beside a jump
`interp1d`                   steps, lines and splines through points
`BSpline`                    sums of B-splines, given by knots and coefficients
`make_interp_spline`         the B-spline of any degree through points
`RegularGridInterpolator`    values on a grid of n axes; `interpn` is one call of it
===========================  ===========================================================

Each is called as SciPy's, whose names, arguments and results they have. Within a piece all is a formula of tensors, so
every derivative is exact. At a knot the piece behind it counts, at the last one that before it. SciPy solves the banded
systems of splines: ``pip install 'dualgrad[scipy]'``.
"""

from __future__ import annotations

from ._bspline import BSpline, make_interp_spline
from ._grid import RegularGridInterpolator, interpn
from ._line import interp1d
from ._pieces import PPoly
from ._slopes import Akima1DInterpolator, CubicSpline, PchipInterpolator

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicSpline", "PPoly", "PchipInterpolator", "RegularGridInterpolator",
    "interp1d", "interpn", "make_interp_spline",
]  # fmt: skip
