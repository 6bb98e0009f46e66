"""Slopes at the points where mathematics leaves a choice, or where a formula meets infinity."""

import math

import numpy as np
import pytest
from support import assert_close, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import ops

pytestmark = pytest.mark.usefixtures("mode")

INF, NAN = math.inf, math.nan
all_inputs = ops.GradOperation(get_all=True)


@pytest.mark.parametrize("tensor", [f32, f64], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "f",
    [ops.abs, ops.sign, ops.relu, abs, ops.Abs(), ops.ReLU()],
    ids=["abs", "sign", "relu", "built-in abs", "Abs", "ReLU"],
)
def test_kinks_at_zero_have_slope_zero(f, tensor):
    assert_close(dg.grad(f)(tensor([0.0, -0.0])), [0.0, 0.0])
    assert_close(dg.grad(dg.grad(f))(tensor([0.0, -0.0])), [0.0, 0.0])


def test_kinks_beside_zero():
    x = f64([-1e-300, 1e-300])
    assert_close(dg.grad(ops.abs)(x), [-1.0, 1.0])
    assert_close(dg.grad(ops.relu)(x), [0.0, 1.0])
    assert_close(dg.grad(lambda x: ops.abs(x) * x)(f64([0.0])), [0.0])


def test_leaky_relu_at_zero_has_a_slope_between_the_two():
    assert_close(dg.grad(lambda x: ops.leaky_relu(x, 0.25))(f64([-1.0, 1.0])), [0.25, 1.0])
    slope = dg.grad(lambda x: ops.leaky_relu(x, 0.25))(f64([0.0])).asnumpy()
    assert slope[0] in (0.25, 0.625)


LARGER = {"maximum": ops.maximum, "Maximum": ops.Maximum(), "np.maximum": np.maximum}
SMALLER = {"minimum": ops.minimum, "Minimum": ops.Minimum(), "np.minimum": np.minimum}


@pytest.mark.parametrize("f", [*LARGER.values(), *SMALLER.values()], ids=[*LARGER, *SMALLER])
def test_two_tensors_share_a_tie(f):
    a, b = f64([2.0, -1.0, 0.0]), f64([2.0, -1.0, -0.0])
    assert_close(all_inputs(f)(a, b), ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]))
    assert_close(dg.grad(dg.grad(lambda a, b: f(a, b) ** 2))(a, b), [0.5, 0.5, 0.5])


def test_a_tensor_and_a_number_share_a_tie():
    a = f64([1.0, 2.0, 3.0])
    for f in LARGER.values():
        assert_close(dg.grad(lambda a, f=f: f(a, 2.0) + f(2.0, a))(a), [0.0, 1.0, 2.0])
    for f in SMALLER.values():
        assert_close(dg.grad(lambda a, f=f: f(a, 2.0) + f(2.0, a))(a), [2.0, 1.0, 0.0])


LARGEST = {
    "method": lambda x: x.max(-1),
    "amax": lambda x: ops.amax(x, -1),
    "max": lambda x: ops.max(x, -1)[0],
    "ReduceMax": lambda x: ops.ReduceMax()(x, -1),
}
SMALLEST = {
    "method": lambda x: x.min(),
    "amin": lambda x: ops.amin(x),
    "min": lambda x: ops.min(x)[0],
    "ReduceMin": lambda x: ops.ReduceMin()(x),
}


@pytest.mark.parametrize("largest", LARGEST.values(), ids=LARGEST)
def test_ties_of_max_over_an_axis_share_in_equal_parts(largest):
    x = f64([[3.0, 1.0, 3.0, 3.0], [0.0, 5.0, 5.0, 1.0], [7.0, 1.0, 2.0, 3.0]])
    third = 1 / 3
    assert_close(dg.grad(largest)(x), [[third, 0.0, third, third], [0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("smallest", SMALLEST.values(), ids=SMALLEST)
def test_ties_of_min_over_everything_share_in_equal_parts(smallest):
    third = 1 / 3
    assert_close(dg.grad(smallest)(f64([[2.0, 2.0], [3.0, 2.0]])), [[third, third], [0.0, third]])


def test_the_second_derivative_through_a_tie():
    # The gradient of m^2 is 2m/k on k tied elements, and m itself has slope 1/k in each of them.
    second = dg.grad(dg.grad(lambda x: x.max() ** 2))
    assert_close(second(f64([4.0, 4.0, 1.0])), [1.0, 1.0, 0.0])
    assert_close(second(f64([1.0, 4.0, 2.0])), [0.0, 2.0, 0.0])


def test_all_infinite_ties():
    assert_close(dg.grad(lambda x: x.max())(f64([-INF, -INF])), [0.5, 0.5])
    assert_close(dg.grad(lambda x: ops.logsumexp(x, 0))(f64([-INF, 0.0])), [0.0, 1.0])


@pytest.mark.parametrize("way", ["called", "mapped", "recorded"])
@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [((0,), 0, -INF), ((2, 0), 1, [-INF, -INF]), ((2, 0), 0, []), ((0, 0), 1, []), ((2, 0, 3), 2, [[], []])],
)
def test_the_logarithm_of_an_empty_sum(shape, axis, expected, way):
    def f(x, w):
        return ops.logsumexp(x * w, axis)

    if way == "mapped":
        called = lambda x, w: dg.vmap(f, (0, None))(ops.stack((x, x)), w)[1]
    else:
        called = dg.jit(f) if way == "recorded" else f
    x, w = f64(np.zeros(shape)), f64(2.0)
    for _ in range(3):
        assert_close(called(x, w), expected)
    assert ops.logsumexp(x, axis, keepdims=True).shape == (*shape[:axis], 1, *shape[axis + 1 :])
    nothing = np.zeros(np.shape(expected))  # the value is -inf whatever w is
    slope = lambda w: called(x, w)
    for _ in range(3):
        slope = lambda w, f=slope: dg.jvp(f, w, f64(1.0))[1]
        assert_close(slope(w), nothing)
    if nothing.size:
        assert_close(dg.grad(lambda w: called(x, w))(w), 0.0)
        assert_close(dg.grad(dg.grad(lambda w: called(x, w)))(w), 0.0)


@pytest.mark.parametrize(
    "clamp",
    [ops.clamp, ops.clip, lambda x, low, high: x.clamp(low, high)],
    ids=["clamp", "clip", "method"],
)
def test_clamp_counts_its_limits_as_inside(clamp):
    x = f64([-1.5, -1.0, 0.0, 2.0, 2.5])
    assert_close(dg.grad(lambda x: clamp(x, -1.0, 2.0))(x), [0.0, 1.0, 1.0, 1.0, 0.0])
    assert_close(dg.grad(lambda x: clamp(x, None, 2.0))(x), [1.0, 1.0, 1.0, 1.0, 0.0])
    assert_close(dg.grad(dg.grad(lambda x: clamp(x, -1.0, 2.0) ** 2))(x), [0.0, 2.0, 2.0, 2.0, 0.0])


# -------------------------------------------------------------------------------------------- roots and norms


def test_the_root_at_zero_has_an_infinite_slope():
    assert_close(dg.grad(ops.sqrt)(f64([0.0, 4.0])), [INF, 0.25])
    assert_close(dg.grad(ops.sqrt)(f32([0.0, 4.0])), [INF, 0.25])


def test_the_root_at_zero_with_no_incoming_gradient():
    sens = f64([0.0, 1.0])
    assert_close(ops.GradOperation(sens_param=True)(ops.sqrt)(f64([0.0, 4.0]), sens), [0.0, 0.25])
    assert_close(dg.grad(lambda x: ops.sqrt(x)[1])(f64([0.0, 4.0])), [0.0, 0.25])
    assert_close(dg.grad(lambda x: ops.sqrt(x) * f64([0.0, 1.0]))(f64([0.0, 4.0])), [0.0, 0.25])


@pytest.mark.parametrize(
    "norm", [ops.norm, lambda x: ops.norm(x, dim=0), lambda x: x.norm()], ids=["all", "axis", "method"]
)
def test_the_norm_of_zeros_has_slope_zero(norm):
    assert_close(dg.grad(norm)(f64([0.0, 0.0, 0.0])), [0.0, 0.0, 0.0])
    assert_close(dg.grad(norm)(f64([3.0, 0.0, 4.0])), [0.6, 0.0, 0.8])


def test_the_norm_of_a_row_of_zeros():
    rows = f64([[0.0, 0.0], [3.0, 4.0]])
    assert_close(dg.grad(lambda x: ops.norm(x, dim=1))(rows), [[0.0, 0.0], [0.6, 0.8]])


# ---------------------------------------------------------------------------------------- powers and products


@pytest.mark.parametrize("power", [lambda x, n: x**n, ops.pow, ops.Pow()], ids=["**", "pow", "Pow"])
@pytest.mark.parametrize("exponent", [int, float, f64], ids=["int", "float", "tensor"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_integer_powers_at_zero_are_polynomials(power, exponent, n):
    for order in range(1, n + 3):
        expected = math.factorial(n) if order == n else 0
        found = repeated_grad(lambda x: power(x, exponent(n)), order)(f64([0.0, -0.0]))
        assert_close(found, [float(expected)] * 2)


def test_the_power_zero_is_a_constant():
    for order in 1, 2, 3:
        assert_close(repeated_grad(lambda x: x**0, order)(f64([0.0, 2.0])), [0.0, 0.0])


def test_powers_by_their_exponent():
    slope = dg.grad(lambda x, y: x**y, 1)
    base = np.array([0.0, 0.0, 2.0])
    assert_close(slope(f64(base), f64([2.0, 0.5, 3.0])), [0.0, 0.0, 8 * np.log(2.0)])
    assert_close(slope(f64([-2.0, -1.0]), f64([2.0, 3.0])), [NAN, NAN])
    assert_close(dg.grad(lambda y: 0.0**y)(f64([1.0, 2.5])), [0.0, 0.0])


def test_a_negative_base_has_a_slope_for_an_integer_exponent():
    assert_close(dg.grad(lambda x, y: x**y, 0)(f64([-2.0, -1.5]), f64([3.0, 2.0])), [12.0, -3.0])


def test_zero_to_the_power_zero():
    dx, _dy = all_inputs(lambda x, y: x**y)(f64([0.0]), f64([0.0]))
    assert_close(dx, [0.0])


def test_a_product_with_zeros_is_exact():
    x = f64([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [4.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    first = [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 0.0]]
    second = [[5.0, 3.0, 2.0], [3.0, 3.0, 0.0], [5.0, 9.0, 4.0], [0.0, 0.0, 0.0]]
    for product in (lambda x: x.prod(1), lambda x: ops.prod(x, 1), lambda x: ops.ReduceProd()(x, 1)):
        assert_close(dg.grad(product)(x), first)
        assert_close(repeated_grad(product, 2)(x), second)
        assert_close(repeated_grad(product, 3)(x), np.full((4, 3), 2.0))
        assert_close(repeated_grad(product, 4)(x), np.zeros((4, 3)))


def test_a_remainder_follows_its_dividend():
    x, y = f64([5.5, -5.5, 0.5]), f64([2.0, 2.0, 3.0])
    dx, dy = all_inputs(lambda x, y: x % y)(x, y)
    assert_close(dx, [1.0, 1.0, 1.0])
    assert_close(dy, -np.floor(x.asnumpy() / y.asnumpy()))
    assert_close(dg.grad(lambda x: x % 2.0)(x), [1.0, 1.0, 1.0])


# ---------------------------------------------------------------------------------------------------- choices


@pytest.mark.parametrize(
    "choose",
    [
        ops.where,
        ops.select,
        ops.Select(),
        lambda c, a, b: ops.masked_fill(a, ops.logical_not(c), 0.0) + b * 0.0,
    ],
    ids=["where", "select", "Select", "masked_fill"],
)
def test_a_branch_that_is_not_taken_adds_exactly_nothing(choose):
    x = f64([0.0, 1.0, 4.0])
    zeros = ops.zeros_like(x)
    root = [0.0, 0.5, 0.25]
    inverse = [0.0, -1.0, -1 / 16]
    logarithm = [0.0, 1.0, 0.25]
    for f, slope in (ops.sqrt, root), (ops.reciprocal, inverse), (ops.log, logarithm):
        assert_close(dg.grad(lambda x, f=f: choose(x > 0, f(x), zeros))(x), slope)


def test_second_derivatives_beside_a_branch_that_is_not_taken():
    x = f64([0.0, 1.0, 4.0])
    zeros = ops.zeros_like(x)
    for f, slope in (ops.sqrt, [0, -1 / 4, -1 / 32]), (ops.reciprocal, [0, 2, 1 / 32]):
        assert_close(repeated_grad(lambda x, f=f: ops.where(x > 0, f(x), zeros), 2)(x), slope)


def test_where_splits_the_gradient():
    condition = dg.Tensor([True, False, True])
    a, b = f64([1.0, 2.0, 3.0]), f64([4.0, 5.0, 6.0])
    result = dg.grad(lambda a, b: ops.where(condition, a * a, b * b), (0, 1))(a, b)
    assert_close(result, ([2.0, 0.0, 6.0], [0.0, 10.0, 0.0]))
    numbers = dg.grad(lambda a: ops.where(condition, a, 7.0) * ops.where(condition, 2.0, a))(a)
    assert_close(numbers, [2.0, 7.0, 2.0])


def test_the_gradient_of_values_goes_where_they_came_from():
    x = f64([[1.0, 9.0, 4.0], [8.0, 2.0, 3.0]])
    weights = f64([10.0, 20.0])
    assert_close(dg.grad(lambda x: ops.max(x, 1)[0] * weights)(x), [[0.0, 10.0, 0.0], [20.0, 0.0, 0.0]])
    assert_close(dg.grad(lambda x: ops.min(x, 1)[0] * weights)(x), [[10.0, 0.0, 0.0], [0.0, 20.0, 0.0]])
    assert_close(dg.grad(lambda x: ops.max(x, 1)[1].astype(dg.float64))(x), np.zeros((2, 3)))


# ---------------------------------------------------------------------------------------------------- far out


@pytest.mark.parametrize(
    ("f", "points", "values", "slopes"),
    [
        (ops.sigmoid, [-800.0, 800.0], [0.0, 1.0], [0.0, 0.0]),
        (ops.tanh, [-800.0, 800.0], [-1.0, 1.0], [0.0, 0.0]),
        (ops.softplus, [-800.0, 800.0], [0.0, 800.0], [0.0, 1.0]),
        (ops.silu, [-800.0, 800.0], [0.0, 800.0], [0.0, 1.0]),
        (ops.erf, [-40.0, 40.0], [-1.0, 1.0], [0.0, 0.0]),
        (ops.gelu, [-40.0, 40.0], [0.0, 40.0], [0.0, 1.0]),
        (ops.elu, [-800.0, 800.0], [-1.0, 800.0], [0.0, 1.0]),
        (lambda x: ops.logsumexp(x, 0), [-800.0, 800.0], 800.0, [0.0, 1.0]),
        (lambda x: ops.log_softmax(x, axis=0)[1], [-800.0, 800.0], 0.0, [0.0, 0.0]),
        (lambda x: ops.softmax(x, axis=0)[1], [-800.0, 800.0], 1.0, [0.0, 0.0]),
    ],
    ids=[
        "sigmoid", "tanh", "softplus", "silu", "erf", "gelu", "elu", "logsumexp", "log_softmax", "softmax"
    ],
)  # fmt: skip
def test_saturated_functions_stay_finite(f, points, values, slopes):
    value, slope = dg.value_and_grad(f)(f64(points))
    assert_close(value, values, rtol=1e-12, scale=1e-12)
    assert_close(slope, slopes, rtol=1e-12, scale=1e-12)
    second = repeated_grad(f, 2)(f64(points))
    assert_close(second, [0.0, 0.0], rtol=1e-12, scale=1e-12)
