"""MindSpore's primitives that compute the gradient of another primitive, such as `SigmoidGrad`.

A row of `_ROWS` names a primitive of dualgrad and the operands of its gradient. The gradient is the pullback of the
primitive, so it can be differentiated again. Functions below the rows cover primitives that take the result in place of
the operand, or other operands or settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dualgrad import dtype, ops
from dualgrad.ops import Primitive
from dualgrad.ops.composed.fractional import average_between, averaged, largest_between
from dualgrad.ops.neural._sliding import numbers
from dualgrad.tensor import Tensor
from dualgrad.transforms.gradient import jvp, vjp

# Name, primitive, operands of the gradient in their order. `dy` is the gradient by the result; `_` is an operand
# without use, such as the result; a question mark marks an optional operand. Behind the arrow are the operands by which
# there are gradients; by default the first.
_ROWS = """
AbsGrad                             Abs                             x dy
ACosGrad                            ACos                            x dy
AsinGrad                            Asin                            x dy
AtanGrad                            Atan                            x dy
AvgPoolGrad                         AvgPool                         x _ dy
BinaryCrossEntropyGrad              BinaryCrossEntropy              x target dy weight?
CdistGrad                           Cdist                           dy x other _
FastGeLUGrad                        FastGeLU                        dy x
GeLUGrad                            GeLU                            dy x _
HShrinkGrad                         HShrink                         dy x
HSigmoidGrad                        HSigmoid                        dy x
HSwishGrad                          HSwish                          dy x
KLDivLossGrad                       KLDivLoss                       dy x target
L2NormalizeGrad                     L2Normalize                     x _ dy
LogitGrad                           Logit                           dy x
LRNGrad                             LRN                             dy x _
MaximumGrad                         Maximum                         x y dy -> x y
MaxPoolGrad                         MaxPool                         x _ dy
MinimumGrad                         Minimum                         x y dy -> x y
PReLUGrad                           PReLU                           dy x weight -> x weight
ReLU6Grad                           ReLU6                           dy x
ReluGrad                            ReLU                            dy x
SigmoidCrossEntropyWithLogitsGrad   SigmoidCrossEntropyWithLogits   x target dy
SiLUGrad                            SiLU                            dy x
SmoothL1LossGrad                    SmoothL1Loss                    x target dy
SoftMarginLossGrad                  SoftMarginLoss                  x target dy
SoftplusGrad                        Softplus                        dy x
SoftShrinkGrad                      SoftShrink                      dy x
"""


def _pulled(function: Callable[..., Any], dy: Tensor, *operands: Any) -> tuple[Tensor, ...]:
    """The gradients of a function by its operands, for a gradient by its result, which has as many elements."""
    out, pull = vjp(function, *operands)
    found = pull(dy.reshape(out.shape) if dy.size == out.size else dy)
    return found if isinstance(found, tuple) else (found,)


def _row(name: str, primitive: str, takes: str) -> Callable[..., Callable[..., Any]]:
    """Return a function that makes the gradient of a primitive, with the primitive's settings."""
    words, _, by = takes.partition(" -> ")
    names = words.replace("?", "").split()
    needed = len(names) - words.count("?")
    order = [each for each in names if each not in ("dy", "_")]
    chosen = by.split() or order[:1]

    def make(*settings: Any, **named: Any) -> Callable[..., Any]:
        forward = getattr(ops, primitive)(*settings, **named)

        def gradient(*operands: Any) -> Any:
            if not needed <= len(operands) <= len(names):
                raise TypeError(f"{name}: got {len(operands)} operands; expected {', '.join(words.split())}")
            given = {**dict.fromkeys(names), **dict(zip(names, operands, strict=False))}

            def of_chosen(*values: Any) -> Any:
                each = {**given, **dict(zip(chosen, values, strict=True))}
                return forward(*[each[name] for name in order])

            found = _pulled(of_chosen, given["dy"], *[given[name] for name in chosen])
            return found if len(chosen) > 1 else found[0]

        return gradient

    return make


# ------------------------------------------------------------------------------------ formulas in results of primitives


def _acosh(y: Tensor, dy: Tensor) -> Tensor:
    return dy / ops.sinh(y)


def _asinh(y: Tensor, dy: Tensor) -> Tensor:
    return dy / ops.cosh(y)


def _elu(dy: Tensor, y: Tensor) -> Tensor:
    return ops.where(y > 0, dy, dy * (y + 1))


def _reciprocal(y: Tensor, dy: Tensor) -> Tensor:
    return -dy * ops.square(y)


def _rsqrt(y: Tensor, dy: Tensor) -> Tensor:
    return -0.5 * dy * y * ops.square(y)


def _sigmoid(y: Tensor, dy: Tensor) -> Tensor:
    return dy * y * (1 - y)


def _sqrt(y: Tensor, dy: Tensor) -> Tensor:
    return 0.5 * dy / y


def _tanh(y: Tensor, dy: Tensor) -> Tensor:
    return dy * (1 - ops.square(y))


def _log_softmax(axis: int = -1) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda y, dy: dy - ops.exp(y) * dy.sum(axis, keepdims=True)


# ------------------------------------------------------------------------------------- other settings or other operands


def _bias_add(data_format: str = "NCHW") -> Callable[[Tensor], Tensor]:
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ValueError(f"BiasAddGrad: got data_format={data_format!r}; expected 'NCHW', 'NHWC' or 'NCDHW'")

    def gradient(dy: Tensor) -> Tensor:
        channel = dy.ndim - 1 if data_format == "NHWC" else 1
        return dy.sum(tuple(axis for axis in range(dy.ndim) if axis != channel))

    return gradient


def _dropout(keep_prob: float = 0.5) -> Callable[[Tensor, Tensor], Tensor]:
    if not 0 < keep_prob <= 1:
        raise ValueError(f"DropoutGrad: keep_prob must be in (0, 1], got {keep_prob}")
    return lambda dy, mask: dy * mask / keep_prob


def _linear(function: Callable[..., Any], dy: Tensor, shape: Any) -> Tensor:
    """The gradient of a function that is linear in an operand of the given shape: its values do not matter."""
    return _pulled(function, dy, ops.zeros(tuple(int(n) for n in shape), dy.dtype))[0]


def _convolution(
    out_channel: int,
    kernel_size: Any,
    pad_mode: str = "valid",
    pad: Any = 0,
    pad_list: Any = None,
    mode: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> Callable[[Tensor, Tensor], Tensor]:
    """The convolution for the settings of a gradient; the weight gives channels and kernel.

    `pad_list` follows from `pad`. Strides may have four entries.
    """

    def of_axes(lengths: Any) -> Any:
        return tuple(lengths)[-2:] if isinstance(lengths, tuple | list) else lengths

    settings = (mode, pad_mode, pad, of_axes(stride), of_axes(dilation), group, data_format)
    return lambda x, weight: ops.Conv2D(weight.shape[0], weight.shape[2:], *settings)(x, weight)


def _convolution_by_image(*settings: Any, **named: Any) -> Callable[..., Tensor]:
    forward = _convolution(*settings, **named)
    return lambda dy, weight, shape: _linear(lambda x: forward(x, weight), dy, shape)


def _convolution_by_weight(*settings: Any, **named: Any) -> Callable[..., Tensor]:
    forward = _convolution(*settings, **named)
    return lambda dy, x, shape: _linear(lambda weight: forward(x, weight), dy, shape)


def _layer_norm(begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> Callable[..., Any]:
    forward = ops.LayerNorm(begin_norm_axis, begin_params_axis, epsilon)

    def gradient(x: Tensor, dy: Tensor, variance: Any, mean: Any, gamma: Tensor) -> tuple[Tensor, ...]:
        return _pulled(lambda *operands: forward(*operands)[0], dy, x, gamma, ops.zeros_like(gamma))

    return gradient


def _padding(mode: str = "constant", paddings_contiguous: bool = True) -> Callable[..., Tensor]:
    forward = ops.PadV3(mode, paddings_contiguous)

    def gradient(dy: Tensor, paddings: Any) -> Tensor:
        given = [int(n) for n in paddings]
        ends = given[::2], given[1::2]
        if not paddings_contiguous:
            ends = given[: len(given) // 2], given[len(given) // 2 :]
        added = [low + high for low, high in zip(*ends, strict=True)]
        shape = [n - more for n, more in zip(dy.shape[::-1], added + [0] * (dy.ndim - len(added)), strict=True)][::-1]
        return _linear(lambda x: forward(x, tuple(given)), dy, shape)

    return gradient


def _pooled_regions(
    input_size: Any, spatial_scale: float, group_size: int, output_dim: int
) -> Callable[[Tensor, Tensor], Tensor]:
    forward = ops.PSROIPooling(spatial_scale, group_size, output_dim)
    size = numbers("PSROIPoolingGrad", "input_size", input_size, 2)

    def gradient(dy: Tensor, rois: Tensor) -> Tensor:
        return _linear(lambda x: forward(x, rois), dy, (rois.shape[0], output_dim * group_size**2, *size))

    return gradient


def _resize_bilinear(align_corners: bool = False, half_pixel_centers: bool = False) -> Callable[..., Tensor]:
    forward = ops.ResizeBilinearV2(align_corners, half_pixel_centers)
    return lambda dy, image: _linear(lambda x: forward(x, dy.shape[-2:]), dy, image.shape)


def _resize_nearest(align_corners: bool = False, half_pixel_centers: bool = False) -> Callable[..., Tensor]:
    def gradient(dy: Tensor, size: Any) -> Tensor:
        forward = ops.ResizeNearestNeighbor(dy.shape[-2:], align_corners, half_pixel_centers)
        return _linear(forward, dy, (*dy.shape[:2], *size))

    return gradient


def _slice() -> Callable[..., Tensor]:
    return lambda dy, x, begin, size: _linear(lambda t: ops.Slice()(t, begin, size), dy, x.shape)


def _strided_slice(*masks: int, **named: int) -> Callable[..., Tensor]:
    forward = ops.StridedSlice(*masks, **named)
    return lambda dy, shape, *bounds: _linear(lambda t: forward(t, *bounds), dy, shape)


def _pushed(pool: Callable[..., Any]) -> Callable[..., Callable[..., Tensor]]:
    """Return a function that makes the gradient of a pooling's gradient by `dy`: the pooling's tangent."""

    def make(*settings: Any, **named: Any) -> Callable[..., Tensor]:
        forward = pool(*settings, **named)
        return lambda x, y, direction: jvp(forward, x, direction)[1]

    return make


def _pool_of_volumes(
    kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", data_format: str = "NCDHW"
) -> Any:
    """A pooling whose lengths may be given for all five axes."""
    size, step = [n[-3:] if isinstance(n, tuple | list) else n for n in (kernel_size, strides)]
    return ops.MaxPool3D(size, step, pad_mode, data_format=data_format)


def _slots(what: str, x: Tensor, places: Any, axes: int) -> tuple[Tensor, Tensor]:
    """Flatten an image to rows of elements, with its last axes as one; and positions in these rows."""
    if len(places.shape) != len(x.shape) or places.shape[:-axes] != x.shape[:-axes]:
        raise ValueError(
            f"{what}: x has shape {x.shape} and argmax {places.shape}; expected equal axes before the last"
        )
    rows = math.prod(x.shape[:-axes])
    return x.reshape(rows, -1), ops.cast(places, dtype.int64).reshape(rows, -1)


def _back_to(name: str, axes: int) -> Callable[..., Callable[..., Tensor]]:
    """Return a function that makes the gradient of a pooling with positions: it adds gradients at the positions."""

    def make(*settings: Any, **named: Any) -> Callable[..., Tensor]:
        def gradient(x: Tensor, dy: Tensor, argmax: Tensor) -> Tensor:
            rows, at = _slots(name, x, argmax, axes)
            empty = ops.zeros(rows.shape, dy.dtype)
            return ops.tensor_scatter_elements(empty, at, dy.reshape(at.shape), 1, "add").reshape(x.shape)

        return gradient

    return make


def _read_at(name: str, axes: int) -> Callable[..., Callable[..., Tensor]]:
    """Return a function that makes the derivative of such a pooling: it reads a direction at the positions."""

    def make(*settings: Any, **named: Any) -> Callable[..., Tensor]:
        def derivative(x: Tensor, direction: Tensor, argmax: Tensor) -> Tensor:
            rows, at = _slots(name, direction, argmax, axes)
            return ops.gather_elements(rows, 1, at).reshape(argmax.shape)

        return derivative

    return make


def _deformed(*settings: Any, **named: Any) -> Callable[..., tuple[Tensor, ...]]:
    forward = ops.DeformableOffsets(*settings, **named)
    return lambda dy, x, offsets: _pulled(forward._read, dy, x, offsets)


def _between_bounds(
    average: bool,
) -> Callable[..., Callable[..., Tensor]]:
    """Return a function that makes the gradient of fractional pooling, for given bounds of windows."""

    def make(overlapping: bool = False) -> Callable[..., Tensor]:
        def of_averages(shape: Any, dy: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
            def slopes(dy: Tensor) -> Tensor:
                return _linear(
                    lambda x: average_between("FractionalAvgPoolGrad", x, (rows, columns), overlapping), dy, shape
                )

            return averaged(dy, slopes)

        def of_maxima(x: Tensor, y: Tensor, dy: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
            def largest(x: Tensor) -> Tensor:
                return largest_between("FractionalMaxPoolGrad", x, (rows, columns), overlapping)

            return averaged(dy, lambda dy: _pulled(largest, dy, ops.cast(x, dy.dtype))[0])

        return of_averages if average else of_maxima

    return make


_MADE: dict[str, Callable[..., Callable[..., Any]]] = {
    **{row[0]: _row(*row) for row in (line.split(None, 2) for line in _ROWS.strip().splitlines())},
    "AcoshGrad": lambda: _acosh,
    "AsinhGrad": lambda: _asinh,
    "BiasAddGrad": _bias_add,
    "Conv2DBackpropFilter": _convolution_by_weight,
    "Conv2DBackpropInput": _convolution_by_image,
    "DeformableOffsetsGrad": _deformed,
    "DropoutGrad": _dropout,
    "EluGrad": lambda: _elu,
    "FractionalAvgPoolGrad": _between_bounds(True),
    "FractionalMaxPool3DGradWithFixedKsize": _back_to("FractionalMaxPool3DGradWithFixedKsize", 3),
    "FractionalMaxPoolGrad": _between_bounds(False),
    "FractionalMaxPoolGradWithFixedKsize": _back_to("FractionalMaxPoolGradWithFixedKsize", 2),
    "InvGrad": lambda: _reciprocal,
    "LayerNormGrad": _layer_norm,
    "LogSoftmaxGrad": _log_softmax,
    "MaxPool3DGradGrad": _pushed(_pool_of_volumes),
    "MaxPool3DGradWithArgmax": _back_to("MaxPool3DGradWithArgmax", 3),
    "MaxPoolGradGrad": _pushed(ops.MaxPool),
    "MaxPoolGradGradWithArgmax": _read_at("MaxPoolGradGradWithArgmax", 3),
    "MaxPoolGradWithArgmax": _back_to("MaxPoolGradWithArgmax", 3),
    "MaxPoolGradWithArgmaxV2": _back_to("MaxPoolGradWithArgmaxV2", 2),
    "PSROIPoolingGrad": _pooled_regions,
    "PadV3Grad": _padding,
    "ReciprocalGrad": lambda: _reciprocal,
    "ResizeBilinearGrad": _resize_bilinear,
    "ResizeNearestNeighborGrad": _resize_nearest,
    "RsqrtGrad": lambda: _rsqrt,
    "SigmoidGrad": lambda: _sigmoid,
    "SliceGrad": _slice,
    "SqrtGrad": lambda: _sqrt,
    "StridedSliceGrad": _strided_slice,
    "TanhGrad": lambda: _tanh,
}

__all__ = sorted(_MADE)


class GradientPrimitive(Primitive):
    """The base of the primitive classes here: made with settings, called with the operands of a gradient."""

    __slots__ = ("_gradient",)
    _make: Callable[..., Callable[..., Any]]

    def __init__(self, *settings: Any, **named: Any) -> None:
        self._gradient = type(self)._make(*settings, **named)

    def __call__(self, *operands: Any) -> Any:
        return self._gradient(*operands)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _class_of(name: str) -> type[GradientPrimitive]:
    doc = f"The primitive `{name}` of MindSpore, from derivatives of dualgrad."
    space = {"__slots__": (), "__module__": __name__, "__doc__": doc, "_make": staticmethod(_MADE[name])}
    return type(name, (GradientPrimitive,), space)


globals().update({name: _class_of(name) for name in __all__})
