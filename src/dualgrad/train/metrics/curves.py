"""Receiver operating characteristics: shares of true and false positives by threshold, and areas below curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.train.metrics.metric import Metric, rearrange_inputs

from ..._settings import array_of, truth_value

__all__ = ["ROC", "auc"]


class ROC(Metric):
    """The shares of false and true positives for each threshold of a score, over all batches.

    ``update(x, y)`` takes scores and labels. Both of one shape are the scores of one class, `pos_label`; scores
    (N, C) with class numbers (N,) give a curve for each class against all others.

    Parameters
    ----------
    class_num : int, optional
        The number of classes of scores (N, C).
    pos_label : int, optional
        The label of the class to find, with scores of one class; 1 by default.

    Returns
    -------
    tuple
        `eval` gives ``(fpr, tpr, thresholds)``: arrays, or lists of an array for each class. Thresholds fall; the first
        is 1 above the largest score, where nothing is positive.

    Raises
    ------
    ValueError
        In `update`, if shapes or the number of classes do not fit; in `eval`, if all samples are of one class.

    Examples
    --------
    >>> from dualgrad.train import ROC
    >>> found = ROC()([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> print(*found)
    [0.  0.  0.5 0.5 1. ] [0.  0.5 0.5 1.  1. ] [1.8  0.8  0.4  0.35 0.1 ]
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"ROC: {name} must be an int, got {type(value).__name__}")
        self.class_num = class_num
        self.pos_label = pos_label
        self.clear()

    def clear(self) -> None:
        self._scores: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, 2)
        if scores.shape == labels.shape:
            if self.class_num not in (None, 1):
                raise ValueError(f"ROC.update: got scores of one class, where class_num is {self.class_num}")
            scores, labels = scores.reshape(-1), labels.reshape(-1)
        elif labels.ndim == 1 and scores.shape[:-1] == labels.shape:
            if self.pos_label is not None or self.class_num != scores.shape[1]:
                raise ValueError(
                    f"ROC.update: got scores of {scores.shape[1]} classes, where class_num is {self.class_num} and "
                    f"pos_label {self.pos_label}; expected class_num={scores.shape[1]} alone"
                )
        else:
            raise ValueError(
                f"ROC.update: scores have shape {scores.shape}, labels {labels.shape}; expected the same, or (N, C) "
                "and (N,)"
            )
        if self._scores and self._scores[0].ndim != scores.ndim:
            raise ValueError("ROC.update: scores of one class and of several cannot be mixed")
        self._scores.append(scores)
        self._labels.append(labels)

    def eval(self) -> tuple[Any, Any, Any]:
        if not self._scores:
            raise RuntimeError("ROC.eval: there are no samples; call update first")
        scores, labels = np.concatenate(self._scores), np.concatenate(self._labels)
        if scores.ndim == 1:
            return _curve(scores, labels == (1 if self.pos_label is None else self.pos_label))
        curves = [_curve(scores[:, k], labels == k) for k in range(scores.shape[1])]
        rates, hits, thresholds = [list(parts) for parts in zip(*curves, strict=True)]
        return rates, hits, thresholds


def _curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shares of false and true positives, and the thresholds, which fall."""
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # of each threshold
    true = np.cumsum(positive)[last]
    false = 1 + last - true
    for count, what in ((true[-1], "positive"), (false[-1], "negative")):
        if not count:
            raise ValueError(f"ROC.eval: there are no {what} samples, so their share is not defined")
    thresholds = np.append(scores[0] + 1, scores[last])
    return np.append(0.0, false / false[-1]), np.append(0.0, true / true[-1]), thresholds


def auc(x: Any, y: Any, reorder: bool = False) -> float:
    """Area below a curve, by the trapezoidal rule.

    Parameters
    ----------
    x, y : numpy.ndarray or list
        Positions and values, of shape (N,), at least two.
    reorder : bool, default False
        True to sort points by position first. Otherwise positions must rise or fall.

    Returns
    -------
    float
        Positive for positive values, also if positions fall.

    Raises
    ------
    ValueError
        If shapes do not fit, or positions neither rise nor fall.

    Examples
    --------
    >>> from dualgrad.train import ROC, auc
    >>> false, true, _ = ROC()([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> auc(false, true)
    0.75
    """
    x, y = array_of("auc", "x", x), array_of("auc", "y", y)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"auc: got shapes {x.shape} and {y.shape}; expected twice the same one, (N,) with N >= 2")
    if truth_value("auc", "reorder", reorder):
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError("auc: the places neither rise nor fall; give reorder=True to have them sorted")
    return float((np.abs(steps) * (y[1:] + y[:-1])).sum() / 2.0)
