"""Names of MindSpore's numpy module that NumPy's rules do not cover: membership, draws, cube roots of any sign."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import ops

pytestmark = pytest.mark.usefixtures("mode")
NUMBERS = np.array([[1.0, np.nan, -0.0], [2.5, np.inf, 7.0]])


@pytest.mark.parametrize("among", [[1.0, 7.0, 0.0], [], [np.inf], [[2.5], [np.nan]]], ids=str)
@pytest.mark.parametrize("invert", [False, True])
def test_membership(among, invert):
    expected = np.isin(NUMBERS, among, invert=invert)
    assert_close(mnp.isin(f64(NUMBERS), among, invert=invert), expected)
    assert_close(np.isin(f64(NUMBERS), np.array(among), invert=invert, kind="sort"), expected)
    assert_close(mnp.isin(mnp.arange(6), mnp.array([5, 2])), np.isin(np.arange(6), [5, 2]))
    assert_close(dg.vmap(lambda row: mnp.isin(row, among, invert=invert))(f64(NUMBERS)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cube_roots(dtype):
    x = np.array([-8.0, -0.3, 1e-30, 27.0, 1e20], dtype)
    roots = np.sign(x) * np.abs(x.astype(np.longdouble)) ** (np.longdouble(1) / 3)
    tensor = dg.Tensor(x)
    assert_close(mnp.cbrt(tensor), roots.astype(dtype))
    if dtype == np.float64:
        assert_close(dg.grad(mnp.cbrt)(tensor), roots**-2 / 3)
        assert_close(repeated_grad(mnp.cbrt, 2)(tensor), -2 * roots**-5 / 9)
        assert_close(repeated_grad(mnp.cbrt, 3)(tensor), 10 * roots**-8 / 27)
        assert_close(dg.jvp(np.cbrt, tensor, ops.ones_like(tensor))[1], roots**-2 / 3)
        assert_close(dg.vmap(dg.grad(mnp.cbrt))(tensor), roots**-2 / 3)
    assert_close(dg.grad(mnp.cbrt)(f32([0.0])), np.array([np.inf]))
    assert_close(mnp.cbrt(dg.Tensor([27, -1])), np.array([3.0, -1.0]), dtype=dg.float32)


def test_draws():
    dg.set_seed(2)
    assert {*mnp.randint(-2, 1, (100,)).tolist()} == {-2, -1, 0}
    assert {*mnp.randint(2, shape=(50,), dtype=dg.int64).tolist()} == {0, 1}
    assert mnp.randint(5).shape == (1,)
    assert mnp.randint(5, shape=3).dtype == dg.int32
    assert_raises(ValueError, lambda: mnp.randint(3, 3), "3 below 3")
    assert_raises(ValueError, lambda: mnp.randint(0), "0 below 0")
    assert_raises(ValueError, lambda: np.isin(f64([1.0]), [1.0], kind="hash"), "hash", "sort")
