"""B-splines: the values of the k + 1 basis functions of degree k that are nonzero at a place.

References
----------
C. de Boor, "A Practical Guide to Splines", Springer (1978), chapter X.
"""

from __future__ import annotations

import math

from ..ops._arguments import to_shape, total
from ..ops.index._indices import many_axes_pattern, read
from ..ops.shape.reshaping import stack
from ..tensor import Tensor

__all__ = ["basis_weights", "contracted", "uniform_weights"]

WRITTEN_OUT = 16  # up to this many products of weights are written out one by one


def basis_weights(behind: list[Tensor], ahead: list[Tensor], one: Tensor) -> list[Tensor]:
    """The weights by de Boor's recursion over degrees, in the order of the functions.

    Parameters
    ----------
    behind, ahead : list of Tensor
        The distances of the places from the k knots before them, and from the k knots after them, nearest first.
    one : Tensor
        Ones of the shape of the places.

    Returns
    -------
    list of Tensor
        k + 1 weights, whose sum is 1.
    """
    weights = [one]
    for d in range(1, len(behind) + 1):
        shares = [weight / (ahead[r] + behind[d - 1 - r]) for r, weight in enumerate(weights)]
        weights = _carried(
            [ahead[r] * s for r, s in enumerate(shares)], [behind[d - 1 - r] * s for r, s in enumerate(shares)]
        )
    return weights


def uniform_weights(part: Tensor, degree: int) -> list[Tensor]:
    """The weights of elements 0 to k, for knots at distance one; even degrees have knots halfway between elements.

    Parameters
    ----------
    part : Tensor
        The place relative to element k // 2: between 0 and 1, or between -1/2 and 1/2 for an even degree.
    degree : int
        The degree k.
    """
    if degree % 2 == 0:
        part = part + 0.5
    if degree == 0:
        return [part * 0.0 + 1.0]
    weights = [1.0 - part, part]
    for d in range(2, degree + 1):
        shares = [weight * (1.0 / d) for weight in weights]
        ahead = [(r + 1.0 - part) * share for r, share in enumerate(shares)]
        weights = _carried(ahead, [(part + (d - 1.0 - r)) * share for r, share in enumerate(shares)])
    return weights


def _carried(ahead: list[Tensor], behind: list[Tensor]) -> list[Tensor]:
    """The weights of the next degree: each function passes one share to its left and one to its right."""
    middle = [left + right for left, right in zip(behind[:-1], ahead[1:], strict=True)]
    return [ahead[0], *middle, behind[-1]]


def contracted(name: str, x: Tensor, indices: list[list[Tensor]], weights: list[list[Tensor]]) -> Tensor:
    """Sum elements times the weights of their places over the first axes of ``x``.

    Parameters
    ----------
    name : str
        The function that error messages name.
    x : Tensor
        Any shape.
    indices : list of list of Tensor
        For each of the first axes, the contributing elements: Int64, in the shape of the places.
    weights : list of list of Tensor
        Their weights.

    Returns
    -------
    Tensor
        The shape of the places, then the other axes of ``x``.
    """
    shape, rest = indices[0][0].shape, x.shape[len(indices) :]
    if math.prod(len(tap) for tap in indices) <= WRITTEN_OUT:
        return _written_out(name, x, indices, weights, (*shape, *(1,) * len(rest)), ())
    n = len(indices)
    spread = [
        to_shape(stack(tap, -1), (*shape, *(1,) * axis, len(tap), *(1,) * (n - 1 - axis)))
        for axis, tap in enumerate(indices)
    ]
    value = read(name, many_axes_pattern(n), x, *spread)
    for axis in range(n - 1, -1, -1):
        weight = stack(weights[axis], -1)
        value = value * to_shape(weight, (*shape, *(1,) * axis, weight.shape[-1], *(1,) * len(rest)))
        value = total(value, (len(shape) + axis,), False)
    return value


def _written_out(
    name: str,
    x: Tensor,
    indices: list[list[Tensor]],
    weights: list[list[Tensor]],
    shape: tuple[int, ...],
    chosen: tuple[Tensor, ...],
) -> Tensor:
    """Compute `contracted` product by product; `chosen` holds the elements on the axes so far.

    No array is larger than the result, so a program keeps them in cache.
    """
    axis = len(chosen)
    if axis == len(indices):
        return read(name, many_axes_pattern(axis), x, *chosen)
    value = None
    for index, weight in zip(indices[axis], weights[axis], strict=True):
        part = _written_out(name, x, indices, weights, shape, (*chosen, index)) * to_shape(weight, shape)
        value = part if value is None else value + part
    assert value is not None
    return value
