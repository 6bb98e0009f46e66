"""Checks of a transform's arguments: the function, the positions of its inputs, and the weights."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .._engine.transforms.calls import CellCall
from .._engine.transforms.inputs import apart, as_input
from .._engine.transforms.pytrees import differentiable
from .._seen import refuse_seen
from ..parameter import Parameter
from ..tensor import Tensor

__all__ = [
    "NoPositionError", "PositionError", "check_callable", "check_sensitivity", "checked_position", "checked_weights",
    "inputs_at", "parameters_of",
]  # fmt: skip


class PositionError(IndexError, RuntimeError):
    """A position beyond the inputs of a function."""


class NoPositionError(ValueError, RuntimeError):
    """An empty tuple of positions."""


def check_callable(name: str, fn: Any) -> None:
    """Refuse an object that is not a function or Cell."""
    if not callable(fn):
        raise TypeError(
            f"{name}: expected a function or Cell to differentiate, got {type(fn).__name__}; pass the "
            "function itself, not its result"
        )


def parameters_of(fn: Any) -> list[Parameter]:
    """The trainable parameters of a Cell, or of the Cell a method belongs to."""
    owner: Any = fn if hasattr(fn, "trainable_params") else getattr(fn, "__self__", None)
    if not hasattr(owner, "trainable_params"):
        raise TypeError(
            f"GradOperation: get_by_list=True asks for gradients of weights, but none are given and {_named(fn)} is no "
            "Cell, which has weights of its own; give them: GradOperation(get_by_list=True)(fn, weights)"
        )
    return list(owner.trainable_params())


def _named(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or repr(fn)


def check_sensitivity(
    name: str,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    what: str = "sensitivity",
    form: str = "of the shape of the output",
) -> None:
    """Raise if a function lacks an input because its last argument was taken as the sensitivity.

    `args` are the inputs without that argument. Callers may give the last argument another name and form.
    """
    called: Any = getattr(fn, "construct", fn) if isinstance(fn, CellCall) else fn
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # compiled functions may have none
        return
    if _takes(signature, (*args, None), kwargs) and not _takes(signature, args, kwargs):
        raise TypeError(
            f"{name}: the last argument is the {what}, which leaves {len(args)} for the inputs of "
            f"{_named(called)}{signature}; pass all inputs, and the {what} ({form}) after them"
        ) from None


def _takes(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def checked_weights(name: str, weights: Any) -> tuple[list[Parameter], bool]:
    """The weights as a list, and True if they were a single Parameter."""
    if isinstance(weights, Parameter):
        refuse_seen(name, [weights])
        return [weights], True
    if isinstance(weights, Tensor | np.ndarray | str | dict) or not hasattr(weights, "__iter__"):
        raise TypeError(
            f"{name}: weights is a {type(weights).__name__}; expected a Parameter, or a ParameterTuple, list "
            "or tuple of them"
        )
    found = list(weights)
    for i, p in enumerate(found):
        if not isinstance(p, Parameter):
            raise TypeError(
                f"{name}: weights[{i}] is a {type(p).__name__}; expected a Parameter (a plain Tensor is an "
                "input: use grad_position)"
            )
    refuse_seen(name, found)
    return found, False


def checked_position(name: str, position: Any, weights: Any) -> tuple[tuple[int, ...], bool]:
    """The positions as a tuple, and True if the result is a tuple of gradients."""
    if position is None:
        if weights is None:
            raise ValueError(
                f"{name}: grad_position and weights are both None, so there is nothing to differentiate; "
                "give one of them"
            )
        return (), False
    if isinstance(position, tuple):
        positions: tuple[Any, ...] = position
    elif _is_int(position):
        positions = (position,)
    else:
        raise TypeError(
            f"{name}: grad_position is {position!r:.200}; expected an int, a tuple of ints, or None"
            f"{_advice(name, position)}"
        )
    if not positions:
        raise NoPositionError(f"{name}: grad_position is an empty tuple; give the positions, or None with weights")
    for p in positions:
        if not _is_int(p):
            raise TypeError(f"{name}: grad_position holds {p!r:.200}; expected ints{_advice(name, p)}")
        if p < 0:
            raise ValueError(f"{name}: grad_position holds {p}; positions count from 0, negative ones are not allowed")
    if len(set(positions)) != len(positions):
        raise ValueError(f"{name}: grad_position {position} names an input twice")
    return tuple(int(p) for p in positions), len(positions) > 1


def _is_int(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _advice(name: str, position: Any) -> str:
    """Advice on the probable intention, for an invalid position."""
    if isinstance(position, bool):
        return "; for the gradients of all inputs give all positions, or use GradOperation(get_all=True)"
    if isinstance(position, Parameter) or (
        isinstance(position, list | tuple) and position and all(isinstance(p, Parameter) for p in position)
    ):
        return f"; weights come after it: {name}(fn, grad_position=None, weights=weights)"
    if isinstance(position, Tensor):
        return f"; inputs are given when the gradient function is called: {name}(fn)(x)"
    if isinstance(position, list) and position and all(map(_is_int, position)):
        return f"; write {tuple(position)}"
    if isinstance(position, str):
        return "; inputs are chosen by position"
    return ""


def inputs_at(
    name: str, positions: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any], weighted: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert floating numbers and arrays at some positions to tensors. Returns (args, kwargs).

    `weighted` is True if the function is differentiated by weights, too. Other arrays become read-only.
    """
    changed: list[Any] | None = None
    met: list[Any] = []
    for p in positions:
        if p >= len(args):
            remedy = "positions count from 0, and inputs that are differentiated are not given by keyword"
            if not args and weighted:
                remedy = f"for the gradients of weights alone write {name}(fn, grad_position=None, weights=weights)"
            raise PositionError(
                f"{name}: grad_position {p} is beyond the {len(args)} positional inputs of this call; {remedy}"
            )
        if isinstance(args[p], Tensor):
            continue
        x = as_input(name, f"grad_position {p}", args[p], met)
        if not differentiable(x):
            advice = (
                f" (for the weights of a Cell: {name}(fn, grad_position=None, weights=net.trainable_params()), and "
                "give its inputs)"
                if isinstance(x, CellCall)
                else ""
            )
            raise TypeError(
                f"{name}: grad_position {p} names a {type(x).__name__}, which is not differentiated; pass a Tensor or "
                f"a floating number there{advice}"
            )
        changed = changed or list(args)
        changed[p] = x
    return apart(name, tuple(changed) if changed else args, args, kwargs, met)
