"""Optimisers with PyTorch's settings and formulas, called with the gradients: ``optimizer(gradients)``.

`Optimizer.param_groups` has the settings of each group, which may be changed between steps. The learning rate in it is
a Parameter, which a schedule of `lr_scheduler` sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import nn, ops
from dualgrad.nn.optimizer import check_flag, check_number
from dualgrad.parameter import ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]


def _groups(name: str, params: Any) -> list[dict[str, Any]]:
    """Convert parameters, or groups of parameters, to groups."""
    if isinstance(params, Mapping | str | np.ndarray) or not isinstance(params, Iterable):
        raise TypeError(f"{name}: params must be a list of Parameters or of dicts, got {type(params).__name__}")
    entries = list(params)
    if not any(isinstance(entry, Mapping) for entry in entries):
        return [{"params": entries}]
    for entry in entries:
        if not isinstance(entry, Mapping) or "params" not in entry:
            raise TypeError(f"{name}: groups are dicts with 'params', got {entry!r:.60}")
    return [{**entry, "params": list(entry["params"])} for entry in entries]


class Optimizer(nn.Optimizer):
    """Base of the optimisers: a derived class defines `_updated` for one parameter.

    Parameters
    ----------
    params : iterable of Parameter, or iterable of dict
        The parameters to train. Dicts form groups: 'params', and settings of their own.
    defaults : dict
        The settings of groups without their own; 'lr' is the learning rate, a number.

    Attributes
    ----------
    param_groups : list of dict
        The settings of each group; 'lr' is a Parameter.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters or dicts, or a setting has the wrong type.
    ValueError
        If a group has an unknown setting.

    Examples
    --------
    >>> from dualgrad import Parameter
    >>> from dualgrad.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="w")], lr=0.5)
    >>> float(optimizer.param_groups[0]["lr"])
    0.5
    """

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        name = type(self).__name__
        groups = _groups(name, params)
        if not isinstance(defaults, Mapping) or "lr" not in defaults:
            raise TypeError(f"{name}: defaults must be a dict with 'lr', the learning rate, got {defaults!r:.60}")
        for group in groups:
            if unknown := group.keys() - defaults.keys() - {"params"}:
                raise ValueError(
                    f"{name}: a group has unknown settings {sorted(unknown)}; known: {', '.join(defaults)}"
                )
            group["lr"] = check_number(f"{name}: lr", group.get("lr", defaults["lr"]))
        super().__init__(groups[0]["lr"], [{"params": group["params"], "lr": group["lr"]} for group in groups])
        self.defaults: dict[str, Any] = dict(defaults)
        self.param_groups: list[dict[str, Any]] = [
            {**defaults, **group, "lr": getattr(self, held.rate)}
            for group, held in zip(groups, self._groups, strict=True)
        ]
        for group in self.param_groups:
            self._check(name, group)

    def _check(self, name: str, group: dict[str, Any]) -> None:
        """Check the settings of a group."""
        check_number(f"{name}: weight_decay", group.get("weight_decay", 0.0))
        check_flag(f"{name}: maximize", group.get("maximize", False))

    def _settings(self, index: int) -> dict[str, Any]:
        """The settings of the group of a parameter."""
        for group, held in zip(self.param_groups, self._groups, strict=True):
            if index in held.indices:
                return group
        raise LookupError(f"{type(self).__name__}: there is no parameter {index}")


def _slope(settings: dict[str, Any], value: Tensor, gradient: Tensor) -> Tensor:
    """The gradient to follow downhill, including weight decay."""
    gradient = -gradient if settings["maximize"] else gradient
    return gradient + settings["weight_decay"] * value if settings["weight_decay"] else gradient


class SGD(Optimizer):
    """Stochastic gradient descent: ``u = momentum * u + (1 - dampening) * g`` (u = g at first), ``w = w - lr * u``.

    With `nesterov` ``w = w - lr * (g + momentum * u)``.

    Parameters
    ----------
    params : iterable of Parameter, or iterable of dict
        The parameters to train; see `Optimizer`.
    lr : float
        The learning rate.
    momentum, dampening, weight_decay : float, default 0
        As in the formula; `weight_decay` times the parameter is added to the gradient.
    nesterov : bool, default False
        Needs momentum and no dampening.
    maximize : bool, default False
        True to maximise.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor
    >>> from dualgrad.experimental import optim
    >>> w = Parameter([1.0], name="w")
    >>> optimizer = optim.SGD([w], lr=0.5)
    >>> _ = optimizer((Tensor([1.0]),))
    >>> print(w.asnumpy())
    [0.5]
    """

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.accum: ParameterTuple = self._state("accum")

    def _check(self, name: str, group: dict[str, Any]) -> None:
        super()._check(name, group)
        momentum = check_number(f"{name}: momentum", group["momentum"])
        dampening = check_number(f"{name}: dampening", group["dampening"])
        if check_flag(f"{name}: nesterov", group["nesterov"]) and (not momentum or dampening):
            raise ValueError(f"{name}: nesterov needs momentum above 0 and dampening 0, got {momentum} and {dampening}")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = self._settings(index)
        slope = _slope(settings, value, gradient)
        if not settings["momentum"]:
            return value - rate * slope
        # `where`, not `if`: a recorded step must not keep the choice of the first step.
        fresh = ops.where(step == 0, slope, (1.0 - settings["dampening"]) * slope)
        speed = settings["momentum"] * self.accum[index]._detached() + fresh
        self.accum[index]._rebind(speed)
        return value - rate * (slope + settings["momentum"] * speed if settings["nesterov"] else speed)


class Adam(Optimizer):
    """Adam, with both moments corrected: ``w = w - lr * (m / (1 - β₁ᵗ)) / (sqrt(v / (1 - β₂ᵗ)) + eps)``.

    Parameters
    ----------
    params : iterable of Parameter, or iterable of dict
        The parameters to train; see `Optimizer`.
    lr : float, default 1e-3
        The learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay rates of the moments; from 0 to below 1.
    eps : float, default 1e-8
        As in the formula.
    weight_decay : float, default 0
        This times the parameter is added to its gradient.
    amsgrad : bool, default False
        True to use the largest second moment so far.
    maximize : bool, default False
        True to maximise.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor
    >>> from dualgrad.experimental import optim
    >>> w = Parameter([1.0], name="w")
    >>> optimizer = optim.Adam([w], lr=0.25)
    >>> _ = optimizer((Tensor([3.0]),))
    >>> print(w.asnumpy())
    [0.75]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.exp_avg: ParameterTuple = self._state("exp_avg")
        self.exp_avg_sq: ParameterTuple = self._state("exp_avg_sq")
        self.max_exp_avg_sq: ParameterTuple = self._state("max_exp_avg_sq")

    def _check(self, name: str, group: dict[str, Any]) -> None:
        super()._check(name, group)
        if not isinstance(group["betas"], tuple | list) or len(group["betas"]) != 2:
            raise TypeError(f"{name}: betas are two numbers, got {group['betas']!r}")
        for number, beta in enumerate(group["betas"]):
            check_number(f"{name}: betas[{number}]", beta, below=1.0)
        check_number(f"{name}: eps", group["eps"])
        check_flag(f"{name}: amsgrad", group["amsgrad"])

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = self._settings(index)
        return self._moved(index, value, _slope(settings, value, gradient), rate, step, settings)

    def _moved(
        self, index: int, value: Tensor, slope: Tensor, rate: Tensor, step: Tensor, settings: dict[str, Any]
    ) -> Tensor:
        """Return the parameter after a step along the moments."""
        beta1, beta2 = settings["betas"]
        first = beta1 * self.exp_avg[index]._detached() + (1.0 - beta1) * slope
        second = beta2 * self.exp_avg_sq[index]._detached() + (1.0 - beta2) * slope * slope
        self.exp_avg[index]._rebind(first)
        self.exp_avg_sq[index]._rebind(second)
        if settings["amsgrad"]:
            second = ops.maximum(self.max_exp_avg_sq[index]._detached(), second)
            self.max_exp_avg_sq[index]._rebind(second)
        # Both corrections in Float64, rounded once.
        count = (step + 1).astype(mstype.float64)
        of_first, of_second = [(1.0 - beta**count).astype(value.dtype) for beta in (beta1, beta2)]
        return value - rate * (first / of_first) / (ops.sqrt(second / of_second) + settings["eps"])


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: ``w = w * (1 - lr * weight_decay)``, then a step of `Adam`.

    Parameters
    ----------
    params : iterable of Parameter, or iterable of dict
        The parameters to train; see `Optimizer`.
    lr, betas, eps, amsgrad, maximize
        As in `Adam`.
    weight_decay : float, default 1e-2
        As in the formula.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor
    >>> from dualgrad.experimental import optim
    >>> w = Parameter([1.0], name="w")
    >>> optimizer = optim.AdamW([w], lr=0.25, weight_decay=0.5)
    >>> _ = optimizer((Tensor([3.0]),))
    >>> print(w.asnumpy())
    [0.625]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = self._settings(index)
        slope = -gradient if settings["maximize"] else gradient
        return self._moved(index, value * (1.0 - rate * settings["weight_decay"]), slope, rate, step, settings)
