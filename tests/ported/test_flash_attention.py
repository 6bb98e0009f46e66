"""Attention as one function against sums that are written out here, for each sample, head and step."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(12)
B, N, S, T, D = 2, 4, 3, 5, 2
Q, K, V = [RNG.standard_normal((B, N, steps, D)) for steps in (S, T, T)]
SHIFT = RNG.standard_normal((1, N, S, T))
MASK = RNG.random((B, 1, S, T)) < 0.4
MASK[0, 0, 1] = True  # a step for which nothing counts


def attended(q, k, v, allowed, scale=1.0, shift=0.0):
    """Weighted means of values, one step of the query at a time; `allowed` broadcasts to all scores."""
    y = np.zeros(q.shape)
    allowed, shift = np.broadcast_to(allowed, (B, N, S, T)), np.broadcast_to(shift, (B, N, S, T))
    for b, h, i in np.ndindex(B, N, S):
        serving = h * k.shape[1] // N
        weights = np.exp(scale * k[b, serving] @ q[b, h, i] + shift[b, h, i]) * allowed[b, h, i]
        if weights.any():
            y[b, h, i] = weights @ v[b, serving] / weights.sum()
    return y


LAYOUTS = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.swapaxes(1, 2),
    "BSH": lambda x: x.swapaxes(1, 2).reshape(B, x.shape[2], -1),
    "SBH": lambda x: x.transpose(2, 0, 1, 3).reshape(x.shape[2], B, -1),
}
AHEAD = np.arange(T) - np.arange(S)[:, None]
WAYS = {
    "plain": ({}, True, {}),
    "scaled": ({"scalar_value": 0.7}, True, {"scale": 0.7}),
    "shifted": ({"real_shift": SHIFT}, True, {"shift": SHIFT}),
    "masked": ({"attn_mask": MASK}, ~MASK, {}),
    "masked by numbers": ({"attn_mask": MASK[0, 0].astype(np.uint8), "sparse_mode": 1}, ~MASK[0, 0], {}),
    "a mask of heads": ({"attn_mask": np.repeat(MASK, N, 1), "scalar_value": 0.5}, ~MASK, {"scale": 0.5}),
    "a band": ({"attn_mask": MASK, "pre_tokens": 1, "next_tokens": 2}, ~MASK & (AHEAD >= -1) & (AHEAD <= 2), {}),
    "causal": ({"sparse_mode": 2}, AHEAD <= 0, {}),
    "causal from the end": ({"sparse_mode": 3, "scalar_value": 2.0}, AHEAD <= T - S, {"scale": 2.0}),
    "causal with the mask of devices": ({"sparse_mode": 2, "attn_mask": np.ones((2048, 2048), bool)}, AHEAD <= 0, {}),
}


def tensor(x):
    return dg.Tensor(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(
    ("name", "layout"), [*itertools.product(WAYS, ["BNSD"]), *itertools.product(["masked"], LAYOUTS)]
)
@pytest.mark.parametrize("serving", [4, 2, 1])
def test_attention(name, layout, serving):
    settings, allowed, more = WAYS[name]
    k, v = K[:, :serving], V[:, :serving]
    given = [f64(LAYOUTS[layout](x)) for x in (Q, k, v)]
    settings = {key: tensor(value) for key, value in settings.items()}
    y = ops.flash_attention_score(*given, N, input_layout=layout, **settings)
    assert_close(y, LAYOUTS[layout](attended(Q, k, v, allowed, **more)))


@pytest.mark.parametrize("name", ["shifted", "masked", "causal"])
def test_slopes(name):
    settings = {key: tensor(value) for key, value in WAYS[name][0].items()}
    along = [f64(RNG.standard_normal(x.shape)) for x in (Q, K, V)]

    def function(t):
        q, k, v = [f64(x) + t * a for x, a in zip((Q, K, V), along, strict=True)]
        return ops.sum(ops.flash_attention_score(q, k, v, N, input_layout="BNSD", **settings) ** 2)

    step, zero = 1e-5, f64(0.0)
    first = (function(f64(step)) - function(f64(-step))) / (2 * step)
    assert_close(dg.grad(function)(zero), first, rtol=1e-7)
    assert_close(dg.jvp(function, zero, f64(1.0))[1], first, rtol=1e-7)
    second = (dg.grad(function)(f64(step)) - dg.grad(function)(f64(-step))) / (2 * step)
    assert_close(dg.grad(dg.grad(function))(zero), second, rtol=1e-6)


def test_weights_are_dropped_at_random():
    dg.set_seed(4)
    q, v = ops.zeros((1, 1, 1, 2)), ops.ones((1, 1, 4000, 1))
    k = ops.zeros((1, 1, 4000, 2))
    v = ops.concat((v, v), -1)
    y = ops.flash_attention_score(q, k, v, 1, keep_prob=0.25, input_layout="BNSD")
    assert abs(float(y[0, 0, 0, 0]) - 1.0) < 0.1
    assert float(y[0, 0, 0, 0]) != 1.0


FLAT = [LAYOUTS["BSH"](x) for x in (Q, K, V)]
WRONG = {
    "for devices": (lambda: ops.flash_attention_score(*map(f64, FLAT), N, prefix=[1, 2]), "prefix", "devices"),
    "layout": (lambda: ops.flash_attention_score(*map(f64, FLAT), N, input_layout="TND"), "'TND'", "BSH"),
    "mode": (lambda: ops.flash_attention_score(*map(f64, FLAT), N, sparse_mode=4), "sparse_mode is 4"),
    "shift and scale": (
        lambda: ops.flash_attention_score(*map(f64, FLAT), N, real_shift=f64(SHIFT), scalar_value=0.5), "real_shift"
    ),
    "axes": (lambda: ops.flash_attention_score(*map(f64, (Q, K, V)), N), "query", "BSH"),
    "heads": (lambda: ops.flash_attention_score(*map(f64, FLAT), 3), "3 heads do not divide"),
    "heads of an axis": (
        lambda: ops.flash_attention_score(*map(f64, (Q, K, V)), 2, input_layout="BNSD"), "4 heads, head_num is 2"
    ),
    "features": (
        lambda: ops.flash_attention_score(f64(Q), f64(K[..., :1]), f64(V), N, input_layout="BNSD"), "one batch"
    ),
    "serving heads": (
        lambda: ops.flash_attention_score(f64(Q), f64(K[:, :3]), f64(V[:, :3]), N, input_layout="BNSD"), "divides"
    ),
    "mask": (lambda: ops.flash_attention_score(*map(f64, FLAT), N, attn_mask=MASK[0]), "attn_mask", "(3, 5)"),
    "mask of a mode": (
        lambda: ops.flash_attention_score(*map(f64, FLAT), N, attn_mask=MASK, sparse_mode=2), "(2048, 2048)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    call, *words = WRONG[name]
    assert_raises(ValueError, call, *words)
