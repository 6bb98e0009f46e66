"""Elementwise primitives on operands that lie in memory in every way, against NumPy."""

import itertools

import numpy as np
import pytest

from dualgrad import Tensor, ops

# name: (what is stored for a result of some shape, how it is viewed)
LAYOUTS = {
    "contiguous": (lambda s: s, lambda x, s: x),
    "one number": (lambda s: (), lambda x, s: x),
    "one number, all axes": (lambda s: (1,) * len(s), lambda x, s: x),
    "one number, repeated": (lambda s: (), lambda x, s: ops.broadcast_to(x, s)),
    "row": (lambda s: s[-1:], lambda x, s: x),
    "row, repeated": (lambda s: s[-1:], lambda x, s: ops.broadcast_to(x, s)),
    "column": (lambda s: (*s[:-1], 1), lambda x, s: x),
    "column, repeated": (lambda s: (*s[:-1], 1), lambda x, s: ops.broadcast_to(x, s)),
    "first axis alone": (lambda s: (s[0], *(1 for _ in s[1:])), lambda x, s: x),
    "transposed": (lambda s: s[::-1], lambda x, s: x.T),
    "rows backwards": (lambda s: s, lambda x, s: x[::-1]),
    "columns backwards": (lambda s: s, lambda x, s: x[..., ::-1]),
    "every other row": (lambda s: (2 * s[0], *s[1:]), lambda x, s: x[::2]),
    "every other column": (lambda s: (*s[:-1], 2 * s[-1]), lambda x, s: x[..., ::2]),
}
SHAPES = [(5,), (2, 3), (9, 2), (70, 3), (8, 1), (3, 9, 2), (9, 3, 4), (2, 3, 1, 2)]


def operands(shape, names, dtype):
    rng = np.random.default_rng(len(shape))
    found = []
    for name in names:
        stored, viewed = LAYOUTS[name]
        found.append(viewed(Tensor(rng.uniform(0.5, 2.0, stored(shape)).astype(dtype)), shape))
    return found


def assert_same(found, expected, what):
    assert found.dtype == str(expected.dtype), what
    assert found.shape == expected.shape, what
    np.testing.assert_allclose(
        found.asnumpy(), expected, rtol=1e-6 if expected.dtype == "float32" else 1e-14, err_msg=what
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_two_operands(shape, dtype):
    for names in itertools.product(LAYOUTS, repeat=2):
        x, y = operands(shape, names, dtype)
        a, b = x.asnumpy(), y.asnumpy()
        assert_same(x - y, a - b, f"difference of {names}")
        assert_same(ops.atan2(x, y), np.arctan2(a, b), f"atan2 of {names}")
        assert ((x > y).asnumpy() == (a > b)).all(), f"comparison of {names}"


@pytest.mark.parametrize("shape", [(5,), (9, 2), (3, 9, 2)], ids=str)
def test_three_operands(shape):
    for names in itertools.product(LAYOUTS, repeat=3):
        x, y, z = operands(shape, names, "float64")
        a, b, c = x.asnumpy(), y.asnumpy(), z.asnumpy()
        assert_same(ops.where(x > 1.0, y, z), np.where(a > 1.0, b, c), f"choice of {names}")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_operand(shape):
    for name in LAYOUTS:
        (x,) = operands(shape, [name], "float64")
        assert_same(ops.exp(x), np.exp(x.asnumpy()), name)
        assert_same(x.astype("float32"), x.asnumpy().astype("float32"), name)
