"""Tensors full of one number: of a shape, or of the type of another tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from .._arguments import Primitive, operand
from ..shape.creation import full, ones, zeros

__all__ = ["FillV2", "new_ones", "new_zeros"]


def new_zeros(input: Any, size: Any, dtype: Any = None) -> Tensor:
    """Zeros of the type of another tensor.

    Parameters
    ----------
    input : Tensor
        Whose type the result has.
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
    """Ones of the type of another tensor; arguments are those of `new_zeros`.

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


METHODS: dict[str, Callable[..., Any]] = {}
