"""`jit` and `mutable`: what code written for graphs says about its functions and arguments.

There is no recording yet, so both leave things as they are and results are the same in every mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["jit", "mutable"]


def jit(fn: Callable | None = None, **options: Any) -> Callable:
    """Mark a function or Cell for recorded execution, with or without options.

    The function is returned unchanged: it runs eagerly, with the same results.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.jit
    ... def square(x):
    ...     return x * x
    >>> print(square(dg.Tensor([3.0])))
    [9.]
    """
    if fn is None:
        return lambda function: jit(function, **options)
    if not callable(fn):
        raise TypeError(f"jit: expected a function or Cell, got {type(fn).__name__}")
    return fn


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Return the argument: tuples, lists and dicts of tensors are differentiated as they are.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mutable((1, 2))
    (1, 2)
    """
    return input_data
