"""Private functions of MindSpore that ported programs import nevertheless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.context import set_context
from dualgrad.tensor import Tensor
from dualgrad.train.callback import Callback

__all__ = [
    "CHECK_BPROP",
    "Identity",
    "StepSync",
    "as_tuple",
    "cell_attr_register",
    "is_unknown",
    "keep_dataset",
    "launch_blocking",
    "primitive_of",
    "raise_type_error",
    "raise_value_error",
    "tensors_of",
]

_NARROW = {mstype.float64: mstype.float32, mstype.int64: mstype.int32}

# MindSpore's setting to check the result of `bprop`. It has no effect: the result is always checked.
CHECK_BPROP = ""


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Return the constructor of a Cell unchanged, since nothing is compiled; without it return a decorator."""
    return fn if callable(fn) else lambda function: function


def tensors_of(*args: Any) -> Any:
    """Convert each argument to a tensor; Python numbers get 32 bits. A single argument gives a tensor, not a tuple."""
    found = []
    for arg in args:
        if not isinstance(arg, Tensor | int | float | list | tuple):
            raise TypeError(f"_to_tensor: got {type(arg).__name__}; expected a Tensor, a number, or a list of them")
        tensor = arg if isinstance(arg, Tensor) else Tensor(arg)
        found.append(tensor if isinstance(arg, Tensor) else tensor.astype(_NARROW.get(tensor.dtype, tensor.dtype)))
    return found[0] if len(found) == 1 else tuple(found)


def primitive_of(cls: type) -> Callable[..., Any]:
    """Return the class itself: making primitives is so fast that none is kept."""
    return cls


def as_tuple(inputs: Any) -> Any:
    """Put a tensor into a tuple; return anything else unchanged."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


def is_unknown(value: Any) -> bool:
    """Return False: lengths and values are always known here."""
    return False


def keep_dataset(dataset: Any) -> None:
    """Do nothing: devices do not fail here, so no training restarts with the same data."""


def launch_blocking() -> None:
    """Have each call compute its result at once."""
    set_context(pynative_synchronize=True)


class Identity:
    """The identity, in place of a primitive that hides a shape from the compiler."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the settings, which are for the compiler."""

    def add_prim_attr(self, name: str, value: Any) -> Identity:
        """Ignore the attribute, which is for the compiler."""
        return self

    def __call__(self, value: Any) -> Any:
        return value


class StepSync(Callback):
    """A callback that waits at each step for the device; here each call returns its result."""


def matrix_set_diag(input_x: Any, diagonal: Any, k: Any = 0, alignment: str = "RIGHT_LEFT") -> Any:
    """Matrices with some diagonals replaced: `ops.matrix_set_diag`."""
    return ops.matrix_set_diag(input_x, diagonal, k, alignment)


def raise_value_error(info: str, param: Any = None) -> NoReturn:
    """Raise ValueError with a text, and with a value behind it."""
    raise ValueError(info if param is None else f"{info}{param}")


def raise_type_error(info: str, param: Any = None) -> NoReturn:
    """Raise TypeError with a text, and with a value behind it."""
    raise TypeError(info if param is None else f"{info}{param}")
