"""Bijections: there and back, and the determinant against that of the Jacobian matrix."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.stats import bijections as b

# By name: the bijection and how many free numbers a point has.
CASES = {
    "exp": (b.Exp(), 3),
    "softplus": (b.Softplus(), 3),
    "interval": (b.Interval(-1.0, 2.5), 3),
    "interval of arrays": (b.Interval(np.array([-1.0, 0.0, 1.0]), np.array([2.0, 3.0, 4.0])), 3),
    "logit": (b.Inverse(b.Interval(-4.0, 4.0)), 3),
    "affine": (b.Affine(0.3, -1.7), 3),
    "ordered": (b.Ordered(), 4),
    "simplex": (b.Simplex(), 4),
    "correlation": (b.CholeskyCorrelation(), 6),
    "covariance": (b.CholeskyCovariance(), 6),
    "positive definite": (b.PositiveDefinite(), 6),
    "chain": (b.Chain(b.Affine(0.2, 0.7), b.Softplus(), b.Simplex()), 4),
    "chain of chains": (b.Chain(b.Chain(b.Affine(0.2, 0.7), b.Exp()), b.Ordered()), 4),
}
RNG = np.random.default_rng(3)


@pytest.fixture(params=CASES)
def case(request):
    bijection, count = CASES[request.param]
    return bijection, Tensor(RNG.normal(size=count))


def test_there_and_back(case):
    bijection, x = case
    np.testing.assert_allclose(bijection.inverse(bijection(x)).asnumpy(), x.asnumpy(), rtol=1e-11, atol=1e-12)


def test_the_determinant_is_that_of_the_jacobian(case):
    bijection, x = case
    matrix = dg.jacrev(lambda x: bijection.coordinates(bijection(x)))(x).asnumpy()
    found = bijection.log_abs_det_jacobian(x)
    assert found.shape == (() if bijection.event else x.shape)
    np.testing.assert_allclose(found.asnumpy().sum(), np.linalg.slogdet(matrix)[1], rtol=1e-11, atol=1e-12)


def test_the_slope_of_the_determinant(case):
    bijection, x = case
    of_matrix = lambda x: dg.ops.slogdet(dg.jacfwd(lambda x: bijection.coordinates(bijection(x)))(x))[1]
    slope = dg.grad(lambda x: bijection.log_abs_det_jacobian(x).sum())(x).asnumpy()
    np.testing.assert_allclose(slope, dg.grad(of_matrix)(x).asnumpy(), rtol=1e-9, atol=1e-11)


def test_leading_axes_and_recording(case):
    bijection, x = case
    rows = Tensor(RNG.normal(size=(2, 5, *x.shape)))
    for f in (bijection, bijection.log_abs_det_jacobian, lambda x: bijection.inverse(bijection(x))):
        whole = f(rows)
        mapped = dg.vmap(dg.vmap(f))(rows)
        np.testing.assert_allclose(whole.asnumpy(), mapped.asnumpy(), rtol=1e-12, atol=1e-14)
        recorded = dg.jit(f)
        for _ in range(3):
            np.testing.assert_allclose(recorded(rows).asnumpy(), whole.asnumpy(), rtol=1e-12, atol=1e-14)
    if bijection is not CASES["interval of arrays"][0]:  # bounds of float64
        assert bijection(rows.astype(dg.float32)).dtype is dg.float32


def test_what_constraints_hold():
    x = Tensor(3.0 * RNG.normal(size=(50, 6)))
    factor = b.CholeskyCorrelation()(x).asnumpy()
    np.testing.assert_allclose((factor @ np.swapaxes(factor, -1, -2)).diagonal(0, 1, 2), 1.0, rtol=1e-14)
    assert (np.triu(factor, 1) == 0).all()
    shares = b.Simplex()(x).asnumpy()
    assert shares.shape == (50, 7)
    assert (shares > 0).all()
    np.testing.assert_allclose(shares.sum(-1), 1.0, rtol=1e-14)
    assert (np.diff(b.Ordered()(x).asnumpy()) > 0).all()
    assert (np.linalg.eigvalsh(b.PositiveDefinite()(x).asnumpy()) > 0).all()


def test_far_from_zero():
    """Tiny shares and distances have their digits, and nothing overflows."""
    x = Tensor(np.array([-500.0, 300.0]))
    np.testing.assert_allclose(b.Simplex().inverse(b.Simplex()(x)).asnumpy()[0], -500.0, rtol=1e-14)
    np.testing.assert_allclose(b.Softplus().inverse(b.Softplus()(x)).asnumpy(), x.asnumpy(), rtol=1e-14)
    np.testing.assert_allclose(b.Interval().inverse(b.Interval()(x)).asnumpy()[0], -500.0, rtol=1e-14)
    for bijection in (b.Simplex(), b.Interval(), b.Softplus()):
        assert np.isfinite(bijection.log_abs_det_jacobian(x).asnumpy()).all()


def test_errors():
    with pytest.raises(ValueError, match=r"5 numbers; expected K \(K - 1\) / 2"):
        b.CholeskyCorrelation()(np.zeros(5))
    with pytest.raises(ValueError, match=r"5 numbers; expected K \(K \+ 1\) / 2"):
        b.PositiveDefinite()(np.zeros(5))
    with pytest.raises(TypeError, match="only the last one may be a Simplex"):
        b.Chain(b.Simplex(), b.Exp())
    with pytest.raises(TypeError, match="Simplex changes the number of numbers"):
        b.Inverse(b.Simplex())
    with pytest.raises(ValueError, match="expected at least 1 axes"):
        b.Ordered()(1.0)
    with pytest.raises(ValueError, match="no bijections"):
        b.Chain()


def test_one_part_is_the_whole():
    """A simplex of one part has no free numbers."""
    x = Tensor(np.zeros((2, 0)))
    np.testing.assert_array_equal(b.Simplex().forward(x).asnumpy(), np.ones((2, 1)))
    np.testing.assert_array_equal(b.Simplex().log_abs_det_jacobian(x).asnumpy(), np.zeros(2))
    assert b.Simplex().inverse(np.ones((2, 1))).shape == (2, 0)
