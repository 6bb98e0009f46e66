"""Activations and layers that are compositions of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor, one_of, real_number, truth_value
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, Primitive, floating, integer, one_axis, operand, to_shape
from ..index.choice import clamp, where
from ..index.gather import one_hot
from ..linalg.norms import vector_norm
from ..math import elementwise as _rows
from ..math._einsum import einsum
from ..math.reductions import argmax, mean
from ..neural._rectifiers import celu
from ..neural._softmax import softmax
from ..neural.activations import silu
from ..neural.layers import dropout
from ..random._samples import _uniform
from ..random.drawing import _source
from ._classes import Derived

__all__ = [
    "LRN", "CeLU", "Dropout2D", "Dropout3D", "FastGeLU", "FastGelu", "Primitive", "bidense", "clip_by_norm",
    "dropout1d", "dropout2d", "dropout3d", "fast_gelu", "gumbel_softmax", "lrn", "rms_norm", "swiglu", "threshold",
]  # fmt: skip


# ------------------------------------------------------------------------------------------------ activations


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
    return where(x > number_or_tensor("threshold", "thr", thr), x, value)


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Softmax of logits with Gumbel noise: a random choice with a derivative.

    Parameters
    ----------
    logits : Tensor
        Logarithms of weights.
    tau : float, default 1.0
        The temperature, above 0.
    hard : bool, default False
        True for a one-hot value, with the derivative of the softmax.
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
    real_number("gumbel_softmax", "tau", tau)
    if tau <= 0:
        raise ValueError(f"gumbel_softmax: tau is {tau}; expected a positive number")
    noise = -_rows.log(-_rows.log(_uniform(_source(None), x.shape, _dtype.float64, open_end=True)))
    soft = softmax((x + noise.astype(x.dtype)) / tau, dim)
    truth_value("gumbel_softmax", "hard", hard)
    if not hard:
        return soft
    axis = one_axis("gumbel_softmax", dim, x.shape)
    rigid = one_hot(argmax(soft, axis), x.shape[axis], 1, 0, axis).astype(x.dtype)
    return soft + _engine.stop(rigid - soft)


# ----------------------------------------------------------------------------------------------------- layers


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
    real_number(name, "p", p)
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p is {p}; expected a probability")
    truth_value(name, "training", training)
    if not training or p == 0:
        return +x
    if x.ndim not in ((n + 1, n + 2) if n < 3 else (5,)):
        raise ValueError(f"{name}: the input has shape {x.shape}; expected samples and channels before {n} axes")
    kept = dropout(Tensor._owning(np.ones((*x.shape[:-n], *(1,) * n), x.dtype.numpy)), p, True)
    return x * kept


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set whole channels to 0 at random and divide the others by the probability to stay.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, L) or (C, L); any shape without `training` or where `p` is 0.
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        True for dropout; otherwise the result equals the input.

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
        Shape (N, C, H, W) or (C, H, W); any shape without `training` or where `p` is 0.
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        True for dropout; otherwise the result equals the input.

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
        Shape (N, C, D, H, W); any shape without `training` or where `p` is 0.
    p : float, default 0.5
        The probability of a channel to become 0.
    training : bool, default True
        True for dropout; otherwise the result equals the input.

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
        The number of neighbouring channels on each side.
    bias, alpha, beta : float, default 1.0, 1.0 and 0.5
        As in the formula.
    norm_region : {'ACROSS_CHANNELS'}, default 'ACROSS_CHANNELS'
        Only this value is supported.

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
    if x.ndim != 4 or radius < 0 or not one_of(norm_region, ("ACROSS_CHANNELS",)):
        raise ValueError(
            f"lrn: the input has shape {x.shape}, depth_radius {depth_radius}, norm_region {norm_region!r}; expected "
            "(N, C, H, W), 0 or more and 'ACROSS_CHANNELS'"
        )
    c = x.shape[1]
    near = np.abs(np.arange(c) - np.arange(c)[:, None]) <= radius
    sums = einsum("ij,njhw->nihw", Tensor._owning(near.astype(x.dtype.numpy)), _rows.square(x))
    alpha, beta, bias = [number_or_tensor("lrn", "alpha, beta or bias", k) for k in (alpha, beta, bias)]
    return x / (bias + alpha * sums) ** beta


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Divide by the root of the mean square over the last axes, then scale.

    Parameters
    ----------
    x : Tensor
        Any shape.
    gamma : Tensor
        The scale; its shape equals the last lengths of `x`, over which means are taken.
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
    reciprocal = _rows.rsqrt(
        mean(_rows.square(x), ALL_AXES[x.ndim][x.ndim - g.ndim :], True) + real_number("rms_norm", "epsilon", epsilon)
    )
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
        True to raise an error for a norm that is inf or nan.

    Returns
    -------
    Tensor or tuple or list of Tensor

    Raises
    ------
    RuntimeError
        For a norm that is not finite, with `error_if_nonfinite`.

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
    max_norm, norm_type = (
        number_or_tensor("clip_by_norm", "max_norm", max_norm),
        real_number("clip_by_norm", "norm_type", norm_type),
    )
    error_if_nonfinite = truth_value("clip_by_norm", "error_if_nonfinite", error_if_nonfinite)
    lengths = [to_shape(vector_norm(part, norm_type, ALL_AXES[part.ndim], False), (1,)) for part in many]
    joined = _engine.apply(OP["concat"], 0, *lengths) if len(lengths) > 1 else lengths[0]
    length = vector_norm(joined, norm_type, (0,), False)
    if error_if_nonfinite and not bool(_rows.isfinite(_engine.stop(length))._numpy().all()):
        raise RuntimeError(f"clip_by_norm: the norm is {length._numpy()}; expected a finite number")
    factor = clamp(max_norm / (length + 1e-6), None, 1.0)
    found = [part * factor for part in many]
    return found[0] if not isinstance(x, tuple | list) else type(x)(found)


# ------------------------------------------------------------------------------------------ primitive classes


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


class CeLU(Derived, function=celu, alpha=1.0, example="""
>>> print(ops.CeLU()(dg.Tensor([-100.0, 2.0])))
[-1.  2.]
"""):  # fmt: skip
    __slots__ = ()


def _with_mask(name: str, x: Any, keep_prob: float, spatial: int) -> tuple[Tensor, Tensor]:
    """The remaining channels, divided by `keep_prob`, and their mask."""
    x = operand(name, x)
    if x.ndim != spatial + 2:
        raise ValueError(f"{name}: x of shape {x.shape}; expected {spatial + 2} axes, channels second")
    if not 0.0 <= keep_prob <= 1.0:
        raise ValueError(f"{name}: keep_prob is {keep_prob}; expected a probability from 0 to 1")
    drawn = _uniform(_source(None), x.shape[:2] + (1,) * spatial, _dtype.float64, open_end=True)
    mask = (drawn < keep_prob).broadcast_to(x.shape)
    return where(mask, x / keep_prob if keep_prob else x, 0).astype(x.dtype), mask


def _dropout2d(x: Any, keep_prob: float) -> tuple[Tensor, Tensor]:
    return _with_mask("Dropout2D", x, keep_prob, 2)


def _dropout3d(x: Any, keep_prob: float) -> tuple[Tensor, Tensor]:
    return _with_mask("Dropout3D", x, keep_prob, 3)


class Dropout2D(Derived, function=_dropout2d, keep_prob=0.5):
    """Set channels to 0 at random and divide the others by `keep_prob`; return the mask of the others, too.

    ``ops.Dropout2D(keep_prob=0.5)(x)`` takes shape (N, C, H, W); both results have it. It draws the same random numbers
    as `ops.dropout2d`, which takes the probability to become 0 and returns no mask.

    Examples
    --------
    >>> from dualgrad import ops
    >>> output, mask = ops.Dropout2D(keep_prob=1.0)(ops.ones((1, 2, 1, 2)))
    >>> print(output.flatten(), mask.all())
    [1. 1. 1. 1.] True
    """

    __slots__ = ()


class Dropout3D(Derived, function=_dropout3d, keep_prob=0.5):
    """As `Dropout2D`, for shape (N, C, D, H, W).

    Examples
    --------
    >>> from dualgrad import ops
    >>> output, mask = ops.Dropout3D(keep_prob=1.0)(ops.ones((1, 2, 1, 1, 2)))
    >>> print(output.flatten(), mask.all())
    [1. 1. 1. 1.] True
    """

    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
