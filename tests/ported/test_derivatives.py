"""Cells through every way of differentiating them: forward, reverse, nested, recorded, many samples, differences."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import nn
from dualgrad.testing import check

RNG = np.random.default_rng(11)


def filled(net, scale=1.0):
    """A Cell with normal parameters."""
    rng = np.random.default_rng(2)
    for parameter in net.get_parameters():
        parameter.set_data(dg.Tensor(rng.standard_normal(parameter.shape) * scale))
    return net


def recurrent(kind, both):
    """Output and last states by input and first states; one sequence is short."""
    layer = filled(getattr(nn, kind)(3, 2, bidirectional=both, dtype=dg.float64))
    parts = 2 if kind == "LSTM" else 1
    lengths = dg.Tensor([1, 3])

    def f(x, *states):
        y, end = layer(x, states if parts == 2 else states[0], lengths)
        return (y, *(end if parts == 2 else (end,)))

    states = [RNG.standard_normal((2 if both else 1, 2, 2)) for _ in range(parts)]
    return f, (RNG.standard_normal((3, 2, 3)), *states)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("both", [False, True])
def test_recurrent_layers(kind, both):
    f, args = recurrent(kind, both)
    check(f, args, order=2, narrow=False)


ATTENTION = {
    "plain": {},
    "learned step": {"add_bias_kv": True},
    "other features": {"kdim": 3, "vdim": 5, "add_zero_attn": True, "has_bias": False},
}


@pytest.mark.parametrize("settings", ATTENTION.values(), ids=ATTENTION)
def test_attention(settings):
    net = filled(nn.MultiheadAttention(4, 2, dtype=dg.float64, **settings), 0.5)
    mask = dg.Tensor(np.triu(np.ones((2, 3), bool), 2))
    q, k, v = [RNG.standard_normal((n, 2, settings.get(what, 4))) for n, what in ((2, ""), (3, "kdim"), (3, "vdim"))]
    check(lambda q, k, v: net(q, k, v, attn_mask=mask), (q, k, v), order=2, narrow=False)


def test_a_layer_of_a_transformer():
    net = filled(nn.TransformerDecoderLayer(4, 2, 3, activation="gelu", dtype=dg.float64), 0.5)
    x, memory = RNG.standard_normal((2, 1, 4)), RNG.standard_normal((3, 1, 4))
    check(net, (x, memory), order=2, narrow=False, rtol=1e-9)
