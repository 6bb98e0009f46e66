"""NumPy's linear algebra for tensors: ``np.linalg.solve(t, b)`` and others, with NumPy's arguments and results.

Functions of symmetric matrices use the symmetric part, where NumPy reads one triangle; for symmetric matrices the
results agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._settings import one_of, truth_value
from ..ops._arguments import one_axis, operand, operands
from ..ops.linalg import (
    cholesky,
    cond,
    cross,
    det,
    eigh,
    eigvalsh,
    inverse,
    kron,
    matrix_power,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    vander,
)
from ..ops.math.complex import conj
from ..ops.shape.reshaping import moveaxis, stack, swapaxes
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import FUNCTIONS

__all__ = ["EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult"]


class EigResult(NamedTuple):
    """Result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Result of `qr`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    return cholesky(a, upper)


def _eigh(a: Any, UPLO: str = "L") -> EighResult:
    return EighResult(*eigh(a))


def _eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    return eigvalsh(a)


def _qr(a: Any, mode: str = "reduced") -> Any:
    return qr(a)[1] if one_of(mode, ("r",)) else QRResult(*qr(a, mode))


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values in NumPy's order: u, s, and v conjugated and transposed."""
    truth_value("svd", "compute_uv", compute_uv)
    if not compute_uv:
        return svd(a, compute_uv=False)
    s, u, v = svd(a, full_matrices)
    return SVDResult(u, s, conj(swapaxes(v, -1, -2)))


def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    part = rcond if rtol is None else rtol
    if not isinstance(part, Tensor | np.ndarray):
        return pinv(a, rtol=part, hermitian=hermitian)
    a = operand("np.linalg.pinv", a)
    parts = np.broadcast_to(np.asarray(part), a.shape[:-2])  # one for each matrix
    if parts.size and (parts == parts.flat[0]).all():
        return pinv(a, rtol=float(parts.flat[0]), hermitian=hermitian)
    each = [pinv(a[index], rtol=float(parts[index]), hermitian=hermitian) for index in np.ndindex(parts.shape)]
    return stack(each).reshape((*a.shape[:-2], a.shape[-1], a.shape[-2])) if each else swapaxes(a, -1, -2)


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Tensor:
    if axis is not None:
        axisa = axisb = axisc = axis
    first, second = [
        moveaxis(tensor_of(x), one_axis("np.cross", k, np.shape(x)), -1) for x, k in ((a, axisa), (b, axisb))
    ]
    for x in (first, second):
        if x.shape[-1] != 3:
            raise ValueError(f"np.cross: vectors of {x.shape[-1]} elements; expected 3")
    return moveaxis(cross(first, second, -1), -1, axisc)


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    found = vander(x, N)
    return found[:, ::-1] if truth_value("np.vander", "increasing", increasing) else found


def _multi_dot(arrays: Any) -> Tensor:
    factors = operands("np.linalg.multi_dot", arrays)
    if not factors:
        raise ValueError("np.linalg.multi_dot: expected one array or more, got none")
    product = factors[0]
    for array in factors[1:]:
        product = product @ array
    return product


FUNCTIONS.update(
    {
        np.linalg.cholesky: _cholesky,
        np.linalg.cond: lambda x, p=None: cond(x, p),
        np.linalg.det: lambda a: det(a),
        np.linalg.eigh: _eigh,
        np.linalg.eigvalsh: _eigvalsh,
        np.linalg.inv: lambda a: inverse(a),
        np.linalg.matrix_power: lambda a, n: matrix_power(a, n),
        np.linalg.multi_dot: _multi_dot,
        np.linalg.pinv: _pinv,
        np.linalg.qr: _qr,
        np.linalg.slogdet: lambda a: SlogdetResult(*slogdet(a)),
        np.linalg.solve: lambda a, b: solve(a, b),
        np.linalg.svd: _svd,
        np.cross: _cross,
        np.kron: lambda a, b: kron(a, b),
        np.vander: _vander,
    }
)
