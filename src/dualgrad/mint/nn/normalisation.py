"""Normalisation with PyTorch's signatures."""

from __future__ import annotations

from typing import Any

from dualgrad import nn
from dualgrad._settings import truth_value
from dualgrad.dtype import float32
from dualgrad.mint.nn import functional
from dualgrad.nn import Cell
from dualgrad.ops import layer_norm
from dualgrad.ops._arguments import new_shape, operand
from dualgrad.parameter import Parameter
from dualgrad.tensor import initialized

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "LayerNorm",
    "SyncBatchNorm",
]


class LayerNorm(Cell):
    """Normalise the last axes: `functional.layer_norm`, with a weight and a bias.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The shape of the last axes.
    eps : float, default 1e-5
        Added to the variance.
    elementwise_affine, bias : bool, default True
        True to have a weight, and a bias.
    dtype : type, default float32
        Their type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.LayerNorm(2)(dg.Tensor([[1.0, 3.0]])))
    [[-0.999995  0.999995]]
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape: tuple[int, ...] = new_shape("mint.nn.LayerNorm", normalized_shape)
        self.eps = eps
        self.weight: Parameter | None = None
        self.bias: Parameter | None = None
        truth_value(type(self).__name__, "elementwise_affine", elementwise_affine)
        if elementwise_affine:
            self.weight = Parameter(
                initialized("ones", self.normalized_shape, float32 if dtype is None else dtype), name="weight"
            )
            truth_value(type(self).__name__, "bias", bias)
            if bias:
                self.bias = Parameter(
                    initialized("zeros", self.normalized_shape, float32 if dtype is None else dtype), name="bias"
                )

    def construct(self, input: Any) -> Any:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(nn.GroupNorm):
    """`dualgrad.nn.GroupNorm`, called as in PyTorch: ``GroupNorm(num_groups, num_channels, eps=1e-05, affine=True)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.GroupNorm(2, 4)(dg.ops.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine, dtype=float32 if dtype is None else dtype)


class _BatchNorm(Cell):
    """Batch normalisation of inputs with a given number of axes."""

    axes: tuple[int, ...]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        dtype = float32 if dtype is None else dtype
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self.weight = self.bias = self.running_mean = self.running_var = None
        truth_value(type(self).__name__, "affine", affine)
        if affine:
            self.weight = Parameter(initialized("ones", (num_features,), dtype), name="weight")
            self.bias = Parameter(initialized("zeros", (num_features,), dtype), name="bias")
        truth_value(type(self).__name__, "track_running_stats", track_running_stats)
        if track_running_stats:
            first = (("running_mean", "zeros"), ("running_var", "ones"))
            for name, value in first:
                kept = Parameter(initialized(value, (num_features,), dtype), name=name, requires_grad=False)
                setattr(self, name, kept)

    def construct(self, input: Any) -> Any:
        input = operand(f"mint.nn.{type(self).__name__}", input)
        if input.ndim not in self.axes:
            expected = " or ".join(map(str, self.axes))
            raise ValueError(
                f"mint.nn.{type(self).__name__}: the input has shape {input.shape}; expected {expected} axes"
            )
        training = self.training or not self.track_running_stats
        settings = self.weight, self.bias, training, self.momentum, self.eps
        return functional.batch_norm(input, self.running_mean, self.running_var, *settings)  # type: ignore[attr-defined]

    def extend_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of inputs (N, C) or (N, C, L): `functional.batch_norm`, with a weight and a bias.

    Parameters
    ----------
    num_features : int
        The number of channels.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float, default 0.1
        How far the running statistics move in training.
    affine : bool, default True
        True to have weight and bias.
    track_running_stats : bool, default True
        True to keep running statistics, which are used outside of training.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> layer = dg.mint.nn.BatchNorm1d(1, eps=0.0).set_train()
    >>> print(layer(dg.Tensor([[1.0], [3.0]])).T, layer.running_mean.asnumpy())
    [[-1.  1.]] [0.2]
    """

    axes = 2, 3


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of inputs (N, C, H, W); parameters as in `BatchNorm1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.BatchNorm2d(3)(dg.ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of inputs (N, C, D, H, W); parameters as in `BatchNorm1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.BatchNorm3d(3)(dg.ops.ones((2, 3, 1, 4, 4))).shape
    (2, 3, 1, 4, 4)
    """

    axes = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalise each channel of inputs with at least two axes, in a single process; parameters as in `BatchNorm1d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.SyncBatchNorm(3)(dg.ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = 2, 3, 4, 5

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if process_group is not None:
            raise ValueError("mint.nn.SyncBatchNorm: got a process_group; expected None, there is a single process")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
