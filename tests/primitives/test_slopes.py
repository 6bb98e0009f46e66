"""Slopes where a formula would overflow, cancel or lose the exponent: powers, angles, distances, inverse functions.

Values and derivatives of every row are measured in `test_accuracy.py`; here stand the points outside the domains, the
conventions, the narrow types, and what is no row: a power with a number as its exponent.
"""

import math

import mpmath
import numpy as np
import pytest
from engine import jets, run_forward
from support import assert_close, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")

INF, NAN = math.inf, math.nan
both = dg.grad(ops.hypot, (0, 1)), dg.grad(ops.atan2, (0, 1))


def units(found, exact):
    """The distance from the exact number in units of its last place."""
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.ldexp(1, int(mpmath.mp.mag(exact)) - 53))


@pytest.mark.parametrize("exponent", [0.3, -0.9, 1.7, -2.3, 1 / 3, 2.5, 7, -3])
def test_powers_with_a_number_as_exponent_are_right_to_the_last_digits(exponent):
    x = 10.0 ** np.random.default_rng(1).uniform(-30, 30, 200)
    with mpmath.workdps(60):
        for order in range(7):
            found = repeated_grad(lambda x: x**exponent, order)(f64(x)).asnumpy()
            factor = mpmath.ff(exponent, order)
            errors = [
                units(y, factor * mpmath.power(a, mpmath.mpf(exponent) - order)) for a, y in zip(x, found, strict=True)
            ]
            assert max(errors) <= 4, (order, max(errors))


def test_an_exponent_less_one_is_not_rounded():
    # 0.3 - 1 is off by 5.5e-17, which at x = 1e300 would change the slope by 170 units in its last place.
    with mpmath.workdps(60):
        for x, y in (1e300, 0.3), (1e-300, 0.1), (1e150, -0.9), (1e-200, 1e-3):
            exact = mpmath.mpf(y) * mpmath.power(x, mpmath.mpf(y) - 1)
            for f in (lambda t, y=y: t**y), (lambda t, y=y: ops.pow(t, f64([y]))):
                assert units(dg.grad(f)(f64([x])).asnumpy()[0], exact) <= 4


@pytest.mark.parametrize("whole", [0.0, 1.0, 2.0, 3.0, 5.0])
def test_whole_exponents_in_a_tensor_give_the_derivatives_of_a_polynomial(whole):
    base, exponent = f64([0.0, -0.0, -1.5, 2.0]), f64([whole] * 4)
    for order in range(1, 8):
        factor = math.prod(whole - k for k in range(order))
        expected = factor * base.asnumpy() ** max(whole - order, 0)
        assert_close(repeated_grad(lambda x: x**exponent, order)(base), expected)


def test_a_power_of_zero_has_slope_zero_by_its_exponent_at_every_order():
    x, y = f64([0.0, 0.0, 0.0, -2.0]), f64([2.0, 1.0, 0.0, 2.0])
    for i in range(3):
        f = repeated_grad(lambda x, y: x**y, i)
        for _ in range(2):
            f = dg.grad(f, 1)
            assert_close(f(x, y), [0.0, 0.0, 0.0, NAN])


def test_powers_beyond_the_range_have_slopes_of_the_right_sign():
    x, y = f64([0.5, 0.5, 2.0, 1.0, 1e-320]), f64([-1e200, 1e200, -1e16, 1e300, 1e-300])
    assert_close(dg.grad(lambda x: x**y)(x), [-INF, 0.0, 0.0, 1e300, 1e20], rtol=1e-3)
    assert_close(repeated_grad(lambda x: x**y, 3)(x)[:3], [-INF, 0.0, 0.0])


def test_distance_and_angle_at_the_origin():
    for f in ops.hypot, ops.atan2:
        for zero in 0.0, -0.0:
            x, y = f64([0.0]), f64([zero])
            assert_close(dg.grad(f, (0, 1))(x, y), ([0.0], [0.0]))
            for order in 2, 3, 4:
                assert_close(repeated_grad(f, order)(x, y), [0.0])
            assert_close(dg.grad(dg.grad(f, 0), 1)(x, y), [0.0])
    assert_close(dg.grad(lambda x: ops.hypot(x, 0.0))(f64([0.0, 1.0, -2.0])), [0.0, 1.0, -1.0])


def test_distance_and_angle_far_out():
    distance, angle = both
    x, y = f64([INF, -INF, 1.0, INF, NAN]), f64([1.0, 2.0, INF, INF, 1.0])
    half = math.sqrt(0.5)
    assert_close(distance(x, y), ([1.0, -1.0, 0.0, half, NAN], [0.0, 0.0, 1.0, half, NAN]))
    assert_close(angle(x, y), ([0.0, 0.0, 0.0, 0.0, NAN], [-0.0, -0.0, -0.0, -0.0, NAN]))
    x, y = f64([3e300, 3e-300, 0.0]), f64([-4e300, 4e-300, -1e-200])
    assert_close(distance(x, y), ([0.6, 0.6, 0.0], [-0.8, 0.8, -1.0]))
    assert_close(angle(x, y), ([-0.16e-300, 0.16e300, -1e200], [-0.12e-300, -0.12e300, 0.0]))


def test_slopes_outside_a_domain_are_nan_and_at_its_ends_infinite():
    x = f64([-INF, -2.0, -1.0, 1.0, 2.0, INF])
    root = 1 / math.sqrt(3.0)
    for f, expected in (
        (ops.asin, [NAN, NAN, INF, INF, NAN, NAN]),
        (ops.acos, [NAN, NAN, -INF, -INF, NAN, NAN]),
        (ops.atanh, [NAN, NAN, INF, INF, NAN, NAN]),
        (ops.acosh, [NAN, NAN, NAN, INF, root, 0.0]),
    ):
        assert_close(dg.grad(f)(x), expected)


@pytest.mark.parametrize("f", [ops.atan, ops.asinh, ops.tanh], ids=["atan", "asinh", "tanh"])
def test_flat_ends_have_slope_zero_at_every_order(f):
    for order in 1, 2, 3, 4:
        slopes = repeated_grad(f, order)(f64([INF, -INF])).asnumpy()
        np.testing.assert_array_equal(slopes, [0.0, 0.0])


@pytest.mark.parametrize("order", [12, 30])
def test_jets_of_high_order(order):
    x = np.array([0.3, -1.2])
    for f, exact in (
        (lambda x: ops.atan2(x, 1.0), mpmath.atan),
        (lambda x: ops.hypot(x, 1.0), lambda t: mpmath.sqrt(1 + t * t)),
        (lambda x: x**1.7, lambda t: mpmath.power(t, mpmath.mpf(1.7))),
    ):
        at = np.abs(x)
        top = run_forward("jet", jets(order), f, [[f64(at), f64([1.0, 1.0])] + [None] * (order - 1)])[order].asnumpy()
        with mpmath.workdps(60):
            expected = [float(mpmath.taylor(exact, mpmath.mpf(a), order)[order]) for a in at]
        np.testing.assert_allclose(top, expected, rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_mixed_derivatives_in_narrow_types(dtype):
    x, y = np.array([0.5, 0.75, 3.0], dtype), np.array([1.5, -0.25, 2.0], dtype)
    for f in ops.pow, ops.hypot, ops.atan2:
        mixed = dg.grad(dg.grad(dg.grad(f, 0), 1), 1)
        found = mixed(Tensor(x), Tensor(y)).asnumpy()
        assert found.dtype == dtype
        exact = mixed(f64(x), f64(y)).asnumpy()
        np.testing.assert_allclose(found.astype(np.float64), exact, rtol=2 * np.finfo(dtype).eps)


def test_narrow_slopes_overflow_quietly():
    assert_close(dg.grad(lambda x: x**-2.5)(Tensor(np.array([0.001], np.float16))), [-INF])
    assert_close(dg.grad(lambda x: x**-2.5)(f32([1e-30])), [-INF])
