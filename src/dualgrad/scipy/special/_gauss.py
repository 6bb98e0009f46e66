"""Gauss's hypergeometric function, which has four operands, one more than a row can have.

Each derivative by the last operand, up to an order, is a primitive of its own with a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...extend import Primitive, primitive
from ...ops._arguments import operand
from ...tensor import Tensor
from ._rows import real
from ._scipy import sp

__all__ = ["hyp2f1"]

_HIGHEST = 12


def _raised(n: int) -> Primitive:
    """The function with all parameters raised by n; its slope by the last operand is the function raised by n + 1."""

    def kernel(a: np.ndarray, b: np.ndarray, c: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(sp.hyp2f1(a.real + n, b.real + n, c.real + n, x))  # all of one type: complex if x is

    def slope(moved: Tensor, out: Tensor, a: Tensor, b: Tensor, c: Tensor, x: Tensor) -> Tensor:
        if n == _HIGHEST:
            raise NotImplementedError(
                f"special.hyp2f1: derivatives end at order {_HIGHEST}, and there are no Taylor coefficients (jets, "
                "Laplacians); nest grad or jvp for derivatives of a higher order than the first"
            )
        return moved * ((a + n) * (b + n) / (c + n)) * _HYP2F1[n + 1](a, b, c, x)

    def refused(*parts: Tensor) -> Tensor:
        raise NotImplementedError(
            "special.hyp2f1: no formula is known for its derivative by a parameter (operands 1 to 3); differentiate by "
            "the last operand only, or pass dualgrad.stop_gradient(...) of the parameter"
        )

    rules = (refused, refused, refused, slope)
    return primitive(f"special_hyp2f1_{n}", kernel, jvp=rules, vjp=rules, arity=4, core=(0, 0, 0, 0))


_HYP2F1 = [_raised(n) for n in range(_HIGHEST + 1)]


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Tensor:
    """Gauss's hypergeometric function 2F1(a, b; c; z).

    Parameters
    ----------
    a, b, c : Tensor, numpy.ndarray or number
        Real parameters, of shapes that broadcast; integers become float32.
    z : Tensor, numpy.ndarray or number
        Real or complex. The result is nan for a real z > 1, where the cut lies.

    Returns
    -------
    Tensor
        Complex if `z` is.

    Raises
    ------
    NotImplementedError
        If it is differentiated by a parameter, for which no formula is known; by `z` more than 12 times; or by jets,
        which would need an endless series of slopes. Nested gradients give derivatives of higher order.
    ValueError
        If the shapes do not broadcast.

    Notes
    -----
    The slope by `z` is ``a b / c`` times the function with all three parameters raised by 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.hyp2f1(0.5, 1.0, 1.5, dg.Tensor([0.25], dg.float64)).round(6))
    [1.098612]
    """
    if z.dtype.is_complex if isinstance(z, Tensor) else not isinstance(z, list | tuple) and np.iscomplexobj(z):
        z = operand("special.hyp2f1", z)
        operands = [*real("hyp2f1", a, b, c, ops.real(z))[:3], z]
    else:
        operands = real("hyp2f1", a, b, c, z)
    shape = np.broadcast_shapes(*[tuple(x.shape) for x in operands])
    return _HYP2F1[0](*[ops.broadcast_to(x, shape) for x in operands])
