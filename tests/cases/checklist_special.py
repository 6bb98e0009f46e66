"""Special functions and choices of one or two elements, over whole domains and at special points."""

import numpy as np

from cases import Case, normal, positive
from cases.checklist import PAIRS, SHAPES, between
from dualgrad import ops

UNARY = {
    "bessel_i0": ((-3.0, 3.0), [0.0, 5.0]),
    "bessel_i1": ((-3.0, 3.0), [0.0, 5.0]),
    "bessel_j0": ((0.2, 5.0), [0.0, 20.0]),
    "digamma": ((0.3, 2.0), [20.0]),
    "erfinv": ((-0.9, 0.9), [0.0]),
    "i0": ((-3.0, 3.0), [0.0]),
    "lgamma": ((0.3, 2.0), [1.0, 2.0, 20.0]),
    "nan_to_num": ((-2.0, 2.0), [0.0]),
    "sinc": ((-2.0, 2.0), [0.5]),
}
BINARY = {
    "fmax": (normal, positive),
    "fmin": (normal, positive),
    "copysign": (normal, positive),
    "igamma": (positive, positive),
    "logaddexp": (normal, normal),
    "logaddexp2": (normal, normal),
    "xdivy": (normal, positive),
}
CASES = [
    *[
        Case(name, f"of shape {shape}", getattr(ops, name), (between(*limits, *shape),))
        for name, (limits, _) in UNARY.items()
        for shape in SHAPES
    ],
    *[
        Case(name, "at special values", getattr(ops, name), (np.array(points),), narrow=("float32",))
        for name, (_, points) in UNARY.items()
    ],
    *[
        Case(name, f"shapes {a} and {b}", getattr(ops, name), (first(*a, seed=3), second(*b, seed=4)))
        for name, (first, second) in BINARY.items()
        for a, b in PAIRS
    ],
    *[Case("polygamma", f"of order {n}", lambda x, n=n: ops.polygamma(n, x), (positive(2, 3),)) for n in (0, 1, 2)],
]
