"""Distributions against SciPy: densities, moments, entropies, divergences by quadrature, samples, derivatives."""

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.nn.probability import distribution
from dualgrad.testing import check

S = scipy.stats
POINTS = np.array([-1.3, 0.2, 0.7, 1.9, 4.5])
WHOLE = np.arange(-1.0, 6.0)
TABLE = {
    # name: parameters, those of another one, the same in SciPy, points
    "Normal": ((0.3, 1.2), (-0.5, 2.0), S.norm, POINTS),
    "Uniform": ((-1.0, 2.0), (-1.5, 2.5), lambda a, b: S.uniform(a, b - a), POINTS),
    "Exponential": ((1.7,), (0.6,), lambda r: S.expon(scale=1 / r), POINTS),
    "Gamma": ((2.5, 1.7), (1.2, 0.9), lambda a, r: S.gamma(a, scale=1 / r), POINTS),
    "Beta": ((2.5, 1.7), (1.2, 3.1), S.beta, np.array([-0.5, 0.1, 0.6, 0.95, 1.5])),
    "Bernoulli": ((0.3,), (0.8,), S.bernoulli, WHOLE),
    "Geometric": ((0.3,), (0.6,), lambda p: S.geom(p, loc=-1), WHOLE),
    "Poisson": ((2.3,), (1.1,), S.poisson, WHOLE),
    "Gumbel": ((0.3, 1.2), (-0.5, 2.0), S.gumbel_r, POINTS),
    "Laplace": ((0.3, 1.2), (-0.5, 2.0), S.laplace, POINTS),
    "LogNormal": ((0.3, 0.6), (-0.5, 0.9), lambda m, s: S.lognorm(s, scale=np.exp(m)), POINTS),
    "Cauchy": ((0.3, 1.2), (-0.5, 2.0), S.cauchy, POINTS),
    "Logistic": ((0.3, 1.2), (-0.5, 2.0), S.logistic, POINTS),
    "HalfNormal": ((0.3, 1.2), (0.3, 2.0), S.halfnorm, POINTS),
    "StudentT": ((5.5, 0.3, 1.2), (3.5, 0.1, 2.0), S.t, POINTS),
}
DISCRETE = {"Bernoulli", "Geometric", "Poisson"}
WITHOUT = {
    # what there is no formula for
    "Beta": {"cdf"}, "Poisson": {"entropy"}, "Cauchy": {"mean", "var"}, "StudentT": {"cdf", "entropy", "divergence"},
    "Laplace": {"divergence"}, "Logistic": {"divergence"}, "HalfNormal": {"divergence"}, "Uniform": {"mode"},
}  # fmt: skip
NAMES = list(TABLE)


def made(name, parameters=True):
    cls = getattr(distribution, name)
    args = [f64(p) for p in TABLE[name][0]] if parameters is True else []
    if parameters or name not in ("Gumbel", "LogNormal"):
        return cls(*args, dtype=dg.float64)
    return cls(None, None, dtype=dg.float64)


def has(name, what):
    return what not in WITHOUT.get(name, ())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("mode")
def test_densities_are_those_of_scipy(name):
    parameters, _, theirs, points = TABLE[name]
    own, other = made(name), theirs(*parameters)
    density = other.pmf if name in DISCRETE else other.pdf
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(own.prob(f64(points)).asnumpy(), density(points), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(own.log_prob(f64(points)).asnumpy(), np.log(density(points)), rtol=1e-11)
    given = made(name, False).log_prob(f64(points), *[f64(p) for p in parameters])
    assert_close(given, own.log_prob(f64(points)).asnumpy())
    assert_close(own("log_prob", f64(points)), given.asnumpy())


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "cdf")])
@pytest.mark.usefixtures("mode")
def test_distribution_functions_are_those_of_scipy(name):
    parameters, _, theirs, points = TABLE[name]
    own, other = made(name), theirs(*parameters)
    for at in points, points[points > (0 if name in ("LogNormal", "Gamma") else -2)]:
        np.testing.assert_allclose(own.cdf(f64(at)).asnumpy(), other.cdf(at), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(own.survival_function(f64(at)).asnumpy(), other.sf(at), rtol=1e-11, atol=1e-14)
    inner = points[(other.cdf(points) > 0) & (other.cdf(points) < 1)]
    np.testing.assert_allclose(own.log_cdf(f64(inner)).asnumpy(), other.logcdf(inner), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(own.log_survival(f64(inner)).asnumpy(), other.logsf(inner), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("mode")
def test_moments_and_entropies_are_those_of_scipy(name):
    parameters, _, theirs, _ = TABLE[name]
    own, other = made(name), theirs(*parameters)
    for what, expected in (("mean", other.mean), ("var", other.var), ("sd", other.std), ("entropy", other.entropy)):
        if has(name, "var" if what == "sd" else what):
            np.testing.assert_allclose(getattr(own, what)().asnumpy(), expected(), rtol=1e-9)
        else:
            assert_raises(NotImplementedError, getattr(own, what), name, "no formula")


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "mode")])
def test_the_density_is_largest_at_the_mode(name):
    own, (parameters, _, theirs, _) = made(name), TABLE[name]
    mode = float(own.mode())
    other = theirs(*parameters)
    density = other.pmf if name in DISCRETE else other.pdf
    near = np.arange(0.0, 30.0) if name in DISCRETE else np.linspace(mode - 3, mode + 3, 3001)
    assert density(near).max() <= density(mode) * (1 + 1e-9)


def integral(name, p, q):
    """The divergence as a sum, or by quadrature over most of the support."""
    theirs = TABLE[name][2]
    one, other = theirs(*p), theirs(*q)
    if name in DISCRETE:
        k = np.arange(0, 400)
        a, b = one.pmf(k), other.pmf(k)
        return np.sum(np.where(a > 0, a * np.log(np.where(a > 0, a, 1) / np.where(b > 0, b, 1)), 0))
    f = lambda u: one.logpdf(one.ppf(u)) - other.logpdf(one.ppf(u))
    return scipy.integrate.quad(f, 0, 1, limit=400)[0]


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "divergence")])
@pytest.mark.usefixtures("mode")
def test_divergences_are_the_mean_of_logarithms_of_quotients(name):
    p, q, *_ = TABLE[name]
    own = made(name)
    expected = integral(name, p, q)
    np.testing.assert_allclose(own.kl_loss(name, *[f64(x) for x in q]).asnumpy(), expected, rtol=1e-5)
    same = made(name, False).kl_loss(name, *[f64(x) for x in q], *[f64(x) for x in p])
    assert_close(same, own.kl_loss(name, *[f64(x) for x in q]).asnumpy())
    assert_close(own.kl_loss(name, *[f64(x) for x in p]), 0.0, scale=1.0, rtol=1e-12)
    if has(name, "entropy"):
        both = own.entropy().asnumpy() + own.kl_loss(name, *[f64(x) for x in q]).asnumpy()
        assert_close(own.cross_entropy(name, *[f64(x) for x in q]), both)


def test_a_uniform_distribution_that_reaches_further_diverges():
    assert_close(made("Uniform").kl_loss("Uniform", f64(0.0), f64(2.0)), np.inf)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("mode")
def test_samples_follow_the_distribution(name):
    parameters, _, theirs, _ = TABLE[name]
    dg.set_seed(4)
    sample = made(name).sample((5000,)).asnumpy()
    other = theirs(*parameters)
    if name in DISCRETE:
        values = np.arange(0, 8)
        counts = np.array([(sample == v).sum() for v in values])
        expected = 5000 * other.pmf(values)
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected + 1)).all()
    else:
        assert S.kstest(sample, other.cdf).pvalue > 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_shapes_of_samples(name):
    parameters = TABLE[name][0]
    cls = getattr(distribution, name)
    first, second = (cls(*parameters, seed=5) for _ in range(2))
    one = first.sample((2, 3))
    assert one.shape == (2, 3)
    assert one.dtype == (dg.int32 if name in ("Bernoulli", "Geometric") else dg.float32)
    assert np.array_equal(one.asnumpy(), second.sample((2, 3)).asnumpy())
    many = first.sample(40).asnumpy()
    assert not np.array_equal(many, first.sample(40).asnumpy())
    wide = cls(*[np.full((4,), p) for p in parameters]).sample((2,))
    assert wide.shape == (2, 4)


REPARAMETRISED = {
    "Normal", "Uniform", "Exponential", "Gumbel", "Laplace", "LogNormal", "Cauchy", "Logistic", "HalfNormal",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REPARAMETRISED))
def test_derivatives_of_samples_go_to_the_parameters(name):
    """Compared with differences of samples that are drawn with the same seed."""
    cls, parameters = getattr(distribution, name), np.array(TABLE[name][0])

    def draw(*p):
        return cls(*[None] * len(p), seed=9, dtype=dg.float64).sample((3,), *p)

    slopes = dg.grad(lambda *p: draw(*p).sum(), tuple(range(len(parameters))))(*[f64(p) for p in parameters])
    for k, slope in enumerate(slopes if isinstance(slopes, tuple) else (slopes,)):
        h = 1e-6
        up, down = ([f64(p + (sign * h if i == k else 0)) for i, p in enumerate(parameters)] for sign in (1, -1))
        expected = (draw(*up).asnumpy().sum() - draw(*down).asnumpy().sum()) / (2 * h)
        np.testing.assert_allclose(slope.asnumpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Poisson", "StudentT"])
def test_what_is_drawn_by_rejection_refuses_a_derivative(name):
    draw = lambda p: made(name, False).sample((3,), p, *[f64(q) for q in TABLE[name][0][1:]]).sum()
    assert_raises(dg.LeavesDerivativeError, lambda: dg.grad(draw)(f64(TABLE[name][0][0])), "stop_gradient")


CHECKED = {name: TABLE[name] for name in NAMES if name not in DISCRETE}


@pytest.mark.parametrize("name", CHECKED)
def test_every_way_of_differentiating_densities_agrees(name):
    parameters, _, theirs, points = TABLE[name]
    inner = points[theirs(*parameters).pdf(points) > 0] + 0.01
    own = made(name, False)
    check(own.log_prob, (inner, *[np.array(p) for p in parameters]), order=2, narrow=False)


@pytest.mark.parametrize("name", sorted(DISCRETE))
def test_every_way_of_differentiating_probabilities_agrees(name):
    own, points = made(name, False), f64(WHOLE[1:3])
    check(lambda *p: own.log_prob(points, *p), [np.array(p) for p in TABLE[name][0]], order=3, narrow=False)


# ----------------------------------------------------------------------------------------------------- categories

P, Q = np.array([[0.2, 0.5, 0.3], [0.1, 0.0, 0.9]]), np.array([[0.3, 0.3, 0.4], [0.4, 0.1, 0.5]])


@pytest.mark.usefixtures("mode")
def test_categories():
    own = distribution.Categorical(f64(P), dtype=dg.float64)
    for value in (0, 1, 2):
        assert_close(own.prob(f64(float(value))), P[:, value], scale=1.0)
        assert_close(own.cdf(f64(value + 0.5)), P[:, : value + 1].sum(1), scale=1.0)
    assert_close(own.prob(f64([3.0, -1.0])), np.zeros(2))
    assert_close(own.cdf(f64([-0.5, 7.0])), np.array([0.0, 1.0]))
    assert_close(own.mean(), P @ np.arange(3), scale=1.0)
    assert_close(own.var(), P @ np.arange(3) ** 2 - (P @ np.arange(3)) ** 2, scale=1.0)
    assert_close(own.mode(), np.array([1.0, 2.0]))
    assert_close(own.entropy(), S.entropy(P, axis=1), scale=1.0)
    assert_close(own.kl_loss("Categorical", f64(Q)), S.entropy(P, Q, axis=1), scale=1.0)
    dg.set_seed(6)
    drawn = own.sample((4000,)).asnumpy()
    assert drawn.shape == (4000, 2)
    for k, row in enumerate(P):
        counts = np.array([(drawn[:, k] == v).sum() for v in range(3)])
        assert (np.abs(counts - 4000 * row) <= 5 * np.sqrt(4000 * row)).all()


def test_derivatives_by_probabilities_of_categories():
    own, at = distribution.Categorical(dtype=dg.float64), f64([1.0, 0.0])
    check(lambda p: (own.log_prob(at, p), own.entropy(p)), (Q,), order=2, narrow=False)


REFUSED = {
    "scale": (ValueError, lambda: distribution.Normal(0.0, -1.0), "positive"),
    "probability": (ValueError, lambda: distribution.Bernoulli(1.5), "probabilities"),
    "sum": (ValueError, lambda: distribution.Categorical(Tensor([0.5, 0.1])), "add up to 1"),
    "missing": (ValueError, lambda: distribution.Normal(0.0).mean(), "sd"),
    "kind": (ValueError, lambda: made("Normal").kl_loss("Gamma", 1.0, 1.0), "'Normal'"),
    "other": (ValueError, lambda: made("Normal").kl_loss("Normal", 1.0), "sd"),
    "too many": (TypeError, lambda: made("Exponential").prob(f64(1.0), 1.0, 2.0), "rate"),
    "name": (TypeError, lambda: made("Exponential").prob(f64(1.0), scale=1.0), "'scale'"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
