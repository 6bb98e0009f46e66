"""Every function of NumPy that takes tensors, in one table: the files named here have entered theirs."""

from . import (
    _array_api,
    _arrays,
    _compositions,
    _creation,
    _linear_algebra,
    _matrices,
    _products,
    _sequences,
    _signals,
    _standard,
)
from ._entries import FUNCTIONS, SAVES, STANDARD, numbers, on_numbers

__all__ = ["FILES", "FUNCTIONS", "SAVES", "STANDARD", "numbers", "on_numbers"]

FILES = (
    _array_api, _arrays, _compositions, _creation, _linear_algebra, _matrices, _products, _sequences, _signals,
    _standard,
)  # fmt: skip
