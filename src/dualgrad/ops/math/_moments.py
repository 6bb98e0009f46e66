"""Means, variances and standard deviations over axes.

They are sums divided by a count, so derivatives of every order follow. A standard deviation is a root. Where it is 0
the derivative of the root is infinite, but the variance below it does not move to first order, and zero absorbs. So the
derivative is 0 there, not nan; a second derivative does not exist.
"""

from __future__ import annotations

from typing import Any

from ... import dtype as _dtype
from ... import porting
from ..._engine.transforms import tensor as _engine
from ..._settings import real_number
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    OP,
    Reduction,
    floating,
    operand,
    reduced_axes,
    reduced_count,
    respell,
    to_shape,
    total,
)
from .complex import squared_magnitude

__all__ = ["ReduceMean", "mean", "std", "std_mean", "var", "var_mean"]

_DIV, _SQRT = OP["div"], OP["sqrt"]


def mean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **other: Any) -> Tensor:
    """Arithmetic mean over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes to average over; None and () stand for all axes. Also spelled `dim`.
    keepdims : bool, default False
        Keep the axes with length 1. Also spelled `keepdim` or `keep_dims`.
    dtype : type, optional
        Convert `x` to this type before summing.

    Returns
    -------
    Tensor
        Type of `x`; Float32 for integers and bools. nan for an average of no elements.

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
    if porting.warned:
        porting.note_mean(x)
    x = floating("mean", x)
    return _average(x, reduced_axes("mean", axis, x), keepdims)


def _average(x: Tensor, axes: tuple[int, ...], keepdims: bool, less: float = 0) -> Tensor:
    """The sum over axes divided by the number of elements minus `less`."""
    if x._typenum == _dtype.float16.num:  # the mean may fit into float16 where sum and count do not
        wide = _average(_engine.convert(x, _dtype.float32.num), axes, keepdims, less)
        return _engine.convert(wide, _dtype.float16.num)
    return _engine.binary_op(
        _DIV, total(x, axes, keepdims), float(max(reduced_count(x, axes) - real_number("var", "ddof", less), 0))
    )


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Variance over axes.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int or tuple of int, optional
        The axes to reduce; None and () stand for all axes. Also spelled `dim`.
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
    return _variance_and_mean("var", x, axis, ddof, keepdims)[0]


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> Tensor:
    """Standard deviation over axes: the square root of `var`, with derivative 0 where it is 0.

    Parameters, result and errors are as in `var`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.std(dg.Tensor([[1.0, 3.0], [2.0, 8.0]]), 1))
    [1. 3.]
    """
    if other:
        axis, keepdims = respell("std", other, axis=axis, keepdims=keepdims)
    return _engine.unary(_SQRT, _variance_and_mean("std", x, axis, ddof, keepdims)[0])


def std_mean(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over axes.

    Parameters, results and errors are as in `var` and `mean`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> spread, middle = ops.std_mean(dg.Tensor([[1.0, 3.0], [2.0, 8.0]]), 1)
    >>> print(spread, middle)
    [1. 3.] [2. 5.]
    """
    if other:
        axis, keepdims = respell("std_mean", other, axis=axis, keepdims=keepdims)
    variance, average = _variance_and_mean("std_mean", x, axis, ddof, keepdims)
    return _engine.unary(_SQRT, variance), to_shape(average, variance.shape)


def var_mean(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **other: Any) -> tuple[Tensor, Tensor]:
    """Variance and mean over axes.

    Parameters, results and errors are as in `var` and `mean`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> spread, middle = ops.var_mean(dg.Tensor([[1.0, 3.0], [2.0, 8.0]]), 1)
    >>> print(spread, middle)
    [1. 9.] [2. 5.]
    """
    if other:
        axis, keepdims = respell("var_mean", other, axis=axis, keepdims=keepdims)
    variance, average = _variance_and_mean("var_mean", x, axis, ddof, keepdims)
    return variance, to_shape(average, variance.shape)


def _variance_and_mean(name: str, x: Any, axis: Any, ddof: float, keepdims: bool) -> tuple[Tensor, Tensor]:
    """The variance, and the mean with its axes kept."""
    x = floating(name, x)
    axes = reduced_axes(name, axis, x)
    average = _average(x, axes, True)
    return _average(squared_magnitude(x - average), axes, keepdims, ddof), average


class ReduceMean(Reduction, of=mean):
    __slots__ = ()

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return mean(x, axis, self.keep_dims)


METHODS: dict[str, Any] = {"mean": mean, "std": std, "var": var}
