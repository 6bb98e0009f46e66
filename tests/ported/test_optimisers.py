"""Optimisers of ported code against the formulas of MindSpore, written for one parameter in NumPy."""

import numpy as np
import pytest
from support import assert_close, assert_raises

from dualgrad import Parameter, Tensor, nn

pytestmark = pytest.mark.usefixtures("mode")

STEPS = 6
START = {"w": [[1.0, -2.0, 0.5], [0.25, 0.125, -1.0]], "b": [0.5, -0.375], "z": [0.0, 0.0], "gamma": [2.0]}


def gradients_at(step):
    """Gradients that change sign, vanish and stay the same."""
    rng = np.random.default_rng(step)
    found = {name: rng.normal(size=np.shape(value)) for name, value in START.items()}
    if step == 2:
        found["w"] *= 0.0
    found["z"] = np.array([0.25, 0.5])
    return found


def norm(array):
    return np.sqrt((array**2).sum())


def rms(array):
    return np.sqrt((array**2).mean())


def lamb(decay):
    def update(t, name, w, g, s):
        s["m"] = 0.8 * s.get("m", 0.0) + 0.2 * g
        s["v"] = 0.9 * s.get("v", 0.0) + 0.1 * g * g
        r = s["m"] / (1 - 0.8**t) / (np.sqrt(s["v"] / (1 - 0.9**t)) + 1e-2)
        r = r + (0.0 if name == "gamma" else decay) * w
        ratio = norm(w) / norm(r) if norm(w) and norm(r) else 1.0
        return w - 0.1 * ratio * r

    return update


def ftrl(power, l1, l2, decay):
    def update(_t, _name, w, g, s):
        g = g + decay * w
        old = s.get("n", np.full(np.shape(w), 0.25))
        new = old + g * g
        s["z"] = s.get("z", 0.0) + g - (new**power - old**power) / 0.1 * w
        s["n"] = new
        moved = (np.sign(s["z"]) * l1 - s["z"]) / (new**power / 0.1 + 2 * l2)
        return np.where(np.abs(s["z"]) > l1, moved, 0.0)

    return update


def proximal(_t, _name, w, g, s):
    s["a"] = s.get("a", 0.25) + g * g
    rate = 0.1 / np.sqrt(s["a"])
    u = w - rate * g
    return np.sign(u) * np.maximum(np.abs(u) - rate * 0.5, 0.0) / (1 + rate * 0.25)


def asgd(t, _name, w, g, s):
    size = s.get("h", 0.3)
    w = w * (1 - 0.1 * size) - size * g
    s["a"] = s.get("a", 0.0) + (w - s.get("a", 0.0)) * s.get("u", 1.0)
    s["h"] = 0.3 / (1 + 0.1 * 0.3 * t) ** 0.5
    s["u"] = 1 / max(1.0, t - 2.0)
    return w


def rprop(_t, _name, w, g, s):
    size = s.get("size", np.full(np.shape(w), 0.0625))
    turn = g * s.get("g", 0.0)
    size = np.clip(size * np.where(turn > 0, 1.5, np.where(turn < 0, 0.25, 1.0)), 0.03, 0.125)
    g = np.where(turn < 0, 0.0, g)
    s.update(size=size, g=g)
    return w - size * np.sign(g)


def lars(clip):
    def update(_t, name, w, g, s):
        if name != "b":
            decay = 0.0 if name == "gamma" else 0.125
            both = norm(w) and norm(g)
            factor = 0.25 * norm(w) / (norm(g) + decay * norm(w) + 1e-2) if both else 1.0
            g = (min(factor / 0.1, 1.0) if clip else factor) * (g + decay * w)
        s["u"] = 0.5 * s.get("u", 0.0) + g
        return w - 0.1 * s["u"]

    return update


def adafactor(rate_at, scaled, beta1, decay):
    def update(t, _name, w, g, s):
        keep = 1 - t**-0.75
        q = g * g + 1e-3
        if g.ndim > 1:
            s["r"] = keep * s.get("r", 0.0) + (1 - keep) * q.mean(-1)
            s["c"] = keep * s.get("c", 0.0) + (1 - keep) * q.mean(-2)
            v = np.outer(s["r"], s["c"]) / s["r"].mean()
        else:
            v = s["v"] = keep * s.get("v", 0.0) + (1 - keep) * q
        size = rate_at(t) * (max(1e-2, rms(w)) if scaled else 1.0)
        u = g / np.sqrt(v)
        u = size * u / max(1.0, rms(u) / 0.5)
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * u
        return w - decay * size * w - s["m"]

    return update


def make_lars(weights, **settings):
    momentum = nn.Momentum(weights, 0.1, 0.5, weight_decay=0.125)
    return nn.LARS(momentum, 1e-2, 0.25, lars_filter=lambda each: each.name != "b", **settings)


def make_adafactor(weights, **settings):
    return nn.AdaFactor(weights, eps=(1e-3, 1e-2), clip_threshold=0.5, decay_rate=0.75, **settings)


OPTIMISERS = {
    "Lamb": (lambda w: nn.Lamb(w, 0.1, 0.8, 0.9, 1e-2), lamb(0.0)),
    "Lamb, decay": (lambda w: nn.Lamb(w, 0.1, 0.8, 0.9, 1e-2, 0.25), lamb(0.25)),
    "FTRL": (lambda w: nn.FTRL(w, 0.25, 0.1), ftrl(0.5, 0.0, 0.0, 0.0)),
    "FTRL, penalties": (
        lambda w: nn.FTRL(w, 0.25, 0.1, -0.4, 0.5, 0.25, weight_decay=0.125),
        ftrl(0.4, 0.5, 0.25, 0.125),
    ),
    "ProximalAdagrad": (lambda w: nn.ProximalAdagrad(w, 0.25, 0.1, 0.5, 0.25), proximal),
    "ASGD": (lambda w: nn.ASGD(w, 0.3, 0.1, 0.5, 2.0), asgd),
    "Rprop": (lambda w: nn.Rprop(w, 0.0625, (0.25, 1.5), (0.03, 0.125)), rprop),
    "LARS": (make_lars, lars(False)),
    "LARS, clipped": (lambda w: make_lars(w, use_clip=True), lars(True)),
    "AdaFactor": (make_adafactor, adafactor(lambda t: min(0.01, t**-0.5), True, 0.9, 0.0)),
    "AdaFactor, warm": (
        lambda w: make_adafactor(w, warmup_init=True, weight_decay=0.5),
        adafactor(lambda t: 1e-6 * t, True, 0.9, 0.5),
    ),
    "AdaFactor, rate": (
        lambda w: make_adafactor(w, learning_rate=0.125, relative_step=False, scale_parameter=False, beta1=None),
        adafactor(lambda t: 0.125, False, 0.0, 0.0),
    ),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps(name, dtype):
    make, update = OPTIMISERS[name]
    values = {name: np.array(value) for name, value in START.items()}
    weights = [Parameter(value.astype(dtype), name=name) for name, value in values.items()]
    opt, states = make(weights), {name: {} for name in START}
    for step in range(STEPS):
        given = gradients_at(step)
        opt(tuple(Tensor(g.astype(dtype)) for g in given.values()))
        values = {each: update(step + 1, each, values[each], given[each], states[each]) for each in START}
        for weight in weights:
            rtol = 1e-12 if dtype is np.float64 else 2e-5
            assert_close(weight * 1, values[weight.name], rtol=rtol, scale=1.0)
            assert weight.asnumpy().dtype == dtype
    if name == "ASGD":
        assert_close(opt.ax[0] * 1, states["w"]["a"], rtol=1e-12 if dtype is np.float64 else 2e-5, scale=1.0)


@pytest.mark.parametrize("name", ["Lamb", "FTRL", "ProximalAdagrad", "ASGD", "Rprop", "AdaFactor"])
def test_groups_have_rates_and_decays_of_their_own(name):
    """A group takes the steps that its parameter takes alone with the settings of the group."""
    others = {"learning_rate": 0.5}
    if name == "AdaFactor":
        others["relative_step"] = False
    weights = {each: Parameter(np.array(START[each]), name=each) for each in "wb"}
    alone = {each: Parameter(np.array(START[each]), name=each) for each in "wb"}
    groups = [{"params": [weights["w"]], "weight_decay": 0.25}, {"params": [weights["b"]], "lr": 0.125}]
    together = getattr(nn, name)(groups, **others)
    for step in range(2):
        given = gradients_at(step)
        together((Tensor(given["w"]), Tensor(given["b"])))
    for each, settings in ("w", {"weight_decay": 0.25}), ("b", {"learning_rate": 0.125}):
        opt = getattr(nn, name)([alone[each]], **{**others, **settings})
        for step in range(2):
            opt((Tensor(gradients_at(step)[each]),))
        assert_close(weights[each] * 1, alone[each].asnumpy(), rtol=1e-13)


def test_the_scale_of_the_loss_of_the_other_optimiser_counts_in_lars():
    scaled, plain = (Parameter(np.array(START["w"]), name="w") for _ in range(2))
    for weight, scale in (scaled, 4.0), (plain, 1.0):
        opt = nn.LARS(nn.SGD([weight], 0.5, weight_decay=0.25, loss_scale=scale), coefficient=0.5)
        for step in range(2):
            opt((Tensor(scale * gradients_at(step)["w"]),))
        assert opt.global_step.item() == 2
    assert_close(scaled * 1, plain.asnumpy(), rtol=1e-13)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (TypeError, lambda w: nn.LARS(w)),
        (TypeError, lambda w: nn.LARS(nn.SGD(w), lars_filter="bias")),
        (ValueError, lambda w: nn.FTRL(w, lr_power=0.5)),
        (ValueError, lambda w: nn.ProximalAdagrad(w, accum=0.0)),
        (TypeError, lambda w: nn.Rprop(w, etas=[0.5, 1.2])),
        (ValueError, lambda w: nn.Rprop(w, etas=(0.5, 1.0))),
        (ValueError, lambda w: nn.Rprop(w, step_sizes=(1.0, 0.5))),
        (ValueError, lambda w: nn.AdaFactor(w, 0.1)),
        (ValueError, lambda w: nn.AdaFactor(w, relative_step=False)),
        (ValueError, lambda w: nn.AdaFactor(w, 0.1, relative_step=False, warmup_init=True)),
        (ValueError, lambda w: nn.AdaFactor(w, compression=True)),
        (ValueError, lambda w: nn.Lamb(w, 0.1, beta1=1.0)),
        (ValueError, lambda w: nn.ASGD(w, lambd=-1.0)),
    ],
)
def test_settings_out_of_range(error, make):
    assert_raises(error, lambda: make([Parameter([1.0], name="w")]), ("must", "expected"))
