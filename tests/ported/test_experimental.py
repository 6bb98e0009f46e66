"""`experimental.optim` against the formulas, step by step in NumPy, and schedules against their closed forms."""

import math

import numpy as np
import pytest

import dualgrad as dg
from dualgrad.experimental import optim
from dualgrad.experimental.optim import lr_scheduler

RNG = np.random.default_rng(5)
STARTS = [RNG.normal(size=(3, 2)), RNG.normal(size=4)]
GRADIENTS = [[RNG.normal(size=start.shape) for start in STARTS] for _ in range(6)]


def sgd(w, slopes, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    speed = None
    for g in slopes:
        g = (-g if maximize else g) + weight_decay * w
        speed = g if speed is None else momentum * speed + (1 - dampening) * g
        w = w - lr * (g + momentum * speed if nesterov else speed)
    return w


def adam(
    w, slopes, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, apart=False
):
    m = v = largest = np.zeros_like(w)
    for t, g in enumerate(slopes, 1):
        g = -g if maximize else g
        if apart:
            w = w - lr * weight_decay * w
        else:
            g = g + weight_decay * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt((largest if amsgrad else v) / (1 - betas[1] ** t))
        w = w - lr * m / (1 - betas[0] ** t) / (root + eps)
    return w


def adamw(w, slopes, weight_decay=1e-2, **settings):
    return adam(w, slopes, weight_decay=weight_decay, apart=True, **settings)


CASES = {
    "SGD": (optim.SGD, sgd, {"lr": 0.1}),
    "SGD with momentum": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "SGD of Nesterov": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    "SGD uphill": (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.2, "maximize": True}),
    "Adam": (optim.Adam, adam, {}),
    "Adam with decay": (optim.Adam, adam, {"lr": 0.05, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    "AMSGrad": (optim.Adam, adam, {"lr": 0.05, "betas": (0.5, 0.6), "amsgrad": True, "maximize": True}),
    "AdamW": (optim.AdamW, adamw, {"lr": 0.05}),
    "AdamW uphill": (optim.AdamW, adamw, {"lr": 0.05, "weight_decay": 0.3, "maximize": True, "amsgrad": True}),
}


def parameters():
    return [dg.Parameter(start, name=f"w{k}") for k, start in enumerate(STARTS)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("recorded", [False, True])
def test_steps_follow_the_formulas(name, recorded):
    make, expected, settings = CASES[name]
    ws = parameters()
    optimizer = make(ws, **settings)
    step = dg.jit(lambda *gradients: optimizer(gradients)) if recorded else lambda *gradients: optimizer(gradients)
    for gradients in GRADIENTS:
        step(*map(dg.Tensor, gradients))
    for k, w in enumerate(ws):
        slopes = [gradients[k] for gradients in GRADIENTS]
        np.testing.assert_allclose(w.asnumpy(), expected(STARTS[k], slopes, **settings), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["SGD with momentum", "Adam with decay", "AdamW"])
def test_groups_have_settings_of_their_own(name):
    make, expected, settings = CASES[name]
    ws = parameters()
    other = {**settings, "lr": 0.01, "weight_decay": 0.5}
    own = {"lr": 0.01, "weight_decay": 0.5}
    optimizer = make([{"params": ws[:1]}, {"params": ws[1:], **own}], **settings)
    for gradients in GRADIENTS:
        optimizer([dg.Tensor(g) for g in gradients])
    for k, chosen in enumerate((settings, other)):
        slopes = [gradients[k] for gradients in GRADIENTS]
        np.testing.assert_allclose(ws[k].asnumpy(), expected(STARTS[k], slopes, **chosen), rtol=1e-12, atol=1e-14)


def test_settings_may_be_changed_between_steps():
    w = dg.Parameter([1.0, 2.0], name="w")
    optimizer = optim.SGD([w], lr=0.5)
    optimizer([dg.Tensor([1.0, 1.0])])
    group = optimizer.param_groups[0]
    dg.ops.assign(group["lr"], 0.25)
    group["weight_decay"] = 1.0
    optimizer([dg.Tensor([0.0, 0.0])])
    assert w.asnumpy().tolist() == [0.5 * 0.75, 1.5 * 0.75]


def rates_of(schedule):
    """The rates, each of which is a tensor without axes."""
    assert all(type(rate) is dg.Tensor and rate.shape == () for rate in schedule.get_last_lr())
    return [rate.item() for rate in schedule.get_last_lr()]


def falling(epoch):
    return 1.0 / (epoch + 2)


SCHEDULES = {
    "LambdaLR": (lambda o: lr_scheduler.LambdaLR(o, falling), lambda base, k: base * falling(k)),
    "MultiplicativeLR": (
        lambda o: lr_scheduler.MultiplicativeLR(o, falling),
        lambda base, k: base * math.prod(falling(epoch) for epoch in range(1, k + 1)),
    ),
    "SequentialLR": (
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.ConstantLR(o, 0.5, 9), lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
             lr_scheduler.ExponentialLR(o, 0.7)],
            [2, 5],
        ),
        lambda base, k: 0.5 * base if k < 2 else restarted(base, k - 2) if k < 5 else base * 0.7 ** (k - 5),
    ),
    "StepLR": (lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda base, k: base * 0.5 ** (k // 3)),
    "MultiStepLR": (
        lambda o: lr_scheduler.MultiStepLR(o, [5, 2], 0.1), lambda base, k: base * 0.1 ** ((k >= 2) + (k >= 5))
    ),
    "ExponentialLR": (lambda o: lr_scheduler.ExponentialLR(o, 0.7), lambda base, k: base * 0.7**k),
    "PolynomialLR": (lambda o: lr_scheduler.PolynomialLR(o, 4, 2.0), lambda base, k: base * max(1 - k / 4, 0) ** 2),
    "CosineAnnealingLR": (
        lambda o: lr_scheduler.CosineAnnealingLR(o, 6, 0.01),
        lambda base, k: 0.01 + (base - 0.01) * math.cos(math.pi * k / 12) ** 2,
    ),
    "LinearLR": (
        lambda o: lr_scheduler.LinearLR(o, 0.25, 0.75, 4), lambda base, k: base * np.interp(k, [0, 4], [0.25, 0.75])
    ),
    "ConstantLR": (lambda o: lr_scheduler.ConstantLR(o, 0.5, 3), lambda base, k: base * (0.5 if k < 3 else 1.0)),
    "CosineAnnealingWarmRestarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2, 0.01), lambda base, k: restarted(base, k)
    ),
    "equal half waves": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
        lambda base, k: base * math.cos(math.pi * (k % 3) / 6) ** 2,
    ),
    "CyclicLR": (lambda o: lr_scheduler.CyclicLR(o, *BOUNDS, 2, 3), lambda base, k: cycling(base, k, 1.0)),
    "lower cycles": (
        lambda o: lr_scheduler.CyclicLR(o, *BOUNDS, 2, 3, "triangular2"),
        lambda base, k: cycling(base, k, 1.0 if k < 5 else 0.5),
    ),
    "lower steps": (
        lambda o: lr_scheduler.CyclicLR(o, *BOUNDS, 2, 3, "exp_range", 0.9), lambda base, k: cycling(base, k, 0.9**k)
    ),
    "a factor of steps": (
        lambda o: lr_scheduler.CyclicLR(o, *BOUNDS, 2, 3, scale_fn=falling, scale_mode="iterations"),
        lambda base, k: cycling(base, k, falling(k)),
    ),
    "a factor of cycles": (
        lambda o: lr_scheduler.CyclicLR(o, *BOUNDS, 2, 3, scale_fn=falling),
        lambda base, k: cycling(base, k, falling(1 if k < 5 else 2)),
    ),
}  # fmt: skip
BOUNDS = [0.5, 0.2], [1.5, 1.2]


def restarted(base, epoch):
    """Half waves of 2, 4 and 8 epochs."""
    begin, length = next((b, n) for b, n in ((0, 2), (2, 4), (6, 8)) if epoch < b + n)
    return 0.01 + (base - 0.01) * math.cos(math.pi * (epoch - begin) / length / 2) ** 2


def cycling(base, epoch, factor):
    """Two steps up by 1, three down."""
    return base + factor * np.interp(epoch, [0, 2, 5, 7, 10], [0, 1, 0, 1, 0])


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_set_the_rates(name):
    make, expected = SCHEDULES[name]
    first, second = parameters()
    optimizer = optim.Adam([{"params": [first], "lr": 0.5}, {"params": [second]}], lr=0.2)
    schedule = make(optimizer)
    for epoch in range(9):
        wanted = [expected(base, epoch) for base in (0.5, 0.2)]
        np.testing.assert_allclose(rates_of(schedule), wanted, rtol=1e-12)
        assert [group["lr"].item() for group in optimizer.param_groups] == rates_of(schedule)
        schedule.step()


def test_every_schedule_is_tested():
    made = {
        type(make(optim.SGD([{"params": [w]} for w in parameters()], 0.5))).__name__ for make, _ in SCHEDULES.values()
    }
    assert {*lr_scheduler.__all__} == {*made, "LRScheduler", "ReduceLROnPlateau"}


def test_restarts_between_epochs():
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD(parameters(), lr=0.5), 2, 2, 0.01)
    for epoch in (0.0, 0.25, 1.75, 2.0, 5.5, 7.25):
        schedule.step(epoch)
        assert rates_of(schedule) == [pytest.approx(restarted(0.5, epoch), rel=1e-12)]
        assert schedule.last_epoch == int(epoch)
    schedule.step()
    assert rates_of(schedule) == [pytest.approx(restarted(0.5, 8.25), rel=1e-12)]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold", [("rel", 0.2), ("abs", 0.3), ("abs", 0.0)])
@pytest.mark.parametrize(("patience", "cooldown"), [(0, 0), (1, 2), (2, 1)])
def test_rates_fall_on_a_plateau(mode, threshold, patience, cooldown):
    for seed in range(6):
        values = np.random.default_rng(seed).uniform(0.5, 2.0, 15)
        optimizer = optim.SGD(parameters(), lr=1.0)
        schedule = lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, patience, threshold[1], threshold[0], cooldown, min_lr=0.1
        )
        rate, best, bad, rest = 1.0, None, 0, 0
        for value in values:
            schedule.step(dg.Tensor(value))
            sign = 1 if mode == "min" else -1
            margin = 0 if best is None else threshold[1] * (best if threshold[0] == "rel" else 1.0)
            if best is None or sign * value < sign * best - margin:
                best, bad = value, 0
            else:
                bad += 1
            if rest:
                rest, bad = rest - 1, 0
            if bad > patience:
                rate, bad, rest = max(0.5 * rate, 0.1), 0, cooldown
            assert rates_of(schedule) == [rate]


def sequence_of_one(milestones):
    optimizer = optim.SGD(W, 0.1)
    return lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(optimizer, 2)], milestones)


W = [dg.Parameter([1.0], name="w")]
WRONG = {
    "one tensor": (TypeError, "list of Parameters or of dicts", lambda: optim.SGD(3, 0.1)),
    "group": (TypeError, "dicts with 'params'", lambda: optim.SGD([{"lr": 0.1}], 0.1)),
    "setting of a group": (
        ValueError, r"unknown settings \['colour'\]", lambda: optim.SGD([{"params": W, "colour": 1}], 0.1)
    ),
    "rate": (ValueError, "lr must be at least 0", lambda: optim.Adam(W, -1.0)),
    "schedule as a rate": (TypeError, "lr must be a number", lambda: optim.Adam(W, lambda step: 0.1)),
    "one beta": (TypeError, "betas are two numbers", lambda: optim.Adam(W, betas=(0.9,))),
    "beta": (ValueError, r"betas\[1\] must be", lambda: optim.Adam(W, betas=(0.9, 1.0))),
    "Nesterov": (ValueError, "nesterov needs momentum", lambda: optim.SGD(W, 0.1, nesterov=True)),
    "optimizer": (TypeError, "experimental.optim", lambda: lr_scheduler.StepLR(dg.nn.SGD(W, 0.1), 2)),
    "functions": (ValueError, "one for each", lambda: lr_scheduler.LambdaLR(optim.SGD(W, 0.1), [falling] * 2)),
    "one function": (
        ValueError, "one for each", lambda: lr_scheduler.MultiplicativeLR(optim.SGD(W, 0.1), [falling] * 2)
    ),
    "no schedule": (TypeError, "schedule 0 is int", lambda: lr_scheduler.SequentialLR(optim.SGD(W, 0.1), [3], [])),
    "another optimizer": (
        ValueError, "schedule 0 belongs to another",
        lambda: lr_scheduler.SequentialLR(optim.SGD(W, 0.1), [lr_scheduler.StepLR(optim.SGD(W, 0.1), 2)], []),
    ),
    "milestones": (ValueError, "1 milestones for 1 schedules", lambda: sequence_of_one([3])),
    "mode": (ValueError, "mode='best'", lambda: lr_scheduler.ReduceLROnPlateau(optim.SGD(W, 0.1), "best")),
    "factor": (ValueError, "below 1", lambda: lr_scheduler.ReduceLROnPlateau(optim.SGD(W, 0.1), factor=1.0)),
    "limits": (ValueError, "2 min_lr", lambda: lr_scheduler.ReduceLROnPlateau(optim.SGD(W, 0.1), min_lr=[0, 0])),
    "half a length": (
        TypeError, "T_0 must be an int", lambda: lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD(W, 0.1), 0.5)
    ),
    "no length": (
        ValueError, "T_mult must be 1", lambda: lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD(W, 0.1), 2, 0)
    ),
    "before the first": (
        ValueError, "epoch must be 0",
        lambda: lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD(W, 0.1), 2).step(-0.5)
    ),
    "bounds": (ValueError, "2 base_lr", lambda: lr_scheduler.CyclicLR(optim.SGD(W, 0.1), [0, 0], 1)),
    "cycles": (ValueError, "mode='round'", lambda: lr_scheduler.CyclicLR(optim.SGD(W, 0.1), 0, 1, mode="round")),
    "factors": (ValueError, "scale_mode=", lambda: lr_scheduler.CyclicLR(optim.SGD(W, 0.1), 0, 1, scale_mode="x")),
    "base": (NotImplementedError, "must define _rate", lambda: lr_scheduler.LRScheduler(optim.SGD(W, 0.1))),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    error, text, call = WRONG[name]
    with pytest.raises(error, match=text):
        call()


def test_rates_that_were_taken_stay():
    schedule = lr_scheduler.ExponentialLR(optim.SGD([dg.Parameter([1.0], name="w")], 0.5), 0.5)
    before = schedule.get_last_lr()
    schedule.step()
    assert (before[0].item(), rates_of(schedule)) == (0.5, [0.25])
