"""Running sums, products, logarithms of sums and extremes."""

import numpy as np

from cases import Case, normal, spread
from dualgrad import ops

ZEROS = np.array([[0.0, 2.0, 3.0, 0.0, -1.5], [1.0, 0.0, 0.5, 2.0, -1.0]])
FAR = np.array([700.0, -700.0, 710.0, 0.0, 709.0, -40.0])
GAPS = np.array([True, True, False, True, False])
TIES = np.array([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, -1.0, 2.0, 2.0]])


def settings(name):
    """A primitive class with each of its settings."""
    for exclusive in (False, True):
        for reverse in (False, True):
            op = getattr(ops, name)(exclusive, reverse)
            yield Case(name, f"{exclusive} {reverse}", lambda x, op=op: op(x, 1), (ZEROS,))


def running(name):
    """Running extremes."""
    function = getattr(ops, name)
    yield Case(name, "vector", lambda x: function(x, 0), (spread(9),))
    yield Case(name, "first axis", lambda x: function(x, -2), (spread(5, 3),))
    yield Case(name, "ties", lambda x: function(x, 1), (TIES,), smooth=False)


CASES = [
    Case("cumsum", "last axis", lambda x: ops.cumsum(x, -1), (normal(2, 5),)),
    Case("cumsum", "flat", ops.cumsum, (normal(2, 3),)),
    *settings("CumSum"),
    *[Case("cumprod", f"length {n}", lambda x: ops.cumprod(x, 0), (normal(n),)) for n in (1, 2, 3, 7, 8)],
    Case("cumprod", "middle axis", lambda x: ops.cumprod(x, -2), (normal(2, 5, 3),)),
    Case("cumprod", "flat", ops.cumprod, (normal(2, 3),)),
    Case("cumprod", "zeros", lambda x: ops.cumprod(x, 1), (ZEROS,)),
    *settings("CumProd"),
    Case("logcumsumexp", "vector", lambda x: ops.logcumsumexp(x, 0), (normal(7),)),
    Case("logcumsumexp", "middle axis", lambda x: ops.logcumsumexp(x, 1), (normal(2, 4, 2),)),
    Case("logcumsumexp", "far apart", lambda x: ops.logcumsumexp(x, 0) / 100, (FAR,)),
    Case("logcumsumexp", "equal", lambda x: ops.logcumsumexp(x, 0), (np.zeros(5),)),
    Case("logcumsumexp", "nothing yet", lambda x: ops.exp(ops.logcumsumexp(x * x - 1, 0)), (np.array([0.5, 2.0]),)),
    Case("logcumsumexp", "-inf", lambda x: ops.logcumsumexp(ops.where(GAPS, -np.inf, x), 0)[2:], (normal(5),)),
    *running("cummax"),
    *running("cummin"),
    Case("Cummax", "", ops.Cummax(1), (spread(2, 6),)),
    Case("Cummin", "", ops.Cummin(1), (spread(2, 6),)),
]
