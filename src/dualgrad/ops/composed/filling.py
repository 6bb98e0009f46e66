"""Tensors full of one number: of a given shape, or of the type of another tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from .._arguments import Primitive, integer, operand
from ..axes._joining import cat
from ..shape.creation import arange, full, ones, zeros
from ._classes import Derived

__all__ = ["FillV2", "Padding", "Range", "new_ones", "new_zeros", "padding", "range"]


def new_zeros(input: Any, size: Any, dtype: Any = None) -> Tensor:
    """Zeros of the type of another tensor.

    Parameters
    ----------
    input : Tensor
        Gives the type of the result.
    size : int or tuple of int
        The shape.
    dtype : type, optional
        Another type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.new_zeros(dg.Tensor([1, 2]), (3,)))
    [0 0 0]
    """
    return zeros(size, operand("new_zeros", input).dtype if dtype is None else dtype)


def new_ones(input: Any, size: Any, dtype: Any = None) -> Tensor:
    """Ones of the type of another tensor; arguments are as in `new_zeros`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.new_ones(dg.Tensor([1, 2]), (3,)))
    [1 1 1]
    """
    return ones(size, operand("new_ones", input).dtype if dtype is None else dtype)


class FillV2(Primitive):
    """A tensor full of one number: ``ops.FillV2()(shape, value)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.FillV2()((2,), dg.Tensor(3.0)))
    [3. 3.]
    """

    __slots__ = ()

    def __call__(self, shape: Any, value: Any) -> Tensor:
        number = operand("FillV2", value)
        return full(tuple(shape.tolist()) if isinstance(shape, Tensor) else shape, number, dtype=number.dtype)


def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Tensor:
    """Make a vector of numbers at equal steps, without the end: `arange` with all its arguments.

    Parameters
    ----------
    start, end, step : number or Tensor
        As in `arange`.
    maxlen : int, default 1000000
        The longest vector.

    Returns
    -------
    Tensor
        A vector.

    Raises
    ------
    ValueError
        If the step is 0, or the vector is longer than `maxlen`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.range(0, 6, 2))
    [0 2 4]
    """
    found = arange(start, end, step)
    if found.size > integer("range", "maxlen", maxlen):
        raise ValueError(f"range: {found.size} numbers; expected {maxlen} at most, the setting maxlen")
    return found


class Range(Derived, function=range, maxlen=1000000, call="start, limit, delta", example="""
>>> print(ops.Range()(dg.Tensor(0), dg.Tensor(6), dg.Tensor(2)))
[0 2 4]
"""):  # fmt: skip
    __slots__ = ()


def padding(x: Any, pad_dim_size: int = 8) -> Tensor:
    """Fill up the last axis, of length 1, with zeros behind its only element.

    Parameters
    ----------
    x : Tensor
        Shape (..., 1), at least two axes.
    pad_dim_size : int, default 8
        The length of the last axis of the result, 1 or more.

    Returns
    -------
    Tensor
        Shape (..., pad_dim_size).

    Raises
    ------
    ValueError
        For another shape or length.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.padding(dg.Tensor([[8.0], [9.0]]), 3))
    [[8. 0. 0.]
     [9. 0. 0.]]
    """
    x = operand("padding", x)
    length = integer("padding", "pad_dim_size", pad_dim_size)
    if x.ndim < 2 or x.shape[-1] != 1 or length < 1:
        raise ValueError(
            f"padding: x of shape {x.shape}, pad_dim_size {length}; expected two axes or more, the last of length 1, "
            "and a length of 1 or more"
        )
    return cat((x, zeros((*x.shape[:-1], length - 1), x.dtype)), -1)


class Padding(Derived, function=padding, pad_dim_size=8, example="""
>>> print(ops.Padding(3)(dg.Tensor([[8.0], [9.0]])))
[[8. 0. 0.]
 [9. 0. 0.]]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
