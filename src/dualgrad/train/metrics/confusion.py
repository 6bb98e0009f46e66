"""Confusion matrices: counts of predicted classes for each true class, and the rates that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.train.metrics.metric import Metric, rearrange_inputs

from ..._settings import one_of, room, truth_value, whole_number

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(Metric):
    """The number of samples of each class (rows) for each predicted class (columns).

    Parameters
    ----------
    num_classes : int
        The number of classes.
    normalize : str, default 'no_norm'
        'no_norm' for counts; 'target', 'prediction' or 'all' for shares of the sum of a row, of a column, or of all.
        Shares of a zero sum are zero.
    threshold : float, default 0.5
        ``update(x, y)`` takes class numbers y of shape (N, ...). For x it takes class numbers of the same shape; floats
        of this shape, which are class 1 from the threshold on; or scores (N, C, ...), the largest of which counts.

    Raises
    ------
    ValueError
        If `normalize` is something else.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.train import ConfusionMatrix
    >>> print(ConfusionMatrix(2)(np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1])))
    [[1. 1.]
     [0. 2.]]
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        if not one_of(normalize, ("target", "prediction", "all", "no_norm")):
            raise ValueError(
                f"ConfusionMatrix: got normalize={normalize!r}; expected 'target', 'prediction', 'all' or 'no_norm'"
            )
        self.num_classes = whole_number("ConfusionMatrix", "num_classes", num_classes)
        room("ConfusionMatrix", (self.num_classes, self.num_classes))
        self.normalize = normalize
        self.threshold = threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, true = self._arrays(inputs, 2)
        if predicted.ndim == true.ndim + 1:
            predicted = predicted.argmax(1)
        elif predicted.dtype.kind == "f":
            predicted = predicted >= self.threshold
        if predicted.shape != true.shape:
            raise ValueError(
                f"ConfusionMatrix.update: there are predictions of shape {predicted.shape} for labels of shape "
                f"{true.shape}; expected the same, or scores with a second axis for the classes"
            )
        for what, array in (("predictions", predicted), ("labels", true)):
            if array.size and not 0 <= array.min() <= array.max() < self.num_classes:
                raise ValueError(
                    f"ConfusionMatrix.update: {what} go from {array.min()} to {array.max()}; there are "
                    f"{self.num_classes} classes"
                )
        np.add.at(self.confusion_matrix, (true.reshape(-1).astype(int), predicted.reshape(-1).astype(int)), 1.0)

    def eval(self) -> np.ndarray:
        counts = self.confusion_matrix
        if not counts.any():
            raise RuntimeError("ConfusionMatrix.eval: there are no samples; call update first")
        if self.normalize == "no_norm":
            return counts.copy()
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        sums = counts.sum(axis, keepdims=True)
        return counts / np.where(sums == 0, 1.0, sums)


def _share(part: np.ndarray, whole: Any) -> np.ndarray:
    """A quotient, nan where the denominator is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole != 0, part / whole, np.nan)


# Rates of true and false positives, true and false negatives.


def _sensitivity(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
    return _share(tp, tp + fn)


def _specificity(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
    return _share(tn, tn + fp)


def _prevalence_threshold(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
    hits, mistakes = np.sqrt(_sensitivity(tp, fp, tn, fn)), np.sqrt(_share(fp, tn + fp))
    return _share(mistakes, hits + mistakes)


def _correlation(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
    return _share(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


_RATES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "tpr": _sensitivity,
    "tnr": _specificity,
    "ppv": lambda tp, fp, tn, fn: _share(tp, tp + fp),
    "npv": lambda tp, fp, tn, fn: _share(tn, tn + fn),
    "fnr": lambda tp, fp, tn, fn: _share(fn, tp + fn),
    "fpr": lambda tp, fp, tn, fn: _share(fp, tn + fp),
    "fdr": lambda tp, fp, tn, fn: _share(fp, tp + fp),
    "for": lambda tp, fp, tn, fn: _share(fn, tn + fn),
    "pt": _prevalence_threshold,
    "ts": lambda tp, fp, tn, fn: _share(tp, tp + fn + fp),
    "acc": lambda tp, fp, tn, fn: _share(tp + tn, tp + fp + tn + fn),
    "ba": lambda tp, fp, tn, fn: (_sensitivity(tp, fp, tn, fn) + _specificity(tp, fp, tn, fn)) / 2.0,
    "f1": lambda tp, fp, tn, fn: _share(2.0 * tp, 2.0 * tp + fn + fp),
    "mcc": _correlation,
    "fm": lambda tp, fp, tn, fn: np.sqrt(_share(tp, tp + fp) * _sensitivity(tp, fp, tn, fn)),
    "bm": lambda tp, fp, tn, fn: _sensitivity(tp, fp, tn, fn) + _specificity(tp, fp, tn, fn) - 1.0,
    "mk": lambda tp, fp, tn, fn: _share(tp, tp + fp) + _share(tn, tn + fn) - 1.0,
}
_LONG_NAMES = {
    "tpr": "sensitivity recall hit_rate true_positive_rate",
    "tnr": "specificity selectivity true_negative_rate",
    "ppv": "precision positive_predictive_value",
    "npv": "negative_predictive_value",
    "fnr": "miss_rate false_negative_rate",
    "fpr": "fall_out false_positive_rate",
    "fdr": "false_discovery_rate",
    "for": "false_omission_rate",
    "pt": "prevalence_threshold",
    "ts": "threat_score critical_success_index csi",
    "acc": "accuracy",
    "ba": "balanced_accuracy",
    "f1": "f1_score",
    "mcc": "matthews_correlation_coefficient",
    "fm": "fowlkes_mallows_index",
    "bm": "informedness bookmaker_informedness",
    "mk": "markedness deltap",
}
_SHORT_NAMES = {name: short for short, names in _LONG_NAMES.items() for name in (short, *names.split())}
_REDUCTIONS = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrixMetric(Metric):
    """A rate of right and wrong decisions: sensitivity, specificity, precision and many more.

    ``update(x, y)`` takes decisions and labels of one shape (N, C, ...), both zeros and ones.

    Parameters
    ----------
    skip_channel : bool, default True
        True to leave out the first of several classes, which is often the background.
    metric_name : str, default 'sensitivity'
        The rate: sensitivity, specificity, precision, negative predictive value, miss rate, fall out, false discovery
        rate, false omission rate, prevalence threshold, threat score, accuracy, balanced accuracy, f1 score, matthews
        correlation coefficient, fowlkes mallows index, informedness or markedness; or a short name such as 'tpr'.
    calculation_method : bool, default False
        True if each class of each sample has a rate of its own, and the result is their mean: first over the classes,
        then over the samples, without undefined rates. Otherwise all decisions are counted together.
    decrease : str, default 'mean'
        With `calculation_method` only 'mean'; otherwise without effect.

    Returns
    -------
    numpy.ndarray or float
        `eval` gives an array of one number, with `calculation_method` a number; nan where a rate is not defined.

    Raises
    ------
    ValueError
        If a name is not known.

    Examples
    --------
    >>> from dualgrad.train import ConfusionMatrixMetric
    >>> decisions, labels = [[0, 1], [1, 0], [0, 1]], [[0, 1], [0, 1], [0, 1]]
    >>> print(ConfusionMatrixMetric(metric_name="recall")(decisions, labels))
    [0.66666667]
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        if not isinstance(metric_name, str):
            raise TypeError(f"ConfusionMatrixMetric: metric_name must be a str, got {type(metric_name).__name__}")
        truth_value("ConfusionMatrixMetric", "calculation_method", calculation_method)
        short = _SHORT_NAMES.get(metric_name.lower().replace(" ", "_"))
        if short is None:
            raise ValueError(f"ConfusionMatrixMetric: there is no rate {metric_name!r}; there are {list(_LONG_NAMES)}")
        if not one_of(decrease, _REDUCTIONS):
            raise ValueError(f"ConfusionMatrixMetric: got decrease={decrease!r}; expected one of {_REDUCTIONS}")
        if calculation_method and decrease != "mean":
            raise ValueError(
                f"ConfusionMatrixMetric: got decrease={decrease!r} with calculation_method; expected 'mean', since all "
                "batches give one number"
            )
        self.skip_channel = skip_channel
        self.metric_name = metric_name
        self.calculation_method = calculation_method
        self.decrease = decrease
        self._rate = _RATES[short]
        self.clear()

    def clear(self) -> None:
        self._samples = 0
        self._counts = np.zeros(4)
        self._rates: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        decisions, labels = self._arrays(inputs, 2)
        if decisions.shape != labels.shape or labels.ndim < 2:
            raise ValueError(
                f"ConfusionMatrixMetric.update: got shapes {decisions.shape} and {labels.shape}; expected twice the "
                "same one, (N, C, ...)"
            )
        if not np.isin(decisions, (0, 1)).all() or not np.isin(labels, (0, 1)).all():
            raise ValueError("ConfusionMatrixMetric.update: decisions and labels must be zeros and ones")
        first = 1 if self.skip_channel and labels.shape[1] > 1 else 0
        yes, true = decisions[:, first:] == 1, labels[:, first:] == 1
        axes = tuple(range(2, labels.ndim))
        counts = [found.sum(axes, dtype=float) for found in (yes & true, yes & ~true, ~yes & ~true, ~yes & true)]
        self._samples += len(labels)
        if self.calculation_method:
            self._rates.append(self._rate(*counts))
        else:
            self._counts += [count.sum() for count in counts]

    def eval(self) -> Any:
        if not self._samples:
            raise RuntimeError("ConfusionMatrixMetric.eval: there are no samples; call update first")
        if not self.calculation_method:
            tp, fp, tn, fn = self._counts[:, None]
            return self._rate(tp, fp, tn, fn)
        rates = np.concatenate(self._rates)
        of_samples = [row[~np.isnan(row)].mean() for row in rates if not np.isnan(row).all()]
        return float(np.mean(of_samples)) if of_samples else float("nan")
