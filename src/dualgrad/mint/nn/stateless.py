"""Layers without parameters: the settings of a function of `functional`, called with the inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dualgrad import nn
from dualgrad.mint.nn import functional
from dualgrad.nn import Cell, Identity

# The class, the number of inputs that the function takes first, and the function.
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

# Layers with the same constructor as in `dualgrad.nn`.
_SAME = """
    ConstantPad1d ConstantPad2d ConstantPad3d MaxUnpool2d ReflectionPad1d ReflectionPad2d ReflectionPad3d
    ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad2d
"""

__all__ = [
    "Flatten",
    "Identity",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad3d",
]


def _layer(name: str, inputs: int, function: Callable[..., Any]) -> type[Cell]:
    """Make a Cell that calls a function with the settings of its constructor."""
    signature = inspect.signature(function)
    settings = signature.replace(
        parameters=[p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in list(signature.parameters.values())[inputs:]]
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Cell.__init__(self)
        bound = settings.bind(*args, **kwargs)
        self._settings = dict(bound.arguments)

    def construct(self: Any, *arguments: Any) -> Any:
        if len(arguments) < inputs:
            raise TypeError(f"{name}: expected {inputs} inputs, got {len(arguments)}")
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
    """Put zeros at the ends of the last axis: ``ZeroPad1d(padding)``, with a number or two.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.ZeroPad1d((1, 2))(dg.Tensor([[[1.0]]])))
    [[[0. 1. 0. 0.]]]
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(nn.ConstantPad3d):
    """Put zeros at the ends of the last three axes: ``ZeroPad3d(padding)``, with a number or six.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.ZeroPad3d(1)(dg.ops.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)
