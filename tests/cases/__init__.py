"""Cases: every public operator, called the way users call it, at points that are worth a test.

A case is a function of float64 arrays, all of which are differentiated; settings, indices and masks are closed over.
Each module of this package lists the cases of one family in ``CASES``; ``test_cases.py`` runs every check on every
case, so an operator is tested at all orders and in all modes by adding a line to a list.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Case", "all_cases", "normal", "positive", "spread"]


@dataclass(frozen=True)
class Case:
    """One call of an operator.

    Attributes
    ----------
    operator
        The name in ``dualgrad.ops``.
    label
        What is special about this case, in a word or two.
    fn
        The call, on tensors made of ``args``; the result is a float tensor, or a nest of them.
    args
        float64 arrays.
    smooth
        The function has derivatives of every order at this point. At corners (ties, limits) engines must agree on
        the documented choice, which finite differences cannot confirm.
    rtol
        Agreement of engines, relative to the largest element; more than the default only with a reason beside it.
    order
        Highest order of derivatives that the function has at this point.
    narrow
        The narrower types the call has as well: fewer where it asks for a type, closes over float64 arrays, needs
        the range of float64, or has no float16 form.
    batched
        Turned off, with a reason beside it, where the operator has no meaning for many samples at once.
    """

    operator: str
    label: str
    fn: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    smooth: bool = True
    rtol: float = 1e-11
    order: int = 4
    narrow: tuple[str, ...] = ("float16", "float32")
    batched: bool = True

    def __str__(self) -> str:
        return f"{self.operator}-{self.label}" if self.label else self.operator


def _rng(shape: tuple[int, ...], seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, *shape])


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers, the same at every run."""
    return _rng(shape, seed).standard_normal(shape)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between 0.5 and 2."""
    return _rng(shape, seed).uniform(0.5, 2.0, shape)


def spread(*shape: int, seed: int = 0) -> np.ndarray:
    """Distinct numbers in random order, at least 0.1 apart: no ties, for sorting and maxima."""
    size = int(np.prod(shape))
    rng = _rng(shape, seed)
    return (rng.permutation(size) * 0.2 - 0.1 * size + rng.uniform(0.0, 0.1, size)).reshape(shape)


def all_cases() -> list[Case]:
    """The cases of all families."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").CASES
    return found
