"""Sorting, largest elements, medians, and functions given by samples."""

import numpy as np

from cases import Case, normal, positive, spread
from dualgrad import Tensor, ops

TIES = np.array([[2.0, 1.0, 2.0, 1.0, 2.0], [3.0, 3.0, 3.0, 3.0, 0.0]])
VALUES = normal(5)
GRID = np.array([-1.0, 0.0, 0.5, 2.0, 3.5])
INSIDE = np.array([[-0.7, 0.2], [1.1, 3.3]])
AT_POINTS = np.array([-1.0, 0.5, 3.5])

CASES = [
    Case("sort", "vector", ops.sort, (spread(7),)),
    Case("sort", "first axis", lambda x: ops.sort(x, dim=0), (spread(4, 3),)),
    Case("sort", "descending", lambda x: ops.sort(x, -2, True), (spread(2, 4, 3),)),
    Case("sort", "ties", lambda x: ops.sort(x, descending=True), (TIES,), smooth=False),
    Case("Sort", "", ops.Sort(0, True), (spread(4, 2),)),
    Case("argsort", "as an index", lambda x: ops.gather_elements(x * x, 1, ops.argsort(x)), (spread(2, 4),)),
    Case("topk", "largest", lambda x: ops.topk(x, 3), (spread(2, 6),)),
    Case("topk", "smallest, first axis", lambda x: ops.topk(x, 2, 0, largest=False), (spread(5, 2),)),
    Case("topk", "ties", lambda x: ops.topk(x, 2), (TIES,), smooth=False),
    Case("TopK", "", lambda x: ops.TopK()(x, 2), (spread(3, 4),)),
    Case("median", "odd", ops.median, (spread(3, 5),)),
    Case("median", "even", lambda x: ops.median(x, 0, True), (spread(4, 3),)),
    Case("median", "all", lambda x: ops.median(x, None), (spread(3, 3),)),
    Case("median", "ties", ops.median, (TIES,), smooth=False),
    Case("median", "NumPy's", lambda x: np.median(x, (0, 2)), (spread(2, 3, 4),)),
    Case("searchsorted", "as an index", lambda x, v: x[ops.searchsorted(ops.stop_gradient(x), v)] * v, (GRID, INSIDE)),
    Case("diff", "second", lambda x: ops.diff(x, 2), (normal(2, 5),)),
    Case("diff", "ends", lambda x, a, b: ops.diff(x, 1, 0, a, b), (normal(3, 2), normal(1, 2), normal(2, 2, seed=1))),
    Case("trapz", "unit steps", lambda y: ops.trapz(y, dim=0), (normal(4, 2),)),
    Case("trapz", "points", lambda y, x: ops.trapz(y, x, dim=0), (normal(4, 2), spread(4))),
    Case("trapezoid", "points of each row", ops.trapezoid, (normal(2, 4), spread(2, 4))),
    Case("trapezoid", "width", lambda y, h: ops.trapezoid(y, dx=h), (normal(3), positive(1).reshape(()))),
    Case("interp", "everything", ops.interp, (INSIDE, GRID, VALUES)),
    Case("interp", "points in any order", ops.interp, (INSIDE, GRID[::-1].copy(), VALUES)),
    Case("interp", "outside", ops.interp, (np.array([-3.0, 0.1, 7.0]), GRID, VALUES)),
    Case(
        "interp",
        "outside, given",
        lambda x, xp, fp, a, b: ops.interp(x, xp, fp, a, b),
        (np.array([-3.0, 0.1, 7.0]), GRID, VALUES, np.array(0.3), np.array(0.7)),
    ),
    Case("interp", "period", lambda x, xp, fp: ops.interp(x, xp, fp, period=5.0), (INSIDE + 6.1, GRID + 0.3, VALUES)),
    Case("interp", "one point", ops.interp, (normal(3), np.array([9.0]), normal(1))),
    Case(
        "interp", "at points", lambda x, fp: ops.interp(x, Tensor(GRID, x.dtype), fp), (AT_POINTS, VALUES), smooth=False
    ),
]
