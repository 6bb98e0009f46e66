"""Losses as functions: distances here; directions, divergences and cross entropies in files of their own.

`reduction` is 'mean', 'sum' or 'none' throughout. At the joints of the piecewise losses both pieces and their
derivatives agree.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, floating, together
from ..index.choice import where
from . import _classification, _directions, _divergences
from ._classification import *  # noqa: F403
from ._directions import *  # noqa: F403
from ._divergences import *  # noqa: F403
from ._reduction import check_reduction, positive, reduce_loss, same_or_broadcast

__all__ = ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"]
__all__ += _classification.__all__
__all__ += _directions.__all__
__all__ += _divergences.__all__

_ABS, _LE, _LT, _SQUARE = OP["abs"], OP["le"], OP["lt"], OP["square"]


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Squared distance ``(input - target)**2``.

    Parameters
    ----------
    input, target : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        The reduction of the elementwise loss.

    Returns
    -------
    Tensor
        Without axes; for 'none' of the broadcast shape.

    Raises
    ------
    ValueError
        For another reduction, or shapes that do not broadcast.

    Warns
    -----
    UserWarning
        If both shapes hold as many numbers but broadcast to more, such as a column and a row.

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
    """Distance ``|input - target|``, with derivative 0 where it is 0.

    Parameters, result and errors are as in `mse_loss`.

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
        The distance at which the parabola meets the straight line.
    reduction : {'none', 'mean', 'sum'}, default 'none'
        The reduction of the elementwise loss; note the default.

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
        The reduction of the elementwise loss.
    delta : float, default 1.0
        The distance at which the parabola meets the straight line.

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
    x, y = together(name, input, target)
    x = floating(name, x)
    shape = same_or_broadcast(name, "input", x, "target", y)
    if shape is not None and x.size == y.size != math.prod(shape):
        warnings.warn(
            f"{name}: the input has shape {x.shape} and the target {y.shape}, which broadcast to {shape}: each number "
            "is compared with all of the other; to compare one with one, reshape the target to the shape of the input",
            UserWarning,
            stacklevel=3,
        )
    return x - y


METHODS: dict[str, Callable[..., Any]] = {}
