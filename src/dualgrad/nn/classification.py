"""Losses of classification as Cells: the cross entropies of `dualgrad.ops` with their settings."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.losses import LossBase
from dualgrad.tensor import Tensor

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "NLLLoss", "SoftmaxCrossEntropyWithLogits"]


class BCELoss(LossBase):
    """Cross entropy of probabilities of two classes; see `ops.binary_cross_entropy`.

    Parameters
    ----------
    weight : Tensor, optional
        Factors of the elementwise loss.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.BCELoss(reduction="sum")(Tensor([0.5, 1.0]), Tensor([1.0, 1.0])))
    0.693147
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Cross entropy of the probabilities ``sigmoid(logits)``; see `ops.binary_cross_entropy_with_logits`.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.
    weight : Tensor, optional
        Factors of the elementwise loss.
    pos_weight : Tensor, optional
        Factors of the part where the label is 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.BCEWithLogitsLoss("sum")(Tensor([0.0, -800.0]), Tensor([1.0, 1.0])))
    800.693
    """

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.pos_weight = pos_weight

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)


class NLLLoss(LossBase):
    """Negative log likelihood: cross entropy of logarithms of probabilities; see `ops.nll_loss`.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class.
    ignore_index : int, default -100
        Samples of this class count for nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        'mean' divides by the sum of the weights of the samples.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.NLLLoss()(Tensor([[-0.5, -1.0], [-2.0, -0.25]]), Tensor([0, 1])))
    0.375
    """

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)

    def extend_repr(self) -> str:
        return f"ignore_index={self.ignore_index}, reduction={self.reduction}"


class CrossEntropyLoss(LossBase):
    """Cross entropy of the probabilities ``softmax(logits)``; see `ops.cross_entropy`.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class.
    ignore_index : int, default -100
        Samples of this class count for nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        'mean' divides by the sum of the weights of the samples, or by their number for probabilities.
    label_smoothing : float, default 0.0
        The share of the uniform distribution in the target, between 0 and 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.CrossEntropyLoss()(Tensor([[0.0, 0.0], [0.0, 800.0]]), Tensor([0, 1])))
    0.346574
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        settings = self.weight, self.ignore_index, self.reduction, self.label_smoothing
        return ops.cross_entropy(logits, labels, *settings)

    def extend_repr(self) -> str:
        return f"ignore_index={self.ignore_index}, reduction={self.reduction}, label_smoothing={self.label_smoothing}"


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of the probabilities ``softmax(logits)`` of inputs (N, C).

    Parameters
    ----------
    sparse : bool, default False
        True if labels are classes, integers of shape (N,), and not probabilities of shape (N, C).
    reduction : {'none', 'mean', 'sum'}, default 'none'
        The reduction of the losses of all samples; note the default.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor([[0.0, 0.0], [0.0, 800.0]]), Tensor([0, 0])))
    [6.931472e-01 8.000000e+02]
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        if not isinstance(sparse, bool):
            raise TypeError(f"SoftmaxCrossEntropyWithLogits: sparse must be a bool, got {type(sparse).__name__}")
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        if self.sparse:
            return ops.cross_entropy(logits, labels, reduction=self.reduction)
        return self.get_loss(ops.SoftmaxCrossEntropyWithLogits()(logits, labels)[0])

    def extend_repr(self) -> str:
        return f"sparse={self.sparse}, reduction={self.reduction}"
