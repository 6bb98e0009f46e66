"""Every case of every operator: engines that share no code agree, orders 1 to 4."""

import math

import numpy as np
import pytest
from cases import Case, all_cases

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.algebra import jets, run_forward

CASES = all_cases()


def scalar(case):
    """The case as a function of one number: along a random direction, results weighted at random and added up."""
    rng = np.random.default_rng(len(case.operator))
    directions = [rng.standard_normal(a.shape) for a in case.args]

    def f(t):
        out = case.fn(*[Tensor(a) + t * Tensor(d) for a, d in zip(case.args, directions, strict=True)])
        weights = np.random.default_rng(7)
        total = 0.0
        for leaf in leaves(out):
            total = total + ops.sum(ops.sin(leaf) * Tensor(weights.uniform(0.5, 1.5, leaf.shape)))
        return total

    return f


def leaves(nest):
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest] if isinstance(nest, Tensor) and nest.dtype == dg.float64 else []


def close(got, expected, rtol):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nested_gradients_forward_derivatives_and_jets_agree(case: Case):
    f = scalar(case)
    zero, one = Tensor(np.array(0.0)), Tensor(np.array(1.0))
    reverse = forward = mixed = f
    jet = run_forward("jet", jets(4), f, [[zero, one, None, None, None]])
    for order in range(1, 5):
        reverse = dg.grad(reverse)
        forward = lambda x, g=forward: dg.jvp(g, x, one)[1]
        mixed = dg.grad(mixed) if order % 2 else (lambda x, g=mixed: dg.jvp(g, x, one)[1])
        expected = reverse(zero).asnumpy()
        assert np.isfinite(expected)
        close(forward(zero).asnumpy(), expected, case.rtol)
        close(mixed(zero).asnumpy(), expected, case.rtol)
        top = 0.0 if jet[order] is None else jet[order].asnumpy() * math.factorial(order)
        close(top, expected, case.rtol)
    if case.smooth:
        h = 1e-5
        rough = (f(Tensor(np.array(h))).asnumpy() - f(Tensor(np.array(-h))).asnumpy()) / (2 * h)
        close(rough, dg.grad(f)(zero).asnumpy(), 1e-4)
