"""Activation functions.

`relu`, `sigmoid`, `tanh` and the class `Softplus` are rows of the table. What is here is composed, in forms
that neither overflow nor cancel: the normal distribution function by erfc, the tanh form of GELU by the
sigmoid it equals, softmax shifted by a maximum that counts as a constant (the result does not depend on the
shift, so neither do derivatives).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._engine import tensor as _engine
from ..tensor import Tensor
from ._arguments import OP, Primitive, floating, one_axis, operand, respell, type_or
from .choice import where
from .elementwise import relu, sigmoid, tanh

__all__ = [
    "Elu", "GeLU", "LogSoftmax", "SiLU", "Softmax", "Softsign", "elu", "gelu", "leaky_relu", "log_softmax",
    "logsigmoid", "relu", "sigmoid", "silu", "softmax", "softplus", "softsign", "tanh",
]  # fmt: skip

_ABS, _DIV, _ERFC, _EXP, _EXPM1, _GT = OP["abs"], OP["div"], OP["erfc"], OP["exp"], OP["expm1"], OP["gt"]
_LOG, _MAX, _SIGMOID, _SOFTPLUS, _SQUARE, _SUM = (
    OP["log"], OP["reduce_max"], OP["sigmoid"], OP["softplus"], OP["square"], OP["sum"]
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ elementwise


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, a smooth form of relu.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    beta : float, default 1
        Sharpness, not 0.
    threshold : float, default 20
        Accepted and ignored: no x is so large that the formula would have to be cut off.

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
    if type(beta) is int and beta == 1:
        return _engine.unary(_SOFTPLUS, operand("softplus", x))
    if beta == 0:
        raise ValueError("softplus: beta is 0; expected another number")
    return _engine.unary(_SOFTPLUS, floating("softplus", x) * beta) / beta


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
    if approximate in ("none", False):
        return x * 0.5 * _engine.unary(_ERFC, x * -math.sqrt(0.5))
    if approximate in ("tanh", True):
        c = math.sqrt(8 / math.pi)
        return x * _engine.unary(_SIGMOID, x * (_engine.unary(_SQUARE, x) * (0.044715 * c) + c))
    raise ValueError(f"gelu: approximate is {approximate!r}; expected 'none' or 'tanh'")


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit: x above 0, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    alpha : float, default 1.0
        The limit far below 0 is -alpha; the slope at 0 is alpha.

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
    low = _engine.unary(_EXPM1, x)
    return where(_engine.binary_op(_GT, x, 0), x, low if alpha == 1 else low * alpha)


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
    return where(_engine.binary_op(_GT, x, 0), x, x * alpha)


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
    x = operand("softsign", x)
    return _engine.binary_op(_DIV, x, _engine.unary(_ABS, x) + 1)


# ---------------------------------------------------------------------------------------------- along an axis


def _shifted(name: str, x: Any, axis: Any, dtype: Any) -> tuple[Tensor, int]:
    """Subtract from x its maximum along the axis, and count the axis from the front."""
    x = floating(name, x)
    if dtype is not None:
        x = _engine.convert(x, type_or(name, dtype, x.dtype).num)
    axis = one_axis(name, axis, x.shape) if x.ndim or axis not in (0, -1) else -1
    if axis < 0:  # a number is the only one of its axis
        return x - _engine.stop(x), axis
    return x - _engine.apply(_MAX, ((axis,), True), _engine.stop(x)), axis


def _total(x: Tensor, axis: int) -> Tensor:
    return x if axis < 0 else _engine.apply(_SUM, ((axis,), True), x)


def softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type before.

    Returns
    -------
    Tensor
        The shape of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis (an error that is both a ValueError and an IndexError).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softmax(dg.Tensor([[1.0, 1.0], [0.0, 1000.0]])))
    [[0.5 0.5]
     [0.  1. ]]
    """
    if other:
        axis = respell("softmax", other, axis=None if axis == -1 else axis)
    shifted, axis = _shifted("softmax", x, axis, dtype)
    raised = _engine.unary(_EXP, shifted)
    return _engine.binary_op(_DIV, raised, _total(raised, axis))


def log_softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """Logarithm of softmax along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the exponentials of the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type before.

    Returns
    -------
    Tensor
        The shape of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.log_softmax(dg.Tensor([0.0, 1000.0])))
    [-1000. 0.]
    """
    if other:
        axis = respell("log_softmax", other, axis=None if axis == -1 else axis)
    shifted, axis = _shifted("log_softmax", x, axis, dtype)
    return shifted - _engine.unary(_LOG, _total(_engine.unary(_EXP, shifted), axis))


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


class Elu(Primitive):
    """Primitive class of `elu`: ``ops.Elu(alpha=1.0)(x)``."""

    __slots__ = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def __call__(self, x: Any) -> Tensor:
        return elu(x, self.alpha)


class SiLU(Primitive):
    """Primitive class of `silu`: ``ops.SiLU()(x)``."""

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return silu(x)


class Softsign(Primitive):
    """Primitive class of `softsign`: ``ops.Softsign()(x)``."""

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return softsign(x)


class Softmax(Primitive):
    """Primitive class of `softmax`: ``ops.Softmax(axis=-1)(x)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Softmax(0)(dg.Tensor([[1.0, 2.0], [1.0, 2.0]])))
    [[0.5 0.5]
     [0.5 0.5]]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def __call__(self, x: Any) -> Tensor:
        return softmax(x, self.axis)


class LogSoftmax(Primitive):
    """Primitive class of `log_softmax`: ``ops.LogSoftmax(axis=-1)(x)``."""

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def __call__(self, x: Any) -> Tensor:
        return log_softmax(x, self.axis)


METHODS: dict[str, Callable[..., Any]] = {"softmax": softmax}
