"""Sums of products over chosen axes: dot, inner and outer products, and the general case.

Every contraction is one product of two matrices, between transposes and reshapes.
"""

from __future__ import annotations

import math
from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import ALL_AXES, Primitive, alike, permuted, several_axes, to_shape, together

__all__ = ["Ger", "dot", "ger", "inner", "outer", "tensor_dot"]


def pair(name: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors; an array beside a tensor takes part in the choice of a common type."""
    pair = together(name, x, y)
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        pair = alike(pair)
    return pair[0], pair[1]


def checked(name: str, x: Any, m: int, y: Any, n: int) -> tuple[Tensor, Tensor]:
    """Convert two operands and check their number of axes."""
    x, y = pair(name, x, y)
    if x.ndim != m or y.ndim != n:
        raise ValueError(
            f"{name}: operands of shapes {x.shape} and {y.shape}; expected {m} axes for the first and {n} "
            "for the second"
        )
    return x, y


def equal(name: str, m: int, n: int, x: Tensor, y: Tensor) -> None:
    """Check that two multiplied axes have the same length."""
    if m != n:
        raise ValueError(f"{name}: shapes {x.shape} and {y.shape} do not multiply; {m} is not {n}")


def dot(x: Any, y: Any) -> Tensor:
    """Sum of products over the last axis of one operand and the last but one (or only) axis of the other.

    Parameters
    ----------
    x, y : Tensor
        Any shapes, of equal types. A number multiplies every element.

    Returns
    -------
    Tensor
        The remaining axes of `x`, then the remaining axes of `y`.

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
    x, y = pair("dot", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2:
        equal("dot", x.shape[-1], y.shape[0], x, y)
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
        The remaining axes of `x`, then the remaining axes of `y`.

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
    x, y = pair("inner", x, y)
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
        Shape (length of `x`, length of `y`), in the common type of the operands.

    Raises
    ------
    ValueError
        If an operand is not a vector.

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
    x, y = checked(name, x, 1, y, 1)
    return to_shape(x, (x.size, 1)) * y


def tensor_dot(x: Any, y: Any, axes: Any) -> Tensor:
    """Sum of products over any axes.

    Parameters
    ----------
    x, y : Tensor
        Any shapes, of equal types.
    axes : int or pair of tuples of int
        An int n: the last n axes of `x` with the first n axes of `y`. A pair: axes of `x`, and the matching axes of
        `y`.

    Returns
    -------
    Tensor
        The remaining axes of `x`, then the remaining axes of `y`.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If matching axes differ in number or in length.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.tensor_dot(ops.ones((2, 3, 4)), ops.ones((4, 3, 5)), ((1, 2), (1, 0))).shape
    (2, 5)
    """
    x, y = pair("tensor_dot", x, y)
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
    """Sum of products over matching axes, as one product of two matrices."""
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


class Ger(Primitive, of=outer):
    __slots__ = ()

    def __call__(self, x: Any, y: Any) -> Tensor:
        return _outer("Ger", x, y)


METHODS: dict[str, Any] = {"inner": inner, "outer": outer, "ger": ger}
