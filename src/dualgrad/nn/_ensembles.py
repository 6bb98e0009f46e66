"""Map `vmap` over a list of Cells: each Cell gets a sample of its own.

Cells may differ in weights and in code, so they are called one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad import _nests, ops
from dualgrad._engine.transforms.pytrees import with_leaves
from dualgrad.nn.cell import Cell
from dualgrad.tensor import Tensor
from dualgrad.transforms.vectorize import _check_mapped, _repeatable

__all__ = ["over_samples"]


def over_samples(cells: Sequence[Cell], in_axes: Any, out_axes: Any) -> Callable[..., Any]:
    """Return a function that gives sample k of its inputs to Cell k, and stacks the results.

    `in_axes` is an int or None for all inputs, or one entry for each; None gives an input to every Cell unchanged.
    `out_axes` is an int for all results, or one for each entry of a tuple.
    """

    def mapped(*args: Any) -> Any:
        each = tuple(in_axes) if isinstance(in_axes, tuple | list) else (in_axes,) * len(args)
        if len(each) != len(args) or not all(axis is None or isinstance(axis, int) for axis in each):
            raise ValueError(
                f"vmap: in_axes is {in_axes} for {len(args)} inputs of a CellList; expected an int or None, for all "
                "inputs or for each"
            )
        if not cells:
            raise ValueError("vmap: the CellList has no Cells; expected one for each sample")
        _check_mapped(args, each)
        inputs = [
            [
                x if axis is None else _nests.mapped(x, _sample_of(k, axis, len(cells)))
                for x, axis in zip(args, each, strict=True)
            ]
            for k in range(len(cells))
        ]
        results = [with_leaves(cell(*given), _repeatable) for cell, given in zip(cells, inputs, strict=True)]
        if not isinstance(out_axes, tuple | list):
            return _stacked(results, out_axes)
        if not all(isinstance(one, tuple) and len(one) == len(out_axes) for one in results):
            raise ValueError(f"vmap: out_axes is {out_axes}; expected an int, or one for each entry of a tuple")
        return tuple(_stacked(part, axis) for part, axis in zip(zip(*results, strict=True), out_axes, strict=True))

    return mapped


def _sample_of(number: int, axis: int, count: int) -> Callable[[Tensor], Tensor]:
    """Return a function that takes one sample of a tensor."""

    def sample(x: Tensor) -> Tensor:
        if not -x.ndim <= axis < x.ndim or x.shape[axis] != count:
            raise ValueError(
                f"vmap: a CellList of {count} Cells maps over axis {axis} of a tensor of shape {x.shape}; expected the "
                f"length {count} along that axis"
            )
        return x[(slice(None),) * (axis % x.ndim) + (number,)]

    return sample


def _stacked(results: Sequence[Any], axis: Any) -> Any:
    """Stack the tensors of results with equal nesting."""
    if not isinstance(axis, int):
        raise ValueError(f"vmap: out_axes is {axis!r} for results of a CellList; expected an int")
    columns = [_nests.tensors_in(result) for result in results]
    if len({len(tensors) for tensors in columns}) > 1:
        raise ValueError("vmap: the Cells of a CellList return nests of different forms; expected one form")
    return _nests.refilled(results[0], [ops.stack(row, axis) for row in zip(*columns, strict=True)])
