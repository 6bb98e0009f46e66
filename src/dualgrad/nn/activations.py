"""Smooth activations as Cells, and the names of all; piecewise activations are in `rectifiers.py`.

Each is one elementwise function of `dualgrad.ops` (softmax works along an axis). Cells can be members of a
`SequentialCell` and keep their settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.nn.rectifiers import (
    CELU,
    ELU,
    Hardtanh,
    HShrink,
    HSigmoid,
    HSwish,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    SeLU,
    SoftShrink,
)
from dualgrad.ops._arguments import operand
from dualgrad.tensor import Tensor

__all__ = [
    "GELU",
    "GLU",
    "FastGelu",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "get_activation",
]


class Sigmoid(Cell):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Sigmoid()(Tensor([0.0])))
    [0.5]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """``log(1 / (1 + exp(-x)))``, computed without overflow.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.LogSigmoid()(Tensor([-1000.0, 0.0])))
    [-1.000000e+03 -6.931472e-01]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.logsigmoid(x)


class Tanh(Cell):
    """Hyperbolic tangent.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Tanh()(Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(x)


class _AlongAxis(Cell):
    """An activation that works along one axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class Softmax(_AlongAxis):
    """``exp(x) / sum(exp(x))`` along `axis`.

    Parameters
    ----------
    axis : int, default -1
        The axis along which the results add up to 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Softmax()(Tensor([[0.0, 0.0]])))
    [[0.5 0.5]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmax(x, self.axis)


class LogSoftmax(_AlongAxis):
    """Logarithm of softmax along `axis`, computed without overflow.

    Parameters
    ----------
    axis : int, default -1
        The axis along which the exponentials of the results add up to 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.LogSoftmax()(Tensor([1.0, 1.0])))
    [-0.6931472 -0.6931472]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.log_softmax(x, self.axis)


class Softmin(_AlongAxis):
    """``softmax(-x)`` along `axis`.

    Parameters
    ----------
    axis : int, default -1
        The axis along which the results add up to 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Softmin()(Tensor([[0.0, 1000.0]])))
    [[1. 0.]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmin(x, self.axis)


class GLU(_AlongAxis):
    """The first half along `axis`, times the sigmoid of the second half.

    Parameters
    ----------
    axis : int, default -1
        The axis, of even length.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.GLU()(Tensor([[2.0, 4.0, 0.0, 800.0]])))
    [[1. 4.]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.glu(x, self.axis)


class GELU(Cell):
    """Gaussian error linear unit, x times the normal distribution function.

    Parameters
    ----------
    approximate : bool, default True
        True for the usual form with tanh, False for the exact form with erf.

    Raises
    ------
    TypeError
        If `approximate` is not a bool.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.GELU(approximate=False)(Tensor([0.0])))
    [0.]
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        if not isinstance(approximate, bool):
            raise TypeError(f"GELU: approximate must be a bool, got {type(approximate).__name__}")
        self.approximate = approximate
        self._form = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return ops.gelu(x, self._form)

    def extend_repr(self) -> str:
        return f"approximate={self.approximate}"


class SiLU(Cell):
    """``x * sigmoid(x)``, also called swish.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SiLU()(Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.silu(x)


class Softplus(Cell):
    """``log(1 + exp(x))``, computed without overflow.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Softplus()(Tensor([-1.0, 0.0, 1000.0])))
    [3.132617e-01 6.931472e-01 1.000000e+03]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.softplus(x)


class Mish(Cell):
    """``x * tanh(softplus(x))``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Mish()(Tensor([0.0, 500.0])))
    [  0. 500.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.mish(x)


class Tanhshrink(Cell):
    """``x - tanh(x)``, exact near 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Tanhshrink()(Tensor([0.0, 100.0])))
    [ 0. 99.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanhshrink(x)


class Softsign(Cell):
    """``x / (1 + abs(x))``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Softsign()(Tensor([-1.0, 0.0, 3.0])))
    [-0.5   0.    0.75]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.softsign(x)


class FastGelu(Cell):
    """A quick form of GELU, ``x * sigmoid(1.702 * x)``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.FastGelu()(Tensor([0.0, 100.0])))
    [  0. 100.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.fast_gelu(x)


class Softmax2d(Cell):
    """Softmax over the channels of an image (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> print(nn.Softmax2d()(ops.zeros((4, 1, 1))).ravel())
    [0.25 0.25 0.25 0.25]
    """

    def construct(self, x: Tensor) -> Tensor:
        x = operand("Softmax2d", x)
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: the input has shape {x.shape}; expected (N, C, H, W) or (C, H, W)")
        return ops.softmax(x, -3)


_BY_NAME: dict[str, type[Cell]] = {
    "celu": CELU,
    "elu": ELU,
    "fast_gelu": FastGelu,
    "gelu": GELU,
    "glu": GLU,
    "hardtanh": Hardtanh,
    "hshrink": HShrink,
    "hsigmoid": HSigmoid,
    "hswish": HSwish,
    "leakyrelu": LeakyReLU,
    "logsigmoid": LogSigmoid,
    "logsoftmax": LogSoftmax,
    "mish": Mish,
    "prelu": PReLU,
    "relu": ReLU,
    "relu6": ReLU6,
    "selu": SeLU,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "softmax": Softmax,
    "softmax2d": Softmax2d,
    "softmin": Softmin,
    "softplus": Softplus,
    "softshrink": SoftShrink,
    "softsign": Softsign,
    "swish": SiLU,
    "tanh": Tanh,
    "tanhshrink": Tanhshrink,
}


def get_activation(name: str | Callable[..., Any] | None) -> Any:
    """Return the activation called `name`, with its default settings.

    Parameters
    ----------
    name : str, callable or None
        A name, in small or capital letters. A Cell or another function is returned as it is, and so is None.

    Returns
    -------
    Cell, callable or None

    Raises
    ------
    ValueError
        If no activation has this name.
    TypeError
        If `name` is neither a string nor callable.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.get_activation("relu")
    ReLU()
    """
    if name is None or callable(name):
        return name
    if not isinstance(name, str):
        raise TypeError(f"get_activation: expected a name, a Cell or a function, got {type(name).__name__}")
    if name.lower() not in _BY_NAME:
        raise ValueError(f"get_activation: no activation is named {name!r}; known: {', '.join(_BY_NAME)}")
    return _BY_NAME[name.lower()]()
