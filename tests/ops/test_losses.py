"""Losses of distributions and directions: values, zeros, limits, settings."""

import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

LOGS = np.log([[0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])
TARGET = np.array([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]])
TERMS = np.where(TARGET > 0, TARGET * (np.log(np.maximum(TARGET, 1e-300)) - LOGS), 0.0)


@pytest.mark.parametrize(
    ("reduction", "combine"),
    [("none", np.array), ("mean", np.mean), ("sum", np.sum), ("batchmean", lambda x: x.sum() / 2)],
)
def test_kl_div(reduction, combine):
    for loss in (
        ops.kl_div(f64(LOGS), f64(TARGET), reduction),
        ops.KLDivLoss(reduction)(f64(LOGS), f64(TARGET)),
        nn.KLDivLoss(reduction)(f64(LOGS), f64(TARGET)),
    ):
        assert_close(loss, combine(TERMS), scale=1.0)


def test_kl_div_of_impossible_events():
    never = f64([-math.inf, 0.0])
    assert_close(ops.kl_div(never, f64([0.0, 1.0]), "none"), [0.0, 0.0])
    assert_close(ops.kl_div(f64([-1.0, 0.0]), never, "none", log_target=True), [0.0, 0.0])
    assert_close(dg.grad(lambda x, t: ops.kl_div(x, t, "sum"))(never, f64([0.0, 1.0])), [0.0, -1.0])
    assert_close(ops.kl_div(f64(LOGS), f64(LOGS), "sum", log_target=True), 0.0)


def test_gaussian_nll_loss():
    x, t, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([1.0, 2.0])
    expected = 0.5 * (np.log(v)[:, None] + (x - t) ** 2 / v[:, None])
    assert_close(ops.gaussian_nll_loss(f64(x), f64(t), f64(v), reduction="none"), expected)
    assert_close(ops.gaussian_nll_loss(f64(x), f64(t), f64(v), full=True), np.mean(expected) + math.log(math.tau) / 2)
    assert_close(nn.GaussianNLLLoss(reduction="sum")(f64(x), f64(t), f64(v)), np.sum(expected))


def test_the_variance_has_slope_zero_below_its_limit():
    slope = dg.grad(lambda v: ops.gaussian_nll_loss(f64([1.0] * 4), 0.0, v, eps=0.5, reduction="sum"))
    assert_close(slope(f64([-1.0, 0.25, 0.5, 1.0])), [0.0, 0.0, -1.0, 0.0])


def test_cosine_similarity():
    x, y = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[4.0, 3.0], [0.0, 2.0], [-1.0, 0.0]])
    assert_close(ops.cosine_similarity(f64(x), f64(y)), [0.96, 0.0, -1.0], rtol=1e-15)
    assert_close(ops.cosine_similarity(f64(x.T), f64(y[0]).reshape(2, 1), dim=0), [0.96, 0.0, 0.8], rtol=1e-15)
    for size in 1e-3, 1e30, 1e37:
        assert_close(ops.cosine_similarity(f32(x * size), f32(y)), [0.96, 0.0, -1.0])


def test_the_cosine_depends_on_directions_only():
    f = lambda x: ops.cosine_similarity(x, f64([[1.0, 2.0]])).sum()
    small, large = f64([[0.3, 0.4]]), f64([[0.3e160, 0.4e160]])
    for order in 1, 2:
        expected = repeated_grad(f, order)(small).asnumpy() * 1e-160**order
        assert_close(repeated_grad(f, order)(large), expected, rtol=1e-11)
    for order in range(1, 5):
        assert np.isfinite(repeated_grad(f, order)(f64([[0.0, 0.0]])).asnumpy()).all()


def test_cosine_embedding_loss():
    x, y = f64([[3.0, 4.0], [3.0, 4.0], [3.0, 4.0]]), f64([[4.0, 3.0], [4.0, 3.0], [-4.0, -3.0]])
    labels = Tensor([1, -1, -1])
    assert_close(ops.cosine_embedding_loss(x, y, labels, 0.5, "none"), [0.04, 0.46, 0.0], rtol=1e-14)
    assert_close(nn.CosineEmbeddingLoss(0.5)(x, y, labels), 0.5 / 3, rtol=1e-14)


def test_l2_normalize():
    x = np.array([[3.0, 4.0], [0.0, 0.0], [0.003, 0.004]])
    assert_close(ops.L2Normalize(1)(f64(x)), [[0.6, 0.8], [0.0, 0.0], [0.3, 0.4]])
    assert_close(ops.L2Normalize(1)(f32(x * 1e30)), [[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]])
    assert_close(ops.L2Normalize()(f64(x)), x / np.sqrt((x**2).sum(0)))
    assert_close(ops.L2Normalize((0, 1))(f64(x)), x / np.sqrt((x**2).sum()))
    assert_close(dg.grad(ops.L2Normalize(1))(f64(x))[1], [100.0, 100.0])


def test_softmax_cross_entropy_with_logits():
    x, t = np.array([[1.0, 2.0], [0.0, 300.0]]), np.array([[0.0, 1.0], [0.5, 0.5]])
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    losses = [math.log1p(math.exp(-1.0)), 150.0]
    loss, slope = ops.SoftmaxCrossEntropyWithLogits()(f64(x), f64(t))
    assert_close((loss, slope), (losses, p - t), scale=1.0)
    of_losses = lambda x: ops.SoftmaxCrossEntropyWithLogits()(x, f64(t))[0]
    assert_close(dg.grad(of_losses)(f64(x)), (p - t), scale=1.0)
    assert_close(nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(f64(x), f64(t)), np.mean(losses))
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    assert_close(sparse(f64(x), Tensor([1, 0])), [losses[0], 300.0])


def test_cells_of_cross_entropies_are_the_functions():
    x, p, w = f64(LOGS), f64(np.exp(LOGS)), f64([0.5, 1.0, 2.0])
    t, classes = f64(TARGET), Tensor([2, 0])
    pairs = [
        (nn.CrossEntropyLoss(w, 0, "sum", 0.1)(x, classes), ops.cross_entropy(x, classes, w, 0, "sum", 0.1)),
        (nn.NLLLoss(w, 0)(x, classes), ops.nll_loss(x, classes, w, 0)),
        (nn.BCELoss(w, "sum")(p, t), ops.binary_cross_entropy(p, t, w, "sum")),
        (nn.BCEWithLogitsLoss("none", w, w)(x, t), ops.binary_cross_entropy_with_logits(x, t, w, w, "none")),
        (nn.RMSELoss()(x, t), ops.sqrt(ops.mse_loss(x, t))),
    ]
    for cell, function in pairs:
        assert_close(cell, function.asnumpy())


def test_the_root_of_no_distance_has_slope_zero():
    assert_close(dg.grad(nn.RMSELoss())(f64([1.0, 2.0]), f64([1.0, 2.0])), [0.0, 0.0])


def test_arguments_that_do_not_fit():
    x, t = f64(LOGS), f64(TARGET)
    errors = [
        (lambda: ops.kl_div(x, t, "max"), "kl_div", "batchmean"),
        (lambda: ops.KLDivLoss("max"), "KLDivLoss", "max"),
        (lambda: ops.kl_div(x, t[:, :2]), "kl_div", "(2, 3)", "(2, 2)"),
        (lambda: ops.kl_div(f64(0.0), f64(1.0), "batchmean"), "batchmean"),
        (lambda: ops.gaussian_nll_loss(x, t, t, eps=0.0), "gaussian_nll_loss", "eps"),
        (lambda: ops.gaussian_nll_loss(x, t, f64([1.0] * 4)), "var", "(4,)"),
        (lambda: ops.cosine_similarity(x, t, dim=2), "cosine_similarity", "axis 2"),
        (lambda: ops.cosine_similarity(x, t[:, :2]), "cosine_similarity", "(2, 2)"),
        (lambda: ops.cosine_embedding_loss(x, t, f64([1.0])), "cosine_embedding_loss", "(1,)"),
        (lambda: ops.cosine_embedding_loss(x, t, f64([1.0, -1.0]), margin=2.0), "margin"),
        (lambda: ops.SoftmaxCrossEntropyWithLogits()(x, t[0]), "SoftmaxCrossEntropyWithLogits", "(3,)"),
        (lambda: ops.L2Normalize(epsilon=0.0), "L2Normalize", "epsilon"),
    ]
    for call, *words in errors:
        assert_raises(ValueError, call, *words)


COMPARED = {
    "mse_loss": ops.mse_loss,
    "l1_loss": ops.l1_loss,
    "smooth_l1_loss": ops.smooth_l1_loss,
    "huber_loss": ops.huber_loss,
    "MSELoss": lambda x, t: nn.MSELoss()(x, t),
    "L1Loss": lambda x, t: nn.L1Loss()(x, t),
    "HuberLoss": lambda x, t: nn.HuberLoss()(x, t),
    "RMSELoss": lambda x, t: nn.RMSELoss()(x, t),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_column_against_a_row_is_warned_of(name):
    loss = COMPARED[name]
    column, row = f64(np.arange(5.0)[:, None]), f64(np.arange(5.0))
    for x, t in ((column, row), (row, column)):
        with pytest.warns(UserWarning, match=r"\(5, 1\).*\(5,\)|\(5,\).*\(5, 1\)"):
            loss(x, t)
    for x, t in ((row, row), (row[None], row), (column, row[:1]), (column, f64(np.ones((5, 3)))), (row, 2.0)):
        loss(x, t)
