"""Products of vectors, matrices and stacks of matrices.

One primitive multiplies matrices, stacked over leading axes that broadcast; all other products reshape and transpose
around it, which makes views. Two tensors must have equal types: a product of a float32 with a float64 matrix is almost
always a mistake, and silent widening would take twice the time. Arrays are constants that adapt.
"""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor
from ...tensor import Tensor
from .._arguments import Primitive, operand, permuted
from . import _contractions
from ._contractions import *  # noqa: F403
from ._contractions import checked, equal, pair
from ._einsum import einsum

__all__ = [
    "BatchMatMul", "MatMul", "addmm", "addmv", "baddbmm", "bmm", "einsum", "matmul", "mm", "mv",
]  # fmt: skip
__all__ += _contractions.__all__


def matmul(x: Any, y: Any) -> Tensor:
    """Matrix product, by the rules of ``x @ y``.

    Parameters
    ----------
    x, y : Tensor
        One axis or more, of equal types. Leading axes are stacks that broadcast; a vector is a row on the
        left and a column on the right, and its axis is removed from the result.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types of two tensors differ.
    ValueError
        If the shapes do not multiply, or an operand is a number.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.matmul(x, x), ops.matmul(x, dg.Tensor([1.0, 1.0])))
    [[ 7. 10.]
     [15. 22.]] [3. 7.]
    """
    return _engine.matmul_op(x, y)


def mm(x: Any, y: Any) -> Tensor:
    """Product of two matrices.

    Parameters
    ----------
    x, y : Tensor
        Two axes each, of equal types.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If an operand is not a matrix, or the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.mm(ops.ones((2, 3)), ops.ones((3, 4))).shape
    (2, 4)
    """
    x, y = checked("mm", x, 2, y, 2)
    equal("mm", x.shape[1], y.shape[0], x, y)
    return _engine.matmul_op(x, y)


def mv(x: Any, y: Any) -> Tensor:
    """Product of a matrix and a vector.

    Parameters
    ----------
    x : Tensor
        Two axes.
    y : Tensor
        One axis, type of `x`.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.mv(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([1.0, 1.0])))
    [3. 7.]
    """
    x, y = checked("mv", x, 2, y, 1)
    equal("mv", x.shape[1], y.shape[0], x, y)
    return _engine.matmul_op(x, y)


def bmm(x: Any, y: Any) -> Tensor:
    """Products of two stacks of matrices, one by one.

    Parameters
    ----------
    x, y : Tensor
        Three or more axes each, of equal types; all but the last two equally long.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If an operand is not a stack of matrices, or the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.bmm(ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    n = max(operand("bmm", x).ndim, 3)
    x, y = checked("bmm", x, n, y, n)
    for k in range(n - 2):
        equal("bmm", x.shape[k], y.shape[k], x, y)
    return _engine.matmul_op(x, y)


def _weighted(term: Tensor, weight: Any) -> Tensor:
    """A term times a number; unchanged for 1."""
    return (
        term
        if isinstance(weight, int | float) and weight == 1
        else term * number_or_tensor("bmm", "alpha or beta", weight)
    )


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for matrices.

    Parameters
    ----------
    input : Tensor
        Broadcasts to the product.
    mat1, mat2 : Tensor
        Two axes each, of equal types.
    beta, alpha : number or Tensor, default 1
        The weights.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types of the matrices differ.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addmm(ops.ones((1, 2)), ops.ones((1, 3)), ops.ones((3, 2)), alpha=2.0))
    [[7. 7.]]
    """
    first, second = checked("addmm", mat1, 2, mat2, 2)
    return _weighted(operand("addmm", input), beta) + _weighted(_engine.matmul_op(first, second), alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector.

    Parameters
    ----------
    input : Tensor
        Broadcasts to the product.
    mat, vec : Tensor
        Two axes and one axis, of equal types.
    beta, alpha : number or Tensor, default 1
        The weights.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types of matrix and vector differ.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.addmv(ops.ones((2,)), ops.ones((2, 3)), ops.ones((3,)), beta=2.0))
    [5. 5.]
    """
    matrix, vector = checked("addmv", mat, 2, vec, 1)
    return _weighted(operand("addmv", input), beta) + _weighted(_engine.matmul_op(matrix, vector), alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)`` for stacks of matrices.

    Parameters
    ----------
    input : Tensor
        Broadcasts to the products.
    batch1, batch2 : Tensor
        Three axes each, of equal types.
    beta, alpha : number or Tensor, default 1
        The weights.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types of the stacks differ.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.baddbmm(ops.ones((2, 4)), ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    first, second = checked("baddbmm", batch1, 3, batch2, 3)
    equal("baddbmm", first.shape[0], second.shape[0], first, second)
    return _weighted(operand("baddbmm", input), beta) + _weighted(_engine.matmul_op(first, second), alpha)


# ------------------------------------------------------------------------------------------ primitive classes


class BatchMatMul(Primitive):
    """Products of stacks of matrices.

    Parameters
    ----------
    transpose_a, transpose_b : bool, default False
        Exchange the last two axes of the first or the second operand before multiplying.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.BatchMatMul(transpose_b=True)(ops.ones((5, 2, 3)), ops.ones((5, 4, 3))).shape
    (5, 2, 4)
    """

    __slots__ = ("transpose_a", "transpose_b")

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        for word, flag in (("transpose_a", transpose_a), ("transpose_b", transpose_b)):
            if not isinstance(flag, bool):
                raise TypeError(f"{type(self).__name__}: {word} must be a bool, got {type(flag).__name__}")
        self.transpose_a: bool = transpose_a
        self.transpose_b: bool = transpose_b

    def __call__(self, x: Any, y: Any) -> Tensor:
        if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
            x, y = pair("BatchMatMul", x, y)
        if x.ndim < 2 or y.ndim < 2:
            raise ValueError(
                f"BatchMatMul: operands of shapes {x.shape} and {y.shape}; expected stacks of matrices, two "
                "axes or more"
            )
        return self._product(x, y)

    def _product(self, x: Any, y: Any) -> Tensor:
        if self.transpose_a:
            x = permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
        if self.transpose_b:
            y = permuted(y, (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2))
        return _engine.matmul_op(x, y)


class MatMul(BatchMatMul):
    """Product of two matrices.

    Parameters
    ----------
    transpose_a, transpose_b : bool, default False
        Transpose the first or the second operand before multiplying.

    Raises
    ------
    TypeError
        When called: if the types of two tensors differ.
    ValueError
        When called: if an operand is not a matrix, or the shapes do not multiply.

    See Also
    --------
    matmul : The product of vectors, matrices and stacks.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.MatMul()(dg.Tensor([[1.0, 2.0]]), dg.Tensor([[3.0], [4.0]])))
    [[11.]]
    """

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
            x, y = pair("MatMul", x, y)
        if x.ndim != 2 or y.ndim != 2:
            raise ValueError(
                f"MatMul: operands of shapes {x.shape} and {y.shape}; expected matrices (2-d), use "
                "ops.matmul or ops.BatchMatMul for others"
            )
        return self._product(x, y)


METHODS: dict[str, Any] = {
    "matmul": matmul,
    "mm": mm,
    "bmm": bmm,
    "addmm": addmm,
    "addmv": addmv,
    "baddbmm": baddbmm,
    **_contractions.METHODS,
}
