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
    """Let objects of a class stand wherever a transform takes or returns tensors.

    Tuples, lists, dicts, their subclasses, named tuples, dataclasses and classes made by attrs need no registration.

    Parameters
    ----------
    cls : type
        The class; subclasses of it are registered by themselves.
    flatten : callable
        ``flatten(x)`` returns ``(children, aux)``: a tuple or list of what `x` holds, tensors or further nests, always
        in the same order, and whatever else is needed to make another one.
    unflatten : callable
        ``unflatten(aux, children)`` returns an object with other children in their places. They may be tensors of other
        shapes, or nests of tensors (a Jacobian has those), so it should not look at them.

    Raises
    ------
    TypeError
        If `cls` is no class, or one that is a leaf or a pytree by itself (Tensor, Cell, tuple, list, dict); if
        `flatten` or `unflatten` is no function. Later, if `flatten` returns something else.
    ValueError
        If the class is registered already.

    Notes
    -----
    A registration takes precedence over what a class is by itself, so it also says how a dataclass is to be taken apart
    whose attributes depend on each other. Gradients of an object are an object of its class, whose children without
    tensors are kept as they are.

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
