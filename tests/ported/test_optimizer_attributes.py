"""Optimisers of one's own: what they read of the base, and steps made of its parts; training steps with scaled losses.

A step made of the parts has to be that of the optimisers here, whatever the groups, rates and scales are.
"""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")


class Halving(nn.LearningRateSchedule):
    def construct(self, global_step):
        return 0.5 * 0.5**global_step


def weights(dtype=np.float64):
    """A matrix, a vector, and a vector whose name keeps its weight from decaying."""
    rng = np.random.default_rng(5)
    shapes = {"w": (2, 3), "b": (3,), "gamma": (3,)}
    return [Parameter(rng.normal(size=shape).astype(dtype), name=name) for name, shape in shapes.items()]


GROUPS = {
    "none": lambda w, b, c: [w, b, c],
    "rates": lambda w, b, c: [{"params": [w], "lr": 0.25}, {"params": [b, c]}],
    "decays": lambda w, b, c: [{"params": [w], "weight_decay": 0.5}, {"params": [b, c], "weight_decay": 0.0}],
    "ordered": lambda w, b, c: [{"params": [c], "lr": 0.25}, {"params": [w, b]}, {"order_params": [w, b, c]}],
    "central": lambda w, b, c: [{"params": [w, b], "grad_centralization": True}, {"params": [c]}],
    "schedule": lambda w, b, c: [{"params": [w], "lr": Halving()}, {"params": [b, c], "lr": [0.5, 0.25, 0.125]}],
}
RATES = {"fixed": 0.125, "listed": [0.5, 0.25, 0.125], "schedule": Halving()}


class Own(nn.Optimizer):
    """Plain descent, of the parts that the base offers, in the order of ported code."""

    def __init__(self, params, learning_rate, weight_decay=0.0, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def construct(self, gradients):
        gradients = self.flatten_gradients(gradients)
        gradients = self.decay_weight(gradients)
        gradients = self.gradients_centralization(gradients)
        gradients = self.scale_grad(gradients)
        rates = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        if not self.is_group_lr:
            rates = (rates,) * self.param_length
        return self.hyper_map(self._step, rates, self.parameters, tuple(gradients))

    @staticmethod
    def _step(rate, parameter, gradient):
        return ops.assign_sub(parameter, rate.astype(gradient.dtype) * gradient)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("decay", "scale"), [(0.0, 1.0), (0.25, 1.0), (0.25, 8.0)])
def test_a_step_of_parts(groups, rate, decay, scale):
    mine, theirs = weights(), weights()
    rng = np.random.default_rng(7)
    own = Own(GROUPS[groups](*mine), RATES[rate], decay, scale)
    momentum = nn.Momentum(GROUPS[groups](*theirs), RATES[rate], 0.0, weight_decay=decay, loss_scale=scale)
    for _ in range(4):
        gradients = tuple(f64(rng.normal(size=p.shape)) for p in own.parameters)
        own(gradients)
        momentum(gradients)
        for p, q in zip(mine, theirs, strict=True):
            assert_close(+p, q.asnumpy(), scale=1.0)
    assert int(own.global_step) == int(momentum.global_step) == 4


@pytest.mark.parametrize("groups", GROUPS)
def test_what_the_groups_say(groups):
    w, b, c = weights()
    opt = nn.Momentum(GROUPS[groups](w, b, c), 0.125, 0.5, weight_decay=0.75)
    grouped = groups != "none"
    assert opt.is_group is grouped
    assert opt.is_group_lr is (groups in ("rates", "ordered", "schedule"))
    assert opt.is_group_params_ordered is (groups == "ordered")
    assert opt.dynamic_lr is (groups == "schedule")
    assert [p is q for p, q in zip(opt.group_params, (w, b, c), strict=True)] == [True] * 3
    decays = [0.5, 0.0, 0.0] if groups == "decays" else [0.75] * 3 if grouped else [0.75, 0.75, 0.0]
    assert opt.group_weight_decay == decays
    assert opt.decay_flags == tuple(decay > 0 for decay in decays)
    found = opt.get_weight_decay()
    assert type(found) is (tuple if grouped else Tensor)
    assert [float(decay) for decay in found] == decays if grouped else float(found) == 0.75
    assert opt.group_grad_centralization == ([True, True, False] if groups == "central" else [False] * 3)
    if not opt.dynamic_lr:
        rates = {"rates": [0.25, 0.125, 0.125], "ordered": [0.125, 0.125, 0.25]}.get(groups, [0.125] * 3)
        assert [float(rate) for rate in opt.get_lr_parameter([w, b, c])] == rates
        found = opt.get_lr()
        assert [float(rate) for rate in found] == rates if opt.is_group_lr else float(found) == 0.125
    else:
        assert [float(rate) for rate in opt.get_lr()] == [0.5, 0.5, 0.5]
        assert opt.get_lr_parameter(b) is opt.group_lr[1]
    assert opt.param_length == 3
    assert opt.optim_filter == (True, True, True)
    assert (opt.use_parallel, opt.target, opt.dynamic_weight_decay, opt.unique) == (False, "CPU", False, True)
    assert opt.exec_weight_decay
    assert opt.need_scale is False
    assert float(nn.SGD([Parameter([1.0], name="s")], loss_scale=4.0).reciprocal_scale) == 0.25


descend = ops.MultitypeFuncGraph("descend")


@descend.register("Tensor", "Tensor", "Tensor", "Tensor")
def _descend(rate, decay, parameter, gradient):
    return ops.assign(parameter, parameter - rate * (gradient + decay * parameter))


class ByTypes(nn.Optimizer):
    """A step of ported code that is chosen by the types of its arguments; it keeps what it has read."""

    def construct(self, gradients):
        rate, decay = self.get_lr(), self.get_weight_decay()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        if self.is_group:
            self.hyper_map(ops.partial(descend, rate), decay, self._parameters, gradients)
            return decay
        self.hyper_map(ops.partial(descend, rate, decay), self._parameters, gradients)
        return (decay,) * self.param_length


class Growing(nn.Cell):
    def construct(self, step):
        return 0.25 * (step + 1)


DECAYS = {"number": 0.1, "Cell": Growing(), "function": lambda step: 0.3, "none": 0.0}


@pytest.mark.parametrize("scale", [1.0, 8.0])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("decay", DECAYS)
def test_decays_are_tensors(decay, grouped, scale):
    params = weights(np.float32)[:2]
    values = [p.asnumpy().copy() for p in params]
    groups = [{"params": params[:1], "weight_decay": 0.7}, {"params": params[1:]}] if grouped else params
    opt = ByTypes(0.125, groups, DECAYS[decay], scale)
    for step in range(5):
        if step == 3 and decay == "number" and not grouped:
            opt.weight_decay = 0.6  # a recorded step has to notice
        gradients = [np.full(p.shape, 0.5 + step, np.float32) for p in params]
        found = opt(tuple(map(Tensor, gradients)))
        assert [(type(d), d.dtype, d.shape) for d in found] == [(Tensor, dg.float32, ())] * 2
        rest = {"number": 0.1, "Cell": 0.25 * (step + 1), "function": 0.3, "none": 0.0}[decay]
        rest = opt.weight_decay if decay == "number" and not grouped else rest
        for k, number in enumerate([0.7 if grouped else rest, rest]):
            assert float(found[k]) == np.float32(number * scale)
            values[k] = values[k] - 0.125 * (gradients[k] + np.float32(number * scale) * values[k])
            assert_close(+params[k], values[k], scale=1.0)


def test_rates_by_parameter_that_are_not_there():
    opt = nn.SGD(weights(), 0.125)
    assert_raises(TypeError, lambda: opt.get_lr_parameter("w"), "get_lr_parameter", "str")
    assert_raises(TypeError, lambda: opt.get_lr_parameter(["w"]), "get_lr_parameter", "str")
    assert_raises(ValueError, lambda: opt.get_lr_parameter(Parameter([1.0], name="other")), "other")
    assert_raises(TypeError, lambda: setattr(opt, "unique", 1), "unique")
    group = [{"params": weights(), "grad_centralization": 1}]
    assert_raises(TypeError, lambda: nn.SGD(group, 0.125), "grad_centralization", "bool")


@pytest.mark.parametrize("groups", ["none", "decays"])
def test_decay_apart_from_the_gradient(groups):
    """AdamWeightDecay, its first step: w - lr (sign(g) sqrt-free ratio + decay w), as NumPy has it."""
    params = weights()
    before = [p.asnumpy().copy() for p in params]
    opt = nn.AdamWeightDecay(GROUPS[groups](*params), 0.125, weight_decay=0.75)
    gradients = [np.cos(np.arange(p.size)).reshape(p.shape) for p in params]
    decays = [0.5, 0.0, 0.0] if groups == "decays" else [0.75, 0.75, 0.0]
    opt(tuple(f64(g) for g in gradients))
    for p, value, g, decay in zip(params, before, gradients, decays, strict=True):
        ratio = 0.1 * g / (np.sqrt(0.001 * g * g) + 1e-6)
        assert_close(+p, value - 0.125 * (ratio + decay * value), rtol=1e-10, scale=1.0)


def test_arguments_are_kept():
    class Kept(nn.SGD):
        @nn.opt_init_args_register
        def __init__(self, params, learning_rate=0.5, momentum=0.0, nesterov=False):
            super().__init__(params, learning_rate, momentum, nesterov=nesterov)

    class Around(nn.Cell):
        @nn.opt_init_args_register
        def __init__(self, optimizer, period=3):
            super().__init__()

    params = weights()
    for rate, kept in ((0.25, 0.25), (Tensor([0.5, 0.25]), [0.5, 0.25]), (Halving(), None)):
        opt = Kept(params, rate, momentum=0.5)
        assert opt.init_learning_rate == kept
        assert opt.init_params == {"params": params}
        assert opt.init_args == {"momentum": 0.5, "nesterov": False}
    around = Around(opt, 5)
    assert (around.init_params, around.init_args) == ({"params": params}, {"period": 5})
    assert not hasattr(around, "init_learning_rate")
    assert_raises(TypeError, lambda: Kept(params, other=1), "other")
    assert_raises(TypeError, lambda: nn.opt_init_args_register(3), "opt_init_args_register", "int")
    assert_raises(TypeError, lambda: Kept.__init__(3, params), "opt_init_args_register", "int")


# -------------------------------------------------------------------------------------------------- training steps


def line():
    return nn.Dense(1, 1, "ones", "zeros", dtype=dg.float64)


@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_a_scaled_step_is_a_step(scale):
    """Scales that are powers of two change nothing but exponents."""
    plain, scaled = line(), line()
    step = nn.TrainOneStepCell(nn.WithLossCell(plain, nn.MSELoss()), nn.Adam(plain.trainable_params(), 0.125))
    other = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(scaled, nn.MSELoss()), nn.Adam(scaled.trainable_params(), 0.125), Tensor(scale)
    )
    x, y = f64([[1.0], [2.0]]), f64([[3.0], [-1.0]])
    for _ in range(3):
        expected = step(x, y)
        loss, overflow, used = other(x, y)
        assert_close(loss, expected.asnumpy())
        assert (bool(overflow), float(used)) == (False, scale)
        assert_close(+scaled.weight, plain.weight.asnumpy())
    other.set_sense_scale(Tensor(2 * scale))
    assert float(other(x, y)[2]) == 2 * scale
    assert_raises(TypeError, lambda: other.set_sense_scale(3.0), "float")


def test_a_step_that_overflows_changes_nothing_but_the_scale():
    net = line()
    opt = nn.Adam(net.trainable_params(), 0.125)
    step = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(net, nn.MSELoss()), opt, nn.DynamicLossScaleUpdateCell(1024.0, 4, 1000)
    )
    step(f64([[1.0]]), f64([[3.0]]))
    watched = [*net.get_parameters(), *opt.get_parameters()]
    before = [p.asnumpy().copy() for p in watched]
    for expected in (1024.0, 256.0, 64.0):
        _, overflow, used = step(f64([[np.inf]]), f64([[3.0]]))
        assert (bool(overflow), float(used)) == (True, expected)
    for p, value in zip(watched, before, strict=True):
        assert_close(+p, value)
    step(f64([[1.0]]), f64([[3.0]]))
    assert np.all(net.weight.asnumpy() != before[0])


@pytest.mark.parametrize("overflows", list(itertools.product([False, True], repeat=5)))
@pytest.mark.parametrize("window", [1, 2, 3])
def test_how_the_scale_changes(overflows, window):
    """Against the rule said with Python's numbers."""
    update, scale = nn.DynamicLossScaleUpdateCell(4.0, 2, window), Parameter(Tensor(4.0), name="scale")
    expected, since = 4.0, 1
    for overflow in overflows:
        assert bool(update(scale, Tensor(overflow))) is overflow
        if overflow:
            expected, since = max(expected / 2, 1.0), 1
        elif since >= window:
            expected, since = expected * 2, 1
        else:
            since += 1
        assert float(scale) == expected
    assert update.get_loss_scale() == 4.0


def test_a_fixed_scale():
    update, scale = nn.FixedLossScaleUpdateCell(8.0), Parameter(Tensor(8.0), name="scale")
    assert bool(update(scale, Tensor(True)))
    assert (float(scale), update.get_loss_scale()) == (8.0, 8.0)


def test_settings_that_do_not_fit():
    net = line()
    loss, opt = nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.5)
    assert_raises(TypeError, lambda: nn.TrainOneStepWithLossScaleCell(loss, opt, 8.0), "scale_sense", "float")
    assert_raises(ValueError, lambda: nn.TrainOneStepWithLossScaleCell(loss, opt, f32([1.0, 2.0])), "scale_sense")
    assert_raises(ValueError, lambda: nn.DynamicLossScaleUpdateCell(0.0, 2, 3), "loss_scale_value")
    assert_raises(ValueError, lambda: nn.DynamicLossScaleUpdateCell(8.0, 2, 0), "scale_window")
    assert_raises(TypeError, lambda: nn.DynamicLossScaleUpdateCell(8.0, 2, 1.5), "scale_window")
    assert_raises(TypeError, lambda: nn.WithGradCell(lambda x: x), "WithGradCell")
    assert_raises(TypeError, lambda: nn.WithEvalCell(net, loss, 1), "add_cast_fp32")
    assert_raises(TypeError, lambda: nn.ParameterUpdate(f64([1.0])), "ParameterUpdate")


def test_cells_around_a_network():
    net, x, y = line(), f64([[2.0]]), f64([[1.0]])
    gradients = dg.grad(nn.WithLossCell(net, nn.MSELoss()), None, net.trainable_params())(x, y)
    found = nn.WithGradCell(net, nn.MSELoss())(x, y)
    assert_close(found, tuple(g.asnumpy() for g in gradients))
    found = nn.WithGradCell(net, sens=f64([[3.0]]))(x)
    assert_close(found, (np.array([[6.0]]), np.array([3.0])))
    loss, output, label = nn.WithEvalCell(net, nn.MSELoss(), add_cast_fp32=True)(x, y)
    assert [t.dtype for t in (loss, output, label)] == [dg.float32] * 3
    assert (float(loss), float(output), float(label)) == (1.0, 2.0, 1.0)
    update = nn.ParameterUpdate(net.weight)
    assert_close(update(f64([[7.0]])), np.array([[7.0]]))
    assert_close(+net.weight, np.array([[7.0]]))
    assert list(ParameterTuple(update.get_parameters())) == [net.weight]
