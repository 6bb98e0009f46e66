"""Metrics against counts made one sample at a time, whatever the batches."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import train

RNG = np.random.default_rng(3)
CLASSES = 4


def batches(array, size):
    return [array[k : k + size] for k in range(0, len(array), size)]


def gathered(metric, size, *arrays):
    for parts in zip(*[batches(array, size) for array in arrays], strict=True):
        metric.update(*[dg.Tensor(part) for part in parts])
    return metric


def classes(axes=()):
    scores = RNG.uniform(size=(30, CLASSES, *axes))
    return scores, RNG.integers(0, CLASSES, (30, *axes)).astype(np.int32)


def counted(scores, labels):
    """Right predictions, predictions and samples of each class."""
    right, predicted, true = np.zeros((3, CLASSES))
    for place in np.ndindex(labels.shape):
        guess = max(range(CLASSES), key=lambda k: scores[(place[0], k, *place[1:])])
        right[guess] += guess == labels[place]
        predicted[guess] += 1
        true[labels[place]] += 1
    return right, predicted, true


BY_COUNTS = {
    "accuracy": (train.Accuracy, lambda right, predicted, true: right.sum() / true.sum()),
    "precision": (train.Precision, lambda right, predicted, true: right / predicted),
    "recall": (train.Recall, lambda right, predicted, true: right / true),
    "F1": (train.F1, lambda right, predicted, true: 2 * right / (predicted + true)),
    "F2": (lambda: train.Fbeta(2.0), lambda right, predicted, true: 5 * right / (predicted + 4 * true)),
}


@pytest.mark.parametrize("name", BY_COUNTS)
@pytest.mark.parametrize("size", [30, 7])
@pytest.mark.parametrize("axes", [(), (3,), (2, 2)], ids=str)
def test_metrics_of_classes(name, size, axes):
    make, expected = BY_COUNTS[name]
    scores, labels = classes(axes)
    metric = gathered(make(), size, scores, labels)
    np.testing.assert_allclose(metric.eval(), expected(*counted(scores, labels)), rtol=1e-12)
    if name != "accuracy":
        assert metric.eval(average=True) == pytest.approx(expected(*counted(scores, labels)).mean(), rel=1e-12)


@pytest.mark.parametrize("name", BY_COUNTS)
def test_labels_may_be_one_hot(name):
    scores, labels = classes()
    a, b = BY_COUNTS[name][0](), BY_COUNTS[name][0]()
    np.testing.assert_array_equal(
        gathered(a, 7, scores, labels).eval(), gathered(b, 7, scores, np.eye(CLASSES)[labels]).eval()
    )


@pytest.mark.parametrize("size", [20, 6])
def test_metrics_of_several_labels(size):
    predicted, true = RNG.integers(0, 2, (2, 20, CLASSES))
    predicted[:, 0] = true[:, 0] = 1  # no sample is without a class
    true[:5] = predicted[:5]
    accuracy = gathered(train.Accuracy("multilabel"), size, predicted, true).eval()
    assert accuracy == np.mean([(predicted[k] == true[k]).all() for k in range(20)])
    for make, whole in ((train.Precision, predicted), (train.Recall, true)):
        expected = [sum(predicted[k] & true[k]) / sum(whole[k]) for k in range(20)]
        np.testing.assert_allclose(gathered(make("multilabel"), size, predicted, true).eval(), expected, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, CLASSES])
@pytest.mark.parametrize("size", [30, 8])
def test_the_largest_scores(k, size):
    scores, labels = classes()
    expected = np.mean([sum(scores[n] > scores[n, labels[n]]) < k for n in range(30)])
    assert gathered(train.TopKCategoricalAccuracy(k), size, scores, labels).eval() == expected
    assert gathered(train.TopKCategoricalAccuracy(k), size, scores, np.eye(CLASSES)[labels]).eval() == expected
    if k == 1:
        assert gathered(train.Top1CategoricalAccuracy(), size, scores, labels).eval() == expected
    assert gathered(train.Top5CategoricalAccuracy(), size, scores, labels).eval() == 1.0


@pytest.mark.parametrize("shape", [(12,), (12, 3), (12, 2, 2)], ids=str)
@pytest.mark.parametrize("size", [12, 5])
def test_mean_errors(shape, size):
    x, y = RNG.normal(size=(2, *shape))
    per_sample = lambda power: np.mean([(np.abs(x[k] - y[k]) ** power).sum() for k in range(12)])
    assert gathered(train.MAE(), size, x, y).eval() == pytest.approx(per_sample(1), rel=1e-12)
    assert gathered(train.MSE(), size, x, y).eval() == pytest.approx(per_sample(2), rel=1e-12)


def test_the_mean_of_a_loss():
    metric = train.Loss()
    for loss in (0.5, [1.0, 2.0], np.float32(3.0).reshape(1)):
        metric.update(dg.Tensor(loss))
    assert metric.eval() == pytest.approx((0.5 + 1.5 + 3.0) / 3)


@pytest.mark.parametrize("name", train.names())
def test_metrics_by_name_start_empty_and_can_be_cleared(name):
    metric = train.get_metric_fn(name, *([2] if name == "topk" else []))
    assert isinstance(metric, train.Metric)
    inputs = {"loss": ([0.5],), "mae": ([1.0], [2.0]), "mse": ([1.0], [2.0])}.get(name, ([[0.2, 0.8]], [1]))
    first = metric(*inputs)
    np.testing.assert_array_equal(metric(*inputs), first)
    metric.clear()
    with pytest.raises(RuntimeError, match="there are no samples; call update first"):
        metric.eval()
    with pytest.raises(ValueError, match=r"expected \d inputs?, got 3"):
        metric.update([1.0], [1.0], [1.0])
    with pytest.raises(TypeError, match="expected a Tensor, an array or a list"):
        metric.update(*["text"] * len(inputs))


WRONG = {
    "a type": (TypeError, "eval_type='colour'", lambda: train.Accuracy("colour")),
    "beta": (ValueError, "beta must be positive", lambda: train.Fbeta(0)),
    "k": (ValueError, "k must be 1", lambda: train.TopKCategoricalAccuracy(0)),
    "half a k": (TypeError, "k must be an int", lambda: train.TopKCategoricalAccuracy(0.5)),
    "indexes": (ValueError, "list of ints", lambda: train.MAE().set_indexes("01")),
    "shapes": (ValueError, "expected the same", lambda: train.MAE()([1.0], [1.0, 2.0])),
    "a matrix of losses": (ValueError, "row of numbers", lambda: train.Loss()([[1.0]])),
    "one axis": (ValueError, r"\(samples, classes\)", lambda: train.Accuracy()([0.5], [1])),
    "other labels": (ValueError, "labels are class numbers", lambda: train.Accuracy()([[0.5, 0.1]], [1, 1])),
    "too large a label": (ValueError, "there are 2 classes", lambda: train.Accuracy()([[0.5, 0.1]], [2])),
    "no one-hot row": (ValueError, "one-hot rows", lambda: train.Accuracy()([[0.5, 0.1]], [[1, 1]])),
    "no flags": (ValueError, "zeros and ones", lambda: train.Recall("multilabel")([[0.5, 1.0]], [[1, 1]])),
    "scores": (ValueError, r"expected \(N, C\)", lambda: train.TopKCategoricalAccuracy(1)([0.5], [1])),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    error, text, call = WRONG[name]
    with pytest.raises(error, match=text):
        call()


def test_batches_of_other_classes_are_refused():
    metric = train.Accuracy()
    metric.update([[0.5, 0.1]], [0])
    with pytest.raises(ValueError, match="got 3 classes after batches with 2"):
        metric.update([[0.5, 0.1, 0.2]], [0])


@pytest.mark.parametrize("method", ["clear", "update", "eval"])
def test_a_metric_defines_its_methods(method):
    with pytest.raises(NotImplementedError, match=f"must define {method}"):
        getattr(train.Metric(), method)()
