"""Clipping: scale gradients down together."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import real_number
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, floating, operand, operands, total
from ..math.elementwise import maximum

__all__ = ["clip_by_global_norm"]

_SQRT, _SQUARE = OP["sqrt"], OP["square"]


def clip_by_global_norm(x: Any, clip_norm: Any = 1.0, use_norm: Any = None) -> tuple[Tensor, ...]:
    """Scale tensors together so that their common 2-norm is at most a limit.

    Parameters
    ----------
    x : tuple or list of Tensor
        For example gradients; integers become float32.
    clip_norm : float or Tensor, default 1.0
        The limit, positive.
    use_norm : float or Tensor, optional
        The common norm, if it is known already.

    Returns
    -------
    tuple of Tensor
        Each times ``clip_norm / max(norm, clip_norm)``, in its own type.

    Raises
    ------
    TypeError
        If `x` is not a collection of tensors.
    ValueError
        If `clip_norm` is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> g = dg.Tensor([3.0]), dg.Tensor([0.0, 4.0])
    >>> print(*ops.clip_by_global_norm(g, 1.0))
    [0.6] [0.  0.8]
    """
    tensors = [floating("clip_by_global_norm", t) for t in operands("clip_by_global_norm", x)]
    if not real_number("clip_by_global_norm", "clip_norm", clip_norm) > 0:
        raise ValueError(f"clip_by_global_norm: clip_norm is {clip_norm}; expected a positive number")
    if not tensors:
        return ()
    if use_norm is None:
        squares = [total(_engine.unary(_SQUARE, t), ALL_AXES[t.ndim], False) for t in tensors]
        norm = _engine.unary(_SQRT, builtins.sum(squares[1:], start=squares[0]))
    else:
        norm = operand("clip_by_global_norm", use_norm)
    factor = clip_norm / maximum(norm, clip_norm)
    return tuple([t * _engine.convert(factor, t._typenum) for t in tensors])


METHODS: dict[str, Callable[..., Any]] = {}
