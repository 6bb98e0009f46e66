"""NumPy's least squares and tensor equations for tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._settings import real_number
from ..ops._arguments import alike, floating, integer, several_axes, to_shape
from ..ops.linalg import inverse, pinv, solve, svd
from ..ops.linalg._matrices import matrices
from ..ops.math.complex import squared_magnitude
from ..ops.math.reductions import sum as _sum
from ..ops.shape.creation import zeros
from ..ops.shape.reshaping import moveaxis
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._creation import tensor_of
from ._entries import implements

__all__ = ["least_squares"]


def least_squares(name: str, a: Tensor, b: Tensor, rcond: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solve a least-squares problem. Returns the solution, sums of squared residuals, rank and singular values.

    Residuals are returned whenever there are more equations than unknowns. NumPy omits them if the rank is not full, so
    the shape of its result depends on the numbers.
    """
    m, n = a.shape
    x = pinv(a, rtol=rcond) @ b
    s = svd(a, compute_uv=False)
    there = stop_gradient(s)
    rank = _sum((there > there[:1] * rcond).astype(_dtype.int64), 0) if s.size else Tensor(np.int64(0))
    if m <= n:
        return x, zeros((0,), s.dtype), rank, s
    left = squared_magnitude(b - a @ x)
    return x, _sum(to_shape(left, (m, 1)) if b.ndim == 1 else left, 0), rank, s


@implements(np.linalg.lstsq)
def _np_lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    name = "np.linalg.lstsq"
    a, b = alike([matrices(name, tensor_of(a), True), floating(name, tensor_of(b))])
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"{name}: a matrix of shape {a.shape} and a right-hand side of shape {b.shape}; expected one matrix, and a "
            "vector or a matrix with as many rows"
        )
    eps = float(np.finfo(a.dtype.numpy).eps)
    rcond = None if rcond is None else real_number(name, "rcond", rcond)
    return least_squares(name, a, b, eps * max(a.shape) if rcond is None else eps if rcond == -1 else rcond)


@implements(np.linalg.tensorinv)
def _np_tensorinv(a: Any, ind: int = 2) -> Tensor:
    a, ind = tensor_of(a), integer("np.linalg.tensorinv", "ind", ind)
    if ind < 1:
        raise ValueError(f"np.linalg.tensorinv: ind is {ind}; expected 1 or more")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            f"np.linalg.tensorinv: a tensor of shape {a.shape} is no square matrix of {ind} axes by the rest"
        )
    return to_shape(inverse(to_shape(a, (math.prod(rows), math.prod(columns)))), columns + rows)


@implements(np.linalg.tensorsolve)
def _np_tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    a, b = tensor_of(a), tensor_of(b)
    if axes is not None:
        axes = axes.tolist() if isinstance(axes, np.ndarray) else axes
        moved = several_axes("np.linalg.tensorsolve", axes, a.shape)
        a = moveaxis(a, moved, tuple(range(a.ndim - len(moved), a.ndim)))
    unknowns = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or math.prod(unknowns) != b.size:
        raise ValueError(
            f"np.linalg.tensorsolve: a tensor of shape {a.shape} and a right-hand side of shape {b.shape}; expected "
            "the axes of the right-hand side first, then as many elements"
        )
    flat = solve(to_shape(a, (b.size, b.size)), to_shape(b, (b.size,)))
    return to_shape(flat, unknowns)
