"""Layers with PyTorch's signatures.

Those without parameters are rows: the settings of a function of `functional`, whose inputs come when the layer is
called. Those with parameters are layers of `dualgrad.nn` with another constructor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dualgrad import nn
from dualgrad.common.initializer import Normal
from dualgrad.dtype import float32
from dualgrad.mint.nn import functional
from dualgrad.nn import Cell, Identity
from dualgrad.ops import conv1d, embedding, layer_norm
from dualgrad.parameter import Parameter
from dualgrad.tensor import initialized

# The class, how many inputs the function takes first, and the function.
_ROWS = """
    AdaptiveAvgPool1d 1 adaptive_avg_pool1d
    AdaptiveAvgPool2d 1 adaptive_avg_pool2d
    AdaptiveAvgPool3d 1 adaptive_avg_pool3d
    AdaptiveMaxPool1d 1 adaptive_max_pool1d
    AdaptiveMaxPool2d 1 adaptive_max_pool2d
    AvgPool1d 1 avg_pool1d
    AvgPool2d 1 avg_pool2d
    AvgPool3d 1 avg_pool3d
    BCELoss 2 binary_cross_entropy
    BCEWithLogitsLoss 2 binary_cross_entropy_with_logits
    CosineEmbeddingLoss 3 cosine_embedding_loss
    CrossEntropyLoss 2 cross_entropy
    ELU 1 elu
    Fold 1 fold
    GELU 1 gelu
    GLU 1 glu
    Hardshrink 1 hardshrink
    Hardsigmoid 1 hardsigmoid
    Hardswish 1 hardswish
    Hardtanh 1 hardtanh
    KLDivLoss 2 kl_div
    L1Loss 2 l1_loss
    LeakyReLU 1 leaky_relu
    LogSigmoid 1 logsigmoid
    LogSoftmax 1 log_softmax
    MSELoss 2 mse_loss
    MaxPool2d 1 max_pool2d
    Mish 1 mish
    NLLLoss 2 nll_loss
    PixelShuffle 1 pixel_shuffle
    ReLU 1 relu
    ReLU6 1 relu6
    SELU 1 selu
    SiLU 1 silu
    Sigmoid 1 sigmoid
    SmoothL1Loss 2 smooth_l1_loss
    SoftMarginLoss 2 soft_margin_loss
    Softmax 1 softmax
    Softplus 1 softplus
    Softshrink 1 softshrink
    Tanh 1 tanh
    Threshold 1 threshold
    Unfold 1 unfold
    Upsample 1 interpolate
"""

# Layers that have the same constructor in `dualgrad.nn`.
_SAME = """
    ConstantPad1d ConstantPad2d ConstantPad3d MaxUnpool2d ReflectionPad1d ReflectionPad2d ReflectionPad3d
    ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad2d
"""

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "PReLU",
    "SyncBatchNorm",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad3d",
]


def _layer(name: str, inputs: int, function: Callable[..., Any]) -> type[Cell]:
    """A Cell that calls a function with the settings of its constructor."""
    signature = inspect.signature(function)
    settings = signature.replace(
        parameters=[p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in list(signature.parameters.values())[inputs:]]
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Cell.__init__(self)
        bound = settings.bind(*args, **kwargs)
        self._settings = dict(bound.arguments)

    def construct(self: Any, *arguments: Any) -> Any:
        return function(*arguments, **self._settings)

    def extend_repr(self: Any) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self._settings.items())

    doc = f"The layer of `dualgrad.mint.nn.functional.{function.__name__}`: ``{name}{settings}``.\n"
    members = {"__init__": __init__, "construct": construct, "extend_repr": extend_repr}
    made = type(name, (Cell,), {**members, "__doc__": doc, "__module__": __name__, "__signature__": settings})
    return made


for _row in _ROWS.strip().splitlines():
    _name, _inputs, _function = _row.split()
    if hasattr(functional, _function):
        globals()[_name] = _layer(_name, int(_inputs), getattr(functional, _function))
        __all__ += [_name]

for _name in _SAME.split():
    globals()[_name] = getattr(nn, _name)
    __all__ += [_name]


class Flatten(Cell):
    """Flatten all axes but the first: ``Flatten(start_dim=1, end_dim=-1)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Flatten()(dg.ops.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, input: Any) -> Any:
        return functional.flatten(input, self.start_dim, self.end_dim)  # type: ignore[attr-defined]


class Dropout(Cell):
    """In training set elements to zero with probability `p`, and divide the others by 1 - p.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.Dropout(0.5)(dg.Tensor([1.0])))
    [1.]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if inplace:
            raise ValueError("mint.nn.Dropout: got inplace=True; tensors are not changed in place, leave it out")
        self.p = p

    def construct(self, input: Any) -> Any:
        return functional.dropout(input, self.p, self.training)  # type: ignore[attr-defined]


class Linear(nn.Dense):
    """``x Wᵀ + b``: `dualgrad.nn.Dense` as PyTorch calls it.

    Parameters
    ----------
    in_features, out_features : int
        The lengths of the last axis of input and output.
    bias : bool, default True
        Whether there is a b.
    weight_init, bias_init : optional
        Their first values, as `dualgrad.common.initializer.initializer` takes them.
    dtype : type, default float32
        Their type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> layer = dg.mint.nn.Linear(3, 2, bias=False)
    >>> layer(dg.ops.ones((5, 3))).shape, layer.weight.shape
    ((5, 2), (2, 3))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, weight_init, bias_init, bias, None, dtype or float32)
        self.in_features = in_features
        self.out_features = out_features


class Embedding(Cell):
    """Rows of a table, by their numbers.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The shape of the table.
    padding_idx : int, optional
        The number of a row that stays as it is; it starts with zeros.
    _weight : Tensor, optional
        The table; standard normal numbers by default.
    _freeze : bool, default False
        Whether the table is not trained.
    dtype : type, default float32
        The type of the table.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Embedding(10, 3)(dg.Tensor([1, 5])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (num_embeddings, embedding_dim)
        table = initialized(Normal(1.0), shape, dtype or float32) if _weight is None else _weight
        if tuple(table.shape) != shape:
            raise ValueError(f"mint.nn.Embedding: _weight has shape {tuple(table.shape)}; expected {shape}")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.weight: Parameter = Parameter(table, name="weight", requires_grad=not _freeze)
        if padding_idx is not None and _weight is None:
            values = table.asnumpy().copy()
            values[padding_idx] = 0.0
            self.weight.set_data(values)

    def construct(self, input: Any) -> Any:
        return embedding(input, self.weight, self.padding_idx)


class LayerNorm(Cell):
    """Normalise the last axes: `functional.layer_norm`, with a weight and a bias.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The shape of the last axes.
    eps : float, default 1e-5
        What is added to the variance.
    elementwise_affine, bias : bool, default True
        Whether there is a weight, and a bias.
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
        self.normalized_shape: tuple[int, ...] = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.weight: Parameter | None = None
        self.bias: Parameter | None = None
        if elementwise_affine:
            self.weight = Parameter(initialized("ones", self.normalized_shape, dtype or float32), name="weight")
            if bias:
                self.bias = Parameter(initialized("zeros", self.normalized_shape, dtype or float32), name="bias")

    def construct(self, input: Any) -> Any:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(nn.GroupNorm):
    """`dualgrad.nn.GroupNorm` as PyTorch calls it: ``GroupNorm(num_groups, num_channels, eps=1e-05, affine=True)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.GroupNorm(2, 4)(dg.ops.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine, dtype=dtype or float32)


class PReLU(nn.PReLU):
    """`dualgrad.nn.PReLU` as PyTorch calls it: ``PReLU(num_parameters=1, init=0.25)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.PReLU()(dg.Tensor([[-4.0, 1.0]])))
    [[-1.  1.]]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__(num_parameters, init)


def _convolution(padding: Any, padding_mode: str) -> dict[str, Any]:
    """Settings of a convolution in terms of `dualgrad.nn`."""
    if padding_mode != "zeros":
        raise ValueError(f"mint.nn: got padding_mode={padding_mode!r}; expected 'zeros', pad the input for others")
    return {"pad_mode": padding} if isinstance(padding, str) else {"pad_mode": "pad", "padding": padding}


def _on_both_sides(padding: Any, axes: int) -> Any:
    """Padding of each axis, for both of its sides."""
    if isinstance(padding, tuple | list) and len(padding) == axes:
        return tuple([p for p in padding for _ in range(2)])
    return padding


class Conv1d(Cell):
    """`dualgrad.nn.Conv1d` as PyTorch calls it; the weight has three axes, (out_channels, in_channels / groups, k).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int or str, default 0
        Zeros on both sides, or 'valid' or 'same'.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        Whether there is one.
    padding_mode : str, default 'zeros'
        Only this.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv1d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5))).shape
    (1, 3, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        first = nn.Conv1d(
            in_channels, out_channels, kernel_size, group=groups, has_bias=bias, dtype=dtype or float32
        )  # for its initial values, and its checks
        self.weight: Parameter = Parameter(first.weight[:, :, 0], name="weight")
        self.bias: Parameter | None = Parameter(first.bias, name="bias") if bias else None
        self._padding = _convolution(padding, padding_mode)
        self._steps = (stride, dilation, groups)

    def construct(self, input: Any) -> Any:
        stride, dilation, groups = self._steps
        return conv1d(input, self.weight, self.bias, stride, dilation=dilation, groups=groups, **self._padding)


class Conv2d(nn.Conv2d):
    """`dualgrad.nn.Conv2d` as PyTorch calls it.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int, two ints or str, default 0
        Zeros on both sides, for both axes or for each, or 'valid' or 'same'.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        Whether there is one.
    padding_mode : str, default 'zeros'
        Only this.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv2d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5, 5))).shape
    (1, 3, 5, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, dilation=dilation, group=groups, has_bias=bias,
            dtype=dtype or float32, **_convolution(_on_both_sides(padding, 2), padding_mode),
        )  # fmt: skip


class Conv3d(nn.Conv3d):
    """`dualgrad.nn.Conv3d` as PyTorch calls it; parameters as in `Conv2d`, for three axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Conv3d(2, 3, 3, padding=1)(dg.ops.ones((1, 2, 5, 5, 5))).shape
    (1, 3, 5, 5, 5)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, dilation=dilation, group=groups, has_bias=bias,
            dtype=dtype or float32, **_convolution(_on_both_sides(padding, 3), padding_mode),
        )  # fmt: skip


class ConvTranspose2d(nn.Conv2dTranspose):
    """`dualgrad.nn.Conv2dTranspose` as PyTorch calls it; the weight is (in_channels, out_channels / groups, k, k).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, dilation
        As there.
    padding : int or two ints, default 0
        What is cut off on both sides, of both axes or of each.
    output_padding : int or two ints, default 0
        What is added behind each axis.
    groups : int, default 1
        The groups of channels.
    bias : bool, default True
        Whether there is one.
    padding_mode : str, default 'zeros'
        Only this.
    dtype : type, default float32
        The type of the parameters.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.ConvTranspose2d(2, 3, 3, stride=2)(dg.ops.ones((1, 2, 5, 5))).shape
    (1, 3, 11, 11)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, output_padding=output_padding, dilation=dilation,
            group=groups, has_bias=bias, dtype=dtype or float32,
            **_convolution(_on_both_sides(padding, 2), padding_mode),
        )  # fmt: skip


class _BatchNorm(Cell):
    """Batch normalisation of inputs with a given number of axes."""

    axes: tuple[int, ...]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        dtype = dtype or float32
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self.weight = self.bias = self.running_mean = self.running_var = None
        if affine:
            self.weight = Parameter(initialized("ones", (num_features,), dtype), name="weight")
            self.bias = Parameter(initialized("zeros", (num_features,), dtype), name="bias")
        if track_running_stats:
            first = (("running_mean", "zeros"), ("running_var", "ones"))
            for name, value in first:
                kept = Parameter(initialized(value, (num_features,), dtype), name=name, requires_grad=False)
                setattr(self, name, kept)

    def construct(self, input: Any) -> Any:
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
        What is added to the variance.
    momentum : float, default 0.1
        How far the running statistics move in training.
    affine : bool, default True
        Whether there are weight and bias.
    track_running_stats : bool, default True
        Whether there are running statistics, which are used outside of training.
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
    """Normalise each channel of inputs with two axes or more, in a single process; parameters as in `BatchNorm1d`.

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


class _Upsampling(Cell):
    """Interpolation along the last two axes."""

    settings: dict[str, Any]

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor

    def construct(self, input: Any) -> Any:
        return functional.interpolate(input, self.size, self.scale_factor, **self.settings)  # type: ignore[attr-defined]


class UpsamplingNearest2d(_Upsampling):
    """Repeat the nearest element along the last two axes: ``UpsamplingNearest2d(size=None, scale_factor=None)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.UpsamplingNearest2d(scale_factor=2.0)(dg.ops.ones((1, 1, 2, 3))).shape
    (1, 1, 4, 6)
    """

    settings = {"mode": "nearest"}  # noqa: RUF012


class UpsamplingBilinear2d(_Upsampling):
    """Interpolate along the last two axes, from corner to corner; settings as in `UpsamplingNearest2d`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.UpsamplingBilinear2d(size=(3, 3))(dg.ops.ones((1, 1, 2, 2))).shape
    (1, 1, 3, 3)
    """

    settings = {"mode": "bilinear", "align_corners": True}  # noqa: RUF012


class ZeroPad1d(nn.ConstantPad1d):
    """Zeros at the ends of the last axis: ``ZeroPad1d(padding)``, with a number or two.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.ZeroPad1d((1, 2))(dg.Tensor([[[1.0]]])))
    [[[0. 1. 0. 0.]]]
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(nn.ConstantPad3d):
    """Zeros at the ends of the last three axes: ``ZeroPad3d(padding)``, with a number or six.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.ZeroPad3d(1)(dg.ops.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)
