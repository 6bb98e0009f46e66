"""Losses as functions, and the layers that have a function: dense, bias_add, layer_norm.

Losses are written so that they neither overflow nor cancel: cross entropies go from logits through
log_softmax and softplus, and where a probability is 0 and so is its weight, the product counts as 0 whatever
the logarithm is. `reduction` is 'mean', 'sum' or 'none' throughout. Classification losses are in
`_classification.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._engine import tensor as _engine
from ..tensor import Tensor
from . import _classification
from ._arguments import OP, Primitive, floating, integer, lengths, operand, permuted, to_shape
from ._classification import *  # noqa: F403
from ._reduction import check_reduction, positive, reduce_loss, same_or_broadcast
from .choice import where
from .reductions import mean

__all__ = [
    "BiasAdd", "LayerNorm", "bias_add", "dense", "huber_loss", "l1_loss", "layer_norm", "mse_loss",
    "smooth_l1_loss", *_classification.__all__,
]  # fmt: skip

_ABS, _LE, _LT, _RSQRT, _SQUARE = OP["abs"], OP["le"], OP["lt"], OP["rsqrt"], OP["square"]


# -------------------------------------------------------------------------------------------------- distances


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Squared distance ``(input - target)**2``.

    Parameters
    ----------
    input, target : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, or shapes that do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.mse_loss(dg.Tensor([1.0, 2.0]), dg.Tensor([1.0, 4.0])))
    2.0
    """
    check_reduction("mse_loss", reduction)
    return reduce_loss(_engine.unary(_SQUARE, _difference("mse_loss", input, target)), reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Distance ``|input - target|``, with slope 0 where it is 0.

    Parameters
    ----------
    input, target : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, or shapes that do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.l1_loss(dg.Tensor([1.0, 2.0]), dg.Tensor([1.0, 4.0]), reduction="sum"))
    2.0
    """
    check_reduction("l1_loss", reduction)
    return reduce_loss(_engine.unary(_ABS, _difference("l1_loss", input, target)), reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """Distance with a parabola near 0.

    With d the distance ``|input - target|``: ``0.5 d^2 / beta`` below `beta`, ``d - 0.5 beta`` above.

    Parameters
    ----------
    input, target : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    beta : float, default 1.0
        Where the parabola meets the straight line.
    reduction : {'none', 'mean', 'sum'}, default 'none'
        What is done with the elementwise loss; note the default.

    Returns
    -------
    Tensor
        For 'none' of the broadcast shape, else without axes.

    Raises
    ------
    ValueError
        For another reduction, shapes that do not broadcast, or `beta` not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.smooth_l1_loss(dg.Tensor([1.0, 1.0]), dg.Tensor([2.0, 4.0])))
    [0.5 2.5]
    """
    check_reduction("smooth_l1_loss", reduction)
    positive("smooth_l1_loss", "beta", beta)
    difference = _difference("smooth_l1_loss", input, target)
    distance = _engine.unary(_ABS, difference)
    parabola = _engine.unary(_SQUARE, difference) * (0.5 / beta)
    line = distance - 0.5 * beta
    return reduce_loss(where(_engine.binary_op(_LT, distance, beta), parabola, line), reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Squared distance near 0, straight beyond.

    With d the distance ``|input - target|``: ``0.5 d^2`` up to `delta`, ``delta (d - 0.5 delta)`` above.

    Parameters
    ----------
    input, target : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.
    delta : float, default 1.0
        Where the parabola meets the straight line.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, shapes that do not broadcast, or `delta` not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.huber_loss(dg.Tensor([1.0, 1.0]), dg.Tensor([2.0, 4.0]), "none", delta=2.0))
    [0.5 4. ]
    """
    check_reduction("huber_loss", reduction)
    positive("huber_loss", "delta", delta)
    difference = _difference("huber_loss", input, target)
    distance = _engine.unary(_ABS, difference)
    parabola = _engine.unary(_SQUARE, difference) * 0.5
    line = (distance - 0.5 * delta) * delta
    return reduce_loss(where(_engine.binary_op(_LE, distance, delta), parabola, line), reduction)


def _difference(name: str, input: Any, target: Any) -> Tensor:
    x, y = floating(name, input), operand(name, target)
    same_or_broadcast(name, "input", x, "target", y)
    return x - y


# ----------------------------------------------------------------------------------------------------- layers


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
        raise ValueError(
            f"dense: the bias has shape {b.shape}; expected {w.shape[:-1]} for a weight of {w.shape}"
        )
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


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
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
