"""Activations, losses, layers and windows that are compositions of others, and primitive classes of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    OP,
    Primitive,
    floating,
    integer,
    one_axis,
    operand,
    to_shape,
    together,
    total,
)
from ..index._indices import index_tensor
from ..index.choice import clamp, where
from ..index.gather import gather_elements, one_hot
from ..linalg.norms import vector_norm
from ..math import elementwise as _rows
from ..math._einsum import einsum
from ..math.reductions import argmax, mean
from ..neural._classification import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy
from ..neural._reduction import check_reduction, reduce_loss
from ..neural._softmax import softmax
from ..neural.activations import logsigmoid, silu, softplus
from ..neural.layers import dropout
from ..neural.losses import smooth_l1_loss
from ..random.distributions import _uniform
from ..random.drawing import _source
from ._classes import REQUIRED, Derived

__all__ = [
    "LRN",
    "BinaryCrossEntropy",
    "Einsum",
    "FastGeLU",
    "FastGelu",
    "Primitive",
    "SigmoidCrossEntropyWithLogits",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SparseSoftmaxCrossEntropyWithLogits",
    "bartlett_window",
    "bidense",
    "blackman_window",
    "clip_by_norm",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "fast_gelu",
    "gumbel_softmax",
    "hamming_window",
    "hann_window",
    "hinge_embedding_loss",
    "kaiser_window",
    "lrn",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "rms_norm",
    "soft_margin_loss",
    "swiglu",
    "threshold",
    "triplet_margin_loss",
]  # fmt: skip


# --------------------------------------------------------------------------------------------------- activations


def fast_gelu(x: Any) -> Tensor:
    """A quick form of GELU: ``x * sigmoid(1.702 * x)``.

    Parameters
    ----------
    x : Tensor
        Any shape.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fast_gelu(dg.Tensor([0.0, 100.0])))
    [  0. 100.]
    """
    x = floating("fast_gelu", x)
    return x * _rows.sigmoid(1.702 * x)


def swiglu(input: Any, dim: int = -1) -> Tensor:
    """`silu` of the first half along an axis, times the second half.

    Parameters
    ----------
    input : Tensor
        The axis has even length.
    dim : int, default -1
        The axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.swiglu(dg.Tensor([100.0, 2.0])))
    [200.]
    """
    x = floating("swiglu", input)
    axis = one_axis("swiglu", dim, x.shape)
    n = x.shape[axis]
    if n % 2:
        raise ValueError(f"swiglu: axis {dim} of shape {x.shape}; expected an even length")
    lead = (slice(None),) * axis
    return silu(x[(*lead, slice(0, n // 2))]) * x[(*lead, slice(n // 2, n))]


def threshold(input: Any, thr: Any, value: Any) -> Tensor:
    """X where it is above a threshold, a number elsewhere.

    Parameters
    ----------
    input : Tensor
        Any shape.
    thr, value : number
        The threshold, and the number.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.threshold(dg.Tensor([0.5, 2.0]), 1.0, 7.0))
    [7. 2.]
    """
    x = operand("threshold", input)
    return where(x > thr, x, value)


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Softmax of logits with Gumbel noise: a choice at random that has a slope.

    Parameters
    ----------
    logits : Tensor
        Logarithms of weights.
    tau : float, default 1.0
        The temperature, above 0.
    hard : bool, default False
        Whether the value is a one-hot vector; the slope is that of the softmax all the same.
    dim : int, default -1
        The axis of the categories.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.gumbel_softmax(dg.Tensor([0.0, 1000.0]), hard=True))
    [0. 1.]
    """
    x = floating("gumbel_softmax", logits)
    if tau <= 0:
        raise ValueError(f"gumbel_softmax: tau is {tau}; expected a positive number")
    noise = -_rows.log(-_rows.log(_uniform(_source(None), x.shape, _dtype.float64, open_end=True)))
    soft = softmax((x + noise.astype(x.dtype)) / tau, dim)
    if not hard:
        return soft
    axis = one_axis("gumbel_softmax", dim, x.shape)
    rigid = one_hot(argmax(soft, axis), x.shape[axis], 1, 0, axis).astype(x.dtype)
    return soft + _engine.stop(rigid - soft)


# -------------------------------------------------------------------------------------------------------- layers


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """Bilinear map: output k is ``input1 @ weight[k] @ input2``, plus bias[k].

    Parameters
    ----------
    input1, input2 : Tensor
        Shapes (..., n) and (..., m).
    weight : Tensor
        Shape (o, n, m).
    bias : Tensor, optional
        Shape (o,).

    Returns
    -------
    Tensor
        Shape (..., o).

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.bidense(ops.ones((1, 2)), ops.ones((1, 3)), ops.ones((1, 2, 3))))
    [[6.]]
    """
    x, y, w = [operand("bidense", part) for part in (input1, input2, weight)]
    if w.ndim != 3 or x.shape[:-1] != y.shape[:-1] or (x.shape[-1:], y.shape[-1:]) != (w.shape[1:2], w.shape[2:]):
        raise ValueError(f"bidense: shapes {x.shape}, {y.shape}, {w.shape}; expected (..., n), (..., m), (o, n, m)")
    result = einsum("...i,kij,...j->...k", x, w, y)
    return result if bias is None else result + operand("bidense", bias)


def _channel_dropout(name: str, x: Any, p: float, training: bool, n: int) -> Tensor:
    x = operand(name, x)
    if x.ndim not in ((n + 1, n + 2) if n < 3 else (5,)):
        raise ValueError(f"{name}: the input has shape {x.shape}; expected samples and channels before {n} axes")
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p is {p}; expected a probability")
    if not training:
        return +x
    kept = dropout(Tensor.from_numpy(np.ones((*x.shape[:-n], *(1,) * n), x.dtype.numpy)), p, True)
    return x * kept


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set whole channels to 0 at random and divide the others by the probability to stay.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L).
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        Whether this is done.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.dropout1d(ops.ones((2, 3, 4)), 0.2).shape
    (2, 3, 4)
    """
    return _channel_dropout("dropout1d", input, p, training, 1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set whole channels to 0 at random and divide the others by the probability to stay.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, H, W) or (C, H, W).
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        Whether this is done.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.dropout2d(ops.ones((2, 3, 4, 5)), 0.2).shape
    (2, 3, 4, 5)
    """
    return _channel_dropout("dropout2d", input, p, training, 2)


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set whole channels to 0 at random and divide the others by the probability to stay.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, D, H, W).
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        Whether this is done.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.dropout3d(ops.ones((2, 3, 4, 5, 6)), 0.2).shape
    (2, 3, 4, 5, 6)
    """
    return _channel_dropout("dropout3d", input, p, training, 3)


def lrn(
    x: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """Local response normalisation: ``x / (bias + alpha * s)**beta``, s the sum of squares over neighbouring channels.

    Parameters
    ----------
    x : Tensor
        Shape (N, C, H, W).
    depth_radius : int, default 5
        How many channels on each side are neighbours.
    bias, alpha, beta : float, default 1.0, 1.0 and 0.5
        As in the formula.
    norm_region : {'ACROSS_CHANNELS'}, default 'ACROSS_CHANNELS'
        Only this is there.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.lrn(ops.ones((1, 3, 1, 1)), 1, 0.0).ravel())
    [0.70710677 0.57735026 0.70710677]
    """
    x = floating("lrn", x)
    radius = integer("lrn", "depth_radius", depth_radius)
    if x.ndim != 4 or radius < 0 or norm_region != "ACROSS_CHANNELS":
        raise ValueError(
            f"lrn: the input has shape {x.shape}, depth_radius {depth_radius}, norm_region {norm_region!r}; expected "
            "(N, C, H, W), 0 or more and 'ACROSS_CHANNELS'"
        )
    c = x.shape[1]
    near = np.abs(np.arange(c) - np.arange(c)[:, None]) <= radius
    sums = einsum("ij,njhw->nihw", Tensor.from_numpy(near.astype(x.dtype.numpy)), _rows.square(x))
    return x / (bias + alpha * sums) ** beta


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Divide by the root of the mean square over the last axes, then scale.

    Parameters
    ----------
    x : Tensor
        Any shape.
    gamma : Tensor
        The scale; its shape is that of the last axes of `x`, over which means are taken.
    epsilon : float, default 1e-6
        Added to the mean square.

    Returns
    -------
    tuple of Tensor
        The result, and the reciprocals of the roots.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.rms_norm(dg.Tensor([[3.0, -3.0]]), ops.ones((2,)), 0.0)[0])
    [[ 1. -1.]]
    """
    x, g = floating("rms_norm", x), operand("rms_norm", gamma)
    if not g.ndim or g.shape != x.shape[x.ndim - g.ndim :]:
        raise ValueError(f"rms_norm: gamma has shape {g.shape}; expected the last lengths of {x.shape}")
    reciprocal = _rows.rsqrt(mean(_rows.square(x), ALL_AXES[x.ndim][x.ndim - g.ndim :], True) + epsilon)
    return x * reciprocal * g, reciprocal


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Shorten tensors together, if the norm of all their elements is larger than a number.

    Parameters
    ----------
    x : Tensor, or tuple or list of Tensor
        Any shapes.
    max_norm : float
        The norm to shorten to.
    norm_type : float, default 2.0
        The order of the norm.
    error_if_nonfinite : bool, default False
        Whether a norm that is inf or nan raises.

    Returns
    -------
    Tensor or tuple or list of Tensor

    Raises
    ------
    RuntimeError
        For a norm that is not finite, if asked for.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.clip_by_norm(dg.Tensor([3.0, 4.0]), 1.0).round(4))
    [0.6 0.8]
    """
    many = [floating("clip_by_norm", part) for part in (x if isinstance(x, tuple | list) else (x,))]
    if not many:
        return x
    lengths = [to_shape(vector_norm(part, norm_type, ALL_AXES[part.ndim], False), (1,)) for part in many]
    joined = _engine.apply(OP["concat"], 0, *lengths) if len(lengths) > 1 else lengths[0]
    length = vector_norm(joined, norm_type, (0,), False)
    if error_if_nonfinite and not bool(_rows.isfinite(_engine.stop(length))._numpy().all()):
        raise RuntimeError(f"clip_by_norm: the norm is {length._numpy()}; expected a finite number")
    factor = clamp(max_norm / (length + 1e-6), None, 1.0)
    found = [part * factor for part in many]
    return found[0] if not isinstance(x, tuple | list) else type(x)(found)


# -------------------------------------------------------------------------------------------------------- losses


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Parameters
    ----------
    input1, input2 : Tensor
        Scores, shapes that broadcast.
    target : Tensor
        1 where the first score should be larger, -1 where the second.
    margin : float, default 0.0
        By how much.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.margin_ranking_loss(dg.Tensor([1.0]), dg.Tensor([3.0]), dg.Tensor([1.0])))
    2.0
    """
    check_reduction("margin_ranking_loss", reduction)
    a, b, t = together("margin_ranking_loss", input1, input2, target)
    return reduce_loss(_rows.relu(-t * (a - b) + margin), reduction)


def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """X where the target is 1, ``max(0, margin - x)`` where it is -1.

    Parameters
    ----------
    inputs : Tensor
        Distances.
    targets : Tensor
        1 or -1; a shape that broadcasts.
    margin : float, default 1.0
        As in the formula.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hinge_embedding_loss(dg.Tensor([0.25, 0.25]), dg.Tensor([1, -1]), reduction="none"))
    [0.25 0.75]
    """
    check_reduction("hinge_embedding_loss", reduction)
    x, t = floating("hinge_embedding_loss", inputs), operand("hinge_embedding_loss", targets)
    loss = where(t == 1, x, 0.0) + where(t == -1, _rows.relu(margin - x), 0.0)
    return reduce_loss(loss, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``, computed without overflow.

    Parameters
    ----------
    input, target : Tensor
        Scores, and 1 or -1; one shape.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the elementwise loss.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.soft_margin_loss(dg.Tensor([0.0]), dg.Tensor([1.0])))
    0.6931472
    """
    check_reduction("soft_margin_loss", reduction)
    x, t = together("soft_margin_loss", floating("soft_margin_loss", input), target)
    if x.shape != t.shape:
        raise ValueError(f"soft_margin_loss: shapes {x.shape} and {t.shape}; expected one shape")
    return reduce_loss(softplus(-t * x), reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Mean over classes of the cross entropy of each class by itself.

    Parameters
    ----------
    input, target : Tensor
        Scores, and 1 or 0 for each class; shape (N, C).
    weight : Tensor, optional
        A factor for each class.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multilabel_soft_margin_loss(dg.Tensor([[0.0, 0.0]]), dg.Tensor([[1.0, 0.0]])))
    0.6931472
    """
    name = "multilabel_soft_margin_loss"
    check_reduction(name, reduction)
    x, t = together(name, floating(name, input), target)
    loss = -(t * logsigmoid(x) + (1 - t) * logsigmoid(-x))
    loss = loss if weight is None else loss * operand(name, weight)
    return reduce_loss(mean(loss, -1), reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Mean over the other classes j of ``max(0, margin - x[target] + x[j])**p``.

    Parameters
    ----------
    input : Tensor
        Scores, shape (N, C).
    target : Tensor of int
        Classes, shape (N,).
    p : {1, 2}, default 1
        The exponent.
    margin : float, default 1
        As in the formula.
    weight : Tensor, optional
        A factor for each class, shape (C,).
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multi_margin_loss(dg.Tensor([[0.5, 0.0]]), dg.Tensor([0])))
    0.25
    """
    name = "multi_margin_loss"
    check_reduction(name, reduction)
    x, t = floating(name, input), index_tensor(name, target)
    if x.ndim != 2 or t.shape != x.shape[:1] or p not in (1, 2):
        raise ValueError(f"{name}: shapes {x.shape} and {t.shape}, p {p}; expected (N, C), (N,) and 1 or 2")
    column = to_shape(t, (t.size, 1))
    loss = _rows.relu(margin - gather_elements(x, 1, column) + x)
    loss = loss if p == 1 else _rows.square(loss)
    if weight is not None:
        loss = loss * gather_elements(operand(name, weight), 0, t).reshape(-1, 1)
    loss = where(column == np.arange(x.shape[1]), 0.0, loss)
    return reduce_loss(total(loss, (1,), False) / x.shape[1], reduction)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Sum over classes i of a sample and others j of ``max(0, 1 - x[i] + x[j])``, divided by the number of classes.

    Parameters
    ----------
    input : Tensor
        Scores, shape (N, C) or (C,).
    target : Tensor of int
        The classes of each sample, up to the first -1; the shape of `input`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the losses of the samples.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multilabel_margin_loss(dg.Tensor([[0.5, 0.0]]), dg.Tensor([[0, -1]])))
    0.25
    """
    name = "multilabel_margin_loss"
    check_reduction(name, reduction)
    x, t = floating(name, input), index_tensor(name, target)
    if x.ndim not in (1, 2) or t.shape != x.shape:
        raise ValueError(f"{name}: shapes {x.shape} and {t.shape}; expected (N, C) or (C,) for both")
    c = x.shape[-1]
    there = (t < 0).astype(_dtype.int64).cumsum(-1) == 0
    place = where(there, t, 0)
    own = (to_shape(place, (*t.shape, 1)) == np.arange(c)) & to_shape(there, (*t.shape, 1))  # (..., which, class)
    foreign = total(own.astype(_dtype.int64), (x.ndim - 1,), True) == 0
    loss = _rows.relu(1 - to_shape(gather_elements(x, -1, place), (*t.shape, 1)) + to_shape(x, (*x.shape[:-1], 1, c)))
    loss = where(foreign & to_shape(there, (*t.shape, 1)), loss, 0.0)
    return reduce_loss(total(loss, (x.ndim - 1, x.ndim), False) / c, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, d the p-norm over the last axis.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Shapes that broadcast.
    margin : float, default 1.0
        As in the formula.
    p : int, default 2
        The order of the norm.
    eps : float, default 1e-6
        Added to each difference.
    swap : bool, default False
        Whether the distance of positive and negative counts if it is smaller than that of anchor and negative.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        What is done with the losses.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[0.0, 0.0]])
    >>> print(ops.triplet_margin_loss(x, x + 3.0, x + 3.0).round(3))
    1.0
    """
    name = "triplet_margin_loss"
    check_reduction(name, reduction)
    a, b, c = [floating(name, x) for x in together(name, anchor, positive, negative)]

    def distance(x: Tensor, y: Tensor) -> Tensor:
        difference = x - y + eps
        return vector_norm(difference, p, (difference.ndim - 1,), False)

    far = distance(a, c)
    if swap:
        far = _rows.minimum(far, distance(b, c))
    return reduce_loss(_rows.relu(distance(a, b) - far + margin), reduction)


# ------------------------------------------------------------------------------------------------------- windows


def _window(
    name: str, length: Any, periodic: bool, dtype: Any, formula: Callable[[np.ndarray, int], np.ndarray]
) -> Tensor:
    n = integer(name, "window_length", length.item() if isinstance(length, Tensor) else length)
    if n < 0:
        raise ValueError(f"{name}: window_length is {n}; expected 0 or more")
    target = _dtype.float32 if dtype is None else as_dtype(dtype, where=name)
    whole = n + 1 if periodic else n
    found = formula(np.arange(whole), whole - 1) if n > 1 else np.ones(whole)
    return Tensor.from_numpy(found[:n].astype(target.numpy))


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Triangular window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        Whether it is that of one element more, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.bartlett_window(4))
    [0.  0.5 1.  0.5]
    """
    formula = lambda k, m: 1.0 - np.abs(2.0 * k / m - 1.0)  # noqa: E731
    return _window("bartlett_window", window_length, periodic, dtype, formula)


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        Whether it is that of one element more, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.hann_window(4))
    [0.  0.5 1.  0.5]
    """
    formula = lambda k, m: 0.5 - 0.5 * np.cos(2 * np.pi * k / m)  # noqa: E731
    return _window("hann_window", window_length, periodic, dtype, formula)


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Three-term cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        Whether it is that of one element more, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.blackman_window(4).shape
    (4,)
    """
    return _window(
        "blackman_window",
        window_length,
        periodic,
        dtype,
        lambda k, m: 0.42 - 0.5 * np.cos(2 * np.pi * k / m) + 0.08 * np.cos(4 * np.pi * k / m),
    )


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Tensor:
    """Raised cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        Whether it is that of one element more, without the last.
    alpha, beta : float, default 0.54 and 0.46
        The constant, and the factor of the cosine.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.hamming_window(4))
    [0.08 0.54 1.   0.54]
    """
    return _window(
        "hamming_window", window_length, periodic, dtype, lambda k, m: alpha - beta * np.cos(2 * np.pi * k / m)
    )


def kaiser_window(window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Tensor:
    """Kaiser window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        Whether it is that of one element more, without the last.
    beta : float, default 12.0
        How narrow it is.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.kaiser_window(4).shape
    (4,)
    """
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        dtype,
        lambda k, m: np.i0(beta * np.sqrt(1 - (2.0 * k / m - 1) ** 2)) / np.i0(beta),
    )


# --------------------------------------------------------------------------------------------- primitive classes


def _product(x: Any, equation: str) -> Tensor:
    return einsum(equation, *x)


def _sparse(logits: Any, labels: Any, is_grad: bool) -> Tensor:
    if is_grad:
        x, t = floating("SparseSoftmaxCrossEntropyWithLogits", logits), index_tensor("labels", labels)
        return (softmax(x, 1) - one_hot(t, x.shape[1]).astype(x.dtype)) / x.shape[0]
    return cross_entropy(logits, labels)


def _each(logits: Any, label: Any) -> Tensor:
    return binary_cross_entropy_with_logits(logits, label, reduction="none")


def _entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    return binary_cross_entropy(logits, labels, weight, reduction)


class BinaryCrossEntropy(Derived, function=_entropy, reduction="mean"):
    """Primitive class of `binary_cross_entropy`: ``ops.BinaryCrossEntropy(reduction='mean')(logits, labels, weight)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.BinaryCrossEntropy()(dg.Tensor([0.5]), dg.Tensor([1.0])))
    0.6931472
    """

    __slots__ = ()


class Einsum(Derived, function=_product, equation=REQUIRED):
    """Primitive class of `einsum`: ``ops.Einsum(equation)((x, y, ...))``.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.Einsum("ij,jk->ik")((ops.ones((1, 2)), ops.ones((2, 1)))))
    [[2.]]
    """

    __slots__ = ()


class FastGeLU(Derived, function=fast_gelu, example="""
>>> print(ops.FastGeLU()(dg.Tensor([0.0])))
[0.]
"""):  # fmt: skip
    __slots__ = ()


FastGelu = FastGeLU


class LRN(Derived, function=lrn, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS",
          example="""
>>> print(ops.LRN(1, 0.0)(ops.ones((1, 2, 1, 1))).ravel())
[0.70710677 0.70710677]
"""):  # fmt: skip
    __slots__ = ()


class SigmoidCrossEntropyWithLogits(Derived, function=_each):
    """`binary_cross_entropy_with_logits`, not reduced: ``ops.SigmoidCrossEntropyWithLogits()(logits, label)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SigmoidCrossEntropyWithLogits()(dg.Tensor([0.0]), dg.Tensor([1.0])))
    [0.6931472]
    """

    __slots__ = ()


class SmoothL1Loss(Derived, function=smooth_l1_loss, beta=1.0, reduction="none", call="prediction, target", example="""
>>> print(ops.SmoothL1Loss()(dg.Tensor([1.0]), dg.Tensor([4.0])))
[2.5]
"""):  # fmt: skip
    __slots__ = ()


class SoftMarginLoss(Derived, function=soft_margin_loss, reduction="mean", call="predict, label", example="""
>>> print(ops.SoftMarginLoss()(dg.Tensor([0.0]), dg.Tensor([1.0])))
0.6931472
"""):  # fmt: skip
    __slots__ = ()


class SparseSoftmaxCrossEntropyWithLogits(Derived, function=_sparse, is_grad=False):
    """`cross_entropy` with classes as labels.

    Called as ``ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels)``. With
    `is_grad` its gradient by the logits.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SparseSoftmaxCrossEntropyWithLogits()(dg.Tensor([[0.0, 0.0]]), dg.Tensor([1])))
    0.6931472
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
