"""Attention and transformers against sums that are written out here."""

import itertools
import math

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(4)
E, HEADS, BATCH, TARGETS, SOURCES = 6, 2, 2, 3, 4


def filled(net, seed=0):
    rng = np.random.default_rng(seed)
    for parameter in net.get_parameters():
        parameter.set_data(f64(rng.standard_normal(parameter.shape) * 0.5))
    return net


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def attended(net, q, k, v, allowed, bias):
    """Attention of one sample, head by head and step by step; `allowed` and `bias` say what holds for each head."""
    if hasattr(net, "in_proj_weight"):
        maps = np.split(net.in_proj_weight.asnumpy(), 3)
    else:
        maps = [getattr(net, f"{what}_proj_weight").asnumpy() for what in "qkv"]
    added = np.split(net.in_proj_bias.asnumpy(), 3) if net.in_proj_bias is not None else np.zeros((3, E))
    q, k, v = [x @ w.T + b for x, w, b in zip((q, k, v), maps, added, strict=True)]
    more = []
    if net.bias_k is not None:
        more.append((net.bias_k.asnumpy()[0], net.bias_v.asnumpy()[0]))
    if net.add_zero_attn:
        more.append((np.zeros((1, E)), np.zeros((1, E))))
    for one, other in more:
        k, v = np.concatenate([k, one]), np.concatenate([v, other])
    size = E // HEADS
    result, weights = np.empty((TARGETS, E)), np.empty((HEADS, TARGETS, len(k)))
    for head, i in np.ndindex(HEADS, TARGETS):
        part = slice(head * size, (head + 1) * size)
        scores = np.array([q[i, part] @ k[j, part] / math.sqrt(size) for j in range(len(k))])
        scores[:SOURCES] += np.where(allowed[head, i], bias[head, i], -np.inf)
        weights[head, i] = softmax(scores)
        result[i, part] = weights[head, i] @ v[:, part]
    y = result @ net.out_proj.weight.asnumpy().T
    return y + (net.out_proj.bias.asnumpy() if net.out_proj.bias is not None else 0), weights


PADDING = np.array([[False, False, False, True], [False, True, False, False]])
MASK = np.triu(np.ones((TARGETS, SOURCES), bool), 2)
MASKS = {
    "none": {},
    "padding": {"key_padding_mask": PADDING},
    "truth values": {"attn_mask": MASK},
    "numbers": {"attn_mask": RNG.standard_normal((TARGETS, SOURCES))},
    "for each head": {"attn_mask": RNG.standard_normal((BATCH * HEADS, TARGETS, SOURCES))},
    "both": {"attn_mask": MASK, "key_padding_mask": PADDING},
}
NETS = {
    "plain": {},
    "no bias": {"has_bias": False},
    "learned step": {"add_bias_kv": True},
    "step of zeros": {"add_zero_attn": True},
    "other features": {"kdim": 3, "vdim": 5},
}


def written_out(net, q, k, v, masks):
    mask = np.asarray(masks.get("attn_mask", np.zeros((TARGETS, SOURCES))))
    mask = np.broadcast_to(mask.reshape((-1, HEADS, TARGETS, SOURCES) if mask.ndim == 3 else mask.shape), (
        BATCH, HEADS, TARGETS, SOURCES,
    ))  # fmt: skip
    padding = masks.get("key_padding_mask", np.zeros((BATCH, SOURCES), bool))
    results = []
    for n in range(BATCH):
        hidden = mask[n] if mask.dtype == bool else np.zeros((HEADS, TARGETS, SOURCES), bool)
        bias = np.zeros(mask[n].shape) if mask.dtype == bool else mask[n]
        results.append(attended(net, q[:, n], k[:, n], v[:, n], ~(hidden | padding[n]), bias))
    return np.stack([y for y, _ in results], 1), np.stack([w for _, w in results])


@pytest.mark.parametrize(("settings", "masks"), [*itertools.product(NETS, MASKS)])
def test_attention_is_a_mean_of_values_weighed_by_scores(settings, masks):
    settings, masks = NETS[settings], MASKS[masks]
    net = filled(nn.MultiheadAttention(E, HEADS, dtype=dg.float64, **settings))
    q = RNG.standard_normal((TARGETS, BATCH, E))
    k, v = [RNG.standard_normal((SOURCES, BATCH, settings.get(what, E))) for what in ("kdim", "vdim")]
    given = {name: dg.Tensor(mask) for name, mask in masks.items()}
    expected, weights = written_out(net, q, k, v, masks)
    result = net(f64(q), f64(k), f64(v), average_attn_weights=False, **given)
    assert_close(result, (expected, weights), scale=1.0)
    assert_close(net(f64(q), f64(k), f64(v), **given)[1], weights.mean(1), scale=1.0)
    assert_close(net(f64(q), f64(k), f64(v), need_weights=False, **given), (expected,), scale=1.0)


def test_batches_first_and_no_batch():
    net = filled(nn.MultiheadAttention(E, HEADS, dtype=dg.float64))
    first = filled(nn.MultiheadAttention(E, HEADS, batch_first=True, dtype=dg.float64))
    q, k = RNG.standard_normal((TARGETS, BATCH, E)), RNG.standard_normal((SOURCES, BATCH, E))
    y, weights = net(f64(q), f64(k), f64(k))
    turned, same = first(*[f64(x.swapaxes(0, 1)) for x in (q, k, k)])
    assert_close(turned, y.asnumpy().swapaxes(0, 1), scale=1.0)
    assert_close(same, weights.asnumpy(), scale=1.0)
    for n in range(BATCH):
        single = net(f64(q[:, n]), f64(k[:, n]), f64(k[:, n]), dg.Tensor(PADDING[n] & False))
        assert_close(single, (y.asnumpy()[:, n], weights.asnumpy()[n]), scale=1.0)


# -------------------------------------------------------------------------------------------------- transformers


def normalised(norm, x):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    return y * norm.gamma.asnumpy() + norm.beta.asnumpy()


def mapped(layer, x):
    return x @ layer.weight.asnumpy().T + layer.bias.asnumpy()


def fed(layer, x):
    return mapped(layer.dense2, np.maximum(mapped(layer.dense1, x), 0))


def attention(net, x, memory, mask=None):
    mask = None if mask is None else dg.Tensor(mask)
    return net(f64(x), f64(memory), f64(memory), attn_mask=mask)[0].asnumpy()


def encoded(layer, x, mask):
    if layer.norm_first:
        y = normalised(layer.norm1, x)
        x = x + attention(layer.self_attn, y, y, mask)
        return x + fed(layer, normalised(layer.norm2, x))
    x = normalised(layer.norm1, x + attention(layer.self_attn, x, x, mask))
    return normalised(layer.norm2, x + fed(layer, x))


def decoded(layer, x, memory, mask):
    if layer.norm_first:
        y = normalised(layer.norm1, x)
        x = x + attention(layer.self_attn, y, y, mask)
        x = x + attention(layer.multihead_attn, normalised(layer.norm2, x), memory)
        return x + fed(layer, normalised(layer.norm3, x))
    x = normalised(layer.norm1, x + attention(layer.self_attn, x, x, mask))
    x = normalised(layer.norm2, x + attention(layer.multihead_attn, x, memory))
    return normalised(layer.norm3, x + fed(layer, x))


SIZES = E, HEADS, 5
CAUSAL = np.triu(np.ones((TARGETS, TARGETS), bool), 1)


@pytest.mark.parametrize("mask", [None, CAUSAL], ids=["no mask", "causal"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_transformers(norm_first, mask):
    settings = {"norm_first": norm_first, "dtype": dg.float64}
    x, memory = RNG.standard_normal((TARGETS, BATCH, E)), RNG.standard_normal((SOURCES, BATCH, E))
    given = None if mask is None else dg.Tensor(mask)
    encoder = filled(nn.TransformerEncoderLayer(*SIZES, **settings))
    assert_close(encoder(f64(x), given), encoded(encoder, x, mask), rtol=1e-11, scale=1.0)
    decoder = filled(nn.TransformerDecoderLayer(*SIZES, **settings))
    assert_close(decoder(f64(x), f64(memory), given), decoded(decoder, x, memory, mask), rtol=1e-11, scale=1.0)


def test_a_transformer_is_its_layers_one_after_another():
    net = filled(nn.Transformer(E, HEADS, 2, 2, 5, dtype=dg.float64))
    x, y = RNG.standard_normal((SOURCES, BATCH, E)), RNG.standard_normal((TARGETS, BATCH, E))
    memory, result = x, y
    for layer in net.encoder.layers:
        memory = encoded(layer, memory, None)
    memory = normalised(net.encoder.norm, memory)
    for layer in net.decoder.layers:
        result = decoded(layer, result, memory, CAUSAL)
    result = normalised(net.decoder.norm, result)
    assert_close(net(f64(x), f64(y), tgt_mask=dg.Tensor(CAUSAL)), result, rtol=1e-10, scale=1.0)


def test_copies_have_parameters_of_their_own():
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(*SIZES), 3)
    names = [p.name for p in net.get_parameters()]
    assert len(set(names)) == len(names) == 3 * 12
    assert names[0] == "layers.0.self_attn.in_proj_weight"
    first, second = net.layers[0].dense1.weight, net.layers[1].dense1.weight
    assert first is not second
    assert_close(first * 1.0, second.asnumpy())


def test_dropout_in_training_only():
    net = filled(nn.TransformerEncoderLayer(*SIZES, dropout=0.5, dtype=dg.float64))
    x = f64(RNG.standard_normal((TARGETS, BATCH, E)))
    before = net(x).asnumpy()
    assert_close(net(x), before)
    assert not np.allclose(net.set_train()(x).asnumpy(), before)


def attend(q, k, v, **masks):
    return nn.MultiheadAttention(E, HEADS)(*[ops.ones(shape) for shape in (q, k, v)], **masks)


REFUSED = {
    "heads": (lambda: nn.MultiheadAttention(7, 2), "do not divide"),
    "features": (lambda: attend((3, 2, 5), (4, 2, E), (4, 2, E)), "(6, 6, 6)"),
    "batches": (lambda: attend((3, 2, E), (4, 1, E), (4, 1, E)), "one batch"),
    "steps": (lambda: attend((3, 2, E), (4, 2, E), (5, 2, E)), "as of the value"),
    "mask": (lambda: attend((3, 2, E), (4, 2, E), (4, 2, E), attn_mask=ops.ones((4, 4))), "(3, 4)"),
    "padding": (lambda: attend((3, 2, E), (4, 2, E), (4, 2, E), key_padding_mask=ops.ones((4, 2))), "(2, 4)"),
    "dropout": (lambda: nn.MultiheadAttention(6, 2, dropout=1.0), "probability"),
    "layers": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(*SIZES), 0), "num_layers"),
    "sources": (
        lambda: nn.Transformer(E, 2, 1, 1, 5)(ops.ones((4, 2, E)), ops.ones((3, 1, E))),
        "batch",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(ValueError, *case)
