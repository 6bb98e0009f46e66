"""Special functions: both sides of the places where their kernels change method, zeros, negative arguments."""

import numpy as np

from cases import Case, normal, positive
from dualgrad import ops

BELOW = np.array([-0.3, -1.5, -2.7, -0.504, -12.25])  # between the poles of the gamma function
SHAPES = np.array([0.03, 0.4, 1.0, 2.0, 2.5, 11.0, 60.0])  # of gamma distributions, a
UPPER = np.array([0.2, 0.35, 1.5, 1.0, 9.0, 11.5, 45.0])
EXPONENTS, WHOLE = (  # float16, so that they take the type of the tensor beside them
    np.array(numbers, np.float16) for numbers in ([[1.5], [4.0]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
)

AROUND = np.array([-3.0, 0.0, 9.0])
ABOVE = np.array([0.7, 2.0, 9.0])

CASES = [
    Case("erfinv", "", ops.erfinv, (np.array([-0.95, -0.5, 0.0, 0.3, 0.8]),)),
    Case("erfcinv", "", ops.erfcinv, (np.array([0.05, 0.4, 1.0, 1.5, 1.9]),)),
    Case("lgamma", "", ops.lgamma, (positive(2, 3),)),
    Case("lgamma", "zeros, and below 0", ops.lgamma, (np.concatenate([[1.0, 2.0], BELOW]),)),
    Case("digamma", "", ops.digamma, (np.array([0.4, 1.4616, 3.0, 9.0]),)),
    Case("digamma", "below 0", ops.digamma, (BELOW,)),
    Case("polygamma", "orders in a tensor", lambda x: ops.polygamma(np.array([[0], [1], [3]]), x), (positive(4),)),
    Case("polygamma", "below 0", lambda x: ops.polygamma(2, x), (BELOW[:4],), narrow=("float32",)),  # steep
    Case("zeta", "", lambda q: ops.zeta(EXPONENTS, q), (positive(3),)),
    Case("mvlgamma", "", lambda x: ops.mvlgamma(x, 3), (2 + positive(2, 2),)),
    Case("xlog1py", "", ops.xlog1py, (normal(3), positive(3))),
    Case("igamma", "by both", ops.igamma, (SHAPES, UPPER)),
    Case("igamma", "broadcast", ops.igamma, (positive(2, 1), positive(3, seed=1))),
    Case("igammac", "by both", ops.igammac, (SHAPES, UPPER)),
    Case("igamma", "x of 0, by x", lambda x: ops.igamma(WHOLE, x), (np.zeros(7),), smooth=False),
    Case("bessel_j", "orders", lambda x: ops.bessel_j(np.array([[0], [1], [-2], [5]]), x), (AROUND,)),
    Case("bessel_y", "orders", lambda x: ops.bessel_y(np.array([[0], [1], [-2]]), x), (ABOVE,)),
    Case("bessel_i", "orders", lambda x: ops.bessel_i(np.array([[0], [1], [-2]]), x), (np.array([-3.0, 0.0, 2.5]),)),
    Case("bessel_k", "orders", lambda x: ops.bessel_k(np.array([[0], [1], [-2]]), x), (ABOVE,)),
    *(
        Case(name, "", getattr(ops, name), (np.array([-4.0, -0.5, 0.0, 1.0, 6.0]),))
        for name in ("bessel_j0", "bessel_j1", "bessel_i0", "bessel_i1")
    ),
    *(
        Case(name, "", getattr(ops, name), (np.array([-4.0, -0.5, 1.0, 25.0, 150.0]),))
        for name in ("bessel_i0e", "bessel_i1e")
    ),
    *(
        Case(name, "", getattr(ops, name), (np.array([0.6, 1.0, 4.0, 30.0]),))
        for name in ("bessel_y0", "bessel_y1", "bessel_k0", "bessel_k1", "bessel_k0e", "bessel_k1e")
    ),
]
