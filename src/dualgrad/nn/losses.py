"""Losses: the distance of predictions from labels, element by element, then reduced to one number.

`reduction` is 'mean', 'sum' or 'none'. Each loss is a function of `dualgrad.ops` with its settings; the formulas are
documented there.
"""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import together
from dualgrad.tensor import Tensor

from .._settings import one_of, real_number

__all__ = [
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LossBase",
    "MSELoss",
    "RMSELoss",
    "SmoothL1Loss",
]


class LossBase(Cell):
    """Base of the losses: checks `reduction` and applies it.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Raises
    ------
    ValueError
        If `reduction` is something else.

    Examples
    --------
    >>> from dualgrad import Tensor, nn, ops
    >>> class LogCosh(nn.LossBase):
    ...     def construct(self, logits, labels):
    ...         return self.get_loss(ops.log(ops.cosh(logits - labels)))
    >>> print(LogCosh()(Tensor([1.0]), Tensor([1.0])))
    0.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if not one_of(reduction, ("mean", "sum", "none")):
            raise ValueError(f"{type(self).__name__}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
        self.reduction = reduction

    def get_loss(self, x: Tensor, weights: Any = 1.0) -> Tensor:
        """Weigh the elementwise loss `x` and reduce it.

        Parameters
        ----------
        x : Tensor
            The elementwise loss.
        weights : number or Tensor, default 1.0
            Factors that broadcast against `x`.

        Returns
        -------
        Tensor
            0-d, or of the shape of `x` for reduction 'none'.
        """
        if not (isinstance(weights, (int, float)) and weights == 1):
            x = x * weights
        if self.reduction == "mean":
            return ops.mean(x)
        return ops.sum(x) if self.reduction == "sum" else x

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}"


class MSELoss(LossBase):
    """Squared distance ``(logits - labels)^2``.

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
    >>> print(nn.MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
    2.0
    """

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.mse_loss(logits, labels, self.reduction)


class RMSELoss(LossBase):
    """Root of the mean squared distance, with derivative 0 where it is 0.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.RMSELoss()(Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([1.0, 2.0, 3.0, 0.0])))
    2.0
    """

    def __init__(self) -> None:
        super().__init__()

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.sqrt(ops.mse_loss(logits, labels))


class L1Loss(LossBase):
    """Distance ``|logits - labels|``; the derivative at 0 is 0.

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
    >>> print(nn.L1Loss(reduction="sum")(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
    2.0
    """

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class SmoothL1Loss(LossBase):
    """Distance with a parabola near 0.

    With d the distance ``|logits - labels|``: ``0.5 d^2 / beta`` below `beta`, ``d - 0.5 beta`` above.

    Parameters
    ----------
    beta : float, default 1.0
        The distance at which the parabola meets the straight line.
    reduction : {'none', 'mean', 'sum'}, default 'none'
        The reduction of the elementwise loss; note the default.

    Raises
    ------
    ValueError
        If `reduction` is something else, `beta` is not positive, or the shapes differ.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SmoothL1Loss()(Tensor([1.0, 1.0]), Tensor([2.0, 4.0])))
    [0.5 2.5]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        real_number("SmoothL1Loss", "beta", beta)
        if not beta > 0:
            raise ValueError(f"SmoothL1Loss: beta must be positive, got {beta}")
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        logits, labels = together("SmoothL1Loss", logits, labels)
        if logits.shape != labels.shape:
            raise ValueError(
                f"SmoothL1Loss: logits and labels must have one shape, got {tuple(logits.shape)} and "
                f"{tuple(labels.shape)}"
            )
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)

    def extend_repr(self) -> str:
        return f"beta={self.beta}, reduction={self.reduction}"


class HuberLoss(LossBase):
    """Squared distance near 0, straight beyond.

    With d the distance ``|logits - labels|``: ``0.5 d^2`` up to `delta`, ``delta (d - 0.5 delta)`` above.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.
    delta : float, default 1.0
        The distance at which the parabola meets the straight line.

    Raises
    ------
    ValueError
        If `reduction` is something else, `delta` is not positive, or the shapes do not broadcast.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.HuberLoss(reduction="none", delta=2.0)(Tensor([1.0, 1.0]), Tensor([2.0, 4.0])))
    [0.5 4. ]
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        real_number("HuberLoss", "delta", delta)
        if not delta > 0:
            raise ValueError(f"HuberLoss: delta must be positive, got {delta}")
        self.delta = delta

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}, delta={self.delta}"


class KLDivLoss(LossBase):
    """Kullback-Leibler divergence ``labels * (log(labels) - logits)``; see `ops.kl_div`.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none', 'batchmean'}, default 'mean'
        The reduction of the elementwise loss; 'batchmean' divides the sum by the length of the first axis.

    Raises
    ------
    ValueError
        If `reduction` is something else, or the shapes do not broadcast.

    Examples
    --------
    >>> from dualgrad import Tensor, nn, ops
    >>> logits, labels = ops.log(Tensor([0.25, 0.5, 0.25])), Tensor([0.5, 0.5, 0.0])
    >>> print(nn.KLDivLoss("sum")(logits, labels))
    0.346574
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self._divergence = ops.KLDivLoss(reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return self._divergence(logits, labels)


class GaussianNLLLoss(LossBase):
    """Negative log likelihood of a Gaussian; see `ops.gaussian_nll_loss`.

    Parameters
    ----------
    full : bool, default False
        True to add the constant ``0.5 * log(2 * pi)``.
    eps : float, default 1e-6
        The smallest variance, positive.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Raises
    ------
    ValueError
        If `reduction` is something else, `eps` is not positive, or the shapes do not broadcast.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> mean, label, variance = Tensor([1.0, 2.0]), Tensor([1.0, 4.0]), Tensor([1.0, 4.0])
    >>> print(nn.GaussianNLLLoss(reduction="none")(mean, label, variance))
    [0.       1.193147]
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        real_number("GaussianNLLLoss", "eps", eps)
        if not eps > 0:
            raise ValueError(f"GaussianNLLLoss: eps must be positive, got {eps}")
        self.full = full
        self.eps = eps

    def construct(self, logits: Tensor, labels: Any, var: Any) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)

    def extend_repr(self) -> str:
        return f"full={self.full}, eps={self.eps}, reduction={self.reduction}"


class CosineEmbeddingLoss(LossBase):
    """``1 - cos`` of vectors with the label 1, ``max(0, cos - margin)`` with the label -1.

    Parameters
    ----------
    margin : float, default 0.0
        From -1 to 1: directions apart with a cosine below it cost nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of all pairs.

    Raises
    ------
    ValueError
        If `reduction` is something else, `margin` is out of range, or the shapes do not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> x, y = Tensor([[3.0, 4.0], [1.0, 0.0]]), Tensor([[4.0, 3.0], [4.0, 3.0]])
    >>> print(nn.CosineEmbeddingLoss(0.5, "none")(x, y, Tensor([1, -1])))
    [0.04 0.3 ]
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        real_number("CosineEmbeddingLoss", "margin", margin)
        if not -1 <= margin <= 1:
            raise ValueError(f"CosineEmbeddingLoss: margin must be from -1 to 1, got {margin}")
        self.margin = margin

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Any) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)

    def extend_repr(self) -> str:
        return f"margin={self.margin}, reduction={self.reduction}"
