"""`jit` and `mutable`: what code written for graphs says about its functions and arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._engine.replay import Recorded
from ._engine.tensor import CellCall

__all__ = ["jit", "mutable"]


def jit(fn: Callable | None = None, **options: Any) -> Callable:
    """Have a function or Cell recorded and replayed, whatever the mode.

    The first two calls with arguments of a kind go through the function, and what they compute is written down as a
    flat program; from the third call on the program is run, without the Python of the function. Results are the
    same. What is large, and not looked at, is computed by the program in the first two calls already.

    Parameters
    ----------
    fn : callable
        A function, method or Cell, with any derivatives inside or around it.
    **options
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable
        The recorded function; for a Cell the Cell itself.

    Raises
    ------
    TypeError
        If `fn` cannot be called.

    Notes
    -----
    Parameters and tensors the function captures are read at each call, so that an optimiser's step or `set_data` is
    seen; updates of them, and random draws, are part of the program. Other shapes, types, nesting or values of
    arguments that are no tensors are recorded separately. What the function can reach by the names in its code
    (globals, closures, defaults, attributes of Cells and of other objects, lists, dicts, NumPy arrays) is compared
    before each replay, and where it has changed the function is recorded anew. Of arrays above 1 MB a sample is
    compared, of containers with more than 4096 entries the length: hold such data in tensors.

    A function runs eagerly from then on, after one warning that says why and where, if Python asks for a number that
    depends on the arguments (``if x > 0``, ``float(x)``, ``print(x)``), if it sets attributes of a Cell or of another
    object from outside, if it can reach a million objects, if two recordings differ, or if what it can reach changes
    again and again after few calls.
    Other effects of its Python (printing, entries added to a list) happen while it is recorded only.

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
        return functools.partial(jit, **options)
    if not callable(fn):
        raise TypeError(f"jit: expected a function or Cell, got {type(fn).__name__}")
    if isinstance(fn, CellCall):
        fn.recorded = True
        return fn

    return functools.update_wrapper(Recorded(fn), fn)


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Return the argument: tuples, lists and dicts of tensors are differentiated as they are.

    Parameters
    ----------
    input_data
        Anything.
    dynamic_len : bool, default False
        Accepted so that ported code runs; it has no meaning here.

    Returns
    -------
    object
        `input_data` itself.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mutable((1, 2))
    (1, 2)
    """
    return input_data
