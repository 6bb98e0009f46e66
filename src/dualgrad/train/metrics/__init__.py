"""Metrics: measures of a network over all batches of a dataset."""

from __future__ import annotations

from typing import Any

from dualgrad._settings import one_of
from dualgrad.train.metrics.classification import (
    F1,
    Accuracy,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from dualgrad.train.metrics.confusion import ConfusionMatrix, ConfusionMatrixMetric
from dualgrad.train.metrics.curves import ROC, auc
from dualgrad.train.metrics.errors import MAE, MSE, Loss, Perplexity
from dualgrad.train.metrics.metric import Metric, rearrange_inputs
from dualgrad.train.metrics.similarity import CosineSimilarity, Dice

__all__ = [
    "F1", "MAE", "MSE", "ROC", "Accuracy", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice",
    "Fbeta", "Loss", "Metric", "Perplexity", "Precision", "Recall", "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names",
    "rearrange_inputs",
]  # fmt: skip

_BY_NAME: dict[str, Any] = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "loss": Loss,
    "mae": MAE,
    "mse": MSE,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """List the names that `get_metric_fn` knows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from dualgrad.train import names
    >>> "accuracy" in names()
    True
    """
    return sorted(_BY_NAME)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Metric:
    """Make a metric by its name.

    Parameters
    ----------
    name : str
        One of `names`.
    *args, **kwargs
        The settings of its class.

    Returns
    -------
    Metric

    Raises
    ------
    KeyError
        If the name is not known.

    Examples
    --------
    >>> from dualgrad.train import get_metric_fn
    >>> get_metric_fn("mae")([1.0], [3.0])
    2.0
    """
    if not one_of(name, _BY_NAME):
        raise KeyError(f"get_metric_fn: there is no metric {name!r}; there are {', '.join(names())}")
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """Read the user's metrics.

    Parameters
    ----------
    metrics : set of str, dict of str to Metric, or None
        Names of metrics, or metrics by any name.

    Returns
    -------
    dict of str to Metric

    Raises
    ------
    TypeError
        If it is something else.
    KeyError
        If a name is not known.

    Examples
    --------
    >>> from dualgrad.train import get_metrics
    >>> sorted(get_metrics({"mae", "mse"}))
    ['mae', 'mse']
    """
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, value in metrics.items():
            if not isinstance(name, str) or not isinstance(value, Metric):
                raise TypeError(f"get_metrics: expected Metrics by name, got {name!r}: {type(value).__name__}")
        return dict(metrics)
    if isinstance(metrics, set | frozenset | list | tuple) and all(isinstance(name, str) for name in metrics):
        return {name: get_metric_fn(name) for name in sorted(metrics)}
    raise TypeError(f"get_metrics: expected a set of names or a dict of Metrics, got {metrics!r:.60}")
