"""Covariances and correlations; differences and polynomials whose parameters are differentiated, too."""

import numpy as np

from cases import Case, normal, positive
from cases.complex import of_parts
from dualgrad import ops

TIMES = np.array([1, 2, 1, 3])

CASES = [
    Case("cov", "", ops.cov, (normal(2, 4),)),
    Case("cov", "one variable", lambda x: ops.cov(x, correction=0), (normal(4),)),
    Case("cov", "both weights", lambda x, w: ops.cov(x, fweights=TIMES, aweights=w), (normal(2, 4), positive(4))),
    Case("cov", "weights, no correction", lambda x, w: ops.cov(x, correction=0, aweights=w),
         (normal(2, 4), positive(4))),
    Case("cov", "complex", of_parts(ops.cov), (normal(2, 3), normal(2, 3, seed=1)), narrow=("float32",)),
    Case("np.cov", "of columns and more rows", lambda x, y: np.cov(x, y, rowvar=False), (normal(4, 2), normal(4, 1))),
    Case("np.corrcoef", "", np.corrcoef, (normal(3, 4),)),
    Case("np.corrcoef", "perfect", lambda x: np.corrcoef(x, 3.0 * x), (normal(4),),
         narrow=()),  # derivatives are zero by cancellation
    Case("np.corrcoef", "complex", of_parts(np.corrcoef), (normal(2, 3), normal(2, 3, seed=1)), narrow=("float32",)),
    Case("np.gradient", "by coordinates", lambda f, x: np.gradient(f, ops.cumsum(x, 0), axis=0),
         (normal(4, 2), positive(4))),
    Case("np.gradient", "by a step", lambda f, h: np.gradient(f, h, edge_order=2), (normal(4), positive())),
    Case("np.polyval", "", np.polyval, (normal(4), normal(2, 2))),
]  # fmt: skip
