"""Optimisers whose steps are scaled by the norms of whole parameters.

Shared settings are described in Adam, groups of parameters in `Optimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad import ops
from dualgrad.nn._optimizer_parts import decays
from dualgrad.nn.optimizer import Optimizer, check_flag, check_number
from dualgrad.ops.composed import _steps
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["LARS", "Lamb"]


def _norm(array: Tensor) -> Tensor:
    """The root of the sum of squares of all entries."""
    return ops.sqrt(ops.square(array).sum())


class Lamb(Optimizer):
    """Adam whose step is as long as the parameter, times the learning rate.

    With ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g^2`` and, at step t,
    ``r = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * w``, a step is
    ``w = w - lr * |w| / |r| * r``, without the quotient where one of the norms is 0.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups.
    learning_rate : float, Tensor, sequence of float, or callable
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
    >>> w = Parameter([3.0, 4.0], name="w")
    >>> nn.Lamb([w], learning_rate=0.1)((Tensor([2.0, 0.0]),))
    True
    >>> print(w.asnumpy())
    [2.5 4. ]
    """

    _decay_in_gradient = False

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1: float = check_number("Lamb: beta1", beta1, below=1.0)
        self.beta2: float = check_number("Lamb: beta2", beta2, below=1.0)
        self.eps: float = check_number("Lamb: eps", eps, positive=True)
        self.moments1: ParameterTuple = self._state("lamb_m")
        self.moments2: ParameterTuple = self._state("lamb_v")

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        before = self.moments1[index]._detached(), self.moments2[index]._detached()
        mean, square = _steps.moments(*before, gradient, self.beta1, self.beta2)
        self.moments1[index]._rebind(mean)
        self.moments2[index]._rebind(square)
        number = (step + 1).astype(value.dtype)
        move = mean / (1.0 - self.beta1**number) / (ops.sqrt(square / (1.0 - self.beta2**number)) + self.eps)
        decay = self._decay_at(self._decays[index], self.parameters[index], step)
        if decays(decay):
            move = move + decay * value
        length, other = _norm(value), _norm(move)
        both = ops.logical_and(length > 0, other > 0)
        ratio = ops.where(both, length / ops.where(both, other, 1.0), 1.0)
        return value - rate * ratio * move


def _neither_norm_nor_bias(parameter: Parameter) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Gradients scaled by the norms of their parameters, for the step of another optimiser.

    A gradient g of a parameter w becomes ``c * (g + weight_decay * w)`` with
    ``c = coefficient * |w| / (|g| + weight_decay * |w| + epsilon)``, and with `use_clip` the smaller of c / lr and 1.
    Where one of the norms is 0, c is 1. The weight decay is taken over from the other optimiser, which adds none any
    more.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser that takes the step; its parameters, groups, learning rates and scale of the loss count.
    epsilon : float, default 1e-5
        Keeps the division finite; not negative.
    coefficient : float, default 0.001
        As in the formula; not negative.
    use_clip : bool, default False
        As in the formula.
    lars_filter : callable, optional
        A predicate of Parameters: True to change the gradient. By default it is true, unless the name contains
        'LayerNorm' or 'bias'. Other gradients are passed on unchanged, without weight decay.

    Raises
    ------
    TypeError
        If `optimizer` is not an Optimizer, or a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([3.0, 4.0], name="w")
    >>> opt = nn.LARS(nn.SGD([w], learning_rate=1.0), epsilon=0.0, coefficient=0.5)
    >>> opt((Tensor([0.0, 10.0]),))
    True
    >>> print(w.asnumpy())
    [3.  1.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-5,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _neither_norm_nor_bias,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"LARS: optimizer must be an Optimizer, got {type(optimizer).__name__}")
        if not callable(lars_filter):
            raise TypeError(f"LARS: lars_filter must be a function of a Parameter, got {type(lars_filter).__name__}")
        super().__init__(0.0, optimizer.parameters)
        self.epsilon: float = check_number("LARS: epsilon", epsilon)
        self.coefficient: float = check_number("LARS: coefficient", coefficient)
        self.use_clip: bool = check_flag("LARS: use_clip", use_clip)
        self.opt = optimizer
        # Shared with the other optimiser: one count of steps, one rate.
        self.global_step: Parameter = optimizer.global_step
        self.learning_rate: Any = optimizer.learning_rate
        self.lars_flag: tuple[bool, ...] = tuple(bool(lars_filter(parameter)) for parameter in self.parameters)
        self.__dict__["_taken"] = optimizer._take_decays()

    def get_lr(self) -> Any:
        return self.opt.get_lr()

    def construct(self, gradients: Any) -> bool:
        given = self._checked_gradients(gradients)
        rates = self.get_lr()
        if not isinstance(rates, tuple):
            rates = (rates,) * len(given)
        changed = [self._changed(*each) for each in zip(range(len(given)), given, rates, strict=True)]
        return self.opt(tuple(changed))

    def _changed(self, index: int, gradient: Tensor, rate: Tensor) -> Tensor:
        """The gradient for the other optimiser, which divides it by the scale of the loss."""
        if not self.lars_flag[index]:
            return gradient
        scale, parameter = self.opt.loss_scale, self.parameters[index]
        decay = self._decay_at(self.__dict__["_taken"][index], parameter, self.global_step._detached())
        value = parameter._detached()
        gradient = gradient / scale
        length, slope = _norm(value), _norm(gradient)
        both = ops.logical_and(length > 0, slope > 0)
        below = ops.where(both, slope + decay * length + self.epsilon, 1.0)
        factor = ops.where(both, self.coefficient * length / below, 1.0)
        if self.use_clip:
            factor = ops.minimum(factor / rate.astype(value.dtype), 1.0)
        return factor * (gradient + decay * value) * scale
