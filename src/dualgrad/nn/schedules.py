"""Learning rates by a formula: as Cells of the step, and as lists with the rate of every step.

Each formula is written once, in a Cell that works on a tensor of any shape. The function of the same name in lower case
gives the list. It applies the Cell to the epochs of all steps, so a rate changes only between epochs. An optimiser
takes both as its learning rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn.optimizer import LearningRateSchedule, check_flag, check_number
from dualgrad.tensor import Tensor

from .._settings import room

__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]


def _count(what: str, value: Any) -> int:
    """Check a setting that must be a positive int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{what} must be 1 or more, got {value}")
    return int(value)


class _Decay(LearningRateSchedule):
    """Base of the schedules with a decay rate."""

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        name = type(self).__name__
        self.learning_rate: float = check_number(f"{name}: learning_rate", learning_rate, positive=True)
        self.decay_rate: float = check_number(f"{name}: decay_rate", decay_rate, positive=True)
        self.decay_steps: int = _count(f"{name}: decay_steps", decay_steps)
        self.is_stair: bool = check_flag(f"{name}: is_stair", is_stair)

    def _periods(self, global_step: Any) -> Tensor:
        """The number of periods of `decay_steps` so far, rounded down for a stair."""
        periods = _float64(global_step) / self.decay_steps
        return ops.floor(periods) if self.is_stair else periods


def _float64(step: Any) -> Tensor:
    return step.astype(mstype.float64) if isinstance(step, Tensor) else Tensor(step, mstype.float64)


class ExponentialDecayLR(_Decay):
    """``learning_rate * decay_rate ** (step / decay_steps)``.

    Parameters
    ----------
    learning_rate, decay_rate : float
        Positive.
    decay_steps : int
        The number of steps after which the factor `decay_rate` is reached.
    is_stair : bool, default False
        True to round the exponent down.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ExponentialDecayLR(0.1, 0.25, 4)(Tensor(2)))
    0.05
    """

    def construct(self, global_step: Any) -> Tensor:
        return self.learning_rate * self.decay_rate ** self._periods(global_step)


class NaturalExpDecayLR(_Decay):
    """``learning_rate * exp(-decay_rate * step)``.

    With `is_stair` the step is first rounded down to a multiple of `decay_steps`, which has no other effect. Settings
    and errors are as in `ExponentialDecayLR`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.NaturalExpDecayLR(0.1, 0.9, 4, is_stair=True)(Tensor(2)))
    0.1
    """

    def construct(self, global_step: Any) -> Tensor:
        step = self._periods(global_step) * self.decay_steps if self.is_stair else _float64(global_step)
        return self.learning_rate * ops.exp(-self.decay_rate * step)


class InverseDecayLR(_Decay):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``; with `is_stair` the quotient is rounded down.

    Settings and errors are as in `ExponentialDecayLR`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.InverseDecayLR(0.1, 0.5, 2)(Tensor(4)))
    0.05
    """

    def construct(self, global_step: Any) -> Tensor:
        return self.learning_rate / (1.0 + self.decay_rate * self._periods(global_step))


class CosineDecayLR(LearningRateSchedule):
    """``min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * step / decay_steps))``, `min_lr` after `decay_steps`.

    Parameters
    ----------
    min_lr, max_lr : float
        The rates at the end and at the start; `max_lr` is the larger rate.
    decay_steps : int
        The number of steps between them.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.CosineDecayLR(0.01, 0.1, 4)(Tensor(2)))
    0.055
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr: float = check_number("CosineDecayLR: min_lr", min_lr)
        self.max_lr: float = check_number("CosineDecayLR: max_lr", max_lr, positive=True)
        self.decay_steps: int = _count("CosineDecayLR: decay_steps", decay_steps)
        if self.min_lr >= self.max_lr:
            raise ValueError(f"CosineDecayLR: max_lr must be above min_lr, got min_lr={min_lr} and max_lr={max_lr}")

    def construct(self, global_step: Any) -> Tensor:
        share = ops.minimum(_float64(global_step) / self.decay_steps, 1.0)
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + ops.cos(np.pi * share))


class PolynomialDecayLR(LearningRateSchedule):
    """``(learning_rate - end) * (1 - step / decay_steps) ** power + end``, `end` after `decay_steps`.

    Parameters
    ----------
    learning_rate, end_learning_rate : float
        The rates at the start and at the end.
    decay_steps : int
        The number of steps between them.
    power : float
        Positive.
    update_decay_steps : bool, default False
        True if `decay_steps` grows to the next multiple of itself each time it is passed, so that the rate jumps up and
        falls again.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.PolynomialDecayLR(0.5, 0.25, 4, 2.0)(Tensor(2)))
    0.3125
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        self.learning_rate: float = check_number("PolynomialDecayLR: learning_rate", learning_rate, positive=True)
        self.end_learning_rate: float = check_number("PolynomialDecayLR: end_learning_rate", end_learning_rate)
        self.decay_steps: int = _count("PolynomialDecayLR: decay_steps", decay_steps)
        self.power: float = check_number("PolynomialDecayLR: power", power, positive=True)
        self.update_decay_steps: bool = check_flag("PolynomialDecayLR: update_decay_steps", update_decay_steps)

    def construct(self, global_step: Any) -> Tensor:
        periods = _float64(global_step) / self.decay_steps
        if self.update_decay_steps:
            share = periods / ops.maximum(ops.ceil(periods), 1.0)
        else:
            share = ops.minimum(periods, 1.0)
        end = self.end_learning_rate
        return (self.learning_rate - end) * (1.0 - share) ** self.power + end


class WarmUpLR(LearningRateSchedule):
    """``learning_rate * step / warmup_steps``, `learning_rate` after `warmup_steps`.

    Parameters
    ----------
    learning_rate : float
        The final rate.
    warmup_steps : int
        The number of steps after which it is reached.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.WarmUpLR(0.5, 4)(Tensor(1)))
    0.125
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate: float = check_number("WarmUpLR: learning_rate", learning_rate)
        self.warmup_steps: int = _count("WarmUpLR: warmup_steps", warmup_steps)

    def construct(self, global_step: Any) -> Tensor:
        return self.learning_rate * ops.minimum(_float64(global_step) / self.warmup_steps, 1.0)


# ------------------------------------------------------------------------------------------------------ lists


def _of_epochs(schedule: LearningRateSchedule, total_step: int, step_per_epoch: int) -> list[float]:
    """The rate of every step, by a schedule of the epoch."""
    count = _count("total_step", total_step)
    room("total_step", (count,))
    steps = np.arange(count)
    return schedule(Tensor(steps // min(_count("step_per_epoch", step_per_epoch), count))).tolist()


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """List the rates of all steps if the rate is constant up to each milestone.

    Parameters
    ----------
    milestone : sequence of int
        The steps at which the rates end, increasing.
    learning_rates : sequence of float
        One for each milestone.

    Returns
    -------
    list of float
        One rate for each step up to the last milestone.

    Raises
    ------
    TypeError
        If an argument is not a list or tuple, or an entry has the wrong type.
    ValueError
        If the lengths differ, or the milestones do not increase.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.piecewise_constant_lr([2, 5], [0.1, 0.05])
    [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    for name, value in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(value, list | tuple):
            raise TypeError(f"piecewise_constant_lr: {name} must be a list or tuple, got {type(value).__name__}")
    if len(milestone) != len(learning_rates):
        raise ValueError(
            f"piecewise_constant_lr: there are {len(milestone)} milestones and {len(learning_rates)} learning "
            "rates; expected as many of both"
        )
    rates: list[float] = []
    for end, rate in zip(milestone, learning_rates, strict=True):
        if _count("piecewise_constant_lr: a milestone", end) < len(rates):
            raise ValueError(f"piecewise_constant_lr: milestones must increase, got {list(milestone)}")
        rates += [check_number("piecewise_constant_lr: a learning rate", rate)] * (end - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """List the rates of all steps by `ExponentialDecayLR`, in epochs.

    Parameters
    ----------
    learning_rate, decay_rate : float
        Positive.
    total_step, step_per_epoch, decay_epoch : int
        The number of steps, the steps of an epoch, and the schedule's `decay_steps` in epochs.
    is_stair : bool, default False
        As in `ExponentialDecayLR`.

    Returns
    -------
    list of float

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1)
    [0.1, 0.1, 0.09, 0.09, 0.081, 0.081]
    """
    return _of_epochs(ExponentialDecayLR(learning_rate, decay_rate, decay_epoch, is_stair), total_step, step_per_epoch)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """List the rates of all steps by `NaturalExpDecayLR`, in epochs; see `exponential_decay_lr`.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.natural_exp_decay_lr(0.1, 0.9, 4, 2, 1)
    [0.1, 0.1, 0.04065697, 0.04065697]
    """
    return _of_epochs(NaturalExpDecayLR(learning_rate, decay_rate, decay_epoch, is_stair), total_step, step_per_epoch)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """List the rates of all steps by `InverseDecayLR`, in epochs; see `exponential_decay_lr`.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.inverse_decay_lr(0.1, 0.5, 5, 2, 1)
    [0.1, 0.1, 0.06666667, 0.06666667, 0.05]
    """
    return _of_epochs(InverseDecayLR(learning_rate, decay_rate, decay_epoch, is_stair), total_step, step_per_epoch)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """List the rates of all steps by `CosineDecayLR`, in epochs.

    Parameters
    ----------
    min_lr, max_lr : float
        As in `CosineDecayLR`.
    total_step, step_per_epoch, decay_epoch : int
        The number of steps, the steps of an epoch, and the schedule's `decay_steps` in epochs.

    Returns
    -------
    list of float

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2)
    [0.1, 0.1, 0.055, 0.055, 0.01, 0.01]
    """
    return _of_epochs(CosineDecayLR(min_lr, max_lr, decay_epoch), total_step, step_per_epoch)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """List the rates of all steps by `PolynomialDecayLR`, in epochs.

    Parameters
    ----------
    learning_rate, end_learning_rate, power, update_decay_epoch
        As in `PolynomialDecayLR`.
    total_step, step_per_epoch, decay_epoch : int
        The number of steps, the steps of an epoch, and the schedule's `decay_steps` in epochs.

    Returns
    -------
    list of float

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.polynomial_decay_lr(0.5, 0.25, 6, 2, 2, 1.0)
    [0.5, 0.5, 0.375, 0.375, 0.25, 0.25]
    """
    schedule = PolynomialDecayLR(learning_rate, end_learning_rate, decay_epoch, power, update_decay_epoch)
    return _of_epochs(schedule, total_step, step_per_epoch)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """List the rates of all steps by `WarmUpLR`, in epochs.

    Parameters
    ----------
    learning_rate : float
        The final rate.
    total_step, step_per_epoch, warmup_epoch : int
        The number of steps, the steps of an epoch, and the number of epochs after which the rate is reached.

    Returns
    -------
    list of float

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.warmup_lr(0.1, 6, 2, 2)
    [0.0, 0.0, 0.05, 0.05, 0.1, 0.1]
    """
    return _of_epochs(WarmUpLR(learning_rate, warmup_epoch), total_step, step_per_epoch)
