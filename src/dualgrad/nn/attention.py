"""Attention with several heads.

Sequences are (steps, batch, features), with `batch_first` (batch, steps, features), without a batch (steps, features).
A Bool mask is true where attention is not allowed; a mask of numbers is added to the scores.
"""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._settings import real_number, truth_value
from dualgrad.common.initializer import XavierNormal, XavierUniform, initializer
from dualgrad.nn.cell import Cell
from dualgrad.nn.layers import Dense
from dualgrad.ops._arguments import operand
from dualgrad.ops.neural._sliding import numbers
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Cell):
    """Attention with several heads: ``softmax(q k^T / sqrt(d)) v`` for each, joined and mapped once more.

    Called with ``(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
    average_attn_weights=True)``, it returns a tuple: the result and, with `need_weights`, the weights, (batch, steps of
    the query, steps of the key), or with the heads as second axis.

    Parameters
    ----------
    embed_dim : int
        Features of the query and of the result.
    num_heads : int
        The number of heads; it divides `embed_dim`.
    dropout : float, default 0.0
        The probability of a weight to become 0 in training.
    has_bias : bool, default True
        True to add biases to the maps of inputs and result.
    add_bias_kv : bool, default False
        True to add a trained step to keys and values.
    add_zero_attn : bool, default False
        True to add a step of zeros to keys and values.
    kdim, vdim : int, optional
        Features of key and value; `embed_dim` by default.
    batch_first : bool, default False
        True if sequences are (batch, steps, features).
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    in_proj_weight : Parameter
        Shape (3 embed_dim, embed_dim), for query, key and value; with other features of key or value there are
        `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead.
    in_proj_bias : Parameter
        Shape (3 embed_dim,); None without biases.
    out_proj : Dense
        The map of the result.
    bias_k, bias_v : Parameter
        The added step; None without.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> x = ops.ones((5, 2, 8))
    >>> y, weights = nn.MultiheadAttention(8, 2)(x, x, x)
    >>> y.shape, weights.shape
    ((5, 2, 8), (2, 5, 5))
    """

    embed_dim: int
    num_heads: int
    kdim: int
    vdim: int

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        name = "MultiheadAttention"
        self.embed_dim, self.num_heads = numbers(name, "embed_dim, num_heads", (embed_dim, num_heads), 2)
        if embed_dim % num_heads:
            raise ValueError(f"{name}: {num_heads} heads do not divide embed_dim {embed_dim}")
        real_number(name, "dropout", dropout)
        if not 0 <= dropout < 1:
            raise ValueError(f"{name}: dropout is {dropout}; expected a probability below 1")
        self.head_dim: int = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        widths = [embed_dim if width is None else width for width in (kdim, vdim)]
        self.kdim, self.vdim = numbers(name, "kdim, vdim", widths, 2)
        self._one_width = self.kdim == self.vdim == embed_dim
        init = XavierUniform()
        if self._one_width:
            self.in_proj_weight: Parameter = Parameter(
                initializer(init, (3 * embed_dim, embed_dim), dtype), name="in_proj_weight"
            )
        else:
            for what, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                weight = initializer(init, (embed_dim, width), dtype)
                setattr(self, f"{what}_proj_weight", Parameter(weight, name=f"{what}_proj_weight"))
        self.in_proj_bias: Parameter | None = None
        truth_value(name, "has_bias", has_bias)
        if has_bias:
            self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype), name="in_proj_bias")
        self.out_proj: Dense = Dense(embed_dim, embed_dim, bias_init="zeros", has_bias=has_bias, dtype=dtype)
        self.bias_k: Parameter | None = None
        self.bias_v: Parameter | None = None
        if truth_value(name, "add_bias_kv", add_bias_kv):
            self.bias_k = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), name="bias_k")
            self.bias_v = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), name="bias_v")

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, ...]:
        name = "MultiheadAttention"
        given = [operand(name, x) for x in (query, key, value)]
        single = given[0].ndim == 2
        if single:
            given = [ops.expand_dims(x, 0) for x in given]
        elif not self.batch_first:
            given = [ops.swapaxes(x, 0, 1) for x in given]
        self._check(given, single)
        q, k, v = self._mapped(given)
        batch, targets, _ = q.shape
        if self.bias_k is not None and self.bias_v is not None:
            k = ops.cat((k, ops.broadcast_to(self.bias_k, (batch, 1, self.embed_dim))), 1)
            v = ops.cat((v, ops.broadcast_to(self.bias_v, (batch, 1, self.embed_dim))), 1)
        if self.add_zero_attn:
            nothing = ops.zeros((batch, 1, self.embed_dim), k.dtype)
            k, v = ops.cat((k, nothing), 1), ops.cat((v, nothing), 1)
        added = k.shape[1] - given[1].shape[1]
        q, k, v = [ops.swapaxes(self._heads(x), 1, 2) for x in (q, k, v)]
        scores = ops.matmul(q, ops.swapaxes(k, 2, 3)) / math.sqrt(self.head_dim)
        sources = given[1].shape[1]
        if attn_mask is not None:
            scores = _masked(scores, self._attention_mask(attn_mask, batch, targets, sources), added)
        if key_padding_mask is not None:
            mask = operand(name, key_padding_mask)
            if mask.shape not in ((batch, sources), (sources,) if single else ()):
                raise ValueError(f"{name}: key_padding_mask has shape {mask.shape}; expected {(batch, sources)}")
            scores = _masked(scores, ops.reshape(mask, (batch, 1, 1, sources)), added)
        weights = ops.softmax(scores, -1)
        used = ops.dropout(weights, self.dropout, self.training) if self.dropout else weights
        y = ops.reshape(ops.swapaxes(ops.matmul(used, v), 1, 2), (batch, targets, self.embed_dim))
        y = self.out_proj(y)
        if single:
            y = y[0]
        elif not self.batch_first:
            y = ops.swapaxes(y, 0, 1)
        if not need_weights:
            return (y,)
        shown = ops.mean(used, 1) if average_attn_weights else used
        return y, shown[0] if single else shown

    def _check(self, given: list[Tensor], single: bool) -> None:
        q, k, v = [x.shape for x in given]
        if len(q) != 3 or len(k) != 3 or len(v) != 3 or q[0] != k[0] or k[:2] != v[:2]:
            shapes = ", ".join(str(x[1:] if single else x) for x in (q, k, v))
            raise ValueError(
                f"MultiheadAttention: query, key and value have shapes (batch first) {shapes}; expected one batch, "
                "and as many steps of the key as of the value"
            )
        widths = self.embed_dim, self.kdim, self.vdim
        if (q[2], k[2], v[2]) != widths:
            raise ValueError(
                f"MultiheadAttention: query, key and value have {q[2]}, {k[2]} and {v[2]} features; expected {widths}"
            )

    def _mapped(self, given: list[Tensor]) -> list[Tensor]:
        """Map query, key and value to the features of the heads."""
        if self._one_width:
            weights = ops.chunk(self.in_proj_weight, 3, 0)
        else:
            weights = tuple([getattr(self, f"{what}_proj_weight") for what in "qkv"])
        found = [ops.matmul(x, w.T) for x, w in zip(given, weights, strict=True)]
        if self.in_proj_bias is None:
            return found
        return [x + b for x, b in zip(found, ops.chunk(self.in_proj_bias, 3, 0), strict=True)]

    def _heads(self, x: Tensor) -> Tensor:
        return ops.reshape(x, (*x.shape[:2], self.num_heads, self.head_dim))

    def _attention_mask(self, attn_mask: Any, batch: int, targets: int, sources: int) -> Tensor:
        mask = operand("MultiheadAttention", attn_mask)
        if mask.shape == (targets, sources):
            return ops.reshape(mask, (1, 1, targets, sources))
        if mask.shape == (batch * self.num_heads, targets, sources):
            return ops.reshape(mask, (batch, self.num_heads, targets, sources))
        raise ValueError(
            f"MultiheadAttention: attn_mask has shape {mask.shape}; expected {(targets, sources)} or "
            f"{(batch * self.num_heads, targets, sources)}"
        )

    def extend_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}"


def _masked(scores: Tensor, mask: Tensor, added: int) -> Tensor:
    """Apply a mask to scores; steps that were added to the keys are never masked."""
    if added:
        mask = ops.cat((mask, ops.zeros((*mask.shape[:-1], added), mask.dtype)), -1)
    return ops.where(mask, -math.inf, scores) if mask.dtype.is_bool else scores + mask
