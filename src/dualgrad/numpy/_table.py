"""The table of all NumPy functions for tensors. Importing the files named here registers their functions."""

import numpy as np

from . import (
    _array_api,
    _arrays,
    _bins,
    _compositions,
    _creation,
    _editing,
    _formulas,
    _in_place,
    _least_squares,
    _linear_algebra,
    _matrices,
    _padding,
    _polynomials,
    _products,
    _quantiles,
    _reductions,
    _scans,
    _sequences,
    _sets,
    _signals,
    _sorting,
    _standard,
    _unique,
)
from ._entries import FUNCTIONS, SAVES, STANDARD, numbers, on_numbers

__all__ = ["FILES", "FUNCTIONS", "SAVES", "STANDARD", "numbers", "on_numbers"]

FILES = (
    _array_api, _arrays, _bins, _compositions, _creation, _editing, _formulas, _in_place, _least_squares,
    _linear_algebra, _matrices, _padding, _polynomials, _products, _quantiles, _reductions, _scans, _sequences, _sets,
    _signals, _sorting, _standard, _unique,
)  # fmt: skip

# A function of the array API standard also answers NumPy's function of the same name.
for _name, _function in STANDARD.items():
    _space, _, _last = _name.rpartition(".")
    _theirs = getattr(getattr(np, _space) if _space else np, _last, None)
    if callable(_theirs) and not isinstance(_theirs, type | np.ufunc):
        FUNCTIONS.setdefault(_theirs, _function)
