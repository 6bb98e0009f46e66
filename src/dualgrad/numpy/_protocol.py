"""NumPy's functions on tensors: ``np.exp(t)``, ``np.sum(t * a)``, ``np.concatenate([t, a])``.

NumPy passes a call on if a tensor is among its arguments (NEP 13 for ufuncs, NEP 18 for functions). A ufunc is looked
up in the table of primitives, a function in `FUNCTIONS` (_calls.py). Its entries take NumPy's arguments under NumPy's
names. The result is a tensor with the right derivative. Arrays are constants of their own type, and tensors in lists
are joined.

A missing function raises an error; a silent conversion to arrays would cut the derivative off. A few functions without
a derivative (comparisons of whole arrays, positions, printing) work on the numbers. Saving does, too, for tensors that
carry no derivative.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._device import on_cpu
from .._engine.transforms import tensor as _engine
from .._table import ROWS
from ..extend import elementwise
from ..ops._arguments import OP, floating, operand
from ..ops.index._views import arrays_of
from ..ops.math.complex import conj
from ..tensor import Tensor
from ._arguments import alternative, array_like, refuse

__all__: list[str] = []

# ----------------------------------------------------------------------------------------------------- ufuncs


def _elementwise() -> dict[Any, Callable[..., Any]]:
    """The function for the NumPy ufunc of each row of the table."""

    def unary(op: int) -> Callable[..., Any]:
        return lambda x: _engine.unary(op, x)

    def binary(op: int) -> Callable[..., Any]:
        return lambda x, y: _engine.binary_op(op, x, y)

    # reversed, so that the first of two rows with one ufunc wins: mul, and not absorb_mul with its own zero rule
    rows = [row for row in reversed(ROWS) if row.ufunc]
    return {getattr(np, str(row.ufunc)): (unary if row.arity == 1 else binary)(OP[row.name]) for row in rows}


def _degrees(x: Any) -> Tensor:
    return x * (180.0 / np.pi)


def _radians(x: Any) -> Tensor:
    return x * (np.pi / 180.0)


UFUNCS: dict[Any, Callable[..., Any]] = {
    **_elementwise(),
    np.power: _engine.power_op,
    np.float_power: lambda x, y: _engine.power_op(floating("np.float_power", x), y),
    np.matmul: _engine.matmul_op,
    np.positive: lambda x: +x,
    np.cbrt: elementwise("cbrt", np.cbrt, "1 / (3 * out * out)", summary="cube root"),
    np.conjugate: conj,
    np.fabs: lambda x: _engine.unary(OP["abs"], floating("np.fabs", x)),
    np.rint: lambda x: _engine.unary(OP["round"], floating("np.rint", x)),
    np.degrees: _degrees,
    np.rad2deg: _degrees,
    np.radians: _radians,
    np.deg2rad: _radians,
    np.divmod: lambda x, y: (x // y, x % y),
}
"""Every ufunc that takes tensors."""


def function_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function for a ufunc on tensors, or None."""
    found = UFUNCS.get(ufunc)
    if found is None:
        from ._more_ufuncs import MORE_UFUNCS  # few programs need them

        found = MORE_UFUNCS.get(ufunc.__name__)
    return found


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a NumPy ufunc that was called with a tensor.

    Parameters
    ----------
    ufunc, method, inputs, kwargs
        The call, as NumPy passes it: ``method`` is ``"__call__"``, ``"reduce"``, ``"accumulate"`` or another.

    Raises
    ------
    TypeError
        If the ufunc has no rule for tensors, or a keyword is not supported.

    Examples
    --------
    >>> import numpy as np, dualgrad as dg
    >>> x = dg.Tensor([1.0, 2.0])
    >>> np.array([3.0, 4.0]) * x
    Tensor(shape=[2], dtype=Float64, value= [ 3.00000000e+00,  8.00000000e+00])
    >>> np.add.reduce(x)
    Tensor(shape=[], dtype=Float32, value= 3)
    """
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(f"__array_ufunc__: expected a ufunc of NumPy, got {type(ufunc).__name__}")
    name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    refuse(name, kwargs, () if method == "__call__" else ("where",))
    function = function_of(ufunc)
    if function is None:
        raise TypeError(f"{name}: has no rule for Tensors; {alternative(ufunc.__name__)}")
    if method != "__call__":
        from ._ufunc_methods import call_method

        return arrays_of(ufunc, inputs, {}, call_method(ufunc, method, function, inputs, kwargs))
    inputs = tuple([array_like(name, x, np.asarray) for x in inputs])
    if (dtype := kwargs.pop("dtype", None)) is not None:
        inputs = tuple([operand(name, x).astype(dtype) for x in inputs])
    if kwargs.keys() - ({"axis"} if ufunc.__name__ == "vecdot" else set()):
        raise TypeError(f"{name}: the keywords {', '.join(kwargs)} are not supported with Tensors; leave them out")
    return arrays_of(ufunc, inputs, {}, function(*inputs, **kwargs))


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    return call_ufunc(ufunc, method, inputs, kwargs)


def _array_function(self: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    from ._calls import call_function  # the table of functions takes time to import; not every program needs it

    return call_function(function, args, kwargs)


# ------------------------------------------------------------------------------------- the array API standard


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The namespace of functions for this tensor, `dualgrad.numpy`; `api_version` is a version that it follows."""
    from . import _standard

    if api_version is not None and api_version not in _standard.VERSIONS:
        raise ValueError(
            f"__array_namespace__: api_version is {api_version!r}; expected one of {', '.join(_standard.VERSIONS)}"
        )
    return sys.modules[__package__]


def _to_device(self: Tensor, device: Any, *, stream: Any = None) -> Tensor:
    """Return the tensor itself, on the CPU. Streams do not exist here."""
    on_cpu("to_device", device)
    if stream is not None:
        raise ValueError(f"to_device: stream is {stream!r}; expected None, the CPU has no streams")
    return self


def _shifted(name: str, x: Any, y: Any) -> Any:
    if not isinstance(x, Tensor | np.ndarray | int) or not isinstance(y, Tensor | np.ndarray | int):
        return NotImplemented
    found = getattr(ops, name)(x, y)
    follows = any(isinstance(z, np.ndarray) or getattr(z, "_is_array", False) for z in (x, y))
    return arrays_of(getattr(np, name.removeprefix("bitwise_")), (x, y), {}, found) if follows else found


def _left_shift(self: Tensor, other: Any) -> Tensor:
    return _shifted("bitwise_left_shift", self, other)


def _left_shift_of(self: Tensor, other: Any) -> Tensor:
    return _shifted("bitwise_left_shift", other, self)


def _right_shift(self: Tensor, other: Any) -> Tensor:
    return _shifted("bitwise_right_shift", self, other)


def _right_shift_of(self: Tensor, other: Any) -> Tensor:
    return _shifted("bitwise_right_shift", other, self)


METHODS: dict[str, Any] = {
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__array_namespace__": _array_namespace,
    "__lshift__": _left_shift,
    "__rlshift__": _left_shift_of,
    "__rshift__": _right_shift,
    "__rrshift__": _right_shift_of,
    "to_device": _to_device,
}
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)

# The former name of this module.
sys.modules["dualgrad.ops.numpy_protocol"] = sys.modules[__name__]
setattr(ops, "numpy_protocol", sys.modules[__name__])  # noqa: B010
