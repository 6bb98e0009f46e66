"""Effects: assignment, their order, printing; and functions of Python values.

`assign` and its kin point the handle of a Parameter or of another tensor at a new value. Values are immutable, so a
derivative that has yet to read the old value still does. The new value of a Parameter is a constant; other tensors
carry derivatives, as in their methods in place (``x.add_(y)``).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.handles import one_step
from .._settings import number_or_tensor
from ..parameter import Parameter
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._arguments import Primitive, operand
from .index.indexing import rewritten

__all__ = [
    "Assign", "AssignAdd", "AssignSub", "Depend", "Print", "assign", "assign_add", "assign_sub", "constexpr", "depend",
    "print_",
]  # fmt: skip


def assign(variable: Any, value: Any) -> Tensor:
    """Replace the value of a Parameter, or of another tensor.

    Parameters
    ----------
    variable : Parameter or Tensor
        The variable to change.
    value : Tensor, array or number
        Of the same shape; it is cast to the type of `variable`.

    Returns
    -------
    Parameter or Tensor
        `variable` itself.

    Raises
    ------
    TypeError
        If `variable` is not a tensor, or its type cannot hold the value.
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w = dg.Parameter([1.0, 2.0], name="w")
    >>> print(ops.assign(w, dg.Tensor([3.0, 4.0])).asnumpy())
    [3. 4.]
    """
    if isinstance(variable, Parameter):
        return variable.set_data(value)
    return _written("assign", variable, lambda x: operand("assign", value))


def assign_add(variable: Any, value: Any) -> Tensor:
    """Add to the value of a Parameter or of another tensor, in place.

    Parameters
    ----------
    variable : Parameter or Tensor
        The variable to change.
    value : Tensor, array or number
        The summand.

    Returns
    -------
    Parameter or Tensor
        `variable` itself.

    Raises
    ------
    TypeError
        If `variable` is not a tensor, or its type cannot hold the sum.
    ValueError
        If the sum has another shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w = dg.Parameter([1.0, 2.0], name="w")
    >>> print(ops.assign_add(w, 10.0).asnumpy())
    [11. 12.]
    """
    value = number_or_tensor("assign_add", "value", value)
    if isinstance(variable, Parameter):
        return variable.set_data(variable._detached() + stop_gradient(value))
    return _written("assign_add", variable, lambda x: x + value)


def assign_sub(variable: Any, value: Any) -> Tensor:
    """Subtract from the value of a Parameter or of another tensor, in place.

    Parameters
    ----------
    variable : Parameter or Tensor
        The variable to change.
    value : Tensor, array or number
        The number to subtract.

    Returns
    -------
    Parameter or Tensor
        `variable` itself.

    Raises
    ------
    TypeError
        If `variable` is not a tensor, or its type cannot hold the difference.
    ValueError
        If the difference has another shape.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w = dg.Parameter([1.0, 2.0], name="w")
    >>> print(ops.assign_sub(w, dg.Tensor([1.0, 1.0])).asnumpy())
    [0. 1.]
    """
    value = number_or_tensor("assign_sub", "value", value)
    if isinstance(variable, Parameter):
        return variable.set_data(variable._detached() - stop_gradient(value))
    return _written("assign_sub", variable, lambda x: x - value)


def _written(name: str, variable: Any, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace the value of a tensor that is not a Parameter by `change` of it."""
    if not isinstance(variable, Tensor):
        raise TypeError(f"{name}: the variable is a {type(variable).__name__}; expected a Parameter or another Tensor")
    with one_step(variable):
        new = change(variable)
        if new.shape != variable.shape:
            raise ValueError(
                f"{name}: the variable has shape {variable.shape}, its new value {new.shape}; expected one shape"
            )
        if not np.can_cast(new.dtype.numpy, variable.dtype.numpy, "same_kind"):
            raise TypeError(
                f"{name}: the variable is {variable.dtype}, which cannot hold {new.dtype} values; cast them first if "
                "the loss is meant"
            )
        return rewritten(name, variable, new if new.dtype is variable.dtype else new.astype(variable.dtype))


class Assign(Primitive, of=assign):
    __slots__ = ()

    def __call__(self, variable: Any, value: Any) -> Tensor:
        return assign(variable, value)


class AssignAdd(Primitive, of=assign_add):
    __slots__ = ()

    def __call__(self, variable: Any, value: Any) -> Tensor:
        return assign_add(variable, value)


class AssignSub(Primitive, of=assign_sub):
    __slots__ = ()

    def __call__(self, variable: Any, value: Any) -> Tensor:
        return assign_sub(variable, value)


def depend(value: Any, expr: Any) -> Any:
    """Return the first argument, after the second has been computed.

    Parameters
    ----------
    value
        The result.
    expr
        Another value that has to be computed first: an effect as argument has run before the call.

    Returns
    -------
    object
        `value` itself.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> w = dg.Parameter([1.0], name="w")
    >>> print(ops.depend(dg.Tensor([5.0]), ops.assign(w, [2.0])))
    [5.]
    """
    return value


class Depend(Primitive, of=depend):
    __slots__ = ()

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


def print_(*input_x: Any) -> None:
    """Print each argument on a line of its own, tensors with shape and type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.print_("x", dg.Tensor([1, 2]))
    x
    Tensor(shape=[2], dtype=Int64, value= [1, 2])
    """
    for item in input_x:
        builtins.print(item if isinstance(item, str) else repr(item))


class Print(Primitive, of=print_):
    __slots__ = ()

    def __call__(self, *input_x: Any) -> None:
        print_(*input_x)


def constexpr(fn: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """Mark a function of Python values; here it is the function itself.

    Parameters
    ----------
    fn : callable, optional
        The function. Without it the result is a decorator.
    **settings
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable

    Examples
    --------
    >>> from dualgrad import ops
    >>> @ops.constexpr
    ... def half(shape):
    ...     return tuple(n // 2 for n in shape)
    >>> half((4, 6))
    (2, 3)
    """
    if fn is None:
        return lambda function: function
    if not callable(fn):
        raise TypeError(f"constexpr: expected a function, got {type(fn).__name__}")
    return fn


METHODS: dict[str, Callable[..., Any]] = {}
