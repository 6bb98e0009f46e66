"""Loops with derivatives that need little memory: scan, while_loop and fori_loop.

An ordinary Python loop is differentiated like any other code, and its gradient keeps the inner values of every step.
These loops keep only a few states, and run the steps again from them (`_schedule`). With room for s states, n steps are
reversed with at most r runs of each step, C(s + r, s) >= n.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .._engine.transforms.rematerialisation import tensors_of
from .._settings import truth_value
from ..ops._arguments import Primitive
from ..ops.shape.creation import zeros
from ..tensor import Tensor
from .masks import within
from .stepping import Loop
from .steps import Counted, Given, Listed, Stacked, check_arrays, mapped

__all__ = ["ForiLoop", "Scan", "WhileLoop", "fori_loop", "scan", "while_loop"]

METHODS: dict[str, Callable[..., Any]] = {}


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    checkpoints: int | str | None = None,
) -> tuple[Any, Any]:
    """Carry a value through a loop over the first axis of tensors, and stack the results of the steps.

    Parameters
    ----------
    f : callable
        ``f(carry, x)`` returns ``(carry, y)``. It may read parameters and other outside tensors, draw random numbers
        and take derivatives. It must not assign to outside tensors.
    init : Tensor, or pytree
        The first carry. Each step keeps its nesting, shapes and types; keys of dicts keep their order.
    xs : Tensor, or pytree of tensors, optional
        The inputs of the steps, along the first axis; None: each step gets None.
    length : int, optional
        The number of steps; needed without `xs`.
    reverse : bool, default False
        From the last entry to the first; results keep the order of the entries.
    checkpoints : int or str, optional
        The number of states that a gradient may keep at a time, or their size in bytes (``"64 MB"``). By default about
        the square root of 2 n for n steps, so that no step runs more than twice again.

    Returns
    -------
    tuple
        ``(carry, ys)``: the last carry, and the results stacked along a new first axis.

    Raises
    ------
    TypeError
        If `f` is not callable, or `length` or `checkpoints` has another type. Also if `xs` holds an array other than a
        Tensor with an entry for each step, or numbers and no Tensor.
    ValueError
        If the lengths do not agree, a step changes the nesting, a shape or a type of the carry, or a field without
        tensors differs between the results of the steps.
    RuntimeError
        If a step assigns to an outside tensor.

    Notes
    -----
    The gradient is one sweep of binomial checkpointing (Griewank and Walther, Algorithm 799: revolve, 2000). A second
    derivative runs the same sweep on dual numbers: it keeps the same number of states, each with its tangent, and takes
    a small multiple of the time. Forward mode keeps nothing. Inside a recorded function (`jit`, Graph mode) up to 64
    steps are unrolled. A longer loop is one instruction: its body is called for a few steps only, and must compute the
    same in each (docs/tutorials/loops.md).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> total, sums = ops.scan(lambda s, x: (s + x, s + x), dg.Tensor(0.0), dg.Tensor([1.0, 2.0, 3.0]))
    >>> print(total, sums)
    6.0 [1. 3. 6.]

    A thousand steps of a logistic map, differentiated by its parameter, with ten kept states:

    >>> def last(r):
    ...     step = lambda x, _: (r * x * (1 - x), None)
    ...     return ops.scan(step, dg.Tensor(0.2, dg.float64), length=1000, checkpoints=10)[0]
    >>> print(dg.grad(last)(dg.Tensor(2.5, dg.float64)).round(6))
    0.16
    """
    _check_callable("scan", "f", f)
    if length is not None and (isinstance(length, bool) or not isinstance(length, int)):
        raise TypeError(f"scan: length is a {type(length).__name__}; expected an int")
    tensors = tensors_of(xs)
    for t in tensors:
        if t.ndim == 0:
            raise ValueError("scan: xs holds a tensor without axes; expected the steps along a first axis")
    if not isinstance(xs, Tensor):
        check_arrays("scan", xs, tensors[0].shape[0] if tensors else None)
    lengths = {t.shape[0] for t in tensors} | ({length} if length is not None else set())
    if len(lengths) > 1:
        raise ValueError(
            f"scan: length and the first axes of xs differ, {sorted(lengths)}; expected one number of steps"
        )
    if not lengths:
        raise ValueError("scan: there is neither a tensor in xs nor length, so the number of steps is not known")
    n = lengths.pop()
    if n < 0:
        raise ValueError(f"scan: length is {n}; expected 0 or more")
    given = Stacked(xs) if tensors else Given()
    if n:
        backwards = truth_value("scan", "reverse", reverse)
        return Loop("scan", f, given, n, reverse=backwards, checkpoints=checkpoints)(init)
    entry = mapped(lambda t: zeros((1, *t.shape[1:]), t.dtype), xs)
    _, ys = Loop("scan", f, Stacked(entry) if tensors else given, 1)(init)  # to find the shapes of the results
    return init, mapped(lambda t: zeros((0, *t.shape[1:]), t.dtype), ys)


def while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    *,
    checkpoints: int | str | None = None,
) -> Any:
    """Repeat a step while a condition holds.

    Parameters
    ----------
    cond : callable
        ``cond(carry)``: a bool, or a tensor of one element.
    body : callable
        ``body(carry)`` returns the next carry. It has the same restrictions as the function of `scan`.
    init : Tensor, or pytree
        The first carry.
    checkpoints : int or str, optional
        As for `scan`.

    Returns
    -------
    object
        The last carry.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As for `scan`.

    Notes
    -----
    The number of steps is a constant of every derivative, since a small change of the inputs changes it only at a
    switching point of the condition. Under `vmap` each sample ends separately: steps run until the last sample has
    ended, and the carry of ended samples stays.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> def root(a):
    ...     newton = lambda x: 0.5 * (x + a / x)
    ...     return ops.while_loop(lambda x: ops.abs(x * x - a) > 1e-12, newton, a)
    >>> a = dg.Tensor(2.0, dg.float64)
    >>> print(root(a).round(10), dg.grad(root)(a).round(10))
    1.4142135624 0.3535533906
    """
    _check_callable("while_loop", "cond", cond)
    _check_callable("while_loop", "body", body)
    step = lambda carry, _: (body(carry), None)  # noqa: E731
    return Loop("while_loop", step, Given(), None, checkpoints=checkpoints, proceed=within(cond), calls=body)(init)[0]


def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[int, Any], Any],
    init: Any,
    *,
    checkpoints: int | str | None = None,
) -> Any:
    """Repeat a step for each number from `lower` up to but not including `upper`.

    Parameters
    ----------
    lower, upper : int or Tensor of one int
        The range.
    body : callable
        ``body(i, carry)`` returns the next carry. It has the same restrictions as the function of `scan`.
    init : Tensor, or pytree
        The first carry.
    checkpoints : int or str, optional
        As for `scan`.

    Returns
    -------
    object
        The last carry.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As for `scan`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> power = lambda x: ops.fori_loop(0, 5, lambda i, y: y * x, dg.Tensor(1.0))
    >>> print(power(dg.Tensor(2.0)), dg.grad(power)(dg.Tensor(2.0)))
    32.0 80.0
    """
    _check_callable("fori_loop", "body", body)
    return _counted("fori_loop", lower, upper, body, init, checkpoints)


def _counted(name: str, lower: Any, upper: Any, body: Any, init: Any, checkpoints: Any) -> Any:
    start, stop = _whole(name, "lower", lower), _whole(name, "upper", upper)
    if stop <= start:
        return init
    step = lambda carry, i: (body(i, carry), None)  # noqa: E731
    return Loop(name, step, Counted(start), stop - start, checkpoints=checkpoints, calls=body)(init)[0]


def _whole(name: str, what: str, x: Any) -> int:
    if isinstance(x, Tensor) and x.size == 1 and x.dtype.is_int:
        return int(x)
    try:
        if isinstance(x, bool | Tensor):
            raise TypeError
        return operator.index(x)
    except TypeError:
        raise TypeError(f"{name}: {what} is {x!r}; expected an int, or a tensor of one") from None


def _check_callable(name: str, what: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{name}: {what} is a {type(f).__name__}; expected a function or Cell")


# ------------------------------------------------------------------------------------------------ primitive classes


class Scan(Primitive):
    """A loop over a list: ``ops.Scan()(loop_func, init, xs, length=None)``.

    ``loop_func(carry, x)`` returns ``(carry, y)``. `xs` is a list or tuple, or None with `length`; the results come in
    a list. Derivatives work as for `scan`, which stacks.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Scan()(lambda s, x: (s + x, s + x), 0, [1, 2, 3, 4])
    (10, [1, 3, 6, 10])
    """

    __slots__ = ()

    def __call__(self, loop_func: Any, init: Any, xs: Any, length: int | None = None, unroll: bool = True) -> Any:
        """Run the loop; `unroll` is accepted without effect."""
        _check_callable("Scan", "loop_func", loop_func)
        if xs is None:
            if isinstance(length, bool) or not isinstance(length, int):
                raise TypeError(f"Scan: without xs, length is a {type(length).__name__}; expected an int")
            xs = [None] * length
        if not isinstance(xs, tuple | list):
            raise TypeError(
                f"Scan: xs is a {type(xs).__name__}; expected a tuple, a list or None (ops.scan takes tensors)"
            )
        if not xs:
            return init, []
        return Loop("Scan", loop_func, Listed(list(xs)), len(xs), listed=True)(init)


class WhileLoop(Primitive):
    """A loop with a condition: ``ops.WhileLoop()(cond_func, loop_func, init_val)``; see `while_loop`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.WhileLoop()(lambda x: x < 100, lambda x: x + 1, 10)
    100
    """

    __slots__ = ()

    def __call__(self, cond_func: Any, loop_func: Any, init_val: Any) -> Any:
        """Run the loop."""
        return while_loop(cond_func, loop_func, init_val)


class ForiLoop(Primitive):
    """A counted loop: ``ops.ForiLoop()(lower, upper, loop_func, init_val)``; see `fori_loop`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.ForiLoop()(0, 4, lambda i, s: i + s, 0)
    6
    """

    __slots__ = ()

    def __call__(self, lower: Any, upper: Any, loop_func: Any, init_val: Any, unroll: bool = True) -> Any:
        """Run the loop; `unroll` is accepted without effect."""
        _check_callable("ForiLoop", "loop_func", loop_func)
        return _counted("ForiLoop", lower, upper, loop_func, init_val, None)
