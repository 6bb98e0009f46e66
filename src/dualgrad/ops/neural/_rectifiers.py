"""Activation functions made of pieces: rectifiers; `_thresholds.py` has limits and thresholds.

Each chooses between formulas by `where`, so the piece that is not taken adds exactly nothing, even if it would
overflow. At a joint with a kink the derivative is taken from the piece at the lower end, as for `relu`; limits of an
interval count as inside, as for `clamp`.
"""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor, real_number
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, operand, to_shape
from ..index.choice import clamp, where
from ..math.elementwise import relu

__all__ = [
    "Elu", "PReLU", "ReLU6", "SeLU", "celu", "elu", "leaky_relu", "prelu", "relu6", "selu",
]  # fmt: skip

_EXPM1, _GT = OP["expm1"], OP["gt"]
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def elu(x: Any, alpha: float | Tensor = 1.0) -> Tensor:
    """Exponential linear unit: x above 0, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    alpha : float or Tensor, default 1.0
        The limit far below 0 is -alpha; the derivative at 0 is alpha.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.elu(dg.Tensor([-1.0, 2.0])))
    [-0.632121 2.        ]
    """
    x = floating("elu", x)
    low, alpha = _engine.unary(_EXPM1, x), number_or_tensor("elu", "alpha", alpha)
    return where(_engine.binary_op(_GT, x, 0), x, low if isinstance(alpha, int | float) and alpha == 1 else low * alpha)


def selu(x: Any) -> Tensor:
    """Scaled exponential linear unit: ``1.0507 * elu(x, 1.6733)``, which keeps mean 0 and variance 1.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor
        The derivative at 0 is taken from the left piece, 1.7581.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.selu(dg.Tensor([-1.0, 2.0])))
    [-1.1113307  2.101402 ]
    """
    return elu(floating("selu", x), _SELU_ALPHA) * _SELU_SCALE


def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """Continuously differentiable exponential linear unit: x above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    alpha : float, default 1.0
        The limit far below 0 is -alpha. Not 0.

    Returns
    -------
    Tensor
        The derivative at 0 is 1 from both sides.

    Raises
    ------
    ValueError
        If `alpha` is 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.celu(dg.Tensor([-1.0, 2.0]), 0.5))
    [-0.432332  2.      ]
    """
    if real_number("celu", "alpha", alpha) == 0:
        raise ValueError("celu: alpha is 0; expected another number")
    x = floating("celu", x)
    return where(_engine.binary_op(_GT, x, 0), x, _engine.unary(_EXPM1, x / alpha) * alpha)


def leaky_relu(x: Any, alpha: float = 0.2) -> Tensor:
    """Leaky rectifier: x above 0, ``alpha * x`` below.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    alpha : float, default 0.2
        The slope below 0, and at 0.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.leaky_relu(dg.Tensor([-1.0, 2.0])))
    [-0.2  2. ]
    """
    x = floating("leaky_relu", x)
    return where(_engine.binary_op(_GT, x, 0), x, x * number_or_tensor("leaky_relu", "alpha", alpha))


def prelu(input: Any, weight: Any) -> Tensor:
    """Leaky rectifier with trained slopes: x above 0, ``weight * x`` below.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Shape (N, C, ...), or with fewer axes for a single channel; integers become float32.
    weight : Tensor
        The slope below 0, and at 0: one number (shape () or (1,)), or one for each channel, shape (C,).

    Returns
    -------
    Tensor
        The shape of `input`.

    Raises
    ------
    ValueError
        If there is neither one slope nor one slope for each channel.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.prelu(dg.Tensor([[-1.0, -1.0], [2.0, 2.0]]), dg.Tensor([0.25, 0.5])))
    [[-0.25 -0.5 ]
     [ 2.    2.  ]]
    """
    x, w = floating("prelu", input), operand("prelu", weight)
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.ndim > 1 or w.size not in (1, channels):
        raise ValueError(
            f"prelu: the weight has shape {w.shape} for an input of shape {x.shape}; expected one slope, or {channels} "
            f"of them, one for each channel"
        )
    w = to_shape(w, (w.size,) + (1,) * (x.ndim - 2) if x.ndim > 1 else (1,) * x.ndim)
    return where(_engine.binary_op(_GT, x, 0), x, x * w)


def relu6(x: Any) -> Tensor:
    """``min(relu(x), 6)``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor
        The derivative is 0 at 0, as for `relu`, and 1 at 6, which counts as inside.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.relu6(dg.Tensor([-1.0, 2.0, 8.0])))
    [0. 2. 6.]
    """
    return clamp(relu(floating("relu6", x)), max=6)


class Elu(Primitive):
    """Primitive class of `elu`: ``ops.Elu(alpha=1.0)(x)``.

    Parameters
    ----------
    alpha : float, default 1.0
        Minus the limit far below 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Elu()(dg.Tensor([-1.0, 2.0])))
    [-0.63212055  2.        ]
    """

    __slots__ = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha: float = alpha

    def __call__(self, x: Any) -> Tensor:
        return elu(x, self.alpha)


class SeLU(Primitive, of=selu):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return selu(x)


class ReLU6(Primitive, of=relu6):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return relu6(x)


class PReLU(Primitive, of=prelu):
    __slots__ = ()

    def __call__(self, x: Any, weight: Any) -> Tensor:
        return prelu(x, weight)
