"""`scipy.interpolate` with derivatives by places, by values and by knots.

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

Names, arguments and results are SciPy's. Within a piece every result is a formula of tensors, so every derivative is
exact. A knot belongs to the piece after it, and the last knot to the last piece. SciPy solves the banded systems of
splines: ``pip install 'dualgrad[scipy]'``.
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
