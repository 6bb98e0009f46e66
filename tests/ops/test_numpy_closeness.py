"""`np.isclose` and its kin of tensors: NumPy's numbers, by primitives, so that programs, samples and slopes stay."""

import itertools
import warnings

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

VALUES = {
    "float": np.array([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.001, 1e-9, -1.0, np.nan, np.inf, -np.inf, 1e300]),
    "float32": np.array([0.0, 1.0, 1.0 + 1e-6, 2.0, np.nan, np.inf, -np.inf], np.float32),
    "float16": np.array([0.0, 1.0, 1.001, 2.0, np.nan, np.inf], np.float16),
    "int": np.array([0, 1, -1, 2**53 + 1, 2**53, 100000, 100001, np.iinfo(np.int64).min]),
    "int8": np.array([0, 1, -128, 127], np.int8),
    "uint64": np.array([0, 1, 2**63, 2**64 - 1], np.uint64),
    "bool": np.array([True, False]),
    "complex": np.array([0, 1j, 1 + 1e-9j, complex(np.nan, 0), complex(np.inf, 1), complex(1, np.nan)]),
}

ERRORS = [{}, {"rtol": 0, "atol": 1e-3}, {"rtol": 1e-3}, {"rtol": 1, "atol": 0.5}, {"equal_nan": True}]


@pytest.mark.parametrize(("left", "right"), [*itertools.product(VALUES, VALUES)])
def test_isclose_is_numpys(left, right):
    a, b = VALUES[left][:, None], VALUES[right]
    for settings in ERRORS:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.isclose(a, b, **settings)
        for x, y in ((Tensor(a), Tensor(b)), (Tensor(a), b), (a, Tensor(b))):
            found = np.isclose(x, y, **settings)
            assert found.dtype == dg.bool_
            np.testing.assert_array_equal(found.asnumpy(), expected, err_msg=f"{left} {right} {settings}")


@pytest.mark.parametrize("name", VALUES)
def test_numbers_and_lists(name):
    a = VALUES[name]
    for number in (1, 1.0, 1j, True, np.nan, np.inf, np.float64(1.0), np.int32(1)):
        expected = np.isclose(a, number), np.isclose(number, a)
        found = np.isclose(Tensor(a), number), np.isclose(number, Tensor(a))
        np.testing.assert_array_equal([t.asnumpy() for t in found], expected)
    np.testing.assert_array_equal(mnp.isclose(Tensor(a), a.tolist()).asnumpy(), np.isclose(a, a.tolist()))


def test_errors_that_are_arrays():
    a, b = np.array([1.0, 1.0, 2.0]), np.array([1.1, 1.01, 2.001])
    rtol, atol = np.array([0.2, 0.0, 0.0]), np.array([[0.0], [0.05]])
    expected = np.isclose(a, b, rtol, atol)
    for r, t in ((rtol, atol), (Tensor(rtol), atol), (Tensor(rtol), Tensor(atol)), (rtol.tolist(), atol.tolist())):
        np.testing.assert_array_equal(mnp.isclose(Tensor(a), Tensor(b), r, t).asnumpy(), expected)


@pytest.mark.parametrize(("left", "right"), [*itertools.product(VALUES, VALUES)])
def test_the_truth_of_whole_arrays(left, right):
    arrays = [VALUES[left], VALUES[left][:1], VALUES[right], VALUES[right][:1], VALUES[right][:1, None]]
    for function, settings in (
        ("allclose", [{}, {"equal_nan": True}, {"atol": 1e400, "rtol": 0.5}]),
        ("array_equal", [{}, {"equal_nan": True}]),
        ("array_equiv", [{}]),
    ):
        for (a, b), more in itertools.product(itertools.product(arrays, arrays), settings):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = getattr(np, function)(a, b, **more)
                except ValueError:  # shapes that do not broadcast
                    continue
            found = getattr(np, function)(Tensor(a), b, **more)
            assert found.shape == ()
            assert found.dtype == dg.bool_
            assert bool(found) == bool(expected), (function, a, b, more)


def test_what_is_no_array_of_numbers_is_not_equal():
    x = Tensor([1.0, 2.0])
    for function in (np.array_equal, np.array_equiv):
        for other in ("text", None, {}):
            assert not function(x, other)
            assert not function(other, x)
    assert np.array_equiv(x, [[1.0, 2.0], [1.0, 2.0]])
    assert not np.array_equiv(x, [1.0, 2.0, 3.0])


PROGRAMS = {
    "isclose": lambda x: np.where(np.isclose(x, 2.0, rtol=0, atol=1e-3), 0.0, x * x),
    "a tolerance that moves": lambda x: np.where(np.isclose(x, 2.0, rtol=0, atol=x * 1e-3), 0.0, x * x),
    "allclose": lambda x: np.where(np.allclose(x, 2.0), 0.0, x * x),
    "array_equal": lambda x: np.where(np.array_equal(x, x), x * x, 0.0),
    "array_equiv": lambda x: np.where(np.array_equiv(x, x[:1]), 0.0, x * x),
}

ROWS = np.array([[1.0, 2.0, 2.0005], [2.0, 2.0, 2.0], [0.0, -2.0, 3.0]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_stay_inside(name):
    program = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded, mapped = dg.jit(program), dg.vmap(program)(Tensor(ROWS))
        slopes = dg.vmap(dg.grad(lambda x: program(x).sum()))(Tensor(ROWS))
        for _ in range(2):
            for row, sample, slope in zip(ROWS, mapped, slopes, strict=True):
                value = program(Tensor(row))
                np.testing.assert_array_equal(value.asnumpy(), program(row))
                np.testing.assert_array_equal(recorded(Tensor(row)).asnumpy(), value.asnumpy())
                np.testing.assert_array_equal(sample.asnumpy(), value.asnumpy())
                np.testing.assert_array_equal(slope.asnumpy(), np.where(value.asnumpy() == 0.0, 0.0, 2 * row))
    assert dg.explain(recorded, Tensor(ROWS[0])).replayed if hasattr(dg.explain, "replayed") else True
