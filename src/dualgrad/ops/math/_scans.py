"""Running sums, products, logarithms of sums, and extremes along an axis.

The sum is a primitive. Products and logarithms combine prefixes pairwise (`_prefixes.py`): nothing is divided or
subtracted, so zeros among factors and elements of very different size are exact in every derivative. Running extremes
find positions first, without derivatives, and read the elements there. So the derivative goes to the place of each
value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, integer, kept, one_axis, operand, respell, to_shape
from ..axes._joining import cat
from ..axes._prefixes import Elements, every, prefixes
from ..axes._turning import flip
from ..index.choice import where
from ..index.gather import gather_elements

__all__ = [
    "CumProd", "CumSum", "Cummax", "Cummin", "cummax", "cummin", "cumprod", "cumsum", "logcumsumexp",
]  # fmt: skip

_CUMSUM, _GE, _LE, _ISINF, _ISNAN = OP["cumsum"], OP["ge"], OP["le"], OP["isinf"], OP["isnan"]
_LOGADDEXP, _MAXIMUM = OP["logaddexp"], OP["maximum"]


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
    return _engine.apply(_CUMSUM, (one_axis("cumsum", axis, x.shape), bool(reverse)), x)


def cumprod(x: Any, axis: Any = None, dtype: Any = None, **other: Any) -> Tensor:
    """Running products along an axis; derivatives are exact where factors are 0, too.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int, optional
        The axis to multiply along; None stands for all elements in order. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        Shape of `x` (one axis where `axis` is None) and type of `x` (Int64 for integers and bools).

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cumprod(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 1))
    [[  1.   2.   6.]
     [  4.  20. 120.]]
    >>> print(dg.grad(lambda x: ops.cumprod(x, 0))(dg.Tensor([0.0, 2.0, 3.0])))
    [9. 0. 0.]
    """
    if other:
        axis = respell("cumprod", other, axis=axis)
    x = operand("cumprod", x)
    if dtype is not None:
        x = _engine.convert(x, as_dtype(dtype, where="cumprod").num)
    elif x.dtype.is_int:
        x = _engine.convert(x, _dtype.int64.num)
    return _running_product("cumprod", x, axis)


def _running_product(name: str, x: Tensor, axis: Any) -> Tensor:
    if x.dtype.is_bool:
        x = _engine.convert(x, _dtype.int64.num)
    if axis is None:
        axis, x = 0, to_shape(x, (x.size,))
    return +prefixes(lambda a, b: (a[0] * b[0],), (x,), one_axis(name, axis, x.shape))[0]


def logcumsumexp(x: Any, axis: Any = None, **other: Any) -> Tensor:
    """Logarithms of running sums of exponentials along an axis, without overflow or loss.

    Parameters
    ----------
    x : Tensor
        Any shape and type; integers become float32.
    axis : int
        The axis. Also spelled `dim`.

    Returns
    -------
    Tensor
        Shape of `x`: element k is log(exp(x[0]) + ... + exp(x[k])). Where only -inf has been added it is -inf, and
        derivatives that enter a sum of such elements are 0.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    TypeError
        If `axis` is missing.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logcumsumexp(dg.Tensor([1000.0, 1000.0, -1000.0]), 0))
    [1000.     1000.6932 1000.6932]
    """
    if other:
        axis = respell("logcumsumexp", other, axis=axis)
    x = floating("logcumsumexp", x)
    return +prefixes(_log_of_sum, (x,), one_axis("logcumsumexp", axis, x.shape))[0]


def _log_of_sum(a: Elements, b: Elements) -> Elements:
    """log(exp(a) + exp(b)); constant where it is infinite, so a sum over nothing has derivative 0."""
    (x,), (y,) = a, b
    larger = _engine.stop(_engine.binary_op(_MAXIMUM, x, y))
    return (where(_engine.unary(_ISINF, larger), larger, _engine.binary_op(_LOGADDEXP, x, y)),)


def cummax(x: Any, axis: Any = None, **other: Any) -> tuple[Tensor, Tensor]:
    """Largest elements so far along an axis, and their positions.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    axis : int
        The axis. Also spelled `dim`.

    Returns
    -------
    values : Tensor
        Shape and type of `x`; nan from the first nan on. Derivatives go to the place of each value.
    indices : Tensor
        Its position along the axis, Int64: of equal elements the last.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    TypeError
        If `axis` is missing.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.cummax(dg.Tensor([1.0, 3.0, 2.0, 3.0, 4.0]), 0)
    >>> print(values, indices)
    [1. 3. 3. 3. 4.] [0 1 1 3 4]
    """
    if other:
        axis = respell("cummax", other, axis=axis)
    return _running_extreme("cummax", _GE, x, axis)


def cummin(x: Any, axis: Any = None, **other: Any) -> tuple[Tensor, Tensor]:
    """Smallest elements so far along an axis, and their positions.

    Parameters, results and errors are as in `cummax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> values, indices = ops.cummin(dg.Tensor([2.0, 3.0, 1.0, 4.0]), 0)
    >>> print(values, indices)
    [2. 2. 1. 1.] [0 0 2 2]
    """
    if other:
        axis = respell("cummin", other, axis=axis)
    return _running_extreme("cummin", _LE, x, axis)


def _running_extreme(name: str, replaces: int, x: Any, axis: Any) -> tuple[Tensor, Tensor]:
    """Running extremes: a later element replaces an earlier one where the comparison `replaces` holds."""
    x = operand(name, x)
    axis = one_axis(name, axis, x.shape)
    n = x.shape[axis]
    number = _engine.stop(x)
    ruler = np.arange(n).reshape([n if k == axis else 1 for k in range(x.ndim)])
    places = Tensor(np.broadcast_to(ruler, x.shape))

    def better(a: Elements, b: Elements) -> Elements:
        (i, u), (j, v) = a, b
        later = (_engine.binary_op(replaces, v, u) | _engine.unary(_ISNAN, v)) & ~_engine.unary(_ISNAN, u)
        return where(later, j, i), where(later, v, u)

    indices, _ = prefixes(better, (places, number), axis)
    return gather_elements(x, axis, indices), +indices


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
        self.exclusive: bool = exclusive
        self.reverse: bool = reverse

    def __call__(self, x: Any, axis: Any) -> Tensor:
        x = operand("CumSum", x)
        axis = one_axis("CumSum", axis, x.shape)
        sums = _running_sum(x, axis, self.reverse)
        return _shifted(sums, axis, self.reverse, 0) if self.exclusive else sums


def _shifted(x: Tensor, axis: int, reverse: bool, start: float) -> Tensor:
    """Shift running results by one place: each leaves out its own element without a subtraction or division."""
    n = x.shape[axis]
    if n == 0:
        return x
    first = Tensor(np.full(kept(x.shape, (axis,)), start, x.dtype.numpy))
    return cat((every(x, axis, 1, n - 1), first) if reverse else (first, every(x, axis, 0, n - 1)), axis)


class CumProd(Primitive):
    """Running products along an axis; see `cumprod`.

    Parameters
    ----------
    exclusive : bool, default False
        Leave the element itself out of its product, so that the first product is 1.
    reverse : bool, default False
        Multiply from the end.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> print(ops.CumProd()(x, 0), ops.CumProd(exclusive=True)(x, 0), ops.CumProd(reverse=True)(x, 0))
    [1. 2. 6.] [1. 1. 2.] [6. 6. 3.]
    """

    __slots__ = ("exclusive", "reverse")

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        self.exclusive: bool = exclusive
        self.reverse: bool = reverse

    def __call__(self, x: Any, axis: Any) -> Tensor:
        x = operand("CumProd", x)
        axis = one_axis("CumProd", axis, x.shape)
        if self.reverse:
            products = flip(_running_product("CumProd", flip(x, axis), axis), axis)
        else:
            products = _running_product("CumProd", x, axis)
        return _shifted(products, axis, self.reverse, 1) if self.exclusive else products


class Cummax(Primitive):
    """Largest elements so far, and their positions; see `cummax`.

    Parameters
    ----------
    axis : int
        The axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Cummax(0)(dg.Tensor([1.0, 3.0, 2.0]))[0])
    [1. 3. 3.]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis: int = integer(type(self).__name__, "axis", axis)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return _running_extreme("Cummax", _GE, x, self.axis)


class Cummin(Cummax):
    """Smallest elements so far, and their positions; settings as `Cummax`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Cummin(0)(dg.Tensor([2.0, 3.0, 1.0]))[0])
    [2. 2. 1.]
    """

    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return _running_extreme("Cummin", _LE, x, self.axis)


METHODS: dict[str, Any] = {
    "cumsum": cumsum,
    "cumprod": cumprod,
    "logcumsumexp": logcumsumexp,
    "cummax": cummax,
    "cummin": cummin,
}
