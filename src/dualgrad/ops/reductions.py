"""Reductions: sums, means, extremes, norms and running sums over axes.

`axis` is None or () for all axes, an int, or a tuple of ints. Sums, extremes and truth values are primitives; the rest
is composed of them, so every row has derivatives of any order without a rule of its own. Three compositions are
chosen for their derivatives:

* `prod` multiplies halves pairwise. Nothing is divided, so zeros among the factors give exact derivatives of every order.
* `logsumexp` shifts by the maximum as a constant. The result does not depend on the shift, so neither do derivatives.
* `norm` and `std` are roots. Where the sum below the root is 0, its slope there is 0 too, and zero absorbs: the slope
  of the root of 0 is 0, not nan.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._engine import tensor as _engine
from ..dtype import as_dtype
from ..tensor import Tensor
from ._arguments import (
    ALL_AXES,
    IS_FLOAT,
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
)

__all__ = [
    "Argmax", "Argmin", "CumSum", "LpNorm", "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "cumsum",
    "logsumexp", "max", "mean", "min", "norm", "prod", "std", "sum", "var",
]  # fmt: skip

_SUM, _MAX, _MIN = OP["sum"], OP["reduce_max"], OP["reduce_min"]
_ARGMAX, _ARGMIN, _CUMSUM = OP["argmax"], OP["argmin"], OP["cumsum"]
_ALL, _ANY, _COUNT = OP["all"], OP["any"], OP["count_nonzero"]
_SLICE, _UNSLICE, _WHERE = OP["slice"], OP["unslice"], OP["where"]
_ABS, _EXP, _LOG, _SQRT, _SQUARE = OP["abs"], OP["exp"], OP["log"], OP["sqrt"], OP["square"]
_DIV, _NE, _ISFINITE = OP["div"], OP["ne"], OP["isfinite"]


def _total(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _engine.apply(_SUM, (axes, builtins.bool(keepdims)), x)


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    if len(axes) == x.ndim:
        return x.size
    shape = x.shape
    return math.prod([shape[k] for k in axes])


# ------------------------------------------------------------------------------------------------ sums and averages


def sum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Sum over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to sum over; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type before summing.

    Returns
    -------
    Tensor
        Type of `x`; Int64 for integers and bools.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis (an error that is both a ValueError and an IndexError).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.sum(x), ops.sum(x, 0), ops.sum(x, dim=1, keepdim=True).shape)
    10.0 [4. 6.] (2, 1)
    """
    if other:
        axis, keepdims = respell("sum", other, axis=axis, keepdims=keepdims)
    x = operand("sum", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="sum").num)
    elif x._typenum not in IS_FLOAT:
        x = _engine.convert(x, _dtype.int64.num)
    return _total(x, reduced_axes("sum", axis, x), keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Arithmetic mean over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to average over; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type before summing.

    Returns
    -------
    Tensor
        Type of `x`; Float32 for integers and bools. nan where there is nothing to average.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 5.0]])
    >>> print(ops.mean(x), ops.mean(x, 0))
    2.75 [2.  3.5]
    """
    if other:
        axis, keepdims = respell("mean", other, axis=axis, keepdims=keepdims)
    x = operand("mean", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="mean").num)
    x = floating("mean", x)
    return _average(x, reduced_axes("mean", axis, x), keepdims)


def _average(x: Tensor, axes: tuple[int, ...], keepdims: bool, less: float = 0) -> Tensor:
    """The sum over axes divided by the number of elements, or by `less` less than it."""
    if x._typenum == _dtype.float16.num:  # neither the sum nor the count need fit into float16 where the mean does
        wide = _average(_engine.convert(x, _dtype.float32.num), axes, keepdims, less)
        return _engine.convert(wide, _dtype.float16.num)
    return _engine.binary_op(_DIV, _total(x, axes, keepdims), float(builtins.max(_count(x, axes) - less, 0)))


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Variance over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    ddof : int, default 0
        The sum of squared deviations is divided by the number of elements less this.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 3.0], [2.0, 8.0]])
    >>> print(ops.var(x, 1), ops.var(x, 1, ddof=1))
    [1. 9.] [ 2. 18.]
    """
    if other:
        axis, keepdims = respell("var", other, axis=axis, keepdims=keepdims)
    x = floating("var", x)
    return _variance(x, reduced_axes("var", axis, x), ddof, keepdims)


def _variance(x: Tensor, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Tensor:
    deviation = x - _average(x, axes, True)
    return _average(_engine.unary(_SQUARE, deviation), axes, keepdims, ddof)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Standard deviation over axes: the square root of `var`, with slope 0 where it is 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    ddof : int, default 0
        The sum of squared deviations is divided by the number of elements less this.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.std(dg.Tensor([[1.0, 3.0], [2.0, 8.0]]), 1))
    [1. 3.]
    """
    if other:
        axis, keepdims = respell("std", other, axis=axis, keepdims=keepdims)
    x = floating("std", x)
    return _engine.unary(_SQRT, _variance(x, reduced_axes("std", axis, x), ddof, keepdims))


def prod(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Product over axes; derivatives are exact where factors are 0, too.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to multiply; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Type of `x`; Int64 for bools.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Notes
    -----
    The factors are multiplied as a balanced tree of log2(n) elementwise products.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.prod(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
    [ 2. 12.]
    >>> print(dg.grad(ops.prod)(dg.Tensor([0.0, 2.0, 3.0])))
    [6. 0. 0.]
    """
    if other:
        axis, keepdims = respell("prod", other, axis=axis, keepdims=keepdims)
    x = operand("prod", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="prod").num)
    elif x.dtype.is_bool:
        x = _engine.convert(x, _dtype.int64.num)
    return _product(x, reduced_axes("prod", axis, x), keepdims)


def _product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    shape = x.shape
    result = kept(shape, axes) if keepdims else dropped(shape, axes)
    n = _count(x, axes)
    if n == 0:
        return Tensor(np.ones(result, x.dtype.numpy))
    rest = dropped(shape, axes)
    x = to_shape(permuted(x, axes + tuple([k for k in range(len(shape)) if k not in axes])), (n,) + rest)
    whole = tuple([(0, length, 1) for length in rest])
    odd = None  # factors left over where a half does not come out even
    while n > 1:
        if n % 2:
            last = _engine.apply(_SLICE, ((n - 1, 1, 1),) + whole, x)
            odd = last if odd is None else odd * last
        n //= 2
        x = _engine.apply(_SLICE, ((0, n, 1),) + whole, x) * _engine.apply(_SLICE, ((n, n, 1),) + whole, x)
    return to_shape(x if odd is None else x * odd, result)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Logarithm of the sum of exponentials, without overflow.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there is nothing to reduce.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logsumexp(dg.Tensor([1000.0, 1000.0]), 0))
    1000.6931
    """
    if other:
        axis, keepdims = respell("logsumexp", other, axis=axis, keepdims=keepdims)
    x = floating("logsumexp", x)
    axes = reduced_axes("logsumexp", axis, x)
    largest = _engine.apply(_MAX, (axes, True), _engine.stop(x))
    finite = _engine.unary(_ISFINITE, largest)  # inf - inf would be nan
    shift = _engine.apply(_WHERE, None, finite, largest, np.zeros((), x.dtype.numpy))
    result = _engine.unary(_LOG, _total(_engine.unary(_EXP, x - shift), axes, True)) + shift
    return result if keepdims else to_shape(result, dropped(x.shape, axes))


# ---------------------------------------------------------------------------------------------------------- extremes


def amax(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Largest elements over axes; elements that tie share the slope in equal parts.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Type of `x`; nan where there is a nan.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.amax(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1))
    [5. 7.]
    >>> print(dg.grad(ops.amax)(dg.Tensor([3.0, 1.0, 3.0])))
    [0.5 0.  0.5]
    """
    if other:
        axis, keepdims = respell("amax", other, axis=axis, keepdims=keepdims)
    return _extreme("amax", _MAX, x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Smallest elements over axes; elements that tie share the slope in equal parts.

    Parameters, result and errors are those of `amax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.amin(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 0))
    [1. 2.]
    """
    if other:
        axis, keepdims = respell("amin", other, axis=axis, keepdims=keepdims)
    return _extreme("amin", _MIN, x, axis, keepdims)


def _extreme(name: str, op: int, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = operand(name, x)
    return _engine.apply(op, (reduced_axes(name, axis, x), builtins.bool(keepdims)), x)


def max(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Largest elements along an axis, and where they stand.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int, optional
        The axis to reduce; None stands for all elements in order. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axis with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    values : Tensor
        As `amax` gives; elements that tie share the slope in equal parts.
    indices : Tensor
        Position of the first of them along the axis, Int64.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If `x` is empty.

    See Also
    --------
    amax : The values alone, over any number of axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.max(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1)
    >>> print(values, indices)
    [5. 7.] [1 0]
    """
    if other:
        axis, keepdims = respell("max", other, axis=axis, keepdims=keepdims)
    values = _extreme("max", _MAX, x, axis, keepdims)
    return values, _position("max", _ARGMAX, x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Smallest elements along an axis, and where they stand.

    Parameters, results and errors are those of `max`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.min(dg.Tensor([[1.0, 5.0], [7.0, 2.0]]), 1)
    >>> print(values, indices)
    [1. 2.] [0 1]
    """
    if other:
        axis, keepdims = respell("min", other, axis=axis, keepdims=keepdims)
    values = _extreme("min", _MIN, x, axis, keepdims)
    return values, _position("min", _ARGMIN, x, axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Position of the first largest element along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type, not empty.
    axis : int, optional
        The axis to search; None stands for all elements in order. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axis with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Int64; derivatives do not pass.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If there is nothing to search.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> print(ops.argmax(x), ops.argmax(x, 1))
    2 [1 0]
    """
    if other:
        axis, keepdims = respell("argmax", other, axis=axis, keepdims=keepdims)
    return _position("argmax", _ARGMAX, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Position of the first smallest element along an axis.

    Parameters, result and errors are those of `argmax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> print(ops.argmin(x), ops.argmin(x, 1))
    0 [0 1]
    """
    if other:
        axis, keepdims = respell("argmin", other, axis=axis, keepdims=keepdims)
    return _position("argmin", _ARGMIN, x, axis, keepdims)


def _position(name: str, op: int, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = operand(name, x)
    shape = x.shape
    if isinstance(axis, tuple | list):
        if len(axis) != 1:
            raise TypeError(f"{name}: axis is {axis!r}; positions need a single axis or None (use amax, amin for several)")
        axis = axis[0]
    if axis is None or (not shape and axis in (0, -1)):
        place, x = 0, to_shape(x, (x.size,))
    else:
        place = one_axis(name, axis, shape)
    if x.shape[place] == 0:
        raise ValueError(f"{name}: a tensor of shape {shape} has no elements to choose from along axis {axis}")
    if axis is None:
        found = _engine.apply(op, (0, False), x)
        return to_shape(found, (1,) * len(shape)) if keepdims else found
    return _engine.apply(op, (place, builtins.bool(keepdims and shape)), x)


# -------------------------------------------------------------------------------------------------------------- norms


def norm(
    x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any
) -> Tensor:
    """Norm of vectors or matrices, with slope 0 where it is 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    ord : number or "fro", optional
        Which norm. For vectors p stands for sum(abs(x)**p)**(1/p), inf and -inf for the largest and smallest absolute
        value, 0 for the number of elements that are not 0. For matrices 1, -1, inf and -inf stand for extremes of
        column and row sums, "fro" for the root of the sum of squares. None is the root of the sum of squares.
    axis : int or tuple of int, optional
        One axis: vectors. Two axes: matrices. None: with `ord` None all elements as one vector, otherwise all axes (one
        or two) of `x`. Also spelled `dim`.
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
        If `ord` is no norm of this library, or `x` has too many axes for it.

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
    everything = axis is None or axis == ()
    if everything and ord is not None and ord != "fro" and x.ndim > 2:
        raise ValueError(
            f"norm: ord={ord!r} of a tensor of shape {x.shape} needs an axis (vectors) or two (matrices); pass axis="
        )
    axes = ALL_AXES[x.ndim] if everything else reduced_axes("norm", axis, x)
    if ord is None or (ord == "fro" and (everything or len(axes) == 2)):
        return _engine.unary(_SQRT, _total(_engine.unary(_SQUARE, x), axes, keepdims))
    if len(axes) == 2:
        pair = axes if everything else tuple(one_axis("norm", k, x.shape) for k in axis)
        return _matrix_norm(x, ord, pair, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: ord={ord!r} is no norm of vectors; expected a number or None")
    return _vector_norm(x, float(ord), axes, keepdims)


def _vector_norm(x: Tensor, p: float, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if p == 2:
        return _engine.unary(_SQRT, _total(_engine.unary(_SQUARE, x), axes, keepdims))
    if p == 0:
        return _total(_engine.convert(_engine.binary_op(_NE, x, 0), x._typenum), axes, keepdims)
    size = _engine.unary(_ABS, x)
    if math.isinf(p):
        return _engine.apply(_MAX if p > 0 else _MIN, (axes, builtins.bool(keepdims)), size)
    if p == 1:
        return _total(size, axes, keepdims)
    return _engine.power_op(_total(_engine.power_op(size, p), axes, keepdims), 1.0 / p)


def _matrix_norm(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The extreme over one of two axes of the absolute sums over the other."""
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"norm: ord={ord!r} of matrices is not available; expected None, 'fro', 1, -1, inf or -inf (for the vector "
            f"norm of all elements flatten the tensor first)"
        )
    rows, columns = axes
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _total(_engine.unary(_ABS, x), (summed,), True)
    result = _engine.apply(_MAX if ord > 0 else _MIN, ((chosen,), True), sums)
    return result if keepdims else to_shape(result, dropped(x.shape, axes))


# --------------------------------------------------------------------------------------------- truth, counts and scans


def all(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Whether all elements along axes are true, or not 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.

    Returns
    -------
    Tensor
        Bool.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.all(dg.Tensor([[True, False], [True, True]]), 1))
    [False  True]
    """
    if other:
        axis, keepdims = respell("all", other, axis=axis, keepdims=keepdims)
    return _extreme("all", _ALL, x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False, **other: Any) -> Tensor:
    """Whether any element along axes is true, or not 0.

    Parameters, result and errors are those of `all`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.any(dg.Tensor([[True, False], [False, False]]), 1))
    [ True False]
    """
    if other:
        axis, keepdims = respell("any", other, axis=axis, keepdims=keepdims)
    return _extreme("any", _ANY, x, axis, keepdims)


def count_nonzero(
    x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = _dtype.int32, **other: Any
) -> Tensor:
    """Number of elements along axes that are not 0.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        What to reduce; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, default int32
        Type of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.count_nonzero(dg.Tensor([[1.0, 0.0], [2.0, 3.0]]), 1))
    [1 2]
    """
    if other:
        axis, keepdims = respell("count_nonzero", other, axis=axis, keepdims=keepdims)
    found = _extreme("count_nonzero", _COUNT, x, axis, keepdims)
    return _engine.convert(found, as_dtype(dtype, where="count_nonzero").num)


def cumsum(x: Any, axis: Any = None, dtype: Any = None, **other: Any) -> Tensor:
    """Running sums along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int, optional
        The axis to sum along; None stands for all elements in order. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Shape of `x` (one axis where `axis` is None) and type of `x` (Int64 for bools).

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cumsum(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 1))
    [[ 1.  3.  6.]
     [ 4.  9. 15.]]
    """
    if other:
        axis = respell("cumsum", other, axis=axis)
    x = operand("cumsum", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="cumsum").num)
    return _running_sum(x, axis, False)


def _running_sum(x: Tensor, axis: Any, reverse: bool) -> Tensor:
    if x.dtype.is_bool:
        x = _engine.convert(x, _dtype.int64.num)
    if axis is None:
        axis, x = 0, to_shape(x, (x.size,))
    return _engine.apply(_CUMSUM, (one_axis("cumsum", axis, x.shape), builtins.bool(reverse)), x)


# -------------------------------------------------------------------------------------------------- primitive classes


class _Reduction(Primitive):
    """A reduction with the setting `keep_dims`; its name in errors is the function's."""

    __slots__ = ("keep_dims",)

    def __init__(self, keep_dims: bool = False) -> None:
        if not isinstance(keep_dims, bool):
            raise TypeError(f"{type(self).__name__}: keep_dims must be a bool, got {type(keep_dims).__name__}")
        self.keep_dims = keep_dims


class ReduceSum(_Reduction):
    """Sum over axes, in the type of the operand.

    Parameters
    ----------
    keep_dims : bool, default False
        Keep the axes with length 1.
    skip_mode : bool, default False
        With True, an empty tuple of axes reduces nothing instead of everything.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceSum(keep_dims=True)(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
    [[3.]
     [7.]]
    """

    __slots__ = ("skip_mode",)

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None:
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x)
        if self.skip_mode and isinstance(axis, tuple | list) and not axis:
            return +x
        if x.dtype.is_bool:
            x = _engine.convert(x, _dtype.int64.num)
        return _total(x, reduced_axes("ReduceSum", axis, x), self.keep_dims)


class ReduceMean(_Reduction):
    """Mean over axes; see `mean`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceMean()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [2. 3.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return mean(x, axis, self.keep_dims)


class ReduceMax(_Reduction):
    """Largest elements over axes; see `amax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceMax()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [3. 4.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return _extreme("ReduceMax", _MAX, x, axis, self.keep_dims)


class ReduceMin(_Reduction):
    """Smallest elements over axes; see `amin`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceMin()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [1. 2.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return _extreme("ReduceMin", _MIN, x, axis, self.keep_dims)


class ReduceProd(_Reduction):
    """Product over axes; see `prod`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceProd()(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
    [3. 8.]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return prod(x, axis, self.keep_dims)


class ReduceAll(_Reduction):
    """Whether all elements over axes are true; see `all`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceAll()(dg.Tensor([[True, False], [True, True]]), 1))
    [False  True]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return all(x, axis, self.keep_dims)


class ReduceAny(_Reduction):
    """Whether any element over axes is true; see `any`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceAny()(dg.Tensor([[True, False], [False, False]]), 1))
    [ True False]
    """

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return any(x, axis, self.keep_dims)


class Argmax(Primitive):
    """Position of the first largest element along an axis; see `argmax`.

    Parameters
    ----------
    axis : int, default -1
        The axis to search.
    output_type : type, default int32
        Type of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Argmax()(dg.Tensor([[1.0, 5.0], [7.0, 2.0]])))
    [1 0]
    """

    __slots__ = ("axis", "output_type")

    def __init__(self, axis: int = -1, output_type: Any = _dtype.int32) -> None:
        self.axis = axis
        self.output_type = as_dtype(output_type, where=type(self).__name__)

    def __call__(self, x: Any) -> Tensor:
        return _engine.convert(_position("Argmax", _ARGMAX, x, self.axis, False), self.output_type.num)


class Argmin(Argmax):
    """Position of the first smallest element along an axis; settings as `Argmax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Argmin()(dg.Tensor([[1.0, 5.0], [7.0, 2.0]])))
    [0 1]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _engine.convert(_position("Argmin", _ARGMIN, x, self.axis, False), self.output_type.num)


class CumSum(Primitive):
    """Running sums along an axis.

    Parameters
    ----------
    exclusive : bool, default False
        Leave the element itself out of its sum, so that the first sum is 0.
    reverse : bool, default False
        Sum from the end.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> print(ops.CumSum()(x, 0), ops.CumSum(exclusive=True)(x, 0), ops.CumSum(reverse=True)(x, 0))
    [1. 3. 6.] [0. 1. 3.] [6. 5. 3.]
    """

    __slots__ = ("exclusive", "reverse")

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        self.exclusive = exclusive
        self.reverse = reverse

    def __call__(self, x: Any, axis: Any) -> Tensor:
        x = operand("CumSum", x)
        axis = one_axis("CumSum", axis, x.shape)
        sums = _running_sum(x, axis, self.reverse)
        n = x.shape[axis]
        if not self.exclusive or n == 0:
            return sums
        # the sums move by one place, a 0 comes in: nothing is subtracted, so nothing cancels
        whole = [(0, length, 1) for length in x.shape]
        first, rest = list(whole), list(whole)
        first[axis], rest[axis] = (0, n - 1, 1), (1, n - 1, 1)
        taken, placed = (rest, first) if self.reverse else (first, rest)
        return _engine.apply(_UNSLICE, (x.shape, tuple(placed)), _engine.apply(_SLICE, tuple(taken), sums))


class LpNorm(Primitive):
    """Norm of order p over axes.

    Parameters
    ----------
    axis : int or tuple of int
        What to reduce.
    p : int, default 2
        The order.
    keep_dims : bool, default False
        Keep the axes with length 1.
    epsilon : float, default 1e-12
        Accepted for compatibility. The slope at 0 is 0 without it.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.LpNorm(1)(dg.Tensor([[3.0, 4.0], [0.0, 0.0]])))
    [5. 0.]
    """

    __slots__ = ("axis", "epsilon", "keep_dims", "p")

    def __init__(self, axis: Any, p: float = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> None:
        self.axis = axis
        self.p = p
        self.keep_dims = keep_dims
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Tensor:
        x = floating("LpNorm", x)
        return _vector_norm(x, float(self.p), reduced_axes("LpNorm", self.axis, x), self.keep_dims)


# ------------------------------------------------------------------------------------------------------------ methods
# Tensor methods whose arguments come in another order than the function's, or whose result is another.


def _sum_method(
    x: Tensor, axis: Any = None, dtype: Any = None, keepdims: bool = False, **other: Any
) -> Tensor:
    if isinstance(dtype, bool):  # x.sum(axis, keepdim), the order of the function
        dtype, keepdims = None, dtype
    return sum(x, axis, keepdims, dtype=dtype, **other)


def _max_method(
    x: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False, **other: Any
) -> Any:
    if return_indices:
        return max(x, axis, keepdims, **other)
    if other:
        axis, keepdims = respell("max", other, axis=axis, keepdims=keepdims)
    return _extreme("max", _MAX, x, axis, keepdims)


def _min_method(
    x: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False, **other: Any
) -> Any:
    if return_indices:
        return min(x, axis, keepdims, **other)
    if other:
        axis, keepdims = respell("min", other, axis=axis, keepdims=keepdims)
    return _extreme("min", _MIN, x, axis, keepdims)


METHODS: dict[str, Any] = {
    "sum": _sum_method,
    "mean": mean,
    "max": _max_method,
    "min": _min_method,
    "amax": amax,
    "amin": amin,
    "prod": prod,
    "std": std,
    "var": var,
    "logsumexp": logsumexp,
    "norm": norm,
    "cumsum": cumsum,
    "argmax": argmax,
    "argmin": argmin,
    "all": all,
    "any": any,
    "count_nonzero": count_nonzero,
}
