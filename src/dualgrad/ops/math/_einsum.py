"""Einstein's summation convention, composed of transposes, reshapes, sums and matrix products.

Operands are contracted two at a time, in a cheap order. Before two operands meet, repeated labels of each become
diagonals, and labels that nothing else needs are summed away. The remaining labels fall into four groups:

========  ================================  ==================================
stacked   in both operands and in the rest  leading axes of the product
rows      in the first operand only         rows of the first matrix
columns   in the second operand only        columns of the second matrix
summed    in both operands, not in the rest summed by the product
========  ================================  ==================================

so that a pair is one matrix product, and its derivatives are matrix products too. Where nothing is summed it is a
product of elements that broadcast.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...tensor import Tensor
from .._arguments import alike, operands, permuted, to_shape, total
from ..axes._diagonals import diagonal
from ._subscripts import LETTERS, read, separated

_EXHAUSTIVE = 4  # up to this many operands have few orders: all are tried


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sum of products, written with letters for axes.

    Parameters
    ----------
    equation : str
        Letters for the axes of each operand, operands separated by commas, then ``->`` and the letters of the
        result. Letters that the result lacks are summed over; without an arrow the result has the letters
        that occur once, in alphabetical order. A letter twice in one operand takes the diagonal. ``...``
        stands for axes without a letter; in all operands these broadcast, as do axes of length 1.
    *operands : Tensor
        As many as the equation has terms. In place of an equation, each operand may be followed by the list of its
        axes, numbers from 0 to 51 and ``...``; one more list gives the axes of the result.

    Returns
    -------
    Tensor
        In the common type of the operands.

    Raises
    ------
    ValueError
        If the equation is malformed, or does not fit the shapes.
    TypeError
        If the equation is missing.

    Notes
    -----
    More than two operands are contracted in the order that `numpy.einsum_path` gives. Two operands meet in a matrix
    product.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.einsum("ij,kj->ik", x, x), ops.einsum("ii", x))
    [[ 5. 11.]
     [11. 25.]] 5.0
    >>> print(ops.einsum(x, [0, 1], dg.Tensor([1.0, -1.0]), [1]))
    [-1. -1.]
    """
    return contracted(equation, operands)


def contracted(equation: Any, given: tuple[Any, ...], optimize: Any = True) -> Tensor:
    """`einsum` with an order of contractions, as `numpy.einsum` takes it."""
    equation, given = separated(equation, given)
    tensors = alike(operands("einsum", given)) if given else []
    shapes = tuple([x.shape for x in tensors])
    inputs, output, lengths = read(equation, shapes)
    parts = [_without_broadcast(*part, lengths) for part in zip(inputs, tensors, strict=True)]
    for places in _order(tuple([labels for labels, _ in parts]), output, tuple(lengths.items()), _hashable(optimize)):
        chosen = [parts.pop(k) for k in sorted(places, reverse=True)][::-1]
        rest = output + "".join([labels for labels, _ in parts])
        labels, x = chosen[0]
        for k, (second, y) in enumerate(chosen[1:], 2):
            needed = rest + "".join([later for later, _ in chosen[k:]])
            labels, x = _pair(
                *_reduced(labels, x, second + needed), *_reduced(second, y, labels + needed), needed, lengths
            )
        parts.append((labels, x))
    labels, x = _reduced(*parts[0], output)
    return permuted(x, tuple([labels.index(c) for c in output]))


def _hashable(optimize: Any) -> Any:
    return tuple(map(_hashable, optimize)) if isinstance(optimize, tuple | list) else optimize


@functools.lru_cache(maxsize=1024)
def _order(
    inputs: tuple[str, ...], output: str, lengths: tuple[tuple[str, int], ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    """The operands to contract in each step; the result of a step becomes the last operand."""
    if len(inputs) < 2:
        return ()
    if isinstance(optimize, tuple) and optimize[:1] == ("einsum_path",):
        return optimize[1:]
    if len(inputs) == 2 or len(lengths) > len(LETTERS):
        return ((0, 1),) * (len(inputs) - 1)
    if isinstance(optimize, bool):
        optimize = "optimal" if len(inputs) <= _EXHAUSTIVE else "greedy"
    name = dict(zip([c for c, _ in lengths], LETTERS, strict=False))
    size = {c: max(n, 1) for c, n in lengths}
    terms = ["".join([name[c] for c in labels]) for labels in inputs]
    equation = ",".join(terms) + "->" + "".join([name[c] for c in output])
    # Only shapes count: one number stands for each operand.
    shapes = [np.broadcast_to(0.0, [size[c] for c in labels]) for labels in inputs]
    return tuple(np.einsum_path(equation, *shapes, optimize=optimize)[0][1:])


def _without_broadcast(labels: str, x: Tensor, lengths: dict[str, int]) -> tuple[str, Tensor]:
    """An operand without the axes of length 1 that broadcast against longer ones."""
    shape = x.shape
    fits = [n == lengths[c] for c, n in zip(labels, shape, strict=True)]
    if all(fits):
        return labels, x
    kept = tuple([n for n, fit in zip(shape, fits, strict=True) if fit])
    return "".join([c for c, fit in zip(labels, fits, strict=True) if fit]), to_shape(x, kept)


def _reduced(labels: str, x: Tensor, needed: str) -> tuple[str, Tensor]:
    """An operand with each label once, and only with labels that are needed."""
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            x = diagonal(x, 0, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    lost = tuple([k for k, c in enumerate(labels) if c not in needed])
    if lost:
        x = total(x, lost, False)
        labels = "".join([c for c in labels if c in needed])
    return labels, x


def _pair(first: str, x: Tensor, second: str, y: Tensor, needed: str, lengths: dict[str, int]) -> tuple[str, Tensor]:
    """Multiply two operands as (stacks of) matrices, or element by element."""
    rows = [c for c in first if c not in second]
    columns = [c for c in second if c not in first]
    summed = [c for c in first if c in second and c not in needed]
    if not summed:
        labels = first + "".join(columns)
        x = to_shape(x, (*x.shape, *[1] * len(columns)))
        y = permuted(y, tuple([second.index(c) for c in labels if c in second]))
        return labels, x * to_shape(y, tuple([lengths[c] if c in second else 1 for c in labels]))
    stacked = [c for c in first if c in second and c in needed]
    h, r, s, c = ([lengths[label] for label in group] for group in (stacked, rows, summed, columns))
    left = permuted(x, tuple([first.index(label) for label in (*stacked, *rows, *summed)]))
    right = permuted(y, tuple([second.index(label) for label in (*stacked, *summed, *columns)]))
    product = to_shape(left, (*h, math.prod(r), math.prod(s))) @ to_shape(right, (*h, math.prod(s), math.prod(c)))
    return "".join((*stacked, *rows, *columns)), to_shape(product, (*h, *r, *c))
