"""A loop with steps of several kinds."""

import numpy as np
from support import f64

from dualgrad import Parameter, ops

N = 7
W = Parameter(f64(0.7), name="w")
XS = f64(np.linspace(0.5, 1.5, N))


def mixed(loop, recomputed, root):
    """A loop in a loop, with blocks that are recomputed and roots inside, all of which read what is around them."""

    def f(x):
        b = ops.exp(x * 0.3)

        def outer(c, xi):
            def inner(d, _):
                return recomputed(lambda d: ops.sin(d * b * xi) + W * d)(d), d * W

            d, ys = loop(inner, c, None, 3)
            r = root(d)
            return r + 0.1 * c, ys.sum() + r

        c, ys = loop(outer, x, XS[:4], 4)
        return recomputed(lambda c: c * b * W)(c) + (ys**2).sum()

    return f
