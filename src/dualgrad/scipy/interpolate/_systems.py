"""The banded systems of splines."""

from __future__ import annotations

from ...ops.shape._padding import pad
from ...ops.shape.reshaping import stack
from ...tensor import Tensor
from ..linalg._systems import banded

__all__ = ["tridiagonal"]


def tridiagonal(lower: Tensor, middle: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """The solution of a system with three diagonals; ``right`` has a column for each right-hand side."""
    bands = stack([pad(upper, (1, 0)), middle, pad(lower, (0, 1))])
    return banded(bands, right, low=1, up=1, caller="spline")
