"""Primitive classes that take a step of an optimiser, against the optimisers of `nn` and against formulas in NumPy."""

import numpy as np
import pytest
from support import assert_close, assert_raises

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

SHAPE, STEPS = (4, 3), 4
START = np.random.default_rng(5).normal(size=SHAPE)
GRADIENTS = np.random.default_rng(6).normal(size=(STEPS, *SHAPE))
RATE, BETAS, EPS = 0.1, (0.75, 0.9), 1e-2


def powers(t):
    return BETAS[0] ** t, BETAS[1] ** t


def parameters(*starts):
    return [Parameter(np.full(SHAPE, start, float) if np.ndim(start) == 0 else start, name=f"p{k}")
            for k, start in enumerate(starts)]  # fmt: skip


# Of each class: its settings, the first values of what it changes, the arguments of step t, and its optimiser.
LIKE_OPTIMISERS = {
    "ApplyMomentum": ({"use_nesterov": True}, 1, lambda p, g, t: (*p, RATE, g, 0.5),
                      lambda w: nn.Momentum(w, RATE, 0.5, use_nesterov=True)),
    "ApplyMomentum, scaled": ({"gradient_scale": 0.25}, 1, lambda p, g, t: (*p, RATE, g, 0.5),
                              lambda w: nn.Momentum(w, RATE, 0.5, loss_scale=4.0)),
    "Adam": ({"use_nesterov": True}, 2, lambda p, g, t: (*p, *powers(t), RATE, *BETAS, EPS, g),
             lambda w: nn.Adam(w, RATE, *BETAS, EPS, use_nesterov=True)),
    "ApplyAdamWithAmsgradV2": ({}, 3, lambda p, g, t: (*p, *powers(t), RATE, *BETAS, EPS, g),
                               lambda w: nn.Adam(w, RATE, *BETAS, EPS, use_amsgrad=True)),
    "ApplyAdamWithAmsgrad": ({"beta1": BETAS[0], "beta2": BETAS[1], "epsilon": EPS}, 3,
                             lambda p, g, t: (*p, *powers(t), RATE, g),
                             lambda w: nn.Adam(w, RATE, *BETAS, EPS, use_amsgrad=True)),
    "AdamWeightDecay": ({}, 2, lambda p, g, t: (*p, RATE, *BETAS, EPS, 0.125, g),
                        lambda w: nn.AdamWeightDecay(w, RATE, *BETAS, EPS, 0.125)),
    "ApplyAdaMax": ({}, 2, lambda p, g, t: (*p, powers(t)[0], RATE, *BETAS, EPS, g),
                    lambda w: nn.AdaMax(w, RATE, *BETAS, EPS)),
    "ApplyRMSProp": ({}, (1.0, 0.0), lambda p, g, t: (*p, RATE, g, 0.75, 0.5, EPS),
                     lambda w: nn.RMSProp(w, RATE, 0.75, 0.5, EPS)),
    "ApplyCenteredRMSProp": ({}, (0.0, 1.0, 0.0), lambda p, g, t: (*p, g, RATE, 0.75, 0.5, EPS),
                             lambda w: nn.RMSProp(w, RATE, 0.75, 0.5, EPS, centered=True)),
    "ApplyAdagrad": ({}, (0.25,), lambda p, g, t: (*p, RATE, g), lambda w: nn.Adagrad(w, 0.25, RATE)),
    "ApplyAdagrad, fixed": ({"update_slots": False}, (0.25,), lambda p, g, t: (*p, RATE, g),
                            lambda w: nn.Adagrad(w, 0.25, RATE, update_slots=False)),
    "ApplyAdadelta": ({}, 2, lambda p, g, t: (*p, RATE, 0.75, EPS, g), lambda w: nn.Adadelta(w, RATE, 0.75, EPS)),
    "ApplyFtrl": ({}, (0.25, 0.0), lambda p, g, t: (*p, g, RATE, 0.5, 0.25, -0.5),
                  lambda w: nn.FTRL(w, 0.25, RATE, -0.5, 0.5, 0.25)),
    "ApplyProximalAdagrad": ({}, (0.25,), lambda p, g, t: (*p, RATE, 0.5, 0.25, g),
                             lambda w: nn.ProximalAdagrad(w, 0.25, RATE, 0.5, 0.25)),
    "ApplyGradientDescent": ({}, 0, lambda p, g, t: (*p, RATE, g), lambda w: nn.SGD(w, RATE)),
    "SGD": ({"dampening": 0.25, "weight_decay": 0.125}, (0.0, 1.0),
            lambda p, g, t: (p[0], g, RATE, p[1], 0.5, p[2]), lambda w: nn.SGD(w, RATE, 0.5, 0.25, 0.125)),
    "SGD, Nesterov": ({"nesterov": True}, (0.0, 1.0), lambda p, g, t: (p[0], g, RATE, p[1], 0.5, p[2]),
                      lambda w: nn.SGD(w, RATE, 0.5, nesterov=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE_OPTIMISERS)
def test_steps_are_those_of_the_optimiser(name):
    settings, state, arguments, make = LIKE_OPTIMISERS[name]
    state = (0.0,) * state if isinstance(state, int) else state
    step, changed = getattr(ops, name.partition(",")[0])(**settings), parameters(START, *state)
    (other,) = parameters(START)
    opt = make([other])
    for t, g in enumerate(GRADIENTS, 1):
        found = step(*arguments(changed, Tensor(g), t))
        opt((Tensor(g),))
        assert found is changed[0] or all(x is y for x, y in zip(found, changed, strict=True))
        assert_close(changed[0] * 1, other.asnumpy(), rtol=1e-13, scale=1.0)


def sign_step(factor):
    def update(w, m, g):
        m = 0.75 * m + 0.25 * g
        return w - RATE * factor(np.sign(g) * np.sign(m)) * g, m

    return update


def keras(nesterov):
    def update(w, u, g):
        u = 0.5 * u - RATE * g
        return w + (0.5 * u - RATE * g if nesterov else u), u

    return update


def proximal(w, g):
    u = w - RATE * g
    return (np.sign(u) * np.maximum(np.abs(u) - RATE * 0.5, 0.0) / (1.0 + RATE * 0.25),)


def adagrad_v2(w, s, g):
    s = s + g * g
    return w - RATE * g / (np.sqrt(s) + EPS), s


FORMULAS = {
    "ApplyAddSign": ({}, lambda p, g: (*p, RATE, 1.0, 0.5, 0.75, g), sign_step(lambda s: 1.0 + 0.5 * s)),
    "ApplyPowerSign": ({}, lambda p, g: (*p, RATE, 2.0, 0.5, 0.75, g), sign_step(lambda s: np.exp(2.0 * 0.5 * s))),
    "ApplyKerasMomentum": ({}, lambda p, g: (*p, RATE, g, 0.5), keras(False)),
    "ApplyKerasMomentum, Nesterov": ({"use_nesterov": True}, lambda p, g: (*p, RATE, g, 0.5), keras(True)),
    "ApplyProximalGradientDescent": ({}, lambda p, g: (*p, RATE, 0.5, 0.25, g), proximal),
    "ApplyAdagradV2": ({"epsilon": EPS}, lambda p, g: (*p, RATE, g), adagrad_v2),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_steps_are_those_of_the_formula(name):
    settings, arguments, update = FORMULAS[name]
    values = (START,) if update is proximal else (START, np.zeros(SHAPE))
    step, changed = getattr(ops, name.partition(",")[0])(**settings), parameters(*values)
    for g in GRADIENTS:
        step(*arguments(changed, Tensor(g)))
        values = update(*values, g)
        for parameter, value in zip(changed, values, strict=True):
            assert_close(parameter * 1, value, rtol=1e-13, scale=1.0)


def test_dual_averaging_follows_from_the_sums():
    """The parameter minimises the sum of the gradients so far times it, with penalties and a distance from 0."""
    w, a, b = parameters(START, 0.0, 0.0)
    for t, g in enumerate(GRADIENTS, 1):
        assert ops.ApplyAdagradDA()(w, a, b, Tensor(g), RATE, 0.25, 0.125, t) is w
        total, squares = GRADIENTS[:t].sum(0), (GRADIENTS[:t] ** 2).sum(0)
        curvature = 0.125 * t + np.sqrt(squares) / RATE
        slope = total + curvature * w.asnumpy() + 0.25 * t * np.sign(w.asnumpy())
        at_zero = w.asnumpy() == 0.0
        np.testing.assert_allclose(slope[~at_zero], 0.0, atol=1e-12)
        assert (np.abs(total)[at_zero] <= 0.25 * t).all()


ROWS = {
    "FusedSparseAdam": ("Adam", {}, 2, lambda p, g, t: (*p, *powers(t), RATE, *BETAS, EPS, *g), True),
    "FusedSparseLazyAdam": ("Adam", {}, 2, lambda p, g, t: (*p, *powers(t), RATE, *BETAS, EPS, *g), False),
    "FusedSparseProximalAdagrad": (
        "ApplyProximalAdagrad", {}, 1, lambda p, g, t: (*p, RATE, 0.5, 0.25, *g), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_come_twice_are_added_and_missing_ones_stay(name):
    dense, settings, state, arguments, decays = ROWS[name]
    changed, others = (parameters(START, *(0.25,) * state) for _ in range(2))
    index, before = np.array([1, 3, 1]), [START, *(np.full(SHAPE, 0.25),) * state]
    for t, g in enumerate(GRADIENTS, 1):
        full = np.zeros(SHAPE)
        np.add.at(full, index, g[:3])
        getattr(ops, name)(**settings)(*arguments(changed, (Tensor(g[:3]), Tensor(index)), t))
        getattr(ops, dense)(**settings)(*arguments(others, (Tensor(full),), t))
        for parameter, other, first in zip(changed, others, before, strict=True):
            assert_close(parameter[1::2], other.asnumpy()[1::2], rtol=1e-13, scale=1.0)
            assert_close(parameter[::2], other.asnumpy()[::2] if decays else first[::2], rtol=1e-13, scale=1.0)


# Steps of some rows: the dense step that each of them takes, their settings, and the numbers of states.
TURNS = {
    "SparseApplyAdagradV2": ((RATE, EPS), 1, lambda name, *p: ops.ApplyAdagradV2(EPS)(*p[:2], RATE, p[2]), (0.25,)),
    "SparseApplyFtrl": (
        (RATE, 0.5, 0.25, -0.5), 2, lambda name, *p: ops.ApplyFtrl()(*p, RATE, 0.5, 0.25, -0.5), (0.25, 0.0)
    ),
    "SparseApplyRMSProp": (
        (0.75, 0.5, EPS), 2, lambda name, *p: ops.ApplyRMSProp()(*p[:3], RATE, p[3], 0.75, 0.5, EPS), (0.25, 0.0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*TURNS, "SparseApplyAdagrad", "SparseApplyAdagrad(update_slots=False)"])
def test_rows_that_come_twice_take_two_steps(name):
    """One after the other; those of `SparseApplyAdagrad` are added and take one."""
    added = name not in TURNS
    slots = "False" not in name
    index = np.array([1, 3, 1])
    if added:
        states, primitive = (0.25,), ops.SparseApplyAdagrad(RATE, slots)
        dense = lambda name, *p: ops.ApplyAdagrad(slots)(*p[:2], RATE, p[2])
    else:
        settings, _, dense, states = TURNS[name]
        primitive = getattr(ops, name)(*settings)
    changed, others = (parameters(START, *states) for _ in range(2))
    given = () if name != "SparseApplyRMSProp" else (RATE,)
    for g in GRADIENTS:
        primitive(*changed, *given, Tensor(g[:3]), Tensor(index))
        for chosen in ([0, 1, 2],) if added else ([0, 1], [2]):
            rows = np.unique(index[chosen])
            sums = np.zeros(SHAPE)
            np.add.at(sums, index[chosen], g[chosen])
            some = [Parameter(other.asnumpy()[rows], name=other.name) for other in others]
            dense(name, *some, Tensor(sums[rows]))
            for other, new in zip(others, some, strict=True):
                array = other.asnumpy().copy()
                array[rows] = new.asnumpy()
                other.set_data(Tensor(array))
    for parameter, other in zip(changed, others, strict=True):
        assert_close(parameter * 1, other.asnumpy(), rtol=1e-13, scale=1.0)


def test_rows_of_the_regularised_leader():
    changed, others = (parameters(START, 0.25, 0.0) for _ in range(2))
    for g in GRADIENTS:
        full = np.concatenate([g[:2], np.zeros((2, 3))])
        ops.FusedSparseFtrl(RATE, 0.5, 0.25, -0.5)(*changed, Tensor(g[:2]), Tensor([0, 1]))
        ops.ApplyFtrl()(*others, Tensor(full), RATE, 0.5, 0.25, -0.5)
    assert_close(changed[0][:2], others[0].asnumpy()[:2], rtol=1e-13, scale=1.0)
    assert_close(changed[0][2:], START[2:], rtol=0.0)


def test_a_step_keeps_the_type_and_is_a_constant():
    w, u = (Parameter(np.ones(3, np.float16), name=name) for name in "wu")

    def f(x):
        ops.ApplyMomentum()(w, u, Tensor(0.5), x, Tensor(0.5))
        return (x * w).sum()

    slope = dg.grad(f)(Tensor([1.0, 2.0, 4.0]))
    assert (w.dtype, u.dtype) == (dg.float16, dg.float16)
    assert_close(slope, w.asnumpy(), rtol=1e-3)


def test_what_does_not_fit_is_refused():
    w, u = Parameter([1.0, 2.0], name="w"), Parameter([0.0, 0.0], name="u")
    step, g = ops.ApplyMomentum(), Tensor([1.0, 1.0])
    assert_raises(TypeError, lambda: step(w, Tensor([0.0, 0.0]), 0.1, g, 0.9), "accumulation", "Parameter")
    assert_raises(TypeError, lambda: step(w, u, 0.1, g), "expected variable, accumulation")
    assert_raises(ValueError, lambda: step(w, u, 0.1, Tensor([1.0]), 0.9), "gradient has shape", "expected")
    assert_raises(ValueError, lambda: step(w, Parameter([0.0], name="u"), 0.1, g, 0.9), "accumulation has shape")
    assert_raises(TypeError, lambda: ops.ApplyMomentum(nesterov=True), "the settings are")
    assert w.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [lambda w: nn.SGD(w, 0.5, weight_decay=0.25),
                                  lambda w: nn.SGD(w, 0.5, 0.5, weight_decay=0.25)])  # fmt: skip
def test_the_decay_of_sgd_leaves_out_beta_and_gamma(make):
    """As that of the other optimisers does, unless the parameters come in groups."""
    weights = [Parameter([2.0], name=name) for name in ("w", "norm.gamma", "norm.beta")]
    make(weights)(tuple(w * 0.0 for w in weights))
    assert [w.item() for w in weights] == [1.75, 2.0, 2.0]


def states(name):
    """The class with its settings, and first values of what it changes."""
    settings, first, arguments, _ = LIKE_OPTIMISERS[name]
    rest = (0.0,) * first if isinstance(first, int) else first
    starts = [START, *(np.full(SHAPE, start) for start in rest)]
    return getattr(ops, name.partition(",")[0])(**settings), starts, arguments


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", LIKE_OPTIMISERS)
def test_steps_of_samples(name, axis):
    """Each sample of a Parameter that vmap maps over takes its step, and the Parameter has them all afterwards."""
    step, starts, arguments = states(name)
    stacks = [np.stack([start * scale for scale in (1.0, 0.5, 2.0)], axis) for start in starts]
    mapped, slopes = parameters(*stacks), np.stack([GRADIENTS[0], -GRADIENTS[1], GRADIENTS[2]], axis)
    function = lambda *given: step(*arguments(given[:-1], given[-1], 1))
    found = dg.vmap(function, axis, axis)(*mapped, Tensor(slopes))
    first = found[0] if isinstance(found, tuple) else found
    singles = [parameters(*(np.take(stack, k, axis) for stack in stacks)) for k in range(3)]
    for k, single in enumerate(singles):
        function(*single, Tensor(np.take(slopes, k, axis)))
    for n, parameter in enumerate(mapped):
        expected = np.stack([single[n].asnumpy() for single in singles], axis)
        assert_close(parameter * 1.0, expected, scale=1.0)
        if n == 0:
            assert_close(first, expected, scale=1.0)


def test_steps_of_samples_of_samples():
    """Nested, with an axis that is shared by the outer samples; the function goes on with the new values."""
    start = np.random.default_rng(1).normal(size=(2, 3, 4))
    w, g = Parameter(start, name="w"), Tensor(np.random.default_rng(2).normal(size=(4, 2)))

    def function(w, g):
        returned = ops.ApplyGradientDescent()(w, 0.5, g * ops.ones_like(w))
        return returned, w * 2.0

    found = dg.vmap(dg.vmap(function, (0, 0), 1), (2, 0))(w, g)
    expected = start - 0.5 * g.asnumpy().T[:, None, :]
    assert_close(w * 1.0, expected)
    assert_close(found, (expected.transpose(2, 1, 0), 2.0 * expected.transpose(2, 1, 0)))


def test_parameters_that_no_step_changes_stay():
    w, b = parameters(START, START)
    found = dg.vmap(lambda w, b, x: (ops.ApplyGradientDescent()(w, 0.5, x), b * x))(w, b, Tensor(GRADIENTS[0]))
    assert_close((w * 1.0, b * 1.0), (START - 0.5 * GRADIENTS[0], START))
    assert_close(found, (START - 0.5 * GRADIENTS[0], START * GRADIENTS[0]))


def test_a_sample_of_no_parameter_takes_no_step():
    """A tensor that is mapped over, what is computed of a Parameter, and a Parameter that all samples share."""
    step, (w,), x = ops.ApplyGradientDescent(), parameters(START), Tensor(GRADIENTS[0])
    assert_raises(TypeError, lambda: dg.vmap(lambda w: step(w, 0.5, w))(x), "var is a Tensor", "Parameter")
    assert_raises(TypeError, lambda: dg.vmap(lambda w: step(w * 1.0, 0.5, w))(w), "var is a Tensor", "Parameter")
    assert_raises((TypeError, ValueError), lambda: dg.vmap(lambda w, x: step(w, 0.5, x), (None, 0))(w, x), "var")
    kept = []
    dg.vmap(lambda w: kept.append(w) or w)(w)
    assert_raises(TypeError, lambda: step(kept[0], 0.5, x), "var is a Tensor")
    assert_close(w * 1.0, START)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_an_error_inside_keeps_the_parameter(place):
    (w,) = parameters(START)

    def function(w):
        if place == "behind":
            ops.ApplyGradientDescent()(w, 0.5, w)
        raise KeyError("stop")

    assert_raises(KeyError, lambda: dg.vmap(function)(w), "stop")
    assert_close(w * 1.0, START)
    assert_raises(TypeError, lambda: ops.ApplyGradientDescent()(START, 0.5, START), "var is a ndarray")
