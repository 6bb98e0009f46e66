"""Functions that leave the real line: `dualgrad.numpy.emath` beside NumPy's, value and slope, inside and outside."""

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor
from dualgrad.numpy import emath

ONE = sorted(set(emath.__all__) - {"logn", "power"})
TWO = [("logn", lambda f, x: f(2.5, x)), ("power", lambda f, x: f(x, 2.5)), ("power", lambda f, x: f(x, -1.0))]
CALLS = [(name, lambda f, x: f(x)) for name in ONE] + TWO
PLACES = {"inside": [0.25, 0.5], "mixed": [-3.0, 0.5], "outside": [-3.0, -1.5], "above": [1.5, 3.0]}

called = pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
placed = pytest.mark.parametrize("where", PLACES)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@called
@placed
def test_values_and_types_are_those_of_numpy(name, call, where, dtype):
    x = np.array(PLACES[where], dtype)
    got, expected = call(getattr(emath, name), Tensor(x)).asnumpy(), call(getattr(np.emath, name), x)
    assert np.iscomplexobj(got) == np.iscomplexobj(expected)
    if dtype != "float32":  # Python's numbers do not widen tensors
        assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)


@called
@placed
def test_slopes_are_those_of_numpys_values(name, call, where):
    f, g, x, h = getattr(emath, name), getattr(np.emath, name), np.array(PLACES[where]), 1e-4
    differences = [(call(g, x + k * h / 2) - call(g, x - k * h / 2)) / (k * h) for k in (1, 2)]
    expected = (4 * differences[0] - differences[1]) / 3
    for part, wanted in (("real", expected.real), ("imag", expected.imag)):
        if part == "real" or np.iscomplexobj(call(g, x)):
            got = dg.grad(lambda x, part=part: getattr(mnp, part)(call(f, x)).sum())(Tensor(x))
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("name", ONE)
def test_recorded_functions_follow_the_values(name):
    recorded = dg.jit(getattr(emath, name))
    for where in [*PLACES, *PLACES] * 2:
        x = Tensor(np.array(PLACES[where]))
        np.testing.assert_array_equal(recorded(x).asnumpy(), getattr(emath, name)(x).asnumpy())


def test_lists_and_integers():
    assert emath.sqrt([4, 9]).tolist() == [2.0, 3.0]
    assert emath.sqrt(-4).tolist() == 2j
    assert emath.power([2, 4], 2).tolist() == [4, 16]
    assert emath.power(Tensor([2, 4]), -1).tolist() == [0.5, 0.25]
