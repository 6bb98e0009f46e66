"""Derivatives to order 4 by every operand, against those that mpmath takes of densities and distribution functions."""

import exact_stats
import numpy as np
import pytest
from stats_points import (
    ALL,
    CONTINUOUS,
    DISCRETE,
    FUNCTIONS,
    LOC,
    LOGS,
    PROBABILITIES,
    SCALE,
    by,
    grads,
    points_of,
    shapes_of,
)

import dualgrad as dg
from dualgrad import Tensor


@pytest.mark.parametrize(("name", "f"), [each for each in LOGS if each[0] in CONTINUOUS])
def test_four_derivatives_by_every_operand(name, f):
    ours, exact = getattr(ALL[name], f), exact_stats.function(name, f)
    for x in points_of(name, f)[1::3] if f == "logpdf" else points_of(name, f)[4::9]:
        given = (x, *shapes_of(name), LOC, SCALE)
        for place in range(len(given) if "pdf" in f or not shapes_of(name) else len(given) - 2):
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
