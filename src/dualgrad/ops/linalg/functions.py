"""Powers and exponentials of matrices.

Both are products of matrices, so derivatives of any order come by themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import extend
from ...tensor import Tensor
from .._arguments import Primitive, expanded, integer
from ..index.choice import where
from ._matrices import as_row, identity, square
from .solving import inverted, solved

__all__ = ["MatrixExp", "MatrixPower", "matrix_exp", "matrix_power"]


def matrix_power(input: Any, n: int) -> Tensor:
    """A square matrix to an integer power.

    Parameters
    ----------
    input : Tensor
        Shape (..., m, m); integers become float32.
    n : int
        The power. 0 gives the unit matrix, a negative power uses the inverse.

    Returns
    -------
    Tensor
        Shape (..., m, m).

    Raises
    ------
    numpy.linalg.LinAlgError
        If `n` is negative and a matrix is singular.
    TypeError
        If `n` is not an int, or the type is float16.
    ValueError
        If the matrices are not square.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_power(dg.Tensor([[1.0, 1.0], [0.0, 2.0]]), 3))
    [[1. 7.]
     [0. 8.]]
    """
    return _power("matrix_power", input, n)


def _power(name: str, a: Any, n: Any) -> Tensor:
    a, n = square(name, a, complex=True), integer(name, "n", n)
    if n < 0:
        a, n = inverted(a, caller=name), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else result @ a
        n >>= 1
        if n:
            a = a @ a
    return expanded(Tensor(identity(a, a.shape[-1])), a.shape) if result is None else +result


# ------------------------------------------------------------------------------------------------- exponential

_DEGREE = 13
# r = p(a) / p(-a) agrees with exp(a) to order 26. For a norm up to 2 its error, 1e-27, is far below the rounding unit
# of float64, also for derivatives of order 8.
_NORM = 2.0
_COEFFICIENTS = [
    math.comb(_DEGREE, k) * math.factorial(2 * _DEGREE - k) / math.factorial(2 * _DEGREE) for k in range(_DEGREE + 1)
]


def _squarings_kernel(a: np.ndarray) -> np.ndarray:
    """For each matrix a row of ones, one for each halving until its norm is small, then zeros.

    The largest number in the stack becomes a length: shapes depend on it, and programs need not read a value.
    """
    norm = np.abs(a).sum(-2).max(-1, initial=0.0)
    times = np.ceil(np.log2(np.maximum(np.where(np.isfinite(norm), norm, 0.0) / _NORM, 1.0)))
    return (np.arange(times.max(initial=0.0)) < times[..., None]).astype(norm.dtype)


_squarings = extend.primitive(
    "squarings",
    _squarings_kernel,
    jvp=(None,),
    vjp=(None,),
    core=(2,),
    summary="how often to halve a matrix until its norm is small",
)


def matrix_exp(input: Any) -> Tensor:
    """Exponential of square matrices, the sum of a^k / k!.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, n); integers become float32.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    Notes
    -----
    Scaling and squaring (Higham, The scaling and squaring method for the matrix exponential revisited, 2005): the
    matrix is halved until a rational function of degree 13 is exact to rounding, and the result squared as often.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_exp(dg.Tensor([[0.0, 1.0], [0.0, 0.0]])))
    [[1. 1.]
     [0. 1.]]
    """
    return _exponential("matrix_exp", input)


def _exponential(name: str, a: Any) -> Tensor:
    a = square(name, a, complex=True)
    halved = _squarings(a)
    often = halved.shape[-1]
    a = a * as_row((1.0 - 0.5 * halved).prod(-1, keepdims=True))
    unit = identity(a, a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    c = _COEFFICIENTS
    odd = a @ (a6 @ (a6 * c[13] + a4 * c[11] + a2 * c[9]) + a6 * c[7] + a4 * c[5] + a2 * c[3] + unit * c[1])
    even = a6 @ (a6 * c[12] + a4 * c[10] + a2 * c[8]) + a6 * c[6] + a4 * c[4] + a2 * c[2] + unit * c[0]
    result = solved(even - odd, even + odd, caller=name)
    for k in range(often):
        result = where(as_row(halved[..., k : k + 1]) > 0, result @ result, result)
    return result


# ------------------------------------------------------------------------------------------ primitive classes


class MatrixPower(Primitive):
    """Primitive class of `matrix_power`.

    Parameters
    ----------
    n : int
        The power.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MatrixPower(2)(dg.Tensor([[1.0, 1.0], [0.0, 2.0]])))
    [[1. 3.]
     [0. 4.]]
    """

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n: int = integer("MatrixPower", "n", n)

    def __call__(self, x: Any) -> Tensor:
        return _power("MatrixPower", x, self.n)


class MatrixExp(Primitive, of=matrix_exp):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _exponential("MatrixExp", x)


METHODS: dict[str, Any] = {"matrix_power": matrix_power}
