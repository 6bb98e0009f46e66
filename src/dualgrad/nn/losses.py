"""Losses: how far predictions are from labels, element by element, then reduced to one number.

`reduction` is 'mean', 'sum' or 'none'. The formulas are those of the functions in `dualgrad.ops`; a loss is such a
function with its settings.
"""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.tensor import Tensor

__all__ = ["HuberLoss", "L1Loss", "LossBase", "MSELoss", "SmoothL1Loss"]


class LossBase(Cell):
    """Base of the losses: checks `reduction` and applies it.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

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
        if reduction not in ("mean", "sum", "none"):
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
        What is done with the elementwise loss.

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


class L1Loss(LossBase):
    """Distance ``|logits - labels|``; the slope at 0 is 0.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

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
        Where the parabola meets the straight line.
    reduction : {'none', 'mean', 'sum'}, default 'none'
        What is done with the elementwise loss; note the default.

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
        if not beta > 0:
            raise ValueError(f"SmoothL1Loss: beta must be positive, got {beta}")
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if tuple(logits.shape) != tuple(labels.shape):
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
        What is done with the elementwise loss.
    delta : float, default 1.0
        Where the parabola meets the straight line.

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
        if not delta > 0:
            raise ValueError(f"HuberLoss: delta must be positive, got {delta}")
        self.delta = delta

    def construct(self, logits: Tensor, labels: Any) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}, delta={self.delta}"
