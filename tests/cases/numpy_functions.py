"""NumPy's functions that are compositions of operators; the rest are operators under other names.

Each entry of ``CALLS`` is called with a module, so that ``test_numpy_module.py`` gets the values from NumPy itself.
"""

from functools import partial

import numpy as np

import dualgrad.numpy as mnp
from cases import Case, normal, positive, spread

A, B, V, W = normal(3, 4), normal(3, 4, seed=1), normal(5), positive(5, seed=2)
HOLES = np.arange(12).reshape(3, 4) % 5 == 1
SIGNS = normal(3, 4, seed=3) > 0
UNEVEN = np.array([0.0, 0.5, 2.0, 2.25, 4.0])

CALLS = [
    ("append", lambda m, a, b: m.append(a, b), (A, V)),
    ("append along an axis", lambda m, a, b: m.append(a, b, axis=1), (A, B)),
    ("column_stack", lambda m, a, b: m.column_stack((a, b)), (V, normal(5, 2))),
    ("dstack", lambda m, a, b: m.dstack((a, b)), (A, B)),
    ("dstack of vectors", lambda m, a, b: m.dstack([a, b]), (V, W)),
    ("atleast_3d", lambda m, a, b: list(m.atleast_3d(a, b)), (A, V)),
    ("hsplit", lambda m, a: m.hsplit(a, 2), (A,)),
    ("hsplit of a vector", lambda m, a: m.hsplit(a, [1, 3]), (V,)),
    ("vsplit", lambda m, a: m.vsplit(a, 3), (A,)),
    ("dsplit", lambda m, a: m.dsplit(a, [1]), (normal(2, 2, 3),)),
    ("broadcast_arrays", lambda m, a, b: list(m.broadcast_arrays(a, b)), (A, normal(4))),
    ("flipud", lambda m, a: m.flipud(a), (A,)),
    ("fliplr", lambda m, a: m.fliplr(a), (A,)),
    ("rollaxis forwards", lambda m, a: m.rollaxis(a, 2), (normal(2, 3, 4),)),
    ("rollaxis backwards", lambda m, a: m.rollaxis(a, 0, 3), (normal(2, 3, 4),)),
    ("diagflat", lambda m, a: m.diagflat(a, 1), (normal(2, 2),)),
    ("ptp", lambda m, a: m.ptp(a, axis=1, keepdims=True), (spread(3, 4),)),
    ("average", lambda m, a: m.average(a, 0), (A,)),
    ("average with weights", lambda m, a, w: m.average(a, weights=w, keepdims=True), (A, positive(3, 4))),
    ("average along an axis", lambda m, a, w: list(m.average(a, 0, w, returned=True)), (A, positive(3))),
    ("nansum", lambda m, a: m.nansum(m.where(HOLES, np.nan, a), axis=0), (A,)),
    ("nanmean", lambda m, a: m.nanmean(m.where(HOLES, np.nan, a)), (A,)),
    ("nanvar", lambda m, a: m.nanvar(m.where(HOLES, np.nan, a), axis=1, ddof=1), (A,)),
    ("nanstd", lambda m, a: m.nanstd(m.where(HOLES, np.nan, a), keepdims=True), (A,)),
    ("nanmax", lambda m, a: m.nanmax(m.where(HOLES, np.nan, a), axis=1), (spread(3, 4),)),
    ("nanmin", lambda m, a: m.nanmin(m.where(HOLES, np.nan, a), axis=0), (spread(3, 4),)),
    ("cov", lambda m, a: m.cov(a), (A,)),
    ("cov of columns", lambda m, a, b: m.cov(a, b, rowvar=False, bias=True), (A, B)),
    ("cov of one variable", lambda m, a: m.cov(a, ddof=0), (V,)),
    ("corrcoef", lambda m, a: m.corrcoef(a), (A,)),
    ("ediff1d", lambda m, a: m.ediff1d(a, to_end=[1.0, 2.0], to_begin=0.5), (A,)),
    ("trapezoid", lambda m, y: m.trapezoid(y, dx=0.25), (A,)),
    ("trapezoid by coordinates", lambda m, y, x: m.trapezoid(y, x, axis=0), (A, normal(3))),
    ("trapezoid of paths", lambda m, y, x: m.trapezoid(y, x), (A, B)),
    ("gradient", lambda m, f: m.gradient(f), (V,)),
    ("gradient of a field", lambda m, f: list(m.gradient(f, 0.5, 2.0)), (A,)),
    ("gradient, exact for parabolas", lambda m, f: m.gradient(f, 0.5, axis=0, edge_order=2), (A,)),
    ("gradient at two points", lambda m, f: m.gradient(f, 0.5), (normal(2),)),
    ("gradient by coordinates", lambda m, f: m.gradient(f, UNEVEN, edge_order=2), (V,)),
    ("gradient by rows of coordinates", lambda m, f: m.gradient(f, UNEVEN, axis=0), (normal(5, 3),)),
    ("select", lambda m, a: m.select([HOLES, SIGNS], [a, a * a], 2.0), (A,)),
    ("polyval", lambda m, p, x: m.polyval(p, x), (normal(4), A)),
    ("linspace", lambda m, a, b: m.linspace(a, b, 4), (normal(), normal(seed=1))),
    ("linspace without its end", lambda m, a, b: m.linspace(a, b, 4, endpoint=False), (normal(), normal(seed=1))),
    ("linspace of rows", lambda m, a, b: m.linspace(a, b, 3, axis=1), (normal(4), normal(4, seed=1))),
    ("logspace", lambda m, a, b: m.logspace(a, b, 3, base=2.0), (normal(), normal(seed=1))),
    ("fix", lambda m, a: a * m.fix(3 * a), (A,)),
]

CASES = [Case(f"numpy.{label}", "", partial(call, mnp), args) for label, call, args in CALLS]
