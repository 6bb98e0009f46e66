"""The functions of `dualgrad.numpy.special` beside those of SciPy with the same names."""

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor
from dualgrad.numpy import special

scipy_special = pytest.importorskip("scipy.special")

POINTS = np.array([-35.5, -2.5, -0.5, 1e-8, 0.1, 0.5, 0.99, 1.5, 2.0, 5.0, 9.7, 25.0, 150.0])
FIRST = {"gammainc": POINTS[3:], "gammaincc": POINTS[3:], "polygamma": np.array([0.0, 1.0, 3.0]), "xlog1py": POINTS,
         "xlogy": POINTS, "zeta": np.array([1.5, 2.0, 6.0])}  # fmt: skip
ORDERS = {"multigammaln": 3}
NAMES = [name for name in special.__all__ if name != "enter"]


def operands(name):
    points = POINTS[POINTS > 1] if name == "multigammaln" else POINTS
    return np.meshgrid(FIRST[name], points) if name in FIRST else [points]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_are_those_of_scipy(name):
    more = (ORDERS[name],) if name in ORDERS else ()
    given = operands(name)
    expected = getattr(scipy_special, name)(*given, *more)
    found = getattr(mnp.special, name)(*map(Tensor, given), *more).asnumpy()
    fits = np.isfinite(expected)  # poles are those of ops, and are tested there
    np.testing.assert_allclose(found[fits], expected[fits], rtol=1e-11, atol=1e-15)
    assert fits.sum() >= 4


def test_integers_are_double_and_complex_numbers_constants():
    assert special.gammaln(Tensor([1, 5])).dtype is dg.float64
    z = np.array([0.3 + 0.4j, 1.0 - 2.0j])
    np.testing.assert_allclose(special.erf(Tensor(z)).asnumpy(), scipy_special.erf(z))
    with pytest.raises(dg.LeavesDerivativeError):
        dg.grad(lambda x: mnp.real(special.erf(x + 1j)).sum())(Tensor([0.5, 1.0]))


def test_zeta_without_an_offset_is_that_of_riemann():
    np.testing.assert_allclose(special.zeta(Tensor([2.0, 4.0], dg.float64)).asnumpy(), [np.pi**2 / 6, np.pi**4 / 90])


def test_functions_that_are_entered_are_found():
    special.enter({"of_a_test": lambda x: x**3})
    try:
        assert mnp.special.of_a_test(Tensor([2])).tolist() == [8.0]
    finally:
        del special.of_a_test


def test_what_scipy_asks_for_is_found():
    """SciPy's list of its functions that ask for one of the same name; those of which there is a rule are found."""
    backends = pytest.importorskip("scipy.special._support_alternative_backends")
    if not hasattr(backends, "_special_funcs"):
        pytest.skip("an older SciPy has no such list")
    from dualgrad.scipy import special as rules

    rows = {entry.row.function for entry in rules.ENTRIES if entry.row.function}
    asked = {info.name for info in backends._special_funcs if info.is_ufunc}
    assert asked & rows
    for name in asked & rows:
        f = getattr(special, name)
        arity = next(entry.row.arity for entry in rules.ENTRIES if entry.row.function == name)
        assert f(*[Tensor([1])] * arity).dtype is dg.float64, name
    with pytest.raises(AttributeError, match="no attribute 'gama'"):
        special.gama  # noqa: B018
