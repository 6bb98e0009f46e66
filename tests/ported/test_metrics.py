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


INPUTS = {
    "loss": ([0.5],),
    "cosine_similarity": ([[0.5, 1.0], [2.0, 3.0]],),
    **dict.fromkeys(["mae", "mse", "dice"], ([1.0], [2.0])),
    "roc": ([0.5, 0.7], [0, 1]),
    "confusion_matrix_metric": ([[1, 0]], [[0, 1]]),
}


@pytest.mark.parametrize("name", train.names())
def test_metrics_by_name_start_empty_and_can_be_cleared(name):
    metric = train.get_metric_fn(name, *([2] if name in ("topk", "confusion_matrix") else []))
    assert isinstance(metric, train.Metric)
    inputs = INPUTS.get(name, ([[0.2, 0.8]], [1]))
    first = metric(*inputs)
    np.testing.assert_equal(metric(*inputs), first)
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
    "a norm": (ValueError, "normalize='label'", lambda: train.ConfusionMatrix(2, "label")),
    "a class too many": (ValueError, "there are 2 classes", lambda: train.ConfusionMatrix(2)([0, 2], [0, 1])),
    "lengths": (ValueError, "predictions of shape", lambda: train.ConfusionMatrix(2)([0, 1], [0, 1, 1])),
    "a rate": (ValueError, "there is no rate 'luck'", lambda: train.ConfusionMatrixMetric(metric_name="luck")),
    "a reduction": (ValueError, "decrease='max'", lambda: train.ConfusionMatrixMetric(decrease="max")),
    "sums of rates": (
        ValueError, "expected 'mean'", lambda: train.ConfusionMatrixMetric(calculation_method=True, decrease="sum")
    ),
    "decisions": (ValueError, "zeros and ones", lambda: train.ConfusionMatrixMetric()([[0.5, 1]], [[0, 1]])),
    "a row of decisions": (ValueError, r"\(N, C, ...\)", lambda: train.ConfusionMatrixMetric()([0, 1], [0, 1])),
    "half a class": (TypeError, "pos_label must be an int", lambda: train.ROC(pos_label=0.5)),
    "classes of a curve": (ValueError, "class_num=2 alone", lambda: train.ROC(3)([[0.1, 0.2]], [0])),
    "one class of three": (ValueError, "class_num is 3", lambda: train.ROC(3)([0.1, 0.2], [0, 1])),
    "shapes of a curve": (ValueError, r"\(N, C\) and \(N,\)", lambda: train.ROC()([0.1], [0, 1])),
    "all are found": (ValueError, "no negative samples", lambda: train.ROC()([0.1, 0.2], [1, 1])),
    "a zigzag": (ValueError, "reorder=True", lambda: train.auc([0.0, 1.0, 0.5], [0.0, 1.0, 1.0])),
    "a point": (ValueError, "N >= 2", lambda: train.auc([0.0], [1.0])),
    "similarity": (ValueError, "similarity='l2'", lambda: train.CosineSimilarity("l2")),
    "reduction": (ValueError, "reduction='max'", lambda: train.CosineSimilarity(reduction="max")),
    "a row": (ValueError, r"\(N, D\)", lambda: train.CosineSimilarity()([1.0, 2.0])),
    "smooth": (ValueError, "smooth must be positive", lambda: train.Dice(0.0)),
    "regions": (ValueError, "expected the same", lambda: train.Dice()([1.0], [1.0, 2.0])),
    "a label": (TypeError, "ignore_label must be an int", lambda: train.Perplexity(0.5)),
    "labels of words": (ValueError, "there are 2 classes", lambda: train.Perplexity()([[0.5, 0.5]], [2])),
    "words": (ValueError, r"\(..., C\)", lambda: train.Perplexity()([[0.5, 0.5]], [1, 1])),
    "scores": (ValueError, r"expected \(N, C\)", lambda: train.TopKCategoricalAccuracy(1)([0.5], [1])),
}  # fmt: skip


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


@pytest.mark.parametrize("size", [30, 7])
@pytest.mark.parametrize("normalize", ["no_norm", "target", "prediction", "all"])
@pytest.mark.parametrize("given", ["scores", "classes"])
def test_confusion_matrices(size, normalize, given):
    scores, labels = classes((2,))
    labels[labels == 1] = 2  # a class without samples
    expected = np.zeros((CLASSES, CLASSES))
    for place in np.ndindex(labels.shape):
        expected[labels[place], scores[place[0], :, place[1]].argmax()] += 1
    for row in expected if normalize == "target" else expected.T if normalize == "prediction" else ():
        row /= max(row.sum(), 1)
    if normalize == "all":
        expected /= labels.size
    guesses = scores if given == "scores" else scores.argmax(1)
    metric = train.ConfusionMatrix(CLASSES, normalize)
    np.testing.assert_allclose(gathered(metric, size, guesses, labels).eval(), expected, rtol=1e-12)


def test_a_threshold_makes_two_classes():
    scores, labels = RNG.uniform(size=20), RNG.integers(0, 2, 20)
    expected = [[((labels == a) & ((scores >= 0.3) == b)).sum() for b in (0, 1)] for a in (0, 1)]
    np.testing.assert_array_equal(gathered(train.ConfusionMatrix(2, threshold=0.3), 6, scores, labels).eval(), expected)


# Rates by the definitions of the field: of true and false positives, true and false negatives, as plain numbers.
RATES = {
    "sensitivity": lambda a, b, c, d: a / (a + d),
    "specificity": lambda a, b, c, d: c / (c + b),
    "precision": lambda a, b, c, d: a / (a + b),
    "negative predictive value": lambda a, b, c, d: c / (c + d),
    "miss rate": lambda a, b, c, d: 1 - a / (a + d),
    "fall out": lambda a, b, c, d: 1 - c / (c + b),
    "false discovery rate": lambda a, b, c, d: 1 - a / (a + b),
    "false omission rate": lambda a, b, c, d: 1 - c / (c + d),
    "prevalence threshold": lambda a, b, c, d: 1 / (1 + np.sqrt((a / (a + d)) / (b / (b + c)))),
    "threat score": lambda a, b, c, d: a / (a + b + d),
    "accuracy": lambda a, b, c, d: (a + c) / (a + b + c + d),
    "balanced accuracy": lambda a, b, c, d: (a / (a + d) + c / (c + b)) / 2,
    "f1 score": lambda a, b, c, d: 2 / ((a + d) / a + (a + b) / a),
    "matthews correlation coefficient": lambda a, b, c, d: np.corrcoef(
        [1] * int(a + b) + [0] * int(c + d), [1] * int(a) + [0] * int(b + c) + [1] * int(d)
    )[0, 1],
    "fowlkes mallows index": lambda a, b, c, d: a / np.sqrt((a + b) * (a + d)),
    "informedness": lambda a, b, c, d: a / (a + d) - b / (b + c),
    "markedness": lambda a, b, c, d: a / (a + b) - d / (d + c),
}


def decided(decisions, labels):
    """True and false positives, true and false negatives, one decision at a time."""
    counts = dict.fromkeys([(1, 1), (1, 0), (0, 0), (0, 1)], 0.0)
    for pair in zip(decisions.reshape(-1), labels.reshape(-1), strict=True):
        counts[pair] += 1
    return list(counts.values())


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("skip", [True, False])
def test_rates_of_decisions(name, skip):
    decisions, labels = RNG.integers(0, 2, (2, 12, 3, 4))
    counted = slice(1, None) if skip else slice(None)
    whole = gathered(train.ConfusionMatrixMetric(skip, name), 5, decisions, labels).eval()
    np.testing.assert_allclose(whole, [RATES[name](*decided(decisions[:, counted], labels[:, counted]))], rtol=1e-12)
    decisions, labels = RNG.integers(0, 2, (2, 12, 3, 9))
    decisions[..., :4], labels[..., :4] = (0, 0, 1, 1), (0, 1, 0, 1)  # no count is zero, so that each rate is defined
    single = gathered(train.ConfusionMatrixMetric(skip, name, True), 5, decisions, labels).eval()
    each = [
        [RATES[name](*decided(decisions[n, k], labels[n, k])) for k in range(3)[counted]] for n in range(12)
    ]  # fmt: skip
    assert single == pytest.approx(np.mean(each), rel=1e-9)


def test_rates_that_are_not_defined_are_left_out():
    decisions, labels = np.array([[[1, 1], [0, 0]], [[0, 1], [0, 0]]]), np.array([[[1, 0], [0, 0]], [[0, 0], [0, 0]]])
    metric = train.ConfusionMatrixMetric(False, "recall", True)
    assert metric(decisions, labels) == 1.0
    assert np.isnan(metric(decisions[1:], labels[1:]))
    assert np.isnan(train.ConfusionMatrixMetric(False, "recall")(decisions[1:], labels[1:])).all()
    np.testing.assert_array_equal(train.ConfusionMatrixMetric(False, "precision")(decisions, labels), [1 / 3])


@pytest.mark.parametrize("size", [40, 9])
def test_curves_of_thresholds(size):
    scores, labels = RNG.integers(0, 8, 40) / 8, RNG.integers(0, 3, 40)
    metric = gathered(train.ROC(pos_label=2), size, scores, labels)
    false, true, thresholds = metric.eval()
    assert thresholds.tolist() == [scores.max() + 1, *sorted({*scores}, reverse=True)]
    for a, b, t in zip(false, true, thresholds, strict=True):
        assert a == pytest.approx((scores[labels != 2] >= t).mean())
        assert b == pytest.approx((scores[labels == 2] >= t).mean())
    pairs = np.subtract.outer(scores[labels == 2], scores[labels != 2])
    assert train.auc(false, true) == pytest.approx(((pairs > 0) + 0.5 * (pairs == 0)).mean(), rel=1e-12)
    assert train.auc(false[::-1], true[::-1]) == pytest.approx(train.auc(false, true), rel=1e-12)
    mixed = RNG.permutation(len(false))
    assert train.auc(false[mixed], true[mixed], reorder=True) == pytest.approx(train.auc(false, true), rel=1e-12)


def test_curves_of_several_classes():
    scores, labels = classes()
    curves = gathered(train.ROC(CLASSES), 8, scores, labels).eval()
    for k in range(CLASSES):
        for found, expected in zip(curves, train.ROC()(scores[:, k], (labels == k).astype(int)), strict=True):
            np.testing.assert_allclose(found[k], expected, rtol=1e-15)


@pytest.mark.parametrize("size", [6, 4])
@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_similarity_of_rows(similarity, reduction, zero, size):
    rows = RNG.normal(size=(6, 3))
    expected = np.zeros((6, 6))
    for i, j in np.ndindex(6, 6):
        length = np.hypot.reduce(rows[i]) * np.hypot.reduce(rows[j]) if similarity == "cosine" else 1.0
        expected[i, j] = 0.0 if zero and i == j else sum(rows[i] * rows[j]) / length
    expected = expected if reduction == "none" else getattr(np, reduction)(expected, -1)
    found = gathered(train.CosineSimilarity(similarity, reduction, zero), size, rows).eval()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_dice_of_regions():
    inside, true = RNG.integers(0, 2, (2, 6, 5, 5))
    each = [2 * (a & b).sum() / (a.sum() + b.sum() + 0.5) for a, b in zip(inside, true, strict=True)]
    assert gathered(train.Dice(0.5), 1, inside, true).eval() == pytest.approx(np.mean(each), rel=1e-12)
    whole = 2 * (inside & true).sum() / (inside.sum() + true.sum() + 0.5)
    assert gathered(train.Dice(0.5), 6, inside, true).eval() == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("size", [30, 7])
def test_perplexity(size):
    scores, labels = classes()
    shares = scores / scores.sum(1, keepdims=True)
    chosen = np.array([shares[k, labels[k]] for k in range(30)])
    metric = gathered(train.Perplexity(), size, shares, labels)
    assert metric.eval() == pytest.approx(np.prod(chosen) ** (-1 / 30), rel=1e-12)
    kept = chosen[labels != 2]
    assert gathered(train.Perplexity(2), size, shares, labels).eval() == pytest.approx(
        np.prod(kept) ** (-1 / len(kept)), rel=1e-12
    )


@pytest.mark.parametrize("method", ["clear", "update", "eval"])
def test_a_metric_defines_its_methods(method):
    with pytest.raises(NotImplementedError, match=f"must define {method}"):
        getattr(train.Metric(), method)()
