"""Layers as functions: dense, bias_add, layer_norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._engine import tensor as _engine
from ..tensor import Tensor
from ._arguments import OP, Primitive, floating, integer, lengths, operand, permuted, to_shape
from .reductions import mean

__all__ = ["BiasAdd", "LayerNorm", "bias_add", "dense", "layer_norm"]

_RSQRT, _SQUARE = OP["rsqrt"], OP["square"]


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


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalise over the last axes to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    input : Tensor
        Any shape; integers become float32.
    normalized_shape : int or tuple of int
        The lengths of the last axes, over which mean and variance are taken.
    weight, bias : Tensor, optional
        Scale and shift, of shape `normalized_shape`.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of `input`.

    Raises
    ------
    ValueError
        If `normalized_shape` does not match the last axes, or the shapes of weight and bias.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.layer_norm(dg.Tensor([[1.0, 3.0], [-4.0, 4.0]]), (2,), eps=0.0))
    [[-1.  1.]
     [-1.  1.]]
    """
    x = floating("layer_norm", input)
    last = lengths("layer_norm", normalized_shape)
    if not last or x.shape[-len(last) :] != last:
        raise ValueError(
            f"layer_norm: normalized_shape is {last} for an input of shape {x.shape}; expected the lengths "
            f"of its last axes"
        )
    y = _normalized(x, x.ndim - len(last), eps)[0]
    for what, extra in ("weight", weight), ("bias", bias):
        if extra is not None:
            part = operand("layer_norm", extra)
            if part.shape != last:
                raise ValueError(f"layer_norm: the {what} has shape {part.shape}; expected {last}")
            y = y * part if what == "weight" else y + part
    return y


def _normalized(x: Tensor, begin: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise over the axes from `begin`; the mean and the variance come along."""
    axes = tuple(range(begin, x.ndim))
    average = mean(x, axes, True)
    deviation = x - average
    variance = mean(_engine.unary(_SQUARE, deviation), axes, True)
    return deviation * _engine.unary(_RSQRT, variance + eps), average, variance


# ------------------------------------------------------------------------------------------ primitive classes


class BiasAdd(Primitive):
    """Primitive class of `bias_add`: ``ops.BiasAdd(data_format='NCHW')(x, bias)``.

    Parameters
    ----------
    data_format : {'NCHW', 'NHWC', 'NCDHW'}, default 'NCHW'
        Where the channels are: 'NHWC' means the last axis, the others axis 1.

    Raises
    ------
    ValueError
        For another format.
    """

    __slots__ = ("data_format",)

    def __init__(self, data_format: str = "NCHW") -> None:
        if data_format not in ("NCHW", "NHWC", "NCDHW"):
            raise ValueError(f"BiasAdd: data_format is {data_format!r}; expected 'NCHW', 'NHWC' or 'NCDHW'")
        self.data_format = data_format

    def __call__(self, x: Any, bias: Any) -> Tensor:
        return _biased(x, bias, -1 if self.data_format == "NHWC" else 1)


class LayerNorm(Primitive):
    """Primitive class of layer normalisation.

    Called as ``ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(x, gamma, beta)`` it gives
    (y, mean, variance).

    Parameters
    ----------
    begin_norm_axis : int, default 1
        Mean and variance are taken over the axes from this one.
    begin_params_axis : int, default 1
        `gamma` and `beta` have the shape of `x` from this axis.
    epsilon : float, default 1e-7
        Added to the variance.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> one = dg.Tensor([1.0, 1.0])
    >>> y, mean, variance = ops.LayerNorm()(dg.Tensor([[1.0, 3.0]]), one, one)
    >>> print(y, mean, variance)
    [[0. 2.]] [[2.]] [[1.]]
    """

    __slots__ = ("begin_norm_axis", "begin_params_axis", "epsilon")

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> None:
        self.begin_norm_axis = integer("LayerNorm", "begin_norm_axis", begin_norm_axis)
        self.begin_params_axis = integer("LayerNorm", "begin_params_axis", begin_params_axis)
        self.epsilon = epsilon

    def __call__(self, x: Any, gamma: Any, beta: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = floating("LayerNorm", x)
        begin, params = self.begin_norm_axis, self.begin_params_axis
        if not -x.ndim <= begin < x.ndim or not -x.ndim <= params < x.ndim:
            raise ValueError(f"LayerNorm: axes {begin} and {params} for an input of shape {x.shape}")
        y, average, variance = _normalized(x, begin % x.ndim, self.epsilon)
        expected = x.shape[params % x.ndim :]
        for what, part in ("gamma", operand("LayerNorm", gamma)), ("beta", operand("LayerNorm", beta)):
            if part.shape != expected:
                raise ValueError(f"LayerNorm: {what} has shape {part.shape}; expected {expected}")
            y = y * part if what == "gamma" else y + part
        return y, average, variance


METHODS: dict[str, Callable[..., Any]] = {}
