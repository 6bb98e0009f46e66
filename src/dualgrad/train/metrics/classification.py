"""Metrics of classes: measures of right predictions.

With ``eval_type='classification'`` a network gives scores of shape (N, C), of which the largest names the class. Labels
are class numbers (N,) or one-hot rows (N, C); axes behind the second are more samples. With 'multilabel' both are zeros
and ones of shape (N, C).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.nn.optimizer import check_number
from dualgrad.train.metrics.metric import Metric, rearrange_inputs

from ..._settings import one_of

__all__ = ["F1", "Accuracy", "Fbeta", "Precision", "Recall", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
           "TopKCategoricalAccuracy"]  # fmt: skip

_TINY = np.finfo(np.float64).tiny


class EvaluationBase(Metric):
    """Base of the metrics of classes.

    Parameters
    ----------
    eval_type : str
        'classification' or 'multilabel'.

    Raises
    ------
    TypeError
        If it is something else.
    """

    def __init__(self, eval_type: str) -> None:
        super().__init__()
        if not one_of(eval_type, ("classification", "multilabel")):
            raise TypeError(
                f"{type(self).__name__}: got eval_type={eval_type!r}; expected 'classification' or 'multilabel'"
            )
        self._type = eval_type
        self._classes = 0
        self.clear()

    def _hits(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The predicted and the right classes, as zeros and ones of shape (samples, classes)."""
        scores, labels = self._arrays(inputs, 2)
        if scores.ndim < 2:
            raise ValueError(f"{self._name}: expected values of shape (samples, classes), got {scores.shape}")
        classes = scores.shape[1]
        if self._classes not in (0, classes):
            raise ValueError(f"{self._name}: got {classes} classes after batches with {self._classes}")
        self._classes = classes
        if self._type == "multilabel":
            return self._flags(scores, "values", scores.shape), self._flags(labels, "labels", scores.shape)
        if labels.ndim == scores.ndim:
            labels = self._flags(labels, "labels", scores.shape, one_hot=True).reshape(-1, classes).argmax(1)
        elif labels.shape != scores.shape[:1] + scores.shape[2:]:
            raise ValueError(f"{self._name}: values have shape {scores.shape}, labels {labels.shape}; labels are class "
                             "numbers without the second axis, or one-hot rows")  # fmt: skip
        labels = labels.reshape(-1).astype(np.int64)
        if labels.size and not 0 <= labels.min() <= labels.max() < classes:
            raise ValueError(
                f"{self._name}: labels go from {labels.min()} to {labels.max()}; there are {classes} classes"
            )
        rows = np.eye(classes)
        return rows[np.moveaxis(scores, 1, -1).reshape(-1, classes).argmax(1)], rows[labels]

    @property
    def _name(self) -> str:
        return f"{type(self).__name__}.update"

    def _flags(self, array: np.ndarray, what: str, shape: tuple[int, ...], one_hot: bool = False) -> np.ndarray:
        """Zeros and ones as rows of classes."""
        if array.shape != shape:
            raise ValueError(f"{self._name}: values have shape {shape}, labels {array.shape}; expected the same")
        if not np.isin(array, (0, 1)).all() or (one_hot and not (array.sum(1) == 1).all()):
            raise ValueError(f"{self._name}: {what} must be {'one-hot rows' if one_hot else 'zeros and ones'}")
        return np.moveaxis(array, 1, -1).reshape(-1, shape[1])


class Accuracy(EvaluationBase):
    """The share of samples whose class is right, or with 'multilabel' all of whose labels are right.

    Parameters
    ----------
    eval_type : str, default 'classification'
        Or 'multilabel'. ``update(x, y)`` takes scores and labels, as in the docstring of this module.

    Raises
    ------
    TypeError
        If `eval_type` is something else.

    Examples
    --------
    >>> from dualgrad.train import Accuracy
    >>> Accuracy()([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])  # doctest: +ELLIPSIS
    0.666...
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def clear(self) -> None:
        self._classes = self._right = self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._hits(inputs)
        self._right += int((predicted == true).all(1).sum())
        self._samples += len(true)

    def eval(self) -> float:
        return self._ratio(self._right, self._samples)


class _Share(EvaluationBase):
    """Base of precision and recall: hits in each class, with 'multilabel' in each sample, over a number of samples."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def clear(self) -> None:
        self._classes = 0
        self._parts: list[np.ndarray] = []
        self._wholes: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._hits(inputs)
        axis = 1 if self._type == "multilabel" else 0
        self._parts.append((predicted * true).sum(axis))
        self._wholes.append(self._whole(predicted, true).sum(axis))

    def eval(self, average: bool = False) -> Any:
        """Return the share of each class (with 'multilabel' of each sample), or with `average` their mean."""
        if not self._parts:
            raise RuntimeError(f"{type(self).__name__}.eval: there are no samples; call update first")
        join = np.concatenate if self._type == "multilabel" else sum
        shares = join(self._parts) / (join(self._wholes) + _TINY)
        return float(shares.mean()) if average else shares

    def _whole(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Precision(_Share):
    """The share of right predictions among all predictions of each class.

    Parameters
    ----------
    eval_type : str, default 'classification'
        Or 'multilabel'. ``update(x, y)`` takes scores and labels, as in the docstring of this module.

    Raises
    ------
    TypeError
        If `eval_type` is something else.

    Examples
    --------
    >>> from dualgrad.train import Precision
    >>> print(Precision()([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1]))
    [0.5 1. ]
    """

    def _whole(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return predicted


class Recall(_Share):
    """The share of right predictions among the samples of each class.

    Parameters
    ----------
    eval_type : str, default 'classification'
        Or 'multilabel'. ``update(x, y)`` takes scores and labels, as in the docstring of this module.

    Raises
    ------
    TypeError
        If `eval_type` is something else.

    Examples
    --------
    >>> from dualgrad.train import Recall
    >>> print(Recall()([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1]))
    [1.  0.5]
    """

    def _whole(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return true


class Fbeta(EvaluationBase):
    """The weighted harmonic mean of precision and recall: (1 + β²) p r / (β² p + r) for each class.

    Parameters
    ----------
    beta : float
        β, positive: the weight of recall against precision. ``update(x, y)`` takes scores and labels.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from dualgrad.train import Fbeta
    >>> print(Fbeta(1)([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1]))
    [0.66666667 0.66666667]
    """

    def __init__(self, beta: float) -> None:
        self.beta = check_number(f"{type(self).__name__}: beta", beta, positive=True)
        super().__init__("classification")

    def clear(self) -> None:
        self._classes = 0
        self._right = self._predicted = self._true = np.zeros(0)

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._hits(inputs)
        counts = (predicted * true).sum(0), predicted.sum(0), true.sum(0)
        former = (self._right, self._predicted, self._true) if self._right.size else (0.0, 0.0, 0.0)
        self._right, self._predicted, self._true = [a + b for a, b in zip(former, counts, strict=True)]

    def eval(self, average: bool = False) -> Any:
        """Return the score of each class, or with `average` their mean."""
        if not self._right.size:
            raise RuntimeError(f"{type(self).__name__}.eval: there are no samples; call update first")
        square = self.beta**2
        scores = (1 + square) * self._right / (square * self._true + self._predicted + _TINY)
        return float(scores.mean()) if average else scores


class F1(Fbeta):
    """The harmonic mean of precision and recall, for each class.

    Examples
    --------
    >>> from dualgrad.train import F1
    >>> print(F1()([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1]))
    [0.66666667 0.66666667]
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class has one of the k largest scores.

    Parameters
    ----------
    k : int
        At least 1. ``update(x, y)`` takes scores (N, C), and class numbers (N,) or one-hot rows (N, C).

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is less than 1.

    Examples
    --------
    >>> from dualgrad.train import TopKCategoricalAccuracy
    >>> TopKCategoricalAccuracy(2)([[0.2, 0.5, 0.3], [0.3, 0.1, 0.6]], [2, 1])
    0.5
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        if isinstance(k, bool) or not isinstance(k, int):
            raise TypeError(f"{type(self).__name__}: k must be an int, got {type(k).__name__}")
        if k < 1:
            raise ValueError(f"{type(self).__name__}: k must be 1 or more, got {k}")
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._right = self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, 2)
        if scores.ndim != 2 or labels.shape not in (scores.shape, scores.shape[:1]):
            raise ValueError(
                f"{type(self).__name__}.update: scores have shape {scores.shape}, labels {labels.shape}; expected "
                "(N, C) and (N,) or (N, C)"
            )
        if labels.ndim == 2:
            labels = labels.argmax(1)
        largest = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self._right += int((largest == labels[:, None]).any(1).sum())
        self._samples += len(labels)

    def eval(self) -> float:
        return self._ratio(self._right, self._samples)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` of the largest score.

    Examples
    --------
    >>> from dualgrad.train import Top1CategoricalAccuracy
    >>> Top1CategoricalAccuracy()([[0.2, 0.5], [0.3, 0.1]], [1, 1])
    0.5
    """

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` of the five largest scores.

    Examples
    --------
    >>> from dualgrad.train import Top5CategoricalAccuracy
    >>> Top5CategoricalAccuracy()([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]], [0])
    0.0
    """

    def __init__(self) -> None:
        super().__init__(5)
