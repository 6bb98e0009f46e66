"""Linear systems with SciPy's arguments: dense, triangular, banded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._settings import one_of, truth_value
from ...numpy._least_squares import least_squares
from ...ops._arguments import alike, floating, integer, to_shape
from ...ops.axes._prefixes import every
from ...ops.linalg import inverse
from ...ops.linalg import pinv as _pinv
from ...ops.linalg import solve as _solve
from ...ops.linalg._matrices import adjoint, matrices, square, transposed
from ...ops.linalg.solving import as_given, right_hand_side, substituted
from ...ops.math.reductions import sum as _sum
from ...ops.shape._padding import surrounded
from ...ops.shape.reshaping import stack
from ...tensor import Tensor
from ._compiled import each, scipy_linalg

__all__ = ["banded", "inv", "lstsq", "pinv", "solve", "solve_banded", "solve_triangular"]


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Inverse of square matrices; see `dualgrad.ops.inverse`.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n).
    overwrite_a, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.inv(dg.Tensor([[2.0]])))
    [[0.5]]
    """
    return inverse(a)


def pinv(a: Any, *, atol: float | None = None, rtol: float | None = None) -> Tensor:
    """Pseudo-inverse of matrices; see `dualgrad.ops.pinv`.

    Parameters
    ----------
    a : Tensor
        Shape (..., m, n).
    atol, rtol : float, optional
        Singular values below ``atol + rtol * (the largest one)`` count as 0.

    Returns
    -------
    Tensor
        Shape (..., n, m).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.pinv(dg.Tensor([[2.0], [0.0]])))
    [[0.5 0. ]]
    """
    return _pinv(a, atol=atol, rtol=rtol)


def solve(a: Any, b: Any, lower: bool = False, *, assume_a: str | None = None, transposed: bool = False) -> Tensor:
    """Solve ``a x = b``; see `dualgrad.ops.solve`.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n).
    b : Tensor
        Shape (n,) or (..., n, k).
    lower : bool, default False
        The triangle to read if the other one follows from it by ``assume_a``.
    assume_a : str, optional
        'gen', 'sym', 'her' or 'pos': the known structure of `a`.
    transposed : bool, default False
        Solve with the transpose of `a`.

    Returns
    -------
    Tensor
        Shape of `b`.

    Raises
    ------
    ValueError
        For another kind of matrix.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.solve(dg.Tensor([[2.0, 1.0], [0.0, 4.0]]), dg.Tensor([4.0, 4.0]), transposed=True))
    [2.  0.5]
    """
    if not one_of(
        assume_a, (None, "gen", "general", "sym", "symmetric", "her", "hermitian", "pos", "positive definite")
    ):
        raise ValueError(f"solve: assume_a is {assume_a!r}; expected 'gen', 'sym', 'her' or 'pos'")
    a = square("solve", a, True)
    if assume_a not in (None, "gen", "general"):
        strict = np.tri(a.shape[-1], k=-1, dtype=bool)
        mine = a * (strict if lower else strict.T).astype(a.dtype.numpy)
        other = mine.swapaxes(-1, -2) if str(assume_a).startswith("sym") else adjoint(mine)
        a = mine + other + a * np.eye(a.shape[-1], dtype=a.dtype.numpy)
    truth_value("solve", "transposed", transposed)
    return _solve(a.swapaxes(-1, -2) if transposed else a, b)


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """Solve ``a x = b`` for triangular matrices; the other triangle is not read.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n), real or complex.
    b : Tensor
        Shape (n,) or (..., n, k).
    trans : {0, 1, 2, 'N', 'T', 'C'}, default 0
        Solve with a, its transpose, or its conjugated transpose.
    lower : bool, default False
        Use the lower triangle.
    unit_diagonal : bool, default False
        Assume ones on the diagonal.
    overwrite_b, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is a zero on the diagonal.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> print(linalg.solve_triangular(dg.Tensor([[2.0, 1.0], [9.0, 4.0]]), dg.Tensor([4.0, 8.0])))
    [1. 2.]
    """
    codes = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if not one_of(trans, codes):
        raise ValueError(f"solve_triangular: trans is {trans!r}; expected 0, 1 or 2")
    a = square("solve_triangular", a, True)
    n = a.shape[-1]
    truth_value("solve_triangular", "unit_diagonal", unit_diagonal)
    mask = np.tri(n, k=-1 if unit_diagonal else 0, dtype=bool)
    truth_value("solve_triangular", "lower", lower)
    a = a * (mask if lower else mask.T).astype(a.dtype.numpy)
    a = a + np.eye(n, dtype=a.dtype.numpy) if unit_diagonal else a
    b, vector = right_hand_side("solve_triangular", a, b, True)
    a, b = alike([a, b])
    if code := codes[trans]:
        a, lower = (transposed(a) if code == 1 else adjoint(a)), not lower
    return as_given(substituted(a, b, lower=bool(lower), least=0.0, caller="solve_triangular"), vector)


def lstsq(a: Any, b: Any, cond: float | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Least squares: the solution, sums of squared residuals, the rank and the singular values of `a`.

    Parameters
    ----------
    a : Tensor
        A matrix, real or complex.
    b : Tensor
        A vector or a matrix.
    cond : float, optional
        The fraction of the largest singular value up to which others count as 0; by default the rounding unit.

    Returns
    -------
    tuple of Tensor
        As for ``numpy.linalg.lstsq``, but the residuals are always a vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> a = dg.Tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], dg.float64)
    >>> print(linalg.lstsq(a, dg.Tensor([1.0, 3.0, 5.0], dg.float64))[0].round(6))
    [1. 2.]
    """
    a, b = alike([matrices("lstsq", a, True), floating("lstsq", b)])
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(f"lstsq: a matrix of shape {a.shape} and a right-hand side of shape {b.shape}")
    return least_squares("lstsq", a, b, float(np.finfo(a.dtype.numpy).eps) if cond is None else cond)


# --------------------------------------------------------------------------------------------------------- banded


def _banded_kernel(ab: np.ndarray, b: np.ndarray, low: int, up: int, caller: str) -> np.ndarray:
    linalg = scipy_linalg(caller)
    return each(caller, "is singular", lambda ab, b: linalg.solve_banded((low, up), ab, b), ab, b)


def _shifted(x: Tensor, axis: int, by: int) -> Tensor:
    """Shift elements along an axis and fill with zeros."""
    n = x.shape[axis]
    kept = max(n - abs(by), 0)
    inner = every(x, axis % x.ndim, max(-by, 0) if kept else 0, kept)
    before = max(by, 0) if kept else n
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, n - kept - before)
    return surrounded("solve_banded", inner, tuple(widths), 0)


def _product(ab: Tensor, x: Tensor, low: int, up: int) -> Tensor:
    """Multiply a banded matrix by the columns of x: row k of ab is the diagonal k - up below the main one."""
    found: Any = None
    for k in range(low + up + 1):
        diagonal = ab[..., k, :]
        term = _shifted(to_shape(diagonal, (*diagonal.shape, 1)) * x, -2, k - up)
        found = term if found is None else found + term
    return found


def _turned(ab: Tensor, low: int, up: int) -> Tensor:
    """The diagonals of the transpose."""
    rows = [_shifted(ab[..., k, :], -1, k - up) for k in range(low + up + 1)]
    return stack(rows[::-1], -2)


def _banded_vjp(ct: Tensor, out: Tensor, ab: Tensor, b: Tensor, low: int, up: int, caller: str) -> tuple[Any, Any]:
    db = banded(_turned(ab, low, up), ct, low=up, up=low, caller=caller)
    rows = [-_sum(_shifted(db, -2, up - k) * out, -1) for k in range(low + up + 1)]
    return stack(rows, -2), db


banded: extend.Primitive = extend.primitive(
    "solve_banded",
    _banded_kernel,
    arity=2,
    residual=lambda out, ab, b, low, up, caller: b - _product(ab, out, low, up),
    correction=lambda r, out, ab, b, low, up, caller: banded(ab, r, low=low, up=up, caller=caller),
    vjp=_banded_vjp,
    core=(2, 2),
    summary="solution of banded systems",
)


def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """Solve ``a x = b`` for banded matrices, given by their diagonals.

    Parameters
    ----------
    l_and_u : tuple of int
        The numbers of diagonals below and above the main one.
    ab : Tensor
        Shape (..., l + u + 1, n): ``ab[u + i - j, j]`` is a[i, j]. Other numbers are not read.
    b : Tensor
        Shape (n,) or (..., n, k).
    overwrite_ab, overwrite_b, check_finite : bool
        Accepted without effect.

    Returns
    -------
    Tensor
        Shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import linalg
    >>> ab = dg.Tensor([[0.0, 1.0], [2.0, 2.0]], dg.float64)
    >>> print(linalg.solve_banded((0, 1), ab, dg.Tensor([4.0, 2.0], dg.float64)))
    [1.5 1. ]
    """
    if not isinstance(l_and_u, tuple | list) or len(l_and_u) != 2:
        raise TypeError(f"solve_banded: l_and_u must be a pair of ints, got {l_and_u!r:.60}")
    low, up = [integer("solve_banded", "l_and_u", k) for k in l_and_u]
    ab, b = alike([matrices("solve_banded", ab, True), floating("solve_banded", b)])
    n = ab.shape[-1]
    if low < 0 or up < 0 or ab.shape[-2] != low + up + 1 or b.ndim == 0 or b.shape[-1 if b.ndim == 1 else -2] != n:
        raise ValueError(
            f"solve_banded: {ab.shape[-2]} diagonals of {n} elements for l_and_u={(low, up)}, and a right-hand side of "
            f"shape {b.shape}; expected {low + up + 1} diagonals, and as many rows as elements"
        )
    vector = b.ndim == 1
    b = to_shape(b, (n, 1)) if vector else b
    return as_given(banded(ab, b, low=low, up=up, caller="solve_banded"), vector)
