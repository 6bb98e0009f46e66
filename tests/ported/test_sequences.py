"""Losses of sequences, against sums over all paths that are written out, and against finite differences."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.testing import check

IN_BOTH_MODES = pytest.mark.usefixtures("mode")
STEPS, BATCH, CLASSES = 4, 3, 3
LOGITS = np.random.default_rng(8).normal(size=(STEPS, BATCH, CLASSES))
LOG_PROBS = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
TAKEN = [4, 3, 2]
# For each blank: labels that differ, equal neighbours, one, none; the last fits into no path of two times.
LABELS = {0: [[1, 2], [1, 1], [2]], 1: [[2, 0], [], [0]], 2: [[0, 1, 0], [1], [0, 0]]}


def labels_of(path, blank, merged=True):
    """What is left of a path once repetitions are merged and blanks are dropped."""
    kept = [n for k, n in enumerate(path) if not merged or not k or n != path[k - 1]]
    return [n for n in kept if n != blank]


def paths(steps, labels, blank, merged=True):
    return [p for p in itertools.product(range(CLASSES), repeat=steps) if labels_of(p, blank, merged) == labels]


def loss_of(log_probs, labels, blank, merged=True):
    """The loss of one sequence, shape (T, C), summed over all its paths."""
    found = [sum(log_probs[t, n] for t, n in enumerate(p)) for p in paths(len(log_probs), labels, blank, merged)]
    return -np.log(np.sum(np.exp(found))) if found else np.inf


def padded(sequences):
    """Labels filled up with numbers that are no class."""
    longest = max(map(len, sequences))
    counts = [len(each) for each in sequences]
    return Tensor([each + [-7] * (longest - len(each)) for each in sequences]), Tensor(counts)


def losses_of(log_probs, sequences, blank, merged=True):
    return [loss_of(log_probs[:n, k], sequences[k], blank, merged) for k, n in enumerate(TAKEN)]


@IN_BOTH_MODES
@pytest.mark.parametrize("blank", LABELS)
def test_the_loss_is_the_sum_over_paths(blank):
    labels, counts = padded(LABELS[blank])
    expected = np.array(losses_of(LOG_PROBS, LABELS[blank], blank))
    each, alpha = ops.ctc_loss(f64(LOG_PROBS), labels, Tensor(TAKEN), counts, blank, "none")
    assert_close(each, expected)
    assert alpha.shape == (BATCH, STEPS, 2 * labels.shape[1] + 1)
    finite = np.where(np.isinf(expected), 0.0, expected)
    shares = finite / np.maximum(counts.asnumpy(), 1)
    for reduction, value in {"none": finite, "sum": finite.sum(), "mean": shares.mean()}.items():
        settings = (blank, reduction, True)
        given = (f64(LOG_PROBS), labels, Tensor(TAKEN), counts)
        assert_close(nn.CTCLoss(*settings)(*given), value)
        assert_close(ops.CTCLossV2(*settings)(*given)[0], value)


@IN_BOTH_MODES
def test_forward_variables_are_sums_of_prefixes():
    labels, steps = [1, 2], STEPS
    _, alpha = ops.ctc_loss(f64(LOG_PROBS[:, 0]), Tensor(labels), Tensor(steps), Tensor(2))
    alpha = np.exp(alpha.asnumpy())
    for step in range(steps):
        ends = [0.0, 0.0]  # prefixes that have all labels and end in the blank, or in the last label
        for path in paths(step + 1, labels, 0):
            ends[path[-1] != 0] += np.exp(sum(LOG_PROBS[t, 0, n] for t, n in enumerate(path)))
        assert_close(f64(alpha[step, 4:2:-1]), ends, rtol=1e-12)


@IN_BOTH_MODES
def test_labels_in_a_row_and_one_sequence():
    labels, counts = padded(LABELS[0])
    row = Tensor([n for each in LABELS[0] for n in each])
    given = (Tensor(TAKEN), counts, 0, "none")
    expected = ops.ctc_loss(f64(LOG_PROBS), labels, *given)[0].asnumpy()
    assert_close(ops.ctc_loss(f64(LOG_PROBS), row, *given)[0], expected)
    alone = ops.ctc_loss(f64(LOG_PROBS[:, 0]), Tensor(LABELS[0][0]), Tensor(4), Tensor(2), reduction="none")[0]
    assert alone.shape == ()
    assert_close(alone, expected[0])


@pytest.mark.parametrize("blank", LABELS)
def test_derivatives_of_the_loss(blank):
    labels, counts = padded(LABELS[blank])

    def loss(x):
        return ops.ctc_loss(x, labels, Tensor(TAKEN), counts, blank, "sum", True)[0]

    check(loss, (LOG_PROBS,), order=2, narrow=False)
    check(lambda x: loss(ops.log_softmax(x, -1)), (LOGITS,), order=2, narrow=False)


@IN_BOTH_MODES
@pytest.mark.parametrize("zero", [False, True])
def test_impossible_labels_have_no_slope(zero):
    loss = nn.CTCLoss(zero_infinity=zero)
    slope = dg.grad(lambda x: loss(x, Tensor([[1, 1]]), Tensor([2]), Tensor([2])))(f64(LOG_PROBS[:, :1]))
    assert_close(slope, np.zeros((STEPS, 1, CLASSES)))


@IN_BOTH_MODES
def test_sequences_of_length_0_and_the_blank_among_labels():
    nothing = ops.ctc_loss(f64(LOG_PROBS), Tensor([[1], [1], [1]]), Tensor([0, 0, 1]), Tensor([0, 1, 0]), 0, "none")[0]
    assert_close(nothing, [0.0, np.inf, -LOG_PROBS[0, 2, 0]])


def test_a_recorded_loss_replays():
    labels, counts = padded(LABELS[0])
    loss = dg.jit(lambda x, labels, taken, counts: ops.ctc_loss(x, labels, taken, counts, 0, "none")[0])
    for taken in ([4, 4, 4], TAKEN, [2, 3, 4], [4, 3, 1]):
        given = (f64(LOG_PROBS), labels, Tensor(taken), counts)
        assert_close(loss(*given), ops.ctc_loss(*given, 0, "none")[0].asnumpy())


SPARSE = [[0, 1], [1, 1], [0]]
PLACES = Tensor([[k, j] for k, each in enumerate(SPARSE) for j in range(len(each))])
VALUES = Tensor([n for each in SPARSE for n in each])


@pytest.mark.parametrize(("collapsed", "merged"), [*itertools.product([False, True], repeat=2)])
def test_logits_with_a_table_of_labels(collapsed, merged):
    sequences = [labels_of(each, None, collapsed) for each in SPARSE]
    loss = ops.CTCLoss(collapsed, merged)

    def total(x):
        return loss(x, PLACES, VALUES, Tensor(TAKEN))[0].sum()

    each, gradient = loss(f64(LOGITS), PLACES, VALUES, Tensor(TAKEN))
    assert_close(each, losses_of(LOG_PROBS, sequences, CLASSES - 1, merged))
    assert_close(gradient, dg.grad(total)(f64(LOGITS)).asnumpy())
    check(total, (LOGITS,), order=2, narrow=False)


@IN_BOTH_MODES
def test_sequences_that_are_too_short():
    given = (f64(LOGITS), PLACES, VALUES, Tensor([4, 2, 2]))
    assert_raises(ValueError, lambda: ops.CTCLoss()(*given), "ignore_longer_outputs_than_inputs")
    each, gradient = ops.CTCLoss(ignore_longer_outputs_than_inputs=True)(*given)
    assert each.asnumpy()[1] == 0
    assert not gradient.asnumpy()[:, 1].any()
    assert each.asnumpy()[0] > 0


@pytest.mark.parametrize("merged", [False, True])
def test_labels_of_the_best_path(merged):
    scores = np.random.default_rng(5).normal(size=(6, 4, CLASSES))
    taken = [6, 0, 4, 5]
    best = scores.argmax(-1)
    expected = [labels_of(list(best[:n, k]), CLASSES - 1, merged) for k, n in enumerate(taken)]
    places, labels, shape, score = ops.CTCGreedyDecoder(merged)(f64(scores), Tensor(taken))
    rows = [(k, j) for k, each in enumerate(expected) for j in range(len(each))]
    assert_close(places, np.array(rows))
    assert_close(labels, np.array([n for each in expected for n in each]))
    assert_close(shape, np.array([4, max(map(len, expected))]))
    assert_close(score, [[-scores[:n, k].max(-1).sum()] for k, n in enumerate(taken)])
    slope = dg.grad(lambda x: ops.ctc_greedy_decoder(x, Tensor(taken))[3].sum())(f64(scores))
    largest = scores == scores.max(-1, keepdims=True)
    assert_close(slope, np.where(largest & (np.arange(6)[:, None, None] < np.array(taken)[:, None]), -1.0, 0.0))


def test_nothing_but_blanks():
    places, labels, shape, _ = ops.ctc_greedy_decoder(f64([[[0.0, 1.0]]]), Tensor([1]))
    assert (places.shape, labels.shape) == ((0, 2), (0,))
    assert_close(shape, np.array([1, 0]))


def call(x=LOG_PROBS, labels=((1,), (1,), (1,)), taken=(4, 4, 4), counts=(1, 1, 1), **settings):
    return lambda: ops.ctc_loss(f64(x), Tensor(labels), Tensor(taken), Tensor(counts), **settings)


REFUSED = {
    "axes": (ValueError, call(LOG_PROBS[0, 0]), "(T, N, C)"),
    "batch": (ValueError, call(labels=((1,), (1,))), "(3, S)"),
    "row": (ValueError, call(labels=(1, 1)), "sum of"),
    "blank": (ValueError, call(blank=3), "from 0 to 2"),
    "label is no class": (IndexError, call(labels=((3,), (1,), (1,))), "3"),
    "label below 0": (IndexError, call(labels=((-1,), (1,), (1,))), "3"),
    "too many steps": (IndexError, call(taken=(5, 4, 4)), "4"),
    "steps below 0": (IndexError, call(taken=(-1, 4, 4)), "4"),
    "too many labels": (IndexError, call(counts=(2, 1, 1)), "4"),
    "labels below 0": (IndexError, call(counts=(-1, 1, 1)), "4"),
    "labels of floats": (TypeError, call(labels=((1.0,), (1.0,), (1.0,))), "integers"),
    "reduction": (ValueError, call(reduction="max"), "'none'"),
    "scores": (ValueError, lambda: ops.ctc_greedy_decoder(f64(LOGITS[0]), Tensor(TAKEN)), "(T, N, C)"),
    "lengths": (ValueError, lambda: ops.ctc_greedy_decoder(f64(LOGITS), Tensor([5, 1, 1])), "from 0 to 4"),
    "table": (ValueError, lambda: ops.CTCLoss()(f64(LOGITS), Tensor([[0, 0]]), Tensor([2]), Tensor(TAKEN)), "blank, 2"),
    "places": (
        ValueError,
        lambda: ops.CTCLoss()(f64(LOGITS), Tensor([[0, 1]]), Tensor([1]), Tensor(TAKEN)),
        "in order",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
