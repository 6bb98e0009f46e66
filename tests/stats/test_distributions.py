"""Distributions of one variable: values and errors against SciPy and each other, for every row of the tables."""

import inspect

import exact_stats
import numpy as np
import pytest
from stats_points import ALL, CONTINUOUS, DISCRETE, FUNCTIONS, place_of, points_of, scipy_stats, shapes_of

import dualgrad as dg
from dualgrad import Tensor, stats


def test_all_are_tested():
    assert set(ALL) == {*exact_stats.CONTINUOUS, *exact_stats.DISCRETE}


@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_values_are_those_of_scipy(name, f):
    x = points_of(name, f)
    ours, peer = getattr(ALL[name], f), getattr(getattr(scipy_stats, name), f)
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
    peer = getattr(scipy_stats, name)
    shapes = [s.strip() for s in peer.shapes.split(",")] if peer.shapes else []
    first = "q" if f in ("ppf", "isf") else "x" if name in CONTINUOUS else "k"
    assert ours == [first, *shapes, "loc", *(["scale"] if name in CONTINUOUS else [])]


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "vonmises"])
def test_densities_integrate_to_one(name):
    from scipy.integrate import quad

    family, shapes = ALL[name], shapes_of(name)
    a, b = getattr(scipy_stats, name).ppf([1e-7, 1 - 1e-7], *shapes)
    middle = getattr(scipy_stats, name).ppf(0.5, *shapes)
    f = lambda u: (family.pdf(np.asarray(np.sinh(u) + middle), *shapes) * np.cosh(u)).item()
    mass = sum(
        quad(f, *np.arcsinh(np.array(ends) - middle), epsabs=1e-10, epsrel=1e-10, limit=200)[0]
        for ends in ((a, middle), (middle, b))
    )
    assert abs(mass - 1 + 2e-7) < 1e-9
    if "ppf" in family.functions:
        np.testing.assert_allclose(
            [family.ppf(np.array([0.0, 1.0]), *shapes).asnumpy()], [getattr(scipy_stats, name).support(*shapes)]
        )


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_sum_to_one(name):
    k = np.arange(0.0, 400.0)
    total = ALL[name].pmf(k, *shapes_of(name)).asnumpy()
    assert abs(total.sum() - 1) < 1e-12
    assert ALL[name].pmf(np.asarray(1.5), *shapes_of(name)).item() == 0.0
    if "cdf" in ALL[name].functions:
        np.testing.assert_allclose(ALL[name].cdf(k + 0.5, *shapes_of(name)).asnumpy(), total.cumsum(), rtol=1e-11)


def test_shapes_beyond_one_number_broadcast():
    x, a, loc = np.ones((4, 1)), np.array([1.0, 2.0, 3.0]), np.zeros((2, 1, 1))
    assert stats.gamma.logpdf(x, a, loc=loc).shape == (2, 4, 3)


def test_what_there_is_not_says_so():
    with pytest.raises(AttributeError, match=r"vonmises.cdf: there is no formula .* logpdf, pdf"):
        stats.vonmises.cdf(0.5, 1.0)
    with pytest.raises(TypeError, match=r"stats.gamma.logpdf: got no a; expected .*\(x, a, loc=0"):
        stats.gamma.logpdf(1.0)
    with pytest.raises(AttributeError, match=r"stats\.norm has no attribute 'rvs'"):
        stats.norm.rvs()
    with pytest.raises(TypeError, match=r"stats\.norm\.pdf: "):
        stats.norm.pdf("a")


@pytest.mark.parametrize(
    ("family", "name", "there"),
    [
        (stats.norm, "logpdf", True),
        (stats.poisson, "logpmf", True),
        (stats.norm, "logpmf", False),
        (stats.vonmises, "cdf", False),
        (stats.norm, "no_such_function", False),
    ],
)
def test_functions_that_a_family_lacks_are_no_attributes_of_it(family, name, there):
    assert hasattr(family, name) is there
