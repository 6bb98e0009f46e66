"""Masks: which samples take the branch of `cond` that runs, where `vmap` runs both.

A loop in a branch may end only where the branch is taken. So its condition holds for no sample that does not take the
branch.
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
    """Inside the block, loops go on only for samples for which a truth value holds, too."""
    former = MASKS.now
    MASKS.now = truth if former is None else former & truth
    try:
        yield
    finally:
        MASKS.now = former


def within(proceed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The condition of a loop, which holds only for samples that take the branches around."""
    mask = MASKS.now
    if mask is None:
        return proceed

    def both(carry: Any) -> Any:
        truth = proceed(carry)
        if not isinstance(truth, Tensor):
            return mask if truth else False
        return mask & (truth.reshape(()) if truth.size == 1 else truth).astype(bool_)

    return both
