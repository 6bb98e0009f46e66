"""Functions that MindSpore keeps for itself and that ported programs import nevertheless."""

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

# Whether what `bprop` returns is checked. It always is, whatever a program makes of this setting.
CHECK_BPROP = ""


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """The constructor of a Cell as it is: nothing is compiled for each of its arguments. Without it, a decorator."""
    return fn if callable(fn) else lambda function: function


def tensors_of(*args: Any) -> Any:
    """Each argument as a tensor; what is made of Python's numbers has 32 bits. One argument gives no tuple."""
    found = []
    for arg in args:
        if not isinstance(arg, Tensor | int | float | list | tuple):
            raise TypeError(f"_to_tensor: got {type(arg).__name__}; expected a Tensor, a number, or a list of them")
        tensor = arg if isinstance(arg, Tensor) else Tensor(arg)
        found.append(tensor if isinstance(arg, Tensor) else tensor.astype(_NARROW.get(tensor.dtype, tensor.dtype)))
    return found[0] if len(found) == 1 else tuple(found)


def primitive_of(cls: type) -> Callable[..., Any]:
    """The class itself: primitives are made so quickly that none is kept."""
    return cls


def as_tuple(inputs: Any) -> Any:
    """A tensor as a tuple; anything else as it is."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


def is_unknown(value: Any) -> bool:
    """Whether the compiler does not know a length or a value yet: never, since nothing runs before it has both."""
    return False


def keep_dataset(dataset: Any) -> None:
    """Nothing: no device fails here, so that no training starts again with the data it had."""


def launch_blocking() -> None:
    """Have each call compute its numbers at once."""
    set_context(pynative_synchronize=True)


class Identity:
    """The identity, in place of a primitive that hides a shape from the compiler."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Settings speak to the compiler."""

    def add_prim_attr(self, name: str, value: Any) -> Identity:
        """Nothing is kept: attributes speak to the compiler, too."""
        return self

    def __call__(self, value: Any) -> Any:
        return value


class StepSync(Callback):
    """A callback that waits at each step for what a device computes; here each call returns with its numbers."""


def matrix_set_diag(input_x: Any, diagonal: Any, k: Any = 0, alignment: str = "RIGHT_LEFT") -> Any:
    """Matrices with some diagonals replaced: `ops.matrix_set_diag`."""
    return ops.matrix_set_diag(input_x, diagonal, k, alignment)


def raise_value_error(info: str, param: Any = None) -> NoReturn:
    """Raise ValueError with a text, and with a value behind it."""
    raise ValueError(info if param is None else f"{info}{param}")


def raise_type_error(info: str, param: Any = None) -> NoReturn:
    """Raise TypeError with a text, and with a value behind it."""
    raise TypeError(info if param is None else f"{info}{param}")
