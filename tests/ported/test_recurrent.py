"""Recurrent layers against loops over the steps, their single steps."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
KINDS = {"RNN": 1, "LSTM": 4, "GRU": 3}
RNG = np.random.default_rng(8)
STEPS, BATCH, INPUT, HIDDEN = 4, 2, 3, 2


def filled(layer, seed=0):
    """A Cell with standard normal parameters."""
    rng = np.random.default_rng(seed)
    for parameter in layer.get_parameters():
        parameter.set_data(f64(rng.standard_normal(parameter.shape)))
    return layer


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, state, w_ih, w_hh, b_ih, b_hh):
    """One step for one sample, gate by gate."""
    ours, theirs = w_ih @ x + b_ih, w_hh @ state[0] + b_hh
    if kind == "RNN":
        return (np.tanh(ours + theirs),)
    rows = [slice(k * HIDDEN, (k + 1) * HIDDEN) for k in range(KINDS[kind])]
    if kind == "LSTM":
        i, f, g, o = [(ours + theirs)[row] for row in rows]
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    r, z = [sigmoid((ours + theirs)[row]) for row in rows[:2]]
    n = np.tanh(ours[rows[2]] + r * theirs[rows[2]])
    return ((1 - z) * n + z * state[0],)


def weights_of(layer, k, has_bias):
    lists = [layer.w_ih_list, layer.w_hh_list]
    found = [part[k].asnumpy() for part in lists]
    if has_bias:
        return [*found, layer.b_ih_list[k].asnumpy(), layer.b_hh_list[k].asnumpy()]
    return [*found, np.zeros(len(found[0])), np.zeros(len(found[0]))]


def run(kind, layer, x, states, lengths, has_bias, both):
    """Outputs and last states, sample by sample and direction by direction."""
    ways = 2 if both else 1
    last = np.empty_like(states)
    for level in range(layer.num_layers):
        y = np.zeros((STEPS, BATCH, ways * HIDDEN))
        for way, sample in itertools.product(range(ways), range(BATCH)):
            k = level * ways + way
            state = tuple(part[k, sample] for part in states)
            places = range(lengths[sample])
            for t in reversed(places) if way else places:
                state = step(kind, x[t, sample], state, *weights_of(layer, k, has_bias))
                y[t, sample, way * HIDDEN : (way + 1) * HIDDEN] = state[0]
            for part, value in zip(last, state, strict=True):
                part[k, sample] = value
        x = y
    return x, last


SETTINGS = [*itertools.product(KINDS, [1, 2], [True, False], [False, True], [None, (2, 4)])]


@pytest.mark.parametrize(("kind", "layers", "has_bias", "both", "lengths"), SETTINGS)
def test_layers_are_loops_over_the_steps(kind, layers, has_bias, both, lengths):
    layer = filled(getattr(nn, kind)(INPUT, HIDDEN, layers, has_bias, bidirectional=both, dtype=dg.float64))
    x = RNG.standard_normal((STEPS, BATCH, INPUT))
    parts = 2 if kind == "LSTM" else 1
    states = RNG.standard_normal((parts, layers * (2 if both else 1), BATCH, HIDDEN))
    expected, last = run(kind, layer, x, states, lengths or (STEPS,) * BATCH, has_bias, both)
    given = tuple(f64(part) for part in states)
    y, end = layer(f64(x), given if parts == 2 else given[0], None if lengths is None else dg.Tensor(list(lengths)))
    assert_close(y, expected, scale=1.0)
    assert_close(end, tuple(last) if parts == 2 else last[0], scale=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_states_begin_with_zeros_and_batches_may_come_first(kind):
    layer = filled(getattr(nn, kind)(INPUT, HIDDEN, dtype=dg.float64))
    x = RNG.standard_normal((STEPS, BATCH, INPUT))
    zeros = ops.zeros((1, BATCH, HIDDEN), dg.float64)
    y, end = layer(f64(x))
    again, last = layer(f64(x), (zeros, zeros) if kind == "LSTM" else zeros)
    assert_close(y, again.asnumpy())
    first = filled(getattr(nn, kind)(INPUT, HIDDEN, batch_first=True, dtype=dg.float64))
    turned, end_too = first(f64(x.swapaxes(0, 1)))
    assert_close(turned, y.asnumpy().swapaxes(0, 1), scale=1.0)
    ends = (end, last, end_too) if kind == "LSTM" else ((end,), (last,), (end_too,))
    for one, other, third in zip(*ends, strict=True):
        assert_close(one, other.asnumpy())
        assert_close(one, third.asnumpy(), scale=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_single_steps(kind):
    cell = filled(getattr(nn, f"{kind}Cell")(INPUT, HIDDEN, dtype=dg.float64))
    x, states = RNG.standard_normal((BATCH, INPUT)), RNG.standard_normal((2, BATCH, HIDDEN))
    weights = [getattr(cell, name).asnumpy() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    parts = 2 if kind == "LSTM" else 1
    each = [step(kind, x[k], tuple(states[:parts, k]), *weights) for k in range(BATCH)]
    expected = tuple(np.stack(part) for part in zip(*each, strict=True))
    given = tuple(f64(part) for part in states[:parts])
    result = cell(f64(x), given if parts == 2 else given[0])
    assert_close(result, expected if parts == 2 else expected[0], scale=1.0)


def test_relu_in_place_of_tanh():
    layer = filled(nn.RNN(INPUT, HIDDEN, nonlinearity="relu", dtype=dg.float64))
    cell = filled(nn.RNNCell(INPUT, HIDDEN, nonlinearity="relu", dtype=dg.float64))
    x, h = f64(RNG.standard_normal((STEPS, BATCH, INPUT))), ops.zeros((BATCH, HIDDEN), dg.float64)
    y, _ = layer(x)
    for t in range(STEPS):
        h = cell(x[t], h)
        assert_close(y[t], h.asnumpy(), scale=1.0)
    assert (h.asnumpy() >= 0).all()


# ------------------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_parameters_are_those_of_single_steps(kind):
    layer = filled(getattr(nn, kind)(INPUT, HIDDEN, dtype=dg.float64), 3)
    cell = filled(getattr(nn, f"{kind}Cell")(INPUT, HIDDEN, dtype=dg.float64), 3)
    x = f64(RNG.standard_normal((STEPS, BATCH, INPUT)))
    zeros = ops.zeros((BATCH, HIDDEN), dg.float64)

    def stepped(x):
        state = (zeros, zeros) if kind == "LSTM" else zeros
        total = 0.0
        for t in range(STEPS):
            state = cell(x[t], state)
            total = total + ops.sum(ops.square(state[0] if kind == "LSTM" else state))
        return total

    one = dg.grad(lambda x: ops.sum(ops.square(layer(x)[0])), 0, layer.trainable_params())(x)
    other = dg.grad(stepped, 0, cell.trainable_params())(x)
    assert_close(one[0], other[0].asnumpy(), scale=1.0)
    for a, b in zip(one[1], other[1], strict=True):
        assert_close(a, b.asnumpy(), scale=10.0)


# ----------------------------------------------------------------------------------------------- surroundings


@pytest.mark.parametrize("kind", KINDS)
def test_weights_come_from_a_state_or_are_replaced(kind):
    x = f64(RNG.standard_normal((STEPS, BATCH, INPUT)))
    one, other = [getattr(nn, kind)(INPUT, HIDDEN, 2, bidirectional=True, dtype=dg.float64) for _ in range(2)]
    assert np.abs((one(x)[0] - other(x)[0]).asnumpy()).max() > 1e-3
    assert other.load_state_dict(one.state_dict()) == ([], [])
    np.testing.assert_array_equal(other(x)[0].asnumpy(), one(x)[0].asnumpy())
    for path, weight in list(one.parameters_and_names()):
        setattr(one, path, Parameter(0.5 * weight, name=path))
        other.parameters_dict()[path].set_data(0.5 * weight)
    np.testing.assert_array_equal(other(x)[0].asnumpy(), one(x)[0].asnumpy())


def test_names_and_first_values_of_parameters():
    layer = nn.LSTM(INPUT, 16, 2, bidirectional=True)
    expected = [
        f"{what}_l{level}{way}"
        for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for level, way in itertools.product((0, 1), ("", "_reverse"))
    ]
    assert [p.name for p in layer.get_parameters()] == expected
    assert list(layer.state_dict()) == [path for path, _ in layer.parameters_and_names()] == expected
    assert [p.shape for p in layer.w_ih_list] == [(64, INPUT)] * 2 + [(64, 32)] * 2
    values = np.concatenate([p.asnumpy().ravel() for p in layer.get_parameters()])
    assert 0.24 < np.abs(values).max() <= 0.25
    assert abs(values.mean()) < 0.02


def test_dropout_between_layers_in_training_only():
    layer = filled(nn.GRU(INPUT, HIDDEN, 2, dropout=0.5, dtype=dg.float64))
    plain = filled(nn.GRU(INPUT, HIDDEN, 2, dtype=dg.float64))
    x = f64(RNG.standard_normal((STEPS, BATCH, INPUT)))
    assert_close(layer(x)[0], plain(x)[0].asnumpy())
    dg.set_seed(0)
    assert not np.allclose(layer.set_train()(x)[0].asnumpy(), plain(x)[0].asnumpy())


REFUSED = {
    "features": (ValueError, lambda: nn.GRU(3, 2)(ops.ones((4, 2, 5))), "(steps, batch, 3)"),
    "batch first": (ValueError, lambda: nn.GRU(3, 2, batch_first=True)(ops.ones((4, 2))), "(batch, steps, 3)"),
    "type": (TypeError, lambda: nn.RNN(3, 2)(ops.ones((4, 2, 3), dg.float64)), "float32"),
    "one state": (TypeError, lambda: nn.LSTM(3, 2)(ops.ones((4, 2, 3)), ops.ones((1, 2, 2))), "pair"),
    "state": (ValueError, lambda: nn.GRU(3, 2)(ops.ones((4, 2, 3)), ops.ones((1, 1, 2))), "(1, 2, 2)"),
    "lengths": (ValueError, lambda: nn.GRU(3, 2)(ops.ones((4, 2, 3)), None, f64([1.0, 2.0])), "ints of shape (2,)"),
    "nonlinearity": (ValueError, lambda: nn.RNN(3, 2, nonlinearity="sin"), "'tanh' or 'relu'"),
    "dropout": (ValueError, lambda: nn.RNN(3, 2, dropout=1.0), "probability"),
    "flag": (TypeError, lambda: nn.RNN(3, 2, bidirectional=1), "bool"),
    "state of a step": (ValueError, lambda: nn.GRUCell(3, 2)(ops.ones((2, 3)), ops.ones((2, 3))), "(2, 2)"),
    "pair of a step": (TypeError, lambda: nn.LSTMCell(3, 2)(ops.ones((2, 3)), ops.ones((2, 2))), "(h, c)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
