"""Elementwise operators that are composed, or have corners; all rows of the table are tested by themselves."""

import numpy as np

from cases import Case, normal, positive
from dualgrad import ops

NAN, INF = float("nan"), float("inf")
HOLES, HALF, INFINITE = (  # float16, so that they take the type of the tensor beside them
    np.array(numbers, np.float16) for numbers in ([NAN, 0.0, NAN], [1.0, NAN, INF], [INF, 1.0, 2.0, 3.0])
)
ZEROS = np.array([0.0, 2.0, 0.0, -1.5])

CASES = [
    Case("logaddexp", "broadcast", ops.logaddexp, (normal(2, 3), normal(3, seed=1))),
    Case("logaddexp", "far apart", lambda x, y: ops.logaddexp(x, y * 50), (normal(4), normal(4, seed=1))),
    Case("logaddexp2", "broadcast", ops.logaddexp2, (normal(2, 3), normal(2, 1, seed=1))),
    Case("sinc", "", ops.sinc, (normal(2, 3),)),
    Case("sinc", "zeros and whole numbers", ops.sinc, (np.array([0.0, 1.0, -2.0]),)),
    Case("sinc", "of a square", lambda x: ops.sinc(x * x), (np.array([0.0, 0.5, 1.1]),)),
    Case("copysign", "a tensor and a number", lambda x: ops.copysign(x, -1.0), (normal(3),)),
    Case("copysign", "both", lambda x, y: ops.copysign(x * y, y), (normal(3), normal(3, seed=1))),
    Case("fmax", "beside nan", lambda x: ops.fmax(x, HOLES), (normal(3),)),
    Case("fmax", "ties", lambda x, y: ops.fmax(x, y) ** 2, (ZEROS, ZEROS), smooth=False),
    Case("fmin", "beside nan", lambda x: ops.fmin(HOLES, x), (normal(3),)),
    Case("fmin", "ties", lambda x, y: ops.fmin(x, y) ** 2, (ZEROS, ZEROS), smooth=False),
    Case("heaviside", "the value at 0", lambda x, y: ops.heaviside(x, y * y), (ZEROS, normal(4)), smooth=False),
    Case("ldexp", "fractions", ops.ldexp, (normal(3), normal(3, seed=1))),
    Case("xlogy", "", ops.xlogy, (normal(3), positive(3))),
    Case("xlogy", "a factor of 0", lambda x, y: ops.xlogy(x * y, y), (np.array([0.0, 1.0]), positive(2))),
    Case("xlogy", "masked", ops.xlogy, (np.zeros(2), np.array([0.0, -1.0])), smooth=False),
    Case("xdivy", "", ops.Xdivy(), (normal(3), positive(3))),
    Case("xdivy", "masked", ops.xdivy, (np.zeros(2), np.array([0.0, 2.0])), smooth=False),
    Case("DivNoNan", "masked", ops.DivNoNan(), (normal(4), ZEROS), smooth=False),
    Case("MulNoNan", "masked", lambda x, y: ops.MulNoNan()(x * INFINITE, y), (positive(4), ZEROS),
         smooth=False),
    Case("Mod", "", ops.Mod(), (np.array([7.3, -7.3]), np.array([2.0, 3.0]))),
    Case("nan_to_num", "", lambda x: ops.nan_to_num(x * HALF, 1.0, 2.0, 3.0), (normal(3),), smooth=False),
    Case("frac", "", lambda x: ops.frac(x) ** 3, (np.array([1.3, -2.6]),)),
    Case("deg2rad", "", lambda x: ops.sin(ops.deg2rad(x)), (normal(3),)),
    Case("rad2deg", "", lambda x: ops.sin(ops.rad2deg(x) / 50), (normal(3),)),
    Case("log_softmax", "one leads", lambda x: ops.log_softmax(x * 10), (np.array([[4.0, 0.0, 1.0], [0.3, 0, 0.1]]),)),
    Case("softmax", "one leads", lambda x: ops.softmax(x * 10, 0), (np.array([4.0, 0.0, 1.0]),)),
]  # fmt: skip
