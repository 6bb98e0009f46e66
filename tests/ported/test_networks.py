"""Activations, losses, windows and small layers against formulas that are written out here, with NumPy and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.signal.windows
import scipy.special
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(31)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
P, Q = RNG.uniform(0.05, 0.95, (2, 3, 4))
SIGNS = np.where(RNG.random((3, 4)) < 0.5, -1.0, 1.0)
ONES = (SIGNS + 1) / 2
CLASSES = np.array([2, 0, 3])
IMAGE = RNG.standard_normal((2, 3, 2, 4))
expit, relu = scipy.special.expit, lambda x: np.maximum(x, 0)


def entropy(p, t):
    return -(t * np.log(p) + (1 - t) * np.log(1 - p))


def several_margins(x, targets):
    """The sum over pairs, sample by sample."""
    result = []
    for row, marks in zip(x, targets, strict=True):
        own = [*itertools.takewhile(lambda k: k >= 0, marks)]
        rest = [j for j in range(len(row)) if j not in own]
        result.append(sum(relu(1 - row[i] + row[j]) for i in own for j in rest) / len(row))
    return np.array(result)


def margins(x, p, margin, weight):
    result = []
    for row, t in zip(x, CLASSES, strict=True):
        parts = [relu(margin - row[t] + row[j]) ** p for j in range(len(row)) if j != t]
        result.append(weight[t] * sum(parts) / len(row))
    return np.array(result)


def triplet(a, b, c, margin, p, swap):
    far = np.linalg.norm(a - c + 1e-6, p, axis=-1)
    if swap:
        far = np.minimum(far, np.linalg.norm(b - c + 1e-6, p, axis=-1))
    return relu(np.linalg.norm(a - b + 1e-6, p, axis=-1) - far + margin)


def focal(x, labels, gamma, weight):
    p = scipy.special.softmax(x, 1)
    own = np.take_along_axis(p, labels, 1)[:, 0]
    return -((1 - own) ** gamma) * np.log(own) * weight[labels[:, 0]]


def poisson(x, t, log_input, full):
    loss = np.exp(x) - t * x if log_input else x - t * np.log(x + 1e-8)
    large = np.where(t > 1, t, 2.0)
    rest = large * np.log(large) - large + 0.5 * np.log(2 * np.pi * large)
    return loss + np.where(t > 1, rest, 0) * full


MARKS = np.array([[1, 2, -1, 0], [0, -1, 2, 3], [3, 2, 1, 0]])
LABELS = RNG.integers(0, 3, (2, 1, 2, 4))
WEIGHT = RNG.uniform(0.5, 2.0, 4)
COUNTS = np.array([[0.0, 1.0, 2.0, 5.0]] * 3)
LOSSES = {
    # name: Cell with settings, its operands, the elementwise loss
    "MAELoss": (nn.MAELoss, {}, (X, Y), np.abs(X - Y)),
    "MarginRankingLoss": (nn.MarginRankingLoss, {"margin": 0.3}, (X, Y, SIGNS), relu(-SIGNS * (X - Y) + 0.3)),
    "HingeEmbeddingLoss": (nn.HingeEmbeddingLoss, {"margin": 0.5}, (X, SIGNS), np.where(SIGNS == 1, X, relu(0.5 - X))),
    "SoftMarginLoss": (nn.SoftMarginLoss, {}, (X, SIGNS), np.logaddexp(0, -SIGNS * X)),
    "MultiLabelSoftMarginLoss": (
        nn.MultiLabelSoftMarginLoss, {"weight": Tensor(WEIGHT)}, (X, ONES), (entropy(expit(X), ONES) * WEIGHT).mean(1),
    ),
    "MultiMarginLoss": (
        nn.MultiMarginLoss, {"p": 2, "margin": 0.7, "weight": Tensor(WEIGHT)}, (X, CLASSES), margins(X, 2, 0.7, WEIGHT),
    ),
    "MultilabelMarginLoss": (nn.MultilabelMarginLoss, {}, (X, MARKS), several_margins(X, MARKS)),
    "TripletMarginLoss": (nn.TripletMarginLoss, {"margin": 0.5}, (X, Y, P), triplet(X, Y, P, 0.5, 2, False)),
    "TripletMarginLoss swapped": (
        nn.TripletMarginLoss, {"p": 1, "swap": True}, (X, Y, P), triplet(X, Y, P, 1.0, 1, True),
    ),
    "PoissonNLLLoss": (nn.PoissonNLLLoss, {}, (X, COUNTS), poisson(X, COUNTS, True, False)),
    "PoissonNLLLoss in full": (
        nn.PoissonNLLLoss, {"log_input": False, "full": True}, (P, COUNTS), poisson(P, COUNTS, False, True),
    ),
    "FocalLoss": (
        nn.FocalLoss, {"weight": Tensor(WEIGHT[:3]), "gamma": 1.5}, (IMAGE, LABELS),
        focal(IMAGE, LABELS, 1.5, WEIGHT[:3]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_are_their_formulas(name, reduction):
    cell, settings, args, expected = LOSSES[name]
    result = cell(**settings, reduction=reduction)(*[Tensor(a) for a in args])
    assert_close(result, {"mean": np.mean, "sum": np.sum, "none": np.array}[reduction](expected), scale=1.0)


def test_overlaps():
    result = nn.DiceLoss(0.5)(f64(P), f64(Q))
    assert_close(result, 1 - 2 * (P * Q).sum() / ((P**2).sum() + (Q**2).sum() + 0.5), scale=1.0)


SMALL = {
    # name: (call, operands, expected)
    "fast_gelu": (ops.fast_gelu, (X,), X * expit(1.702 * X)),
    "FastGeLU": (ops.FastGeLU(), (X,), X * expit(1.702 * X)),
    "nn.FastGelu": (nn.FastGelu(), (X,), X * expit(1.702 * X)),
    "get_activation": (nn.get_activation("fast_gelu"), (X,), X * expit(1.702 * X)),
    "swiglu": (ops.swiglu, (X,), X[:, :2] * expit(X[:, :2]) * X[:, 2:]),
    "threshold": (lambda x: ops.threshold(x, 0.2, 5.0), (X,), np.where(X > 0.2, X, 5.0)),
    "nn.Threshold": (nn.Threshold(0.2, 5.0), (X,), np.where(X > 0.2, X, 5.0)),
    "nn.Softmax2d": (nn.Softmax2d(), (IMAGE,), scipy.special.softmax(IMAGE, 1)),
    "bidense": (ops.bidense, (X, Y, RNG.standard_normal((2, 4, 4)), np.ones(2)), None),
    "rms_norm": (
        lambda x, g: ops.rms_norm(x, g)[0], (X, WEIGHT), X / np.sqrt((X**2).mean(1, keepdims=True) + 1e-6) * WEIGHT,
    ),
    "clip_by_norm": (lambda x: ops.clip_by_norm(x, 1.0), (X,), X / (np.linalg.norm(X) + 1e-6)),
    "clip_by_norm of short": (lambda x: ops.clip_by_norm(x, 100.0), (X,), X),
    "BinaryCrossEntropy": (ops.BinaryCrossEntropy("none"), (P, Q), entropy(P, Q)),
    "SigmoidCrossEntropyWithLogits": (ops.SigmoidCrossEntropyWithLogits(), (X, Q), entropy(expit(X), Q)),
    "SparseSoftmaxCrossEntropyWithLogits": (
        ops.SparseSoftmaxCrossEntropyWithLogits(), (X, CLASSES),
        -scipy.special.log_softmax(X, 1)[range(3), CLASSES].mean(),
    ),
    "SmoothL1Loss": (ops.SmoothL1Loss(0.5), (X, Y), None),
    "SoftMarginLoss": (ops.SoftMarginLoss("none"), (X, SIGNS), np.logaddexp(0, -SIGNS * X)),
    "Einsum": (lambda x, y: ops.Einsum("ij,kj->ik")((x, y)), (X, Y), X @ Y.T),
    "nn.Norm": (nn.Norm(0, True), (X,), np.linalg.norm(X, axis=0, keepdims=True)),
    "nn.ReduceLogSumExp": (nn.ReduceLogSumExp(1), (X,), scipy.special.logsumexp(X, 1)),
    "nn.Moments": (lambda x: nn.Moments(0)(x)[1], (X,), X.var(0)),
    "nn.ClipByNorm": (
        lambda x: nn.ClipByNorm(1)(x, 1.0), (X,), X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1),
    ),
    "nn.MatMul": (nn.MatMul(True, True), (X, Y.T), X.T @ Y),
    "nn.Tril": (lambda x: nn.Tril()(x, 1), (X,), np.tril(X, 1)),
    "nn.Triu": (nn.Triu(), (X,), np.triu(X)),
    "nn.L1Regularizer": (nn.L1Regularizer(0.5), (X,), np.abs(X).sum() / 2),
    "nn.Roll": (nn.Roll((1, 2), (0, 1)), (X,), np.roll(X, (1, 2), (0, 1))),
    "nn.Unflatten": (nn.Unflatten(-1, (2, -1)), (X,), X.reshape(3, 2, 2)),
    "nn.InstanceNorm2d": (
        nn.InstanceNorm2d(3, dtype=dg.float64), (IMAGE,),
        (IMAGE - IMAGE.mean((2, 3), keepdims=True)) / np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-5),
    ),
}  # fmt: skip
SMALL["bidense"] = (*SMALL["bidense"][:2], np.einsum("ni,kij,nj->nk", X, SMALL["bidense"][1][2], Y) + 1)
SMALL["SmoothL1Loss"] = (*SMALL["SmoothL1Loss"][:2], np.where(np.abs(X - Y) < 0.5, (X - Y) ** 2, np.abs(X - Y) - 0.25))


@pytest.mark.parametrize("name", SMALL)
def test_small_layers_are_their_formulas(name):
    call, args, expected = SMALL[name]
    assert_close(call(*[Tensor(a) for a in args]), expected, scale=1.0)


@pytest.mark.parametrize("radius", [0, 1, 5])
def test_local_response(radius):
    sums = np.stack([(IMAGE[:, max(c - radius, 0) : c + radius + 1] ** 2).sum(1) for c in range(3)], 1)
    expected = IMAGE / (0.5 + 2.0 * sums) ** 0.75
    settings = radius, 0.5, 2.0, 0.75
    for call in (lambda x: ops.lrn(x, *settings)), ops.LRN(*settings), nn.LRN(*settings):
        assert_close(call(f64(IMAGE)), expected, scale=1.0)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_vectors_with_one_value_at_one_place(axis):
    result = nn.OneHot(axis, 4, 2.0, -1.0, dg.float64)(Tensor(CLASSES))
    expected = np.where(CLASSES[:, None] == np.arange(4), 2.0, -1.0)
    assert_close(result, expected.T if axis == 0 else expected)


def test_numbers_in_a_range():
    assert nn.Range(2, 9, 3)().tolist() == [2, 5, 8]
    assert nn.Range(3)().tolist() == [0, 1, 2]


def test_bilinear_cells_have_their_first_weights_within_the_inverse_root():
    net = nn.BiDense(100, 5, 20, dtype=dg.float64)
    assert net.weight.shape == (20, 100, 5)
    assert 0.099 < np.abs(net.weight.asnumpy()).max() <= 0.1
    x, y = RNG.standard_normal((2, 100)), RNG.standard_normal((2, 5))
    expected = np.einsum("ni,kij,nj->nk", x, net.weight.asnumpy(), y) + net.bias.asnumpy()
    assert_close(net(f64(x), f64(y)), expected, scale=1.0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_channels_are_dropped_as_a_whole(n):
    x = np.ones((40, 50, *(2, 3, 2)[:n]))
    dg.set_seed(2)
    for call in (lambda x: getattr(ops, f"dropout{n}d")(x, 0.2)), getattr(nn, f"Dropout{n}d")(0.2).set_train():
        result = call(f64(x)).asnumpy().reshape(2000, -1)
        assert (result == result[:, :1]).all()
        assert set(np.unique(result)) == {0.0, 1.25}
        assert 300 < (result[:, 0] == 0).sum() < 500
    assert_close(getattr(nn, f"Dropout{n}d")(0.2)(f64(x)), x)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_outside_of_training_any_shape_passes(n):
    """So it does where no channel is dropped; in training other shapes are refused."""
    cell, function = getattr(nn, f"Dropout{n}d"), getattr(ops, f"dropout{n}d")
    calls = [cell(0.2), cell(0.0).set_train(), lambda x: function(x, 0.2, training=False)]
    for ndim, call in itertools.product(range(7), calls):
        x = f64(np.arange(2.0**ndim).reshape((2,) * ndim))
        assert_close(call(x), x.asnumpy())
        assert_close(dg.grad(lambda x, call=call: (call(x) ** 2).sum())(x), 2 * x.asnumpy())
    for ndim in {*range(7)} - ({5} if n == 3 else {n + 1, n + 2}):
        x = f64(np.ones((2,) * ndim))
        for call in cell(0.2).set_train(), lambda x: function(x, 0.2):
            assert_raises(ValueError, lambda call=call, x=x: call(x), f"dropout{n}d", str(x.shape))


def test_a_choice_at_random_has_the_slope_of_the_softmax():
    logits = np.log(np.tile([1.0, 3.0], (4000, 1)))
    dg.set_seed(5)
    hard = ops.gumbel_softmax(f64(logits), hard=True).asnumpy()
    assert np.allclose(np.sort(hard, 1), [0, 1])
    assert 0.7 < hard[:, 1].mean() < 0.8
    soft = ops.gumbel_softmax(f64(logits), tau=0.5)
    assert_close(soft.sum(1), np.ones(4000), scale=1.0)
    slopes = []
    for kind in (True, False):
        dg.set_seed(7)
        slopes.append(dg.grad(lambda x, kind=kind: ops.gumbel_softmax(x, 0.5, kind)[:, 0].sum())(f64(logits)))
    assert_close(slopes[0], slopes[1].asnumpy())


WINDOWS = {
    "bartlett": ("bartlett", {}), "hann": ("hann", {}), "blackman": ("blackman", {}), "hamming": ("hamming", {}),
    "kaiser": ("kaiser", {"beta": 5.0}),
}  # fmt: skip


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, length, periodic):
    other, settings = WINDOWS[name]
    result = getattr(ops, f"{name}_window")(length, periodic, **settings, dtype=dg.float64)
    expected = getattr(scipy.signal.windows, other)(length, *settings.values(), sym=not periodic)
    np.testing.assert_allclose(result.asnumpy(), expected, atol=1e-14)


REFUSED = {
    "classes": (ValueError, lambda: ops.multi_margin_loss(f64(X), Tensor([1])), "(N, C)"),
    "shapes": (ValueError, lambda: ops.soft_margin_loss(f64(X), f64(X[0])), "one shape"),
    "marks": (ValueError, lambda: ops.multilabel_margin_loss(f64(X), Tensor(CLASSES)), "for both"),
    "reduction": (ValueError, lambda: ops.triplet_margin_loss(f64(X), f64(X), f64(X), reduction="max"), "'none'"),
    "temperature": (ValueError, lambda: ops.gumbel_softmax(f64(X), 0.0), "tau"),
    "halves": (ValueError, lambda: ops.swiglu(f64(X[:, :3])), "even"),
    "scale": (ValueError, lambda: ops.rms_norm(f64(X), f64(np.ones(3))), "last lengths"),
    "norm": (RuntimeError, lambda: ops.clip_by_norm(f64(X * np.inf), 1.0, error_if_nonfinite=True), "finite"),
    "channels": (ValueError, lambda: ops.dropout2d(f64(X)), "channels"),
    "probability": (ValueError, lambda: nn.Dropout2d(1.5), "probability"),
    "labels": (ValueError, lambda: nn.FocalLoss()(f64(X), Tensor(CLASSES)), "(N, 1, ...)"),
    "exponent": (ValueError, lambda: nn.FocalLoss(gamma=6.0), "0 to 5"),
    "instance": (ValueError, lambda: nn.InstanceNorm1d(3)(f64(IMAGE)), "(N, 3)"),
    "processes": (NotImplementedError, lambda: nn.SyncBatchNorm(3, process_groups=[[0, 1]]), "one process"),
    "window": (ValueError, lambda: ops.hann_window(-1), "0 or more"),
    "image": (ValueError, lambda: nn.Softmax2d()(f64(X)), "(N, C, H, W)"),
    "bilinear": (ValueError, lambda: ops.bidense(f64(X), f64(Y), f64(np.ones((2, 3, 4)))), "(o, n, m)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
