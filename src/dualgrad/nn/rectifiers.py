"""Piecewise activations as Cells: rectifiers, limits and thresholds.

Each is a function of `dualgrad.ops` with its settings; its documentation defines the derivatives at the joints.
"""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.common.initializer import initializer
from dualgrad.nn.cell import Cell
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

from .._settings import real_number

__all__ = [
    "CELU",
    "ELU",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SoftShrink",
    "Threshold",
]


class RReLU(Cell):
    """x above 0, x times a random slope below, drawn for each element at each call.

    Parameters
    ----------
    lower, upper : float, default 1/8 and 1/3
        The slopes are uniform between these. With equal numbers they are this number.

    Raises
    ------
    TypeError
        If a limit is not a number.
    ValueError
        If `lower` is above `upper`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.RReLU(0.5, 0.5)(Tensor([-1.0, 2.0])))
    [-0.5  2. ]
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        for what, limit in (("lower", lower), ("upper", upper)):
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise TypeError(f"RReLU: {what} must be a number, got {type(limit).__name__}")
        if lower > upper:
            raise ValueError(f"RReLU: lower is {lower} and upper {upper}; expected lower up to upper")
        self.lower = lower
        self.upper = upper

    def construct(self, x: Tensor) -> Tensor:
        slope = self.lower + (self.upper - self.lower) * ops.rand_like(x)
        return ops.where(x < 0, slope * x, x)

    def extend_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class ReLU(Cell):
    """``max(x, 0)``; the derivative at 0 is 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReLU()(Tensor([-1.0, 2.0])))
    [0. 2.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(x)


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


class SeLU(Cell):
    """Scaled ELU, which keeps mean 0 and variance 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SeLU()(Tensor([0.0, 2.0])))
    [0.       2.101402]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.selu(x)


class CELU(Cell):
    """x above 0, ``alpha * (exp(x / alpha) - 1)`` below, with derivative 1 at 0.

    Parameters
    ----------
    alpha : float, default 1.0
        The limit far below 0 is -alpha. Not 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.CELU(0.5)(Tensor([-800.0, 2.0])))
    [-0.5  2. ]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.celu(x, self.alpha)

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


class PReLU(Cell):
    """x above 0, ``w * x`` below, with trained slopes w.

    Parameters
    ----------
    channel : int, default 1
        The number of slopes: 1, or the length of axis 1 of the input.
    w : float, list of float or Tensor, default 0.25
        The initial slopes.

    Attributes
    ----------
    w : Parameter
        The slopes, of shape (channel,). Its own name is 'a'.

    Raises
    ------
    ValueError
        If there are not as many slopes as channels.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.PReLU(2, [0.25, 0.5])(Tensor([[-1.0, -1.0]])))
    [[-0.25 -0.5 ]]
    """

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        first = Tensor([float(real_number("PReLU", "w", slope)) for slope in w]) if isinstance(w, list | tuple) else w
        self.w: Parameter = Parameter(initializer(first, channel), name="a")

    def construct(self, x: Tensor) -> Tensor:
        return ops.prelu(x, self.w)


class ReLU6(Cell):
    """``min(relu(x), 6)``; the derivative is 0 at 0 and 1 at 6.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReLU6()(Tensor([-1.0, 2.0, 8.0])))
    [0. 2. 6.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu6(x)


class Hardtanh(Cell):
    """Limit x to an interval.

    Parameters
    ----------
    min_val, max_val : float, default -1.0 and 1.0
        The limits, with derivative 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Hardtanh()(Tensor([-3.0, 0.5, 2.0])))
    [-1.   0.5  1. ]
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)

    def extend_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class HSigmoid(Cell):
    """``clamp(x + 3, 0, 6) / 6``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.HSigmoid()(Tensor([-4.0, 0.0, 1.5])))
    [0.   0.5  0.75]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardsigmoid(x)


class HSwish(Cell):
    """``x * clamp(x + 3, 0, 6) / 6``.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.HSwish()(Tensor([0.0, 3.0])))
    [0. 3.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardswish(x)


class HShrink(Cell):
    """x where ``abs(x)`` is above a threshold, else 0.

    Parameters
    ----------
    lambd : float, default 0.5
        The threshold.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.HShrink()(Tensor([-2.0, 0.5, 0.75])))
    [-2.    0.    0.75]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardshrink(x, self.lambd)

    def extend_repr(self) -> str:
        return f"lambd={self.lambd}"


class SoftShrink(Cell):
    """x moved towards 0 by a threshold, and 0 within it.

    Parameters
    ----------
    lambd : float, default 0.5
        The threshold, not negative.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.SoftShrink()(Tensor([-2.0, 0.5, 0.75])))
    [-1.5  0.   0.25]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        return ops.softshrink(x, self.lambd)

    def extend_repr(self) -> str:
        return f"lambd={self.lambd}"


class Threshold(Cell):
    """x where it is above a threshold, a number elsewhere.

    Parameters
    ----------
    threshold, value : number
        The threshold, and the number.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Threshold(1.0, 7.0)(Tensor([0.5, 2.0])))
    [7. 2.]
    """

    def __init__(self, threshold: Any, value: Any) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.threshold(input_x, self.threshold, self.value)
