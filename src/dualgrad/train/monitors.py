"""Callbacks that watch a loop: they print, keep results, stop it, or change the learning rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad import log
from dualgrad.nn.optimizer import check_number
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor
from dualgrad.train.callback import Callback, RunContext

from .._settings import one_of

__all__ = [
    "EarlyStopping",
    "History",
    "LearningRateScheduler",
    "LossMonitor",
    "ReduceLROnPlateau",
    "TimeMonitor",
]


def loss_of(outputs: Any) -> float | None:
    """The loss among the outputs of a step, as a number: the first output, or its mean. None if it is not a tensor."""
    first = outputs[0] if isinstance(outputs, tuple | list) and outputs else outputs
    return float(np.mean(first.asnumpy())) if isinstance(first, Tensor) else None


_handle_loss = loss_of  # MindSpore's private name


def _count(what: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{what} must be {least} or more, got {value}")
    return value


class LossMonitor(Callback):
    """Print the loss, and end training if it is not finite.

    Parameters
    ----------
    per_print_times : int, default 1
        The number of steps between lines; 0 prints none.

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is negative; in training, when the loss is nan or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> net = nn.Dense(1, 1, "zeros", "zeros")
    >>> model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.125))
    >>> x = np.array([[1.0]], np.float32)
    >>> data = NumpySlicesDataset((x, 2 * x)).batch(1)
    >>> model.train(2, data, callbacks=dg.train.LossMonitor())
    epoch: 1 step: 1, loss is 4.0
    epoch: 2 step: 1, loss is 1.0
    """

    def __init__(self, per_print_times: int = 1) -> None:
        self._per_print_times = _count("LossMonitor: per_print_times", per_print_times)
        self._last_print_time = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._last_print_time = run_context.original_args().get("cur_step_num", 0)

    def step_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        loss = loss_of(told["net_outputs"])
        epoch, step = told.get("cur_epoch_num", 1), told["cur_step_num"]
        place = (step - 1) % told["batch_num"] + 1
        if loss is not None and not math.isfinite(loss):
            raise ValueError(
                f"LossMonitor: in epoch {epoch}, step {place} the loss is {loss}. Training was ended; see whether the "
                "learning rate is too large; dualgrad.check_finite finds the line where it began."
            )
        if self._per_print_times and step - self._last_print_time >= self._per_print_times:
            self._last_print_time = step
            print(f"epoch: {epoch} step: {place}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        if metrics := told.get("metrics"):
            print(f"Eval result: epoch {told['cur_epoch_num']}, metrics: {metrics}", flush=True)


class TimeMonitor(Callback):
    """Print the duration of each epoch.

    Parameters
    ----------
    data_size : int, optional
        The number of steps in an epoch, if the loop does not provide it.
    data_time : bool, default False
        True to report the time between the steps, too, in which the loop fetches data.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If `data_size` is not positive; at the end of an epoch, if the number of its steps is not known.

    Examples
    --------
    >>> from dualgrad.train import RunContext, TimeMonitor
    >>> monitor, context = TimeMonitor(), RunContext({"batch_num": 4, "mode": "train"})
    >>> monitor.epoch_begin(context)
    >>> monitor.epoch_end(context)  # doctest: +ELLIPSIS
    Train epoch time: ... ms, per step time: ... ms
    """

    epoch_time: float

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        if not isinstance(data_time, bool):
            raise TypeError(f"TimeMonitor: data_time must be a bool, got {type(data_time).__name__}")
        self.data_size: int | None = None if data_size is None else _count("TimeMonitor: data_size", data_size, 1)
        self.data_time = data_time
        self._waited = 0.0
        self.epoch_time = self._last = time.time()

    def epoch_begin(self, run_context: RunContext) -> None:
        self._waited = 0.0
        self.epoch_time = self._last = time.time()

    def step_begin(self, run_context: RunContext) -> None:
        self._waited += time.time() - self._last

    def step_end(self, run_context: RunContext) -> None:
        self._last = time.time()

    def epoch_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        steps = told.get("batch_num") or self.data_size
        if not steps:
            raise ValueError("TimeMonitor: the number of steps of an epoch is not known; give data_size")
        taken = (time.time() - self.epoch_time) * 1e3
        text = (
            f"{str(told.get('mode', '')).title()} epoch time: {taken:5.3f} ms, per step time: {taken / steps:5.3f} ms"
        )
        if self.data_time:
            text += f" (data time: {self._waited * 1e3 / steps:5.3f} ms)"
        print(text, flush=True)


class History(Callback):
    """Keep the loss and the results of evaluation of each epoch.

    Attributes
    ----------
    epoch : dict
        ``{"epoch": [1, 2, ...]}``.
    history : dict
        Lists by name: ``net_output`` has the first output of the last step, others the results of `Model.fit`.

    Examples
    --------
    >>> from dualgrad.train import History, RunContext
    >>> history = History()
    >>> context = RunContext({"cur_epoch_num": 1, "net_outputs": 0.5})
    >>> history.on_train_begin(context)
    >>> history.on_train_epoch_end(context)
    >>> history.history
    {'net_output': [0.5]}
    """

    def __init__(self) -> None:
        self.epoch: dict[str, list[int]] = {}
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}
        self.history = {}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        self.epoch["epoch"].append(told.get("cur_epoch_num", 1))
        outputs = told["net_outputs"]
        number = loss_of(outputs)
        self.history.setdefault("net_output", []).append(outputs if number is None else number)
        for name, value in told.get("eval_results", {}).items():
            self.history.setdefault(name, []).append(value)


def _rate_of(where: str, told: Any) -> Parameter:
    """The learning rate of the optimiser; an error if it cannot be set."""
    optimizer = told.get("optimizer")
    if optimizer is None:
        optimizer = getattr(told.get("train_network"), "optimizer", None)
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter) or rate.shape != ():
        raise ValueError(
            f"{where}: the optimizer must have a fixed learning rate, which can be set; its rate is "
            f"{'not known' if rate is None else 'a schedule or a list'}"
        )
    return rate


class LearningRateScheduler(Callback):
    """Set the learning rate after each step.

    Parameters
    ----------
    learning_rate_function : callable
        Takes the rate as a float and the number of the step, from 1 on; returns the rate.

    Raises
    ------
    TypeError
        If it cannot be called.
    ValueError
        In training, if the optimiser has no fixed rate.

    Examples
    --------
    >>> from dualgrad import Parameter, nn
    >>> from dualgrad.train import LearningRateScheduler, RunContext
    >>> optimizer = nn.SGD([Parameter([1.0], name="w")], 0.5)
    >>> halve = LearningRateScheduler(lambda rate, step: rate / 2)
    >>> halve.step_end(RunContext({"optimizer": optimizer, "cur_step_num": 1}))
    >>> print(optimizer.get_lr())
    0.25
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        if not callable(learning_rate_function):
            raise TypeError(
                f"LearningRateScheduler: expected a function of rate and step, got "
                f"{type(learning_rate_function).__name__}"
            )
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        rate = _rate_of("LearningRateScheduler", told)
        new = self.learning_rate_function(float(rate.asnumpy()), told["cur_step_num"])
        rate.set_data(check_number("LearningRateScheduler: the learning rate", new))


_SMALLER_IS_BETTER = ("eval_loss", "loss", "mae", "mse", "rmse", "perplexity", "hausdorff_distance")


class _Watch(Callback):
    """Base of the callbacks that act if a number has not improved for some epochs."""

    def __init__(self, monitor: str, mode: str, min_delta: float, patience: int, verbose: bool) -> None:
        name = type(self).__name__
        if not isinstance(monitor, str):
            raise TypeError(f"{name}: monitor must be the name of a result, got {type(monitor).__name__}")
        if not one_of(mode, ("auto", "min", "max")):
            raise ValueError(f"{name}: got mode={mode!r}; expected 'auto', 'min' or 'max'")
        self.monitor = monitor
        self.mode = mode
        delta = check_number(f"{name}: min_delta", min_delta, -math.inf)
        self.min_delta: float = check_number(f"{name}: min_delta", abs(delta))
        self.patience: int = _count(f"{name}: patience", patience)
        self.verbose = verbose
        self._sign = 1.0 if mode == "min" or (mode == "auto" and monitor in _SMALLER_IS_BETTER) else -1.0
        self.best: float = self._sign * math.inf
        self.wait: int = 0

    def _start(self) -> None:
        self.best = self._sign * math.inf
        self.wait = 0

    def _value(self, told: Any) -> float | None:
        """The watched number, after an epoch that computed it."""
        results = {"loss": loss_of(told.get("net_outputs")), **told.get("eval_results", {})}
        value = results.get(self.monitor)
        if value is None:
            log.warning("%s: there is no %r; there is %s", type(self).__name__, self.monitor, sorted(results))
            return None
        if np.ndim(value):
            raise ValueError(
                f"{type(self).__name__}: {self.monitor!r} is no single number; its shape is {np.shape(value)}"
            )
        return float(value)

    def _better(self, value: float, than: float) -> bool:
        return self._sign * value < self._sign * than - self.min_delta


class EarlyStopping(_Watch):
    """End training when a number has stopped improving.

    Parameters
    ----------
    monitor : str, default 'eval_loss'
        'loss', the loss of the last step of an epoch; in `Model.fit` also 'eval_loss' and the names of metrics.
    min_delta : float, default 0
        The smallest improvement that counts.
    patience : int, default 0
        The number of epochs without improvement after which training ends; 0 counts as 1.
    verbose : bool, default False
        True to print it.
    mode : str, default 'auto'
        'min' if smaller is better, 'max' if larger is better; 'auto' takes 'min' for losses, errors and distances.
    baseline : float, optional
        A value to reach before anything counts as improvement.
    restore_best_weights : bool, default False
        True to restore the weights of the best epoch when this ends training.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad.train import EarlyStopping, RunContext
    >>> stop, context = EarlyStopping("loss", patience=2), RunContext({})
    >>> stop.on_train_begin(context)
    >>> for epoch, loss in enumerate([2.0, 1.0, 1.5, 1.25]):
    ...     context.original_args().update(cur_epoch_num=epoch + 1, eval_results={"loss": loss})
    ...     stop.on_train_epoch_end(context)
    >>> (context.get_stop_requested(), stop.stopped_epoch, stop.best)
    (True, 4, 1.0)
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.stopped_epoch: int | Any = 0
        self._weights: dict[str, Tensor] = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        self._start()
        self.stopped_epoch = 0
        self._weights = {}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        if (value := self._value(told)) is None:
            return
        self.wait += 1
        if self._better(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self._weights = {k: p._detached() for k, p in told["train_network"].parameters_dict().items()}
            if self.baseline is None or self._better(value, self.baseline):
                self.wait: int = 0
        if self.wait >= max(self.patience, 1):
            self.stopped_epoch = told["cur_epoch_num"]
            run_context.request_stop()
            for name, weight in self._weights.items():
                told["train_network"].parameters_dict()[name].set_data(weight)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


class ReduceLROnPlateau(_Watch):
    """Reduce the learning rate when a number has stopped improving.

    Parameters
    ----------
    monitor : str, default 'eval_loss'
        As in `EarlyStopping`.
    factor : float, default 0.1
        The factor of the rate; from 0 to below 1.
    patience : int, default 10
        The number of epochs without improvement after which the rate is reduced; 0 counts as 1.
    verbose : bool, default False
        True to print it.
    mode : str, default 'auto'
        As in `EarlyStopping`.
    min_delta : float, default 1e-4
        The smallest improvement that counts.
    cooldown : int, default 0
        The number of epochs after a reduction that do not count.
    min_lr : float, default 0
        The rate does not fall below it.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range; in training, if the optimiser has no fixed rate.

    Examples
    --------
    >>> from dualgrad import Parameter, nn
    >>> from dualgrad.train import ReduceLROnPlateau, RunContext
    >>> optimizer = nn.SGD([Parameter([1.0], name="w")], 0.5)
    >>> reduce, context = ReduceLROnPlateau("loss", factor=0.5, patience=2), RunContext({"optimizer": optimizer})
    >>> reduce.on_train_begin(context)
    >>> for loss in [1.0, 1.0, 1.0]:
    ...     context.original_args().update(cur_epoch_num=1, eval_results={"loss": loss})
    ...     reduce.on_train_epoch_end(context)
    >>> print(optimizer.get_lr())
    0.25
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        self.factor: float = check_number("ReduceLROnPlateau: factor", factor, below=1.0)
        self.cooldown: int = _count("ReduceLROnPlateau: cooldown", cooldown)
        self.min_lr: float = check_number("ReduceLROnPlateau: min_lr", min_lr)
        self.cooldown_counter: int = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._start()
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        if (value := self._value(told)) is None:
            return
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(value, self.best):
            self.best = value
            self.wait = 0
        elif not self.cooldown_counter:
            self.wait += 1
            if self.wait >= max(self.patience, 1):
                self._reduce(told)

    def _reduce(self, told: Any) -> None:
        rate = _rate_of("ReduceLROnPlateau", told)
        former = float(rate.asnumpy())
        if former <= self.min_lr:
            return
        new = max(former * self.factor, self.min_lr)
        rate.set_data(new)
        self.wait: int = 0
        self.cooldown_counter = self.cooldown
        if self.verbose:
            print(f"Epoch {told['cur_epoch_num']:05d}: the learning rate is {new:g} now", flush=True)
