"""`jit` and `mutable`: what code written for graphs says about its functions and arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._engine.transforms.calls import CellCall

__all__ = ["jit", "mutable"]


def jit(fn: Callable | None = None, *, pure: bool = False, **options: Any) -> Callable:
    """Have a function or Cell recorded and replayed, whatever the mode.

    The first two calls with arguments of a kind go through the function, and what they compute is written down as a
    flat program; from the third call on the program is run, without the Python of the function. Results are the
    same. What is large, and not looked at, is computed by the program in the first two calls already.

    Parameters
    ----------
    fn : callable
        A function, method or Cell, with any derivatives inside or around it.
    pure : bool, default False
        Your promise that the result depends on nothing but the arguments and on Parameters and other tensors. Then
        nothing else is looked at: no guards, no cost for them, and no notice of a global, attribute, list or array that
        changes. The program of the first calls is replayed for ever, as `jax.jit` does it.
    **options
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable
        The recorded function; for a Cell the Cell itself.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or `pure` is not a bool.

    Notes
    -----
    Parameters and tensors the function captures are read at each call, so that an optimiser's step or `set_data` is
    seen; updates of them, and random draws, are part of the program. Other shapes, types, nesting or values of
    arguments that are no tensors are recorded separately.

    All else that the executed code can reach has a guard: globals, closures, defaults, attributes of objects and
    classes, containers and NumPy arrays of any size. Before each replay the guards are compared, and where one has
    changed the function is recorded anew.

    What no guard can follow makes the function run eagerly from then on, after one warning that says why: numbers that
    Python asks for and that depend on the arguments (``if x > 0``, ``float(x)``, ``print(x)``), generators, files,
    clocks, random numbers from elsewhere than ``dualgrad.ops``, compiled objects of other packages, containers and
    attributes outside that the function itself changes. :doc:`/howto/recording` has the whole contract. Printing is
    done while the function is recorded only.

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
        return functools.partial(jit, pure=pure, **options)
    if not callable(fn):
        raise TypeError(f"jit: expected a function or Cell, got {type(fn).__name__}")
    if not isinstance(pure, bool):
        raise TypeError(f"jit: pure is {pure!r}; expected True or False")
    if isinstance(fn, CellCall):
        fn.recorded = True
        fn.pure = pure
        return fn

    from ._engine.trace.cache import Recorded  # takes time to import, and not every program records

    return functools.update_wrapper(Recorded(fn, pure), fn)


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
