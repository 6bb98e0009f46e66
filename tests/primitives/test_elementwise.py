"""Elementwise operators at corners, and compositions that must not lose their small slopes."""

import math

import mpmath
import numpy as np
import pytest
from support import assert_close, f32, f64, i32, repeated_grad

import dualgrad as dg
from dualgrad import ops

INF, NAN = math.inf, math.nan
SPECIAL = np.array([-INF, -2.5, -0.0, 0.0, 0.75, 3.0, INF, NAN])
FIRST, SECOND = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
all_inputs = ops.GradOperation(get_all=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "fmax", "fmin", "copysign", "heaviside", "fmod"])
def test_values_are_numpys_at_special_numbers_too(name, dtype):
    x, y = FIRST.astype(dtype), SECOND.astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x, y)
    found = getattr(ops, name)(dg.Tensor(x), dg.Tensor(y)).asnumpy()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


CORNERS = {
    # operator: operands, values, slopes by the first, slopes by the second
    ops.logaddexp: ([-INF, -INF, INF, 0.0], [-INF, 2.0, INF, 0.0], [-INF, 2.0, INF, math.log(2.0)],
                    [0.5, 0.0, 0.5, 0.5], [0.5, 1.0, 0.5, 0.5]),
    ops.logaddexp2: ([-INF, -INF, INF, 0.0], [-INF, 2.0, INF, 0.0], [-INF, 2.0, INF, 1.0],
                     [0.5, 0.0, 0.5, 0.5], [0.5, 1.0, 0.5, 0.5]),
    ops.fmax: ([1.0, NAN, 2.0, 3.0], [NAN, 1.0, 2.0, 4.0], [1.0, 1.0, 2.0, 4.0],
               [1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.5, 1.0]),
    ops.fmin: ([1.0, NAN, 2.0, 3.0], [NAN, 1.0, 2.0, 4.0], [1.0, 1.0, 2.0, 3.0],
               [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 0.0]),
    ops.copysign: ([3.0, -3.0, 0.0, -3.0], [-1.0, -0.0, -1.0, 0.0], [-3.0, -3.0, -0.0, 3.0],
                   [-1.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]),
    ops.heaviside: ([-1.0, 0.0, 2.0], [5.0, 6.0, 7.0], [0.0, 6.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ops.ldexp: ([3.0, 5e-324, 0.0], [-1.0, 1074.0, 5.0], [1.5, 1.0, 0.0],
                [0.5, INF, 32.0], [1.5 * math.log(2), math.log(2), 0.0]),
    ops.xlogy: ([0.0, 0.0, 0.0, 0.0, 2.0], [0.0, -1.0, NAN, 4.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, math.log(4.0), 0.0], [0.0, 0.0, 0.0, 0.0, 2.0]),
    ops.xdivy: ([0.0, 0.0, 3.0], [0.0, 4.0, 2.0], [0.0, 0.0, 1.5], [0.0, 0.25, 0.5], [0.0, 0.0, -0.75]),
    ops.DivNoNan(): ([0.0, 3.0, 3.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.5], [0.0, 0.0, 0.5], [0.0, 0.0, -0.75]),
    ops.MulNoNan(): ([INF, NAN, 3.0, 2.0], [0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 10.0],
                     [0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 3.0, 2.0]),
    ops.Mod(): ([7.0, -7.0, 7.0], [4.0, 4.0, -4.0], [3.0, -3.0, 3.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("operator", CORNERS, ids=lambda operator: getattr(operator, "__name__", repr(operator)))
def test_values_and_slopes_at_corners(operator):
    x, y, value, by_x, by_y = CORNERS[operator]
    x, y = f64(x), f64(y)
    assert_close(operator(x, y), value)
    assert_close(all_inputs(operator)(x, y), (by_x, by_y))
    for order in (2, 3):
        with np.errstate(invalid="ignore"):
            assert not np.isnan(repeated_grad(lambda x: operator(x, y), order)(x).asnumpy()).any()


def test_mixed_slopes_where_a_factor_is_zero():
    x, y = f64([0.0]), f64([2.0])
    assert_close(dg.grad(dg.grad(ops.xlogy), 1)(x, y), [0.5])
    assert_close(dg.grad(dg.grad(ops.xdivy), 1)(x, y), [-0.25])


def test_nan_to_num():
    x = f64([NAN, INF, -INF, 2.0])
    largest = np.finfo(np.float64).max
    assert_close(ops.nan_to_num(x), [0.0, largest, -largest, 2.0])
    assert_close(x.nan_to_num(1.0, 2.0, 3.0), [1.0, 2.0, 3.0, 2.0])
    assert_close(dg.grad(lambda x: ops.nan_to_num(x) ** 2)(x), [0.0, 0.0, 0.0, 4.0])
    assert_close(ops.nan_to_num(f32([NAN, -INF])), [0.0, -np.finfo(np.float32).max], dtype=dg.float32)
    assert_close(ops.nan_to_num(i32([3])), [3], dtype=dg.int32)


def test_integers_keep_their_type_or_become_float32():
    a, b = i32([3, -7]), i32([5, 4])
    assert_close(ops.fmax(a, b), [5, 4], dtype=dg.int32)
    assert_close(ops.Mod()(a, b), [3, -3], dtype=dg.int32)
    assert_close(ops.ldexp(a, b), [96.0, -112.0], dtype=dg.float32)
    assert_close(ops.xdivy(a, b), [0.6, -1.75], dtype=dg.float32)


def test_sinc_and_its_derivatives_at_zero():
    for order in range(9):
        with mpmath.workdps(30):
            exact = 0.0 if order % 2 else float((-1) ** (order // 2) * mpmath.pi**order / (order + 1))
        assert_close(repeated_grad(ops.sinc, order)(f64([0.0])), [exact], rtol=4e-16)
    assert_close(ops.sinc(f64([5e-324, 1e-8, 1.0, -3.0, 1e300, INF])), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], rtol=1e-15)
    assert np.isnan(ops.sinc(f64([NAN])).asnumpy()).all()


# ------------------------------------------------------------------------ sums of exponentials, to the last digits

ROWS = {
    "close": [0.3, -0.2, 0.1],
    "one leads": [40.0, 0.0, -5.0],
    "one leads by far": [-300.0, 300.0, 0.0, -5.0],
    "a tie": [7.0, 7.0, -40.0],
    "almost a lead": [0.0, 0.0, 1e-9],
    "without exponentials": [-1e3, -1.02e3, -1.01e3],
    "with -inf": [-INF, 2.0, -30.0],
}


def exact_shares(x):
    """Shares, and for each element the sum of the shares of all others, in 60 digits."""
    with mpmath.workdps(60):
        raised = [mpmath.exp(mpmath.mpf(v) - max(x)) if v > -INF else mpmath.mpf(0) for v in x]
        total = mpmath.fsum(raised)
        others = [mpmath.fsum(raised[:i] + raised[i + 1 :]) / total for i in range(len(x))]
        return [r / total for r in raised], others


def assert_digits(found, expected):
    """To 16 ULP, small elements too."""
    expected = np.array(expected, np.float64)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=16 * 2.0**-52, atol=1e-321)


@pytest.mark.parametrize("x", ROWS.values(), ids=ROWS)
def test_small_components_of_softmax_and_its_logarithm_survive(x):
    shares, others = exact_shares(x)
    n, t = len(x), f64(x)
    for i in range(n):
        slope = [others[i] if j == i else -shares[j] for j in range(n)]
        assert_digits(dg.grad(lambda t, i=i: ops.log_softmax(t)[i])(t), slope)
        assert_digits(dg.grad(lambda t, i=i: ops.softmax(t)[i])(t), [shares[i] * s for s in slope])
    assert_digits(ops.softmax(t), shares)
    assert_digits(dg.grad(lambda t: ops.cross_entropy(t, dg.Tensor(1)))(t), [
        -others[1] if j == 1 else shares[j] for j in range(n)])  # fmt: skip


@pytest.mark.parametrize("x", ROWS.values(), ids=ROWS)
def test_logsumexp_to_second_order(x):
    shares, others = exact_shares(x)
    n, t = len(x), f64(x)
    slope = dg.grad(lambda t: ops.logsumexp(t, 0))
    assert_digits(slope(t), shares)
    for i in range(n):
        row = [shares[i] * (others[i] if j == i else -shares[j]) for j in range(n)]
        assert_digits(dg.grad(lambda t, i=i: slope(t)[i])(t), row)


def test_log_softmax_beside_a_small_sum():
    assert_close(ops.log_softmax(f64([40.0, 0.0])), [-math.exp(-40.0), -40.0], rtol=4e-16)
    assert_close(ops.logsumexp(f64([0.0, -50.0]), 0), math.exp(-50.0), rtol=4e-16)


def test_rows_of_minus_infinity_have_no_slope():
    x = f64([[-INF, -INF], [0.0, -INF]])
    assert_close(ops.logsumexp(x, 1), [-INF, 0.0])
    assert_close(dg.grad(lambda x: ops.logsumexp(x, 1))(x), [[0.0, 0.0], [1.0, 0.0]])
    assert_close(repeated_grad(lambda x: ops.logsumexp(x, 1), 2)(x), [[0.0, 0.0], [0.0, 0.0]])


def test_small_slopes_that_a_textbook_formula_rounds_to_zero():
    x = f64([37.43])
    tail = math.exp(-37.43)
    assert_close(repeated_grad(ops.softplus, 2)(x), [tail], rtol=1e-15)
    assert_close(dg.grad(ops.sigmoid)(x), [tail], rtol=1e-15)
    assert_close(dg.grad(ops.logsigmoid)(x), [tail], rtol=1e-15)
    assert_close(dg.grad(ops.tanh)(f64([20.0])), [4 * math.exp(-40.0)], rtol=1e-15)
