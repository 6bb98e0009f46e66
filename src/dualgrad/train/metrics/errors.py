"""Metrics of numbers: mean errors, the mean of a loss, and perplexity."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.train.metrics.metric import Metric, rearrange_inputs

__all__ = ["MAE", "MSE", "Loss", "Perplexity"]


class _Error(Metric):
    """Base of the mean errors: sums over the entries of a sample, means over the samples."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._arrays(inputs, 2)
        if predicted.shape != true.shape:
            raise ValueError(
                f"{type(self).__name__}.update: the values have shape {predicted.shape}, the labels {true.shape}; "
                "expected the same"
            )
        self._sum += float(self._measure(np.subtract(predicted, true, dtype=np.float64)).sum())
        self._samples += len(true) if true.ndim else 1

    def eval(self) -> float:
        return self._ratio(self._sum, self._samples)

    def _measure(self, difference: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class MAE(_Error):
    """Mean absolute error: for each sample Σ|x − y| over its entries, and the mean over the samples.

    ``update(x, y)`` takes values and labels of one shape, whose first axis is the batch axis.

    Examples
    --------
    >>> from dualgrad.train import MAE
    >>> MAE()([1.0, 2.0], [1.5, 3.0])
    0.75
    """

    def _measure(self, difference: np.ndarray) -> np.ndarray:
        return np.abs(difference)


class MSE(_Error):
    """Mean squared error: for each sample Σ(x − y)² over its entries, and the mean over the samples.

    ``update(x, y)`` takes values and labels of one shape, whose first axis is the batch axis.

    Examples
    --------
    >>> from dualgrad.train import MSE
    >>> MSE()([1.0, 2.0], [1.5, 3.0])
    0.625
    """

    def _measure(self, difference: np.ndarray) -> np.ndarray:
        return difference * difference


class Loss(Metric):
    """The mean of a loss over the batches.

    ``update(loss)`` takes the loss of a batch, a number or a row of numbers whose mean counts.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.train import Loss
    >>> metric = Loss()
    >>> for loss in (0.5, 1.0):
    ...     metric.update(dg.Tensor(loss))
    >>> metric.eval()
    0.75
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._batches = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        (loss,) = self._arrays(inputs, 1)
        if loss.ndim > 1:
            raise ValueError(f"Loss.update: expected a number or a row of numbers, got shape {loss.shape}")
        self._sum += float(loss.mean())
        self._batches += 1

    def eval(self) -> float:
        return self._ratio(self._sum, self._batches)


class Perplexity(Metric):
    """Perplexity of a network: the exponential of the mean of -log p, with p the probability of the label.

    ``update(x, y)`` takes probabilities of shape (..., C) and class numbers of shape (...). A probability below 1e-10
    counts as 1e-10.

    Parameters
    ----------
    ignore_label : int, optional
        Samples with this label do not count.

    Raises
    ------
    TypeError
        If it is not an int.

    Examples
    --------
    >>> from dualgrad.train import Perplexity
    >>> round(Perplexity()([[0.5, 0.5], [0.75, 0.25]], [1, 1]), 4)
    2.8284
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None and (isinstance(ignore_label, bool) or not isinstance(ignore_label, int)):
            raise TypeError(f"Perplexity: ignore_label must be an int, got {type(ignore_label).__name__}")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        shares, labels = self._arrays(inputs, 2)
        if shares.ndim < 2 or shares.shape[:-1] != labels.shape:
            raise ValueError(
                f"Perplexity.update: probabilities have shape {shares.shape}, labels {labels.shape}; expected (..., C) "
                "and (...)"
            )
        shares, labels = shares.reshape(-1, shares.shape[-1]), labels.reshape(-1).astype(np.int64)
        kept = labels != self.ignore_label if self.ignore_label is not None else np.ones(len(labels), bool)
        shares, labels = shares[kept], labels[kept]
        if labels.size and not 0 <= labels.min() <= labels.max() < shares.shape[1]:
            raise ValueError(
                f"Perplexity.update: labels go from {labels.min()} to {labels.max()}; there are {shares.shape[1]} "
                "classes"
            )
        found = shares[np.arange(len(labels)), labels].astype(np.float64)
        self._sum -= float(np.log(np.maximum(found, 1e-10)).sum())
        self._samples += len(labels)

    def eval(self) -> float:
        return float(np.exp(self._ratio(self._sum, self._samples)))
