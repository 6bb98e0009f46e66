"""Functions for `Dataset.map`: casts, and compositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.dtype import as_dtype

__all__ = ["Compose", "TypeCast"]


class TypeCast:
    """Cast a column.

    Parameters
    ----------
    output_type : type
        A type of dualgrad or NumPy.

    Raises
    ------
    TypeError
        If it is not a type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dataset import NumpySlicesDataset, transforms
    >>> data = NumpySlicesDataset([1, 2], "x", shuffle=False).map(transforms.TypeCast(dg.float32), "x")
    >>> data.output_types()
    [dtype('float32')]
    """

    def __init__(self, output_type: Any) -> None:
        self._type = as_dtype(output_type, where="TypeCast").numpy

    def __call__(self, column: Any) -> np.ndarray:
        return np.asarray(column).astype(self._type)


class Compose:
    """Compose several functions, applied one after the other.

    Parameters
    ----------
    transforms : sequence of callable
        Each takes the result of the one before; a tuple is several arguments.

    Raises
    ------
    TypeError
        If the sequence is empty, or an entry cannot be called.

    Examples
    --------
    >>> from dualgrad.dataset.transforms import Compose
    >>> Compose([lambda x: x + 1, lambda x: 10 * x])(2)
    30
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms: list[Callable[..., Any]] = list(transforms)
        if not self.transforms or not all(callable(transform) for transform in self.transforms):
            raise TypeError("Compose: expected a list of functions")

    def __call__(self, *columns: Any) -> Any:
        values: Any = columns
        for transform in self.transforms:
            values = transform(*values)
            values = values if isinstance(values, tuple) else (values,)
        return values[0] if len(values) == 1 else values
