"""Changes of the eigenvalues and eigenvectors of a symmetric matrix.

For a = v diag(w) v^T and a change da, with y = v^T da v, the eigenvalues change by the diagonal of y, and the vectors
by v f, f_ij = y_ij / (w_j - w_i). Where eigenvalues are equal the vectors may be any basis of their space, and f exists
only if y_ij is 0 there. `quotient` is this division: it gives 0 for 0/0 and refuses y_ij/0.

Functions of eigenvalues alone have derivatives at equal eigenvalues all the same. For these the basis is chosen that
makes y diagonal (`eigenpairs` with a second operand). Then every eigenvalue moves as the diagonal of y says, and chain
rules over them are right for one direction. So there are first derivatives, and the change of a gradient along a
direction. Further derivatives at equal eigenvalues would need one basis for several directions, which does not exist;
they end in `quotient`'s error.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import extend
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient
from .._arguments import expanded
from ._matrices import (
    as_column,
    as_diagonal,
    as_row,
    block,
    diagonal_of,
    failure,
    identity,
    joined,
    largest,
    spectrum,
    transposed,
)

__all__: list[str] = []

_NOISE = 1e4  # rounding errors, in units of eps times size


# ---------------------------------------------------------------------------------------------------- division


def _quotient_kernel(
    y: np.ndarray, gap: np.ndarray, size: np.ndarray, limit: np.ndarray, caller: str, what: str, ordered: bool
) -> np.ndarray:
    y, gap, size, limit = np.broadcast_arrays(y, gap, size, limit)
    near = np.abs(gap) <= limit
    scale = np.maximum(size, np.abs(y).max((-2, -1), keepdims=True, initial=0.0))
    # Numbers that only have to be in order may be positive above the diagonal.
    bad = near & ~((np.triu(-y) if ordered else np.abs(y)) <= _NOISE * np.finfo(y.dtype).eps * scale)
    if bad.any():
        raise failure(caller, tuple(np.argwhere(bad)[0, :-2].tolist()), what)
    return np.divide(y, gap, out=np.zeros_like(y), where=~near)


def _quotient_vjp(
    ct: Tensor, out: Tensor, y: Tensor, gap: Tensor, size: Tensor, limit: Tensor, caller: str, what: str, ordered: bool
) -> tuple[Any, ...]:
    dy = _quotient(ct, gap, largest(ct, 2), limit, caller=caller, what=what, ordered=False)
    return dy, -(out * dy), None, None


_quotient: extend.Primitive = extend.primitive(
    "perturbation_quotient",
    _quotient_kernel,
    arity=4,
    residual=lambda out, y, gap, size, limit, caller, what, ordered: y - out * gap,
    correction=lambda r, out, y, gap, size, limit, caller, what, ordered: _quotient(
        r, gap, size, limit, caller=caller, what=what, ordered=False
    ),
    vjp=_quotient_vjp,
    core=(2, 2, 2, 2),
    summary="quotients, 0 for 0/0",
)


def quotient(
    y: Tensor,
    gap: Tensor,
    w: Tensor,
    size: Tensor,
    caller: str,
    what: str,
    ordered: bool = False,
    limit: Tensor | None = None,
) -> Tensor:
    """Y / gap, 0 where both vanish, and an error where only the gap vanishes.

    A gap vanishes up to `limit`, by default a rounding error of the largest of the values w. A number of y vanishes
    relative to `size`, one number for each matrix.
    """
    if limit is None:
        n = max(w.shape[-1], 1)
        limit = stop_gradient(as_row(largest(w, 1))) * (8 * n * np.finfo(w.dtype.numpy).eps)
    return _quotient(y, expanded(gap, y.shape), stop_gradient(size), limit, caller=caller, what=what, ordered=ordered)


def off_diagonal(x: Tensor) -> Tensor:
    """Set the diagonal to 0: of the numerator of a quotient and, for the transpose, of the result."""
    return x * (1.0 - identity(x, x.shape[-1]))


def gaps(w: Tensor) -> Tensor:
    """w_j - w_i."""
    return as_row(w) - as_column(w)


_EQUAL = (
    "has equal eigenvalues, where eigenvectors have no derivative (any basis would do); functions of the eigenvalues "
    "alone have first and second derivatives by gradients of eigvalsh"
)


def _turn(y: Tensor, w: Tensor, size: Tensor, caller: str) -> Tensor:
    """The part of y that turns eigenvectors, divided by the gaps."""
    return off_diagonal(quotient(off_diagonal(y), gaps(w), w, size, caller, _EQUAL))


def _require_even(x: Tensor, w: Tensor, caller: str, ordered: bool = False) -> None:
    """Raise an error if equal eigenvalues have different numbers x or, with `ordered`, numbers that do not ascend."""
    quotient(gaps(x), gaps(w), w, as_row(largest(x, 1)), caller, _EQUAL, ordered)


# -------------------------------------------------------------------------------------------------- eigenpairs


def clusters(w: np.ndarray) -> list[tuple[int, int]]:
    """The runs of equal values, up to rounding, in ascending (or descending) values, as (first, past the last)."""
    limit = 8 * len(w) * np.finfo(w.dtype).eps * np.abs(w).max(initial=0.0)
    cuts = [0, *(np.flatnonzero(np.abs(np.diff(w)) > limit) + 1).tolist(), len(w)]
    return [(first, last) for first, last in itertools.pairwise(cuts) if last - first > 1]


def _eigen_kernel(a: np.ndarray, direction: np.ndarray, caller: str) -> np.ndarray:
    """Eigenvalues above eigenvectors; the vectors of equal eigenvalues make `direction` diagonal."""
    a, direction = np.broadcast_arrays(a, direction)
    w, v = spectrum(caller, np.linalg.eigh, a)
    for index in np.ndindex(w.shape[:-1]):
        if direction[index].any():
            for first, last in clusters(w[index]):
                space = v[index][:, first:last]
                turn = np.linalg.eigh(space.T @ direction[index] @ space)[1]
                v[index][:, first:last] = space @ turn
    return np.concatenate([w[..., None, :], v], -2)


def _eigen_jvp(da: Tensor, out: Tensor, a: Tensor, direction: Tensor, caller: str) -> Tensor:
    w, v = pairs_of(out)
    y = transposed(v) @ da @ v
    dw = diagonal_of(y)
    # Another level moves along `direction`. One basis serves both only if both order it alike.
    given = stop_gradient(largest(direction, 2)) > 0.0
    _require_even(dw * given.astype(dw.dtype)[..., 0], w, caller, ordered=True)
    return joined([as_row(dw), v @ _turn(y, w, largest(y, 2), caller)], -2)


def _eigen_vjp(ct: Tensor, out: Tensor, a: Tensor, direction: Tensor, caller: str) -> Tensor:
    w, v = pairs_of(out)
    dw, dv = pairs_of(ct)
    m = transposed(v) @ dv
    size = largest(m, 2)
    # A cotangent that differs among equal eigenvalues depends on the choice of the basis. The part that depends on the
    # vectors cannot make up for it.
    _require_even(dw, w, caller)
    inside = as_diagonal(dw) + _turn((m - transposed(m)) * 0.5, w, size, caller)
    found = v @ inside @ transposed(v)
    return (found + transposed(found)) * 0.5


eigenpairs = extend.primitive(
    "eigenpairs",
    _eigen_kernel,
    arity=2,
    jvp=(_eigen_jvp, None),
    vjp=(_eigen_vjp, None),
    core=(2, 2),
    summary="eigenvalues above eigenvectors of a symmetric matrix",
)


def pairs_of(out: Tensor) -> tuple[Tensor, Tensor]:
    """Split the rows of a result into eigenvalues and eigenvectors."""
    rows, n = out.shape[-2:]
    w = block(out, (0, 1), (0, n))
    return w.reshape((*w.shape[:-2], n)), block(out, (1, rows), (0, n))


# ------------------------------------------------------------------------------------------- eigenvalues alone


def slopes(da: Tensor, a: Tensor, caller: str) -> Tensor:
    """The derivatives of the eigenvalues along a direction."""
    v = pairs_of(eigenpairs(a, da, caller=caller))[1]
    return (v * (da @ v)).sum(-2)


def _shared_kernel(c: np.ndarray, a: np.ndarray, caller: str) -> np.ndarray:
    """V diag(c) v^T, where equal eigenvalues share their numbers c equally."""
    w, v = spectrum(caller, np.linalg.eigh, a)
    c = np.array(np.broadcast_to(c, np.broadcast_shapes(c.shape, w.shape)))
    w = np.broadcast_to(w, c.shape)
    for index in np.ndindex(w.shape[:-1]):
        for first, last in clusters(w[index]):
            c[index][first:last] = c[index][first:last].mean()
    return (v * c[..., None, :]) @ np.swapaxes(v, -1, -2)


def _shared_jvp(tangents: tuple[Tensor, Tensor], out: Tensor, c: Tensor, a: Tensor, caller: str) -> Tensor:
    dc, da = tangents
    w, v = pairs_of(eigenpairs(a, da, caller=caller))
    y = transposed(v) @ da @ v
    inside = as_diagonal(dc) + _turn(y, w, largest(y, 2), caller) * gaps(c)
    return v @ inside @ transposed(v)


def _shared_vjp(ct: Tensor, out: Tensor, c: Tensor, a: Tensor, caller: str) -> tuple[Tensor, Tensor]:
    ct = (ct + transposed(ct)) * 0.5
    w, v = pairs_of(eigenpairs(a, ct, caller=caller))
    h = transposed(v) @ ct @ v
    dc = diagonal_of(h)
    _require_even(dc, w, caller)
    return dc, v @ _turn(h * gaps(c), w, largest(h, 2) * as_row(largest(c, 1)), caller) @ transposed(v)


weighted = extend.primitive(
    "spectral_sum",
    _shared_kernel,
    arity=2,
    jvp=_shared_jvp,
    vjp=_shared_vjp,
    core=(1, 2),
    summary="sum of the projectors on eigenvectors, with weights",
)

eigenvalues = extend.primitive(
    "eigenvalues",
    lambda a, caller: spectrum(caller, np.linalg.eigvalsh, a),
    jvp=(lambda da, out, a, caller: slopes(da, a, caller),),
    vjp=(lambda ct, out, a, caller: weighted(ct, a, caller=caller),),
    core=(2,),
    summary="eigenvalues of symmetric matrices",
)
