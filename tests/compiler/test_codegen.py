"""Instructions as they are made of operations: what their operands need is there, whatever the sizes.

Recorded results are compared with eager execution.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import verify

LENGTHS = (4095, 4096, 4097, 9000)

#: shapes whose axis 0, 1 or 2 is summed over, which is the long one
LONG = {"first": (lambda n: (n, 3), 0), "middle": (lambda n: (2, n, 3), 1), "last": (lambda n: (3, n), 1)}


def agrees(f, *arrays):
    args = [Tensor(a) for a in arrays]
    recorded = dg.jit(f)
    assert verify(f)(*args) >= 0
    for _ in range(3):
        found, expected = recorded(*args).asnumpy(), f(*args).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("axis", LONG)
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_of_any_length(n, axis):
    """As products with ones, of which there are as many as are needed."""
    shape, k = LONG[axis]
    x = np.random.default_rng(n).normal(size=shape(n))
    agrees(lambda x: ops.sum(ops.sin(x) * 2.0, k), x)
