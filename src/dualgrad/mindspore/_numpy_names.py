"""Names of `mindspore.numpy` that `dualgrad.numpy` lacks, because NumPy dropped them or they make constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualgrad.numpy as mnp
from dualgrad import dtype as mstype
from dualgrad.dtype import as_dtype
from dualgrad.tensor import Tensor

__all__ = [
    "asfarray",
    "bartlett",
    "blackman",
    "diag_indices",
    "hamming",
    "hanning",
    "in1d",
    "indices",
    "promote_types",
    "sometrue",
    "tril_indices",
    "triu_indices",
]

_FLOATS = (mstype.float16, mstype.float32, mstype.float64)


def asfarray(a: Any, dtype: Any = mstype.float32) -> Tensor:
    """Convert to a tensor of a float type; Float32 replaces all other types."""
    dtype = as_dtype(dtype, where="asfarray")
    return mnp.asarray(a, dtype if dtype in _FLOATS else mstype.float32)


def _window(function: Callable[[int], np.ndarray]) -> Callable[[int], Tensor]:
    """One of NumPy's windows, as a constant in Float32."""

    def window(M: int) -> Tensor:
        if not isinstance(M, int) or isinstance(M, bool):
            raise TypeError(f"{window.__name__}: the number of points must be an int, got {type(M).__name__}")
        return Tensor(function(M).astype(np.float32))

    window.__name__ = window.__qualname__ = function.__name__
    window.__doc__ = f"The window `numpy.{function.__name__}` of `M` points, in Float32."
    return window


bartlett = _window(np.bartlett)
blackman = _window(np.blackman)
hamming = _window(np.hamming)
hanning = _window(np.hanning)


def _as_tensors(arrays: tuple[np.ndarray, ...]) -> tuple[Tensor, ...]:
    return tuple(Tensor(array) for array in arrays)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The positions on the main diagonal of an array with `ndim` axes of length `n`."""
    return _as_tensors(np.diag_indices(n, ndim))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The positions on and below the k-th diagonal of a matrix with `n` rows and `m` columns."""
    return _as_tensors(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The positions on and above the k-th diagonal of a matrix with `n` rows and `m` columns."""
    return _as_tensors(np.triu_indices(n, k, m))


def indices(dimensions: Any, dtype: Any = mstype.int32, sparse: bool = False) -> list[Tensor]:
    """A grid of positions: for each axis the position along it; with `sparse`, of length 1 along the other axes."""
    kind = as_dtype(dtype, where="indices").numpy
    lengths = tuple(dimensions)
    grids = np.indices(lengths, kind, sparse=True) if sparse else np.indices(lengths, kind)
    return [Tensor(grid.copy()) for grid in grids]


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """True where an element of `ar1`, on one axis, is among the elements of `ar2`."""
    return mnp.isin(mnp.ravel(mnp.asarray(ar1)), ar2, invert=invert)


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """True if an element along an axis is true: a former name of `any`."""
    return mnp.any(mnp.asarray(a), axis=axis, keepdims=keepdims)


def promote_types(type1: Any, type2: Any) -> Any:
    """The type of the result of tensors of two types."""
    return mnp.result_type(*[as_dtype(each, where="promote_types") for each in (type1, type2)])
