"""Layers: the linear map with its bias, embeddings, dropout, flattening, the identity."""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._settings import real_number
from dualgrad.common.initializer import Uniform, initializer
from dualgrad.nn.activations import get_activation
from dualgrad.nn.basic import ClipByNorm
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import integer, operand
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

from .._settings import whole_number

__all__ = ["Dense", "Dropout", "Embedding", "EmbeddingLookup", "Flatten", "Identity"]


def _count(name: str, what: str, number: Any) -> int:
    """Check a number of channels, rows or columns."""
    if isinstance(number, bool):
        raise TypeError(f"{name}: {what} must be an int, got bool")
    found = whole_number(name, what, number, -(1 << 63))
    if found < 1:
        raise ValueError(f"{name}: {what} must be at least 1, got {number}")
    return found


def _check_input(layer: Dense, x: Any) -> None:
    """Raise an error that names the input, if it does not fit a layer; other errors have another cause."""
    if not isinstance(x, Tensor):
        return
    name, length, dtype = layer.cls_name, layer.in_channels, layer.weight.dtype
    if x.ndim == 0 or x.shape[-1] != length:
        raise ValueError(
            f"{name}: the input has shape {x.shape}; expected a last axis of length {length}, the number of its "
            "in_channels"
        ) from None
    if x.dtype != dtype:
        remedy = f"give {name} dtype={x.dtype!r} when it is made, or " if x.dtype.is_float else ""
        raise TypeError(
            f"{name}: the input is {x.dtype} and the weight {dtype}; expected equal types: {remedy}convert the input "
            f"with astype({dtype!r})"
        ) from None


class Dense(Cell):
    """Linear map ``x @ W.T + b``, followed by an activation if one is given.

    Parameters
    ----------
    in_channels, out_channels : int
        Length of the last axis of the input and of the output.
    weight_init, bias_init : str, number, Tensor or Initializer, optional
        As in `initializer`; without them both are uniform on ``+-1 / sqrt(in_channels)``. A Tensor keeps its
        own type.
    has_bias : bool, default True
        True to add a bias.
    activation : str, Cell or callable, optional
        Applied to the result.
    dtype : type, default float32
        Type of the initial values. The input must have the type of the weight.

    Attributes
    ----------
    weight : Parameter
        Shape ``(out_channels, in_channels)``.
    bias : Parameter
        Shape ``(out_channels,)``; None without bias.

    Raises
    ------
    TypeError
        If the numbers of channels are not ints, `has_bias` is not a bool, or the input has another type than
        the weight.
    ValueError
        If the numbers of channels are not positive, an initial Tensor has another shape, or the last axis of
        the input is not `in_channels` long.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> layer = nn.Dense(3, 2, weight_init="ones", bias_init=0.5)
    >>> print(layer(Tensor([[1.0, 2.0, 3.0]])))
    [[6.5 6.5]]
    >>> layer
    Dense(input_channels=3, output_channels=2, has_bias=True)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        self.in_channels: int = _count("Dense", "in_channels", in_channels)
        self.out_channels: int = _count("Dense", "out_channels", out_channels)
        if not isinstance(has_bias, bool):
            raise TypeError(f"Dense: has_bias must be a bool, got {type(has_bias).__name__}")
        self.has_bias = has_bias
        default = Uniform(1.0 / math.sqrt(self.in_channels))
        shape = (self.out_channels, self.in_channels)
        weight = initializer(default if weight_init is None else weight_init, shape, dtype)
        self.weight: Parameter = Parameter(weight, name="weight")
        self.bias: Parameter | None = None
        if has_bias:
            bias = initializer(default if bias_init is None else bias_init, shape[:1], dtype)
            self.bias = Parameter(bias, name="bias")
        self.activation: Any = get_activation(activation)

    def construct(self, x: Tensor) -> Tensor:
        """Map the last axis: ``(..., in_channels)`` to ``(..., out_channels)``."""
        try:
            y = ops.matmul(x, self.weight.T)
        except (TypeError, ValueError):
            _check_input(self, x)
            raise
        if self.bias is not None:
            y = y + self.bias
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        text += f", has_bias={self.has_bias}"
        if self.activation is not None and not isinstance(self.activation, Cell):
            text += f", activation={self.activation}"
        return text


class Dropout(Cell):
    """In training, set elements to 0 at random and divide the others by the probability to stay.

    Parameters
    ----------
    keep_prob : float, default 0.5
        The probability of an element to stay, above 0; without meaning if `p` is given.
    p : float, optional
        The probability of an element to become 0, below 1.
    dtype : type
        Accepted so that ported code runs; the result has the type of the input.

    Raises
    ------
    ValueError
        If the probability is out of range.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> layer = nn.Dropout(p=0.2)
    >>> print(layer(ops.ones((3,))))
    [1. 1. 1.]
    >>> sorted(set(layer.set_train()(ops.ones((1000,))).tolist()))
    [0.0, 1.25]
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = mstype.float32) -> None:
        super().__init__()
        real_number("Dropout", "keep_prob", keep_prob)
        if p is None and not 0 < keep_prob <= 1:
            raise ValueError(f"Dropout: keep_prob is {keep_prob}; expected a probability above 0 and up to 1")
        if p is not None:
            real_number("Dropout", "p", p)
        if p is not None and not 0 <= p < 1:
            raise ValueError(f"Dropout: p is {p}; expected a probability below 1")
        self.keep_prob = keep_prob
        self.p = p
        self._rate = 1.0 - keep_prob if p is None else p

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout(x, self._rate, self.training)

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class Embedding(Cell):
    """A table of trained rows, looked up by number.

    Parameters
    ----------
    vocab_size, embedding_size : int
        The number of rows, and their length.
    use_one_hot : bool, default False
        Accepted so that ported code runs: the rows are the same.
    embedding_table : str, number, Tensor or Initializer, default 'normal'
        The first table.
    dtype : type, default float32
        Type of the table.
    padding_idx : int, optional
        This row is 0 in the first table.

    Attributes
    ----------
    embedding_table : Parameter
        Shape (vocab_size, embedding_size).

    Raises
    ------
    TypeError, ValueError
        If the sizes are not positive ints, or row `padding_idx` does not exist.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> nn.Embedding(10, 3)(Tensor([[1, 2], [9, 0]])).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: Any = mstype.float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size: int = _count("Embedding", "vocab_size", vocab_size)
        self.embedding_size: int = _count("Embedding", "embedding_size", embedding_size)
        self.use_one_hot = use_one_hot
        self.padding_idx = padding_idx
        table = initializer(embedding_table, (self.vocab_size, self.embedding_size), dtype)
        if padding_idx is not None:
            if whole_number("Embedding", "padding_idx", padding_idx) >= self.vocab_size:
                raise ValueError(f"Embedding: padding_idx is {padding_idx}; expected a row below {vocab_size}")
            table[padding_idx] = 0.0
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")

    def construct(self, ids: Tensor) -> Tensor:
        return ops.embedding(ids, self.embedding_table)

    def extend_repr(self) -> str:
        text = f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


class EmbeddingLookup(Cell):
    """A table of trained rows, looked up by number and optionally limited in length.

    Parameters
    ----------
    vocab_size, embedding_size : int
        The number of rows, and their length.
    param_init : str, number, Tensor or Initializer, default 'normal'
        The first table.
    target, slice_mode, manual_shapes, sparse : object
        Accepted so that ported code runs: one device has the table, and its gradient is a tensor of its shape.
    max_norm : float, optional
        The largest norm; longer rows are scaled down to it in the result.
    dtype : type, default float32
        Type of the table.

    Attributes
    ----------
    embedding_table : Parameter
        Shape (vocab_size, embedding_size).

    Raises
    ------
    TypeError, ValueError
        If the sizes are not positive ints.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> lookup = nn.EmbeddingLookup(2, 2, Tensor([[3.0, 4.0], [0.0, 0.5]]), max_norm=1.0)
    >>> print(lookup(Tensor([0, 1])))
    [[0.6 0.8]
     [0.  0.5]]
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: Any = "CPU",
        slice_mode: Any = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        self.vocab_size: int = _count("EmbeddingLookup", "vocab_size", vocab_size)
        self.embedding_size: int = _count("EmbeddingLookup", "embedding_size", embedding_size)
        self.max_norm = max_norm
        table = initializer(param_init, (self.vocab_size, self.embedding_size), dtype)
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")
        self._shorten = ClipByNorm(axis=-1)

    def construct(self, indices: Tensor) -> Tensor:
        rows = ops.embedding(indices, self.embedding_table)
        return rows if self.max_norm is None else self._shorten(rows, self.max_norm)


class Flatten(Cell):
    """Join the axes from `start_dim` to `end_dim` into one.

    Parameters
    ----------
    start_dim : int, default 1
        First axis to join; the axes before it stay.
    end_dim : int, default -1
        Last axis to join.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import Tensor, nn
    >>> nn.Flatten()(Tensor(np.zeros((5, 2, 3), np.float32))).shape
    (5, 6)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim: int = integer("Flatten", "start_dim", start_dim)
        self.end_dim: int = integer("Flatten", "end_dim", end_dim)

    def construct(self, x: Tensor) -> Tensor:
        x = operand("Flatten", x)
        first = self.start_dim if self.start_dim >= 0 else self.start_dim + x.ndim
        last = self.end_dim if self.end_dim >= 0 else self.end_dim + x.ndim
        if not 0 <= first <= last < x.ndim:
            raise ValueError(
                f"Flatten: cannot join axes {self.start_dim} to {self.end_dim} of an input with shape {tuple(x.shape)}"
            )
        shape = x.shape
        return ops.reshape(x, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))

    def extend_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Identity(Cell):
    """Return the input.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Identity()(Tensor([1.0])))
    [1.]
    """

    def construct(self, x: Any) -> Any:
        return x
