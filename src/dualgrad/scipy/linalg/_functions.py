"""Functions of square matrices: exponential, logarithm, square root.

A square root solves x x = a, so its derivatives solve Sylvester equations. Exponential and logarithm consist of
products, roots and solves. So derivatives of every order exist.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import extend
from ...ops._arguments import expanded, to_shape
from ...ops.index.choice import where
from ...ops.linalg import matrix_exp
from ...ops.linalg._matrices import as_row, identity, square, transposed
from ...ops.linalg.solving import solved
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient
from ._compiled import each, scipy_linalg
from ._equations import sylvester

__all__ = ["expm", "logm", "sqrtm"]


def _root_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    return each(caller, _NO_VALUE[caller], _root_of, a)


def _root_of(a: np.ndarray) -> np.ndarray | None:
    """The principal square root; None if it does not exist or is complex for a real matrix."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # failures are found below
        x = np.asarray(scipy_linalg("sqrtm").sqrtm(a))
    eps = np.finfo(a.dtype).eps
    if np.iscomplexobj(x) and not np.iscomplexobj(a):
        if np.abs(x.imag).max(initial=0.0) > 1e3 * eps * np.abs(x).max(initial=0.0):
            return None
        x = x.real
    good = np.isfinite(x).all() and np.linalg.norm(x @ x - a) <= np.sqrt(eps) * np.linalg.norm(x) ** 2
    return x.astype(a.dtype) if good else None


_NO_VALUE = {
    "logm": "has no logarithm of its type: it is singular, or real with negative eigenvalues (make it complex)",
    "sqrtm": "has no square root of its type: it is singular with too few eigenvectors, or real with negative "
    "eigenvalues (make it complex)",
}


# ------------------------------------------------------------------------------------------------------ logarithm

_NODES = 14
_NEAR, _MOST = 0.5, 60
# The rule is exact to order 28. For a norm up to 1/2 its error is 0.18^29, far below the rounding unit, also for
# derivatives.
_PLACES, _SHARES = [
    (x / 2 + shift) for x, shift in zip(np.polynomial.legendre.leggauss(_NODES), (0.5, 0.0), strict=True)
]


def _roots_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    """For each matrix a row with a 1 for each square root needed to bring it near the identity, then zeros."""
    counts = each(caller, _NO_VALUE[caller], lambda a: _count(a)[None, None], a)[..., 0, 0]
    ones = np.arange(counts.max(initial=0.0)) < counts[..., None]
    return ones.astype(np.zeros(0, a.dtype).real.dtype)


def _count(a: np.ndarray) -> np.ndarray:
    """The number of square roots that bring a matrix near the identity. Raises for a singular matrix."""
    size = np.abs(np.linalg.eigvals(a))
    if size.min(initial=np.inf) <= len(a) * np.finfo(a.dtype).eps * np.linalg.norm(a):
        raise np.linalg.LinAlgError("singular")
    x: np.ndarray | None = a
    for k in range(_MOST):
        if x is None:
            break
        if np.linalg.norm(x - np.eye(len(x)), 1) <= _NEAR:
            return np.array(float(k))
        x = _root_of(x)
    raise np.linalg.LinAlgError("no square root is near 1")


_roots_needed = extend.primitive(
    "roots_needed",
    _roots_kernel,
    jvp=(None,),
    vjp=(None,),
    core=(2,),
    summary="how often to take the square root of a matrix until it is near 1",
)


def logm(A: Any) -> Tensor:
    """Principal logarithm of square matrices: ``expm(x) = A``, with eigenvalues of x within pi of the real axis.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    Tensor
        Shape and type of `A`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular, or is real without a real logarithm (make it complex to get the complex one).

    Notes
    -----
    Inverse scaling and squaring (Higham, Functions of Matrices, 2008, chapter 11): square roots until the matrix is
    near the identity, then the integral of ``x (1 + t x)^-1`` over t from 0 to 1 by Gauss-Legendre quadrature.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[1.0, 3.0], [0.0, 1.0]], dg.float64)
    >>> print(linalg.logm(a).round(6))
    [[0. 3.]
     [0. 0.]]
    """
    a = square("logm", A, True)
    rooted = _roots_needed(stop_gradient(a), caller="logm")
    for k in range(rooted.shape[-1]):
        a = where(as_row(rooted[..., k : k + 1]) > 0, root(a, caller="logm"), a)
    n = a.shape[-1]
    unit = identity(a, n)
    x = to_shape(a - unit, (*a.shape[:-2], 1, n, n))
    places, shares = [w.reshape(_NODES, 1, 1).astype(unit.dtype) for w in (_PLACES, _SHARES)]
    found = (solved(unit + x * places, expanded(x, (*a.shape[:-2], _NODES, n, n)), caller="logm") * shares).sum(-3)
    return found * as_row((1.0 + rooted).prod(-1, keepdims=True))


# ---------------------------------------------------------------------------------------------------- square root


def _root_vjp(ct: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    turned = transposed(out)
    return sylvester(turned, turned, ct, caller=caller)


root: extend.Primitive = extend.primitive(
    "matrix_square_root",
    _root_kernel,
    residual=lambda out, a, caller: a - out @ out,
    correction=lambda r, out, a, caller: sylvester(out, out, r, caller=caller),
    vjp=_root_vjp,
    core=(2,),
    summary="principal square root of square matrices",
)


def sqrtm(A: Any) -> Tensor:
    """Principal square root of square matrices: the x with ``x x = A`` whose eigenvalues have positive real parts.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    Tensor
        Shape and type of `A`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is real without a real square root (make it complex to get the complex one); in a derivative, if it
        is singular.

    Notes
    -----
    From x x = a follows ``x dx + dx x = da``, a Sylvester equation.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[4.0, 5.0], [0.0, 9.0]], dg.float64)
    >>> print(linalg.sqrtm(a).round(6))
    [[2. 1.]
     [0. 3.]]
    """
    return root(square("sqrtm", A, True), caller="sqrtm")


# ---------------------------------------------------------------------------------------------------- exponential


def expm(A: Any) -> Tensor:
    """Exponential of square matrices; see `dualgrad.ops.matrix_exp`.

    Parameters
    ----------
    A : Tensor
        Shape (..., n, n), real or complex.

    Returns
    -------
    Tensor
        Shape and type of `A`.

    Raises
    ------
    ValueError
        If the matrices are not square.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.expm(dg.Tensor([[0.0, 1.0], [0.0, 0.0]])))
    [[1. 1.]
     [0. 1.]]
    """
    return matrix_exp(A)
