"""Interpolation as SciPy has it.

Each entry of ``CALLS`` is called with a module, so that ``test_interpolation.py`` gets the values from SciPy itself.
"""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np

from cases import Case, normal, positive
from dualgrad.scipy import interpolate, ndimage

OURS = SimpleNamespace(interpolate=interpolate, ndimage=ndimage)

POINTS = np.array([-1.0, -0.25, 0.5, 0.75, 2.0, 2.5])
PLACES = np.array([[-0.6, 0.1, 0.6], [1.1, 2.2, 2.45]])
BEYOND = np.array([-1.5, 0.3, 3.25])
VALUES = normal(6)
KNOTS = np.cumsum(positive(10)) - 6.0
STACK = normal(2, 6, 2)
ENDS = {
    "no knot": "not-a-knot",
    "natural": "natural",
    "clamped": "clamped",
    "mixed": ((1, 0.5), "natural"),
    "second": ((2, -1.0), "not-a-knot"),
}
SPLINES = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")
LINE, OUTER, TURNED = (POINTS, VALUES, PLACES), (POINTS, VALUES, BEYOND), (POINTS[::-1], VALUES, BEYOND)
FIELD, FIELD_POINTS = normal(4, 6, 2), (np.array([0.0, 0.5, 2.0, 2.25]), POINTS)
FIELD_PLACES = np.array([[0.3, -0.6], [1.2, 0.6], [2.1, 2.2]])
IMAGE = normal(5, 6)
INSIDE = np.array([[0.3, 2.6, 3.45], [4.2, 1.3, 0.65]])
AROUND = np.array([[-2.3, 2.6, 9.45], [4.2, -7.3, 11.65]])
MODES = ("constant", "nearest", "mirror", "grid-wrap", "wrap", "grid-constant")


def spline(kind, x, y, places, module, nu=0, **settings):
    return getattr(module.interpolate, kind)(x, y, **settings)(places, nu)


def through(m, *args, **settings):
    return m.interpolate.make_interp_spline(*args, **settings)


def stepped(kind, x, y, places, module):
    return module.interpolate.interp1d(x, y, kind, fill_value="extrapolate")(places)


def mapped(image, places, module, **settings):
    return module.ndimage.map_coordinates(image, places, **settings)


def moved(m, image, matrix, offset):
    # SciPy filters first and takes a matrix and an offset as NumPy arrays.
    return m.ndimage.affine_transform(image, matrix, offset=offset, order=3, mode="mirror")


CALLS = [
    *[(kind, lambda m, x, y, p, kind=kind: spline(kind, x, y, p, m), LINE) for kind in SPLINES],
    *[
        (f"{kind} of a stack", lambda m, y, kind=kind: spline(kind, POINTS, y, PLACES, m, axis=1), (STACK,))
        for kind in SPLINES
    ],
    *[
        (f"CubicSpline, {word}", lambda m, *args, e=ends: spline("CubicSpline", *args, m, bc_type=e), OUTER)
        for word, ends in ENDS.items()
    ],
    (
        "CubicSpline through three points",
        lambda m, x, y: spline("CubicSpline", x, y, BEYOND, m),
        (POINTS[:3], VALUES[:3]),
    ),
    (
        "CubicSpline through two points",
        lambda m, x, y: spline("CubicSpline", x, y, BEYOND, m),
        (POINTS[:2], VALUES[:2]),
    ),
    ("CubicSpline, second derivative", lambda m, *args: spline("CubicSpline", *args, m, 2), LINE),
    ("makima", lambda m, y, p: spline("Akima1DInterpolator", POINTS, y, p, m, method="makima"), (VALUES, PLACES)),
    ("integral of a spline", lambda m, y: m.interpolate.CubicSpline(POINTS, y).integrate(-0.75, 2.25), (VALUES,)),
    (
        "antiderivative",
        lambda m, x, y: m.interpolate.CubicSpline(x, y).antiderivative(2)(PLACES),
        (POINTS, VALUES),
    ),
    *[(f"B-spline of degree {k}", lambda m, x, y, p, k=k: through(m, x, y, k)(p), LINE) for k in (1, 2, 3, 5)],
    ("natural B-spline", lambda m, x, y: through(m, x, y, 3, bc_type="natural")(PLACES), (POINTS, VALUES)),
    ("B-spline of a stack", lambda m, y: through(m, POINTS, y, 3, axis=1)(PLACES), (STACK,)),
    ("derivative of a B-spline", lambda m, t, c: m.interpolate.BSpline(t, c, 3)(PLACES, 1), (KNOTS, VALUES)),
    (
        "integral of a B-spline",
        lambda m, t, c: m.interpolate.BSpline(t, c, 2).integrate(0.5, 2.0),
        (KNOTS[1:], VALUES),
    ),
    *[
        (f"interp1d, {kind}", lambda m, *args, k=kind: stepped(k, *args, m), TURNED)
        for kind in ("linear", "nearest", "quadratic", "cubic")
    ],
    *[
        (f"interp1d, {kind}", lambda m, x, y, k=kind: stepped(k, x, y, PLACES, m), (POINTS, VALUES))
        for kind in ("previous", "next")
    ],
    *[
        (f"grid, {how}", lambda m, v, p, how=how: m.interpolate.interpn(FIELD_POINTS, v, p, how), (FIELD, FIELD_PLACES))
        for how in ("linear", "nearest")
    ],
    *[
        (f"map_coordinates, order {k}", lambda m, x, p, k=k: mapped(x, p, m, order=k), (IMAGE, INSIDE))
        for k in range(6)
    ],
    *[
        (f"map_coordinates, {mode}", lambda m, x, p, mode=mode: mapped(x, p, m, mode=mode, cval=0.5), (IMAGE, AROUND))
        for mode in MODES
    ],
    ("map_coordinates, reflect", lambda m, x, p: mapped(x, p, m, mode="reflect"), (normal(30), AROUND[:1])),
    ("map_coordinates of coefficients", lambda m, x, p: mapped(x, p, m, prefilter=False), (IMAGE, INSIDE)),
    ("spline_filter", lambda m, x: m.ndimage.spline_filter(x, 4, mode="mirror"), (IMAGE,)),
    ("spline_filter, reflected", lambda m, x: m.ndimage.spline_filter1d(x, 5, mode="reflect"), (normal(2, 40),)),
    ("spline_filter1d", lambda m, x: m.ndimage.spline_filter1d(x, 3, 0, mode="grid-wrap"), (IMAGE,)),
    ("affine_transform", moved, (IMAGE, np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, -0.4]))),
]

CLOSED = "of a stack|through|makima|integral|antiderivative|natural|derivative|next|previous|grid"
"""What the labels of calls that close over float64 arrays have."""

CHOSEN = {
    "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicSpline, mixed", "antiderivative",
    "B-spline of degree 3", "derivative of a B-spline", "interp1d, linear", "interp1d, nearest", "grid, linear",
    "map_coordinates, order 3", "map_coordinates, nearest", "map_coordinates, wrap", "spline_filter, reflected",
}  # fmt: skip
"""One of each kind: all calls are differentiated in every way by the exhaustive test of ``test_interpolation.py``."""


def case_of(label, call, args):
    narrow = () if re.search(CLOSED, label) else ("float32",)  # SciPy has no float16 form
    return Case(f"scipy.{label}", "", partial(call, OURS), args, narrow=narrow)


CASES = [case_of(*found) for found in CALLS if found[0] in CHOSEN]
