"""`dualgrad.train`: loops over datasets against loops written by hand, callbacks, checkpoints, scales of the loss."""

import itertools
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import nn, train
from dualgrad.dataset import NumpySlicesDataset

RNG = np.random.default_rng(7)
POINTS = RNG.uniform(-1.0, 1.0, (12, 2)).astype(np.float32)
LABELS = (POINTS @ np.array([[2.0], [-1.0]]) + 0.5).astype(np.float32)
BATCH = 4


class Line(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


class LossOfLine(nn.Cell):
    """A network that returns its loss itself."""

    def __init__(self):
        super().__init__()
        self.line = Line()

    def construct(self, x, y):
        return ((self.line(x) - y) ** 2).mean()


def data(points=POINTS):
    return NumpySlicesDataset((points, LABELS), ["x", "y"], shuffle=False).batch(BATCH)


OPTIMIZERS = {
    "SGD": lambda p: nn.SGD(p, 0.1),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "Adam": lambda p: nn.Adam(p, 0.05),
    "scheduled": lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.9, 2)),
}


def by_hand(make, epochs):
    """The parameters after epochs of a loop without `Model`."""
    net, loss_fn = Line(), nn.MSELoss()
    optimizer = make(net.trainable_params())
    gradient = dg.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    losses = []
    for _, start in itertools.product(range(epochs), range(0, len(POINTS), BATCH)):
        rows = slice(start, start + BATCH)
        loss, gradients = gradient(dg.Tensor(POINTS[rows]), dg.Tensor(LABELS[rows]))
        optimizer(gradients)
        losses.append(loss.item())
    return values(net), losses


def values(net):
    return [parameter.asnumpy().copy() for parameter in net.trainable_params()]


def same(a, b):
    return all((x == y).all() for x, y in zip(a, b, strict=True))


class Log(train.Callback):
    """Keeps the moments, and the losses of steps."""

    def __init__(self):
        self.moments, self.losses, self.told = [], [], None

    def __enter__(self):
        self.moments.append("enter")
        return self

    def __exit__(self, *error):
        self.moments.append("exit")


def _moment(name):
    def method(self, run_context):
        told = self.told = run_context.original_args()
        self.moments.append((name, told.get("cur_epoch_num"), told["cur_step_num"]))
        if name == "on_train_step_end":
            self.losses.append(float(told.net_outputs.asnumpy()))

    return method


MOMENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
for _name in (f"on_{phase}_{moment}" for phase in ("train", "eval") for moment in MOMENTS):
    setattr(Log, _name, _moment(_name))


# ------------------------------------------------------------------------------------------------------- the loops


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("own_loss", [False, True])
def test_training_is_the_loop_written_by_hand(name, own_loss):
    """To the last bit, with a loss function or a network that has one."""
    expected, losses = by_hand(OPTIMIZERS[name], 3)
    net, log = LossOfLine() if own_loss else Line(), Log()
    model = dg.Model(net, None if own_loss else nn.MSELoss(), OPTIMIZERS[name](net.trainable_params()))
    model.train(3, data(), callbacks=[log], dataset_sink_mode=True)
    if own_loss:
        np.testing.assert_allclose(log.losses, losses, rtol=1e-5)
    else:
        assert log.losses == losses
        assert same(values(net), expected)
    assert net.training


def test_epochs_can_be_made_in_two_calls():
    expected, _ = by_hand(OPTIMIZERS["Adam"], 5)
    net, log = Line(), Log()
    model = dg.Model(net, nn.MSELoss(), OPTIMIZERS["Adam"](net.trainable_params()))
    model.train(2, data())
    model.train(5, data(), log, initial_epoch=2)
    assert same(values(net), expected)
    assert {epoch for _, epoch, _ in log.moments[2:-1]} == {3, 4, 5}


def test_without_an_optimizer_only_the_loss_is_computed():
    net, log = Line(), Log()
    dg.Model(net, nn.MSELoss()).train(2, data(), log)
    assert same(values(net), values(Line()))
    assert log.losses[:3] == log.losses[3:]


def test_callbacks_are_called_in_order():
    log = Log()
    net = Line()
    dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(2, data(), log)
    expected = ["enter", ("on_train_begin", None, 0)]
    step = 0
    for epoch in (1, 2):
        expected.append(("on_train_epoch_begin", epoch, step))
        for _ in range(3):
            step += 1
            expected += [("on_train_step_begin", epoch, step), ("on_train_step_end", epoch, step)]
        expected.append(("on_train_epoch_end", epoch, step))
    assert log.moments == [*expected, ("on_train_end", 2, 6), "exit"]


def test_what_the_loop_tells():
    net, log, batches = Line(), Log(), data()
    optimizer, loss_fn = nn.SGD(net.trainable_params(), 0.1), nn.MSELoss()
    model = dg.Model(net, loss_fn, optimizer)
    model.train(2, batches, log)
    told = log.told
    assert (told.epoch_num, told.batch_num, told.mode, told.device_number) == (2, 3, "train", 1)
    assert (told.network, told.loss_fn, told.optimizer, told.train_dataset) == (net, loss_fn, optimizer, batches)
    assert told.train_network is model.train_network
    assert (told.parallel_mode, told.dataset_sink_mode, told.list_callback) == ("stand_alone", False, [log])
    np.testing.assert_array_equal(told.train_dataset_element[0].asnumpy(), POINTS[8:])
    with pytest.raises(AttributeError, match="says nothing about 'colour'"):
        told.colour  # noqa: B018


@pytest.mark.parametrize("phase", ["train", "eval"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_methods_without_a_phase_serve_both(phase, moment):
    class Both(train.Callback):
        calls = 0

    setattr(Both, moment, lambda self, run_context: setattr(Both, "calls", Both.calls + 1))
    getattr(Both(), f"on_{phase}_{moment}")(train.RunContext({}))
    assert Both.calls == 1


@pytest.mark.parametrize("at", range(1, 7))
def test_a_stop_ends_training_after_the_step(at):
    net, log = Line(), Log()
    stop = train.LambdaCallback(
        on_train_step_end=lambda context: context.original_args().cur_step_num == at and context.request_stop()
    )
    dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(2, data(), [log, stop])
    assert len(log.losses) == at
    assert [name for name, *_ in log.moments[-3:-1]] == ["on_train_epoch_end", "on_train_end"]


def test_evaluation_measures_all_batches():
    net, log = Line(), Log()
    model = dg.Model(net, nn.MSELoss(), metrics={"mae", "mse", "loss"})
    net.set_train()
    found = model.eval(data(), log)
    difference = POINTS.sum(1, keepdims=True) - LABELS
    assert found == {
        "mae": pytest.approx(np.abs(difference).mean(), rel=1e-6),
        "mse": pytest.approx((difference**2).mean(), rel=1e-6),
        "loss": pytest.approx((difference**2).mean(), rel=1e-6),
    }
    assert not net.training
    assert [name for name, *_ in log.moments[1:-1]] == [
        "on_eval_begin", "on_eval_epoch_begin", *3 * ["on_eval_step_begin", "on_eval_step_end"], "on_eval_epoch_end",
        "on_eval_end",
    ]  # fmt: skip


def test_metrics_get_the_outputs_that_are_named():
    class Four(nn.Cell):
        def construct(self, x, y):
            return x, y, x.sum(), y + 1.0

    found = dg.Model(Line(), metrics={"mae", "loss"}, eval_network=Four(), eval_indexes=[2, 3, 1]).eval(data())
    assert found["mae"] == pytest.approx(1.0, rel=1e-6)
    assert found["loss"] == pytest.approx(POINTS.sum() / 3, rel=1e-5)

    class Both(nn.Cell):
        def construct(self, x, y):
            return x[:, :1], y

    found = dg.Model(Line(), metrics={"mae": train.MAE()}, eval_network=Both()).eval(data())
    assert found["mae"] == pytest.approx(np.abs(POINTS[:, :1] - LABELS).mean(), rel=1e-6)


@pytest.mark.parametrize(("frequency", "epochs"), [(1, {1, 2, 3, 4}), (2, {2, 4}), ([1, 4], {1, 4})])
def test_fit_evaluates_between_epochs(frequency, epochs):
    net, found = Line(), {}

    class Results(train.Callback):
        def on_train_epoch_end(self, run_context):
            told = run_context.original_args()
            if "eval_results" in told:
                found[told.cur_epoch_num] = dict(told.eval_results)
                assert told.metrics == {"mae": told.eval_results["mae"]}
                loss = pytest.approx(loss_of(net), rel=1e-6)  # a program of its own may add in another order
                assert told.eval_results == {**model.eval(data()), "eval_loss": loss}

    def loss_of(net):
        return float(np.mean([nn.MSELoss()(net(dg.Tensor(x)), dg.Tensor(y)).item() for x, y in pairs()]))

    def pairs():
        return [(POINTS[k : k + BATCH], LABELS[k : k + BATCH]) for k in range(0, len(POINTS), BATCH)]

    model = dg.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.05), metrics={"mae"})
    model.fit(4, data(), data(), frequency, Results())
    assert set(found) == epochs
    expected, _ = by_hand(OPTIMIZERS["Adam"], 4)
    assert same(values(net), expected)


def test_prediction_is_the_network_in_use():
    class Mode(nn.Cell):
        def construct(self, x):
            return x * (2.0 if self.training else 3.0)

    net = Mode().set_train()
    assert dg.Model(net).predict(dg.Tensor([1.0])).tolist() == [3.0]


NET = Line()
WRONG = {
    "no Cell": (TypeError, "network must be a Cell", lambda: dg.Model(len)),
    "no loss": (TypeError, "loss_fn must be a function", lambda: dg.Model(NET, 3)),
    "no optimizer": (TypeError, "optimizer must be an Optimizer", lambda: dg.Model(NET, nn.MSELoss(), len)),
    "a scale for nothing": (
        ValueError, "no optimizer", lambda: dg.Model(NET, loss_scale_manager=train.FixedLossScaleManager())
    ),
    "no manager": (
        TypeError, "LossScaleManager", lambda: dg.Model(NET, None, nn.SGD(NET.trainable_params()), loss_scale_manager=8)
    ),
    "metrics of nothing": (ValueError, "neither eval_network nor loss_fn", lambda: dg.Model(NET, metrics={"mae"})),
    "an unknown metric": (KeyError, "no metric 'colour'", lambda: dg.Model(NET, nn.MSELoss(), metrics={"colour"})),
    "no metrics": (TypeError, "set of names or a dict", lambda: dg.Model(NET, nn.MSELoss(), metrics=3)),
    "two places": (ValueError, "eval_indexes", lambda: dg.Model(NET, eval_network=NET, eval_indexes=[0, 1])),
    "boost": (ValueError, "boost_level", lambda: dg.Model(NET, None, nn.SGD(NET.trainable_params()), boost_level="O1")),
    "no dataset": (TypeError, "expected a dataset", lambda: dg.Model(NET, nn.MSELoss()).train(1, [(1, 2)])),
    "no epoch": (ValueError, "no epoch to make", lambda: dg.Model(NET, nn.MSELoss()).train(0, data())),
    "epochs made": (ValueError, "no epoch", lambda: dg.Model(NET, nn.MSELoss()).train(3, data(), initial_epoch=3)),
    "half an epoch": (TypeError, "epoch must be an int", lambda: dg.Model(NET, nn.MSELoss()).train(0.5, data())),
    "sink size": (ValueError, "sink_size", lambda: dg.Model(NET, nn.MSELoss()).train(1, data(), sink_size=0)),
    "no callback": (TypeError, "expected Callbacks", lambda: dg.Model(NET, nn.MSELoss()).train(1, data(), [len])),
    "one column": (
        ValueError, "1 columns", lambda: dg.Model(NET, nn.MSELoss()).train(1, NumpySlicesDataset([[1.0], [2.0]]))
    ),
    "fit without metrics": (
        ValueError, "has no metrics", lambda: dg.Model(NET, nn.MSELoss()).fit(1, data(), data())
    ),
    "eval without metrics": (ValueError, "has no metrics", lambda: dg.Model(NET, nn.MSELoss()).eval(data())),
    "backend": (ValueError, "backend='lite'", lambda: dg.Model(NET).predict(POINTS, backend="lite")),
    "RunContext": (TypeError, "must be a dict", lambda: train.RunContext(3)),
    "LambdaCallback": (TypeError, "on_train_end must be", lambda: train.LambdaCallback(on_train_end=3)),
    "LossMonitor": (ValueError, "per_print_times must be 0", lambda: train.LossMonitor(-1)),
    "TimeMonitor": (ValueError, "data_size must be 1", lambda: train.TimeMonitor(0)),
    "EarlyStopping": (ValueError, "got mode='best'", lambda: train.EarlyStopping(mode="best")),
    "ReduceLROnPlateau": (ValueError, "factor must be", lambda: train.ReduceLROnPlateau(factor=1.0)),
    "CheckpointConfig": (ValueError, "both are 0", lambda: train.CheckpointConfig(save_checkpoint_steps=0)),
    "encryption": (ValueError, "not encrypted", lambda: train.CheckpointConfig(enc_key=b"1")),
    "append_info": (ValueError, "'colour' in append_info", lambda: train.CheckpointConfig(append_info=["colour"])),
    "ModelCheckpoint": (ValueError, "without '/'", lambda: train.ModelCheckpoint("a/b")),
    "graph": (NotImplementedError, "load_checkpoint", lambda: train.GraphCell(None)),
    "export": (NotImplementedError, "MINDIR", lambda: train.export(NET, file_name="f", file_format="MINDIR")),
    "load": (NotImplementedError, "reads no graphs", lambda: train.load("f.mindir")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    error, text, call = WRONG[name]
    with pytest.raises(error, match=text):
        call()


# -------------------------------------------------------------------------------------------------------- monitors


@pytest.mark.parametrize("every", [0, 1, 2, 4])
def test_losses_are_printed(capsys, every):
    net, log = Line(), Log()
    model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data(), [log, train.LossMonitor(every)])
    lines = [f"epoch: {k // 3 + 1} step: {k % 3 + 1}, loss is {loss}" for k, loss in enumerate(log.losses)]
    assert capsys.readouterr().out.splitlines() == (lines[every - 1 :: every] if every else [])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_training(bad):
    points = POINTS.copy()
    points[5] = bad
    net, log = Line(), Log()
    model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="LossMonitor: in epoch 1, step 2 the loss is"):
        model.train(2, data(points=points), [log, train.LossMonitor()])
    assert log.moments[-1] == "exit"


def test_results_of_fit_are_printed_and_kept(capsys):
    net, history = Line(), train.History()
    model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    model.fit(2, data(), data(), callbacks=[train.LossMonitor(0), history, train.TimeMonitor(data_time=True)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines if "Eval result" in line] == [
        "Eval result: epoch 1", "Eval result: epoch 2",
    ]  # fmt: skip
    assert sum("epoch time: " in line and "data time: " in line for line in lines if line.startswith("Train")) == 2
    assert history.epoch == {"epoch": [1, 2]}
    assert {name: len(kept) for name, kept in history.history.items()} == {"net_output": 2, "mae": 2, "eval_loss": 2}


SEQUENCES = [list(np.random.default_rng(k).integers(0, 6, 12) / 4.0) for k in range(8)]


def watched(callback, sequence, **told):
    """Give a callback a value after each epoch until it stops; the number of epochs."""
    context = train.RunContext(train.InternalCallbackParam(told))
    callback.on_train_begin(context)
    for epoch, value in enumerate(sequence, 1):
        context.original_args().update(cur_epoch_num=epoch, eval_results={callback.monitor: value})
        callback.on_train_epoch_end(context)
        if context.get_stop_requested():
            return epoch
    return None


def improvements(sequence, sign, delta):
    """The places whose values improve on all that came before by more than `delta`."""
    found = []
    for k, value in enumerate(sequence):
        if not found or sign * value < sign * sequence[found[-1]] - delta:
            found.append(k)
    return found


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("patience", [0, 1, 3])
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_early_stopping_stops_after_epochs_without_improvement(mode, patience, delta):
    """At the first epoch that lies so many after the latest improvement."""
    for sequence in SEQUENCES:
        better, limit = improvements(sequence, 1 if mode == "min" else -1, delta), max(patience, 1)
        stops = [k + 1 for k in range(len(sequence)) if k - max(each for each in better if each <= k) >= limit]
        found = watched(train.EarlyStopping("loss", delta, patience, mode=mode), sequence)
        assert found == (stops[0] if stops else None)


@pytest.mark.parametrize(
    ("monitor", "falling_is_better"), [("loss", True), ("eval_loss", True), ("mae", True), ("acc", False)]
)
def test_early_stopping_knows_what_is_better(monitor, falling_is_better):
    falling = [4.0, 3.0, 2.0, 1.0]
    assert (watched(train.EarlyStopping(monitor, patience=2), falling) is None) is falling_is_better
    assert (watched(train.EarlyStopping(monitor, patience=2), falling[::-1]) is None) is not falling_is_better


def test_early_stopping_restores_the_best_weights():
    net = Line()
    stop = train.EarlyStopping("loss", patience=1, restore_best_weights=True)
    context = train.RunContext(train.InternalCallbackParam(train_network=net))
    stop.on_train_begin(context)
    for epoch, (loss, weight) in enumerate([(2.0, 5.0), (1.0, 6.0), (3.0, 7.0)], 1):
        net.fc.weight.set_data(np.full((1, 2), weight, np.float32))
        context.original_args().update(cur_epoch_num=epoch, eval_results={"loss": loss})
        stop.on_train_epoch_end(context)
    assert context.get_stop_requested()
    assert net.fc.weight.asnumpy().tolist() == [[6.0, 6.0]]


def test_a_baseline_has_to_be_reached_first():
    sequence = [3.0, 2.5, 2.0, 1.0, 0.5]
    assert watched(train.EarlyStopping("loss", patience=3, baseline=1.5), sequence) == 3
    assert watched(train.EarlyStopping("loss", patience=4, baseline=1.5), sequence) is None


@pytest.mark.parametrize("patience", [1, 2])
@pytest.mark.parametrize("cooldown", [0, 2])
@pytest.mark.parametrize("least", [0.0, 0.2])
def test_the_rate_falls_on_a_plateau(patience, cooldown, least):
    for sequence in SEQUENCES:
        optimizer = nn.SGD([dg.Parameter([1.0], name="w")], 1.0)
        callback = train.ReduceLROnPlateau("loss", 0.5, patience, min_delta=0.0, cooldown=cooldown, min_lr=least)
        watched(callback, sequence, optimizer=optimizer)
        rate, best, waited, rest = 1.0, math.inf, 0, 0
        for value in sequence:
            if rest:
                rest, waited = rest - 1, 0
            if value < best:
                best, waited = value, 0
            elif rest == 0:
                waited += 1
                if waited >= patience and rate > least:
                    rate, waited, rest = max(rate * 0.5, least), 0, cooldown
        assert optimizer.get_lr().item() == rate


def test_a_rate_that_is_a_schedule_cannot_be_set():
    optimizer = nn.SGD([dg.Parameter([1.0], name="w")], nn.ExponentialDecayLR(0.1, 0.9, 2))
    text = "must have a fixed learning rate, which can be set; its rate is a schedule"
    with pytest.raises(ValueError, match=f"ReduceLROnPlateau: the optimizer {text}"):
        watched(train.ReduceLROnPlateau("loss", patience=1), [1.0, 1.0], optimizer=optimizer)
    context = train.RunContext({"optimizer": optimizer, "cur_step_num": 1})
    with pytest.raises(ValueError, match=f"LearningRateScheduler: the optimizer {text}"):
        train.LearningRateScheduler(max).step_end(context)


def test_a_schedule_of_steps():
    net, rates = Line(), []
    optimizer = nn.SGD(net.trainable_params(), 1e-3)
    schedule = train.LearningRateScheduler(lambda rate, step: rate * 0.5 if step % 2 == 0 else rate)
    keep = train.LambdaCallback(on_train_step_end=lambda context: rates.append(optimizer.get_lr().item()))
    dg.Model(net, nn.MSELoss(), optimizer).train(2, data(), [schedule, keep])
    assert rates == [1e-3 * 0.5 ** (step // 2) for step in range(1, 7)]


# ----------------------------------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(("every", "most"), [(1, 5), (1, 0), (2, 2), (3, 1), (4, 3), (100, 1)])
def test_checkpoints_of_steps(tmp_path, every, most):
    """The last files remain, and hold the parameters of their steps."""
    net, states = Line(), []
    callback = train.ModelCheckpoint("line", tmp_path, train.CheckpointConfig(every, keep_checkpoint_max=most))
    keep = train.LambdaCallback(on_train_step_end=lambda context: states.append(values(net)))
    dg.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.05)).train(3, data(), [keep, callback])
    steps = [*range(every, 10, every)]
    steps += [9] if steps[-1:] != [9] else []
    steps = steps[-most:] if most else steps
    names = {f"line-{(step - 1) // 3 + 1}_{(step - 1) % 3 + 1}.ckpt": step for step in steps}
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    for name, step in names.items():
        twin = Line()
        found = dg.load_checkpoint(tmp_path / name)  # the state of the optimiser is there too
        assert dg.load_param_into_net(twin, found) == ([], [key for key in found if key not in twin.parameters_dict()])
        assert same(values(twin), states[step - 1])
    assert Path(callback.latest_ckpt_file_name).name == [*names][-1]


def test_checkpoints_have_what_was_asked_for(tmp_path):
    net, small = Line(), nn.Dense(1, 1)
    config = train.CheckpointConfig(3, saved_network=small, append_info=["epoch_num", "step_num", {"seed": 7}])
    dg.Model(net, nn.MSELoss()).train(2, data(), train.ModelCheckpoint("a", str(tmp_path), config))
    found = dg.load_checkpoint(tmp_path / "a-2_3.ckpt")
    assert {"weight", "bias", "epoch_num", "step_num", "seed"} == set(found)
    assert (found["epoch_num"].item(), found["step_num"].item(), found["seed"].item()) == (2, 6, 7)


def test_prefixes_that_are_taken_get_numbers(tmp_path):
    for _ in range(3):
        callback = train.ModelCheckpoint("a", tmp_path, train.CheckpointConfig(3))
        dg.Model(Line(), nn.MSELoss()).train(1, data(), callback)
    assert {path.name for path in tmp_path.iterdir()} == {"a-1_3.ckpt", "a_1-1_3.ckpt", "a_2-1_3.ckpt"}


def test_names_and_folders_by_functions(tmp_path):
    callback = train.ModelCheckpoint(
        lambda told: f"step{told.cur_step_num}", lambda told: tmp_path / f"epoch{told.cur_epoch_num}"
    )
    dg.Model(Line(), nn.MSELoss()).train(2, data(), callback)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.ckpt"))
    assert found == [f"epoch{(step - 1) // 3 + 1}/step{step}.ckpt" for step in range(2, 7)]


def test_a_checkpoint_after_an_error(tmp_path):
    for save in (False, True):
        folder = tmp_path / str(save)
        callback = train.ModelCheckpoint("a", folder, train.CheckpointConfig(100, exception_save=save))
        fail = train.LambdaCallback(on_train_step_end=lambda context: 1 / (context.original_args().cur_step_num - 2))
        with pytest.raises(ZeroDivisionError):
            dg.Model(Line(), nn.MSELoss()).train(2, data(), [callback, fail])
        assert [path.name for path in folder.iterdir()] == (["a-1_2.ckpt"] if save else [])


# ---------------------------------------------------------------------------------------------- scales of the loss


@pytest.mark.parametrize(
    "manager",
    [lambda: train.FixedLossScaleManager(1024.0), lambda: train.DynamicLossScaleManager(2**10, 2, 4)],
    ids=["fixed", "dynamic"],
)
def test_a_scale_that_is_a_power_of_two_changes_nothing(manager):
    expected, losses = by_hand(OPTIMIZERS["Adam"], 3)
    net, found = Line(), []
    keep = train.LambdaCallback(
        on_train_step_end=lambda context: found.append([x.item() for x in context.original_args().net_outputs])
    )
    model = dg.Model(net, nn.MSELoss(), OPTIMIZERS["Adam"](net.trainable_params()), loss_scale_manager=manager())
    model.train(3, data(), keep)
    assert same(values(net), expected)
    assert [loss for loss, _, _ in found] == losses
    assert not any(overflow for _, overflow, _ in found)


def test_a_scale_without_dropping_is_undone_by_the_optimizer():
    expected, _ = by_hand(OPTIMIZERS["SGD"], 3)
    net = Line()
    manager = train.FixedLossScaleManager(8.0, drop_overflow_update=False)
    optimizer = nn.SGD(net.trainable_params(), 0.1, loss_scale=8.0)
    dg.Model(net, nn.MSELoss(), optimizer, loss_scale_manager=manager).train(3, data())
    assert same(values(net), expected)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_steps_that_overflow_change_nothing_but_the_scale(bad):
    """As if the batch had not been there."""
    points = POINTS.copy()
    points[BATCH * bad] = np.inf
    net, manager = Line(), train.DynamicLossScaleManager(64, 2, 100)
    optimizer = nn.Adam(net.trainable_params(), 0.05)
    step = train.build_train_network(net, optimizer, nn.MSELoss(), loss_scale_manager=manager)
    twin = Line()
    other = nn.TrainOneStepCell(nn.WithLossCell(twin, nn.MSELoss()), nn.Adam(twin.trainable_params(), 0.05))
    scale = 64.0
    for _, batch in itertools.product(range(3), range(3)):
        rows = slice(BATCH * batch, BATCH * batch + BATCH)
        x, y = dg.Tensor(points[rows]), dg.Tensor(LABELS[rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            _, overflow, used = step(x, y)
        assert (overflow.item(), used.item()) == (batch == bad, scale)
        if batch == bad:
            scale /= 2
        else:
            other(x, y)
    assert manager.get_loss_scale() == scale
    assert optimizer.global_step.item() == 6
    assert same(values(net), values(twin))


# -------------------------------------------------------------------------------------------------------- summaries


def test_summaries_are_lines_of_numbers(tmp_path):
    with train.SummaryRecord(tmp_path, file_prefix="a") as record:
        for step in range(3):
            record.add_value("scalar", "loss", dg.Tensor([0.5 * step]))
            record.add_value("tensor", "w", np.arange(2))
            record.record(step)
        record.set_mode("eval")
        record.record(3)
        with pytest.raises(ValueError, match="only numbers are written"):
            record.add_value("image", "x", np.zeros((1, 3, 2, 2)))
        with pytest.raises(ValueError, match="scalar 'x' has shape"):
            record.add_value("scalar", "x", np.zeros(2))
        with pytest.raises(TypeError, match="must be numbers"):
            record.add_value("scalar", "x", "text")
    lines = [json.loads(line) for line in Path(record.file_info["file_path"]).read_text().splitlines()]
    assert [(line["step"], line.get("loss"), line.get("w"), line.get("mode")) for line in lines] == [
        (0, 0.0, [0, 1], None), (1, 0.5, [0, 1], None), (2, 1.0, [0, 1], None), (3, None, None, "eval"),
    ]  # fmt: skip


def test_losses_are_collected(tmp_path):
    net, log = Line(), Log()
    model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data(), [log, train.SummaryCollector(tmp_path, collect_freq=2)])
    (path,) = tmp_path.iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(k, log.losses[k - 1]) for k in (2, 4, 6)]
