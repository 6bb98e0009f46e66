"""Further optimisers that scale each entry by the gradients seen so far; Adam itself is in `optimizers`.

Shared settings are described in Adam, groups of parameters in `Optimizer`.
"""

from __future__ import annotations

from typing import Any

from dualgrad.nn.optimizer import Optimizer, check_flag, check_number
from dualgrad.ops.composed import _steps
from dualgrad.parameter import ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["AdaMax", "Adadelta", "Adagrad", "AdamWeightDecay", "RMSProp"]


class AdamWeightDecay(Optimizer):
    """Adam without correction of the first steps, with weight decay apart from the gradient.

    With ``m = beta1 * m + (1 - beta1) * g`` and ``v = beta2 * v + (1 - beta2) * g^2`` a step is
    ``w = w - lr * (m / (sqrt(v) + eps) + weight_decay * w)``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 1e-3
        See `Optimizer`.
    beta1, beta2 : float, default 0.9 and 0.999
        Decay rates of the two averages; at least 0 and below 1.
    eps : float, default 1e-6
        Keeps the division finite; positive.
    weight_decay : float or callable, default 0.0
        As in the formula; without groups, parameters with 'beta' or 'gamma' in their names do not decay.

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
    >>> opt = nn.AdamWeightDecay([w], learning_rate=0.1, beta1=0.0, beta2=0.0, weight_decay=0.5)
    >>> opt((Tensor([4.0]),))
    True
    >>> print(w.asnumpy())
    [0.85]
    """

    _decay_in_gradient = False

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1: float = check_number("AdamWeightDecay: beta1", beta1, below=1.0)
        self.beta2: float = check_number("AdamWeightDecay: beta2", beta2, below=1.0)
        self.eps: float = check_number("AdamWeightDecay: eps", eps, positive=True)
        self.moments1: ParameterTuple = self._state("adam_m")
        self.moments2: ParameterTuple = self._state("adam_v")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        decay = self._decay_at(self._decays[index], self.parameters[index], step)
        settings = rate, self.beta1, self.beta2, self.eps, decay
        state = self.moments1, self.moments2
        return self._stepped(_steps.adam_weight_decay, index, value, state, gradient, *settings)


class AdaMax(Optimizer):
    """Adam with the largest gradient in place of the mean square.

    With ``m = beta1 * m + (1 - beta1) * g`` and ``v = max(beta2 * v, |g|)``, step t is
    ``w = w - lr / (1 - beta1^t) * m / (v + eps)``. The settings are as in `Adam`.

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
    >>> nn.AdaMax([w], learning_rate=0.25)((Tensor([100.0]),))
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
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1: float = check_number("AdaMax: beta1", beta1, below=1.0)
        self.beta2: float = check_number("AdaMax: beta2", beta2, below=1.0)
        self.eps: float = check_number("AdaMax: eps", eps, positive=True)
        self.moment1: ParameterTuple = self._state("moment1")
        self.moment2: ParameterTuple = self._state("moment2")

    def _scaled(self, rate: Tensor, step: Tensor) -> Tensor:
        return rate / (1.0 - self.beta1 ** (step + 1).astype(rate.dtype))

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, self.beta1, self.beta2, self.eps
        return self._stepped(_steps.ada_max, index, value, (self.moment1, self.moment2), gradient, *settings)


class RMSProp(Optimizer):
    """Gradient descent with each entry divided by the running root mean square of its gradients.

    With ``s = decay * s + (1 - decay) * g^2`` (1 at the start) and
    ``u = momentum * u + lr * g / sqrt(s + epsilon)`` a step is ``w = w - u``. If `centered`, the square of
    the running mean of g is subtracted from s under the root.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 0.1
        See `Optimizer`.
    decay : float, default 0.9
        Decay rate of the average; at least 0 and at most 1.
    momentum : float, default 0.0
        As in the formula.
    epsilon : float, default 1e-10
        Keeps the division finite; positive.
    use_locking : bool
        Accepted so that ported code runs; it has no meaning here.
    centered : bool, default False
        As in the formula.
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
    >>> w = Parameter([1.0], name="w")
    >>> nn.RMSProp([w], learning_rate=0.5, decay=0.0)((Tensor([3.0]),))
    True
    >>> print(w.asnumpy())
    [0.5]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay: float = check_number("RMSProp: decay", decay)
        self.momentum: float = check_number("RMSProp: momentum", momentum)
        self.epsilon: float = check_number("RMSProp: epsilon", epsilon, positive=True)
        self.centered: bool = check_flag("RMSProp: centered", centered)
        self.ms: ParameterTuple = self._state("mean_square", init="ones")
        self.moment: ParameterTuple = self._state("moment")
        if centered:
            self.mg: ParameterTuple = self._state("mean_grad")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, self.decay, self.momentum, self.epsilon
        state = (self.mg, self.ms, self.moment) if self.centered else (self.ms, self.moment)
        update = _steps.centered_rms_prop if self.centered else _steps.rms_prop
        return self._stepped(update, index, value, state, gradient, *settings)


class Adagrad(Optimizer):
    """Gradient descent with each entry divided by the root of the sum of its squared gradients.

    With ``s = s + g^2`` (`accum` at the start) a step is ``w = w - lr * g / sqrt(s)``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    accum : float, default 0.1
        The first value of the sum; positive, so that a gradient of zero moves nothing.
    learning_rate : float, Tensor, sequence of float, or callable, default 1e-3
        See `Optimizer`.
    update_slots : bool, default True
        True to add squared gradients to the sum.
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
    >>> w = Parameter([1.0], name="w")
    >>> nn.Adagrad([w], accum=9.0, learning_rate=0.5)((Tensor([4.0]),))
    True
    >>> print(w.asnumpy())
    [0.6]
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 1e-3,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.accum: ParameterTuple = self._state("accum", init=check_number("Adagrad: accum", accum, positive=True))
        self.update_slots: bool = check_flag("Adagrad: update_slots", update_slots)

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        settings = rate, 0.0, self.update_slots
        return self._stepped(_steps.adagrad, index, value, (self.accum,), gradient, *settings)


class Adadelta(Optimizer):
    """Steps whose size follows the ratio of earlier steps to gradients.

    With ``s = rho * s + (1 - rho) * g^2`` and ``u = g * sqrt(d + epsilon) / sqrt(s + epsilon)`` a step is
    ``w = w - lr * u``; then ``d = rho * d + (1 - rho) * u^2``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable, default 1.0
        See `Optimizer`.
    rho : float, default 0.9
        Decay rate of the averages; at least 0 and below 1.
    epsilon : float, default 1e-6
        Lets the first step move; positive.
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
    >>> w = Parameter([1.0], name="w")
    >>> nn.Adadelta([w], rho=0.0, epsilon=1.0)((Tensor([0.75]),))
    True
    >>> print(w.asnumpy())
    [0.4]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho: float = check_number("Adadelta: rho", rho, below=1.0)
        self.epsilon: float = check_number("Adadelta: epsilon", epsilon, positive=True)
        self.accum: ParameterTuple = self._state("accum")
        self.accum_update: ParameterTuple = self._state("accum_update")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        state = self.accum, self.accum_update
        return self._stepped(_steps.adadelta, index, value, state, gradient, rate, self.rho, self.epsilon)
