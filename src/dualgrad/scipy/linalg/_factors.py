"""Factors of matrices with SciPy's arguments: LU, Cholesky, QR, singular values.

The row exchanges of an LU factorisation are piecewise constant, so the factors are differentiated for the exchanged
matrix. With F = L^-1 dA U^-1 they change by L tril(F, -1) and triu(F) U.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtype as _dtype
from ... import extend
from ..._settings import one_of, truth_value
from ...ops._arguments import expanded, to_shape
from ...ops.axes._diagonals import tril, triu
from ...ops.index.gather import gather_elements
from ...ops.linalg import cholesky as _cholesky
from ...ops.linalg import qr as _qr
from ...ops.linalg import svd as _svd
from ...ops.linalg._matrices import adjoint, block, identity, joined, matrices, square, transposed
from ...ops.linalg.solving import right_hand_side, substituted
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient
from ._compiled import each, scipy_linalg

__all__ = ["cho_factor", "cho_solve", "cholesky", "lu", "lu_factor", "lu_solve", "qr", "svd", "svdvals"]


# ------------------------------------------------------------------------------------------------------------- LU


def _pivots_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    """For each row in turn the number of the row that it is exchanged with, as floats."""
    linalg = scipy_linalg(caller)
    return each(caller, "has no LU factors", lambda a: _exchanges(linalg, a)[None, :].astype(float), a)[..., 0, :]


def _exchanges(linalg: Any, a: np.ndarray) -> np.ndarray:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a zero pivot is not an error here
        return np.asarray(linalg.lu_factor(a)[1])


def _order_kernel(exchanges: np.ndarray, rows: int) -> np.ndarray:
    """The row of the matrix that each row of the factors comes from."""
    order = np.broadcast_to(np.arange(rows), (*exchanges.shape[:-1], rows)).astype(exchanges.dtype)
    for index in np.ndindex(exchanges.shape[:-1]):
        for k, other in enumerate(exchanges[index].astype(int)):
            order[index][[k, other]] = order[index][[other, k]]
    return order


_pivots = extend.primitive(
    "lu_pivots", _pivots_kernel, jvp=(None,), vjp=(None,), core=(2,), summary="the exchanges of rows of LU factors"
)
_order = extend.primitive(
    "order_of_rows",
    lambda exchanges, rows: _order_kernel(np.array(exchanges), rows),
    jvp=(None,),
    vjp=(None,),
    core=(1,),
    summary="the order of rows after exchanges",
)


def _packed_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    """L below U in one matrix, for a matrix whose rows are already exchanged."""
    a = np.array(a)
    n = a.shape[-1]
    for k in range(n - 1):
        pivot = a[..., k, k, None]
        a[..., k + 1 :, k] = np.divide(
            a[..., k + 1 :, k], pivot, out=np.zeros_like(a[..., k + 1 :, k]), where=pivot != 0
        )
        a[..., k + 1 :, k + 1 :] -= a[..., k + 1 :, k, None] * a[..., k, None, k + 1 :]
    return a


def _parts(packed: Tensor) -> tuple[Tensor, Tensor]:
    return tril(packed, -1) + identity(packed, packed.shape[-1]), triu(packed)


def _packed_jvp(da: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    lower, upper = _parts(out)
    f = _between(lower, upper, da, caller)
    return lower @ tril(f, -1) + triu(f) @ upper


def _between(lower: Tensor, upper: Tensor, x: Tensor, caller: str) -> Tensor:
    """L^-1 x U^-1."""
    left = substituted(lower, x, lower=True, least=0.0, caller=caller)
    return transposed(substituted(transposed(upper), transposed(left), lower=True, least=_least(upper), caller=caller))


def _least(x: Tensor) -> float:
    """The share of the largest pivot up to which pivots count as rounding errors."""
    return x.shape[-1] * float(np.finfo(x.dtype.numpy).eps)


def _packed_vjp(ct: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    lower, upper = _parts(out)
    f = tril(transposed(lower) @ tril(ct, -1), -1) + triu(triu(ct) @ transposed(upper))
    left = substituted(transposed(lower), f, lower=False, least=0.0, caller=caller)
    return transposed(substituted(upper, transposed(left), lower=False, least=_least(upper), caller=caller))


_inverse_order = extend.primitive(
    "inverse_order",
    lambda order: np.argsort(order, -1).astype(order.dtype),
    jvp=(None,),
    vjp=(None,),
    core=(1,),
    summary="the order that undoes another",
)


def _inverse_of(order: Tensor) -> Tensor:
    """The row of the factors that each row of the matrix goes to."""
    return _inverse_order(order.astype(_dtype.float64)).astype(_dtype.int64)


_packed = extend.primitive(
    "lu_packed",
    _packed_kernel,
    jvp=(_packed_jvp,),
    vjp=(_packed_vjp,),
    core=(2,),
    summary="factors L and U of a matrix without exchanges of rows, in one matrix",
)


def _factored(name: str, a: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """L, U, the exchanges of rows, and the resulting order."""
    a = matrices(name, a, True)
    m, n = a.shape[-2:]
    p = min(m, n)
    exchanges = _pivots(stop_gradient(a), caller=name)
    order = _order(exchanges, rows=m).astype(_dtype.int64)
    a = gather_elements(a, -2, expanded(to_shape(order, (*order.shape, 1)), a.shape))
    packed = _packed(block(a, (0, p), (0, p)), caller=name)
    lower, upper = _parts(packed)
    if m > p:  # L2 U = A2
        rest = transposed(block(a, (p, m), (0, p)))
        below = substituted(transposed(upper), rest, lower=True, least=_least(upper), caller=name)
        lower = joined([lower, transposed(below)], -2)
    if n > p:  # L U2 = A2
        beside = substituted(lower, block(a, (0, m), (p, n)), lower=True, least=0.0, caller=name)
        upper = joined([upper, beside], -1)
    return lower, upper, exchanges.astype(_dtype.int32), order


def lu(a: Any, permute_l: bool = False, *, p_indices: bool = False) -> tuple[Tensor, ...]:
    """Factors of matrices: ``a = p @ l @ u``, with ones on the diagonal of the lower triangle l.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, n), real or complex.
    permute_l : bool, default False
        Return ``p @ l`` and u.
    p_indices : bool, default False
        Return p as the indices of ``a = l[p] @ u``.

    Returns
    -------
    tuple of Tensor
        p, l and u; or ``p @ l`` and u. p has slope 0.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite; in a derivative, if its leading square block, with exchanged rows, is singular.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> p, l, u = linalg.lu(dg.Tensor([[1.0, 2.0], [4.0, 4.0]], dg.float64))
    >>> print(l, u)
    [[1.   0.  ]
     [0.25 1.  ]] [[4. 4.]
     [0. 1.]]
    """
    lower, upper, _, order = _factored("lu", a)
    m = order.shape[-1]
    places = Tensor(np.arange(m))
    matrix = (to_shape(places, (m, 1)) == to_shape(order, (*order.shape[:-1], 1, m))).astype(lower.dtype)
    truth_value("lu", "permute_l", permute_l)
    if permute_l:
        return matrix @ lower, upper
    truth_value("lu", "p_indices", p_indices)
    if p_indices:
        return _inverse_of(order), lower, upper
    return matrix, lower, upper


def _pair(name: str, what: str, value: Any) -> tuple[Any, Any]:
    """Check that a factorisation is a pair. Returns both parts."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name}: {what} must be a pair, as the function returns that factorises, got {value!r:.60}")
    return value[0], value[1]


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """Factors of square matrices for `lu_solve`: both triangles in one matrix, and the exchanges of rows.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n), real or complex.
    overwrite_a, check_finite : bool
        Accepted: nothing is overwritten, and numbers that are not finite always raise.

    Returns
    -------
    tuple of Tensor
        The factors, and the row that each row was exchanged with, Int32.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[1.0, 2.0], [4.0, 4.0]], dg.float64)
    >>> print(linalg.lu_solve(linalg.lu_factor(a), dg.Tensor([3.0, 8.0], dg.float64)))
    [1. 1.]
    """
    a = square("lu_factor", a, True)
    lower, upper, exchanges, _ = _factored("lu_factor", a)
    return tril(lower, -1) + upper, exchanges


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Solve ``a x = b`` with the result of `lu_factor` for a.

    Parameters
    ----------
    lu_and_piv : tuple of Tensor
        The factors, and the exchanges of rows.
    b : Tensor
        Shape (n,) or (..., n, k).
    trans : {0, 1, 2}, default 0
        Solve with a, its transpose, or its conjugated transpose.
    overwrite_b, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a factor has a zero on its diagonal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[1.0, 2.0], [4.0, 4.0]], dg.float64)
    >>> print(linalg.lu_solve(linalg.lu_factor(a), dg.Tensor([5.0, 6.0], dg.float64), trans=1))
    [1. 1.]
    """
    if not one_of(trans, (0, 1, 2)):
        raise ValueError(f"lu_solve: trans is {trans!r}; expected 0, 1 or 2")
    packed, exchanges = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    packed = square("lu_solve", packed, True)
    x, vector = right_hand_side("lu_solve", packed, b, True)
    lower, upper = _parts(packed)
    n = packed.shape[-1]
    order = _order(exchanges.astype(_dtype.float64), rows=n).astype(_dtype.int64)
    if trans == 2:
        lower, upper = lower.conj(), upper.conj()
    index = to_shape(order, (*order.shape, 1))
    shape = (*np.broadcast_shapes(packed.shape[:-2], x.shape[:-2]), *x.shape[-2:])
    x, index = expanded(x, shape), expanded(index, shape)
    if trans == 0:
        x = gather_elements(x, -2, index)
        x = substituted(lower, x, lower=True, least=0.0, caller="lu_solve")
        x = substituted(upper, x, lower=False, least=0.0, caller="lu_solve")
    else:
        x = substituted(transposed(upper), x, lower=True, least=0.0, caller="lu_solve")
        x = substituted(transposed(lower), x, lower=False, least=0.0, caller="lu_solve")
        inverse = _inverse_of(order)
        x = gather_elements(x, -2, expanded(to_shape(inverse, (*inverse.shape, 1)), shape))
    return to_shape(x, x.shape[:-1]) if vector else x


# ------------------------------------------------------------------------------------------------------- Cholesky


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Cholesky factor of definite matrices, by default the upper one, as in SciPy; see `dualgrad.ops.cholesky`.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n).
    lower : bool, default False
        Return l with ``a = l l^H`` in place of u with ``a = u^H u``.
    overwrite_a, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.cholesky(dg.Tensor([[4.0, 2.0], [2.0, 2.0]], dg.float64)))
    [[2. 1.]
     [0. 1.]]
    """
    truth_value("cholesky", "lower", lower)
    return _cholesky(a, not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """Cholesky factor for `cho_solve`, with 0 in the other triangle, and True if it is the lower one; see `cholesky`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[4.0, 2.0], [2.0, 2.0]], dg.float64)
    >>> print(linalg.cho_solve(linalg.cho_factor(a), dg.Tensor([6.0, 4.0], dg.float64)))
    [1. 1.]
    """
    return cholesky(a, lower), bool(lower)


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Solve ``a x = b`` with the result of `cho_factor` for a.

    Parameters
    ----------
    c_and_lower : tuple
        The factor, and True if it is the lower one.
    b : Tensor
        Shape (n,) or (..., n, k).
    overwrite_b, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape of `b`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> factor = dg.Tensor([[2.0, 1.0], [0.0, 1.0]], dg.float64)
    >>> print(linalg.cho_solve((factor, False), dg.Tensor([6.0, 4.0], dg.float64)))
    [1. 1.]
    """
    c, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    c = square("cho_solve", c, True)
    c = tril(c) if lower else adjoint(triu(c))
    x, vector = right_hand_side("cho_solve", c, b, True)
    x = substituted(c, x, lower=True, least=0.0, caller="cho_solve")
    x = substituted(adjoint(c), x, lower=False, least=0.0, caller="cho_solve")
    return to_shape(x, x.shape[:-1]) if vector else x


# ----------------------------------------------------------------------------------------- QR and singular values


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False) -> Any:
    """QR factors of matrices; see `dualgrad.ops.qr`.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, n).
    overwrite_a, lwork
        Accepted without effect.
    mode : {'full', 'economic', 'r'}, default 'full'
        All columns of q, as many as needed, or r alone.
    pivoting : bool, default False
        Refused: exchange the columns beforehand.

    Returns
    -------
    tuple of Tensor
        q and r, or r alone.

    Raises
    ------
    ValueError
        For another mode, or pivoting.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> q, r = linalg.qr(dg.Tensor([[3.0, 1.0], [4.0, 2.0]], dg.float64), mode="economic")
    >>> print((q @ r).round(6))
    [[3. 1.]
     [4. 2.]]
    """
    if truth_value("qr", "pivoting", pivoting) or not one_of(mode, ("full", "economic", "r")):
        raise ValueError(f"qr: mode={mode!r}, pivoting={pivoting}; expected 'full', 'economic' or 'r', and no pivoting")
    q, r = _qr(a, "complete" if mode == "full" else "reduced")
    if mode == "r":
        m, n = r.shape[-2], a.shape[-2]
        rest = Tensor(np.zeros((*r.shape[:-2], n - m, r.shape[-1]), r.dtype.numpy))
        return (joined([r, rest], -2) if n > m else r,)
    return q, r


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, *other: Any, **settings: Any) -> Any:
    """Singular value decomposition with SciPy's results: u, s and v^H; see `dualgrad.ops.svd`.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, n).
    full_matrices : bool, default True
        All singular vectors.
    compute_uv : bool, default True
        If False, return only s.
    *other, **settings
        ``overwrite_a``, ``check_finite``, ``lapack_driver``: accepted without effect.

    Returns
    -------
    tuple of Tensor, or Tensor
        u, s, v^H; or s.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.svd(dg.Tensor([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
    [4. 3.]
    """
    truth_value("svd", "compute_uv", compute_uv)
    if not compute_uv:
        return _svd(a, compute_uv=False)
    s, u, v = _svd(a, full_matrices)
    return u, s, adjoint(v)


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Singular values, descending; see `svd`.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, n).
    overwrite_a, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape (..., min(m, n)).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.svdvals(dg.Tensor([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """
    found: Tensor = _svd(a, compute_uv=False)
    return found
