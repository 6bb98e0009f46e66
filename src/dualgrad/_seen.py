"""Handles that show Parameters and tensors in another type to code that computes in that type.

The stored number keeps its type. Derivatives pass the cast, so a gradient comes back in the stored type. Each read
makes a new handle, at the level that is open then. Assigning to a handle of a Parameter changes the stored number. A
write that would start from rounded numbers is refused.
"""

from __future__ import annotations

import copy
import threading
from typing import Any, NoReturn, SupportsIndex

from ._dtypes import DType
from ._engine.transforms.handles import TensorBase
from .parameter import Parameter
from .tensor import Tensor

__all__ = ["SeenParameter", "SeenTensor", "cast_of", "refuse_seen", "seen", "stored"]

# By the id of each living handle of a Parameter: the id of the Parameter, the thread, and a text for errors.
_LIVING: dict[int, tuple[int, int, str]] = {}


def cast_of(x: Tensor, dtype: DType) -> Tensor:
    """Convert a floating tensor to a type; tensors of other kinds stay."""
    return x.astype(dtype) if x.dtype.is_float and x.dtype is not dtype else x


def seen(x: Tensor, dtype: DType) -> Tensor:
    """Show a stored floating tensor in a type. Returns `x` itself if it has that type or is not floating."""
    if not x.dtype.is_float or x.dtype is dtype:
        return x
    kind: type[Tensor] = SeenParameter if isinstance(x, Parameter) else SeenTensor
    handle: Any = kind.__new__(kind)
    Tensor._rebind(handle, x.astype(dtype))
    handle._stored = x
    if isinstance(x, Parameter):
        handle.__dict__ = x.__dict__  # one name, one `requires_grad`
        handle._is_parameter = True
        _LIVING[id(handle)] = id(stored(x)), threading.get_ident(), f"'{x.name}' was read as {dtype}"
    return handle


def stored(x: Any) -> Any:
    """The stored object behind a handle; any other object is returned as it is."""
    while isinstance(x, SeenParameter | SeenTensor):
        x = x._stored
    return x


class SeenTensor(Tensor):
    """A handle that shows a tensor in another type than its stored one."""

    __slots__ = ("_stored",)

    _stored: Tensor

    def _rebind(self, other: TensorBase) -> NoReturn:
        raise RuntimeError(
            f"a tensor of type {self._stored.dtype} is changed in place inside of a Cell that computes in {self.dtype} "
            "(to_float), where it is a copy; expected a new tensor, assigned to the attribute that holds it"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        self._rebind(self)


class SeenParameter(Parameter):
    """A handle that shows a Parameter in another type than its stored one."""

    __slots__ = ("_stored",)

    _stored: Parameter

    def __del__(self) -> None:
        _LIVING.pop(id(self), None)

    def _rebind(self, other: TensorBase) -> NoReturn:
        raise RuntimeError(
            f"Parameter '{self.name}' of type {self._stored.dtype} is changed in place inside of a Cell that computes "
            f"in {self.dtype} (to_float), where its numbers are rounded; expected ops.assign, ops.assign_add, "
            "ops.assign_sub or set_data, which change the stored numbers"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        self._rebind(self)

    def _detached(self) -> Tensor:
        """The stored number, unrounded: the next assigned value may be computed from it."""
        return self._stored._detached()

    def set_data(self, data: Any) -> Parameter:
        self._stored.set_data(data)
        Tensor._rebind(self, self._stored.astype(self.dtype))
        return self

    def clone(self, init: Any = "same") -> Parameter:
        return self._stored.clone(init)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return self._stored.__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return copy.deepcopy(self._stored, memo)


def refuse_seen(name: str, weights: list[Parameter]) -> None:
    """Raise if a gradient by a Parameter would miss a living handle that was cast earlier.

    Such a handle comes from outside the differentiated function: the gradient through it would be 0.
    """
    if not _LIVING:
        return
    thread, wanted = threading.get_ident(), {id(stored(p)) for p in weights}
    for parameter, reader, text in list(_LIVING.values()):
        if reader == thread and parameter in wanted:
            raise RuntimeError(
                f"{name}: a weight may have its gradient lost: Parameter {text} before, inside of a Cell that computes "
                "in that type (to_float); expected weights that a ParameterTuple or trainable_params() gives, and "
                "attributes that the differentiated function reads by itself"
            )
