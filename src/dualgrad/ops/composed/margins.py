"""Losses with margins, and primitive classes of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._settings import number_or_tensor, one_of, real_number, truth_value
from ...tensor import Tensor
from .._arguments import floating, operand, to_shape, together, total
from ..index._indices import index_tensor
from ..index.choice import where
from ..index.gather import gather_elements, one_hot
from ..linalg.norms import vector_norm
from ..math import elementwise as _rows
from ..math.reductions import mean
from ..neural._classification import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy
from ..neural._reduction import check_reduction, reduce_loss
from ..neural._softmax import softmax
from ..neural.activations import logsigmoid, softplus
from ..neural.losses import smooth_l1_loss
from ._classes import Derived

__all__ = [
    "BinaryCrossEntropy", "SigmoidCrossEntropyWithLogits", "SmoothL1Loss", "SoftMarginLoss",
    "SparseSoftmaxCrossEntropyWithLogits", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Parameters
    ----------
    input1, input2 : Tensor
        Scores, shapes that broadcast.
    target : Tensor
        1 where the first score should be larger, -1 where the second.
    margin : float, default 0.0
        The least difference.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.margin_ranking_loss(dg.Tensor([1.0]), dg.Tensor([3.0]), dg.Tensor([1.0])))
    2.0
    """
    check_reduction("margin_ranking_loss", reduction)
    a, b, t = together("margin_ranking_loss", input1, input2, target)
    margin = number_or_tensor("margin_ranking_loss", "margin", margin)
    return reduce_loss(_rows.relu(-t * (a - b) + margin), reduction)


def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """X where the target is 1, ``max(0, margin - x)`` where it is -1.

    Parameters
    ----------
    inputs : Tensor
        Distances.
    targets : Tensor
        1 or -1; a shape that broadcasts.
    margin : float, default 1.0
        As in the formula.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hinge_embedding_loss(dg.Tensor([0.25, 0.25]), dg.Tensor([1, -1]), reduction="none"))
    [0.25 0.75]
    """
    check_reduction("hinge_embedding_loss", reduction)
    x, t = floating("hinge_embedding_loss", inputs), operand("hinge_embedding_loss", targets)
    margin = number_or_tensor("hinge_embedding_loss", "margin", margin)
    loss = where(t == 1, x, 0.0) + where(t == -1, _rows.relu(margin - x), 0.0)
    return reduce_loss(loss, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``, computed without overflow.

    Parameters
    ----------
    input, target : Tensor
        Scores, and 1 or -1; one shape.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.soft_margin_loss(dg.Tensor([0.0]), dg.Tensor([1.0])))
    0.6931472
    """
    check_reduction("soft_margin_loss", reduction)
    x, t = together("soft_margin_loss", floating("soft_margin_loss", input), target)
    if x.shape != t.shape:
        raise ValueError(f"soft_margin_loss: shapes {x.shape} and {t.shape}; expected one shape")
    return reduce_loss(softplus(-t * x), reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Mean over classes of the cross entropy of each class by itself.

    Parameters
    ----------
    input, target : Tensor
        Scores, and 1 or 0 for each class; shape (N, C).
    weight : Tensor, optional
        A factor for each class.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multilabel_soft_margin_loss(dg.Tensor([[0.0, 0.0]]), dg.Tensor([[1.0, 0.0]])))
    0.6931472
    """
    name = "multilabel_soft_margin_loss"
    check_reduction(name, reduction)
    x, t = together(name, floating(name, input), target)
    loss = -(t * logsigmoid(x) + (1 - t) * logsigmoid(-x))
    loss = loss if weight is None else loss * operand(name, weight)
    return reduce_loss(mean(loss, -1), reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Mean over the other classes j of ``max(0, margin - x[target] + x[j])**p``.

    Parameters
    ----------
    input : Tensor
        Scores, shape (N, C).
    target : Tensor of int
        Classes, shape (N,).
    p : {1, 2}, default 1
        The exponent.
    margin : float, default 1
        As in the formula.
    weight : Tensor, optional
        A factor for each class, shape (C,).
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multi_margin_loss(dg.Tensor([[0.5, 0.0]]), dg.Tensor([0])))
    0.25
    """
    name = "multi_margin_loss"
    check_reduction(name, reduction)
    x, t = floating(name, input), index_tensor(name, target)
    if x.ndim != 2 or t.shape != x.shape[:1] or not one_of(p, (1, 2)):
        raise ValueError(f"{name}: shapes {x.shape} and {t.shape}, p {p}; expected (N, C), (N,) and 1 or 2")
    margin = number_or_tensor(name, "margin", margin)
    column = to_shape(t, (t.size, 1))
    loss = _rows.relu(margin - gather_elements(x, 1, column) + x)
    loss = loss if p == 1 else _rows.square(loss)
    if weight is not None:
        loss = loss * gather_elements(operand(name, weight), 0, t).reshape(-1, 1)
    loss = where(column == np.arange(x.shape[1]), 0.0, loss)
    return reduce_loss(total(loss, (1,), False) / x.shape[1], reduction)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Sum of ``max(0, 1 - x[i] + x[j])`` over classes i of a sample and others j, divided by the number of classes.

    Parameters
    ----------
    input : Tensor
        Scores, shape (N, C) or (C,).
    target : Tensor of int
        The classes of each sample, up to the first -1; the shape of `input`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multilabel_margin_loss(dg.Tensor([[0.5, 0.0]]), dg.Tensor([[0, -1]])))
    0.25
    """
    name = "multilabel_margin_loss"
    check_reduction(name, reduction)
    x, t = floating(name, input), index_tensor(name, target)
    if x.ndim not in (1, 2) or t.shape != x.shape:
        raise ValueError(f"{name}: shapes {x.shape} and {t.shape}; expected (N, C) or (C,) for both")
    c = x.shape[-1]
    there = (t < 0).astype(_dtype.int64).cumsum(-1) == 0
    place = where(there, t, 0)
    own = (to_shape(place, (*t.shape, 1)) == np.arange(c)) & to_shape(there, (*t.shape, 1))  # (..., which, class)
    foreign = total(own.astype(_dtype.int64), (x.ndim - 1,), True) == 0
    loss = _rows.relu(1 - to_shape(gather_elements(x, -1, place), (*t.shape, 1)) + to_shape(x, (*x.shape[:-1], 1, c)))
    loss = where(foreign & to_shape(there, (*t.shape, 1)), loss, 0.0)
    return reduce_loss(total(loss, (x.ndim - 1, x.ndim), False) / c, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, d the p-norm over the last axis.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Shapes that broadcast.
    margin : float, default 1.0
        As in the formula.
    p : int, default 2
        The order of the norm.
    eps : float, default 1e-6
        Added to each difference.
    swap : bool, default False
        True to use the distance of positive and negative if it is smaller than the distance of anchor and negative.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[0.0, 0.0]])
    >>> print(ops.triplet_margin_loss(x, x + 3.0, x + 3.0).round(3))
    1.0
    """
    name = "triplet_margin_loss"
    check_reduction(name, reduction)
    a, b, c = [floating(name, x) for x in together(name, anchor, positive, negative)]
    margin, eps = number_or_tensor(name, "margin", margin), number_or_tensor(name, "eps", eps)
    p, swap = real_number(name, "p", p), truth_value(name, "swap", swap)

    def distance(x: Tensor, y: Tensor) -> Tensor:
        difference = x - y + eps
        if not difference.ndim:
            raise ValueError(f"{name}: the operands are numbers; expected vectors along the last axis")
        return vector_norm(difference, p, (difference.ndim - 1,), False)

    far = distance(a, c)
    if swap:
        far = _rows.minimum(far, distance(b, c))
    return reduce_loss(_rows.relu(distance(a, b) - far + margin), reduction)


# ------------------------------------------------------------------------------------------ primitive classes


def _sparse(logits: Any, labels: Any, is_grad: bool) -> Tensor:
    if is_grad:
        x, t = floating("SparseSoftmaxCrossEntropyWithLogits", logits), index_tensor("labels", labels)
        return (softmax(x, 1) - one_hot(t, x.shape[1]).astype(x.dtype)) / x.shape[0]
    return cross_entropy(logits, labels)


def _each(logits: Any, label: Any) -> Tensor:
    return binary_cross_entropy_with_logits(logits, label, reduction="none")


def _entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    return binary_cross_entropy(logits, labels, weight, reduction)


class BinaryCrossEntropy(Derived, function=_entropy, reduction="mean"):
    """Primitive class of `binary_cross_entropy`: ``ops.BinaryCrossEntropy(reduction='mean')(logits, labels, weight)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.BinaryCrossEntropy()(dg.Tensor([0.5]), dg.Tensor([1.0])))
    0.6931472
    """

    __slots__ = ()


class SigmoidCrossEntropyWithLogits(Derived, function=_each):
    """`binary_cross_entropy_with_logits`, not reduced: ``ops.SigmoidCrossEntropyWithLogits()(logits, label)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SigmoidCrossEntropyWithLogits()(dg.Tensor([0.0]), dg.Tensor([1.0])))
    [0.6931472]
    """

    __slots__ = ()


class SmoothL1Loss(Derived, function=smooth_l1_loss, beta=1.0, reduction="none", call="prediction, target", example="""
>>> print(ops.SmoothL1Loss()(dg.Tensor([1.0]), dg.Tensor([4.0])))
[2.5]
"""):  # fmt: skip
    __slots__ = ()


class SoftMarginLoss(Derived, function=soft_margin_loss, reduction="mean", call="predict, label", example="""
>>> print(ops.SoftMarginLoss()(dg.Tensor([0.0]), dg.Tensor([1.0])))
0.6931472
"""):  # fmt: skip
    __slots__ = ()


class SparseSoftmaxCrossEntropyWithLogits(Derived, function=_sparse, is_grad=False):
    """`cross_entropy` with classes as labels.

    Called as ``ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels)``. With
    `is_grad` its gradient by the logits.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SparseSoftmaxCrossEntropyWithLogits()(dg.Tensor([[0.0, 0.0]]), dg.Tensor([1])))
    0.6931472
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
