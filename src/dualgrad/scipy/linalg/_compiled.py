"""SciPy's compiled linear algebra, imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.linalg._matrices import failure

__all__: list[str] = []


def scipy_linalg(name: str) -> Any:
    """Import ``scipy.linalg``."""
    try:
        import scipy.linalg
    except ImportError:
        raise ImportError(f"{name}: needs SciPy; pip install 'dualgrad[scipy]'") from None
    return scipy.linalg


def each(name: str, what: str, function: Callable[..., np.ndarray | None], *stacks: np.ndarray) -> np.ndarray:
    """Apply a function to each matrix of stacks, which are broadcast against each other.

    Raises
    ------
    numpy.linalg.LinAlgError
        "`name`: the matrix at [2, 0] `what`", if the function raises or its result is not finite.
    """
    outer = np.broadcast_shapes(*[x.shape[:-2] for x in stacks])
    stacks = tuple([np.broadcast_to(x, outer + x.shape[-2:]) for x in stacks])
    found: list[np.ndarray] = []
    for index in np.ndindex(outer):
        matrices = [x[index] for x in stacks]
        if not all(np.isfinite(x).all() for x in matrices):
            raise failure(name, index, "is not finite")
        try:
            result = function(*matrices)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise failure(name, index, what) from error
        if result is None or not np.isfinite(result).all():
            raise failure(name, index, what)
        found.append(result)
    if not found:
        example = function(*[np.eye(*x.shape[-2:], dtype=x.dtype) for x in stacks])
        assert example is not None
        return np.empty((*outer, *example.shape), example.dtype)
    return np.stack(found).reshape((*outer, *found[0].shape))
