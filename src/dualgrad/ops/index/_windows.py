"""Windows of a tensor given by numbers: `slice` and `strided_slice`.

They read with an index (`indexing.py`), written in another form.
"""

from __future__ import annotations

import builtins
from typing import Any

from ...tensor import Tensor
from .._arguments import Primitive, integer, lengths, operand
from .indexing import getitem

__all__ = ["Slice", "StridedSlice", "slice", "strided_slice"]


def slice(x: Any, begin: Any, size: Any) -> Tensor:
    """Take a window that begins at a point and has a size.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    begin : tuple of int
        Where the window begins, for each axis.
    size : tuple of int
        The length along each axis; -1 stands for the rest of the axis.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is not one number for each axis, or the window leaves the tensor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.slice(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (0, 1), (-1, 2)))
    [[2. 3.]
     [5. 6.]]
    """
    x = operand("slice", x)
    shape = x.shape
    starts, counts = lengths("slice", begin), lengths("slice", size)
    if len(starts) != len(shape) or len(counts) != len(shape):
        raise ValueError(
            f"slice: begin {starts} and size {counts} for shape {shape}; expected one number for each axis"
        )
    parts = []
    for start, count, n in zip(starts, counts, shape, strict=True):
        stop = n if count == -1 else start + count
        if not 0 <= start <= stop <= n:
            raise ValueError(f"slice: the window that begins at {starts} with size {counts} leaves the shape {shape}")
        parts.append(builtins.slice(start, stop))
    return getitem(x, tuple(parts))


def strided_slice(
    x: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Take the elements between two points, in steps.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    begin, end : tuple of int
        First element, and the element behind the last, for each axis; negative numbers count from the end.
    strides : tuple of int, optional
        Steps, 1 by default; negative ones go backwards.
    begin_mask, end_mask : int
        Where bit k is set, axis k begins at its first element, or ends behind its last.
    ellipsis_mask, new_axis_mask, shrink_axis_mask : int
        Where bit k is set, entry k stands for all axes that are not mentioned, for a new axis of length 1, or
        for the single element `begin`, whose axis is removed.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError
        If there are more numbers than axes, or a single element is out of range.
    ValueError
        If begin, end and strides are not equally long, or a step is 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.strided_slice(dg.Tensor([1.0, 2.0, 3.0, 4.0, 5.0]), (0,), (5,), (2,)))
    [1. 3. 5.]
    """
    x = operand("strided_slice", x)
    starts, stops = lengths("strided_slice", begin), lengths("strided_slice", end)
    steps = (1,) * len(starts) if strides is None else lengths("strided_slice", strides)
    if not len(starts) == len(stops) == len(steps) or 0 in steps:
        raise ValueError(
            f"strided_slice: begin {starts}, end {stops} and strides {steps}; expected equally many numbers, no step 0"
        )
    parts: list[Any] = []
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = [
        integer("strided_slice", "a mask", mask)
        for mask in (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    ]
    for k, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        bit = 1 << k
        if ellipsis_mask & bit:
            parts.append(Ellipsis)
        elif new_axis_mask & bit:
            parts.append(None)
        elif shrink_axis_mask & bit:
            parts.append(start)
        else:
            first = None if begin_mask & bit else start
            last = None if end_mask & bit else stop
            parts.append(builtins.slice(first, last, step))
    return getitem(x, tuple(parts))


class Slice(Primitive, of=slice):
    __slots__ = ()

    def __call__(self, x: Any, begin: Any, size: Any) -> Tensor:
        return slice(x, begin, size)


class StridedSlice(Primitive):
    """Elements between two points, in steps; see `strided_slice`.

    Parameters
    ----------
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask : int, default 0
        As in `strided_slice`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.StridedSlice()(dg.Tensor([1.0, 2.0, 3.0]), (0,), (3,), (2,)))
    [1. 3.]
    """

    __slots__ = ("begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")

    def __init__(
        self,
        begin_mask: int = 0,
        end_mask: int = 0,
        ellipsis_mask: int = 0,
        new_axis_mask: int = 0,
        shrink_axis_mask: int = 0,
    ) -> None:
        self.begin_mask: int = begin_mask
        self.end_mask: int = end_mask
        self.ellipsis_mask: int = ellipsis_mask
        self.new_axis_mask: int = new_axis_mask
        self.shrink_axis_mask: int = shrink_axis_mask

    def __call__(self, x: Any, begin: Any, end: Any, strides: Any) -> Tensor:
        masks = self.begin_mask, self.end_mask, self.ellipsis_mask, self.new_axis_mask, self.shrink_axis_mask
        return strided_slice(x, begin, end, strides, *masks)
