"""What a transform is asked for: a function, the positions of its inputs, and weights; all of them checked."""

from __future__ import annotations

from typing import Any

from .._engine.transforms.inputs import as_input
from .._engine.transforms.pytrees import differentiable
from ..parameter import Parameter
from ..tensor import Tensor

__all__ = [
    "NoPositionError", "PositionError", "check_callable", "checked_position", "checked_weights", "inputs_at",
    "parameters_of",
]  # fmt: skip


class PositionError(IndexError, RuntimeError):
    """A position beyond the inputs of a function."""


class NoPositionError(ValueError, RuntimeError):
    """An empty tuple of positions."""


def check_callable(name: str, fn: Any) -> None:
    """Refuse what is no function or Cell."""
    if not callable(fn):
        raise TypeError(
            f"{name}: expected a function or Cell to differentiate, got {type(fn).__name__}; pass the "
            "function itself, not its result"
        )


def parameters_of(fn: Any) -> list[Parameter]:
    """The trainable parameters of a Cell, or of the Cell a method belongs to; none for a plain function."""
    owner: Any = fn if hasattr(fn, "trainable_params") else getattr(fn, "__self__", None)
    return list(owner.trainable_params()) if hasattr(owner, "trainable_params") else []


def checked_weights(name: str, weights: Any) -> tuple[list[Parameter], bool]:
    """The weights as a list, and whether they were a single Parameter."""
    if isinstance(weights, Parameter):
        return [weights], True
    if isinstance(weights, Tensor) or not hasattr(weights, "__iter__") or isinstance(weights, str | dict):
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
    return found, False


def checked_position(name: str, position: Any, weights: Any) -> tuple[tuple[int, ...], bool]:
    """The positions as a tuple, and whether a tuple of gradients was asked for."""
    if position is None:
        if weights is None:
            raise ValueError(
                f"{name}: grad_position and weights are both None, so there is nothing to differentiate; "
                "give one of them"
            )
        return (), False
    if isinstance(position, int):
        positions: tuple[Any, ...] = (int(position),)
    elif isinstance(position, tuple):
        positions = position
    else:
        raise TypeError(f"{name}: grad_position is {position!r}; expected an int, a tuple of ints, or None")
    if not positions:
        raise NoPositionError(f"{name}: grad_position is an empty tuple; give the positions, or None with weights")
    for p in positions:
        if not isinstance(p, int):
            raise TypeError(f"{name}: grad_position holds {p!r}; expected ints")
        if p < 0:
            raise ValueError(f"{name}: grad_position holds {p}; positions count from 0, negative ones are not allowed")
    if len(set(positions)) != len(positions):
        raise ValueError(f"{name}: grad_position {position} names an input twice")
    return tuple(int(p) for p in positions), len(positions) > 1


def inputs_at(name: str, positions: tuple[int, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a function, floating numbers and arrays at some positions as tensors."""
    changed: list[Any] | None = None
    for p in positions:
        if p >= len(args):
            raise PositionError(f"{name}: grad_position {p} is beyond the {len(args)} positional inputs")
        if isinstance(args[p], Tensor):
            continue
        x = as_input(name, f"grad_position {p}", args[p])
        if not differentiable(x):
            raise TypeError(
                f"{name}: grad_position {p} names a {type(x).__name__}, which is not differentiated; pass a Tensor or "
                "a floating number there"
            )
        changed = changed or list(args)
        changed[p] = x
    return tuple(changed) if changed else args
