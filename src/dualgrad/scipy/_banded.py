"""Systems with banded matrices, in LAPACK's form: row ``u + i - j`` of the bands holds A[i, j] at column j.

There are l diagonals below the main one and u above it. As for other systems, a solution is the root of the residual
``b - A x``, and a small residual r is removed by the correction A^-1 r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import extend
from ..ops.shape._padding import pad
from ..ops.shape.reshaping import stack
from ..tensor import Tensor

__all__ = ["banded_solved"]


def _solved(bands: np.ndarray, b: np.ndarray, below: int, above: int, caller: str) -> np.ndarray:
    from scipy.linalg import solve_banded

    shape = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
    found = np.empty((*shape, *b.shape[-2:]), np.result_type(bands, b))
    bands, b = np.broadcast_to(bands, shape + bands.shape[-2:]), np.broadcast_to(b, shape + b.shape[-2:])
    for i in np.ndindex(shape):
        try:
            found[i] = solve_banded((below, above), bands[i], b[i], check_finite=False)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(f"{caller}: the matrix is singular") from None
    return found


def _shifted(row: Tensor, by: int) -> Tensor:
    """Element j + by of a vector, or of each column, at j; zeros beyond the ends."""
    n = row.shape[0]
    rest = (0, 0) * (row.ndim - 1)
    if by == 0:
        return row
    if abs(by) >= n:
        return row * 0.0
    return pad(row[by:], (*rest, 0, by)) if by > 0 else pad(row[:by], (*rest, -by, 0))


def _product(bands: Tensor, x: Tensor, below: int, above: int) -> Tensor:
    total = None
    for d in range(-above, below + 1):  # of the diagonal i - j = d
        term = _shifted(bands[above + d].reshape(-1, 1) * x, -d)
        total = term if total is None else total + term
    assert total is not None
    return total


def _transposed(bands: Tensor, below: int, above: int) -> Tensor:
    return stack([_shifted(bands[above - d], d) for d in range(-below, above + 1)])


def _solved_vjp(
    ct: Tensor, out: Tensor, bands: Tensor, b: Tensor, below: int, above: int, caller: str
) -> tuple[Tensor, Tensor]:
    db = banded_solved(_transposed(bands, below, above), ct, below=above, above=below, caller=caller)
    rows = [-(_shifted(db, d) * out).sum(-1) for d in range(-above, below + 1)]
    return stack(rows), db


def _residual(out: Tensor, bands: Tensor, b: Tensor, below: int, above: int, caller: str) -> Tensor:
    return b - _product(bands, out, below, above)


def _correction(r: Tensor, out: Tensor, bands: Tensor, b: Tensor, **settings: Any) -> Tensor:
    return banded_solved(bands, r, **settings)


banded_solved: extend.Primitive = extend.primitive(
    "banded_solve",
    _solved,
    arity=2,
    residual=_residual,
    correction=_correction,
    vjp=_solved_vjp,
    core=(2, 2),
    summary="solution of systems with banded matrices",
)
