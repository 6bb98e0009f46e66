"""The differential of a Cholesky factorisation by halves, and its adjoint: what defines them, and derivatives."""

import functools
import itertools

import numpy as np
import pytest
from cases.linalg import definite
from support import f64

import dualgrad as dg
from dualgrad import ops
from dualgrad.ops.linalg import _cholesky, solving

SIZES = (0, 1, 2, 3, solving.BLOCK, solving.BLOCK + 1, 3 * solving.BLOCK - 1)
STACKS = (((), ()), ((2,), (2,)), ((), (3,)), ((2, 1), (3,)))


def symmetric(x):
    return x + np.swapaxes(x, -1, -2)


@pytest.mark.parametrize(("n", "stacks", "dtype"), list(itertools.product(SIZES, STACKS, (np.float32, np.float64))))
def test_both_maps_by_what_defines_them(n, stacks, dtype):
    rng, (of_factor, of_other) = np.random.default_rng(n), stacks
    factor = np.linalg.cholesky(definite(*of_factor, n, n) + n * np.eye(n)).astype(dtype)
    change, ct = (rng.standard_normal((*of_other, n, n)).astype(dtype) for _ in range(2))
    change, near = symmetric(change), 40 * (n + 1) * np.finfo(dtype).eps
    x, s = _cholesky.differential(factor, change), _cholesky.pullback(factor, ct)
    assert x.dtype == s.dtype == dtype
    assert np.array_equal(x, np.tril(x))
    scale = 1.0 + np.abs(factor).max(initial=0.0)
    np.testing.assert_allclose(
        symmetric(x @ np.swapaxes(factor, -1, -2)), np.broadcast_to(change, x.shape), rtol=0, atol=near * scale
    )
    np.testing.assert_allclose(s, np.swapaxes(s, -1, -2), rtol=0, atol=near)
    np.testing.assert_allclose(
        np.tril(2.0 * s @ factor), np.broadcast_to(np.tril(ct), s.shape), rtol=0, atol=near * scale
    )
    adjoint, direct = (ct * x).sum((-1, -2)), (s * change).sum((-1, -2))
    np.testing.assert_allclose(adjoint, direct, rtol=near, atol=near * scale * max(n, 1))


def f(a):
    """A function of all parts of the factor, and of where they are."""
    factor, n = ops.cholesky(a), a.shape[-1]
    weights = np.arange(n * n, dtype=float).reshape(n, n) / n**2
    return ops.sin(factor @ f64(weights)).sum() + ops.log(ops.diagonal(factor)).sum()


def directed(fn, forward):
    """The derivative of a function along a direction."""
    if forward:
        return lambda a, v: dg.jvp(lambda a: fn(a, v), (a,), (v,))[1]
    return lambda a, v: (dg.grad(lambda a: fn(a, v))(a) * v).sum()


def all_ways(order, a, v):
    """The derivative of an order along a direction, by all nestings of forward and reverse mode."""
    found = []
    for ways in itertools.product((True, False), repeat=order):
        fn = functools.reduce(directed, ways, lambda a, v: f(a))
        found.append(fn(a, v).item())
    return found


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_by_halves_of_one_row(order, monkeypatch):
    a, v = f64(definite(5, 5)), f64(symmetric(np.random.default_rng(1).standard_normal((5, 5))))
    whole = all_ways(order, a, v)
    monkeypatch.setattr(_cholesky, "BLOCK", 1)
    halves = all_ways(order, a, v)
    expected = dg.derivative(lambda t: f(a + t * v), f64(0.0), order)[1].item()
    np.testing.assert_allclose(whole, expected, rtol=1e-11)
    np.testing.assert_allclose(halves, expected, rtol=1e-11)
    ends = [all_ways(order - 1, a + t * v, v)[0] for t in (-0.001, 0.001)]
    np.testing.assert_allclose((ends[1] - ends[0]) / 0.002, expected, rtol=1e-3)
