"""Values and derivatives of every elementwise row against 25 exact digits; the criterion is stated in `accuracy.py`."""

import mpmath
import pytest
from accuracy import ACCURATE, accuracy_table, exact_derivatives, measure, points

from dualgrad._table import BY_NAME, ROWS

pytestmark = pytest.mark.eager("measures the accuracy of single primitives")

NAMES = [row.name for row in ACCURATE]


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("row", ACCURATE, ids=NAMES)
def test_values_and_derivatives_are_right_to_the_last_digits(row, every):
    report = measure(row, every=every)
    assert not report.failures, "\n".join(report.failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ACCURATE, ids=NAMES)
def test_values_and_derivatives_are_right_to_the_last_digits_everywhere(row):
    report = measure(row, dense=True)
    assert not report.failures, "\n".join(report.failures[:40])


def test_every_public_row_states_its_exact_function():
    missing = [row.name for row in ROWS if row.family == "elementwise" and row.example and not row.exact]
    assert missing == ["igamma", "igammac"]  # measured in test_special.py, on a grid of their own


def test_the_reference_knows_derivatives_in_closed_form():
    """The grid of differences against formulas, at the points of the rows themselves."""
    closed = {
        "exp": lambda x, k: mpmath.exp(x),
        "sin": lambda x, k: mpmath.sin(x + k * mpmath.pi / 2),
        "reciprocal": lambda x, k: (-1) ** k * mpmath.factorial(k) / x ** (k + 1),
    }
    for name, formula in closed.items():
        for point in points(BY_NAME[name]):
            found = exact_derivatives(BY_NAME[name], point, 7)
            with mpmath.workprec(1200):
                for (k,), t in found.items():
                    expected = formula(mpmath.mpf(point.operands[0]), k)
                    assert abs(t - expected) <= mpmath.mpf(10) ** -24 * (abs(expected) + mpmath.mpf(10) ** -330)


@pytest.mark.exhaustive
def test_the_table_of_errors_has_a_line_for_each_row():
    assert len(accuracy_table().splitlines()) == sum(row.example is not None for row in ACCURATE) + 2
