"""Losses: every reduction, weights, ignored and smoothed classes, the joints of pieces, zeros among probabilities."""

import numpy as np

from cases import Case, normal, positive
from dualgrad import Tensor, ops

X, T = normal(2, 3), normal(2, 3, seed=1)
P = positive(2, 3) / 4  # probabilities
CLASSES = np.array([2, 0, 1])
LOGITS = normal(3, 4)
WEIGHT = np.array([0.5, 2.0, 1.0, 3.0])
REDUCTIONS = "mean", "sum", "none"


def zeros(like):
    """Probabilities, some of them 0."""
    return Tensor(np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]), like.dtype)


def long(x):
    """Vectors whose squares no type holds."""
    return x * float(np.finfo(x.dtype.numpy).max) ** 0.6


CASES = [
    *[Case("mse_loss", r, lambda x, t, r=r: ops.mse_loss(x, t, r), (X, T)) for r in REDUCTIONS],
    *[Case("l1_loss", r, lambda x, t, r=r: ops.l1_loss(x, t, r), (X, T)) for r in REDUCTIONS],
    *[Case("smooth_l1_loss", r, lambda x, t, r=r: ops.smooth_l1_loss(x, t, 0.7, r), (X, T)) for r in REDUCTIONS],
    *[Case("huber_loss", r, lambda x, t, r=r: ops.huber_loss(x, t, r, 0.7), (X, T)) for r in REDUCTIONS],
    Case("mse_loss", "broadcast", ops.mse_loss, (X, normal(3))),
    Case("l1_loss", "no distance", ops.l1_loss, (X[0], X[0]), smooth=False),
    Case("smooth_l1_loss", "joint", ops.smooth_l1_loss, (np.array([1.0, -1.0, 0.0]), np.zeros(3)), smooth=False),
    Case("huber_loss", "joint", ops.huber_loss, (np.array([1.0, -1.0, 0.0]), np.zeros(3)), smooth=False),
    # two classes
    *[Case("binary_cross_entropy", r, lambda p, t, r=r: ops.binary_cross_entropy(p, t, None, r), (P, P.T.reshape(2, 3)))
      for r in REDUCTIONS],
    Case("binary_cross_entropy", "weight", ops.binary_cross_entropy, (P, P / 2, positive(3))),
    Case("binary_cross_entropy_with_logits", "", ops.binary_cross_entropy_with_logits, (X * 20, P)),
    Case("binary_cross_entropy_with_logits", "weights", ops.binary_cross_entropy_with_logits,
         (X, P, positive(2, 3), positive(3))),
    Case("BCEWithLogitsLoss", "", ops.BCEWithLogitsLoss("sum"), (X, P)),
    # many classes
    *[Case("cross_entropy", r, lambda x, r=r: ops.cross_entropy(x, CLASSES, reduction=r), (LOGITS,))
      for r in REDUCTIONS],
    Case("cross_entropy", "sure predictions", lambda x: ops.cross_entropy(x * 30, CLASSES), (LOGITS,)),
    Case("cross_entropy", "weight", lambda x, w: ops.cross_entropy(x, CLASSES, w), (LOGITS, WEIGHT)),
    Case("cross_entropy", "ignored", lambda x: ops.cross_entropy(x, CLASSES, ignore_index=0), (LOGITS,)),
    Case("cross_entropy", "ignored, weight, smoothing",
         lambda x, w: ops.cross_entropy(x, CLASSES, w, 0, label_smoothing=0.1), (LOGITS, WEIGHT)),
    Case("cross_entropy", "probabilities", ops.cross_entropy, (X, P)),
    Case("cross_entropy", "probabilities, weight, smoothing",
         lambda x, t, w: ops.cross_entropy(x, t, w, label_smoothing=0.2), (X, P, positive(3))),
    Case("cross_entropy", "more axes", lambda x: ops.cross_entropy(x, np.array([[0, 2], [1, 1]])), (normal(2, 3, 2),)),
    Case("cross_entropy", "one sample", lambda x: ops.cross_entropy(x, np.array(2)), (normal(4),)),
    Case("nll_loss", "", lambda x: ops.nll_loss(x, CLASSES), (LOGITS,)),
    Case("nll_loss", "weight", lambda x, w: ops.nll_loss(x, CLASSES, w, reduction="sum"), (LOGITS, WEIGHT)),
    Case("NLLLoss", "", lambda x, w: ops.NLLLoss()(x, CLASSES, w), (LOGITS, WEIGHT)),
    Case("SoftmaxCrossEntropyWithLogits", "", ops.SoftmaxCrossEntropyWithLogits(), (X, P)),
    Case("SoftmaxCrossEntropyWithLogits", "zeros",
         lambda x: ops.SoftmaxCrossEntropyWithLogits()(x * 30, zeros(x)), (X,)),
    # distributions
    *[Case("kl_div", r, lambda x, t, r=r: ops.kl_div(x, t, r), (X, P)) for r in (*REDUCTIONS, "batchmean")],
    Case("kl_div", "logarithms", lambda x, t: ops.kl_div(x, t, log_target=True), (X, T)),
    Case("kl_div", "zeros", lambda x: ops.kl_div(x, zeros(x), "sum"), (X,)),
    Case("KLDivLoss", "", ops.KLDivLoss("sum"), (X, P)),
    *[Case("gaussian_nll_loss", r, lambda x, t, v, r=r: ops.gaussian_nll_loss(x, t, v, True, reduction=r),
           (X, T, positive(2, 3))) for r in REDUCTIONS],
    Case("gaussian_nll_loss", "one variance each", ops.gaussian_nll_loss, (X, T, positive(2))),
    Case("gaussian_nll_loss", "one variance for all", ops.gaussian_nll_loss, (X, normal(2, 1), positive(1))),
    Case("gaussian_nll_loss", "at and below the limit", lambda x, t, v: ops.gaussian_nll_loss(x, t, v, eps=0.5),
         (X, T, np.array([[0.5, 0.25, -1.0], [2.0, 0.0, 0.5]])), smooth=False),
    # directions
    Case("cosine_similarity", "", ops.cosine_similarity, (X, T)),
    Case("cosine_similarity", "first axis, broadcast", lambda x, y: ops.cosine_similarity(x, y, 0), (X, normal(2, 1))),
    Case("cosine_similarity", "broadcast along the axis", lambda x, y: ops.cosine_similarity(x, y, -2), (X, normal(3))),
    Case("cosine_similarity", "long vectors", lambda x, y: ops.cosine_similarity(long(x), y * 1e-3), (X, T),
         narrow=("float32",)),  # second derivatives by the short vectors do not fit into float16
    Case("cosine_similarity", "zeros", lambda x, y: ops.cosine_similarity(x, y, eps=0.1), (X * [[0.0], [1.0]], T)),
    Case("cosine_embedding_loss", "", lambda x, y: ops.cosine_embedding_loss(x, y, np.array([1, -1]), 0.1), (X, T)),
    Case("cosine_embedding_loss", "one pair", lambda x, y: ops.cosine_embedding_loss(x, y, np.array(1)), (X[0], T[0])),
    Case("L2Normalize", "", ops.L2Normalize(), (X,)),
    Case("L2Normalize", "axes", ops.L2Normalize((0, -1), 1e-3), (normal(2, 3, 2),)),
    Case("L2Normalize", "long vectors", lambda x: ops.L2Normalize(-1)(long(x)), (X,)),
    Case("L2Normalize", "zeros", lambda x: ops.L2Normalize(1, 0.1)(x), (X * [[0.0], [1.0]],)),
]  # fmt: skip
