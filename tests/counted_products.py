"""Matrix products in planned programs, for tests of the passes that save them."""

import numpy as np

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.programs._listing import Listing, recording_of
from dualgrad.programs._tokens import name_of


def shapes_of_products(fn, *arrays):
    """For each product in the program of a function, as it is planned, the shapes of its operands."""
    layout = recording_of(fn, tuple(Tensor(a) for a in arrays), {}).layout()
    p = Listing.of(layout["program"])
    return [tuple(p.shapes[slot] for slot in ins) for op, _, ins, _ in p.steps if name_of(op) == "matmul"]


def products(fn, *arrays):
    """The number of matrix products in the program of a function, as it is planned."""
    return len(shapes_of_products(fn, *arrays))


def check(fn, *arrays, rtol=1e-12):
    """Compare a recorded function with eager execution."""
    args = [Tensor(a) for a in arrays]
    expected = fn(*args)
    recorded = dg.jit(fn)
    for _ in range(3):
        for found, e in zip(recorded(*args), expected, strict=True):
            np.testing.assert_allclose(found.asnumpy(), e.asnumpy(), rtol=rtol, atol=rtol)
