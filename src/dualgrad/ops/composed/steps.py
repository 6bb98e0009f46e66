"""Primitive classes that change parameters: one step of an optimiser each.

They are called with the parameter, the state of the optimiser, the gradient and the numbers of the step, and change the
parameter and the state in place, as `assign` does. A step is never differentiated. The optimisers of `nn` keep their
state and take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arguments import operand, to_shape
from ..index._indices import index_tensor
from ..index._scatter import index_add
from ..index.choice import where
from ..shape.creation import ones, zeros
from . import _steps
from ._classes import REQUIRED
from ._step import Step

__all__ = [
    "SGD", "Adam", "AdamWeightDecay", "ApplyAdaMax", "ApplyAdadelta", "ApplyAdagrad", "ApplyAdagradDA",
    "ApplyAdagradV2", "ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2", "ApplyAddSign", "ApplyCenteredRMSProp",
    "ApplyFtrl", "ApplyGradientDescent", "ApplyKerasMomentum", "ApplyMomentum", "ApplyPowerSign",
    "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "ApplyRMSProp", "FusedSparseAdam", "FusedSparseFtrl",
    "FusedSparseLazyAdam", "FusedSparseProximalAdagrad", "SparseApplyAdagrad", "SparseApplyAdagradV2",
    "SparseApplyFtrl", "SparseApplyRMSProp",
]  # fmt: skip


def _corrected(lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    """The learning rate of Adam with bias correction, by the powers of beta1 and beta2 at this step."""
    return lr * (1.0 - beta2_power) ** 0.5 / (1.0 - beta1_power)


def _momentum(
    variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, gradient_scale: float, **given: Any
) -> tuple[Any, ...]:
    gradient = gradient if gradient_scale == 1.0 else gradient * gradient_scale
    return _steps.momentum(variable, accumulation, gradient, learning_rate, **given)


def _adam(beta1_power: Any, beta2_power: Any, lr: Any, gradient: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.adam(lr=_corrected(lr, beta1_power, beta2_power), grad=gradient, **given)


def _amsgrad(beta1_power: Any, beta2_power: Any, lr: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.amsgrad(lr=_corrected(lr, beta1_power, beta2_power), use_nesterov=False, **given)


def _ada_max(beta1_power: Any, lr: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.ada_max(lr=lr / (1.0 - beta1_power), **given)


def _rms_prop(learning_rate: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.rms_prop(lr=learning_rate, **given)


def _sgd(parameters: Any, gradient: Any, learning_rate: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.sgd(var=parameters, grad=gradient, lr=learning_rate, **given)


def _descent(var: Any, alpha: Any, delta: Any) -> tuple[Any, ...]:
    return _steps.gradient_descent(var, delta, alpha)


def _proximal_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> tuple[Any, ...]:
    return _steps.proximal_gradient_descent(var, delta, alpha, l1, l2)


def _adagrad_da(gradient_accumulator: Any, gradient_squared_accumulator: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.adagrad_da(gradients=gradient_accumulator, squares=gradient_squared_accumulator, **given)


def _of_rows(update: Callable[..., tuple[Any, ...]], changed: str, all_rows: bool = False) -> Callable[..., Any]:
    """A step whose gradient has some of the rows only; gradients of the same row are added up, missing gradients are 0.

    With `all_rows` a row without a gradient takes its step, too; otherwise it does not change.
    """

    def updated(grad: Any, indices: Any, **given: Any) -> tuple[Any, ...]:
        before = [given[each] for each in changed.split()]
        rows, index = operand("grad", grad), index_tensor("indices", indices)
        after = update(grad=index_add(before[0] * 0.0, index, rows.astype(before[0].dtype), 0), **given)
        if all_rows:
            return after
        length = before[0].shape[0]
        touched = index_add(zeros((length,)), index, ones(index.shape), 0) > 0
        touched = to_shape(touched, (length,) + (1,) * (before[0].ndim - 1))
        return tuple([where(touched, new, old) for new, old in zip(after, before, strict=True)])

    return updated


def _row_after_row(update: Callable[..., tuple[Any, ...]], changed: str) -> Callable[..., Any]:
    """A step whose gradient has some of the rows only; a row that comes again takes a further step."""
    of_rows = _of_rows(update, changed)

    def updated(grad: Any, indices: Any, **given: Any) -> tuple[Any, ...]:
        rows, index = operand("grad", grad), index_tensor("indices", indices)
        seen: dict[int, int] = {}
        turns = []
        for row in index.tolist():
            seen[row] = seen.get(row, 0) + 1
            turns.append(seen[row])
        for turn in range(1, max(turns, default=0) + 1):
            chosen = np.flatnonzero(np.equal(turns, turn))
            after = of_rows(grad=rows[chosen], indices=index[chosen], **given)
            given.update(zip(changed.split(), after, strict=True))
        return tuple([given[each] for each in changed.split()])

    return updated


# --------------------------------------------------------------------------------------------------- classes


class SGD(
    Step,
    update=_sgd,
    inputs="parameters gradient learning_rate accum momentum stat",
    changed="parameters accum stat",
    first=True,
    like="nn.SGD",
    dampening=0.0,
    weight_decay=0.0,
    nesterov=False,
):
    __slots__ = ()


class ApplyMomentum(
    Step,
    update=_momentum,
    inputs="variable accumulation learning_rate gradient momentum",
    changed="variable accumulation",
    first=True,
    like="nn.Momentum",
    use_nesterov=False,
    use_locking=False,
    gradient_scale=1.0,
):
    __slots__ = ()


class ApplyKerasMomentum(
    Step,
    update=_steps.keras_momentum,
    inputs="var accum lr grad momentum",
    changed="var accum",
    like="nn.Momentum",
    use_locking=False,
    use_nesterov=False,
):
    __slots__ = ()


class Adam(
    Step,
    update=_adam,
    inputs="var m v beta1_power beta2_power lr beta1 beta2 epsilon gradient",
    changed="var m v",
    like="nn.Adam",
    use_locking=False,
    use_nesterov=False,
):
    __slots__ = ()


class AdamWeightDecay(
    Step,
    update=lambda gradient, **given: _steps.adam_weight_decay(grad=gradient, **given),
    inputs="var m v lr beta1 beta2 epsilon decay gradient",
    changed="var m v",
    like="nn.AdamWeightDecay",
    use_locking=False,
):
    __slots__ = ()


class ApplyAdamWithAmsgrad(
    Step,
    update=_amsgrad,
    inputs="var m v vhat beta1_power beta2_power lr grad",
    changed="var m v vhat",
    like="nn.Adam",
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    use_locking=False,
):
    __slots__ = ()


class ApplyAdamWithAmsgradV2(
    Step,
    update=_amsgrad,
    inputs="var m v vhat beta1_power beta2_power lr beta1 beta2 epsilon grad",
    changed="var m v vhat",
    like="nn.Adam",
    use_locking=False,
):
    __slots__ = ()


class ApplyAdaMax(
    Step,
    update=_ada_max,
    inputs="var m v beta1_power lr beta1 beta2 epsilon grad",
    changed="var m v",
    like="nn.AdaMax",
):
    __slots__ = ()


class ApplyRMSProp(
    Step,
    update=_rms_prop,
    inputs="var mean_square moment learning_rate grad decay momentum epsilon",
    changed="var mean_square moment",
    first=True,
    like="nn.RMSProp",
    use_locking=False,
):
    __slots__ = ()


class ApplyCenteredRMSProp(
    Step,
    update=lambda learning_rate, **given: _steps.centered_rms_prop(lr=learning_rate, **given),
    inputs="var mean_gradient mean_square moment grad learning_rate decay momentum epsilon",
    changed="var mean_gradient mean_square moment",
    first=True,
    like="nn.RMSProp",
    use_locking=False,
):
    __slots__ = ()


class ApplyAdagrad(
    Step,
    update=_steps.adagrad,
    inputs="var accum lr grad",
    changed="var accum",
    like="nn.Adagrad",
    update_slots=True,
):
    __slots__ = ()


class ApplyAdagradV2(
    Step,
    update=_steps.adagrad,
    inputs="var accum lr grad",
    changed="var accum",
    like="nn.Adagrad",
    epsilon=REQUIRED,
    update_slots=True,
):
    __slots__ = ()


class ApplyAdagradDA(
    Step,
    update=_adagrad_da,
    inputs="var gradient_accumulator gradient_squared_accumulator grad lr l1 l2 global_step",
    changed="var gradient_accumulator gradient_squared_accumulator",
    first=True,
    like="nn.Adagrad",
    use_locking=False,
):
    __slots__ = ()


class ApplyAdadelta(
    Step,
    update=_steps.adadelta,
    inputs="var accum accum_update lr rho epsilon grad",
    changed="var accum accum_update",
    like="nn.Adadelta",
):
    __slots__ = ()


class ApplyFtrl(
    Step,
    update=_steps.ftrl,
    inputs="var accum linear grad lr l1 l2 lr_power",
    changed="var accum linear",
    first=True,
    like="nn.FTRL",
    use_locking=False,
):
    __slots__ = ()


class ApplyGradientDescent(Step, update=_descent, inputs="var alpha delta", changed="var", like="nn.SGD"):
    __slots__ = ()


class ApplyProximalGradientDescent(
    Step, update=_proximal_descent, inputs="var alpha l1 l2 delta", changed="var", like="nn.ProximalAdagrad"
):
    __slots__ = ()


class ApplyProximalAdagrad(
    Step,
    update=_steps.proximal_adagrad,
    inputs="var accum lr l1 l2 grad",
    changed="var accum",
    like="nn.ProximalAdagrad",
    use_locking=False,
):
    __slots__ = ()


class ApplyAddSign(
    Step,
    update=_steps.add_sign,
    inputs="var m lr alpha sign_decay beta grad",
    changed="var m",
    like="nn.SGD",
):
    __slots__ = ()


class ApplyPowerSign(
    Step,
    update=_steps.power_sign,
    inputs="var m lr logbase sign_decay beta grad",
    changed="var m",
    like="nn.SGD",
):
    __slots__ = ()


_SPARSE_ADAM = "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad indices"


def _adam_of_rows(grad: Any, **given: Any) -> tuple[Any, ...]:
    return _adam(gradient=grad, **given)


class FusedSparseAdam(
    Step,
    update=_of_rows(_adam_of_rows, "var m v", True),
    inputs=_SPARSE_ADAM,
    changed="var m v",
    like="nn.Adam",
    use_locking=False,
    use_nesterov=False,
):
    __slots__ = ()


class FusedSparseLazyAdam(
    Step,
    update=_of_rows(_adam_of_rows, "var m v"),
    inputs=_SPARSE_ADAM,
    changed="var m v",
    like="nn.Adam",
    use_locking=False,
    use_nesterov=False,
):
    __slots__ = ()


class FusedSparseFtrl(
    Step,
    update=_of_rows(_steps.ftrl, "var accum linear"),
    inputs="var accum linear grad indices",
    changed="var accum linear",
    like="nn.FTRL",
    lr=REQUIRED,
    l1=REQUIRED,
    l2=REQUIRED,
    lr_power=REQUIRED,
    use_locking=False,
):
    __slots__ = ()


class FusedSparseProximalAdagrad(
    Step,
    update=_of_rows(_steps.proximal_adagrad, "var accum"),
    inputs="var accum lr l1 l2 grad indices",
    changed="var accum",
    like="nn.ProximalAdagrad",
    use_locking=False,
):
    __slots__ = ()


def _rms_prop_of_rows(ms: Any, mom: Any, rho: Any, **given: Any) -> tuple[Any, ...]:
    return _steps.rms_prop(mean_square=ms, moment=mom, decay=rho, **given)


class SparseApplyAdagrad(
    Step,
    update=_of_rows(_steps.adagrad, "var accum"),
    inputs="var accum grad indices",
    changed="var accum",
    like="nn.Adagrad",
    lr=REQUIRED,
    update_slots=True,
    use_locking=False,
):
    __slots__ = ()


class SparseApplyAdagradV2(
    Step,
    update=_row_after_row(_steps.adagrad, "var accum"),
    inputs="var accum grad indices",
    changed="var accum",
    like="nn.Adagrad",
    lr=REQUIRED,
    epsilon=REQUIRED,
    use_locking=False,
    update_slots=True,
):
    __slots__ = ()


class SparseApplyFtrl(
    Step,
    update=_row_after_row(_steps.ftrl, "var accum linear"),
    inputs="var accum linear grad indices",
    changed="var accum linear",
    like="nn.FTRL",
    lr=REQUIRED,
    l1=REQUIRED,
    l2=REQUIRED,
    lr_power=REQUIRED,
    use_locking=False,
):
    __slots__ = ()


class SparseApplyRMSProp(
    Step,
    update=_row_after_row(_rms_prop_of_rows, "var ms mom"),
    inputs="var ms mom lr grad indices",
    changed="var ms mom",
    like="nn.RMSProp",
    rho=REQUIRED,
    momentum=REQUIRED,
    epsilon=REQUIRED,
    use_locking=False,
):
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
