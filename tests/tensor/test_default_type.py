"""`set_default_dtype`: with float64 as the default, numbers have the precision that they have in NumPy."""

import numpy as np
import pytest
from cases.numpy_functions import CALLS

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor, ops
from dualgrad.numpy._protocol import UFUNCS


@pytest.fixture
def double():
    dg.set_default_dtype(dg.float64)
    yield
    dg.set_default_dtype(dg.float32)


def equal(found, expected):
    """Equal to the last digits of float64, and of NumPy's type."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            equal(x, y)
        return
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # from version 2.5 on
@pytest.mark.parametrize(("label", "call", "args"), CALLS, ids=[label for label, _, _ in CALLS])
def test_numbers_in_lists_are_as_precise_as_in_numpy(double, label, call, args):
    equal(call(mnp, *[mnp.array(a.tolist()) for a in args]), call(np, *args))


@pytest.mark.parametrize("ufunc", [f for f in UFUNCS if f.nout == 1], ids=lambda f: f.__name__)
def test_integers_become_float64_where_they_have_to_be_floating(double, ufunc):
    operands = [np.array([[1, 2], [3, 1]])] * ufunc.nin
    with np.errstate(all="ignore"):
        expected = ufunc(*operands)
    if expected.dtype.kind == "f":
        equal(UFUNCS[ufunc](*map(Tensor, operands)), expected)


MADE = {
    "array": lambda m: m.array([[0.1, 0.2], [0.3, 1]]),
    "array of a number": lambda m: m.array(0.1),
    "complex array": lambda m: m.array([0.1j, 1.0]),
    "zeros": lambda m: m.zeros((2, 3)),
    "ones": lambda m: m.ones(2),
    "empty": lambda m: 0 * m.empty(3),
    "full": lambda m: m.full(2, 0.1),
    "complex full": lambda m: m.full(2, 0.1j),
    "eye": lambda m: m.eye(2, 3, 1),
    "identity": lambda m: m.identity(2),
    "tri": lambda m: m.tri(3),
    "arange": lambda m: m.arange(0.0, 1.0, 0.1),
    "linspace": lambda m: m.linspace(0, 1, 7),
    "linspace without its end": lambda m: m.linspace(0, 1, 7, endpoint=False),
    "logspace": lambda m: m.logspace(0, 1, 7),
    "type float": lambda m: m.zeros(3, dtype=float),
    "converted": lambda m: m.array([1, 2]).astype(float) / 3,
    "quotient": lambda m: m.array([1, 2]) / 3,
    "product": lambda m: m.array([1, 2]) * 0.1,
    "complex product": lambda m: m.array([1, 2]) * 0.1j,
    "power": lambda m: m.array([1, 2]) ** 0.1,
    "mean": lambda m: m.mean(m.array([1, 2, 4])),
    "std": lambda m: m.std(m.array([1, 2, 4])),
    "inverse": lambda m: m.linalg.inv(m.array([[1, 2], [3, 5]])),
    "number": lambda m: m.exp(2),
    "transform": lambda m: m.fft.fft(m.array([1, 2, 4])),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_has_the_type_and_the_digits_of_numpy(double, name):
    equal(MADE[name](mnp), MADE[name](np))


def test_namespace_tells_its_defaults(double):
    types = mnp.__array_namespace_info__().default_dtypes()
    assert (types["real floating"], types["complex floating"]) == (dg.float64, dg.complex128)
    assert dg.get_default_dtype() is dg.float64
    assert ops.rand(3).dtype is ops.randn(3).dtype is dg.float64
    drawn = ops.rand(100).asnumpy()
    assert not np.any(drawn == drawn.astype(np.float32))  # digits beyond those of float32


@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_of_integers_have_the_type(double, order):
    """Reverse sweeps inside of each other, by integers, and Taylor coefficients give the exact slope."""
    x = Tensor([2, 3])
    slope = lambda t: ops.exp(t * 0.1) / 3
    gradient, value = slope, 0.1**order * np.exp(0.1 * x.asnumpy()) / 3
    for _ in range(order):
        gradient = dg.grad(gradient)
    forward = dg.derivative(slope, (x.astype(float),), order)[1]
    equal(gradient(x), value)
    equal(forward, value)


def test_programs_are_recorded_anew():
    function = dg.jit(lambda t: ops.sum(mnp.array([0.1, 0.2]) * t))
    x = Tensor([1.0, 1.0], dg.float64)
    single = [float(function(x)) for _ in range(4)]
    dg.set_default_dtype("float64")
    try:
        double = [float(function(x)) for _ in range(4)]
    finally:
        dg.set_default_dtype(dg.float32)
    assert single == [float(np.float32(0.1)) + float(np.float32(0.2))] * 4
    assert double == [0.1 + 0.2] * 4


@pytest.mark.parametrize("transform", [dg.grad, dg.jacfwd, dg.vmap, dg.jit])
def test_it_is_chosen_outside(transform):
    def function(x):
        dg.set_default_dtype(dg.float64)
        return x * 0.1

    with pytest.raises(RuntimeError, match="set_default_dtype: called inside of a function"):
        transform(function)(Tensor([1.0, 2.0]))
    assert dg.get_default_dtype() is dg.float32


@pytest.mark.parametrize(("wrong", "error"), [(dg.float16, ValueError), (dg.int64, ValueError), ("f5", TypeError)])
def test_other_types_are_refused(wrong, error):
    with pytest.raises(error, match="set_default_dtype: "):
        dg.set_default_dtype(wrong)
