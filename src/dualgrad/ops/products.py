"""Products of vectors, matrices and stacks of matrices.

One primitive multiplies matrices, stacked over leading axes that broadcast; everything else is that product
between reshapes and transposes, which are views. Two tensors must have equal types: a product of a float32
with a float64 matrix is almost always a slip, and widening it silently would cost twice the time. Arrays are
constants that adapt.
"""

from __future__ import annotations

import math
from typing import Any

from .._engine import tensor as _engine
from ..tensor import Tensor
from ._arguments import ALL_AXES, Primitive, alike, operand, permuted, several_axes, to_shape
from ._einsum import einsum

__all__ = [
    "BatchMatMul", "Ger", "MatMul", "addmm", "addmv", "baddbmm", "bmm", "dot", "einsum", "ger", "inner", "matmul",
    "mm", "mv", "outer", "tensor_dot",
]  # fmt: skip


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


def _pair(name: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; an array beside a tensor takes part in the choice of a common type."""
    pair = [operand(name, x), operand(name, y)]
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        pair = alike(pair)
    return pair[0], pair[1]


def _checked(name: str, x: Any, m: int, y: Any, n: int) -> tuple[Tensor, Tensor]:
    """Two operands with as many axes as the function takes."""
    x, y = _pair(name, x, y)
    if x.ndim != m or y.ndim != n:
        raise ValueError(
            f"{name}: operands of shapes {x.shape} and {y.shape}; expected {m} axes for the first and {n} "
            "for the second"
        )
    return x, y


def _equal(name: str, m: int, n: int, x: Tensor, y: Tensor) -> None:
    if m != n:
        raise ValueError(f"{name}: shapes {x.shape} and {y.shape} do not multiply; {m} is not {n}")


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
        If an operand is no matrix, or the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.mm(ops.ones((2, 3)), ops.ones((3, 4))).shape
    (2, 4)
    """
    x, y = _checked("mm", x, 2, y, 2)
    _equal("mm", x.shape[1], y.shape[0], x, y)
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
    x, y = _checked("mv", x, 2, y, 1)
    _equal("mv", x.shape[1], y.shape[0], x, y)
    return _engine.matmul_op(x, y)


def bmm(x: Any, y: Any) -> Tensor:
    """Products of two stacks of matrices, one by one.

    Parameters
    ----------
    x, y : Tensor
        Three axes each, of equal types; the first ones equally long.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If an operand is no stack of matrices, or the shapes do not multiply.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.bmm(ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = _checked("bmm", x, 3, y, 3)
    _equal("bmm", x.shape[0], y.shape[0], x, y)
    return _engine.matmul_op(x, y)


def dot(x: Any, y: Any) -> Tensor:
    """Sum of products over the last axis of one operand and the last but one (or only) axis of the other.

    Parameters
    ----------
    x, y : Tensor
        Any shapes, of equal types. A number multiplies every element.

    Returns
    -------
    Tensor
        The remaining axes of `x`, then those of `y`.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If the axes are not equally long.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.dot(dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0])))
    11.0
    >>> ops.dot(ops.ones((2, 3, 4)), ops.ones((5, 4, 6))).shape
    (2, 3, 5, 6)
    """
    x, y = _pair("dot", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2:
        _equal("dot", x.shape[-1], y.shape[0], x, y)
        return _flat_product(x, y)
    last_but_one = y.ndim - 2
    return _contracted("dot", x, y, (x.ndim - 1,), (last_but_one,))


def _flat_product(x: Tensor, y: Tensor) -> Tensor:
    """The product x @ y for a vector or matrix y, with all leading axes of x as rows of one matrix."""
    if x.ndim <= 2:
        return _engine.matmul_op(x, y)
    shape = x.shape
    rows = _engine.matmul_op(to_shape(x, (math.prod(shape[:-1]), shape[-1])), y)
    return to_shape(rows, shape[:-1] + y.shape[1:])


def inner(x: Any, y: Any) -> Tensor:
    """Sum of products over the last axes of both operands.

    Parameters
    ----------
    x, y : Tensor
        Any shapes, of equal types, the last axes equally long. A number multiplies every element.

    Returns
    -------
    Tensor
        The remaining axes of `x`, then those of `y`.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If the last axes are not equally long.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.inner(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([1.0, 1.0])))
    [3. 7.]
    """
    x, y = _pair("inner", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return _contracted("inner", x, y, (x.ndim - 1,), (y.ndim - 1,))


def outer(x: Any, y: Any) -> Tensor:
    """Products of every element of one vector with every element of another.

    Parameters
    ----------
    x, y : Tensor
        One axis each.

    Returns
    -------
    Tensor
        Shape (length of `x`, length of `y`), in the type the operands have together.

    Raises
    ------
    ValueError
        If an operand is no vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.outer(dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0])))
    [[3. 4.]
     [6. 8.]]
    """
    return _outer("outer", x, y)


def ger(x: Any, y: Any) -> Tensor:
    """Products of every element of one vector with every element of another; the same as `outer`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.ger(ops.ones((2,)), ops.ones((3,))).shape
    (2, 3)
    """
    return _outer("ger", x, y)


def _outer(name: str, x: Any, y: Any) -> Tensor:
    x, y = _checked(name, x, 1, y, 1)
    return to_shape(x, (x.size, 1)) * y


def tensor_dot(x: Any, y: Any, axes: Any) -> Tensor:
    """Sum of products over any axes.

    Parameters
    ----------
    x, y : Tensor
        Any shapes, of equal types.
    axes : int or pair of tuples of int
        An int: so many last axes of `x` with as many first axes of `y`. A pair: the axes of `x`, and those of
        `y` that belong to them.

    Returns
    -------
    Tensor
        The remaining axes of `x`, then those of `y`.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If axes that belong together are not equally long, or are not equally many.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.tensor_dot(ops.ones((2, 3, 4)), ops.ones((4, 3, 5)), ((1, 2), (1, 0))).shape
    (2, 5)
    """
    x, y = _pair("tensor_dot", x, y)
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(f"tensor_dot: {axes} axes of tensors of shapes {x.shape} and {y.shape}")
        return _contracted("tensor_dot", x, y, ALL_AXES[x.ndim][x.ndim - axes :], ALL_AXES[axes])
    if not isinstance(axes, tuple | list) or len(axes) != 2:
        raise ValueError(f"tensor_dot: axes must be an int or a pair of axes, got {axes!r}")
    left = several_axes("tensor_dot", axes[0], x.shape)
    right = several_axes("tensor_dot", axes[1], y.shape)
    return _contracted("tensor_dot", x, y, left, right)


def _contracted(name: str, x: Tensor, y: Tensor, left: tuple[int, ...], right: tuple[int, ...]) -> Tensor:
    """Sum of products over axes that belong together: one product of two matrices."""
    lengths = tuple([x.shape[k] for k in left])
    if lengths != tuple([y.shape[k] for k in right]):
        raise ValueError(
            f"{name}: axes {left} of shape {x.shape} and axes {right} of shape {y.shape} are not equally long"
        )
    rows = tuple([k for k in ALL_AXES[x.ndim] if k not in left])
    columns = tuple([k for k in ALL_AXES[y.ndim] if k not in right])
    result = tuple([x.shape[k] for k in rows] + [y.shape[k] for k in columns])
    n = math.prod(lengths)
    first = to_shape(permuted(x, rows + left), (math.prod(result[: len(rows)]), n))
    second = to_shape(permuted(y, right + columns), (n, math.prod(result[len(rows) :])))
    return to_shape(_engine.matmul_op(first, second), result)


def _weighted(term: Tensor, weight: Any) -> Tensor:
    """A term times a number; nothing is done for 1."""
    return term if isinstance(weight, int | float) and weight == 1 else term * weight


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
    first, second = _checked("addmm", mat1, 2, mat2, 2)
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
    matrix, vector = _checked("addmv", mat, 2, vec, 1)
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
    first, second = _checked("baddbmm", batch1, 3, batch2, 3)
    _equal("baddbmm", first.shape[0], second.shape[0], first, second)
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
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def __call__(self, x: Any, y: Any) -> Tensor:
        if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
            x, y = _pair("BatchMatMul", x, y)
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
        When called: if an operand is no matrix, or the shapes do not multiply.

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
            x, y = _pair("MatMul", x, y)
        if x.ndim != 2 or y.ndim != 2:
            raise ValueError(
                f"MatMul: operands of shapes {x.shape} and {y.shape}; expected matrices (2-d), use "
                "ops.matmul or ops.BatchMatMul for others"
            )
        return self._product(x, y)


class Ger(Primitive):
    """Products of every element of one vector with every element of another; see `outer`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Ger()(ops.ones((2,)), ops.ones((3,))).shape
    (2, 3)
    """

    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        return _outer("Ger", x, y)


METHODS: dict[str, Any] = {
    "matmul": matmul,
    "mm": mm,
    "bmm": bmm,
    "inner": inner,
    "outer": outer,
    "ger": ger,
    "addmm": addmm,
    "addmv": addmv,
    "baddbmm": baddbmm,
}
