"""Pseudo-inverses and least squares.

The derivative of a pseudo-inverse is a formula in the matrix and the pseudo-inverse (Golub and Pereyra, The
differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973), exact as long
as the rank does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._settings import real_number, truth_value
from ...tensor import Tensor
from .._arguments import alike
from ._matrices import adjoint, conjugate, matrices, spectrum, symmetric, together, transposed
from .solving import as_given, right_hand_side

__all__ = ["lstsq", "pinv"]


def _kernel(a: np.ndarray, atol: float, rtol: float, caller: str) -> np.ndarray:
    """The pseudo-inverse; singular values up to a limit count as 0."""
    u, s, vt = spectrum(caller, lambda a: np.linalg.svd(a, False), a)
    limit = np.maximum(atol, rtol * s.max(-1, keepdims=True, initial=0.0))
    reciprocal = np.divide(1.0, s, out=np.zeros_like(s), where=s > limit)
    return np.swapaxes(vt, -1, -2).conj() @ (reciprocal[..., None] * np.swapaxes(u, -1, -2).conj())


def _jvp(da: Tensor, out: Tensor, a: Tensor, **settings: Any) -> Tensor:
    dat, outt = adjoint(da), adjoint(out)
    column = dat - (dat @ a) @ out  # the part of da^H outside of the column space of a
    row = dat - out @ (a @ dat)
    return out @ (outt @ column) + (row @ outt) @ out - out @ da @ out


def _vjp(ct: Tensor, out: Tensor, a: Tensor, **settings: Any) -> Tensor:
    ctt, outt = transposed(ct), transposed(out)
    column = ctt - a @ (out @ ctt)
    row = ctt - (ctt @ out) @ a
    turned = (column @ out) @ adjoint(out) + adjoint(out) @ (out @ row)  # the part paired with da^H
    return conjugate(turned) - outt @ ct @ outt


_pseudo_inverse = extend.primitive(
    "pseudo_inverse", _kernel, jvp=(_jvp,), vjp=(_vjp,), core=(2,), summary="pseudo-inverse of matrices"
)


def pinv(x: Any, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """Pseudo-inverse (Moore and Penrose).

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n); integers become float32.
    atol, rtol : float, optional
        Singular values up to ``max(atol, rtol * largest)`` count as 0. By default `atol` is 0, and `rtol` is
        ``max(m, n)`` times the rounding unit of the type, or 0 if `atol` is positive.
    hermitian : bool, default False
        Take the symmetric part of `x`, so that gradients are symmetric.

    Returns
    -------
    Tensor
        Shape (..., n, m).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite.
    TypeError
        If the type is float16.
    ValueError
        If `x` has fewer than two axes.

    Notes
    -----
    Derivatives are taken at constant rank. A matrix of less than full rank has directions that change its rank, in
    which the pseudo-inverse jumps; the part of a direction along them counts as 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.pinv(dg.Tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])))
    [[0.5  0.   0.  ]
     [0.   0.25 0.  ]]
    """
    truth_value("pinv", "hermitian", hermitian)
    return _pinv("pinv", symmetric("pinv", x, True) if hermitian else matrices("pinv", x, True), atol, rtol)


def _pinv(name: str, a: Tensor, atol: float | None, rtol: float | None) -> Tensor:
    for what, limit in (("atol", atol), ("rtol", rtol)):
        if limit is not None:
            real_number(name, what, limit)
    if rtol is None:
        rtol = 0.0 if atol else max(a.shape[-2:]) * float(np.finfo(a.dtype.numpy).eps)
    return _pseudo_inverse(a, atol=float(atol or 0.0), rtol=float(rtol), caller=name)


def lstsq(input: Any, A: Any) -> Tensor:
    """The x of least norm that minimises the norm of ``input @ x - A``.

    Parameters
    ----------
    input : Tensor
        The matrix, shape (..., m, n), of any rank.
    A : Tensor
        The right-hand sides: shape (m,) for a vector or (..., m, k).

    Returns
    -------
    Tensor
        Shape (..., n) or (..., n, k).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not finite.
    TypeError
        If a type is float16 or complex.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    It is ``pinv(input) @ A``, and derivatives are taken at constant rank; see `pinv`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a = dg.Tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], dg.float64)
    >>> print(ops.lstsq(a, dg.Tensor([1.0, 3.0, 5.0], dg.float64)).round(6))
    [1. 2.]
    """
    a = matrices("lstsq", input)
    b, vector = right_hand_side("lstsq", a, A)
    a, b = together("lstsq", *alike([a, b]))
    return as_given(_pinv("lstsq", a, None, None) @ b, vector)


METHODS: dict[str, Any] = {"lstsq": lstsq}
