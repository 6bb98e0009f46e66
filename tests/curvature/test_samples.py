"""Gradients and diagonals of samples against a loop over them."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, curvature, nn, ops


class Convolutions(nn.Cell):
    """Expects an axis for the batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="valid", has_bias=True)
        self.head = nn.Dense(8, 3)

    def construct(self, x):
        return self.head(ops.tanh(self.conv(x)).reshape((x.shape[0], -1)))


def data(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).normal(size=shape), dg.float32)


def dense():
    dg.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 5, activation="tanh"), nn.Dense(5, 3))
    return net, data(6, 4), False


def convolutions():
    dg.set_seed(1)
    return Convolutions(), data(6, 1, 4, 4), True


MODELS = (dense, convolutions)
LABELS = Tensor(np.arange(6) % 3, dg.int32)
TOOLS = {
    "gradients": (curvature.per_sample_gradients, dg.grad),
    "diagonals": (curvature.per_sample_diagonals, curvature.hessian_diagonal),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("model", MODELS)
def test_samples_are_those_of_a_loop(model, tool):
    net, x, keepdims = model()
    weights = net.trainable_params()
    many, one = TOOLS[tool]

    def loss(x, y):
        logits = net(x)
        return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="sum")(logits.reshape((-1, 3)), y.reshape((-1,)))

    each = many(loss, weights, keepdims=keepdims)
    parts = [one(loss, None, weights)(x[i : i + 1] if keepdims else x[i], LABELS[i : i + 1]) for i in range(6)]
    recorded = dg.jit(each)
    for found in (each(x, LABELS), recorded(x, LABELS), recorded(x, LABELS), recorded(x, LABELS)):
        for j, w in enumerate(weights):
            expected = np.stack([part[j].asnumpy() for part in parts])
            assert found[j].shape == (6, *w.shape)
            assert np.allclose(found[j].asnumpy(), expected, rtol=1e-4, atol=1e-5)
    if tool == "gradients":  # they add up to the gradient of the batch
        for j, total in enumerate(dg.grad(loss, None, weights)(x, LABELS)):
            assert np.allclose(found[j].asnumpy().sum(0), total.asnumpy(), rtol=1e-4, atol=1e-5)


def test_the_empirical_fisher_matrix_is_the_sum_of_outer_products():
    net, x, _ = dense()
    weights = net.trainable_params()
    losses = lambda x: (net(x) ** 2).sum(-1)
    found = curvature.per_sample_gradients(lambda x: (net(x) ** 2).sum(), weights)(x)
    G = np.concatenate([g.asnumpy().reshape(6, -1) for g in found], 1)
    A = curvature.empirical_fisher_operator(losses, weights=weights)(x).dense().asnumpy()
    assert np.allclose(A, G.T @ G, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [dg.float32, dg.float64])
def test_by_arrays_that_all_samples_share(dtype):
    w, x = Tensor([0.5, 2.0], dtype), Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype)
    f = lambda w, x: ops.exp((0.1 * w * x).sum())
    values = np.exp((0.1 * w.asnumpy() * x.asnumpy()).sum(1))[:, None]
    room = {dg.float32: 1e-6, dg.float64: 1e-13}[dtype]
    gradients, diagonals = curvature.per_sample_gradients(f)(w, x), curvature.per_sample_diagonals(f)(w, x)
    assert gradients.dtype == dtype
    assert np.allclose(gradients.asnumpy(), 0.1 * x.asnumpy() * values, rtol=room)
    assert np.allclose(diagonals.asnumpy(), (0.1 * x.asnumpy()) ** 2 * values, rtol=room)
    second = curvature.per_sample_gradients(f, None, 1, in_axes=(None, 0))(w, x)
    assert np.allclose(second.asnumpy(), 0.1 * w.asnumpy() * values, rtol=room)


def test_what_cannot_be_is_refused():
    net, x, _ = dense()
    with pytest.raises(ValueError, match="loss of a sample returned shape"):
        curvature.per_sample_gradients(net, net.trainable_params())(x)
    with pytest.raises(TypeError, match="expected True or False"):
        curvature.per_sample_gradients(net, net.trainable_params(), keepdims=1)
    with pytest.raises(TypeError, match="with keepdims expected one int"):
        curvature.per_sample_gradients(net, net.trainable_params(), in_axes=((0, None),), keepdims=True)((x, x))
    with pytest.raises(TypeError, match="expected a function"):
        curvature.per_sample_gradients(3)
