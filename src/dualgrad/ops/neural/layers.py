"""Layers as functions: dense and bias_add, embedding, dropout.

Convolutions, pooling and normalisation have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.primitives.execute import unrepeatable
from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, real_number, truth_value, whole_number
from ...parameter import Parameter
from ...random import generator
from ...tensor import Tensor
from .._arguments import Primitive, floating, integer, operand, permuted, to_shape
from ..index._elements import replaced
from ..index._indices import index_tensor, one_axis_pattern, read
from ..index.choice import where
from ..linalg.norms import norm
from ..math.elementwise import equal, logical_or
from ._reduction import positive

__all__ = ["BiasAdd", "Dense", "Dropout", "bias_add", "dense", "dropout", "embedding"]


def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor
        Shape (..., in).
    weight : Tensor
        Shape (out, in), or (in,) for a single output without an axis; the type of `input`.
    bias : Tensor, optional
        Shape (out,), or () for a single output.

    Returns
    -------
    Tensor
        Shape (..., out).

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If `input` and `weight` differ in type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w, b = dg.Tensor([[1.0, 2.0], [0.0, 1.0]]), dg.Tensor([10.0, 20.0])
    >>> print(ops.dense(dg.Tensor([[3.0, 4.0]]), w, b))
    [[21. 24.]]
    """
    x, w = operand("dense", input), operand("dense", weight)
    if not 1 <= w.ndim <= 2 or not x.ndim or x.shape[-1] != w.shape[-1]:
        raise ValueError(
            f"dense: the input has shape {x.shape} and the weight {w.shape}; expected (..., in) and (out, in)"
        )
    if x._typenum != w._typenum:
        raise TypeError(
            f"dense: the input has type {x.dtype} and the weight {w.dtype}; expected equal types, convert "
            f"one of them with astype"
        )
    y = _engine.matmul_op(x, permuted(w, (1, 0)) if w.ndim == 2 else w)
    if bias is None:
        return y
    b = operand("dense", bias)
    if b.shape != w.shape[:-1]:
        raise ValueError(f"dense: the bias has shape {b.shape}; expected {w.shape[:-1]} for a weight of {w.shape}")
    return y + b


def bias_add(input_x: Any, bias: Any) -> Tensor:
    """Add a bias along the channel axis, which is axis 1.

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, ...).
    bias : Tensor
        Shape (C,).

    Returns
    -------
    Tensor
        The shape of `input_x`.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bias_add(dg.Tensor([[1.0, 2.0]]), dg.Tensor([10.0, 20.0])))
    [[11. 22.]]
    """
    return _biased(input_x, bias, 1)


def _biased(x: Any, bias: Any, channel: int) -> Tensor:
    x, b = operand("bias_add", x), operand("bias_add", bias)
    if x.ndim < 2 or b.shape != (x.shape[channel],):
        raise ValueError(
            f"bias_add: input_x has shape {x.shape} and the bias {b.shape}; expected (N, C, ...) and (C,), "
            f"the bias as long as axis {channel % x.ndim if x.ndim else 1}"
        )
    after = x.ndim - 1 - channel % x.ndim
    return x + (to_shape(b, b.shape + (1,) * after) if after else b)


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of a table.

    Parameters
    ----------
    input : Tensor of int
        The numbers of the rows, in any shape; negative numbers count from the end.
    weight : Tensor
        The table, of shape (rows, columns).
    padding_idx : int, optional
        This row counts as a constant: its derivative is 0.
    max_norm : float, optional
        Rows that are read and longer than this are first shortened in the table, which must be a Parameter. This is an
        effect of the call and not a part of any derivative.
    norm_type : float, default 2.0
        The order of the norm for the length of a row.
    scale_grad_by_freq : bool, default False
        Only False is supported: with True the result would not be the derivative.

    Returns
    -------
    Tensor
        The shape of `input`, then one axis of the length of the rows.

    Raises
    ------
    IndexError
        If the row does not exist.
    ValueError
        If the table does not have two axes, or `scale_grad_by_freq` is True.
    TypeError
        If `input` does not hold integers, or the table has to be changed and is not a Parameter.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.embedding(dg.Tensor([2, 0]), dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])))
    [[5. 6.]
     [1. 2.]]
    """
    table, index = operand("embedding", weight), index_tensor("embedding", input)
    if table.ndim != 2:
        raise ValueError(f"embedding: the weight has shape {table.shape}; expected two axes, (rows, columns)")
    if truth_value("embedding", "scale_grad_by_freq", scale_grad_by_freq):
        raise ValueError("embedding: scale_grad_by_freq is not available, since it asks for no derivative; pass False")
    rows = table.shape[0]
    if max_norm is not None:
        _shorten(table, index, max_norm, norm_type)
    pattern = one_axis_pattern(table.shape, 0)
    found = read("embedding", pattern, table, index)
    if padding_idx is None:
        return found
    row = integer("embedding", "padding_idx", padding_idx)
    if not -rows <= row < rows:
        raise ValueError(f"embedding: padding_idx is {row}; expected a row of a table of shape {table.shape}")
    constant = logical_or(equal(index, row % rows), equal(index, row % rows - rows))
    return where(to_shape(constant, index.shape + (1,)), _engine.stop(found), found)


def _shorten(table: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten the rows of a Parameter that are read and too long."""
    if not isinstance(table, Parameter):
        raise TypeError(
            f"embedding: max_norm changes the weight, which is a {type(table).__name__}; expected a Parameter"
        )
    positive("embedding", "max_norm", max_norm)
    now = table._detached()
    rows = read("embedding", one_axis_pattern(table.shape, 0), now, to_shape(index, (index.size,)))
    lengths = norm(rows, norm_type, 1, True)
    factor = where(lengths > max_norm, max_norm / (lengths + 1e-7), 1.0)
    table.set_data(replaced(now, to_shape(index, (index.size,)), rows * factor))


def dropout(input: Any, p: float | Tensor = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Set elements to 0 at random and divide the others by the probability to stay, which keeps the mean.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    p : float or Tensor, default 0.5
        The probability of an element to become 0, from 0 to 1.
    training : bool, default True
        False returns the input.
    seed : int, optional
        Draw from a source of its own with this seed; by default from the source that `dualgrad.set_seed` seeds.

    Returns
    -------
    Tensor
        The shape of `input`. Elements are drawn once, in the call: derivatives of every order use the same elements.

    Raises
    ------
    ValueError
        If `p` is not a probability.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> y = ops.dropout(ops.ones((1000,)), 0.2)
    >>> sorted(set(y.tolist()))
    [0.0, 1.25]
    """
    real_number("dropout", "p", p)
    seed = None if seed is None else whole_number("dropout", "seed", seed)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is {p}; expected a probability, from 0 to 1")
    x = floating("dropout", input)
    truth_value("dropout", "training", training)
    if not training or (not isinstance(p, Tensor) and p == 0):
        return +x
    if seed is None:
        return _thinned(x, p, generator)[0]
    number = integer("dropout", "seed", seed)
    return _thinned(x, p, lambda: np.random.default_rng(number))[0]


def _thinned(x: Tensor, p: float | Tensor, source: Callable[[], np.random.Generator]) -> tuple[Tensor, Tensor]:
    """The remaining elements, divided by the probability to stay, and their mask."""
    shape = x.shape
    bar = p.item() if isinstance(p, Tensor) else p  # no derivative passes through a comparison
    stays = _engine.draw(lambda: np.asarray(source().random(shape)) >= bar)
    return where(stays, x / (1 - p) if p < 1 else x, 0.0), stays


# ------------------------------------------------------------------------------------------ primitive classes


class Dense(Primitive, of=dense):
    __slots__ = ()

    def __call__(self, input: Any, weight: Any, bias: Any = None) -> Tensor:
        return dense(input, weight, bias)


class BiasAdd(Primitive):
    """Primitive class of `bias_add`: ``ops.BiasAdd(data_format='NCHW')(x, bias)``.

    Parameters
    ----------
    data_format : {'NCHW', 'NHWC', 'NCDHW'}, default 'NCHW'
        The axis of the channels: for 'NHWC' the last axis, for the others axis 1.

    Raises
    ------
    ValueError
        For another format.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.BiasAdd()(ops.zeros((1, 2)), dg.Tensor([1.0, 2.0])))
    [[1. 2.]]
    """

    __slots__ = ("data_format",)

    def __init__(self, data_format: str = "NCHW") -> None:
        if not one_of(data_format, ("NCHW", "NHWC", "NCDHW")):
            raise ValueError(f"BiasAdd: data_format is {data_format!r}; expected 'NCHW', 'NHWC' or 'NCDHW'")
        self.data_format = data_format

    def __call__(self, x: Any, bias: Any) -> Tensor:
        return _biased(x, bias, -1 if self.data_format == "NHWC" else 1)


class Dropout(Primitive):
    """Primitive class of `dropout`: ``ops.Dropout(keep_prob=0.5)(x)`` gives the result and the mask of kept elements.

    Parameters
    ----------
    keep_prob : float, default 0.5
        The probability of an element to stay, above 0 and up to 1.
    Seed0, Seed1 : int, default 0
        Draw from a source of its own with these seeds; if both are 0, from the source that `dualgrad.set_seed` seeds.

    Raises
    ------
    ValueError
        If `keep_prob` is 0 or not a probability.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> y, mask = ops.Dropout(0.5)(ops.ones((4,)))
    >>> bool((y == 2 * mask).all())
    True
    """

    __slots__ = ("_source", "keep_prob")

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> None:
        if not 0 < real_number("Dropout", "keep_prob", keep_prob) <= 1:
            raise ValueError(f"Dropout: keep_prob is {keep_prob}; expected a probability above 0 and up to 1")
        self.keep_prob: float = keep_prob
        self._source = None
        Seed0, Seed1 = whole_number("Dropout", "Seed0", Seed0), whole_number("Dropout", "Seed1", Seed1)
        if Seed0 or Seed1:
            unrepeatable("a source of random numbers is made")
            self._source = np.random.default_rng((Seed0, Seed1))

    def __repr__(self) -> str:
        return f"Dropout(keep_prob={self.keep_prob!r})"

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        x = floating("Dropout", x)
        own = self._source
        y, stays = _thinned(x, 1 - self.keep_prob, generator if own is None else lambda: own)
        return y, _engine.convert(stays, x._typenum)


METHODS: dict[str, Callable[..., Any]] = {}
