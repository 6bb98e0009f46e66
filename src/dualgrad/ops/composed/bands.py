"""Several diagonals of matrices at once, as the rows of a matrix: bands.

The diagonals lo to hi of a matrix, 0 the main one, are the rows of their band: hi comes first. Shorter diagonals are
padded to the length of the longest, on the side that `align` says. With "RIGHT_LEFT" diagonals above the main diagonal
end at the right end of their rows, and the others begin at the left end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._settings import array_of, one_of, room
from ...tensor import Tensor
from .._arguments import converted, integer, operand
from ..index._elements import replaced
from ..shape.creation import full
from ._classes import Derived

__all__ = [
    "MatrixDiagPartV3", "MatrixDiagV3", "MatrixSetDiagV3", "matrix_diag", "matrix_diag_part", "matrix_set_diag",
]  # fmt: skip

_ALIGNS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


class _Band(NamedTuple):
    """The positions of the elements of some diagonals in the matrix, and in the band of this shape."""

    shape: tuple[int, ...]
    in_matrix: tuple[Any, ...]
    in_band: tuple[Any, ...]


def _limits(name: str, k: Any) -> tuple[int, int]:
    """Return the lowest and the highest diagonal."""
    found = array_of(name, "k", k.asnumpy() if isinstance(k, Tensor) else k)
    if found.dtype.kind not in "iu" or found.size not in (1, 2):
        raise TypeError(f"{name}: k is {k!r}; expected an int or two of them")
    low, high = int(found.flat[0]), int(found.flat[-1])
    if low > high:
        raise ValueError(f"{name}: k is {k!r}; expected the lower diagonal first")
    return low, high


def _band(name: str, size: tuple[int, int], k: Any, align: str) -> _Band:
    """The band of the diagonals `k` of matrices of a size (rows, columns)."""
    if not one_of(align, _ALIGNS):
        raise ValueError(f"{name}: align is {align!r}; expected one of {', '.join(_ALIGNS)}")
    low, high = _limits(name, k)
    rows, columns = size
    room(name, size)
    if not -rows < low <= high < columns:
        raise ValueError(f"{name}: k is {k!r} for matrices of shape {size}; expected {-rows + 1} to {columns - 1}")
    upper, lower = align.split("_")
    numbers = range(high, low - 1, -1)
    counts = [min(rows + min(d, 0), columns - max(d, 0)) for d in numbers]
    length = max(counts)
    places: list[np.ndarray] = []
    for number, (d, count) in enumerate(zip(numbers, counts, strict=True)):
        left = (d >= 0 and upper == "LEFT") or (d <= 0 and lower == "LEFT")
        along = np.arange(count)
        start = 0 if left else length - count
        places.append(np.stack([along - min(d, 0), along + max(d, 0), np.full(count, number), along + start]))
    row, column, which, place = np.concatenate(places, axis=1)
    if low == high:
        return _Band((length,), (..., row, column), (..., place))
    return _Band((len(counts), length), (..., row, column), (..., which, place))


def matrix_diag(
    x: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with given diagonals.

    Parameters
    ----------
    x : Tensor
        One diagonal along the last axis, or several as a band along the last two.
    k : int or tuple of two ints, default 0
        The diagonal, or the lowest and the highest diagonal; above 0 they lie above the main diagonal.
    num_rows, num_cols : int, default -1
        The shape of the matrices. With -1 for both they are square and as small as possible.
    padding_value : float, default 0
        The number elsewhere.
    align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}
        The end of the rows at which shorter diagonals stand: first above the main diagonal, then the others.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `k` is not an int or a pair of ints.
    ValueError
        If the shapes do not fit, or `align` is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_diag(dg.Tensor([[0.0, 5.0], [1.0, 2.0], [3.0, 0.0]]), (-1, 1)))
    [[1. 5.]
     [3. 2.]]
    """
    x = operand("matrix_diag", x)
    low, high = _limits("matrix_diag", k)
    axes = 1 if low == high else 2
    if x.ndim < axes:
        raise ValueError(f"matrix_diag: the diagonals have shape {x.shape}; expected {axes} axes at least")
    least = x.shape[-1] - min(high, 0), x.shape[-1] + max(low, 0)
    size = [
        integer(
            "matrix_diag", "num_rows or num_cols", n.asnumpy().item() if isinstance(n, Tensor) and n.size == 1 else n
        )
        for n in (num_rows, num_cols)
    ]
    if size == [-1, -1]:
        size = [max(least)] * 2
    size = [n if n != -1 else other for n, other in zip(size, least, strict=True)]
    band = _band("matrix_diag", (size[0], size[1]), k, align)
    if x.shape[-axes:] != band.shape:
        raise ValueError(
            f"matrix_diag: the diagonals have shape {x.shape} for matrices of shape {tuple(size)}; expected "
            f"{band.shape} last"
        )
    padding = padding_value.asnumpy().item() if isinstance(padding_value, Tensor) else padding_value
    filled = full((*x.shape[:-axes], *size), padding, dtype=x.dtype)
    return replaced(filled, band.in_matrix, x[band.in_band])


def matrix_diag_part(x: Any, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Diagonals of matrices; several come as a band.

    Parameters
    ----------
    x : Tensor
        Matrices along the last two axes.
    k : int or tuple of two ints, default 0
        The diagonal, or the lowest and the highest diagonal; above 0 they lie above the main diagonal.
    padding_value : float, default 0
        The number behind or before shorter diagonals in their rows.
    align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}
        The end of the rows at which shorter diagonals stand: first above the main diagonal, then the others.

    Returns
    -------
    Tensor
        The diagonal along the last axis, or a band along the last two, the highest diagonal first.

    Raises
    ------
    TypeError
        If `k` is not an int or a pair of ints.
    ValueError
        If the diagonal does not exist, or `align` is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_diag_part(dg.Tensor([[1.0, 5.0], [3.0, 2.0]]), (-1, 1)))
    [[0. 5.]
     [1. 2.]
     [3. 0.]]
    """
    x = operand("matrix_diag_part", x)
    band = _band("matrix_diag_part", _size("matrix_diag_part", x), k, align)
    padding = padding_value.asnumpy().item() if isinstance(padding_value, Tensor) else padding_value
    filled = full((*x.shape[:-2], *band.shape), padding, dtype=x.dtype)
    return replaced(filled, band.in_band, x[band.in_matrix])


def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with some diagonals replaced.

    Parameters
    ----------
    x : Tensor
        Matrices along the last two axes.
    diagonal : Tensor
        The diagonal along the last axis, or several as a band along the last two.
    k : int or tuple of two ints, default 0
        The diagonal, or the lowest and the highest diagonal; above 0 they lie above the main diagonal.
    align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}
        The end of the rows at which shorter diagonals stand: first above the main diagonal, then the others.

    Returns
    -------
    Tensor
        Shape and type of `x`.

    Raises
    ------
    TypeError
        If `k` is not an int or a pair of ints, or the type of `x` cannot hold the numbers.
    ValueError
        If the shapes do not fit, or `align` is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.matrix_set_diag(ops.zeros((2, 3)), dg.Tensor([1.0, 2.0]), 1))
    [[0. 1. 0.]
     [0. 0. 2.]]
    """
    x = operand("matrix_set_diag", x)
    values = converted("matrix_set_diag", "values", diagonal, x)
    band = _band("matrix_set_diag", _size("matrix_set_diag", x), k, align)
    if values.shape != (*x.shape[:-2], *band.shape):
        raise ValueError(
            f"matrix_set_diag: the diagonals have shape {values.shape} for matrices of shape {x.shape}; expected "
            f"{(*x.shape[:-2], *band.shape)}"
        )
    return replaced(x, band.in_matrix, values[band.in_band])


def _size(name: str, x: Tensor) -> tuple[int, int]:
    if x.ndim < 2:
        raise ValueError(f"{name}: the input has shape {x.shape}; expected two axes at least")
    return x.shape[-2], x.shape[-1]


# ------------------------------------------------------------------------------------------ primitive classes


class MatrixDiagV3(
    Derived,
    function=matrix_diag,
    align="RIGHT_LEFT",
    call="x, k, num_rows, num_cols, padding_value",
    example="""
>>> print(ops.MatrixDiagV3()(dg.Tensor([1.0, 2.0]), 0, 2, 3, 0.0))
[[1. 0. 0.]
 [0. 2. 0.]]
""",
):
    __slots__ = ()


class MatrixDiagPartV3(
    Derived,
    function=matrix_diag_part,
    align="RIGHT_LEFT",
    call="x, k, padding_value",
    example="""
>>> print(ops.MatrixDiagPartV3()(dg.Tensor([[1.0, 5.0], [3.0, 2.0]]), 0, 0.0))
[1. 2.]
""",
):
    __slots__ = ()


class MatrixSetDiagV3(
    Derived,
    function=matrix_set_diag,
    align="RIGHT_LEFT",
    call="x, diagonal, k",
    example="""
>>> print(ops.MatrixSetDiagV3()(ops.zeros((2, 2)), dg.Tensor([3.0]), 1))
[[0. 3.]
 [0. 0.]]
""",
):
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {}
