"""Normalisation as Cells with trained scale and shift and, for batches, running statistics."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.common.initializer import initializer
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import operand
from dualgrad.ops.neural._sliding import channels_first, numbers, one_number
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

from .._settings import real_number

__all__ = [
    "LRN", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "SyncBatchNorm",
]  # fmt: skip


class _BatchNorm(Cell):
    """Batch normalisation of inputs with a given number of axes."""

    axes: tuple[int, ...]
    _computes_as_stored = True
    _former_names = MappingProxyType({"moving_mean": "mean", "moving_variance": "variance"})

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_features: int = one_number(name, "num_features", num_features)
        if not 0 <= real_number(name, "momentum", momentum) <= 1:
            raise ValueError(f"{name}: momentum is {momentum}; expected a number from 0 to 1")
        real_number(name, "eps", eps)
        if not isinstance(use_batch_statistics, bool | None):
            raise TypeError(f"{name}: use_batch_statistics must be a bool or None")
        channels_first(name, data_format)
        self.eps = eps
        self.momentum = momentum
        self.use_batch_statistics = use_batch_statistics
        shape = (self.num_features,)
        self.moving_mean: Parameter = Parameter(
            initializer(moving_mean_init, shape, dtype), name="moving_mean", requires_grad=False
        )
        self.moving_variance: Parameter = Parameter(
            initializer(moving_var_init, shape, dtype), name="moving_variance", requires_grad=False
        )
        self.gamma: Parameter = Parameter(initializer(gamma_init, shape, dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        x = operand(type(self).__name__, x)
        if x.ndim not in self.axes:
            expected = " or ".join(map(str, self.axes))
            raise ValueError(f"{type(self).__name__}: the input has shape {x.shape}; expected {expected} axes")
        training = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        statistics = self.moving_mean, self.moving_variance
        return ops.batch_norm(x, *statistics, self.gamma, self.beta, training, 1.0 - self.momentum, self.eps)

    def extend_repr(self) -> str:
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        self.__dict__.update(attributes or {})
        for name, value in (slots or {}).items():
            object.__setattr__(self, name, value)
        # Pickles of earlier versions have the former names.
        for attribute, former in self._former_names.items():
            parameter = self._params.get(attribute)
            if parameter is not None and parameter.__dict__.get("_own_name") == former:
                path = parameter.name.removesuffix(former)
                parameter.name = attribute
                parameter._place(path, attribute)


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of inputs (N, C) or (N, C, L), then scale and shift it; see `ops.batch_norm`.

    Parameters
    ----------
    num_features : int
        The number of channels.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float, default 0.9
        The share of the running statistics that stays at each call in training; `ops.batch_norm` takes one minus this
        share.
    affine : bool, default True
        True to train scale and shift.
    gamma_init, beta_init, moving_mean_init, moving_var_init : str, number, Tensor or Initializer
        Initial values: 'ones', 'zeros', 'zeros' and 'ones'.
    use_batch_statistics : bool, optional
        True to use mean and variance of the input; by default only in training (see `set_train`).
    data_format : {'NCHW'}, default 'NCHW'
        The order of the axes.
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    gamma, beta : Parameter
        Scale and shift, shape (num_features,).
    moving_mean, moving_variance : Parameter
        The running statistics, which are not trained.

    Raises
    ------
    ValueError
        If settings are out of range, or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> layer = nn.BatchNorm1d(1, eps=0.0).set_train()
    >>> print(layer(Tensor([[1.0], [3.0]])).T, layer.moving_mean.asnumpy())
    [[-1.  1.]] [0.2]
    """

    axes: tuple[int, ...] = 2, 3


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of inputs (N, C, H, W), then scale and shift it.

    Parameters, attributes and errors are as in `BatchNorm1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.BatchNorm2d(3)(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes: tuple[int, ...] = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of inputs (N, C, D, H, W), then scale and shift it.

    Parameters, attributes and errors are as in `BatchNorm1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.BatchNorm3d(3)(ops.ones((2, 3, 1, 4, 4))).shape
    (2, 3, 1, 4, 4)
    """

    axes: tuple[int, ...] = (5,)


class LayerNorm(Cell):
    """Normalise over the last axes, then scale and shift; see `ops.LayerNorm`.

    Parameters
    ----------
    normalized_shape : tuple or list of int
        The shape of scale and shift.
    begin_norm_axis : int, default -1
        Mean and variance are taken over the axes from this one; note the default.
    begin_params_axis : int, default -1
        Scale and shift have the shape of the input from this axis.
    gamma_init, beta_init : str, number, Tensor or Initializer
        Initial values: 'ones' and 'zeros'.
    epsilon : float, default 1e-7
        Added to the variance.
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    gamma, beta : Parameter
        Scale and shift, of shape `normalized_shape`.

    Raises
    ------
    TypeError
        If `normalized_shape` is not a tuple or list.
    ValueError
        If it is empty, or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.LayerNorm((2,))(Tensor([[1.0, 3.0], [-4.0, 4.0]])))
    [[-1.  1.]
     [-1.  1.]]
    """

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, tuple | list):
            raise TypeError(
                f"LayerNorm: normalized_shape must be a tuple or list of ints, got {type(normalized_shape).__name__}"
            )
        if not normalized_shape:
            raise ValueError("LayerNorm: normalized_shape is empty; expected one length or more")
        self.normalized_shape: tuple[int, ...] = tuple(normalized_shape)
        self.begin_norm_axis = begin_norm_axis
        self.begin_params_axis = begin_params_axis
        self.epsilon = epsilon
        self.gamma: Parameter = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta: Parameter = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")
        self._normalise = ops.LayerNorm(begin_norm_axis, begin_params_axis, epsilon)

    def construct(self, x: Tensor) -> Tensor:
        return self._normalise(x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}"
        )


class GroupNorm(Cell):
    """Normalise groups of channels of each sample, then scale and shift each channel; see `ops.group_norm`.

    Parameters
    ----------
    num_groups, num_channels : int
        The number of groups, and the number of channels, which it divides.
    eps : float, default 1e-5
        Added to the variance.
    affine : bool, default True
        True to train scale and shift.
    gamma_init, beta_init : str, number, Tensor or Initializer
        Initial values: 'ones' and 'zeros'.
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    gamma, beta : Parameter
        Scale and shift, shape (num_channels,).

    Raises
    ------
    ValueError
        If the groups do not divide the channels, or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.GroupNorm(2, 4, eps=0.0)(Tensor([[1.0, 3.0, -4.0, 4.0]])))
    [[-1.  1. -1.  1.]]
    """

    num_groups: int
    num_channels: int

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        self.num_groups, self.num_channels = numbers(
            "GroupNorm", "num_groups, num_channels", (num_groups, num_channels), 2
        )
        if self.num_channels % self.num_groups:
            raise ValueError(f"GroupNorm: {num_groups} groups do not divide {num_channels} channels")
        self.eps = eps
        shape = (self.num_channels,)
        self.gamma: Parameter = Parameter(initializer(gamma_init, shape, dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of inputs with any number of axes; statistics are taken in this process only.

    Parameters
    ----------
    num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init, use_batch_statistics
        As in `BatchNorm1d`.
    process_groups : None
        Only None is supported: statistics are not shared between processes.
    dtype : type, default float32
        Type of the parameters.

    Raises
    ------
    NotImplementedError
        If groups of processes are given.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.SyncBatchNorm(3)(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes: tuple[int, ...] = 2, 3, 4, 5

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        process_groups: Any = None,
        dtype: Any = mstype.float32,
    ) -> None:
        if process_groups is not None:
            raise NotImplementedError(
                "SyncBatchNorm: process_groups is given; statistics are those of one process here"
            )
        initial = gamma_init, beta_init, moving_mean_init, moving_var_init
        super().__init__(num_features, eps, momentum, affine, *initial, use_batch_statistics, dtype=dtype)


class _InstanceNorm(Cell):
    """Normalisation of each channel of each sample."""

    n = 1
    _computes_as_stored = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_features: int = one_number(name, "num_features", num_features)
        real_number(name, "momentum", momentum)
        if not 0 <= momentum <= 1:
            raise ValueError(f"{name}: momentum is {momentum}; expected a number from 0 to 1")
        self.eps = eps
        self.momentum = momentum
        shape = (self.num_features,)
        self.gamma: Parameter = Parameter(initializer(gamma_init, shape, dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        x = operand(type(self).__name__, x)
        if x.ndim != self.n + 2 or x.shape[1] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: the input has shape {x.shape}; expected (N, {self.num_features}) and {self.n} "
                "further axes"
            )
        return ops.group_norm(x, self.num_features, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sample of an input (N, C, L), then scale and shift it.

    Parameters
    ----------
    num_features : int
        The number of channels.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float, default 0.1
        Accepted so that ported code runs: statistics are taken from the sample.
    affine : bool, default True
        True to train scale and shift.
    gamma_init, beta_init : str, number, Tensor or Initializer
        Initial values: 'ones' and 'zeros'.
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    gamma, beta : Parameter
        Scale and shift, shape (num_features,).

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.InstanceNorm1d(1, eps=0.0)(Tensor([[[1.0, 3.0]]])))
    [[[-1.  1.]]]
    """


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each sample of an input (N, C, H, W), then scale and shift it.

    Parameters, attributes and errors are as in `InstanceNorm1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.InstanceNorm2d(3)(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    n = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each sample of an input (N, C, D, H, W), then scale and shift it.

    Parameters, attributes and errors are as in `InstanceNorm1d`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.InstanceNorm3d(3)(ops.ones((2, 3, 2, 4, 4))).shape
    (2, 3, 2, 4, 4)
    """

    n = 3


class LRN(Cell):
    """Local response normalisation; see `ops.lrn`.

    Parameters
    ----------
    depth_radius, bias, alpha, beta, norm_region
        As in `ops.lrn`.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.LRN()(ops.ones((1, 3, 2, 2))).shape
    (1, 3, 2, 2)
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        self._settings = depth_radius, bias, alpha, beta, norm_region

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.lrn(input_x, *self._settings)
