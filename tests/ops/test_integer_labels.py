"""Labels and indices of every integer type: what Int64 gives, and errors for numbers that are not there."""

import numpy as np
import pytest
from support import assert_close

import dualgrad as dg
from dualgrad import Tensor, nn, ops

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
UNSIGNED = [name for name in TYPES if name[0] == "u"]
LARGEST = ["int64", "uint8", "uint16", "uint32", "uint64"]
LOGITS = np.random.default_rng(0).normal(size=(4, 200))
LABELS = np.array([3, 0, 1, 100])
X = np.random.default_rng(1).normal(size=(3, 4))


def t64(x):
    return Tensor(np.asarray(x, np.float64))


# Functions of a tensor of indices below 3, as many as one has rows (3) unless it says otherwise.
INDEXED = {
    "[]": lambda i: t64(X)[i],
    "[:, i]": lambda i: t64(X)[:, i],
    "[i, j]": lambda i: t64(X)[i, i],
    "[array]": lambda i: t64(X)[i.asnumpy()],
    "[list]": lambda i: t64(X)[[i[0], i[1]]],
    "[]=": lambda i: _assigned(i),
    "gather": lambda i: ops.gather(t64(X), i, 0),
    "Gather": lambda i: ops.Gather()(t64(X), i, 1),
    "gather_d": lambda i: ops.gather_d(t64(X), 0, i.reshape((1, 3))),
    "gather_elements": lambda i: ops.gather_elements(t64(X), 1, i.reshape((3, 1))),
    "gather_nd": lambda i: ops.gather_nd(t64(X), i.reshape((3, 1))),
    "index_add": lambda i: ops.index_add(t64(X), i, t64(X), 0),
    "index_fill": lambda i: ops.index_fill(t64(X), 0, i, 7.0),
    "index_select": lambda i: ops.index_select(t64(X), 0, i),
    "scatter": lambda i: ops.scatter(t64(X), 0, i.reshape((1, 3)), t64(np.ones((1, 3)))),
    "scatter_nd": lambda i: ops.scatter_nd(i.reshape((3, 1)), t64(X), (3, 4)),
    "take": lambda i: ops.take(t64(X), i, 0),
    "tensor_scatter_add": lambda i: ops.tensor_scatter_add(t64(X), i.reshape((3, 1)), t64(X)),
    "tensor_scatter_update": lambda i: ops.tensor_scatter_update(t64(X), i[:1].reshape((1, 1)), t64(X[:1])),
    "tensor_scatter_elements": lambda i: ops.tensor_scatter_elements(t64(X), i.reshape((1, 3)), t64(np.ones((1, 3)))),
    "unsorted_segment_sum": lambda i: ops.unsorted_segment_sum(t64(X), i, 3),
    "unsorted_segment_max": lambda i: ops.unsorted_segment_max(t64(X), i, 3),
    "embedding": lambda i: ops.embedding(i, t64(X)),
    "nn.Embedding": lambda i: nn.Embedding(3, 4, embedding_table=t64(X))(i),
    "np.take": lambda i: dg.numpy.take(t64(X), i, 0),
    "np.take_along_axis": lambda i: dg.numpy.take_along_axis(t64(X), i.reshape((3, 1)), 1),
    "cross_entropy": lambda i: ops.cross_entropy(t64(X), i, reduction="none"),
    "nll_loss": lambda i: ops.nll_loss(t64(X), i, reduction="none"),
}


def _assigned(i):
    x = t64(X)
    x[i] = 5.0
    return x


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", INDEXED)
def test_indices_of_every_type(name, dtype):
    found = INDEXED[name](Tensor(np.array([2, 0, 1], dtype)))
    assert_close(found, INDEXED[name](Tensor(np.array([2, 0, 1], np.int64))).asnumpy())


@pytest.mark.parametrize("dtype", LARGEST)
@pytest.mark.parametrize("name", INDEXED)
def test_the_largest_number_of_a_type_is_no_index(name, dtype):
    wrong = Tensor(np.array([np.iinfo(dtype).max, 0, 1], dtype))
    for _ in range(2):
        with pytest.raises((IndexError, ValueError)):
            INDEXED[name](wrong)
        with pytest.raises((IndexError, ValueError)):
            dg.jit(INDEXED[name])(wrong)


@pytest.mark.parametrize("dtype", TYPES)
def test_one_hot(dtype):
    inside = ops.one_hot(Tensor(np.array([2, 0], dtype)), 3)
    assert inside.asnumpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    beyond = ops.one_hot(Tensor(np.array([np.iinfo(dtype).max, 0], dtype)), 3)
    assert beyond.asnumpy().tolist() == [[0, 0, 0], [1, 0, 0]]


# ----------------------------------------------------------------------------------------------------- losses


def _primitive(x, t, **settings):
    return ops.NLLLoss(**settings)(ops.log_softmax(x, 1), t, Tensor(np.ones(x.shape[1])))[0]


LOSSES = {
    "cross_entropy": lambda x, t, **settings: ops.cross_entropy(x, t, **settings),
    "nll_loss": lambda x, t, **settings: ops.nll_loss(ops.log_softmax(x, 1), t, **settings),
    "nn.CrossEntropyLoss": lambda x, t, **settings: nn.CrossEntropyLoss(**settings)(x, t),
    "NLLLoss": _primitive,
    "nn.NLLLoss": lambda x, t, **settings: nn.NLLLoss(**settings)(ops.log_softmax(x, 1), t),
}
ALL_SETTINGS = [{}, {"ignore_index": 1}, {"label_smoothing": 0.25}, {"label_smoothing": 0.25, "ignore_index": 100}]
CASES = [(loss, s) for loss in LOSSES for s in ALL_SETTINGS if "NLLLoss" not in loss or "label_smoothing" not in s]


def expected(labels, ignore_index=-100, label_smoothing=0.0):
    """The mean over samples that are not ignored, in NumPy's terms."""
    logs = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
    picked = np.array([-logs[k, label] for k, label in enumerate(labels)])
    mixed = (1 - label_smoothing) * picked - label_smoothing * logs.mean(1)
    return mixed[labels != ignore_index].mean()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_losses_of_labels_of_every_type(name, dtype, settings):
    target, x = Tensor(LABELS.astype(dtype)), t64(LOGITS)
    assert_close(LOSSES[name](x, target, **settings), expected(LABELS, **settings), 1e-12)
    slope = dg.grad(lambda x: LOSSES[name](x, target, **settings))(x)
    plain = dg.grad(lambda x: LOSSES[name](x, Tensor(LABELS), **settings))(x)
    assert_close(slope, plain.asnumpy(), 1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_a_label_that_equals_the_class_to_ignore_after_wrapping_counts(name):
    labels = np.array([156, 3, 156, 0])  # 156 is -100 in 8 bits
    assert_close(LOSSES[name](t64(LOGITS), Tensor(labels.astype(np.uint8))), expected(labels), 1e-12)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LOSSES)
def test_labels_that_are_no_class(name, dtype):
    for wrong in {np.iinfo(dtype).max, 10, max(np.iinfo(dtype).min, -1)} - {0}:
        target = Tensor(np.array([0, wrong, 1, 2], dtype))
        with pytest.raises(ValueError, match="class"):
            LOSSES[name](t64(LOGITS[:, :10]), target)


# Losses of numbers that are integers: differences must not wrap.
ELEMENTWISE = {
    "mse_loss": (ops.mse_loss, nn.MSELoss()),
    "l1_loss": (ops.l1_loss, nn.L1Loss()),
    "smooth_l1_loss": (ops.smooth_l1_loss, nn.SmoothL1Loss()),
    "huber_loss": (ops.huber_loss, nn.HuberLoss()),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_losses_of_integers(name, dtype):
    x, y = np.array([1, 5, 0]), np.array([3, 2, 100])
    for function in ELEMENTWISE[name]:
        exact = function(t64(x), t64(y)).asnumpy()
        assert_close(function(t64(x), Tensor(y.astype(dtype))), exact, 1e-12)
        try:
            found = function(Tensor(x.astype(dtype)), Tensor(y.astype(dtype)))
        except TypeError as error:
            assert dtype in str(error)  # noqa: PT017
        else:
            assert_close(found, exact, 1e-6)


@pytest.mark.parametrize("dtype", TYPES[:4])
def test_cosine_embedding_loss(dtype):
    a, b, target = t64(X), t64(X[::-1]), np.array([1, -1, 1])
    assert_close(
        ops.cosine_embedding_loss(a, b, Tensor(target.astype(dtype))),
        ops.cosine_embedding_loss(a, b, t64(target)).asnumpy(),
        1e-12,
    )
