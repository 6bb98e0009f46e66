"""Powers of integers: right, or a ValueError, on every way to the kernel and for every number of elements."""

import numpy as np
import pytest
from support import assert_raises

import dualgrad as dg
from dualgrad import Tensor, ops

SIGNED = ["int8", "int16", "int32", "int64"]
TYPES = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
# Few elements, more than a loop keeps the interpreter for, and more than a single thread gets of a region.
SIZES = [1, 3, 20_000, 1_000_000]
WAYS = {
    "operator": lambda x, y: x**y,
    "function": ops.pow,
    "class": lambda x, y: ops.Pow()(x, y),
    "vmap": lambda x, y: dg.vmap(lambda a, b: a**b)(x, y),
    "jit": dg.jit(lambda x, y: (x + x - x) ** y),
}


def operands(dtype, size, exponents):
    base = np.arange(size) % 3 + 1
    return base.astype(dtype), np.resize(exponents, size).astype(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("way", WAYS)
def test_powers_of_integers(way, dtype, size):
    x, y = operands(dtype, size, [0, 3, 1, 2])
    for _ in range(3):
        found = WAYS[way](Tensor(x), Tensor(y)).asnumpy()
        assert found.dtype == x.dtype
        assert (found == x**y).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("way", WAYS)
def test_a_negative_power_is_refused_wherever_it_stands(way, dtype, size):
    x, y = operands(dtype, size, [1])
    for _ in range(3):
        WAYS[way](Tensor(x), Tensor(y))
    for place in {0, size // 2, size - 1}:
        wrong = y.copy()
        wrong[place] = -2
        assert_raises(ValueError, lambda: WAYS[way](Tensor(x), Tensor(wrong)), "pow", "-2", "float")  # noqa: B023
    assert (WAYS[way](Tensor(x), Tensor(y)).asnumpy() == x).all()


def test_other_layouts():
    x, y = np.arange(1, 7, dtype=np.int32).reshape(2, 3), np.array([[2], [3]], np.int32)
    assert (ops.pow(Tensor(x).T, Tensor(y).T).asnumpy() == x.T**y.T).all()
    assert_raises(ValueError, lambda: Tensor(x).T ** Tensor(-y).T, "pow", "-3")
