"""Layers of transformers, and transformers made of them."""

from __future__ import annotations

import copy
from typing import Any

from dualgrad import dtype as mstype
from dualgrad.common.initializer import XavierUniform, initializer
from dualgrad.nn.activations import GELU, get_activation
from dualgrad.nn.attention import MultiheadAttention
from dualgrad.nn.cell import Cell
from dualgrad.nn.containers import CellList
from dualgrad.nn.layers import Dense, Dropout
from dualgrad.nn.normalisation import LayerNorm
from dualgrad.ops._arguments import operand
from dualgrad.ops.neural._sliding import one_number
from dualgrad.tensor import Tensor

from .._settings import one_of

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


class _Layer(Cell):
    """Shared by layers of transformers: the maps behind attention, and residual connections."""

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
        self.self_attn: MultiheadAttention = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
        )
        if norms == 3:
            self.multihead_attn: MultiheadAttention = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
            )
        self.dense1: Dense = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout: Dropout = Dropout(p=dropout)
        self.dense2: Dense = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        for k in range(1, norms + 1):
            setattr(self, f"norm{k}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for k in range(1, norms + 1):
            setattr(self, f"dropout{k}", Dropout(p=dropout))
        # as ported weights expect, GELU is exact here
        self.activation: GELU | Any = (
            GELU(approximate=False) if one_of(activation, ("gelu",)) else get_activation(activation)
        )

    def _attended(self, attention: Cell, dropout: Cell, x: Tensor, memory: Tensor, mask: Any, padding: Any) -> Tensor:
        return dropout(attention(x, memory, memory, padding, False, mask)[0])

    def _fed(self, x: Tensor, dropout: Cell) -> Tensor:
        return dropout(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerEncoderLayer(_Layer):
    """A layer of an encoder: attention of a sequence to itself, then two linear maps at every step.

    Called with ``(src, src_mask=None, src_key_padding_mask=None)``; masks are as in `MultiheadAttention`.

    Parameters
    ----------
    d_model, nhead : int
        Features, and heads of the attention.
    dim_feedforward : int, default 2048
        Features between the linear maps.
    dropout : float, default 0.1
        The probability of an element to become 0 in training.
    activation : str, Cell or callable, default 'relu'
        Applied between the linear maps; 'gelu' is the exact form.
    layer_norm_eps : float, default 1e-5
        As `epsilon` in `LayerNorm`.
    batch_first : bool, default False
        True if sequences are (batch, steps, features).
    norm_first : bool, default False
        True to normalise the inputs of each part, False to normalise the results.
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
    """A layer of a decoder: attention to the sequence itself, then to another, then two linear maps at every step.

    Called with ``(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
    memory_key_padding_mask=None)``; masks are as in `MultiheadAttention`.

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
        self.num_layers: int = one_number(type(self).__name__, "num_layers", num_layers)
        self.layers: CellList = CellList([copy.deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = norm


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after another, with equal initial weights.

    Called with ``(src, src_mask=None, src_key_padding_mask=None)``.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        The layer to copy.
    num_layers : int
        The number of copies.
    norm : Cell, optional
        Applied to the result.

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
    """Copies of a decoder layer, one after another, with equal initial weights.

    Called with the arguments of `TransformerDecoderLayer`.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        The layer to copy.
    num_layers : int
        The number of copies.
    norm : Cell, optional
        Applied to the result.

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
        Replacements of the encoder and the decoder.

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

        self.encoder: Cell = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, *settings), num_encoder_layers, norm()
        )
        self.decoder: Cell = custom_decoder or TransformerDecoder(
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
        if src.ndim not in (2, 3) or src.ndim != tgt.ndim:
            raise ValueError(
                f"Transformer: src has shape {src.shape} and tgt {tgt.shape}; expected (L, E), or 3 axes with a batch"
            )
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise ValueError(f"Transformer: src has shape {src.shape} and tgt {tgt.shape}; expected one batch")
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
