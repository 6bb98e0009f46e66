"""Sums, means, products, extremes, norms over axes."""

import numpy as np

from cases import Case, normal, positive, spread
from dualgrad import ops

AXES = ((), 0, -1, (0, 2), (2, -3))
"""All axes, single ones, several of them in any order."""
ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, -1.5, 0.0]])
TIES = np.array([[3.0, 1.0, 3.0, 3.0], [-2.0, -2.0, -2.0, -2.0]])
ROW_OF_ZEROS = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
HOLES = np.array([[np.nan, 1.0, 2.0], [3.0, np.nan, 0.5]])
FAR = np.array([[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -1000.5]])


def along_axes(name, data, keeps=("keepdims", "keep_dims"), **settings):
    """A function over each choice of axes, and its primitive class's keep_dims."""
    function = getattr(ops, name)
    for k, axes in enumerate(AXES):
        keep = {keeps[k % 2]: bool(k % 2)}
        yield Case(name, f"axes {axes}", lambda x, a=axes, s=keep: function(x, a, **s, **settings), (data,))


CASES = [
    *along_axes("sum", normal(2, 3, 4)),
    *along_axes("nansum", normal(2, 3, 4)),
    *along_axes("mean", normal(2, 3, 4)),
    *along_axes("amax", spread(2, 3, 4)),
    *along_axes("amin", spread(2, 3, 4)),
    *along_axes("prod", positive(2, 3, 2)),
    *along_axes("std", normal(2, 3, 4)),
    *along_axes("std", normal(2, 3, 4), ddof=1),
    *along_axes("var", normal(2, 3, 4)),
    *along_axes("var", normal(2, 3, 4), ddof=1),
    *along_axes("std_mean", normal(2, 3, 4)),
    *along_axes("var_mean", normal(2, 3, 4), ddof=1),
    *along_axes("logsumexp", normal(2, 3, 4)),
    Case("ReduceSum", "", lambda x: ops.ReduceSum(True)(x, 1), (normal(2, 3),)),
    Case("ReduceSum", "nothing", lambda x: ops.ReduceSum(skip_mode=True)(x, ()), (normal(2, 3),)),
    Case("ReduceMean", "", lambda x: ops.ReduceMean(True)(x, (0, 1)), (normal(2, 3),)),
    Case("ReduceMax", "", lambda x: ops.ReduceMax()(x, 0), (spread(2, 3),)),
    Case("ReduceMin", "", lambda x: ops.ReduceMin(True)(x), (spread(2, 3),)),
    Case("ReduceProd", "", lambda x: ops.ReduceProd()(x, 1), (ZEROS,)),
    Case("nansum", "holes", lambda x: ops.nansum(ops.where(np.isnan(HOLES), np.nan, x), 0), (normal(2, 3),)),
    Case("max", "all", ops.max, (spread(2, 3),)),
    Case("max", "axis", lambda x: ops.max(x, 1, True), (spread(2, 3),)),
    Case("min", "all", ops.min, (spread(2, 3),)),
    Case("min", "axis", lambda x: ops.min(x, -2), (spread(2, 3),)),
    Case("aminmax", "first axis", ops.aminmax, (spread(3, 2),)),
    Case("aminmax", "all", lambda x: ops.aminmax(x, axis=None, keepdims=True), (spread(3, 2),)),
    *[Case(f.__name__, "no spread", lambda x, f=f: f(x, 1), (TIES[:, 2:],), smooth=False, order=1)
      for f in (ops.std, ops.std_mean)],
    *[Case("norm", f"zeros, {p}", lambda x, p=p: ops.norm(x, p, 1), (ROW_OF_ZEROS,), smooth=False, order=1)
      for p in (None, 1, 3, np.inf)],
    Case("amax", "ties", lambda x: ops.amax(x, 1), (TIES,), smooth=False),
    Case("amin", "ties", lambda x: ops.amin(x, 1), (TIES,), smooth=False),
    Case("max", "ties", lambda x: ops.max(x, 1), (TIES,), smooth=False),
    Case("aminmax", "ties", lambda x: ops.aminmax(x, axis=1), (TIES,), smooth=False),
    Case("prod", "zeros", lambda x: ops.prod(x, 1), (ZEROS,)),
    Case("prod", "odd, zeros", ops.prod, (np.array([0.0, 2.0, 0.0, 3.0, 0.5, 1.5, 0.7]),)),
    Case("logsumexp", "far apart", lambda x: ops.logsumexp(x, 1) / 1000, (FAR,)),
    Case("argmax", "as an index", lambda x: ops.sin(x[ops.argmax(x)]), (spread(5),)),
    Case("argmin", "as an index", lambda x: ops.sin(x[ops.argmin(x)]), (spread(5),)),
    Case("Argmax", "as an index", lambda x: ops.sin(x[ops.Argmax()(x)]), (spread(5),)),
    Case("Argmin", "as an index", lambda x: ops.sin(x[ops.Argmin()(x)]), (spread(5),)),
    Case("all", "as a mask", lambda x: ops.where(ops.all(x > 0, 1), x[:, 0] * x[:, 1], x[:, 1]), (normal(4, 2),)),
    Case("any", "as a mask", lambda x: ops.where(ops.any(x > 0, 1), x[:, 0] * x[:, 1], x[:, 1]), (normal(4, 2),)),
    Case("ReduceAll", "as a mask", lambda x: ops.where(ops.ReduceAll()(x > 9), x, x * x), (normal(3),)),
    Case("ReduceAny", "as a mask", lambda x: ops.where(ops.ReduceAny()(x > 9), x, x * x), (normal(3),)),
    Case("count_nonzero", "as a factor", lambda x: x * x * ops.count_nonzero(x > 0), (normal(5),)),
    Case("norm", "all", ops.norm, (normal(2, 3),)),
    *[
        Case("norm", f"vectors, {p}", lambda x, p=p: ops.norm(x, p, dim=-1, keepdim=True), (normal(2, 3),))
        for p in (None, 1, 2, 3, 2.5, -1, np.inf, -np.inf)
    ],
    *[
        Case("norm", f"matrices, {p}", lambda x, p=p: ops.norm(x, p, (2, 0)), (normal(3, 2, 4),))
        for p in ("fro", 1, -1, np.inf, -np.inf)
    ],
    *[Case("LpNorm", f"{p}", ops.LpNorm((0, -1), p, True), (normal(2, 3, 2),)) for p in (1, 2, 3)],
]  # fmt: skip
