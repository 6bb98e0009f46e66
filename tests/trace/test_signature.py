"""Keys of calls and templates of results: what is returned is of the same kinds at every call, whatever its width."""

import warnings

import numpy as np
import pytest
from support import f64

import dualgrad as dg
from dualgrad import Parameter, Tensor
from dualgrad.testing import Calls

X = f64([1.0, -2.0, 3.0])


class Own(Tensor):
    """A class of the user's."""


#: what a function makes of a tensor and returns
RETURNED = {
    "tensor": lambda y: y,
    "Parameter": lambda y: Parameter(y, name="made"),
    "class of the user's": lambda y: Own(y.asnumpy()),
    "tuple with a Parameter": lambda y: (y, Parameter(y, name="made")),
}


def kinds(result):
    return tuple(map(kinds, result)) if isinstance(result, tuple) else (type(result), result.asnumpy().tolist())


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("name", RETURNED)
def test_results_are_of_the_same_kinds_at_every_call(name):
    f = lambda x: RETURNED[name](x * 2.0)
    recorded = dg.jit(f)
    for _ in range(4):
        assert kinds(recorded(X)) == kinds(f(X))


@pytest.mark.parametrize("wrap", [tuple, list, lambda y: {"y": y[0]}], ids=["tuple", "list", "dict"])
@pytest.mark.parametrize("width", [10, 3000])
def test_wide_results_are_replayed(width, wrap):
    """Their depth is that of one entry, however many there are."""
    calls = Calls()

    def f(x):
        calls.note()
        y = x * 2.0
        return [wrap([y]) for _ in range(width)]

    recorded = dg.jit(f)
    for _ in range(4):
        found = recorded(X)
    assert len(calls) == 2
    assert len(found) == width
    last = found[-1]["y"] if isinstance(found[-1], dict) else found[-1][0]
    np.testing.assert_array_equal(last.asnumpy(), 2.0 * X.asnumpy())


@pytest.mark.parametrize("wrap", [lambda y: (y,), lambda y: [y], lambda y: {"y": y}], ids=["tuple", "list", "dict"])
@pytest.mark.parametrize("depth", [63, 64, 65, 200])
def test_results_are_replayed_down_to_64_levels(depth, wrap):
    calls = Calls()

    def f(x):
        calls.note()
        y = x * 2.0
        for _ in range(depth):
            y = wrap(y)
        return y

    recorded = dg.jit(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            found = recorded(X)
    assert ["64 levels" in str(w.message) for w in caught] == [True] * (depth > 64)
    assert len(calls) == (2 if depth <= 64 else 4)
    for _ in range(depth):
        (found,) = found.values() if isinstance(found, dict) else found
    np.testing.assert_array_equal(found.asnumpy(), 2.0 * X.asnumpy())
