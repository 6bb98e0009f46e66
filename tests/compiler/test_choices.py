"""Choices between elements in recorded programs: each size of an element, each way in which operands lie."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

N = 1003
FORMS = {
    "both": lambda a, b: (a, b),
    "one for all": lambda a, b: (a, b[:1]),
    "the other for all": lambda a, b: (a[:1], b),
    "with strides": lambda a, b: (a[::-1].copy()[::-1], b[::-1].copy()[::-1]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64, np.int32, np.bool_])
def test_where(dtype, form):
    rng = np.random.default_rng(0)
    a, b = FORMS[form](*(rng.integers(-9, 9, (2, N)) * (np.float32(0.5) if dtype != np.bool_ else 1)).astype(dtype))
    mask = rng.integers(0, 2, N).astype(bool)
    recorded = dg.jit(lambda c, x, y: ops.where(c, x, y))
    for _ in range(3):
        found = recorded(Tensor(mask), Tensor(a), Tensor(b)).asnumpy()
    np.testing.assert_array_equal(found, np.where(mask, a, b))
    assert found.dtype == dtype
