"""Pytrees: `register_pytree`, for classes whose objects hold tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._engine.transforms.containers import register

__all__ = ["register_pytree"]


def register_pytree(
    cls: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, list[Any]], Any],
) -> None:
    """Let transforms take and return objects of a class as containers of tensors.

    Tuples, lists, dicts, their subclasses, named tuples, dataclasses and classes made by attrs need no registration.

    Parameters
    ----------
    cls : type
        The class; its subclasses are registered with it.
    flatten : callable
        ``flatten(x)`` returns ``(children, aux)``: a tuple or list of the tensors or nests in `x`, always in the same
        order, and any other data needed to make a similar object.
    unflatten : callable
        ``unflatten(aux, children)`` returns an object with new children in their places. They may be tensors of other
        shapes, or nests of tensors (as in a Jacobian), so it should not inspect them.

    Raises
    ------
    TypeError
        If `cls` is not a class, or already a leaf or a pytree (Tensor, Cell, tuple, list, dict); if `flatten` or
        `unflatten` is not a function. Later, if `flatten` returns something else.
    ValueError
        If the class is registered already.

    Notes
    -----
    A registration takes precedence over the default treatment of a class. So it also serves dataclasses whose
    attributes depend on each other. The gradient of an object is an object of its class; children without tensors stay
    as they are.

    Examples
    --------
    >>> import dualgrad as dg
    >>> class Interval:
    ...     def __init__(self, low, high, unit):
    ...         self.low, self.high, self.unit = low, high, unit
    >>> dg.register_pytree(Interval, lambda x: ((x.low, x.high), x.unit), lambda unit, ends: Interval(*ends, unit))
    >>> length = lambda x: x.high - x.low
    >>> gradient = dg.grad(length)(Interval(dg.Tensor(1.0), dg.Tensor(3.0), "m"))
    >>> print(gradient.low, gradient.high, gradient.unit)
    -1.0 1.0 m
    """
    register(cls, flatten, unflatten)
