"""Metrics of similarity: of rows of a matrix, and of regions of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.nn.optimizer import check_number
from dualgrad.train.metrics.metric import Metric, rearrange_inputs

from ..._settings import one_of

__all__ = ["CosineSimilarity", "Dice"]


class CosineSimilarity(Metric):
    """The cosine of the angle between each two rows, over all batches.

    Parameters
    ----------
    similarity : str, default 'cosine'
        'cosine', or 'dot' for the product of the rows as they are.
    reduction : str, default 'none'
        'none' for a matrix, 'sum' or 'mean' for the sum or mean of each of its rows.
    zero_diagonal : bool, default True
        True to set the similarity of a row with itself to zero, before a reduction. ``update(x)`` takes rows (N, D).

    Raises
    ------
    ValueError
        If a name is not known.

    Examples
    --------
    >>> from dualgrad.train import CosineSimilarity
    >>> print(CosineSimilarity()([[3.0, 4.0], [4.0, 3.0]]))
    [[0.   0.96]
     [0.96 0.  ]]
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        if not one_of(similarity, ("cosine", "dot")):
            raise ValueError(f"CosineSimilarity: got similarity={similarity!r}; expected 'cosine' or 'dot'")
        if not one_of(reduction, ("none", "sum", "mean")):
            raise ValueError(f"CosineSimilarity: got reduction={reduction!r}; expected 'none', 'sum' or 'mean'")
        self.similarity = similarity
        self.reduction = reduction
        self.zero_diagonal = zero_diagonal
        self.clear()

    def clear(self) -> None:
        self._rows: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        (rows,) = self._arrays(inputs, 1)
        if rows.ndim != 2:
            raise ValueError(f"CosineSimilarity.update: expected rows of shape (N, D), got {rows.shape}")
        self._rows.append(rows)

    def eval(self) -> np.ndarray:
        if not self._rows:
            raise RuntimeError("CosineSimilarity.eval: there are no samples; call update first")
        rows = np.concatenate(self._rows)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        found = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(found, 0)
        return found if self.reduction == "none" else getattr(found, self.reduction)(-1)


class Dice(Metric):
    """Dice coefficient of regions: ``2 Σxy / (Σx² + Σy² + smooth)`` over a batch, and the mean over the batches.

    Parameters
    ----------
    smooth : float, default 1e-5
        Added to the denominator, positive. ``update(x, y)`` takes values and labels of one shape.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from dualgrad.train import Dice
    >>> round(Dice()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]), 4)
    0.6667
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = check_number("Dice: smooth", smooth, positive=True)
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._batches = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._arrays(inputs, 2)
        if predicted.shape != true.shape:
            raise ValueError(
                f"Dice.update: the values have shape {predicted.shape}, the labels {true.shape}; expected the same"
            )
        x, y = predicted.reshape(-1).astype(float), true.reshape(-1).astype(float)
        self._sum += 2.0 * float(x @ y) / float(x @ x + y @ y + self.smooth)
        self._batches += 1

    def eval(self) -> float:
        return self._ratio(self._sum, self._batches)
