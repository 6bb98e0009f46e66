"""The optimisers: each defines the update of one parameter, `Optimizer` does the rest.

The formulas follow the documentation of MindSpore. Adam corrects both moments by one factor on the learning rate and
adds `eps` to the uncorrected root. So its `eps` differs from libraries that correct v first.
"""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn.optimizer import Optimizer, check_flag, check_number
from dualgrad.ops.composed import _steps
from dualgrad.parameter import ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["SGD", "Adam", "Momentum"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

    ``u = momentum * u + (1 - dampening) * g`` (u = g at the first step), then ``w = w - lr * u``, or with
    `nesterov` ``w = w - lr * (g + momentum * u)``. Without momentum ``w = w - lr * g``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 0.1
        See `Optimizer`.
    momentum, dampening : float, default 0.0
        As in the formula.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; see `Optimizer`.
    nesterov : bool, default False
        Needs momentum and no dampening.
    loss_scale : float, default 1.0
        The gradients are divided by it.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters, or a setting has the wrong type.
    ValueError
        If `params` is empty, or a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([1.0, 2.0], name="w")
    >>> opt = nn.SGD([w], learning_rate=0.5)
    >>> opt((Tensor([1.0, 1.0]),))
    True
    >>> print(w.asnumpy())
    [0.5 1.5]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum: float = check_number("SGD: momentum", momentum)
        self.dampening: float = check_number("SGD: dampening", dampening)
        self.nesterov: bool = check_flag("SGD: nesterov", nesterov)
        if nesterov and (self.momentum == 0.0 or self.dampening != 0.0):
            raise ValueError(
                f"SGD: nesterov needs momentum above 0 and dampening 0, got momentum {momentum} and "
                f"dampening {dampening}"
            )
        if self.momentum:
            self.accum: ParameterTuple = self._state("accum")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        if not self.momentum:
            return value - rate * gradient
        # `where`, not `if`: a recorded step must not keep the choice of the first step.
        fresh = gradient
        if self.dampening:
            fresh = ops.where(step == 0, gradient, (1.0 - self.dampening) * gradient)
        speed = self.momentum * self.accum[index]._detached() + fresh
        self.accum[index]._rebind(speed)
        return value - rate * (gradient + self.momentum * speed if self.nesterov else speed)


class Momentum(Optimizer):
    """Gradient descent with momentum.

    ``u = momentum * u + g``, then ``w = w - lr * u``, or with `use_nesterov` ``w = w - lr * (g + momentum *
    u)``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable
        See `Optimizer`.
    momentum : float
        As in the formula.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; see `Optimizer`.
    loss_scale : float, default 1.0
        The gradients are divided by it.
    use_nesterov : bool, default False
        As in the formula.

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
    >>> opt = nn.Momentum([w], learning_rate=0.5, momentum=0.5)
    >>> for _ in range(2):
    ...     _ = opt((Tensor([1.0]),))
    >>> print(w.asnumpy())
    [-0.25]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum: float = check_number("Momentum: momentum", momentum)
        self.use_nesterov: bool = check_flag("Momentum: use_nesterov", use_nesterov)
        self.moments: ParameterTuple = self._state("moments")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, self.momentum, self.use_nesterov
        return self._stepped(_steps.momentum, index, value, (self.moments,), gradient, *settings)


class Adam(Optimizer):
    """Adam: steps of about the learning rate, for gradients of any size.

    With ``m = beta1 * m + (1 - beta1) * g`` and ``v = beta2 * v + (1 - beta2) * g^2``, step t is
    ``w = w - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 1e-3
        See `Optimizer`.
    beta1, beta2 : float, default 0.9 and 0.999
        Decay rates of the two averages; at least 0 and below 1.
    eps : float, default 1e-8
        Keeps the division finite; positive.
    use_locking : bool
        Accepted so that ported code runs; it has no meaning here.
    use_nesterov : bool, default False
        True to take ``beta1 * m + (1 - beta1) * g`` in place of m in the step.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; see `Optimizer`.
    loss_scale : float, default 1.0
        The gradients are divided by it.
    use_amsgrad : bool, default False
        True to take the largest v so far in place of v in the step.
    use_lazy, use_offload : bool, default False
        Accepted so that ported code runs. Gradients have all rows here, so a lazy step is the same step.

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
    >>> opt = nn.Adam([w], learning_rate=0.25)
    >>> opt((Tensor([100.0]),))
    True
    >>> print(w.asnumpy())
    [0.75]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        *,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1: float = check_number("Adam: beta1", beta1, below=1.0)
        self.beta2: float = check_number("Adam: beta2", beta2, below=1.0)
        self.eps: float = check_number("Adam: eps", eps, positive=True)
        self.use_nesterov: bool = check_flag("Adam: use_nesterov", use_nesterov)
        self.use_amsgrad: bool = check_flag("Adam: use_amsgrad", use_amsgrad)
        if check_flag("Adam: use_lazy", use_lazy) and check_flag("Adam: use_offload", use_offload):
            raise ValueError("Adam: use_lazy and use_offload are True; expected one of them at most")
        self.moment1: ParameterTuple = self._state("moment1")
        self.moment2: ParameterTuple = self._state("moment2")
        if use_amsgrad:
            self.vhat: ParameterTuple = self._state("vhat")

    def _scaled(self, rate: Tensor, step: Tensor) -> Tensor:
        t = (step + 1).astype(mstype.float64)
        return rate * ops.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, self.beta1, self.beta2, self.eps, self.use_nesterov
        state = (self.moment1, self.moment2, self.vhat) if self.use_amsgrad else (self.moment1, self.moment2)
        update = _steps.amsgrad if self.use_amsgrad else _steps.adam
        return self._stepped(update, index, value, state, gradient, *settings)
