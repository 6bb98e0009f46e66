"""Directions of vectors: functions that do not depend on the lengths of vectors, which may be anything.

Vectors with elements above 1 are first divided by their largest element. This number is a constant of the derivative:
the results do not depend on it, so neither do derivatives, and squares of large elements do not overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number
from ...tensor import Tensor
from .._arguments import OP, Primitive, dropped, expanded, floating, one_axis, operand, reduced_axes, to_shape, total
from ..index.choice import clamp, where
from ..math.elementwise import relu
from ._reduction import check_reduction, positive, reduce_loss, same_or_broadcast

__all__ = ["L2Normalize", "cosine_embedding_loss", "cosine_similarity"]

_ABS, _EQ, _MAX = OP["abs"], OP["eq"], OP["reduce_max"]
_RSQRT, _SQRT, _SQUARE = OP["rsqrt"], OP["sqrt"], OP["square"]


def _scaled(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Vectors along the axes with elements up to 1, and their divisors."""
    if not x.size:
        return x, _engine.convert(1, x._typenum)
    scale = clamp(_engine.apply(_MAX, (axes, True), _engine.unary(_ABS, _engine.stop(x))), min=1)
    return x / scale, scale


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors: ``sum(x1 * x2) / max(norm(x1) * norm(x2), eps)``.

    Parameters
    ----------
    x1, x2 : Tensor
        Shapes that broadcast; integers become float32.
    dim : int, default 1
        The axis along which the vectors lie, counted after broadcasting.
    eps : float, default 1e-8
        The least divisor, positive: next to a vector of zeros the cosine is 0.

    Returns
    -------
    Tensor
        The broadcast shape without the axis.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or `eps` is not positive.
    numpy.exceptions.AxisError
        If the axis does not exist.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, y = dg.Tensor([[3.0, 4.0], [0.0, 0.0]]), dg.Tensor([[4.0, 3.0], [0.0, 1.0]])
    >>> print(ops.cosine_similarity(x, y))
    [0.96 0.  ]
    """
    return _cosine("cosine_similarity", x1, x2, dim, eps)


def _cosine(name: str, first: Any, second: Any, dim: int, eps: float) -> Tensor:
    positive(name, "eps", eps)
    x, y = floating(name, first), floating(name, second)
    same_or_broadcast(name, "x1", x, "x2", y)
    shape = np.broadcast_shapes(x.shape, y.shape)
    axes = (one_axis(name, dim, shape),)
    (x, x_scale), (y, y_scale) = _scaled(expanded(x, shape), axes), _scaled(expanded(y, shape), axes)
    lengths = _length(x, axes) * _length(y, axes)
    least = clamp(eps / x_scale / y_scale, min=np.finfo(x.dtype.numpy).tiny)  # not 0, however long the other vector is
    return to_shape(total(x * y, axes, True) / clamp(lengths, min=least), dropped(shape, axes))


def _length(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return _engine.unary(_SQRT, total(_engine.unary(_SQUARE, x), axes, True))


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Loss that draws the directions of vectors together, or apart.

    ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Parameters
    ----------
    input1, input2 : Tensor
        Vectors of shape (N, D), or (D,).
    target : Tensor
        1 or -1 for each pair of vectors, shape (N,) or ().
    margin : float, default 0.0
        From -1 to 1: directions apart with a cosine below it cost nothing.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the losses of all pairs.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the shape of `target`.

    Raises
    ------
    ValueError
        For another reduction, shapes that do not fit, or a margin out of range.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, y = dg.Tensor([[3.0, 4.0], [1.0, 0.0]]), dg.Tensor([[4.0, 3.0], [4.0, 3.0]])
    >>> print(ops.cosine_embedding_loss(x, y, dg.Tensor([1, -1]), 0.5, "none"))
    [0.04 0.3 ]
    """
    name = "cosine_embedding_loss"
    check_reduction(name, reduction)
    real_number(name, "margin", margin)
    if not -1 <= margin <= 1:
        raise ValueError(f"{name}: margin is {margin}; expected a number from -1 to 1")
    x, y, t = floating(name, input1), floating(name, input2), operand(name, target)
    if not 1 <= x.ndim <= 2 or x.shape != y.shape or t.shape != x.shape[:-1]:
        raise ValueError(
            f"{name}: input1 has shape {x.shape}, input2 {y.shape} and the target {t.shape}; expected (N, D), (N, D) "
            f"and (N,)"
        )
    cosine = _cosine(name, x, y, -1, 1e-12)
    apart = where(_engine.binary_op(_EQ, t, -1), relu(cosine - margin), 0.0)
    return reduce_loss(where(_engine.binary_op(_EQ, t, 1), 1 - cosine, apart), reduction)


class L2Normalize(Primitive):
    """Vectors divided by their length: ``x / sqrt(max(sum(x**2), epsilon))``.

    Parameters
    ----------
    axis : int or tuple of int, default 0
        The axes along which the vectors lie.
    epsilon : float, default 1e-4
        The least squared length to divide by, positive.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, or an axis comes twice.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.L2Normalize(axis=1)(dg.Tensor([[3.0, 4.0], [0.0, 0.0]])))
    [[0.6 0.8]
     [0.  0. ]]
    """

    __slots__ = ("axis", "epsilon")

    def __init__(self, axis: Any = 0, epsilon: float = 1e-4) -> None:
        positive("L2Normalize", "epsilon", epsilon)
        self.axis: Any = axis
        self.epsilon: float = epsilon

    def __call__(self, x: Any) -> Tensor:
        x = floating("L2Normalize", x)
        axes = reduced_axes("L2Normalize", self.axis, x)
        x, scale = _scaled(x, axes)
        least = self.epsilon / scale / scale
        squares = total(_engine.unary(_SQUARE, x), axes, True)
        return x * _engine.unary(_RSQRT, clamp(squares, min=least))
