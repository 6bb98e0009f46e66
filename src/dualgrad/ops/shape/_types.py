"""The same elements of another type, and in a new tensor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import porting
from ..._engine.transforms import tensor as _engine
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import OP, Primitive, operand

__all__ = ["Cast", "Identity", "cast", "identity"]

_IDENTITY = OP["identity"]


def cast(x: Any, dtype: Any) -> Tensor:
    """Convert to another type; the derivative goes back in the type of `x`.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    dtype : type
        The new type: one of this library, its NumPy counterpart or name.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `dtype` is not a type of tensor elements.

    Warns
    -----
    numpy.exceptions.ComplexWarning
        If imaginary parts are dropped; `real` drops them without a warning.

    Notes
    -----
    Derivatives do not pass through integers: rounding has derivative 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.cast(dg.Tensor([1.5, 2.5]), dg.int32)
    Tensor(shape=[2], dtype=Int32, value= [1, 2])
    """
    return _converted("cast", operand("cast", x), dtype)


def _astype_method(x: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    return _converted("astype", x, dtype)


def _converted(name: str, x: Tensor, dtype: Any) -> Tensor:
    target = as_dtype(dtype, where=name)
    if x.dtype.is_complex and not (target.is_complex or target.is_bool):
        warnings.warn(
            f"{name}: the imaginary part is dropped on the way from {x.dtype} to {target}; use ops.real(x)",
            np.exceptions.ComplexWarning,
            stacklevel=3,
        )
    if porting.warned:
        porting.note_cast(name, x, target.is_int)
    return _engine.convert(x, target.num)


def identity(x: Any) -> Tensor:
    """Give the operand itself, as a new tensor.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.identity(dg.Tensor([1.0, 2.0])))
    [1. 2.]
    """
    return _engine.apply(_IDENTITY, None, operand("identity", x))


class Cast(Primitive, of=cast):
    __slots__ = ()

    def __call__(self, x: Any, dtype: Any) -> Tensor:
        return cast(x, dtype)


class Identity(Primitive, of=identity):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return identity(x)


METHODS: dict[str, Any] = {"astype": _astype_method}
