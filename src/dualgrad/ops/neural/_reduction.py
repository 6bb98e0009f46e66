"""Shared by the losses: checks of their arguments, and the reduction of elementwise losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._settings import one_of, real_number
from ...tensor import Tensor
from .._arguments import ALL_AXES, total
from ..math.reductions import mean


def check_reduction(name: str, reduction: Any) -> None:
    """Raise ValueError for an unknown reduction."""
    if not one_of(reduction, ("mean", "sum", "none")):
        raise ValueError(f"{name}: reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """Return the elementwise loss itself, its sum or its mean."""
    if reduction == "mean":
        return mean(loss)
    return total(loss, ALL_AXES[loss.ndim], False) if reduction == "sum" else loss


def positive(name: str, what: str, value: float) -> None:
    """Raise ValueError for a setting that is not above 0."""
    if not real_number(name, what, value) > 0:
        raise ValueError(f"{name}: {what} is {value}; expected a positive number")


def same_or_broadcast(name: str, first: str, x: Tensor, second: str, y: Tensor) -> tuple[int, ...] | None:
    """Return the shape to which two different shapes broadcast; raise ValueError for shapes that do not."""
    if x.shape != y.shape:
        try:
            return np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise ValueError(
                f"{name}: {first} has shape {x.shape} and {second} has shape {y.shape}, which do not "
                f"broadcast; expected equal shapes"
            ) from None
    return None
