"""Joining tensors along an axis, and taking them apart again.

Operands of different types are converted to their common type, so each gradient is converted back to the type of its
operand. Pieces are slices: views of the same memory.
"""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import (
    OP,
    Primitive,
    alike,
    integer,
    lengths,
    one_axis,
    operand,
    operands,
    respelled_axis,
    to_shape,
)

__all__ = [
    "Concat", "Split", "Stack", "Unstack", "cat", "chunk", "concat", "hstack", "split", "stack", "unbind",
    "unstack", "vstack",
]  # fmt: skip

_CONCAT, _SLICE = OP["concat"], OP["slice"]


def cat(tensors: Any, axis: int = 0, **other: Any) -> Tensor:
    """Join tensors along an axis that they have.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        One or more; shapes equal but for the length of the axis.
    axis : int, default 0
        The axis. Also spelled `dim`.

    Returns
    -------
    Tensor
        In the common type of the operands.

    Raises
    ------
    numpy.exceptions.AxisError
        If the tensors have no such axis.
    ValueError
        If `tensors` is empty, or the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.cat((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0]))))
    [1. 2. 3.]
    """
    if other:
        axis = respelled_axis("cat", other, axis)
    return _joined("cat", tensors, axis)


def concat(tensors: Any, axis: int = 0, **other: Any) -> Tensor:
    """Join tensors along an axis that they have; the same as `cat`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.concat((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0]))))
    [1. 2. 3.]
    """
    if other:
        axis = respelled_axis("concat", other, axis)
    return _joined("concat", tensors, axis)


def _joined(name: str, tensors: Any, axis: int) -> Tensor:
    parts = operands(name, tensors)
    if not parts:
        raise ValueError(f"{name}: expected at least one tensor, got an empty {type(tensors).__name__}")
    first = parts[0].shape
    axis = one_axis(name, axis, first)
    for part in parts:
        shape = part.shape
        if len(shape) != len(first) or any(
            m != n and k != axis for k, (m, n) in enumerate(zip(first, shape, strict=True))
        ):
            raise ValueError(
                f"{name}: tensors of shapes {first} and {shape} cannot be joined along axis {axis}; all "
                "other lengths must be equal"
            )
    return _engine.apply(_CONCAT, axis, *alike(parts))


def stack(tensors: Any, axis: int = 0, **other: Any) -> Tensor:
    """Join tensors of one shape along a new axis.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        One or more, of one shape.
    axis : int, default 0
        Where the new axis stands in the result. Also spelled `dim`.

    Returns
    -------
    Tensor
        In the common type of the operands.

    Raises
    ------
    numpy.exceptions.AxisError
        If the result has no such axis.
    ValueError
        If `tensors` is empty, or the shapes differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.stack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0])), 1))
    [[1. 3.]
     [2. 4.]]
    """
    if other:
        axis = respelled_axis("stack", other, axis)
    parts = operands("stack", tensors)
    if not parts:
        raise ValueError(f"stack: expected at least one tensor, got an empty {type(tensors).__name__}")
    shape = parts[0].shape
    axis = one_axis("stack", axis, shape, 1)
    for part in parts:
        if part.shape != shape:
            raise ValueError(f"stack: tensors of shapes {shape} and {part.shape}; expected equal shapes")
    column = (*shape[:axis], 1, *shape[axis:])
    return _engine.apply(_CONCAT, axis, *[to_shape(part, column) for part in alike(parts)])


def hstack(tensors: Any) -> Tensor:
    """Join tensors along the second axis; vectors and numbers along the first.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        One or more; shapes equal but for the length of that axis.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hstack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0]))))
    [1. 2. 3.]
    """
    parts = [to_shape(x, (1,)) if x.ndim == 0 else x for x in operands("hstack", tensors)]
    return _joined("hstack", parts, 1 if parts and parts[0].ndim > 1 else 0)


def vstack(tensors: Any) -> Tensor:
    """Join tensors along the first axis; vectors count as rows.

    Parameters
    ----------
    tensors : tuple or list of Tensor
        One or more; shapes equal but for the length of that axis.

    Returns
    -------
    Tensor
        At least two axes.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.vstack((dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0]))))
    [[1. 2.]
     [3. 4.]]
    """
    parts = [to_shape(x, (1, x.size)) if x.ndim < 2 else x for x in operands("vstack", tensors)]
    return _joined("vstack", parts, 0)


# ----------------------------------------------------------------------------------------------------- pieces


def _pieces(x: Tensor, axis: int, sizes: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Consecutive stretches along an axis."""
    spec = [(0, n, 1) for n in x.shape]
    found, start = [], 0
    for size in sizes:
        spec[axis] = (start, size, 1)
        found.append(_engine.apply(_SLICE, tuple(spec), x))
        start += size
    return tuple(found)


def split(x: Any, split_size_or_sections: Any, axis: int = 0, **other: Any) -> tuple[Tensor, ...]:
    """Cut into pieces along an axis.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    split_size_or_sections : int or tuple of int
        The length of each piece but the last, which may be shorter; or the lengths of all pieces.
    axis : int, default 0
        The axis. Also spelled `dim`.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If the length is not positive, or the lengths do not add up to the length of the axis.

    See Also
    --------
    Split : Cuts into a number of equal pieces.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> for piece in ops.split(dg.Tensor([1.0, 2.0, 3.0]), 2):
    ...     print(piece)
    [1. 2.]
    [3.]
    """
    if other:
        axis = respelled_axis("split", other, axis)
    x = operand("split", x)
    axis = one_axis("split", axis, x.shape)
    n = x.shape[axis]
    if isinstance(split_size_or_sections, tuple | list):
        sizes = lengths("split", split_size_or_sections)
        if any(size < 0 for size in sizes) or sum(sizes) != n:
            raise ValueError(f"split: the lengths {sizes} do not add up to axis {axis} of shape {x.shape}")
        return _pieces(x, axis, sizes)
    size = integer("split", "the length of a piece", split_size_or_sections)
    if size < 1:
        raise ValueError(f"split: the length of a piece must be at least 1, got {size}")
    return _pieces(x, axis, tuple([min(size, n - k) for k in range(0, n, size)]) or (0,))


def chunk(x: Any, chunks: int, axis: int = 0, **other: Any) -> tuple[Tensor, ...]:
    """Cut along an axis into at most `chunks` pieces of equal length; the last may be shorter.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    chunks : int
        Number of pieces.
    axis : int, default 0
        The axis. Also spelled `dim`.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If the number is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> [piece.shape for piece in ops.chunk(ops.ones((5,)), 2)]
    [(3,), (2,)]
    """
    if other:
        axis = respelled_axis("chunk", other, axis)
    x = operand("chunk", x)
    count = integer("chunk", "chunks", chunks)
    if count < 1:
        raise ValueError(f"chunk: the number of pieces must be at least 1, got {count}")
    n = x.shape[one_axis("chunk", axis, x.shape)]
    return split(x, max(-(-n // count), 1), axis)


def unstack(x: Any, axis: int = 0, **other: Any) -> tuple[Tensor, ...]:
    """Cut into single elements along an axis, which is removed.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int, default 0
        The axis. Also spelled `dim`.

    Returns
    -------
    tuple of Tensor
        As many as the axis is long.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> a, b = ops.unstack(dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
    >>> print(a, b)
    [1. 3.] [2. 4.]
    """
    if other:
        axis = respelled_axis("unstack", other, axis)
    x = operand("unstack", x)
    axis = one_axis("unstack", axis, x.shape)
    shape = x.shape
    rest = shape[:axis] + shape[axis + 1 :]
    return tuple([to_shape(piece, rest) for piece in _pieces(x, axis, (1,) * shape[axis])])


def unbind(x: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut into single elements along an axis; the same as `unstack`.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    dim : int, default 0
        The axis.

    Returns
    -------
    tuple of Tensor
        As many as the axis is long.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.unbind(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2.] [3. 4.]
    """
    return unstack(x, dim)


# ------------------------------------------------------------------------------------------ primitive classes


class Concat(Primitive):
    """Tensors joined along an axis; see `cat`.

    Parameters
    ----------
    axis : int, default 0
        The axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Concat(1)((ops.ones((2, 1)), ops.ones((2, 3)))).shape
    (2, 4)
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = 0) -> None:
        self.axis: int = integer("Concat", "axis", axis)

    def __call__(self, tensors: Any) -> Tensor:
        return _joined("Concat", tensors, self.axis)


class Stack(Primitive):
    """Tensors joined along a new axis; see `stack`.

    Parameters
    ----------
    axis : int, default 0
        The new axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.Stack(1)((ops.ones((2,)), ops.ones((2,)))).shape
    (2, 2)
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = 0) -> None:
        self.axis: int = integer("Stack", "axis", axis)

    def __call__(self, tensors: Any) -> Tensor:
        return stack(tensors, self.axis)


class Unstack(Primitive):
    """Single elements along an axis; see `unstack`.

    Parameters
    ----------
    axis : int, default 0
        The axis.
    num : int, optional
        How long the axis must be.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> len(ops.Unstack(1)(ops.ones((2, 3))))
    3
    """

    __slots__ = ("axis", "num")

    def __init__(self, axis: int = 0, num: int | None = None) -> None:
        self.axis: int = integer("Unstack", "axis", axis)
        self.num: int | None = num

    def __call__(self, x: Any) -> tuple[Tensor, ...]:
        found = unstack(x, self.axis)
        if self.num is not None and self.num != len(found):
            raise ValueError(f"Unstack: axis {self.axis} of shape {x.shape} has {len(found)} elements, not {self.num}")
        return found


class Split(Primitive):
    """A number of equal pieces along an axis.

    Parameters
    ----------
    axis : int, default 0
        The axis.
    output_num : int, default 1
        The number of pieces; it must divide the length of the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> [piece.shape for piece in ops.Split(1, 2)(ops.ones((3, 4)))]
    [(3, 2), (3, 2)]
    """

    __slots__ = ("axis", "output_num")

    def __init__(self, axis: int = 0, output_num: int = 1) -> None:
        self.axis: int = integer("Split", "axis", axis)
        self.output_num: int = integer("Split", "output_num", output_num)
        if self.output_num < 1:
            raise ValueError(f"Split: output_num must be at least 1, got {output_num}")

    def __call__(self, x: Any) -> tuple[Tensor, ...]:
        x = operand("Split", x)
        axis = one_axis("Split", self.axis, x.shape)
        size, rest = divmod(x.shape[axis], self.output_num)
        if rest:
            raise ValueError(
                f"Split: axis {axis} of a tensor of shape {x.shape} cannot be cut into {self.output_num} "
                "equal pieces; use ops.split with the lengths of the pieces"
            )
        return _pieces(x, axis, (size,) * self.output_num)


METHODS: dict[str, Any] = {"split": split, "chunk": chunk, "unbind": unbind}
