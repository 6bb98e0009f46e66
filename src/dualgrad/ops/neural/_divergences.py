"""Losses between distributions: Kullback-Leibler divergence, likelihood of a Gaussian.

Where a probability is 0, its product with a logarithm counts as 0, whatever the logarithm is.
"""

from __future__ import annotations

import math
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, operand, to_shape, total
from ..index.choice import clamp
from ._reduction import check_reduction, positive, reduce_loss, same_or_broadcast

__all__ = ["KLDivLoss", "gaussian_nll_loss", "kl_div"]

_ABSORB_MUL, _EXP, _LOG, _SQUARE = OP["absorb_mul"], OP["exp"], OP["log"], OP["square"]


def kl_div(logits: Any, labels: Any, reduction: str = "mean", *, log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence ``labels * (log(labels) - logits)`` of a prediction from a target.

    Parameters
    ----------
    logits : Tensor
        Logarithms of the predicted probabilities.
    labels : Tensor
        The target probabilities, of a shape that broadcasts. A probability of 0 costs nothing.
    reduction : {'mean', 'sum', 'none', 'batchmean'}, default 'mean'
        The reduction of the elementwise loss. 'batchmean' divides the sum by the length of the first axis, which gives
        the divergence of mathematics.
    log_target : bool, default False
        True if `labels` holds logarithms of the probabilities.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, shapes that do not broadcast, or 'batchmean' of a number.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> logits, labels = ops.log(dg.Tensor([0.25, 0.5, 0.25])), dg.Tensor([0.5, 0.5, 0.0])
    >>> print(ops.kl_div(logits, labels, "sum"))
    0.346574
    """
    return _kl_div("kl_div", logits, labels, reduction, log_target)


def _kl_div(name: str, logits: Any, labels: Any, reduction: str, log_target: bool) -> Tensor:
    _check_reduction(name, reduction)
    x, t = floating(name, logits), floating(name, labels)
    same_or_broadcast(name, "logits", x, "labels", t)
    truth_value(name, "log_target", log_target)
    if log_target:
        loss = _engine.binary_op(_ABSORB_MUL, _engine.unary(_EXP, t), t - x)
    else:
        entropy = _engine.binary_op(_ABSORB_MUL, t, _engine.unary(_LOG, t))
        loss = entropy - _engine.binary_op(_ABSORB_MUL, t, x)
    if reduction != "batchmean":
        return reduce_loss(loss, reduction)
    if not loss.ndim:
        raise ValueError(f"{name}: 'batchmean' needs a first axis to divide by; logits and labels are numbers")
    return total(loss, ALL_AXES[loss.ndim], False) / loss.shape[0]


def _check_reduction(name: str, reduction: Any) -> None:
    if not one_of(reduction, ("mean", "sum", "none", "batchmean")):
        raise ValueError(f"{name}: reduction is {reduction!r}; expected 'mean', 'sum', 'none' or 'batchmean'")


def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log likelihood of a Gaussian: ``0.5 * (log(v) + (x - target)**2 / v)`` with ``v = max(var, eps)``.

    Parameters
    ----------
    x : Tensor
        The predicted mean.
    target : Tensor
        The observed values, of a shape that broadcasts.
    var : Tensor
        The predicted variance: of the shape of `x`, of this shape without its last axis, or of a shape that broadcasts.
    full : bool, default False
        True to add the constant ``0.5 * log(2 * pi)``.
    eps : float, default 1e-6
        The smallest variance, positive. Below it the loss does not depend on `var`, and its derivative is 0.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, shapes that do not broadcast, or `eps` not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, t, v = dg.Tensor([1.0, 2.0]), dg.Tensor([1.0, 4.0]), dg.Tensor([1.0, 4.0])
    >>> print(ops.gaussian_nll_loss(x, t, v, reduction="none"))
    [0.       1.193147]
    """
    name = "gaussian_nll_loss"
    check_reduction(name, reduction)
    positive(name, "eps", eps)
    mean, t, v = floating(name, x), operand(name, target), floating(name, var)
    if v.shape != mean.shape and v.shape == mean.shape[:-1]:
        v = to_shape(v, v.shape + (1,))
    same_or_broadcast(name, "x", mean, "target", t)
    deviation = mean - t
    same_or_broadcast(name, "x - target", deviation, "var", v)
    v = clamp(v, min=eps)
    loss = (_engine.unary(_LOG, v) + _engine.unary(_SQUARE, deviation) / v) * 0.5
    truth_value(name, "full", full)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


class KLDivLoss(Primitive):
    """Primitive class of `kl_div`: ``ops.KLDivLoss(reduction='mean')(logits, labels)``.

    Parameters
    ----------
    reduction : {'mean', 'batchmean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Raises
    ------
    ValueError
        For another reduction, or inputs of different shapes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> half = dg.Tensor([0.5, 0.5])
    >>> print(ops.KLDivLoss("sum")(ops.log(half), half))
    0.0
    """

    __slots__ = ("reduction",)

    def __init__(self, reduction: str = "mean") -> None:
        _check_reduction("KLDivLoss", reduction)
        self.reduction: str = reduction

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        return _kl_div("KLDivLoss", logits, labels, self.reduction, False)
