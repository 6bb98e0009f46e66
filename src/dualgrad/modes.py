"""`jit`, `mutable` and related decorators: statements of graph code about its functions, classes and arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._engine.transforms.calls import CellCall

if TYPE_CHECKING:
    from typing import TypeVar, overload

    from .transforms.transformed import A, F

    C = TypeVar("C", bound=type)

__all__ = ["JitConfig", "jit", "jit_class", "lazy_inline", "ms_class", "ms_function", "mutable", "no_inline"]


if TYPE_CHECKING:

    @overload
    def jit(fn: F, *, pure: bool = False, **options: Any) -> F: ...
    @overload
    def jit(fn: None = None, *, pure: bool = False, **options: Any) -> Callable[[F], F]: ...


def jit(fn: Callable[..., Any] | None = None, *, pure: bool = False, **options: Any) -> Callable[..., Any]:
    """Record and replay a function or Cell, whatever the mode.

    The first two calls with a signature run the function and record its operations as a flat program. From the third
    call on the program runs, without the Python of the function. Results are the same. Already in the first two calls
    the program computes large arrays that Python does not read.

    Parameters
    ----------
    fn : callable
        A function, method or Cell, with any derivatives inside or around it.
    pure : bool, default False
        Your promise that the result depends only on the arguments and on Parameters and other tensors. Then there are
        no guards, at no cost, and changes of a global, attribute, list or array go unnoticed. The program of the first
        calls is replayed for ever, as with `jax.jit`.
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
    Captured Parameters and tensors are read at each call, so an optimiser's step or `set_data` takes effect. Updates of
    them, and random draws, are part of the program. Other shapes, types or nesting, and other values of arguments that
    are not tensors, are recorded separately.

    Guards watch everything else that the executed code can reach: globals, closures, defaults, attributes of objects
    and classes, containers and NumPy arrays of any size. Each replay compares the guards first; if one has changed, the
    function is recorded again.

    Some things cannot be guarded. Calls of that signature then run eagerly, after one warning that names the reason:
    numbers that Python reads and that depend on the arguments (``if x > 0``, ``float(x)``, ``print(x)``), generators,
    files, clocks, random numbers from elsewhere than ``dualgrad.ops``, compiled objects of other packages, outside
    containers and attributes that the function itself changes. :doc:`/howto/recording` has the whole contract. Printing
    happens only while the function is recorded.

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
        fn._recorded = True
        fn._pure = pure
        return fn

    from ._engine.trace.cache import Recorded  # takes time to import, and not every program records

    return functools.update_wrapper(Recorded(fn, pure), fn)


def mutable(input_data: A, dynamic_len: bool = False) -> A:
    """Return the argument: tuples, lists and dicts of tensors can be differentiated without a mark.

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


if TYPE_CHECKING:

    @overload
    def ms_function(fn: F, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None) -> F: ...
    @overload
    def ms_function(
        fn: None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None
    ) -> Callable[[F], F]: ...


def ms_function(
    fn: Callable[..., Any] | None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None
) -> Callable[..., Any]:
    """Record and replay a function: the former name of `jit`.

    Parameters
    ----------
    fn : callable
        As in `jit`.
    input_signature, hash_args, jit_config
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable
        The recorded function; without `fn` a decorator.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.ms_function
    ... def square(x):
    ...     return x * x
    >>> print(square(dg.Tensor([3.0])))
    [9.]
    """
    return jit(fn, input_signature=input_signature, hash_args=hash_args, jit_config=jit_config)


def jit_class(cls: C) -> C:
    """Return the class: recorded functions can use objects of any class.

    Parameters
    ----------
    cls : type
        A class.

    Returns
    -------
    type
        `cls` itself.

    Raises
    ------
    TypeError
        If it is not a class.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.jit_class
    ... class Line:
    ...     slope = 2.0
    ...
    ...     def at(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> print(dg.jit(lambda x: line.at(x))(dg.Tensor([3.0])))
    [6.]
    """
    return _class("jit_class", cls)


def ms_class(cls: C) -> C:
    """Return the class: the former name of `jit_class`.

    Parameters
    ----------
    cls : type
        A class.

    Returns
    -------
    type
        `cls` itself.

    Raises
    ------
    TypeError
        If it is not a class.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.ms_class
    ... class Line:
    ...     slope = 2.0
    """
    return _class("ms_class", cls)


def _class(name: str, cls: C) -> C:
    if not isinstance(cls, type):
        raise TypeError(f"{name}: expected a class, got {type(cls).__name__}; it is written above a class")
    return cls


def lazy_inline(fn: Callable[..., Any] | None = None, attrs: Any = None, policy: Any = None) -> Callable[..., Any]:
    """Return the function: no part of a graph is compiled separately here.

    Parameters
    ----------
    fn : callable, optional
        The constructor of a Cell.
    attrs, policy
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable
        `fn` itself; without `fn` a decorator.

    Raises
    ------
    TypeError
        If `fn` cannot be called.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> class Block(nn.Cell):
    ...     @dg.lazy_inline
    ...     def __init__(self):
    ...         super().__init__()
    >>> Block().training
    False
    """
    if fn is None:
        return lazy_inline
    if not callable(fn):
        raise TypeError(f"lazy_inline: expected a function, got {type(fn).__name__}")
    return fn


def no_inline(fn: F) -> F:
    """Return the function: no part of a graph is compiled separately here.

    Parameters
    ----------
    fn : callable
        A function.

    Returns
    -------
    callable
        `fn` itself.

    Raises
    ------
    TypeError
        If `fn` cannot be called.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.no_inline
    ... def square(x):
    ...     return x * x
    >>> square(3)
    9
    """
    if not callable(fn):
        raise TypeError(f"no_inline: expected a function, got {type(fn).__name__}")
    return fn


class JitConfig:
    """Options of a compiler that does not exist here; they are only stored.

    Parameters
    ----------
    jit_level : str, default ""
        A level of optimisation.
    exc_mode, jit_syntax_level, debug_level, infer_boost, **kwargs
        Other options.

    Attributes
    ----------
    jit_config_dict : dict
        All options.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.JitConfig(jit_level="O1").jit_config_dict["jit_level"]
    'O1'
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        self.jit_config_dict: dict[str, Any] = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level,
            "infer_boost": infer_boost,
            **kwargs,
        }


class _Executor:
    """The control object of MindSpore's eager mode. Here results need no waiting."""

    def sync(self) -> None:
        """Return at once."""


_pynative_executor = _Executor()
