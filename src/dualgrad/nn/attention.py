"""Attention, and the layers of transformers.

Sequences are (steps, batch, features), with `batch_first` (batch, steps, features), without a batch (steps, features).
A mask of truth values holds where attention is not allowed; a mask of numbers is added to the scores.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.common.initializer import XavierNormal, XavierUniform, initializer
from dualgrad.nn.activations import GELU, get_activation
from dualgrad.nn.cell import Cell
from dualgrad.nn.containers import CellList
from dualgrad.nn.layers import Dense, Dropout
from dualgrad.nn.normalisation import LayerNorm
from dualgrad.ops._arguments import operand
from dualgrad.ops.neural._sliding import numbers
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


class MultiheadAttention(Cell):
    """Attention with several heads: ``softmax(q k^T / sqrt(d)) v`` for each, joined and mapped once more.

    Called with ``(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
    average_attn_weights=True)``, it returns a tuple: the result and, if they are asked for, the weights, (batch, steps
    of the query, steps of the key), or with the heads as second axis.

    Parameters
    ----------
    embed_dim : int
        Features of the query and of the result.
    num_heads : int
        The number of heads; it divides `embed_dim`.
    dropout : float, default 0.0
        The probability of a weight to become 0 in training.
    has_bias : bool, default True
        Whether the maps of inputs and result have biases.
    add_bias_kv : bool, default False
        Whether a step that is learned is added to keys and values.
    add_zero_attn : bool, default False
        Whether a step of zeros is added to keys and values.
    kdim, vdim : int, optional
        Features of key and value; `embed_dim` by default.
    batch_first : bool, default False
        Whether sequences are (batch, steps, features).
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
        The step that is added; None without.

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
        if not 0 <= dropout < 1:
            raise ValueError(f"{name}: dropout is {dropout}; expected a probability below 1")
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self._one_width = self.kdim == self.vdim == embed_dim
        init = XavierUniform()
        if self._one_width:
            self.in_proj_weight = Parameter(initializer(init, (3 * embed_dim, embed_dim), dtype), name="in_proj_weight")
        else:
            for what, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                weight = initializer(init, (embed_dim, width), dtype)
                setattr(self, f"{what}_proj_weight", Parameter(weight, name=f"{what}_proj_weight"))
        self.in_proj_bias: Parameter | None = None
        if has_bias:
            self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype), name="in_proj_bias")
        self.out_proj = Dense(embed_dim, embed_dim, bias_init="zeros", has_bias=has_bias, dtype=dtype)
        self.bias_k: Parameter | None = None
        self.bias_v: Parameter | None = None
        if add_bias_kv:
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
        """Query, key and value in the features of the heads."""
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
    """Scores with a mask; steps that were added to the keys are never masked."""
    if added:
        mask = ops.cat((mask, ops.zeros((*mask.shape[:-1], added), mask.dtype)), -1)
    return ops.where(mask, -math.inf, scores) if mask.dtype.is_bool else scores + mask


# -------------------------------------------------------------------------------------------------- transformers


class _Layer(Cell):
    """What layers of transformers share: the maps behind attention, and residual connections."""

    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = mstype.float32,
        norms: int = 2,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        if norms == 3:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
            )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        for k in range(1, norms + 1):
            setattr(self, f"norm{k}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for k in range(1, norms + 1):
            setattr(self, f"dropout{k}", Dropout(p=dropout))
        # as ported weights expect, GELU is the exact one here
        self.activation = GELU(approximate=False) if activation == "gelu" else get_activation(activation)

    def _attended(self, attention: Cell, dropout: Cell, x: Tensor, memory: Tensor, mask: Any, padding: Any) -> Tensor:
        return dropout(attention(x, memory, memory, padding, False, mask)[0])

    def _fed(self, x: Tensor, dropout: Cell) -> Tensor:
        return dropout(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerEncoderLayer(_Layer):
    """A layer of an encoder: attention of a sequence to itself, then two linear maps at every step.

    Called with ``(src, src_mask=None, src_key_padding_mask=None)``; masks are those of `MultiheadAttention`.

    Parameters
    ----------
    d_model, nhead : int
        Features, and heads of the attention.
    dim_feedforward : int, default 2048
        Features between the linear maps.
    dropout : float, default 0.1
        The probability of an element to become 0 in training.
    activation : str, Cell or callable, default 'relu'
        What is applied between the linear maps; 'gelu' is the exact form.
    layer_norm_eps : float, default 1e-5
        As `epsilon` in `LayerNorm`.
    batch_first : bool, default False
        Whether sequences are (batch, steps, features).
    norm_first : bool, default False
        Whether inputs of each part are normalised, and not the results.
    dtype : type, default float32
        Type of the parameters.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.TransformerEncoderLayer(8, 2, 16)(ops.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = mstype.float32,
    ) -> None:
        settings = dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype
        super().__init__(d_model, nhead, *settings)

    def construct(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        masks = src_mask, src_key_padding_mask
        if self.norm_first:
            x = self.norm1(src)
            x = src + self._attended(self.self_attn, self.dropout1, x, x, *masks)
            return x + self._fed(self.norm2(x), self.dropout2)
        x = self.norm1(src + self._attended(self.self_attn, self.dropout1, src, src, *masks))
        return self.norm2(x + self._fed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """A layer of a decoder: attention of a sequence to itself, then to another one, then two linear maps at every step.

    Called with ``(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
    memory_key_padding_mask=None)``; masks are those of `MultiheadAttention`.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype
        As in `TransformerEncoderLayer`.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.TransformerDecoderLayer(8, 2, 16)(ops.ones((3, 2, 8)), ops.ones((5, 2, 8))).shape
    (3, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = mstype.float32,
    ) -> None:
        settings = dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype
        super().__init__(d_model, nhead, *settings, norms=3)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        own, other = (tgt_mask, tgt_key_padding_mask), (memory_mask, memory_key_padding_mask)
        if self.norm_first:
            x = self.norm1(tgt)
            x = tgt + self._attended(self.self_attn, self.dropout1, x, x, *own)
            x = x + self._attended(self.multihead_attn, self.dropout2, self.norm2(x), memory, *other)
            return x + self._fed(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + self._attended(self.self_attn, self.dropout1, tgt, tgt, *own))
        x = self.norm2(x + self._attended(self.multihead_attn, self.dropout2, x, memory, *other))
        return self.norm3(x + self._fed(x, self.dropout3))


class _Stack(Cell):
    """Copies of a layer, one after another."""

    def __init__(self, layer: Cell, num_layers: int, norm: Cell | None) -> None:
        super().__init__()
        self.num_layers = numbers(type(self).__name__, "num_layers", num_layers, 1)[0]
        self.layers = CellList([copy.deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = norm


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after another; they begin with the same weights.

    Called with ``(src, src_mask=None, src_key_padding_mask=None)``.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        The layer that is copied.
    num_layers : int
        The number of copies.
    norm : Cell, optional
        What is applied to the result.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    >>> net(ops.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def construct(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer, one after another; they begin with the same weights.

    Called with the arguments of `TransformerDecoderLayer`.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        The layer that is copied.
    num_layers : int
        The number of copies.
    norm : Cell, optional
        What is applied to the result.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> net = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> net(ops.ones((3, 2, 8)), ops.ones((5, 2, 8))).shape
    (3, 2, 8)
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """Encoder and decoder.

    Called with ``(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
    tgt_key_padding_mask=None, memory_key_padding_mask=None)``.

    Parameters
    ----------
    d_model, nhead : int, default 512 and 8
        Features, and heads of the attention.
    num_encoder_layers, num_decoder_layers : int, default 6
        The numbers of layers.
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype
        As in `TransformerEncoderLayer`.
    custom_encoder, custom_decoder : Cell, optional
        What stands in their places.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> net = nn.Transformer(8, 2, 1, 1, 16)
    >>> net(ops.ones((5, 2, 8)), ops.ones((3, 2, 8))).shape
    (3, 2, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        settings = dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype

        def norm() -> LayerNorm:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, *settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(d_model, nhead, *settings), num_decoder_layers, norm()
        )
        for parameter in self.get_parameters():  # the copies begin with different weights here
            if parameter.ndim > 1:
                parameter.set_data(initializer(XavierUniform(), parameter.shape, parameter.dtype))
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        src, tgt = operand("Transformer", src), operand("Transformer", tgt)
        axis = 0 if self.batch_first or src.ndim == 2 else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise ValueError(f"Transformer: src has shape {src.shape} and tgt {tgt.shape}; expected one batch")
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
