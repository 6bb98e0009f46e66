"""Masks: the samples that take the running branch of `cond`, where `vmap` runs both branches.

A loop in a branch must end only for samples that take the branch. So its condition is false for all other samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._engine.transforms.rematerialisation import MASKS
from ..dtype import bool_
from ..tensor import Tensor

__all__ = ["masked", "within"]


@contextmanager
def masked(truth: Tensor) -> Iterator[None]:
    """Inside the block, loops continue only for samples with a true value, too."""
    former = MASKS.now
    MASKS.now = truth if former is None else former & truth
    try:
        yield
    finally:
        MASKS.now = former


def within(proceed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Restrict the condition of a loop to samples that take the surrounding branches."""
    mask = MASKS.now
    if mask is None:
        return proceed

    def both(carry: Any) -> Any:
        truth = proceed(carry)
        if not isinstance(truth, Tensor):
            return mask if truth else False
        return mask & (truth.reshape(()) if truth.size == 1 else truth).astype(bool_)

    return both
