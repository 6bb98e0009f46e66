"""Losses of ranking, margins, overlaps and sequences: functions of `dualgrad.ops`, or formulas, with settings."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad._settings import real_number, truth_value
from dualgrad.nn.losses import LossBase
from dualgrad.ops._arguments import floating, operand, together
from dualgrad.ops.index._indices import index_tensor
from dualgrad.tensor import Tensor

__all__ = [
    "CTCLoss", "DiceLoss", "FocalLoss", "HingeEmbeddingLoss", "MAELoss", "MarginRankingLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultilabelMarginLoss", "PoissonNLLLoss", "SoftMarginLoss",
    "TripletMarginLoss",
]  # fmt: skip


class MAELoss(LossBase):
    """Distance ``|logits - label|``; the derivative at 0 is 0. The same as `L1Loss`.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Raises
    ------
    ValueError
        If `reduction` is something else, or the shapes do not broadcast.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MAELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
    1.0
    """

    def construct(self, logits: Tensor, label: Any) -> Tensor:
        return ops.l1_loss(logits, label, self.reduction)


class CTCLoss(LossBase):
    """Loss of labels without their times; see `ops.ctc_loss`.

    Called as ``(log_probs, targets, input_lengths, target_lengths)``, it returns the loss alone.

    Parameters
    ----------
    blank, reduction, zero_infinity
        As in `ops.ctc_loss`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import Tensor, nn
    >>> log_probs = Tensor(np.log(np.full((2, 1, 2), 0.5)))
    >>> loss = nn.CTCLoss()(log_probs, Tensor([[1]]), Tensor([2]), Tensor([1]))
    >>> print(np.exp(-loss.asnumpy()).round(6))
    0.75
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        settings = (self.blank, self.reduction, self.zero_infinity)
        return ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, *settings)[0]


class MarginRankingLoss(LossBase):
    """Loss of scores that are not in the order of the targets; see `ops.margin_ranking_loss`.

    Parameters
    ----------
    margin, reduction
        As in `ops.margin_ranking_loss`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MarginRankingLoss()(Tensor([1.0]), Tensor([3.0]), Tensor([1.0])))
    2.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """Loss that makes distances small for one label, large for the other; see `ops.hinge_embedding_loss`.

    Parameters
    ----------
    margin, reduction
        As in `ops.hinge_embedding_loss`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.HingeEmbeddingLoss()(Tensor([0.25, 0.25]), Tensor([1, -1])))
    0.5
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """Logistic loss of two classes; see `ops.soft_margin_loss`.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SoftMarginLoss()(Tensor([0.0]), Tensor([1.0])))
    0.6931472
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Cross entropy of each class by itself; see `ops.multilabel_soft_margin_loss`.

    Parameters
    ----------
    weight, reduction
        As in `ops.multilabel_soft_margin_loss`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MultiLabelSoftMarginLoss()(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])))
    0.6931472
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """Loss that makes the score of one class larger than all others; see `ops.multi_margin_loss`.

    Parameters
    ----------
    p, margin, reduction, weight
        As in `ops.multi_margin_loss`; note the order.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MultiMarginLoss()(Tensor([[0.5, 0.0]]), Tensor([0])))
    0.25
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        self.p = p
        self.margin = margin
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multi_margin_loss(x, target, self.p, self.margin, self.weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """Loss that makes the scores of several classes larger than all others; see `ops.multilabel_margin_loss`.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of the samples.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.MultilabelMarginLoss()(Tensor([[0.5, 0.0]]), Tensor([[0, -1]])))
    0.25
    """

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class TripletMarginLoss(LossBase):
    """Loss that moves an anchor nearer to one point than to another; see `ops.triplet_margin_loss`.

    Called with ``(x, positive, negative)``.

    Parameters
    ----------
    p, swap, eps, reduction, margin
        As in `ops.triplet_margin_loss`; note the order.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> x = Tensor([[0.0, 0.0]])
    >>> print(nn.TripletMarginLoss()(x, x + 3.0, x + 3.0).round(3))
    1.0
    """

    def __init__(
        self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        self.p = p
        self.swap = swap
        self.eps = eps
        self.margin = margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        settings = self.margin, self.p, self.eps, self.swap, self.reduction
        return ops.triplet_margin_loss(x, positive, negative, *settings)


class PoissonNLLLoss(LossBase):
    """Negative logarithm of the likelihood of a Poisson distribution.

    Parameters
    ----------
    log_input : bool, default True
        True if the input is the logarithm of the mean: ``exp(x) - target * x``; else ``x - target * log(x + eps)``.
    full : bool, default False
        True to add Stirling's formula for the rest where the target is above 1.
    eps : float, default 1e-8
        Added under the logarithm.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.PoissonNLLLoss()(Tensor([0.0]), Tensor([3.0])))
    1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = truth_value("PoissonNLLLoss", "full", full)
        self.log_input = truth_value("PoissonNLLLoss", "log_input", self.log_input)
        self.eps = real_number("PoissonNLLLoss", "eps", eps)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        x, t = together("PoissonNLLLoss", input, target)
        loss = ops.exp(x) - t * x if self.log_input else x - t * ops.log(x + self.eps)
        if self.full:
            large = ops.where(t > 1, t, 2.0)
            stirling = large * ops.log(large) - large + 0.5 * ops.log(6.283185307179586 * large)
            loss = loss + ops.where(t > 1, stirling, 0.0)
        return self.get_loss(loss)


class DiceLoss(LossBase):
    """One minus the overlap of predictions and labels: ``1 - 2 sum(x y) / (sum(x^2) + sum(y^2) + smooth)``.

    Parameters
    ----------
    smooth : float, default 1e-5
        Added to the denominator.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.DiceLoss(0.0)(Tensor([[1.0, 0.0]]), Tensor([[1.0, 0.0]])))
    0.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        real_number("DiceLoss", "smooth", smooth)
        if smooth < 0:
            raise ValueError(f"DiceLoss: smooth is {smooth}; expected 0 or more")
        self.smooth = smooth

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        x, y = [floating("DiceLoss", part) for part in together("DiceLoss", logits, label)]
        if x.shape != y.shape:
            raise ValueError(f"DiceLoss: shapes {x.shape} and {y.shape}; expected one shape")
        sums = ops.sum(ops.square(x)) + ops.sum(ops.square(y))
        return 1 - 2 * ops.sum(x * y) / (sums + self.smooth)


class FocalLoss(LossBase):
    """Cross entropy that weighs certain predictions less: ``-(1 - p)**gamma * log(p)``, p for the target class.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class, shape (C,).
    gamma : float, default 2.0
        The exponent, from 0 to 5.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of the elements.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.FocalLoss(gamma=0.0)(Tensor([[0.0, 0.0]]), Tensor([[1]])))
    0.6931472
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        real_number("FocalLoss", "gamma", gamma)
        if not 0 <= gamma <= 5:
            raise ValueError(f"FocalLoss: gamma is {gamma}; expected a number from 0 to 5")
        self.weight: Tensor | None = None if weight is None else operand("FocalLoss", weight)
        self.gamma: float = float(gamma)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        x, t = floating("FocalLoss", logits), index_tensor("FocalLoss", labels)
        if x.ndim < 2 or t.shape != (x.shape[0], 1, *x.shape[2:]):
            raise ValueError(
                f"FocalLoss: logits have shape {x.shape} and labels {t.shape}; expected (N, C, ...) and (N, 1, ...)"
            )
        log_p = ops.gather_elements(ops.log_softmax(x, 1), 1, t)
        loss = -ops.pow(-ops.expm1(log_p), self.gamma) * log_p
        if self.weight is not None:
            loss = loss * self.weight[t]
        return self.get_loss(ops.squeeze(loss, 1))
