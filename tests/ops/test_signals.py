"""Convolution and correlation of sequences: values and errors (derivatives: tests/cases)."""

import itertools

import numpy as np
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor

RNG = np.random.default_rng(4)


def test_values_are_those_of_numpy():
    for m, n in itertools.product(range(1, 6), repeat=2):
        x, y = RNG.standard_normal((2, m)), RNG.standard_normal((2, n))
        pairs = ((x[0], y[0]), (x[0] + 1j * x[1], y[0] + 1j * y[1]), (np.arange(m), np.arange(n) - 1))
        for (a, b), mode in itertools.product(pairs, ("full", "same", "valid")):
            for function in (np.convolve, np.correlate):
                expected = function(a, b, mode)
                for found in (function(Tensor(a), Tensor(b), mode), function(a, Tensor(b), mode)):
                    assert found.dtype == expected.dtype
                    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-13, atol=1e-13)
    assert np.convolve(f32([1.0, 2.0]), 2.0).dtype == dg.float32
    x, kernel = f64(RNG.standard_normal((3, 5))), f64([1.0, -1.0])
    found = dg.vmap(lambda row: np.convolve(row, kernel, "valid"))(x)
    np.testing.assert_allclose(found.asnumpy(), np.diff(x.asnumpy()), rtol=1e-13)


def test_errors():
    x = f64([1.0, 2.0])
    table = (
        (ValueError, lambda: np.convolve(x, f64([])), "second operand has shape (0,)"),
        (ValueError, lambda: np.correlate(f64([[1.0]]), x), "first operand has shape (1, 1)"),
        (ValueError, lambda: np.convolve(x, x, "half"), "mode is 'half'"),
        (TypeError, lambda: np.convolve(x, "a"), "str"),
    )
    for kind, call, *words in table:
        assert_raises(kind, call, *words)
