"""scikit-learn's estimators and metrics with ``array_api_dispatch``: its own list, and a sample for each.

Estimators say by a tag whether they take arrays that follow the standard; metrics are those that its tests go over.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics.tests import test_common
from sklearn.utils import all_estimators, get_tags

from .sample import Sample, sample

__all__ = ["learners", "learning_samples"]

RNG = np.random.default_rng(4)
X = RNG.normal(size=(12, 3)) @ np.array([[1.0, 0.3, 0.1], [0.0, 0.8, 0.4], [0.0, 0.0, 0.5]]) + 0.2
CLASSES = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0])
Y = X @ np.array([0.7, -0.3, 0.5]) + 0.1 * RNG.normal(size=12)
TRUE, FOUND = np.abs(Y) + 0.2, np.abs(Y) + 0.25 + 0.1 * np.sin(np.arange(12.0))
LIKELY = 1 / (1 + np.exp(-X[:, 0]))


@functools.cache
def learners() -> dict[str, Any]:
    """The estimators and metrics that say that they take such arrays, by name."""
    sklearn.set_config(array_api_dispatch=True)
    found: dict[str, Any] = {}
    for name, estimator in all_estimators():
        try:
            supported = get_tags(estimator()).array_api_support
        except Exception:  # it needs arguments
            continue
        if supported:
            found[name] = estimator
    for metric in test_common.array_api_metric_checkers:
        while isinstance(metric, functools.partial):
            metric = metric.func
        found[metric.__name__] = metric
    return dict(sorted(found.items()))


def _transformed(**settings: Any) -> list[Sample]:
    return [sample(lambda f, c, x: f(**settings).fit(x).transform(x), X)]


def _predicted(target: np.ndarray, method: str = "predict", **settings: Any) -> list[Sample]:
    return [sample(lambda f, c, x: getattr(f(**settings).fit(x, c(target)), method)(x), X)]


def _finite(x: Any) -> Any:
    return x[abs(x) < np.inf]


def _metric(name: str, metric: Any) -> list[Sample]:
    """A metric of numbers, of classes, or of pairs of points, by what its name says."""
    if any(word in name for word in ("distance", "kernel", "similarity")):
        return [sample(lambda f, c, x, y: f(x, y), np.abs(X) + 0.1, np.abs(X[::-1]) + 3.3)]
    if name.endswith("curve"):  # one threshold is infinite
        return [sample(lambda f, c, p: _finite(f(c(CLASSES), p)[2]), LIKELY)]
    if any(word in name for word in ("brier", "log_loss", "auc", "average_precision")):
        return [sample(lambda f, c, p: f(c(CLASSES), p), LIKELY)]
    if any(word in name for word in ("error", "deviance", "r2", "d2", "variance", "pinball")):
        return [sample(lambda f, c, x, y: f(x, y), TRUE, FOUND)]
    settings = {"beta": 0.7} if name == "fbeta_score" else {}
    return [sample(lambda f, c: f(c(CLASSES), c(np.roll(CLASSES, 1)), **settings))]


def learning_samples() -> dict[str, list[Sample]]:
    """The samples of each."""
    known: dict[str, list[Sample]] = {
        **{name: _transformed() for name in ("Binarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer",
                                             "PolynomialFeatures", "StandardScaler")},
        "PCA": _transformed(n_components=2, svd_solver="full") + [
            sample(lambda f, c, x: f(svd_solver="full").fit(x).explained_variance_, X, label="variances")],
        "KernelCenterer": [sample(lambda f, c, x: f().fit(x @ x.T).transform(x @ x.T), X)],
        "Nystroem": _transformed(n_components=4, random_state=0),
        "LabelEncoder": [sample(lambda f, c: f().fit_transform(c(CLASSES)))],
        "GaussianNB": _predicted(CLASSES, "predict_proba") + _predicted(CLASSES),
        "LinearDiscriminantAnalysis": _predicted(CLASSES, "decision_function") + _predicted(CLASSES),
        "LogisticRegression": _predicted(CLASSES, "predict_proba"),
        "PoissonRegressor": _predicted(np.abs(Y)),
        "Ridge": [
            sample(lambda f, c, x, y: f(solver="svd").fit(x, y).predict(x), X, Y),
            sample(lambda f, c, x, y: f(solver="svd", alpha=0.5).fit(x, y).coef_, X, Y, label="coefficients"),
        ],
        "RidgeCV": [sample(lambda f, c, x, y: f(alphas=[0.3]).fit(x, y).predict(x), X, Y)],
        "RidgeClassifierCV": _predicted(CLASSES, "decision_function"),
        "RidgeClassifier": _predicted(CLASSES, "decision_function", solver="svd"),
    }  # fmt: skip
    return {name: known.get(name) or _metric(name, thing) for name, thing in learners().items()}
