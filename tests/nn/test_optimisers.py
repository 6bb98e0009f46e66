"""SGD, Momentum and Adam against their formulas, and the round trip through a checkpoint file."""

import numpy as np
import pytest
from support import assert_close, f32, f64

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

STEPS = 6


def make_parameters(dtype):
    start = np.array([1.0, -2.0, 0.5]), np.array([[0.25], [3.0]])
    return ParameterTuple([Parameter(Tensor(array.astype(dtype)), name=f"p{k}") for k, array in enumerate(start)])


def gradients_at(step):
    """Made-up gradients, one zero among them, that change sign from step to step."""
    return np.array([0.3, -0.7, 0.0]) * (-1.1) ** step, np.array([[2.0], [1e-3]]) * np.cos(step)


def follow(optimiser, update, dtype="float64"):
    """Step ``optimiser`` and the NumPy ``update(k, w, g, state)`` side by side; compare after every step."""
    weights = make_parameters(dtype)
    opt = optimiser(weights)
    values, states = [w.asnumpy().astype(float) for w in weights], [{}, {}]
    for step in range(STEPS):
        gradients = gradients_at(step)
        opt(tuple(Tensor(g.astype(dtype)) for g in gradients))
        values = [update(step + 1, w, g, s) for w, g, s in zip(values, gradients, states, strict=True)]
        rtol = 1e-12 if dtype == "float64" else 1e-5
        assert_close(tuple(w * 1 for w in weights), tuple(values), rtol=rtol, scale=1.0)
        assert [str(w.dtype).lower() for w in weights] == [dtype, dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_sgd(rate, dtype):
    follow(lambda weights: nn.SGD(weights, learning_rate=rate), lambda _k, w, g, _s: w - rate * g, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_momentum(dtype):
    def update(_k, w, g, state):
        state["u"] = 0.9 * state.get("u", 0.0) + g
        return w - 0.05 * state["u"]

    follow(lambda weights: nn.Momentum(weights, learning_rate=0.05, momentum=0.9), update, dtype)


def adam_update(rate, beta1, beta2, eps):
    def update(k, w, g, state):
        state["m"] = beta1 * state.get("m", 0.0) + (1 - beta1) * g
        state["v"] = beta2 * state.get("v", 0.0) + (1 - beta2) * g * g
        factor = rate * np.sqrt(1 - beta2**k) / (1 - beta1**k)
        return w - factor * state["m"] / (np.sqrt(state["v"]) + eps)

    return update


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_adam(dtype):
    def make(weights):
        return nn.Adam(weights, learning_rate=0.01, beta1=0.8, beta2=0.95, eps=1e-6)

    follow(make, adam_update(0.01, 0.8, 0.95, 1e-6), dtype)


def test_defaults_of_adam_and_sgd():
    follow(lambda weights: nn.Adam(weights), adam_update(1e-3, 0.9, 0.999, 1e-8))
    follow(lambda weights: nn.SGD(weights), lambda _k, w, g, _s: w - 0.1 * g)


@pytest.mark.parametrize(
    "make", [nn.SGD, lambda w, rate: nn.Momentum(w, rate, 0.9), nn.Adam], ids=["SGD", "Momentum", "Adam"]
)
@pytest.mark.parametrize("collection", [list, tuple, ParameterTuple])
def test_any_collection_of_parameters(make, collection):
    weights = make_parameters("float64")
    before = [w.asnumpy().copy() for w in weights]
    opt = make(collection(weights), 0.1)
    assert [p.name for p in opt.parameters] == ["p0", "p1"]
    for gradients in (f64(np.ones(3)), f64(np.ones((2, 1)))), [f64(np.ones(3)), f64(np.ones((2, 1)))]:
        opt(gradients)
        assert all(np.all(w.asnumpy() < old) for w, old in zip(weights, before, strict=True))
        before = [w.asnumpy().copy() for w in weights]


def test_the_state_of_an_optimiser_is_made_of_parameters():
    weights = make_parameters("float32")
    opt = nn.Adam(weights, 0.1)
    own = [p for p in opt.get_parameters() if not any(p is w for w in weights)]
    assert all(isinstance(p, Parameter) for p in own)
    assert sum(p.shape == (2, 1) for p in own) == 2


@pytest.mark.eager("ends where its gradient is rounding")
@pytest.mark.usefixtures("mode")
def test_a_small_net_learns_a_line():
    dg.set_seed(0)
    net, loss_fn = nn.Dense(1, 1, dtype=dg.float64), nn.MSELoss()
    opt = nn.Adam(net.trainable_params(), learning_rate=0.1)
    x = f64(np.linspace(-1, 1, 9)[:, None])
    step = ops.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters, has_aux=False)
    losses = []
    for _ in range(300):
        loss, gradients = step(x, x * 3.0 - 0.5)
        opt(gradients)
        losses.append(float(loss))
    assert losses[-1] < 1e-6 < losses[0]
    assert_close((net.weight * 1, net.bias * 1), ([[3.0]], [-0.5]), rtol=1e-2)


# ------------------------------------------------------------------------------------------------ checkpoints


def small_net():
    return nn.SequentialCell(nn.Dense(2, 3, activation="relu"), nn.Dense(3, 1))


def test_a_checkpoint_brings_the_weights_back(tmp_path):
    path = str(tmp_path / "net.ckpt")
    net, other = small_net(), small_net()
    dg.save_checkpoint(net, path)
    loaded = dg.load_checkpoint(path)
    assert type(loaded) is dict
    assert list(loaded) == [p.name for p in net.get_parameters()]
    assert all(isinstance(p, Parameter) for p in loaded.values())
    dg.load_param_into_net(other, loaded)
    for p, q in zip(net.get_parameters(), other.get_parameters(), strict=True):
        assert np.array_equal(p.asnumpy(), q.asnumpy())
    x = f32([[1.0, -1.0]])
    assert_close(other(x), net(x).asnumpy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"])
def test_a_checkpoint_keeps_types_shapes_and_values(tmp_path, dtype):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.matrix = Parameter(Tensor(np.array([[0, 1], [2, 3]]).astype(dtype)), requires_grad=False)
            self.scalar = Parameter(Tensor(np.array(1).astype(dtype)))
            self.empty = Parameter(Tensor(np.zeros((0, 2), dtype)))

    net = Net()
    path = tmp_path / "net.ckpt"
    dg.save_checkpoint(net, path)
    loaded = dg.load_checkpoint(path)
    for name, parameter in net.parameters_dict().items():
        assert loaded[name].dtype == parameter.dtype
        assert loaded[name].shape == parameter.shape
        assert np.array_equal(loaded[name].asnumpy(), parameter.asnumpy())


def test_a_missing_checkpoint(tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match="nowhere"):
        dg.load_checkpoint(str(tmp_path / "nowhere.ckpt"))


def test_a_checkpoint_of_another_shape_is_refused(tmp_path):
    path = str(tmp_path / "net.ckpt")
    dg.save_checkpoint(nn.Dense(2, 3), path)
    with pytest.raises((RuntimeError, ValueError), match="weight"):
        dg.load_param_into_net(nn.Dense(2, 4), dg.load_checkpoint(path))


def adam_weight_decay(_k, w, g, state):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    state["v"] = 0.99 * state.get("v", 0.0) + 0.01 * g * g
    return w - 0.1 * (state["m"] / (np.sqrt(state["v"]) + 1e-6) + 0.2 * w)


def ada_max(k, w, g, state):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    state["v"] = np.maximum(0.99 * state.get("v", 0.0), np.abs(g))
    return w - 0.1 / (1 - 0.9**k) * state["m"] / (state["v"] + 1e-8)


def rms_prop(centered):
    def update(_k, w, g, state):
        state["s"] = 0.8 * state.get("s", 1.0) + 0.2 * g * g
        state["m"] = 0.8 * state.get("m", 0.0) + 0.2 * g
        spread = state["s"] - (state["m"] ** 2 if centered else 0.0)
        state["u"] = 0.5 * state.get("u", 0.0) + 0.1 * g / np.sqrt(spread + 1e-5)
        return w - state["u"]

    return update


def adagrad(grows):
    def update(_k, w, g, state):
        state["s"] = state.get("s", 0.25) + (g * g if grows else 0.0)
        return w - 0.1 * g / np.sqrt(state["s"])

    return update


def adadelta(_k, w, g, state):
    state["s"] = 0.8 * state.get("s", 0.0) + 0.2 * g * g
    move = g * np.sqrt(state.get("d", 0.0) + 1e-3) / np.sqrt(state["s"] + 1e-3)
    state["d"] = 0.8 * state.get("d", 0.0) + 0.2 * move**2
    return w - 0.5 * move


ADAPTIVE = {
    "AdamWeightDecay": (lambda w: nn.AdamWeightDecay(w, 0.1, beta2=0.99, weight_decay=0.2), adam_weight_decay),
    "AdaMax": (lambda w: nn.AdaMax(w, 0.1, beta2=0.99), ada_max),
    "RMSProp": (lambda w: nn.RMSProp(w, 0.1, 0.8, 0.5, 1e-5), rms_prop(False)),
    "RMSProp centered": (lambda w: nn.RMSProp(w, 0.1, 0.8, 0.5, 1e-5, centered=True), rms_prop(True)),
    "Adagrad": (lambda w: nn.Adagrad(w, 0.25, 0.1), adagrad(True)),
    "Adagrad fixed": (lambda w: nn.Adagrad(w, 0.25, 0.1, update_slots=False), adagrad(False)),
    "Adadelta": (lambda w: nn.Adadelta(w, 0.5, 0.8, 1e-3), adadelta),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_optimisers(name, dtype):
    follow(*ADAPTIVE[name], dtype)


def test_decay_apart_from_the_gradient_by_groups():
    """The decay of a group is its own; without groups some names are left out."""
    first, second = make_parameters("float64")
    start = first.asnumpy(), second.asnumpy()
    zeros = (first * 0.0, second * 0.0)
    groups = [{"params": [first], "weight_decay": 0.5}, {"params": [second], "lr": 0.01}]
    nn.AdamWeightDecay(groups, 0.1, weight_decay=0.25)(zeros)
    np.testing.assert_allclose(first.asnumpy(), start[0] * (1 - 0.1 * 0.5))
    np.testing.assert_allclose(second.asnumpy(), start[1] * (1 - 0.01 * 0.25))
    gamma = Parameter(Tensor([1.0], dg.float64), name="norm.gamma")
    nn.AdamWeightDecay([gamma], 0.1, weight_decay=0.25)((gamma * 0.0,))
    assert gamma.tolist() == [1.0]


DECAYS = [0.5, 0.0, 0.25, 0.5, 1.0, 0.125]


class Decay(nn.Cell):
    """A decay for each step, as a Cell; as a function it is the same."""

    def construct(self, global_step):
        return Tensor(DECAYS, dg.float64)[global_step]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [Decay, lambda: Decay().construct])
def test_weight_decay_that_changes(kind, dtype):
    """In the gradient, and apart from it."""
    follow(lambda weights: nn.SGD(weights, 0.1, weight_decay=kind()),
           lambda k, w, g, _s: w - 0.1 * (g + DECAYS[k - 1] * w), dtype)  # fmt: skip

    def apart(k, w, g, state):
        return adam_weight_decay(k, w, g, state) + 0.1 * (0.2 - DECAYS[k - 1]) * w

    follow(lambda weights: nn.AdamWeightDecay(weights, 0.1, beta2=0.99, weight_decay=kind()), apart, dtype)


WITH_DECAY = {
    "SGD": lambda w, d: nn.SGD(w, 0.1, weight_decay=d),
    "Momentum": lambda w, d: nn.Momentum(w, 0.1, 0.9, weight_decay=d),
    "Adam": lambda w, d: nn.Adam(w, 0.1, weight_decay=d),
    "AdamWeightDecay": lambda w, d: nn.AdamWeightDecay(w, 0.1, weight_decay=d),
    "AdaMax": lambda w, d: nn.AdaMax(w, 0.1, weight_decay=d),
    "RMSProp": lambda w, d: nn.RMSProp(w, 0.1, weight_decay=d),
    "Adagrad": lambda w, d: nn.Adagrad(w, weight_decay=d),
    "Adadelta": lambda w, d: nn.Adadelta(w, weight_decay=d),
    "AdaFactor": lambda w, d: nn.AdaFactor(w, 0.1, relative_step=False, weight_decay=d),
    "Lamb": lambda w, d: nn.Lamb(w, 0.1, weight_decay=d),
    "LARS": lambda w, d: nn.LARS(nn.Momentum(w, 0.1, 0.9, weight_decay=d), coefficient=0.5),
    "FTRL": lambda w, d: nn.FTRL(w, weight_decay=d),
    "ProximalAdagrad": lambda w, d: nn.ProximalAdagrad(w, weight_decay=d),
    "ASGD": lambda w, d: nn.ASGD(w, weight_decay=d),
    "Rprop": lambda w, d: nn.Rprop(w, weight_decay=d),
}


def test_every_optimiser_with_a_weight_decay_is_here():
    kinds = {name for name in nn.__all__ if isinstance(kind := getattr(nn, name), type) and kind is not nn.Optimizer
             and issubclass(kind, nn.Optimizer)}  # fmt: skip
    assert kinds == {*WITH_DECAY}


@pytest.mark.parametrize("name", WITH_DECAY)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_constant_as_a_function(name, grouped):
    """A decay that is computed and does not change takes the steps of the number; groups have decays of their own."""
    found = []
    for decay in (0.25, lambda _: 0.25):
        weights = make_parameters("float64")
        groups = [{"params": [weights[0]], "weight_decay": decay}, {"params": [weights[1]], "weight_decay": 0.5}]
        opt = WITH_DECAY[name](groups if grouped else weights, decay)
        for step in range(3):
            opt(tuple(Tensor(g) for g in gradients_at(step)))
        found.append(tuple(w * 1 for w in weights))
    assert_close(found[1], tuple(w.asnumpy() for w in found[0]), rtol=0)


def test_what_says_how_weights_decay():
    w, b = make_parameters("float64")
    opt = nn.SGD([{"params": [w], "weight_decay": Decay()}, {"params": [b], "weight_decay": 0.5}], 0.1, loss_scale=2.0)
    assert (opt.dynamic_weight_decay, opt.exec_weight_decay, opt.decay_flags) == (True, True, (True, True))
    assert [float(decay) for decay in opt.get_weight_decay()] == [1.0, 1.0]
    added = opt.decay_weight((w * 0.0, b * 0.0))
    assert_close(tuple(added), (w.asnumpy(), b.asnumpy()))
    assert float(nn.SGD([w], 0.1, weight_decay=Decay()).get_weight_decay()) == 0.5
    with pytest.raises(TypeError, match=r"weight_decay must be a number, got Tensor"):
        nn.SGD([w], 0.1, weight_decay=Tensor(0.5))
    with pytest.raises(TypeError, match=r"weight_decay of group 0 must be a number, got str"):
        nn.SGD([{"params": [w], "weight_decay": "0.5"}], 0.1)


def test_settings_of_adam_without_meaning():
    found = []
    for settings in ({}, {"use_lazy": True}, {"use_offload": True}):
        weights = make_parameters("float64")
        nn.Adam(weights, 0.1, **settings)(tuple(Tensor(g) for g in gradients_at(0)))
        found.append([w.tolist() for w in weights])
    assert found[0] == found[1] == found[2]
    with pytest.raises(ValueError, match="one of them at most"):
        nn.Adam(make_parameters("float64"), use_lazy=True, use_offload=True)
    with pytest.raises(TypeError, match="use_lazy"):
        nn.Adam(make_parameters("float64"), use_lazy=1)


EPOCHS = np.arange(12) // 2
SCHEDULES = {
    "exponential_decay_lr": ((0.1, 0.9, 12, 2, 2), 0.1 * 0.9 ** (EPOCHS / 2)),
    "exponential_decay_lr, stair": ((0.1, 0.9, 12, 2, 2, True), 0.1 * 0.9 ** (EPOCHS // 2)),
    "natural_exp_decay_lr": ((0.1, 0.9, 12, 2, 2), 0.1 * np.exp(-0.9 * EPOCHS)),
    "natural_exp_decay_lr, stair": ((0.1, 0.9, 12, 2, 2, True), 0.1 * np.exp(-0.9 * (EPOCHS // 2 * 2))),
    "inverse_decay_lr": ((0.1, 0.5, 12, 2, 2), 0.1 / (1 + 0.5 * EPOCHS / 2)),
    "inverse_decay_lr, stair": ((0.1, 0.5, 12, 2, 2, True), 0.1 / (1 + 0.5 * (EPOCHS // 2))),
    "cosine_decay_lr": (
        (0.01, 0.1, 12, 2, 4),
        0.01 + 0.045 * (1 + np.cos(np.pi * np.minimum(EPOCHS, 4) / 4)),
    ),
    "polynomial_decay_lr": ((0.1, 0.01, 12, 2, 4, 2.0), 0.09 * (1 - np.minimum(EPOCHS, 4) / 4) ** 2 + 0.01),
    "polynomial_decay_lr, again": (
        (0.1, 0.01, 12, 2, 4, 2.0, True),
        0.09 * (1 - EPOCHS / np.array([4] * 10 + [8] * 2)) ** 2 + 0.01,
    ),
    "warmup_lr": ((0.1, 12, 2, 3), 0.1 * np.minimum(EPOCHS, 3) / 3),
    "piecewise_constant_lr": (([2, 5], [0.1, 0.05]), np.array([0.1, 0.1, 0.05, 0.05, 0.05])),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_lists_of_learning_rates(name):
    arguments, expected = SCHEDULES[name]
    rates = getattr(nn, name.partition(",")[0])(*arguments)
    assert isinstance(rates, list)
    np.testing.assert_allclose(rates, expected, rtol=1e-14)


def test_a_schedule_sets_the_rate_of_each_step():
    w = Parameter(Tensor([0.0], dg.float64), name="w")
    opt = nn.SGD([w], nn.ExponentialDecayLR(1.0, 0.5, 1))
    for _ in range(3):
        opt((Tensor([-1.0], dg.float64),))
    assert w.tolist() == [1.75]
    assert nn.CosineDecayLR(0.0, 1.0, 4)(Tensor(4, dg.int32)).item() == 0.0


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda: nn.ExponentialDecayLR(0.1, -0.9, 4)),
        (ValueError, lambda: nn.ExponentialDecayLR(0.1, 0.9, 0)),
        (TypeError, lambda: nn.ExponentialDecayLR(0.1, 0.9, 2.5)),
        (TypeError, lambda: nn.InverseDecayLR(0.1, 0.9, 2, is_stair=1)),
        (ValueError, lambda: nn.CosineDecayLR(0.2, 0.1, 4)),
        (ValueError, lambda: nn.piecewise_constant_lr([5, 2], [0.1, 0.2])),
        (ValueError, lambda: nn.piecewise_constant_lr([5], [0.1, 0.2])),
        (TypeError, lambda: nn.piecewise_constant_lr(5, 0.1)),
        (ValueError, lambda: nn.Adagrad(make_parameters("float64"), accum=-1.0)),
        (ValueError, lambda: nn.Adadelta(make_parameters("float64"), rho=1.0)),
        (TypeError, lambda: nn.RMSProp(make_parameters("float64"), centered=1)),
    ],
)
def test_settings_out_of_range(error, make):
    with pytest.raises(error, match=r"must|expected"):
        make()
