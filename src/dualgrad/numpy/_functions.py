"""The functions of `dualgrad.numpy`, made from the registries that answer NumPy's calls with tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.dtype import bool_
from dualgrad.numpy import _names
from dualgrad.numpy._arguments import array_like, beside_tensors, tensors_among
from dualgrad.numpy._calls import call_function
from dualgrad.numpy._creation import tensor_of
from dualgrad.numpy._protocol import call_ufunc, function_of
from dualgrad.numpy._table import FUNCTIONS, STANDARD, on_numbers
from dualgrad.ops._arguments import operand
from dualgrad.ops.index._views import array, arrays_of
from dualgrad.tensor import Tensor

__all__ = ["ALIASES", "CONSTANTS", "FFT", "LINALG", "NAMES", "made"]


def _known(namespace: dict[str, Any]) -> dict[str, Any]:
    """The functions of a NumPy namespace that take tensors, by name."""
    found = {}
    for name, value in namespace.items():
        if isinstance(value, np.ufunc):
            if function_of(value) is not None:
                found[name] = value
        elif callable(value) and not isinstance(value, type) and not name.startswith("_") and value in FUNCTIONS:
            found[name] = value
    return found


def _with_ours(namespace: dict[str, Any], space: str) -> dict[str, Any]:
    """The functions of a NumPy namespace that take tensors, and this library's functions of the array API standard."""
    ours = {
        name.rpartition(".")[2]: function for name, function in STANDARD.items() if name.rpartition(".")[0] == space
    }
    return _known(namespace) | ours


NAMES = _with_ours(vars(np), "")
LINALG = _with_ours(vars(np.linalg), "linalg")
FFT = _with_ours(vars(np.fft), "fft")
CONSTANTS: dict[str, Any] = {
    **_names.NAMES,
    "bool": bool_, "e": np.e, "euler_gamma": np.euler_gamma, "inf": np.inf, "nan": np.nan, "newaxis": None, "pi": np.pi,
}  # fmt: skip
ALIASES = {"norm": "linalg.norm", "trapz": "trapezoid"}
"""Old NumPy names, and names from other NumPy modules."""


_OURS = frozenset(STANDARD.values())


def made(module: str, name: str) -> Callable[..., Any]:
    """The function for tensors with a NumPy name.

    Raises
    ------
    AttributeError
        If NumPy has no such name, or the function has no rule for tensors.
    """
    space = module.rpartition(".")[2]
    if name.startswith("linalg."):
        space, name = "linalg", name.removeprefix("linalg.")
    inside, theirs = {"linalg": (LINALG, np.linalg), "fft": (FFT, np.fft)}.get(space, (NAMES, np))
    original = inside.get(name)
    if original is None:
        import difflib

        close = difflib.get_close_matches(name, inside, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise AttributeError(f"module {module!r} has no function {name!r} of tensors{hint}")
    if original in _OURS:
        return _returning_arrays(original, getattr(theirs, name, original))
    function = (_of_ufunc if isinstance(original, np.ufunc) else _of_function)(original)
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function


def _returning_arrays(original: Any, theirs: Any) -> Callable[..., Any]:
    """Wrap a function of the standard, so that its results are views where NumPy's function returns views."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return arrays_of(theirs, args, kwargs, original(*args, **kwargs))

    return function


def _of_ufunc(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*inputs: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, Tensor) for x in inputs):
            inputs = tuple([tensor_of(x) for x in inputs])
        else:  # numbers stay, since they take the type of the tensor beside them
            plain = beside_tensors(tensors_among(inputs))
            inputs = tuple([array_like(ufunc.__name__, x, plain) for x in inputs])
        return call_ufunc(ufunc, "__call__", inputs, kwargs)

    operands = ", ".join(f"x{k + 1}" for k in range(ufunc.nin)) if ufunc.nin > 1 else "x"
    function.__doc__ = f"NumPy's `{ufunc.__name__}` on tensors, element by element: ``({operands}, *, dtype=None)``."
    for method in ("accumulate", "at", "outer", "reduce", "reduceat"):
        setattr(function, method, getattr(ufunc, method))
    return function


def _of_function(original: Any) -> Callable[..., Any]:
    handler = FUNCTIONS[original]
    signature = _signature_of(original if handler is on_numbers else handler)

    def function(*args: Any, **kwargs: Any) -> Any:
        plain = beside_tensors(tensors_among((*args, *kwargs.values())))
        return _as_tensors(call_function(original, args, kwargs, plain))

    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = f"NumPy's `{original.__name__}` on tensors: ``{_without_types(signature)}``."
    return function


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function. A compiled function without one (before NumPy 2.4) gets ``(*args, **kwargs)``."""
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.signature(lambda *args, **kwargs: None)


def _without_types(signature: inspect.Signature) -> inspect.Signature:
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return inspect.Signature(plain)


def _as_tensors(result: Any) -> Any:
    """Convert results of NumPy's own code to tensors."""
    if isinstance(result, np.ndarray):
        return array(operand("numpy", result))
    if type(result) is tuple:
        return tuple([_as_tensors(x) for x in result])
    return result
