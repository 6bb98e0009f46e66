"""Programs are simplified before they are planned: fewer steps, the same numbers.

Random programs compare plans with what was recorded; here it is seen what is saved, and what is left alone.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad.programs import passes, rewrites
from dualgrad.programs._listing import Listing, recording_of
from dualgrad.programs._tokens import name_of

X = np.array([0.3, -1.7, 2.5, 1e-3])
Y = np.array([0.3, 1.1, -2.5, 0.7])

SIMPLER = {
    "a difference": (lambda x, y: x + -y, ["sub"]),
    "a difference, turned": (lambda x, y: -x + y, ["sub"]),
    "a sum": (lambda x, y: x - -y, ["add"]),
    "two negations of factors": (lambda x, y: -x * -y, ["mul"]),
    "a negation through a product": (lambda x, y: x + -y * ops.exp(x), ["exp", "mul", "sub"]),
    "a negation through a sum of a row": (lambda x, y: y - ops.sum(-x), ["sum", "add"]),
    "a negation through slices": (lambda x, y: (-x)[1:] + y[1:], ["slice", "slice", "sub"]),
    "constants of which one is a power of two": (lambda x, y: 3.0 * (x * 2.0), ["mul"]),
    "a power of two that divides": (lambda x, y: 3.0 * x / 4.0, ["mul"]),
    "powers of two that cancel": (lambda x, y: 0.5 * (x * 2.0) + y, ["add"]),
    "a constant with a sign": (lambda x, y: y - (-2.0 * x), ["mul", "add"]),
    "a size": (lambda x, y: ops.abs(-x), ["abs"]),
    "a difference from a constant, times a power of two": (
        lambda x, y: y * (4.0 * x) + 4.0 * (3.0 - x),
        ["mul", "mul", "sub", "add"],
    ),
    "a sum with a constant, times a power of two": (
        lambda x, y: y * (2.0 * x) - 2.0 * (x + 0.3),
        ["mul", "mul", "add", "sub"],
    ),
    "a product, turned": (lambda x, y: x * y + y * x, ["mul", "add"]),
    "a square": (lambda x, y: ops.square(-x) + x * x, ["mul", "add"]),
}
LEFT = {
    "constants that would round twice": (lambda x, y: 3.0 * (x * 0.7), ["mul", "mul"]),
    "division by another number": (lambda x, y: x / 3.0, ["div"]),
    "a sum with a constant, times another number": (
        lambda x, y: y * (3.0 * x) + 3.0 * (x + 0.3),
        ["mul", "mul", "add", "mul", "add"],
    ),
    "a difference, times a power of two": (
        lambda x, y: (2.0 * x) * (2.0 * y) * (2.0 * (x - y)),
        ["mul", "mul", "mul", "sub", "mul", "mul"],
    ),
    "a constant that is no number": (lambda x, y: x * np.inf * 2.0, ["mul", "mul"]),
    "a negation that leaves": (lambda x, y: -ops.exp(x), ["exp", "neg"]),
}


def steps_of(fn, *arrays):
    """The primitives that a function comes down to."""
    layout = recording_of(fn, tuple(Tensor(a) for a in arrays), {}).layout()
    return [name_of(step[0]) for step in Listing.of(layout["program"]).steps]


def same(fn, *arrays):
    """Whether a replayed function gives the numbers, and the bits, that eager execution gives."""
    args = tuple(Tensor(a) for a in arrays)
    expected, recorded = fn(*args).asnumpy(), dg.jit(fn)
    for _ in range(4):
        found = recorded(*args).asnumpy()
    return found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("what", [*SIMPLER, *LEFT])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_saved_and_the_numbers_stay(what, dtype):
    fn, expected = (SIMPLER | LEFT)[what]
    arrays = X.astype(dtype), Y.astype(dtype)
    assert sorted(steps_of(fn, *arrays)) == sorted(expected)
    assert same(fn, *arrays)


@pytest.mark.parametrize("dtype", [np.complex128, np.int64])
def test_other_types_are_left_alone(dtype):
    fn = lambda x, y: x + -y
    assert steps_of(fn, X.astype(dtype), Y.astype(dtype)) == ["neg", "add"]
    assert same(fn, X.astype(dtype), Y.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_cancels_keeps_the_sign_of_its_zero(dtype):
    """It decides on which side of a branch cut a number lies."""
    x = X.astype(dtype)
    for fn in (
        lambda a, b: ops.atan2(-a - b, -1.0 - a * a),
        lambda a, b: ops.atan2(-a + -b, -1.0 - a * a),
        lambda a, b: ops.atan2(-ops.sum(a + b), Tensor(dtype(-1.0))),
        lambda a, b: ops.atan2(ops.sum(-(a + b)), Tensor(dtype(-1.0))),
    ):
        assert same(fn, x, -x)


def test_sums_of_many_negatives_are_not_put_off_without_end():
    def chain(x):
        total = -x
        for k in range(300):
            total = total - ops.sin(x * (1.0 + k))
        return ops.exp(total), total

    assert same(lambda x: chain(x)[0], X)
    assert same(lambda x: chain(x)[1], X)
    assert len(steps_of(lambda x: chain(x)[1], X)) <= 910


@pytest.mark.parametrize("depth", [1, 7, 8, 9, 12])
def test_the_negation_of_up_to_eight_sums_within_sums_is_put_off(depth):
    def chain(x, y):
        total = -x
        for _ in range(depth):
            total = total - y
        return ops.exp(total)

    made = passes(chain)
    made(Tensor(X), Tensor(Y))
    before = rewrites()
    made(Tensor(X), Tensor(Y))
    assert rewrites()["negation_too_deep"] - before["negation_too_deep"] == (depth > 8)
    assert same(chain, X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("condition", [True, False, [True] * 4, [False] * 4, [True, False, True, True]])
def test_a_choice_by_a_constant_is_what_it_chooses(condition, dtype):
    """A number is not repeated up to an array; the sign of what is chosen, and nan elsewhere, are as they were."""
    known, x = Tensor(np.array(condition)), X.astype(dtype)
    for fn in (
        lambda a, b: ops.where(known, a * b, a / b),
        lambda a, b: ops.where(known, -a, ops.log(b)) * b,
        lambda a, b: ops.where(known, a[0], b) + ops.where(known, a, b[0]),
        lambda a, b: dg.grad(lambda a: ops.where(known, a * a, ops.sin(a)).sum())(a),
    ):
        assert same(fn, x, x[::-1].copy())


def absorbing(x, y):
    """The product of derivative rules, in which zero absorbs."""
    return apply(OPCODES["absorb_mul"], None, x, y)


def zero(x):
    return Tensor(np.zeros((), x.dtype.numpy))


#: a derivative that is zero, and what is left of a step that reads it
ZEROS = {
    "first term": (lambda x, z: z + x, []),
    "second term": (lambda x, z: x + z, []),
    "taken away": (lambda x, z: x - z, []),
    "taken from": (lambda x, z: z - x, ["neg"]),
    "both": (lambda x, z: z + z, ["broadcast_to"]),
    "absorbed again": (lambda x, z: x + absorbing(z, ops.exp(x)), []),
    "negated": (lambda x, z: x + -z, []),
    "times a number of the user's": (lambda x, z: x + 2.0 * z, ["broadcast_to", "mul", "add"]),
    "times numbers of the user's": (lambda x, z: x + z * ops.exp(x), ["broadcast_to", "exp", "mul", "add"]),
}
NOT_FINITE = np.array([0.5, -1.0, np.inf, -np.inf, np.nan, 0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", [lambda x: absorbing(x, zero(x)), lambda x: absorbing(zero(x), x)])
@pytest.mark.parametrize("name", ZEROS)
def test_a_derivative_times_zero_is_no_term(name, way, dtype):
    """Whatever it is a multiple of."""
    read, expected = ZEROS[name]
    fn = lambda x: read(x, way(x))
    x = NOT_FINITE.astype(dtype)
    assert sorted(steps_of(fn, x)) == sorted(expected)
    found, given = dg.jit(fn), fn(Tensor(x)).asnumpy()
    for _ in range(3):
        np.testing.assert_array_equal(found(Tensor(x)).asnumpy(), given)


def test_a_users_zero_is_a_term():
    """It decides on the sign of a zero, and is not a number times infinity."""
    for fn, expected in ((lambda x: x + 0.0, ["add"]), (lambda x: x * 0.0, ["mul"]), (lambda x: 0.0 - x, ["sub"])):
        x = np.array([-0.0, 0.0, np.inf, 2.0])
        assert steps_of(fn, x) == expected
        assert same(fn, x)


def test_zeros_of_another_shape_are_terms():
    """They repeat what they are added to."""
    fn = lambda x, y: absorbing(y, zero(y)) + x
    x, y = X, np.ones((3, 4))
    assert "add" in steps_of(fn, x, y)
    assert same(fn, x, y)
    assert steps_of(lambda x, y: absorbing(x, zero(x)) + y, x, y) == []
