"""Reverse and repeat elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor import Tensor
from .._arguments import integer, one_axis, operand, several_axes, to_shape
from ..axes._order import moveaxis
from ..axes._turning import flip
from ..index._indices import index_tensor, many_axes_pattern, read
from ..index.choice import where
from ..shape._repeating import repeat_interleave
from ._classes import REQUIRED, Derived

__all__ = ["ReverseSequence", "ReverseV2", "fliplr", "flipud", "repeat_elements", "reverse", "reverse_sequence"]


def fliplr(input: Any) -> Tensor:
    """Reverse the second axis.

    Parameters
    ----------
    input : Tensor
        At least two axes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fliplr(dg.Tensor([[1.0, 2.0]])))
    [[2. 1.]]
    """
    return flip(input, (1,))


def flipud(input: Any) -> Tensor:
    """Reverse the first axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.flipud(dg.Tensor([1.0, 2.0])))
    [2. 1.]
    """
    return flip(input, (0,))


def reverse(x: Any, axis: Any) -> Tensor:
    """Reverse axes.

    Parameters
    ----------
    x : Tensor
        Any shape.
    axis : int or tuple of int
        The axes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.reverse(dg.Tensor([[1.0, 2.0]]), [1]))
    [[2. 1.]]
    """
    x = operand("reverse", x)
    return flip(x, several_axes("reverse", axis, x.shape))


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Reverse the first elements of sequences of different length.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    seq_lengths : Tensor of int
        The number of elements of each sequence to reverse.
    seq_dim, batch_dim : int
        The axis along which sequences run, and the batch axis (default 0).

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
    >>> print(ops.reverse_sequence(dg.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), dg.Tensor([2, 3]), 1))
    [[2. 1. 3.]
     [6. 5. 4.]]
    """
    name = "reverse_sequence"
    x, count = operand(name, x), index_tensor(name, seq_lengths)
    along, batch = one_axis(name, seq_dim, x.shape), one_axis(name, batch_dim, x.shape)
    if along == batch or count.shape != (x.shape[batch],):
        raise ValueError(
            f"{name}: seq_lengths of shape {count.shape} for a tensor of shape {x.shape}, sequences along axis "
            f"{along}, batch along axis {batch}; expected one length for each sequence"
        )
    front = moveaxis(x, (batch, along), (0, 1))
    steps, count = np.arange(x.shape[along]), to_shape(count, (count.size, 1))
    place = where(count > steps, count - 1 - steps, steps)
    found = read(name, many_axes_pattern(2), front, np.arange(count.size).reshape(-1, 1), place)
    return moveaxis(found, (0, 1), (batch, along))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """Repeat every element along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    rep : int
        How many times.
    axis : int, default 0
        The axis.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.repeat_elements(dg.Tensor([1.0, 2.0]), 2))
    [1. 1. 2. 2.]
    """
    return repeat_interleave(x, integer("repeat_elements", "rep", rep), axis)


# ------------------------------------------------------------------------------------------ primitive classes


class ReverseV2(Derived, function=reverse, axis=REQUIRED, example="""
>>> print(ops.ReverseV2(axis=[0])(dg.Tensor([1.0, 2.0])))
[2. 1.]
"""):  # fmt: skip
    __slots__ = ()


class ReverseSequence(Derived, function=reverse_sequence, seq_dim=REQUIRED, batch_dim=0, call="x, lengths", example="""
>>> print(ops.ReverseSequence(1)(dg.Tensor([[1.0, 2.0, 3.0]]), dg.Tensor([2])))
[[2. 1. 3.]]
"""):  # fmt: skip
    __slots__ = ()


METHODS: dict[str, Callable[..., Any]] = {
    "fliplr": fliplr,
    "flipud": flipud,
    "reverse": reverse,
}
