"""Norms of vectors and matrices.

They are roots of sums. Where the sum below a root is 0 its own derivative is 0 as well, and zero absorbs. So the
derivative of a norm that is 0 is 0, not nan.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of, real_number, truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    OP,
    Primitive,
    dropped,
    floating,
    kept,
    one_axis,
    operand,
    permuted,
    reduced_axes,
    respell,
    to_shape,
    total,
)
from ..math.complex import squared_magnitude
from ._hermitian import complex_factors
from ._singular import values

__all__ = ["LpNorm", "norm"]

_ABS, _SQRT, _NE = OP["abs"], OP["sqrt"], OP["ne"]
_MAX, _MIN = OP["reduce_max"], OP["reduce_min"]


def norm(
    x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any
) -> Tensor:
    """Norm of vectors or matrices, with derivative 0 where it is 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    ord : number, "fro" or "nuc", optional
        The order of the norm. For vectors p stands for sum(abs(x)**p)**(1/p), inf and -inf for the largest and smallest
        absolute value, 0 for the number of elements that are not 0. For matrices 1, -1, inf and -inf stand for extremes
        of column and row sums, 2 and -2 for the largest and smallest singular value, "nuc" for their sum, "fro" for the
        root of the sum of squares. None is the root of the sum of squares.
    axis : int or tuple of int, optional
        One axis: vectors. Two axes: matrices. None: with `ord` None all elements as one vector, otherwise all
        axes (one or two) of `x`. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `ord` is not a norm of this library, or `x` has too many axes for it.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> print(ops.norm(x), ops.norm(x, dim=1), ops.norm(x, 1, dim=1))
    5.0 [5. 0.] [7. 0.]
    >>> print(dg.grad(lambda x: ops.norm(x, dim=1))(x))
    [[0.6 0.8]
     [0.  0. ]]
    """
    if other:
        axis, keepdims = respell("norm", other, axis=axis, keepdims=keepdims)
    x = operand("norm", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="norm").num)
    x = floating("norm", x)
    everything = axis is None or (isinstance(axis, tuple) and not axis)
    truth_value("norm", "keepdims", keepdims)
    if not isinstance(ord, str | None):
        real_number("norm", "ord", ord)
    if everything and ord is not None and ord != "fro" and x.ndim > 2:
        raise ValueError(
            f"norm: ord={ord!r} of a tensor of shape {x.shape} needs an axis (vectors) or two (matrices); pass axis="
        )
    axes = ALL_AXES[x.ndim] if everything else reduced_axes("norm", axis, x)
    if ord is None or (ord == "fro" and (everything or len(axes) == 2)):
        return _engine.unary(_SQRT, total(squared_magnitude(x), axes, keepdims))
    if len(axes) == 2:
        pair = axes if everything else tuple(one_axis("norm", k, x.shape) for k in axis)
        return _matrix_norm(x, ord, pair, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: ord={ord!r} is no norm of vectors; expected a number or None")
    return vector_norm(x, float(real_number("norm", "ord", ord)), axes, keepdims)


def vector_norm(x: Tensor, p: float, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if real_number("norm", "the order", p) == 2:
        return _engine.unary(_SQRT, total(squared_magnitude(x), axes, keepdims))
    size = _engine.unary(_ABS, x)
    if p == 0:
        return total(_engine.convert(_engine.binary_op(_NE, x, 0), size._typenum), axes, keepdims)
    if math.isinf(p):
        return _engine.apply(_MAX if p > 0 else _MIN, (axes, builtins.bool(keepdims)), size)
    if p == 1:
        return total(size, axes, keepdims)
    return _engine.power_op(total(_engine.power_op(size, p), axes, keepdims), 1.0 / p)


def _matrix_norm(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Extremes of absolute sums along one of two axes; sum and extremes of singular values."""
    if not one_of(ord, ("nuc", 1, -1, 2, -2, math.inf, -math.inf)):
        raise ValueError(
            f"norm: ord={ord!r} of matrices is not available; expected None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf "
            "(for the vector norm of all elements flatten the tensor first)"
        )
    if ord in ("nuc", 2, -2):
        found = _of_singular_values(x, ord, axes)
        return to_shape(found, kept(x.shape, axes)) if keepdims else found
    rows, columns = axes
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = total(_engine.unary(_ABS, x), (summed,), True)
    result = _engine.apply(_MAX if ord > 0 else _MIN, ((chosen,), True), sums)
    return result if keepdims else to_shape(result, dropped(x.shape, axes))


def _of_singular_values(x: Tensor, ord: Any, axes: tuple[int, ...]) -> Tensor:
    rest = tuple([k for k in ALL_AXES[x.ndim] if k not in axes])
    a, caller = permuted(x, rest + axes), f"norm(ord={ord!r})"
    s = complex_factors(a, False, caller)[0] if a.dtype.is_complex else values(a, caller=caller)
    last = (s.ndim - 1,)
    if ord == "nuc":
        return total(s, last, False)
    return _engine.apply(_MAX if ord == 2 else _MIN, (last, False), s)


class LpNorm(Primitive):
    """Norm of order p over axes.

    Parameters
    ----------
    axis : int or tuple of int
        The axes to reduce.
    p : int, default 2
        The order.
    keep_dims : bool, default False
        Keep the axes with length 1.
    epsilon : float, default 1e-12
        Accepted for compatibility. The derivative at 0 is 0 without it.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.LpNorm(1)(dg.Tensor([[3.0, 4.0], [0.0, 0.0]])))
    [5. 0.]
    """

    __slots__ = ("axis", "epsilon", "keep_dims", "p")

    def __init__(self, axis: Any, p: float = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> None:
        self.axis: Any = axis
        self.p: float = p
        self.keep_dims: bool = keep_dims
        self.epsilon: float = epsilon

    def __call__(self, x: Any) -> Tensor:
        x = floating("LpNorm", x)
        return vector_norm(x, float(self.p), reduced_axes("LpNorm", self.axis, x), self.keep_dims)


METHODS: dict[str, Any] = {"norm": norm}
