"""Sequences without a known alignment with their labels: losses, and the labels of the best path."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..._settings import truth_value
from ...tensor import Tensor
from ...transforms.gradient import grad as _grad
from .._arguments import Primitive, floating, integer
from ..axes._joining import cat, stack
from ..index._indices import index_tensor
from ..index.choice import where
from ..math import elementwise as _rows
from ..math._extremes import amax
from ..math.reductions import argmax, logsumexp
from ..neural._reduction import check_reduction, reduce_loss
from ..neural._softmax import log_softmax
from ..shape.creation import full_like
from ._classes import Derived

__all__ = ["CTCGreedyDecoder", "CTCLoss", "CTCLossV2", "NoRepeatNGram", "ctc_greedy_decoder", "ctc_loss"]


def _lengths(name: str, what: str, given: Any, batch: int, largest: int) -> Tensor:
    """Return one length for each sequence of the batch. Negative lengths become too large, so that they fit no axis."""
    found = index_tensor(name, given)
    if found.shape != (batch,) and not (batch == 1 and found.shape == ()):
        raise ValueError(f"{name}: {what} has shape {found.shape}; expected one length for each of {batch} sequences")
    found = found.reshape(batch)
    return where(found < 0, largest + 1, found)


def _unrolled(name: str, labels: Tensor, lengths: Any, batch: int) -> Tensor:
    """Split the concatenated labels of all sequences into one row for each. The lengths are read."""
    counts = index_tensor(name, lengths).asnumpy().reshape(-1)
    if len(counts) != batch or (counts < 0).any() or counts.sum() != labels.size:
        raise ValueError(
            f"{name}: {labels.size} labels in a row; expected as many as the sum of {batch} lengths, {lengths}"
        )
    inside = np.arange(counts.max(initial=0)) < counts[:, None]
    places = np.zeros(inside.shape, np.int64)
    places[inside] = np.arange(labels.size)
    return labels[places]


def _log_alpha(log_probs: Tensor, labels: Tensor, blank: int, merged: bool = True) -> Tensor:
    """The logarithms of the forward variables, shape (batch, T, 2 S + 1).

    State 2 k + 1 is label k, and even states are blanks between them. A path stays, moves on by one state, or skips a
    blank between two different labels. Labels that are not merged do not stay, and equal ones may skip their blank.
    """
    steps, (batch, count) = log_probs.shape[0], labels.shape
    width = 2 * count + 1
    states = stack((full_like(labels, blank), labels), 2).reshape(batch, 2 * count)
    states = cat((states, Tensor(np.full((batch, 1), blank))), 1)
    emitted = log_probs[np.arange(steps)[:, None, None], np.arange(batch)[:, None], states]
    least = Tensor(np.full((batch, width), -np.inf, log_probs.dtype.numpy))
    odd = np.broadcast_to(np.arange(width) % 2 == 1, (batch, width))
    alpha = where(Tensor(np.broadcast_to(np.arange(width) < 2, odd.shape)), emitted[0], least)
    before = cat((states[:, :2], states[:, :-2]), 1)[:, :width]
    skips = Tensor(odd) if not merged else _rows.logical_and(Tensor(odd), states != before)
    found = [alpha]
    for step in range(1, steps):
        stay = alpha if merged else where(Tensor(odd), least, alpha)
        one = cat((least[:, :1], alpha[:, :-1]), 1)
        two = cat((least[:, :2], alpha[:, :-2]), 1)[:, :width]
        alpha = emitted[step] + logsumexp(stack((stay, one, where(skips, two, least))), 0)
        found.append(alpha)
    return stack(found, 1)


def _negative_log(log_alpha: Tensor, taken: Tensor, counts: Tensor) -> Tensor:
    """The loss of each sequence: its paths end in the last label or in the blank behind it."""
    batch = np.arange(log_alpha.shape[0])
    steps = where(taken == 0, 0, taken - 1)
    blank = log_alpha[batch, steps, 2 * counts]
    label = where(counts == 0, -np.inf, log_alpha[batch, steps, where(counts == 0, 0, 2 * counts - 1)])
    loss = -logsumexp(stack((blank, label)), 0)  # without a path its derivative is 0
    return where(taken == 0, where(counts == 0, 0.0, np.inf).astype(loss.dtype), loss)


def _losses(x: Tensor, labels: Tensor, taken: Tensor, counts: Tensor, blank: int, merged: bool = True) -> Any:
    """The loss of each sequence, and the forward variables."""
    inside = Tensor(np.arange(labels.shape[1])) < counts.reshape(-1, 1)
    labels = where(labels < 0, x.shape[2], labels)  # not a class, like labels that are too large
    alpha = _log_alpha(x, where(inside, labels, blank), blank, merged)
    impossible = _rows.logical_and(inside, labels == blank).any(1) if labels.shape[1] else counts < 0
    return where(impossible, np.inf, _negative_log(alpha, taken, counts)), alpha


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Connectionist temporal classification: the loss of labels without their times.

    The loss of a sequence is ``-log(sum over paths of prod over t of p[t, path[t]])``. A path has one class for each
    time. It counts if merging repetitions and dropping blanks leaves the labels. The sum is taken over the states of
    all such paths, from one time to the next, in logarithms. Derivatives of any order are derivatives of this sum. See
    A. Graves et al., Connectionist Temporal Classification, ICML 2006.

    Parameters
    ----------
    log_probs : Tensor
        Logarithms of probabilities, as of `log_softmax`: shape (T, N, C), or (T, C) for one sequence. The derivative by
        `log_probs` does not assume that their exponentials sum to 1.
    targets : Tensor
        Labels, integers of shape (N, S); labels behind the length of a sequence are not read. Of shape (sum of
        `target_lengths`,) the labels of all sequences, one after another.
    input_lengths, target_lengths : Tensor
        Integers of shape (N,): the number of times of each sequence, and its number of labels. The lengths of
        concatenated labels are read when the function is called.
    blank : int, default 0
        The class of the blank.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        'mean' divides the loss of each sequence by the number of its labels (1 if it has none) first.
    zero_infinity : bool, default False
        True if sequences that cannot have their labels count 0 in place of infinity: they are too short, or a label is
        the blank. Their derivative is 0 in both cases.

    Returns
    -------
    tuple of Tensor
        The loss, shape (N,) or scalar; and the logarithms of the forward variables, shape (N, T, 2 S + 1), without the
        first axis for one sequence.

    Raises
    ------
    TypeError
        If labels or lengths are not integers.
    ValueError
        If shapes do not fit, or `blank` is not a class.
    IndexError
        If a length is longer than its axis or below 0, or a label is not a class.

    Examples
    --------
    Two times and one label: three of four paths of equal probability have it.

    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> log_probs = dg.Tensor(np.log(np.full((2, 1, 2), 0.5)))
    >>> loss, _ = ops.ctc_loss(log_probs, dg.Tensor([[1]]), dg.Tensor([2]), dg.Tensor([1]))
    >>> print(np.exp(-loss.asnumpy()).round(6))
    0.75
    """
    check_reduction("ctc_loss", reduction)
    x = floating("ctc_loss", log_probs)
    alone = x.ndim == 2
    if alone:
        x = x.reshape(x.shape[0], 1, x.shape[1])
    if x.ndim != 3 or not x.shape[0]:
        raise ValueError(f"ctc_loss: log_probs of shape {x.shape}; expected (T, N, C) with T of 1 or more")
    steps, batch, classes = x.shape
    blank = integer("ctc_loss", "blank", blank)
    if not 0 <= blank < classes:
        raise ValueError(f"ctc_loss: blank is {blank}; expected a class from 0 to {classes - 1}")
    labels = index_tensor("ctc_loss", targets)
    if labels.ndim == 1:
        labels = labels.reshape(1, -1) if batch == 1 else _unrolled("ctc_loss", labels, target_lengths, batch)
    if labels.ndim != 2 or labels.shape[0] != batch:
        raise ValueError(f"ctc_loss: targets of shape {labels.shape}; expected ({batch}, S), or all labels in a row")
    counts = _lengths("ctc_loss", "target_lengths", target_lengths, batch, labels.shape[1])
    taken = _lengths("ctc_loss", "input_lengths", input_lengths, batch, steps)
    each, alpha = _losses(x, labels, taken, counts, blank)
    if truth_value("ctc_loss", "zero_infinity", zero_infinity):
        each = where(each == np.inf, 0.0, each)
    if reduction == "mean":
        each = each / where(counts == 0, 1, counts).astype(each.dtype)
    if alone:
        each, alpha = each[0], alpha[0]
    return reduce_loss(each, reduction), alpha


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The labels of the path with the largest score at each time. The last class is the blank.

    Parameters
    ----------
    inputs : Tensor
        Scores, as logits or logarithms of probabilities, shape (T, N, C).
    sequence_length : Tensor
        Integers of shape (N,), from 0 to T: the number of times of each sequence. They and the classes are read when
        the function is called.
    merge_repeated : bool, default True
        True if equal classes side by side are one label.

    Returns
    -------
    tuple of Tensor
        The labels as a sparse matrix: their places, Int64 of shape (M, 2), where a row has the sequence and the place
        among its labels; the labels, Int64 of shape (M,); the shape, two Int64 numbers, N and the largest number of
        labels. Last minus the sum of the largest scores of each sequence, shape (N, 1), which has derivatives.

    Raises
    ------
    ValueError
        If shapes do not fit, or a length is below 0 or above T.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> scores = dg.Tensor([[[2.0, 1.0, 0.0]], [[2.0, 1.0, 0.0]], [[0.0, 1.0, 3.0]], [[0.0, 5.0, 3.0]]])
    >>> places, labels, shape, score = ops.ctc_greedy_decoder(scores, dg.Tensor([4]))
    >>> print(labels, shape, score[0])
    [0 1] [1 2] [-12.]
    """
    x = floating("ctc_greedy_decoder", inputs)
    if x.ndim != 3 or not x.shape[0] or not x.shape[2]:
        raise ValueError(f"ctc_greedy_decoder: inputs of shape {x.shape}; expected (T, N, C) with T and C of 1 or more")
    steps, batch, classes = x.shape
    taken = index_tensor("ctc_greedy_decoder", sequence_length).asnumpy()
    if taken.shape != (batch,) or (taken < 0).any() or (taken > steps).any():
        raise ValueError(f"ctc_greedy_decoder: sequence_length is {taken}; expected {batch} lengths from 0 to {steps}")
    path = argmax(x, 2).asnumpy()
    inside = np.arange(steps)[:, None] < taken
    kept = inside & (path != classes - 1)
    if truth_value("ctc_greedy_decoder", "merge_repeated", merge_repeated):
        kept[1:] &= path[1:] != path[:-1]
    sequence, time = np.nonzero(kept.T)
    place = (np.cumsum(kept, 0) - 1)[time, sequence]
    shape = np.array([batch, kept.sum(0).max(initial=0)], np.int64)
    score = where(Tensor(inside), amax(x, 2), 0).sum(0)
    places = Tensor(np.stack((sequence, place), 1).astype(np.int64))
    return places, Tensor(path[time, sequence].astype(np.int64)), Tensor(shape), -score.reshape(batch, 1)


class CTCGreedyDecoder(
    Derived, function=ctc_greedy_decoder, merge_repeated=True, call="inputs, sequence_length", example="""
>>> print(ops.CTCGreedyDecoder()(dg.Tensor([[[2.0, 1.0, 0.0]]]), dg.Tensor([1]))[1])
[0]
"""):  # fmt: skip
    __slots__ = ()


class CTCLossV2(Primitive):
    """Primitive class of `ctc_loss`, called with ``(log_probs, targets, input_lengths, target_lengths)``.

    Parameters
    ----------
    blank, zero_infinity
        As in `ctc_loss`.
    reduction : {'none', 'mean', 'sum'}, default 'none'
        As in `ctc_loss`.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> log_probs = dg.Tensor(np.log(np.full((2, 1, 2), 0.5)))
    >>> loss, _ = ops.CTCLossV2()(log_probs, dg.Tensor([[1]]), dg.Tensor([2]), dg.Tensor([1]))
    >>> print(np.exp(-loss.asnumpy()).round(6))
    [0.75]
    """

    __slots__ = ("blank", "reduction", "zero_infinity")

    def __init__(self, blank: int = 0, reduction: str = "none", zero_infinity: bool = False) -> None:
        check_reduction("CTCLossV2", reduction)
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def __call__(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> tuple[Tensor, Tensor]:
        settings = (self.blank, self.reduction, self.zero_infinity)
        return ctc_loss(log_probs, targets, input_lengths, target_lengths, *settings)


class CTCLoss(Primitive):
    """`ctc_loss` of logits and a sparse table of labels, and its gradient; the last class is the blank.

    ``ops.CTCLoss()(x, labels_indices, labels_values, sequence_length)``: the logits have shape (T, N, C), and `softmax`
    makes them probabilities. Row k of `labels_indices`, shape (M, 2), has the sequence of label k and its place among
    the labels of this sequence, in order. The results are the loss of each sequence, shape (N,), and the gradient of
    their sum, of the shape of the logits.

    Parameters
    ----------
    preprocess_collapse_repeated : bool, default False
        True if equal labels side by side are one label.
    ctc_merge_repeated : bool, default True
        True if equal classes side by side in a path are one label, False if each is a label of its own.
    ignore_longer_outputs_than_inputs : bool, default False
        True if sequences that are too short for their labels count 0; otherwise they raise an error.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> places, labels, length = dg.Tensor([[0, 0]]), dg.Tensor([0]), dg.Tensor([2])
    >>> loss, gradient = ops.CTCLoss()(dg.Tensor(np.zeros((2, 1, 2))), places, labels, length)
    >>> print(np.exp(-loss.asnumpy()).round(6), gradient.shape)
    [0.75] (2, 1, 2)
    """

    __slots__ = ("collapsed", "ignored", "merged")

    def __init__(
        self,
        preprocess_collapse_repeated: bool = False,
        ctc_merge_repeated: bool = True,
        ignore_longer_outputs_than_inputs: bool = False,
    ) -> None:
        self.collapsed, self.merged = preprocess_collapse_repeated, ctc_merge_repeated
        self.ignored = ignore_longer_outputs_than_inputs

    def _sequences(self, batch: int, classes: int, indices: Any, values: Any) -> list[list[int]]:
        """The labels of each sequence."""
        rows = index_tensor("CTCLoss", indices).asnumpy()
        labels = index_tensor("CTCLoss", values).asnumpy()
        if rows.shape != (labels.size, 2) or labels.ndim != 1 or (rows[:, 0] < 0).any() or (rows[:, 0] >= batch).any():
            raise ValueError(
                f"CTCLoss: labels_indices of shape {rows.shape} and labels_values of shape {labels.shape}; expected a "
                f"row for each label: a sequence from 0 to {batch - 1}, and a place"
            )
        if (labels < 0).any() or (labels >= classes - 1).any():
            raise ValueError(f"CTCLoss: labels_values is {labels}; expected labels below the blank, {classes - 1}")
        found: list[list[int]] = [[] for _ in range(batch)]
        for (sequence, place), label in zip(rows, labels, strict=True):
            if place != len(found[sequence]):
                raise ValueError(
                    f"CTCLoss: labels_indices has place {place} in sequence {sequence}; expected "
                    f"{len(found[sequence])}: places count from 0, in order"
                )
            found[sequence].append(int(label))
        if self.collapsed:
            found = [[n for k, n in enumerate(each) if not k or n != each[k - 1]] for each in found]
        return found

    def __call__(self, x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any) -> tuple[Tensor, Tensor]:
        x = floating("CTCLoss", x)
        if x.ndim != 3 or not x.shape[0]:
            raise ValueError(f"CTCLoss: x of shape {x.shape}; expected (T, N, C) with T of 1 or more")
        steps, batch, classes = x.shape
        sequences = self._sequences(batch, classes, labels_indices, labels_values)
        row = Tensor(np.array([n for each in sequences for n in each], np.int64))
        numbers = Tensor(np.array([len(each) for each in sequences], np.int64))
        labels = _unrolled("CTCLoss", row, numbers, batch)
        counts = _lengths("CTCLoss", "labels_values", numbers, batch, steps)
        taken = _lengths("CTCLoss", "sequence_length", sequence_length, batch, steps)

        equal = [sum(a == b for a, b in pairwise(each)) for each in sequences]  # these need a blank between them
        least = np.array([len(each) + self.merged * n for each, n in zip(sequences, equal, strict=True)])
        short = index_tensor("CTCLoss", sequence_length).asnumpy() < least
        if short.any() and not self.ignored:
            raise ValueError(
                f"CTCLoss: sequence_length is {sequence_length}, and labels need {least}; expected more times, or "
                "ignore_longer_outputs_than_inputs=True"
            )

        def losses(x: Tensor) -> Tensor:
            loss, _ = _losses(log_softmax(x, -1), labels, taken, counts, classes - 1, self.merged)
            return where(Tensor(short), 0.0, loss)

        return losses(x), _grad(lambda x: losses(x).sum())(x)


class NoRepeatNGram(Primitive):
    """Logarithms of probabilities without labels that would repeat.

    ``ops.NoRepeatNGram(ngram_size)(state_seq, log_probs)`` is for sequences (..., L) and scores (..., V). A label gets
    the least finite number if the last labels with it would repeat earlier ones.

    Parameters
    ----------
    ngram_size : int, default 1
        The number of labels whose sequence must not repeat.

    Raises
    ------
    TypeError
        If the labels are not integers.
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> labels, scores = dg.Tensor([[1, 2, 0, 1]]), ops.zeros((1, 3))
    >>> print(ops.NoRepeatNGram(2)(labels, scores) == scores)
    [[ True  True False]]
    """

    __slots__ = ("ngram_size",)

    def __init__(self, ngram_size: int = 1) -> None:
        self.ngram_size: int = integer("NoRepeatNGram", "ngram_size", ngram_size)
        if self.ngram_size < 1:
            raise ValueError(f"NoRepeatNGram: ngram_size is {ngram_size}; expected 1 or more")

    def __call__(self, state_seq: Any, log_probs: Any) -> Tensor:
        name, n = "NoRepeatNGram", self.ngram_size
        labels, scores = index_tensor(name, state_seq), floating(name, log_probs)
        if not labels.ndim or labels.ndim != scores.ndim or labels.shape[:-1] != scores.shape[:-1]:
            raise ValueError(
                f"{name}: labels of shape {labels.shape} and scores {scores.shape}; expected (..., L) and (..., V)"
            )
        length, number = labels.shape[-1], scores.shape[-1]
        if n > length:
            return scores
        lead = (slice(None),) * (labels.ndim - 1)
        begun = [labels[(*lead, slice(k, length - n + 1 + k))] for k in range(n)]  # label k of each n in a row
        last = [labels[(*lead, slice(length - n + 1 + k, length - n + 2 + k))] for k in range(n - 1)]
        met = begun[-1].reshape(*begun[-1].shape, 1) == np.arange(number)
        for before, now in zip(begun, last, strict=False):
            met = met & (before == now).reshape(*before.shape, 1)
        return where(met.any(-2), np.finfo(scores.dtype.numpy).min, scores)


METHODS: dict[str, Callable[..., Any]] = {}
