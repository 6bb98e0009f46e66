"""Attention as one function of query, key and value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._settings import one_of, real_number
from ...tensor import Tensor
from .._arguments import floating, integer, operand, permuted, to_shape
from ..index.choice import where
from ..math.elementwise import logical_or
from ..math.products import matmul
from ..neural._softmax import softmax
from ..neural.layers import dropout
from ..shape._repeating import repeat_interleave

__all__ = ["flash_attention_score"]

_ALL_TOKENS = 2147483647  # more than there can be

# For each layout: the axes of batch, heads, steps and features; None if heads and features share the last axis.
_LAYOUTS: dict[str, tuple[int, int, int, int] | None] = {
    "BSH": None,
    "SBH": None,
    "BNSD": (0, 1, 2, 3),
    "BSND": (0, 2, 1, 3),
}


def flash_attention_score(
    query: Any, key: Any, value: Any, head_num: int, real_shift: Any = None, drop_mask: Any = None,
    padding_mask: Any = None, attn_mask: Any = None, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, keep_prob: float = 1.0, scalar_value: float = 1.0, pre_tokens: int = _ALL_TOKENS,
    next_tokens: int = _ALL_TOKENS, inner_precise: int = 0, input_layout: str = "BSH", sparse_mode: int = 0,
) -> Tensor:  # fmt: skip
    """Attention with several heads: ``softmax(scalar_value * q k^T + real_shift) v`` for each, without masked steps.

    The scores of all pairs are computed as one array.

    Parameters
    ----------
    query, key, value : Tensor
        Shapes (B, S, N D), (S, B, N D), (B, N, S, D) or (B, S, N, D), by `input_layout`: batch, steps, heads, features
        of a head. Key and value may have fewer heads; each then serves the same number of heads of the query.
    head_num : int
        The number N of heads of the query.
    real_shift : Tensor, optional
        Added to the scores; a shape that broadcasts to (B, N, S1, S2).
    attn_mask : Tensor, optional
        Shape (S1, S2), (B, 1, S1, S2) or (B, N, S1, S2); steps where it is not zero are left out. A step of the query
        without any steps left gets zeros. With the modes 2 and 3 it may have shape (2048, 2048), as on devices, and is
        not read: these modes define the mask.
    keep_prob : float, default 1.0
        The probability of a weight to stay; the others become 0, as in `dropout`.
    scalar_value : float, default 1.0
        The factor of the products.
    pre_tokens, next_tokens : int, optional
        With a mask and mode 0, the steps of the key before and behind each step of the query that count.
    inner_precise : int, default 0
        Accepted so that ported code runs; without meaning here.
    input_layout : {'BSH', 'SBH', 'BNSD', 'BSND'}, default 'BSH'
        The order of the axes.
    sparse_mode : {0, 1, 2, 3}, default 0
        0 and 1: the mask. 2: no step sees later steps. 3: the same, aligned at the last steps.
    drop_mask, padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen
        For devices; only None.

    Returns
    -------
    Tensor
        The shape of `query`.

    Raises
    ------
    ValueError
        If shapes or settings do not fit, or are for devices only; for `real_shift` with another `scalar_value` than 1,
        since devices differ in whether they multiply it, too.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> q = ops.zeros((1, 2, 1))
    >>> print(ops.flash_attention_score(q, q, dg.Tensor([[[1.0], [3.0]]]), 1, sparse_mode=2)[0].T)
    [[1. 2.]]
    """
    name = "flash_attention_score"
    for what, given in (
        ("drop_mask", drop_mask),
        ("padding_mask", padding_mask),
        ("prefix", prefix),
        ("actual_seq_qlen", actual_seq_qlen),
        ("actual_seq_kvlen", actual_seq_kvlen),
    ):
        if given is not None:
            raise ValueError(f"{name}: {what} is for devices; expected None, and attn_mask for what is left out")
    if not one_of(input_layout, _LAYOUTS):
        raise ValueError(f"{name}: input_layout is {input_layout!r}; expected one of {', '.join(_LAYOUTS)}")
    if not one_of(sparse_mode, (0, 1, 2, 3)):
        raise ValueError(f"{name}: sparse_mode is {sparse_mode}; expected 0 to 3, and attn_mask for other patterns")
    real_number(name, "scalar_value", scalar_value)
    if real_shift is not None and scalar_value != 1:
        raise ValueError(
            f"{name}: real_shift is given with scalar_value {scalar_value}; multiply the query by it, and leave it 1"
        )
    keep_prob = real_number(name, "keep_prob", keep_prob)
    heads = integer(name, "head_num", head_num)
    q = _by_heads(name, "query", query, input_layout, heads)
    width = q.shape[3]
    k, v = [
        _by_heads(name, what, x, input_layout, None, width) for what, x in (("key", key), ("value", value))
    ]  # fmt: skip
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != width or heads % k.shape[1]:
        raise ValueError(
            f"{name}: query, key and value are (B, N, S, D) {q.shape}, {k.shape} and {v.shape}; expected one batch, as "
            "many features, key and value alike, and a number of heads that divides that of the query"
        )
    if k.shape[1] != heads:
        k, v = [repeat_interleave(x, heads // x.shape[1], 1) for x in (k, v)]
    scores = matmul(q, permuted(k, (0, 1, 3, 2)))
    if scalar_value != 1:
        scores = scores * scalar_value
    if real_shift is not None:
        scores = scores + operand(name, real_shift)
        if scores.ndim != 4:
            raise ValueError(f"{name}: real_shift has shape {operand(name, real_shift).shape}; expected (B, N, S, S)")
    left_out = _left_out(name, attn_mask, sparse_mode, (pre_tokens, next_tokens), scores.shape)
    weights = _shares(scores, left_out)
    if keep_prob != 1:
        weights = dropout(weights, 1.0 - keep_prob)
    return _as_laid(matmul(weights, v), input_layout)


def _by_heads(name: str, what: str, x: Any, layout: str, heads: int | None, width: int = 0) -> Tensor:
    """An operand as (B, N, S, D); without `heads`, their number follows from the width of a head."""
    x = floating(name, x)
    axes = _LAYOUTS[layout]
    if x.ndim != (3 if axes is None else 4):
        raise ValueError(f"{name}: the {what} has shape {x.shape}; expected the axes {layout}")
    if axes is None:
        count = heads or x.shape[2] // max(width, 1)
        if count < 1 or x.shape[2] % count:
            raise ValueError(f"{name}: the {what} has {x.shape[2]} features, which {count} heads do not divide")
        x = to_shape(x, (*x.shape[:2], count, x.shape[2] // count))
        return permuted(x, (0, 2, 1, 3) if layout == "BSH" else (1, 2, 0, 3))
    x = permuted(x, axes)
    if heads is not None and x.shape[1] != heads:
        raise ValueError(f"{name}: the {what} has {x.shape[1]} heads, head_num is {heads}")
    return x


def _as_laid(y: Tensor, layout: str) -> Tensor:
    """A result (B, N, S, D) in a layout."""
    axes = _LAYOUTS[layout]
    if axes is not None:
        return permuted(y, axes)  # each of these orders is its own inverse
    y = permuted(y, (0, 2, 1, 3) if layout == "BSH" else (2, 0, 1, 3))
    return to_shape(y, (*y.shape[:2], y.shape[2] * y.shape[3]))


def _left_out(
    name: str, mask: Any, mode: int, tokens: tuple[int, int], shape: tuple[int, ...]
) -> Tensor | np.ndarray | None:
    """Mask of the scores that do not count, or None."""
    batch, _, targets, sources = shape
    ahead = np.arange(sources) - np.arange(targets)[:, None]
    if mode in (2, 3):
        if mask is not None and operand(name, mask).shape != (2048, 2048):
            raise ValueError(
                f"{name}: attn_mask has shape {operand(name, mask).shape} with sparse_mode {mode}, which says what is "
                "left out; expected None or (2048, 2048)"
            )
        return ahead > (0 if mode == 2 else sources - targets)
    if mask is None:
        return None
    mask = operand(name, mask)
    if mask.shape not in ((targets, sources), (batch, 1, targets, sources), shape):
        raise ValueError(f"{name}: attn_mask has shape {mask.shape}; expected {(targets, sources)} or {shape}")
    mask = mask if mask.dtype.is_bool else mask != 0
    if mode == 1 or tokens == (_ALL_TOKENS, _ALL_TOKENS):
        return mask
    return logical_or(mask, (ahead < -tokens[0]) | (ahead > tokens[1]))


def _shares(scores: Tensor, left_out: Tensor | np.ndarray | None) -> Tensor:
    """Softmax over the scores that count; zeros where no score counts."""
    if left_out is None:
        return softmax(scores, -1)
    out = operand("flash_attention_score", left_out)
    nothing = out.all(-1, keepdims=True)
    kept = where(nothing, 0.0, where(out, -math.inf, scores))
    return where(nothing, 0.0, softmax(kept, -1))


METHODS: dict[str, Callable[..., Any]] = {}
