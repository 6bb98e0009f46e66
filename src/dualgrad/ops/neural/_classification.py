"""Losses of classification: cross entropies, from logits or from (logarithms of) probabilities.

A target of integers takes one logarithm for each sample, by a gather; samples of the class `ignore_index` count for
nothing. A target of probabilities is a weighted sum of all logarithms. Smoothing mixes a target with the uniform
distribution.

Nothing overflows or cancels. From logits the formulas go through log_softmax and softplus. Where a probability is 0 and
so is its weight, the product counts as 0 whatever the logarithm is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, integer, operand, permuted, to_shape, together, total
from ..index._indices import as_int64
from ..index.choice import where
from ._reduction import check_reduction, reduce_loss, same_or_broadcast
from ._softmax import log_softmax, softmax

__all__ = [
    "BCEWithLogitsLoss", "NLLLoss", "SoftmaxCrossEntropyWithLogits", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss",
]  # fmt: skip

_ABSORB_MUL, _GATHER, _LOG, _LOG1P, _NE, _SOFTPLUS = (
    OP["absorb_mul"], OP["gather"], OP["log"], OP["log1p"], OP["ne"], OP["softplus"]
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ two classes


def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Cross entropy of probabilities: ``-(labels * log(logits) + (1 - labels) * log(1 - logits))``.

    Parameters
    ----------
    logits : Tensor
        Probabilities, between 0 and 1.
    labels : Tensor
        Their targets, between 0 and 1, of a shape that broadcasts.
    weight : Tensor, optional
        Factors that broadcast.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape. A prediction that is certain and wrong costs inf.

    Raises
    ------
    ValueError
        For another reduction, or shapes that do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.binary_cross_entropy(dg.Tensor([0.5, 1.0]), dg.Tensor([1.0, 1.0]), reduction="sum"))
    0.693147
    """
    check_reduction("binary_cross_entropy", reduction)
    p, t = [floating("binary_cross_entropy", x) for x in together("binary_cross_entropy", logits, labels)]
    same_or_broadcast("binary_cross_entropy", "logits", p, "labels", t)
    yes = _engine.binary_op(_ABSORB_MUL, t, _engine.unary(_LOG, p))
    no = _engine.binary_op(_ABSORB_MUL, 1 - t, _engine.unary(_LOG1P, -p))
    return reduce_loss(_weighted("binary_cross_entropy", -(yes + no), weight), reduction)


def binary_cross_entropy_with_logits(
    logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of the probabilities ``sigmoid(logits)``, exact for logits of any size.

    Parameters
    ----------
    logits : Tensor
        Any shape.
    label : Tensor
        Targets between 0 and 1, of a shape that broadcasts.
    weight : Tensor, optional
        Factors that broadcast.
    pos_weight : Tensor, optional
        Factors of the part in which the label is 1.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, or shapes that do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, t = dg.Tensor([0.0, 800.0, -800.0]), dg.Tensor([1.0, 1.0, 1.0])
    >>> print(ops.binary_cross_entropy_with_logits(x, t, reduction="none"))
    [6.931472e-01 0.000000e+00 8.000000e+02]
    """
    name = "binary_cross_entropy_with_logits"
    check_reduction(name, reduction)
    x, t = [floating(name, x) for x in together(name, logits, label)]
    same_or_broadcast(name, "logits", x, "label", t)
    yes = _engine.binary_op(_ABSORB_MUL, t, _engine.unary(_SOFTPLUS, -x))
    no = _engine.binary_op(_ABSORB_MUL, 1 - t, _engine.unary(_SOFTPLUS, x))
    return reduce_loss(_weighted(name, _weighted(name, yes, pos_weight) + no, weight), reduction)


def _weighted(name: str, loss: Tensor, weight: Any) -> Tensor:
    if weight is None:
        return loss
    w = operand(name, weight)
    same_or_broadcast(name, "the loss", loss, "weight", w)
    return loss * w


# ----------------------------------------------------------------------------------------------- many classes


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float | Tensor = 0.0,
) -> Tensor:
    """Cross entropy of the probabilities ``softmax(input)``.

    Parameters
    ----------
    input : Tensor
        Logits, of shape (N, C, ...) or (C,) for C classes.
    target : Tensor
        The class of each sample, integers of shape (N, ...) or (); or probabilities of the shape of `input`.
    weight : Tensor, optional
        A factor for each class, of shape (C,).
    ignore_index : int, default -100
        Samples of this class count for nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        'mean' divides by the sum of the weights of the samples, or by their number for probabilities.
    label_smoothing : float or Tensor, default 0.0
        The share of the uniform distribution in the target, between 0 and 1.

    Returns
    -------
    Tensor
        Without axes; for 'none' of shape (N, ...).

    Raises
    ------
    ValueError
        For another reduction, shapes that do not fit, or classes out of range.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> logits = dg.Tensor([[0.0, 0.0], [0.0, 800.0]])
    >>> print(ops.cross_entropy(logits, dg.Tensor([0, 0]), reduction="none"))
    [6.931472e-01 8.000000e+02]
    """
    x, name = floating("cross_entropy", input), "cross_entropy"
    if not x.ndim:
        raise ValueError("cross_entropy: the input has no axes; expected shape (N, C, ...) or (C,)")
    return _entropy(name, log_softmax(x, _class_axis(x)), target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(
    inputs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float | Tensor = 0.0,
) -> Tensor:
    """Negative log likelihood: `cross_entropy` of logarithms of probabilities.

    Parameters
    ----------
    inputs : Tensor
        Logarithms of probabilities, of shape (N, C, ...) or (C,) for C classes.
    target : Tensor
        The class of each sample, integers of shape (N, ...) or ().
    weight : Tensor, optional
        A factor for each class, of shape (C,).
    ignore_index : int, default -100
        Samples of this class count for nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        'mean' divides by the sum of the weights of the samples.
    label_smoothing : float or Tensor, default 0.0
        The share of the uniform distribution in the target, between 0 and 1.

    Returns
    -------
    Tensor
        Without axes; for 'none' of shape (N, ...).

    Raises
    ------
    ValueError
        For another reduction, shapes that do not fit, or classes out of range.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> logs = dg.Tensor([[-0.5, -1.0], [-2.0, -0.25]])
    >>> print(ops.nll_loss(logs, dg.Tensor([0, 1]), reduction="none"))
    [0.5  0.25]
    """
    x = floating("nll_loss", inputs)
    if not x.ndim:
        raise ValueError("nll_loss: inputs has no axes; expected shape (N, C, ...) or (C,)")
    return _entropy("nll_loss", x, target, weight, ignore_index, reduction, label_smoothing)


def _class_axis(x: Tensor) -> int:
    return 0 if x.ndim == 1 else 1


class _Picked(NamedTuple):
    """Terms of a loss, one for each sample, and the weights of the samples (None if all are 1)."""

    loss: Tensor
    weights: Tensor | None


def _entropy(
    name: str, logs: Tensor, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float | Tensor
) -> Tensor:
    """The loss from logarithms of probabilities."""
    check_reduction(name, reduction)
    smoothing = real_number(name, "label_smoothing", smoothing)
    if isinstance(smoothing, Tensor) and smoothing.ndim:
        raise ValueError(f"{name}: label_smoothing has shape {smoothing.shape}; expected a single number")
    if not 0.0 <= smoothing <= 1.0:
        raise ValueError(f"{name}: label_smoothing is {smoothing}; expected a number from 0 to 1")
    smooths = isinstance(smoothing, Tensor) or smoothing != 0  # a tensor has a derivative at 0, too
    t, axis = operand(name, target), _class_axis(logs)
    classes = logs.shape[axis]
    w = None if weight is None else operand(name, weight)
    if w is not None and w.shape != (classes,):
        raise ValueError(f"{name}: weight has shape {w.shape}; expected ({classes},), one factor for each class")
    samples = logs.shape[:axis] + logs.shape[axis + 1 :]
    if t.dtype.is_float:
        if t.shape != logs.shape:
            raise ValueError(f"{name}: the target has shape {t.shape}; expected probabilities of shape {logs.shape}")
        mixed = t * (1.0 - smoothing) + smoothing / classes if smooths else t
        loss = -total(_engine.binary_op(_ABSORB_MUL, mixed, _by_class(logs, w, axis)), (axis,), False)
        if reduction == "none":
            return loss
        summed = total(loss, ALL_AXES[loss.ndim], False)
        return summed if reduction == "sum" else summed / max(logs.shape[0] if logs.ndim > 1 else 1, 1)
    if t.shape != samples:
        raise ValueError(
            f"{name}: the target has shape {t.shape} for an input of shape {logs.shape}; expected {samples}, "
            f"the class of each sample"
        )
    picked = _pick(name, logs, t, w, axis, integer(name, "ignore_index", ignore_index))
    loss = picked.loss
    if smooths:
        spread = -total(_by_class(logs, w, axis), (axis,), False) * (smoothing / classes)
        if picked.weights is not None:
            spread = where(_engine.binary_op(_NE, as_int64(t), ignore_index), spread, 0.0)
        loss = loss * (1.0 - smoothing) + spread
    if reduction == "mean" and picked.weights is not None:
        every = ALL_AXES[loss.ndim]
        return total(loss, every, False) / total(picked.weights, every, False)
    return reduce_loss(loss, reduction)


def _by_class(logs: Tensor, w: Tensor | None, axis: int) -> Tensor:
    """The logarithms times the weights of their classes."""
    if w is None:
        return logs
    return logs * to_shape(w, w.shape + (1,) * (logs.ndim - 1 - axis))


def _pick(name: str, logs: Tensor, t: Tensor, w: Tensor | None, axis: int, ignore_index: int) -> _Picked:
    """The loss and the weight of each sample, by its class."""
    classes = logs.shape[axis]
    if t.dtype.is_bool or not t.dtype.is_int:
        raise TypeError(f"{name}: the target has type {t.dtype}; expected integers or probabilities")

    def check(values: np.ndarray) -> None:
        wrong = values[((values < 0) | (values >= classes)) & (values != ignore_index)]
        if wrong.size:
            raise ValueError(f"{name}: the target holds the class {wrong[0]}; expected 0 to {classes - 1}")

    # The class to ignore may be out of the range of an unsigned type.
    t = as_int64(_engine.inspect(t, check))
    keep = _engine.binary_op(_NE, t, ignore_index)
    index = where(keep, t, 0)
    rows = permuted(logs, tuple(k for k in range(logs.ndim) if k != axis) + (axis,))
    flat = to_shape(rows, (t.size, classes))
    numbers = np.arange(t.size)
    loss = -to_shape(_engine.apply(_GATHER, (0, 1), flat, numbers, to_shape(index, (t.size,))), t.shape)
    if w is None:
        return _Picked(where(keep, loss, 0.0), _engine.convert(keep, logs._typenum))
    weights = to_shape(_engine.apply(_GATHER, (0,), w, to_shape(index, (t.size,))), t.shape)
    return _Picked(where(keep, loss * weights, 0.0), where(keep, weights, 0.0))


# ------------------------------------------------------------------------------------------ primitive classes


class NLLLoss(Primitive):
    """Primitive class of `nll_loss`: ``ops.NLLLoss(reduction, ignore_index)(logits, labels, weight)``.

    Returns the loss and the sum of the weights of the samples.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> logs = dg.Tensor([[-0.5, -1.0], [-2.0, -0.25]])
    >>> loss, total = ops.NLLLoss()(logs, dg.Tensor([0, 1]), dg.Tensor([1.0, 3.0]))
    >>> print(loss, total)
    0.3125 4.0
    """

    __slots__ = ("ignore_index", "reduction")

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        check_reduction("NLLLoss", reduction)
        self.reduction: str = reduction
        self.ignore_index: int = ignore_index

    def __call__(self, logits: Any, labels: Any, weight: Any) -> tuple[Tensor, Tensor]:
        x, t, w = floating("NLLLoss", logits), operand("NLLLoss", labels), operand("NLLLoss", weight)
        loss = nll_loss(x, t, w, self.ignore_index, self.reduction)
        weights = _pick("NLLLoss", x, t, w, _class_axis(x), self.ignore_index).weights
        assert weights is not None
        return loss, total(weights, ALL_AXES[weights.ndim], False)


class BCEWithLogitsLoss(Primitive):
    """Primitive class of `binary_cross_entropy_with_logits`.

    ``ops.BCEWithLogitsLoss(reduction='mean')(logits, label, weight, pos_weight)``.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> loss = ops.BCEWithLogitsLoss()
    >>> one = dg.Tensor([1.0])
    >>> print(loss(dg.Tensor([0.0]), one, one, one))
    0.6931472
    """

    __slots__ = ("reduction",)

    def __init__(self, reduction: str = "mean") -> None:
        check_reduction("BCEWithLogitsLoss", reduction)
        self.reduction: str = reduction

    def __call__(self, logits: Any, label: Any, weight: Any = None, pos_weight: Any = None) -> Tensor:
        return binary_cross_entropy_with_logits(logits, label, weight, pos_weight, self.reduction)


class SoftmaxCrossEntropyWithLogits(Primitive):
    """Cross entropy of the probabilities ``softmax(logits)`` with target probabilities, and its derivative.

    ``ops.SoftmaxCrossEntropyWithLogits()(logits, labels)``, both of shape (N, C), gives the loss of each sample,
    shape (N,), and its derivative by the logits, shape (N, C).

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> loss, slope = ops.SoftmaxCrossEntropyWithLogits()(dg.Tensor([[1.0, 1.0]]), dg.Tensor([[0.0, 1.0]]))
    >>> print(loss, slope)
    [0.693147] [[ 0.5 -0.5]]
    """

    __slots__ = ()

    def __call__(self, logits: Any, labels: Any) -> tuple[Tensor, Tensor]:
        name = "SoftmaxCrossEntropyWithLogits"
        x, t = floating(name, logits), floating(name, labels)
        if x.ndim != 2 or t.shape != x.shape:
            raise ValueError(f"{name}: logits have shape {x.shape} and labels {t.shape}; expected (N, C) for both")
        loss = -total(_engine.binary_op(_ABSORB_MUL, t, log_softmax(x, 1)), (1,), False)
        return loss, softmax(x, 1) * total(t, (1,), True) - t
