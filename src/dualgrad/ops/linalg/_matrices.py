"""Shared by the operators on matrices: operands, stacks, transposes, and errors that name the failing matrix.

All of them work on stacks: the last two axes of an operand are rows and columns, axes before them are copied over.
LAPACK's work is left to ``numpy.linalg``, in float32, float64 and the complex types of both. Real systems with a narrow
band are solved here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.solvers.banded import solve_narrow
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import ALL_AXES, OP, alike, expanded, floating, permuted, total

__all__: list[str] = []

_SLICE, _MAX, _ABS = OP["slice"], OP["reduce_max"], OP["abs"]
_CONJ = OP["conj"]
_REAL = frozenset({np.dtype(np.float32).num, np.dtype(np.float64).num})
_COMPLEX = frozenset({np.dtype(np.complex64).num, np.dtype(np.complex128).num})


# --------------------------------------------------------------------------------------------------- operands


def matrices(name: str, x: Any, complex: bool = False) -> Tensor:
    """An operand as a stack of matrices, complex ones where they are allowed; integers become float32."""
    x = real(name, x, complex)
    if x.ndim < 2:
        raise ValueError(f"{name}: expected a matrix or a stack of matrices, got a tensor of shape {x.shape}")
    return x


def square(name: str, x: Any, complex: bool = False) -> Tensor:
    """An operand as a stack of square matrices."""
    x = matrices(name, x, complex)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: expected square matrices, got a tensor of shape {x.shape}")
    return x


def symmetric(name: str, x: Any, complex: bool = False) -> Tensor:
    """The symmetric (Hermitian) part of square matrices: gradients become symmetric, too."""
    x = square(name, x, complex)
    return (x + adjoint(x)) * 0.5


def real(name: str, x: Any, complex: bool = False) -> Tensor:
    """An operand of a type that LAPACK has: float32 or float64, or a complex type where it is allowed."""
    x = floating(name, x)
    if x._typenum not in _REAL and not (complex and x._typenum in _COMPLEX):
        advice = "convert it with .astype(dualgrad.float32)" if not x.dtype.is_complex else "expected real numbers"
        raise TypeError(f"{name}: matrices of type {x.dtype} are not supported; {advice}")
    return x


def together(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two operands of one type whose stacks are broadcast against each other."""
    a, b = alike([a, b])
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{name}: stacks of matrices of shapes {a.shape} and {b.shape} do not broadcast against each other"
        ) from None
    return expanded(a, stack + a.shape[-2:]), expanded(b, stack + b.shape[-2:])


# ------------------------------------------------------------------------------------------------ short forms


def transposed(x: Tensor) -> Tensor:
    """Rows and columns exchanged."""
    axes = ALL_AXES[x.ndim]
    return permuted(x, (*axes[:-2], axes[-1], axes[-2]))


def adjoint(x: Tensor) -> Tensor:
    """Rows and columns exchanged, and complex numbers conjugated."""
    return conjugate(transposed(x))


def conjugate(x: Tensor) -> Tensor:
    """Complex numbers conjugated, real ones as they are."""
    return _engine.apply(_CONJ, None, x) if x._typenum in _COMPLEX else x


def block(x: Tensor, rows: tuple[int, int], columns: tuple[int, int]) -> Tensor:
    """The submatrix between two rows and two columns; also of a single matrix without elements."""
    (top, bottom), (left, right) = rows, columns
    spec = tuple([(0, n, 1) for n in x.shape[:-2]])
    ends = ((top if top < bottom else 0, bottom - top, 1), (left if left < right else 0, right - left, 1))
    return _engine.apply(_SLICE, spec + ends, x)


def blocks(rows: list[list[Tensor]]) -> Tensor:
    """Join blocks to a matrix."""
    return joined([joined(row, -1) for row in rows], -2)


def joined(parts: list[Tensor], axis: int) -> Tensor:
    """Join tensors along an axis counted from the end."""
    return parts[0] if len(parts) == 1 else _engine.apply(OP["concat"], parts[0].ndim + axis, *parts)


def identity(like: Tensor, n: int) -> np.ndarray:
    """The unit matrix in a tensor's type."""
    return np.eye(n, dtype=like.dtype.numpy)


def inner(x: Tensor, y: Tensor) -> Tensor:
    """Sum of the products of the elements of two matrices."""
    axes = ALL_AXES[x.ndim][-2:]
    return total(x * y, axes, False)


def diagonal_of(x: Tensor) -> Tensor:
    """The main diagonal as last axis."""
    return total(x * identity(x, x.shape[-1]), (x.ndim - 1,), False)


def as_diagonal(x: Tensor) -> Tensor:
    """Diagonal matrices of the last axis."""
    n = x.shape[-1]
    return as_row(x) * identity(x, n)


def as_row(x: Tensor) -> Tensor:
    """The last axis as one row of a matrix."""
    return _engine.apply(OP["reshape"], (*x.shape[:-1], 1, x.shape[-1]), x)


def as_column(x: Tensor) -> Tensor:
    """The last axis as one column of a matrix."""
    return _engine.apply(OP["reshape"], (*x.shape, 1), x)


def largest(x: Tensor, axes: int) -> Tensor:
    """The largest absolute value over the last axes, which stay with length 1."""
    if not x.size:
        return total(x, ALL_AXES[x.ndim][-axes:], True)
    return _engine.apply(_MAX, (ALL_AXES[x.ndim][-axes:], True), _engine.unary(_ABS, x))


# ----------------------------------------------------------------------------------------------------- systems


def solution(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The result of ``numpy.linalg.solve`` for columns; matrices with narrow bands are eliminated within them."""
    found = _solution_in_bands(a, b) if a.shape[:-2] == b.shape[:-2] else None
    return np.linalg.solve(a, b) if found is None else found


def _solution_in_bands(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """The solution if all matrices have a narrow band; else None."""
    if a.ndim == 2:
        return solve_narrow(a, b)
    found = []
    for matrix, right in zip(a, b, strict=True):
        x = _solution_in_bands(matrix, right)
        if x is None:
            return None
        found.append(x)
    return np.stack(found) if found else None


# ------------------------------------------------------------------------------------------------------ errors


def lapack(name: str, what: str, function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """Call a function of numpy.linalg; if it fails, name the matrix of the stack.

    Raises
    ------
    numpy.linalg.LinAlgError
        "`name`: the matrix at [2, 0] `what`".
    """
    try:
        return function(*arrays)
    except np.linalg.LinAlgError:
        stack = np.broadcast_shapes(*[array.shape[:-2] for array in arrays])
        arrays = tuple([np.broadcast_to(array, stack + array.shape[-2:]) for array in arrays])
        for index in np.ndindex(stack):
            try:
                function(*[array[index] for array in arrays])
            except np.linalg.LinAlgError:
                raise failure(name, index, what) from None
        raise


def spectrum(name: str, function: Callable[..., Any], a: np.ndarray) -> Any:
    """Call an iterative function of numpy.linalg; raise an error for matrices that are not finite."""
    unbounded = np.argwhere(~np.isfinite(a).all((-2, -1)))
    if len(unbounded):
        raise failure(name, tuple(unbounded[0].tolist()), "is not finite")
    return lapack(name, "has a decomposition that did not converge", function, a)


def failure(name: str, index: tuple[int, ...], what: str) -> np.linalg.LinAlgError:
    """The error for the matrix at an index of the stack."""
    which = f"the matrix at [{', '.join(map(str, index))}] of the stack" if index else "the matrix"
    return np.linalg.LinAlgError(f"{name}: {which} {what}")
