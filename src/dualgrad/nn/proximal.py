"""Optimisers that set small entries to 0: their steps end at the minimum of a sum with penalties ``l1`` and ``l2``.

Groups of parameters are described in `Optimizer`.
"""

from __future__ import annotations

from typing import Any

from dualgrad.nn.optimizer import Optimizer, check_number
from dualgrad.ops.composed import _steps
from dualgrad.parameter import ParameterTuple
from dualgrad.tensor import Tensor

from .._settings import real_number

__all__ = ["FTRL", "ProximalAdagrad"]


class FTRL(Optimizer):
    """Follow the regularised leader: entries whose sum of gradients stays small are 0.

    With ``n' = n + g^2`` (n is `initial_accum` at the start) and ``s = (n'^-lr_power - n^-lr_power) / lr`` a step sets
    ``z = z + g - s * w`` and ``w = (sign(z) * l1 - z) / (n'^-lr_power / lr + 2 * l2)``, or 0 where ``|z| <= l1``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    initial_accum : float, default 0.1
        The first value of n; not negative.
    learning_rate : float, Tensor, sequence of float, or callable, default 1e-3
        See `Optimizer`.
    lr_power : float, default -0.5
        As in the formula; not positive.
    l1, l2 : float, default 0.0
        As in the formula; not negative.
    use_locking : bool
        Accepted so that ported code runs; it has no meaning here.
    loss_scale : float, default 1.0
        The gradients are divided by it.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient, for all parameters without groups.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters, or a setting has the wrong type.
    ValueError
        If `params` is empty, or a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([0.0, 0.0], name="w")
    >>> nn.FTRL([w], initial_accum=0.0, learning_rate=0.5, l1=1.0)((Tensor([2.0, 0.5]),))
    True
    >>> print(w.asnumpy())
    [-0.25  0.  ]
    """

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: Any = 1e-3,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.moments: ParameterTuple = self._state("moments", init=check_number("FTRL: initial_accum", initial_accum))
        self.linear: ParameterTuple = self._state("linear")
        if real_number("FTRL", "lr_power", lr_power) > 0:
            raise ValueError(f"FTRL: lr_power must be at most 0, got {lr_power}")
        self.lr_power: float = -check_number("FTRL: minus lr_power", -lr_power)
        self.l1: float = check_number("FTRL: l1", l1)
        self.l2: float = check_number("FTRL: l2", l2)

    def decay_filter(self, parameter: Any) -> bool:
        return True

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, self.l1, self.l2, self.lr_power
        return self._stepped(_steps.ftrl, index, value, (self.moments, self.linear), gradient, *settings)


class ProximalAdagrad(Optimizer):
    """Adagrad with penalties: entries that are small after the step become 0.

    With ``s = s + g^2`` (`accum` at the start), ``r = lr / sqrt(s)`` and ``u = w - r * g`` a step is
    ``w = sign(u) * max(|u| - r * l1, 0) / (1 + r * l2)``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    accum : float, default 0.1
        The first value of the sum; positive, so that a gradient of zero moves nothing.
    learning_rate : float, Tensor, sequence of float, or callable, default 1e-3
        See `Optimizer`.
    l1, l2 : float, default 0.0
        As in the formula; not negative.
    use_locking : bool
        Accepted so that ported code runs; it has no meaning here.
    loss_scale : float, default 1.0
        The gradients are divided by it.
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
    >>> w = Parameter([1.0, 0.1], name="w")
    >>> nn.ProximalAdagrad([w], accum=9.0, learning_rate=0.5, l1=1.0)((Tensor([4.0, 0.0]),))
    True
    >>> print(w.asnumpy())
    [0.5 0. ]
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 1e-3,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.accum: ParameterTuple = self._state(
            "accum", init=check_number("ProximalAdagrad: accum", accum, positive=True)
        )
        self.l1: float = check_number("ProximalAdagrad: l1", l1)
        self.l2: float = check_number("ProximalAdagrad: l2", l2)

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        state = (self.accum,)
        return self._stepped(_steps.proximal_adagrad, index, value, state, gradient, rate, self.l1, self.l2)
