"""Dispatch of NumPy functions with tensors among their arguments to the handlers in `FUNCTIONS`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..leaving import stay
from ..ops.index._views import arrays_of
from ._arguments import alternative, refuse, settled_arguments, tensors_among
from ._table import FUNCTIONS, SAVES, numbers, on_numbers

__all__: list[str] = []

_READERS = frozenset((np.array, np.asarray, np.asanyarray, np.block, np.asarray_chkfinite))
"""Functions that read lists themselves."""

_SIGNATURES: dict[Any, inspect.Signature] = {}


def call_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    plain: Callable[[list[Any] | tuple[Any, ...]], Any] = np.asarray,
) -> Any:
    """Answer a NumPy function that was called with a tensor.

    Parameters
    ----------
    function, args, kwargs
        The call, as NumPy passes it.
    plain : callable, default numpy.asarray
        Converts lists of numbers where an array is expected. Lists with tensors in them become tensors.

    Raises
    ------
    TypeError
        If the function has no rule for tensors, or an argument is not supported.

    Examples
    --------
    >>> import numpy as np, dualgrad as dg
    >>> print(np.concatenate([dg.Tensor([1.0, 2.0]), np.array([3.0])]))
    [1. 2. 3.]
    """
    if not hasattr(function, "__name__"):
        raise TypeError(f"__array_function__: expected a function of NumPy, got {type(function).__name__}")
    handler = FUNCTIONS.get(function)
    module = getattr(function, "__module__", "numpy")
    name = f"{'np' + module[5:] if module.startswith('numpy') else module}.{function.__name__}"
    if handler is None:
        raise TypeError(f"{name}: has no rule for Tensors; {alternative(function.__name__)}")
    if handler is on_numbers:
        if function in SAVES:
            for x in tensors_among((*args, *kwargs.values())):
                stay(x, name)
        return arrays_of(function, args, kwargs, _of_numbers(name, function, args, kwargs))
    signature = _SIGNATURES.get(function)
    if signature is None:
        signature = _SIGNATURES[function] = inspect.signature(handler)
    refuse(name, kwargs, signature.parameters)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; with Tensors the arguments are {signature}") from None
    if function not in _READERS:
        settled_arguments(name, bound, plain)
    return arrays_of(function, args, kwargs, handler(*bound.args, **bound.kwargs))


UFUNC_ERROR = np._core._exceptions.UFuncTypeError if hasattr(np, "_core") else ()


def _of_numbers(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's own function on the numbers. Errors inside it blame the arguments."""
    try:
        return function(*numbers(args), **numbers(kwargs))
    except np.exceptions.AxisError as error:
        raise np.exceptions.AxisError(f"{name}: {error}") from None
    except (AttributeError, LookupError, OverflowError, SystemError, TypeError, ValueError) as error:
        if type(error).__module__ != "builtins" and not isinstance(error, UFUNC_ERROR):
            raise  # a dualgrad error, or raised by a function that the user passed
        if isinstance(error, OverflowError | ValueError):
            raise ValueError(f"{name}: {error}") from error
        given = ", ".join([type(x).__name__ for x in (*args, *kwargs.values())])
        raise TypeError(f"{name}: does not take ({given}): {error}") from error
