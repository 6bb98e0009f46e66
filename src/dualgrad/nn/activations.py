"""Activations as Cells, and their names.

Each is one elementwise function of `dualgrad.ops` (softmax works along an axis); the Cells exist so that they
can stand in a `SequentialCell` and keep their settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.tensor import Tensor

__all__ = [
    "ELU",
    "GELU",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "get_activation",
]


class ReLU(Cell):
    """``max(x, 0)``; the slope at 0 is 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReLU()(Tensor([-1.0, 2.0])))
    [0. 2.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(x)


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
    """``log(1 / (1 + exp(-x)))``, computed without overflow."""

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
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.log_softmax(x, self.axis)


class GELU(Cell):
    """Gaussian error linear unit, x times the normal distribution function.

    Parameters
    ----------
    approximate : bool, default True
        True for the usual form with tanh, False for the exact one with erf.

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


class ELU(Cell):
    """x above 0, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    alpha : float, default 1.0
        The limit far below 0 is -alpha.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ELU()(Tensor([0.0, 2.0])))
    [0. 2.]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.elu(x, self.alpha)

    def extend_repr(self) -> str:
        return f"alpha={self.alpha}"


class LeakyReLU(Cell):
    """x above 0, ``alpha * x`` below.

    Parameters
    ----------
    alpha : float, default 0.2
        The slope below 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.LeakyReLU(0.5)(Tensor([-1.0, 2.0])))
    [-0.5  2. ]
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.leaky_relu(x, self.alpha)

    def extend_repr(self) -> str:
        return f"alpha={self.alpha}"


class Softplus(Cell):
    """``log(1 + exp(x))``, computed without overflow."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.softplus(x)


class Softsign(Cell):
    """``x / (1 + abs(x))``."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.softsign(x)


_BY_NAME: dict[str, type[Cell]] = {
    "elu": ELU,
    "gelu": GELU,
    "leakyrelu": LeakyReLU,
    "logsigmoid": LogSigmoid,
    "logsoftmax": LogSoftmax,
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "softmax": Softmax,
    "softplus": Softplus,
    "softsign": Softsign,
    "swish": SiLU,
    "tanh": Tanh,
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
