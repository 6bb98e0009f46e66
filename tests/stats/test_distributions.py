"""Distributions of one variable: against SciPy, mpmath, each other, in every mode, for every row of the tables."""

import inspect
import itertools

import exact_stats
import numpy as np
import pytest
from mpmath import mp

import dualgrad as dg
from dualgrad import Tensor, stats

pytest.importorskip("scipy")
import scipy.stats

LOC, SCALE = 0.3, 1.7
PROBABILITIES = np.array([1e-3, 0.07, 0.4, 0.62, 0.95, 0.999])
ALL = {
    name: getattr(stats, name)
    for name in stats.__all__
    if isinstance(getattr(stats, name), (stats.Continuous, stats.Discrete))
}
CONTINUOUS = [name for name, d in ALL.items() if isinstance(d, stats.Continuous)]
DISCRETE = [name for name, d in ALL.items() if isinstance(d, stats.Discrete)]
FUNCTIONS = [(name, f) for name, d in ALL.items() for f in d.functions]


def shapes_of(name):
    return (exact_stats.CONTINUOUS.get(name) or exact_stats.DISCRETE[name])[0]


def place_of(name):
    return (LOC, SCALE) if name in CONTINUOUS else (2.0,)


def points_of(name, f):
    """Points in the body of the distribution, moved and scaled; or probabilities."""
    if f in ("ppf", "isf"):
        return PROBABILITIES
    peer = getattr(scipy.stats, name)
    return np.unique(peer.ppf(PROBABILITIES, *shapes_of(name), *place_of(name)))


def by(f, given, place):
    """F as a function of one of its operands."""
    return lambda v: f(*given[:place], v, *given[place + 1 :])


def grads(f, x, order):
    """Value and all derivatives up to `order` at a number."""
    found = []
    for _ in range(order + 1):
        found.append(f(Tensor(x, dg.float64)).item())
        f = dg.grad(f)
    return found


def test_all_are_tested():
    assert set(ALL) == {*exact_stats.CONTINUOUS, *exact_stats.DISCRETE}


@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_values_are_those_of_scipy(name, f):
    x = points_of(name, f)
    ours, peer = getattr(ALL[name], f), getattr(getattr(scipy.stats, name), f)
    expected = peer(x, *shapes_of(name), *place_of(name))
    np.testing.assert_allclose(ours(x, *shapes_of(name), *place_of(name)).asnumpy(), expected, rtol=2e-11, atol=1e-14)
    names = [*ALL[name].shapes, "loc", "scale"][: len(shapes_of(name)) + len(place_of(name))]
    named = dict(zip(names, (*shapes_of(name), *place_of(name)), strict=True))
    np.testing.assert_allclose(ours(x, **named).asnumpy(), expected, rtol=2e-11, atol=1e-14)
    single = ours(Tensor(x.astype(np.float32)), *shapes_of(name), *place_of(name))
    assert single.dtype is dg.float32
    if f in ("logpdf", "pdf", "logpmf", "pmf"):
        np.testing.assert_allclose(single.asnumpy(), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_signatures_are_those_of_scipy(name, f):
    ours = list(inspect.signature(getattr(ALL[name], f)).parameters)
    peer = getattr(scipy.stats, name)
    shapes = [s.strip() for s in peer.shapes.split(",")] if peer.shapes else []
    first = "q" if f in ("ppf", "isf") else "x" if name in CONTINUOUS else "k"
    assert ours == [first, *shapes, "loc", *(["scale"] if name in CONTINUOUS else [])]


LOGS = [(name, f) for name, f in FUNCTIONS if f.startswith("log") and f != "logpmf"]


@pytest.mark.parametrize(("name", "f"), [each for each in LOGS if each[0] in CONTINUOUS])
def test_four_derivatives_by_every_operand(name, f):
    ours, exact = getattr(ALL[name], f), exact_stats.function(name, f)
    for x in points_of(name, f)[4::9] if "cdf" in f else points_of(name, f)[1::3]:
        given = (x, *shapes_of(name), LOC, SCALE)
        for place in range(len(given)):
            expected = exact_stats.derivatives(exact, given, place, 4)
            scale = np.maximum(np.abs(expected), 1e-3 * np.max(np.abs(expected)))
            error = np.abs(np.array(grads(by(ours, given, place), given[place], 4)) - expected) / scale
            assert error.max() < 1e-8, (place, x, error, expected)


@pytest.mark.parametrize(
    ("name", "f"), [(n, f) for n, f in FUNCTIONS if n in DISCRETE and f in ("logpmf", "logcdf", "logsf")]
)
def test_four_derivatives_of_counts_by_every_shape(name, f):
    whole = exact_stats.DISCRETE[name][1]
    low = 1 if name == "geom" else 0
    ours, exact = getattr(ALL[name], f), exact_stats.function(name, f, low)
    for k in (low, low + 3) if name != "bernoulli" else (0, 1):
        given = (float(k), *shapes_of(name), 0.0)
        if f != "logpmf" and not -np.inf < ours(*given).item() < 0:
            continue
        for place in range(1 + whole, len(given) - 1):
            expected = exact_stats.derivatives(exact, given, place, 4)
            np.testing.assert_allclose(grads(by(ours, given, place), given[place], 4), expected, rtol=1e-8, atol=1e-9)
        assert grads(by(ours, given, 0), given[0], 2)[1:] == [0.0, 0.0]


@pytest.mark.parametrize(("name", "f"), [each for each in FUNCTIONS if each[1] in ("ppf", "isf")])
def test_slopes_of_quantiles_invert_those_of_the_distribution_function(name, f):
    family, shapes = ALL[name], tuple(Tensor(s, dg.float64) for s in (*shapes_of(name), LOC, SCALE))
    back = family.cdf if f == "ppf" else family.sf
    for q in PROBABILITIES[1:4]:
        around = lambda *given: back(getattr(family, f)(*given), *given[1:])
        slopes = dg.grad(around, tuple(range(len(shapes) + 1)))(Tensor(q, dg.float64), *shapes)
        np.testing.assert_allclose([s.item() for s in slopes], [1.0] + [0.0] * len(shapes), atol=1e-9)
        second = dg.grad(dg.grad(by(around, (q, *shapes), 0)))(Tensor(q, dg.float64))
        assert abs(second.item()) < 1e-6


@pytest.mark.parametrize(("name", "f"), [each for each in FUNCTIONS if each[1] in ("logpdf", "logpmf", "logsf", "ppf")])
def test_the_modes_agree(name, f):
    x = points_of(name, f)
    given = [Tensor(np.asarray(v), dg.float64) for v in (x, *shapes_of(name), *place_of(name))]
    ours = getattr(ALL[name], f)
    eager = ours(*given).asnumpy()
    recorded = dg.jit(lambda *given: dg.value_and_grad(lambda *g: ours(*g).sum(), tuple(range(len(given))))(*given))
    results = [recorded(*given) for _ in range(3)]
    slopes = dg.grad(lambda *g: ours(*g).sum(), tuple(range(len(given))))(*given)
    for value, replayed in results:
        np.testing.assert_allclose(value.item(), eager.sum(), rtol=1e-12, atol=1e-13)
        for one, other in zip(slopes, replayed, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-10, atol=1e-12)
    mapped = dg.vmap(lambda x: ours(x, *given[1:]))(given[0]).asnumpy()
    np.testing.assert_allclose(mapped, eager, rtol=1e-13, atol=1e-15)
    _, forward = dg.jvp(lambda x: ours(x, *given[1:]), given[0], Tensor(np.ones(x.shape)))
    np.testing.assert_allclose(forward.asnumpy(), slopes[0].asnumpy(), rtol=1e-12, atol=1e-14)


OUTSIDE = {"pdf": 0.0, "logpdf": -np.inf, "pmf": 0.0, "logpmf": -np.inf}
BELOW = {**OUTSIDE, "cdf": 0.0, "sf": 1.0, "logcdf": -np.inf, "logsf": 0.0, "ppf": np.nan, "isf": np.nan}
ABOVE = {**OUTSIDE, "cdf": 1.0, "sf": 0.0, "logcdf": 0.0, "logsf": -np.inf, "ppf": np.nan, "isf": np.nan}


@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_outside_the_support(name, f):
    """Values are the limits, and all slopes 0, to order 4."""
    low, high = getattr(scipy.stats, name).support(*shapes_of(name))
    ours = getattr(ALL[name], f)
    if f in ("ppf", "isf"):
        low, high = 0.0, 1.0
    for end, expected in ((low - 1.5, BELOW[f]), (high + 1.5, ABOVE[f])):
        given = [end, *shapes_of(name), *((0.0, 1.0) if name in CONTINUOUS else (0.0,))]
        for place in range(len(given)):
            value, *slopes = grads(by(ours, given, place), given[place], 4)
            np.testing.assert_equal(value, expected)
            assert slopes == [0.0] * 4, (end, place, slopes)


@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_bad_parameters_and_nan(name, f):
    """Where SciPy gives nan; and no slope of an array is nan because another element is outside."""
    peer, ours = getattr(scipy.stats, name), getattr(ALL[name], f)
    x = float(points_of(name, f)[1])
    good = (*shapes_of(name), *place_of(name))
    for i, bad in itertools.product(range(len(good)), (-1.0, 0.0, np.nan, 2.5)):
        given = [*good[:i], bad, *good[i + 1 :]]
        if name == "poisson" and bad == 0.0:  # the mean 0 is one
            continue
        with np.errstate(all="ignore"):
            of = f.replace("log", "") if name in DISCRETE else f  # its logcdf of a bad n is 0
            expected = np.isnan(getattr(peer, of)(x, *given))
        assert np.isnan(ours(np.asarray(x), *given).item()) == expected, given
    assert np.isnan(ours(np.asarray(np.nan), *good).item())
    both = Tensor(np.array([x, -1e3]))
    if f not in ("ppf", "isf"):
        assert np.isfinite(dg.grad(lambda x: ours(x, *good)[0])(both).asnumpy()).all()


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "vonmises"])
def test_densities_integrate_to_one(name):
    from scipy.integrate import quad

    family, shapes = ALL[name], shapes_of(name)
    a, b = getattr(scipy.stats, name).ppf([1e-7, 1 - 1e-7], *shapes)
    middle = getattr(scipy.stats, name).ppf(0.5, *shapes)
    f = lambda u: (family.pdf(np.asarray(np.sinh(u) + middle), *shapes) * np.cosh(u)).item()
    mass = sum(
        quad(f, *np.arcsinh(np.array(ends) - middle), epsabs=1e-10, epsrel=1e-10, limit=200)[0]
        for ends in ((a, middle), (middle, b))
    )
    assert abs(mass - 1 + 2e-7) < 1e-9
    if "ppf" in family.functions:
        np.testing.assert_allclose(
            [family.ppf(np.array([0.0, 1.0]), *shapes).asnumpy()], [getattr(scipy.stats, name).support(*shapes)]
        )


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_sum_to_one(name):
    k = np.arange(0.0, 400.0)
    total = ALL[name].pmf(k, *shapes_of(name)).asnumpy()
    assert abs(total.sum() - 1) < 1e-12
    assert ALL[name].pmf(np.asarray(1.5), *shapes_of(name)).item() == 0.0
    if "cdf" in ALL[name].functions:
        np.testing.assert_allclose(ALL[name].cdf(k + 0.5, *shapes_of(name)).asnumpy(), total.cumsum(), rtol=1e-11)


TAILS = {
    "norm": (-14.0, 14.0), "cauchy": (-1e9, 1e9), "laplace": (-200.0, 200.0), "logistic": (-200.0, 200.0),
    "gumbel_r": (-3.0, 200.0), "gumbel_l": (-200.0, 3.0), "t": (-1e9, -50.0, 1e8), "expon": (1e-12, 200.0),
    "halfnorm": (1e-9, 14.0), "gamma": (1e-30, 1e-3, 200.0), "chi2": (1e-3, 90.0, 300.0), "invgamma": (0.01, 1e6),
    "lognorm": (1e-6, 1e6), "pareto": (1.0 + 2**-30, 1e30), "weibull_min": (1e-8, 15.0), "gennorm": (-15.0, 9.0, 15.0),
    "beta": (1e-30, 0.999), "truncnorm": (-1.19, 2.09), "wrapcauchy": (1e-9, 6.0), "uniform": (1e-20, 0.75),
}  # fmt: skip


@pytest.mark.parametrize(("name", "f"), [(n, f) for n, f in LOGS if n in TAILS and f != "logpdf"])
def test_tails(name, f):
    """Value, slope and second derivative by x."""
    for x in TAILS[name]:
        given = (x, *shapes_of(name), 0.0, 1.0)
        with mp.workdps(130):
            found = [mp.mpf(v) for v in given]
            exact = exact_stats.function(name, f)(*found)
            hazard = exact_stats.function(name, "pdf")(*found) / mp.exp(exact)
        slope = float(-hazard if f == "logsf" else hazard)
        ours = grads(by(getattr(ALL[name], f), given, 0), x, 2)
        np.testing.assert_allclose(ours[:2], [float(exact), slope], rtol=1e-11, atol=1e-300, err_msg=str(x))
        assert np.isfinite(ours[2])


FAR = {
    ("norm", "logcdf"): (-1e3, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)),
    ("gumbel_r", "logsf"): (900.0, lambda x: -x - mp.exp(-x) / 2),
    ("gamma", "logsf"): (2e3, lambda x, a: mp.log(mp.gammainc(a, x) / mp.gamma(a))),
    ("gamma", "logcdf"): (1e-20, lambda x, a: a * mp.log(x) - mp.log(mp.gamma(a + 1)) + mp.log1p(-x * a / (a + 1))),
    ("chi2", "logsf"): (4e3, lambda x, v: mp.log(mp.gammainc(v / 2, x / 2) / mp.gamma(v / 2))),
    ("invgamma", "logcdf"): (1e-3, lambda x, a: mp.log(mp.gammainc(a, 1 / x) / mp.gamma(a))),
    ("t", "logcdf"): (-1e20, lambda x, v: mp.log(mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + x * x), True) / 2)),
    ("gennorm", "logcdf"): (-200.0, lambda x, b: mp.log(mp.gammainc(1 / b, (-x) ** b) / mp.gamma(1 / b) / 2)),
}


@pytest.mark.parametrize(("name", "f"), FAR)
def test_far_tails(name, f):
    """Logarithms and their derivatives where series and fractions are taken, mostly of numbers below 1e-308."""
    x, exact = FAR[name, f]
    given = (x, *shapes_of(name))
    for place in range(len(given)):
        ours = getattr(ALL[name], f)
        found = grads(by(ours, given, place), given[place], 2)
        expected = exact_stats.derivatives(exact, given, place, 2)
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-11)


def test_shapes_beyond_one_number_broadcast():
    x, a, loc = np.ones((4, 1)), np.array([1.0, 2.0, 3.0]), np.zeros((2, 1, 1))
    assert stats.gamma.logpdf(x, a, loc=loc).shape == (2, 4, 3)


def test_what_there_is_not_says_so():
    with pytest.raises(NotImplementedError, match=r"vonmises.cdf: there is no formula .* logpdf, pdf"):
        stats.vonmises.cdf(0.5, 1.0)
    with pytest.raises(TypeError, match=r"stats.gamma.logpdf: got no a; expected .*\(x, a, loc=0"):
        stats.gamma.logpdf(1.0)
    with pytest.raises(AttributeError, match=r"stats\.norm has no attribute 'rvs'"):
        stats.norm.rvs()
    with pytest.raises(TypeError, match=r"stats\.norm\.pdf: "):
        stats.norm.pdf("a")
