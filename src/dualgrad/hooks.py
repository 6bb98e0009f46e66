"""Hooks: functions that receive gradients, or the inputs and outputs of a Cell, and may replace them.

Each hook has its own number, and hooks run in their stored order; the handle of a hook removes it. A replacement for a
gradient must have the gradient's shape and type.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, Self

from ._engine.transforms.custom import closed_levels, noted, runs_again
from ._engine.transforms.handles import TensorBase

__all__ = ["GradientHooks", "HookHandle", "Hooks", "forget_programs", "replaced_gradient", "replaced_gradients"]

_NUMBERS = itertools.count()


class HookHandle:
    """The handle of a registered hook. It removes the hook, also as a context manager.

    Examples
    --------
    >>> import dualgrad as dg
    >>> w = dg.Parameter([3.0], name="w")
    >>> handle = w.register_hook(lambda gradient: 10 * gradient)
    >>> gradient = dg.grad(lambda x: w * x, None, [w])
    >>> print(gradient(dg.Tensor([2.0]))[0])
    [20.]
    >>> handle.remove()
    >>> print(gradient(dg.Tensor([2.0]))[0])
    [2.]
    """

    def __init__(self, hooks: Hooks, number: int) -> None:
        self._hooks = hooks
        self.handle_id = number

    def remove(self) -> None:
        """Remove the hook; it does not run again. Removing it twice does nothing."""
        self._hooks.remove(self.handle_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """Hooks by number, in the order in which they run."""

    def __init__(self) -> None:
        self._by_number: dict[int, Callable[..., Any]] = {}

    def add(self, caller: str, hook: Any, prepend: bool = False) -> HookHandle:
        """Register a hook, after or before the others.

        Raises
        ------
        TypeError
            If the hook cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"{caller}: the hook is a {type(hook).__name__}; expected a function")
        number = next(_NUMBERS)
        if prepend:
            self._by_number = {number: hook, **self._by_number}
        else:
            self._by_number[number] = hook
        return HookHandle(self, number)

    def remove(self, number: int) -> None:
        """Remove a hook, if it is there."""
        self._by_number.pop(number, None)

    def copied_from(self, other: Hooks) -> Self:
        """Copy the hooks of another object; later changes there have no effect here. Returns self."""
        self._by_number = dict(other._by_number)
        return self

    def __len__(self) -> int:
        return len(self._by_number)

    def items(self) -> list[tuple[int, Callable[..., Any]]]:
        """The numbers and hooks, copied, since a hook may remove itself."""
        return list(self._by_number.items())


class GradientHooks(Hooks):
    """The hooks of a tensor: each receives the gradient by the tensor and returns the gradient to use."""

    def __init__(self, name: str, of_inputs: bool) -> None:
        super().__init__()
        self._name = name
        self._of_inputs = of_inputs
        self._levels = closed_levels()  # the loops and blocks in which the tensor was made

    def __call__(self, gradient: Any) -> Any:
        for _, hook in self.items():
            gradient = replaced_gradient(self._name, hook(gradient), gradient)
        return gradient

    def add(self, caller: str, hook: Any, prepend: bool = False) -> HookHandle:
        self._check(caller)
        handle = super().add(caller, hook, prepend)
        noted("hook", hook)
        self._changed()
        return handle

    def remove(self, number: int) -> None:
        self._check("HookHandle.remove")
        noted("no hook", self._by_number.get(number))
        super().remove(number)
        self._changed()

    def _check(self, caller: str) -> None:
        """Raise after a loop or block that a derivative runs again: the rerun would miss the change."""
        if self._levels and runs_again(self._levels):
            raise RuntimeError(
                f"{caller}: the hook belongs to a tensor of a loop or block that a derivative runs again, which would "
                "not see the change; register and remove its hooks inside, or let the hook itself decide what it does"
            )

    def _noted(self) -> tuple[Any, ...]:
        return tuple(self._by_number.values())

    def _changed(self) -> None:
        if self._of_inputs:
            forget_programs()


def forget_programs() -> None:
    """Discard all recorded programs: no guard watches the hooks of inputs and parameters."""
    if cache := sys.modules.get("dualgrad._engine.trace.cache"):
        cache.forget_programs()


def replaced_gradient(name: str, given: Any, gradient: Any, where: str = "") -> Any:
    """Check the gradient that a hook returned; None keeps the old gradient.

    Raises
    ------
    TypeError
        If it is not a Tensor, or its type differs from the gradient's.
    ValueError
        If its shape differs.
    """
    if given is None:
        return gradient
    if not isinstance(given, TensorBase):
        raise TypeError(
            f"{name}: the hook returned a {type(given).__name__}{where}; expected a Tensor, or None to leave the "
            "gradient as it is"
        )
    if given.shape != gradient.shape:
        raise ValueError(
            f"{name}: the hook returned shape {given.shape}{where}; expected that of the gradient, {gradient.shape}"
        )
    if given.dtype is not gradient.dtype:
        raise TypeError(
            f"{name}: the hook returned {given.dtype}{where}; expected the type of the gradient, {gradient.dtype}"
        )
    return given


def replaced_gradients(name: str, given: Any, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the gradients that a hook returned; None keeps all. A single gradient may come without a tuple.

    Raises
    ------
    TypeError
        If their number or a type differs, or one is not a Tensor.
    ValueError
        If a shape differs.
    """
    if given is None:
        return gradients
    if isinstance(given, TensorBase):
        given = (given,)
    if not isinstance(given, tuple | list) or len(given) != len(gradients):
        found = f"{len(given)} gradients" if isinstance(given, tuple | list) else f"a {type(given).__name__}"
        raise TypeError(
            f"{name}: the hook returned {found}; expected a tuple of {len(gradients)}, or None to leave them"
        )
    for index, one in enumerate(given):
        if one is None and gradients[index] is not None:
            raise TypeError(
                f"{name}: the hook returned None as entry {index}; expected a Tensor, or None for all of them"
            )
    return tuple(
        gradient if gradient is None else replaced_gradient(name, one, gradient, f" as entry {index}")
        for index, (one, gradient) in enumerate(zip(given, gradients, strict=True))
    )
