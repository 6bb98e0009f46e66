"""AdaFactor: root mean squares of gradients, kept as one row and one column for each matrix.

Groups of parameters are described in `Optimizer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.nn._optimizer_parts import decays
from dualgrad.nn.optimizer import Optimizer, check_flag, check_number
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["AdaFactor"]


def _root_mean_square(array: Tensor) -> Tensor:
    return ops.sqrt(ops.square(array).mean())


class AdaFactor(Optimizer):
    """Steps divided by the root mean square of the gradients, which a matrix keeps by rows and columns only.

    With ``b = 1 - t^-decay_rate`` at step t and ``q = g^2 + eps[0]`` a vector keeps ``v = b * v + (1 - b) * q``. A
    matrix keeps running averages r of the row means of q and c of its column means, and ``v = r * c / mean(r)``. With
    ``u = g / sqrt(v)``, divided by ``max(1, rms(u) / clip_threshold)``, a step is
    ``w = w * (1 - weight_decay * s) - m`` where ``m = beta1 * m + (1 - beta1) * s * u``. The size s is the learning
    rate, or with `relative_step` ``min(0.01, 1 / sqrt(t))``; `warmup_init` puts 1e-6 t in place of 0.01. With
    `scale_parameter` s is multiplied by ``max(eps[1], rms(w))``.

    Parameters
    ----------
    params : iterable of Parameter or of dict
        The parameters to train; see `Optimizer` for groups. More than two axes are a stack of matrices.
    learning_rate : float, Tensor, sequence of float, or callable, optional
        See `Optimizer`; needed without `relative_step`, and an error with it. A schedule has no `scale_parameter`.
    eps : tuple of two floats, default (1e-30, 1e-3)
        As in the formulas; not negative.
    clip_threshold : float, default 1.0
        As in the formulas; positive.
    decay_rate : float, default 0.8
        As in the formulas; between 0 and 1.
    beta1 : float, default 0.9
        Decay rate of the steps; with 0 or None m is not used, and the step is ``s * u``.
    weight_decay : float or callable, default 0.0
        As in the formulas, for all parameters without groups.
    scale_parameter, relative_step, warmup_init : bool, default True, True and False
        As in the formulas.
    compression : bool, default False
        True, state in half precision, raises an error.
    loss_scale : float, default 1.0
        The gradients are divided by it.

    Raises
    ------
    TypeError
        If `params` is not a collection of Parameters, or a setting has the wrong type.
    ValueError
        If `params` is empty, a setting is out of its range, or settings exclude each other.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([[2.0, 2.0]], name="w")
    >>> nn.AdaFactor([w], beta1=0.0)((Tensor([[3.0, 3.0]]),))
    True
    >>> print(w.asnumpy())
    [[1.98 1.98]]
    """

    _decay_in_gradient = False

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float | None = 0.9,
        weight_decay: Any = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        self._check_choices(learning_rate, relative_step, warmup_init, compression)
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise ValueError(f"AdaFactor: eps must have two numbers, got {eps!r}")
        self.eps: tuple[float, ...] = tuple(check_number(f"AdaFactor: eps[{k}]", each) for k, each in enumerate(eps))
        self.clip_threshold: float = check_number("AdaFactor: clip_threshold", clip_threshold, positive=True)
        self.decay_rate: float = check_number("AdaFactor: decay_rate", decay_rate, below=1.0, positive=True)
        self.beta1: float = check_number("AdaFactor: beta1", 0.0 if beta1 is None else beta1, below=1.0)
        self.scale_parameter: bool = check_flag("AdaFactor: scale_parameter", scale_parameter) and (
            learning_rate is None or isinstance(learning_rate, (int, float))
        )
        self.relative_step = relative_step
        self.warmup_init = warmup_init
        if self.beta1:
            self.exp_avg: ParameterTuple = self._state("exp_avg")
        self.exp_avg_sq_row: ParameterTuple = self._means("exp_avg_sq_row", lambda shape: shape[:-1])
        self.exp_avg_sq_col: ParameterTuple = self._means("exp_avg_sq_col", lambda shape: (*shape[:-2], shape[-1]))
        self.exp_avg_sq: ParameterTuple = self._means("exp_avg_sq", lambda shape: (1,), lambda shape: shape)

    def decay_filter(self, parameter: Parameter) -> bool:
        return True

    @staticmethod
    def _check_choices(learning_rate: Any, relative_step: Any, warmup_init: Any, compression: Any) -> None:
        """Refuse settings that exclude each other."""
        check_flag("AdaFactor: relative_step", relative_step)
        check_flag("AdaFactor: warmup_init", warmup_init)
        if check_flag("AdaFactor: compression", compression):
            raise ValueError("AdaFactor: compression must be False; the state has the type of the parameter")
        if (learning_rate is None) != relative_step:
            raise ValueError("AdaFactor: expected either a learning_rate or relative_step=True, and not both")
        if warmup_init and not relative_step:
            raise ValueError("AdaFactor: warmup_init is for relative_step=True; expected a learning_rate alone")

    def _means(self, prefix: str, of_matrix: Any, of_vector: Any = lambda shape: (1,)) -> ParameterTuple:
        """Make state whose shapes follow from the shapes of the parameters."""
        found = []
        for parameter in self.parameters:
            shape = (of_matrix if parameter.ndim > 1 else of_vector)(tuple(parameter.shape))
            zeros = np.zeros(shape, parameter.dtype.numpy)
            found.append(Parameter(zeros, name=f"{prefix}_{parameter.name}", requires_grad=False))
        return ParameterTuple(found)

    def _scaled(self, rate: Tensor, step: Tensor) -> Tensor:
        if not self.relative_step:
            return rate
        number = (step + 1).astype(mstype.float64)
        return ops.minimum(1e-6 * number if self.warmup_init else 0.01, 1.0 / ops.sqrt(number))

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        keep = (1.0 - (step + 1).astype(mstype.float64) ** -self.decay_rate).astype(value.dtype)
        squares = ops.square(gradient) + self.eps[0]
        if value.ndim > 1:
            squares = self._factored(index, squares, keep)
        else:
            squares = self._blended(self.exp_avg_sq, index, squares, keep)
        move = gradient / ops.sqrt(squares)
        size = rate * ops.maximum(_root_mean_square(value), self.eps[1]) if self.scale_parameter else rate
        move = size * move / ops.maximum(_root_mean_square(move) / self.clip_threshold, 1.0)
        if self.beta1:
            move = self._blended(self.exp_avg, index, move, self.beta1)
        decay = self._decay_at(self._decays[index], self.parameters[index], step)
        if decays(decay):
            value = value - decay * size * value
        return value - move

    def _factored(self, index: int, squares: Tensor, keep: Tensor) -> Tensor:
        """The mean squares of a matrix, from its rows and columns."""
        rows = self._blended(self.exp_avg_sq_row, index, squares.mean(-1), keep)
        columns = self._blended(self.exp_avg_sq_col, index, squares.mean(-2), keep)
        return ops.expand_dims(rows / rows.mean(-1, True), -1) * ops.expand_dims(columns, -2)

    @staticmethod
    def _blended(state: ParameterTuple, index: int, new: Tensor, keep: Any) -> Tensor:
        """Return the running average of the kept and the new values, and keep it."""
        blended = keep * state[index]._detached() + (1.0 - keep) * new
        state[index]._rebind(blended)
        return blended
