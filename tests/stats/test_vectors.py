"""Distributions of vectors and kernel density estimates: against SciPy and themselves in other modes."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops, stats

pytest.importorskip("scipy")
import scipy.stats

RNG = np.random.default_rng(7)
ALPHA = np.array([0.7, 2.0, 3.4])
SHARES = RNG.dirichlet(ALPHA, 5).T
COUNTS, PROBABILITIES = np.array([[1.0, 2.0, 4.0], [0.0, 7.0, 0.0]]), np.array([0.2, 0.5, 0.3])
MEAN = np.array([0.3, -0.2, 0.9])
COV = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
X = RNG.normal(size=(4, 3))

CASES = {
    "dirichlet": (stats.dirichlet.logpdf, scipy.stats.dirichlet.logpdf, (SHARES, ALPHA)),
    "multinomial": (stats.multinomial.logpmf, scipy.stats.multinomial.logpmf, (COUNTS, np.array(7.0), PROBABILITIES)),
    "multivariate_normal": (
        stats.multivariate_normal.logpdf,
        scipy.stats.multivariate_normal.logpdf,
        (X, MEAN, COV),
    ),
}


def differences(f, given, place, step=1e-6):
    """Central differences of the sum of f by one operand."""
    found = np.zeros(given[place].shape)
    for i in np.ndindex(found.shape):
        ends = []
        for sign in (1, -1):
            moved = [np.array(x) for x in given]
            moved[place][i] += sign * step
            ends.append(f(*moved).asnumpy().sum())
        found[i] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    ours, peer, given = CASES[name]
    np.testing.assert_allclose(ours(*given).asnumpy(), peer(*given), rtol=1e-12)
    tensors = [Tensor(x) for x in given]
    whole = lambda *given: ours(*given).sum()
    recorded = dg.jit(lambda *given: dg.value_and_grad(whole, tuple(range(len(given))))(*given))
    for _ in range(3):
        value, slopes = recorded(*tensors)
    np.testing.assert_allclose(value.item(), peer(*given).sum(), rtol=1e-12)
    for place, slope in enumerate(dg.grad(whole, tuple(range(len(given))))(*tensors)):
        np.testing.assert_allclose(slopes[place].asnumpy(), slope.asnumpy(), rtol=1e-10, atol=1e-12)
    last = len(given) - 1
    if name == "multivariate_normal":
        np.testing.assert_allclose(slope.asnumpy(), differences(ours, given, last), rtol=1e-6, atol=1e-7)
    along = lambda a: whole(*tensors[:last], a)
    reverse, forward = dg.hessian(along)(tensors[last]), dg.jacfwd(dg.grad(along))(tensors[last])
    np.testing.assert_allclose(reverse.asnumpy(), forward.asnumpy(), rtol=1e-9, atol=1e-10)
    assert np.isfinite(reverse.asnumpy()).all()


def test_dirichlet_and_multinomial_outside():
    assert stats.dirichlet.logpdf(SHARES[:-1], ALPHA).shape == (5,)
    np.testing.assert_allclose(
        stats.dirichlet.logpdf(SHARES[:-1], ALPHA).asnumpy(), scipy.stats.dirichlet.logpdf(SHARES, ALPHA), rtol=1e-11
    )
    assert stats.dirichlet.pdf(np.array([0.5, 0.6, -0.1]), ALPHA).item() == 0.0
    assert stats.dirichlet.pdf(np.array([0.5, 0.6, 0.1]), ALPHA).item() == 0.0
    assert np.isnan(stats.dirichlet.pdf(SHARES[:, 0], -ALPHA).item())
    assert stats.multinomial.pmf(COUNTS, 6.0, PROBABILITIES).asnumpy().tolist() == [0.0, 0.0]
    assert np.isnan(stats.multinomial.pmf(COUNTS, 7.0, 2 * PROBABILITIES).asnumpy()).all()
    slopes = dg.grad(lambda p: stats.multinomial.logpmf(COUNTS, 7.0, p)[1])(Tensor(np.array([0.0, 1.0, 0.0])))
    np.testing.assert_allclose(slopes.asnumpy(), [0.0, 7.0, 0.0])


@pytest.mark.parametrize("cov", [2.0, np.array([2.0, 0.5, 1.0]), COV], ids=["number", "diagonal", "matrix"])
@pytest.mark.parametrize("mean", [None, MEAN], ids=["zero", "mean"])
def test_shapes_of_the_normal_distribution(cov, mean):
    plain = np.eye(3) * cov if np.ndim(cov) < 2 else cov
    expected = scipy.stats.multivariate_normal.logpdf(X, mean, plain)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(X, mean, cov).asnumpy(), expected, rtol=1e-12)
    one = stats.multivariate_normal.pdf(X[0], mean, cov)
    assert one.shape == ()
    np.testing.assert_allclose(one.item(), np.exp(expected[0]), rtol=1e-12)


def test_one_dimension_and_errors_of_the_normal_distribution():
    x = np.array([0.1, 0.7])
    expected = scipy.stats.multivariate_normal.logpdf(x, np.array([0.2]), np.array([[1.3]]))
    given = (x, np.array([0.2]), np.array([[1.3]]))
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(*given).asnumpy(), expected, rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        stats.multivariate_normal.logpdf(X, None, -COV)
    with pytest.raises(ValueError, match=r"x has shape \(4, 2\), mean \(3,\)"):
        stats.multivariate_normal.logpdf(X[:, :2], MEAN, COV)


@pytest.mark.parametrize("weights", [None, np.array([0.1, 0.5, 1.0, 2.0, 0.3, 0.7])], ids=["equal", "weighted"])
@pytest.mark.parametrize("method", [None, "silverman", 0.4])
@pytest.mark.parametrize("d", [1, 2])
def test_kernel_densities(d, method, weights):
    data, other, points = RNG.normal(size=(d, 6)), RNG.normal(size=(d, 5)), RNG.normal(size=(d, 7))
    ours, peer = [kde(data, method, weights) for kde in (stats.gaussian_kde, scipy.stats.gaussian_kde)]
    np.testing.assert_allclose(ours(points).asnumpy(), peer(points), rtol=1e-11)
    np.testing.assert_allclose(ours.logpdf(points).asnumpy(), peer.logpdf(points), rtol=1e-11)
    np.testing.assert_allclose(ours.covariance.asnumpy(), peer.covariance, rtol=1e-12)
    mean, cov = np.full(d, 0.3), np.eye(d) * 0.7
    assert np.isclose(ours.integrate_gaussian(mean, cov).item(), peer.integrate_gaussian(mean, cov), rtol=1e-11)
    kdes = [kde(other) for kde in (stats.gaussian_kde, scipy.stats.gaussian_kde)]
    assert np.isclose(ours.integrate_kde(kdes[0]).item(), peer.integrate_kde(kdes[1]), rtol=1e-11)
    if d == 1:
        assert np.isclose(ours.integrate_box_1d(-0.3, 2.0).item(), peer.integrate_box_1d(-0.3, 2.0), rtol=1e-11)
    at = lambda data, points: stats.gaussian_kde(data, method, weights).logpdf(points)
    for place, slope in enumerate(dg.grad(lambda *g: at(*g).sum(), (0, 1))(Tensor(data), Tensor(points))):
        np.testing.assert_allclose(slope.asnumpy(), differences(at, (data, points), place), rtol=1e-5, atol=1e-6)


def test_errors_of_kernel_densities():
    with pytest.raises(ValueError, match=r"shape \(1, 1\); expected \(n,\) or \(d, n\)"):
        stats.gaussian_kde([1.0])
    with pytest.raises(ValueError, match="bw_method is 'best'"):
        stats.gaussian_kde([1.0, 2.0], "best")
    with pytest.raises(ValueError, match=r"points of shape \(2, 3\); expected \(1, m\)"):
        stats.gaussian_kde([1.0, 2.0])(np.ones((2, 3)))
    kde = stats.gaussian_kde(ops.randn(2, 5))
    with pytest.raises(ValueError, match="have 2 dimensions"):
        kde.integrate_box_1d(0.0, 1.0)
