"""Determinants.

The gradient of a determinant is the matrix of cofactors. Away from singular matrices it is det(a) times the inverse
transposed; but a determinant is a polynomial, and its derivatives exist everywhere. They are found in two parts. Let u,
v be the singular vectors of the matrix, held constant. The product m = u^H a v is diagonal at this point, small entries
last. Split off the last k rows and columns, so that the rest is well-conditioned:

    m = [m11 m12]    det(m) = det(m11) det(s),    s = m22 - m21 m11^-1 m12
        [m21 m22]

The first factor has a well-conditioned inverse. The second is the determinant of a k by k matrix, expanded row by row
over sets of columns without any division. So derivatives of every order are exact where the rank is n-1, n-2, or 0.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from ... import extend
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, expanded, to_shape, total
from ..index.choice import where
from ..math.complex import real
from ._matrices import block, blocks, diagonal_of, identity, inner, spectrum, square, transposed
from .solving import inverted

__all__ = ["LogMatrixDeterminant", "MatrixDeterminant", "det", "logdet", "slogdet"]

_GATHER = OP["gather"]
_SMALL = 1e-2  # singular values below this part of the largest are split off
_MOST = 10  # at most this many, unless more are zeros


# -------------------------------------------------------------------------------------- without any division


def _picked(x: Tensor, *indices: np.ndarray) -> Tensor:
    """Take elements at index arrays for the last axes."""
    leading = [(0, n, 1) for n in x.shape[: x.ndim - len(indices)]]
    return _engine.apply(_GATHER, (*leading, *range(len(indices))), x, *indices)


@cache
def _expansion(n: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each row of an n by n matrix: the columns of each set, the set without each of them, and the signs."""
    tables = []
    former: dict[tuple[int, ...], int] = {(): 0}
    for row in range(n):
        sets = list(itertools.combinations(range(n), row + 1))
        rest = [[former[chosen[:p] + chosen[p + 1 :]] for p in range(row + 1)] for chosen in sets]
        signs = (-1.0) ** (row + np.arange(row + 1))
        tables.append((np.array(sets), np.array(rest), signs))
        former = {chosen: k for k, chosen in enumerate(sets)}
    return tables


def _expanded_determinant(a: Tensor) -> Tensor:
    """The determinant as a sum over sets of columns, one more column for each row."""
    n, axis = a.shape[-1], a.ndim - 2
    minors = expanded(Tensor(np.ones(1, a.dtype.numpy)), (*a.shape[:-2], 1))
    for row, (columns, rest, signs) in enumerate(_expansion(n)):
        entries = to_shape(block(a, (row, row + 1), (0, n)), a.shape[:-1])
        terms = _picked(entries, columns) * _picked(minors, rest)
        minors = total(terms * signs.astype(a.dtype.numpy), (axis + 1,), False)
    return to_shape(minors, a.shape[:-2])


@cache
def _minors(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row and column, the rows and columns without them, and the signs of the cofactors."""
    rest = np.array([[k for k in range(n) if k != i] for i in range(n)], dtype=np.int64)
    rows = np.broadcast_to(rest[:, None, :, None], (n, n, n - 1, n - 1))
    columns = np.broadcast_to(rest[None, :, None, :], (n, n, n - 1, n - 1))
    return rows.copy(), columns.copy(), (-1.0) ** np.add.outer(np.arange(n), np.arange(n))


def _polynomials(a: Tensor) -> tuple[Tensor, Tensor]:
    """Determinant and cofactors as polynomials of the entries."""
    n = a.shape[-1]
    if n > _MOST:
        return _by_traces(a)
    rows, columns, signs = _minors(n)
    minors = _picked(a, rows, columns)
    return _expanded_determinant(a), _expanded_determinant(minors) * signs.astype(a.dtype.numpy)


def _by_traces(a: Tensor) -> tuple[Tensor, Tensor]:
    """Determinant and cofactors of large matrices near zero, from the traces of powers (Faddeev and Le Verrier)."""
    n = a.shape[-1]
    unit = identity(a, n)
    adjugate = expanded(Tensor(unit), a.shape)
    for k in range(1, n + 1):
        product = a @ adjugate
        coefficient = total(diagonal_of(product), (a.ndim - 2,), True) * (-1.0 / k)
        if k < n:
            adjugate = product + to_shape(coefficient, (*a.shape[:-2], 1, 1)) * unit
    sign = (-1.0) ** n
    return to_shape(coefficient, a.shape[:-2]) * sign, transposed(adjugate) * -sign


# -------------------------------------------------------------------------------------------------- primitives


def _frame_kernel(a: np.ndarray) -> np.ndarray:
    """Rows: u^H, v^T, det(u) det(v^H); then one more row for each small singular value.

    Their number becomes a length: shapes depend on it, and programs need not read a value.
    """
    n = a.shape[-1]
    u, s, vt = spectrum("derivative of det", np.linalg.svd, a)
    limit = s[..., :1]
    zeros = (s <= n * np.finfo(a.dtype).eps * limit).sum(-1).max(initial=0)
    small = (s <= _SMALL * limit).sum(-1).max(initial=0)
    out = np.zeros((*a.shape[:-2], 2 * n + 1 + max(zeros, min(small, _MOST)), n), a.dtype)
    turn = np.linalg.det(u) * np.linalg.det(vt)
    out[..., :n, :] = np.swapaxes(u, -1, -2).conj()
    out[..., n : 2 * n, :] = vt.conj()
    out[..., 2 * n, 0] = turn if a.dtype.kind == "c" else np.round(turn)
    return out


_frame = extend.primitive(
    "determinant_frame",
    _frame_kernel,
    jvp=(None,),
    vjp=(None,),
    core=(2,),
    summary="singular vectors as constants, and how many singular values are small",
)

_regular = extend.primitive(
    "regular_determinant",
    np.linalg.det,
    jvp=(lambda da, out, a: out * inner(transposed(inverted(a, caller="det")), da),),
    vjp=(lambda ct, out, a: _spread(ct * out) * transposed(inverted(a, caller="det")),),
    core=(2,),
    summary="determinant of well-conditioned matrices",
)


def _spread(x: Tensor) -> Tensor:
    """Reshape one number for each matrix to matrices of one element."""
    return to_shape(x, (*x.shape, 1, 1))


def cofactors(a: Tensor) -> Tensor:
    """The gradient of the determinant; it and all its derivatives are exact for singular matrices, too."""
    n = a.shape[-1]
    if n == 0:
        return a
    frame = _frame(a)
    r = 3 * n + 1 - frame.shape[-2]
    left_turn, right_turn = block(frame, (0, n), (0, n)), block(frame, (n, 2 * n), (0, n))
    m = left_turn @ a @ transposed(right_turn)
    m11, m12 = block(m, (0, r), (0, r)), block(m, (0, r), (r, n))
    m21, m22 = block(m, (r, n), (0, r)), block(m, (r, n), (r, n))
    scale = _spread(_regular(m11)) * block(frame, (2 * n, 2 * n + 1), (0, 1))
    if r == n:
        found = scale * transposed(inverted(m11, caller="det"))
    elif r == 0:
        found = scale * _polynomials(m22)[1]
    else:
        inverse = inverted(m11, caller="det")
        left, right = m21 @ inverse, inverse @ m12
        small, c22 = _polynomials(m22 - left @ m12)
        c12, c21 = -(transposed(left) @ c22), -(c22 @ transposed(right))
        c11 = _spread(small) * transposed(inverse) - c12 @ transposed(right)
        found = scale * blocks([[c11, c12], [c21, c22]])
    return transposed(left_turn) @ found @ right_turn


_determinant = extend.primitive(
    "determinant",
    np.linalg.det,
    jvp=(lambda da, out, a: inner(cofactors(a), da),),
    vjp=(lambda ct, out, a: _spread(ct) * cofactors(a),),
    core=(2,),
    summary="determinant of square matrices",
)


def _sign_and_log(a: np.ndarray) -> np.ndarray:
    return np.stack(np.linalg.slogdet(a), -1)


def _log_slope(a: Tensor) -> Tensor:
    return transposed(inverted(a, caller="derivative of slogdet"))


# The sign is constant. Made once, so that the rule does not depend on replaced NumPy functions.
_OF_LOGARITHM = np.array([0.0, 1.0])

_log_determinant = extend.primitive(
    "log_determinant",
    _sign_and_log,
    jvp=(lambda da, out, a: to_shape(inner(_log_slope(a), da), (*out.shape[:-1], 1)) * _OF_LOGARITHM,),
    vjp=(lambda ct, out, a: _spread(ct[..., 1]) * _log_slope(a),),
    core=(2,),
    summary="sign and logarithm of the absolute value of the determinant",
)


def _complex_log_jvp(da: Tensor, out: Tensor, a: Tensor) -> Tensor:
    """The logarithm moves by t = tr(a^-1 da): the size of the determinant by Re t, its direction by Im t."""
    t = inner(_log_slope(a), da)
    size = real(t).astype(out.dtype)
    first, last = np.eye(2, dtype=out.dtype.numpy)
    shape = (*t.shape, 1)
    return to_shape(out[..., 0] * (t - size), shape) * first + to_shape(size, shape) * last


_complex_log_determinant = extend.primitive(
    "complex_log_determinant",
    _sign_and_log,
    jvp=(_complex_log_jvp,),
    core=(2,),
    summary="direction and logarithm of the absolute value of the determinant of complex matrices",
)


# --------------------------------------------------------------------------------------------------- functions


def det(input: Any) -> Tensor:
    """Determinant of square matrices.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, n); integers become float32.

    Returns
    -------
    Tensor
        Shape (...).

    Raises
    ------
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    Notes
    -----
    All entries are free. The derivatives of every order are exact, as for the polynomial, also where matrices are
    singular.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.det(dg.Tensor([[2.0, 1.0], [0.0, 4.0]])))
    8.0
    >>> print(dg.grad(ops.det)(dg.Tensor([[1.0, 0.0], [0.0, 0.0]])))
    [[0. 0.]
     [0. 1.]]
    """
    return _determinant(square("det", input, complex=True))


def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """Sign of the determinant, and logarithm of its absolute value.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, n); integers become float32.

    Returns
    -------
    tuple of Tensor
        Signs (1, -1, or 0 for a singular matrix; of complex matrices numbers of absolute value 1) and logarithms (real,
        -inf for a singular matrix), each of shape (...).

    Raises
    ------
    numpy.linalg.LinAlgError
        In a derivative: if a matrix is singular.
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> sign, log = ops.slogdet(dg.Tensor([[-2.0, 1.0], [0.0, 4.0]]))
    >>> print(sign, log)
    -1.0 2.0794415
    """
    return _sign_and_logarithm("slogdet", input, complex=True)


def _sign_and_logarithm(name: str, a: Any, complex: bool = False) -> tuple[Tensor, Tensor]:
    a = square(name, a, complex)
    if a.dtype.is_complex:
        both = _complex_log_determinant(a)
        return both[..., 0], real(both[..., 1])
    both = _log_determinant(a)
    return both[..., 0], both[..., 1]


def logdet(input: Any) -> Tensor:
    """Logarithm of the determinant: nan where it is negative, -inf where it is 0.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, n); integers become float32.

    Returns
    -------
    Tensor
        Shape (...).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.logdet(dg.Tensor([[2.0, 1.0], [0.0, 4.0]])))
    2.0794415
    """
    sign, log = _sign_and_logarithm("logdet", input)
    return where(sign < 0, np.nan, log)


# ------------------------------------------------------------------------------------------ primitive classes


class MatrixDeterminant(Primitive, of=det):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return _determinant(square("MatrixDeterminant", x))


class LogMatrixDeterminant(Primitive, of=slogdet):
    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return _sign_and_logarithm("LogMatrixDeterminant", x)


METHODS: dict[str, Any] = {"det": det, "slogdet": slogdet, "logdet": logdet}
