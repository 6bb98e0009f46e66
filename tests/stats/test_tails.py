"""Tails and the outside of the support: values, and slopes that are never nan."""

import itertools
import pickle

import exact_stats
import numpy as np
import pytest
from mpmath import mp
from stats_points import (
    ALL,
    CONTINUOUS,
    DISCRETE,
    FUNCTIONS,
    LOGS,
    by,
    grads,
    place_of,
    points_of,
    scipy_stats,
    shapes_of,
)

import dualgrad as dg
from dualgrad import Tensor

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
        expected = exact_stats.derivatives(exact, given, place, 2, digits=40)  # steps are small beside 1e-20
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-11)


OUTSIDE = {"pdf": 0.0, "logpdf": -np.inf, "pmf": 0.0, "logpmf": -np.inf}
BELOW = {**OUTSIDE, "cdf": 0.0, "sf": 1.0, "logcdf": -np.inf, "logsf": 0.0, "ppf": np.nan, "isf": np.nan}
ABOVE = {**OUTSIDE, "cdf": 1.0, "sf": 0.0, "logcdf": 0.0, "logsf": -np.inf, "ppf": np.nan, "isf": np.nan}


@pytest.mark.rotated("f")
@pytest.mark.parametrize(("name", "f"), FUNCTIONS)
def test_outside_the_support(name, f):
    """Values are the limits, and all slopes 0, to order 4."""
    low, high = getattr(scipy_stats, name).support(*shapes_of(name))
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
    peer, ours = getattr(scipy_stats, name), getattr(ALL[name], f)
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


@pytest.mark.parametrize(("f", "x", "expected"), [
    ("logcdf", 40.0, 0.0), ("logsf", 40.0, -np.inf), ("logcdf", -40.0, -np.inf), ("logsf", -40.0, 0.0),
])  # fmt: skip
def test_a_power_too_large_for_a_number(f, x, expected):
    """40**300 is infinite; what is left of a tail there is 0, and nothing is nan."""
    for place in range(2):
        given = [x, 300.0]
        value, *slopes = grads(by(getattr(ALL["gennorm"], f), given, place), given[place], 3)
        assert [value, *slopes] == [expected, 0.0, 0.0, 0.0]


def test_quantiles_of_cauchy_close_to_one():
    for q in (1e-300, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0 - 1e-12):
        with mp.workdps(330):
            exact = mp.tan(mp.pi * (mp.mpf(q) - 0.5))
            slope = mp.pi * (1 + exact**2)
        value, slope_here = grads(by(ALL["cauchy"].ppf, [q], 0), q, 2)[:2]
        assert value == pytest.approx(float(exact), rel=1e-14, abs=1e-300)
        if mp.isfinite(slope) and slope < 1e300:
            assert slope_here == pytest.approx(float(slope), rel=1e-13)
        assert ALL["cauchy"].isf(Tensor(q, dg.float64)).item() == -value


@pytest.mark.parametrize(("x", "a", "b"), [
    (7.0, -1.0, 9.0), (-29.9, -30.0, -29.0), (0.0, -1e-9, 5.0), (1e-10, 0.0, 3e-10), (-1e-12, -3.0, 1e-14),
    (8.9, -9.0, 9.0), (0.0, -1e-9, 1e-9),
])  # fmt: skip
def test_truncnorm_has_all_digits(x, a, b):
    """Close to both ends, and on short intervals around 0: the logarithms and their slopes by x and by the ends."""
    with mp.workdps(600):
        z, low, high = [mp.mpf(v) for v in (x, a, b)]
        mass = lambda s, t: (mp.erf(t / mp.sqrt(2)) - mp.erf(s / mp.sqrt(2))) / 2
        whole, left, right = mass(low, high), mass(low, z), mass(z, high)
        at = [mp.npdf(v) for v in (z, low, high)]
        exact = {
            "logcdf": (mp.log(left / whole), at[0] / left, at[1] / whole - at[1] / left, -at[2] / whole),
            "logsf": (mp.log(right / whole), -at[0] / right, at[1] / whole, at[2] / right - at[2] / whole),
        }
        exact = {f: [float(v) for v in values] for f, values in exact.items()}
    for f, (value, *slopes) in exact.items():
        ours, given = getattr(ALL["truncnorm"], f), [Tensor(v, dg.float64) for v in (x, a, b)]
        np.testing.assert_allclose(ours(*given).item(), value, rtol=1e-12)
        found = [each.item() for each in dg.grad(ours, (0, 1, 2))(*given)]
        np.testing.assert_allclose(found, slopes, rtol=1e-11)


def test_distributions_are_pickled_by_name():
    for one in ALL.values():
        assert pickle.loads(pickle.dumps(one)) is one
