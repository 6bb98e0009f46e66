"""Probe vectors of stochastic estimators: rows z with E[z z^T] = 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._engine.transforms.inputs import as_input
from .._settings import one_of
from ..dtype import DType
from ..operators.estimators import random_signs
from ..tensor import Tensor

__all__ = ["checked_count", "probes_of"]

KINDS = ("rademacher", "gaussian", "hadamard")


def checked_count(name: str, what: str, count: Any) -> int:
    """Check an option that is a count: an int from 1 on."""
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"{name}: {what} is {count!r}; expected an int")
    if int(count) < 1:
        raise ValueError(f"{name}: {what} is {count}; expected 1 or more")
    return int(count)


def probes_of(name: str, probes: Any, samples: int, size: int, dtype: DType) -> tuple[Tensor, bool]:
    """Probes (samples, size), and True if they are independent draws, whose spread gives the error."""
    if not isinstance(probes, str):
        given = as_input(name, "the probes", probes)
        if not isinstance(given, Tensor) or given.ndim != 2 or given.shape[1] != size or not len(given):
            what = f"shape {given.shape}" if isinstance(given, Tensor) else type(given).__name__
            raise ValueError(f"{name}: the probes are {what}; expected (samples, {size})")
        return given.astype(dtype), True
    if not one_of(probes, KINDS):
        raise ValueError(f"{name}: probes is {probes!r}; expected one of {', '.join(KINDS)}, or an array of probes")
    if probes == "rademacher":
        return random_signs((samples, size), dtype), True
    if probes == "gaussian":
        return ops.randn((samples, size)).astype(dtype), True
    #     # Rows of a Hadamard matrix, repeated along the variables, with a random sign for each variable.
    return Tensor(_hadamard(name, samples, size), dtype) * random_signs((size,), dtype), False


def _hadamard(name: str, samples: int, size: int) -> np.ndarray:
    if samples & (samples - 1):
        raise ValueError(f"{name}: {samples} Hadamard probes; expected a power of two")
    place = np.arange(size) % samples
    ones = _ones(samples, place)
    return 1.0 - 2.0 * (ones % 2)


def _ones(samples: int, place: np.ndarray) -> np.ndarray:
    """The number of bits that are one in both numbers."""
    both = np.arange(samples)[:, None] & place
    return sum(((both >> bit) & 1) for bit in range(samples.bit_length()))
