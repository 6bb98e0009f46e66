"""Cholesky and QR factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import Primitive, expanded
from ..axes._diagonals import tril
from ._cholesky import differential, pullback
from ._matrices import (
    adjoint,
    block,
    blocks,
    conjugate,
    identity,
    joined,
    lapack,
    matrices,
    symmetric,
    transposed,
)
from .solving import substituted

__all__ = ["Cholesky", "Qr", "cholesky", "qr"]


# ---------------------------------------------------------------------------------------------------- Cholesky


def _cholesky_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    return lapack(caller, "is not positive definite", np.linalg.cholesky, a)


def _lower_half(x: Tensor) -> Tensor:
    """The lower triangle with half the diagonal: the part p of Hermitian x with x = p + p^H."""
    return tril(x) - x * (0.5 * identity(x, x.shape[-1]))


def _with_transpose(x: Tensor) -> Tensor:
    return x + transposed(x)


def _differential_vjp(ct: Tensor, out: Tensor, factor: Tensor, da: Tensor) -> tuple[Tensor, Tensor]:
    s = _pullback(factor, ct)
    return tril(s @ out) * -2.0, s


def _pullback_vjp(w: Tensor, out: Tensor, factor: Tensor, ct: Tensor) -> tuple[Tensor, Tensor]:
    x = _differential(factor, _with_transpose(w) * 0.5)
    return tril(out @ x) * -2.0, x


_differential: extend.Primitive = extend.primitive(
    "cholesky_differential",
    differential,
    arity=2,
    residual=lambda out, factor, da: da - _with_transpose(out @ transposed(factor)),
    correction=lambda r, out, factor, da: _differential(factor, r),
    vjp=_differential_vjp,
    core=(2, 2),
    summary="change of a Cholesky factor with that of its matrix",
)


_pullback: extend.Primitive = extend.primitive(
    "cholesky_pullback",
    pullback,
    arity=2,
    residual=lambda out, factor, ct: tril(ct - (out @ factor) * 2.0),
    correction=lambda r, out, factor, ct: _pullback(factor, r),
    vjp=_pullback_vjp,
    core=(2, 2),
    summary="cotangent of a matrix from that of its Cholesky factor",
)


_factor = extend.primitive(
    "cholesky_factor",
    _cholesky_kernel,
    jvp=(lambda da, out, a, caller: _differential(out, da),),
    vjp=(lambda ct, out, a, caller: _pullback(out, ct),),
    core=(2,),
    summary="lower Cholesky factor of symmetric matrices",
)


def _complex_jvp(da: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    left = substituted(out, da, lower=True, least=0.0, caller=caller)
    return out @ _lower_half(substituted(out, adjoint(left), lower=True, least=0.0, caller=caller))


_complex_factor = extend.primitive(
    "complex_cholesky_factor",
    _cholesky_kernel,
    jvp=(_complex_jvp,),
    core=(2,),
    summary="lower Cholesky factor of Hermitian matrices",
)


def cholesky(input_x: Any, upper: bool = False) -> Tensor:
    """Cholesky factor of symmetric (Hermitian) positive definite matrices.

    Parameters
    ----------
    input_x : Tensor
        Shape (..., n, n). Its Hermitian part (a + a^H)/2 is factorised, so gradients are symmetric.
    upper : bool, default False
        Return the upper triangle u of a = u^H u, rather than the lower triangle l of a = l l^H.

    Returns
    -------
    Tensor
        Shape (..., n, n); the other triangle is 0.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cholesky(dg.Tensor([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]
    """
    return _cholesky("cholesky", input_x, upper)


def _cholesky(name: str, a: Any, upper: bool) -> Tensor:
    a = symmetric(name, a, complex=True)
    factor = (_complex_factor if a.dtype.is_complex else _factor)(a, caller=name)
    return adjoint(factor) if truth_value(name, "upper", upper) else factor


# ---------------------------------------------------------------------------------------------------------- QR


def _qr_kernel(a: np.ndarray, mode: str, caller: str) -> np.ndarray:
    """The columns of q above the rows of r that are not 0."""
    n = a.shape[-1]
    q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    out = np.zeros((*a.shape[:-2], q.shape[-2] + n, q.shape[-1]), a.dtype)
    out[..., : q.shape[-2], :] = q
    out[..., q.shape[-2] :, :n] = r[..., :n, :]
    return out


def _parts(out: Tensor, n: int) -> tuple[Tensor, Tensor]:
    rows, columns = out.shape[-2:]
    return block(out, (0, rows - n), (0, columns)), block(out, (rows - n, rows), (0, n))


def _qr_jvp(da: Tensor, out: Tensor, a: Tensor, mode: str, caller: str) -> Tensor:
    """q^H dq is skew and dr r^-1 upper triangular with a real diagonal; both are read from z = q^H da r^-1."""
    n = a.shape[-1]
    q, r = _parts(out, n)
    dependent = 8 * max(a.shape[-2:]) * float(np.finfo(a.dtype.numpy).eps)
    x = transposed(substituted(transposed(r), transposed(da), lower=True, least=dependent, caller=caller))
    z = adjoint(q) @ x
    y = block(z, (0, n), (0, n))
    below = tril(y, -1)
    skew = below - adjoint(below)
    if y.dtype.is_complex:
        skew = skew + (y - conjugate(y)) * (0.5 * identity(y, n))
    dr = (y - skew) @ r
    k = q.shape[-1]
    if k == n:
        return blocks([[x + q @ (skew - y)], [dr]])
    rest = block(z, (n, k), (0, n))
    corner = expanded(Tensor(np.zeros((1, 1), a.dtype.numpy)), (*a.shape[:-2], k - n, k - n))
    turned = q @ blocks([[skew, -adjoint(rest)], [rest, corner]])
    beside = expanded(Tensor(np.zeros((1, 1), a.dtype.numpy)), (*a.shape[:-2], n, k - n))
    return blocks([[turned], [joined([dr, beside], -1)]])


_qr_factors = extend.primitive(
    "qr_factors",
    _qr_kernel,
    jvp=(_qr_jvp,),
    core=(2,),
    summary="QR factors of matrices with at least as many rows as columns",
)


def qr(input: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """QR factorisation: orthonormal columns times an upper triangle.

    Parameters
    ----------
    input : Tensor
        Shape (..., m, n); integers become float32.
    mode : {'reduced', 'complete'}, default 'reduced'
        'reduced': p = min(m, n) columns in q; 'complete': m columns.

    Returns
    -------
    tuple of Tensor
        q of shape (..., m, p) and r of shape (..., p, n), or (..., m, m) and (..., m, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        In a derivative: if the first p columns are linearly dependent.
    TypeError
        If the type is float16.
    ValueError
        If `input` has fewer than two axes, or for another mode.

    Notes
    -----
    The columns that 'complete' adds are any orthonormal complement. Their derivative is the one that turns them least;
    functions that do not depend on the choice have the right derivatives.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> q, r = ops.qr(dg.Tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> print((q @ r).round(4))
    [[3. 1.]
     [4. 2.]]
    """
    return _qr("qr", input, mode)


def _qr(name: str, a: Any, mode: str) -> tuple[Tensor, Tensor]:
    a = matrices(name, a, complex=True)
    if not one_of(mode, ("reduced", "complete")):
        raise ValueError(f"{name}: mode is {mode!r}; expected 'reduced' or 'complete'")
    m, n = a.shape[-2:]
    p = min(m, n)
    q, r = _parts(_qr_factors(block(a, (0, m), (0, p)), mode=mode, caller=f"derivative of {name}"), p)
    if m < n:
        r = joined([r, adjoint(q) @ block(a, (0, m), (m, n))], -1)
    elif q.shape[-1] > n:
        r = joined([r, expanded(Tensor(np.zeros((1, 1), a.dtype.numpy)), (*a.shape[:-2], m - n, n))], -2)
    return q, r


# ------------------------------------------------------------------------------------------ primitive classes


class Cholesky(Primitive):
    """Primitive class of `cholesky`.

    Parameters
    ----------
    upper : bool, default False
        Return the upper triangle.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Cholesky()(dg.Tensor([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]
    """

    __slots__ = ("upper",)

    def __init__(self, upper: bool = False) -> None:
        self.upper: bool = upper

    def __call__(self, input_x: Any) -> Tensor:
        return _cholesky("Cholesky", input_x, self.upper)


class Qr(Primitive):
    """Primitive class of `qr`.

    Parameters
    ----------
    full_matrices : bool, default False
        All m columns of q, mode 'complete'.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> q, r = ops.Qr()(ops.ones((3, 2)))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """

    __slots__ = ("full_matrices",)

    def __init__(self, full_matrices: bool = False) -> None:
        self.full_matrices: bool = full_matrices

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return _qr("Qr", x, "complete" if self.full_matrices else "reduced")


METHODS: dict[str, Any] = {"cholesky": cholesky, "qr": qr}
