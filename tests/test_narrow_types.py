"""Types that are not float64: float16 and float32 stay what they are through every derivative, and are as exact as
they can be; integers and bools give the documented type or a clear error."""

import numpy as np
import pytest
from cases import Case, all_cases

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.tensor import OPCODES, apply
from dualgrad._table import ROWS

NARROW = [pytest.param(case, np.dtype(name), id=f"{case}-{name}") for case in all_cases() for name in case.narrow]
INTEGERS = [dg.int8, dg.int16, dg.int32, dg.int64, dg.uint8, dg.uint16, dg.uint32, dg.uint64]


def leaves(nest):
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest] if isinstance(nest, Tensor) and nest.dtype.is_float else []


def weighted(case, order):
    """Results, first or second derivatives of a case, as a function of its operands; the weights take any type."""
    positions = tuple(range(len(case.args)))

    def total(*xs):
        rng = np.random.default_rng(11)
        terms = [ops.sum(leaf * Tensor(rng.uniform(0.5, 1.5, leaf.shape), leaf.dtype)) for leaf in leaves(case.fn(*xs))]
        return sum(terms[1:], terms[0])

    def slopes(*xs):
        found = dg.grad(total, positions)(*xs)
        return found if isinstance(found, tuple) else (found,)

    def along(*xs):
        rng = np.random.default_rng(12)
        return [ops.sum(g * Tensor(rng.uniform(0.5, 1.5, g.shape), g.dtype)) for g in slopes(*xs)]

    def curvatures(*xs):
        found = dg.grad(lambda *xs: sum(along(*xs)[1:], along(*xs)[0]), positions)(*xs)
        return found if isinstance(found, tuple) else (found,)

    return (lambda *xs: tuple(leaves(case.fn(*xs))), slopes, curvatures)[order]


def numbers(nest):
    return [leaf.asnumpy().astype(np.float64) for leaf in nest]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("case", "dtype"), NARROW)
def test_cases_in_narrow_types(case: Case, dtype, order):
    """The type stays, and the error is that of rounding: what a change of the operands by their rounding makes."""
    f, eps = weighted(case, order), float(np.finfo(dtype).eps)
    narrow = [a.astype(dtype) for a in case.args]
    found = f(*[Tensor(a) for a in narrow])
    wide = [a.astype(np.float64) for a in narrow]
    exact = numbers(f(*[Tensor(a) for a in wide]))
    assert {leaf.dtype for leaf in found} <= {dg.dtype.as_dtype(dtype)}
    rng = np.random.default_rng(13)
    moved = [0.0] * len(exact)
    for _ in range(4):
        near = numbers(f(*[Tensor(a * (1 + eps * rng.uniform(-1, 1, a.shape))) for a in wide]))
        moved = [max(m, np.abs(n - e).max(initial=0.0)) for m, n, e in zip(moved, near, exact, strict=True)]
    scale = max(np.abs(expected).max(initial=0.0) for expected in exact)
    assert scale < np.finfo(dtype).max / 100
    for got, expected, change in zip(numbers(found), exact, moved, strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=40 * (eps * scale + change) + np.finfo(dtype).tiny)
