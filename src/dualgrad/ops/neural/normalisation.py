"""Normalisation: mean 0 and variance 1 over some axes, then scale and shift.

The variance is the mean of squared deviations, plus a small number under the root, so derivatives stay finite if all
elements are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number, truth_value
from ...parameter import Parameter
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, integer, lengths, operand, to_shape
from ..math.reductions import mean
from ._sliding import channels_first

__all__ = ["BatchNorm", "LayerNorm", "batch_norm", "group_norm", "layer_norm"]

_RSQRT, _SQUARE = OP["rsqrt"], OP["square"]


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


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalise groups of channels of each sample, then scale and shift each channel.

    Parameters
    ----------
    input : Tensor
        Shape (N, C, ...); integers become float32.
    num_groups : int
        The number of groups of neighbouring channels, all of one size.
    weight, bias : Tensor, optional
        Scale and shift of the channels, shape (C,).
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of `input`.

    Raises
    ------
    ValueError
        If the groups do not divide the channels, or shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.group_norm(dg.Tensor([[1.0, 3.0, -4.0, 4.0]]), 2, eps=0.0))
    [[-1.  1. -1.  1.]]
    """
    x, groups = floating("group_norm", input), integer("group_norm", "num_groups", num_groups)
    shape = x.shape
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise ValueError(
            f"group_norm: the input has shape {shape}; expected (N, C, ...) with channels that {groups} groups divide"
        )
    grouped = to_shape(x, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return _by_channel("group_norm", to_shape(_normalized(grouped, 2, eps)[0], shape), weight, bias)


def batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel, then scale and shift it.

    Parameters
    ----------
    input_x : Tensor
        Shape (N, C, ...); integers become float32.
    running_mean, running_var : Tensor or Parameter
        Mean and variance of each channel, shape (C,). In training they may be None; otherwise they must be Parameters,
        since they are changed.
    weight, bias : Tensor, optional
        Scale and shift of the channels, shape (C,).
    training : bool, default False
        False: subtract `running_mean` and divide by the root of `running_var`. True: take mean and variance of
        `input_x` over all axes but the channels, and move `running_mean` and `running_var` towards them.
    momentum : float, default 0.1
        How far they move, from 0 to 1: ``running = (1 - momentum) * running + momentum * current``. The current
        variance is the sum of squares divided by one less than the number of elements. This is an effect of the call
        and not a part of any derivative.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of `input_x`.

    Raises
    ------
    ValueError
        If shapes do not fit, `momentum` is out of range, or there is a single element for each channel in training,
        which has no variance.
    TypeError
        If a running statistic to be changed is not a Parameter.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> mean, var = dg.Parameter([0.0], name="mean"), dg.Parameter([1.0], name="var")
    >>> x = dg.Tensor([[1.0], [3.0]])
    >>> print(ops.batch_norm(x, mean, var, training=True, momentum=0.5, eps=0.0).T)
    [[-1.  1.]]
    >>> print(mean.asnumpy(), var.asnumpy())
    [1.] [1.5]
    """
    name = "batch_norm"
    x = floating(name, input_x)
    if x.ndim < 2:
        raise ValueError(f"{name}: the input has shape {x.shape}; expected (N, C, ...)")
    if not 0 <= real_number(name, "momentum", momentum) <= 1:
        raise ValueError(f"{name}: momentum is {momentum}; expected a number from 0 to 1")
    training, eps = truth_value(name, "training", training), real_number(name, "eps", eps)
    running = {"running_mean": running_mean, "running_var": running_var}
    if not training:
        if running_mean is None or running_var is None:
            raise TypeError(f"{name}: running_mean or running_var is None; outside of training both are needed")
        average, variance = [_channels(name, what, operand(name, part), x) for what, part in running.items()]
        return _by_channel(name, (x - average) * _engine.unary(_RSQRT, variance + eps), weight, bias)
    for what, part in running.items():
        _check_changeable(name, what, part, x)
    y, average, variance = _standardized(x, (0, *range(2, x.ndim)), eps)
    y = _by_channel(name, y, weight, bias)
    _move(running_mean, average, momentum)
    if running_var is not None:
        n = x.size // max(x.shape[1], 1)
        _move(running_var, variance * (n / (n - 1)), momentum)
    return y


# -------------------------------------------------------------------------------------------------- the parts


def _normalized(x: Tensor, begin: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise over the axes from `begin`; return also the mean and the variance."""
    return _standardized(x, tuple(range(begin, x.ndim)), eps)


def _standardized(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    eps = real_number("normalisation", "eps", eps)
    average = mean(x, axes, True)
    deviation = x - average
    variance = mean(_engine.unary(_SQUARE, deviation), axes, True)
    return deviation * _engine.unary(_RSQRT, variance + eps), average, variance


def _channels(name: str, what: str, part: Tensor, x: Tensor) -> Tensor:
    """Reshape one number for each channel so that it broadcasts against the input."""
    if part.shape != x.shape[1:2]:
        raise ValueError(
            f"{name}: {what} has shape {part.shape} for an input of shape {x.shape}; expected ({x.shape[1]},), one "
            f"number for each channel"
        )
    return to_shape(part, part.shape + (1,) * (x.ndim - 2))


def _by_channel(name: str, y: Tensor, weight: Any, bias: Any) -> Tensor:
    if weight is not None:
        y = y * _channels(name, "weight", operand(name, weight), y)
    return y if bias is None else y + _channels(name, "bias", operand(name, bias), y)


def _check_changeable(name: str, what: str, running: Any, x: Tensor) -> None:
    """Raise unless running statistics can be moved towards the statistics of the input."""
    if running is None:
        return
    if not isinstance(running, Parameter):
        raise TypeError(
            f"{name}: {what} is a {type(running).__name__}; in training it changes, so it must be a Parameter (or None)"
        )
    _channels(name, what, running, x)
    if x.size < 2 * x.shape[1]:
        raise ValueError(
            f"{name}: the input of shape {x.shape} has less than two elements for each channel, too few to estimate "
            f"a variance in training"
        )


def _move(running: Parameter | None, current: Tensor, momentum: float) -> None:
    """Move running statistics towards the current ones, outside of all derivatives."""
    if running is not None:
        now = to_shape(_engine.stop(current), running.shape)
        running.set_data(running._detached() * (1 - momentum) + now * momentum)


# ------------------------------------------------------------------------------------------ primitive classes


class BatchNorm(Primitive):
    """Primitive class of `batch_norm`: ``ops.BatchNorm(settings)(input_x, scale, bias, mean, variance)``.

    The result is a tuple of five: the normalised input, the mean and the variance that were used, and both again. With
    `is_training` they are computed from `input_x`, and the two Parameters `mean` and `variance` move towards them.

    Parameters
    ----------
    is_training : bool, default False
        As `training` of `batch_norm`.
    epsilon : float, default 1e-5
        Added to the variance.
    momentum : float, default 0.1
        How far the running statistics move.
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> mean, variance = dg.Parameter([0.0], name="mean"), dg.Parameter([1.0], name="variance")
    >>> norm = ops.BatchNorm(is_training=True, epsilon=0.0)
    >>> y, *used = norm(dg.Tensor([[1.0], [3.0]]), dg.Tensor([1.0]), dg.Tensor([0.0]), mean, variance)
    >>> print(y.T, *used, mean.asnumpy())
    [[-1.  1.]] [2.] [1.] [2.] [1.] [0.2]
    """

    __slots__ = ("data_format", "epsilon", "is_training", "momentum")

    def __init__(
        self, is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1, data_format: str = "NCHW"
    ) -> None:
        channels_first("BatchNorm", data_format)
        self.is_training = is_training
        self.epsilon = epsilon
        self.momentum = momentum
        self.data_format = data_format

    def __call__(self, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> tuple[Tensor, ...]:
        x = floating("BatchNorm", input_x)
        if self.is_training and x.ndim > 1:
            _, *used = _standardized(x, (0, *range(2, x.ndim)), self.epsilon)
            used = [to_shape(part, (part.size,)) for part in used]
        else:
            used = [+operand("BatchNorm", part) for part in (mean, variance)]
        y = batch_norm(x, mean, variance, scale, bias, self.is_training, self.momentum, self.epsilon)
        return y, *used, *used


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
        self.begin_norm_axis: int = integer("LayerNorm", "begin_norm_axis", begin_norm_axis)
        self.begin_params_axis: int = integer("LayerNorm", "begin_params_axis", begin_params_axis)
        self.epsilon: float = epsilon

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
