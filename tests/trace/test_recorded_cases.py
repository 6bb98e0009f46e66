"""Every operator, recorded and replayed, gives what eager execution gives, at the same point and at others."""

import numpy as np
import pytest
from cases import Case, all_cases
from engine import forget_programs
from support import assert_close, f64, numbers
from ways import WAYS, programs_run

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]


CASES = all_cases()


def leaves(nest):
    """The tensors of a nest that hold float64."""
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest] if isinstance(nest, Tensor) and nest.dtype == dg.float64 else []


def gradient_of(case: Case):
    """Value and gradient of a number made of all results of a case, and those."""

    def f(*xs):
        out = case.fn(*xs)
        total = sum(ops.sum(ops.sin(leaf)) for leaf in leaves(out))
        return total, out

    return dg.value_and_grad(f, tuple(range(len(case.args))), has_aux=True)


def assert_numbers(found, expected):
    """Equal but for the order of sums."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * max(1.0, np.abs(b).max(initial=0.0)))


def moved(a):
    """Numbers near those of an array, in no special position; what is symmetric stays so."""
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return a
    bends = [np.sin(1.0 + np.arange(n)) for n in a.shape]
    shapes = [[n if i == k else 1 for i in range(a.ndim)] for k, n in enumerate(a.shape)]
    return a - 1e-3 * (0.1 + abs(a)) * sum(
        (b.reshape(s) for b, s in zip(bends, shapes, strict=True)), start=np.zeros(a.shape)
    ).astype(a.dtype)


@pytest.mark.rotated("way")
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases_replayed_are_cases_executed(case: Case, way):
    """Values and gradients of every operator, recorded twice and replayed."""
    args = [Tensor(a) for a in case.args]
    gradient = gradient_of(case)
    expected = numbers(gradient(*args))
    with programs_run(way):
        recorded = dg.jit(gradient)
        for _ in range(4):
            assert_numbers(numbers(recorded(*args)), expected)


@pytest.mark.rotated("case", key="operator")
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_programs_are_good_for_other_numbers(case: Case):
    """What is recorded at one point is replayed at another: ties, zeros, singular matrices become general, and back."""
    gradient = gradient_of(case)
    points = [[Tensor(a) for a in case.args], [Tensor(moved(a)) for a in case.args]]
    with np.errstate(all="ignore"):
        expected = [numbers(gradient(*args)) for args in points]
        for first in (0, 1):
            recorded = dg.jit(gradient)
            forget_programs()
            for k in (first, first, 1 - first):
                assert_numbers(numbers(recorded(*points[k])), expected[k])


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rank", range(5))
def test_derivatives_of_determinants_follow_the_rank(rank, way):
    """How their program splits a matrix depends on the rank it was recorded with."""
    draws = np.random.default_rng(rank)
    matrices = [f64(draws.normal(size=(4, r)) @ draws.normal(size=(r, 4))) for r in (rank, *range(4, -1, -1), rank)]
    gradient = dg.grad(lambda a: ops.sum(ops.sin(ops.det(a))))
    with programs_run(way):
        recorded = dg.jit(gradient)
        for a in (matrices[0], matrices[0], *matrices):
            assert_close(recorded(a), gradient(a).asnumpy(), rtol=1e-15)
