"""Every function of NumPy that takes tensors, in one table: the files named here have entered theirs."""

from . import _arrays, _compositions, _creation, _matrices, _sequences, _signals
from ._entries import FUNCTIONS, SAVES, numbers, on_numbers

__all__ = ["FILES", "FUNCTIONS", "SAVES", "numbers", "on_numbers"]

FILES = (_arrays, _compositions, _creation, _matrices, _sequences, _signals)
