"""Python numbers and tuples made into tensors, under the names that ported code uses."""

from __future__ import annotations

from typing import Any

from ... import dtype as _dtype
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import Primitive

__all__ = ["ScalarToTensor", "TupleToArray", "scalar_to_tensor", "tuple_to_array"]


def scalar_to_tensor(input_x: Any, dtype: Any = _dtype.float32) -> Tensor:
    """Make a 0-d tensor of a Python number.

    Parameters
    ----------
    input_x : bool, int or float
        The number.
    dtype : type, default float32
        The type of the tensor.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `input_x` is not a number.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.scalar_to_tensor(3)
    Tensor(shape=[], dtype=Float32, value= 3)
    """
    if not isinstance(input_x, bool | int | float):
        raise TypeError(f"scalar_to_tensor: expected a Python number, got {type(input_x).__name__}")
    return Tensor(input_x, as_dtype(dtype, where="scalar_to_tensor"))


def tuple_to_array(input_x: Any) -> Tensor:
    """Make a 1-d tensor of a tuple of Python numbers, Float32 if there is a float among them, else Int64.

    Parameters
    ----------
    input_x : tuple of numbers
        Ints, floats and bools.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `input_x` is not a tuple, is empty, or holds something else than numbers.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.tuple_to_array((1.0, 2.5)))
    [1.  2.5]
    """
    if not isinstance(input_x, tuple) or not input_x or not all(isinstance(x, int | float) for x in input_x):
        raise TypeError(f"tuple_to_array: expected a tuple of Python numbers, got {input_x!r:.60}")
    return Tensor(input_x)


class ScalarToTensor(Primitive, of=scalar_to_tensor):
    __slots__ = ()

    def __call__(self, input_x: Any, dtype: Any = _dtype.float32) -> Tensor:
        return scalar_to_tensor(input_x, dtype)


class TupleToArray(Primitive, of=tuple_to_array):
    __slots__ = ()

    def __call__(self, input_x: Any) -> Tensor:
        return tuple_to_array(input_x)


METHODS: dict[str, Any] = {}
