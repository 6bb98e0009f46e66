"""Activation functions: smooth ones here, piecewise ones in `_rectifiers.py`, softmax in `_softmax.py`.

`relu`, `sigmoid`, `tanh` and the class `Softplus` are rows of the table. The functions here are composed, in forms that
neither overflow nor cancel: the normal distribution function by erfc, the tanh form of GELU by an equal sigmoid, and
functions that are small for small x by formulas whose factors are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, real_number
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, operand
from ..index.choice import where
from ..math.elementwise import relu, sigmoid, tanh
from . import _rectifiers, _softmax, _thresholds
from ._rectifiers import *  # noqa: F403
from ._softmax import *  # noqa: F403
from ._softmax import softmax
from ._thresholds import *  # noqa: F403

__all__ = [
    "GeLU", "Mish", "SiLU", "Softsign", "gelu", "logsigmoid", "mish", "relu", "sigmoid", "silu", "softplus",
    "softsign", "tanh", "tanhshrink",
]  # fmt: skip
__all__ += _rectifiers.__all__
__all__ += _softmax.__all__
__all__ += _thresholds.__all__

_ABS, _ERFC, _LT, _RECIPROCAL, _SIGN = OP["abs"], OP["erfc"], OP["lt"], OP["reciprocal"], OP["sign"]
_SIGMOID, _SOFTPLUS, _SQUARE, _TANH = OP["sigmoid"], OP["softplus"], OP["square"], OP["tanh"]


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, a smooth form of relu.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    beta : float, default 1
        Sharpness, not 0.
    threshold : float, default 20
        Where ``beta * x`` is larger, the result is x. Thresholds of 20 and more have no effect: the formula does not
        overflow, and differs from x by less than 1e-8 there.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `beta` is 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softplus(dg.Tensor([0.0, 1.0])), ops.softplus(dg.Tensor([500.0]), beta=2))
    [0.693147 1.31326] [500.]
    """
    if type(beta) is int and beta == 1 and real_number("softplus", "threshold", threshold) >= 20:
        return _engine.unary(_SOFTPLUS, operand("softplus", x))
    if real_number("softplus", "beta", beta) == 0:
        raise ValueError("softplus: beta is 0; expected another number")
    x = floating("softplus", x)
    scaled = x * beta
    smooth = _engine.unary(_SOFTPLUS, scaled) / beta
    return smooth if threshold >= 20 else where(scaled > threshold, x, smooth)


def logsigmoid(x: Any) -> Tensor:
    """Logarithm of the sigmoid, ``-log(1 + exp(-x))``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logsigmoid(dg.Tensor([0.0, -500.0])))
    [  -0.693147 -500.       ]
    """
    return -_engine.unary(_SOFTPLUS, -floating("logsigmoid", x))


def silu(x: Any) -> Tensor:
    """``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.silu(dg.Tensor([0.0, 1.0])))
    [0. 0.731059]
    """
    x = operand("silu", x)
    return x * _engine.unary(_SIGMOID, x)


def mish(x: Any) -> Tensor:
    """``x * tanh(softplus(x))``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.mish(dg.Tensor([-1.0, 0.0, 5.0])))
    [-0.303401  0.          4.999552 ]
    """
    x = floating("mish", x)
    return x * _engine.unary(_TANH, _engine.unary(_SOFTPLUS, x))


def gelu(x: Any, approximate: str | bool = "none") -> Tensor:
    """Gaussian error linear unit: x times the normal distribution function.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    approximate : {'none', 'tanh'}, default 'none'
        The exact form with erf, or ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``. False and
        True stand for them.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        For another form.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.gelu(dg.Tensor([1.0])), ops.gelu(dg.Tensor([1.0]), "tanh"))
    [0.841345] [0.841192]
    """
    x = floating("gelu", x)
    if one_of(approximate, ("none", False)):
        return x * 0.5 * _engine.unary(_ERFC, x * -math.sqrt(0.5))
    if one_of(approximate, ("tanh", True)):
        c = math.sqrt(8 / math.pi)
        return x * _engine.unary(_SIGMOID, x * (_engine.unary(_SQUARE, x) * (0.044715 * c) + c))
    raise ValueError(f"gelu: approximate is {approximate!r}; expected 'none' or 'tanh'")


def softsign(x: Any) -> Tensor:
    """``x / (1 + abs(x))``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softsign(dg.Tensor([-1.0, 3.0])))
    [-0.5   0.75]
    """
    x = floating("softsign", x)
    size = _engine.unary(_ABS, x)
    rest = _engine.unary(_RECIPROCAL, size + 1)  # 1 - result: its derivative is exact however large x is
    return where(_engine.binary_op(_LT, size, 1), x * rest, _engine.unary(_SIGN, x) * (1 - rest))


def tanhshrink(input: Any) -> Tensor:
    """``x - tanh(x)``, exact near 0, where it is x**3 / 3.

    Parameters
    ----------
    input : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    Tensor

    Notes
    -----
    Near 0 it is computed from the continued fraction ``tanh(x) = x / (1 + z / (3 + z / (5 + ...)))`` with
    ``z = x * x``: with D for ``3 + z / (5 + ...)`` the difference is ``x * z / (D + z)``, where nothing cancels.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.tanhshrink(dg.Tensor([0.003])), ops.tanhshrink(dg.Tensor([0.5, 100.0])))
    [8.999968e-09] [3.788284e-02 9.900000e+01]
    """
    x = floating("tanhshrink", input)
    z = _engine.unary(_SQUARE, x)
    d: Any = 21.0
    for odd in range(19, 1, -2):
        d = z / d + float(odd)
    near = x * (z / (d + z))
    return where(_engine.binary_op(_LT, z, 0.75), near, x - _engine.unary(_TANH, x))


# ------------------------------------------------------------------------------------------ primitive classes


class GeLU(Primitive):
    """Primitive class of `gelu` in the form with tanh.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.GeLU()(dg.Tensor([1.0])))
    [0.841192]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return gelu(x, "tanh")


class SiLU(Primitive):
    """Primitive class of `silu`: ``ops.SiLU()(x)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.SiLU()(dg.Tensor([-1.0, 0.0, 1.0])))
    [-0.26894143  0.          0.7310586 ]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return silu(x)


class Mish(Primitive):
    """Primitive class of `mish`: ``ops.Mish()(x)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Mish()(dg.Tensor([-1.0, 0.0, 1.0])))
    [-0.30340147  0.          0.8650984 ]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return mish(x)


class Softsign(Primitive, of=softsign):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return softsign(x)


METHODS: dict[str, Callable[..., Any]] = {"softmax": softmax}
