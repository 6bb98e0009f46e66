"""Products with narrow factors run in loops of our own inside of programs: every width, depth and layout of those.

Compared with products of longer numbers, within the bound of sums of k rounded products (Higham, Accuracy and Stability
of Numerical Algorithms, section 3.1): |error| <= k u |a| |b|. The same programs run once more by the library's loops.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

# Below one vector, at and beside whole vectors of both lengths and panels of three, at the largest widths, beyond them.
WIDTHS = (1, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 25, 31, 32, 33, 49, 64, 65, 100, 130, 257, 513)
LEVELS = ("highest", "x86-64-v3", "baseline")  # of instructions
DEPTHS = (1, 2, 3, 16, 20, 255, 256, 257, 600)
LONGER = {np.float32: np.float64, np.float64: np.longdouble}


def rows(x, w):
    """The rows of a block times a matrix."""
    return ops.matmul(x * 2, w) * 2


def sums(x, y):
    """The rows of a block are added up."""
    return ops.matmul((x * 2).T, y * 2)


def factors(rng, form, layout, dtype, m, k, n):
    """Both arguments of a form for a product (m, k) x (k, n), the second in order or as the transpose of one."""
    a = rng.normal(size=(m, k) if form is rows else (k, m)).astype(dtype)
    b = rng.normal(size=(k, n)).astype(dtype)
    return a, np.ascontiguousarray(b.T).T if layout == "transposed" else b


def check(form, a, b, dtype):
    """One program on arrays of one shape against exact products and the bound of their errors."""

    def fn(a, b):
        return form(a, b.T if turned else b)

    turned = not b.flags.c_contiguous
    args = Tensor(a), Tensor(b.T if turned else b)
    verify(recording_of(fn, args, {}).program)
    x = a if form is rows else a.T
    x, y = x.astype(LONGER[dtype]), b.astype(LONGER[dtype])
    bound = (x.shape[1] + 2) * np.finfo(dtype).eps * (np.abs(x) @ np.abs(y))
    recorded = dg.jit(fn)
    for _ in range(2):
        error = np.abs(recorded(*args).asnumpy() - 4 * (x @ y))
        assert (error <= 4 * bound).all(), (form.__name__, x.shape, y.shape, (error / bound).max())


@pytest.mark.rotated("layout", "form")
@pytest.mark.parametrize("kernels", LEVELS)
@pytest.mark.parametrize("layout", ["in order", "transposed"])
@pytest.mark.parametrize("form", [rows, sums])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_width(dtype, form, layout, kernels, monkeypatch):
    monkeypatch.setenv("DUALGRAD_KERNELS", kernels)
    rng = np.random.default_rng(5)
    for n in WIDTHS:
        for few in (3, 20):  # three: any width is narrow
            check(form, *factors(rng, form, layout, dtype, *((1203, few) if form is rows else (few, 1203)), n), dtype)


@pytest.mark.parametrize("layout", ["in order", "transposed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_depth(dtype, layout):
    rng = np.random.default_rng(6)
    for k in DEPTHS:
        check(rows, *factors(rng, rows, layout, dtype, 1203, k, 20), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows(dtype):
    """Products that are done at once, and what four rows at a time leave over."""
    rng = np.random.default_rng(7)
    for m in range(1, 10):
        for form in (rows, sums):
            check(form, *factors(rng, form, "in order", dtype, m, 70, 20), dtype)


@pytest.mark.parametrize("form", [rows, sums])
def test_only_its_own_row_sees_what_is_not_finite(form):
    """The last vector of a row computes some columns again, from numbers of that row only."""
    rng = np.random.default_rng(8)
    a, b = factors(rng, form, "in order", np.float64, *((1203, 20) if form is rows else (20, 1203)), 13)
    (a if form is rows else a.T)[5, 7] = np.nan
    result = dg.jit(form)(Tensor(a), Tensor(b)).asnumpy()
    assert np.isnan(result[5]).all()
    assert np.isfinite(np.delete(result, 5, axis=0)).all()


@pytest.mark.parametrize("form", [rows, sums])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_of_any_length_give_the_same_numbers(dtype, form, monkeypatch):
    """One sum in the order of k for each element, on every machine with multiply-add."""
    rng = np.random.default_rng(9)
    for n in (16, 20, 33, 100, 256):
        args = [
            Tensor(a) for a in factors(rng, form, "in order", dtype, *((200, 30) if form is rows else (30, 200)), n)
        ]
        found = []
        for kernels in LEVELS[:2]:
            monkeypatch.setenv("DUALGRAD_KERNELS", kernels)
            recorded = dg.jit(lambda a, b: form(a, b))
            found.append([recorded(*args).asnumpy() for _ in range(3)][2])  # the first ones record
        assert (found[0] == found[1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [8, 20, 48, 100, 256])
def test_a_row_does_not_depend_on_where_it_lies(dtype, n):
    """The same rows, shifted by one: at other places of tiles of eight, of four and of one, and of blocks."""
    rng = np.random.default_rng(10)
    a, b = factors(rng, rows, "in order", dtype, 1203, 40, n)
    recorded = dg.jit(rows)
    whole = [recorded(Tensor(a), Tensor(b)).asnumpy() for _ in range(3)][2]
    for shift in (1, 2, 3, 5, 800):
        part = [recorded(Tensor(a[shift:].copy()), Tensor(b)).asnumpy() for _ in range(3)][2]
        assert (part == whole[shift:]).all()
