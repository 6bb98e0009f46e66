"""Optimisers that set the size of their steps by the steps before.

Groups of parameters are described in `Optimizer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad import ops
from dualgrad.nn.optimizer import Optimizer, check_number
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["ASGD", "Rprop"]


class ASGD(Optimizer):
    """Gradient descent with shrinking steps, and the running average of the parameters.

    With ``h = lr`` at the first step, step t is ``w = w * (1 - lambd * h) - h * g``, then
    ``a = a + (w - a) * u`` with u = 1 at first, ``h = lr / (1 + lambd * lr * t)^alpha`` and
    ``u = 1 / max(1, t - t0)``. The averages a are in `ax`.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 0.1
        See `Optimizer`.
    lambd : float, default 1e-4
        Decay of the parameters and of the steps; not negative.
    alpha : float, default 0.75
        As in the formula; not negative.
    t0 : float, default 1e6
        The step after which the average counts more than the last parameters.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; see `Optimizer`.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters, or a setting has the wrong type.
    ValueError
        If `params` is empty, or a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([1.0], name="w")
    >>> nn.ASGD([w], learning_rate=0.5, lambd=0.5)((Tensor([1.0]),))
    True
    >>> print(w.asnumpy())
    [0.25]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd: float = check_number("ASGD: lambd", lambd)
        self.alpha: float = check_number("ASGD: alpha", alpha)
        self.t0: float = check_number("ASGD: t0", t0)
        self.mu: ParameterTuple = self._numbers("mu", 1.0)
        self.eta: ParameterTuple = self._numbers("eta", 0.0)
        self.ax: ParameterTuple = self._state("ax")

    def _numbers(self, prefix: str, value: float) -> ParameterTuple:
        """One number for each parameter."""
        return ParameterTuple(
            [
                Parameter(np.float64(value), name=f"{prefix}_{parameter.name}", requires_grad=False)
                for parameter in self.parameters
            ]
        )

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        weight = self.mu[index]._detached()
        size = ops.where(step == 0, rate.astype(weight.dtype), self.eta[index]._detached()).astype(value.dtype)
        new = value * (1.0 - self.lambd * size) - size * gradient
        average = self.ax[index]._detached()
        self.ax[index]._rebind(ops.where(weight == 1.0, new, average + (new - average) * weight.astype(value.dtype)))
        number = (step + 1).astype(weight.dtype)
        rate = rate.astype(weight.dtype)
        self.eta[index]._rebind(rate / (1.0 + self.lambd * rate * number) ** self.alpha)
        self.mu[index]._rebind(1.0 / ops.maximum(number - self.t0, 1.0))
        return new


class Rprop(Optimizer):
    """Steps by the sign of the gradient, each entry with a size of its own.

    The initial size of a step is the learning rate. Then it is multiplied by the second of `etas` where the gradient
    has the same sign as before, and by the first where the sign has changed. It stays in the range of `step_sizes`. A
    step is ``w = w - size * sign(g)``; where the sign has changed g counts as 0, in the next step too.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 0.1
        The first size, see `Optimizer`.
    etas : tuple of two floats, default (0.5, 1.2)
        The factors: one between 0 and 1, and one above 1.
    step_sizes : tuple of two floats, default (1e-6, 50.0)
        The smallest and the largest size.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; see `Optimizer`.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters, or a setting has the wrong type.
    ValueError
        If `params` is empty, or a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([1.0, 1.0], name="w")
    >>> opt = nn.Rprop([w], learning_rate=0.5, etas=(0.5, 2.0))
    >>> opt((Tensor([3.0, 3.0]),)), opt((Tensor([3.0, -3.0]),))
    (True, True)
    >>> print(w.asnumpy())
    [-0.5  0.5]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in ("etas", etas), ("step_sizes", step_sizes):
            if not isinstance(pair, tuple):
                raise TypeError(f"Rprop: {name} must be a tuple, got {type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"Rprop: {name} must have two numbers, got {len(pair)}")
        self.etaminus: float = check_number("Rprop: the first of etas", etas[0], below=1.0, positive=True)
        self.etaplus: float = check_number("Rprop: the second of etas", etas[1])
        self.step_size_min: float = check_number("Rprop: the first of step_sizes", step_sizes[0])
        self.step_size_max: float = check_number("Rprop: the second of step_sizes", step_sizes[1])
        if self.etaplus <= 1.0:
            raise ValueError(f"Rprop: the second of etas must be above 1, got {etas[1]}")
        if self.step_size_min > self.step_size_max:
            raise ValueError(f"Rprop: step_sizes must not fall, got {step_sizes}")
        self.prev: ParameterTuple = self._state("prev")
        self.step_size: ParameterTuple = self._state("step_size")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        turn = ops.sign(gradient) * ops.sign(self.prev[index]._detached())
        size = ops.where(step == 0, rate, self.step_size[index]._detached())
        factor = ops.where(turn > 0, self.etaplus, ops.where(turn < 0, self.etaminus, 1.0)).astype(value.dtype)
        size = ops.clip_by_value(size * factor, self.step_size_min, self.step_size_max)
        counted = ops.where(turn < 0, 0.0, gradient)
        self.step_size[index]._rebind(size)
        self.prev[index]._rebind(counted)
        return value - size * ops.sign(counted)
