"""Make tensors: filled with a number, or with steps.

New tensors are constants of every level. In `full`, `full_like`, `fill` and `linspace` a value or a limit may be a
tensor; it is broadcast, and derivatives go to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._dtypes import default_float
from ..._engine.transforms import tensor as _engine
from ..._engine.transforms.handles import carried
from ..._settings import real_number
from ...dtype import DType, as_dtype
from ...tensor import Tensor
from .._arguments import IS_FLOAT, Primitive, expanded, integer, new_shape, operand, type_or

__all__ = [
    "Eps", "Eye", "Fill", "LinSpace", "Ones", "OnesLike", "Zeros", "ZerosLike", "arange", "eps", "eye", "fill", "full",
    "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def _constant(array: np.ndarray) -> Tensor:
    """Make a tensor on an array that nothing else holds."""
    return Tensor._owning(array)


def zeros(size: Any, dtype: Any = None) -> Tensor:
    """Make a tensor of zeros.

    Parameters
    ----------
    size : int or tuple of int
        The shape.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the shape is not made of ints, or `dtype` is not a type of tensor elements.
    ValueError
        If a length is negative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.zeros((2, 3)))
    [[0. 0. 0.]
     [0. 0. 0.]]
    """
    return _constant(np.zeros(new_shape("zeros", size), type_or("zeros", dtype, default_float()).numpy))


def ones(size: Any, dtype: Any = None) -> Tensor:
    """Make a tensor of ones; arguments and errors are as in `zeros`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.ones(3))
    [1. 1. 1.]
    """
    return _constant(np.ones(new_shape("ones", size), type_or("ones", dtype, default_float()).numpy))


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """Make a tensor with the same number everywhere.

    Parameters
    ----------
    size : int or tuple of int
        The shape.
    fill_value : number or Tensor
        The number; a tensor of it is broadcast, and derivatives go to it.
    dtype : type, optional
        The type; by default the type of the number (Float32, Int64 or Bool for Python's).

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the shape is not made of ints, or `dtype` is not a type of tensor elements.
    ValueError
        If a length is negative, or the value does not broadcast to the shape.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.full((2, 2), 0.5))
    [[0.5 0.5]
     [0.5 0.5]]
    """
    return _filled(
        "full", new_shape("full", size), fill_value, None if dtype is None else as_dtype(dtype, where="full")
    )


def _filled(name: str, shape: tuple[int, ...], value: Any, dtype: DType | None) -> Tensor:
    if isinstance(value, Tensor | np.ndarray):
        x = operand(name, value)
        if dtype is not None:
            x = _engine.convert(x, dtype.num)
        lead = len(shape) - x.ndim
        if lead < 0 or any(m not in (1, n) for m, n in zip(x.shape, shape[lead:], strict=True)):
            raise ValueError(f"{name}: a value of shape {x.shape} does not broadcast to {shape}")
        return expanded(x, shape)
    if not isinstance(value, bool | int | float | complex | np.generic):
        raise TypeError(f"{name}: the value must be a number or a Tensor, got {type(value).__name__}")
    try:
        return _constant(np.full(shape, value, (dtype or Tensor(value).dtype).numpy))
    except OverflowError:
        raise ValueError(f"{name}: the value {value} does not fit {dtype}; give another type") from None


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns, as many as rows by default.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the numbers are not ints.
    ValueError
        If a number is negative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.eye(2, 3))
    [[1. 0. 0.]
     [0. 1. 0.]]
    """
    rows, columns = new_shape("eye", (n, n if m is None else m))
    return _constant(np.eye(rows, columns, dtype=type_or("eye", dtype, default_float()).numpy))


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Make a vector of numbers at equal steps, the end left out.

    Parameters
    ----------
    start : number or Tensor, default 0
        The first number; the end if it is the only argument.
    end : number or Tensor, optional
        The end of the numbers.
    step : number or Tensor, default 1
        The distance of neighbours. Derivatives go to a start and a step that are tensors; the number of elements is a
        constant.
    dtype : type, optional
        The type; Int64 for ints and Float32 for floats by default.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the step is 0.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.arange(4), ops.arange(1.0, 2.0, 0.25))
    [0 1 2 3] [1.   1.25 1.5  1.75]
    """
    if end is None:
        start, end = 0, start
    numbers = [real_number("arange", "an end or the step", x) for x in (start, end, step)]
    numbers = [x.item() if isinstance(x, Tensor | np.ndarray | np.generic) else x for x in numbers]
    if numbers[2] == 0:
        raise ValueError("arange: the step is 0; expected a positive or negative number")
    inexact = any(isinstance(x, float) for x in numbers)
    target = type_or("arange", dtype, default_float() if inexact else _dtype.int64)
    if not abs(numbers[1] - numbers[0]) < abs(numbers[2]) * (1 << 58):
        raise ValueError(
            f"arange: from {start} to {end} by {step}; expected finite numbers, fewer than memory can hold"
        )
    places = np.arange(*numbers)
    if any(isinstance(x, Tensor) and carried(x) is not None for x in (start, step)):
        typenum = _engine.common_type(start, step)
        count = _engine.convert(np.arange(places.size), typenum)
        found = _engine.convert(start, typenum) + _engine.convert(step, typenum) * count
        return found if dtype is None else _engine.convert(found, target.num)
    return _constant(places.astype(target.numpy))


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Tensor:
    """Make a vector of numbers at equal distances, including both ends.

    Parameters
    ----------
    start, end : number or Tensor
        The first and the last number; derivatives go to tensors.
    steps : int
        The number of elements.
    dtype : type, optional
        The type; by default Float32, or the type of a tensor `start` or `end`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `steps` is negative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    (count,) = new_shape("linspace", integer("linspace", "steps", steps))
    for end_point in (start, end):
        if operand("linspace", end_point).ndim:
            raise ValueError(f"linspace: an end has shape {end_point.shape}; expected a single number")
    if not isinstance(start, Tensor) and not isinstance(end, Tensor):
        target = type_or("linspace", dtype, default_float())
        return _constant(np.linspace(start, end, count).astype(target.numpy))
    typenum = _engine.common_type(start, end)
    if typenum not in IS_FLOAT:
        typenum = default_float().num
    weights = _engine.convert(np.linspace(0.0, 1.0, count), typenum)
    found = _engine.convert(start, typenum) * (1 - weights) + _engine.convert(end, typenum) * weights
    return found if dtype is None else _engine.convert(found, as_dtype(dtype, where="linspace").num)


def zeros_like(x: Any, *, dtype: Any = None) -> Tensor:
    """Make zeros of the shape of a tensor.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    dtype : type, optional
        The type, by default the type of `x`.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` is not a tensor, or `dtype` is not a type of tensor elements.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.zeros_like(dg.Tensor([1.0, 2.0])))
    [0. 0.]
    """
    x = operand("zeros_like", x)
    return _constant(np.zeros(x.shape, type_or("zeros_like", dtype, x.dtype).numpy))


def ones_like(x: Any, *, dtype: Any = None) -> Tensor:
    """Make ones of the shape of a tensor; arguments and errors are as in `zeros_like`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ones_like(dg.Tensor([1.0, 2.0])))
    [1. 1.]
    """
    x = operand("ones_like", x)
    return _constant(np.ones(x.shape, type_or("ones_like", dtype, x.dtype).numpy))


def full_like(x: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """Make a tensor of the shape of another with the same number everywhere.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    fill_value : number or Tensor
        The number; a tensor of it is broadcast, and derivatives go to it.
    dtype : type, optional
        The type, by default the type of `x`.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` is not a tensor, or `dtype` is not a type of tensor elements.
    ValueError
        If the value does not broadcast to the shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.full_like(dg.Tensor([1.0, 2.0]), 7))
    [7. 7.]
    """
    x = operand("full_like", x)
    return _filled("full_like", x.shape, fill_value, type_or("full_like", dtype, x.dtype))


def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """Make a tensor with the same number everywhere; `full` with its arguments in another order.

    Parameters
    ----------
    type : type
        The type of the elements.
    shape : int or tuple of int
        The shape.
    value : number or Tensor
        The number; a tensor of it is broadcast, and derivatives go to it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fill(dg.float32, (2,), 0.5))
    [0.5 0.5]
    """
    return _filled("fill", new_shape("fill", shape), value, as_dtype(type, where="fill"))


class Zeros(Primitive):
    """Zeros; see `zeros`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Zeros()((2,), dg.float32))
    [0. 0.]
    """

    __slots__ = ()

    def __call__(self, shape: Any, dtype: Any) -> Tensor:
        return zeros(shape, dtype)


class Ones(Primitive):
    """Ones; see `ones`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Ones()((2,), dg.float32))
    [1. 1.]
    """

    __slots__ = ()

    def __call__(self, shape: Any, dtype: Any) -> Tensor:
        return ones(shape, dtype)


class Eye(Primitive):
    """Ones on the diagonal of a matrix; see `eye`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Eye()(2, 3, dg.float32).shape
    (2, 3)
    """

    __slots__ = ()

    def __call__(self, n: int, m: int, dtype: Any) -> Tensor:
        return eye(n, m, dtype)


def eps(x: Any) -> Tensor:
    """Make a tensor of the shape and type of another that holds the distance from 1 to the next number.

    Parameters
    ----------
    x : Tensor
        Of floats. Its values do not matter.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` does not hold real floats.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.ops.eps(dg.Tensor([4.0, 1.0])))
    [1.1920929e-07 1.1920929e-07]
    """
    x = operand("eps", x)
    if x._typenum not in IS_FLOAT or x.dtype in (_dtype.complex64, _dtype.complex128):
        raise TypeError(f"eps: expected a tensor of floats, got {x.dtype}")
    return full_like(x, np.finfo(x.dtype.numpy).eps)


class Eps(Primitive, of=eps):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return eps(x)


class Fill(Primitive, of=fill):
    __slots__ = ()

    def __call__(self, type: Any, shape: Any, value: Any) -> Tensor:
        return fill(type, shape, value)


class LinSpace(Primitive, of=linspace):
    __slots__ = ()

    def __call__(self, start: Any, stop: Any, num: int) -> Tensor:
        return linspace(start, stop, num)


class ZerosLike(Primitive, of=zeros_like):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return zeros_like(x)


class OnesLike(Primitive, of=ones_like):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return ones_like(x)


METHODS: dict[str, Any] = {}
