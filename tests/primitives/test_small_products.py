"""Stacks of small matrices are multiplied by a loop of our own: all extents, layouts, stacks and ways of running it.

Each element is a sum of rounded products in their order, so up to four rows, columns and terms the bits are known.
"""

import itertools

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

SMALL = 4
EXTENTS = list(itertools.product(range(6), repeat=3))
STACKS = [
    ((), ()),
    ((1,), (1,)),
    ((5,), ()),
    ((), (5,)),
    ((2, 3), (3,)),
    ((3,), (2, 1)),
    ((2, 3), (2, 3)),
    ((0,), (1,)),
]
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300])
LAYOUTS = {
    "in order": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "every other row": lambda x: np.repeat(x, 2, -2)[..., ::2, :],
    "every other column": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "turned round": lambda x: np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1],
    "one row again and again": lambda x: np.broadcast_to(x[..., :1, :], x.shape) if x.shape[-2] else x,
}


def expected(a, b):
    """The sum of rounded products in their order."""
    found = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), a.dtype)
    for k in range(a.shape[-1]):
        found += a[..., :, k, None] * b[..., None, k, :]
    return found


def numbers(rng, shape, dtype, special):
    x = rng.normal(size=shape).astype(dtype)
    if special:
        with np.errstate(over="ignore", under="ignore"):
            x = np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape).astype(dtype), x)
    return x


def same(found, a, b, what):
    """The bits are known for small extents; else the error is that of few roundings."""
    with np.errstate(invalid="ignore", over="ignore"):
        exact = expected(a, b)
        size = expected(np.abs(a), np.abs(b))
    assert (found.shape, found.dtype) == (exact.shape, exact.dtype), what
    if max(a.shape[-2:] + b.shape[-2:]) <= SMALL and min(a.shape[-2:] + b.shape[-2:]) > 0:
        np.testing.assert_array_equal(found, exact, err_msg=str(what))
        zeros = found == 0
        assert (np.signbit(found) == np.signbit(exact))[zeros].all(), what
    else:
        finite = np.isfinite(size)
        assert (np.abs(found - exact)[finite] <= 8 * np.finfo(a.dtype).eps * size[finite]).all(), what


@pytest.mark.rotated("layout")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("stacks", STACKS)
def test_products_of_all_extents_are_right(dtype, layout, stacks):
    rng = np.random.default_rng(4)
    for m, k, n in EXTENTS:
        a = LAYOUTS[layout](numbers(rng, (*stacks[0], m, k), dtype, True))
        b = LAYOUTS[layout](numbers(rng, (*stacks[1], k, n), dtype, True))
        with np.errstate(invalid="ignore", over="ignore"):
            same(ops.matmul(Tensor(a), Tensor(b)).asnumpy(), a, b, (m, k, n))


@pytest.mark.rotated("shared")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stack", [3, 3000])
@pytest.mark.parametrize("shared", ["", "left", "right"])
def test_recorded_products_have_the_bits_of_eager_ones(dtype, stack, shared):
    """In regions over rows, for each sample, and where one factor is shared; on the way back, too."""
    rng = np.random.default_rng(6)
    for m, k, n in itertools.product((1, 2, 3, 4), repeat=3):
        a = rng.normal(size=(m, k) if shared == "left" else (stack, m, k)).astype(dtype)
        b = rng.normal(size=(k, n) if shared == "right" else (stack, k, n)).astype(dtype)
        f = lambda a, b: ops.matmul(a * 2, b * 0.5) * 2
        recorded, args = dg.jit(f), (Tensor(a), Tensor(b))
        axes = (None if shared == "left" else 0, None if shared == "right" else 0)
        for _ in range(3):
            found = recorded(*args).asnumpy()
            np.testing.assert_allclose(found, 2 * expected(a, b), 8 * np.finfo(dtype).eps, 8 * np.finfo(dtype).eps * k)
        if not shared:
            np.testing.assert_array_equal(found, f(*args).asnumpy())
            np.testing.assert_array_equal(found, dg.vmap(f, axes)(*args).asnumpy())
        slopes = dg.jit(dg.grad(lambda a, b, f=f: (f(a, b) ** 2).sum(), (0, 1)))
        for _ in range(3):
            by_a, by_b = slopes(*args)
        ct = 8.0 * expected(a, b).astype(np.float64)
        exact = [ct @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ ct]
        exact = [x.sum(0) if s == shared else x for x, s in zip(exact, ("left", "right"), strict=True)]
        for x, y in zip((by_a, by_b), exact, strict=True):
            np.testing.assert_allclose(
                x.asnumpy(), y, 200 * np.finfo(dtype).eps, 50 * np.finfo(dtype).eps * np.abs(y).max()
            )
