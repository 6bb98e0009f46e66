"""Eigenvalues and singular values of complex matrices, and eigenvalues of matrices that are not symmetric.

The rules are as in `_perturbation` and `_singular` with adjoints in place of transposes. Each eigenvector has a free
factor of absolute value 1. Where LAPACK defines its choice (`general_pairs`), the derivative is the derivative of
LAPACK's vectors. For Hermitian matrices and singular vectors it belongs to the factor that turns least. So functions
which do not depend on the choice have the right derivatives.
"""

from __future__ import annotations

import numpy as np

from ... import extend
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient
from .._arguments import to_shape
from ..math.complex import imag, real
from ._matrices import (
    adjoint,
    as_column,
    as_row,
    block,
    conjugate,
    diagonal_of,
    failure,
    joined,
    lapack,
    largest,
    spectrum,
)
from ._perturbation import gaps, off_diagonal, pairs_of, quotient
from ._singular import factors_of
from .solving import solved

__all__: list[str] = []

_EQUAL = (
    "has equal eigenvalues, where the derivative that is asked for does not exist or depends on the choice of the "
    "eigenvectors"
)
_DEFECTIVE = (
    "has equal eigenvalues with fewer eigenvectors, or nearly so, where neither of them has a derivative; "
    "a function of the matrix itself may have one (trace, matrix_power, expm)"
)
_EQUAL_VALUES = (
    "has equal or vanishing singular values, where the derivative that is asked for does not exist or depends on the "
    "choice of the singular vectors"
)


def _complex(x: Tensor, like: Tensor) -> Tensor:
    return x.astype(like.dtype)


# ---------------------------------------------------------------------------------------------- Hermitian matrices


def _hermitian_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    """Eigenvalues above eigenvectors."""
    w, v = spectrum(caller, np.linalg.eigh, a)
    return np.concatenate([w[..., None, :].astype(a.dtype), v], -2)


def _hermitian_jvp(da: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    w, v = pairs_of(out)
    y = adjoint(v) @ da @ v
    turn = quotient(off_diagonal(y), gaps(w), w, largest(y, 2), caller, _EQUAL)
    return joined([as_row(_complex(real(diagonal_of(y)), out)), v @ off_diagonal(turn)], -2)


_hermitian_pairs = extend.primitive(
    "hermitian_eigenpairs",
    _hermitian_kernel,
    jvp=(_hermitian_jvp,),
    core=(2,),
    summary="eigenvalues above eigenvectors of a Hermitian matrix",
)


def hermitian_pairs(a: Tensor, caller: str) -> tuple[Tensor, Tensor]:
    """Real eigenvalues, ascending, and orthonormal eigenvectors."""
    w, v = pairs_of(_hermitian_pairs(a, caller=caller))
    return real(w), v


# -------------------------------------------------------------------------------------------------- any matrices


def _general_kernel(a: np.ndarray, caller: str, of_reals: bool) -> np.ndarray:
    """Eigenvalues above eigenvectors of norm 1 with a real largest number; real matrices in NumPy's order."""
    w, v = spectrum(caller, np.linalg.eig, a.real if of_reals else a)
    return np.concatenate([w[..., None, :], v], -2).astype(a.dtype)


def _largest_kernel(v: np.ndarray) -> np.ndarray:
    """1 where a column has its largest number, as LAPACK compares them, and 0 elsewhere."""
    size = v.real**2 + v.imag**2
    chosen = np.where(np.abs(v.imag) <= 1e3 * np.finfo(v.dtype).eps * np.abs(v.real), size, -1.0)
    found = np.zeros(v.shape, v.dtype)
    if v.shape[-2]:
        np.put_along_axis(found, chosen.argmax(-2)[..., None, :], 1.0, -2)
    return found


_largest = extend.primitive(
    "largest_of_columns", _largest_kernel, jvp=(None,), vjp=(None,), core=(2,), summary="where columns are largest"
)


def _conditions(v: np.ndarray, a: np.ndarray, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """The conditions of the eigenvalues, and for each pair the distance up to which it counts as equal.

    Rounding moves an eigenvalue by the norm of the matrix times its condition, the norm of its left eigenvector (Golub
    and Van Loan, Matrix Computations, 4th edition, 7.2.2). Below a hundred times this distance, vectors have no correct
    digits.
    """
    each = np.linalg.norm(lapack(caller, _DEFECTIVE, np.linalg.inv, v), axis=-1)
    size = np.linalg.norm(a, axis=(-2, -1))[..., None, None] * np.finfo(v.dtype).eps
    return each, (each[..., :, None] + each[..., None, :]) * size * 100.0


def _sound_kernel(v: np.ndarray, w: np.ndarray, a: np.ndarray, caller: str) -> np.ndarray:
    """The eigenvectors; an error if some of equal eigenvalues coincide, as in a Jordan block."""
    each, limit = _conditions(v, a, caller)
    near = np.abs(w[..., :, None] - w[..., None, :]) <= limit
    near &= ~np.eye(w.shape[-1], dtype=bool)
    bad = near.any(-1) & (each > np.finfo(v.dtype).eps ** -0.25)
    if bad.any():
        raise failure(caller, tuple(np.argwhere(bad)[0, :-1].tolist()), _DEFECTIVE)
    return np.array(v)


_sound = extend.primitive(
    "sound_eigenvectors",
    _sound_kernel,
    arity=3,
    jvp=(lambda dv, out, v, w, a, caller: dv, None, None),
    vjp=(lambda ct, out, v, w, a, caller: ct, None, None),
    core=(2, 1, 2),
    summary="eigenvectors that differ",
)

_uncertainty = extend.primitive(
    "uncertainty_of_eigenvalues",
    lambda v, a, caller: _conditions(v, a, caller)[1].astype(v.dtype),
    arity=2,
    jvp=(None, None),
    vjp=(None, None),
    core=(2, 2),
    summary="how far eigenvalues have to be apart",
)


def _general_jvp(da: Tensor, out: Tensor, a: Tensor, caller: str, of_reals: bool) -> Tensor:
    """Each vector moves along the other eigenvectors, and along itself so that its norm and its real number stay."""
    w, v = pairs_of(out)
    held = stop_gradient(v), stop_gradient(a)
    v = _sound(v, stop_gradient(w), held[1], caller=caller)
    y = solved(v, da @ v, caller=caller)
    limit = _uncertainty(*held, caller=caller)
    turn = quotient(off_diagonal(y), gaps(w), w, largest(y, 2), caller, _EQUAL, limit=limit)
    dv = v @ off_diagonal(turn)
    there = _largest(stop_gradient(v))
    norm = real((conjugate(v) * dv).sum(-2))
    phase = imag((dv * there).sum(-2)) / real((v * there).sum(-2))
    along = _complex(norm, out) + _complex(phase, out) * 1j
    return joined([as_row(diagonal_of(y)), dv - v * as_row(along)], -2)


_general_pairs = extend.primitive(
    "general_eigenpairs",
    _general_kernel,
    jvp=(_general_jvp,),
    core=(2,),
    summary="eigenvalues above eigenvectors of a complex matrix",
)


def general_pairs(a: Tensor, caller: str, of_reals: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a matrix of complex type; `of_reals` means that all its numbers are real."""
    return pairs_of(_general_pairs(a, caller=caller, of_reals=of_reals))


# ------------------------------------------------------------------------------------------------- singular values


def _factors_kernel(a: np.ndarray, full: bool, caller: str) -> np.ndarray:
    """Singular values, left vectors as columns, right vectors as columns, all in one row."""
    u, s, vh = spectrum(caller, lambda a: np.linalg.svd(a, full), a)
    v = np.swapaxes(vh, -1, -2).conj()
    flat = [x.reshape(*s.shape[:-1], x.shape[-2] * x.shape[-1]) for x in (u, v)]
    return np.concatenate([s.astype(a.dtype), *flat], -1)


def _factors_jvp(da: Tensor, out: Tensor, a: Tensor, full: bool, caller: str) -> Tensor:
    m, n = a.shape[-2:]
    p = min(m, n)
    s, u, v = factors_of(out, m, n, full)
    u1, v1 = block(u, (0, m), (0, p)), block(v, (0, n), (0, p))
    right, left = da @ v1, adjoint(da) @ u1
    inner = adjoint(u1) @ right
    size = largest(inner, 2)
    f = off_diagonal(quotient(off_diagonal((inner + adjoint(inner)) * 0.5), gaps(s), s, size, caller, _EQUAL_VALUES))
    g = quotient((inner - adjoint(inner)) * 0.5, as_row(s) + as_column(s), s, size, caller, _EQUAL_VALUES)
    du = _vectors_jvp(u, u1, f + g, right, inner, s, caller)
    dv = _vectors_jvp(v, v1, f - g, left, adjoint(inner), s, caller)
    ds = _complex(real(diagonal_of(inner)), out)
    return joined([ds, *[to_shape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1])) for x in (du, dv)]], -1)


def _vectors_jvp(u: Tensor, u1: Tensor, turn: Tensor, moved: Tensor, inner: Tensor, s: Tensor, caller: str) -> Tensor:
    """Vectors turn among each other and out of the space they span; the other vectors turn against them."""
    m, k = u.shape[-2:]
    p = u1.shape[-1]
    du = u1 @ turn
    if m > p:
        outside = quotient(moved - u1 @ inner, as_row(s), s, largest(moved, 2), caller, _EQUAL_VALUES)
        du = du + outside
        if k > p:
            du = joined([du, -(u1 @ (adjoint(outside) @ block(u, (0, m), (p, k))))], -1)
    return du


_complex_factors = extend.primitive(
    "complex_singular_factors",
    _factors_kernel,
    jvp=(_factors_jvp,),
    core=(2,),
    summary="singular values and vectors of complex matrices",
)


def complex_factors(a: Tensor, full: bool, caller: str) -> tuple[Tensor, Tensor, Tensor]:
    """Real singular values, descending, and left and right vectors, the columns of two matrices."""
    s, u, v = factors_of(_complex_factors(a, full=full, caller=caller), a.shape[-2], a.shape[-1], full)
    return real(s), u, v
