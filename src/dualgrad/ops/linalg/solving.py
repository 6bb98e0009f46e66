"""Linear systems and inverses.

A solution x of a x = b is the root of the residual b - a x, and solve(a, r) corrects it for a small residual r.
Derivatives of any order need nothing else: each is a further solve with the same matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._settings import one_of, truth_value
from ...tensor import Tensor
from .._arguments import Primitive, expanded, to_shape
from ..axes._diagonals import tril, triu
from ._matrices import failure, identity, lapack, matrices, real, solution, square, together, transposed

__all__ = [
    "CholeskyInverse", "CholeskySolve", "MatrixInverse", "MatrixSolve", "cholesky_inverse", "cholesky_solve",
    "inverse", "matrix_solve", "solve", "solve_triangular",
]  # fmt: skip

BLOCK = 48  # triangular systems up to this size are solved by LAPACK


# -------------------------------------------------------------------------------------------------- primitives


def _inverted(a: np.ndarray, caller: str) -> np.ndarray:
    return lapack(caller, "is singular", np.linalg.inv, a)


inverted: extend.Primitive = extend.primitive(
    "matrix_inverse",
    _inverted,
    jvp=(lambda da, out, a, caller: -(out @ da @ out),),
    vjp=(lambda ct, out, a, caller: -(transposed(out) @ ct @ transposed(out)),),
    core=(2,),
    summary="inverse of square matrices",
)


def _solved(a: np.ndarray, b: np.ndarray, caller: str) -> np.ndarray:
    return lapack(caller, "is singular", solution, a, b)


def _solved_vjp(ct: Tensor, out: Tensor, a: Tensor, b: Tensor, caller: str) -> tuple[Tensor, Tensor]:
    db = solved(transposed(a), ct, caller=caller)
    return -(db @ transposed(out)), db


solved: extend.Primitive = extend.primitive(
    "matrix_solve",
    _solved,
    arity=2,
    residual=lambda out, a, b, caller: b - a @ out,
    correction=lambda r, out, a, b, caller: solved(a, r, caller=caller),
    vjp=_solved_vjp,
    core=(2, 2),
    summary="solution of linear systems",
)


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool, least: float, caller: str) -> np.ndarray:
    sizes = np.abs(np.diagonal(a, 0, -2, -1))
    zeros = np.argwhere(sizes <= least * sizes.max(-1, keepdims=True, initial=0.0))
    if len(zeros):
        raise failure(caller, tuple(zeros[0, :-1].tolist()), "is singular: it has a zero on its diagonal")
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # one sample of `vmap` may serve many
    x = np.empty((*leading, *b.shape[-2:]), b.dtype)
    x[...] = b
    substitute(a, x, lower)
    return x


def substitute(a: np.ndarray, x: np.ndarray, lower: bool) -> None:
    """Solve a triangular system in place, by halves, then tiles, for which LAPACK's elimination only substitutes."""
    n, h = a.shape[-1], a.shape[-1] // 2
    if n <= BLOCK:
        turn = -1 if lower else 1  # elimination of an upper triangle does nothing
        x[..., ::turn, :] = np.linalg.solve(a[..., ::turn, ::turn], x[..., ::turn, :])
        return
    above, below = x[..., :h, :], x[..., h:, :]
    if lower:
        substitute(a[..., :h, :h], above, lower)
        subtract_product(below, a[..., h:, :h], above)
        substitute(a[..., h:, h:], below, lower)
    else:
        substitute(a[..., h:, h:], below, lower)
        subtract_product(above, a[..., :h, h:], below)
        substitute(a[..., :h, :h], above, lower)


def subtract_product(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Subtract a @ b from x in place, by rows or by columns, as x lies in memory."""
    if x.strides[-2] < x.strides[-1]:
        x, a, b = (np.swapaxes(y, -1, -2) for y in (x, b, a))
    x -= a @ b


def _substituted_vjp(
    ct: Tensor, out: Tensor, a: Tensor, b: Tensor, lower: bool, least: float, caller: str
) -> tuple[Tensor, Tensor]:
    db = substituted(transposed(a), ct, lower=not lower, least=least, caller=caller)
    return -(db @ transposed(out)), db


substituted: extend.Primitive = extend.primitive(
    "triangular_solve",
    _substituted,
    arity=2,
    residual=lambda out, a, b, lower, least, caller: b - a @ out,
    correction=lambda r, out, a, b, lower, least, caller: substituted(a, r, lower=lower, least=least, caller=caller),
    vjp=_substituted_vjp,
    core=(2, 2),
    summary="solution of triangular systems; the other triangle is 0",
)


# --------------------------------------------------------------------------------------------------- functions


def inverse(input: Any) -> Tensor:
    """Inverse of square matrices.

    Parameters
    ----------
    input : Tensor
        Shape (..., n, n); integers become float32.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular.
    TypeError
        If the type is float16.
    ValueError
        If the matrices are not square.

    See Also
    --------
    solve : Cheaper and more accurate than a product with the inverse.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.inverse(dg.Tensor([[2.0, 0.0], [1.0, 4.0]])))
    [[ 0.5    0.   ]
     [-0.125  0.25 ]]
    """
    return inverted(square("inverse", input, complex=True), caller="inverse")


def right_hand_side(name: str, a: Tensor, b: Any, complex: bool = False) -> tuple[Tensor, bool]:
    """The right-hand side as a matrix, and True if it was a vector."""
    b = real(name, b, complex)
    if b.ndim == 0 or b.shape[-1 if b.ndim == 1 else -2] != a.shape[-2]:
        raise ValueError(
            f"{name}: a right-hand side of shape {b.shape} for a matrix of shape {a.shape}; expected a vector of "
            f"{a.shape[-2]} elements or matrices of {a.shape[-2]} rows"
        )
    vector = b.ndim == 1
    return (to_shape(b, (b.size, 1)) if vector else b), vector


def as_given(x: Tensor, vector: bool) -> Tensor:
    return to_shape(x, x.shape[:-1]) if vector else x


def solve(a: Any, b: Any) -> Tensor:
    """The solution x of a x = b.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n).
    b : Tensor
        Shape (n,) for a vector or (..., n, k); leading axes broadcast against the leading axes of `a`.

    Returns
    -------
    Tensor
        Shape (..., n) or (..., n, k).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular.
    TypeError
        If a type is float16.
    ValueError
        If the matrices are not square, or the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a, b = dg.Tensor([[2.0, 0.0], [1.0, 4.0]]), dg.Tensor([2.0, 9.0])
    >>> print(ops.solve(a, b))
    [1. 2.]
    """
    return _solution("solve", a, b, False)


def _solution(name: str, a: Any, b: Any, adjoint: bool) -> Tensor:
    truth_value(name, "adjoint", adjoint)
    a = square(name, a, complex=not adjoint)
    b, vector = right_hand_side(name, a, b, complex=not adjoint)
    a, b = together(name, transposed(a) if adjoint else a, b)
    return as_given(solved(a, b, caller=name), vector)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Tensor:
    """The solution x of ``matrix @ x = rhs``, or with the transposed matrix; see `solve`.

    Parameters
    ----------
    matrix : Tensor
        Shape (..., n, n).
    rhs : Tensor
        Shape (..., n, k).
    adjoint : bool, default False
        Solve with the transposed matrix.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_solve(dg.Tensor([[5.0, 4.0], [3.0, 1.0]]), dg.Tensor([[7.0], [7.0]])))
    [[ 3.]
     [-2.]]
    """
    return _solution("matrix_solve", matrix, rhs, adjoint)


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Tensor:
    """The solution x of a x = b for a triangular a.

    Parameters
    ----------
    a : Tensor
        Shape (..., n, n). The other triangle is not read; its gradient is 0.
    b : Tensor
        Shape (n,) for a vector or (..., n, k); leading axes broadcast against the leading axes of `a`.
    trans : {0, 1, 2, 'N', 'T', 'C'}, default 0
        0 or 'N': solve with a; otherwise with its transpose.
    lower : bool, default False
        True if `a` is lower triangular.
    unit_diagonal : bool, default False
        Take the diagonal of `a` as ones without reading it.

    Returns
    -------
    Tensor
        Shape (..., n) or (..., n, k).

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is a zero on the diagonal.
    ValueError
        If the matrices are not square, the shapes do not fit, or `trans` is none of these.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a, b = dg.Tensor([[2.0, 5.0], [1.0, 4.0]]), dg.Tensor([2.0, 9.0])
    >>> print(ops.solve_triangular(a, b, lower=True))
    [1. 2.]
    """
    name = "solve_triangular"
    if not one_of(trans, (0, 1, 2, "N", "T", "C")):
        raise ValueError(f"{name}: trans is {trans!r}; expected 0 or 'N', or 1, 2, 'T' or 'C' for the transpose")
    a = square(name, a)
    b, vector = right_hand_side(name, a, b)
    return as_given(triangular(name, a, b, lower, trans not in (0, "N"), unit_diagonal), vector)


def triangular(name: str, a: Tensor, b: Tensor, lower: bool, transpose: bool = False, unit: bool = False) -> Tensor:
    """The solution of systems with one triangle of a matrix."""
    kept = 1 if truth_value(name, "unit_diagonal", unit) else 0
    a = tril(a, -kept) if truth_value(name, "lower", lower) else triu(a, kept)
    if unit:
        a = a + identity(a, a.shape[-1])
    a, b = together(name, transposed(a) if transpose else a, b)
    return substituted(a, b, lower=bool(lower) != transpose, least=0.0, caller=name)


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """The solution of a linear system, from the Cholesky factor of its matrix.

    Parameters
    ----------
    input : Tensor
        The right-hand sides, shape (..., n, k).
    input2 : Tensor
        The triangular factor, shape (..., n, n).
    upper : bool, default False
        True if the factor is an upper triangle u of the matrix u^T u; otherwise it is l of the matrix l l^T.

    Returns
    -------
    Tensor
        Shape (..., n, k).

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is a zero on the diagonal of the factor.
    ValueError
        If the factor is not square, or the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> l = dg.Tensor([[2.0, 0.0], [4.0, 1.0]])
    >>> print(ops.cholesky_solve(dg.Tensor([[4.0], [8.0]]), l))
    [[1.]
     [0.]]
    """
    return _cholesky_solution("cholesky_solve", input, input2, upper)


def _cholesky_solution(name: str, b: Any, factor: Any, upper: bool) -> Tensor:
    factor, b = square(name, factor), matrices(name, b)
    upper = truth_value(name, "upper", upper)
    right_hand_side(name, factor, b)
    half = triangular(name, factor, b, not upper, upper)
    return triangular(name, factor, half, not upper, not upper)


def cholesky_inverse(input_x: Any, upper: bool = False) -> Tensor:
    """The inverse of a positive definite matrix, from its Cholesky factor.

    Parameters
    ----------
    input_x : Tensor
        The triangular factor, shape (..., n, n).
    upper : bool, default False
        True if the factor is an upper triangle u of the matrix u^T u; otherwise it is l of the matrix l l^T.

    Returns
    -------
    Tensor
        Shape (..., n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is a zero on the diagonal of the factor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cholesky_inverse(dg.Tensor([[2.0, 0.0], [4.0, 1.0]])))
    [[ 4.25 -2.  ]
     [-2.    1.  ]]
    """
    factor = square("cholesky_inverse", input_x)
    return _cholesky_solution("cholesky_inverse", _unit(factor), factor, upper)


def _unit(like: Tensor) -> Tensor:
    return expanded(Tensor(identity(like, like.shape[-1])), like.shape)


# ------------------------------------------------------------------------------------------ primitive classes


class MatrixInverse(Primitive):
    """Primitive class of `inverse`.

    Parameters
    ----------
    adjoint : bool, default False
        Transpose the inverse.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MatrixInverse()(dg.Tensor([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """

    __slots__ = ("adjoint",)

    def __init__(self, adjoint: bool = False) -> None:
        self.adjoint: bool = adjoint

    def __call__(self, x: Any) -> Tensor:
        out = inverted(square("MatrixInverse", x), caller="MatrixInverse")
        return transposed(out) if self.adjoint else out


class MatrixSolve(Primitive):
    """Primitive class of `matrix_solve`.

    Parameters
    ----------
    adjoint : bool, default False
        Solve with the transposed matrix.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MatrixSolve()(dg.Tensor([[5.0, 4.0], [3.0, 1.0]]), dg.Tensor([[7.0], [7.0]])))
    [[ 3.]
     [-2.]]
    """

    __slots__ = ("adjoint",)

    def __init__(self, adjoint: bool = False) -> None:
        self.adjoint: bool = adjoint

    def __call__(self, matrix: Any, rhs: Any) -> Tensor:
        return _solution("MatrixSolve", matrix, rhs, self.adjoint)


class CholeskySolve(Primitive):
    """Primitive class of `cholesky_solve`.

    Parameters
    ----------
    upper : bool, default False
        True if the factor is an upper triangle.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.CholeskySolve()(dg.Tensor([[4.0], [8.0]]), dg.Tensor([[2.0, 0.0], [4.0, 1.0]])))
    [[1.]
     [0.]]
    """

    __slots__ = ("upper",)

    def __init__(self, upper: bool = False) -> None:
        self.upper: bool = upper

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return _cholesky_solution("CholeskySolve", x1, x2, self.upper)


class CholeskyInverse(Primitive):
    """Primitive class of `cholesky_inverse`.

    Parameters
    ----------
    upper : bool, default False
        True if the factor is an upper triangle.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.CholeskyInverse()(dg.Tensor([[2.0, 0.0], [4.0, 1.0]])))
    [[ 4.25 -2.  ]
     [-2.    1.  ]]
    """

    __slots__ = ("upper",)

    def __init__(self, upper: bool = False) -> None:
        self.upper: bool = upper

    def __call__(self, x: Any) -> Tensor:
        factor = square("CholeskyInverse", x)
        return _cholesky_solution("CholeskyInverse", _unit(factor), factor, self.upper)


METHODS: dict[str, Any] = {
    "inverse": inverse,
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
}
