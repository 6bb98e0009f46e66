"""Schedules that set the learning rates of an optimiser, one step for each epoch (or whenever they are called)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.experimental.optim.optimizers import Optimizer
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

from ..._settings import one_of

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip


def _rates_of(where: str, optimizer: Any) -> list[Parameter]:
    """The learning rates of the groups of an optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{where}: expected an optimizer of dualgrad.experimental.optim, got {type(optimizer).__name__}"
        )
    return [group["lr"] for group in optimizer.param_groups]


class LRScheduler:
    """Base of the schedules: a derived class gives the rate of a group after a number of steps.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser whose rates are set. Its present rates are the initial rates, also for schedules made later.
    last_epoch : int, default -1
        The number of steps so far; -1 starts anew.

    Raises
    ------
    TypeError
        If `optimizer` is not an optimiser of this package.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(2):
    ...     schedule.step()
    >>> [float(rate) for rate in schedule.get_last_lr()]
    [0.25]
    """

    last_epoch: int

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self._rates = _rates_of(type(self).__name__, optimizer)
        self.optimizer = optimizer
        self.base_lrs: list[float] = [
            group.setdefault("initial_lr", float(rate.asnumpy()))
            for group, rate in zip(optimizer.param_groups, self._rates, strict=True)
        ]
        self.last_epoch = last_epoch
        self.step()

    def step(self) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        for number, (rate, base) in enumerate(zip(self._rates, self.base_lrs, strict=True)):
            rate.set_data(self._rate(base, self.last_epoch, number))

    def get_last_lr(self) -> list[Tensor]:
        """Return the current rates, one tensor for each group."""
        return [rate.value() for rate in self._rates]

    def _begin_anew(self) -> None:
        """Have the next step repeat the step from the constructor."""
        self.last_epoch -= 1

    def _rate(self, base: float, epoch: int, group: int) -> float:
        """The rate of a group after `epoch` steps, from its initial rate."""
        raise NotImplementedError(f"{type(self).__name__} must define _rate(self, base, epoch, group)")


def _functions_of(where: str, optimizer: Any, lr_lambda: Any) -> list[Callable[[int], float]]:
    """Return a function for each group of an optimiser."""
    groups = len(_rates_of(where, optimizer))
    functions = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
    if len(functions) != groups or not all(callable(function) for function in functions):
        raise ValueError(f"{where}: expected a function, or one for each of the {groups} groups")
    return functions


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Parameters
    ----------
    optimizer, last_epoch
        As in `LRScheduler`.
    lr_lambda : callable or list of callable
        Takes the number of the epoch; one for all groups, or one for each.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> schedule.step()
    >>> [float(rate) for rate in schedule.get_last_lr()]
    [0.5]
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._functions = _functions_of("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * self._functions[group](epoch)


class MultiplicativeLR(LRScheduler):
    """The rate times a function of the epoch, at each step.

    Parameters
    ----------
    optimizer, lr_lambda, last_epoch
        As in `LambdaLR`.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5 if epoch < 3 else 0.25)
    >>> [float(schedule.get_last_lr()[0]) for _ in range(3) if schedule.step() is None]
    [0.5, 0.25, 0.0625]
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._functions = _functions_of("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        former = float(self._rates[group].asnumpy())
        return former * self._functions[group](epoch) if epoch else former


class StepLR(LRScheduler):
    """The initial rate times `gamma` for each `step_size` epochs.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> [float(schedule.get_last_lr()[0]) for _ in range(5) if schedule.step() is None]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.5, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """The initial rate times `gamma` for each of the `milestones` that is reached."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones: list[int] = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(LRScheduler):
    """The initial rate times `gamma` for each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * self.gamma**epoch


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) to a power; 0 after `total_iters` epochs."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """From the initial rate to `eta_min` along half a cosine wave of `T_max` epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * epoch / self.T_max)) / 2.0


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the initial rate to `eta_min` along half a cosine wave, again and again.

    Parameters
    ----------
    optimizer, last_epoch
        As in `LRScheduler`.
    T_0 : int
        The length of the first half wave, in epochs.
    T_mult : int, default 1
        The ratio of the lengths of one half wave and the half wave before.
    eta_min : float, default 0
        The value that each half wave approaches.

    Raises
    ------
    TypeError
        If a length or factor is not an int.
    ValueError
        If a length or factor is less than 1.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
    >>> [float(schedule.get_last_lr()[0]) for epoch in (0, 1, 2, 2.5) if schedule.step(epoch) is None]
    [1.0, 0.5, 1.0, 0.8535533905932737]
    """

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:  # fmt: skip
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"CosineAnnealingWarmRestarts: {name} must be an int, got {type(value).__name__}")
            if value < 1:
                raise ValueError(f"CosineAnnealingWarmRestarts: {name} must be 1 or more, got {value}")
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self._epoch: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or of a given epoch, which may be fractional."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts.step: epoch must be 0 or more, got {epoch}")
        self._epoch = self._epoch + 1 if epoch is None else epoch
        self.last_epoch = math.floor(self._epoch) - 1  # one less, since the base counts on
        super().step()

    def _begin_anew(self) -> None:
        self._epoch -= 1

    def _rate(self, base: float, epoch: int, group: int) -> float:
        since, length = self._epoch, self.T_0
        if self.T_mult == 1:
            since %= length
        while since >= length:
            since, length = since - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * since / length)) / 2.0


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` and down again, along straight lines.

    Parameters
    ----------
    optimizer, last_epoch
        As in `LRScheduler`.
    base_lr, max_lr : float or list of float
        The bounds; one for all groups, or one for each.
    step_size_up : int, default 2000
        The number of steps of the way up.
    step_size_down : int, optional
        The number of steps of the way down; by default the same.
    mode : str, default 'triangular'
        The factor of the height of a cycle: 'triangular' 1, 'triangular2' half as much in each cycle, 'exp_range'
        ``gamma ** step``.
    gamma : float, default 1
        For 'exp_range'.
    scale_fn : callable, optional
        A factor in place of `mode`: a function of the number of the cycle, from 1, or of the number of the step.
    scale_mode : str, default 'cycle'
        The argument of `scale_fn`: 'cycle' or 'iterations'.

    Raises
    ------
    ValueError
        If a name is not known, or the numbers of bounds and groups differ.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.CyclicLR(optimizer, 1.0, 2.0, step_size_up=2)
    >>> [float(schedule.get_last_lr()[0]) for _ in range(5) if schedule.step() is None]
    [1.5, 2.0, 1.5, 1.0, 1.5]
    """

    def __init__(
        self, optimizer: Any, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[int], float] | None = None,
        scale_mode: str = "cycle", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        groups = len(_rates_of("CyclicLR", optimizer))
        lowest, self.max_lrs = [
            list(bound) if isinstance(bound, list | tuple) else [bound] * groups for bound in (base_lr, max_lr)
        ]
        if len(lowest) != groups or len(self.max_lrs) != groups:
            raise ValueError(
                f"CyclicLR: got {len(lowest)} base_lr and {len(self.max_lrs)} max_lr for {groups} groups; expected a "
                "number, or one for each group"
            )
        if not one_of(mode, ("triangular", "triangular2", "exp_range")):
            raise ValueError(f"CyclicLR: got mode={mode!r}; expected 'triangular', 'triangular2' or 'exp_range'")
        if not one_of(scale_mode, ("cycle", "iterations")):
            raise ValueError(f"CyclicLR: got scale_mode={scale_mode!r}; expected 'cycle' or 'iterations'")
        self.step_size_up = step_size_up
        self.step_size_down = step_size_up if step_size_down is None else step_size_down
        self.mode = mode
        self.gamma = gamma
        self._scale = scale_fn
        self.scale_mode = scale_mode
        self._lowest = lowest
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: int) -> float:
        """The factor of a cycle's height; `x` is the number of the cycle or of the step."""
        if self._scale is not None:
            return self._scale(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def _rate(self, base: float, epoch: int, group: int) -> float:
        cycle, since = divmod(epoch, self.step_size_up + self.step_size_down)
        if since <= self.step_size_up:
            share = since / self.step_size_up
        else:
            share = 1.0 - (since - self.step_size_up) / self.step_size_down
        by_cycle = self.scale_mode == "cycle" if self._scale is not None else self.mode != "exp_range"
        height = (self.max_lrs[group] - self._lowest[group]) * self.scale_fn(cycle + 1 if by_cycle else epoch)
        return self._lowest[group] + height * share


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(
        self, optimizer: Any, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        share = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ConstantLR(LRScheduler):
    """The initial rate times `factor` for `total_iters` epochs, and then the initial rate."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, epoch: int, group: int) -> float:
        return base * (self.factor if epoch < self.total_iters else 1.0)


class SequentialLR:
    """Schedules one after another.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser whose rates are set.
    schedulers : list of LRScheduler
        Schedules of this optimiser. Each restarts at its initial rate.
    milestones : list of int
        The epochs at which the second schedule begins, the third, and so on.
    last_epoch : int, default -1
        The number of steps so far.

    Raises
    ------
    TypeError
        If an entry of `schedulers` is not a `LRScheduler`.
    ValueError
        If a schedule belongs to another optimiser, or the number of milestones is not one less.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> warm = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
    >>> fall = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = optim.lr_scheduler.SequentialLR(optimizer, [warm, fall], milestones=[2])
    >>> [float(schedule.get_last_lr()[0]) for _ in range(4) if schedule.step() is None]
    [0.5, 1.0, 0.5, 0.25]
    """

    last_epoch: int

    def __init__(
        self, optimizer: Any, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._rates = _rates_of("SequentialLR", optimizer)
        for number, schedule in enumerate(schedulers):
            if not isinstance(schedule, LRScheduler):
                raise TypeError(
                    f"SequentialLR: schedule {number} is {type(schedule).__name__}; expected an LRScheduler"
                )
            if schedule.optimizer is not optimizer:
                raise ValueError(f"SequentialLR: schedule {number} belongs to another optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: got {len(milestones)} milestones for {len(schedulers)} schedules; expected one fewer"
            )
        self.optimizer = optimizer
        self.milestones: list[int] = list(milestones)
        self._schedules = list(schedulers)
        self.last_epoch = last_epoch
        for rate, base in zip(self._rates, self._schedules[0].base_lrs, strict=True):
            rate.set_data(base)
        for schedule in self._schedules:
            schedule._begin_anew()
        self.step()

    def step(self) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        self._schedules[bisect_right(self.milestones, self.last_epoch)].step()

    def get_last_lr(self) -> list[Tensor]:
        """Return the current rates, one tensor for each group."""
        return [rate.value() for rate in self._rates]


class ReduceLROnPlateau:
    """Reduce the rates when a number has not improved for more than `patience` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser whose rates are set.
    mode : str, default 'min'
        'min' if smaller is better, 'max' if larger is better.
    factor : float, default 0.1
        The factor of the rates, below 1.
    patience : int, default 10
        The number of epochs that may pass without improvement.
    threshold : float, default 1e-4
        The smallest improvement that counts.
    threshold_mode : str, default 'rel'
        'rel' if `threshold` is a share of the best value, 'abs' if it is a difference.
    cooldown : int, default 0
        The number of epochs after a reduction that do not count.
    min_lr : float or list of float, default 0
        The rates do not fall below it.
    eps : float, default 1e-8
        Smaller changes of a rate are left out.

    Raises
    ------
    TypeError
        If `optimizer` is not an optimiser of this package.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=1.0)
    >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     schedule.step(loss)
    >>> [float(rate) for rate in schedule.get_last_lr()]
    [0.5]
    """

    last_epoch: int

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        self._rates = _rates_of("ReduceLROnPlateau", optimizer)
        for name, value, known in (("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if value not in known:
                raise ValueError(f"ReduceLROnPlateau: got {name}={value!r}; expected {known[0]!r} or {known[1]!r}")
        if not factor < 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}")
        limits = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * len(self._rates)
        if len(limits) != len(self._rates):
            raise ValueError(f"ReduceLROnPlateau: got {len(limits)} min_lr for {len(self._rates)} groups")
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lrs: list[Any] = limits
        self.eps = eps
        self.best: float = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs: int = 0
        self.cooldown_counter: int = 0
        self.last_epoch = 0

    def step(self, metrics: Any) -> None:
        """Take the number of an epoch, and reduce the rates when patience is over."""
        value = float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for rate, least in zip(self._rates, self.min_lrs, strict=True):
                former = float(rate.asnumpy())
                new = max(former * self.factor, least)
                if former - new > self.eps:
                    rate.set_data(new)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0

    def get_last_lr(self) -> list[Tensor]:
        """Return the current rates, one tensor for each group."""
        return [rate.value() for rate in self._rates]

    def _better(self, value: float) -> bool:
        if math.isinf(self.best):
            return value != self.best
        sign = 1.0 if self.mode == "min" else -1.0
        margin = self.threshold * abs(self.best) if self.threshold_mode == "rel" else self.threshold
        return sign * value < sign * self.best - margin
