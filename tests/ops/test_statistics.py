"""Covariance, correlation, differences and polynomials through NumPy: values, types, errors (orders: tests/cases)."""

import numpy as np
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(8)
X = RNG.standard_normal((4, 6))
Z = X + 1j * RNG.standard_normal((4, 6))
TIMES, WEIGHTS = np.arange(1, 7), RNG.uniform(0.5, 2.0, 6)

CALLS = (
    *[(np.cov, (m, *more), settings)
      for m in (X, Z)
      for more in ((), (m[:2],))
      for weights in ({}, {"fweights": TIMES}, {"aweights": WEIGHTS}, {"fweights": TIMES, "aweights": WEIGHTS})
      for settings in ({**weights}, {**weights, "ddof": 0}, {**weights, "bias": True}, {**weights, "ddof": 3})],
    (np.cov, (X[0],), {}), (np.cov, (X, X), {"rowvar": False}),
    *[(np.corrcoef, (m, *more), {}) for m in (X, Z, X[0]) for more in ((), (m,))],
    (np.gradient, (X,), {}), (np.gradient, (X, 0.1), {}), (np.gradient, (X, 0.1, 0.7), {"edge_order": 2}),
    (np.gradient, (X, np.array([0.0, 1.0, 3.0, 4.0]), 0.1), {}), (np.gradient, (Z,), {"axis": (0, -1)}),
    (np.polyval, (X[0], Z), {}), (np.polyval, (X[0], 0.3), {}), (np.polyval, ([0.1, 0.2], X), {}),
)  # fmt: skip


def test_values_are_those_of_numpy():
    for function, operands, settings in CALLS:
        expected = function(*operands, **settings)
        found = function(*[Tensor(x) if isinstance(x, np.ndarray) else x for x in operands], **settings)
        several = isinstance(expected, tuple | list)
        for a, b in zip(found if several else [found], expected if several else [expected], strict=True):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-12, atol=1e-13, err_msg=f"{function} {settings}")


def test_correlations_are_not_above_one_and_a_perfect_one_is_a_maximum():
    """Rounding leaves some above 1, which NumPy cuts off; the curvature there is that of the uncut function."""
    for x in RNG.standard_normal((20, 5)):
        loss = lambda y, x=x: np.corrcoef(f64(x), y)[0, 1]
        found = loss(f64(3 * x))
        assert float(found) <= 1.0
        assert float(found) == np.corrcoef(x, 3 * x)[0, 1]
        np.testing.assert_allclose(dg.grad(loss)(f64(3 * x)).asnumpy(), 0, atol=1e-14)
        bent = f64(np.arange(5.0) - 2)
        curvature = dg.jvp(dg.grad(loss), f64(3 * x), bent)[1].asnumpy() @ bent.asnumpy()
        rest = np.linalg.lstsq(np.stack([x, np.ones(5)], 1), bent.asnumpy())[1][0]
        np.testing.assert_allclose(curvature, -rest / np.sum((3 * x - 3 * x.mean()) ** 2), rtol=1e-10)


def test_mindspores_form_and_types():
    np.testing.assert_allclose(ops.cov(f64(X), correction=2).asnumpy(), np.cov(X, ddof=2), rtol=1e-13)
    np.testing.assert_allclose(f64(X).cov(aweights=f64(WEIGHTS)).asnumpy(), np.cov(X, aweights=WEIGHTS), rtol=1e-12)
    assert ops.cov(f32(X), fweights=TIMES, aweights=f64(WEIGHTS)).dtype == dg.float32
    assert ops.cov(Tensor([[1, 2], [3, 5]])).dtype == dg.float32


def test_errors():
    x = f64(X)
    table = (
        (ValueError, lambda: ops.cov(f64(np.ones((2, 2, 2)))), "too many axes"),
        (ValueError, lambda: ops.cov(x, aweights=f64([1.0])), "aweights of shape (1,) for 6 observations"),
        (TypeError, lambda: ops.cov(x, fweights=f64(WEIGHTS)), "fweights have type Float64; expected integers"),
        (ValueError, lambda: np.cov(x, aweights=-WEIGHTS), "aweights have negative numbers"),
        (TypeError, lambda: ops.cov(x, correction=0.5), "correction must be an int"),
    )
    for kind, call, *words in table:
        assert_raises(kind, call, *words)
