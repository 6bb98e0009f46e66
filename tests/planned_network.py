"""A function whose plan has all kinds of instructions."""

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

ROWS = 300


def network():
    """A function whose plan has all kinds of instructions, and its arguments."""
    rng = np.random.default_rng(1)
    w = Parameter(0.1 * rng.normal(size=(20, 20)), name="w")
    narrow = Parameter(rng.normal(size=(20, 2)), name="narrow")  # too narrow for the loops of products of our own
    b = Parameter(rng.normal(size=20), name="b")

    def loss(x):
        h = ops.tanh(ops.sin(ops.exp(ops.matmul(x, w))) + b)
        h = ops.where(h > 0.1, h, ops.matmul(h, ops.transpose(w, (1, 0))))
        h = ops.cat([h, h[:, ::2]], 1)
        h = h * h[:, 1:2] * h[:, 3:4]
        h = h + h[np.arange(ROWS)[::-1].copy()]
        h = h + ops.matmul(x, narrow).sum(1, keepdims=True)
        return (h.reshape((-1, 10, 3)).sum(2) ** 2).sum() + ops.argmax(ops.cat([h, h], 1).sum(0)).astype(dg.float64)

    return dg.value_and_grad(loss, None, [w, b, narrow]), (Tensor(rng.normal(size=(ROWS, 20))),)
